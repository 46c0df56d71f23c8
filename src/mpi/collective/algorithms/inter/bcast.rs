//! Broadcast from one process to the other group: through its leader, or directly, as if the root
//! were a member of that group.
//!
//! Cost, n being the size of the receiving group: through the leader, one round more than a
//! broadcast among n ranks, and one message between the groups; directly, that of a broadcast among
//! n + 1 ranks.

use super::{InterRoute, InterView};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::{BUFFER, Bcast, InterShape, Shape};
use crate::offload::{Region, Schedule};

/// A broadcast inside a group.
pub(crate) type GroupBcast<'a> = &'a dyn Fn(Shape, u32, Bcast) -> Schedule;

/// Schedule of `rank`; `args.root` is a member. The broadcast inside the group, or the direct one,
/// uses `by`.
pub fn bcast(
    shape: InterShape, rank: u32, args: Bcast, way: InterRoute, by: GroupBcast<'_>,
) -> Schedule {
    let view = InterView::new(shape, rank);
    let mut phases = Phases::default();
    let Bcast { bytes, root } = args;
    if bytes == 0 || rank != root && !view.is_remote(root) {
        return phases.finish();
    }
    let buffer = BUFFER.region(0, bytes);
    if way == InterRoute::Direct {
        let straight = view.direct_group(root);
        let part = by(straight.shape, straight.rank, Bcast { bytes, root: 0 });
        let place = PhasePlacement { member: &|rank| straight.member(rank), buffer: &|_| buffer };
        phases.then(&part, 0, &place);
        return phases.finish();
    }
    match (rank == root, view.is_leader()) {
        (true, _) => phases.round(&[], &[(view.remote_member(0), buffer)]),
        (false, true) => phases.round(&[(root, buffer)], &[]),
        (false, false) => phases.skip_rounds(1),
    }
    if rank != root {
        bcast_in_group(&mut phases, view, buffer, by);
    }
    phases.finish()
}

/// The leader of this group broadcasts `buffer` inside the group. No phase follows.
pub(super) fn bcast_in_group(
    phases: &mut Phases, view: InterView, buffer: Region, by: GroupBcast<'_>,
) {
    let part = by(view.local(), view.local_rank(), Bcast { bytes: buffer.len, root: 0 });
    phases.then(
        &part,
        0,
        &PhasePlacement { member: &|rank| view.local_member(rank), buffer: &|_| buffer },
    );
}
