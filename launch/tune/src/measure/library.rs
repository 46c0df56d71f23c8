//! Collective calls of the library by its C interface, behind safe functions.
//!
//! The functions have their `PMPI` names: a tool that looks at a program does not see these. Errors end the
//! job, as the error handler of the standard does.
#![allow(unsafe_code)]

use std::ffi::{c_int, c_void};
use std::ptr;

use mpi_abi::abi::constants::MPI_COMM_TYPE_SHARED;
use mpi_abi::abi::handles::{
    MPI_BYTE, MPI_COMM_NULL, MPI_COMM_WORLD, MPI_DOUBLE, MPI_INFO_NULL, MPI_MAX, MPI_SUM,
};
use mpi_abi::abi::types::{MPI_Aint, MPI_Comm, MPI_Count, MPI_Datatype, MPI_Info, MPI_Op};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;

use crate::plan::TunedCall;

/// Roots that take turns, at most: the schedules of recent calls are kept, and an application has few roots.
const ROOTS_MAX: usize = 4;

/// Bytes of an element of a reduction.
const ELEMENT_BYTES: usize = size_of::<f64>();

unsafe extern "C" {
    fn PMPI_Init(argc: *mut c_int, argv: *mut *mut *mut std::ffi::c_char) -> c_int;
    fn PMPI_Finalize() -> c_int;
    fn PMPI_Comm_rank(comm: MPI_Comm, rank: *mut c_int) -> c_int;
    fn PMPI_Comm_size(comm: MPI_Comm, size: *mut c_int) -> c_int;
    fn PMPI_Comm_dup(comm: MPI_Comm, new: *mut MPI_Comm) -> c_int;
    fn PMPI_Comm_split(comm: MPI_Comm, color: c_int, key: c_int, new: *mut MPI_Comm) -> c_int;
    fn PMPI_Comm_split_type(
        comm: MPI_Comm, kind: c_int, key: c_int, info: MPI_Info, new: *mut MPI_Comm,
    ) -> c_int;
    fn PMPI_Barrier(comm: MPI_Comm) -> c_int;
    fn PMPI_Bcast_c(
        buffer: *mut c_void, count: MPI_Count, kind: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Gather_c(
        send: *const c_void, send_count: MPI_Count, send_kind: MPI_Datatype, receive: *mut c_void,
        count: MPI_Count, kind: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Scatter_c(
        send: *const c_void, send_count: MPI_Count, send_kind: MPI_Datatype, receive: *mut c_void,
        count: MPI_Count, kind: MPI_Datatype, root: c_int, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Allgather_c(
        send: *const c_void, send_count: MPI_Count, send_kind: MPI_Datatype, receive: *mut c_void,
        count: MPI_Count, kind: MPI_Datatype, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Allgatherv_c(
        send: *const c_void, send_count: MPI_Count, send_kind: MPI_Datatype, receive: *mut c_void,
        counts: *const MPI_Count, places: *const MPI_Aint, kind: MPI_Datatype, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Alltoall_c(
        send: *const c_void, send_count: MPI_Count, send_kind: MPI_Datatype, receive: *mut c_void,
        count: MPI_Count, kind: MPI_Datatype, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Reduce_c(
        send: *const c_void, receive: *mut c_void, count: MPI_Count, kind: MPI_Datatype,
        op: MPI_Op, root: c_int, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Allreduce_c(
        send: *const c_void, receive: *mut c_void, count: MPI_Count, kind: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Reduce_scatter_block_c(
        send: *const c_void, receive: *mut c_void, count: MPI_Count, kind: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Scan_c(
        send: *const c_void, receive: *mut c_void, count: MPI_Count, kind: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm,
    ) -> c_int;
    fn PMPI_Exscan_c(
        send: *const c_void, receive: *mut c_void, count: MPI_Count, kind: MPI_Datatype,
        op: MPI_Op, comm: MPI_Comm,
    ) -> c_int;
}

/// The buffers of a rank: doubles that sums keep small.
pub(super) struct CallBuffers {
    send: Vec<f64>,
    receive: Vec<f64>,
    /// Of an allgatherv.
    counts: Vec<MPI_Count>,
    places: Vec<MPI_Aint>,
}

impl CallBuffers {
    /// Buffers of `bytes` bytes, for `ranks` ranks.
    pub(super) fn new(bytes: usize, ranks: u32) -> Self {
        let elements = bytes.div_ceil(ELEMENT_BYTES);
        let (counts, places) = (vec![0; ranks as usize], vec![0; ranks as usize]);
        Self { send: vec![1.0; elements], receive: vec![0.0; elements], counts, places }
    }
}

/// The library between its start and its end, with the communicators of the measurement.
pub(super) struct Library {
    world: MPI_Comm,
    /// The ranks of the world in the reverse order.
    reversed: MPI_Comm,
    /// For what is not measured.
    control: MPI_Comm,
    rank: u32,
    size: u32,
}

impl Library {
    /// Starts the library.
    pub(super) fn start() -> Self {
        let (mut rank, mut size) = (0, 0);
        let (mut reversed, mut control) = (MPI_COMM_NULL, MPI_COMM_NULL);
        let world = MPI_COMM_WORLD;
        // SAFETY: null arguments of `Init` are allowed; all results are places of local variables.
        unsafe {
            PMPI_Init(ptr::null_mut(), ptr::null_mut());
            PMPI_Comm_rank(world, &raw mut rank);
            PMPI_Comm_size(world, &raw mut size);
            PMPI_Comm_split(world, 0, size - rank, &raw mut reversed);
            PMPI_Comm_dup(world, &raw mut control);
        }
        Self { world, reversed, control, rank: rank as u32, size: size as u32 }
    }

    /// Ends the library.
    pub(super) fn finish(self) {
        // SAFETY: the library runs, and `self` is gone with this call.
        unsafe { PMPI_Finalize() };
    }

    pub(super) fn rank(&self) -> u32 {
        self.rank
    }

    pub(super) fn size(&self) -> u32 {
        self.size
    }

    /// Ranks on the host that has most of them; equal on all ranks.
    pub(super) fn ranks_per_host(&self) -> u32 {
        let (mut near, mut size) = (MPI_COMM_NULL, 0);
        // SAFETY: the library runs; the results are places of local variables.
        unsafe {
            let kind = MPI_COMM_TYPE_SHARED;
            PMPI_Comm_split_type(self.world, kind, 0, MPI_INFO_NULL, &raw mut near);
            PMPI_Comm_size(near, &raw mut size);
        }
        self.largest(size.into()) as u32
    }

    /// The largest number of all ranks, on all of them. Ranks wait for each other in it.
    pub(super) fn largest(&self, own: f64) -> f64 {
        let mut all = 0.0_f64;
        let (send, receive) = ((&raw const own).cast(), (&raw mut all).cast());
        // SAFETY: both are places of one double.
        unsafe { PMPI_Allreduce_c(send, receive, 1, MPI_DOUBLE, MPI_MAX, self.control) };
        all
    }

    /// One call; `turn` chooses its root, or the order of the ranks.
    ///
    /// # Panics
    /// If the buffers are shorter than the call needs, or if no such operation is measured.
    pub(super) fn call(&self, call: TunedCall, turn: usize, buffers: &mut CallBuffers) {
        let needed = call.buffer_bytes(self.size).div_ceil(ELEMENT_BYTES);
        assert!(buffers.send.len() >= needed && buffers.receive.len() >= needed);
        let count = call.bytes as MPI_Count;
        let elements = count / ELEMENT_BYTES as MPI_Count;
        let root = (turn % ROOTS_MAX.min(self.size as usize)) as c_int;
        let (world, scanned) = (self.world, [self.world, self.reversed][turn % 2]);
        let (byte, double, sum) = (MPI_BYTE, MPI_DOUBLE, MPI_SUM);
        let CallBuffers { counts, places, .. } = buffers;
        let send: *const c_void = buffers.send.as_ptr().cast();
        let receive: *mut c_void = buffers.receive.as_mut_ptr().cast();
        // SAFETY: the buffers are as long as the call needs (above): blocks of `count` bytes or `elements`
        // doubles for each rank where the call has blocks, one elsewhere; they do not overlap.
        unsafe {
            match call.operation {
                CollectiveOperation::Barrier => PMPI_Barrier(world),
                CollectiveOperation::Bcast => PMPI_Bcast_c(receive, count, byte, root, world),
                CollectiveOperation::Gather => {
                    PMPI_Gather_c(send, count, byte, receive, count, byte, root, world)
                }
                CollectiveOperation::Scatter => {
                    PMPI_Scatter_c(send, count, byte, receive, count, byte, root, world)
                }
                CollectiveOperation::Allgather => {
                    PMPI_Allgather_c(send, count, byte, receive, count, byte, world)
                }
                CollectiveOperation::Allgatherv => {
                    counts.fill(count);
                    places.iter_mut().zip(0..).for_each(|(place, rank)| {
                        *place = rank * count as MPI_Aint;
                    });
                    let (counts, places) = (counts.as_ptr(), places.as_ptr());
                    PMPI_Allgatherv_c(send, count, byte, receive, counts, places, byte, world)
                }
                CollectiveOperation::Alltoall => {
                    PMPI_Alltoall_c(send, count, byte, receive, count, byte, world)
                }
                CollectiveOperation::Reduce => {
                    PMPI_Reduce_c(send, receive, elements, double, sum, root, world)
                }
                CollectiveOperation::Allreduce => {
                    PMPI_Allreduce_c(send, receive, elements, double, sum, world)
                }
                CollectiveOperation::ReduceScatter => {
                    PMPI_Reduce_scatter_block_c(send, receive, elements, double, sum, world)
                }
                CollectiveOperation::Scan => {
                    PMPI_Scan_c(send, receive, elements, double, sum, scanned)
                }
                CollectiveOperation::Exscan => {
                    PMPI_Exscan_c(send, receive, elements, double, sum, scanned)
                }
                CollectiveOperation::Gatherv
                | CollectiveOperation::Scatterv
                | CollectiveOperation::Alltoallv => panic!("{call} is not measured"),
            }
        };
    }
}
