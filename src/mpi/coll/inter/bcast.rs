//! Broadcast from one process to the other group: to its leader, then inside; or as if the root
//! were of that group.
//!
//! Cost, n being the size of the group that receives: led, one round more than a broadcast of n
//! ranks, and the message crosses once; straight, that of a broadcast of n + 1 ranks.

use super::{View, Way};
use crate::mpi::coll::phases::{Phases, Place};
use crate::mpi::coll::{BUFFER, Bcast, InterShape, Shape};
use crate::offload::{Region, Schedule};

/// A broadcast inside a group.
pub type Inside<'a> = &'a dyn Fn(Shape, u32, Bcast) -> Schedule;

/// The part of `rank`; `args.root` is a member. Inside the group, or straight, it goes `by` this.
pub fn bcast(shape: InterShape, rank: u32, args: Bcast, way: Way, by: Inside<'_>) -> Schedule {
    let view = View::new(shape, rank);
    let mut phases = Phases::default();
    let Bcast { bytes, root } = args;
    if bytes == 0 || rank != root && !view.is_across(root) {
        return phases.finish();
    }
    let buffer = BUFFER.region(0, bytes);
    if way == Way::Straight {
        let straight = view.straight(root);
        let part = by(straight.shape, straight.rank, Bcast { bytes, root: 0 });
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
        inside(&mut phases, view, buffer, by);
    }
    phases.finish()
}

/// The leader of this group sends what it has in `buffer` to the others. No phase follows.
pub(super) fn inside(phases: &mut Phases, view: View, buffer: Region, by: Inside<'_>) {
    let part = by(view.local(), view.own(), Bcast { bytes: buffer.len, root: 0 });
    phases.then(&part, 0, &Place { member: &|rank| view.near(rank), buffer: &|_| buffer });
}
