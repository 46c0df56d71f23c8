//! Files (MPI 5.0, chapter 14): split collective access, `begin` and `end`.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::entry_point::unsupported;
use super::types::*;

/// Begins `MPI_File_read_all`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_begin_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_read_all_begin_c", fh)
}

/// [`PMPI_File_read_all_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_begin(
    fh: MPI_File, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_all_begin_c(fh, buf, count.into(), datatype) }
}

/// Ends `MPI_File_read_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_all_end", fh)
}

/// Begins `MPI_File_read_at_all`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_begin_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_read_at_all_begin_c", fh)
}

/// [`PMPI_File_read_at_all_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_begin(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_read_at_all_begin_c(fh, offset, buf, count.into(), datatype) }
}

/// Ends `MPI_File_read_at_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_read_at_all_end", fh)
}

/// Begins `MPI_File_write_all`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_begin_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_write_all_begin_c", fh)
}

/// [`PMPI_File_write_all_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_begin(
    fh: MPI_File, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_all_begin_c(fh, buf, count.into(), datatype) }
}

/// Ends `MPI_File_write_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_all_end", fh)
}

/// Begins `MPI_File_write_at_all`; one split operation per file at a time.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_begin_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    unsupported("MPI_File_write_at_all_begin_c", fh)
}

/// [`PMPI_File_write_at_all_begin_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_begin(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: c_int, datatype: MPI_Datatype,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_File_write_at_all_begin_c(fh, offset, buf, count.into(), datatype) }
}

/// Ends `MPI_File_write_at_all`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_File_write_at_all_end", fh)
}
