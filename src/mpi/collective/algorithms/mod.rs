//! Collective operations as schedules (MPI 5.0 chapter 6): one algorithm per file.
//!
//! An algorithm is a pure function `(shape of the communicator, rank, arguments) -> Schedule`, with
//! a name and a cost beside it ([`algorithm`]); the [`registry`] lists
//! them by operation. Blocking, nonblocking, persistent and offloaded calls run the same schedules;
//! `tests/schedules` runs them for many sizes and roots on symbolic bytes.
//!
//! **Units.** All arguments are bytes of packed data. Algorithms do not depend on counts,
//! datatypes, displacements or memory: those may differ between ranks where the number of bytes may
//! not.
//!
//! **Buffers.** The table shows the meaning of `Buffer::User(index)` in the schedules. The caller
//! that runs a schedule supplies a table of that many buffers, each as one packed stream. *Block*
//! `r` of a stream, to or from rank `r`, begins at byte `r * block`. In the forms with a count per
//! rank each block is a buffer of its own, since algorithms do not know the displacements.
//!
//! | operation | 0 | 1 | more |
//! |---|---|---|---|
//! | barrier | | | |
//! | bcast | the buffer | | |
//! | gather, scatter, allgather, alltoall, all reductions | send buffer | receive buffer | |
//! | gatherv, at the root | send buffer | receive block 0 | `1 + r`: receive block `r` |
//! | scatterv, at the root | receive buffer | send block 0 | `1 + r`: send block `r` |
//! | gatherv, scatterv, elsewhere | send or receive buffer | | |
//! | allgatherv | send buffer | receive block 0 | `1 + r`: receive block `r` |
//! | alltoallv, alltoallw | send block 0 | send block 1 | `ranks + r`: receive block `r` |
//! | of neighborhoods | as [`neighbor`] says | | |
//!
//! `in_place` means that this rank passed `MPI_IN_PLACE`. The replaced buffer is then not accessed:
//! its entry of the table may be anything. In a reduce-scatter in place the receive buffer holds
//! the blocks for all ranks, and the result is at its begin.
//!
//! **Association.** The association of operands in a reduction depends on the algorithm, and so do
//! the last bits of a floating-point result. The algorithms in
//! [`crate::mpi::collective::selection::registry::CollectiveOperation::reproducible`] use one
//! association for all elements, independent of their number, of the root and of the order of
//! arrival: a balanced tree over the places of `butterfly`, each of which is a rank or a pair of
//! adjacent ranks, in rank order. So the result depends only on the operands in rank order, and is
//! equal for reduce, allreduce and reduce-scatter. In a scan, the association is that of
//! `scan::doubling`, which depends only on the rank. `SUIRO_REDUCE=reproducible` admits no other
//! algorithms.
//!
//! **Agreement.** [`selection`](super::selection) chooses the algorithm from values that the
//! standard requires to be equal on all ranks.

pub mod algorithm;
pub mod allgather;
pub mod allreduce;
pub mod alltoall;
pub mod barrier;
pub mod bcast;
pub(crate) mod building_blocks;
pub mod gather;
pub mod hierarchical;
pub mod inter;
pub mod neighbor;
pub mod reduce;
pub mod reduce_scatter;
pub mod scan;
pub mod scatter;

use crate::mpi::collective::selection::{Selection, registry};
use hierarchical::Nodes;

use crate::offload::{Buffer, Region, Schedule};

/// Shape of a communicator, as algorithms may use it; equal on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// Number of ranks, at least 1.
    pub ranks: u32,
}

impl Shape {
    /// The rank `steps` after `rank`, on the ring of all ranks; `steps` is at most `ranks`.
    pub(crate) fn after(self, rank: u32, steps: u32) -> u32 {
        ((u64::from(rank) + u64::from(steps)) % u64::from(self.ranks)) as u32
    }

    /// The rank `steps` before `rank`, on the ring of all ranks; `steps` is at most `ranks`.
    pub(crate) fn before(self, rank: u32, steps: u32) -> u32 {
        self.after(rank, self.ranks - steps)
    }

    /// Number of doublings from 1 that reach all ranks.
    pub(crate) fn doublings(self) -> u32 {
        self.ranks.next_power_of_two().trailing_zeros()
    }
}

/// The ranks of a communicator and their nodes; equal on all its ranks.
#[derive(Clone, Copy, Debug)]
pub struct RankLayout<'a> {
    pub(crate) shape: Shape,
    /// The nodes, if there are several.
    pub(crate) nodes: Option<&'a Nodes>,
    /// Which ranks lead their nodes, where the leaders [take turns](Collective::takes_turns).
    pub(crate) turn: u32,
}

impl RankLayout<'_> {
    /// The number of ranks.
    pub fn shape(self) -> Shape {
        self.shape
    }

    /// The same ranks, where other ranks lead their nodes: see [`Collective::takes_turns`].
    pub fn in_turn(self, turn: u32) -> Self {
        Self { turn, ..self }
    }
}

impl From<Shape> for RankLayout<'_> {
    /// The ranks of one node.
    fn from(shape: Shape) -> Self {
        Self { shape, nodes: None, turn: 0 }
    }
}

