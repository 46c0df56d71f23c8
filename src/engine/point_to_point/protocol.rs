//! The state of all messages of one rank, without a device.
//!
//! Replies and data are queued for each peer in order; `outgoing` sends them. Matched messages that
//! can be copied directly are queued for `direct_copy`. `arrival` has the transitions that arriving
//! packets cause.

use std::collections::{BTreeMap, VecDeque};
use std::ops::Range;

use crate::engine::point_to_point::credit::UnexpectedMemory;
use crate::engine::point_to_point::matching::{MatchPattern, Matching};
use crate::engine::point_to_point::operation::{
    CompletedPart, CompletedStep, Completion, MemoryRange, Operation, OperationId, OperationOwner,
    OperationState, ReceiveOperation, ReceivePhase, SendOperation,
};
use crate::engine::point_to_point::peers::{OutboxState, PeerTable, QueuedEnvelope};
use crate::engine::point_to_point::rendezvous::{RendezvousReceiver, RendezvousSender};
use crate::engine::point_to_point::watch::WatchedContexts;
use crate::engine::point_to_point::wire::{Control, Envelope, Rts};
use platform::base::{ErrorClass, MpiError, Peer, Slab};

/// Free buffers for unexpected messages, and the longest of them, in bytes.
const FREE_BUFFERS_MAX: usize = 64;
const FREE_BUFFER_BYTES_MAX: usize = 64 << 10;

pub(crate) struct MessageProtocol {
    pub(crate) me: Peer,
    /// The number of ranks of the job: further peers are processes of other jobs.
    pub(crate) job_size: Peer,
    /// The number of processes that go on together only: more than those of the job if the world has
    /// other clients.
    pub(crate) world_size: Peer,
    short_max: usize,
    pub(crate) matching: Matching<OperationId, UnexpectedMessage>,
    pub(crate) operations: Slab<Operation>,
    pub(crate) peers: PeerTable,
    /// Peers with queued packets, each once ([`OutboxState::Queued`]).
    pub(crate) outbox: VecDeque<Peer>,
    /// The number of peers in the state [`OutboxState::AwaitsRoom`].
    pub(crate) awaiting_room: usize,
    pub(crate) matched_rts: VecDeque<MatchedRts>,
    pub(crate) copy_assists: VecDeque<CopyAssist>,
    pub(crate) steps: VecDeque<CompletedStep>,
    pub(crate) parts: VecDeque<CompletedPart>,
    /// Datagrams, with the peers that sent them.
    pub(crate) datagrams: Vec<(Peer, Box<[u8]>)>,
    /// Violations of the protocol by peers, and peers that have failed.
    #[expect(clippy::vec_box, reason = "an error travels in its box")]
    pub(crate) faults: Vec<Box<MpiError>>,
    /// Whether any peer has failed, a message about failures has arrived, or a context was closed.
    pub(crate) is_disturbed: bool,
    /// The number of peers that have failed.
    pub(crate) failures: u32,
    /// Whether the application survives the failure of peers: a failure that no operation has told is
    /// no fault.
    pub(crate) survives_failures: bool,
    /// Contexts without communication, each with the error of its operations.
    pub(crate) closed: BTreeMap<u64, Box<MpiError>>,
    /// Events that a call may wait for, so far.
    pub(crate) events: u64,
    /// Times that a device has given memory back.
    pub(crate) returns: usize,
    pub(crate) unexpected: UnexpectedMemory,
    pub(crate) watched: WatchedContexts,
    free_buffers: Vec<Vec<u8>>,
}

/// A receive with the RTS that matched it, not answered yet.
pub(crate) struct MatchedRts {
    pub(crate) receiver: OperationId,
    pub(crate) from: Peer,
    pub(crate) rts: Rts,
    pub(crate) copied: DirectCopy,
}

/// The progress of a direct copy.
#[derive(Clone, Copy)]
pub(crate) enum DirectCopy {
    /// It has not begun.
    Due,
    /// The receiver alone has read this number of bytes.
    Reading(usize),
    /// Both ends copy, by this ticket of the device.
    Split(u64),
}

/// A request to assist the copy of a message to `to`.
pub(crate) struct CopyAssist {
    pub(crate) to: Peer,
    pub(crate) sender: OperationId,
    pub(crate) receiver: OperationId,
    pub(crate) ticket: u64,
}

