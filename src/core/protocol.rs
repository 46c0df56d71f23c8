//! The engine's half without a device: what an arriving packet changes.
//!
//! It is the [`Sink`] that a device delivers to. Replies and data are queued for each peer in
//! order; [`Engine::flush`](crate::core::engine::Engine) sends them. Whatever a peer sends is
//! checked: a packet that fits no state is recorded as a fault and changes nothing.

use std::collections::VecDeque;
use std::ops::Range;

use crate::base::{ErrorClass, MpiError, Peer, Slab};
use crate::core::credit::Credit;
use crate::core::matching::{Matching, Pattern};
use crate::core::operation::{
    Completion, Operation, OperationId, Owner, Part, Phase, Receive, State,
};
use crate::core::rendezvous::{Receiver, Sender};
use crate::core::wire::{Announce, Control, Envelope, Kind};
use crate::device::{Header, Sink};

/// Buffers for unexpected messages that are kept for the next ones, and the longest kept, in bytes.
const SPARES_MAX: usize = 64;
const SPARE_BYTES_MAX: usize = 64 << 10;

/// The state of all messages of one rank.
pub struct Protocol {
    pub me: Peer,
    short_max: usize,
    pub matching: Matching<OperationId, Message>,
    pub operations: Slab<Operation>,
    pub peers: Vec<Neighbour>,
    /// Peers for whom something waits; each once (`Neighbour::queued`).
    pub outbox: VecDeque<Peer>,
    /// Matched announcements that have not been answered.
    pub pulls: VecDeque<(OperationId, Peer, Announce)>,
    /// Announced sends whose receivers ask for help: the sender, the receiver, the ticket.
    pub helps: VecDeque<(Peer, OperationId, OperationId, u64)>,
    /// Steps of schedules whose operation has completed.
    pub steps: VecDeque<EndedStep>,
    /// Sentences about peers that broke the protocol.
    pub faults: Vec<String>,
    /// How often something happened that somebody may wait for.
    pub events: u64,
    spares: Vec<Vec<u8>>,
}

/// A step of a schedule whose operation has ended.
pub struct EndedStep {
    pub run: u32,
    pub step: u32,
    /// Bytes received; of a receive.
    pub bytes: usize,
    pub error: Option<Box<MpiError>>,
}

/// What is known of one peer.
#[derive(Default)]
pub struct Neighbour {
    pub credit: Credit,
    /// Packets in the order in which they must leave.
    pub envelopes: VecDeque<Outgoing>,
    /// Granted sends; their data comes after the envelopes.
    pub streams: VecDeque<OperationId>,
    /// Whether the peer is in the outbox.
    pub queued: bool,
    /// Announced sends to it that it has not answered: what it has to do before it can help.
    pub announced: u32,
}

/// A packet that waits to leave.
#[derive(Clone, Copy)]
pub enum Outgoing {
    /// The first packet of a send.
    Envelope(OperationId),
    /// A reply.
    Control(Control),
}

/// An unexpected message.
#[derive(Debug)]
pub struct Message {
    pub from: Peer,
    pub body: Body,
}

/// What there is of an unexpected message.
#[derive(Debug)]
pub enum Body {
    /// All of it.
    Whole(Vec<u8>),
    /// Its announcement.
    Announced(Announce),
}

impl Message {
    /// Bytes of the packed message.
    pub fn len(&self) -> u64 {
        match &self.body {
            Body::Whole(data) => data.len() as u64,
            Body::Announced(announce) => announce.total,
        }
    }
}

impl Protocol {
    pub fn new(me: Peer, size: usize, short_max: usize) -> Self {
        Self {
            me,
            short_max,
            matching: Matching::default(),
            operations: Slab::default(),
            peers: (0..size).map(|_| Neighbour::default()).collect(),
            outbox: VecDeque::new(),
            pulls: VecDeque::new(),
            helps: VecDeque::new(),
            steps: VecDeque::new(),
            faults: Vec::new(),
            events: 0,
            spares: Vec::new(),
        }
    }

