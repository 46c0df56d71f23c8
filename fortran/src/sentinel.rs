//! The cells of variables that MPI identifies by their addresses, and the corresponding constants of C.
//! `generator/sentinel.rs` explains how a program and the library get the same address.

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::c::{Fint, MPI_Status};

/// As large and as aligned as the COMMON block.
#[repr(C, align(64))]
pub(crate) struct Cell([u8; 64]);

include!(concat!(env!("OUT_DIR"), "/sentinel.rs"));

/// `MPI_IN_PLACE` of C.
const IN_PLACE: usize = 1;
/// `MPI_BUFFER_AUTOMATIC` of C.
const BUFFER_AUTOMATIC: usize = 2;
/// `MPI_UNWEIGHTED` of C.
const UNWEIGHTED: usize = 10;
/// `MPI_WEIGHTS_EMPTY` of C.
const WEIGHTS_EMPTY: usize = 11;

/// The C argument of a choice buffer.
#[inline]
pub(crate) fn choice(buffer: *mut c_void) -> *mut c_void {
    if is_mpi_bottom(buffer) {
        ptr::null_mut()
    } else if is_mpi_in_place(buffer) {
        ptr::without_provenance_mut(IN_PLACE)
    } else if is_mpi_buffer_automatic(buffer) {
        ptr::without_provenance_mut(BUFFER_AUTOMATIC)
    } else {
        buffer
    }
}

/// The C argument of a status; null for `MPI_STATUS_IGNORE`. The layout is that of Fortran.
#[inline]
pub(crate) fn status(status: *const Fint) -> *mut MPI_Status {
    if is_mpi_status_ignore(status) || is_mpi_statuses_ignore(status) {
        return ptr::null_mut();
    }
    status.cast_mut().cast()
}

/// The C argument of statuses; null for `MPI_STATUSES_IGNORE`.
#[inline]
pub(crate) fn statuses(statuses: *const Fint) -> *mut MPI_Status {
    status(statuses)
}

/// The C argument of the weights of edges.
pub(crate) fn weights(weights: *const Fint) -> *mut c_int {
    if is_mpi_unweighted(weights) {
        ptr::without_provenance_mut(UNWEIGHTED)
    } else if is_mpi_weights_empty(weights) {
        ptr::without_provenance_mut(WEIGHTS_EMPTY)
    } else {
        weights.cast_mut()
    }
}

/// The C argument of error codes; null for `MPI_ERRCODES_IGNORE`.
pub(crate) fn error_codes(codes: *mut Fint) -> *mut c_int {
    if is_mpi_errcodes_ignore(codes) { ptr::null_mut() } else { codes }
}

/// Whether arguments of a program are `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub(crate) fn is_argv_null(arguments: *const std::ffi::c_char) -> bool {
    is_mpi_argv_null(arguments) || is_mpi_argvs_null(arguments)
}
