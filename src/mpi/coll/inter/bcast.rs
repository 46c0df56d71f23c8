//! Broadcast from one process to the other group: to its leader, then inside; or along a chain that
//! begins at the root.
//!
//! Cost, n being the size of the group that receives: one round more than a broadcast of n ranks;
//! the message crosses once.

use super::View;
use crate::mpi::coll::phases::{Phases, Place};
use crate::mpi::coll::select::{self, BcastBy};
use crate::mpi::coll::{BUFFER, Bcast, InterShape};
use crate::offload::{Region, Schedule};

/// The part of `rank`; `args.root` is a member, and a chain begins there.
pub fn bcast(shape: InterShape, rank: u32, args: Bcast, by: BcastBy) -> Schedule {
    let view = View::new(shape, rank);
    let mut phases = Phases::default();
    let Bcast { bytes, root } = args;
    if bytes == 0 || rank != root && !view.is_across(root) {
        return phases.finish();
    }
    let buffer = BUFFER.region(0, bytes);
    if let BcastBy::Chain(_) = by {
        let straight = view.straight(root);
        let part = by.schedule(straight.shape, straight.rank, Bcast { bytes, root: 0 });
        let place = Place { member: &|rank| straight.member(rank), buffer: &|_| buffer };
        phases.then(&part, 0, &place);
        return phases.finish();
    }
    match (rank == root, view.leads()) {
        (true, _) => phases.round(&[], &[(view.far(0), buffer)]),
        (false, true) => phases.round(&[(root, buffer)], &[]),
        (false, false) => phases.pass(1),
    }
    if rank != root {
        inside_by(&mut phases, view, buffer, by);
    }
    phases.finish()
}

/// The leader of this group sends what it has in `buffer` to the others. No phase follows.
pub(super) fn inside(phases: &mut Phases, view: View, buffer: Region) {
    let args = Bcast { bytes: buffer.len, root: 0 };
    inside_by(phases, view, buffer, select::bcast(view.local(), args));
}

fn inside_by(phases: &mut Phases, view: View, buffer: Region, by: BcastBy) {
    let args = Bcast { bytes: buffer.len, root: 0 };
    let part = by.schedule(view.local(), view.own(), args);
    phases.then(&part, 0, &Place { member: &|rank| view.near(rank), buffer: &|_| buffer });
}
