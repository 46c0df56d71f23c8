//! Reduce-scatter by halving the remaining blocks in each round, for commutative operations and any
//! number of ranks.
//!
//! A rank orders the blocks from its own onwards, so that block `i` belongs to the rank `i` after
//! it. Of `c` remaining blocks, with `h = ceil(c / 2)`, it sends those from `h` on to the rank `h`
//! after it, for which they are block 0 and the following blocks:
//!
//! ```text
//!   blocks of rank r     0  1  2 │ 3  4        c = 5, h = 3
//!                                  ▼  ▼
//!   of rank r + 3                  0  1  2  3  4
//! ```
//!
//! Träff, "Optimal, non-pipelined reduce-scatter and allreduce algorithms", 2024.
//!
//! Cost: ceil(log2 n) rounds; a rank sends, receives and reduces n - 1 blocks, and copies n + 1.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, ReduceScatter, Shape, block_offsets};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<ReduceScatter> = Algorithm {
    name: "halving",
    about: "in each round a rank sends half of the blocks that it still works for",
    fits: |_, args| args.commutative,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: ReduceScatter<'_>) -> Cost {
    let longest = args.blocks.iter().copied().max().unwrap_or(0) as u64;
    let total: u64 = args.blocks.iter().map(|block| *block as u64).sum();
    if longest == 0 || args.in_place && shape.ranks == 1 {
        return Cost::ZERO;
    }
    let halves = halves(shape);
    let sent = |(count, half): &(u32, u32)| total.min(u64::from(count - half) * longest);
    let bytes = halves.iter().map(sent).sum();
    let rounds = halves.len() as u64;
    Cost { rounds, messages: rounds, bytes, reduced: bytes, copied: total + longest }
}

/// Schedule of `rank`; empty blocks are not sent.
pub(crate) fn schedule(shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let ReduceScatter { blocks, in_place, .. } = args;
    if in_place && shape.ranks == 1 {
        return plan.finish();
    }
    let total: usize = blocks.iter().sum();
    let own = blocks[rank as usize];
    // The offset of each block in that order, and the end.
    let mut line: Vec<usize> =
        block_offsets(&[&blocks[rank as usize..], blocks].concat()).collect();
    line.truncate(shape.ranks as usize);
    line.push(total);
    let lined_up = plan.scratch(total);
    let part = |first: u32, end: u32| {
        let (start, end) = (line[first as usize], line[end as usize]);
        lined_up.region(start, end - start)
    };
    let halves = halves(shape);
    let arrivals = arrivals(&mut plan, shape, rank, &halves, &part);
    let upper = part(0, shape.ranks - rank);
    let lower = part(shape.ranks - rank, shape.ranks);
    let copies =
        [(args.input(total - upper.len, upper.len), upper), (args.input(0, lower.len), lower)];
    let copies = copies.into_iter().filter(|(from, _)| from.len > 0);
    let mut ready: Vec<StepId> = copies.map(|(from, to)| plan.copy(from, to, &[])).collect();
    for ((&(count, half), arrival), round) in halves.iter().zip(arrivals).zip(1..) {
        let out = part(half, count);
        if out.len > 0 {
            plan.send(shape.after(rank, half), out, round, &ready);
        }
        if let Some((arrived, step)) = arrival {
            ready.push(step);
            ready = vec![plan.reduce(arrived, part(0, count - half), &ready)];
        }
    }
    if own > 0 {
        plan.copy(part(0, 1), RECEIVE.region(0, own), &ready);
    }
    plan.finish()
}

/// Number of remaining blocks before each round, and of those that stay.
fn halves(shape: Shape) -> Vec<(u32, u32)> {
    let mut left = shape.ranks;
    let mut halves = Vec::new();
    while left > 1 {
        let half = left.div_ceil(2);
        halves.push((left, half));
        left = half;
    }
    halves
}

/// Posts the receives of all rounds at once, each to its own memory.
fn arrivals(
    plan: &mut ScheduleBuilder, shape: Shape, rank: u32, halves: &[(u32, u32)],
    part: &dyn Fn(u32, u32) -> Region,
) -> Vec<Option<(Region, StepId)>> {
    let mut receive = |(&(count, half), round): (&(u32, u32), u32)| {
        let len = part(0, count - half).len;
        (len > 0).then(|| {
            let region = plan.scratch(len).region(0, len);
            (region, plan.receive(shape.before(rank, half), region, round, &[]))
        })
    };
    halves.iter().zip(1..).map(&mut receive).collect()
}
