//! Operations: the sends and receives in flight, apart from the requests that name them.
//!
//! A request may be freed while its operation goes on (MPI 5.0 §3.7.3), and the steps of a
//! schedule are operations that no request ever named; so an operation knows who wants to hear of
//! its end.

use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::PostedId;
use crate::engine::point_to_point::rendezvous::{RendezvousReceiver, RendezvousSender};
use crate::engine::point_to_point::wire::Envelope;
use platform::base::{MpiError, Peer};

/// The key of an operation.
pub(crate) type OperationId = u32;

/// Who is told when an operation ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum OperationOwner {
    /// Whoever started it; the result waits until they take it.
    Caller,
    /// Nobody: it disappears when it ends.
    Released,
    /// Step `step` of the run `run`.
    Step {
        /// The run.
        run: u32,
        /// The index of the step in its schedule.
        step: u32,
    },
}

/// A send or a receive.
#[derive(Debug)]
pub(crate) struct Operation {
    /// Who is told.
    pub(crate) owner: OperationOwner,
    /// How far it is.
    pub(crate) state: OperationState,
}

/// How far an operation is.
#[derive(Debug)]
pub(crate) enum OperationState {
    /// A send that has not handed over its last byte.
    Send(SendOperation),
    /// A receive that has not got its last byte.
    Receive(ReceiveOperation),
    /// Over.
    Complete(Completion),
}

/// A send in flight.
#[derive(Debug)]
pub(crate) struct SendOperation {
    /// Where to.
    pub(crate) to: Peer,
    /// What it is matched by.
    pub(crate) envelope: Envelope,
    /// The message.
    pub(crate) message: MemoryRange,
    /// The state of the rendezvous; `None` if the message goes eagerly.
    pub(crate) rendezvous: Option<RendezvousSender>,
    /// The receiving operation, once it has granted the rendezvous.
    pub(crate) receiver: OperationId,
}

/// A receive in flight.
#[derive(Debug)]
pub(crate) struct ReceiveOperation {
    /// Where the message goes.
    pub(crate) buffer: MemoryRange,
    /// How far the receive is.
    pub(crate) phase: ReceivePhase,
}

/// How far a receive is.
#[derive(Debug)]
pub(crate) enum ReceivePhase {
    /// Posted: no message has matched.
    Posted(PostedId),
    /// Matched an announced message.
    Matched {
        /// The message's envelope.
        envelope: Envelope,
        /// How much has arrived.
        progress: RendezvousReceiver,
    },
}

/// A range of the packed stream of a buffer.
#[derive(Debug)]
pub(crate) struct MemoryRange {
    /// The buffer.
    pub(crate) memory: Memory,
    /// The first byte.
    pub(crate) start: usize,
    /// How many bytes.
    pub(crate) len: usize,
}

impl MemoryRange {
    /// All of a buffer.
    #[inline]
    pub(crate) fn all(memory: Memory) -> Self {
        let len = memory.len();
        Self { memory, start: 0, len }
    }

    /// Packs the bytes from `from` on into `out`.
    #[inline]
    pub(crate) fn pack(&self, from: usize, out: &mut [u8]) {
        debug_assert!(from + out.len() <= self.len);
        self.memory.pack(self.start + from, out);
    }

    /// Unpacks `data` to the bytes from `from` on.
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

    /// The same part for one more use, while this one lives.
    pub(crate) fn alias(&self) -> Self {
        Self { memory: self.memory.alias(), ..*self }
    }

    /// Where the part lies contiguously in memory, if it does.
    pub fn span(&self) -> Option<platform::base::Span> {
        Some(self.memory.span()?.part(self.start, self.len))
    }
}

/// How an operation ended.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Completion {
    /// The sender's rank in the communicator; of a receive.
    pub source: u32,
    /// The tag; of a receive.
    pub tag: i32,
    /// Bytes received, of the packed message.
    pub bytes: usize,
    /// Whether it was cancelled.
    pub cancelled: bool,
    /// Why it failed.
    pub error: Option<Box<MpiError>>,
}