    /// Whether a poll left anything to send or to advance.
    #[inline]
    pub fn has_news(&self) -> bool {
        !(self.outbox.is_empty()
            && self.pulls.is_empty()
            && self.helps.is_empty()
            && self.steps.is_empty())
    }

    /// Queues a packet for `to`.
    pub fn queue(&mut self, to: Peer, outgoing: Outgoing) {
        self.peers[to as usize].envelopes.push_back(outgoing);
        self.mark(to);
    }

    /// Puts a peer for whom something waits into the outbox.
    pub fn mark(&mut self, to: Peer) {
        if !std::mem::replace(&mut self.peers[to as usize].queued, true) {
            self.outbox.push_back(to);
        }
    }

    /// Posts a receive that no waiting message fits.
    #[inline(always)]
    pub fn post(&mut self, pattern: Pattern, room: Part, owner: Owner) -> OperationId {
        let id = self.operations.next_key();
        let phase = Phase::Posted(self.matching.post(pattern, id));
        let state = State::Receive(Receive { room, phase });
        self.operations.insert(Operation { owner, state })
    }

    /// Starts a receive of a message that was unexpected.
    pub fn accept(
        &mut self, envelope: Envelope, message: Message, mut room: Part, owner: Owner,
    ) -> OperationId {
        let state = State::Complete(Completion::default());
        let id = self.operations.insert(Operation { owner, state });
        match message.body {
            Body::Whole(data) => {
                self.consumed(message.from, data.len());
                let end = delivered(envelope, &mut room, &data);
                self.complete(id, end);
                self.keep_spare(data);
            }
            Body::Announced(announce) => {
                self.match_announced(id, envelope, message.from, announce, room);
            }
        }
        id
    }

    /// Ends an operation and tells its owner.
    #[inline(always)]
    pub fn complete(&mut self, id: OperationId, completion: Completion) {
        let operation = &mut self.operations[id];
        if operation.owner == Owner::Caller {
            self.events += 1;
            let Completion { source, tag, bytes, cancelled, error } = completion;
            operation.state = State::Complete(Completion::default());
            // Field by field: what was written in pieces just now must not be copied as a whole,
            // which waits until the pieces have left the processor's store buffer.
            if let State::Complete(end) = &mut operation.state {
                (end.source, end.tag, end.bytes) = (source, tag, bytes);
                (end.cancelled, end.error) = (cancelled, error);
            }
        } else {
            self.complete_for_others(id, completion);
        }
    }

    /// The same where no caller waits for the operation itself.
    #[inline(never)]
    fn complete_for_others(&mut self, id: OperationId, completion: Completion) {
        self.events += 1;
        match self.operations[id].owner {
            Owner::Caller => self.operations[id].state = State::Complete(completion),
            Owner::Nobody => drop(self.operations.remove(id)),
            Owner::Step { run, step } => {
                self.operations.remove(id);
                let Completion { bytes, error, .. } = completion;
                self.steps.push_back(EndedStep { run, step, bytes, error });
            }
        }
    }

    /// Ends a receive whose announced message has arrived.
    pub fn end_receive(&mut self, id: OperationId) {
        let State::Receive(receive) = &self.operations[id].state else { return };
        let Phase::Matched { envelope, progress } = &receive.phase else { return };
        let (envelope, bytes, truncated) = (*envelope, progress.limit(), progress.is_truncated());
        let room = receive.room.len;
        self.complete(id, received(envelope, bytes, truncated.then_some(room)));
    }

    fn match_announced(
        &mut self, id: OperationId, envelope: Envelope, from: Peer, announce: Announce, room: Part,
    ) {
        let progress = Receiver::new(announce.total, room.len);
        let phase = Phase::Matched { envelope, progress };
        self.operations[id].state = State::Receive(Receive { room, phase });
        self.pulls.push_back((id, from, announce));
    }

