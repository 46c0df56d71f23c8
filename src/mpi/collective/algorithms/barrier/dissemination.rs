//! Barrier by dissemination.
//!
//! In round `r` each rank sends an empty message to the rank `2^(r-1)` after it, once all its
//! messages of earlier rounds have arrived. Hensgen, Finkel and Manber, "Two algorithms for barrier
//! synchronization", International Journal of Parallel Programming 17(1), 1988.
//!
//! Cost: ceil(log2 n) rounds; as many empty messages per rank.

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<()> = Algorithm {
    name: "dissemination",
    about: "in round r each rank tells the one 2^(r-1) after it",
    fits: |_, ()| true,
    cost: |shape, ()| cost(shape),
    schedule: |shape, rank, ()| schedule(shape, rank),
    segmented: None,
};

fn cost(shape: Shape) -> Cost {
    let rounds = shape.doublings().into();
    Cost { rounds, messages: rounds, ..Cost::ZERO }
}

/// Schedule of `rank`.
pub fn schedule(shape: Shape, rank: u32) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let distances = || (0..shape.doublings()).map(|bit| 1 << bit);
    let heard: Vec<StepId> = distances()
        .zip(1..)
        .map(|(distance, round)| {
            plan.receive(shape.before(rank, distance), Region::EMPTY, round, &[])
        })
        .collect();
    for (sent, distance) in distances().enumerate() {
        let round = sent as u32 + 1;
        plan.send(shape.after(rank, distance), Region::EMPTY, round, &heard[..sent]);
    }
    plan.finish()
}
