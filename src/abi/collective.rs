//! Blocking collective communication (MPI 5.0, chapter 6).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Every process gets one block from every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Allgather_c", comm)
}

/// [`PMPI_Allgather_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Allgather_c(
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

/// `MPI_Allgather` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Allgatherv", comm)
}

/// [`PMPI_Allgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Allgatherv_c", comm)
}

/// Every process gets the reduction over all processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Allreduce_c", comm)
}

/// [`PMPI_Allreduce_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Allreduce_c(sendbuf, recvbuf, count.into(), datatype, op, comm) }
}

/// Every process sends a block of its own to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Alltoall_c", comm)
}

/// [`PMPI_Alltoall_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Alltoall_c(
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

/// `MPI_Alltoall` with a block length for each pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Alltoallv", comm)
}

/// [`PMPI_Alltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Alltoallv_c", comm)
}

/// `MPI_Alltoallv` with a datatype for each pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Alltoallw", comm)
}

/// [`PMPI_Alltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Alltoallw_c", comm)
}

/// Returns when all processes of the communicator have called it.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Barrier(comm: MPI_Comm) -> c_int {
    unsupported("MPI_Barrier", comm)
}

/// Sends the root's buffer to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Bcast_c", comm)
}

/// [`PMPI_Bcast_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast(
    buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Bcast_c(buffer, count.into(), datatype, root, comm) }
}

/// The reduction over all lower ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Exscan_c", comm)
}

/// [`PMPI_Exscan_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Exscan_c(sendbuf, recvbuf, count.into(), datatype, op, comm) }
}

/// The root gets one block from every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Gather_c", comm)
}

/// [`PMPI_Gather_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Gather_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
        )
    }
}

/// `MPI_Gather` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Gatherv", comm)
}

/// [`PMPI_Gatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Gatherv_c", comm)
}

/// The root gets the reduction over all processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Reduce_c", comm)
}

/// [`PMPI_Reduce_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    root: c_int, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Reduce_c(sendbuf, recvbuf, count.into(), datatype, op, root, comm) }
}

/// Reduces, and gives each process a block of its own length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Reduce_scatter", comm)
}

/// [`PMPI_Reduce_scatter`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Reduce_scatter_c", comm)
}

/// Reduces, and gives each process a block of the same length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Reduce_scatter_block_c", comm)
}

/// [`PMPI_Reduce_scatter_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Reduce_scatter_block_c(sendbuf, recvbuf, recvcount.into(), datatype, op, comm) }
}

/// The reduction over all ranks up to and including this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Scan_c", comm)
}

/// [`PMPI_Scan_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Scan_c(sendbuf, recvbuf, count.into(), datatype, op, comm) }
}

/// The root sends one block to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Scatter_c", comm)
}

/// [`PMPI_Scatter_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Scatter_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
        )
    }
}

/// `MPI_Scatter` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Scatterv", comm)
}

/// [`PMPI_Scatterv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm,
) -> c_int {
    unsupported("MPI_Scatterv_c", comm)
}
