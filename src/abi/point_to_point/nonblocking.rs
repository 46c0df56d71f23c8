//! Nonblocking point-to-point communication (MPI 5.0, §3.7).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::message_memory;
use crate::abi::entry_point::{local, number, start};
use crate::abi::point_to_point::blocking::{copy_of, exchange};
use crate::abi::types::*;
use crate::mpi::OperationId;
use crate::mpi::point_to_point::SendMode;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::process::ProcessMpi;
use platform::base::Result;

/// Starts `MPI_Bsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the buffer and the request (§3.7.2).
    unsafe {
        isend("MPI_Ibsend", SendMode::Buffered, buf, count, datatype, dest, tag, comm, request)
    }
}

/// Starts a receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.7.2).
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.receive_operation(memory, source, tag, number(comm))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start_message("MPI_Irecv", comm, request, Status::PROC_NULL, body) }
}

/// Starts `MPI_Rsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the buffer and the request (§3.7.2).
    unsafe { isend("MPI_Irsend", SendMode::Ready, buf, count, datatype, dest, tag, comm, request) }
}

/// Starts `MPI_Send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.7.2).
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.send_operation(memory, dest, tag, number(comm))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start_message("MPI_Isend", comm, request, Status::EMPTY, body) }
}

/// Starts a send and a receive that complete as one request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int,
    sendtag: c_int, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of both buffers (§3.11).
        let (from, to) = unsafe {
            (
                message_memory(mpi, number(comm), sendbuf, sendcount, sendtype)?,
                message_memory(mpi, number(comm), recvbuf, recvcount, recvtype)?,
            )
        };
        exchange(mpi, from, (dest, sendtag), to, (source, recvtag), comm).map(Activity::both)
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPI_Isendrecv", comm, request, body) }
}

/// Starts `MPI_Sendrecv_replace`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv_replace_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.11).
        let to = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        exchange(mpi, copy_of(&to), (dest, sendtag), to, (source, recvtag), comm)
            .map(Activity::both)
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPI_Isendrecv_replace", comm, request, body) }
}

/// Starts `MPI_Ssend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Issend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the buffer and the request (§3.7.2).
    unsafe {
        isend("MPI_Issend", SendMode::Synchronous, buf, count, datatype, dest, tag, comm, request)
    }
}

/// Starts a message on `comm` and stores its request, which is complete with the status `none` if there
/// is no operation: [`start`] without an activity, for the same reason as in `blocking`.
///
/// # Safety
/// `request` is null or may be written.
#[inline]
unsafe fn start_message(
    name: &str, comm: MPI_Comm, request: *mut MPI_Request, none: Status,
    body: impl FnOnce(&mut ProcessMpi) -> Result<Option<OperationId>>,
) -> c_int {
    local(name, comm, |mpi| {
        // SAFETY: the caller's promise.
        let request = unsafe { out(request, "request")? };
        mpi.check_request_space()?;
        let operation = body(mpi)?;
        request.put_handle(mpi.message_request(number(comm), operation, none)?);
        Ok(())
    })
}

/// Starts a send in a mode other than the standard one.
///
/// # Safety
/// The standard's requirements for the buffer; `request` is null or may be written.
#[inline]
unsafe fn isend(
    name: &str, mode: SendMode, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise.
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.send(mode, memory, dest, tag, number(comm))
    };
    // SAFETY: the caller's promise.
    unsafe { start(name, comm, request, body) }
}
