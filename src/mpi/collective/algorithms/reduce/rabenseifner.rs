//! Reduce by recursive halving, for long operands: each place ends with one piece of the result,
//! and the pieces are gathered along the same tree at the root.
//!
//! The halvings are those of `allreduce::halving`. Ranks combine in order, so the operation need
//! not commute, and the association is equal for any root. In the gather, the place that differs
//! from the root's place in the highest remaining bit sends all its pieces. Rabenseifner,
//! "Optimization of collective reduction operations", ICCS 2004.
//!
//! Cost: 2 floor(log2 n) rounds (+ 1); a rank sends and receives less than two operands and reduces
//! less than one (one more of each for folded ranks).

use std::ops::Range;

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::allreduce::halving::{halves, halvings, longest};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::{
    ButterflyBuffers, ButterflyRole, PartialResult, PeerExchange,
};
use crate::mpi::collective::algorithms::reduce::in_order::join_butterfly;
use crate::mpi::collective::algorithms::{RECEIVE, Reduce, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Reduce> = Algorithm {
    name: "rabenseifner",
    about: "reduce-scatter by recursive halving, then gather to the root",
    // Otherwise some pieces would be empty.
    fits: |shape, args| args.operands.bytes / args.operands.element >= shape.ranks as usize,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: Reduce) -> Cost {
    let bytes = args.operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, args.in_place);
    }
    let before = u64::from(butterfly::rounds_before(shape));
    let halvings = u64::from(shape.ranks.ilog2());
    let halves = halves(shape, args.operands);
    Cost {
        rounds: before + 2 * halvings,
        messages: u64::from(is_folded(shape, butterfly::place_of(shape, args.root))) + 2 * halvings,
        bytes: before * bytes + 2 * halves,
        reduced: before * bytes + halves,
        copied: copied(shape, args),
    }
}

/// The bytes that a rank copies: out of the send buffer, if its first exchange is with ranks below
/// it, and of its own piece to the memory of the gather.
fn copied(shape: Shape, args: Reduce) -> u64 {
    let (places, halvings) = (butterfly::places(shape), shape.ranks.ilog2());
    let [half, piece] = [1, halvings].map(|halvings| longest(halvings, args.operands));
    let root = butterfly::place_of(shape, args.root);
    let leaves = |place: u32| if place & 1 == 1 && !is_folded(shape, place) { half } else { 0 };
    let of_root = match ButterflyRole::of(shape, args.root) {
        _ if args.in_place => piece,
        ButterflyRole::Absorbed { .. } => args.operands.bytes as u64,
        ButterflyRole::Place { .. } => leaves(root),
    };
    let gathers = |place: u32| if (place ^ root).ilog2() + 1 < halvings { piece } else { 0 };
    // If any place copies out of the send buffer, the last place of each half does.
    let others = [1, 3]
        .into_iter()
        .flat_map(|from_end| [places / 2, places].map(|end| end.checked_sub(from_end)));
    let others = others.flatten().chain([root ^ 1]).filter(|place| *place != root);
    others.map(|place| leaves(place) + gathers(place)).max().unwrap_or(0).max(of_root)
}

/// Whether a place stands for two ranks.
fn is_folded(shape: Shape, place: u32) -> bool {
    place < shape.ranks - butterfly::places(shape)
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
    let folded = meetings.len();
    meetings.extend(halvings(shape, place, operands));
    for (bit, meeting) in meetings[folded..].iter_mut().enumerate() {
        meeting.peer = butterfly::rank_for_root(shape, place ^ 1 << bit, root);
    }
    let ends =
        if rank == root { ButterflyBuffers::of(in_place) } else { ButterflyBuffers::FORWARDING };
    let held = butterfly::combine(&mut plan, &meetings, ends);
    let away = place ^ butterfly::place_of(shape, root);
    gather(&mut plan, &held, &meetings, folded, away);
    plan.finish()
}

/// Gathers the pieces in the opposite order, for a place that differs from the root's place in the
/// bits `away`.
fn gather(
    plan: &mut ScheduleBuilder, held: &PartialResult, meetings: &[PeerExchange], folded: usize,
    away: u32,
) {
    let piece = &meetings[meetings.len() - 1].keep;
    let halvings = &meetings[folded..];
    let sends = away.checked_ilog2().map(|bit| bit as usize);
    let last = halvings[halvings.len() - 1].round;
    let round = |bit: usize| last + (halvings.len() - bit) as u32;
    if sends == Some(halvings.len() - 1) {
        let meeting = &halvings[halvings.len() - 1];
        plan.send(meeting.peer, held.part(piece), last + 1, held.ready.as_slice());
        return;
    }
    let gathered = GatherBuffer::new(plan, sends.map(|bit| &halvings[bit].keep));
    let reduced = match sends {
        None => held.deliver(plan, piece),
        Some(_) => Some(plan.copy(held.part(piece), gathered.part(piece), held.ready.as_slice())),
    };
    let mut have: Vec<StepId> = reduced.into_iter().collect();
    for bit in (sends.map_or(0, |bit| bit + 1)..halvings.len()).rev() {
        let (meeting, sent) = (&halvings[bit], held.sends[folded + bit]);
        let Some(given) = &meeting.give else { continue };
        // At the root, the arriving bytes were sent to the same place in this exchange.
        let free: Vec<StepId> = reduced.into_iter().chain(sent).collect();
        have.push(plan.receive(meeting.peer, gathered.part(given), round(bit), &free));
    }
    if let Some(bit) = sends {
        let meeting = &halvings[bit];
        plan.send(meeting.peer, gathered.part(&meeting.keep), round(bit), &have);
    }
}

/// The memory in which pieces are gathered.
struct GatherBuffer(Region);

impl GatherBuffer {
    /// Memory for these bytes of the operand; at the root, for all bytes.
    fn new(plan: &mut ScheduleBuilder, range: Option<&Range<usize>>) -> Self {
        Self(match range {
            None => RECEIVE.region(0, 0),
            Some(range) => Region { start: range.start, ..plan.scratch(range.len()).region(0, 0) },
        })
    }

    fn part(&self, range: &Range<usize>) -> Region {
        self.0.buffer.region(range.start - self.0.start, range.len())
    }
}
