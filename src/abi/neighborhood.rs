//! Blocking neighborhood collectives (MPI 5.0, chapter 8).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Every process gets one block from each of its neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_allgather_c", comm)
}

/// [`PMPI_Neighbor_allgather_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgather(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Neighbor_allgather_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
        )
    }
}

/// `MPI_Neighbor_allgather` with a block length for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_allgatherv", comm)
}

/// [`PMPI_Neighbor_allgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_allgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_allgatherv_c", comm)
}

/// Every process sends a block of its own to each of its neighbors.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_alltoall_c", comm)
}

/// [`PMPI_Neighbor_alltoall_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoall(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Neighbor_alltoall_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
        )
    }
}

/// `MPI_Neighbor_alltoall` with a block length for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_alltoallv", comm)
}

/// [`PMPI_Neighbor_alltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_alltoallv_c", comm)
}

/// `MPI_Neighbor_alltoallv` with a datatype for each neighbor.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_alltoallw", comm)
}

/// [`PMPI_Neighbor_alltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Neighbor_alltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Neighbor_alltoallw_c", comm)
}
