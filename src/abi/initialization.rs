//! The world model: initialization, finalization, abort (MPI 5.0, chapter 11).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Ends all processes of the communicator, here the whole job.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Abort(comm: MPI_Comm, errorcode: c_int) -> c_int {
    unsupported("MPI_Abort", comm)
}

/// Ends the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalize() -> c_int {
    unsupported("MPI_Finalize", Scope::None)
}

/// Whether `MPI_Finalize` has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Finalized(flag: *mut c_int) -> c_int {
    unsupported("MPI_Finalized", Scope::None)
}

/// Begins the world model in this process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut c_char) -> c_int {
    unsupported("MPI_Init", Scope::None)
}

/// `MPI_Init` that asks for a level of thread support.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Init_thread(
    argc: *mut c_int, argv: *mut *mut *mut c_char, required: c_int, provided: *mut c_int,
) -> c_int {
    unsupported("MPI_Init_thread", Scope::None)
}

/// Whether `MPI_Init` has completed.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Initialized(flag: *mut c_int) -> c_int {
    unsupported("MPI_Initialized", Scope::None)
}

/// Whether the caller is the thread that initialized MPI.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Is_thread_main(flag: *mut c_int) -> c_int {
    unsupported("MPI_Is_thread_main", Scope::None)
}

/// The level of thread support in force.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Query_thread(provided: *mut c_int) -> c_int {
    unsupported("MPI_Query_thread", Scope::None)
}
