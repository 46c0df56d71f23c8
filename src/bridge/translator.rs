//! Both directions of the translation.

use std::collections::VecDeque;

use super::cancels::{ANSWERS_MAX, CancelEnd, Cancels};
use super::places::WorldPlaces;
use super::requests::{AnnouncedReceive, AnnouncedSend, Requests};
use crate::device::{Busy, Caps, Header, PacketSink, PeerCaps};
use crate::devices::impi::{Mesh, MeshSink, Outgoing};
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::wire::{Control, Envelope, PacketKind as EngineKind, Rts};
use platform::base::{Peer, Span};
use platform::impi::packet::{ImpiKind, PacketHeader};

/// The shortest first packet that clients may agree on, in bytes: all inline messages fit in.
pub(crate) const DATA_LEN_MIN: u32 = 256;

/// Contexts of `MPI_COMM_WORLD`: all kinds of its traffic.
const WORLD_CONTEXTS: std::ops::Range<u64> = 0..8;

/// The translator of one process.
pub(crate) struct Translator {
    pub(crate) mesh: Mesh,
    state: State,
}

/// What it keeps, apart from the mesh.
struct State {
    places: WorldPlaces,
    /// Bytes of data that a first packet may have.
    data_len: usize,
    sent: Requests<AnnouncedSend>,
    arriving: Requests<AnnouncedReceive>,
    cancels: Cancels,
    /// Packets for the engine, in order.
    due: VecDeque<(Peer, Header, Vec<u8>)>,
    /// Answers that await room.
    answers: VecDeque<(Peer, Outgoing)>,
    /// By peer above the own ranks: bytes of the messages that are not acknowledged, one entry for each
    /// counted packet.
    unacknowledged: Vec<VecDeque<usize>>,
    /// The number of the last short message, which names it if it is cancelled.
    messages: u32,
    /// The peers whose messages the engine wants to wait.
    held: Vec<Peer>,
}

impl Translator {
    /// A process at its place, whose clients have agreed on `data_len` bytes.
    pub(crate) fn new(mesh: Mesh, places: WorldPlaces, data_len: usize) -> Self {
        let others = (places.world - places.own) as usize;
        let state = State {
            places,
            data_len,
            sent: Requests::default(),
            arriving: Requests::default(),
            cancels: Cancels::default(),
            due: VecDeque::new(),
            answers: VecDeque::new(),
            unacknowledged: vec![VecDeque::new(); others],
            messages: 0,
            held: Vec::new(),
        };
        Self { mesh, state }
    }

    /// Whether it carries packets to and from `peer`.
    #[inline]
    pub(crate) fn carries(&self, peer: Peer) -> bool {
        self.state.places.is_of_other_client(peer)
    }

    /// `of`, where a message fits in a packet.
    pub(crate) fn caps(&self, of: Caps) -> Caps {
        let limit = self.state.data_len;
        Caps { short_max: of.short_max.min(limit), packet_max: of.packet_max.min(limit) }
    }

    pub(crate) fn peer_caps(&self) -> PeerCaps {
        let limit = self.state.data_len;
        PeerCaps {
            long_max: limit,
            eager_max: Some(limit),
            lends: false,
            delivers_alone: false,
            announces_room: true,
            announced_max: limit,
        }
    }

