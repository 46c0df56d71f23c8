//! Barrier through rank 0: every rank sends it an empty message, and it answers every rank.
//!
//! Cost: 2 rounds; rank 0 sends and receives n - 1 empty messages.

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<()> = Algorithm {
    name: "linear",
    about: "all tell rank 0, and it tells all",
    fits: |_, ()| true,
    cost: |shape, ()| cost(shape),
    schedule: |shape, rank, ()| schedule(shape, rank),
    segmented: None,
};

fn cost(shape: Shape) -> Cost {
    let others = u64::from(shape.ranks - 1);
    Cost { rounds: 2 * others.min(1), messages: others, ..Cost::ZERO }
}

pub(crate) fn schedule(shape: Shape, rank: u32) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    if rank > 0 {
        plan.receive(0, Region::EMPTY, 2, &[]);
        plan.send(0, Region::EMPTY, 1, &[]);
        return plan.finish();
    }
    let others = 1..shape.ranks;
    let heard: Vec<StepId> =
        others.clone().map(|other| plan.receive(other, Region::EMPTY, 1, &[])).collect();
    // One step to wait on, instead of all receives.
    let all = plan.copy(Region::EMPTY, Region::EMPTY, &heard);
    for other in others {
        plan.send(other, Region::EMPTY, 2, &[all]);
    }
    plan.finish()
}