/// A send whose receiver has asked for its data.
pub(crate) struct GrantedSend<'a> {
    pub(crate) message: &'a MemoryRange,
    pub(crate) receiver: OperationId,
}

#[derive(Debug)]
pub(crate) struct UnexpectedMessage {
    pub(crate) from: Peer,
    pub(crate) body: MessageBody,
}

#[derive(Debug)]
pub(crate) enum MessageBody {
    /// The whole message.
    Whole(Vec<u8>),
    /// The RTS of a message.
    Rts(Rts),
}

impl UnexpectedMessage {
    /// The number of packed bytes.
    pub(crate) fn len(&self) -> u64 {
        match &self.body {
            MessageBody::Whole(data) => data.len() as u64,
            MessageBody::Rts(rts) => rts.total,
        }
    }
}

/// Queues.
impl MessageProtocol {
    pub(crate) fn new(me: Peer, size: usize, short_max: usize) -> Self {
        Self {
            me,
            job_size: size as Peer,
            world_size: size as Peer,
            short_max,
            matching: Matching::default(),
            operations: Slab::default(),
            peers: PeerTable::default(),
            outbox: VecDeque::new(),
            awaiting_room: 0,
            matched_rts: VecDeque::new(),
            copy_assists: VecDeque::new(),
            steps: VecDeque::new(),
            parts: VecDeque::new(),
            datagrams: Vec::new(),
            faults: Vec::new(),
            is_disturbed: false,
            failures: 0,
            survives_failures: false,
            closed: BTreeMap::new(),
            events: 0,
            returns: 0,
            unexpected: UnexpectedMemory::new(size),
            watched: WatchedContexts::default(),
            free_buffers: Vec::new(),
        }
    }

    /// Whether a poll left anything to copy, to send or to advance.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        !(self.outbox.is_empty()
            && self.matched_rts.is_empty()
            && self.copy_assists.is_empty()
            && self.steps.is_empty()
            && self.parts.is_empty())
    }

    /// Queues a packet without an envelope, unless the peer has failed.
    pub(crate) fn queue_reply(&mut self, to: Peer, reply: Control) {
        if self.peers.failure(to).is_none() {
            self.peers.at(to).replies.push_back(reply);
            self.queue_peer(to);
        }
    }

    /// Queues the first packet of a send.
    pub(crate) fn queue_first(&mut self, to: Peer, send: OperationId) {
        let first = QueuedEnvelope::FirstOf(send);
        self.peers.change_envelopes(to, |queue| queue.push_back(first));
        self.queue_peer(to);
    }

    /// Puts a peer with queued packets into the outbox, unless it waits for room.
    pub(crate) fn queue_peer(&mut self, to: Peer) {
        let state = &mut self.peers.at(to).outbox;
        if *state == OutboxState::Out {
            *state = OutboxState::Queued;
            self.outbox.push_back(to);
        }
    }

    /// The queued packets of a peer that is not in the outbox wait for room.
    pub(crate) fn await_room(&mut self, to: Peer) {
        self.peers.at(to).outbox = OutboxState::AwaitsRoom;
        self.awaiting_room += 1;
    }

    /// There may be room for packets to a peer.
    pub(crate) fn room_announced(&mut self, to: Peer) {
        if self.peers.get(to).is_some_and(|peer| peer.outbox == OutboxState::AwaitsRoom) {
            self.peers.at(to).outbox = OutboxState::Out;
            self.awaiting_room -= 1;
            self.queue_peer(to);
        }
    }

    /// Counts the answer to an RTS.
    pub(crate) fn rts_answered(&mut self, to: Peer) {
        let unanswered = &mut self.peers.at(to).unanswered_rts;
        *unanswered = unanswered.saturating_sub(1);
    }

    /// Counts `len` bytes of eager payload that this rank no longer holds, and queues the credit
    /// when enough of it is due.
    #[inline]
    pub(crate) fn consumed(&mut self, from: Peer, len: usize) {
        if len <= self.short_max || from == self.me {
            return;
        }
        if let Some(bytes) = self.peers.at(from).credit.consume(len) {
            self.queue_reply(from, Control::Credit { bytes });
        }
    }

    /// A buffer of `len` bytes, a free one if possible.
    pub(crate) fn take_buffer(&mut self, len: usize) -> Vec<u8> {
        let mut buffer = self.free_buffers.pop().unwrap_or_default();
        buffer.resize(len, 0);
        buffer
    }

    fn recycle_buffer(&mut self, buffer: Vec<u8>) {
        if self.free_buffers.len() < FREE_BUFFERS_MAX && buffer.capacity() <= FREE_BUFFER_BYTES_MAX
        {
            self.free_buffers.push(buffer);
        }
    }
}

