//! The tool interface (MPI 5.0, chapter 15): events and their sources.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int, c_void};

use super::entry_point::{Scope, tool, unsupported};
use super::pointer::out;
use super::types::*;

/// The hints of an event callback that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_callback_get_info(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety,
    info_used: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_T_event_callback_get_info", Scope::Tool)
}

/// Changes the hints of an event callback.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_callback_set_info(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
) -> c_int {
    unsupported("MPI_T_event_callback_set_info", Scope::Tool)
}

/// All data of an event instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_copy(
    event_instance: MPI_T_event_instance, buffer: *mut c_void,
) -> c_int {
    unsupported("MPI_T_event_copy", Scope::Tool)
}

/// The index of an event type by name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_index(
    name: *const c_char, event_index: *mut c_int,
) -> c_int {
    unsupported("MPI_T_event_get_index", Scope::Tool)
}

/// Describes an event type.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_info(
    event_index: c_int, name: *mut c_char, name_len: *mut c_int, verbosity: *mut c_int,
    array_of_datatypes: *mut MPI_Datatype, array_of_displacements: *mut MPI_Aint,
    num_elements: *mut c_int, enumtype: *mut MPI_T_enum, info: *mut MPI_Info, desc: *mut c_char,
    desc_len: *mut c_int, bind: *mut c_int,
) -> c_int {
    unsupported("MPI_T_event_get_info", Scope::Tool)
}

/// How many event types there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_num(num_events: *mut c_int) -> c_int {
    // There are none yet.
    tool("MPI_T_event_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_events, "num_events")? }.put(0);
        Ok(())
    })
}

/// The source of an event instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_source(
    event_instance: MPI_T_event_instance, source_index: *mut c_int,
) -> c_int {
    unsupported("MPI_T_event_get_source", Scope::Tool)
}

/// When an event instance was observed, in its source's ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_timestamp(
    event_instance: MPI_T_event_instance, event_timestamp: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_T_event_get_timestamp", Scope::Tool)
}

/// A registration handle for an event type, bound to an object.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_alloc(
    event_index: c_int, obj_handle: *mut c_void, info: MPI_Info,
    event_registration: *mut MPI_T_event_registration,
) -> c_int {
    unsupported("MPI_T_event_handle_alloc", Scope::Tool)
}

/// Frees a registration handle, with a callback when it is gone.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_free(
    event_registration: MPI_T_event_registration, user_data: *mut c_void,
    free_cb_function: MPI_T_event_free_cb_function,
) -> c_int {
    unsupported("MPI_T_event_handle_free", Scope::Tool)
}

/// The hints of a registration handle that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_get_info(
    event_registration: MPI_T_event_registration, info_used: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_T_event_handle_get_info", Scope::Tool)
}

/// Changes the hints of a registration handle.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_handle_set_info(
    event_registration: MPI_T_event_registration, info: MPI_Info,
) -> c_int {
    unsupported("MPI_T_event_handle_set_info", Scope::Tool)
}

/// One element of an event instance.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_read(
    event_instance: MPI_T_event_instance, element_index: c_int, buffer: *mut c_void,
) -> c_int {
    unsupported("MPI_T_event_read", Scope::Tool)
}

/// The function to call on an event, at a level of safety.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_register_callback(
    event_registration: MPI_T_event_registration, cb_safety: MPI_T_cb_safety, info: MPI_Info,
    user_data: *mut c_void, event_cb_function: MPI_T_event_cb_function,
) -> c_int {
    unsupported("MPI_T_event_register_callback", Scope::Tool)
}

/// The function to call when events were dropped.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_set_dropped_handler(
    event_registration: MPI_T_event_registration,
    dropped_cb_function: MPI_T_event_dropped_cb_function,
) -> c_int {
    unsupported("MPI_T_event_set_dropped_handler", Scope::Tool)
}

/// Describes a source of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_info(
    source_index: c_int, name: *mut c_char, name_len: *mut c_int, desc: *mut c_char,
    desc_len: *mut c_int, ordering: *mut MPI_T_source_order, ticks_per_second: *mut MPI_Count,
    max_ticks: *mut MPI_Count, info: *mut MPI_Info,
) -> c_int {
    unsupported("MPI_T_source_get_info", Scope::Tool)
}

/// How many sources of events there are.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_num(num_sources: *mut c_int) -> c_int {
    // There are none yet.
    tool("MPI_T_source_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_sources, "num_sources")? }.put(0);
        Ok(())
    })
}

/// The time of a source of events, in its ticks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_timestamp(
    source_index: c_int, timestamp: *mut MPI_Count,
) -> c_int {
    unsupported("MPI_T_source_get_timestamp", Scope::Tool)
}
