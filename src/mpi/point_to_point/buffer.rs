//! Buffers for buffered sends (MPI 5.0 §3.6).
//!
//! The application attaches memory, but the messages are kept in memory of the library: what the
//! standard promises is that a buffered send succeeds while the messages in flight, each with
//! `MPI_BSEND_OVERHEAD`, fit the attached size, and that detaching waits for them. So only the
//! size counts here, and the address is given back on detach.

use crate::engine::point_to_point::operation::OperationId;
use crate::mpi::handle::Handle;
use platform::base::{ErrorClass, Result};

/// Bytes that a message takes beside its data (`MPI_BSEND_OVERHEAD` of the standard ABI).
pub(crate) const OVERHEAD: usize = 512;

/// What was attached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AttachedMemory {
    /// Nothing.
    Detached,
    /// Memory of the application: `MPI_Buffer_detach` gives both back.
    Memory {
        /// Its address.
        address: usize,
        /// Its size in bytes.
        len: usize,
    },
    /// `MPI_BUFFER_AUTOMATIC`: as much as it takes.
    Automatic,
}

/// Which object has a buffer.
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
    /// Sends that have not left, with the bytes that each takes.
    pending: Vec<(OperationId, usize)>,
}

impl Default for BsendBuffer {
    fn default() -> Self {
        Self { attached: AttachedMemory::Detached, pending: Vec::new() }
    }
}

impl BsendBuffer {
    /// Whether there is a buffer.
    pub(crate) fn is_attached(&self) -> bool {
        self.attached != AttachedMemory::Detached
    }

    /// Attaches a buffer.
    ///
    /// # Errors
    /// `Buffer` if there is one already.
    pub fn attach(&mut self, attached: AttachedMemory) -> Result {
        if self.is_attached() {
            return Err(ErrorClass::Buffer.error("a buffer is attached already"));
        }
        self.attached = attached;
        Ok(())
    }

    /// Gives the buffer back; every message has left.
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

    /// Checks that a message of `len` bytes fits beside those in flight.
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

    /// Notes a send of `len` bytes that has not left yet.
    pub(crate) fn add_pending(&mut self, operation: OperationId, len: usize) {
        self.pending.push((operation, len + OVERHEAD));
    }

    /// Whether every send has left, as `have_all_left` says of each.
    pub(crate) fn have_all_left(&self, has_left: impl Fn(OperationId) -> bool) -> bool {
        self.pending.iter().all(|(operation, _)| has_left(*operation))
    }

    /// Forgets the sends of which `have_all_left` says so; true if none remain.
    pub(crate) fn remove_sent(&mut self, mut has_left: impl FnMut(OperationId) -> bool) -> bool {
        self.pending.retain(|(operation, _)| !has_left(*operation));
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
