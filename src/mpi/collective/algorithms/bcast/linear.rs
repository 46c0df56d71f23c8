//! Broadcast from the root directly to each rank.
//!
//! Cost: 1 round; the root sends the message n - 1 times.

use crate::mpi::collective::algorithms::algorithm::Algorithm;
use crate::mpi::collective::algorithms::bcast::knomial::{cost_of_tree, pass_on};
use crate::mpi::collective::algorithms::{Bcast, Shape};
use crate::offload::Schedule;

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "linear",
    about: "the root sends to each rank",
    fits: |_, _| true,
    cost: |shape, args| cost_of_tree(args, whole(args), 1, shape.ranks - 1),
    schedule,
    segmented: None,
};

/// The segment length: the message is one segment.
fn whole(args: Bcast) -> usize {
    args.bytes.max(1)
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Bcast) -> Schedule {
    let segment = whole(args);
    if rank != args.root {
        return pass_on(args.bytes, segment, 1, Some(args.root), &[]);
    }
    let others: Vec<u32> = (1..shape.ranks).map(|steps| shape.after(rank, steps)).collect();
    pass_on(args.bytes, segment, 0, None, &others)
}
