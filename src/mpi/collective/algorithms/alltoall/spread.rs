//! Alltoall, alltoallv and alltoallw in one round: all receives and all sends are active together.
//!
//! Each rank sends to the next rank first, so that ranks do not all send to one rank at a time.
//! This is `alltoall::pairwise` with a window as wide as the communicator.
//!
//! Cost: 1 round; a rank sends n - 1 blocks, and in place first copies all n.

use crate::mpi::collective::algorithms::algorithm::Algorithm;
use crate::mpi::collective::algorithms::alltoall::pairwise::{
    cost, windowed, windowed_blocks, windowed_cost,
};
use crate::mpi::collective::algorithms::{BlockPairs, Shape, UniformBlocks};
use crate::offload::Schedule;

pub(crate) const ALLTOALL: Algorithm<UniformBlocks> = Algorithm {
    name: "spread",
    about: "all receives and all sends are under way together",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args, shape.ranks),
    schedule,
    segmented: None,
};

pub(crate) const ALLTOALLV: Algorithm<BlockPairs> = Algorithm {
    name: "spread",
    about: "all receives and all sends are under way together",
    fits: |_, _| true,
    cost: |shape, _| windowed_cost(shape, shape.ranks),
    schedule: alltoallv,
    segmented: None,
};

/// Schedule of `rank` in an alltoall.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    windowed(shape, rank, args, shape.ranks)
}

/// Schedule of `rank` in an alltoallv or alltoallw; empty blocks are not sent.
pub(crate) fn alltoallv(shape: Shape, rank: u32, args: BlockPairs<'_>) -> Schedule {
    windowed_blocks(shape, rank, args, shape.ranks)
}
