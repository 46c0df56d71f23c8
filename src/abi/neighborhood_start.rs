//! What the forms of a neighborhood collective have in common: from the arguments of C to an
//! operation that may start (MPI 5.0 §8.6).
#![allow(unsafe_code)]

use std::ffi::c_void;

use super::collective_start::{Blocks, Elements, all, call, check_apart, each};
use super::types::MPI_Comm;
use super::user_memory::is_in_place;
use super::verb::number;
use crate::base::{ErrorClass, Result};
use crate::mpi::prepared::{Form, Prepared};
use crate::process::Mpi;

/// `MPI_Neighbor_allgather`.
///
/// # Safety
/// The standard's promise of both buffers.
pub unsafe fn neighbor_allgather(
    mpi: &mut Mpi, send: Elements, receive: Elements, comm: MPI_Comm, form: Form,
) -> Result<Prepared> {
    let [_, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe { (all(mpi, send, 1)?, all(mpi, receive, sources)?) };
    check_apart([&send], [&receive])?;
    mpi.neighbor_allgather(call(comm, form), send, receive)
}

/// `MPI_Neighbor_allgatherv`.
///
/// # Safety
/// The standard's promise of both buffers and of the arrays.
pub unsafe fn neighbor_allgatherv(
    mpi: &mut Mpi, send: Elements, receive: Blocks, comm: MPI_Comm, form: Form,
) -> Result<Prepared> {
    let [_, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe { (all(mpi, send, 1)?, each(mpi, receive, sources)?) };
    check_apart([&send], &receive)?;
    mpi.neighbor_allgatherv(call(comm, form), send, receive)
}

/// `MPI_Neighbor_alltoall`.
///
/// # Safety
/// The standard's promise of both buffers.
pub unsafe fn neighbor_alltoall(
    mpi: &mut Mpi, send: Elements, receive: Elements, comm: MPI_Comm, form: Form,
) -> Result<Prepared> {
    let [destinations, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe { (all(mpi, send, destinations)?, all(mpi, receive, sources)?) };
    check_apart([&send], [&receive])?;
    mpi.neighbor_alltoall(call(comm, form), send, receive)
}

/// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`.
///
/// Whether blocks overlap is not looked at: parts of one array, its inside to send and its border
/// to receive, are what these functions are for.
///
/// # Safety
/// The standard's promise of both buffers and of the arrays.
pub unsafe fn neighbor_alltoallv(
    mpi: &mut Mpi, send: Blocks, receive: Blocks, comm: MPI_Comm, form: Form,
) -> Result<Prepared> {
    let [destinations, sources] = degrees(mpi, comm)?;
    check_not_in_place([send.buf, receive.buf])?;
    // SAFETY: the caller's promise.
    let (send, receive) = unsafe { (each(mpi, send, destinations)?, each(mpi, receive, sources)?) };
    mpi.neighbor_alltoallv(call(comm, form), send, receive)
}

/// How many places this rank has to send to and to receive from.
fn degrees(mpi: &mut Mpi, comm: MPI_Comm) -> Result<[usize; 2]> {
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
