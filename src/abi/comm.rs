//! Communicators (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::callback;
use super::handles::{MPI_COMM_NULL, handle};
use super::types::*;
use super::verb::{PROCESS, Scope, finish, local, number, unsupported, wait_for};
use crate::base::Result;
use crate::mpi::attribute::Attributes;
use crate::mpi::comm::COMM_NULL;

/// Whether two communicators have equal groups and contexts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_compare(
    comm1: MPI_Comm, comm2: MPI_Comm, result: *mut c_int,
) -> c_int {
    unsupported("MPI_Comm_compare", comm1)
}

/// A communicator for a subgroup; all of the old one's processes call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create(
    comm: MPI_Comm, group: MPI_Group, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_create", comm)
}

/// A communicator for a group, without a parent communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_from_group(
    group: MPI_Group, stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler,
    newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_create_from_group", Scope::None)
}

/// A communicator for a subgroup; only its members call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_create_group(
    comm: MPI_Comm, group: MPI_Group, tag: c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_create_group", comm)
}

/// A communicator of the same group with a new context, attributes copied.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_dup(comm: MPI_Comm, newcomm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller gives a valid result pointer.
    unsafe { duplicate("MPI_Comm_dup", comm, newcomm) }
}

/// `MPI_Comm_dup` with hints of its own.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_dup_with_info(
    comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_dup_with_info", comm)
}

/// Marks a communicator for deallocation; collective.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_free(comm: *mut MPI_Comm) -> c_int {
    // SAFETY: the caller gives a valid pointer.
    let freed = unsafe { *comm };
    let object = number(freed);
    let deleted = callback::delete_all(
        object,
        || PROCESS.look(|mpi| Ok(mpi.comms.freeable(object)?.attributes.newest().cloned())),
        |keyval| {
            PROCESS.look(|mpi| {
                mpi.comms.get_mut(object)?.attributes.remove(keyval);
                Ok(())
            })
        },
    );
    let result = deleted.and_then(|()| PROCESS.look(|mpi| mpi.free_comm(object)));
    if result.is_ok() {
        // SAFETY: as above.
        unsafe { *comm = MPI_COMM_NULL };
    }
    finish(freed, "MPI_Comm_free", result)
}

/// The hints of a communicator that are in use.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_info(comm: MPI_Comm, info_used: *mut MPI_Info) -> c_int {
    unsupported("MPI_Comm_get_info", comm)
}

/// The group of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    unsupported("MPI_Comm_group", comm)
}

/// Starts `MPI_Comm_dup`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_idup(
    comm: MPI_Comm, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Comm_idup", comm)
}

/// Starts `MPI_Comm_dup_with_info`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_idup_with_info(
    comm: MPI_Comm, info: MPI_Info, newcomm: *mut MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Comm_idup_with_info", comm)
}

/// The calling process's rank in a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) -> c_int {
    local("MPI_Comm_rank", comm, |mpi| {
        let found = mpi.comms.get(number(comm))?.rank;
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *rank = found as c_int };
        Ok(())
    })
}

/// Changes the hints of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) -> c_int {
    unsupported("MPI_Comm_set_info", comm)
}

/// The number of processes in a communicator's (local) group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    local("MPI_Comm_size", comm, |mpi| {
        let found = mpi.comms.get(number(comm))?.size();
        // SAFETY: the caller gives a valid result pointer.
        unsafe { *size = found as c_int };
        Ok(())
    })
}

/// One communicator per color, ranks ordered by key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_split(
    comm: MPI_Comm, color: c_int, key: c_int, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_split", comm)
}

/// One communicator per shared resource, ranks ordered by key.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_split_type(
    comm: MPI_Comm, split_type: c_int, key: c_int, info: MPI_Info, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_split_type", comm)
}

/// Duplicates a communicator: its attributes are copied with the lock free.
///
/// # Safety
/// `newcomm` may be written.
unsafe fn duplicate(name: &str, comm: MPI_Comm, newcomm: *mut MPI_Comm) -> c_int {
    let result = copied_attributes(comm).and_then(|attributes| {
        let mut made = COMM_NULL;
        let outcome = wait_for(|mpi| {
            let (new, activity) = mpi.duplicate(number(comm), attributes)?;
            made = new;
            Ok(activity)
        })?;
        outcome.error.map_or(Ok(made), Err)
    });
    let result = result.map(|made| {
        // SAFETY: the caller's promise.
        unsafe { *newcomm = handle(made as c_int) };
    });
    finish(comm, name, result)
}

/// Copies of the attributes of a communicator that is being duplicated.
fn copied_attributes(comm: MPI_Comm) -> Result<Attributes> {
    let attributes = PROCESS.look(|mpi| Ok(mpi.comms.get(number(comm))?.attributes.clone()))?;
    callback::copies(number(comm), &attributes)
}
