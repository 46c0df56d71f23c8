//! The engine's half without a device: what an arriving packet changes.
//!
//! It is the [`PacketSink`] that a device delivers to. Replies and data are queued for each peer in
//! order; [`Engine::flush`](crate::engine::point_to_point::Engine) sends them. Whatever a peer sends is
//! checked: a packet that fits no state is recorded as a fault and changes nothing.

use std::collections::VecDeque;
use std::ops::Range;

use crate::device::{Header, PacketSink};
use crate::engine::point_to_point::credit::Credit;
use crate::engine::point_to_point::matching::{MatchPattern, Matching};
use crate::engine::point_to_point::operation::{
    Completion, MemoryRange, Operation, OperationId, OperationOwner, OperationState,
    ReceiveOperation, ReceivePhase,
};
use crate::engine::point_to_point::rendezvous::{RendezvousReceiver, RendezvousSender};
use crate::engine::point_to_point::wire::{Control, Envelope, PacketKind, Rts};
use platform::base::{ErrorClass, MpiError, Peer, Slab};

/// Buffers for unexpected messages that are kept for the next ones, and the longest kept, in bytes.
const FREE_BUFFERS_MAX: usize = 64;
const FREE_BUFFER_BYTES_MAX: usize = 64 << 10;

/// The state of all messages of one rank.
pub(crate) struct MessageProtocol {
    pub(crate) me: Peer,
    short_max: usize,
    pub(crate) matching: Matching<OperationId, UnexpectedMessage>,
    pub(crate) operations: Slab<Operation>,
    pub(crate) peers: Vec<PeerQueues>,
    /// Peers for whom something waits; each once (`PeerQueues::queued`).
    pub(crate) outbox: VecDeque<Peer>,
    /// Matched announcements that have not been answered.
    pub(crate) pulls: VecDeque<(OperationId, Peer, Rts)>,
    /// Announced sends whose receivers ask for help: the sender, the receiver, the ticket.
    pub(crate) copy_assists: VecDeque<(Peer, OperationId, OperationId, u64)>,
    /// Steps of schedules whose operation has completed.
    pub(crate) steps: VecDeque<CompletedStep>,
    /// Sentences about peers that broke the protocol.
    pub(crate) faults: Vec<String>,
    /// How often something happened that somebody may wait for.
    pub(crate) events: u64,
    free_buffers: Vec<Vec<u8>>,
}

/// A step of a schedule whose operation has ended.
pub(crate) struct CompletedStep {
    pub(crate) run: u32,
    pub(crate) step: u32,
    /// Bytes received; of a receive.
    pub(crate) bytes: usize,
    pub(crate) error: Option<Box<MpiError>>,
}

/// What is known of one peer.
#[derive(Default)]
pub(crate) struct PeerQueues {
    pub(crate) credit: Credit,
    /// Packets in the order in which they must leave.
    pub(crate) envelopes: VecDeque<OutgoingPacket>,
    /// Granted sends; their data comes after the envelopes.
    pub(crate) streams: VecDeque<OperationId>,
    /// Whether the peer is in the outbox.
    pub(crate) queued: bool,
    /// Announced sends to it that it has not answered: what it has to do before it can help.
    pub(crate) unanswered_rts: u32,
}

/// A packet that waits to leave.
#[derive(Clone, Copy)]
pub(crate) enum OutgoingPacket {
    /// The first packet of a send.
    Envelope(OperationId),
    /// A reply.
    Control(Control),
}

/// An unexpected message.
#[derive(Debug)]
pub(crate) struct UnexpectedMessage {
    pub(crate) from: Peer,
    pub(crate) body: MessageBody,
}

/// What there is of an unexpected message.
#[derive(Debug)]
pub(crate) enum MessageBody {
    /// All of it.
    Whole(Vec<u8>),
    /// Its announcement.
    Rts(Rts),
}

impl UnexpectedMessage {
    /// Bytes of the packed message.
    pub(crate) fn len(&self) -> u64 {
        match &self.body {
            MessageBody::Whole(data) => data.len() as u64,
            MessageBody::Rts(announce) => announce.total,
        }
    }
}

impl MessageProtocol {
    pub(crate) fn new(me: Peer, size: usize, short_max: usize) -> Self {
        Self {
            me,
            short_max,
            matching: Matching::default(),
            operations: Slab::default(),
            peers: (0..size).map(|_| PeerQueues::default()).collect(),
            outbox: VecDeque::new(),
            pulls: VecDeque::new(),
            copy_assists: VecDeque::new(),
            steps: VecDeque::new(),
            faults: Vec::new(),
            events: 0,
            free_buffers: Vec::new(),
        }
    }

