//! Nonblocking point-to-point communication (MPI 5.0, §3.7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Starts `MPI_Bsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ibsend_c", comm)
}

/// [`PMPI_Ibsend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibsend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Ibsend_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Starts a receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Irecv_c", comm)
}

/// [`PMPI_Irecv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irecv(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Irecv_c(buf, count.into(), datatype, source, tag, comm, request) }
}

/// Starts `MPI_Rsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irsend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Irsend_c", comm)
}

/// [`PMPI_Irsend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Irsend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Irsend_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Starts `MPI_Send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Isend_c", comm)
}

/// [`PMPI_Isend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Isend_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Starts a send and a receive that complete as one request.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, dest: c_int,
    sendtag: c_int, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Isendrecv_c", comm)
}

/// [`PMPI_Isendrecv_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, dest: c_int, sendtag: c_int,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, source: c_int, recvtag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Isendrecv_c(
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
            request,
        )
    }
}

/// Starts `MPI_Sendrecv_replace`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv_replace_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Isendrecv_replace_c", comm)
}

/// [`PMPI_Isendrecv_replace_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Isendrecv_replace(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, sendtag: c_int,
    source: c_int, recvtag: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Isendrecv_replace_c(
            buf,
            count.into(),
            datatype,
            dest,
            sendtag,
            source,
            recvtag,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Ssend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Issend_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Issend_c", comm)
}

/// [`PMPI_Issend_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Issend(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Issend_c(buf, count.into(), datatype, dest, tag, comm, request) }
}
