//! Persistent collective communication (MPI 5.0, chapter 6): making the requests.

#![allow(unsafe_code)]
#![allow(unused_variables, reason = "arguments of functions that are not supported yet")]

use std::ffi::{c_int, c_void};

use super::types::*;
use super::verb::unsupported;

/// Makes a persistent request for `MPI_Allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Allgather_init_c", comm)
}

/// [`PMPI_Allgather_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Allgather_init_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
            info,
            request,
        )
    }
}

/// Makes a persistent request for `MPI_Allgatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Allgatherv_init", comm)
}

/// [`PMPI_Allgatherv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Allgatherv_init_c", comm)
}

/// Makes a persistent request for `MPI_Allreduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Allreduce_init_c", comm)
}

/// [`PMPI_Allreduce_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Allreduce_init_c(sendbuf, recvbuf, count.into(), datatype, op, comm, info, request)
    }
}

/// Makes a persistent request for `MPI_Alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Alltoall_init_c", comm)
}

/// [`PMPI_Alltoall_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Alltoall_init_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            comm,
            info,
            request,
        )
    }
}

/// Makes a persistent request for `MPI_Alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Alltoallv_init", comm)
}

/// [`PMPI_Alltoallv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Alltoallv_init_c", comm)
}

/// Makes a persistent request for `MPI_Alltoallw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Alltoallw_init", comm)
}

/// [`PMPI_Alltoallw_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Alltoallw_init_c", comm)
}

/// Makes a persistent request for `MPI_Barrier`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Barrier_init(
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Barrier_init", comm)
}

/// Makes a persistent request for `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast_init_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Bcast_init_c", comm)
}

/// [`PMPI_Bcast_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast_init(
    buffer: *mut c_void, count: c_int, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Bcast_init_c(buffer, count.into(), datatype, root, comm, info, request) }
}

/// Makes a persistent request for `MPI_Exscan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Exscan_init_c", comm)
}

/// [`PMPI_Exscan_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Exscan_init_c(sendbuf, recvbuf, count.into(), datatype, op, comm, info, request) }
}

/// Makes a persistent request for `MPI_Gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Gather_init_c", comm)
}

/// [`PMPI_Gather_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Gather_init_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
            info,
            request,
        )
    }
}

/// Makes a persistent request for `MPI_Gatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Gatherv_init", comm)
}

/// [`PMPI_Gatherv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Gatherv_init_c", comm)
}

/// Makes a persistent request for `MPI_Reduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Reduce_init_c", comm)
}

/// [`PMPI_Reduce_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Reduce_init_c(sendbuf, recvbuf, count.into(), datatype, op, root, comm, info, request)
    }
}

/// Makes a persistent request for `MPI_Reduce_scatter_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Reduce_scatter_block_init_c", comm)
}

/// [`PMPI_Reduce_scatter_block_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Reduce_scatter_block_init_c(
            sendbuf,
            recvbuf,
            recvcount.into(),
            datatype,
            op,
            comm,
            info,
            request,
        )
    }
}

/// Makes a persistent request for `MPI_Reduce_scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Reduce_scatter_init", comm)
}

/// [`PMPI_Reduce_scatter_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Reduce_scatter_init_c", comm)
}

/// Makes a persistent request for `MPI_Scan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Scan_init_c", comm)
}

/// [`PMPI_Scan_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: c_int, datatype: MPI_Datatype, op: MPI_Op,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe { PMPI_Scan_init_c(sendbuf, recvbuf, count.into(), datatype, op, comm, info, request) }
}

/// Makes a persistent request for `MPI_Scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Scatter_init_c", comm)
}

/// [`PMPI_Scatter_init_c`] with `int` counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    // SAFETY: the same contract.
    unsafe {
        PMPI_Scatter_init_c(
            sendbuf,
            sendcount.into(),
            sendtype,
            recvbuf,
            recvcount.into(),
            recvtype,
            root,
            comm,
            info,
            request,
        )
    }
}

/// Makes a persistent request for `MPI_Scatterv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_init(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Scatterv_init", comm)
}

/// [`PMPI_Scatterv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    unsupported("MPI_Scatterv_init_c", comm)
}
