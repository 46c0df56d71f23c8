//! Allreduce by recursive doubling with redundant rounds, against jitter: partial results reach a
//! rank along several paths, and the first copy to arrive is used.
//!
//! Of the `k` rounds of the butterfly, the first `d = floor(k / 2)` are followed by *middle* extra
//! rounds, and all `k` by *last* extra rounds. In an extra round partners exchange partial results
//! as in any other round, but both sides have the same bytes:
//!
//! ```text
//!   rounds          1    │ middle │   2    │ last
//!   distance        1    │   1    │   2    │   1          4 ranks, one extra round of each kind
//!                        │        │        │
//!   rank 0      0 op 1 ──┤ any    ├── all ─┤ any ──> result
//!   rank 1      0 op 1 ──┘ first  │        │ first
//! ```
//!
//! After `d` rounds, ranks whose numbers differ only in the lowest `d` bits have the same partial
//! result, so middle rounds use these distances; last rounds use any distance. Unless a setting says
//! something else (`extra_rounds`), both begin with distance 1 and ascend: repeating the latest
//! distance would bring bytes of the same origin over the same link. Copies are bitwise equal because
//! all ranks combine the lower half first (see `butterfly`).
//!
//! All data except the own operand and the result is in scratch memory, and all steps on scratch
//! memory are detached (`offload::schedule`). A rank that has the result does not wait for late
//! messages, but its execution still receives them and sends the messages that other ranks may
//! need.
//!
//! Matsumoto and Suda, "A collective communication algorithm that alleviates jitter by redundant
//! data exchanges in the middle of the butterfly" (in Japanese; University of Tokyo); for last
//! rounds alone, the same authors, IPSJ SIG HPC 137, 2012. In their simulation last rounds hide
//! jitter up to 2^14 ranks, and up to 2^18 with two middle rounds.
//!
//! Cost: floor(log2 n) rounds and the extra rounds (+ 2); a rank sends and receives one operand in
//! each, reduces in floor(log2 n) (+ 1) rounds, and copies up to floor(log2 n) + 2 operands.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Cost, WithExtraRounds};
use crate::mpi::collective::algorithms::allreduce::extra_rounds::{ExtraBits, ExtraRounds};
use crate::mpi::collective::algorithms::building_blocks::butterfly;
use crate::mpi::collective::algorithms::building_blocks::butterfly::ButterflyRole;
use crate::mpi::collective::algorithms::{Allreduce, RECEIVE, Shape, input_buffer};
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

pub(crate) const ALGORITHM: Algorithm<Allreduce> = Algorithm {
    name: "redundant",
    about: "doubling with extra rounds, in which the first of several copies wins",
    fits: |_, _| true,
    cost: |shape, args| cost(shape, args, ExtraRounds::default()),
    schedule: |shape, rank, args| schedule(shape, rank, args, ExtraRounds::default()),
    segmented: None,
};

/// The form with the extra rounds of a setting.
pub(crate) const WITH_EXTRA_ROUNDS: WithExtraRounds<Allreduce> =
    WithExtraRounds { name: ALGORITHM.name, cost, schedule };

/// A round of the butterfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct ButterflyRound {
    /// Places whose numbers differ in this bit are partners.
    bit: u32,
    /// Whether partners have the same bytes.
    redundant: bool,
}

/// The rounds among `2^bits` places.
fn butterfly_rounds(bits: u32, extras: ExtraRounds) -> Vec<ButterflyRound> {
    let ExtraBits { middle, last } = extras.bits(bits);
    let combining =
        |bits: std::ops::Range<u32>| bits.map(|bit| ButterflyRound { bit, redundant: false });
    let copying =
        |bits: Vec<u32>| bits.into_iter().map(|bit| ButterflyRound { bit, redundant: true });
    combining(0..bits / 2)
        .chain(copying(middle))
        .chain(combining(bits / 2..bits))
        .chain(copying(last))
        .collect()
}

/// Cost with these extra rounds.
pub(crate) fn cost(shape: Shape, args: Allreduce, extras: ExtraRounds) -> Cost {
    let bytes = args.operands.bytes as u64;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy_cost(bytes, args.in_place);
    }
    let before = u64::from(butterfly::rounds_before(shape));
    let bits = shape.ranks.ilog2();
    let messages = before + butterfly_rounds(bits, extras).len() as u64;
    let bits = u64::from(bits);
    Cost {
        rounds: messages + before,
        messages,
        bytes: (messages + before) * bytes,
        reduced: (before + bits) * bytes,
        copied: (bits + 2) * bytes,
    }
}

