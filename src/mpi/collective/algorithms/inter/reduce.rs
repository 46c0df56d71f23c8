//! Reductions between two groups: each group reduces to its leader, in rank order; the leaders
//! exchange the results, and distribute them inside the other group.
//!
//! Cost, n being the size of the larger group: reduce, ceil(log2 n) + 2 rounds, 1 operand between
//! the groups; allreduce and reduce-scatter, that and a broadcast or 1 round more, 2 operands.

use super::bcast::GroupBcast;
use super::{InterView, bcast, scatter};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::reduce;
use crate::mpi::collective::algorithms::{
    Allreduce, InterShape, Operands, RECEIVE, Reduce, ReduceScatter, SEND,
};
use crate::offload::{Region, Schedule};

/// Schedule of `rank` in a reduce; `args.root` is a member.
pub fn reduce(shape: InterShape, rank: u32, args: Reduce) -> Schedule {
    let view = InterView::new(shape, rank);
    let Reduce { operands, root, .. } = args;
    let mut phases = Phases::default();
    if operands.bytes == 0 || rank != root && !view.is_remote(root) {
        return phases.finish();
    }
    if rank == root {
        phases.skip_rounds(rounds(view));
        let result = RECEIVE.region(0, operands.bytes);
        phases.round(&[(view.remote_member(0), result)], &[]);
    } else if let Some(sum) = to_leader(&mut phases, view, operands) {
        phases.round(&[], &[(root, sum)]);
    }
    phases.finish()
}

/// Schedule of `rank` in an allreduce; inside a group, the broadcast of the result uses `by`.
pub fn allreduce(shape: InterShape, rank: u32, args: Allreduce, by: GroupBcast<'_>) -> Schedule {
    let view = InterView::new(shape, rank);
    let mut phases = Phases::default();
    if args.operands.bytes > 0 {
        let result = RECEIVE.region(0, args.operands.bytes);
        exchange_results(&mut phases, view, args.operands, result);
        bcast::bcast_in_group(&mut phases, view, result, by);
    }
    phases.finish()
}

/// Schedule of `rank` in a reduce-scatter. `args.blocks` are those of its own group, with the same
/// total length as the other group's. An element has `element` bytes.
pub fn reduce_scatter(
    shape: InterShape, rank: u32, args: ReduceScatter<'_>, element: usize,
) -> Schedule {
    let view = InterView::new(shape, rank);
    let bytes = args.blocks.iter().sum();
    let operands = Operands { bytes, element, commutative: args.commutative };
    let mut phases = Phases::default();
    if bytes > 0 {
        let result = phases.scratch(if view.is_leader() { bytes } else { 0 });
        exchange_results(&mut phases, view, operands, result);
        scatter::from_leader(&mut phases, view, result, args.blocks);
    }
    phases.finish()
}

/// The leader of this group receives the other group's partial result in `result`.
fn exchange_results(phases: &mut Phases, view: InterView, operands: Operands, result: Region) {
    let sum = to_leader(phases, view, operands);
    match sum {
        None => phases.skip_rounds(1),
        Some(sum) => {
            phases.round(&[(view.remote_member(0), result)], &[(view.remote_member(0), sum)])
        }
    }
}

/// The leader of this group reduces its operands, of at least one byte. Returns the location of the
/// result on the leader.
fn to_leader(phases: &mut Phases, view: InterView, operands: Operands) -> Option<Region> {
    let own = SEND.region(0, operands.bytes);
    if view.local().ranks == 1 {
        phases.skip_rounds(rounds(view));
        return Some(own);
    }
    let sum = phases.scratch(if view.is_leader() { operands.bytes } else { 0 });
    let args = Reduce { operands, root: 0, in_place: false };
    let part = reduce::binomial::schedule(view.local(), view.local_rank(), args);
    let buffers = [own, sum];
    let buffer = |entry: u32| buffers[entry as usize];
    phases.then(
        &part,
        rounds(view),
        &PhasePlacement { member: &|rank| view.local_member(rank), buffer: &buffer },
    );
    view.is_leader().then_some(sum)
}

/// Number of rounds of a reduction inside either group.
fn rounds(view: InterView) -> u32 {
    view.larger().doublings()
}
