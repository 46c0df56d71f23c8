//! Barrier between two groups: a tree to each leader, the leaders tell each other, and back.
//!
//! A process returns when all processes of the other group have called (MPI 5.0 §6.3).
//!
//! Cost, n being the size of the larger group: 2 ceil(log2 n) + 1 rounds; 2 messages cross.

use super::View;
use crate::mpi::coll::{InterShape, Shape};
use crate::offload::{Builder, Region, Schedule, StepId};

/// The part of `rank`.
pub fn barrier(shape: InterShape, rank: u32) -> Schedule {
    let view = View::new(shape, rank);
    let mut plan = Builder::new();
    let (own, rounds) = (view.own(), view.larger().doublings());
    let children = children(view.local(), own);
    let heard: Vec<StepId> = children
        .iter()
        .map(|&(child, bit)| plan.receive(view.near(child), Region::EMPTY, bit + 1, &[]))
        .collect();
    let release = if view.leads() {
        let release = plan.receive(view.far(0), Region::EMPTY, rounds + 1, &[]);
        plan.send(view.far(0), Region::EMPTY, rounds + 1, &heard);
        release
    } else {
        let parent = view.near(own & (own - 1));
        plan.send(parent, Region::EMPTY, own.trailing_zeros() + 1, &heard);
        plan.receive(parent, Region::EMPTY, rounds + 1 + own.count_ones(), &[])
    };
    for &(child, _) in children.iter().rev() {
        let round = rounds + 1 + child.count_ones();
        plan.send(view.near(child), Region::EMPTY, round, &[release]);
    }
    plan.finish()
}

/// The children of a rank in a binomial tree, each with the bit that it differs in.
fn children(shape: Shape, rank: u32) -> Vec<(u32, u32)> {
    let bits = if rank == 0 { shape.doublings() } else { rank.trailing_zeros() };
    let children = (0..bits).map(|bit| (rank + (1 << bit), bit));
    children.take_while(|&(child, _)| child < shape.ranks).collect()
}
