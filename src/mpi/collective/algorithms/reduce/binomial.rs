//! Reduce along a binomial tree.
//!
//! Ranks count from the leader, which has the result at the end. The leader is the root if the
//! operation commutes, otherwise rank 0, since a tree from another rank would not combine ranks in
//! order. Place `p` first has its own operand. After `k` children it has the partial result of the
//! `2^k` places from `p` on, and the child at `p + 2^k` that of the next `2^k`; so `own op child`
//! keeps the order.
//!
//! Cost: ceil(log2 n) rounds, one more if the root is not the leader; a rank sends one operand, and
//! receives and reduces at most ceil(log2 n) operands.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, Reduce, SEND, Shape};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Reduce> = Algorithm {
    name: "binomial",
    about: "along a binomial tree",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Reduce) -> Cost {
    let Reduce { operands, root, in_place } = args;
    let bytes = operands.bytes as u64;
    match (shape.ranks, bytes) {
        (_, 0) => return Cost::ZERO,
        (1, _) => return Cost::of_copy(if in_place { 0 } else { bytes }),
        _ => {}
    }
    let children = u64::from(shape.doublings());
    let rounds = children + u64::from(root != 0 && !operands.commutative);
    Cost {
        rounds,
        messages: children,
        bytes: rounds * bytes,
        reduced: children * bytes,
        copied: if in_place { bytes } else { 0 },
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Reduce) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let Reduce { operands, root, in_place } = args;
    let whole = |buffer: Buffer| buffer.region(0, operands.bytes);
    if operands.bytes == 0 {
        return plan.finish();
    }
    let in_place = in_place && rank == root;
    let input = whole(if in_place { RECEIVE } else { SEND });
    if shape.ranks == 1 {
        if !in_place {
            plan.copy(input, whole(RECEIVE), &[]);
        }
        return plan.finish();
    }
    let leader = if operands.commutative { root } else { 0 };
    let place = shape.before(rank, leader);
    let children = children(shape, place, leader);
    let at_end = (rank == leader && leader == root).then_some(whole(RECEIVE));
    let (result, ready) = combine(&mut plan, input, at_end, &children);
    let mut sent = None;
    if place > 0 {
        let bit = place.trailing_zeros();
        let parent = shape.after(leader, place - (1 << bit));
        sent = Some(plan.send(parent, result, bit + 1, ready.as_slice()));
    }
    let last = shape.doublings() + 1;
    if leader != root && rank == leader {
        plan.send(root, result, last, ready.as_slice());
    }
    if leader != root && rank == root {
        let after = sent.filter(|_| in_place);
        plan.receive(leader, whole(RECEIVE), last, after.as_slice());
    }
    plan.finish()
}

/// The rank and the round of each child, in the order of rounds.
fn children(shape: Shape, place: u32, leader: u32) -> Vec<(u32, u32)> {
    let bits = if place == 0 { shape.doublings() } else { place.trailing_zeros() };
    (0..bits)
        .map(|bit| (place + (1 << bit), bit + 1))
        .take_while(|&(child, _)| child < shape.ranks)
        .map(|(child, round)| (shape.after(leader, child), round))
        .collect()
}

/// Combines `input` with the operands of the children; returns the result's location and the step
/// that completes it.
///
/// Partial results arrive in two alternating buffers: while one is combined, the next arrives in
/// the other. The last arrives in `at_end`, if given.
fn combine(
    plan: &mut ScheduleBuilder, input: Region, at_end: Option<Region>, children: &[(u32, u32)],
) -> (Region, Option<StepId>) {
    let count = children.len();
    let turns = alternating_buffers(plan, input, at_end, count);
    let (mut held, mut ready) = (input, None);
    if turns.first() == Some(&input) {
        held = plan.scratch(input.len).region(0, input.len);
        ready = Some(plan.copy(input, held, &[]));
    }
    for (turn, (&(child, round), &arrival)) in children.iter().zip(&turns).enumerate() {
        // The previous content has been combined by then; the first two receives find their buffers
        // free.
        let free = ready.filter(|_| turn >= 2 || arrival == input);
        let receive = plan.receive(child, arrival, round, free.as_slice());
        let after: Vec<StepId> = ready.into_iter().chain([receive]).collect();
        ready = Some(plan.reduce(held, arrival, &after));
        held = arrival;
    }
    (held, ready)
}

/// The receive buffer for each of `count` children.
fn alternating_buffers(
    plan: &mut ScheduleBuilder, input: Region, at_end: Option<Region>, count: usize,
) -> Vec<Region> {
    let mut buffer = || plan.scratch(input.len).region(0, input.len);
    let last = (count > 0).then(|| at_end.unwrap_or_else(&mut buffer));
    let other = (count > 1).then(buffer);
    (0..count).rev().filter_map(|left| if left % 2 == 0 { last } else { other }).collect()
}
