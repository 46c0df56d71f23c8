//! Nonblocking data access (MPI 5.0 §14.4): requests that complete without further calls.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::call::{FileCall, Start};
use super::representation::{self, ConvertedData};
use crate::abi::arguments::pointer::out;
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::types::*;
use crate::mpi::file::operation::FileOperationId;
use crate::mpi::request::Activity;
use crate::process::ProcessMpi;
use platform::base::Result;

/// Starts to read at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::read("MPI_File_iread", fh, Start::Individual, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to read at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_all_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::read("MPI_File_iread_all", fh, Start::Individual, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to read at an explicit offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::read("MPI_File_iread_at", fh, Start::At(offset), buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to read at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::read("MPI_File_iread_at_all", fh, Start::At(offset), buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to read at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iread_shared_c(
    fh: MPI_File, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::read("MPI_File_iread_shared", fh, Start::Shared, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to write at the individual file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::write("MPI_File_iwrite", fh, Start::Individual, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to write at the individual file pointer; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_all_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::write("MPI_File_iwrite_all", fh, Start::Individual, buf, count, datatype)
        .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to write at an explicit offset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::write("MPI_File_iwrite_at", fh, Start::At(offset), buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to write at an explicit offset; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_at_all_c(
    fh: MPI_File, offset: MPI_Offset, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call =
        FileCall::write("MPI_File_iwrite_at_all", fh, Start::At(offset), buf, count, datatype)
            .collective();
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts to write at the shared file pointer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_File_iwrite_shared_c(
    fh: MPI_File, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    request: *mut MPI_Request,
) -> c_int {
    let call = FileCall::write("MPI_File_iwrite_shared", fh, Start::Shared, buf, count, datatype);
    // SAFETY: the caller's promise of the buffer (§14.4) and of the request.
    unsafe { start(call, request) }
}

/// Starts an access and stores its request.
///
/// # Safety
/// The standard's requirements for the buffer; `request` is null or may be written.
unsafe fn start(call: FileCall, request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promise of the buffer.
    let converted = match unsafe { representation::converted(&call) } {
        Ok(converted) => converted,
        Err(error) => return finish(call.fh, call.name, Err(error)),
    };
    local(call.name, call.fh, |mpi| {
        // SAFETY: the caller's promise of the request.
        let request = unsafe { out(request, "request")? };
        mpi.check_request_space()?;
        // SAFETY: the caller's promise of the buffer.
        let operation = unsafe { begin(mpi, &call, converted)? };
        request.put_handle(mpi.request(number(call.fh), Activity::File(operation))?);
        Ok(())
    })
}

/// Starts an access that goes on without the caller. After an error of the arguments other processes hear of
/// it, and nothing is in progress here.
///
/// # Errors
/// `File`; those of the arguments.
///
/// # Safety
/// The standard's requirements for the buffer.
pub(super) unsafe fn begin(
    mpi: &mut ProcessMpi, call: &FileCall, converted: Option<Result<ConvertedData>>,
) -> Result<FileOperationId> {
    PROCESS.have_file_executor(mpi);
    // SAFETY: the caller's promise.
    let request = unsafe { call.request(mpi, converted, false)? };
    let failure = request.memory.as_ref().err().cloned();
    let operation = mpi.start_file_access(request)?;
    match failure {
        None => Ok(operation),
        Some(error) => {
            mpi.release_file_operation(operation);
            Err(error)
        }
    }
}
