//! The name of an operation in progress in a library that carries messages.
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::ptr;

/// A nonblocking operation in progress, or none: a request of the ABI of MPI, or a number.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(transparent)]
pub struct CarrierRequest(pub(super) *mut c_void);

// SAFETY: it is a name; the library decides which threads may use it.
unsafe impl Send for CarrierRequest {}

impl CarrierRequest {
    /// No operation: `MPI_REQUEST_NULL`.
    pub const NULL: Self = Self(ptr::without_provenance_mut(0x180));
    /// The lowest number that is no predefined handle.
    pub const FIRST: usize = 4096;

    /// The operation with a number from [`CarrierRequest::FIRST`] on, of a library without handles.
    pub fn numbered(number: usize) -> Self {
        Self(ptr::without_provenance_mut(number))
    }

    /// Its number.
    pub fn number(self) -> usize {
        self.0.addr()
    }
}
