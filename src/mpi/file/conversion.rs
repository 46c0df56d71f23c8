//! Data that functions of the application convert (MPI 5.0 §14.5.3), in accesses of every kind.
//!
//! ```text
//!   write   the calling thread converts ──> an access to the converted bytes ──> Done
//!   read    an access into bytes of the library ──> Converting ──(a thread of the application)──> Done
//! ```
//!
//! A read is not complete before its elements are in the buffer of the application. Its function is called like a
//! reduction of the application: by the next thread of the application that waits for, tests or starts anything.

use std::fmt;

use crate::engine::memory::Memory;
use crate::mpi::file::operation::FileOperationId;
use platform::base::Result;

/// Converts the first elements of bytes that came from a file.
pub(crate) type ReadConversion = Box<dyn FnOnce(&Memory, usize) -> Result + Send>;

/// How the bytes of an access belong to elements of the application.
pub(crate) struct Conversion {
    /// Bytes of an element in the file.
    pub(crate) file_bytes: usize,
    /// Bytes of an element in memory.
    pub(crate) memory_bytes: usize,
    /// What follows a read.
    pub(crate) read: Option<ReadConversion>,
}

impl fmt::Debug for Conversion {
    fn fmt(&self, to: &mut fmt::Formatter<'_>) -> fmt::Result {
        let Self { file_bytes, memory_bytes, .. } = self;
        write!(to, "Conversion {{ {file_bytes} bytes in the file, {memory_bytes} in memory }}")
    }
}

impl Conversion {
    /// The whole elements that so many bytes of the file have.
    pub(super) fn elements(&self, bytes: u64) -> usize {
        bytes as usize / self.file_bytes.max(1)
    }

    /// Their bytes in memory, which a status tells.
    pub(super) fn told_bytes(&self, bytes: u64) -> u64 {
        (self.elements(bytes) * self.memory_bytes) as u64
    }
}

/// A read whose function is to be called, without the lock.
pub(crate) struct ConversionWork {
    pub(super) operation: FileOperationId,
    pub(super) bytes: Memory,
    pub(super) elements: usize,
    pub(super) read: ReadConversion,
}

impl ConversionWork {
    /// Calls the function of the application. No lock may be held.
    pub(crate) fn execute(self) -> ConversionEnd {
        let Self { operation, bytes, elements, read } = self;
        ConversionEnd { operation, result: read(&bytes, elements) }
    }
}

/// The result of a function of the application.
pub(crate) struct ConversionEnd {
    pub(super) operation: FileOperationId,
    pub(super) result: Result,
}
