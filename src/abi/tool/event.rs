//! The tool interface (MPI 5.0 §15.3.8): event types and their sources, of which the library has
//! none.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "there is nothing to describe")]

use std::ffi::{c_char, c_int, c_void};

use crate::abi::arguments::pointer::out;
use crate::abi::constants::{
    MPI_T_ERR_INVALID_HANDLE, MPI_T_ERR_INVALID_INDEX, MPI_T_ERR_INVALID_NAME,
};
use crate::abi::entry_point::{number, tool, tool_error};
use crate::abi::types::*;

/// Hints of a callback of an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_callback_get_info(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety,
    info_used: *mut MPI_Info,
) -> c_int {
    unregistered("MPI_T_event_callback_get_info", event_registration)
}

/// Sets hints of a callback of an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_callback_set_info(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
) -> c_int {
    unregistered("MPI_T_event_callback_set_info", event_registration)
}

/// Copies the data of an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_copy(
    event_instance: MPI_T_event_instance, buffer: *mut c_void,
) -> c_int {
    not_an_event("MPI_T_event_copy", event_instance)
}

/// The index of an event type by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_index(
    name: *const c_char, event_index: *mut c_int,
) -> c_int {
    tool("MPI_T_event_get_index", |_| {
        Err(tool_error(MPI_T_ERR_INVALID_NAME, "the library has no event types"))
    })
}

/// Describes an event type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_info(
    event_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    array_of_datatypes: *mut MPI_Datatype, array_of_displacements: *mut MPI_Aint,
    num_elements: *mut c_int, enumtype: *mut MPI_T_enum, info: *mut MPI_Info, desc: *mut c_char,
    desc_len: *mut c_int, bind: *mut c_int,
) -> c_int {
    no_type("MPI_T_event_get_info", event_index)
}

/// Number of event types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_num(num_events: *mut c_int) -> c_int {
    tool("MPI_T_event_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_events, "num_events")? }.put(0);
        Ok(())
    })
}

/// The source of an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_source(
    event_instance: MPI_T_event_instance, source_index: *mut c_int,
) -> c_int {
    not_an_event("MPI_T_event_get_source", event_instance)
}

/// The time of an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_timestamp(
    event_instance: MPI_T_event_instance, event_timestamp: *mut MPI_Count,
) -> c_int {
    not_an_event("MPI_T_event_get_timestamp", event_instance)
}

/// Registers for events of a type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_alloc(
    event_index: c_int, obj_handle: *mut c_void, info: MPI_Info,
    event_registration: *mut MPI_T_event_registration,
) -> c_int {
    no_type("MPI_T_event_handle_alloc", event_index)
}

/// Frees an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_free(
    event_registration: MPI_T_event_registration, user_data: *mut c_void,
    free_cb_function: MPI_T_event_free_cb_function,
) -> c_int {
    unregistered("MPI_T_event_handle_free", event_registration)
}

/// Hints of an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_get_info(
    event_registration: MPI_T_event_registration, info_used: *mut MPI_Info,
) -> c_int {
    unregistered("MPI_T_event_handle_get_info", event_registration)
}

/// Sets hints of an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_set_info(
    event_registration: MPI_T_event_registration, info: MPI_Info,
) -> c_int {
    unregistered("MPI_T_event_handle_set_info", event_registration)
}

/// Reads an element of an event.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_read(
    event_instance: MPI_T_event_instance, element_index: c_int, buffer: *mut c_void,
) -> c_int {
    not_an_event("MPI_T_event_read", event_instance)
}

/// Sets a callback of an event registration.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_register_callback(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
    user_data: *mut c_void, event_cb_function: MPI_T_event_cb_function,
) -> c_int {
    unregistered("MPI_T_event_register_callback", event_registration)
}

/// Sets the function that is called for dropped events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_set_dropped_handler(
    event_registration: MPI_T_event_registration,
    dropped_cb_function: MPI_T_event_dropped_cb_function,
) -> c_int {
    unregistered("MPI_T_event_set_dropped_handler", event_registration)
}

/// Describes a source of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_info(
    source_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
    desc_len: *mut c_int, ordering: *mut MPI_T_source_order, ticks_per_second: *mut MPI_Count,
    max_ticks: *mut MPI_Count, info: *mut MPI_Info,
) -> c_int {
    no_source("MPI_T_source_get_info", source_index)
}

/// Number of sources of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_num(num_sources: *mut c_int) -> c_int {
    tool("MPI_T_source_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_sources, "num_sources")? }.put(0);
        Ok(())
    })
}

/// The time of a source of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_timestamp(
    source_index: c_int, timestamp: *mut MPI_Count,
) -> c_int {
    no_source("MPI_T_source_get_timestamp", source_index)
}

/// Body of a function of one event type.
fn no_type(name: &str, index: c_int) -> c_int {
    invalid(name, MPI_T_ERR_INVALID_INDEX, || format!("{index} is not the index of an event type"))
}

/// Body of a function of one source.
fn no_source(name: &str, index: c_int) -> c_int {
    invalid(name, MPI_T_ERR_INVALID_INDEX, || format!("{index} is not the index of a source"))
}

/// Body of a function of one registration.
fn unregistered(name: &str, registration: MPI_T_event_registration) -> c_int {
    invalid(name, MPI_T_ERR_INVALID_HANDLE, || {
        format!("{:#x} is not an event registration", number(registration))
    })
}

/// Body of a function of one event.
fn not_an_event(name: &str, instance: MPI_T_event_instance) -> c_int {
    invalid(name, MPI_T_ERR_INVALID_HANDLE, || format!("{:#x} is not an event", number(instance)))
}

fn invalid(name: &str, code: c_int, what: impl FnOnce() -> String) -> c_int {
    tool(name, |_| Err(tool_error(code, format!("{}: there are none", what()))))
}
