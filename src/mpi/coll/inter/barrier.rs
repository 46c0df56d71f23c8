//! Barrier between two groups: a tree to each leader, the leaders tell each other, and back.
//!
//! A process returns when all processes of the other group have called (MPI 5.0 §6.3).
//!
//! Cost, n being the size of the larger group: 2 ceil(log2 n) + 1 rounds; 2 messages cross.

use super::View;
use crate::mpi::coll::phases::Phases;
use crate::mpi::coll::{InterShape, Shape, barrier_dissemination, signal};
use crate::offload::Schedule;

/// The part of `rank`.
pub fn barrier(shape: InterShape, rank: u32) -> Schedule {
    let view = View::new(shape, rank);
    let (near, rounds) = (|rank| view.near(rank), view.larger().doublings());
    let mut phases = Phases::default();
    phases.when_over(&signal::to_first(view.local(), view.own()), rounds, &near);
    if view.leads() {
        let between = barrier_dissemination::schedule(Shape { ranks: 2 }, view.side() as u32);
        phases.when_over(&between, 1, &|side| view.member(side as usize, 0));
    } else {
        phases.pass(1);
    }
    phases.when_over(&signal::from_first(view.local(), view.own()), rounds, &near);
    phases.finish()
}
