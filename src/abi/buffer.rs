//! Memory for buffered sends (MPI 5.0, §3.6), of the process, a communicator or a session.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};
use super::width::narrowed;

/// Gives the process memory for buffered sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_attach_c(buffer: *mut c_void, size: MPI_Count) -> c_int {
    unsupported("MPI_Buffer_attach_c", Scope::None)
}

/// [`PMPI_Buffer_attach_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_attach(buffer: *mut c_void, size: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Buffer_attach_c(buffer, size.into()) }
}

/// Takes that memory back, once its messages are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_detach_c(
    buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Buffer_detach_c", Scope::None)
}

/// [`PMPI_Buffer_detach_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_detach(buffer_addr: *mut c_void, size: *mut c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(size, |size| PMPI_Buffer_detach_c(buffer_addr, size)) }
}

/// Waits until all messages in the process's buffer are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_flush() -> c_int {
    unsupported("MPI_Buffer_flush", Scope::None)
}

/// Starts `MPI_Buffer_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_iflush(request: *mut MPI_Request) -> c_int {
    unsupported("MPI_Buffer_iflush", Scope::None)
}

/// Gives a communicator memory for its buffered sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_attach_buffer_c(
    comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    unsupported("MPI_Comm_attach_buffer_c", comm)
}

/// [`PMPI_Comm_attach_buffer_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_attach_buffer(
    comm: MPI_Comm, buffer: *mut c_void, size: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_attach_buffer_c(comm, buffer, size.into()) }
}

/// Takes that memory back, once its messages are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_detach_buffer_c(
    comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Comm_detach_buffer_c", comm)
}

/// [`PMPI_Comm_detach_buffer_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_detach_buffer(
    comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(size, |size| PMPI_Comm_detach_buffer_c(comm, buffer_addr, size)) }
}

/// Waits until all messages in the communicator's buffer are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_flush_buffer(comm: MPI_Comm) -> c_int {
    unsupported("MPI_Comm_flush_buffer", comm)
}

/// Starts `MPI_Comm_flush_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_iflush_buffer(
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Comm_iflush_buffer", comm)
}

/// Gives a session memory for its buffered sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_attach_buffer_c(
    session: MPI_Session, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    unsupported("MPI_Session_attach_buffer_c", session)
}

/// [`PMPI_Session_attach_buffer_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_attach_buffer(
    session: MPI_Session, buffer: *mut c_void, size: c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Session_attach_buffer_c(session, buffer, size.into()) }
}

/// Takes that memory back, once its messages are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_detach_buffer_c(
    session: MPI_Session, buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_Session_detach_buffer_c", session)
}

/// [`PMPI_Session_detach_buffer_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_detach_buffer(
    session: MPI_Session, buffer_addr: *mut c_void, size: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { narrowed(size, |size| PMPI_Session_detach_buffer_c(session, buffer_addr, size)) }
}

/// Waits until all messages in the session's buffer are delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_flush_buffer(session: MPI_Session) -> c_int {
    unsupported("MPI_Session_flush_buffer", session)
}

/// Starts `MPI_Session_flush_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_iflush_buffer(
    session: MPI_Session, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Session_iflush_buffer", session)
}
