//! The tool interface (MPI 5.0, chapter 15): start, enumerations, categories.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::constants::MPI_THREAD_MULTIPLE;
use super::entry_point::{PROCESS, Scope, finish, tool, unsupported};
use super::initialization::level_for;
use super::pointer::out;
use super::types::*;

/// A number that grows when categories change.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_category_changed(update_number: *mut c_int) -> c_int {
    // There are none, and never will be.
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
    tool("MPI_T_category_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_cat, "num_cat")? }.put(0);
        Ok(())
    })
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
    tool("MPI_T_finalize", |objects| {
        objects.tools.leave();
        Ok(())
    })
}

/// Begins one use of the tool interface, before `MPI_Init` too.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    let result = PROCESS.visit(|objects| {
        // SAFETY: the caller's promise of the result.
        let provided = unsafe { out(provided, "provided")? };
        level_for(required)?;
        objects.tools.enter();
        // Any thread may look at a variable at any time.
        provided.put(MPI_THREAD_MULTIPLE);
        Ok(())
    });
    finish(Scope::Tool, "MPI_T_init_thread", result)
}
