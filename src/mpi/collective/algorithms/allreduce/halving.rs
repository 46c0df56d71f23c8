//! Allreduce by recursive halving and doubling, for long operands.
//!
//! Partners first exchange halves of the remaining data, at distance 1, 2, 4, ..., so that each
//! place ends with one piece of the result. Then the pieces are gathered in the opposite order. The
//! nearest partners exchange first, so ranks combine in order and the operation need not commute.
//! Rabenseifner and Träff, "More efficient reduction algorithms for non-power-of-two number of
//! processors in message-passing parallel systems", EuroPVM/MPI 2004, with the folding of
//! `butterfly`.
//!
//! Cost: 2 floor(log2 n) rounds (+ 2); a rank sends and receives less than two operands and reduces
//! less than one (one more of each for folded ranks).

use std::ops::Range;

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyBuffers, ButterflyRole, PartialResult, PeerExchange,
};
use crate::mpi::collective::algorithms::{Allreduce, Operands, RECEIVE, Shape};
use crate::offload::{Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<Allreduce> = Algorithm {
    name: "rabenseifner",
    about: "reduce-scatter by recursive halving, then allgather by doubling",
    // Otherwise some pieces would be empty.
    fits: |shape, args| args.operands.bytes / args.operands.element >= shape.ranks as usize,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Allreduce) -> Cost {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes as u64, args.in_place);
    }
    let before = u64::from(butterfly::rounds_before(shape));
    let halvings = u64::from(shape.ranks.ilog2());
    let halves = halves(shape, args.operands);
    let copied = longest(if args.in_place { shape.ranks.ilog2() } else { 1 }, args.operands);
    let bytes = bytes as u64;
    Cost {
        rounds: 2 * (before + halvings),
        messages: before + 2 * halvings,
        bytes: 2 * (before * bytes + halves),
        reduced: before * bytes + halves,
        copied,
    }
}

/// The bytes that a place sends in all halvings.
pub(crate) fn halves(shape: Shape, operands: Operands) -> u64 {
    (1..=shape.ranks.ilog2()).map(|number| longest(number, operands)).sum()
}

/// Length of the longest part after this number of halvings.
pub(crate) fn longest(halvings: u32, operands: Operands) -> u64 {
    let Operands { bytes, element, .. } = operands;
    ((bytes / element).div_ceil(1 << halvings) * element) as u64
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Allreduce) -> Schedule {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, args.in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let last = 2 * butterfly::places(shape).ilog2() + butterfly::rounds_before(shape) + 1;
    match ButterflyRole::of(shape, rank) {
        ButterflyRole::Absorbed { by } => {
            butterfly::absorbed(&mut plan, by, bytes, args.in_place, last)
        }
        ButterflyRole::Place { place, absorbs } => {
            let mut meetings = Vec::new();
            meetings.extend(absorbs.map(|peer| PeerExchange::absorbing(peer, args.operands)));
            let folded = meetings.len();
            meetings.extend(halvings(shape, place, args.operands));
            let held =
                butterfly::combine(&mut plan, &meetings, ButterflyBuffers::of(args.in_place));
            let done = gather_pieces(&mut plan, &held, &meetings, folded, last);
            if let Some(peer) = absorbs {
                plan.send(peer, RECEIVE.region(0, bytes), last, &done);
            }
        }
    }
    plan.finish()
}

/// The exchanges that halve the remaining data until it is one piece.
pub(crate) fn halvings(shape: Shape, place: u32, operands: Operands) -> Vec<PeerExchange> {
    let places = butterfly::places(shape);
    let (mut first, mut count) = (0, places);
    let mut meetings = Vec::new();
    for bit in 0..places.ilog2() {
        count /= 2;
        let (lower, upper) = (first, first + count);
        let above = place >> bit & 1 == 0;
        let (keep, give) = if above { (lower, upper) } else { (upper, lower) };
        first = keep;
        meetings.push(PeerExchange {
            peer: butterfly::rank_at(shape, place ^ 1 << bit),
            above,
            round: butterfly::rounds_before(shape) + 1 + bit,
            give: Some(pieces(give, count, places, operands)),
            keep: pieces(keep, count, places, operands),
        });
    }
    meetings
}

/// The bytes of `count` of `places` pieces; a piece has whole elements, and may be empty.
pub(crate) fn pieces(first: u32, count: u32, places: u32, operands: Operands) -> Range<usize> {
    let elements = (operands.bytes / operands.element) as u128;
    let start = |piece: u32| {
        (elements * u128::from(piece) / u128::from(places)) as usize * operands.element
    };
    start(first)..start(first + count)
}

/// Gathers the pieces of all places in the opposite order; returns the steps that complete this.
fn gather_pieces(
    plan: &mut ScheduleBuilder, held: &PartialResult, meetings: &[PeerExchange], folded: usize,
    last: u32,
) -> Vec<u32> {
    let own = &meetings[meetings.len() - 1].keep;
    let mut have: Vec<u32> = held.deliver(plan, own).into_iter().collect();
    let reduced = have.clone();
    let halvings = meetings.iter().zip(&held.sends).skip(folded);
    for (number, (meeting, sent)) in halvings.enumerate().rev() {
        let round = last - 1 - number as u32;
        let part = |range: &Range<usize>| RECEIVE.region(range.start, range.len());
        let Some(give) = &meeting.give else { continue };
        // The arriving bytes were sent in this exchange, and earlier reductions read them.
        let free: Vec<u32> = reduced.iter().chain(sent).copied().collect();
        let receive = plan.receive(meeting.peer, part(give), round, &free);
        plan.send(meeting.peer, part(&meeting.keep), round, &have);
        have.push(receive);
    }
    have
}
