//! Collective operations as schedules (MPI 5.0 chapter 6): one algorithm per file.
//!
//! An algorithm is a pure function `(shape of the communicator, rank, arguments) -> Schedule`, with
//! a name and a cost beside it ([`algorithm`]); [`registry`] lists them by operation. Blocking,
//! nonblocking, persistent and offloaded calls run the same schedules; `tests/schedules` runs them
//! for many sizes and roots on symbolic bytes.
//!
//! **Units.** All arguments are bytes of packed data. Nothing here knows counts, datatypes,
//! displacements or memory: those may differ between ranks where the bytes may not.
//!
//! **Buffers.** What `Buffer::User(index)` means in the schedules; whoever runs one supplies a
//! table of that many buffers, each as one packed stream. *Block* `r` of a stream, to or from rank
//! `r`, begins at byte `r * block`. In the forms with a count per rank each block is a buffer of its
//! own, since their displacements are not ours to know.
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
//! `in_place` says that this rank passed `MPI_IN_PLACE`. The buffer that it stands for is then not
//! touched: its entry of the table may be anything. In a reduce-scatter in place the receive buffer
//! holds the blocks for all ranks, and the result is where it begins.
//!
//! **Association.** How a reduction puts its operands together is up to the algorithm, and with it
//! the last bits of a floating-point result. Those that [`crate::mpi::collective::selection::registry::CollectiveOperation::reproducible`] names
//! do it in one way for all elements, whatever their number, the root or the order of arrival: a
//! balanced tree over the places of `butterfly`, each of which is a rank or a pair of adjacent ones,
//! in the order of ranks. So the result depends on the operands in the order of ranks only, and it
//! is the same for reduce, allreduce and reduce-scatter. In a scan, operands are put together as in
//! `scan::doubling`, which depends on the rank only. `SUIRO_REDUCE=reproducible` admits no others.
//!
//! **Agreement.** Which algorithm runs is decided in [`selection`](super::selection) from what the standard makes equal
//! on all ranks.

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

use crate::mpi::collective::selection::Selection;
use hierarchical::{Nodes, costs};

use crate::offload::{Buffer, Region, Schedule};

/// What an algorithm may know of a communicator; the same on all its ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Shape {
    /// How many ranks it has, at least 1.
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

    /// How many doublings from 1 reach all ranks.
    pub(crate) fn doublings(self) -> u32 {
        self.ranks.next_power_of_two().trailing_zeros()
    }
}

/// What an algorithm may know of an intercommunicator; the same on all its ranks.
///
/// Its schedules run among the members of both groups: ranks below `sizes[0]` are side 0, in the
/// order of their group, the others side 1. So the rank tells the side.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct InterShape {
    /// How many ranks each side has, at least 1.
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
    /// Who has it.
    pub root: u32,
}

/// Arguments of `MPI_Gather` and `MPI_Scatter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Rooted {
    /// Length of one rank's block.
    pub block: usize,
    /// Who has all of them.
    pub root: u32,
    /// Whether the root's own block stays where it is; only the root reads this.
    pub in_place: bool,
}

/// Arguments of `MPI_Gatherv` and `MPI_Scatterv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RootedBlocks<'a> {
    /// Length of this rank's block; not read at the root.
    pub own: usize,
    /// Length of each rank's block, the root's own included; read at the root only.
    pub blocks: &'a [usize],
    /// Who has all of them.
    pub root: u32,
    /// Whether the root's own block stays where it is; only the root reads this.
    pub in_place: bool,
}

/// Arguments of `MPI_Allgather` and `MPI_Alltoall`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct UniformBlocks {
    /// Length of one block.
    pub block: usize,
    /// Whether the receive buffer holds what is to be sent; the same on all ranks.
    pub in_place: bool,
}

/// Arguments of `MPI_Allgatherv`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RankBlocks<'a> {
    /// Length of each rank's block; the same on all ranks.
    pub blocks: &'a [usize],
    /// Whether the own block is in the receive buffer already.
    pub in_place: bool,
}

