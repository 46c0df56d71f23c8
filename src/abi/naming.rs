//! Names of communicators, datatypes and windows (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// The name of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_name(
    comm: MPI_Comm, comm_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    unsupported("MPI_Comm_get_name", comm)
}

/// Names a communicator for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_name(comm: MPI_Comm, comm_name: *const c_char) -> c_int {
    unsupported("MPI_Comm_set_name", comm)
}

/// The name of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_name(
    datatype: MPI_Datatype, type_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    unsupported("MPI_Type_get_name", Scope::None)
}

/// Names a datatype for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_set_name(
    datatype: MPI_Datatype, type_name: *const c_char,
) -> c_int {
    unsupported("MPI_Type_set_name", Scope::None)
}

/// The name of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_name(
    win: MPI_Win, win_name: *mut c_char, resultlen: *mut c_int,
) -> c_int {
    unsupported("MPI_Win_get_name", win)
}

/// Names a window for people.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_name(win: MPI_Win, win_name: *const c_char) -> c_int {
    unsupported("MPI_Win_set_name", win)
}
