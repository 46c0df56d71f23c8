//! Files (MPI 5.0, chapter 14): access at explicit offsets.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// Starts `MPI_File_read_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iread_at_c", fh)
}

/// [`PMPI_File_iread_at_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iread_at_c(fh, offset, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_read_at_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iread_at_all_c", fh)
}

/// [`PMPI_File_iread_at_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at_all(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iread_at_all_c(fh, offset, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_write_at`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iwrite_at_c", fh)
}

/// [`PMPI_File_iwrite_at_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iwrite_at_c(fh, offset, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_write_at_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iwrite_at_all_c", fh)
}

/// [`PMPI_File_iwrite_at_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at_all(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iwrite_at_all_c(fh, offset, buf, count.into(), datatype, request) }
}

/// Reads at an offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_at_c", fh)
}

/// [`PMPI_File_read_at_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_at_c(fh, offset, buf, count.into(), datatype, status) }
}

/// `MPI_File_read_at`, collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_at_all_c", fh)
}

/// [`PMPI_File_read_at_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_at_all_c(fh, offset, buf, count.into(), datatype, status) }
}

/// Writes at an offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_at_c", fh)
}

/// [`PMPI_File_write_at_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_at_c(fh, offset, buf, count.into(), datatype, status) }
}

/// `MPI_File_write_at`, collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_at_all_c", fh)
}

/// [`PMPI_File_write_at_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_at_all_c(fh, offset, buf, count.into(), datatype, status) }
}
