//! Allgather and allgatherv along a ring: each rank forwards the block that it received last.
//!
//! Cost: n - 1 rounds; a rank sends and receives every block except one, once.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{
    RECEIVE, RankBlocks, SEND, Shape, UniformBlocks, block_buffer,
};
use crate::offload::{Region, Schedule, ScheduleBuilder};

pub(crate) const ALLGATHER: Algorithm<UniformBlocks> = Algorithm {
    name: "ring",
    about: "each rank passes on to the next the block that it got last",
    fits,
    cost: |shape, args| cost(shape, args.block, args.in_place),
    schedule,
    segmented: None,
};

pub(crate) const ALLGATHERV: Algorithm<RankBlocks> = Algorithm {
    name: "ring",
    about: "each rank passes on to the next the block that it got last",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args.blocks.iter().copied().max().unwrap_or(0), args.in_place),
    schedule: allgatherv,
    segmented: None,
};

/// A round number has 16 bits.
fn fits(shape: Shape, _: UniformBlocks) -> bool {
    shape.ranks <= 1 << 16
}

fn cost(shape: Shape, longest_block: usize, in_place: bool) -> Cost {
    if longest_block == 0 {
        return Cost::ZERO;
    }
    let (others, block) = (u64::from(shape.ranks - 1), longest_block as u64);
    Cost {
        rounds: others,
        messages: others,
        bytes: others * block,
        copied: if in_place { 0 } else { block },
        ..Cost::ZERO
    }
}

/// Schedule of `rank` in an allgather.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    let block = args.block;
    ring(shape, rank, args.in_place, |of| RECEIVE.region(of as usize * block, block))
}

/// Schedule of `rank` in an allgatherv; empty blocks are not sent.
pub(crate) fn allgatherv(shape: Shape, rank: u32, args: RankBlocks<'_>) -> Schedule {
    ring(shape, rank, args.in_place, |of| block_buffer(of).region(0, args.blocks[of as usize]))
}

fn ring(shape: Shape, rank: u32, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let (previous, next) = (shape.before(rank, 1), shape.after(rank, 1));
    let received: Vec<_> = (1..shape.ranks)
        .map(|round| {
            let block = block(shape.before(rank, round));
            (block.len > 0).then(|| plan.receive(previous, block, round, &[]))
        })
        .collect();
    let own = block(rank);
    let input = if in_place { own } else { SEND.region(0, own.len) };
    if shape.ranks > 1 && own.len > 0 {
        plan.send(next, input, 1, &[]);
    }
    for (step, round) in received.iter().zip(2..shape.ranks) {
        if let Some(step) = step {
            plan.send(next, block(shape.before(rank, round - 1)), round, &[*step]);
        }
    }
    if !in_place && own.len > 0 {
        plan.copy(input, own, &[]);
    }
    plan.finish()
}
