//! Gather and gatherv: every rank sends its block directly to the root.
//!
//! Cost: 1 round; the root receives n - 1 blocks.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{
    RECEIVE, Rooted, RootedBlocks, SEND, Shape, block_buffer,
};
use crate::offload::{Region, Schedule, ScheduleBuilder};

pub(crate) const GATHER: Algorithm<Rooted> = Algorithm {
    name: "linear",
    about: "every rank sends its block to the root",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

pub(crate) const GATHERV: Algorithm<RootedBlocks> = Algorithm {
    name: "linear",
    about: "every rank sends its block to the root",
    fits: |_, _| true,
    cost: |shape, args| cost_of_all_peers(shape, args.blocks.iter().sum()),
    schedule: gatherv,
    segmented: None,
};

fn cost(shape: Shape, args: Rooted) -> Cost {
    let Rooted { block, in_place, .. } = args;
    if block == 0 {
        return Cost::ZERO;
    }
    let copied = if in_place { 0 } else { block as u64 };
    Cost { copied, ..cost_of_all_peers(shape, block * (shape.ranks as usize - 1)) }
}

/// Cost of the exchange of `bytes` bytes between one rank and all others in one round.
pub(crate) fn cost_of_all_peers(shape: Shape, bytes: usize) -> Cost {
    let others = u64::from(shape.ranks - 1);
    Cost { rounds: others.min(1), messages: others, bytes: bytes as u64, ..Cost::ZERO }
}

/// Schedule of `rank` in a gather.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Rooted) -> Schedule {
    let Rooted { block, root, in_place } = args;
    if rank == root {
        receive(shape, root, in_place, |from| RECEIVE.region(from as usize * block, block))
    } else {
        send(root, block)
    }
}

/// Schedule of `rank` in a gatherv; empty blocks are not sent.
pub(crate) fn gatherv(shape: Shape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    let RootedBlocks { own, blocks, root, in_place } = args;
    if rank == root {
        receive(shape, root, in_place, |from| block_buffer(from).region(0, blocks[from as usize]))
    } else {
        send(root, own)
    }
}

fn send(root: u32, block: usize) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    if block > 0 {
        plan.send(root, SEND.region(0, block), 1, &[]);
    }
    plan.finish()
}

fn receive(shape: Shape, root: u32, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let others = (1..shape.ranks).map(|steps| shape.after(root, steps));
    for (from, block) in others.map(|from| (from, block(from))).filter(|(_, block)| block.len > 0) {
        plan.receive(from, block, 1, &[]);
    }
    let own = block(root);
    if !in_place && own.len > 0 {
        plan.copy(SEND.region(0, own.len), own, &[]);
    }
    plan.finish()
}
