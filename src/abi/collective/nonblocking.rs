//! Nonblocking collective communication (MPI 5.0, chapter 6).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::width::Integers::{Int, Large};
use crate::abi::collective::start::BlockTypes::{Each, One};
use crate::abi::collective::start::{
    BlockArguments, allgather, allgatherv, allreduce, alltoall, alltoallv, bcast, begin, elements,
    exscan, gather, gatherv, reduce, reduce_scatter, reduce_scatter_block, reduction, scan,
    scatter, scatterv,
};
use crate::abi::entry_point::number;
use crate::abi::types::*;
use crate::mpi::collective::calls::Call;
use crate::process::ProcessMpi;

/// Starts `MPI_Allgather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgather(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iallgather", comm, request, body) }
}

/// Starts `MPI_Allgatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iallgatherv", comm, request, body) }
}

/// [`PMPI_Iallgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iallgatherv", comm, request, body) }
}

/// Starts `MPI_Allreduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iallreduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.6).
    let body = |mpi: &mut ProcessMpi| unsafe { allreduce(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iallreduce", comm, request, body) }
}

/// Starts `MPI_Alltoall`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoall(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ialltoall", comm, request, body) }
}

/// Starts `MPI_Alltoallv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), One(sendtype));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ialltoallv", comm, request, body) }
}

/// [`PMPI_Ialltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), One(sendtype));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ialltoallv", comm, request, body) }
}

/// Starts `MPI_Alltoallw`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), Each(sendtypes));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ialltoallw", comm, request, body) }
}

/// [`PMPI_Ialltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ialltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ialltoallw", comm, request, body) }
}

/// Starts `MPI_Barrier`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibarrier(comm: MPI_Comm, request: *mut MPI_Request) -> c_int {
    let body = |_: &mut ProcessMpi| Ok(Call::barrier(number(comm)));
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ibarrier", comm, request, body) }
}

/// Starts `MPI_Bcast`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ibcast_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let buffer = elements(buffer, count, datatype);
    // SAFETY: the caller's promise of the buffer (§6.4).
    let body = |mpi: &mut ProcessMpi| unsafe { bcast(mpi, buffer, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ibcast", comm, request, body) }
}

/// Starts `MPI_Exscan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iexscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.2).
    let body = |mpi: &mut ProcessMpi| unsafe { exscan(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iexscan", comm, request, body) }
}

/// Starts `MPI_Gather`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gather(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Igather", comm, request, body) }
}

/// Starts `MPI_Gatherv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Igatherv", comm, request, body) }
}

/// [`PMPI_Igatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Igatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Igatherv", comm, request, body) }
}

/// Starts `MPI_Reduce`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce(mpi, operands, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ireduce", comm, request, body) }
}

/// Starts `MPI_Reduce_scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Int(recvcounts), comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ireduce_scatter", comm, request, body) }
}

/// [`PMPI_Ireduce_scatter`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Large(recvcounts), comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ireduce_scatter", comm, request, body) }
}

/// Starts `MPI_Reduce_scatter_block`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Ireduce_scatter_block_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, recvcount, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.10.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce_scatter_block(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Ireduce_scatter_block", comm, request, body) }
}

/// Starts `MPI_Scan`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.1).
    let body = |mpi: &mut ProcessMpi| unsafe { scan(mpi, operands, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iscan", comm, request, body) }
}

/// Starts `MPI_Scatter`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatter_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatter(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iscatter", comm, request, body) }
}

/// Starts `MPI_Scatterv`.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatterv(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
    request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(displs), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iscatterv", comm, request, body) }
}

/// [`PMPI_Iscatterv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Iscatterv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm, request: *mut MPI_Request,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Large(sendcounts), Large(displs.cast()), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    // SAFETY: the caller's promise of the request.
    unsafe { begin("MPI_Iscatterv", comm, request, body) }
}