impl<'a> From<&'a Nodes> for RankLayout<'a> {
    fn from(nodes: &'a Nodes) -> Self {
        Self { shape: Shape { ranks: nodes.size() }, nodes: Some(nodes), turn: 0 }
    }
}

/// Shape of an intercommunicator, as algorithms may use it; equal on all its ranks.
///
/// Its schedules run among the members of both groups: ranks below `sizes[0]` are side 0, in the
/// order of their group, the other ranks are side 1. So the side follows from the rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InterShape {
    /// Number of ranks on each side, at least 1.
    pub sizes: [u32; 2],
}

/// The buffer of a broadcast.
pub(crate) const BUFFER: Buffer = Buffer::User(0);
/// The send buffer of operations that have one for all ranks.
pub(crate) const SEND: Buffer = Buffer::User(0);
/// The receive buffer of operations that have one for all ranks.
pub const RECEIVE: Buffer = Buffer::User(1);

/// The buffer of block `rank` of gatherv, scatterv and allgatherv.
pub(crate) fn block_buffer(rank: u32) -> Buffer {
    Buffer::User(1 + rank)
}

/// Arguments of `MPI_Bcast`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Bcast {
    /// Length of the message.
    pub bytes: usize,
    /// The rank that has the message.
    pub root: u32,
}

/// Arguments of `MPI_Gather` and `MPI_Scatter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rooted {
    /// Length of one rank's block.
    pub block: usize,
    /// The rank that has all blocks.
    pub root: u32,
    /// Whether the root's own block stays where it is; used only at the root.
    pub in_place: bool,
}

/// Arguments of `MPI_Gatherv` and `MPI_Scatterv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootedBlocks<'a> {
    /// Length of this rank's block; unused at the root.
    pub own: usize,
    /// Length of each rank's block, including the root's own; used only at the root.
    pub blocks: &'a [usize],
    /// The rank that has all blocks.
    pub root: u32,
    /// Whether the root's own block stays where it is; used only at the root.
    pub in_place: bool,
}

/// Arguments of `MPI_Allgather` and `MPI_Alltoall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UniformBlocks {
    /// Length of one block.
    pub block: usize,
    /// Whether the receive buffer holds the data to send; equal on all ranks.
    pub in_place: bool,
}

/// Arguments of `MPI_Allgatherv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBlocks<'a> {
    /// Length of each rank's block; equal on all ranks.
    pub blocks: &'a [usize],
    /// Whether the own block is already in the receive buffer.
    pub in_place: bool,
}

/// Arguments of `MPI_Alltoallv` and `MPI_Alltoallw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPairs<'a> {
    /// Length of the block to each rank; unused if in place.
    pub send: &'a [usize],
    /// Length of the block from each rank.
    pub receive: &'a [usize],
    /// Whether the receive blocks hold the data to send; equal on all ranks.
    pub in_place: bool,
}

/// Arguments of `MPI_Reduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// The operands.
    pub operands: Operands,
    /// The rank that receives the result.
    pub root: u32,
    /// Whether the root's operand is in its receive buffer; used only at the root.
    pub in_place: bool,
}

/// Arguments of `MPI_Allreduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allreduce {
    /// The operands.
    pub operands: Operands,
    /// Whether this rank's operand is in its receive buffer.
    pub in_place: bool,
}

/// Arguments of `MPI_Scan` and `MPI_Exscan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// The operands.
    pub operands: Operands,
    /// Whether this rank's operand is in its receive buffer.
    pub in_place: bool,
}

impl Scan {
    /// Region of this rank's operand.
    fn input(&self) -> Region {
        input_buffer(self.in_place).region(0, self.operands.bytes)
    }
}

/// Arguments of `MPI_Reduce_scatter_block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReduceScatterBlock {
    /// The operands for the block of one rank.
    pub block: Operands,
    /// Whether the operands of this rank are in its receive buffer.
    pub in_place: bool,
}

/// Arguments of `MPI_Reduce_scatter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceScatter<'a> {
    /// Length of each rank's block, a multiple of the element; equal on all ranks.
    pub blocks: &'a [usize],
    /// Whether the operation commutes.
    pub commutative: bool,
    /// Whether the operands of this rank are in its receive buffer.
    pub in_place: bool,
}

impl ReduceScatter<'_> {
    /// The region of these bytes of this rank's operands.
    fn input(&self, start: usize, len: usize) -> Region {
        input_buffer(self.in_place).region(start, len)
    }
}

/// The buffer of a rank's operand.
fn input_buffer(in_place: bool) -> Buffer {
    if in_place { RECEIVE } else { SEND }
}

/// Offset of each block if the blocks are contiguous.
fn block_offsets(blocks: &[usize]) -> impl Iterator<Item = usize> {
    blocks.iter().scan(0, |end, len| {
        *end += len;
        Some(*end - len)
    })
}

/// The operands of a reduction.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Operands {
    /// Length of one rank's operand, a multiple of `element`.
    pub bytes: usize,
    /// Length of one element, at least 1; the operation never receives parts of an element.
    pub element: usize,
    /// Whether the operation commutes.
    pub commutative: bool,
}

