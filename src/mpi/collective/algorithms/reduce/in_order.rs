//! Reduce along a binomial tree of adjacent ranks that ends at any root.
//!
//! The tree is the part of a butterfly that leads to the root's place. In round `k`, places that
//! differ from the root's place in bit `k` send their partial result to the partner that does not
//! differ. Partners stand for adjacent ranks, so ranks combine in order and the operation need not
//! commute, without a further message to a root other than rank 0. The association of operands is
//! equal for all roots, and equal to that of an allreduce (`butterfly`, "Association").
//!
//! Cost: floor(log2 n) rounds (+ 1); a rank sends one operand, receives and reduces at most one in
//! each round, and copies at most one.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyBuffers, ButterflyRole, PeerExchange,
};
use crate::mpi::collective::algorithms::{Reduce, SEND, Shape};
use crate::offload::{Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<Reduce> = Algorithm {
    name: "in_order",
    about: "along a binomial tree of adjacent ranks, whose last meeting is at the root",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Reduce) -> Cost {
    let bytes = args.operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, args.in_place);
    }
    let rounds = u64::from(butterfly::rounds_before(shape) + shape.ranks.ilog2());
    let passing = rounds * bytes;
    Cost { rounds, messages: rounds, bytes: passing, reduced: passing, copied: bytes }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Reduce) -> Schedule {
    let Reduce { operands, root, in_place } = args;
    let bytes = operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let Some((place, folded)) = join_butterfly(&mut plan, shape, rank, args) else {
        return plan.finish();
    };
    let mut meetings: Vec<PeerExchange> = folded.into_iter().collect();
    let away = place ^ butterfly::place_of(shape, root);
    let bits = away.trailing_zeros().min(shape.ranks.ilog2());
    let before = butterfly::rounds_before(shape);
    let partner = |bit: u32| butterfly::rank_for_root(shape, place ^ 1 << bit, root);
    meetings.extend((0..bits).map(|bit| PeerExchange {
        peer: partner(bit),
        above: place >> bit & 1 == 0,
        round: before + 1 + bit,
        give: None,
        keep: 0..bytes,
    }));
    let ends =
        if rank == root { ButterflyBuffers::of(in_place) } else { ButterflyBuffers::FORWARDING };
    let held = butterfly::combine(&mut plan, &meetings, ends);
    if rank == root {
        held.deliver(&mut plan, &(0..bytes));
    } else {
        plan.send(partner(bits), held.part(&(0..bytes)), before + 1 + bits, held.ready.as_slice());
    }
    plan.finish()
}

/// The place of `rank` in the butterfly toward the root, and its exchange with the rank that it
/// acts for, which is below if `rank` is the root. `None` for a rank that another acts for: it
/// sends its operand there.
pub(crate) fn join_butterfly(
    plan: &mut ScheduleBuilder, shape: Shape, rank: u32, args: Reduce,
) -> Option<(u32, Option<PeerExchange>)> {
    match ButterflyRole::for_root(shape, rank, args.root) {
        ButterflyRole::Absorbed { by } => {
            plan.send(by, SEND.region(0, args.operands.bytes), 1, &[]);
            None
        }
        ButterflyRole::Place { place, absorbs } => {
            let meeting = |peer| PeerExchange {
                above: peer > rank,
                ..PeerExchange::absorbing(peer, args.operands)
            };
            Some((place, absorbs.map(meeting)))
        }
    }
}