    /// `len` bytes of eager payload from `from` are in the application's hands.
    #[inline]
    fn consumed(&mut self, from: Peer, len: usize) {
        if len <= self.short_max || from == self.me {
            return;
        }
        if let Some(bytes) = self.peers[from as usize].credit.consume(len) {
            self.queue(from, Outgoing::Control(Control::Credit { bytes }));
        }
    }

    #[inline]
    fn eager(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.spare(data.len());
            body.copy_from_slice(data);
            self.events += 1;
            return self.matching.keep(envelope, Message { from, body: Body::Whole(body) });
        };
        self.consumed(from, data.len());
        if let State::Receive(receive) = &mut self.operations[id].state {
            let end = delivered(envelope, &mut receive.room, data);
            self.complete(id, end);
        }
    }

    /// A whole message of this rank to itself: straight into its receive, or kept.
    pub fn message_to_self(&mut self, envelope: Envelope, message: &Part) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.spare(message.len);
            message.pack(0, &mut body);
            let message = Message { from: self.me, body: Body::Whole(body) };
            return self.matching.keep(envelope, message);
        };
        if let State::Receive(receive) = &mut self.operations[id].state {
            let room = &mut receive.room;
            let bytes = message.len.min(room.len);
            message.copy(0, room, bytes);
            let end = received(envelope, bytes, (bytes < message.len).then_some(room.len));
            self.complete(id, end);
        }
    }

    /// A part of a granted message of this rank to itself.
    pub fn data_to_self(&mut self, receiver: OperationId, message: &Part, range: Range<usize>) {
        let (start, len) = (range.start, range.len());
        self.data(self.me, receiver, start as u64, len, |room| message.copy(start, room, len));
    }

    fn announced(&mut self, from: Peer, envelope: Envelope, data: &[u8]) {
        let Some(announce) = Announce::parse(data) else {
            return self.fault(from, "an announcement of the wrong length");
        };
        let Some(id) = self.matching.take_receive(envelope) else {
            self.events += 1;
            return self.matching.keep(envelope, Message { from, body: Body::Announced(announce) });
        };
        if let Some(room) = self.take_room(id) {
            self.match_announced(id, envelope, from, announce, room);
        }
    }

    /// The room of a posted receive, which is about to change its state.
    fn take_room(&mut self, id: OperationId) -> Option<Part> {
        let state = &mut self.operations[id].state;
        match std::mem::replace(state, State::Complete(Completion::default())) {
            State::Receive(receive) => Some(receive.room),
            State::Send(_) | State::Complete(_) => None,
        }
    }

    fn control(&mut self, from: Peer, control: Control, data: &[u8]) {
        match control {
            Control::Grant { sender, receiver, limit } => self.grant(from, sender, receiver, limit),
            Control::Data { receiver, offset } => {
                let take = |room: &mut Part| room.unpack(offset as usize, data);
                self.data(from, receiver, offset, data.len(), take);
            }
            Control::Finished { sender } => self.finished(from, sender),
            Control::Credit { bytes } => self.peers[from as usize].credit.refill(bytes),
            Control::Help { sender, receiver, ticket } => {
                self.helps.push_back((from, sender, receiver, ticket));
            }
            Control::Helped { sender, receiver, whole } => {
                self.helped(from, sender, receiver, whole);
            }
        }
    }

    fn grant(&mut self, from: Peer, sender: OperationId, receiver: u32, limit: u64) {
        let limit = usize::try_from(limit).unwrap_or(usize::MAX);
        let Some((rendezvous, granted_by)) = self.rendezvous(from, sender) else {
            return self.fault(from, "a grant for no send of ours");
        };
        if rendezvous.grant(limit).is_err() {
            return self.fault(from, "a grant out of turn");
        }
        *granted_by = receiver;
        let done = rendezvous.is_done();
        self.answered(from);
        if done {
            return self.complete(sender, Completion::default());
        }
        self.peers[from as usize].streams.push_back(sender);
        self.mark(from);
    }

    fn finished(&mut self, from: Peer, sender: OperationId) {
        match self.rendezvous(from, sender).map(|(rendezvous, _)| rendezvous.finish()) {
            Some(Ok(())) => {
                self.answered(from);
                self.complete(sender, Completion::default());
            }
            Some(Err(_)) | None => self.fault(from, "the end of no send of ours"),
        }
    }

    /// An announced send to `to` needs nothing more of it but what it asks for.
    pub fn answered(&mut self, to: Peer) {
        let announced = &mut self.peers[to as usize].announced;
        *announced = announced.saturating_sub(1);
    }

    /// The sender has written the last bytes into the room of a receive, or could not.
    fn helped(&mut self, from: Peer, sender: OperationId, receiver: OperationId, whole: bool) {
        let operation = self.operations.get_mut(receiver).map(|operation| &mut operation.state);
        let Some(State::Receive(Receive { phase: Phase::Matched { progress, .. }, .. })) =
            operation
        else {
            return self.fault(from, "the end of no receive of ours");
        };
        if progress.helped(whole).is_err() {
            return self.fault(from, "the end of a receive out of turn");
        }
        let limit = progress.limit() as u64;
        if whole {
            return self.end_receive(receiver);
        }
        self.queue(from, Outgoing::Control(Control::Grant { sender, receiver, limit }));
    }

    /// The rendezvous of a send to `to`, and where its receiver is noted.
    pub fn rendezvous(
        &mut self, to: Peer, id: OperationId,
    ) -> Option<(&mut Sender, &mut OperationId)> {
        match &mut self.operations.get_mut(id)?.state {
            State::Send(send) if send.to == to => {
                Some((send.rendezvous.as_mut()?, &mut send.receiver))
            }
            State::Send(_) | State::Receive(_) | State::Complete(_) => None,
        }
    }

    /// `len` bytes for `offset` have come, which `take` puts into the room of their receive.
    fn data(
        &mut self, from: Peer, receiver: OperationId, offset: u64, len: usize,
        take: impl FnOnce(&mut Part),
    ) {
        let operation = self.operations.get_mut(receiver).map(|operation| &mut operation.state);
        let Some(State::Receive(Receive { room, phase: Phase::Matched { progress, .. } })) =
            operation
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
    pub fn spare(&mut self, len: usize) -> Vec<u8> {
        let mut spare = self.spares.pop().unwrap_or_default();
        spare.resize(len, 0);
        spare
    }

    /// Keeps a buffer for later.
    pub fn keep_spare(&mut self, spare: Vec<u8>) {
        if self.spares.len() < SPARES_MAX && spare.capacity() <= SPARE_BYTES_MAX {
            self.spares.push(spare);
        }
    }
}

