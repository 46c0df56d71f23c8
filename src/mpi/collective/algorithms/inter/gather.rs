//! Gather from one group to a process of the other: short blocks go through the leader in one
//! message, long blocks directly to the root.
//!
//! Cost, n being the size of the sending group: 2 rounds and 1 message between the groups; or 1
//! round and n messages.

use super::{InterRoute, InterView};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::gather;
use crate::mpi::collective::algorithms::gather::linear::gatherv as linear;
use crate::mpi::collective::algorithms::{
    InterShape, RECEIVE, Rooted, RootedBlocks, SEND, block_buffer,
};
use crate::offload::{Region, Schedule};

/// Schedule of `rank` in a gather; `args.root` is a member.
pub fn gather(shape: InterShape, rank: u32, args: Rooted, way: InterRoute) -> Schedule {
    let view = InterView::new(shape, rank);
    let Rooted { block, root, .. } = args;
    if rank != root && !view.is_remote(root) {
        return Schedule::default();
    }
    let senders = view.direct_group(root).shape.ranks as usize - 1;
    let all = block.saturating_mul(senders);
    if way == InterRoute::Direct {
        return gather_direct(view, root, block, &vec![block; senders], &|of| {
            RECEIVE.region(of as usize * block, block)
        });
    }
    let mut phases = Phases::default();
    if rank == root {
        phases.skip_rounds(1);
        if all > 0 {
            phases.round(&[(view.remote_member(0), RECEIVE.region(0, all))], &[]);
        }
    } else if let Some(gathered) = to_leader(&mut phases, view, block) {
        phases.round(&[], &[(root, gathered)]);
    }
    phases.finish()
}

/// The leader of this group gathers its blocks in one round. Returns their location on the leader,
/// if there are any bytes.
pub(super) fn to_leader(phases: &mut Phases, view: InterView, block: usize) -> Option<Region> {
    let args = Rooted { block, root: 0, in_place: false };
    let all = if view.is_leader() { block * view.local().ranks as usize } else { 0 };
    let gathered = phases.scratch(all);
    let part = gather::linear::schedule(view.local(), view.local_rank(), args);
    let buffers = [SEND.region(0, block), gathered];
    let buffer = |entry: u32| buffers[entry as usize];
    phases.then(
        &part,
        1,
        &PhasePlacement { member: &|rank| view.local_member(rank), buffer: &buffer },
    );
    (all > 0).then_some(gathered)
}

/// Schedule of `rank` in a gatherv: `args.blocks` are those of the other group, `args.root` is a
/// member. Empty blocks are not sent.
pub fn gatherv(shape: InterShape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    let view = InterView::new(shape, rank);
    if rank != args.root && !view.is_remote(args.root) {
        return Schedule::default();
    }
    let place = |of: u32| block_buffer(of).region(0, args.blocks[of as usize]);
    gather_direct(view, args.root, args.own, args.blocks, &place)
}

/// All blocks are sent directly to the root, where `place` is the location of each.
fn gather_direct(
    view: InterView, root: u32, own: usize, blocks: &[usize], place: &dyn Fn(u32) -> Region,
) -> Schedule {
    let straight = view.direct_group(root);
    // The root is one of the ranks of this gather, with an empty block.
    let blocks = [&[0], blocks].concat();
    let args = RootedBlocks { own, blocks: &blocks, root: 0, in_place: true };
    let part = linear(straight.shape, straight.rank, args);
    let buffer = |entry: u32| match entry {
        0 => SEND.region(0, own),
        _ if straight.rank > 0 => Region::EMPTY,
        1 => Region::EMPTY,
        entry => place(entry - 2),
    };
    let mut phases = Phases::default();
    phases.then(
        &part,
        1,
        &PhasePlacement { member: &|rank| straight.member(rank), buffer: &buffer },
    );
    phases.finish()
}
