//! Nonblocking collective communication (MPI 5.0, chapter 6).

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Starts `MPI_Allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iallgather_c", comm)
}

/// [`PMPI_Iallgather_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgather(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Iallgather_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Allgatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iallgatherv", comm)
}

/// [`PMPI_Iallgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iallgatherv_c", comm)
}

/// Starts `MPI_Allreduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallreduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iallreduce_c", comm)
}

/// [`PMPI_Iallreduce_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallreduce(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Iallreduce_c(sendbuf, recvbuf, count.into(), datatype, op, comm, request) }
}

/// Starts `MPI_Alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ialltoall_c", comm)
}

/// [`PMPI_Ialltoall_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoall(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Ialltoall_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ialltoallv", comm)
}

/// [`PMPI_Ialltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ialltoallv_c", comm)
}

/// Starts `MPI_Alltoallw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ialltoallw", comm)
}

/// [`PMPI_Ialltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ialltoallw_c", comm)
}

/// Starts `MPI_Barrier`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    unsupported("MPI_Ibarrier", comm)
}

/// Starts `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibcast_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ibcast_c", comm)
}

/// [`PMPI_Ibcast_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibcast(
    buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Ibcast_c(buffer, count.into(), datatype, root, comm, request) }
}

/// Starts `MPI_Exscan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iexscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iexscan_c", comm)
}

/// [`PMPI_Iexscan_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iexscan(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Iexscan_c(sendbuf, recvbuf, count.into(), datatype, op, comm, request) }
}

/// Starts `MPI_Gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Igather_c", comm)
}

/// [`PMPI_Igather_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igather(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Igather_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Gatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Igatherv", comm)
}

/// [`PMPI_Igatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Igatherv_c", comm)
}

/// Starts `MPI_Reduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ireduce_c", comm)
}

/// [`PMPI_Ireduce_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Ireduce_c(sendbuf, recvbuf, count.into(), datatype, op, root, comm, request) }
}

/// Starts `MPI_Reduce_scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ireduce_scatter", comm)
}

/// [`PMPI_Ireduce_scatter`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ireduce_scatter_c", comm)
}

/// Starts `MPI_Reduce_scatter_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter_block_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Ireduce_scatter_block_c", comm)
}

/// [`PMPI_Ireduce_scatter_block_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter_block(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Ireduce_scatter_block_c(
            sendbuf,
            recvbuf,
            recvcount.into(),
            datatype,
            op,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Scan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iscan_c", comm)
}

/// [`PMPI_Iscan_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscan(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Iscan_c(sendbuf, recvbuf, count.into(), datatype, op, comm, request) }
}

/// Starts `MPI_Scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatter_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iscatter_c", comm)
}

/// [`PMPI_Iscatter_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatter(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Iscatter_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
            request,
        )
    }
}

/// Starts `MPI_Scatterv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatterv(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iscatterv", comm)
}

/// [`PMPI_Iscatterv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatterv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Iscatterv_c", comm)
}
