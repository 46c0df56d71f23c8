//! Persistent collective communication (MPI 5.0, §6.13): creation of requests. `request` starts
//! them.

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::width::Integers::{Int, Large};
use crate::abi::collective::start::BlockTypes::{Each, One};
use crate::abi::collective::start::{
    BlockArguments, allgather, allgatherv, allreduce, alltoall, alltoallv, bcast, elements, exscan,
    gather, gatherv, init, reduce, reduce_scatter, reduce_scatter_block, reduction, scan, scatter,
    scatterv,
};
use crate::abi::entry_point::number;
use crate::abi::types::*;
use crate::mpi::collective::calls::Call;
use crate::process::ProcessMpi;

/// Creates a persistent request for `MPI_Allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgather(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Allgather_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Allgatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Allgatherv_init", (comm, info), request, body) }
}

/// [`PMPI_Allgatherv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Allgatherv_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Allreduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.6).
    let body = |mpi: &mut ProcessMpi| unsafe { allreduce(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Allreduce_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoall(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Alltoall_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), One(sendtype));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Alltoallv_init", (comm, info), request, body) }
}

/// [`PMPI_Alltoallv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), One(sendtype));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Alltoallv_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Alltoallw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_init(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), Each(sendtypes));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Alltoallw_init", (comm, info), request, body) }
}

/// [`PMPI_Alltoallw_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Alltoallw_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Barrier`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Barrier_init(
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let body = |_: &mut ProcessMpi| Ok(Call::barrier(number(comm)));
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Barrier_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast_init_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let buffer = elements(buffer, count, datatype);
    // SAFETY: the caller's promise of the buffer (§6.4).
    let body = |mpi: &mut ProcessMpi| unsafe { bcast(mpi, buffer, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Bcast_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Exscan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.2).
    let body = |mpi: &mut ProcessMpi| unsafe { exscan(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Exscan_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gather(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Gather_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Gatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_init(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Gatherv_init", (comm, info), request, body) }
}

/// [`PMPI_Gatherv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Gatherv_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Reduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce(mpi, operands, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Reduce_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Reduce_scatter_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, recvcount, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.10.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce_scatter_block(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Reduce_scatter_block_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Reduce_scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_init(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Int(recvcounts), comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Reduce_scatter_init", (comm, info), request, body) }
}

/// [`PMPI_Reduce_scatter_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Large(recvcounts), comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Reduce_scatter_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Scan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan_init_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.1).
    let body = |mpi: &mut ProcessMpi| unsafe { scan(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Scan_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter_init_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm, info: MPI_Info,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatter(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Scatter_init", (comm, info), request, body) }
}

/// Creates a persistent request for `MPI_Scatterv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_init(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(displs), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Scatterv_init", (comm, info), request, body) }
}

/// [`PMPI_Scatterv_init`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_init_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm, info: MPI_Info, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Large(sendcounts), Large(displs.cast()), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { init("MPI_Scatterv_init", (comm, info), request, body) }
}
