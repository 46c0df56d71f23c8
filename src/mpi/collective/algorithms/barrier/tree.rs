//! Barrier along a binomial tree: rank 0 hears that all others are there, and they hear from it.
//!
//! Cost: ceil(log2 n) + floor(log2 n) rounds, about twice as many as dissemination, with 2 (n - 1)
//! messages in all instead of n ceil(log2 n): for where all messages share what carries them.

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::phases::Phases;
use crate::mpi::collective::algorithms::building_blocks::signal;
use crate::offload::Schedule;

/// See the module's text.
pub(crate) const ALGORITHM: Algorithm<()> = Algorithm {
    name: "tree",
    about: "rank 0 hears of all along a binomial tree, and all from it",
    fits: |_, ()| true,
    cost: |shape, ()| cost(shape),
    schedule: |shape, rank, ()| schedule(shape, rank),
    segmented: None,
};

fn cost(shape: Shape) -> Cost {
    let (up, down) = (u64::from(shape.doublings()), u64::from(shape.ranks.ilog2()));
    Cost { rounds: up + down, messages: up, ..Cost::ZERO }
}

/// The part of `rank`.
pub(crate) fn schedule(shape: Shape, rank: u32) -> Schedule {
    let mut phases = Phases::default();
    phases.then_synchronized(&signal::fan_in(shape, rank), shape.doublings(), &|rank| rank);
    phases.then_synchronized(&signal::fan_out(shape, rank), shape.ranks.ilog2(), &|rank| rank);
    phases.finish()
}
