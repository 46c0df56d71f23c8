//! The end of peers: a process that has ended, and a peer that the device no longer reaches.
//!
//! ```text
//! the device reports a failure      every operation with the peer ends with an error, its queues are
//!                                   emptied, and later sends to it end at once
//! a process has ended               the receives whose messages were on their way end with an error
//! ```
//!
//! A posted receive names its source by a rank in a communicator. The caller, which can translate it
//! into a peer, ends such receives ([`MessageProtocol::end_posted_receives`]).
//!
//! A context may be *closed*: its communicator was revoked, or has lost a member that its collectives need.
//! Then its posted receives end with an error, and messages of it are dropped when they arrive. An RTS
//! gets a CTS for nothing, which ends the send; so nothing is sent from memory that the application has
//! back, and each message that has matched arrives. Sends without a match are cancelled, as a receiver may
//! not know the context: it has failed to make the communicator.
//!
//! Until the error of an operation has told the application of the failure, a waiting call hears of it
//! as of a violation of the protocol.

use crate::engine::point_to_point::matching::{MatchPattern, PostedId};
use crate::engine::point_to_point::operation::{
    Completion, Operation, OperationState, ReceivePhase,
};
use crate::engine::point_to_point::peers::OutboxState;
use crate::engine::point_to_point::protocol::{MessageBody, MessageProtocol, UnexpectedMessage};
use crate::engine::point_to_point::wire::{Control, Envelope};
use platform::base::{ErrorClass, MpiError, Peer};

impl MessageProtocol {
    /// The device reaches `peer` no longer. Lent memory has been given back.
    pub(crate) fn peer_failed(&mut self, peer: Peer, why: &str) {
        if self.peers.failure(peer).is_some() {
            return;
        }
        let why = match peer < self.job_size {
            true => format!("rank {peer} of the world has failed: {why}"),
            false => format!("a process of another job has failed: {why}"),
        };
        let waited = self.peers.fail(peer, &why);
        self.leave_outbox(peer, waited);
        self.matched_rts.retain(|matched| matched.from != peer);
        self.copy_assists.retain(|assist| assist.to != peer);
        let all = self.operations.iter();
        let lost: Vec<_> = all
            .filter(|(_, at)| receiver(at) == Some(peer) || sender(at) == Some(peer))
            .map(|(id, _)| id)
            .collect();
        for id in lost {
            let (source, tag) = self.matched_envelope(id);
            let error = Some(ErrorClass::ProcFailed.error(why.clone()));
            self.complete(id, Completion { source, tag, error, ..Completion::default() });
        }
        self.events += 1;
        self.is_disturbed = true;
        self.failures += 1;
        // Jobs that are connected later go on without each other.
        if peer < self.world_size && !self.survives_failures {
            self.faults.push(ErrorClass::ProcFailed.error(why));
        }
    }

    fn leave_outbox(&mut self, peer: Peer, waited: OutboxState) {
        match waited {
            OutboxState::Out => (),
            OutboxState::Queued => self.outbox.retain(|queued| *queued != peer),
            OutboxState::AwaitsRoom => self.awaiting_room -= 1,
        }
    }

    /// Frees the number of a peer for another process, when nothing is in transit there.
    pub(crate) fn renew_peer(&mut self, peer: Peer) {
        let waited = self.peers.renew(peer);
        self.leave_outbox(peer, waited);
    }

    /// Completes, with an error, the posted receives of closed contexts, and those for which `culprit`
    /// names a failed peer. It is given the messages that the receive accepts, and whether a peer has
    /// failed.
    pub(crate) fn end_posted_receives(
        &mut self, mut culprit: impl FnMut(MatchPattern, &dyn Fn(Peer) -> bool) -> Option<Peer>,
    ) {
        let all = self.operations.iter();
        let all: Vec<_> = all.filter_map(|(id, at)| Some((id, posted(at)?))).collect();
        for (id, posted) in all {
            let pattern = self.matching.pattern(posted);
            let has_failed = |peer| self.peers.failure(peer).is_some();
            let closed = self.closed.get(&pattern.context).cloned();
            let failure = || culprit(pattern, &has_failed).and_then(|peer| self.failure(peer));
            let Some(error) = closed.or_else(failure) else { continue };
            self.matching.unpost(posted);
            let (source, tag) = (pattern.source.unwrap_or(0), pattern.tag.unwrap_or(0));
            let error = Some(error);
            self.complete(id, Completion { source, tag, error, ..Completion::default() });
        }
    }

    /// The messages that posted receives accept.
    pub(crate) fn awaited(&self) -> impl Iterator<Item = MatchPattern> {
        let posted = self.operations.iter().filter_map(|(_, at)| posted(at));
        posted.map(|posted| self.matching.pattern(posted))
    }

