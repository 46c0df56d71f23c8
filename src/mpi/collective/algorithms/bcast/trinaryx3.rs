//! Broadcast along three trees at the same time, each with a third of the segments: Trinaryx3, for
//! long messages on a three-dimensional torus.
//!
//! The ranks are the nodes of a torus with sides as equal as possible. Each node except the root
//! receives over three links from its lower neighbors, one link for each tree. So no two trees
//! share a link, and a rank sends at most three thirds: as many bytes as in a chain, along a
//! shorter path, over three links at a time.
//!
//! ```text
//!   from (x-1, y, z) ──► ┌─────────┐ ──► (x+1, y, z)
//!   from (x, y-1, z) ──► │ x, y, z │ ──► (x, y+1, z)     coordinates relative to the root,
//!   from (x, y, z-1) ──► └─────────┘ ──► (x, y, z+1)     beyond the last one 0 again
//! ```
//!
//! The MPI library of the K computer has an algorithm of this name, with these numbers of trees,
//! links and copies: Adachi et al., "The design of ultra scalable MPI collective communication on
//! the K computer", Computer Science: Research and Development 28(2-3), 2013; Morie et al., "Design
//! and evaluation of persistent collective communication with the offload API of Open Fabrics
//! Interfaces", RIKEN (in Japanese). The link that feeds each tree, [`FEEDS`], was found by search:
//! of the rules that make trees of every tested torus, two have this depth.
//!
//! Cost, for sides `a`, `b`, `c` and `s` segments: a + b + c + ceil(s / 3) - 3 rounds; a rank
//! receives the message once and sends as many bytes, up to two segments more.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented, Segments};
use crate::mpi::collective::algorithms::building_blocks::pipeline::{segment, segments};
use crate::mpi::collective::algorithms::{BUFFER, Bcast, Shape};
use crate::offload::{Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "trinaryx3",
    about: "along three trees on a torus at once, in segments",
    // A round number has 16 bits.
    fits: |shape, _| RankTorus::of(shape).is_some_and(|torus| torus.depth_max() <= DEPTH_MAX),
    cost: |shape, args| cost(shape, args, segment_of(shape, args)),
    schedule: |shape, rank, args| in_segments(shape, rank, args, segment_of(shape, args)),
    segmented: Some(Segmented { cost, schedule: in_segments }),
};

/// With trees of this depth and the maximum of segments, round numbers still fit.
const DEPTH_MAX: u32 = 32 * 1024;

fn segment_of(shape: Shape, args: Bcast) -> usize {
    segment(args.bytes / TREES, RankTorus::of_fitting(shape).depth_max())
}

fn cost(shape: Shape, args: Bcast, segment: usize) -> Cost {
    let torus = RankTorus::of_fitting(shape);
    // The length of the part of each tree; the part of the first tree is the longest.
    let (turns, rest) = (args.bytes / (TREES * segment), args.bytes % (TREES * segment));
    let part = |tree: usize| turns * segment + rest.saturating_sub(tree * segment).min(segment);
    let [first, second] = [0, 1].map(|tree| Segments::of(part(tree), segment));
    let depth = torus.depth_max().into();
    // A node at an edge may have three children in one tree. In a cube of 8, one node has two
    // children in one tree and one in another.
    let (thrice, twice) = if torus.sides[0] > 2 { (3, 0) } else { (2, 1) };
    let at_edge = thrice * part(0) + twice * part(1);
    Cost {
        rounds: first.rounds(depth),
        messages: thrice as u64 * first.count + twice as u64 * second.count,
        bytes: first.bytes(depth).max(at_edge as u64).max(args.bytes as u64),
        ..Cost::ZERO
    }
}

/// Number of trees, and of dimensions.
const TREES: usize = 3;

/// The dimension of the link that feeds each tree at a node. The index is the set of its
/// coordinates that are 0: x adds 1, y adds 2, z adds 4.
const FEEDS: [[usize; TREES]; 7] =
    [[2, 0, 1], [0, 2, 1], [2, 1, 0], [0, 1, 2], [1, 0, 2], [0, 1, 2], [0, 1, 2]];

