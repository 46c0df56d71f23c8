//! Operations: the sends and receives in progress, apart from the requests that name them.
//!
//! A request may be freed while its operation continues (MPI 5.0 §3.7.3), and the operations of a
//! schedule never have requests. So each operation records what happens when it completes.

use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::PostedId;
use crate::engine::point_to_point::rendezvous::{RendezvousReceiver, RendezvousSender};
use crate::engine::point_to_point::wire::Envelope;
use platform::base::{MpiError, Peer, Span};

/// The key of an operation.
pub type OperationId = u32;

/// What happens to an operation when it completes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationOwner {
    /// The completion is kept until the caller takes it.
    Caller,
    /// The operation is removed.
    Released,
    /// The completion goes to step `step` of the run `run`.
    Step {
        /// The key of the run.
        run: u32,
        /// The index of the step in its schedule.
        step: u32,
    },
    /// The completion goes to a part of a partitioned operation.
    Part(PartId),
}

/// A message of a partitioned operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PartId {
    /// The key of the partitioned operation.
    pub(crate) operation: u32,
    /// The number of the message, which the operation chooses.
    pub(crate) part: u32,
}

impl OperationOwner {
    /// Whether this is a step of the run with the key `id`.
    pub(crate) fn is_step_of(self, id: u32) -> bool {
        matches!(self, Self::Step { run, .. } if run == id)
    }
}

/// A step of a schedule whose operation has completed.
pub(crate) struct CompletedStep {
    /// The key of the run.
    pub(crate) run: u32,
    /// The index of the step in its schedule.
    pub(crate) step: u32,
    /// Bytes received, for a receive.
    pub(crate) bytes: usize,
    /// The error of the operation.
    pub(crate) error: Option<Box<MpiError>>,
}

/// A message of a partitioned operation that has completed.
#[derive(Debug)]
pub(crate) struct CompletedPart {
    pub(crate) id: PartId,
    /// Bytes received, for a receive.
    pub(crate) bytes: usize,
    /// The error of the message.
    pub(crate) error: Option<Box<MpiError>>,
}

/// A send or a receive.
#[derive(Debug)]
pub(crate) struct Operation {
    /// What happens when the operation completes.
    pub(crate) owner: OperationOwner,
    /// The progress of the operation.
    pub(crate) state: OperationState,
}

/// The progress of an operation.
#[derive(Debug)]
pub(crate) enum OperationState {
    /// A send whose last byte the device has not accepted.
    Send(SendOperation),
    /// A receive whose last byte has not arrived.
    Receive(ReceiveOperation),
    /// Completed.
    Complete(Completion),
}

/// A send in progress.
#[derive(Debug)]
pub(crate) struct SendOperation {
    /// The receiving peer.
    pub(crate) to: Peer,
    /// The message's envelope.
    pub(crate) envelope: Envelope,
    /// The message.
    pub(crate) message: MemoryRange,
    /// The state of the rendezvous; `None` for an eager message.
    pub(crate) rendezvous: Option<RendezvousSender>,
    /// The receiving operation, from the CTS on.
    pub(crate) receiver: OperationId,
    /// Whether the receiver has been asked to forget the message.
    pub(crate) asks_to_cancel: bool,
}

/// A receive in progress.
#[derive(Debug)]
pub(crate) struct ReceiveOperation {
    /// The destination of the message.
    pub(crate) buffer: MemoryRange,
    /// The progress of the receive.
    pub(crate) phase: ReceivePhase,
}

/// The progress of a receive.
#[derive(Debug)]
pub(crate) enum ReceivePhase {
    /// No message has matched.
    Posted(PostedId),
    /// The RTS of a message has matched.
    Matched {
        /// The sending peer.
        from: Peer,
        /// The message's envelope.
        envelope: Envelope,
        /// The arrived part of the message.
        progress: RendezvousReceiver,
    },
}

/// A range of the packed bytes of a buffer.
#[derive(Debug)]
pub(crate) struct MemoryRange {
    /// The buffer.
    pub(crate) memory: Memory,
    /// The first packed byte.
    pub(crate) start: usize,
    /// The number of packed bytes.
    pub(crate) len: usize,
}

impl MemoryRange {
    /// All of a buffer.
    #[inline]
    pub(crate) fn all(memory: Memory) -> Self {
        let len = memory.len();
        Self { memory, start: 0, len }
    }

    /// Fills `out` with the bytes from `from` on.
    #[inline]
    pub(crate) fn pack(&self, from: usize, out: &mut [u8]) {
        debug_assert!(from + out.len() <= self.len);
        self.memory.pack(self.start + from, out);
    }

    /// Copies `data` over the bytes from `from` on.
    #[inline]
    pub(crate) fn unpack(&mut self, from: usize, data: &[u8]) {
        debug_assert!(from + data.len() <= self.len);
        self.memory.unpack(self.start + from, data);
    }

    /// Copies `len` bytes from `from` on to the same bytes of `to`.
    #[inline]
    pub(crate) fn copy(&self, from: usize, to: &mut Self, len: usize) {
        debug_assert!(from + len <= self.len.min(to.len));
        self.memory.copy(self.start + from, &mut to.memory, to.start + from, len);
    }

    /// The same range for another use ([`Memory::alias`]).
    pub(crate) fn alias(&self) -> Self {
        Self { memory: self.memory.alias(), ..*self }
    }

    /// The range as one span, if its bytes are adjacent.
    pub(crate) fn span(&self) -> Option<Span> {
        Some(self.memory.span()?.part(self.start, self.len))
    }
}

/// The completion of an operation.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The sender's rank in the communicator, for a receive.
    pub source: u32,
    /// The tag, for a receive.
    pub tag: i32,
    /// Received bytes of the packed message.
    pub bytes: usize,
    /// Whether these are bytes in another representation than the buffer's.
    pub is_converted: bool,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
    /// The error, if the operation failed.
    pub error: Option<Box<MpiError>>,
}
