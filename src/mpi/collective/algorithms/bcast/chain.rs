//! Broadcast along a chain of all ranks, in segments: each rank forwards to the next.
//!
//! Cost, for `s` segments: n + s - 2 rounds; a rank receives the message once and sends it once,
//! the minimum of bytes for long messages.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented};
use crate::mpi::collective::algorithms::bcast::knomial::{cost_of_tree, pass_on};
use crate::mpi::collective::algorithms::building_blocks::pipeline::segment;
use crate::mpi::collective::algorithms::{Bcast, Shape};
use crate::offload::Schedule;

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "chain",
    about: "along a chain of all ranks, in segments",
    // A round number has 16 bits.
    fits: |shape, _| shape.ranks < RANKS_MAX,
    cost: |shape, args| cost(shape, args, segment(args.bytes, shape.ranks - 1)),
    schedule: |shape, rank, args| {
        in_segments(shape, rank, args, segment(args.bytes, shape.ranks - 1))
    },
    segmented: Some(Segmented { cost, schedule: in_segments }),
};

/// With this number of ranks and the maximum of segments, round numbers still fit.
const RANKS_MAX: u32 = 32 * 1024;

fn cost(shape: Shape, args: Bcast, segment: usize) -> Cost {
    let hops = shape.ranks - 1;
    cost_of_tree(args, segment, hops, hops.min(1))
}

/// Schedule of `rank`; every segment except the last has `segment` bytes.
pub fn in_segments(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let place = shape.before(rank, args.root);
    let previous = (place > 0).then(|| shape.before(rank, 1));
    let next = (place + 1 < shape.ranks).then(|| shape.after(rank, 1));
    pass_on(args.bytes, segment, place, previous, next.as_slice())
}
