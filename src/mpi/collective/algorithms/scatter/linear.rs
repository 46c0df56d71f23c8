//! Scatter and scatterv: the root sends each rank its block directly.
//!
//! Cost: 1 round; the root sends n - 1 blocks.

use crate::mpi::collective::algorithms::algorithm::Algorithm;
use crate::mpi::collective::algorithms::gather;
use crate::mpi::collective::algorithms::gather::linear::cost_of_all_peers;
use crate::mpi::collective::algorithms::{
    RECEIVE, Rooted, RootedBlocks, SEND, Shape, block_buffer,
};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder};

/// The receive buffer of a scatterv.
const OWN: Buffer = Buffer::User(0);

pub(crate) const SCATTER: Algorithm<Rooted> = Algorithm {
    name: "linear",
    about: "the root sends every rank its block",
    fits: |_, _| true,
    cost: gather::linear::GATHER.cost,
    schedule,
    segmented: None,
};

pub(crate) const SCATTERV: Algorithm<RootedBlocks> = Algorithm {
    name: "linear",
    about: "the root sends every rank its block",
    fits: |_, _| true,
    cost: |shape, args| cost_of_all_peers(shape, args.blocks.iter().sum()),
    schedule: scatterv,
    segmented: None,
};

/// Schedule of `rank` in a scatter.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Rooted) -> Schedule {
    let Rooted { block, root, in_place } = args;
    if rank == root {
        let own = (!in_place).then_some(RECEIVE);
        send(shape, root, own, |to| SEND.region(to as usize * block, block))
    } else {
        receive(root, RECEIVE.region(0, block))
    }
}

/// Schedule of `rank` in a scatterv; empty blocks are not sent.
pub(crate) fn scatterv(shape: Shape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    let RootedBlocks { own, blocks, root, in_place } = args;
    if rank == root {
        let own = (!in_place).then_some(OWN);
        send(shape, root, own, |to| block_buffer(to).region(0, blocks[to as usize]))
    } else {
        receive(root, OWN.region(0, own))
    }
}

fn receive(root: u32, block: Region) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    if block.len > 0 {
        plan.receive(root, block, 1, &[]);
    }
    plan.finish()
}

/// Schedule of the root; `own` is the destination of its own block, unless that stays where it is.
fn send(shape: Shape, root: u32, own: Option<Buffer>, block: impl Fn(u32) -> Region) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let others = (1..shape.ranks).map(|steps| shape.after(root, steps));
    for (to, block) in others.map(|to| (to, block(to))).filter(|(_, block)| block.len > 0) {
        plan.send(to, block, 1, &[]);
    }
    let from = block(root);
    if let Some(own) = own.filter(|_| from.len > 0) {
        plan.copy(from, own.region(0, from.len), &[]);
    }
    plan.finish()
}
