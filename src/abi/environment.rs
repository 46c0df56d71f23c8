//! Versions, clock, processor, memory (MPI 5.0, chapter 9) and `MPI_Pcontrol` (chapter 15).
//!
//! `MPI_Pcontrol` is variadic in C. Its body takes the first argument alone, which the C calling
//! conventions of Linux allow; `mpi.h` has the prototype by hand.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_double, c_int, c_void};

use super::constants::{
    MPI_MAX_LIBRARY_VERSION_STRING, MPI_MAX_PROCESSOR_NAME, MPI_SUBVERSION, MPI_SUCCESS,
    MPI_VERSION,
};
use super::text::store_text;
use super::types::*;
use super::verb::{Scope, unsupported};
use crate::process;
use crate::sys::clock;

/// Memory that suits communication.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alloc_mem(
    size: MPI_Aint, info: MPI_Info, baseptr: *mut c_void,
) -> c_int {
    unsupported("MPI_Alloc_mem", Scope::None)
}

/// Frees memory of `MPI_Alloc_mem`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Free_mem(base: *mut c_void) -> c_int {
    unsupported("MPI_Free_mem", Scope::None)
}

/// An info object that names the hardware resources of the process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_hw_resource_info(hw_info: *mut MPI_Info) -> c_int {
    unsupported("MPI_Get_hw_resource_info", Scope::None)
}

/// One line that names the library and its version.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_library_version(
    version: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    // SAFETY: `version` has room for `MPI_MAX_LIBRARY_VERSION_STRING` bytes.
    unsafe { *resultlen = store_text(LIBRARY_VERSION, version, MPI_MAX_LIBRARY_VERSION_STRING) };
    MPI_SUCCESS
}

/// The name of the host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_processor_name(
    name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    let host = process::host_name();
    // SAFETY: `name` has room for `MPI_MAX_PROCESSOR_NAME` bytes.
    unsafe { *resultlen = store_text(&host, name, MPI_MAX_PROCESSOR_NAME) };
    MPI_SUCCESS
}

/// The version of the MPI standard.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Get_version(version: *mut c_int, subversion: *mut c_int) -> c_int {
    // SAFETY: the caller gives valid result pointers.
    unsafe {
        *version = MPI_VERSION;
        *subversion = MPI_SUBVERSION;
    }
    MPI_SUCCESS
}

/// Control of a profiling tool; without a tool it does nothing.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Pcontrol(level: c_int) -> c_int {
    MPI_SUCCESS
}

/// Seconds between two ticks of `MPI_Wtime`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wtick() -> c_double {
    clock::resolution_ns() as f64 * 1e-9
}

/// Seconds since some time in the past, the same for all processes of a host.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Wtime() -> c_double {
    clock::monotonic_ns() as f64 * 1e-9
}

/// What `MPI_Get_library_version` gives.
const LIBRARY_VERSION: &str =
    concat!("Suiro ", env!("CARGO_PKG_VERSION"), " (MPI 5.0, standard ABI 1.0)");