/// A node, by its coordinates relative to the root.
type NodeCoordinates = [u32; TREES];

/// A torus of all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct RankTorus {
    sides: [u32; TREES],
}

impl RankTorus {
    /// The torus of all ranks whose sides are as equal as possible, the longest first; `None` if no
    /// torus has sides of at least 2.
    fn of(shape: Shape) -> Option<Self> {
        let ranks = shape.ranks;
        let mut best: Option<Self> = None;
        let divisors = |of: u32| {
            let small = (2..).take_while(move |&side: &u32| side <= of / side);
            small.filter(move |&side| of.is_multiple_of(side))
        };
        for short in divisors(ranks) {
            for middle in divisors(ranks / short).filter(|&middle| middle >= short) {
                let torus = Self { sides: [ranks / short / middle, middle, short] };
                if best.is_none_or(|best| torus.depth_max() < best.depth_max()) {
                    best = Some(torus);
                }
            }
        }
        best
    }

    /// As [`RankTorus::of`], for shapes that the algorithm fits.
    fn of_fitting(shape: Shape) -> Self {
        Self::of(shape).expect("the ranks make a torus")
    }

    /// The largest distance between the root and a node in any tree, in messages.
    fn depth_max(self) -> u32 {
        self.sides.iter().sum::<u32>() - 2
    }

    fn node(self, place: u32) -> NodeCoordinates {
        let [a, b, _] = self.sides;
        [place % a, place / a % b, place / a / b]
    }

    fn place(self, node: NodeCoordinates) -> u32 {
        let [a, b, _] = self.sides;
        node[0] + a * (node[1] + b * node[2])
    }

    /// The upper neighbor in a dimension.
    fn above(self, mut node: NodeCoordinates, dimension: usize) -> NodeCoordinates {
        node[dimension] = (node[dimension] + 1) % self.sides[dimension];
        node
    }

    /// The lower neighbor in a dimension.
    fn below(self, mut node: NodeCoordinates, dimension: usize) -> NodeCoordinates {
        let side = self.sides[dimension];
        node[dimension] = (node[dimension] + side - 1) % side;
        node
    }

    /// The parent of a node in a tree; the root has none.
    fn parent(self, node: NodeCoordinates, tree: usize) -> Option<NodeCoordinates> {
        Some(self.below(node, feeds(node)?[tree]))
    }

    /// The children of a node, with their trees: at most one in each dimension.
    fn children(self, node: NodeCoordinates) -> impl Iterator<Item = (NodeCoordinates, usize)> {
        (0..TREES).filter_map(move |dimension| {
            let child = self.above(node, dimension);
            let tree = feeds(child)?.iter().position(|feed| *feed == dimension)?;
            Some((child, tree))
        })
    }

    /// The distance between the root and a node in a tree, in messages.
    fn depth(self, node: NodeCoordinates, tree: usize) -> u32 {
        let mut depth = 0;
        let mut node = node;
        while let Some(parent) = self.parent(node, tree) {
            node = parent;
            depth += 1;
        }
        depth
    }
}

/// The dimension of the link that feeds each tree at a node; `None` at the root.
fn feeds(node: NodeCoordinates) -> Option<[usize; TREES]> {
    let zeros = node.iter().enumerate().map(|(dimension, at)| usize::from(*at == 0) << dimension);
    FEEDS.get(zeros.sum::<usize>()).copied()
}

