//! Blocking collective communication (MPI 5.0, chapter 6).

#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};

use crate::abi::arguments::width::Integers::{Int, Large};
use crate::abi::collective::start::BlockTypes::{Each, One};
use crate::abi::collective::start::{
    BlockArguments, allgather, allgatherv, allreduce, alltoall, alltoallv, bcast, elements, exscan,
    gather, gatherv, reduce, reduce_scatter, reduce_scatter_block, reduction, scan, scatter,
    scatterv, wait,
};
use crate::abi::entry_point::number;
use crate::abi::types::*;
use crate::mpi::collective::calls::Call;
use crate::process::ProcessMpi;

/// Every process receives one block from every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgather(mpi, send, receive, comm) };
    wait("MPI_Allgather", comm, body)
}

/// `MPI_Allgather` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    wait("MPI_Allgatherv", comm, body)
}

/// [`PMPI_Allgatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allgatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.7).
    let body = |mpi: &mut ProcessMpi| unsafe { allgatherv(mpi, send, receive, comm) };
    wait("MPI_Allgatherv", comm, body)
}

/// Every process receives the reduction over all processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Allreduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.6).
    let body = |mpi: &mut ProcessMpi| unsafe { allreduce(mpi, operands, comm) };
    wait("MPI_Allreduce", comm, body)
}

/// Every process sends a different block to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoall_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoall(mpi, send, receive, comm) };
    wait("MPI_Alltoall", comm, body)
}

/// `MPI_Alltoall` with a block length for each pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int, rdispls: *const c_int,
    recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), One(sendtype));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    wait("MPI_Alltoallv", comm, body)
}

/// [`PMPI_Alltoallv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtype: MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), One(sendtype));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    wait("MPI_Alltoallv", comm, body)
}

/// `MPI_Alltoallv` with a datatype for each pair.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw(
    sendbuf: *const c_void, sendcounts: *const c_int, sdispls: *const c_int,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const c_int,
    rdispls: *const c_int, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(sdispls), Each(sendtypes));
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(rdispls), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    wait("MPI_Alltoallw", comm, body)
}

/// [`PMPI_Alltoallw`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Alltoallw_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, sdispls: *const MPI_Aint,
    sendtypes: *const MPI_Datatype, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    rdispls: *const MPI_Aint, recvtypes: *const MPI_Datatype, comm: MPI_Comm,
) -> c_int {
    let send =
        BlockArguments::new(sendbuf, Large(sendcounts), Large(sdispls.cast()), Each(sendtypes));
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(rdispls.cast()), Each(recvtypes));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.8).
    let body = |mpi: &mut ProcessMpi| unsafe { alltoallv(mpi, send, receive, comm) };
    wait("MPI_Alltoallw", comm, body)
}

/// Returns after all processes of the communicator have entered the call.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Barrier(comm: MPI_Comm) -> c_int {
    let body = |_: &mut ProcessMpi| Ok(Call::barrier(number(comm)));
    wait("MPI_Barrier", comm, body)
}

/// Sends the root's buffer to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Bcast_c(
    buffer: *mut c_void, count: MPI_Count, datatype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    let buffer = elements(buffer, count, datatype);
    // SAFETY: the caller's promise of the buffer (§6.4).
    let body = |mpi: &mut ProcessMpi| unsafe { bcast(mpi, buffer, root, comm) };
    wait("MPI_Bcast", comm, body)
}

/// The reduction over all lower ranks.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Exscan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.2).
    let body = |mpi: &mut ProcessMpi| unsafe { exscan(mpi, operands, comm) };
    wait("MPI_Exscan", comm, body)
}

/// The root receives one block from every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gather_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gather(mpi, send, receive, root, comm) };
    wait("MPI_Gather", comm, body)
}

/// `MPI_Gather` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv(
    sendbuf: *const c_void, sendcount: c_int, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const c_int, displs: *const c_int, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = BlockArguments::new(recvbuf, Int(recvcounts), Int(displs), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    wait("MPI_Gatherv", comm, body)
}