/// Arguments of `MPI_Alltoallv` and `MPI_Alltoallw`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct BlockPairs<'a> {
    /// Length of the block to each rank; not read if in place.
    pub send: &'a [usize],
    /// Length of the block from each rank.
    pub receive: &'a [usize],
    /// Whether the receive blocks hold what is to be sent; the same on all ranks.
    pub in_place: bool,
}

/// Arguments of `MPI_Reduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Reduce {
    /// What is combined.
    pub operands: Operands,
    /// Who gets the result.
    pub root: u32,
    /// Whether the root's operand is in its receive buffer; only the root reads this.
    pub in_place: bool,
}

/// Arguments of `MPI_Allreduce`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Allreduce {
    /// What is combined.
    pub operands: Operands,
    /// Whether this rank's operand is in its receive buffer.
    pub in_place: bool,
}

/// Arguments of `MPI_Scan` and `MPI_Exscan`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Scan {
    /// What is combined.
    pub operands: Operands,
    /// Whether this rank's operand is in its receive buffer.
    pub in_place: bool,
}

impl Scan {
    /// Where this rank's operand is.
    fn input(&self) -> Region {
        input_buffer(self.in_place).region(0, self.operands.bytes)
    }
}

/// Arguments of `MPI_Reduce_scatter_block`.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ReduceScatterBlock {
    /// What is combined for one rank.
    pub block: Operands,
    /// Whether the operands of this rank are in its receive buffer.
    pub in_place: bool,
}

/// Arguments of `MPI_Reduce_scatter`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct ReduceScatter<'a> {
    /// Length of each rank's block, a multiple of the element; the same on all ranks.
    pub blocks: &'a [usize],
    /// Whether the operands may be combined in another order than that of their ranks.
    pub commutative: bool,
    /// Whether the operands of this rank are in its receive buffer.
    pub in_place: bool,
}

impl ReduceScatter<'_> {
    /// These bytes of this rank's operands.
    fn input(&self, start: usize, len: usize) -> Region {
        input_buffer(self.in_place).region(start, len)
    }
}

/// Where a rank's operand is.
fn input_buffer(in_place: bool) -> Buffer {
    if in_place { RECEIVE } else { SEND }
}

/// Where each block begins if they follow one another.
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
    /// Length of one element, which the operation never sees in parts; at least 1.
    pub element: usize,
    /// Whether the operands may be combined in another order than that of their ranks.
    pub commutative: bool,
}

