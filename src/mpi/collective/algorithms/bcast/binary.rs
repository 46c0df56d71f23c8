//! Broadcast along a complete binary tree, in segments: each rank forwards to two ranks.
//!
//! Places count from the root, in the order of their distance from it: the children of `p` are `2p
//! + 1` and `2p + 2`.
//!
//! Cost, for `s` segments: floor(log2 n) + s - 1 rounds; a rank receives the message once and sends
//! it twice. For messages too short for a chain of all ranks.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented};
use crate::mpi::collective::algorithms::bcast::knomial::{cost_of_tree, pass_on};
use crate::mpi::collective::algorithms::building_blocks::pipeline::segment;
use crate::mpi::collective::algorithms::{Bcast, Shape};
use crate::offload::Schedule;

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "binary",
    about: "along a complete binary tree, in segments",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args, segment(args.bytes, depth_max(shape))),
    schedule: |shape, rank, args| {
        in_segments(shape, rank, args, segment(args.bytes, depth_max(shape)))
    },
    segmented: Some(Segmented { cost, schedule: in_segments }),
};

fn cost(shape: Shape, args: Bcast, segment: usize) -> Cost {
    cost_of_tree(args, segment, depth_max(shape), (shape.ranks - 1).min(2))
}

/// The depth of the deepest place.
fn depth_max(shape: Shape) -> u32 {
    shape.ranks.ilog2()
}

/// Schedule of `rank`; every segment except the last has `segment` bytes.
pub fn in_segments(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let place = shape.before(rank, args.root);
    let rank_at = |place| shape.after(args.root, place);
    let depth = (u64::from(place) + 1).ilog2();
    let parent = place.checked_sub(1).map(|other| rank_at(other / 2));
    let below = [1, 2].map(|child| 2 * u64::from(place) + child);
    let below = below.into_iter().filter(|child| *child < shape.ranks.into());
    let children: Vec<u32> = below.map(|child| rank_at(child as u32)).collect();
    pass_on(args.bytes, segment, depth, parent, &children)
}
