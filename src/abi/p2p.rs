//! Blocking point-to-point communication (MPI 5.0, chapter 3): the four send modes, receive,
//! sendrecv.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Buffered send: returns at once, the message waits in the attached buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Bsend_c", comm)
}

/// [`PMPI_Bsend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Bsend_c(buf, count.into(), datatype, dest, tag, comm) }
}

/// Receives one message; returns when it is in the buffer.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Recv_c", comm)
}

/// [`PMPI_Recv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Recv_c(buf, count.into(), datatype, source, tag, comm, status) }
}

/// Ready send: the matching receive must already be posted.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Rsend_c", comm)
}

/// [`PMPI_Rsend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Rsend_c(buf, count.into(), datatype, dest, tag, comm) }
}

/// Standard send: returns when the buffer may be reused.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Send_c", comm)
}

/// [`PMPI_Send_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Send_c(buf, count.into(), datatype, dest, tag, comm) }
}

/// Sends one message and receives another, without deadlock.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int,
    sendtag: c_int, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Sendrecv_c", comm)
}

/// [`PMPI_Sendrecv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
    comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Sendrecv_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            dest,
            sendtag,
            recvbuf,
            recvcount.into(),
            recvtype,
            source,
            recvtag,
            comm,
            status,
        )
    }
}

/// `MPI_Sendrecv` with one buffer for both messages.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv_replace_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Sendrecv_replace_c", comm)
}

/// [`PMPI_Sendrecv_replace_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Sendrecv_replace(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, status: *mut MPI_Status,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Sendrecv_replace_c(
            buf,
            count.into(),
            datatype,
            dest,
            sendtag,
            source,
            recvtag,
            comm,
            status,
        )
    }
}

/// Synchronous send: returns when the matching receive has started.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Ssend_c", comm)
}

/// [`PMPI_Ssend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Ssend_c(buf, count.into(), datatype, dest, tag, comm) }
}
