//! Allreduce by recursive doubling: partners exchange their partial results, and both combine them.
//!
//! Ranks combine in order, so the operation need not commute. Numbers of ranks that are not a power
//! of two cost two more rounds (see `butterfly`). For short operands.
//!
//! Cost: floor(log2 n) rounds (+ 2); a rank sends, receives and reduces one operand in each.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyBuffers, ButterflyRole, PeerExchange,
};
use crate::mpi::collective::algorithms::{Allreduce, RECEIVE, Shape};
use crate::offload::{Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<Allreduce> = Algorithm {
    name: "doubling",
    about: "partners at distance 1, 2, 4, ... exchange all they have",
    fits: |_, _| true,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Allreduce) -> Cost {
    let bytes = args.operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, args.in_place);
    }
    let before = u64::from(butterfly::rounds_before(shape));
    let meetings = before + u64::from(shape.ranks.ilog2());
    let rounds = meetings + before;
    Cost {
        rounds,
        messages: meetings,
        bytes: rounds * bytes,
        reduced: meetings * bytes,
        copied: bytes,
    }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Allreduce) -> Schedule {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, args.in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let before = butterfly::rounds_before(shape);
    let last = butterfly::places(shape).ilog2() + before + 1;
    match ButterflyRole::of(shape, rank) {
        ButterflyRole::Absorbed { by } => {
            butterfly::absorbed(&mut plan, by, bytes, args.in_place, last)
        }
        ButterflyRole::Place { place, absorbs } => {
            let mut meetings = Vec::new();
            meetings.extend(absorbs.map(|peer| PeerExchange::absorbing(peer, args.operands)));
            for bit in 0..butterfly::places(shape).ilog2() {
                meetings.push(PeerExchange {
                    peer: butterfly::rank_at(shape, place ^ 1 << bit),
                    above: place >> bit & 1 == 0,
                    round: before + 1 + bit,
                    give: Some(0..bytes),
                    keep: 0..bytes,
                });
            }
            let held =
                butterfly::combine(&mut plan, &meetings, ButterflyBuffers::of(args.in_place));
            let ready = held.deliver(&mut plan, &(0..bytes));
            if let Some(peer) = absorbs {
                plan.send(peer, RECEIVE.region(0, bytes), last, ready.as_slice());
            }
        }
    }
    plan.finish()
}
