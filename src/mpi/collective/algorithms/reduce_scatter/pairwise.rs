//! Reduce-scatter: at distance `k` each rank receives from the rank `k` after it that rank's
//! operand for the own block.
//!
//! A rank combines the received operands in rank order, for any operation, in two sequences: from
//! itself to the last rank, and from rank 0 to the rank before it. A result is in the memory of the
//! last received operand, so nothing is copied:
//!
//! ```text
//!   rank 2 of 5 receives   3 4 │ 0 1       (2 op 3) op 4   and   0 op 1
//!                                          (0 op 1) op ((2 op 3) op 4)
//! ```
//!
//! Cost: n - 1 rounds; a rank sends every block except its own once, and receives and reduces its
//! own n - 1 times.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost};
use crate::mpi::collective::algorithms::{RECEIVE, ReduceScatter, Shape, block_offsets};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

/// Number of active sends, and of active receives, on a rank.
const WINDOW: usize = 8;

pub(crate) const ALGORITHM: Algorithm<ReduceScatter> = Algorithm {
    name: "pairwise",
    about: "each rank hears from every other, which sends its operand for that rank's block",
    // A round number has 16 bits.
    fits: |shape, _| shape.ranks <= 1 << 16,
    cost,
    schedule,
    segmented: None,
};

fn cost(shape: Shape, args: ReduceScatter<'_>) -> Cost {
    let longest = args.blocks.iter().copied().max().unwrap_or(0) as u64;
    let last = args.blocks.last().copied().unwrap_or(0) as u64;
    let others = u64::from(shape.ranks - 1);
    if longest == 0 {
        return Cost::ZERO;
    }
    Cost {
        rounds: others,
        messages: others,
        bytes: others * longest,
        reduced: others * longest,
        copied: match args.in_place {
            true if others == 0 => 0,
            true => longest.max(2 * last),
            false => last,
        },
    }
}

/// Schedule of `rank`; empty blocks are not sent.
pub(crate) fn schedule(shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
    let ReduceScatter { blocks, in_place, .. } = args;
    let mut plan = ScheduleBuilder::new();
    let starts: Vec<usize> = block_offsets(blocks).collect();
    let input = |of: u32| args.input(starts[of as usize], blocks[of as usize]);
    let own = input(rank);
    if in_place && shape.ranks == 1 {
        return plan.finish();
    }
    let result = match in_place {
        true => plan.scratch(own.len).region(0, own.len),
        false => RECEIVE.region(0, own.len),
    };
    let mut sum = BlockReduction::new(&mut plan, own, result, shape.ranks - 1);
    let mut sent: Vec<StepId> = Vec::new();
    for distance in 1..shape.ranks {
        let (from, to) = (shape.after(rank, distance), shape.before(rank, distance));
        let arrival = sum.post(&mut plan, from, distance, from + 1 == shape.ranks);
        let out = input(to);
        if out.len > 0 {
            let window = sent.len().checked_sub(WINDOW).map(|earlier| sent[earlier]);
            sent.push(plan.send(to, out, distance, window.as_slice()));
        }
        if let Some(arrival) = arrival {
            sum.add(&mut plan, arrival, rank, from);
        }
    }
    let done = sum.finish(&mut plan);
    if in_place && own.len > 0 {
        let after: Vec<StepId> = done.into_iter().chain(sent).collect();
        plan.copy(result, RECEIVE.region(0, own.len), &after);
    }
    plan.finish()
}

/// A block received from a rank.
pub(crate) struct ReceivedBlock {
    region: Region,
    step: StepId,
}

/// The round of the `number`-th operand to be combined, counted from 1, if all operands are sent to
/// one rank. A buffer is free again when the operand after its content has arrived.
pub(crate) fn round_of(number: u32) -> u32 {
    1 + (number - 1) / (WINDOW as u32 - 1)
}

/// The combination of consecutive ranks.
#[derive(Clone, Copy)]
pub(crate) struct PartialSum {
    pub(crate) region: Region,
    /// The step that completes it.
    pub(crate) ready: Option<StepId>,
}

/// The reduction of this rank's block in progress.
pub(crate) struct BlockReduction {
    own: Region,
    result: Region,
    /// Alternating receive buffers, each with the step after which the next receive may start.
    buffers: Vec<(Buffer, Option<StepId>)>,
    /// This rank and the ranks above it.
    upper: PartialSum,
    /// The ranks below this rank.
    pub(crate) lower: Option<PartialSum>,
}

impl BlockReduction {
    /// The block `own`, to be combined with those of `others` other ranks.
    pub(crate) fn new(
        plan: &mut ScheduleBuilder, own: Region, result: Region, others: u32,
    ) -> Self {
        let count = if own.len > 0 { WINDOW.min(others as usize) } else { 0 };
        let buffers = (0..count).map(|_| (plan.scratch(own.len), None)).collect();
        Self { own, result, buffers, upper: PartialSum { region: own, ready: None }, lower: None }
    }

    /// Receives the operand of rank `from`, unless the block is empty: the `number`-th, if each has
    /// its own round. The operand of the last rank is received at the final location of the result.
    fn post(
        &self, plan: &mut ScheduleBuilder, from: u32, number: u32, is_last: bool,
    ) -> Option<ReceivedBlock> {
        (self.own.len > 0).then(|| self.receive(plan, from, number, number, is_last))
    }

    /// Receives the operand of rank `from`, the `number`-th, in `round`.
    pub(crate) fn receive(
        &self, plan: &mut ScheduleBuilder, from: u32, number: u32, round: u32, is_last: bool,
    ) -> ReceivedBlock {
        let (buffer, free) = self.buffers[number as usize % self.buffers.len()];
        let (region, free) = match is_last {
            true => (self.result, None),
            false => (buffer.region(0, self.own.len), free),
        };
        ReceivedBlock { region, step: plan.receive(from, region, round, free.as_slice()) }
    }

    /// Combines with the operand of rank `from`, which is the next.
    pub(crate) fn add(
        &mut self, plan: &mut ScheduleBuilder, arrival: ReceivedBlock, rank: u32, from: u32,
    ) {
        let ReceivedBlock { region, step } = arrival;
        let arrived = PartialSum { region, ready: Some(step) };
        if from > rank {
            self.upper = self.combined(plan, self.upper, arrived);
        } else {
            let lower = self.lower.map(|lower| self.combined(plan, lower, arrived));
            self.lower = Some(lower.unwrap_or(arrived));
        }
    }

    /// `left op right`, in the memory of `right`.
    fn combined(
        &mut self, plan: &mut ScheduleBuilder, left: PartialSum, right: PartialSum,
    ) -> PartialSum {
        let after: Vec<StepId> = left.ready.into_iter().chain(right.ready).collect();
        let step = plan.reduce(left.region, right.region, &after);
        let was_in = |turn: &&mut (Buffer, _)| turn.0 == left.region.buffer;
        if let Some(turn) = self.buffers.iter_mut().find(was_in) {
            turn.1 = Some(step);
        }
        PartialSum { region: right.region, ready: Some(step) }
    }

    /// Combines both sequences; returns the step that completes the result.
    pub(crate) fn finish(mut self, plan: &mut ScheduleBuilder) -> Option<StepId> {
        if self.own.len == 0 {
            return None;
        }
        if self.upper.region != self.result {
            let ready = plan.copy(self.own, self.result, &[]);
            self.upper = PartialSum { region: self.result, ready: Some(ready) };
        }
        if let Some(lower) = self.lower {
            self.upper = self.combined(plan, lower, self.upper);
        }
        self.upper.ready
    }
}
