//! Packing and unpacking (MPI 5.0, chapter 5).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::{narrowed, narrowed_in_place};

/// Packs items into a buffer at `position`, and moves `position` on.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pack_c(
    inbuf: *const c_void, incount: MPI_Count, datatype: MPI_Datatype, outbuf: *mut c_void,
    outsize: MPI_Count, position: *mut MPI_Count, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Pack_c", comm)
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
    unsupported("MPI_Pack_size_c", comm)
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
    unsupported("MPI_Unpack_c", comm)
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