    /// Whether a poll left anything to send or to advance.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        !(self.outbox.is_empty()
            && self.pulls.is_empty()
            && self.copy_assists.is_empty()
            && self.steps.is_empty())
    }

    /// Queues a packet for `to`.
    pub(crate) fn queue(&mut self, to: Peer, outgoing: OutgoingPacket) {
        self.peers[to as usize].envelopes.push_back(outgoing);
        self.queue_peer(to);
    }

    /// Puts a peer for whom something waits into the outbox.
    pub(crate) fn queue_peer(&mut self, to: Peer) {
        if !std::mem::replace(&mut self.peers[to as usize].queued, true) {
            self.outbox.push_back(to);
        }
    }

    /// Posts a receive that no waiting message fits.
    #[inline(always)]
    pub fn post(
        &mut self, pattern: MatchPattern, room: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        let id = self.operations.next_key();
        let phase = ReceivePhase::Posted(self.matching.post(pattern, id));
        let state = OperationState::Receive(ReceiveOperation { buffer: room, phase });
        self.operations.insert(Operation { owner, state })
    }

    /// Starts a receive of a message that was unexpected.
    pub(crate) fn accept(
        &mut self, envelope: Envelope, message: UnexpectedMessage, mut room: MemoryRange,
        owner: OperationOwner,
    ) -> OperationId {
        let state = OperationState::Complete(Completion::default());
        let id = self.operations.insert(Operation { owner, state });
        match message.body {
            MessageBody::Whole(data) => {
                self.consumed(message.from, data.len());
                let end = delivered(envelope, &mut room, &data);
                self.complete(id, end);
                self.recycle_buffer(data);
            }
            MessageBody::Rts(announce) => {
                self.match_rts(id, envelope, message.from, announce, room);
            }
        }
        id
    }

    /// Ends an operation and tells its owner.
    #[inline(always)]
    pub(crate) fn complete(&mut self, id: OperationId, completion: Completion) {
        let operation = &mut self.operations[id];
        if operation.owner == OperationOwner::Caller {
            self.events += 1;
            let Completion { source, tag, bytes, cancelled, error } = completion;
            operation.state = OperationState::Complete(Completion::default());
            // Field by field: what was written in pieces just now must not be copied as a whole,
            // which waits until the pieces have left the processor's store buffer.
            if let OperationState::Complete(end) = &mut operation.state {
                (end.source, end.tag, end.bytes) = (source, tag, bytes);
                (end.cancelled, end.error) = (cancelled, error);
            }
        } else {
            self.complete_without_caller(id, completion);
        }
    }

    /// The same where no caller waits for the operation itself.
    #[inline(never)]
    fn complete_without_caller(&mut self, id: OperationId, completion: Completion) {
        self.events += 1;
        match self.operations[id].owner {
            OperationOwner::Caller => {
                self.operations[id].state = OperationState::Complete(completion)
            }
            OperationOwner::Released => drop(self.operations.remove(id)),
            OperationOwner::Step { run, step } => {
                self.operations.remove(id);
                let Completion { bytes, error, .. } = completion;
                self.steps.push_back(CompletedStep { run, step, bytes, error });
            }
        }
    }

    /// Ends a receive whose announced message has arrived.
    pub(crate) fn end_receive(&mut self, id: OperationId) {
        let OperationState::Receive(receive) = &self.operations[id].state else { return };
        let ReceivePhase::Matched { envelope, progress } = &receive.phase else { return };
        let (envelope, bytes, truncated) = (*envelope, progress.limit(), progress.is_truncated());
        let room = receive.buffer.len;
        self.complete(id, received(envelope, bytes, truncated.then_some(room)));
    }

    fn match_rts(
        &mut self, id: OperationId, envelope: Envelope, from: Peer, announce: Rts,
        room: MemoryRange,
    ) {
        let progress = RendezvousReceiver::new(announce.total, room.len);
        let phase = ReceivePhase::Matched { envelope, progress };
        self.operations[id].state =
            OperationState::Receive(ReceiveOperation { buffer: room, phase });
        self.pulls.push_back((id, from, announce));
    }

    /// `len` bytes of eager payload from `from` are in the application's hands.
    #[inline]
    fn consumed(&mut self, from: Peer, len: usize) {
        if len <= self.short_max || from == self.me {
            return;
        }
        if let Some(bytes) = self.peers[from as usize].credit.consume(len) {
            self.queue(from, OutgoingPacket::Control(Control::Credit { bytes }));
        }
    }

    #[inline]
    fn eager(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.take_buffer(data.len());
            body.copy_from_slice(data);
            self.events += 1;
            return self.matching.push_message(
                envelope,
                UnexpectedMessage { from, body: MessageBody::Whole(body) },
            );
        };
        self.consumed(from, data.len());
        if let OperationState::Receive(receive) = &mut self.operations[id].state {
            let end = delivered(envelope, &mut receive.buffer, data);
            self.complete(id, end);
        }
    }

    /// A whole message of this rank to itself: straight into its receive, or kept.
    pub(crate) fn message_to_self(&mut self, envelope: Envelope, message: &MemoryRange) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.take_buffer(message.len);
            message.pack(0, &mut body);
            let message = UnexpectedMessage { from: self.me, body: MessageBody::Whole(body) };
            return self.matching.push_message(envelope, message);
        };
        if let OperationState::Receive(receive) = &mut self.operations[id].state {
            let room = &mut receive.buffer;
            let bytes = message.len.min(room.len);
            message.copy(0, room, bytes);
            let end = received(envelope, bytes, (bytes < message.len).then_some(room.len));
            self.complete(id, end);
        }
    }

    /// A part of a granted message of this rank to itself.
    pub(crate) fn data_to_self(
        &mut self, receiver: OperationId, message: &MemoryRange, range: Range<usize>,
    ) {
        let (start, len) = (range.start, range.len());
        self.data(self.me, receiver, start as u64, len, |room| message.copy(start, room, len));
    }

    fn rts(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(announce) = Rts::parse(data) else {
            return self.fault(from, "an announcement of the wrong length");
        };
        let Some(id) = self.matching.take_receive(envelope) else {
            self.events += 1;
            return self.matching.push_message(
                envelope,
                UnexpectedMessage { from, body: MessageBody::Rts(announce) },
            );
        };
        if let Some(room) = self.take_receive_buffer(id) {
            self.match_rts(id, envelope, from, announce, room);
        }
    }

    /// The room of a posted receive, which is about to change its state.
    fn take_receive_buffer(&mut self, id: OperationId) -> Option<MemoryRange> {
        let state = &mut self.operations[id].state;
        match std::mem::replace(state, OperationState::Complete(Completion::default())) {
            OperationState::Receive(receive) => Some(receive.buffer),
            OperationState::Send(_) | OperationState::Complete(_) => None,
        }
    }

    fn control(&mut self, from: Peer, control: Control, data: &[u8]) {
        match control {
            Control::Cts { sender, receiver, limit } => self.cts(from, sender, receiver, limit),
            Control::Data { receiver, offset } => {
                let take = |room: &mut MemoryRange| room.unpack(offset as usize, data);
                self.data(from, receiver, offset, data.len(), take);
            }
            Control::Fin { sender } => self.fin(from, sender),
            Control::Credit { bytes } => self.peers[from as usize].credit.refill(bytes),
            Control::CopyAssist { sender, receiver, ticket } => {
                self.copy_assists.push_back((from, sender, receiver, ticket));
            }
            Control::CopyAssistDone { sender, receiver, whole } => {
                self.copy_assist_done(from, sender, receiver, whole);
            }
        }
    }

    fn cts(&mut self, from: Peer, sender: OperationId, receiver: u32, limit: u64) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let Some((rendezvous, granted_by)) = self.rendezvous(from, sender) else {
            return self.fault(from, "a grant for no send of ours");
        };
        if rendezvous.cts(limit).is_err() {
            return self.fault(from, "a grant out of turn");
        }
        *granted_by = receiver;
        let done = rendezvous.is_done();
        self.rts_answered(from);
        if done {
            return self.complete(sender, Completion::default());
        }
        self.peers[from as usize].streams.push_back(sender);
        self.queue_peer(from);
    }

    fn fin(&mut self, from: Peer, sender: OperationId) {
        match self.rendezvous(from, sender).map(|(rendezvous, _)| rendezvous.finish()) {
            Some(Ok(())) => {
                self.rts_answered(from);
                self.complete(sender, Completion::default());
            }
            Some(Err(_)) | None => self.fault(from, "the end of no send of ours"),
        }
    }

    /// An announced send to `to` needs nothing more of it but what it asks for.
    pub(crate) fn rts_answered(&mut self, to: Peer) {
        let announced = &mut self.peers[to as usize].unanswered_rts;
        *announced = announced.saturating_sub(1);
    }

    /// The sender has written the last bytes into the room of a receive, or could not.
    fn copy_assist_done(
        &mut self, from: Peer, sender: OperationId, receiver: OperationId, whole: bool,
    ) {
        let operation = self.operations.get_mut(receiver).map(|operation| &mut operation.state);
        let Some(OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Matched { progress, .. },
            ..
        })) = operation
        else {
            return self.fault(from, "the end of no receive of ours");
        };
        if progress.copy_assist_done(whole).is_err() {
            return self.fault(from, "the end of a receive out of turn");
        }
        let limit = progress.limit() as u64;
        if whole {
            return self.end_receive(receiver);
        }
        self.queue(from, OutgoingPacket::Control(Control::Cts { sender, receiver, limit }));
    }

    /// The rendezvous of a send to `to`, and where its receiver is noted.
    pub fn rendezvous(
        &mut self, to: Peer, id: OperationId,
    ) -> Option<(&mut RendezvousSender, &mut OperationId)> {
        match &mut self.operations.get_mut(id)?.state {
            OperationState::Send(send) if send.to == to => {
                Some((send.rendezvous.as_mut()?, &mut send.receiver))
            }
            OperationState::Send(_) | OperationState::Receive(_) | OperationState::Complete(_) => {
                None
            }
        }
    }

    /// `len` bytes for `offset` have come, which `take` puts into the room of their receive.
    fn data(
        &mut self, from: Peer, receiver: OperationId, offset: u64, len: usize,
        take: impl FnOnce(&mut MemoryRange),
    ) {
        let operation = self.operations.get_mut(receiver).map(|operation| &mut operation.state);
        let Some(OperationState::Receive(ReceiveOperation {
            buffer: room,
            phase: ReceivePhase::Matched { progress, .. },
        })) = operation
        else {
            return self.fault(from, "data for no receive of ours");
        };
        if progress.data(offset, len).is_err() {
            return self.fault(from, "data out of turn");
        }
        take(room);
        if progress.is_done() {
            self.end_receive(receiver);
        }
    }

    fn fault(&mut self, from: Peer, what: &str) {
        self.faults.push(format!("rank {from} of the world sent {what}"));
    }

    /// A buffer of `len` bytes, one of the kept ones if there is any.
    pub(crate) fn take_buffer(&mut self, len: usize) -> Vec<u8> {
        let mut spare = self.free_buffers.pop().unwrap_or_default();
        spare.resize(len, 0);
        spare
    }

    /// Keeps a buffer for later.
    pub(crate) fn recycle_buffer(&mut self, spare: Vec<u8>) {
        if self.free_buffers.len() < FREE_BUFFERS_MAX && spare.capacity() <= FREE_BUFFER_BYTES_MAX {
            self.free_buffers.push(spare);
        }
    }
}

