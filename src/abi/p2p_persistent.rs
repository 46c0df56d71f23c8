//! Persistent point-to-point communication (MPI 5.0, §3.9): making the requests; `request` starts
//! them.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Makes a persistent request for `MPI_Bsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Bsend_init_c", comm)
}

/// [`PMPI_Bsend_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bsend_init(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Bsend_init_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Makes a persistent request to receive.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv_init_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Recv_init_c", comm)
}

/// [`PMPI_Recv_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Recv_init(
    buf: *mut c_void, count: c_int, datatype: MPI_Datatype, source: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Recv_init_c(buf, count.into(), datatype, source, tag, comm, request) }
}

/// Makes a persistent request for `MPI_Rsend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Rsend_init_c", comm)
}

/// [`PMPI_Rsend_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Rsend_init(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Rsend_init_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Makes a persistent request for `MPI_Send`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Send_init_c", comm)
}

/// [`PMPI_Send_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Send_init(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Send_init_c(buf, count.into(), datatype, dest, tag, comm, request) }
}

/// Makes a persistent request for `MPI_Ssend`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend_init_c(
    buf: *const c_void, count: MPI_Count, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ssend_init_c", comm)
}

/// [`PMPI_Ssend_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ssend_init(
    buf: *const c_void, count: c_int, datatype: MPI_Datatype, dest: c_int, tag: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Ssend_init_c(buf, count.into(), datatype, dest, tag, comm, request) }
}
