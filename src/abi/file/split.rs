//! Split collective data access (MPI 5.0 §14.4.5): a begin and an end, one access of a file at a time.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::call::{FileCall, Start};
use super::{nonblocking, representation};
use crate::abi::entry_point::{PROCESS, conclude, finish, local, number};
use crate::abi::types::*;
use crate::mpi::file::SplitAccess;
use crate::mpi::request::Outcome;
use platform::base::{ErrorClass, Result};

/// Starts to read at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_begin_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::read("MPI_File_read_all_begin", fh, Start::Individual, buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_read_all_end") }
}

/// Ends `MPI_File_read_all_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_all_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_read_all_end", fh, status) }
}

/// Starts to read at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_begin_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::read("MPI_File_read_at_all_begin", fh, Start::At(offset), buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_read_at_all_end") }
}

/// Ends `MPI_File_read_at_all_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_at_all_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_read_at_all_end", fh, status) }
}

/// Starts to read at the shared file pointer, processes in their order; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_begin_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::read("MPI_File_read_ordered_begin", fh, Start::Ordered, buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_read_ordered_end") }
}

/// Ends `MPI_File_read_ordered_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_read_ordered_end(
    fh: MPI_File, buf: *mut c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_read_ordered_end", fh, status) }
}

/// Starts to write at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_begin_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::write("MPI_File_write_all_begin", fh, Start::Individual, buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_write_all_end") }
}

/// Ends `MPI_File_write_all_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_all_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_write_all_end", fh, status) }
}

/// Starts to write at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_begin_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::write("MPI_File_write_at_all_begin", fh, Start::At(offset), buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_write_at_all_end") }
}

/// Ends `MPI_File_write_at_all_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_at_all_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_write_at_all_end", fh, status) }
}

/// Starts to write at the shared file pointer, processes in their order; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_begin_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
) -> c_int {
    let call =
        FileCall::write("MPI_File_write_ordered_begin", fh, Start::Ordered, buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4.5).
    unsafe { begin(call, "MPI_File_write_ordered_end") }
}

/// Ends `MPI_File_write_ordered_begin`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_write_ordered_end(
    fh: MPI_File, buf: *const c_void, status: *mut MPI_Status,
) -> c_int {
    let _ = buf;
    // SAFETY: the caller's promise of the status.
    unsafe { end("MPI_File_write_ordered_end", fh, status) }
}

/// Starts an access that the function `ends_with` ends.
///
/// # Safety
/// The standard's requirements for the buffer, until the end of the access.
unsafe fn begin(call: FileCall, ends_with: &'static str) -> c_int {
    // SAFETY: the caller's promise.
    let converted = match unsafe { representation::converted(&call) } {
        Ok(converted) => converted,
        Err(error) => return finish(call.fh, call.name, Err(error)),
    };
    local(call.name, call.fh, |mpi| {
        mpi.files.get(number(call.fh))?.check_idle()?;
        // SAFETY: the caller's promise.
        let operation = unsafe { nonblocking::begin(mpi, &call, converted)? };
        mpi.files.get_mut(number(call.fh))?.split = Some(SplitAccess { ends_with, operation });
        Ok(())
    })
}

/// Waits for an access and stores its status.
///
/// # Safety
/// `status` is null or may be written.
unsafe fn end(name: &'static str, fh: MPI_File, status: *mut MPI_Status) -> c_int {
    // SAFETY: the caller's promise.
    let ended = finish_split(name, fh).and_then(|outcome| unsafe { conclude(outcome, status) });
    finish(fh, name, ended)
}

fn finish_split(name: &str, fh: MPI_File) -> Result<Outcome> {
    let split = PROCESS.with_file(number(fh), |file| match file.split {
        Some(split) if split.ends_with == name => Ok(split),
        Some(split) => Err(ErrorClass::Io.error(format!(
            "the split collective access in progress ends with {}, not with {name}",
            split.ends_with
        ))),
        None => Err(ErrorClass::Io.error(format!(
            "no split collective access is in progress: expected a call of {}begin before",
            name.strip_suffix("end").unwrap_or(name)
        ))),
    })?;
    let outcome = PROCESS.finish_file_access(name, split.operation);
    PROCESS.with_file(number(fh), |file| {
        file.split = None;
        Ok(())
    })?;
    outcome
}
