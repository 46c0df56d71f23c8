//! Memory for buffered sends (MPI 5.0, §3.6) of the process, a communicator or a session.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::arguments::user_memory::checked_count;
use crate::abi::entry_point::{PROCESS, Scope, finish, local, number};
use crate::abi::handles::MPI_COMM_SELF;
use crate::abi::types::*;
use crate::mpi::communicator::COMM_SELF;
use crate::mpi::point_to_point::buffer::{AttachedMemory, BufferOwner};
use crate::mpi::request::Activity;
use platform::base::{ErrorClass, Result};

/// The value of `MPI_BUFFER_AUTOMATIC`.
const AUTOMATIC: usize = 2;

/// Attaches memory for buffered sends to the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_attach_c(buffer: *mut c_void, size: MPI_Count) -> c_int {
    attach("MPI_Buffer_attach", Scope::None, BufferOwner::Process, buffer, size)
}

/// Detaches that memory after its messages have been delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_detach_c(
    buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller's promise of the results.
    unsafe { detach("MPI_Buffer_detach", Scope::None, BufferOwner::Process, buffer_addr, size) }
}

/// Waits for delivery of all messages in the process's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_flush() -> c_int {
    finish(Scope::None, "MPI_Buffer_flush", flush("MPI_Buffer_flush", BufferOwner::Process))
}

/// Starts `MPI_Buffer_flush`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Buffer_iflush(request: *mut MPI_Request) -> c_int {
    // SAFETY: the caller's promise of the request.
    unsafe { start_flush("MPI_Buffer_iflush", MPI_COMM_SELF, BufferOwner::Process, request) }
}

/// Attaches memory for buffered sends to a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_attach_buffer_c(
    comm: MPI_Comm, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    attach("MPI_Comm_attach_buffer", comm.into(), of_comm(comm), buffer, size)
}

/// Detaches that memory after its messages have been delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_detach_buffer_c(
    comm: MPI_Comm, buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller's promise of the results.
    unsafe { detach("MPI_Comm_detach_buffer", comm.into(), of_comm(comm), buffer_addr, size) }
}

/// Waits for delivery of all messages in the communicator's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_flush_buffer(comm: MPI_Comm) -> c_int {
    finish(comm, "MPI_Comm_flush_buffer", flush("MPI_Comm_flush_buffer", of_comm(comm)))
}

/// Starts `MPI_Comm_flush_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_iflush_buffer(
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the request.
    unsafe { start_flush("MPI_Comm_iflush_buffer", comm, of_comm(comm), request) }
}

/// Attaches memory for buffered sends to a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_attach_buffer_c(
    session: MPI_Session, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    attach("MPI_Session_attach_buffer", session.into(), of_session(session), buffer, size)
}

/// Detaches that memory after its messages have been delivered.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_detach_buffer_c(
    session: MPI_Session, buffer_addr: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    let (name, place) = ("MPI_Session_detach_buffer", of_session(session));
    // SAFETY: the caller's promise of the results.
    unsafe { detach(name, session.into(), place, buffer_addr, size) }
}

/// Waits for delivery of all messages in the session's buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_flush_buffer(session: MPI_Session) -> c_int {
    let flushed = flush("MPI_Session_flush_buffer", of_session(session));
    finish(session, "MPI_Session_flush_buffer", flushed)
}

/// Starts `MPI_Session_flush_buffer`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_iflush_buffer(
    session: MPI_Session, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the caller's promise of the request.
    unsafe { start_flush("MPI_Session_iflush_buffer", session, of_session(session), request) }
}

fn of_comm(comm: MPI_Comm) -> BufferOwner {
    BufferOwner::Comm(number(comm))
}

fn of_session(session: MPI_Session) -> BufferOwner {
    BufferOwner::Session(number(session))
}

fn attach(
    name: &str, scope: Scope, place: BufferOwner, buffer: *mut c_void, size: MPI_Count,
) -> c_int {
    local(name, scope, |mpi| {
        let attached = match buffer.addr() {
            AUTOMATIC => AttachedMemory::Automatic,
            0 if size > 0 => {
                let why = format!("the buffer of {size} bytes is a null pointer");
                return Err(ErrorClass::Buffer.error(why));
            }
            address => AttachedMemory::Memory { address, len: checked_count(size)? },
        };
        mpi.bsend_buffer(place)?.0.attach(attached)
    })
}

/// Detaches a buffer after its messages have been sent.
///
/// # Safety
/// `buffer` is null or the address of a pointer; `buffer` and `size`, unless null, may be written.
unsafe fn detach(
    name: &str, scope: Scope, place: BufferOwner, buffer: *mut c_void, size: *mut MPI_Count,
) -> c_int {
    // SAFETY: the caller's promise.
    let places = unsafe { (out(buffer.cast(), "buffer_addr"), out(size, "size")) };
    let detach = || {
        let (buffer, size) = (places.0?, places.1?);
        flush(name, place)?;
        let (address, len) = match PROCESS.with_mpi(|mpi| mpi.bsend_buffer(place)?.0.detach())? {
            AttachedMemory::Memory { address, len } => (address, len as MPI_Count),
            AttachedMemory::Automatic => (AUTOMATIC, 0),
            AttachedMemory::Detached => (0, 0),
        };
        buffer.put(address);
        size.put(len);
        Ok(())
    };
    finish(scope, name, detach())
}

/// Starts to wait until the messages of a buffer have been sent.
///
/// # Safety
/// `request` is null or may be written.
unsafe fn start_flush(
    name: &str, scope: impl Into<Scope>, place: BufferOwner, request: *mut MPI_Request,
) -> c_int {
    local(name, scope, |mpi| {
        // SAFETY: the caller's promise.
        let request = unsafe { out(request, "request")? };
        mpi.bsend_buffer(place)?;
        let comm = match place {
            BufferOwner::Comm(comm) => comm,
            // This operation cannot fail, so the choice of the error handler is irrelevant.
            BufferOwner::Process | BufferOwner::Session(_) => COMM_SELF,
        };
        request.put_handle(mpi.request(comm, Activity::Flush(place))?);
        Ok(())
    })
}

/// Waits in the function `name` until the messages of a buffer have been sent.
fn flush(name: &str, place: BufferOwner) -> Result {
    PROCESS.until(
        |_| Ok(()),
        |mpi, ()| Ok(mpi.poll_flush(place)?.then_some(())),
        |mpi, ()| mpi.blocked(name, [&Activity::Flush(place)]),
    )
}
