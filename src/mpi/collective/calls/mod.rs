//! The checked arguments of one collective call: [`Call`] (MPI 5.0 §6, §8.6).
//!
//! `abi` follows the pointers of C and checks what one process can check: handles, counts, datatypes,
//! overlapping buffers. The functions here compare lengths and place what `MPI_IN_PLACE` stands for.
//! A call does not know its form, its algorithm, or whether it runs in shared memory.
//!
//! Arguments that are not significant on this rank are empty.

pub(crate) mod blocks;
pub mod function;
pub mod roots;

use crate::engine::memory::Memory;
use crate::mpi::collective::reduction_operator::ReductionOperator;
use crate::mpi::handle::Handle;
use function::CollectiveFunction;

/// One collective call on this rank, with its arguments as packed streams of bytes.
///
/// One struct for all functions, not a variant for each: the shared-memory form works on these
/// fields as they are, so that a short call is not copied from one type into another.
#[derive(Debug)]
pub struct Call {
    pub(in crate::mpi) comm: Handle,
    pub(in crate::mpi) function: CollectiveFunction,
    /// The root as a member of the communicator: of both groups, if there are two. 0 if the function
    /// has no root.
    pub(in crate::mpi) root: u32,
    /// Length of the message or of one rank's block. If the blocks of the ranks differ: of all.
    pub(in crate::mpi) bytes: usize,
    /// The data to send. In place: an alias of the memory that holds it, or empty if the data stay.
    pub(in crate::mpi) send: Memory,
    /// Start of this rank's own block in `send`.
    pub(in crate::mpi) send_offset: usize,
    /// Memory of the result; the buffer of a broadcast.
    pub(in crate::mpi) receive: Memory,
    /// Blocks with memory of their own. Gatherv and allgatherv: to receive, by rank. Scatterv: to
    /// send, by rank. Alltoallv: to send, then to receive. Neighborhoods: all buffers.
    pub(in crate::mpi) blocks: Vec<Memory>,
    /// Reduce-scatter: the start of each rank's block, then the end of the last.
    pub(in crate::mpi) block_offsets: Vec<usize>,
    /// Whether this rank passed `MPI_IN_PLACE`, or another group has the root.
    pub(in crate::mpi) in_place: bool,
    pub(in crate::mpi) operator: Option<ReductionOperator>,
}

impl Call {
    const fn new(comm: Handle, function: CollectiveFunction) -> Self {
        Self {
            comm,
            function,
            root: 0,
            bytes: 0,
            send: Memory::EMPTY,
            send_offset: 0,
            receive: Memory::EMPTY,
            blocks: Vec::new(),
            block_offsets: Vec::new(),
            in_place: false,
            operator: None,
        }
    }

    /// `MPI_Barrier` (§6.3).
    #[inline]
    pub const fn barrier(comm: Handle) -> Self {
        Self::new(comm, CollectiveFunction::Barrier)
    }

    /// A call with the root `MPI_PROC_NULL`: this process only counts the call.
    pub fn proc_null(comm: Handle) -> Self {
        Self::new(comm, CollectiveFunction::ProcNull)
    }

    /// `MPI_Bcast` (§6.4).
    #[inline]
    pub fn bcast(comm: Handle, root: u32, buffer: Memory) -> Self {
        let bytes = buffer.len();
        Self { root, bytes, receive: buffer, ..Self::new(comm, CollectiveFunction::Bcast) }
    }

    /// `MPI_Gather` (§6.5) of blocks of `block` bytes; [`Mpi::gather`](crate::mpi::Mpi::gather) checks
    /// the length.
    pub fn gather(
        comm: Handle, root: u32, block: usize, send: Option<Memory>, receive: Option<Memory>,
    ) -> Self {
        let in_place = send.is_none();
        let (send, receive) = (or_empty(send), or_empty(receive));
        let call = Self::new(comm, CollectiveFunction::Gather);
        Self { root, bytes: block, send, receive, in_place, ..call }
    }

    /// `MPI_Scatter` (§6.6) of blocks of `block` bytes; [`Mpi::scatter`](crate::mpi::Mpi::scatter)
    /// checks the length.
    pub fn scatter(
        comm: Handle, root: u32, block: usize, send: Option<Memory>, receive: Option<Memory>,
    ) -> Self {
        let in_place = receive.is_none();
        let (send, receive) = (or_empty(send), or_empty(receive));
        let call = Self::new(comm, CollectiveFunction::Scatter);
        Self { root, bytes: block, send, receive, in_place, ..call }
    }

    /// `MPI_Allgather` (§6.7) of blocks of `block` bytes by rank `rank`.
    pub fn allgather(
        comm: Handle, rank: u32, block: usize, send: Option<Memory>, receive: Memory,
    ) -> Self {
        let in_place = send.is_none();
        let send_offset = if in_place { rank as usize * block } else { 0 };
        let send = send.unwrap_or_else(|| receive.alias());
        let call = Self::new(comm, CollectiveFunction::Allgather);
        Self { bytes: block, send, send_offset, receive, in_place, ..call }
    }

    /// `MPI_Allgatherv` (§6.7) by rank `rank`.
    pub fn allgatherv(comm: Handle, rank: u32, send: Option<Memory>, receive: Vec<Memory>) -> Self {
        let in_place = send.is_none();
        let send = send.unwrap_or_else(|| receive[rank as usize].alias());
        let bytes = receive.iter().map(Memory::len).sum();
        let call = Self::new(comm, CollectiveFunction::Allgatherv);
        Self { bytes, send, blocks: receive, in_place, ..call }
    }

