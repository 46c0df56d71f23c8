//! Receives: posted, matched with an unexpected message, or of a message that a probe took.

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{MemoryRange, OperationId, OperationOwner};
use crate::engine::point_to_point::probe::ProbedMessage;

impl<D: Device> PointToPoint<D> {
    /// Starts a receive. It may have completed when this returns.
    #[inline(always)]
    pub(crate) fn receive(&mut self, pattern: MatchPattern, memory: Memory) -> OperationId {
        self.receive_range(pattern, MemoryRange::all(memory), OperationOwner::Caller)
    }

    /// Starts the receive of a message that a matched probe took (MPI 5.0 §3.8.2).
    pub(crate) fn receive_matched(
        &mut self, matched: ProbedMessage, memory: Memory,
    ) -> OperationId {
        self.receive_message(matched, MemoryRange::all(memory), OperationOwner::Caller)
    }

    /// Starts a receive for `owner`.
    #[inline(always)]
    pub(crate) fn receive_range(
        &mut self, pattern: MatchPattern, buffer: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        match self.protocol.take_message(pattern) {
            Some((envelope, message)) => {
                self.receive_message(ProbedMessage { envelope, message }, buffer, owner)
            }
            None => {
                if buffer.len > self.eager_max || self.protocol.unexpected.is_limited() {
                    self.protocol.resume_all();
                    self.note_long_start();
                }
                self.protocol.post(pattern, buffer, owner)
            }
        }
    }

    fn receive_message(
        &mut self, matched: ProbedMessage, buffer: MemoryRange, owner: OperationOwner,
    ) -> OperationId {
        let id = self.protocol.accept(matched.envelope, matched.message, buffer, owner);
        if self.needs_poll() {
            self.note_long_start();
        }
        self.run_due_copies();
        self.send_queued();
        id
    }
}
