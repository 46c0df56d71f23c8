//! Broadcast as a scatter of pieces along a binomial tree and an allgather along the ring, for long
//! messages.
//!
//! Places count from the root. Piece `p` belongs to place `p`, which also receives the pieces of
//! its subtree and forwards them. Van de Geijn, "On global combine operations", Journal of Parallel
//! and Distributed Computing 22(2), 1994. A rank does not receive again the pieces that it
//! forwarded: Zhou et al., "A bandwidth-saving optimization for MPI broadcast collective
//! operation", ICPP Workshops 2015.
//!
//! Cost: ceil(log2 n) + n - 1 rounds; the root sends less than two messages (one in the scatter).
//! Any other rank sends and receives about one message, or half of one if it forwards half.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::tree::{Tree, binomial};
use crate::mpi::collective::algorithms::{BUFFER, Bcast, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Bcast> = Algorithm {
    name: "scatter_ring",
    about: "pieces are scattered, and gathered by all around the ring",
    fits: |shape, _| shape.ranks <= RANKS_MAX,
    cost,
    schedule,
    segmented: None,
};

/// A round number has 16 bits.
const RANKS_MAX: u32 = 32 * 1024;

fn cost(shape: Shape, args: Bcast) -> Cost {
    let pieces = Pieces::new(shape, args);
    if args.bytes == 0 || shape.ranks == 1 {
        return Cost::ZERO;
    }
    let (scatter, others) = (pieces.cost_of_scatter(), u64::from(shape.ranks - 1));
    let [first, second] = [0, 1].map(|piece| pieces.region(piece, 1).len as u64);
    // The root sends all pieces except those that the next rank has.
    let passed_on = args.bytes as u64 - second;
    Cost {
        rounds: scatter.rounds + others,
        messages: scatter.messages + (pieces.count() - 1).max(1),
        bytes: scatter.bytes + passed_on.max(others * first),
        ..Cost::ZERO
    }
}

/// Schedule of `rank`; empty pieces are not sent.
pub(crate) fn schedule(shape: Shape, rank: u32, args: Bcast) -> Schedule {
    let pieces = Pieces::new(shape, args);
    let place = shape.before(rank, args.root);
    let mut plan = ScheduleBuilder::new();
    let scattered = pieces.receive(&mut plan, place);
    let has = |place: u32, piece: u32| pieces.pieces_scattered_to(place).contains(&piece);
    let round = |step: u32| shape.doublings() + step;

    let (previous, next) = (shape.before(place, 1), shape.after(place, 1));
    let received: Vec<Option<StepId>> = (1..shape.ranks)
        .map(|step| {
            let piece = shape.before(place, step);
            let region = pieces.region(piece, 1);
            let is_new = region.len > 0 && !has(place, piece);
            is_new.then(|| plan.receive(pieces.rank(previous), region, round(step), &[]))
        })
        .collect();
    pieces.forward(&mut plan, place, scattered);
    for step in 1..shape.ranks {
        let piece = shape.before(place, step - 1);
        let region = pieces.region(piece, 1);
        if region.len > 0 && !has(next, piece) {
            let after = match has(place, piece) {
                true => scattered,
                false => received[step as usize - 2],
            };
            plan.send(pieces.rank(next), region, round(step), after.as_slice());
        }
    }
    plan.finish()
}

/// The pieces of a message in a scatter along the binomial tree.
pub(crate) struct Pieces {
    tree: Tree,
    args: Bcast,
    /// Length of a piece; the last pieces are shorter, or empty.
    piece: usize,
}

impl Pieces {
    pub(crate) fn new(shape: Shape, args: Bcast) -> Self {
        Self { tree: binomial(shape), args, piece: args.bytes.div_ceil(shape.ranks as usize) }
    }

    /// Number of pieces that are not empty.
    fn count(&self) -> u64 {
        self.args.bytes.div_ceil(self.piece.max(1)) as u64
    }

    /// Cost of the scatter: the root sends all pieces except its own.
    pub(crate) fn cost_of_scatter(&self) -> Cost {
        let messages = self.count().next_power_of_two().trailing_zeros();
        let bytes = self.args.bytes - self.region(0, 1).len;
        let rounds = self.tree.shape.doublings().into();
        Cost { rounds, messages: messages.into(), bytes: bytes as u64, ..Cost::ZERO }
    }

    /// The rank at a place.
    pub(crate) fn rank(&self, place: u32) -> u32 {
        self.tree.shape.after(self.args.root, place)
    }

    /// The bytes of `count` pieces.
    pub(crate) fn region(&self, first: u32, count: u32) -> Region {
        let start = |piece: u32| (piece as usize * self.piece).min(self.args.bytes);
        BUFFER.region(start(first), start(first + count) - start(first))
    }

    /// The pieces on a place after the scatter.
    pub(crate) fn pieces_scattered_to(&self, place: u32) -> std::ops::Range<u32> {
        place..place + self.tree.subtree_size(place)
    }

    /// Receives the pieces of a place in the scatter; none on the root, or if they are empty.
    pub(crate) fn receive(&self, plan: &mut ScheduleBuilder, place: u32) -> Option<StepId> {
        let region = self.region(place, self.tree.subtree_size(place));
        (place > 0 && region.len > 0).then(|| {
            plan.receive(self.rank(self.tree.parent(place)), region, self.round(place), &[])
        })
    }

    /// Forwards the pieces of the children of a place.
    pub(crate) fn forward(&self, plan: &mut ScheduleBuilder, place: u32, received: Option<StepId>) {
        for child in self.tree.children(place) {
            let region = self.region(child, self.tree.subtree_size(child));
            if region.len > 0 {
                plan.send(self.rank(child), region, self.round(child), received.as_slice());
            }
        }
    }

    /// The round in which a place receives its pieces.
    fn round(&self, place: u32) -> u32 {
        self.tree.shape.doublings() - self.tree.height(place)
    }
}
