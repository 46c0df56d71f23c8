//! Memory for buffered sends (MPI 5.0, §3.6), of the process, a communicator or a session.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::handles::MPI_COMM_SELF;
use super::types::*;
use super::user_memory::checked_count;
use super::verb::{PROCESS, Scope, finish, local, number, start, unsupported};
use super::width::narrowed;
use crate::base::Result;
use crate::mpi::buffer::Attached;
use crate::mpi::request::Activity;
use crate::process::Mpi;

/// The value of `MPI_BUFFER_AUTOMATIC`.
const AUTOMATIC: usize = 2;

/// Gives the process memory for buffered sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_attach_c(buffer: *mut c_void, size: MPI_Count) -> c_int {
    attach("MPI_Buffer_attach", Scope::None, None, buffer, size)
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
    // SAFETY: the caller's promise of the results.
    unsafe { detach("MPI_Buffer_detach", Scope::None, None, buffer_addr, size) }
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
    finish(Scope::None, "MPI_Buffer_flush", flush("MPI_Buffer_flush", None))
}

/// Starts `MPI_Buffer_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_iflush(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPI_Buffer_iflush", MPI_COMM_SELF, request, |_| Ok(Activity::Flush(None))) }
}

/// Gives a communicator memory for its buffered sends.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_attach_buffer_c(
    comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    attach("MPI_Comm_attach_buffer", comm.into(), Some(comm), buffer, size)
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
    // SAFETY: the caller's promise of the results.
    unsafe { detach("MPI_Comm_detach_buffer", comm.into(), Some(comm), buffer_addr, size) }
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
    finish(comm, "MPI_Comm_flush_buffer", flush("MPI_Comm_flush_buffer", Some(comm)))
}

/// Starts `MPI_Comm_flush_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_iflush_buffer(
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let body = |mpi: &mut Mpi| {
        mpi.comms.get(number(comm))?;
        Ok(Activity::Flush(Some(number(comm))))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPI_Comm_iflush_buffer", comm, request, body) }
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

/// Attaches a buffer to a communicator, or to the process.
fn attach(
    name: &str, scope: Scope, comm: Option<MPI_Comm>, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    local(name, scope, |mpi| {
        let attached = match buffer.addr() {
            AUTOMATIC => Attached::Automatic,
            address => Attached::Memory { address, len: checked_count(size)? },
        };
        mpi.buffering(comm.map(number))?.0.attach(attached)
    })
}

/// Detaches a buffer once its messages have left.
///
/// # Safety
/// `buffer` is the address of a pointer, and both it and `size` may be written.
unsafe fn detach(
    name: &str, scope: Scope, comm: Option<MPI_Comm>, buffer: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    let detached = flush(name, comm)
        .and_then(|()| PROCESS.look(|mpi| mpi.buffering(comm.map(number))?.0.detach()));
    let result = detached.map(|attached| {
        let (address, len) = match attached {
            Attached::Memory { address, len } => (address, len as MPI_Count),
            Attached::Automatic => (AUTOMATIC, 0),
            Attached::Nothing => (0, 0),
        };
        // SAFETY: the caller's promise.
        unsafe {
            *buffer.cast::<usize>() = address;
            *size = len;
        }
    });
    finish(scope, name, result)
}

/// Waits in the function `name` until the messages of a buffer have left.
fn flush(name: &str, comm: Option<MPI_Comm>) -> Result {
    let comm = comm.map(number);
    PROCESS.until(
        |_| Ok(()),
        |mpi, ()| Ok(mpi.is_flushed(comm)?.then_some(())),
        |mpi, ()| mpi.blocked(name, [&Activity::Flush(comm)]),
    )
}
