//! Broadcast along a k-nomial tree, in segments.
//!
//! A rank forwards each segment when it arrives, first to the child with the largest subtree. With
//! a radix above 2 the tree has fewer levels, and a rank has more children.
//!
//! Cost, for radix `k` and `s` segments: log_k n + s - 1 rounds (rounded down for `k` = 2); a rank
//! receives the message once, and the root sends it up to (k - 1) ceil(log_k n) times.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented, Segments};
use crate::mpi::collective::algorithms::building_blocks::pipeline::{segment, segments};
use crate::mpi::collective::algorithms::building_blocks::tree::Tree;
use crate::mpi::collective::algorithms::{BUFFER, Bcast, Shape};
use crate::offload::{Schedule, ScheduleBuilder};

/// Radix 4: each level has four times as many places.
pub(crate) const FOUR: Algorithm<Bcast> = Algorithm {
    name: "knomial_4",
    about: "along a tree whose levels hold four times as many ranks each",
    ..of_radix::<4>()
};

/// Radix 8: each level has eight times as many places.
pub(crate) const EIGHT: Algorithm<Bcast> = Algorithm {
    name: "knomial_8",
    about: "along a tree whose levels hold eight times as many ranks each",
    ..of_radix::<8>()
};

/// The algorithm of a radix.
pub(crate) const fn of_radix<const RADIX: u32>() -> Algorithm<Bcast> {
    Algorithm {
        name: "knomial",
        about: "along a k-nomial tree, in segments",
        fits: |_, _| true,
        cost: |shape, args| cost(shape, args, RADIX, segment_of(shape, args, RADIX)),
        schedule: |shape, rank, args| {
            schedule(shape, rank, args, RADIX, segment_of(shape, args, RADIX))
        },
        segmented: Some(Segmented {
            cost: |shape, args, segment| cost(shape, args, RADIX, segment),
            schedule: |shape, rank, args, segment| schedule(shape, rank, args, RADIX, segment),
        }),
    }
}

fn segment_of(shape: Shape, args: Bcast, radix: u32) -> usize {
    segment(args.bytes, Tree { shape, radix }.depth_max())
}

fn cost(shape: Shape, args: Bcast, radix: u32, segment: usize) -> Cost {
    let tree = Tree { shape, radix };
    cost_of_tree(args, segment, tree.depth_max(), tree.children(0).count() as u32)
}

/// Cost of a tree in which no rank has more children than the root.
pub(crate) fn cost_of_tree(args: Bcast, segment: usize, depth: u32, children: u32) -> Cost {
    let segments = Segments::of(args.bytes, segment);
    let (depth, children) = (depth.into(), u64::from(children));
    Cost {
        rounds: segments.rounds(depth),
        messages: segments.count * children,
        bytes: segments.bytes(depth).max(args.bytes as u64 * children),
        ..Cost::ZERO
    }
}

/// Schedule of `rank`; every segment except the last has `segment` bytes.
pub(crate) fn schedule(
    shape: Shape, rank: u32, args: Bcast, radix: u32, segment: usize,
) -> Schedule {
    let tree = Tree { shape, radix };
    let place = shape.before(rank, args.root);
    let rank_at = |place| shape.after(args.root, place);
    let parent = (place > 0).then(|| rank_at(tree.parent(place)));
    let children: Vec<u32> = tree.children(place).map(rank_at).collect();
    pass_on(args.bytes, segment, tree.depth(place), parent, &children)
}

/// Schedule of a rank with this parent and these children, `depth` messages from the root. It
/// forwards each segment when it arrives.
pub(crate) fn pass_on(
    bytes: usize, segment: usize, depth: u32, parent: Option<u32>, children: &[u32],
) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let segments = || segments(bytes, segment).zip(depth..);
    let mut received = Vec::new();
    if let Some(parent) = parent {
        received.extend(segments().map(|((start, len), round)| {
            plan.receive(parent, BUFFER.region(start, len), round, &[])
        }));
    }
    for (number, ((start, len), round)) in segments().enumerate() {
        let after = received.get(number).copied();
        for child in children {
            plan.send(*child, BUFFER.region(start, len), round + 1, after.as_slice());
        }
    }
    plan.finish()
}
