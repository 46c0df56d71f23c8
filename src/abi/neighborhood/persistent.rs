//! Persistent neighborhood collectives (MPI 5.0, chapter 8): creation of requests.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::width::Integers::{Int, Large};
use crate::abi::collective::start::BlockTypes::{Each, One};
use crate::abi::collective::start::{BlockArguments, elements, init};
use crate::abi::neighborhood::start::{
    neighbor_allgather, neighbor_allgatherv, neighbor_alltoall, neighbor_alltoallv,
};
use crate::abi::types::*;
use crate::process::ProcessMpi;

/// Creates a persistent request for `MPI_Neighbor_allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgather_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgather(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_allgather_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Neighbor_allgatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_allgatherv_init", (comm, info), request, body) }
}

/// [`PMPI_Neighbor_allgatherv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.1).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_allgatherv_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Neighbor_alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoall_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoall(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_alltoall_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Neighbor_alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), One(sendtype));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_alltoallv_init", (comm, info), request, body) }
}

/// [`PMPI_Neighbor_alltoallv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), One(sendtype));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_alltoallv_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Neighbor_alltoallw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Int(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Int(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_alltoallw_init", (comm, info), request, body) }
}

/// [`PMPI_Neighbor_alltoallw_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§8.6.2).
    let body = |mpi: &mut ProcessMpi| unsafe { neighbor_alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Neighbor_alltoallw_init", (comm, info), request, body) }
}