/// Schedule of `rank` with these extra rounds.
pub fn schedule(shape: Shape, rank: u32, args: Allreduce, extras: ExtraRounds) -> Schedule {
    let bytes = args.operands.bytes;
    if bytes == 0 || shape.ranks == 1 {
        return butterfly::local_copy(bytes, args.in_place);
    }
    let mut plan = ScheduleBuilder::new();
    let before = butterfly::rounds_before(shape);
    let exchanges = butterfly_rounds(shape.ranks.ilog2(), extras);
    let last = before + exchanges.len() as u32 + 1;
    let (place, absorbs) = match ButterflyRole::of(shape, rank) {
        ButterflyRole::Absorbed { by } => {
            butterfly::absorbed(&mut plan, by, bytes, args.in_place, last);
            return plan.finish();
        }
        ButterflyRole::Place { place, absorbs } => (place, absorbs),
    };
    let own = scratch(&mut plan, bytes);
    // Late steps must not read the caller's memory.
    let saved = plan.copy(input_buffer(args.in_place).region(0, bytes), own, &[]);
    let mut held = ResultCopies(vec![(own, saved)]);
    let absorbed = absorbs.map(|peer| post_receive(&mut plan, peer, bytes, 1, saved));
    let rounds = exchanges.iter().zip(before + 1..);
    let meetings: Vec<_> = rounds
        .map(|(&exchange, round)| {
            let peer = butterfly::rank_at(shape, place ^ 1 << exchange.bit);
            (exchange, peer, round, post_receive(&mut plan, peer, bytes, round, saved))
        })
        .collect();
    if let Some(arrival) = absorbed {
        held = held.combine_above(&mut plan, arrival);
    }
    for (ButterflyRound { bit, redundant }, peer, round, arrival) in meetings {
        held.send(&mut plan, peer, bytes, round);
        if redundant {
            held.0.push(arrival);
        } else if place >> bit & 1 == 0 {
            held = held.combine_above(&mut plan, arrival);
        } else {
            held = held.combine_below(&mut plan, arrival);
        }
    }
    plan.copy_first(RECEIVE.region(0, bytes), &held.steps());
    if let Some(peer) = absorbs {
        held.send(&mut plan, peer, bytes, last);
    }
    plan.finish()
}

/// A region, and the step that writes it.
type WrittenRegion = (Region, StepId);

fn scratch(plan: &mut ScheduleBuilder, bytes: usize) -> Region {
    plan.scratch(bytes).region(0, bytes)
}

/// Receives from `peer` once the own operand is `saved`.
fn post_receive(
    plan: &mut ScheduleBuilder, peer: u32, bytes: usize, round: u32, saved: StepId,
) -> WrittenRegion {
    let region = scratch(plan, bytes);
    let step = plan.receive(peer, region, round, &[saved]);
    plan.detach(step);
    (region, step)
}

/// The copies of the partial result so far. No step changes a copy.
struct ResultCopies(Vec<WrittenRegion>);

impl ResultCopies {
    fn steps(&self) -> Vec<StepId> {
        self.0.iter().map(|(_, step)| *step).collect()
    }

    fn send(&self, plan: &mut ScheduleBuilder, peer: u32, bytes: usize, round: u32) {
        let step = plan.send_first(peer, bytes, round, &self.steps());
        plan.detach(step);
    }

    /// Combines the first copy with the partial result of the ranks above, in the memory of the
    /// latter.
    fn combine_above(self, plan: &mut ScheduleBuilder, (into, arrived): WrittenRegion) -> Self {
        let (from, ready) = match self.0[..] {
            [only] => only,
            _ => self.copy_first_arrived(plan, into.len),
        };
        let step = plan.reduce(from, into, &[ready, arrived]);
        plan.detach(step);
        Self(vec![(into, step)])
    }

    /// Combines the first copy with the partial result of the ranks below. The first copy is itself
    /// copied, as its send may not have completed.
    fn combine_below(self, plan: &mut ScheduleBuilder, (from, arrived): WrittenRegion) -> Self {
        let (into, ready) = self.copy_first_arrived(plan, from.len);
        let step = plan.reduce(from, into, &[ready, arrived]);
        plan.detach(step);
        Self(vec![(into, step)])
    }

    fn copy_first_arrived(&self, plan: &mut ScheduleBuilder, bytes: usize) -> WrittenRegion {
        let copy = scratch(plan, bytes);
        let step = plan.copy_first(copy, &self.steps());
        plan.detach(step);
        (copy, step)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn middle_rounds_use_bits_in_which_places_are_alike() {
        let bits = |bits, middle, last| -> Vec<(u32, bool)> {
            let rounds = butterfly_rounds(bits, ExtraRounds::ascending(middle, last));
            rounds.into_iter().map(|round| (round.bit, round.redundant)).collect()
        };
        assert_eq!(bits(1, 2, 1), [(0, false), (0, true)]);
        assert_eq!(bits(2, 1, 0), [(0, false), (0, true), (1, false)]);
        assert_eq!(
            bits(5, 3, 2),
            [
                (0, false),
                (1, false),
                (0, true),
                (1, true),
                (0, true),
                (2, false),
                (3, false),
                (4, false),
                (0, true),
                (1, true)
            ]
        );
    }
}
