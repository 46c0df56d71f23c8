//! Allgather and allgatherv between two groups; the two directions are independent.
//!
//! Short blocks of a group are gathered at its leader, sent to the other leader in one message, and
//! broadcast there. Long blocks are sent one by one, those of consecutive ranks to one rank, and
//! then along the ring of the other group:
//!
//! ```text
//!   blocks   0 1 │ 2 3 4      of 5 ranks
//!            ▼ ▼   ▼ ▼ ▼
//!   to        0      1        of 2
//! ```
//!
//! Cost of a direction from m ranks to n: 2 rounds and a broadcast, and 1 message between the
//! groups; or n rounds and m messages. Each block is sent between the groups once.

use std::ops::Range;

use super::bcast::GroupBcast;
use super::{InterRoute, InterView, bcast, gather};
use crate::mpi::collective::algorithms::allgather::ring::allgatherv as ring;
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::{
    InterShape, RECEIVE, RankBlocks, SEND, Shape, block_buffer, block_offsets,
};
use crate::offload::{Region, Schedule};

/// Schedule of `rank` in an allgather in which each process of side `s` sends a block of
/// `blocks[s]` bytes by path `ways[s]`. Inside a group, broadcasts use `by`.
pub fn allgather(
    shape: InterShape, rank: u32, blocks: [usize; 2], ways: [InterRoute; 2], by: GroupBcast<'_>,
) -> Schedule {
    let view = InterView::new(shape, rank);
    let side = view.side();
    let is_led = |side: usize| ways[side] == InterRoute::ViaLeader;
    let own = SEND.region(0, blocks[side]);
    let mut phases = Phases::default();
    let mut out = if own.len > 0 {
        vec![(view.remote_member(receiver_of(view, view.local_rank())), own)]
    } else {
        Vec::new()
    };
    if is_led(side) {
        let gathered = gather::to_leader(&mut phases, view, blocks[side]);
        out = gathered.map(|gathered| (view.remote_member(0), gathered)).into_iter().collect();
    } else {
        phases.skip_rounds(1);
    }
    let incoming = RECEIVE.region(0, blocks[1 - side] * view.remote().ranks as usize);
    if is_led(1 - side) {
        let arrives =
            (view.is_leader() && incoming.len > 0).then_some((view.remote_member(0), incoming));
        phases.round(arrives.as_slice(), &out);
        bcast::bcast_in_group(&mut phases, view, incoming, by);
    } else {
        let blocks = vec![blocks[1 - side]; view.remote().ranks as usize];
        distribute(&mut phases, view, &out, incoming, &blocks);
    }
    phases.finish()
}

/// Schedule of `rank` in an allgatherv: `own` bytes of this rank, `blocks` of the other group.
pub fn allgatherv(shape: InterShape, rank: u32, own: usize, blocks: &[usize]) -> Schedule {
    let view = InterView::new(shape, rank);
    let mut phases = Phases::default();
    let out = (own > 0)
        .then(|| (view.remote_member(receiver_of(view, view.local_rank())), SEND.region(0, own)));
    let incoming = phases.scratch(blocks.iter().sum());
    distribute(&mut phases, view, out.as_slice(), incoming, blocks);
    let places = (0..).zip(block_offsets(blocks)).zip(blocks);
    phases.copy(places.map(|((of, start), len)| {
        (incoming.buffer.region(start, *len), block_buffer(of).region(0, *len))
    }));
    phases.finish()
}

/// The rank of the other group that receives the block of this group's rank `of`.
fn receiver_of(view: InterView, of: u32) -> u32 {
    let (from, to) = (u64::from(view.local().ranks), u64::from(view.remote().ranks));
    (((u64::from(of) + 1) * to - 1) / from) as u32
}

/// The ranks of the other group whose blocks this group's rank `of` receives.
fn blocks_received_by(view: InterView, of: u32) -> Range<u32> {
    let (from, to) = (u64::from(view.remote().ranks), u64::from(view.local().ranks));
    let start = |of: u64| (of * from / to) as u32;
    start(of.into())..start(u64::from(of) + 1)
}

/// Blocks of the other group arrive in `incoming` in sequence, and are sent along this group's
/// ring.
fn distribute(
    phases: &mut Phases, view: InterView, out: &[(u32, Region)], incoming: Region, blocks: &[usize],
) {
    let mut starts: Vec<usize> = block_offsets(blocks).collect();
    starts.push(incoming.len);
    let part = |ranks: Range<u32>| {
        let (start, end) = (starts[ranks.start as usize], starts[ranks.end as usize]);
        incoming.buffer.region(incoming.start + start, end - start)
    };
    let own = blocks_received_by(view, view.local_rank())
        .map(|of| (view.remote_member(of), part(of..of + 1)));
    let into: Vec<(u32, Region)> = own.filter(|(_, block)| block.len > 0).collect();
    phases.round(&into, out);
    let local: Shape = view.local();
    let parts: Vec<Region> =
        (0..local.ranks).map(|of| part(blocks_received_by(view, of))).collect();
    let lens: Vec<usize> = parts.iter().map(|part| part.len).collect();
    let around = ring(local, view.local_rank(), RankBlocks { blocks: &lens, in_place: true });
    let buffer = |entry: u32| parts[entry as usize - 1];
    phases.then(
        &around,
        local.ranks,
        &PhasePlacement { member: &|rank| view.local_member(rank), buffer: &buffer },
    );
}
