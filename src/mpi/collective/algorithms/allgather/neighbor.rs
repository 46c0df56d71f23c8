//! Allgather by neighbor exchange, for an even number of ranks. Each rank exchanges blocks with its
//! two neighbors alternately: first its own block, then the two blocks received last.
//!
//! ```text
//!   ranks        0   1   2   3   4   5
//!   round 1      └───┘   └───┘   └───┘      1 block
//!   round 2      ┘   └───┘   └───┘   └      2 blocks, from here on
//!   round 3      └───┘   └───┘   └───┘
//! ```
//!
//! Chen, Zhang, Zhang and Yuan, "Performance evaluation of allgather algorithms on terascale Linux
//! cluster with fast Ethernet", HPC-Asia 2005.
//!
//! Cost: n / 2 rounds, half as many as a ring; a rank sends and receives n - 1 blocks.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, SEND, Shape, UniformBlocks};
use crate::offload::{Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<UniformBlocks> = Algorithm {
    name: "neighbor",
    about: "each rank exchanges blocks with its two neighbors in turns",
    // A round number has 16 bits.
    fits: |shape, _| shape.ranks.is_multiple_of(2) && shape.ranks <= 1 << 16,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: UniformBlocks) -> Cost {
    let UniformBlocks { block, in_place } = args;
    if block == 0 {
        return Cost::ZERO;
    }
    let rounds = u64::from(shape.ranks / 2);
    Cost {
        rounds,
        messages: rounds,
        bytes: u64::from(shape.ranks - 1) * block as u64,
        copied: if in_place { 0 } else { block as u64 },
        ..Cost::ZERO
    }
}

/// Schedule of `rank`.
///
/// # Panics
/// If the number of ranks is odd.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    assert!(shape.ranks.is_multiple_of(2));
    let UniformBlocks { block, in_place } = args;
    let mut plan = ScheduleBuilder::new();
    if block == 0 {
        return plan.finish();
    }
    let blocks = |first: u32, count: usize| RECEIVE.region(first as usize * block, count * block);
    let is_even = rank.is_multiple_of(2);
    let (before, after) = (shape.before(rank, 1), shape.after(rank, 1));
    // Even ranks begin with the next rank, odd ranks with the previous rank.
    let neighbor = |round: u32| if is_even == (round % 2 == 1) { after } else { before };

    let partner = neighbor(1);
    let mut received = vec![plan.receive(partner, blocks(partner, 1), 1, &[])];
    let pairs: Vec<u32> = (1..=shape.ranks / 2).map(|round| pair(shape, rank, round)).collect();
    for (round, first) in (1..).zip(&pairs).skip(1) {
        received.push(plan.receive(neighbor(round), blocks(*first, 2), round, &[]));
    }
    let input = if in_place { blocks(rank, 1) } else { SEND.region(0, block) };
    plan.send(partner, input, 1, &[]);
    let copied = (!in_place).then(|| plan.copy(input, blocks(rank, 1), &[]));
    for (round, (first, got)) in (2..).zip(pairs.iter().zip(&received)).take(pairs.len() - 1) {
        let own = copied.filter(|_| round == 2);
        let ready: Vec<StepId> = own.into_iter().chain([*got]).collect();
        plan.send(neighbor(round), blocks(*first, 2), round, &ready);
    }
    plan.finish()
}

/// The first of the two ranks whose blocks `rank` has from `round` on: its own pair in round 1,
/// then alternately the pairs before and after it, at increasing distance.
fn pair(shape: Shape, rank: u32, round: u32) -> u32 {
    let own = rank - rank % 2;
    let distance = round / 2 * 2;
    // In round 2, even ranks have received the pair before them, odd ranks the pair after them.
    if rank.is_multiple_of(2) == round.is_multiple_of(2) {
        shape.before(own, distance)
    } else {
        shape.after(own, distance)
    }
}
