//! Intercommunicators (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, local, number, unsupported};
use crate::base::{ErrorClass, Result};
use crate::process::Mpi;

/// The remote group of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    local("MPI_Comm_remote_group", comm, |mpi| not_inter(mpi, comm))
}

/// The size of the remote group of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    local("MPI_Comm_remote_size", comm, |mpi| not_inter(mpi, comm))
}

/// Whether a communicator is an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int) -> c_int {
    local("MPI_Comm_test_inter", comm, |mpi| {
        mpi.comms.get(number(comm))?;
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *flag = 0 };
        Ok(())
    })
}

/// An intercommunicator between two groups with leaders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_create(
    local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int,
    tag: c_int, newintercomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Intercomm_create", local_comm)
}

/// An intercommunicator between two groups, without parent communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_create_from_groups(
    local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int,
    stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler,
    newintercomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Intercomm_create_from_groups", Scope::None)
}

/// The intracommunicator of both groups of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_merge(
    intercomm: MPI_Comm, high: c_int, newintracomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Intercomm_merge", intercomm)
}

/// # Errors
/// `Comm`, as there are no intercommunicators yet and this is none either.
fn not_inter(mpi: &Mpi, comm: MPI_Comm) -> Result {
    let title = mpi.comms.get(number(comm))?.title();
    Err(ErrorClass::Comm.error(format!("{title} is not an intercommunicator")))
}
