//! Allgather and allgatherv by dissemination: the number of blocks on a rank doubles in each round.
//!
//! A rank collects blocks in scratch memory, beginning with its own, and copies them into rank
//! order at the end. Bruck et al., "Efficient algorithms for all-to-all communications in multiport
//! message-passing systems", IEEE TPDS 8(11), 1997, section 4.
//!
//! Cost: ceil(log2 n) rounds; a rank sends and receives n - 1 blocks, and copies n + 1.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{
    RECEIVE, RankBlocks, SEND, Shape, UniformBlocks, block_buffer,
};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALLGATHER: Algorithm<UniformBlocks> = Algorithm {
    name: "bruck",
    about: "the number of blocks that a rank has doubles in each round",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args.block, args.block * shape.ranks as usize, 1),
    schedule,
    segmented: None,
};

pub(crate) const ALLGATHERV: Algorithm<RankBlocks> = Algorithm {
    name: "bruck",
    about: "the number of blocks that a rank has doubles in each round",
    fits: |_, _| true,
    cost: |shape, args| {
        let longest = args.blocks.iter().copied().max().unwrap_or(0);
        cost(shape, longest, args.blocks.iter().sum(), usize::from(!args.in_place))
    },
    schedule: allgatherv,
    segmented: None,
};

/// Cost for blocks of `all` bytes, of which `own` blocks belong to this rank and are copied out.
fn cost(shape: Shape, longest: usize, all: usize, own: usize) -> Cost {
    if longest == 0 {
        return Cost::ZERO;
    }
    let rounds = shape.doublings();
    let sent = (0..rounds).map(|bit| {
        let blocks = (1 << bit).min(shape.ranks - (1 << bit));
        longest.saturating_mul(blocks as usize).min(all) as u64
    });
    Cost {
        rounds: rounds.into(),
        messages: rounds.into(),
        bytes: sent.sum(),
        copied: (all + own * longest) as u64,
        ..Cost::ZERO
    }
}

/// Schedule of `rank` in an allgather.
pub(crate) fn schedule(shape: Shape, rank: u32, args: UniformBlocks) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let block = args.block;
    if block == 0 {
        return plan.finish();
    }
    let ranks = shape.ranks as usize;
    let receive = |first: usize, count: usize| RECEIVE.region(first * block, count * block);
    let own = if args.in_place { receive(rank as usize, 1) } else { SEND.region(0, block) };
    let (turned, have) = collect(&mut plan, shape, rank, own, |blocks| blocks as usize * block);
    let blocks = |first: usize, count: usize| turned.region(first * block, count * block);
    let upper = ranks - rank as usize;
    plan.copy(blocks(0, upper), receive(rank as usize, upper), &have);
    if rank > 0 {
        plan.copy(blocks(upper, rank as usize), receive(0, rank as usize), &have);
    }
    plan.finish()
}

/// Schedule of `rank` in an allgatherv; empty messages are not sent.
pub(crate) fn allgatherv(shape: Shape, rank: u32, args: RankBlocks<'_>) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let place = |of: u32| block_buffer(of).region(0, args.blocks[of as usize]);
    let own = if args.in_place { place(rank) } else { SEND.region(0, place(rank).len) };
    let turned_ranks = || (0..shape.ranks).map(|steps| shape.after(rank, steps));
    let mut starts = vec![0];
    starts.extend(turned_ranks().scan(0, |end, of| {
        *end += place(of).len;
        Some(*end)
    }));
    let (turned, have) = collect(&mut plan, shape, rank, own, |blocks| starts[blocks as usize]);
    for (of, start) in turned_ranks().zip(starts) {
        let place = place(of);
        if place.len > 0 && !(args.in_place && of == rank) {
            plan.copy(turned.region(start, place.len), place, &have);
        }
    }
    plan.finish()
}

/// Collects the blocks of all ranks, beginning with block `own` of `rank`. `bytes` returns the
/// length of a number of these blocks. Returns their location and the steps that complete the
/// collection.
fn collect(
    plan: &mut ScheduleBuilder, shape: Shape, rank: u32, own: Region, bytes: impl Fn(u32) -> usize,
) -> (Buffer, Vec<StepId>) {
    let turned = plan.scratch(bytes(shape.ranks));
    let blocks = |first: u32, count: u32| {
        let start = bytes(first);
        turned.region(start, bytes(first + count) - start)
    };
    let rounds = || (0..shape.doublings()).map(|bit| (1 << bit, bit + 1));
    let news = |held: u32| held.min(shape.ranks - held);

    let received: Vec<Option<StepId>> = rounds()
        .map(|(held, round)| {
            let region = blocks(held, news(held));
            let from = shape.after(rank, held);
            (region.len > 0).then(|| plan.receive(from, region, round, &[]))
        })
        .collect();
    let mut have = vec![plan.copy(own, blocks(0, 1), &[])];
    for ((held, round), received) in rounds().zip(received) {
        let region = blocks(0, news(held));
        if region.len > 0 {
            plan.send(shape.before(rank, held), region, round, &have);
        }
        have.extend(received);
    }
    (turned, have)
}
