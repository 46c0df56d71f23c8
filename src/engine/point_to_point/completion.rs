//! The end of operations: query, take, release, withdraw.

use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::failure::posted;
use crate::engine::point_to_point::operation::{
    Completion, OperationId, OperationOwner, OperationState, ReceiveOperation, ReceivePhase,
};
use platform::base::Peer;

impl<D> PointToPoint<D> {
    /// The completion of an operation; `None` while the operation is in progress.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub(crate) fn completion(&self, id: OperationId) -> Option<&Completion> {
        match &self.protocol.operations[id].state {
            OperationState::Complete(completion) => Some(completion),
            OperationState::Send(_) | OperationState::Receive(_) => None,
        }
    }

    /// Takes the completion of an operation; the key becomes free.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline(always)]
    pub(crate) fn take_completion(&mut self, id: OperationId) -> Option<Completion> {
        let OperationState::Complete(end) = &mut self.protocol.operations[id].state else {
            return None;
        };
        // Field by field, as they were written (`MessageProtocol::complete`).
        let (source, tag, bytes) = (end.source, end.tag, end.bytes);
        let (is_converted, cancelled) = (end.is_converted, end.cancelled);
        let error = end.error.take();
        let completion = Completion { source, tag, bytes, is_converted, cancelled, error };
        self.protocol.operations.discard(id);
        if let Some(error) = &completion.error {
            self.protocol.told(error);
        }
        Some(completion)
    }

    /// Removes an operation when it completes, without a caller that waits for it.
    pub(crate) fn release(&mut self, id: OperationId) {
        if self.take_completion(id).is_none() {
            self.protocol.operations[id].owner = OperationOwner::Released;
        }
    }

    /// Cancels a receive that no message has matched. Other operations continue.
    pub(crate) fn cancel_receive(&mut self, id: OperationId) {
        let OperationState::Receive(ReceiveOperation {
            phase: ReceivePhase::Posted(posted), ..
        }) = &self.protocol.operations[id].state
        else {
            return;
        };
        let posted = *posted;
        self.protocol.matching.unpost(posted);
        let completion = Completion { cancelled: true, ..Completion::default() };
        self.protocol.complete(id, completion);
    }

    /// Takes back all receives that no message has matched, those of schedules too, which then
    /// never complete. Their buffers belong to the application again.
    pub(crate) fn withdraw_receives(&mut self) {
        let all = self.protocol.operations.iter();
        let all: Vec<_> =
            all.filter_map(|(id, operation)| Some((id, posted(operation)?))).collect();
        for (id, posted) in all {
            match self.protocol.operations[id].owner {
                OperationOwner::Caller | OperationOwner::Released => self.cancel_receive(id),
                OperationOwner::Step { .. } | OperationOwner::Part(_) => {
                    self.protocol.matching.unpost(posted);
                    self.protocol.operations.discard(id);
                }
            }
        }
    }

    /// [`MessageProtocol::senders`](super::protocol::MessageProtocol::senders).
    pub(crate) fn senders(&self) -> Vec<Peer> {
        self.protocol.senders()
    }

    /// [`MessageProtocol::end_receives_from`](super::protocol::MessageProtocol::end_receives_from).
    pub(crate) fn end_receives_from(&mut self, ended: Peer) {
        self.protocol.end_receives_from(ended);
    }
}