/// Receives.
impl MessageProtocol {
    /// Posts a receive that no unexpected message matches.
    #[inline(always)]
    pub(crate) fn post(
        &mut self, pattern: MatchPattern, buffer: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        let id = self.operations.next_key();
        let phase = ReceivePhase::Posted(self.matching.post(pattern, id));
        let state = OperationState::Receive(ReceiveOperation { buffer, phase });
        self.operations.insert(Operation { owner, state })
    }

    /// Starts the receive of an unexpected message.
    pub(crate) fn accept(
        &mut self, envelope: Envelope, message: UnexpectedMessage, mut buffer: MemoryRange,
        owner: OperationOwner,
    ) -> OperationId {
        let state = OperationState::Complete(Completion::default());
        let id = self.operations.insert(Operation { owner, state });
        match message.body {
            MessageBody::Whole(data) => {
                self.consumed(message.from, data.len());
                let end = deliver(envelope, &mut buffer, &data);
                self.complete(id, end);
                self.recycle_buffer(data);
            }
            MessageBody::Rts(rts) => self.match_rts(id, envelope, message.from, rts, buffer),
        }
        id
    }

    /// Notes that `rts` matched the receive `id` and queues the copy.
    pub(crate) fn match_rts(
        &mut self, id: OperationId, envelope: Envelope, from: Peer, rts: Rts, buffer: MemoryRange,
    ) {
        if let Some(error) = self.failure(from) {
            let Envelope { source, tag, .. } = envelope;
            let error = Some(error);
            let end = Completion { source, tag, error, ..Completion::default() };
            return self.complete(id, end);
        }
        let progress = RendezvousReceiver::new(rts.total, buffer.len);
        let phase = ReceivePhase::Matched { from, envelope, progress };
        self.operations[id].state = OperationState::Receive(ReceiveOperation { buffer, phase });
        let copied = DirectCopy::Due;
        self.matched_rts.push_back(MatchedRts { receiver: id, from, rts, copied });
    }

    /// A send whose data leaves in packets.
    pub(crate) fn granted(
        &mut self, id: OperationId,
    ) -> Option<(GrantedSend<'_>, &mut RendezvousSender)> {
        match &mut self.operations[id].state {
            OperationState::Send(SendOperation { message, receiver, rendezvous, .. }) => {
                Some((GrantedSend { message, receiver: *receiver }, rendezvous.as_mut()?))
            }
            OperationState::Receive(_) | OperationState::Complete(_) => None,
        }
    }

    /// Completes a send if its buffer may be reused.
    pub(crate) fn end_send(&mut self, id: OperationId) {
        if self.granted(id).is_some_and(|(_, rendezvous)| rendezvous.is_done()) {
            self.complete(id, Completion::default());
        }
    }

    /// The rendezvous of a send to `to`, and the field for the key of its receiver.
    pub(crate) fn rendezvous(
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
}

/// Messages of this rank to itself.
impl MessageProtocol {
    /// Delivers a whole message to its receive, or keeps it as unexpected.
    pub(crate) fn message_to_self(&mut self, envelope: Envelope, message: &MemoryRange) {
        let Some(id) = self.matching.take_receive(envelope) else {
            let mut body = self.take_buffer(message.len);
            message.pack(0, &mut body);
            let message = UnexpectedMessage { from: self.me, body: MessageBody::Whole(body) };
            return self.keep(envelope, message);
        };
        if let OperationState::Receive(receive) = &mut self.operations[id].state {
            let buffer = &mut receive.buffer;
            let bytes = message.len.min(buffer.len);
            message.copy(0, buffer, bytes);
            let end = received(envelope, buffer, bytes, bytes < message.len);
            self.complete(id, end);
        }
    }

    /// Delivers a part of a granted message.
    pub(crate) fn data_to_self(
        &mut self, receiver: OperationId, message: &MemoryRange, range: Range<usize>,
    ) {
        let (start, len) = (range.start, range.len());
        self.data(self.me, receiver, start as u64, len, |buffer| message.copy(start, buffer, len));
    }

