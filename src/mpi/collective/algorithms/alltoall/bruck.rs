//! Alltoall in a logarithmic number of rounds, for short blocks.
//!
//! A block that has to move `d` ranks travels in the rounds of the bits of `d`: in round `k` a rank
//! sends all blocks whose `d` has bit `k`, as one message, to the rank `2^k` after it.
//!
//! ```text
//!   d            1   2   3   4   5   6   7
//!   round 1      x       x       x       x     to the next rank
//!   round 2          x   x           x   x     to the second next
//!   round 3                  x   x   x   x     to the fourth next
//! ```
//!
//! Bruck et al., "Efficient algorithms for all-to-all communications in multiport message-passing
//! systems", IEEE TPDS 8(11), 1997, section 3, for one port. There is no initial rotation of the
//! blocks, and a block stays where it arrived until it is forwarded.
//!
//! Cost: ceil(log2 n) rounds; a rank sends up to n / 2 blocks in each round, copies each of those
//! blocks once, and copies all blocks at the end.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, SEND, Shape, UniformBlocks};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<UniformBlocks> = Algorithm {
    name: "bruck",
    about: "blocks travel by the bits of how many ranks they have to go",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: UniformBlocks) -> Cost {
    let UniformBlocks { block, in_place } = args;
    if block == 0 {
        return Cost::ZERO;
    }
    let rounds = shape.doublings();
    let travel: u64 = (0..rounds).map(|bit| u64::from(blocks_sent(shape, bit))).sum();
    let arrive = u64::from(shape.ranks - u32::from(in_place));
    Cost {
        rounds: rounds.into(),
        messages: rounds.into(),
        bytes: travel * block as u64,
        copied: (travel + arrive) * block as u64,
        ..Cost::ZERO
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    let UniformBlocks { block, in_place } = args;
    let mut plan = ScheduleBuilder::new();
    if block == 0 {
        return plan.finish();
    }
    let input = if in_place { RECEIVE } else { SEND };
    let at = |buffer: Buffer, of: u32| buffer.region(of as usize * block, block);

    let rounds: Vec<BruckRound> = (0..shape.doublings())
        .map(|bit| BruckRound::new(&mut plan, shape, rank, bit, block))
        .collect();
    let mut here: Vec<BlockLocation> = (0..shape.ranks)
        .map(|distance| BlockLocation {
            block: at(input, shape.after(rank, distance)),
            arrived: None,
        })
        .collect();
    // The step that reads each block of the input.
    let mut taken: Vec<Option<StepId>> = vec![None; shape.ranks as usize];
    for (bit, round) in (0..).zip(&rounds) {
        let mut packed = Vec::new();
        for (slot, distance) in (0..).zip(distances_sent(shape, bit)) {
            let BlockLocation { block, arrived } = here[distance as usize];
            let copied = plan.copy(block, at(round.out, slot), arrived.as_slice());
            if arrived.is_none() {
                taken[shape.after(rank, distance) as usize] = Some(copied);
            }
            here[distance as usize] =
                BlockLocation { block: at(round.into, slot), arrived: Some(round.received) };
            packed.push(copied);
        }
        let out = round.out.region(0, packed.len() * block);
        plan.send(shape.after(rank, 1 << bit), out, bit + 1, &packed);
    }
    for (distance, BlockLocation { block, arrived }) in (0..).zip(here) {
        let from = shape.before(rank, distance);
        // In place, the previous block of this location must have been read.
        let gone = taken[from as usize].filter(|_| in_place);
        let after: Vec<StepId> = arrived.into_iter().chain(gone).collect();
        if distance > 0 || !in_place {
            plan.copy(block, at(RECEIVE, from), &after);
        }
    }
    plan.finish()
}

/// Location of a forwarded block.
struct BlockLocation {
    block: Region,
    /// The receive of the block; `None` for an own block.
    arrived: Option<StepId>,
}

/// The messages of a round.
struct BruckRound {
    out: Buffer,
    into: Buffer,
    received: StepId,
}

impl BruckRound {
    /// Allocates memory for the blocks of a round, and posts their receive.
    fn new(plan: &mut ScheduleBuilder, shape: Shape, rank: u32, bit: u32, block: usize) -> Self {
        let bytes = blocks_sent(shape, bit) as usize * block;
        let (out, into) = (plan.scratch(bytes), plan.scratch(bytes));
        let from = shape.before(rank, 1 << bit);
        Self { out, into, received: plan.receive(from, into.region(0, bytes), bit + 1, &[]) }
    }
}

/// Number of distances that have this bit.
fn blocks_sent(shape: Shape, bit: u32) -> u32 {
    let (ranks, run) = (u64::from(shape.ranks), 1u64 << bit);
    (ranks / (2 * run) * run + (ranks % (2 * run)).saturating_sub(run)) as u32
}

/// The distances that have this bit.
fn distances_sent(shape: Shape, bit: u32) -> impl Iterator<Item = u32> {
    (0..shape.ranks).filter(move |distance| distance >> bit & 1 == 1)
}