/// A collective operation whose schedules may be cached for the next call with the same arguments.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Collective {
    /// `MPI_Barrier` (§6.3).
    Barrier,
    /// `MPI_Bcast` (§6.4).
    Bcast(Bcast),
    /// `MPI_Gather` (§6.5).
    Gather(Rooted),
    /// `MPI_Scatter` (§6.6).
    Scatter(Rooted),
    /// `MPI_Allgather` (§6.7).
    Allgather(UniformBlocks),
    /// `MPI_Alltoall` (§6.8).
    Alltoall(UniformBlocks),
    /// `MPI_Reduce` (§6.9.1).
    Reduce(Reduce),
    /// `MPI_Allreduce` (§6.9.6).
    Allreduce(Allreduce),
    /// `MPI_Reduce_scatter_block` (§6.10.1).
    ReduceScatterBlock(ReduceScatterBlock),
    /// `MPI_Scan` (§6.11.1).
    Scan(Scan),
    /// `MPI_Exscan` (§6.11.2).
    Exscan(Scan),
}

impl Collective {
    /// Whether the schedule depends on the turn of a call: its leaders of nodes are others in the next
    /// call, so that the ranks of a node have as much work (`hierarchical`).
    pub(crate) fn takes_turns(self) -> bool {
        matches!(self, Self::Barrier | Self::Allreduce(_))
    }

    /// Schedule of `rank` in this operation, by the selected algorithm.
    pub fn schedule<'a>(
        self, by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32,
    ) -> Schedule {
        let on = on.into();
        match self {
            Self::Barrier => by.schedule_on(&registry::BARRIER, on, rank, ()),
            Self::Bcast(args) => by.schedule_on(&registry::BCAST, on, rank, args),
            Self::Gather(args) => by.schedule_on(&registry::GATHER, on, rank, args),
            Self::Scatter(args) => by.schedule_on(&registry::SCATTER, on, rank, args),
            Self::Allgather(args) => by.schedule_on(&registry::ALLGATHER, on, rank, args),
            Self::Alltoall(args) => by.schedule_on(&registry::ALLTOALL, on, rank, args),
            Self::Reduce(args) => by.schedule_on(&registry::REDUCE, on, rank, args),
            Self::Allreduce(args) => by.schedule_on(&registry::ALLREDUCE, on, rank, args),
            Self::ReduceScatterBlock(ReduceScatterBlock { block, in_place }) => {
                let blocks = &vec![block.bytes; on.shape.ranks as usize];
                let commutative = block.commutative;
                reduce_scatter(by, on, rank, ReduceScatter { blocks, commutative, in_place })
            }
            Self::Scan(args) => by.schedule_on(&registry::SCAN, on, rank, args),
            Self::Exscan(args) => by.schedule_on(&registry::EXSCAN, on, rank, args),
        }
    }
}

/// Schedule of `rank` in an `MPI_Gatherv`, by the selected algorithm. Only the root knows the lengths,
/// so no rank can combine messages: each block travels on its own, and once.
pub fn gatherv<'a>(
    by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32, args: RootedBlocks<'_>,
) -> Schedule {
    by.schedule_on(&registry::GATHERV, on.into(), rank, args)
}

/// Schedule of `rank` in an `MPI_Scatterv`, by the selected algorithm; as in [`gatherv`], each block
/// travels on its own.
pub fn scatterv<'a>(
    by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32, args: RootedBlocks<'_>,
) -> Schedule {
    by.schedule_on(&registry::SCATTERV, on.into(), rank, args)
}

/// Schedule of `rank` in an `MPI_Allgatherv`, by the selected algorithm.
pub fn allgatherv<'a>(
    by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32, args: RankBlocks<'_>,
) -> Schedule {
    by.schedule_on(&registry::ALLGATHERV, on.into(), rank, args)
}

/// Schedule of `rank` in an `MPI_Alltoallv` or `MPI_Alltoallw`, by the selected algorithm. Two ranks
/// alone know the length of a block, so each block travels on its own, and once.
pub fn alltoallv<'a>(
    by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32, args: BlockPairs<'_>,
) -> Schedule {
    by.schedule_on(&registry::ALLTOALLV, on.into(), rank, args)
}

/// Schedule of `rank` in an `MPI_Reduce_scatter`, by the selected algorithm.
pub fn reduce_scatter<'a>(
    by: &Selection, on: impl Into<RankLayout<'a>>, rank: u32, args: ReduceScatter<'_>,
) -> Schedule {
    by.schedule_on(&registry::REDUCE_SCATTER, on.into(), rank, args)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_ring_closes() {
        let shape = Shape { ranks: 5 };
        assert_eq!((shape.after(4, 1), shape.before(0, 1)), (0, 4));
        assert_eq!((shape.after(3, 5), shape.before(3, 5)), (3, 3));
    }

    #[test]
    fn doublings_reach_all_ranks() {
        let of = |ranks| Shape { ranks }.doublings();
        assert_eq!([1, 2, 3, 4, 5, 8, 9].map(of), [0, 1, 2, 2, 3, 3, 4]);
    }
}
