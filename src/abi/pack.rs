//! Packing and unpacking (MPI 5.0, chapter 5).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int, c_void};

use super::handles::MPI_PACKED;
use super::types::*;
use super::user_memory::{checked_count, memory};
use super::verb::{PROCESS, Scope, finish, local, number, unsupported};
use super::width::{narrowed, narrowed_in_place};
use crate::base::{ErrorClass, Result};

/// Packs items into a buffer at `position`, and moves `position` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_c(
    inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype, outbuf: *mut c_void,
    outsize: MPI_Count, position: *mut MPI_Count, comm: MPI_Comm,
) -> c_int {
    let found = PROCESS.look(|mpi| {
        mpi.comms.get(number(comm))?;
        // SAFETY: the caller's promise of the buffers (§5.2).
        unsafe {
            let items = memory(mpi, inbuf, incount, datatype)?;
            let place = place(*position, items.len(), outsize)?;
            let (packed, len) = (outbuf.wrapping_byte_add(place), items.len() as MPI_Count);
            Ok((items, memory(mpi, packed, len, MPI_PACKED)?))
        }
    });
    let result = found.map(|(items, mut packed)| {
        let len = items.len();
        items.copy(0, &mut packed, 0, len);
        // SAFETY: as above.
        unsafe { *position += len as MPI_Count };
    });
    finish(comm, "MPI_Pack", result)
}

/// [`PMPI_Pack_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack(
    inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype, outbuf: *mut c_void,
    outsize: c_int, position: *mut c_int, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        narrowed_in_place(position, |position| {
            PMPI_Pack_c(inbuf, incount.into(), datatype, outbuf, outsize.into(), position, comm)
        })
    }
}

/// Packs items in the named portable representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external_c(
    datarep: *const c_char, inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype,
    outbuf: *mut c_void, outsize: MPI_Count, position: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Pack_external_c", Scope::None)
}

/// [`PMPI_Pack_external_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external(
    datarep: *const c_char, inbuf: *const c_void, incount: c_int, datatype: MPI_Datatype,
    outbuf: *mut c_void, outsize: MPI_Aint, position: *mut MPI_Aint,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Pack_external_c(
            datarep,
            inbuf,
            incount.into(),
            datatype,
            outbuf,
            outsize as MPI_Count,
            position.cast(),
        )
    }
}

/// The room that `MPI_Pack_external` needs for these items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external_size_c(
    datarep: *const c_char, incount: MPI_Count, datatype: MPI_Datatype, size: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Pack_external_size_c", Scope::None)
}

/// [`PMPI_Pack_external_size_c`] with sizes of type `MPI_Aint`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_external_size(
    datarep: *const c_char, incount: c_int, datatype: MPI_Datatype, size: *mut MPI_Aint,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Pack_external_size_c(datarep, incount.into(), datatype, size.cast()) }
}

/// An upper bound of the room that `MPI_Pack` needs for these items.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_size_c(
    incount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut MPI_Count,
) -> c_int {
    local("MPI_Pack_size", comm, |mpi| {
        mpi.comms.get(number(comm))?;
        let item = mpi.objects.datatypes.get(number(datatype))?.datatype.size();
        let bytes = checked_count(incount)?.checked_mul(item);
        let bytes = bytes.and_then(|bytes| MPI_Count::try_from(bytes).ok()).ok_or_else(|| {
            let why = format!("{incount} items of {item} bytes are more than MPI_Count can hold");
            ErrorClass::Count.error(why)
        })?;
        // SAFETY: the caller's promise of the result.
        unsafe { *size = bytes };
        Ok(())
    })
}

/// [`PMPI_Pack_size_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_size(
    incount: c_int, datatype: MPI_Datatype, comm: MPI_Comm, size: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(size, |size| PMPI_Pack_size_c(incount.into(), datatype, comm, size)) }
}

/// Unpacks items from a buffer at `position`, and moves `position` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack_c(
    inbuf: *const c_void, insize: MPI_Count, position: *mut MPI_Count, outbuf: *mut c_void,
    outcount: MPI_Count, datatype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let found = PROCESS.look(|mpi| {
        mpi.comms.get(number(comm))?;
        // SAFETY: the caller's promise of the buffers (§5.2).
        unsafe {
            let items = memory(mpi, outbuf, outcount, datatype)?;
            let place = place(*position, items.len(), insize)?;
            let (packed, len) = (inbuf.wrapping_byte_add(place), items.len() as MPI_Count);
            Ok((items, memory(mpi, packed, len, MPI_PACKED)?))
        }
    });
    let result = found.map(|(mut items, packed)| {
        let len = items.len();
        packed.copy(0, &mut items, 0, len);
        // SAFETY: as above.
        unsafe { *position += len as MPI_Count };
    });
    finish(comm, "MPI_Unpack", result)
}

/// [`PMPI_Unpack_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack(
    inbuf: *const c_void, insize: c_int, position: *mut c_int, outbuf: *mut c_void,
    outcount: c_int, datatype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        narrowed_in_place(position, |position| {
            PMPI_Unpack_c(inbuf, insize.into(), position, outbuf, outcount.into(), datatype, comm)
        })
    }
}

/// Unpacks items from the named portable representation.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack_external_c(
    datarep: *const c_char, inbuf: *const c_void, insize: MPI_Count, position: *mut MPI_Count,
    outbuf: *mut c_void, outcount: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_Unpack_external_c", Scope::None)
}

/// [`PMPI_Unpack_external_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpack_external(
    datarep: *const c_char, inbuf: *const c_void, insize: MPI_Aint, position: *mut MPI_Aint,
    outbuf: *mut c_void, outcount: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Unpack_external_c(
            datarep,
            inbuf,
            insize as MPI_Count,
            position.cast(),
            outbuf,
            outcount.into(),
            datatype,
        )
    }
}

/// Where `len` packed bytes begin in a buffer of `size` bytes.
///
/// # Errors
/// `Arg` if they do not fit behind `position`.
fn place(position: MPI_Count, len: usize, size: MPI_Count) -> Result<usize> {
    let room = size.checked_sub(position).filter(|_| position >= 0);
    match (usize::try_from(position), room.and_then(|room| usize::try_from(room).ok())) {
        (Ok(place), Some(room)) if len <= room => Ok(place),
        _ => {
            let what = format!("{len} bytes at position {position} do not fit a pack buffer");
            Err(ErrorClass::Arg.error(format!("{what} of {size} bytes")))
        }
    }
}
