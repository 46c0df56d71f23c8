//! Blocking neighborhood collectives (MPI 5.0, chapter 8).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::collective::start::BlockTypes::{Each, One};
use crate::abi::collective::start::{BlockArguments, elements, wait};
use crate::abi::neighborhood::start::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
};
use crate::abi::types::*;

use crate::abi::arguments::width::Integers::{Int, Large};
use crate::process::ProcessMpi;

/// Every process receives one block from each of its neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgather(mpi, send, receive, comm) };
    wait("MPI_Neighbor_allgather", comm, body)
}

/// `MPI_Neighbor_allgather` with a block length for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgatherv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_allgatherv", comm, body)
}

/// [`PMPI_Neighbor_allgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgatherv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_allgatherv", comm, body)
}

/// Every process sends a different block to each of its neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoall(mpi, send, receive, comm) };
    wait("MPI_Neighbor_alltoall", comm, body)
}

/// `MPI_Neighbor_alltoall` with a block length for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), One(sendtype));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_alltoallv", comm, body)
}

/// [`PMPI_Neighbor_alltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), One(sendtype));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_alltoallv", comm, body)
}

/// `MPI_Neighbor_alltoallv` with a datatype for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Int(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Int(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_alltoallw", comm, body)
}

/// [`PMPI_Neighbor_alltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    wait("MPI_Neighbor_alltoallw", comm, body)
}
