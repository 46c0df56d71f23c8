//! Allgather by dissemination: the number of blocks that a rank has doubles in each round.
//!
//! A rank collects the blocks of the ranks from itself onwards in scratch memory, and turns them
//! into the right order at the end. Bruck et al., "Efficient algorithms for all-to-all
//! communications in multiport message-passing systems", IEEE TPDS 8(11), 1997, section 4.
//!
//! Cost: ceil(log2 n) rounds; a rank sends and receives n - 1 blocks, and copies n + 1.

use super::algorithm::{Algorithm, Cost};
use super::{Exchange, RECEIVE, SEND, Shape};
use crate::offload::{Builder, Schedule, StepId};

/// See the module's text.
pub const ALGORITHM: Algorithm<Exchange> = Algorithm {
    name: "bruck",
    about: "the number of blocks that a rank has doubles in each round",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Exchange) -> Cost {
    if args.block == 0 {
        return Cost::NOTHING;
    }
    let (ranks, block) = (u64::from(shape.ranks), args.block as u64);
    let rounds = shape.doublings().into();
    Cost {
        rounds,
        messages: rounds,
        bytes: (ranks - 1) * block,
        copied: (ranks + 1) * block,
        ..Cost::NOTHING
    }
}

/// The part of `rank`.
pub fn schedule(shape: Shape, rank: u32, args: Exchange) -> Schedule {
    let mut plan = Builder::new();
    let block = args.block;
    if block == 0 {
        return plan.finish();
    }
    let ranks = shape.ranks as usize;
    let turned = plan.scratch(ranks * block);
    let blocks = |first: usize, count: usize| turned.region(first * block, count * block);

    let mut have: Vec<StepId> = Vec::new();
    for (bit, round) in (0..shape.doublings()).zip(1..) {
        let held = 1 << bit;
        let from = shape.after(rank, held as u32);
        have.push(plan.receive(from, blocks(held, held.min(ranks - held)), round, &[]));
    }
    let own = match args.in_place {
        true => RECEIVE.region(rank as usize * block, block),
        false => SEND.region(0, block),
    };
    have.insert(0, plan.copy(own, blocks(0, 1), &[]));
    for (bit, round) in (0..shape.doublings()).zip(1..) {
        let held = 1 << bit;
        let to = shape.before(rank, held as u32);
        let after = &have[..=bit as usize];
        plan.send(to, blocks(0, held.min(ranks - held)), round, after);
    }
    let upper = ranks - rank as usize;
    let receive = |first: usize, count: usize| RECEIVE.region(first * block, count * block);
    plan.copy(blocks(0, upper), receive(rank as usize, upper), &have);
    if rank > 0 {
        plan.copy(blocks(upper, rank as usize), receive(0, rank as usize), &have);
    }
    plan.finish()
}
