//! Alltoall, alltoallv and alltoallw between two groups: an operation among the members of both,
//! with empty blocks inside the own group.
//!
//! Cost: as `alltoall::pairwise` for all members; a rank sends one message to each rank of the
//! other group.

use super::InterView;
use crate::mpi::collective::algorithms::alltoall::pairwise::alltoallv as pairwise;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::{BlockPairs, InterShape, RECEIVE, SEND, Shape};
use crate::offload::{Buffer, Region, Schedule};

/// Schedule of `rank` in an alltoall in which each process of side `s` sends blocks of `blocks[s]`
/// bytes.
pub fn alltoall(shape: InterShape, rank: u32, blocks: [usize; 2]) -> Schedule {
    let view = InterView::new(shape, rank);
    let (send, receive) = (blocks[view.side()], blocks[1 - view.side()]);
    let remote = view.remote().ranks as usize;
    let args =
        BlockPairs { send: &vec![send; remote], receive: &vec![receive; remote], in_place: false };
    exchange(view, args, &|to| SEND.region(to as usize * send, send), &|from| {
        RECEIVE.region(from as usize * receive, receive)
    })
}

/// Schedule of `rank` in an alltoallv or alltoallw, with blocks to and from the other group.
pub fn alltoallv(shape: InterShape, rank: u32, args: BlockPairs<'_>) -> Schedule {
    let view = InterView::new(shape, rank);
    let remote = view.remote().ranks;
    exchange(view, args, &|to| Buffer::User(to).region(0, args.send[to as usize]), &|from| {
        Buffer::User(remote + from).region(0, args.receive[from as usize])
    })
}

fn exchange(
    view: InterView, args: BlockPairs<'_>, send: &dyn Fn(u32) -> Region,
    receive: &dyn Fn(u32) -> Region,
) -> Schedule {
    let ranks: u32 = view.shape.sizes.iter().sum();
    let among_all = |blocks: &[usize]| {
        let mut all = vec![0; ranks as usize];
        all[view.remote_member(0) as usize..][..blocks.len()].copy_from_slice(blocks);
        all
    };
    let (sent, received) = (among_all(args.send), among_all(args.receive));
    let all = BlockPairs { send: &sent, receive: &received, in_place: false };
    let part = pairwise(Shape { ranks }, view.rank, all);
    // Only blocks with bytes are requested, and those belong to the other group.
    let buffer = |entry: u32| match entry.checked_sub(ranks) {
        None => send(entry - view.remote_member(0)),
        Some(from) => receive(from - view.remote_member(0)),
    };
    let mut phases = Phases::default();
    phases.then(&part, 0, &PhasePlacement { member: &|rank| rank, buffer: &buffer });
    phases.finish()
}