impl PacketSink for MessageProtocol {
    #[inline]
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        if header.kind == PacketKind::Eager as u8 {
            self.eager(from, Envelope::of(header), data);
        } else if header.kind == PacketKind::Rts as u8 {
            self.rts(from, Envelope::of(header), data);
        } else if let Some(control) = Control::parse(header) {
            self.control(from, control, data);
        } else {
            self.fault(from, &format!("a packet of the unknown kind {}", header.kind));
        }
    }
}

/// The whole message is here: copies it into the room of its receive. That receive's end.
#[inline]
fn delivered(envelope: Envelope, room: &mut MemoryRange, data: &[u8]) -> Completion {
    let bytes = data.len().min(room.len);
    room.unpack(0, &data[..bytes]);
    received(envelope, bytes, (bytes < data.len()).then_some(room.len))
}

/// The end of a receive; `truncated` is the room there was for a longer message.
#[inline]
fn received(envelope: Envelope, bytes: usize, truncated: Option<usize>) -> Completion {
    let error = truncated.map(|room| truncation_error(envelope, room));
    Completion { source: envelope.source, tag: envelope.tag, bytes, cancelled: false, error }
}

#[cold]
fn truncation_error(envelope: Envelope, room: usize) -> Box<MpiError> {
    ErrorClass::Truncate.error(format!(
        "the message from rank {} with tag {} is longer than the {room} bytes of the receive \
         buffer",
        envelope.source, envelope.tag
    ))
}
