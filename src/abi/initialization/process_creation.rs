//! Process creation (MPI 5.0, chapter 11): the parent, and disconnecting.

#![allow(unsafe_code)]

use std::ffi::c_int;

use crate::abi::arguments::pointer::{free_handle, out};
use crate::abi::communicator::comm::free;
use crate::abi::entry_point::{PROCESS, Scope, local, number};
use crate::abi::handles::MPI_COMM_NULL;
use crate::abi::types::*;

/// Waits for pending communication and frees the communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_disconnect(comm: *mut MPI_Comm) -> c_int {
    let leave = |comm| {
        PROCESS.until(
            |mpi| mpi.start_disconnect(number(comm)),
            |mpi, disconnect| Ok(mpi.may_disconnect(number(comm), disconnect)?.then_some(())),
            |mpi, _| mpi.blocked_on("MPI_Comm_disconnect", number(comm)),
        )?;
        free(number(comm))?;
        PROCESS.with_mpi(|mpi| {
            mpi.forget_unused(true);
            Ok(())
        })
    };
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Comm_disconnect", (comm, "comm"), MPI_COMM_NULL, leave) }
}

/// The intercommunicator with the processes that spawned this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_parent(parent: *mut MPI_Comm) -> c_int {
    local("MPI_Comm_get_parent", Scope::None, |_| {
        // SAFETY: the caller's promise of the result.
        let parent = unsafe { out(parent, "parent")? };
        // Spawning is not supported yet.
        parent.put(MPI_COMM_NULL);
        Ok(())
    })
}