/// Schedule of `rank`; every segment except the last has `segment` bytes.
///
/// # Panics
/// If there is no torus of this number of ranks with sides of at least 2.
pub fn in_segments(shape: Shape, rank: u32, args: Bcast, segment: usize) -> Schedule {
    let torus = RankTorus::of_fitting(shape);
    let mut plan = ScheduleBuilder::new();
    let node = torus.node(shape.before(rank, args.root));
    let rank_at = |node: NodeCoordinates| shape.after(args.root, torus.place(node));
    let depths = [0, 1, 2].map(|tree| torus.depth(node, tree));
    let segments = || {
        segments(args.bytes, segment).enumerate().map(|(number, (start, len))| {
            (number % TREES, (number / TREES) as u32, BUFFER.region(start, len))
        })
    };
    let mut received: Vec<StepId> = Vec::new();
    for (tree, turn, region) in segments() {
        if let Some(parent) = torus.parent(node, tree) {
            received.push(plan.receive(rank_at(parent), region, depths[tree] + turn, &[]));
        }
    }
    let children: Vec<(NodeCoordinates, usize)> = torus.children(node).collect();
    for (number, (tree, turn, region)) in segments().enumerate() {
        let after = received.get(number).copied();
        for (child, _) in children.iter().filter(|(_, of)| *of == tree) {
            let round = depths[tree] + turn + 1;
            plan.send(rank_at(*child), region, round, after.as_slice());
        }
    }
    plan.finish()
}

#[cfg(test)]
mod tests {
    use std::collections::HashSet;

    use super::*;

    /// All tori with sides of 2 to 7, in any order of the sides, and some long ones.
    fn tori() -> impl Iterator<Item = RankTorus> {
        let sides = || 2..=7;
        let small = sides().flat_map(move |a| {
            sides().flat_map(move |b| sides().map(move |c| RankTorus { sides: [a, b, c] }))
        });
        small.chain(
            [[2, 2, 40], [2, 40, 2], [40, 2, 2], [19, 3, 5]].map(|sides| RankTorus { sides }),
        )
    }

    #[test]
    fn the_trees_reach_all_nodes_without_sharing_links() {
        for torus in tori() {
            let ranks: u32 = torus.sides.iter().product();
            let mut links = HashSet::new();
            let mut sent = HashSet::new();
            let mut deepest = [0; TREES];
            for node in (0..ranks).map(|place| torus.node(place)) {
                for (tree, deepest) in deepest.iter_mut().enumerate() {
                    let Some(parent) = torus.parent(node, tree) else { continue };
                    assert!(links.insert((parent, node)), "{torus:?}: {parent:?} to {node:?}");
                    let depth = depth_below(torus, ranks, node, tree);
                    *deepest = depth.max(*deepest);
                }
                let children: Vec<_> = torus.children(node).collect();
                assert!(children.len() <= TREES);
                for (child, tree) in children {
                    assert_eq!(torus.parent(child, tree), Some(node), "{torus:?}");
                    sent.insert((node, child));
                }
            }
            assert_eq!(links, sent, "{torus:?}");
            assert_eq!(links.len(), TREES * (ranks as usize - 1));
            assert_eq!(deepest, [torus.depth_max(); TREES], "{torus:?}");
        }
    }

    /// The depth of a node, which must not be below itself.
    fn depth_below(torus: RankTorus, ranks: u32, node: NodeCoordinates, tree: usize) -> u32 {
        let ways = std::iter::successors(Some(node), |node| torus.parent(*node, tree));
        let depth = ways.take(ranks as usize + 1).count() as u32 - 1;
        assert!(depth < ranks, "{torus:?}: {node:?} is below itself in tree {tree}");
        depth
    }

    #[test]
    fn sides_are_as_equal_as_can_be() {
        let of = |ranks| RankTorus::of(Shape { ranks }).map(|torus| torus.sides);
        assert_eq!(of(8), Some([2, 2, 2]));
        assert_eq!(of(12), Some([3, 2, 2]));
        assert_eq!(of(64), Some([4, 4, 4]));
        assert_eq!(of(48), Some([4, 4, 3]));
        assert_eq!(of(2 * 3 * 31), Some([31, 3, 2]));
        for ranks in [1, 2, 4, 6, 7, 9, 10, 15, 62] {
            assert_eq!(of(ranks), None);
        }
    }
}