    /// Ends communication in `context`: operations get `error`, messages are dropped.
    pub(crate) fn close_context(&mut self, context: u64, error: &MpiError) {
        self.closed.insert(context, Box::new(error.clone()));
        (self.is_disturbed, self.events) = (true, self.events + 1);
        let all = MatchPattern { context, source: None, tag: None };
        while let Some((_, message)) = self.take_message(all) {
            self.drop_message(&message);
        }
        self.cancel_sends_of(context);
    }

    /// Whether a message that no receive has matched is dropped; notes the arrival of one about failures.
    #[cold]
    pub(crate) fn refuses(&mut self, envelope: Envelope, message: &UnexpectedMessage) -> bool {
        self.is_disturbed = true;
        let is_refused = self.closed.contains_key(&envelope.context);
        if is_refused {
            self.drop_message(message);
        }
        is_refused
    }

    fn drop_message(&mut self, message: &UnexpectedMessage) {
        match &message.body {
            MessageBody::Whole(data) => self.consumed(message.from, data.len()),
            MessageBody::Rts(rts) => {
                let nothing = Control::Cts { sender: rts.sender, receiver: 0, limit: 0 };
                self.queue_reply(message.from, nothing);
            }
        }
    }

    /// The completion of a send whose receiver has granted 0 bytes.
    pub(crate) fn end_of_empty_send(&self, id: u32) -> Completion {
        let error = match &self.operations[id].state {
            OperationState::Send(send) if send.message.len > 0 => {
                self.closed.get(&send.envelope.context).cloned()
            }
            _ => None,
        };
        Completion { error, ..Completion::default() }
    }

    /// Completes a receive that no message has matched with `error`.
    pub(crate) fn fail_receive(&mut self, id: u32, error: Box<MpiError>) {
        if let Some(posted) = posted(&self.operations[id]) {
            self.matching.unpost(posted);
            let error = Some(error);
            self.complete(id, Completion { error, ..Completion::default() });
        }
    }

    /// A notice is awaited, without a posted receive: each poll looks for it, which ends all holds (`hold`),
    /// as peers would hold the notice back too.
    pub(crate) fn expect_notices(&mut self) {
        self.is_disturbed = true;
    }

    /// The application has got this error.
    #[cold]
    pub(crate) fn told(&mut self, error: &MpiError) {
        self.faults.retain(|fault| fault.why != error.why);
    }

    /// The error of operations with a peer that has failed.
    pub(crate) fn failure(&self, peer: Peer) -> Option<Box<MpiError>> {
        Some(ErrorClass::ProcFailed.error(self.peers.failure(peer)?))
    }

    /// The peers whose messages are on their way: matched, but not complete.
    pub(crate) fn senders(&self) -> Vec<Peer> {
        let mut peers: Vec<_> = self.operations.iter().filter_map(|(_, at)| sender(at)).collect();
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// Completes, with an error, the receives whose messages are on their way from `ended`, whose
    /// process has ended and whose packets have all been delivered.
    pub(crate) fn end_receives_from(&mut self, ended: Peer) {
        let all = self.operations.iter();
        let lost: Vec<_> =
            all.filter(|(_, at)| sender(at) == Some(ended)).map(|(id, _)| id).collect();
        self.matched_rts.retain(|matched| matched.from != ended);
        for id in lost {
            let (source, tag) = self.matched_envelope(id);
            let error = Some(ErrorClass::ProcFailed.error(format!(
                "the process of rank {ended} of the world ended before its message with tag {tag} \
                 had arrived"
            )));
            self.complete(id, Completion { source, tag, error, ..Completion::default() });
        }
    }

    /// Source and tag of the message of a receive, 0 for a send.
    fn matched_envelope(&self, id: u32) -> (u32, i32) {
        match &self.operations[id].state {
            OperationState::Receive(receive) => match receive.phase {
                ReceivePhase::Matched { envelope: Envelope { source, tag, .. }, .. } => {
                    (source, tag)
                }
                ReceivePhase::Posted(_) => (0, 0),
            },
            OperationState::Send(_) | OperationState::Complete(_) => (0, 0),
        }
    }
}

/// The place of a receive that no message has matched.
pub(super) fn posted(operation: &Operation) -> Option<PostedId> {
    match &operation.state {
        OperationState::Receive(receive) => match receive.phase {
            ReceivePhase::Posted(posted) => Some(posted),
            ReceivePhase::Matched { .. } => None,
        },
        OperationState::Send(_) | OperationState::Complete(_) => None,
    }
}

/// The peer whose message for this operation is on its way.
fn sender(operation: &Operation) -> Option<Peer> {
    match &operation.state {
        OperationState::Receive(receive) => match receive.phase {
            ReceivePhase::Matched { from, .. } => Some(from),
            ReceivePhase::Posted(_) => None,
        },
        OperationState::Send(_) | OperationState::Complete(_) => None,
    }
}

/// The peer to which this operation sends.
fn receiver(operation: &Operation) -> Option<Peer> {
    match &operation.state {
        OperationState::Send(send) => Some(send.to),
        OperationState::Receive(_) | OperationState::Complete(_) => None,
    }
}
