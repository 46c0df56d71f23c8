//! Files (MPI 5.0, chapter 14): access at the individual file pointer.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// The individual file pointer, in etypes of the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_position(fh: MPI_File, offset: *mut MPI_Offset) -> c_int {
    unsupported("MPI_File_get_position", fh)
}

/// Starts `MPI_File_read`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iread_c", fh)
}

/// [`PMPI_File_iread_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iread_c(fh, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_read_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_all_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iread_all_c", fh)
}

/// [`PMPI_File_iread_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_all(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iread_all_c(fh, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_write`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iwrite_c", fh)
}

/// [`PMPI_File_iwrite_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iwrite_c(fh, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_write_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_all_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iwrite_all_c", fh)
}

/// [`PMPI_File_iwrite_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_all(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iwrite_all_c(fh, buf, count.into(), datatype, request) }
}

/// Reads at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_c", fh)
}

/// [`PMPI_File_read_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_c(fh, buf, count.into(), datatype, status) }
}

/// `MPI_File_read`, collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_all_c", fh)
}

/// [`PMPI_File_read_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_all_c(fh, buf, count.into(), datatype, status) }
}

/// Moves the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_seek(fh: MPI_File, offset: MPI_Offset, whence: c_int) -> c_int {
    unsupported("MPI_File_seek", fh)
}

/// Writes at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_c", fh)
}

/// [`PMPI_File_write_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_c(fh, buf, count.into(), datatype, status) }
}

/// `MPI_File_write`, collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_all_c", fh)
}

/// [`PMPI_File_write_all_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_all_c(fh, buf, count.into(), datatype, status) }
}
