//! Empty messages along a binomial tree: the two halves of a barrier.
//!
//! The parent of rank `r` is `r` with its lowest bit cleared.
//!
//! Cost: ceil(log2 n) rounds for the fan-in, floor(log2 n) for the fan-out.

use crate::mpi::collective::algorithms::Shape;
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

/// Fan-in: a message from every subtree to rank 0.
pub(crate) fn fan_in(shape: Shape, rank: u32) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let heard: Vec<StepId> = children(shape, rank)
        .map(|(child, bit)| plan.receive(child, Region::EMPTY, bit + 1, &[]))
        .collect();
    if rank > 0 {
        let bit = rank.trailing_zeros();
        plan.send(rank - (1 << bit), Region::EMPTY, bit + 1, &heard);
    }
    plan.finish()
}

/// Fan-out from rank 0; the child with the largest subtree is first.
pub(crate) fn fan_out(shape: Shape, rank: u32) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let parent = rank & rank.wrapping_sub(1);
    let heard = (rank > 0).then(|| plan.receive(parent, Region::EMPTY, rank.count_ones(), &[]));
    for (child, _) in children(shape, rank).collect::<Vec<_>>().into_iter().rev() {
        plan.send(child, Region::EMPTY, child.count_ones(), heard.as_slice());
    }
    plan.finish()
}

/// The children of a rank, each with the bit in which it differs.
fn children(shape: Shape, rank: u32) -> impl Iterator<Item = (u32, u32)> {
    let bits = if rank == 0 { shape.doublings() } else { rank.trailing_zeros() };
    let children = (0..bits).map(move |bit| (rank + (1 << bit), bit));
    children.take_while(move |&(child, _)| child < shape.ranks)
}
