//! Gather along a binomial tree, for short blocks: each rank sends the blocks of its subtree in one
//! message.
//!
//! Places count from the root. The subtree of a place is contiguous, so its blocks are too. At the
//! root they arrive in their final location, except a message whose ranks wrap around from the last
//! rank to rank 0.
//!
//! Cost: ceil(log2 n) rounds; a rank sends up to n / 2 blocks, the root receives n - 1.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::tree::binomial;
use crate::mpi::collective::algorithms::{RECEIVE, Rooted, SEND, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Rooted> = Algorithm {
    name: "binomial",
    about: "each rank passes on the blocks of all below it in a binomial tree",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

/// Cost of a gather or a scatter.
pub(crate) fn cost(shape: Shape, args: Rooted) -> Cost {
    let Rooted { block, root, in_place } = args;
    if block == 0 {
        return Cost::ZERO;
    }
    let rounds = shape.doublings().into();
    let wrapped = (shape.ranks - root) % shape.ranks;
    // The child of the root whose subtree wraps around from the last rank to rank 0, if any.
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

/// The blocks of consecutive ranks, in a buffer for the blocks of all ranks: a range at its end
/// and, after wrapping around, a range at its begin.
pub(crate) struct WrappedBlocks {
    /// Offset of the first block, and number of bytes up to the end of the buffer.
    pub(crate) start: usize,
    pub(crate) upper: usize,
    /// Number of bytes at the begin of the buffer.
    pub(crate) lower: usize,
}

impl WrappedBlocks {
    /// The blocks of `count` ranks from `first` on.
    pub(crate) fn of(shape: Shape, first: u32, count: u32, block: usize) -> Self {
        let upper = count.min(shape.ranks - first);
        let bytes = |blocks: u32| blocks as usize * block;
        Self { start: bytes(first), upper: bytes(upper), lower: bytes(count - upper) }
    }

    /// Receives the blocks in one message.
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
