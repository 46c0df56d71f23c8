//! Probe and matched receive (MPI 5.0, §3.8).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::{InOut, in_out, out};
use crate::abi::arguments::user_memory::message_memory;
use crate::abi::entry_point::{
    PROCESS, Scope, conclude, finish, local, number, put_status, test, wait_for,
};
use crate::abi::handles::{MPI_MESSAGE_NULL, handle};
use crate::abi::types::*;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use crate::process::ProcessMpi;
use platform::base::Result;

/// `MPI_Iprobe` that removes the message from matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Improbe(
    source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    test("MPI_Improbe", comm, |mpi| {
        // SAFETY: the caller's promise of the results.
        let (flag, message) = unsafe { (out(flag, "flag")?, out(message, "message")?) };
        let found = mpi.probe_matched(source, tag, number(comm))?;
        flag.put(found.is_some().into());
        let Some((taken, found)) = found else { return Ok(false) };
        message.put_handle(taken);
        // SAFETY: the caller's promise of the status.
        unsafe { put_status(status, &found) };
        Ok(true)
    })
}

/// Starts to receive a message from a matched probe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Imrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the message.
    let message = unsafe { in_out(message, "message") };
    local("MPI_Imrecv", scope_of(&message), |mpi| {
        mpi.check_request_space()?;
        // SAFETY: the caller's promise of the buffer and the request (§3.8.3).
        let (request, (activity, comm)) =
            unsafe { (out(request, "request")?, receive(mpi, buf, count, datatype, message?)?) };
        request.put_handle(mpi.request(comm, activity)?);
        Ok(())
    })
}

/// Tests for a matching message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iprobe(
    source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, status: *mut MPI_Status,
) -> c_int {
    test("MPI_Iprobe", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        let found = mpi.probe(source, tag, number(comm))?;
        flag.put(found.is_some().into());
        let Some(found) = found else { return Ok(false) };
        // SAFETY: the caller's promise of the status.
        unsafe { put_status(status, &found) };
        Ok(true)
    })
}

/// `MPI_Probe` that removes the message from matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mprobe(
    source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status,
) -> c_int {
    let probe = |mpi: &mut ProcessMpi, (): &mut ()| mpi.probe_matched(source, tag, number(comm));
    let blocked =
        |mpi: &ProcessMpi, (): &()| mpi.blocked_probe("MPI_Mprobe", source, tag, number(comm));
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(message, "message") }.and_then(|message| {
        let (taken, found) = PROCESS.until(|_| Ok(()), probe, blocked)?;
        message.put_handle(taken);
        // SAFETY: the caller's promise of the status.
        unsafe { put_status(status, &found) };
        Ok(())
    });
    finish(comm, "MPI_Mprobe", result)
}

/// Receives a message from a matched probe.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the caller's promise of the message.
    let message = unsafe { in_out(message, "message") };
    let scope = scope_of(&message);
    // SAFETY: the caller's promise of the buffer and the status (§3.8.3).
    let result = unsafe {
        wait_for("MPI_Mrecv", |mpi| Ok(receive(mpi, buf, count, datatype, message?)?.0))
            .and_then(|outcome| conclude(outcome, status))
    };
    finish(scope, "MPI_Mrecv", result)
}

/// Waits for a matching message.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Probe(
    source: c_int, tag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    let probe = |mpi: &mut ProcessMpi, (): &mut ()| mpi.probe(source, tag, number(comm));
    let blocked =
        |mpi: &ProcessMpi, (): &()| mpi.blocked_probe("MPI_Probe", source, tag, number(comm));
    let found = PROCESS.until(|_| Ok(()), probe, blocked);
    // SAFETY: the caller's promise of the status.
    finish(comm, "MPI_Probe", found.map(|found| unsafe { put_status(status, &found) }))
}

/// Starts to receive a message and frees its handle.
///
/// # Safety
/// The standard's requirements for the buffer.
unsafe fn receive(
    mpi: &mut ProcessMpi, buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    message: InOut<MPI_Message>,
) -> Result<(Activity, Handle)> {
    let taken = number(message.get());
    let comm = mpi.comm_of_message(taken).unwrap_or_default();
    // SAFETY: the caller's promise.
    let memory = unsafe { message_memory(mpi, comm, buf, count, datatype)? };
    let started = mpi.receive_matched(taken, memory)?;
    message.put(MPI_MESSAGE_NULL);
    Ok(started)
}

/// Scope of the error handler for a message: its communicator.
fn scope_of(message: &Result<InOut<MPI_Message>>) -> Scope {
    let Ok(message) = message else { return Scope::None };
    match PROCESS.with_mpi(|mpi| Ok(mpi.comm_of_message(number(message.get())))) {
        Ok(Some(comm)) => Scope::Comm(handle(comm as c_int)),
        Ok(None) | Err(_) => Scope::None,
    }
}