    /// As [`crate::device::Device::send`].
    ///
    /// # Errors
    /// [`Busy`] without room.
    pub(crate) fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if header.kind == EngineKind::Eager as u8 {
            return self.send_whole(peer, Envelope::of(header), len, fill);
        }
        if header.kind == EngineKind::Rts as u8 {
            return self.announce(peer, Envelope::of(header), len, fill);
        }
        match Control::parse(header) {
            Some(Control::Cts { sender, receiver, limit }) => {
                self.grant(peer, sender, receiver, limit)
            }
            // Nothing more is taken of it.
            Some(Control::Fin { sender }) => self.grant(peer, sender, 0, 0),
            Some(Control::Data { receiver, offset }) => {
                self.send_rest(peer, receiver, offset, len, fill)
            }
            Some(Control::Hold) => {
                self.state.held.push(peer);
                Ok(())
            }
            Some(Control::Resume) => {
                self.state.held.retain(|held| *held != peer);
                self.mesh.withhold(self.state.places.rank(peer), false);
                Ok(())
            }
            Some(Control::Cancel { sender }) => self.cancel(peer, sender),
            Some(Control::CancelReply { sender, is_cancelled }) => {
                self.reply_cancel(peer, sender, is_cancelled)
            }
            // IMPI's flow control replaces credit, and it has no direct copies.
            Some(
                Control::Credit { .. }
                | Control::CopyAssist { .. }
                | Control::CopyAssistDone { .. },
            )
            | None => Ok(()),
        }
    }

    fn send_whole(
        &mut self, peer: Peer, envelope: Envelope, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let number = self.state.messages.wrapping_add(1).max(1);
        let packet = Outgoing {
            source_request: u64::from(number),
            ..first_packet(ImpiKind::Data, envelope, len)
        };
        self.transmit(peer, &packet, len, fill)?;
        self.state.messages = number;
        Ok(())
    }

    fn announce(
        &mut self, peer: Peer, envelope: Envelope, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let mut announced = vec![0; len];
        fill(&mut announced);
        let (rts, data) = announced.split_at(Rts::LEN);
        let rts = Rts::parse(rts).expect("the engine announces messages");
        let number = self.state.sent.next();
        let packet = Outgoing {
            source_request: u64::from(number),
            message_len: rts.total,
            ..first_packet(ImpiKind::DataSync, envelope, data.len())
        };
        self.transmit(peer, &packet, data.len(), |room| room.copy_from_slice(data))?;
        let (operation, announced) = (rts.sender, data.len() as u64);
        let request =
            AnnouncedSend { to: peer, operation, total: rts.total, announced, receiver: None };
        self.state.sent.add(request);
        Ok(())
    }

    /// The engine has matched a message of `peer`, and takes `limit` bytes of it.
    fn grant(
        &mut self, peer: Peer, number: u32, receiver: OperationId, limit: u64,
    ) -> Result<(), Busy> {
        let Some(request) = self.state.arriving.get(number) else { return Ok(()) };
        let packet = Outgoing {
            source_request: request.sender,
            destination_request: u64::from(number),
            message_len: request.total,
            ..of_kind(ImpiKind::SyncAck)
        };
        self.transmit(peer, &packet, 0, |_| ())?;
        let Some(request) = self.state.arriving.get(number) else { return Ok(()) };
        let mut first = std::mem::take(&mut request.first);
        let (total, arrived) = (request.total, request.arrived);
        request.receiver = Some((receiver, limit));
        if limit.min(arrived) > 0 {
            first.truncate(limit as usize);
            let header = Control::Data { receiver, offset: 0 }.header();
            self.state.due.push_back((peer, header, first));
        }
        if arrived == total {
            self.state.arriving.remove(number);
        }
        Ok(())
    }

    /// The engine takes a message back.
    fn cancel(&mut self, peer: Peer, operation: OperationId) -> Result<(), Busy> {
        let Some(number) = Cancels::to_ask(&self.state.sent, peer, operation) else {
            // The engine hears of the receive before this.
            let no = Control::CancelReply { sender: operation, is_cancelled: false };
            self.state.due.push_back((peer, no.header(), Vec::new()));
            return Ok(());
        };
        let packet = Outgoing { source_request: u64::from(number), ..of_kind(ImpiKind::Cancel) };
        self.transmit(peer, &packet, 0, |_| ())?;
        self.state.cancels.asked(peer, number);
        Ok(())
    }

    /// The engine has forgotten a message of `peer` that the peer takes back, or a receive has matched it.
    fn reply_cancel(&mut self, peer: Peer, number: u32, is_cancelled: bool) -> Result<(), Busy> {
        let Some(sender) = self.state.cancels.sender_of(peer, number) else { return Ok(()) };
        let kind = if is_cancelled { ImpiKind::CancelYes } else { ImpiKind::CancelNo };
        let packet = Outgoing { source_request: sender, ..of_kind(kind) };
        self.transmit(peer, &packet, 0, |_| ())?;
        self.state.cancels.answer(peer, number);
        if is_cancelled {
            self.state.arriving.remove(number);
        }
        Ok(())
    }

    /// A part of a granted message. The engine sends all of it, and its first packet had the beginning.
    fn send_rest(
        &mut self, peer: Peer, number: u32, offset: u64, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let Some(request) = self.state.sent.get(number) else { return Ok(()) };
        let end = offset + len as u64;
        let (total, operation) = (request.total, request.operation);
        let sent_before = (request.announced.saturating_sub(offset) as usize).min(len);
        if sent_before < len {
            let packet = Outgoing {
                source_request: u64::from(number),
                destination_request: request.receiver.unwrap_or_default(),
                message_len: total,
                ..of_kind(ImpiKind::Data)
            };
            self.transmit_rest(peer, &packet, sent_before, len, fill)?;
        }
        debug_assert!(end <= total, "operation {operation} has no more data");
        if end == total {
            self.state.sent.remove(number);
        }
        Ok(())
    }

    /// Sends what follows after the first `skipped` of `len` bytes.
    fn transmit_rest(
        &mut self, peer: Peer, packet: &Outgoing, skipped: usize, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if skipped == 0 {
            return self.transmit(peer, packet, len, fill);
        }
        self.transmit(peer, packet, len - skipped, |room| {
            let mut all = vec![0; len];
            fill(&mut all);
            room.copy_from_slice(&all[skipped..]);
        })
    }

    /// Sends a packet that counts in the flow control.
    fn transmit(
        &mut self, peer: Peer, packet: &Outgoing, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let state = &mut self.state;
        self.mesh.send(state.places.rank(peer), packet, len, fill)?;
        let is_eager = packet.kind == ImpiKind::Data && packet.destination_request == 0;
        let counted = if is_eager { len } else { 0 };
        state.unacknowledged[(peer - state.places.own) as usize].push_back(counted);
        Ok(())
    }

    /// As [`crate::device::Device::poll`].
    pub(crate) fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        if !self.state.held.is_empty() {
            self.hold();
        }
        // All of them: what follows the first data of a message may arrive now.
        let due = self.state.due.len();
        for (peer, header, data) in self.state.due.drain(..) {
            sink.packet(peer, &header, &data);
        }
        let Self { mesh, state } = self;
        let arrived = mesh.poll(&mut PacketsFromMesh { state, sink });
        while let Some((peer, packet)) = self.state.answers.front() {
            let (peer, packet) = (*peer, *packet);
            if self.transmit(peer, &packet, 0, |_| ()).is_err() {
                break;
            }
            self.state.answers.pop_front();
        }
        due + arrived
    }

    /// Peers that are held get no acknowledgements. They stop to send anything, so this must not be while
    /// they owe the answer to a message, or the rest of one.
    fn hold(&mut self) {
        let Self { mesh, state } = self;
        for peer in &state.held {
            let awaits = state.sent.any(|request| request.to == *peer)
                || state.arriving.any(|it| it.from == *peer && it.receiver.is_some());
            mesh.withhold(state.places.rank(*peer), !awaits);
        }
    }

    /// Whether the next poll has something for the engine.
    pub(crate) fn has_due(&self) -> bool {
        !self.state.due.is_empty()
    }

    /// Whether nothing waits for the engine, and no answer for room.
    pub(crate) fn is_settled(&self) -> bool {
        self.state.due.is_empty() && self.state.answers.is_empty()
    }
}

