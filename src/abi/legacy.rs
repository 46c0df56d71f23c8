//! Names of MPI-1 that are deprecated but still part of the library (MPI 5.0, chapter 16).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use super::attribute::*;
use super::types::*;

/// `MPI_Comm_delete_attr` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Attr_delete(comm: MPI_Comm, keyval: c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_delete_attr(comm, keyval) }
}

/// `MPI_Comm_get_attr` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Attr_get(
    comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_get_attr(comm, keyval, attribute_val, flag) }
}

/// `MPI_Comm_set_attr` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Attr_put(
    comm: MPI_Comm, keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_set_attr(comm, keyval, attribute_val) }
}

/// `MPI_Comm_create_keyval` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Keyval_create(
    copy_fn: MPI_Copy_function, delete_fn: MPI_Delete_function, keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_create_keyval(copy_fn, delete_fn, keyval, extra_state) }
}

/// `MPI_Comm_free_keyval` under its deprecated name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Keyval_free(keyval: *mut c_int) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Comm_free_keyval(keyval) }
}
