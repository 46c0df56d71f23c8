//! The tool interface (MPI 5.0, chapter 15): start, enumerations, categories.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

/// A number that grows when categories change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_changed(update_number: *mut c_int) -> c_int {
    unsupported("MPI_T_category_changed", Scope::Tool)
}

/// The categories in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_categories(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_categories", Scope::Tool)
}

/// The control variables in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_cvars(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_cvars", Scope::Tool)
}

/// The event types in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_events(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_events", Scope::Tool)
}

/// The index of a category by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_index(
    name: *const c_char, cat_index: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_index", Scope::Tool)
}

/// Describes a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_info(
    cat_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
    desc_len: *mut c_int, num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_info", Scope::Tool)
}

/// How many categories there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_num(num_cat: *mut c_int) -> c_int {
    unsupported("MPI_T_category_get_num", Scope::Tool)
}

/// How many event types are in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_num_events(
    cat_index: c_int, num_events: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_num_events", Scope::Tool)
}

/// The performance variables in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_pvars(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    unsupported("MPI_T_category_get_pvars", Scope::Tool)
}

/// Describes an enumeration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_enum_get_info(
    enumtype: MPI_T_enum, num: *mut c_int, name: *mut c_char, name_len: *mut c_int,
) -> c_int {
    unsupported("MPI_T_enum_get_info", Scope::Tool)
}

/// Describes one item of an enumeration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_enum_get_item(
    enumtype: MPI_T_enum, indx: c_int, value: *mut c_int, name: *mut c_char, name_len: *mut c_int,
) -> c_int {
    unsupported("MPI_T_enum_get_item", Scope::Tool)
}

/// Ends one use of the tool interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_finalize() -> c_int {
    unsupported("MPI_T_finalize", Scope::Tool)
}

/// Begins one use of the tool interface, before `MPI_Init` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    unsupported("MPI_T_init_thread", Scope::Tool)
}
