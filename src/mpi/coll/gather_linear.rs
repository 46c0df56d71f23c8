//! Gather and gatherv: every rank sends its block to the root, straight into its place.
//!
//! Cost: 1 round; the root receives n - 1 blocks.

use super::{RECEIVE, Rooted, RootedBlocks, SEND, Shape, block_of};
use crate::offload::{Builder, Region, Schedule};

/// The part of `rank` in a gather.
pub fn schedule(shape: Shape, rank: u32, args: Rooted) -> Schedule {
    let Rooted { block, root, in_place } = args;
    if rank == root {
        receive(shape, root, in_place, |from| RECEIVE.region(from as usize * block, block))
    } else {
        send(root, block)
    }
}

/// The part of `rank` in a gatherv; blocks of no bytes are not sent.
pub fn gatherv(shape: Shape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    let RootedBlocks { own, blocks, root, in_place } = args;
    if rank == root {
        receive(shape, root, in_place, |from| block_of(from).region(0, blocks[from as usize]))
    } else {
        send(root, own)
    }
}

fn send(root: u32, block: usize) -> Schedule {
    let mut plan = Builder::new();
    if block > 0 {
        plan.send(root, SEND.region(0, block), 1, &[]);
    }
    plan.finish()
}

fn receive(shape: Shape, root: u32, in_place: bool, block: impl Fn(u32) -> Region) -> Schedule {
    let mut plan = Builder::new();
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
