//! Processes that come later (MPI 5.0, chapter 11): spawn, ports, published names.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_char, c_int};

use super::comm::free;
use super::entry_point::{PROCESS, Scope, local, number, unsupported};
use super::handles::MPI_COMM_NULL;
use super::pointer::{free_handle, out};
use super::types::*;

/// Closes a port that `MPI_Open_port` opened.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Close_port(port_name: *const c_char) -> c_int {
    unsupported("MPI_Close_port", Scope::None)
}

/// Accepts a connection of another group of processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_accept(
    port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_accept", comm)
}

/// Connects to a group of processes that accepts at a port.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_connect(
    port_name: *const c_char, info: MPI_Info, root: c_int, comm: MPI_Comm, newcomm: *mut MPI_Comm,
) -> c_int {
    unsupported("MPI_Comm_connect", comm)
}

/// Waits for pending communication and frees the communicator.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_disconnect(comm: *mut MPI_Comm) -> c_int {
    let leave = |comm| {
        PROCESS.until(
            |mpi| mpi.comms.freeable(number(comm)).map(drop),
            |mpi, ()| Ok(mpi.is_quiescent(number(comm)).then_some(())),
            |mpi, ()| mpi.blocked_on("MPI_Comm_disconnect", number(comm)),
        )?;
        free(number(comm))
    };
    // SAFETY: the caller's promise of the handle.
    unsafe { free_handle("MPI_Comm_disconnect", (comm, "comm"), MPI_COMM_NULL, leave) }
}

/// The intercommunicator to the processes that spawned this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_get_parent(parent: *mut MPI_Comm) -> c_int {
    local("MPI_Comm_get_parent", Scope::None, |_| {
        // SAFETY: the caller's promise of the result.
        let parent = unsafe { out(parent, "parent")? };
        // Nothing is spawned yet.
        parent.put(MPI_COMM_NULL);
        Ok(())
    })
}

/// The intercommunicator of the two processes at the ends of a socket.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_join(fd: c_int, intercomm: *mut MPI_Comm) -> c_int {
    unsupported("MPI_Comm_join", Scope::None)
}

/// Starts processes and connects to them.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_spawn(
    command: *const c_char, argv: *mut *mut c_char, maxprocs: c_int, info: MPI_Info, root: c_int,
    comm: MPI_Comm, intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
) -> c_int {
    unsupported("MPI_Comm_spawn", comm)
}

/// `MPI_Comm_spawn` of several programs.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Comm_spawn_multiple(
    count: c_int, array_of_commands: *mut *mut c_char, array_of_argv: *mut *mut *mut c_char,
    array_of_maxprocs: *const c_int, array_of_info: *const MPI_Info, root: c_int, comm: MPI_Comm,
    intercomm: *mut MPI_Comm, array_of_errcodes: *mut c_int,
) -> c_int {
    unsupported("MPI_Comm_spawn_multiple", comm)
}

/// The port that is published under a service name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Lookup_name(
    service_name: *const c_char, info: MPI_Info, port_name: *mut c_char,
) -> c_int {
    unsupported("MPI_Lookup_name", Scope::None)
}

/// A port at which `MPI_Comm_accept` can listen.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Open_port(info: MPI_Info, port_name: *mut c_char) -> c_int {
    unsupported("MPI_Open_port", Scope::None)
}

/// Publishes a port under a service name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Publish_name(
    service_name: *const c_char, info: MPI_Info, port_name: *const c_char,
) -> c_int {
    unsupported("MPI_Publish_name", Scope::None)
}

/// Withdraws a service name.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Unpublish_name(
    service_name: *const c_char, info: MPI_Info, port_name: *const c_char,
) -> c_int {
    unsupported("MPI_Unpublish_name", Scope::None)
}
