//! Probe and matched receive (MPI 5.0, §3.8).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};

/// `MPI_Iprobe` that takes the message out of matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Improbe(
    source: c_int, tag: c_int, comm: MPI_Comm, flag: *mut c_int, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Improbe", comm)
}

/// Starts to receive a message that a matched probe took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Imrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Imrecv_c", Scope::None)
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
    unsupported("MPI_Iprobe", comm)
}

/// `MPI_Probe` that takes the message out of matching.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mprobe(
    source: c_int, tag: c_int, comm: MPI_Comm, message: *mut MPI_Message, status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Mprobe", comm)
}

/// Receives a message that a matched probe took.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Mrecv_c(
    buf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, message: *mut MPI_Message,
    status: *mut MPI_Status,
) -> c_int {
    unsupported("MPI_Mrecv_c", Scope::None)
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
    unsupported("MPI_Probe", comm)
}
