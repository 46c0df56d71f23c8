//! Reduce-scatter along a ring, for commutative operations: the partial result of a block passes
//! through all ranks, which add their operands, and ends at the block's rank.
//!
//! In round `t` a rank sends to the next rank the partial result for the block of the rank `t`
//! before it. The operands of a block are combined in ring order, beginning with the rank after the
//! block's own.
//!
//! Cost: n - 1 rounds; a rank sends every block except its own, and receives and reduces every
//! block except that of the rank before it. It copies its block if in place.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, ReduceScatter, Shape, block_offsets};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<ReduceScatter> = Algorithm {
    name: "ring",
    about: "blocks travel around a ring, and each rank adds its operand",
    // A round number has 16 bits.
    fits: |shape, args| args.commutative && shape.ranks <= 1 << 16,
    cost,
    schedule,
    segmented: None,
};

/// Number of partial results that may arrive before the first is forwarded.
const WINDOW: usize = 4;

fn cost(shape: Shape, args: ReduceScatter<'_>) -> Cost {
    let longest = args.blocks.iter().copied().max().unwrap_or(0) as u64;
    if longest == 0 || shape.ranks == 1 {
        return Cost::of_copy(if args.in_place { 0 } else { longest });
    }
    let others = u64::from(shape.ranks - 1);
    Cost {
        rounds: others,
        messages: others,
        bytes: others * longest,
        reduced: others * longest,
        copied: if args.in_place { longest } else { 0 },
    }
}

/// Schedule of `rank`; empty blocks are not sent.
pub(crate) fn schedule(shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
    let ReduceScatter { blocks, in_place, .. } = args;
    let own = blocks[rank as usize];
    if shape.ranks == 1 {
        return crate::mpi::collective::algorithms::building_blocks::butterfly::local_copy(
            own, in_place,
        );
    }
    let mut plan = ScheduleBuilder::new();
    let (previous, next) = (shape.before(rank, 1), shape.after(rank, 1));
    let starts: Vec<usize> = block_offsets(blocks).collect();
    let input = |of: u32| args.input(starts[of as usize], blocks[of as usize]);
    let longest = blocks.iter().copied().max().unwrap_or(0);
    // Alternating receive buffers, each with the send after which the next receive may start.
    let mut turns: Vec<_> = (0..WINDOW).map(|_| (plan.scratch(longest), None)).collect();
    let mut held: (Region, Option<StepId>) = (input(previous), None);
    let mut steps: Vec<StepId> = Vec::new();
    for round in 1..shape.ranks {
        let mine = input(shape.after(rank, shape.ranks - 1 - round));
        let (buffer, free) = turns[round as usize % WINDOW];
        let (arrival, free) = match round + 1 == shape.ranks && !in_place {
            true => (RECEIVE.region(0, own), None),
            false => (buffer.region(0, mine.len), free),
        };
        let arrived =
            (mine.len > 0).then(|| plan.receive(previous, arrival, round, free.as_slice()));
        let (part, ready) = held;
        let sent = (part.len > 0).then(|| plan.send(next, part, round, ready.as_slice()));
        if let Some(turn) = turns.iter_mut().find(|turn| turn.0 == part.buffer) {
            turn.1 = sent.or(turn.1);
        }
        let reduced = arrived.map(|arrived| plan.reduce(mine, arrival, &[arrived]));
        steps.extend(sent.into_iter().chain(reduced));
        held = (arrival, reduced);
    }
    if in_place && own > 0 {
        // The result replaces other operands, so all earlier steps must have completed.
        plan.copy(held.0, RECEIVE.region(0, own), &steps);
    }
    plan.finish()
}