/// [`PMPI_Gatherv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Gatherv_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcounts: *const MPI_Count, displs: *const MPI_Aint, recvtype: MPI_Datatype, root: c_int,
    comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive =
        BlockArguments::new(recvbuf, Large(recvcounts), Large(displs.cast()), One(recvtype));
    // SAFETY: the caller's promise of the buffers and the arrays (§6.5).
    let body = |mpi: &mut ProcessMpi| unsafe { gatherv(mpi, send, receive, root, comm) };
    wait("MPI_Gatherv", comm, body)
}

/// The root receives the reduction over all processes.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, root: c_int, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.9.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce(mpi, operands, root, comm) };
    wait("MPI_Reduce", comm, body)
}

/// Reduces and scatters; each process has its own block length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const c_int, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Int(recvcounts), comm) };
    wait("MPI_Reduce_scatter", comm, body)
}

/// [`PMPI_Reduce_scatter`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcounts: *const MPI_Count,
    datatype: MPI_Datatype, op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, 0, datatype, op);
    // SAFETY: the caller's promise of the buffers and the array (§6.10.2).
    let body =
        |mpi: &mut ProcessMpi| unsafe { reduce_scatter(mpi, operands, Large(recvcounts), comm) };
    wait("MPI_Reduce_scatter", comm, body)
}

/// Reduces and scatters in blocks of equal length.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Reduce_scatter_block_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, recvcount: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, recvcount, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.10.1).
    let body = |mpi: &mut ProcessMpi| unsafe { reduce_scatter_block(mpi, operands, comm) };
    wait("MPI_Reduce_scatter_block", comm, body)
}

/// The reduction over all ranks up to and including this one.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scan_c(
    sendbuf: *const c_void, recvbuf: *mut c_void, count: MPI_Count, datatype: MPI_Datatype,
    op: MPI_Op, comm: MPI_Comm,
) -> c_int {
    let operands = reduction(sendbuf, recvbuf, count, datatype, op);
    // SAFETY: the caller's promise of both buffers (§6.11.1).
    let body = |mpi: &mut ProcessMpi| unsafe { scan(mpi, operands, comm) };
    wait("MPI_Scan", comm, body)
}

/// The root sends one block to every process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatter_c(
    sendbuf: *const c_void, sendcount: MPI_Count, sendtype: MPI_Datatype, recvbuf: *mut c_void,
    recvcount: MPI_Count, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    let send = elements(sendbuf, sendcount, sendtype);
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of both buffers (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatter(mpi, send, receive, root, comm) };
    wait("MPI_Scatter", comm, body)
}

/// `MPI_Scatter` with a block length for each process.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv(
    sendbuf: *const c_void, sendcounts: *const c_int, displs: *const c_int, sendtype: MPI_Datatype,
    recvbuf: *mut c_void, recvcount: c_int, recvtype: MPI_Datatype, root: c_int, comm: MPI_Comm,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Int(sendcounts), Int(displs), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    wait("MPI_Scatterv", comm, body)
}

/// [`PMPI_Scatterv`] with large counts.
#[unsafe(no_mangle)]
pub unsafe extern "C" fn PMPI_Scatterv_c(
    sendbuf: *const c_void, sendcounts: *const MPI_Count, displs: *const MPI_Aint,
    sendtype: MPI_Datatype, recvbuf: *mut c_void, recvcount: MPI_Count, recvtype: MPI_Datatype,
    root: c_int, comm: MPI_Comm,
) -> c_int {
    let send = BlockArguments::new(sendbuf, Large(sendcounts), Large(displs.cast()), One(sendtype));
    let receive = elements(recvbuf, recvcount, recvtype);
    // SAFETY: the caller's promise of the buffers and the arrays (§6.6).
    let body = |mpi: &mut ProcessMpi| unsafe { scatterv(mpi, send, receive, root, comm) };
    wait("MPI_Scatterv", comm, body)
}
