//! Puts and gets that the device makes in memory of a target and that end after their call.
//!
//! ```text
//!   put, get of adjacent bytes ──the device has room, access is granted──> in progress ──> completed, at both
//!                              └──else──> messages (`operation`)
//! ```
//!
//! Short puts go in their requests: these are complete at the origin at once, and many of them travel at twice the rate
//! of accesses. Long ones go by messages, too, where these are faster (`Rma::fast_max`).
//!
//! The device makes no accumulates: those of all origins, also those that share memory with the target, are done
//! under one lock, or by the target in order. An access needs no call of the target to be legal: the lock of
//! `MPI_Win_lock_all`, which its first operation asks for, is held for sure once the target has answered something
//! that followed. Until then operations wait there as messages.
//!
//! The device counts accesses from this process to a peer, of all windows and of global memory: what a window waits
//! for is a number. A completed access is one at the target, so local completion here is completion at both.

use std::collections::VecDeque;

use super::Window;
use super::operation::{CompletionForm, TargetArguments};
use super::origin::OperationNumber;
use super::request_message::INLINE_MAX;
use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAddress};
use crate::engine::Engine;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::{MpiError, Peer, Result};

/// The accesses of the device on one target.
#[derive(Debug, Default)]
pub(super) struct DeviceAccesses {
    peer: Peer,
    /// The number of the last one among all to the peer.
    last: u64,
    /// All up to this number have completed.
    completed: u64,
    /// Those of requests: the number of the operation, and that of the access.
    requested: VecDeque<(u64, u64)>,
}

/// What the device does for an access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TransferDirection {
    Put,
    Get,
}

/// Whether an access has been started.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum DeviceStart {
    InProgress(Option<OperationNumber>),
    /// Nothing has happened: messages do it.
    Refused,
}

impl DeviceAccesses {
    /// Whether one has not completed.
    #[inline]
    pub(super) fn is_any(&self) -> bool {
        self.last > self.completed
    }

    /// Whether the access of an operation has completed, or it has none.
    pub(super) fn is_complete(&self, operation: u64) -> bool {
        self.requested.iter().all(|(number, _)| *number != operation)
    }

    /// Records the access to `peer` that was started last, for the operation of a request.
    pub(super) fn note<D: Device>(
        &mut self, engine: &mut Engine<D>, peer: Peer, operation: Option<u64>,
    ) {
        let Some(progress) = engine.rma().map(|rma| rma.progress(peer)) else { return };
        if !self.is_any() {
            self.completed = progress.accepted - 1;
        }
        (self.peer, self.last) = (peer, progress.accepted);
        self.requested.extend(operation.map(|operation| (operation, self.last)));
    }

    /// Looks for what has completed: whether there is any, and an error. Errors are told when all accesses to the
    /// peer have ended.
    pub(super) fn collect<D: Device>(
        &mut self, engine: &mut Engine<D>,
    ) -> (bool, Option<Box<MpiError>>) {
        let Some(rma) = engine.rma() else { return (false, None) };
        let progress = rma.progress(self.peer);
        let mut completed = progress.completed.min(self.last);
        let mut failure = None;
        if progress.has_error && completed == self.last {
            match rma.flush(self.peer) {
                None => completed -= 1,
                Some(end) => failure = end.err(),
            }
        }
        let has_news = completed > self.completed;
        self.completed = self.completed.max(completed);
        while self.requested.pop_front_if(|(_, access)| *access <= completed).is_some() {}
        // The failure of the peer says more.
        let peer = self.peer;
        (has_news, failure.map(|why| engine.failure(peer).unwrap_or(why)))
    }
}

impl<D: Device> Mpi<D> {
    /// The activity of an operation on a window that a request waits for.
    pub(crate) fn access_activity(
        &mut self, window: Handle, operation: OperationNumber,
    ) -> Result<Activity> {
        if self.windows.get(window)?.origin.awaits_device() {
            self.windows.activate(window);
        }
        Ok(Activity::Access { window, operation })
    }
}

impl Window {
    /// Starts to copy between adjacent bytes here and at the target by the device.
    pub(super) fn start_by_device<D: Device>(
        &mut self, engine: &mut Engine<D>, (target, offset): (u32, i64), at: &TargetArguments<'_>,
        (here, direction): (&Memory, TransferDirection), completion: CompletionForm<'_>,
    ) -> DeviceStart {
        let key = MemoryKey(self.shape.of(target).key);
        if key.0 == 0 || !self.admits_device(target) {
            return DeviceStart::Refused;
        }
        // A message with its data in itself is the shortest way of a put, which is complete here at once.
        let is_short = direction == TransferDirection::Put && here.len() <= INLINE_MAX;
        let is_dense = at.datatype.layout().is_dense() && !is_short;
        let Some(span) = here.span().filter(|_| is_dense) else { return DeviceStart::Refused };
        let peer = self.channel.peer(target);
        let place = RemoteAddress { peer, key, offset: offset as u64 };
        let Some(rma) = engine.rma() else { return DeviceStart::Refused };
        if span.len() > rma.fast_max(peer) {
            return DeviceStart::Refused;
        }
        let started = match direction {
            TransferDirection::Put => rma.put(span, place),
            TransferDirection::Get => rma.get(place, span),
        };
        if started.is_err() {
            // Without room, or before it knows the memory. What is wrong, messages tell.
            return DeviceStart::Refused;
        }
        let number = self.origin.number(target, completion != CompletionForm::Epoch);
        self.origin.note_access(engine, (target, peer), number);
        DeviceStart::InProgress(number)
    }

    /// Whether an access needs nothing of the target but its memory: not a lock that may be awaited, not a look at
    /// conflicts, and no conversion.
    fn admits_device(&self, target: u32) -> bool {
        let is_locked =
            !self.locks_on_access || self.words().is_some() || self.origin.holds_lock(target);
        is_locked && self.access_check.is_none() && !self.channel.is_unlike()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn an_operation_is_complete_when_its_access_is() {
        let requested = VecDeque::from([(7, 3), (9, 5)]);
        let mut accesses = DeviceAccesses { peer: 1, last: 6, completed: 2, requested };
        assert!(accesses.is_any() && accesses.is_complete(8));
        assert!(!accesses.is_complete(7) && !accesses.is_complete(9));
        accesses.requested.pop_front();
        accesses.completed = 6;
        assert!(!accesses.is_any() && accesses.is_complete(7));
    }
}
