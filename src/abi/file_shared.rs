//! Files (MPI 5.0, chapter 14): access at the shared file pointer.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// The shared file pointer, in etypes of the view.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_get_position_shared(
    fh: MPI_File, offset: *mut MPI_Offset,
) -> c_int {
    unsupported("MPI_File_get_position_shared", fh)
}

/// Starts `MPI_File_read_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_shared_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iread_shared_c", fh)
}

/// [`PMPI_File_iread_shared_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_shared(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iread_shared_c(fh, buf, count.into(), datatype, request) }
}

/// Starts `MPI_File_write_shared`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_shared_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_File_iwrite_shared_c", fh)
}

/// [`PMPI_File_iwrite_shared_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_shared(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_iwrite_shared_c(fh, buf, count.into(), datatype, request) }
}

/// Reads at the shared file pointer in the order of ranks; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_ordered_c", fh)
}

/// [`PMPI_File_read_ordered_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_ordered_c(fh, buf, count.into(), datatype, status) }
}

/// Begins `MPI_File_read_ordered`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_begin_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_read_ordered_begin_c", fh)
}

/// [`PMPI_File_read_ordered_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_begin(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_ordered_begin_c(fh, buf, count.into(), datatype) }
}

/// Ends `MPI_File_read_ordered`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_ordered_end", fh)
}

/// Reads at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_shared_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_shared_c", fh)
}

/// [`PMPI_File_read_shared_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_shared(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_shared_c(fh, buf, count.into(), datatype, status) }
}

/// Moves the shared file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_seek_shared(
    fh: MPI_File, offset: MPI_Offset, whence: c_int,
) -> c_int {
    unsupported("MPI_File_seek_shared", fh)
}

/// Writes at the shared file pointer in the order of ranks; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_ordered_c", fh)
}

/// [`PMPI_File_write_ordered_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_ordered_c(fh, buf, count.into(), datatype, status) }
}

/// Begins `MPI_File_write_ordered`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_begin_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_write_ordered_begin_c", fh)
}

/// [`PMPI_File_write_ordered_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_begin(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_ordered_begin_c(fh, buf, count.into(), datatype) }
}

/// Ends `MPI_File_write_ordered`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_ordered_end", fh)
}

/// Writes at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_shared_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_shared_c", fh)
}

/// [`PMPI_File_write_shared_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_shared(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_shared_c(fh, buf, count.into(), datatype, status) }
}
