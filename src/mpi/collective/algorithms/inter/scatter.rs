//! Scatter from a process to the other group: short blocks go in one message to the leader, which
//! scatters them; long blocks go directly from the root.
//!
//! Cost, n being the size of the receiving group: 2 rounds and 1 message between the groups; or 1
//! round and n messages.

use super::{InterRoute, InterView};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::scatter::linear::scatterv as linear;
use crate::mpi::collective::algorithms::{
    InterShape, RECEIVE, Rooted, RootedBlocks, SEND, block_buffer, block_offsets,
};
use crate::offload::{Buffer, Region, Schedule};

/// Schedule of `rank` in a scatter; `args.root` is a member.
pub fn scatter(shape: InterShape, rank: u32, args: Rooted, way: InterRoute) -> Schedule {
    let view = InterView::new(shape, rank);
    let Rooted { block, root, .. } = args;
    if rank != root && !view.is_remote(root) {
        return Schedule::default();
    }
    let receivers = view.direct_group(root).shape.ranks as usize - 1;
    let all = block.saturating_mul(receivers);
    let blocks = vec![block; receivers];
    if way == InterRoute::Direct {
        return scatter_direct(view, root, RECEIVE.region(0, block), &blocks, &|of| {
            SEND.region(of as usize * block, block)
        });
    }
    let mut phases = Phases::default();
    if all == 0 {
        return phases.finish();
    }
    let arrived = phases.scratch(if rank != root && view.is_leader() { all } else { 0 });
    match (rank == root, view.is_leader()) {
        (true, _) => phases.round(&[], &[(view.remote_member(0), SEND.region(0, all))]),
        (false, true) => phases.round(&[(root, arrived)], &[]),
        (false, false) => phases.skip_rounds(1),
    }
    if rank != root {
        from_leader(&mut phases, view, arrived, &blocks);
    }
    phases.finish()
}

/// The leader of this group scatters `from` to the receive buffers, in one round.
pub(super) fn from_leader(phases: &mut Phases, view: InterView, from: Region, blocks: &[usize]) {
    let starts: Vec<usize> = block_offsets(blocks).collect();
    let own = RECEIVE.region(0, blocks[view.local_rank() as usize]);
    let buffer = |entry: u32| match entry.checked_sub(1) {
        None => own,
        Some(of) => {
            let of = of as usize;
            from.buffer.region(from.start + starts[of], blocks[of])
        }
    };
    let args = RootedBlocks { own: own.len, blocks, root: 0, in_place: false };
    let part = linear(view.local(), view.local_rank(), args);
    phases.then(
        &part,
        1,
        &PhasePlacement { member: &|rank| view.local_member(rank), buffer: &buffer },
    );
}

/// Schedule of `rank` in a scatterv: `args.blocks` are those for the other group, `args.root` is a
/// member. Empty blocks are not sent.
pub fn scatterv(shape: InterShape, rank: u32, args: RootedBlocks<'_>) -> Schedule {
    let view = InterView::new(shape, rank);
    if rank != args.root && !view.is_remote(args.root) {
        return Schedule::default();
    }
    let place = |of: u32| block_buffer(of).region(0, args.blocks[of as usize]);
    let own = Buffer::User(0).region(0, args.own);
    scatter_direct(view, args.root, own, args.blocks, &place)
}

/// All blocks are sent directly from the root, where `place` is the location of each, to `own` of
/// each rank.
fn scatter_direct(
    view: InterView, root: u32, own: Region, blocks: &[usize], place: &dyn Fn(u32) -> Region,
) -> Schedule {
    let straight = view.direct_group(root);
    // The root is one of the ranks of this scatter, with an empty block.
    let blocks = [&[0], blocks].concat();
    let args = RootedBlocks { own: own.len, blocks: &blocks, root: 0, in_place: true };
    let part = linear(straight.shape, straight.rank, args);
    let buffer = |entry: u32| match entry {
        0 => own,
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
