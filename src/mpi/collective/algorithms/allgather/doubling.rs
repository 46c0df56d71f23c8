//! Allgather by recursive doubling: in each round partners exchange all blocks that they have.
//! Blocks are in their final location from the start.
//!
//! A place stands for adjacent ranks as in `butterfly`, so any number of ranks can take part. Ranks
//! beyond a power of two send their block before the first round, and receive all blocks after the
//! last.
//!
//! Cost: log2 n rounds if n is a power of two, otherwise floor(log2 n) + 2. A rank sends n - 1
//! blocks, and n more if it acts for another rank.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyRole, places, rank_at, rounds_before,
};
use crate::mpi::collective::algorithms::{RECEIVE, SEND, Shape, UniformBlocks};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<UniformBlocks> = Algorithm {
    name: "doubling",
    about: "partners at distance 1, 2, 4, ... exchange all blocks they have",
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
    let bits = places(shape).ilog2();
    let folding = u64::from(rounds_before(shape));
    // No place stands for more ranks than the first.
    let exchanged: u64 = (0..bits).map(|bit| u64::from(rank_at(shape, 1 << bit))).sum();
    let blocks = exchanged + folding * (1 + u64::from(shape.ranks));
    Cost {
        rounds: u64::from(bits) + 2 * folding,
        messages: u64::from(bits) + folding,
        bytes: blocks * block as u64,
        copied: if in_place { 0 } else { block as u64 },
        ..Cost::ZERO
    }
}

/// Schedule of `rank`.
pub fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    let UniformBlocks { block, in_place } = args;
    let mut plan = ScheduleBuilder::new();
    if block == 0 {
        return plan.finish();
    }
    let bits = places(shape).ilog2();
    let first_round = rounds_before(shape) + 1;
    let last = first_round + bits;
    let own = RECEIVE.region(rank as usize * block, block);
    let input = if in_place { own } else { SEND.region(0, block) };
    let all = RECEIVE.region(0, shape.ranks as usize * block);
    let (place, absorbs) = match ButterflyRole::of(shape, rank) {
        ButterflyRole::Place { place, absorbs } => (place, absorbs),
        ButterflyRole::Absorbed { by } => {
            let sent = plan.send(by, input, 1, &[]);
            // In place, the own block is overwritten with itself, so the send must have completed.
            let after = Some(sent).filter(|_| in_place);
            plan.receive(by, all, last, after.as_slice());
            return plan.finish();
        }
    };
    let mut have: Vec<StepId> = Vec::new();
    if let Some(other) = absorbs {
        let region = RECEIVE.region(other as usize * block, block);
        have.push(plan.receive(other, region, 1, &[]));
    }
    let partners: Vec<(u32, u32)> =
        (0..bits).map(|bit| (place ^ 1 << bit, first_round + bit)).collect();
    let mut received = Vec::new();
    for (bit, (partner, round)) in (0..).zip(&partners) {
        let region = blocks_before_round(shape, *partner, bit, block);
        received.push(plan.receive(rank_at(shape, *partner), region, *round, &[]));
    }
    if !in_place {
        have.push(plan.copy(input, own, &[]));
    }
    for ((bit, (partner, round)), received) in (0..).zip(&partners).zip(received) {
        plan.send(
            rank_at(shape, *partner),
            blocks_before_round(shape, place, bit, block),
            *round,
            &have,
        );
        have.push(received);
    }
    if let Some(other) = absorbs {
        plan.send(other, all, last, &have);
    }
    plan.finish()
}

/// The blocks of a place before the round of a bit.
fn blocks_before_round(shape: Shape, place: u32, bit: u32, block: usize) -> Region {
    let first = place >> bit << bit;
    let start = |place: u32| match place < places(shape) {
        true => rank_at(shape, place) as usize * block,
        false => shape.ranks as usize * block,
    };
    let begin = start(first);
    RECEIVE.region(begin, start(first + (1 << bit)) - begin)
}
