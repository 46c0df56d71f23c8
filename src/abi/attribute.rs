//! Attributes of communicators, datatypes and windows (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::{Scope, unsupported};

/// Makes an attribute key for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_keyval(
    comm_copy_attr_fn: MPI_Comm_copy_attr_function,
    comm_delete_attr_fn: MPI_Comm_delete_attr_function, comm_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    unsupported("MPI_Comm_create_keyval", Scope::None)
}

/// Deletes an attribute of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_delete_attr(comm: MPI_Comm, comm_keyval: c_int) -> c_int {
    unsupported("MPI_Comm_delete_attr", comm)
}

/// Lets go of an attribute key for communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_free_keyval(comm_keyval: *mut c_int) -> c_int {
    unsupported("MPI_Comm_free_keyval", Scope::None)
}

/// An attribute of a communicator, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_attr(
    comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Comm_get_attr", comm)
}

/// Sets an attribute of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_attr(
    comm: MPI_Comm, comm_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    unsupported("MPI_Comm_set_attr", comm)
}

/// Makes an attribute key for datatypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_create_keyval(
    type_copy_attr_fn: MPI_Type_copy_attr_function,
    type_delete_attr_fn: MPI_Type_delete_attr_function, type_keyval: *mut c_int,
    extra_state: *mut c_void,
) -> c_int {
    unsupported("MPI_Type_create_keyval", Scope::None)
}

/// Deletes an attribute of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_delete_attr(
    datatype: MPI_Datatype, type_keyval: c_int,
) -> c_int {
    unsupported("MPI_Type_delete_attr", Scope::None)
}

/// Lets go of an attribute key for datatypes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_free_keyval(type_keyval: *mut c_int) -> c_int {
    unsupported("MPI_Type_free_keyval", Scope::None)
}

/// An attribute of a datatype, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_get_attr(
    datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Type_get_attr", Scope::None)
}

/// Sets an attribute of a datatype.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Type_set_attr(
    datatype: MPI_Datatype, type_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    unsupported("MPI_Type_set_attr", Scope::None)
}

/// Makes an attribute key for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_create_keyval(
    win_copy_attr_fn: MPI_Win_copy_attr_function, win_delete_attr_fn: MPI_Win_delete_attr_function,
    win_keyval: *mut c_int, extra_state: *mut c_void,
) -> c_int {
    unsupported("MPI_Win_create_keyval", Scope::None)
}

/// Deletes an attribute of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_delete_attr(win: MPI_Win, win_keyval: c_int) -> c_int {
    unsupported("MPI_Win_delete_attr", win)
}

/// Lets go of an attribute key for windows.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_free_keyval(win_keyval: *mut c_int) -> c_int {
    unsupported("MPI_Win_free_keyval", Scope::None)
}

/// An attribute of a window, if set.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_get_attr(
    win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void, flag: *mut c_int,
) -> c_int {
    unsupported("MPI_Win_get_attr", win)
}

/// Sets an attribute of a window.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Win_set_attr(
    win: MPI_Win, win_keyval: c_int, attribute_val: *mut c_void,
) -> c_int {
    unsupported("MPI_Win_set_attr", win)
}
