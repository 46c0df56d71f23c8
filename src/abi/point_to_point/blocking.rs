//! Blocking point-to-point communication (MPI 5.0, chapter 3): the four send modes, receive,
//! sendrecv.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::user_memory::message_memory;
use crate::abi::entry_point::{PROCESS, blocking, conclude, finish, number, put_status};
use crate::abi::types::*;
use crate::mpi::point_to_point::SendMode;
use crate::mpi::request::Activity;
use crate::mpi::request::status::Status;
use crate::mpi::{Memory, OperationId};
use crate::process::ProcessMpi;
use platform::base::Result;

/// Buffered send: returns at once; the message is kept in the attached buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the buffer (§3.2).
    unsafe { send("MPI_Bsend", SendMode::Buffered, buf, count, datatype, dest, tag, comm) }
}

/// Receives one message; returns when the message is in the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.2).
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.receive_operation(memory, source, tag, number(comm))
    };
    // SAFETY: the caller's promise of the status.
    unsafe { message("MPI_Recv", comm, status, Status::PROC_NULL, body) }
}

/// Ready send: the matching receive must already be posted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the buffer (§3.2).
    unsafe { send("MPI_Rsend", SendMode::Ready, buf, count, datatype, dest, tag, comm) }
}

/// Standard send: returns when the buffer may be reused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.2).
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.send_operation(memory, dest, tag, number(comm))
    };
    // SAFETY: the status is null.
    unsafe { message("MPI_Send", comm, std::ptr::null_mut(), Status::EMPTY, body) }
}

/// Sends one message and receives another, without deadlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int,
    sendtag: c_int, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of both buffers (§3.11).
        let (from, to) = unsafe {
            (
                message_memory(mpi, number(comm), sendbuf, sendcount, sendtype)?,
                message_memory(mpi, number(comm), recvbuf, recvcount, recvtype)?,
            )
        };
        exchange(mpi, from, (dest, sendtag), to, (source, recvtag), comm)
    };
    // SAFETY: the caller's promise of the status.
    unsafe { exchanging("MPI_Sendrecv", comm, status, body) }
}

/// `MPI_Sendrecv` with one buffer for both messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv_replace_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.11).
        let to = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        exchange(mpi, copy_of(&to), (dest, sendtag), to, (source, recvtag), comm)
    };
    // SAFETY: the caller's promise of the status.
    unsafe { exchanging("MPI_Sendrecv_replace", comm, status, body) }
}

/// Synchronous send: returns when the matching receive has started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the caller's promise of the buffer (§3.2).
    unsafe { send("MPI_Ssend", SendMode::Synchronous, buf, count, datatype, dest, tag, comm) }
}

/// Starts an operation on `comm`, waits for its completion and stores its status; `none` without an
/// operation.
///
/// [`blocking`] for the two functions whose time counts. An [`Activity`] is copied in other parts than
/// it was written in, and such a read waits until all earlier stores are in memory: those of the
/// packet too, a sixth of the time of a short message.
///
/// # Safety
/// `status` is null or may be written.
#[inline]
unsafe fn message(
    name: &str, comm: MPI_Comm, status: *mut MPI_Status, none: Status,
    body: impl FnOnce(&mut ProcessMpi) -> Result<Option<OperationId>>,
) -> c_int {
    let error = PROCESS.until(
        body,
        |mpi, operation| {
            let Some(operation) = *operation else {
                // SAFETY: the caller's promise.
                unsafe { put_status(status, &none) };
                return Ok(Some(None));
            };
            let end = mpi.engine.take_completion(operation);
            if end.is_none() && mpi.engine.is_disturbed() {
                mpi.end_in_doubt(operation);
            }
            Ok(end.map(|end| {
                // SAFETY: the caller's promise.
                unsafe { put_status(status, &Status::from(&end)) };
                end.error
            }))
        },
        |mpi, operation| mpi.blocked(name, operation.map(Activity::Message).iter()),
    );
    finish(comm, name, error.and_then(|error| error.map_or(Ok(()), Err)))
}

/// A blocking send in a mode other than the standard one.
///
/// # Safety
/// The standard's requirements for the buffer.
#[inline]
unsafe fn send(
    name: &str, mode: SendMode, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    dest: c_int, tag: c_int, comm: MPI_Comm,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise.
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.send(mode, memory, dest, tag, number(comm))
    };
    // SAFETY: the status is null.
    unsafe { blocking(name, comm, std::ptr::null_mut(), body) }
}

/// Packed copy of a buffer that will be overwritten.
pub(crate) fn copy_of(memory: &Memory) -> Memory {
    Memory::owned(memory.packed())
}

/// Starts the receive and the send of an exchange; each place is a rank and a tag.
pub(crate) fn exchange(
    mpi: &mut ProcessMpi, from: Memory, (dest, sendtag): (c_int, c_int), to: Memory,
    (source, recvtag): (c_int, c_int), comm: MPI_Comm,
) -> Result<[Activity; 2]> {
    let comm = number(comm);
    let is_long = from.len() > mpi.engine.eager_max();
    // All arguments are checked before anything starts.
    let receive = mpi.receive_arguments(to, source, recvtag, comm)?;
    let send = mpi.send_arguments(SendMode::Standard, from, dest, sendtag, comm)?;
    // The receive may copy a long message that has already arrived. Sending the RTS of a long
    // message before it lets the receiver copy at the same time.
    if is_long {
        let send = mpi.start_operation(send, comm)?;
        return Ok([mpi.start_operation(receive, comm)?, send]);
    }
    Ok([mpi.start_operation(receive, comm)?, mpi.start_operation(send, comm)?])
}

/// Waits for both halves of an exchange; the status is that of the receive.
///
/// # Safety
/// `status` is null or may be written.
unsafe fn exchanging(
    name: &str, comm: MPI_Comm, status: *mut MPI_Status,
    body: impl FnOnce(&mut ProcessMpi) -> Result<[Activity; 2]>,
) -> c_int {
    let result = PROCESS.until(
        |mpi| Ok(Some(body(mpi)?)),
        |mpi, halves| {
            let in_doubt = if mpi.engine.is_disturbed() { halves.as_ref() } else { None };
            for half in in_doubt.into_iter().flatten() {
                if let Activity::Message(operation) = half {
                    mpi.end_in_doubt(*operation);
                }
            }
            let over = halves.take_if(|halves| halves.iter().all(|half| mpi.is_complete(half)));
            Ok(over.map(|halves| halves.map(|half| mpi.end(half))))
        },
        |mpi, halves| mpi.blocked(name, halves.iter().flatten()),
    );
    let result = result.and_then(|[receive, send]| {
        // SAFETY: the caller's promise.
        unsafe { conclude(receive, status) }.and(send.error.map_or(Ok(()), Err))
    });
    finish(comm, name, result)
}
