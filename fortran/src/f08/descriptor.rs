//! Descriptors of arguments of any type and rank (Fortran 2018, §18.5.3), as compilers for this
//! processor make them: `CFI_cdesc_t` of `ISO_Fortran_binding.h`.

use std::ffi::c_void;
use std::slice;

use crate::argument::{answer, handle};
use crate::c::{Fint, MPI_COMM_SELF, PMPI_Comm_call_errhandler};

/// `MPI_ERR_BUFFER`.
const ERR_BUFFER: Fint = 1;

/// An argument of any type and rank: dimensions follow it.
#[repr(C)]
pub(super) struct Descriptor {
    base: *mut c_void,
    element_bytes: usize,
    version: i32,
    rank: i8,
    attribute: i8,
    of: i16,
    dimensions: [Dimension; 0],
}

/// A dimension of an array.
#[repr(C)]
pub(super) struct Dimension {
    lower_bound: isize,
    /// Number of elements; -1 if unknown: the last dimension of an assumed-size array.
    pub extent: isize,
    /// Distance of elements in bytes.
    pub stride: isize,
}

impl Descriptor {
    /// The address of its first element.
    #[inline]
    pub(super) fn address(&self) -> *mut c_void {
        self.base
    }

    /// Bytes of an element; of a character variable its length.
    #[inline]
    pub(super) fn element_bytes(&self) -> usize {
        self.element_bytes
    }

    /// The first dimension has the elements that are adjacent in memory.
    #[inline]
    pub(super) fn dimensions(&self) -> &[Dimension] {
        let first = (&raw const self.dimensions).cast();
        // SAFETY: a compiler made this, with as many dimensions behind it as its rank says.
        unsafe { slice::from_raw_parts(first, self.rank.max(0) as usize) }
    }

    /// Whether the elements are contiguous. Scalars and empty arrays are, and so are assumed-size arrays:
    /// compilers copy sections with strides for them.
    #[inline]
    pub(super) fn is_adjacent(&self) -> bool {
        let mut bytes = self.element_bytes as isize;
        for dimension in self.dimensions() {
            if dimension.extent <= 0 {
                return true;
            }
            if dimension.extent > 1 && dimension.stride != bytes {
                return self.has_unknown_extent();
            }
            bytes = bytes.wrapping_mul(dimension.extent);
        }
        true
    }

    #[cold]
    fn has_unknown_extent(&self) -> bool {
        self.dimensions().iter().any(|dimension| dimension.extent <= 0)
    }

    /// Whether the elements are contiguous; otherwise raises an error.
    ///
    /// # Safety
    /// `ierror` is null or may be written.
    pub(super) unsafe fn must_be_adjacent(&self, ierror: *mut Fint) -> bool {
        let is_adjacent = self.is_adjacent();
        if !is_adjacent {
            // SAFETY: the caller's promise; C checks the handle.
            unsafe {
                PMPI_Comm_call_errhandler(handle(MPI_COMM_SELF), ERR_BUFFER);
                answer(ierror, ERR_BUFFER);
            }
        }
        is_adjacent
    }
}
