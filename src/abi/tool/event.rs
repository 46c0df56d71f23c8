//! The tool interface (MPI 5.0, chapter 15): events and their sources.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::out;
use crate::abi::entry_point::tool;

/// Number of event types.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_event_get_num(num_events: *mut c_int) -> c_int {
    // There are none yet.
    tool("MPI_T_event_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_events, "num_events")? }.put(0);
        Ok(())
    })
}

/// Number of sources of events.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_source_get_num(num_sources: *mut c_int) -> c_int {
    // There are none yet.
    tool("MPI_T_source_get_num", |_| {
        // SAFETY: the caller's promise of the result.
        unsafe { out(num_sources, "num_sources")? }.put(0);
        Ok(())
    })
}
