//! Gather along a binomial tree, for short blocks: each rank sends the blocks of all ranks below it
//! in one message.
//!
//! Places count from the root. Those below a place follow it, so their blocks arrive one after the
//! other; at the root they arrive where they belong, but for a message whose ranks continue from
//! the last one to rank 0.
//!
//! Cost: ceil(log2 n) rounds; a rank sends up to n / 2 blocks, the root receives n - 1.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::tree::binomial;
use crate::mpi::collective::algorithms::{RECEIVE, Rooted, SEND, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

/// See the module's text.
pub(crate) const ALGORITHM: Algorithm<Rooted> = Algorithm {
    name: "binomial",
    about: "each rank passes on the blocks of all below it in a binomial tree",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

/// What it costs to gather or to scatter.
pub(crate) fn cost(shape: Shape, args: Rooted) -> Cost {
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return Cost::ZERO;
    }
    let rounds = shape.doublings().into();
    let wrapped = (shape.ranks - root) % shape.ranks;
    // The place below which the ranks continue from the last one to rank 0, if it is one below it.
    let above = wrapped.checked_ilog2().map(|bit| 1 << bit).filter(|above| *above < wrapped);
    let copied_at_root =
        u32::from(!in_place) + above.map_or(0, |above| binomial(shape).subtree_size(above));
    let copied_inside = u32::from(shape.ranks > 3);
    Cost {
        rounds,
        messages: rounds,
        bytes: u64::from(shape.ranks - 1) * block as u64,
        copied: u64::from(copied_at_root.max(copied_inside)) * block as u64,
        ..Cost::ZERO
    }
}

/// The part of `rank`.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Rooted) -> Schedule {
    let Rooted { block, root, in_place } = args;
    let mut plan = ScheduleBuilder::new();
    if block == 0 {
        return plan.finish();
    }
    let tree = binomial(shape);
    let place = shape.before(rank, root);
    let own = SEND.region(0, block);
    if place == 0 {
        for child in tree.children(0) {
            let blocks =
                WrappedBlocks::of(shape, shape.after(root, child), tree.subtree_size(child), block);
            blocks.receive(&mut plan, shape.after(root, child), tree.height(child) + 1);
        }
        if !in_place {
            plan.copy(own, RECEIVE.region(root as usize * block, block), &[]);
        }
        return plan.finish();
    }
    let below = tree.subtree_size(place) as usize;
    let mut gathered = own;
    let mut ready: Vec<StepId> = Vec::new();
    if below > 1 {
        let blocks = plan.scratch(below * block);
        for child in tree.children(place) {
            let start = (child - place) as usize * block;
            let region = blocks.region(start, tree.subtree_size(child) as usize * block);
            let from = shape.after(root, child);
            ready.push(plan.receive(from, region, tree.height(child) + 1, &[]));
        }
        ready.push(plan.copy(own, blocks.region(0, block), &[]));
        gathered = blocks.region(0, below * block);
    }
    let parent = shape.after(root, tree.parent(place));
    plan.send(parent, gathered, tree.height(place) + 1, &ready);
    plan.finish()
}

/// The blocks of consecutive ranks, in a buffer for those of all: of the last ranks and, beyond
/// those, of the first.
pub(crate) struct WrappedBlocks {
    /// Where the first block is, and how many bytes there are before the end of the buffer.
    pub(crate) start: usize,
    pub(crate) upper: usize,
    /// How many bytes are at the begin of the buffer.
    pub(crate) lower: usize,
}

impl WrappedBlocks {
    /// The blocks of `count` ranks from `first` on.
    pub(crate) fn of(shape: Shape, first: u32, count: u32, block: usize) -> Self {
        let upper = count.min(shape.ranks - first);
        let bytes = |blocks: u32| blocks as usize * block;
        Self { start: bytes(first), upper: bytes(upper), lower: bytes(count - upper) }
    }

    /// Receives them in one message.
    fn receive(self, plan: &mut ScheduleBuilder, from: u32, round: u32) {
        let upper = RECEIVE.region(self.start, self.upper);
        if self.lower == 0 {
            plan.receive(from, upper, round, &[]);
            return;
        }
        let both = plan.scratch(self.upper + self.lower);
        let part = |start, len| -> Region { both.region(start, len) };
        let arrived = plan.receive(from, part(0, self.upper + self.lower), round, &[]);
        plan.copy(part(0, self.upper), upper, &[arrived]);
        plan.copy(part(self.upper, self.lower), RECEIVE.region(0, self.lower), &[arrived]);
    }
}
