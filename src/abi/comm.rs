//! Communicators (MPI 5.0, chapter 7).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::types::*;
use super::verb::{Scope, unsupported};

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
    unsupported("MPI_Comm_dup", comm)
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
    unsupported("MPI_Comm_free", Scope::None)
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
    unsupported("MPI_Comm_rank", comm)
}

/// Changes the hints of a communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_set_info(comm: MPI_Comm, info: MPI_Info) -> c_int {
    unsupported("MPI_Comm_set_info", comm)
}

/// The number of processes in a communicator's (local) group.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    unsupported("MPI_Comm_size", comm)
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
