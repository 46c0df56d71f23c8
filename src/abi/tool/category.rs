//! The tool interface (MPI 5.0 §15.3.9): categories, of which the library has none.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "there is nothing to describe")]

use std::ffi::{c_char, c_int};

use crate::abi::arguments::pointer::out;
use crate::abi::constants::{MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_NAME};
use crate::abi::entry_point::{tool, tool_error};

/// A number that grows when categories change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_changed(update_number: *mut c_int) -> c_int {
    tool("MPI_T_category_changed", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(update_number, "update_number")? }.put(0);
        Ok(())
    })
}

/// The categories in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_categories(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_categories", cat_index)
}

/// The control variables in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_cvars(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_cvars", cat_index)
}

/// The event types in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_events(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_events", cat_index)
}

/// The index of a category by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_index(
    name: *const c_char, cat_index: *mut c_int,
) -> c_int {
    tool("MPI_T_category_get_index", |_| {
        Err(tool_error(MPI_T_ERR_INVALID_NAME, "the library has no categories"))
    })
}

/// Describes a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_info(
    cat_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
    desc_len: *mut c_int, num_cvars: *mut c_int, num_pvars: *mut c_int, num_categories: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_info", cat_index)
}

/// Number of categories.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_num(num_cat: *mut c_int) -> c_int {
    tool("MPI_T_category_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_cat, "num_cat")? }.put(0);
        Ok(())
    })
}

/// Number of event types in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_num_events(
    cat_index: c_int, num_events: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_num_events", cat_index)
}

/// The performance variables in a category.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_get_pvars(
    cat_index: c_int, len: c_int, indices: *mut c_int,
) -> c_int {
    invalid("MPI_T_category_get_pvars", cat_index)
}

/// Body of a function of one category.
fn invalid(name: &str, index: c_int) -> c_int {
    tool(name, |_| {
        let why = format!("{index} is not the index of a category: there are none");
        Err(tool_error(MPI_T_ERR_INVALID_INDEX, why))
    })
}
