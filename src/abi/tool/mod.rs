//! The tool interface (MPI 5.0, chapter 15): start and end.

#![allow(unsafe_code)]

pub mod category;
pub mod enumeration;
pub mod event;
pub mod variable;

use std::ffi::c_int;

use super::constants::MPI_THREAD_MULTIPLE;
use super::entry_point::{PROCESS, Scope, finish, tool};
use crate::abi::arguments::pointer::out;
use crate::abi::initialization::world::level_for;

/// Decrements the initialization count of the tool interface.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_finalize() -> c_int {
    tool("MPI_T_finalize", |objects| {
        objects.tools.leave();
        Ok(())
    })
}

/// Increments the initialization count of the tool interface, also before `MPI_Init`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_T_init_thread(required: c_int, provided: *mut c_int) -> c_int {
    let result = PROCESS.visit(|objects| {
        // SAFETY: the caller's promise of the result.
        let provided = unsafe { out(provided, "provided")? };
        level_for(required)?;
        objects.tools.enter();
        // Any thread may read a variable at any time.
        provided.put(MPI_THREAD_MULTIPLE);
        Ok(())
    });
    finish(Scope::Tool, "MPI_T_init_thread", result)
}