/// A collective operation whose schedules may be kept for the next call with the same arguments.
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
    /// The part of `rank` in this operation, by the algorithm that is chosen.
    pub fn schedule(self, by: &Selection, shape: Shape, rank: u32) -> Schedule {
        match self {
            Self::Barrier => {
                by.schedule(&crate::mpi::collective::selection::registry::BARRIER, shape, rank, ())
            }
            Self::Bcast(args) => {
                by.schedule(&crate::mpi::collective::selection::registry::BCAST, shape, rank, args)
            }
            Self::Gather(args) => {
                by.schedule(&crate::mpi::collective::selection::registry::GATHER, shape, rank, args)
            }
            Self::Scatter(args) => by.schedule(
                &crate::mpi::collective::selection::registry::SCATTER,
                shape,
                rank,
                args,
            ),
            Self::Allgather(args) => by.schedule(
                &crate::mpi::collective::selection::registry::ALLGATHER,
                shape,
                rank,
                args,
            ),
            Self::Alltoall(args) => by.schedule(
                &crate::mpi::collective::selection::registry::ALLTOALL,
                shape,
                rank,
                args,
            ),
            Self::Reduce(args) => {
                by.schedule(&crate::mpi::collective::selection::registry::REDUCE, shape, rank, args)
            }
            Self::Allreduce(args) => by.schedule(
                &crate::mpi::collective::selection::registry::ALLREDUCE,
                shape,
                rank,
                args,
            ),
            Self::ReduceScatterBlock(ReduceScatterBlock { block, in_place }) => {
                let blocks = &vec![block.bytes; shape.ranks as usize];
                let commutative = block.commutative;
                reduce_scatter(by, shape, rank, ReduceScatter { blocks, commutative, in_place })
            }
            Self::Scan(args) => {
                by.schedule(&crate::mpi::collective::selection::registry::SCAN, shape, rank, args)
            }
            Self::Exscan(args) => {
                by.schedule(&crate::mpi::collective::selection::registry::EXSCAN, shape, rank, args)
            }
        }
    }

    /// [`Collective::schedule`] where the ranks are on several nodes. Operations that have no form
    /// in two levels are done as on one node.
    pub fn schedule_on_nodes(self, by: &Selection, nodes: &Nodes, rank: u32) -> Schedule {
        match self {
            Self::Barrier => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::BARRIER,
                &costs::BARRIER,
                nodes,
                rank,
                (),
            ),
            Self::Bcast(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::BCAST,
                &costs::BCAST,
                nodes,
                rank,
                args,
            ),
            Self::Gather(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::GATHER,
                &costs::GATHER,
                nodes,
                rank,
                args,
            ),
            Self::Scatter(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::SCATTER,
                &costs::SCATTER,
                nodes,
                rank,
                args,
            ),
            Self::Allgather(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::ALLGATHER,
                &costs::ALLGATHER,
                nodes,
                rank,
                args,
            ),
            Self::Alltoall(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::ALLTOALL,
                &costs::ALLTOALL,
                nodes,
                rank,
                args,
            ),
            Self::Reduce(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::REDUCE,
                &costs::REDUCE,
                nodes,
                rank,
                args,
            ),
            Self::Allreduce(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::ALLREDUCE,
                &costs::ALLREDUCE,
                nodes,
                rank,
                args,
            ),
            Self::Scan(args) => by.schedule_on_nodes(
                &crate::mpi::collective::selection::registry::SCAN,
                &costs::SCAN,
                nodes,
                rank,
                args,
            ),
            Self::ReduceScatterBlock(_) | Self::Exscan(_) => {
                self.schedule(by, Shape { ranks: nodes.size() }, rank)
            }
        }
    }
}

/// The part of `rank` in an `MPI_Gatherv`, by the algorithm that is chosen.
pub fn gatherv(by: &Selection, shape: Shape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    by.schedule(&crate::mpi::collective::selection::registry::GATHERV, shape, rank, args)
}

/// The part of `rank` in an `MPI_Scatterv`, by the algorithm that is chosen.
pub fn scatterv(by: &Selection, shape: Shape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    by.schedule(&crate::mpi::collective::selection::registry::SCATTERV, shape, rank, args)
}

/// The part of `rank` in an `MPI_Allgatherv`, by the algorithm that is chosen.
pub fn allgatherv(by: &Selection, shape: Shape, rank: u32, args: RankBlocks<'_>) -> Schedule {
    by.schedule(&crate::mpi::collective::selection::registry::ALLGATHERV, shape, rank, args)
}

/// The part of `rank` in an `MPI_Alltoallv` or `MPI_Alltoallw`, by the algorithm that is
/// chosen.
pub fn alltoallv(by: &Selection, shape: Shape, rank: u32, args: BlockPairs<'_>) -> Schedule {
    by.schedule(&crate::mpi::collective::selection::registry::ALLTOALLV, shape, rank, args)
}

/// The part of `rank` in an `MPI_Reduce_scatter`, by the algorithm that is chosen.
pub fn reduce_scatter(
    by: &Selection, shape: Shape, rank: u32, args: ReduceScatter<'_>,
) -> Schedule {
    by.schedule(&crate::mpi::collective::selection::registry::REDUCE_SCATTER, shape, rank, args)
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
