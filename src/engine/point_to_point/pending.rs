//! What has not ended yet, for people who ask why a call does not return.
//!
//! Only looks, and may walk over everything that is in flight: never on the way of a message.

use crate::device::Device;
use crate::engine::point_to_point::Engine;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{
    OperationId, OperationOwner, OperationState, ReceivePhase,
};
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::schedules::run::RunId;
use platform::base::Peer;
use platform::diagnosis::wait_report::QueueLengths;

/// A send or a receive that has not ended. Lengths are in bytes of the packed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum PendingOperation {
    /// A send.
    Send {
        /// Where to.
        to: Peer,
        /// What it is matched by.
        envelope: Envelope,
        /// The message's length.
        bytes: usize,
    },
    /// A receive that no message has matched.
    Receive {
        /// What it accepts.
        pattern: MatchPattern,
        /// The longest message that it has room for.
        bytes: usize,
    },
    /// A receive whose message is on its way.
    Arriving {
        /// The message's envelope.
        envelope: Envelope,
        /// The longest message that it has room for.
        bytes: usize,
    },
}

/// A collective operation that has not ended here.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct PendingRun {
    /// The context of its messages.
    pub(crate) context: u64,
    /// The number of the call on its communicator.
    pub(crate) sequence: u32,
    /// Who must send or receive something next, ascending.
    pub(crate) peers: Vec<Peer>,
}

impl<D: Device> Engine<D> {
    /// What the operation still waits for; `None` if it has ended or never was.
    pub fn pending(&self, id: OperationId) -> Option<PendingOperation> {
        match &self.protocol.operations.get(id)?.state {
            OperationState::Complete(_) => None,
            OperationState::Send(send) => {
                let bytes = send.message.len;
                Some(PendingOperation::Send { to: send.to, envelope: send.envelope, bytes })
            }
            OperationState::Receive(receive) => {
                let bytes = receive.buffer.len;
                Some(match &receive.phase {
                    ReceivePhase::Posted(posted) => PendingOperation::Receive {
                        pattern: self.protocol.matching.pattern(*posted),
                        bytes,
                    },
                    ReceivePhase::Matched { envelope, .. } => {
                        PendingOperation::Arriving { envelope: *envelope, bytes }
                    }
                })
            }
        }
    }

    /// What the run still waits for; `None` if it is over.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn pending_run(&self, id: RunId) -> Option<PendingRun> {
        if self.is_run_complete(id) {
            return None;
        }
        let launch = self.runs.launch(id);
        let steps = self.protocol.operations.iter().filter(
            |(_, operation)| matches!(operation.owner, OperationOwner::Step { run, .. } if run == id),
        );
        let peer = |operation: OperationId| match self.pending(operation)? {
            PendingOperation::Send { to, .. } => Some(to),
            PendingOperation::Receive { pattern, .. } => {
                pattern.source.map(|it| launch.members.peer(it))
            }
            PendingOperation::Arriving { envelope, .. } => {
                Some(launch.members.peer(envelope.source))
            }
        };
        let mut peers: Vec<_> = steps.filter_map(|(operation, _)| peer(operation)).collect();
        peers.sort_unstable();
        peers.dedup();
        Some(PendingRun { context: launch.context, sequence: launch.sequence, peers })
    }

    /// What is in the queues.
    pub(crate) fn queues(&self) -> QueueLengths {
        let (posted, unexpected) = self.queue_lengths();
        let peers = self.protocol.outbox.iter().map(|peer| &self.protocol.peers[*peer as usize]);
        let outgoing = peers.map(|peer| peer.envelopes.len() + peer.streams.len()).sum();
        QueueLengths { posted, unexpected, outgoing }
    }

    /// Whether nothing is left to be done here until something arrives or the application acts.
    pub fn is_quiescent(&self) -> bool {
        !self.protocol.needs_poll() && !self.has_work() && self.device_quiescence().is_some()
    }

    /// The messages of a communicator that have come and that nobody has received, oldest first,
    /// with their lengths.
    pub fn unexpected(&self, context: u64) -> impl Iterator<Item = (Envelope, u64)> {
        let messages = self.protocol.matching.messages(context);
        messages.map(|(envelope, message)| (envelope, message.len()))
    }
}
