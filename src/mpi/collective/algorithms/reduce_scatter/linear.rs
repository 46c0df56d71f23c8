//! Reduce-scatter through rank 0, which combines all operands (`reduce::linear`) and sends each
//! rank its block (`scatter::linear`).
//!
//! Cost: ceil((n - 1) / 7) + 1 rounds; rank 0 receives and reduces all blocks n - 1 times, and
//! sends all blocks except one.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::reduce;
use crate::mpi::collective::algorithms::scatter;
use crate::mpi::collective::algorithms::{
    Operands, RECEIVE, Reduce, ReduceScatter, RootedBlocks, Shape, block_offsets,
};
use crate::offload::Schedule;

pub(crate) const ALGORITHM: Algorithm<ReduceScatter> = Algorithm {
    name: "linear",
    about: "rank 0 combines all operands and sends every rank its block",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: ReduceScatter<'_>) -> Cost {
    let longest = args.blocks.iter().copied().max().unwrap_or(0) as u64;
    let total: u64 = args.blocks.iter().map(|block| *block as u64).sum();
    if total == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(total, args.in_place);
    }
    let others = u64::from(shape.ranks - 1);
    let rounds = u64::from(reduce::linear::rounds(shape));
    Cost {
        rounds: rounds + 1,
        messages: others,
        bytes: (others * total).max(rounds * total + longest),
        reduced: others * total,
        copied: longest,
    }
}

/// Schedule of `rank`; empty blocks are not sent.
pub(crate) fn schedule(shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
    let ReduceScatter { blocks, commutative, in_place } = args;
    let total: usize = blocks.iter().sum();
    let own = blocks[rank as usize];
    if total == 0 || shape.ranks == 1 {
        return butterfly::local_copy(own, in_place);
    }
    let mut phases = Phases::default();
    let sum = phases.scratch(if rank == 0 { total } else { 0 });
    // Blocks are whole elements, and are not divided here.
    let operands = Operands { bytes: total, element: 1, commutative };
    let reduce = Reduce { operands, root: 0, in_place: false };
    let reduced = reduce::linear::schedule(shape, rank, reduce);
    let buffers = [args.input(0, total), sum];
    let at = |entry: u32| buffers[entry as usize];
    let rounds = reduce::linear::rounds(shape);
    phases.then(&reduced, rounds, &PhasePlacement { member: &|rank| rank, buffer: &at });
    let scatter = RootedBlocks { own, blocks, root: 0, in_place: false };
    let scattered = scatter::linear::scatterv(shape, rank, scatter);
    let starts: Vec<usize> = block_offsets(blocks).collect();
    let at = |entry: u32| match entry.checked_sub(1) {
        None => RECEIVE.region(0, own),
        Some(of) => sum.buffer.region(starts[of as usize], blocks[of as usize]),
    };
    phases.then(&scattered, 1, &PhasePlacement { member: &|rank| rank, buffer: &at });
    phases.finish()
}
