//! Broadcast along a chain of all ranks, in segments: each rank passes on what it gets.
//!
//! Cost, for `s` segments: n + s - 2 rounds; a rank receives the message once and sends it once.
//! For long messages that is as few bytes as any algorithm can do with.

use super::algorithm::{Algorithm, Cost, Segmented, Segments};
use super::bcast_binomial::{segment, segments};
use super::{BUFFER, Bcast, Shape};
use crate::offload::{Builder, Schedule};

/// See the module's text.
pub const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "chain",
    about: "along a chain of all ranks, in segments",
    // The number of a round has 16 bits.
    fits: |shape, _| shape.ranks < RANKS_MAX,
    cost: |shape, args| cost(shape, args, segment(args.bytes)),
    schedule: |shape, rank, args| in_segments(shape, rank, args, segment(args.bytes)),
    segmented: Some(Segmented { cost, schedule: in_segments }),
};

/// With as many segments as there may be, so many ranks take no more rounds than have a number.
const RANKS_MAX: u32 = 32 * 1024;

fn cost(shape: Shape, args: Bcast, segment: usize) -> Cost {
    let segments = Segments::of(args.bytes, segment);
    let hops = u64::from(shape.ranks - 1);
    Cost {
        rounds: segments.rounds(hops),
        messages: segments.count * hops.min(1),
        bytes: segments.bytes(hops),
        ..Cost::NOTHING
    }
}

/// The part of `rank`; every segment but the last has `segment` bytes.
pub fn in_segments(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let mut plan = Builder::new();
    let place = shape.before(rank, args.root);
    let segments = || segments(args.bytes, segment).zip(place..);
    let mut received = Vec::new();
    if place > 0 {
        let previous = shape.before(rank, 1);
        received.extend(segments().map(|((start, len), round)| {
            plan.receive(previous, BUFFER.region(start, len), round, &[])
        }));
    }
    if place + 1 < shape.ranks {
        let next = shape.after(rank, 1);
        for (number, ((start, len), round)) in segments().enumerate() {
            let after = received.get(number).copied();
            plan.send(next, BUFFER.region(start, len), round + 1, after.as_slice());
        }
    }
    plan.finish()
}
