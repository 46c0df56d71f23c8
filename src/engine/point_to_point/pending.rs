//! Operations that have not completed, for reports on waiting calls.
//!
//! Nothing here is on the path of a message: a query may walk over everything in progress.

use crate::device::Device;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{OperationId, OperationState, ReceivePhase};
use crate::engine::point_to_point::peers::PeerQueues;
use crate::engine::point_to_point::wire::Envelope;
use platform::base::Peer;
use platform::diagnosis::wait_report::QueueLengths;

/// A send or a receive that has not completed. Lengths are in bytes of the packed message.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PendingOperation {
    /// A send.
    Send {
        /// The receiving peer.
        to: Peer,
        /// The message's envelope.
        envelope: Envelope,
        /// The length of the message.
        bytes: usize,
    },
    /// A receive that no message has matched.
    Receive {
        /// The messages that it accepts.
        pattern: MatchPattern,
        /// The length of the buffer.
        bytes: usize,
    },
    /// A receive whose message is on its way.
    Arriving {
        /// The message's envelope.
        envelope: Envelope,
        /// The length of the buffer.
        bytes: usize,
    },
}

impl<D: Device> PointToPoint<D> {
    /// The state of an operation; `None` if it has completed or does not exist.
    pub(crate) fn pending(&self, id: OperationId) -> Option<PendingOperation> {
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

    /// The operations of the steps of a run that have not completed.
    pub(crate) fn pending_steps(&self, run: u32) -> impl Iterator<Item = PendingOperation> {
        let operations = self.protocol.operations.iter();
        let steps = operations.filter(move |(_, operation)| operation.owner.is_step_of(run));
        steps.filter_map(|(id, _)| self.pending(id))
    }

    /// The lengths of all queues.
    pub(crate) fn queues(&self) -> QueueLengths {
        let (posted, unexpected) = self.queue_lengths();
        let peers = self.protocol.peers.states();
        let outgoing = peers.map(PeerQueues::len).sum();
        QueueLengths { posted, unexpected, outgoing }
    }

    /// The numbers of posted receives and of unexpected messages.
    pub(crate) fn queue_lengths(&self) -> (usize, usize) {
        self.protocol.matching.lengths()
    }
}
