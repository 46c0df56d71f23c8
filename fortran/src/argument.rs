//! Conversions of single arguments, which every generated body uses.

use std::ptr;

use crate::c::{Fint, Handle, MPI_UNDEFINED};

/// The C handle of an INTEGER.
#[inline]
pub(crate) fn handle(number: Fint) -> Handle {
    ptr::without_provenance_mut(number as u32 as usize)
}

/// The INTEGER of a C handle.
#[inline]
pub(crate) fn number(handle: Handle) -> Fint {
    handle.addr() as Fint
}

/// Stores an error code, unless the caller omitted IERROR, which module `mpi_f08` allows.
///
/// # Safety
/// `ierror` is null or may be written.
#[inline]
pub(crate) unsafe fn answer(ierror: *mut Fint, code: Fint) {
    if !ierror.is_null() {
        // SAFETY: the caller's promise.
        unsafe { *ierror = code };
    }
}

/// A position in a list, which Fortran counts from one.
#[inline]
pub(crate) fn from_one(index: Fint) -> Fint {
    if index == MPI_UNDEFINED { index } else { index.wrapping_add(1) }
}

/// Converts positions in a list to those of Fortran.
///
/// # Safety
/// `indices` has `count` elements, unless that is negative.
pub(crate) unsafe fn count_from_one(indices: *mut Fint, count: Fint) {
    for at in 0..count.max(0) as usize {
        // SAFETY: the caller's promise.
        unsafe { *indices.add(at) = from_one(*indices.add(at)) };
    }
}