    /// Delivers `len` bytes of a granted message at `offset`, which `take` puts into the buffer.
    pub(crate) fn data(
        &mut self, from: Peer, receiver: OperationId, offset: u64, len: usize,
        take: impl FnOnce(&mut MemoryRange),
    ) {
        let Some((buffer, progress)) = self.arriving(from, receiver) else {
            return self.fault(from, "data for a receive that does not exist");
        };
        if progress.data(offset, len).is_err() {
            return self.fault(from, "data out of order");
        }
        take(buffer);
        if progress.is_done() {
            self.end_receive(receiver);
        }
    }

    /// The buffer and the progress of a receive whose message is on its way from a peer.
    pub(crate) fn arriving(
        &mut self, from: Peer, receiver: OperationId,
    ) -> Option<(&mut MemoryRange, &mut RendezvousReceiver)> {
        match &mut self.operations.get_mut(receiver)?.state {
            OperationState::Receive(ReceiveOperation {
                buffer,
                phase: ReceivePhase::Matched { from: sender, progress, .. },
            }) if *sender == from => Some((buffer, progress)),
            OperationState::Receive(_) | OperationState::Send(_) | OperationState::Complete(_) => {
                None
            }
        }
    }

    /// Records a violation of the protocol; nothing else changes. There is none by a peer that has failed:
    /// others may tell of its end before its last packets have arrived, whose operations have ended then.
    pub(crate) fn fault(&mut self, from: Peer, what: &str) {
        if self.peers.failure(from).is_some() {
            return;
        }
        let why = format!("rank {from} of the world sent {what}");
        self.faults.push(ErrorClass::Intern.error(why));
    }
}

/// Completions.
impl MessageProtocol {
    /// Completes an operation.
    #[inline(always)]
    pub(crate) fn complete(&mut self, id: OperationId, completion: Completion) {
        let operation = &mut self.operations[id];
        if operation.owner == OperationOwner::Caller {
            self.events += 1;
            let Completion { source, tag, bytes, is_converted, cancelled, error } = completion;
            operation.state = OperationState::Complete(Completion::default());
            // Field by field. A copy of the whole would load in one piece the bytes that were just
            // stored in parts, and stall until the parts have left the store buffer.
            if let OperationState::Complete(end) = &mut operation.state {
                (end.source, end.tag, end.bytes) = (source, tag, bytes);
                (end.is_converted, end.cancelled, end.error) = (is_converted, cancelled, error);
            }
        } else {
            self.complete_without_caller(id, completion);
        }
    }

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
            OperationOwner::Part(part) => {
                self.operations.remove(id);
                let Completion { bytes, error, .. } = completion;
                self.parts.push_back(CompletedPart { id: part, bytes, error });
            }
        }
    }

    /// Completes a receive whose data has arrived by rendezvous.
    pub(crate) fn end_receive(&mut self, id: OperationId) {
        let OperationState::Receive(receive) = &self.operations[id].state else { return };
        let ReceivePhase::Matched { envelope, progress, .. } = &receive.phase else { return };
        let (envelope, bytes, truncated) = (*envelope, progress.limit(), progress.is_truncated());
        let end = received(envelope, &receive.buffer, bytes, truncated);
        self.complete(id, end);
    }
}

/// Copies a whole message into the buffer of its receive and returns the completion.
#[inline]
pub(crate) fn deliver(envelope: Envelope, buffer: &mut MemoryRange, data: &[u8]) -> Completion {
    let bytes = data.len().min(buffer.len);
    buffer.unpack(0, &data[..bytes]);
    received(envelope, buffer, bytes, bytes < data.len())
}

/// The completion of a receive of `bytes` bytes into `buffer`, which may be shorter than the message.
#[inline]
fn received(
    envelope: Envelope, buffer: &MemoryRange, bytes: usize, is_truncated: bool,
) -> Completion {
    let error = is_truncated.then(|| truncation_error(envelope, buffer.len));
    let Envelope { source, tag, .. } = envelope;
    let is_converted = buffer.memory.is_converted();
    Completion { source, tag, bytes, is_converted, cancelled: false, error }
}

#[cold]
fn truncation_error(envelope: Envelope, capacity: usize) -> Box<MpiError> {
    ErrorClass::Truncate.error(format!(
        "the message from rank {} with tag {} is longer than the {capacity} bytes of the receive \
         buffer",
        envelope.source, envelope.tag
    ))
}
