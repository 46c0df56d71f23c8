//! Scan and exscan along a chain of all ranks, in segments, for long operands.
//!
//! A rank combines each segment of its operand with the partial result of the rank before it, and
//! forwards the result. Ranks combine in order, so the operation need not commute.
//!
//! Cost, for `s` segments: n + s - 2 rounds; a rank receives, reduces and sends one operand, the
//! minimum of bytes for long operands.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, Segmented, Segments};
use crate::mpi::collective::algorithms::building_blocks::pipeline::segments;
use crate::mpi::collective::algorithms::{Operands, RECEIVE, Scan, Shape};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const SCAN: Algorithm<Scan> = Algorithm {
    name: "chain",
    about: "along a chain of all ranks, in segments",
    fits,
    cost: |shape, args| scan_cost(shape, args, segment(args.operands)),
    schedule: |shape, rank, args| scan(shape, rank, args, segment(args.operands)),
    segmented: Some(Segmented { cost: scan_cost, schedule: scan }),
};

pub(crate) const EXSCAN: Algorithm<Scan> = Algorithm {
    name: "chain",
    about: "along a chain of all ranks, in segments",
    fits,
    cost: |shape, args| exscan_cost(shape, args, segment(args.operands)),
    schedule: |shape, rank, args| exscan(shape, rank, args, segment(args.operands)),
    segmented: Some(Segmented { cost: exscan_cost, schedule: exscan }),
};

/// Length of a segment of a long operand.
const SEGMENT_BYTES: usize = 32 * 1024;

/// Largest number of segments, and of ranks: a round number has 16 bits.
pub(crate) const SEGMENTS_MAX: usize = 32 * 1024;

/// Segment length for these operands.
pub(crate) fn segment(operands: Operands) -> usize {
    let Operands { bytes, element, .. } = operands;
    SEGMENT_BYTES.max(bytes.div_ceil(SEGMENTS_MAX)).next_multiple_of(element)
}

fn fits(shape: Shape, _: Scan) -> bool {
    (shape.ranks as usize) < SEGMENTS_MAX
}

fn scan_cost(shape: Shape, args: Scan, segment: usize) -> Cost {
    let segments = Segments::of(args.operands.bytes, segment);
    let hops = u64::from(shape.ranks - 1);
    let copied = if args.in_place { 0 } else { args.operands.bytes as u64 };
    Cost { reduced: segments.bytes(hops), copied, ..pipeline_cost(segments, hops) }
}

fn exscan_cost(shape: Shape, args: Scan, segment: usize) -> Cost {
    let segments = Segments::of(args.operands.bytes, segment);
    let hops = u64::from(shape.ranks - 1);
    // The first rank and the last reduce nothing.
    let reduced = segments.bytes(hops.saturating_sub(1));
    let copied = if hops < 2 { 0 } else { args.operands.bytes as u64 };
    Cost { reduced, copied, ..pipeline_cost(segments, hops) }
}

fn pipeline_cost(segments: Segments, hops: u64) -> Cost {
    Cost {
        rounds: segments.rounds(hops),
        messages: segments.count * hops.min(1),
        bytes: segments.bytes(hops),
        ..Cost::ZERO
    }
}

/// Number of segments that may arrive before the first is combined.
const WINDOW: usize = 4;

/// Schedule of `rank` in a scan; every segment except the last has `segment` bytes, whole elements.
pub(crate) fn scan(shape: Shape, rank: u32, args: Scan, segment: usize) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let own = args.input();
    if rank == 0 {
        send_all(&mut plan, shape, own, segment);
        if !args.in_place {
            plan.copy(own, RECEIVE.region(0, own.len), &[]);
        }
        return plan.finish();
    }
    let turns: Vec<_> = (0..WINDOW).map(|_| plan.scratch(segment.min(own.len))).collect();
    let mut combined: Vec<StepId> = Vec::new();
    for ((start, len), number) in segments(own.len, segment).zip(0..) {
        let (mine, result) = (part(own, start, len), RECEIVE.region(start, len));
        let arrival = turns[number % WINDOW].region(0, len);
        let free = number.checked_sub(WINDOW).map(|earlier| combined[earlier]);
        let round = rank + number as u32;
        let mut after = vec![plan.receive(rank - 1, arrival, round, free.as_slice())];
        after.extend((!args.in_place).then(|| plan.copy(mine, result, &[])));
        combined.push(plan.reduce(arrival, result, &after));
        if rank + 1 < shape.ranks {
            plan.send(rank + 1, result, round + 1, &combined[number..]);
        }
    }
    plan.finish()
}

/// Schedule of `rank` in an exscan, with segments as in [`scan`]; rank 0 has no result.
pub(crate) fn exscan(shape: Shape, rank: u32, args: Scan, segment: usize) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let own = args.input();
    if rank == 0 {
        send_all(&mut plan, shape, own, segment);
        return plan.finish();
    }
    let is_last = rank + 1 == shape.ranks;
    let turns: Vec<_> =
        (0..WINDOW).filter(|_| !is_last).map(|_| plan.scratch(segment.min(own.len))).collect();
    let mut sent: Vec<StepId> = Vec::new();
    for ((start, len), number) in segments(own.len, segment).zip(0..) {
        let (result, round) = (RECEIVE.region(start, len), rank + number as u32);
        if is_last {
            plan.receive(rank - 1, result, round, &[]);
            continue;
        }
        let onward = turns[number % WINDOW].region(0, len);
        let free = number.checked_sub(WINDOW).map(|earlier| sent[earlier]);
        let saved = plan.copy(part(own, start, len), onward, free.as_slice());
        let below = if args.in_place { &[saved][..] } else { &[] };
        let arrived = plan.receive(rank - 1, result, round, below);
        let ready = plan.reduce(result, onward, &[saved, arrived]);
        sent.push(plan.send(rank + 1, onward, round + 1, &[ready]));
    }
    plan.finish()
}

/// The first rank sends all its segments at once.
fn send_all(plan: &mut ScheduleBuilder, shape: Shape, own: Region, segment: usize) {
    for ((start, len), round) in segments(own.len, segment).zip(1..) {
        if shape.ranks > 1 {
            plan.send(1, part(own, start, len), round, &[]);
        }
    }
}

/// These bytes of a region.
pub(crate) fn part(of: Region, start: usize, len: usize) -> Region {
    of.buffer.region(of.start + start, len)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_are_whole_elements_and_fit_in_a_label() {
        let operands = |bytes, element| Operands { bytes, element, commutative: true };
        assert_eq!(segment(operands(1 << 20, 24)), 32784);
        assert!((1_usize << 40).div_ceil(segment(operands(1 << 40, 8))) <= SEGMENTS_MAX);
    }
}