    /// `MPI_Alltoall` (§6.8) of blocks of `block` bytes.
    pub fn alltoall(comm: Handle, block: usize, send: Option<Memory>, receive: Memory) -> Self {
        let in_place = send.is_none();
        let send = send.unwrap_or_else(|| receive.alias());
        let call = Self::new(comm, CollectiveFunction::Alltoall);
        Self { bytes: block, send, receive, in_place, ..call }
    }

    /// `MPI_Reduce` (§6.9.1). The root passes memory for the result.
    pub fn reduce(
        comm: Handle, root: u32, send: Option<Memory>, receive: Option<Memory>,
        operator: ReductionOperator,
    ) -> Self {
        let function = CollectiveFunction::Reduce;
        Self { root, ..Self::reduction(comm, function, send, or_empty(receive), operator) }
    }

    /// `MPI_Allreduce` (§6.9.6).
    #[inline]
    pub fn allreduce(
        comm: Handle, send: Option<Memory>, receive: Memory, operator: ReductionOperator,
    ) -> Self {
        Self::reduction(comm, CollectiveFunction::Allreduce, send, receive, operator)
    }

    /// `MPI_Reduce_scatter_block` (§6.10.1) of `block` bytes for each rank, by rank `rank`. In place,
    /// the memory to receive holds the blocks for all ranks.
    pub fn reduce_scatter_block(
        comm: Handle, rank: u32, block: usize, send: Option<Memory>, receive: Memory,
        operator: ReductionOperator,
    ) -> Self {
        let function = CollectiveFunction::ReduceScatterBlock;
        let send_offset = rank as usize * block;
        let call = Self::reduction(comm, function, send, receive, operator);
        Self { bytes: block, send_offset, ..call }
    }

    /// `MPI_Reduce_scatter` (§6.10.2) of `blocks[r]` bytes for rank `r`, by rank `rank`. In place, the
    /// memory to receive holds the blocks for all ranks.
    pub fn reduce_scatter(
        comm: Handle, rank: u32, blocks: &[usize], send: Option<Memory>, receive: Memory,
        operator: ReductionOperator,
    ) -> Self {
        let mut block_offsets = vec![0];
        block_offsets.extend(blocks.iter().scan(0, |end, block| {
            *end += block;
            Some(*end)
        }));
        let (bytes, send_offset) = (block_offsets[blocks.len()], block_offsets[rank as usize]);
        let function = CollectiveFunction::ReduceScatter;
        let call = Self::reduction(comm, function, send, receive, operator);
        Self { bytes, send_offset, block_offsets, ..call }
    }

    /// `MPI_Scan` (§6.11.1).
    pub fn scan(
        comm: Handle, send: Option<Memory>, receive: Memory, operator: ReductionOperator,
    ) -> Self {
        Self::reduction(comm, CollectiveFunction::Scan, send, receive, operator)
    }

    /// `MPI_Exscan` (§6.11.2). Rank 0 passes no memory to receive unless in place, and that memory is
    /// not written.
    pub fn exscan(
        comm: Handle, send: Option<Memory>, receive: Option<Memory>, operator: ReductionOperator,
    ) -> Self {
        Self::reduction(comm, CollectiveFunction::Exscan, send, or_empty(receive), operator)
    }

    /// `MPI_Neighbor_allgather` (§8.6.1), with memory to receive all blocks.
    pub fn neighbor_allgather(comm: Handle, send: Memory, receive: Memory) -> Self {
        let blocks = vec![send, receive];
        Self { blocks, ..Self::new(comm, CollectiveFunction::NeighborAllgather) }
    }

    /// `MPI_Neighbor_allgatherv` (§8.6.1), with memory for each block.
    pub fn neighbor_allgatherv(comm: Handle, send: Memory, receive: Vec<Memory>) -> Self {
        let blocks = std::iter::once(send).chain(receive).collect();
        Self { blocks, ..Self::new(comm, CollectiveFunction::NeighborAllgatherv) }
    }

    /// `MPI_Neighbor_alltoall` (§8.6.2), with all blocks to send and to receive.
    pub fn neighbor_alltoall(comm: Handle, send: Memory, receive: Memory) -> Self {
        let blocks = vec![send, receive];
        Self { blocks, ..Self::new(comm, CollectiveFunction::NeighborAlltoall) }
    }

    /// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw` (§8.6.2), with each block to send and
    /// each block to receive.
    pub fn neighbor_alltoallv(comm: Handle, send: Vec<Memory>, receive: Vec<Memory>) -> Self {
        let mut blocks = send;
        blocks.extend(receive);
        Self { blocks, ..Self::new(comm, CollectiveFunction::NeighborAlltoallv) }
    }

    #[inline]
    fn reduction(
        comm: Handle, function: CollectiveFunction, send: Option<Memory>, receive: Memory,
        operator: ReductionOperator,
    ) -> Self {
        let in_place = send.is_none();
        let send = send.unwrap_or_else(|| receive.alias());
        let bytes = send.len();
        let operator = Some(operator);
        Self { bytes, send, receive, in_place, operator, ..Self::new(comm, function) }
    }
}

#[inline]
fn or_empty(memory: Option<Memory>) -> Memory {
    memory.unwrap_or(Memory::EMPTY)
}
