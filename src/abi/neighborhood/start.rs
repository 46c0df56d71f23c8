//! Common part of all forms of a neighborhood collective: from the arguments in C to an operation
//! that is ready to start (MPI 5.0 §8.6).
#![allow(unsafe_code)]

use std::ffi::c_void;

use crate::abi::arguments::user_memory::is_in_place;
use crate::abi::collective::start::{
    BlockArguments, Elements, block_memories, check_disjoint, elements_memory,
};
use crate::abi::entry_point::number;
use crate::abi::types::MPI_Comm;
use crate::mpi::collective::calls::Call;
use crate::process::ProcessMpi;
use platform::base::{ErrorClass, Result};

/// `MPI_Neighbor_allgather`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn neighbor_allgather(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, comm: MPI_Comm,
) -> Result<Call> {
    let [_, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (elements_memory(mpi, comm, send, 1)?, elements_memory(mpi, comm, receive, sources)?)
    };
    check_disjoint([&send], [&receive])?;
    Ok(Call::neighbor_allgather(number(comm), send, receive))
}

/// `MPI_Neighbor_allgatherv`.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn neighbor_allgatherv(
    mpi: &mut ProcessMpi, send: Elements, receive: BlockArguments, comm: MPI_Comm,
) -> Result<Call> {
    let [_, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (elements_memory(mpi, comm, send, 1)?, block_memories(mpi, comm, receive, sources)?)
    };
    check_disjoint([&send], &receive)?;
    Ok(Call::neighbor_allgatherv(number(comm), send, receive))
}

/// `MPI_Neighbor_alltoall`.
///
/// # Safety
/// The standard's requirements for both buffers.
pub(crate) unsafe fn neighbor_alltoall(
    mpi: &mut ProcessMpi, send: Elements, receive: Elements, comm: MPI_Comm,
) -> Result<Call> {
    let [destinations, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (
            elements_memory(mpi, comm, send, destinations)?,
            elements_memory(mpi, comm, receive, sources)?,
        )
    };
    check_disjoint([&send], [&receive])?;
    Ok(Call::neighbor_alltoall(number(comm), send, receive))
}

/// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`.
///
/// Overlap of blocks is not checked: these functions serve parts of one array, with the inside as
/// send buffer and the border as receive buffer.
///
/// # Safety
/// The standard's requirements for both buffers and the arrays.
pub(crate) unsafe fn neighbor_alltoallv(
    mpi: &mut ProcessMpi, send: BlockArguments, receive: BlockArguments, comm: MPI_Comm,
) -> Result<Call> {
    let [destinations, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe {
        (
            block_memories(mpi, comm, send, destinations)?,
            block_memories(mpi, comm, receive, sources)?,
        )
    };
    Ok(Call::neighbor_alltoallv(number(comm), send, receive))
}

/// Numbers of destinations and sources of this rank.
fn degrees(mpi: &mut ProcessMpi, comm: MPI_Comm) -> Result<[usize; 2]> {
    let neighborhood = mpi.comms.get_mut(number(comm))?.neighborhood()?;
    Ok([neighborhood.outdegree(), neighborhood.indegree()])
}

/// # Errors
/// `Buffer` for `MPI_IN_PLACE`, which has no meaning here (§8.6).
fn check_not_in_place(buffers: [*const c_void; 2]) -> Result {
    match buffers.into_iter().any(is_in_place) {
        false => Ok(()),
        true => Err(ErrorClass::Buffer.error("MPI_IN_PLACE is not for neighborhood collectives")),
    }
}
