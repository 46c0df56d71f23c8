//! Info objects: ordered pairs of key and value (MPI 5.0, chapter 10).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// A new, empty info object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_create(info: *mut MPI_Info) -> c_int {
    unsupported("MPI_Info_create", Scope::None)
}

/// What `MPI_INFO_ENV` holds, before initialization too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_create_env(
    argc: c_int, argv: *mut *mut c_char, info: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_Info_create_env", Scope::None)
}

/// Removes a key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_delete(info: MPI_Info, key: *const c_char) -> c_int {
    unsupported("MPI_Info_delete", Scope::None)
}

/// A copy of an info object, keys in the same order.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_dup(info: MPI_Info, newinfo: *mut MPI_Info) -> c_int {
    unsupported("MPI_Info_dup", Scope::None)
}

/// Frees an info object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_free(info: *mut MPI_Info) -> c_int {
    unsupported("MPI_Info_free", Scope::None)
}

/// The value of a key; deprecated for `MPI_Info_get_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get(
    info: MPI_Info, key: *const c_char, valuelen: c_int, value: *mut c_char, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Info_get", Scope::None)
}

/// How many keys there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_nkeys(info: MPI_Info, nkeys: *mut c_int) -> c_int {
    unsupported("MPI_Info_get_nkeys", Scope::None)
}

/// The key at a position.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_nthkey(info: MPI_Info, n: c_int, key: *mut c_char) -> c_int {
    unsupported("MPI_Info_get_nthkey", Scope::None)
}

/// The value of a key, as much as fits, and the room that it needs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_string(
    info: MPI_Info, key: *const c_char, buflen: *mut c_int, value: *mut c_char, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Info_get_string", Scope::None)
}

/// The length of a value; deprecated for `MPI_Info_get_string`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_get_valuelen(
    info: MPI_Info, key: *const c_char, valuelen: *mut c_int, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Info_get_valuelen", Scope::None)
}

/// Adds a key or changes its value.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Info_set(
    info: MPI_Info, key: *const c_char, value: *const c_char,
) -> c_int {
    unsupported("MPI_Info_set", Scope::None)
}
