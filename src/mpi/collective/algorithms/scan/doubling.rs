//! Scan and exscan by recursive doubling, for short operands.
//!
//! After round `k` a rank has the partial result of the `2^k` ranks that end with itself:
//!
//! ```text
//!   ranks   0     1     2     3     4
//!           └──►──┴──►──┴──►──┴──►──┘    round 1: to the next rank
//!           └─────►─────┘                round 2: to the second next, and so on
//! ```
//!
//! Received operands belong to lower ranks, so `arrived op own` keeps the order and the operation
//! need not commute. An exscan also combines received operands without the own operand; no message
//! depends on that. Hillis and Steele, "Data parallel algorithms", Communications of the ACM
//! 29(12), 1986.
//!
//! Cost: ceil(log2 n) rounds; a rank sends and receives at most one operand in each, and reduces it
//! (an exscan: up to two).

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, Scan, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const SCAN: Algorithm<Scan> = Algorithm {
    name: "doubling",
    about: "each rank sends what it has to the rank 1, 2, 4, ... after it",
    fits: |_, _| true,
    cost: |shape, args| {
        let bytes = args.operands.bytes as u64;
        let reduced = bytes * u64::from(shape.doublings());
        Cost { reduced, copied: if args.in_place { 0 } else { bytes }, ..sending(shape, bytes) }
    },
    schedule: scan,
    segmented: None,
};

pub(crate) const EXSCAN: Algorithm<Scan> = Algorithm {
    name: "doubling",
    about: "each rank sends what it has to the rank 1, 2, 4, ... after it",
    fits: |_, _| true,
    cost: |shape, args| {
        let bytes = args.operands.bytes as u64;
        let saves = shape.ranks >= if args.in_place { 3 } else { 4 };
        Cost {
            reduced: bytes * exscan_reductions(shape),
            copied: if saves { bytes } else { 0 },
            ..sending(shape, bytes)
        }
    },
    schedule: exscan,
    segmented: None,
};

/// Cost of the messages: rank 0 sends its operand in each round.
fn sending(shape: Shape, bytes: u64) -> Cost {
    if bytes == 0 {
        return Cost::ZERO;
    }
    let rounds = shape.doublings().into();
    Cost { rounds, messages: rounds, bytes: rounds * bytes, ..Cost::ZERO }
}

/// Number of operands that a rank reduces in an exscan, or that are reduced one after the other.
fn exscan_reductions(shape: Shape) -> u64 {
    let grows = |rank: u64, arrival: u32| rank + (2 << arrival) < u64::from(shape.ranks);
    // Of the ranks with this number of receives, the first forwards most of them.
    let of_first = |arrivals: u32| {
        let first = 1 << (arrivals - 1);
        let passed_on = (0..arrivals).filter(|arrival| grows(first, *arrival)).count();
        u64::from(arrivals - 1) + passed_on as u64
    };
    let in_rounds = u64::from(shape.doublings().saturating_sub(1)) + u64::from(grows(1, 0));
    (1..=shape.doublings()).map(of_first).max().unwrap_or(0).max(in_rounds)
}

/// Schedule of `rank` in a scan.
pub(crate) fn scan(shape: Shape, rank: u32, args: Scan) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let bytes = args.operands.bytes;
    if bytes == 0 {
        return plan.finish();
    }
    let (own, result) = (args.input(), RECEIVE.region(0, bytes));
    let arrivals = arrivals(&mut plan, shape, rank, bytes, None);
    let copied = (!args.in_place).then(|| plan.copy(own, result, &[]));
    let mut part = PartialScan { region: own, ready: None };
    for (number, distance) in distances(shape).enumerate() {
        let sent = part.send(&mut plan, shape, rank, number);
        if distance > rank {
            continue;
        }
        let (arrived, step) = arrivals[number];
        // The send of this memory must have completed.
        let free = sent.filter(|_| part.region == result);
        let after = [part.ready.or(copied).as_slice(), &[step], free.as_slice()].concat();
        part = PartialScan { region: result, ready: Some(plan.reduce(arrived, result, &after)) };
    }
    plan.finish()
}

/// Schedule of `rank` in an exscan; rank 0 has no result.
pub(crate) fn exscan(shape: Shape, rank: u32, args: Scan) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let bytes = args.operands.bytes;
    if bytes == 0 {
        return plan.finish();
    }
    let reaches = |distance| reaches(shape, rank, distance).is_some();
    let result = RECEIVE.region(0, bytes);
    let mut part = PartialScan { region: args.input(), ready: None };
    // The own operand is copied if it is overwritten before its send, or if later partial results
    // are combined in its memory.
    if rank > 0 && reaches(1) && (args.in_place || reaches(2)) {
        let copy = plan.scratch(bytes).region(0, bytes);
        part = PartialScan { region: copy, ready: Some(plan.copy(part.region, copy, &[])) };
    }
    let arrivals = arrivals(&mut plan, shape, rank, bytes, Some((result, part.ready)));
    let mut below: Option<StepId> = None;
    for (number, distance) in distances(shape).enumerate() {
        let sent = part.send(&mut plan, shape, rank, number);
        if distance > rank {
            continue;
        }
        let (arrived, step) = arrivals[number];
        let grows = reaches(2 * u64::from(distance));
        if grows {
            let after = [part.ready.as_slice(), &[step], sent.as_slice()].concat();
            part.ready = Some(plan.reduce(arrived, part.region, &after));
        }
        below = Some(match below {
            // The received operand is the result, so it must not change while the partial result
            // reads it.
            None => part.ready.filter(|_| grows).unwrap_or(step),
            Some(before) => plan.reduce(arrived, result, &[before, step]),
        });
    }
    plan.finish()
}

/// The partial result of the ranks that end with this rank.
struct PartialScan {
    region: Region,
    /// The step that completes it.
    ready: Option<StepId>,
}

impl PartialScan {
    /// Sends it over the distance of the round with this number, if there is a rank.
    fn send(
        &self, plan: &mut ScheduleBuilder, shape: Shape, rank: u32, number: usize,
    ) -> Option<StepId> {
        let to = reaches(shape, rank, 1 << number)?;
        Some(plan.send(to, self.region, number as u32 + 1, self.ready.as_slice()))
    }
}

/// The distance of the messages of each round.
fn distances(shape: Shape) -> impl Iterator<Item = u32> {
    (0..shape.doublings()).map(|bit| 1 << bit)
}

/// The rank `distance` after `rank`, if there is one.
fn reaches(shape: Shape, rank: u32, distance: u64) -> Option<u32> {
    u32::try_from(u64::from(rank) + distance).ok().filter(|to| *to < shape.ranks)
}

/// Posts the receives of all rounds at once, each to its own memory. The first goes to `first`, if
/// given, once the step in `first` has completed.
fn arrivals(
    plan: &mut ScheduleBuilder, shape: Shape, rank: u32, bytes: usize,
    mut first: Option<(Region, Option<StepId>)>,
) -> Vec<(Region, StepId)> {
    let mut arrivals = Vec::new();
    for (distance, round) in distances(shape).take_while(|distance| *distance <= rank).zip(1..) {
        let (region, after) =
            first.take().unwrap_or_else(|| (plan.scratch(bytes).region(0, bytes), None));
        let step = plan.receive(rank - distance, region, round, after.as_slice());
        arrivals.push((region, step));
    }
    arrivals
}
