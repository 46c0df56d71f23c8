//! Intercommunicators (MPI 5.0, chapter 7).
#![allow(unsafe_code)]

use std::ffi::{c_char, c_int};
use std::sync::Arc;

use super::comm::{split, without_parent};
use super::group::put_group;
use crate::abi::arguments::pointer::out;
use crate::abi::entry_point::{PROCESS, finish, local, number};
use crate::abi::handles::{MPI_COMM_NULL, handle};
use crate::abi::types::*;
use crate::mpi::communicator::intercomm_create::IntercommCreation;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::Handle;
use crate::process::ProcessMpi;
use platform::base::Result;
use platform::diagnosis::wait_report::WaitReport;

/// The remote group of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_remote_group(comm: MPI_Comm, group: *mut MPI_Group) -> c_int {
    local("MPI_Comm_remote_group", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let group = unsafe { out(group, "group")? };
        let found = Arc::clone(mpi.comms.get(number(comm))?.remote()?);
        put_group(mpi, found, group)
    })
}

/// The size of the remote group of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_remote_size(comm: MPI_Comm, size: *mut c_int) -> c_int {
    local("MPI_Comm_remote_size", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let size = unsafe { out(size, "size")? };
        let found = mpi.comms.get(number(comm))?.remote()?.size();
        size.put(found as c_int);
        Ok(())
    })
}

/// Whether a communicator is an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_test_inter(comm: MPI_Comm, flag: *mut c_int) -> c_int {
    local("MPI_Comm_test_inter", comm, |mpi| {
        // SAFETY: the caller's promise of the result.
        let flag = unsafe { out(flag, "flag")? };
        let found = mpi.comms.get(number(comm))?.is_inter();
        flag.put(found.into());
        Ok(())
    })
}

/// An intercommunicator between two groups with leaders.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_create(
    local_comm: MPI_Comm, local_leader: c_int, peer_comm: MPI_Comm, remote_leader: c_int,
    tag: c_int, newintercomm: *mut MPI_Comm,
) -> c_int {
    let name = "MPI_Intercomm_create";
    let start = |mpi: &mut ProcessMpi| {
        let (local, peer) = (number(local_comm), number(peer_comm));
        mpi.intercomm_create(local, local_leader, peer, remote_leader, tag).map(Some)
    };
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(newintercomm, "newintercomm") }
        .and_then(|newintercomm| created(name, start).map(|made| newintercomm.put(made)));
    finish(local_comm, name, result)
}

/// An intercommunicator between two groups, without parent communicators.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_create_from_groups(
    local_group: MPI_Group, local_leader: c_int, remote_group: MPI_Group, remote_leader: c_int,
    stringtag: *const c_char, info: MPI_Info, errhandler: MPI_Errhandler,
    newintercomm: *mut MPI_Comm,
) -> c_int {
    let name = "MPI_Intercomm_create_from_groups";
    let create = |string: &[u8], handler: &Handler| {
        created(name, |mpi| {
            let local = (number(local_group), local_leader);
            let remote = (number(remote_group), remote_leader);
            mpi.intercomm_from_groups(local, remote, string, handler.clone())
        })
    };
    // SAFETY: the caller gives a string and a valid result pointer.
    unsafe {
        without_parent(name, (stringtag, info, errhandler), (newintercomm, "newintercomm"), create)
    }
}

/// The intracommunicator of both groups of an intercommunicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Intercomm_merge(
    intercomm: MPI_Comm, high: c_int, newintracomm: *mut MPI_Comm,
) -> c_int {
    let name = "MPI_Intercomm_merge";
    let merge = |mpi: &mut ProcessMpi| mpi.merge(number(intercomm), high != 0);
    // SAFETY: the caller's promise of the result.
    let result = unsafe { out(newintracomm, "newintracomm") }.and_then(|newintracomm| {
        let merged = split(name, merge)?;
        share_host_memory(name, merged)?;
        newintracomm.put_handle(merged);
        Ok(())
    });
    finish(intercomm, name, result)
}

/// Gives shared segments to a merged communicator, if its processes are of several jobs on one host.
///
/// # Errors
/// Errors of messages. They free the communicator.
fn share_host_memory(name: &str, merged: Handle) -> Result<()> {
    let shared = PROCESS.until(
        |mpi| mpi.start_host_segments(merged),
        |mpi, creation| match creation {
            Some(creation) => mpi.end_host_segments(creation),
            None => Ok(Some(())),
        },
        |mpi, creation| match creation {
            Some(creation) => mpi.host_segments_wait_report(name, creation),
            None => WaitReport::new(name),
        },
    );
    shared.or_else(|error| {
        PROCESS.with_mpi(|mpi| mpi.free_comm(merged))?;
        Err(error)
    })
}

/// Creates an intercommunicator and waits for it.
fn created(
    name: &str, start: impl FnOnce(&mut ProcessMpi) -> Result<Option<IntercommCreation>>,
) -> Result<MPI_Comm> {
    let made = PROCESS.until(
        start,
        |mpi, bridge| match bridge {
            Some(bridge) => mpi.end_intercomm(bridge),
            None => Ok(Some(None)),
        },
        |mpi, bridge| match bridge {
            Some(bridge) => mpi.blocked_intercomm(name, bridge),
            None => WaitReport::new(name),
        },
    )?;
    Ok(made.map_or(MPI_COMM_NULL, |made| handle(made as c_int)))
}
