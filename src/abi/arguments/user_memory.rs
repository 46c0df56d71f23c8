//! Buffer arguments: an address, a count and a datatype become [`Memory`].
#![allow(unsafe_code)]

use std::ffi::c_void;
use std::sync::Arc;

use crate::abi::entry_point::number;
use crate::abi::types::{MPI_Count, MPI_Datatype};
use crate::mpi::Memory;
use crate::mpi::datatype::Datatype;
use crate::mpi::handle::Handle;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// The value of `MPI_IN_PLACE`, which is not a buffer.
const IN_PLACE: usize = 1;

/// The buffer of `count` elements of `datatype` at `buf`.
///
/// # Errors
/// `Count`, `Type` or `Buffer` for a wrong argument.
///
/// # Safety
/// The contract of `Span::new`, for every byte that the datatype covers.
#[inline(always)]
pub(crate) unsafe fn memory(
    mpi: &ProcessMpi, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> Result<Memory> {
    let datatype = mpi.objects.datatypes.committed(number(datatype))?;
    // SAFETY: the caller's promise.
    unsafe { memory_of(buf, count, datatype) }
}

/// [`memory`] for messages on `comm`: as "external32" if its processes are unlike.
///
/// # Errors
/// As for [`memory`].
///
/// # Safety
/// As for [`memory`].
#[inline(always)]
pub(crate) unsafe fn message_memory(
    mpi: &ProcessMpi, comm: Handle, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> Result<Memory> {
    // SAFETY: the caller's promise.
    let memory = unsafe { memory(mpi, buf, count, datatype)? };
    if mpi.comms.has_unlike() {
        let datatype = mpi.objects.datatypes.committed(number(datatype))?;
        return Ok(mpi.comms.on_the_way(comm, datatype, count as usize, memory));
    }
    Ok(memory)
}

/// [`memory`] of a datatype instead of its handle.
///
/// # Errors
/// `Count` or `Buffer` for a wrong argument.
///
/// # Safety
/// As for [`memory`].
#[inline(always)]
pub(crate) unsafe fn memory_of(
    buf: *const c_void, count: MPI_Count, datatype: &Datatype,
) -> Result<Memory> {
    // SAFETY: the caller's promise.
    unsafe { memory_at(buf, 0, count, datatype) }
}

/// [`memory_of`] a buffer that starts `displacement` bytes after `buf`; in a section of an array,
/// after the start of the virtually contiguous buffer.
///
/// # Errors
/// As for [`memory_of`].
///
/// # Safety
/// As for [`memory`].
#[inline(always)]
pub(crate) unsafe fn memory_at(
    buf: *const c_void, displacement: isize, count: MPI_Count, datatype: &Datatype,
) -> Result<Memory> {
    let layout = datatype.layout();
    let count = checked_count(count)?;
    if datatype.has_sections()
        && let Some(section) = datatype.section(buf.addr())
    {
        let layout = section.layout(datatype, count, displacement)?;
        // SAFETY: the caller's promise; the layout has only bytes of the section.
        return Ok(unsafe { Memory::new(buf.cast(), 1, &Arc::new(layout)) });
    }
    let buf = if displacement == 0 { buf } else { buf.wrapping_byte_offset(displacement) };
    // `MPI_BOTTOM` is also null: displacements of the datatype may be absolute addresses.
    if (buf.is_null() && layout.is_dense() || is_in_place(buf)) && count * layout.size() > 0 {
        return Err(bad_buffer(buf, count));
    }
    // SAFETY: the caller's promise.
    Ok(unsafe { Memory::new(buf.cast(), count, layout) })
}

/// Whether an address is `MPI_IN_PLACE`.
#[inline]
pub(crate) fn is_in_place(buf: *const c_void) -> bool {
    buf.addr() == IN_PLACE
}

/// Whether a pointer is the address of a buffer: neither null nor `MPI_IN_PLACE`.
#[inline(always)]
pub(crate) fn is_address(buf: *const c_void) -> bool {
    buf.addr() > IN_PLACE
}

/// A count of elements.
///
/// # Errors
/// `Count` if it is negative.
#[inline]
pub(crate) fn checked_count(count: MPI_Count) -> Result<usize> {
    usize::try_from(count).map_err(|_| negative(count))
}

#[cold]
fn negative(count: MPI_Count) -> Box<platform::base::MpiError> {
    ErrorClass::Count.error(format!("count {count} is negative: expected 0 or more"))
}

#[cold]
fn bad_buffer(buf: *const c_void, count: usize) -> Box<platform::base::MpiError> {
    let what = if buf.is_null() { "a null pointer" } else { "MPI_IN_PLACE" };
    ErrorClass::Buffer
        .error(format!("the buffer of {count} elements is {what}: expected an address"))
}
