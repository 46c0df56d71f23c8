//! Buffers for buffered sends (MPI 5.0 §3.6).
//!
//! The application attaches memory, but the library copies messages to its own memory. The standard
//! requires that a buffered send succeeds while the messages in flight, each with
//! `MPI_BSEND_OVERHEAD`, fit the attached size, and that detaching waits for them. So the library
//! uses only the size, and returns the address on detach.

use crate::engine::point_to_point::operation::OperationId;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, Result};

/// Bytes of the buffer for each message beside its data (`MPI_BSEND_OVERHEAD` of the standard ABI).
pub(crate) const OVERHEAD: usize = 512;

/// Attached memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachedMemory {
    /// Nothing.
    Detached,
    /// Memory of the application: `MPI_Buffer_detach` returns address and size.
    Memory {
        address: usize,
        /// Its size in bytes.
        len: usize,
    },
    /// `MPI_BUFFER_AUTOMATIC`: unlimited.
    Automatic,
}

/// The object of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BufferOwner {
    /// The process, for communicators of the world model.
    Process,
    /// A session, for the communicators derived from it.
    Session(Handle),
    /// A communicator.
    Comm(Handle),
}

/// The buffer of a communicator, a session or the process.
#[derive(Debug)]
pub(crate) struct BsendBuffer {
    attached: AttachedMemory,
    /// Sends in progress, with their bytes in the buffer.
    pending: Vec<(OperationId, usize)>,
}

impl Default for BsendBuffer {
    fn default() -> Self {
        Self { attached: AttachedMemory::Detached, pending: Vec::new() }
    }
}

impl BsendBuffer {
    pub(crate) fn is_attached(&self) -> bool {
        self.attached != AttachedMemory::Detached
    }

    /// Attaches a buffer.
    ///
    /// # Errors
    /// `Buffer` if a buffer is attached.
    pub fn attach(&mut self, attached: AttachedMemory) -> Result {
        if self.is_attached() {
            return Err(ErrorClass::Buffer.error("a buffer is already attached: detach it first"));
        }
        self.attached = attached;
        Ok(())
    }

    /// Detaches the buffer, whose messages have all been sent.
    ///
    /// # Errors
    /// `Buffer` if there is none.
    pub fn detach(&mut self) -> Result<AttachedMemory> {
        debug_assert!(self.pending.is_empty());
        match std::mem::replace(&mut self.attached, AttachedMemory::Detached) {
            AttachedMemory::Detached => Err(ErrorClass::Buffer.error("no buffer is attached")),
            attached => Ok(attached),
        }
    }

    /// Checks that a message of `len` bytes fits into the free space.
    ///
    /// # Errors
    /// `Buffer` if it does not.
    pub(crate) fn check_space(&self, len: usize) -> Result {
        let taken: usize = self.pending.iter().map(|(_, bytes)| bytes).sum();
        match self.attached {
            AttachedMemory::Automatic => Ok(()),
            AttachedMemory::Detached => Err(ErrorClass::Buffer.error("no buffer is attached")),
            AttachedMemory::Memory { len: size, .. } if taken + len + OVERHEAD <= size => Ok(()),
            AttachedMemory::Memory { len: size, .. } => Err(ErrorClass::Buffer.error(format!(
                "a message of {len} bytes, with MPI_BSEND_OVERHEAD ({OVERHEAD}), does not fit the \
                 attached buffer of {size} bytes, of which {taken} are in use"
            ))),
        }
    }

    /// Adds a send in progress, of `len` bytes.
    pub(crate) fn add_pending(&mut self, operation: OperationId, len: usize) {
        self.pending.push((operation, len + OVERHEAD));
    }

    /// Whether all sends have completed, by the predicate `is_sent`.
    pub(crate) fn are_sent(&self, is_sent: impl Fn(OperationId) -> bool) -> bool {
        self.pending.iter().all(|(operation, _)| is_sent(*operation))
    }

    /// Removes the sends that have completed, by the predicate `is_sent`; true if none remain.
    pub(crate) fn remove_sent(&mut self, mut is_sent: impl FnMut(OperationId) -> bool) -> bool {
        self.pending.retain(|(operation, _)| !is_sent(*operation));
        self.pending.is_empty()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn messages_in_flight_take_room_until_they_have_left() {
        let mut buffer = BsendBuffer::default();
        assert!(buffer.check_space(1).is_err() && buffer.detach().is_err());
        let attached = AttachedMemory::Memory { address: 64, len: 2 * (OVERHEAD + 100) };
        buffer.attach(attached).unwrap();
        assert!(buffer.attach(AttachedMemory::Automatic).is_err());
        for operation in [1, 2] {
            buffer.check_space(100).unwrap();
            buffer.add_pending(operation, 100);
        }
        assert_eq!(buffer.check_space(0).unwrap_err().code.0, ErrorClass::Buffer as i32);
        assert!(!buffer.remove_sent(|operation| operation == 1));
        buffer.check_space(100).unwrap();
        assert!(buffer.remove_sent(|_| true));
        assert_eq!(buffer.detach(), Ok(attached));
    }
}
