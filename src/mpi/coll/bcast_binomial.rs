//! Broadcast along a binomial tree, in segments.
//!
//! Ranks count from the root; the parent of place `p` is `p` without its lowest bit. A rank passes
//! each segment on as soon as it has it, to the child with the most descendants first.
//!
//! Cost, for `s` segments: floor(log2 n) + s - 1 rounds; a rank receives the message once, and the
//! root sends it ceil(log2 n) times.

use super::algorithm::{Algorithm, Cost, Segmented, Segments};
use super::{BUFFER, Bcast, Shape};
use crate::offload::{Builder, Schedule};

/// See the module's text.
pub const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "binomial",
    about: "along a binomial tree, in segments",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args, segment(args.bytes)),
    schedule: |shape, rank, args| in_segments(shape, rank, args, segment(args.bytes)),
    segmented: Some(Segmented { cost, schedule: in_segments }),
};

/// Length of a segment of a long message: long enough to outweigh what a message costs, short
/// enough to stay in a second-level cache while it is passed on.
const SEGMENT_BYTES: usize = 128 * 1024;

/// A message is cut into no more segments than this, as their numbers have 16 bits.
const SEGMENTS_MAX: usize = 32 * 1024;

/// The length of a segment of `bytes` bytes.
pub(super) fn segment(bytes: usize) -> usize {
    SEGMENT_BYTES.max(bytes.div_ceil(SEGMENTS_MAX))
}

fn cost(shape: Shape, args: Bcast, segment: usize) -> Cost {
    let segments = Segments::of(args.bytes, segment);
    // The place with most bits set is the deepest.
    let depth = shape.ranks.ilog2().into();
    let children = u64::from(shape.doublings());
    Cost {
        rounds: segments.rounds(depth),
        messages: segments.count * children,
        bytes: segments.bytes(depth).max(args.bytes as u64 * children),
        ..Cost::NOTHING
    }
}

/// The part of `rank`; every segment but the last has `segment` bytes.
pub fn in_segments(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let mut plan = Builder::new();
    let place = shape.before(rank, args.root);
    let depth = place.count_ones();
    let segments = segments(args.bytes, segment);
    let received: Vec<_> = segments
        .clone()
        .zip(0..)
        .filter(|_| place > 0)
        .map(|((start, len), number)| {
            let parent = shape.after(args.root, place & (place - 1));
            plan.receive(parent, BUFFER.region(start, len), depth + number, &[])
        })
        .collect();
    for ((start, len), number) in segments.zip(0..) {
        let after = received.get(number as usize).copied();
        for child in children(shape, place) {
            let child = shape.after(args.root, child);
            let round = depth + 1 + number;
            plan.send(child, BUFFER.region(start, len), round, after.as_slice());
        }
    }
    plan.finish()
}

/// Start and length of each segment of `bytes` bytes.
pub(super) fn segments(
    bytes: usize, segment: usize,
) -> impl Iterator<Item = (usize, usize)> + Clone {
    (0..bytes).step_by(segment).map(move |start| (start, segment.min(bytes - start)))
}

/// The children of a place in the tree, the one with the most descendants first.
fn children(shape: Shape, place: u32) -> impl Iterator<Item = u32> {
    let bits = if place == 0 { shape.doublings() } else { place.trailing_zeros() };
    (0..bits).rev().map(move |bit| place + (1 << bit)).filter(move |&child| child < shape.ranks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_fit_in_a_label() {
        assert!((1_usize << 40) / segment(1 << 40) <= SEGMENTS_MAX);
    }
}
