//! Blocking data access (MPI 5.0 §14.4): explicit offsets, individual and shared file pointers, by one
//! process or by all.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::call::{FileCall, Start};
use crate::abi::entry_point::{conclude, finish};
use crate::abi::types::*;

/// Reads at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read", fh, Start::Individual, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Reads at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read_all", fh, Start::Individual, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Reads at an explicit offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read_at", fh, Start::At(offset), buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Reads at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read_at_all", fh, Start::At(offset), buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Reads at the shared file pointer, processes in their order; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read_ordered", fh, Start::Ordered, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Reads at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_shared_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::read("MPI_File_read_shared", fh, Start::Shared, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::write("MPI_File_write", fh, Start::Individual, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::write("MPI_File_write_all", fh, Start::Individual, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at an explicit offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::write("MPI_File_write_at", fh, Start::At(offset), buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call =
        FileCall::write("MPI_File_write_at_all", fh, Start::At(offset), buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at the shared file pointer, processes in their order; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::write("MPI_File_write_ordered", fh, Start::Ordered, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Writes at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_shared_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    status: *mut MPI_Status,
) -> c_int {
    let call = FileCall::write("MPI_File_write_shared", fh, Start::Shared, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the status.
    unsafe { run(call, status) }
}

/// Makes an access and stores its status.
///
/// # Safety
/// The standard's requirements for the buffer; `status` is null or may be written.
unsafe fn run(call: FileCall, status: *mut MPI_Status) -> c_int {
    // SAFETY: the caller's promise.
    let result = unsafe { call.run().and_then(|outcome| conclude(outcome, status)) };
    finish(call.fh, call.name, result)
}
