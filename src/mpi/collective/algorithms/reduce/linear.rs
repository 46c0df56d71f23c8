//! Reduce in which every rank sends its operand to the root, which combines the operands in rank
//! order.
//!
//! This is `reduce_scatter::pairwise` for the block of one rank: first the ranks from the root on,
//! then those below it. A root receives a few operands at a time.
//!
//! Cost: ceil((n - 1) / 7) rounds; the root receives and reduces n - 1 operands.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::reduce_scatter::pairwise::{BlockReduction, round_of};
use crate::mpi::collective::algorithms::{RECEIVE, Reduce, SEND, Shape, input_buffer};
use crate::offload::{Schedule, ScheduleBuilder};

pub(crate) const ALGORITHM: Algorithm<Reduce> = Algorithm {
    name: "linear",
    about: "every rank sends its operand to the root",
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
    let messages = u64::from(shape.ranks - 1);
    let last = args.root + 1 == shape.ranks;
    Cost {
        rounds: u64::from(rounds(shape)),
        messages,
        bytes: messages * bytes,
        reduced: messages * bytes,
        copied: bytes * (u64::from(last) + u64::from(args.in_place)),
    }
}

/// Number of the last round.
pub(crate) fn rounds(shape: Shape) -> u32 {
    if shape.ranks == 1 { 0 } else { round_of(shape.ranks - 1) }
}

pub(crate) fn schedule(shape: Shape, rank: u32, args: Reduce) -> Schedule {
    let Reduce { operands, root, in_place } = args;
    let bytes = operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, in_place);
    }
    let mut plan = ScheduleBuilder::new();
    if rank != root {
        let number = shape.after(rank, shape.ranks - root);
        plan.send(root, SEND.region(0, bytes), round_of(number), &[]);
        return plan.finish();
    }
    let result = match in_place {
        true => plan.scratch(bytes).region(0, bytes),
        false => RECEIVE.region(0, bytes),
    };
    let mut sum = BlockReduction::new(
        &mut plan,
        input_buffer(in_place).region(0, bytes),
        result,
        shape.ranks - 1,
    );
    for number in 1..shape.ranks {
        let from = shape.after(root, number);
        let is_last = from + 1 == shape.ranks;
        let arrival = sum.receive(&mut plan, from, number, round_of(number), is_last);
        sum.add(&mut plan, arrival, root, from);
    }
    let done = sum.finish(&mut plan);
    if in_place {
        plan.copy(result, RECEIVE.region(0, bytes), done.as_slice());
    }
    plan.finish()
}
