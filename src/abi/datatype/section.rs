//! Sections of Fortran arrays as buffers (MPI 5.0 §19.1.12), for the Fortran library.
//!
//! C has no notation for a virtually contiguous buffer. These functions describe the buffers of the
//! next call as sections, with a datatype for that call only.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::{list, out};
use crate::abi::arguments::user_memory::checked_count;
use crate::abi::constants::MPI_SUCCESS;
use crate::abi::entry_point::{PROCESS, number};
use crate::abi::types::{MPI_Count, MPI_Datatype};
use crate::mpi::datatype::ArraySection;
use platform::base::Result;

/// Buffer that is a section of an array.
#[repr(C)]
#[allow(non_camel_case_types, reason = "as in C")]
pub struct suiro_Section {
    /// Address of the first element, which the call has as its buffer.
    base: *const c_void,
    /// Bytes of an element.
    element: MPI_Count,
    /// Number of dimensions.
    dimensions: c_int,
    /// Extent and stride in bytes of each dimension.
    extents: *const [MPI_Count; 2],
}

/// Creates a committed datatype with elements like those of `datatype`, for a call with these
/// buffers.
///
/// An error is returned but not raised: only the call knows whether it uses the datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn suiro_Type_create_sections(
    datatype: MPI_Datatype, count: c_int, sections: *const suiro_Section,
    newtype: *mut MPI_Datatype,
) -> c_int {
    let made: Result = PROCESS.early(|objects| {
        // SAFETY: the caller's promise of the array and of the result.
        let (sections, newtype) =
            unsafe { (list((count, sections), "sections")?, out(newtype, "newtype")?) };
        let element = number(datatype);
        let datatype = objects.datatypes.committed(element)?;
        // SAFETY: the caller's promise of each section.
        let sections = sections.iter().map(|section| unsafe { section.parsed() });
        let made = datatype.with_sections(element, sections.collect::<Result<_>>()?);
        newtype.put_handle(objects.datatypes.insert(made, true)?);
        Ok(())
    });
    made.map_or_else(|error| error.code.0, |()| MPI_SUCCESS)
}

impl suiro_Section {
    /// # Safety
    /// `extents` has as many elements as there are dimensions.
    unsafe fn parsed(&self) -> Result<ArraySection> {
        // SAFETY: the caller's promise.
        let dimensions = unsafe { list((self.dimensions, self.extents), "extents")? };
        let dimension = |[extent, stride]: &[MPI_Count; 2]| {
            checked_count(*extent).map(|extent| (extent, *stride as isize))
        };
        let dimensions: Vec<_> = dimensions.iter().map(dimension).collect::<Result<_>>()?;
        ArraySection::new(self.base.addr(), checked_count(self.element)?, &dimensions)
    }
}