fn of_kind(kind: ImpiKind) -> Outgoing {
    Outgoing { kind, ..Outgoing::default() }
}

/// The first packet of a message of `len` bytes.
fn first_packet(kind: ImpiKind, envelope: Envelope, len: usize) -> Outgoing {
    Outgoing {
        message_len: len as u64,
        source_rank: envelope.source as i32,
        tag: envelope.tag,
        context: envelope.context,
        count: len as i64,
        ..of_kind(kind)
    }
}

/// Packets of IMPI on their way to the engine.
struct PacketsFromMesh<'a, S> {
    state: &'a mut State,
    sink: &'a mut S,
}

impl<S: PacketSink> MeshSink for PacketsFromMesh<'_, S> {
    fn packet(&mut self, from: u32, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        let peer = self.state.places.peer(from);
        match header.kind {
            ImpiKind::Data if header.destination_request != 0 => self.rest(peer, header, data),
            ImpiKind::Data => self.whole(from, peer, header, data),
            ImpiKind::DataSync => self.announced(from, peer, header, data),
            ImpiKind::SyncAck => self.granted(peer, header),
            ImpiKind::Cancel => self.cancelled(peer, header),
            ImpiKind::CancelYes => self.cancel_answered(peer, header, true),
            ImpiKind::CancelNo => self.cancel_answered(peer, header, false),
            ImpiKind::ProtoAck | ImpiKind::Fini => Ok(()),
        }
    }

    fn place(&mut self, from: u32, header: &PacketHeader) -> Option<Span> {
        // What the engine takes in part comes as a packet.
        let whole = |position: &(OperationId, u64, usize)| position.2 == header.len as usize;
        let (receiver, offset, len) = self.state.position(from, header).filter(whole)?;
        let peer = self.state.places.peer(from);
        self.sink.place(peer, &Control::Data { receiver, offset }.header(), len)
    }

    fn placed(&mut self, from: u32, header: &PacketHeader) -> Result<(), String> {
        let peer = self.state.places.peer(from);
        if let Some((receiver, offset, len)) = self.state.position(from, header) {
            self.sink.placed(peer, &Control::Data { receiver, offset }.header(), len);
        }
        self.state.took(peer, header)
    }

    fn acknowledged(&mut self, to: u32, packets: u32) {
        let peer = self.state.places.peer(to);
        let sent = &mut self.state.unacknowledged[(peer - self.state.places.own) as usize];
        let packets = sent.len().min(packets as usize);
        let bytes: usize = sent.drain(..packets).sum();
        if bytes > 0 {
            self.sink.packet(peer, &Control::Credit { bytes: bytes as u64 }.header(), &[]);
        }
    }

    fn room(&mut self, to: u32) {
        self.sink.room(self.state.places.peer(to));
    }

    fn failed(&mut self, process: u32, why: &str) {
        let peer = self.state.places.peer(process);
        let State { places, sent, arriving, cancels, due, answers, unacknowledged, held, .. } =
            &mut *self.state;
        cancels.failed(peer);
        held.retain(|held| *held != peer);
        sent.retain(|request| request.to != peer);
        arriving.retain(|request| request.from != peer);
        due.retain(|(from, ..)| *from != peer);
        answers.retain(|(to, _)| *to != peer);
        unacknowledged[(peer - places.own) as usize].clear();
        self.sink.failed(peer, why);
    }
}

