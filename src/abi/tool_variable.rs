//! The tool interface (MPI 5.0, chapter 15): control and performance variables.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};

/// The index of a control variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_index(
    name: *const c_char, cvar_index: *mut c_int,
) -> c_int {
    unsupported("MPI_T_cvar_get_index", Scope::Tool)
}

/// Describes a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_info(
    cvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum, desc: *mut c_char,
    desc_len: *mut c_int, bind: *mut c_int, scope: *mut c_int,
) -> c_int {
    unsupported("MPI_T_cvar_get_info", Scope::Tool)
}

/// How many control variables there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_get_num(num_cvar: *mut c_int) -> c_int {
    unsupported("MPI_T_cvar_get_num", Scope::Tool)
}

/// A handle to a control variable, bound to an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_handle_alloc(
    cvar_index: c_int, obj_handle: *mut c_void, handle: *mut MPI_T_cvar_handle, count: *mut c_int,
) -> c_int {
    unsupported("MPI_T_cvar_handle_alloc", Scope::Tool)
}

/// Frees a handle to a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_handle_free(handle: *mut MPI_T_cvar_handle) -> c_int {
    unsupported("MPI_T_cvar_handle_free", Scope::Tool)
}

/// The value of a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_read(handle: MPI_T_cvar_handle, buf: *mut c_void) -> c_int {
    unsupported("MPI_T_cvar_read", Scope::Tool)
}

/// Sets a control variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_cvar_write(handle: MPI_T_cvar_handle, buf: *const c_void) -> c_int {
    unsupported("MPI_T_cvar_write", Scope::Tool)
}

/// The index of a performance variable by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_index(
    name: *const c_char, var_class: c_int, pvar_index: *mut c_int,
) -> c_int {
    unsupported("MPI_T_pvar_get_index", Scope::Tool)
}

/// Describes a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_info(
    pvar_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    var_class: *mut c_int, datatype: *mut MPI_Datatype, enumtype: *mut MPI_T_enum,
    desc: *mut c_char, desc_len: *mut c_int, bind: *mut c_int, readonly: *mut c_int,
    continuous: *mut c_int, atomic: *mut c_int,
) -> c_int {
    unsupported("MPI_T_pvar_get_info", Scope::Tool)
}

/// How many performance variables there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_get_num(num_pvar: *mut c_int) -> c_int {
    unsupported("MPI_T_pvar_get_num", Scope::Tool)
}

/// A handle to a performance variable, bound to an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_handle_alloc(
    session: MPI_T_pvar_session, pvar_index: c_int, obj_handle: *mut c_void,
    handle: *mut MPI_T_pvar_handle, count: *mut c_int,
) -> c_int {
    unsupported("MPI_T_pvar_handle_alloc", Scope::Tool)
}

/// Frees a handle to a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_handle_free(
    session: MPI_T_pvar_session, handle: *mut MPI_T_pvar_handle,
) -> c_int {
    unsupported("MPI_T_pvar_handle_free", Scope::Tool)
}

/// The value of a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_read(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void,
) -> c_int {
    unsupported("MPI_T_pvar_read", Scope::Tool)
}

/// The value of a performance variable, which is then reset.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_readreset(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *mut c_void,
) -> c_int {
    unsupported("MPI_T_pvar_readreset", Scope::Tool)
}

/// Sets a performance variable to its starting value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_reset(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    unsupported("MPI_T_pvar_reset", Scope::Tool)
}

/// A session that isolates one tool's performance variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_session_create(session: *mut MPI_T_pvar_session) -> c_int {
    unsupported("MPI_T_pvar_session_create", Scope::Tool)
}

/// Frees a session of performance variables.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_session_free(session: *mut MPI_T_pvar_session) -> c_int {
    unsupported("MPI_T_pvar_session_free", Scope::Tool)
}

/// Starts a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_start(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    unsupported("MPI_T_pvar_start", Scope::Tool)
}

/// Stops a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_stop(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle,
) -> c_int {
    unsupported("MPI_T_pvar_stop", Scope::Tool)
}

/// Sets a performance variable.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_pvar_write(
    session: MPI_T_pvar_session, handle: MPI_T_pvar_handle, buf: *const c_void,
) -> c_int {
    unsupported("MPI_T_pvar_write", Scope::Tool)
}
