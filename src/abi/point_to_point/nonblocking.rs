//! Nonblocking point-to-point communication (MPI 5.0, §3.7).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::user_memory::memory;
use crate::abi::entry_point::{number, start};
use crate::abi::point_to_point::blocking::{copy_of, exchange};
use crate::abi::types::*;
use crate::mpi::point_to_point::SendMode;
use crate::mpi::request::Activity;
use crate::process::ProcessMpi;

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
        let memory = unsafe { memory(mpi, buf, count, datatype)? };
        mpi.receive(memory, source, tag, number(comm))
    };
    // SAFETY: the caller's promise of the request.
    unsafe { start("MPI_Irecv", comm, request, body) }
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
    // SAFETY: the caller's promise of the buffer and the request (§3.7.2).
    unsafe {
        isend("MPI_Isend", SendMode::Standard, buf, count, datatype, dest, tag, comm, request)
    }
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
            (memory(mpi, sendbuf, sendcount, sendtype)?, memory(mpi, recvbuf, recvcount, recvtype)?)
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
        let to = unsafe { memory(mpi, buf, count, datatype)? };
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

/// Starts a send in any mode.
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
        let memory = unsafe { memory(mpi, buf, count, datatype)? };
        mpi.send(mode, memory, dest, tag, number(comm))
    };
    // SAFETY: the caller's promise.
    unsafe { start(name, comm, request, body) }
}