impl<S: PacketSink> PacketsFromMesh<'_, S> {
    fn whole(
        &mut self, from: u32, peer: Peer, header: &PacketHeader, data: &[u8],
    ) -> Result<(), String> {
        if header.message_len != data.len() as u64 {
            let (len, total) = (data.len(), header.message_len);
            return Err(format!("a short message of {total} bytes with {len} bytes of data"));
        }
        let envelope = self.state.envelope(from, header)?;
        self.sink.packet(peer, &envelope.header(EngineKind::Eager), data);
        Ok(())
    }

    fn announced(
        &mut self, from: u32, peer: Peer, header: &PacketHeader, data: &[u8],
    ) -> Result<(), String> {
        let envelope = self.state.envelope(from, header)?;
        let arriving = &mut self.state.arriving;
        let rts = Rts { sender: arriving.next(), total: header.message_len, descriptor: None };
        arriving.add(AnnouncedReceive {
            from: peer,
            sender: header.source_request,
            total: header.message_len,
            arrived: data.len() as u64,
            first: data.to_vec(),
            receiver: None,
        });
        self.sink.packet(peer, &envelope.header(EngineKind::Rts), &rts.emit());
        Ok(())
    }

    fn rest(&mut self, peer: Peer, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
        let from = self.state.places.rank(peer);
        let position = self.state.position(from, header);
        self.state.took(peer, header)?;
        if let Some((receiver, offset, len)) = position {
            let header = Control::Data { receiver, offset }.header();
            self.sink.packet(peer, &header, &data[..len]);
        }
        Ok(())
    }

    /// The receiver has matched a message of this process.
    fn granted(&mut self, peer: Peer, header: &PacketHeader) -> Result<(), String> {
        let number = header.source_request;
        let request = self.state.sent.named(number).filter(|request| request.to == peer);
        let Some(request) = request.filter(|request| request.receiver.is_none()) else {
            return Err(format!("an acknowledgment of the message {number}, which awaits none"));
        };
        let (sender, total) = (request.operation, request.total);
        if request.announced == total {
            self.state.sent.remove(number as u32);
            self.sink.packet(peer, &Control::Fin { sender }.header(), &[]);
            return Ok(());
        }
        if header.destination_request == 0 {
            return Err(format!(
                "an acknowledgment of the long message {number} without a request"
            ));
        }
        request.receiver = Some(header.destination_request);
        let grant = Control::Cts { sender, receiver: number as u32, limit: total };
        self.sink.packet(peer, &grant.header(), &[]);
        Ok(())
    }

    /// A peer takes a message back. The engine decides, unless it has none to decide on.
    fn cancelled(&mut self, peer: Peer, header: &PacketHeader) -> Result<(), String> {
        let State { cancels, arriving, answers, .. } = &mut *self.state;
        let sender = header.source_request;
        if answers.len() + cancels.questions() >= ANSWERS_MAX {
            return Err(format!("more than {ANSWERS_MAX} cancels without reading the answers"));
        }
        if let Some(number) = cancels.question(arriving, peer, sender) {
            self.sink.packet(peer, &Control::Cancel { sender: number }.header(), &[]);
            return Ok(());
        }
        let packet = Outgoing { source_request: sender, ..of_kind(ImpiKind::CancelNo) };
        answers.push_back((peer, packet));
        Ok(())
    }

    fn cancel_answered(
        &mut self, peer: Peer, header: &PacketHeader, is_cancelled: bool,
    ) -> Result<(), String> {
        let State { cancels, sent, .. } = &mut *self.state;
        match cancels.answered(sent, peer, header.source_request, is_cancelled)? {
            CancelEnd::Decided { operation: sender, is_cancelled } => {
                let reply = Control::CancelReply { sender, is_cancelled };
                self.sink.packet(peer, &reply.header(), &[]);
            }
            CancelEnd::Received => {}
        }
        Ok(())
    }
}

