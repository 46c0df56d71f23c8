//! Allgather and allgatherv in one round: each rank sends its block to every other rank.
//!
//! Each rank sends to the next rank first, so that ranks do not all send to one rank at a time.
//!
//! Cost: 1 round; a rank sends its block n - 1 times, and receives n - 1 blocks.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{
    RECEIVE, RankBlocks, SEND, Shape, UniformBlocks, block_buffer,
};
use crate::offload::{Region, Schedule, ScheduleBuilder};

pub(crate) const ALLGATHER: Algorithm<UniformBlocks> = Algorithm {
    name: "linear",
    about: "each rank sends its block to every other",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args.block, args.in_place),
    schedule,
    segmented: None,
};

pub(crate) const ALLGATHERV: Algorithm<RankBlocks> = Algorithm {
    name: "linear",
    about: "each rank sends its block to every other",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args.blocks.iter().copied().max().unwrap_or(0), args.in_place),
    schedule: allgatherv,
    segmented: None,
};

fn cost(shape: Shape, longest_block: usize, in_place: bool) -> Cost {
    if longest_block == 0 {
        return Cost::ZERO;
    }
    let (others, block) = (u64::from(shape.ranks - 1), longest_block as u64);
    let copied = if in_place { 0 } else { block };
    Cost { rounds: others.min(1), messages: others, bytes: others * block, copied, ..Cost::ZERO }
}

/// Schedule of `rank` in an allgather.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    let block = args.block;
    exchange(shape, rank, args.in_place, |of| RECEIVE.region(of as usize * block, block))
}

/// Schedule of `rank` in an allgatherv; empty blocks are not sent.
pub(crate) fn allgatherv(shape: Shape, rank: u32, args: RankBlocks<'_>) -> Schedule {
    exchange(shape, rank, args.in_place, |of| block_buffer(of).region(0, args.blocks[of as usize]))
}

fn exchange(shape: Shape, rank: u32, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let others = || 1..shape.ranks;
    for from in others().map(|steps| shape.before(rank, steps)) {
        if block(from).len > 0 {
            plan.receive(from, block(from), 1, &[]);
        }
    }
    let own = block(rank);
    let input = if in_place { own } else { SEND.region(0, own.len) };
    if own.len == 0 {
        return plan.finish();
    }
    for to in others().map(|steps| shape.after(rank, steps)) {
        plan.send(to, input, 1, &[]);
    }
    if !in_place {
        plan.copy(input, own, &[]);
    }
    plan.finish()
}
