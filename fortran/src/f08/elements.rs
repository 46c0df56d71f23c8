//! The datatype of the buffers of a call: that of the program or, for array sections, one made for the
//! call that describes their layout.

use std::ffi::{c_int, c_void};
use std::ptr;

use super::descriptor::Descriptor;
use crate::argument::{handle, number};
use crate::c::{Count, Fint, Handle, MPI_SUCCESS, PMPI_Type_free};

/// The maximum rank of an array (Fortran 2018, §5.4.6).
const RANK_MAX: usize = 15;

/// A buffer of the next call, for the C library.
#[repr(C)]
struct Section {
    base: *const c_void,
    element: Count,
    dimensions: c_int,
    extents: *const [Count; 2],
}

unsafe extern "C" {
    /// Makes a committed datatype with the elements of `datatype`, for a call with these buffers.
    /// It raises no error.
    fn suiro_Type_create_sections(
        datatype: Handle, count: c_int, sections: *const Section, newtype: *mut Handle,
    ) -> c_int;
}

/// The datatype of one call's buffers.
pub(super) struct Elements {
    given: *const Fint,
    /// The datatype for sections, if there are any.
    made: Option<Fint>,
}

impl Elements {
    /// The datatype for these buffers, from the one of the program.
    ///
    /// # Safety
    /// `datatype` may be read as long as the value lives.
    #[inline]
    pub(super) unsafe fn of<const N: usize>(
        datatype: *const Fint, buffers: [&Descriptor; N],
    ) -> Self {
        let made = if buffers.iter().all(|buffer| buffer.is_adjacent()) {
            None
        } else {
            // SAFETY: the caller's promise.
            made(handle(unsafe { *datatype }), &buffers).map(number)
        };
        Self { given: datatype, made }
    }

    /// Its INTEGER.
    #[inline]
    pub(super) fn number(&self) -> *const Fint {
        self.made.as_ref().map_or(self.given, ptr::from_ref)
    }
}

impl Drop for Elements {
    #[inline]
    fn drop(&mut self) {
        if let Some(made) = self.made {
            free(handle(made));
        }
    }
}

/// Frees a datatype of [`made`].
#[cold]
pub(super) fn free(mut datatype: Handle) {
    // SAFETY: it came from the C library, and has no other owner.
    unsafe { PMPI_Type_free(&mut datatype) };
}

/// A datatype that describes the sections; `None` if the C library cannot make one: then the given
/// datatype is invalid, and the call itself raises the error if it uses it.
#[cold]
pub(super) fn made(datatype: Handle, buffers: &[&Descriptor]) -> Option<Handle> {
    let apart = buffers.iter().filter(|buffer| !buffer.is_adjacent());
    let extents: Vec<_> = apart.clone().map(|buffer| extents(buffer)).collect();
    let sections: Vec<_> = apart
        .zip(&extents)
        .map(|(buffer, extents)| Section {
            base: buffer.address(),
            element: buffer.element_bytes() as Count,
            dimensions: buffer.dimensions().len().min(RANK_MAX) as c_int,
            extents: extents.as_ptr(),
        })
        .collect();
    let mut newtype = ptr::null_mut();
    // SAFETY: each section points to its extents, and the result is a local variable.
    let code = unsafe {
        suiro_Type_create_sections(
            datatype,
            sections.len() as c_int,
            sections.as_ptr(),
            &mut newtype,
        )
    };
    (code == MPI_SUCCESS).then_some(newtype)
}

fn extents(buffer: &Descriptor) -> [[Count; 2]; RANK_MAX] {
    let mut extents = [[0; 2]; RANK_MAX];
    for (to, from) in extents.iter_mut().zip(buffer.dimensions()) {
        *to = [from.extent as Count, from.stride as Count];
    }
    extents
}
