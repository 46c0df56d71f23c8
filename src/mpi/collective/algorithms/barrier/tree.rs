//! Barrier along a binomial tree: fan-in to rank 0, then fan-out from it.
//!
//! Cost: ceil(log2 n) + floor(log2 n) rounds, about twice as many as dissemination, with 2 (n - 1)
//! messages in total instead of n ceil(log2 n). For interconnects shared by all messages.

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::phases::Phases;
use crate::mpi::collective::algorithms::building_blocks::signal;
use crate::offload::Schedule;

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

pub(crate) fn schedule(shape: Shape, rank: u32) -> Schedule {
    let mut phases = Phases::default();
    phases.then_synchronized(&signal::fan_in(shape, rank), shape.doublings(), &|rank| rank);
    phases.then_synchronized(&signal::fan_out(shape, rank), shape.ranks.ilog2(), &|rank| rank);
    phases.finish()
}