impl State {
    /// The envelope of a first packet of the process `from`.
    ///
    /// # Errors
    /// Why it cannot be its.
    fn envelope(&self, from: u32, header: &PacketHeader) -> Result<Envelope, String> {
        let source = header.source_rank;
        let is_possible = match WORLD_CONTEXTS.contains(&header.context) {
            true => i64::from(source) == i64::from(from),
            // Spawned processes may belong to a communicator, too.
            false => source >= 0,
        };
        if !is_possible {
            return Err(format!("a message of the rank {source}, which is another process"));
        }
        Ok(Envelope { context: header.context, source: source as u32, tag: header.tag })
    }

    /// What the engine takes of a packet with more data: for which operation, where, how much.
    fn position(&mut self, from: u32, header: &PacketHeader) -> Option<(OperationId, u64, usize)> {
        let peer = self.places.peer(from);
        let request = self.arriving.named(header.destination_request)?;
        let (receiver, limit) = request.receiver.filter(|_| request.from == peer)?;
        let len = u64::from(header.len).min(limit.checked_sub(request.arrived)?);
        (len > 0).then_some((receiver, request.arrived, len as usize))
    }

    /// Counts a packet with more data.
    ///
    /// # Errors
    /// Why it is not due.
    fn took(&mut self, peer: Peer, header: &PacketHeader) -> Result<(), String> {
        let (number, len) = (header.destination_request, u64::from(header.len));
        let request = self.arriving.named(number).filter(|request| request.from == peer);
        let Some(request) = request.filter(|request| request.receiver.is_some()) else {
            return Err(format!("data of the message {number}, which was not requested"));
        };
        if len > request.total - request.arrived {
            let left = request.total - request.arrived;
            return Err(format!("{len} bytes of the message {number}, of which {left} are due"));
        }
        request.arrived += len;
        if request.arrived == request.total {
            self.arriving.remove(number as u32);
        }
        Ok(())
    }
}
