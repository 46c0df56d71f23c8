//! The cells of the variables that MPI knows by their addresses, and what C knows instead
//! (`generator/sentinel.rs` says how a program and the library come to the same address).

use std::ffi::{c_int, c_void};
use std::ptr;

use crate::c::{Fint, MPI_Status};

/// As large and as aligned as the COMMON block.
#[repr(C, align(64))]
pub struct Cell([u8; 64]);

include!(concat!(env!("OUT_DIR"), "/sentinel.rs"));

/// `MPI_IN_PLACE` of C.
const IN_PLACE: usize = 1;
/// `MPI_BUFFER_AUTOMATIC` of C.
const BUFFER_AUTOMATIC: usize = 2;
/// `MPI_UNWEIGHTED` of C.
const UNWEIGHTED: usize = 10;
/// `MPI_WEIGHTS_EMPTY` of C.
const WEIGHTS_EMPTY: usize = 11;

/// Whether an argument is one of the cells.
macro_rules! is {
    ($given:expr, $cell:ident) => {
        ptr::addr_eq($given, &raw const $cell)
    };
}

/// A choice buffer as C has it.
#[inline]
pub fn choice(buffer: *mut c_void) -> *mut c_void {
    if is!(buffer, suirobottom_) {
        ptr::null_mut()
    } else if is!(buffer, suiroinplace_) {
        ptr::without_provenance_mut(IN_PLACE)
    } else if is!(buffer, suirobufferautomatic_) {
        ptr::without_provenance_mut(BUFFER_AUTOMATIC)
    } else {
        buffer
    }
}

/// Where C stores a status; null for `MPI_STATUS_IGNORE`. One array serves as the other's element.
#[inline]
pub fn status(status: *const Fint) -> *mut MPI_Status {
    if is!(status, suirostatusignore_) || is!(status, suirostatusesignore_) {
        return ptr::null_mut();
    }
    status.cast_mut().cast()
}

/// Where C stores statuses; null for `MPI_STATUSES_IGNORE`.
#[inline]
pub fn statuses(statuses: *const Fint) -> *mut MPI_Status {
    status(statuses)
}

/// Weights of a graph's edges.
pub fn weights(weights: *const Fint) -> *mut c_int {
    if is!(weights, suirounweighted_) {
        ptr::without_provenance_mut(UNWEIGHTED)
    } else if is!(weights, suiroweightsempty_) {
        ptr::without_provenance_mut(WEIGHTS_EMPTY)
    } else {
        weights.cast_mut()
    }
}

/// Where C stores error codes; null for `MPI_ERRCODES_IGNORE`.
pub fn error_codes(codes: *mut Fint) -> *mut c_int {
    if is!(codes, suiroerrcodesignore_) { ptr::null_mut() } else { codes }
}

/// Whether arguments of a program are `MPI_ARGV_NULL` or `MPI_ARGVS_NULL`.
pub fn is_argv_null(arguments: *const std::ffi::c_char) -> bool {
    is!(arguments, suiroargvnull_) || is!(arguments, suiroargvsnull_)
}