impl Sink for Protocol {
    #[inline]
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        if header.kind == Kind::Eager as u8 {
            self.eager(from, Envelope::of(header), data);
        } else if header.kind == Kind::Announce as u8 {
            self.announced(from, Envelope::of(header), data);
        } else if let Some(control) = Control::parse(header) {
            self.control(from, control, data);
        } else {
            self.fault(from, &format!("a packet of the unknown kind {}", header.kind));
        }
    }
}

/// The whole message is here: copies it into the room of its receive. That receive's end.
#[inline]
fn delivered(envelope: Envelope, room: &mut Part, data: &[u8]) -> Completion {
    let bytes = data.len().min(room.len);
    room.unpack(0, &data[..bytes]);
    received(envelope, bytes, (bytes < data.len()).then_some(room.len))
}

/// The end of a receive; `truncated` is the room there was for a longer message.
#[inline]
fn received(envelope: Envelope, bytes: usize, truncated: Option<usize>) -> Completion {
    let error = truncated.map(|room| too_long(envelope, room));
    Completion { source: envelope.source, tag: envelope.tag, bytes, cancelled: false, error }
}

#[cold]
fn too_long(envelope: Envelope, room: usize) -> Box<MpiError> {
    ErrorClass::Truncate.error(format!(
        "the message from rank {} with tag {} is longer than the {room} bytes of the receive \
         buffer",
        envelope.source, envelope.tag
    ))
}
