//! Scatter along a binomial tree, for short blocks: each rank receives the blocks of its subtree in
//! one message, and forwards them.
//!
//! Places count from the root, as in `gather::binomial`.
//!
//! Cost: ceil(log2 n) rounds; the root sends n - 1 blocks, any other rank up to n / 2 - 1.

use crate::mpi::collective::algorithms::algorithm::Algorithm;
use crate::mpi::collective::algorithms::building_blocks::tree::binomial;
use crate::mpi::collective::algorithms::gather::binomial::{WrappedBlocks, cost};
use crate::mpi::collective::algorithms::{RECEIVE, Rooted, SEND, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<Rooted> = Algorithm {
    name: "binomial",
    about: "each rank hands on their blocks to all below it in a binomial tree",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

pub(crate) fn schedule(shape: Shape, rank: u32, args: Rooted) -> Schedule {
    let Rooted { block, root, in_place } = args;
    let mut plan = ScheduleBuilder::new();
    if block == 0 {
        return plan.finish();
    }
    let tree = binomial(shape);
    let place = shape.before(rank, root);
    let round = |place| shape.doublings() - tree.height(place);
    let rank_at = |place| shape.after(root, place);
    let own = RECEIVE.region(0, block);
    if place == 0 {
        for child in tree.children(0) {
            let to = rank_at(child);
            WrappedBlocks::of(shape, to, tree.subtree_size(child), block).send(
                &mut plan,
                to,
                round(child),
            );
        }
        if !in_place {
            plan.copy(SEND.region(root as usize * block, block), own, &[]);
        }
        return plan.finish();
    }
    let parent = rank_at(tree.parent(place));
    let below = tree.subtree_size(place) as usize;
    if below == 1 {
        plan.receive(parent, own, round(place), &[]);
        return plan.finish();
    }
    let blocks = plan.scratch(below * block);
    let arrived = plan.receive(parent, blocks.region(0, below * block), round(place), &[]);
    for child in tree.children(place) {
        let start = (child - place) as usize * block;
        let region = blocks.region(start, tree.subtree_size(child) as usize * block);
        plan.send(rank_at(child), region, round(child), &[arrived]);
    }
    plan.copy(blocks.region(0, block), own, &[arrived]);
    plan.finish()
}

impl WrappedBlocks {
    /// Sends the blocks in one message.
    fn send(self, plan: &mut ScheduleBuilder, to: u32, round: u32) {
        let upper = SEND.region(self.start, self.upper);
        if self.lower == 0 {
            plan.send(to, upper, round, &[]);
            return;
        }
        let both = plan.scratch(self.upper + self.lower);
        let part = |start, len| -> Region { both.region(start, len) };
        let copied = [
            plan.copy(upper, part(0, self.upper), &[]),
            plan.copy(SEND.region(0, self.lower), part(self.upper, self.lower), &[]),
        ];
        plan.send(to, part(0, self.upper + self.lower), round, &copied);
    }
}
