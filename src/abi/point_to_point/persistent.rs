//! Persistent point-to-point communication (MPI 5.0, §3.9): creation of requests. `request` starts
//! them.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::message_memory;
use crate::abi::entry_point::{local, number};
use crate::abi::types::*;
use crate::mpi::point_to_point::{SendMode, StartArguments};
use crate::process::ProcessMpi;
use platform::base::Result;

/// Creates a persistent request for `MPI_Bsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let name = "MPI_Bsend_init";
    // SAFETY: the caller's promise of the buffer and the request (§3.9).
    unsafe { send_init(name, SendMode::Buffered, buf, count, datatype, dest, tag, comm, request) }
}

/// Creates a persistent request for a receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv_init_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise of the buffer (§3.9).
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.receive_arguments(memory, source, tag, number(comm))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Recv_init", comm, request, body) }
}

/// Creates a persistent request for `MPI_Rsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let name = "MPI_Rsend_init";
    // SAFETY: the caller's promise of the buffer and the request (§3.9).
    unsafe { send_init(name, SendMode::Ready, buf, count, datatype, dest, tag, comm, request) }
}

/// Creates a persistent request for `MPI_Send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let name = "MPI_Send_init";
    // SAFETY: the caller's promise of the buffer and the request (§3.9).
    unsafe { send_init(name, SendMode::Standard, buf, count, datatype, dest, tag, comm, request) }
}

/// Creates a persistent request for `MPI_Ssend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let name = "MPI_Ssend_init";
    // SAFETY: the caller's promise of the buffer and the request (§3.9).
    unsafe {
        send_init(name, SendMode::Synchronous, buf, count, datatype, dest, tag, comm, request)
    }
}

/// Creates a persistent request for a send in any mode.
///
/// # Safety
/// The standard's requirements for the buffer; `request` is null or may be written.
unsafe fn send_init(
    name: &str, mode: SendMode, buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype,
    dest: c_int, tag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut ProcessMpi| {
        // SAFETY: the caller's promise.
        let memory = unsafe { message_memory(mpi, number(comm), buf, count, datatype)? };
        mpi.send_arguments(mode, memory, dest, tag, number(comm))
    };
    // SAFETY: the caller's promise.
    unsafe { init(name, comm, request, body) }
}

/// Creates a persistent request from start arguments.
///
/// # Safety
/// `request` is null or may be written.
unsafe fn init(
    name: &str, comm: MPI_Comm, request: *mut MPI_Request,
    body: impl FnOnce(&mut ProcessMpi) -> Result<StartArguments>,
) -> c_int {
    local(name, comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let request = unsafe { out(request, "request")? };
        let recipe = body(mpi)?;
        request.put_handle(mpi.persistent(number(comm), recipe)?);
        Ok(())
    })
}
