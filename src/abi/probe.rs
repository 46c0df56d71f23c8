//! Probe and matched receive (MPI 5.0, §3.8).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::handles::{MPI_MESSAGE_NULL, handle};
use super::types::*;
use super::user_memory::memory;
use super::verb::{PROCESS, Scope, conclude, finish, local, number, put_status, test, wait_for};
use crate::base::Result;
use crate::mpi::request::Activity;
use crate::mpi::status::Status;
use crate::mpi::table::Handle;
use crate::process::Mpi;

/// `MPI_Iprobe` that takes the message out of matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Improbe(
    source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    test("MPI_Improbe", comm, |mpi| {
        let found = mpi.probe_matched(source, tag, number(comm))?;
        // SAFETY: the caller's promise of the results and the status.
        unsafe {
            *flag = found.is_some().into();
            if let Some(taken) = found {
                put_taken(taken, message, status);
            }
            Ok(*flag != 0)
        }
    })
}

/// Starts to receive a message that a matched probe took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Imrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the message and the buffer (§3.8.3).
    let body = |mpi: &mut Mpi| unsafe { receive(mpi, buf, count, datatype, message) };
    let scope = scope_of(message);
    local("MPI_Imrecv", scope, |mpi| {
        let (activity, comm) = body(mpi)?;
        let made = mpi.request(comm, activity)?;
        // SAFETY: the caller's promise of the request.
        unsafe { *request = handle(made as c_int) };
        Ok(())
    })
}

/// [`PMPI_Imrecv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Imrecv(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Imrecv_c(buf, count.into(), datatype, message, request) }
}

/// Asks whether a matching message is there to be received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iprobe(
    source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    test("MPI_Iprobe", comm, |mpi| {
        let found = mpi.probe(source, tag, number(comm))?;
        // SAFETY: the caller's promise of the result and the status.
        unsafe {
            *flag = found.is_some().into();
            if let Some(found) = found {
                put_status(status, &found);
            }
            Ok(*flag != 0)
        }
    })
}

/// `MPI_Probe` that takes the message out of matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mprobe(
    source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status,
) -> c_int {
    let probe = |mpi: &mut Mpi, (): &mut ()| mpi.probe_matched(source, tag, number(comm));
    let blocked = |mpi: &Mpi, (): &()| mpi.blocked_probe("MPI_Mprobe", source, tag, number(comm));
    let taken = PROCESS.until(|_| Ok(()), probe, blocked);
    // SAFETY: the caller's promise of the result and the status.
    finish(comm, "MPI_Mprobe", taken.map(|taken| unsafe { put_taken(taken, message, status) }))
}

/// Receives a message that a matched probe took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    let scope = scope_of(message);
    // SAFETY: the caller's promise of the message, the buffer and the status (§3.8.3).
    let result = unsafe {
        wait_for("MPI_Mrecv", |mpi| Ok(receive(mpi, buf, count, datatype, message)?.0))
            .and_then(|outcome| conclude(outcome, status))
    };
    finish(scope, "MPI_Mrecv", result)
}

/// [`PMPI_Mrecv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mrecv(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Mrecv_c(buf, count.into(), datatype, message, status) }
}

/// Waits until a matching message is there to be received.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Probe(
    source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    let probe = |mpi: &mut Mpi, (): &mut ()| mpi.probe(source, tag, number(comm));
    let blocked = |mpi: &Mpi, (): &()| mpi.blocked_probe("MPI_Probe", source, tag, number(comm));
    let found = PROCESS.until(|_| Ok(()), probe, blocked);
    // SAFETY: the caller's promise of the status.
    finish(comm, "MPI_Probe", found.map(|found| unsafe { put_status(status, &found) }))
}

/// Stores what a matched probe took.
///
/// # Safety
/// `message` may be written, and `status` unless it is null.
unsafe fn put_taken(
    (taken, found): (Handle, Status), message: *mut MPI_Message, status: *mut MPI_Status,
) {
    // SAFETY: the caller's promise.
    unsafe {
        *message = handle(taken as c_int);
        put_status(status, &found);
    }
}

/// Starts to receive a message and takes its handle away.
///
/// # Safety
/// What the standard demands of the buffer; `message` may be read and written.
unsafe fn receive(
    mpi: &mut Mpi, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    message: *mut MPI_Message,
) -> Result<(Activity, Handle)> {
    // SAFETY: the caller's promise.
    let (memory, taken) = unsafe { (memory(mpi, buf, count, datatype)?, *message) };
    let started = mpi.receive_matched(number(taken), memory)?;
    // SAFETY: the caller's promise.
    unsafe { *message = MPI_MESSAGE_NULL };
    Ok(started)
}

/// The error handler that hears of a message: that of its communicator.
fn scope_of(message: *const MPI_Message) -> Scope {
    let of_message = PROCESS.look(|mpi| {
        // SAFETY: the application gives a valid pointer (§3.8.3).
        let message = number(unsafe { *message });
        Ok(mpi.comm_of_message(message))
    });
    match of_message {
        Ok(Some(comm)) => Scope::Comm(handle(comm as c_int)),
        Ok(None) | Err(_) => Scope::None,
    }
}
