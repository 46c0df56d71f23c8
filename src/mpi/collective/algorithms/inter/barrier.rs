//! Barrier between two groups: fan-in to each leader, an exchange of the leaders, and fan-out.
//!
//! A process returns when all processes of the other group have called (MPI 5.0 §6.3).
//!
//! Cost, n being the size of the larger group: 2 ceil(log2 n) + 1 rounds; 2 messages between the
//! groups.

use super::InterView;
use crate::mpi::collective::algorithms::barrier;
use crate::mpi::collective::algorithms::building_blocks::phases::Phases;
use crate::mpi::collective::algorithms::building_blocks::signal;
use crate::mpi::collective::algorithms::{InterShape, Shape};
use crate::offload::Schedule;

pub(crate) fn barrier(shape: InterShape, rank: u32) -> Schedule {
    let view = InterView::new(shape, rank);
    let (near, rounds) = (|rank| view.local_member(rank), view.larger().doublings());
    let mut phases = Phases::default();
    phases.then_synchronized(&signal::fan_in(view.local(), view.local_rank()), rounds, &near);
    if view.is_leader() {
        let between = barrier::dissemination::schedule(Shape { ranks: 2 }, view.side() as u32);
        phases.then_synchronized(&between, 1, &|side| view.member(side as usize, 0));
    } else {
        phases.skip_rounds(1);
    }
    phases.then_synchronized(&signal::fan_out(view.local(), view.local_rank()), rounds, &near);
    phases.finish()
}
