//! Scan and exscan in which every rank sends its operand to all ranks after it, for a few ranks.
//!
//! A rank combines received operands from rank 0 on, so the operation need not commute.
//!
//! Cost: ceil((n - 1) / 7) rounds; the last rank receives and reduces n - 1 operands (an exscan:
//! one less), and rank 0 sends as many.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::reduce_scatter::pairwise::{BlockReduction, round_of};
use crate::mpi::collective::algorithms::{RECEIVE, Scan, Shape};
use crate::offload::{Schedule, ScheduleBuilder, StepId};

pub(crate) const SCAN: Algorithm<Scan> = Algorithm {
    name: "linear",
    about: "every rank sends its operand to all ranks after it",
    fits: |_, _| true,
    cost: scan_cost,
    schedule: scan,
    segmented: None,
};

pub(crate) const EXSCAN: Algorithm<Scan> = Algorithm {
    name: "linear",
    about: "every rank sends its operand to all ranks after it",
    fits: |_, _| true,
    cost: exscan_cost,
    schedule: exscan,
    segmented: None,
};

fn scan_cost(shape: Shape, args: Scan) -> Cost {
    let bytes = args.operands.bytes as u64;
    let others = u64::from(shape.ranks - 1);
    let copied = bytes * if args.in_place { 2 * others.min(1) } else { 1 };
    Cost { reduced: others * bytes, copied, ..message_cost(shape, bytes) }
}

fn exscan_cost(shape: Shape, args: Scan) -> Cost {
    let bytes = args.operands.bytes as u64;
    let others = u64::from(shape.ranks - 1);
    let copied = if args.in_place && others > 0 { bytes } else { 0 };
    Cost { reduced: others.saturating_sub(1) * bytes, copied, ..message_cost(shape, bytes) }
}

fn message_cost(shape: Shape, bytes: u64) -> Cost {
    let others = u64::from(shape.ranks - 1);
    if bytes == 0 || others == 0 {
        return Cost::ZERO;
    }
    let rounds = u64::from(round_of(shape.ranks - 1));
    Cost { rounds, messages: others, bytes: others * bytes, ..Cost::ZERO }
}

/// Schedule of `rank` in a scan.
pub(crate) fn scan(shape: Shape, rank: u32, args: Scan) -> Schedule {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, args.in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let (own, result) = (args.input(), RECEIVE.region(0, bytes));
    let sum = match args.in_place {
        true => plan.scratch(bytes).region(0, bytes),
        false => result,
    };
    let mut below = BlockReduction::new(&mut plan, own, sum, rank);
    for from in 0..rank {
        let arrival = below.receive(&mut plan, from, from + 1, round_of(from + 1), false);
        below.add(&mut plan, arrival, rank, from);
    }
    let sent = send_up(&mut plan, shape, rank, args);
    if rank == 0 {
        if !args.in_place {
            plan.copy(own, result, &[]);
        }
        return plan.finish();
    }
    let done = below.finish(&mut plan);
    if args.in_place {
        let after: Vec<StepId> = done.into_iter().chain(sent).collect();
        plan.copy(sum, result, &after);
    }
    plan.finish()
}

/// Schedule of `rank` in an exscan; rank 0 has no result.
pub(crate) fn exscan(shape: Shape, rank: u32, args: Scan) -> Schedule {
    let bytes = args.operands.bytes;
    let mut plan = ScheduleBuilder::new();
    if bytes == 0 {
        return plan.finish();
    }
    let result = RECEIVE.region(0, bytes);
    let mut below = BlockReduction::new(&mut plan, args.input(), result, rank);
    for from in 0..rank {
        let is_last = from + 1 == rank && !args.in_place;
        let arrival = below.receive(&mut plan, from, from + 1, round_of(from + 1), is_last);
        below.add(&mut plan, arrival, rank, from);
    }
    let sent = send_up(&mut plan, shape, rank, args);
    if let Some(sum) = below.lower.filter(|_| args.in_place) {
        let after: Vec<StepId> = sum.ready.into_iter().chain(sent).collect();
        plan.copy(sum.region, result, &after);
    }
    plan.finish()
}

/// Sends the own operand to all higher ranks.
fn send_up(plan: &mut ScheduleBuilder, shape: Shape, rank: u32, args: Scan) -> Vec<StepId> {
    let above = rank + 1..shape.ranks;
    above.map(|to| plan.send(to, args.input(), round_of(rank + 1), &[])).collect()
}
