//! Sessions (MPI 5.0, chapter 11).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Ends a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_finalize(session: *mut MPI_Session) -> c_int {
    unsupported("MPI_Session_finalize", Scope::None)
}

/// The hints of a session that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_info(
    session: MPI_Session, info_used: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_Session_get_info", session)
}

/// The name of a process set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_nth_pset(
    session: MPI_Session, info: MPI_Info, n: c_int, pset_len: *mut c_int, pset_name: *mut c_char,
) -> c_int {
    unsupported("MPI_Session_get_nth_pset", session)
}

/// How many process sets the session knows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_num_psets(
    session: MPI_Session, info: MPI_Info, npset_names: *mut c_int,
) -> c_int {
    unsupported("MPI_Session_get_num_psets", session)
}

/// What is known of a process set, its size for one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_get_pset_info(
    session: MPI_Session, pset_name: *const c_char, info: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_Session_get_pset_info", session)
}

/// Begins a session.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Session_init(
    info: MPI_Info, errhandler: MPI_Errhandler, session: *mut MPI_Session,
) -> c_int {
    unsupported("MPI_Session_init", Scope::None)
}
