//! Common parts of butterfly reductions: folding of any number of ranks, and combining in rank
//! order without copies.
//!
//! **Folding.** Of `n` ranks, `p` take part, the largest power of two. The first `2 (n - p)` ranks
//! form pairs, and the even rank of a pair acts for both:
//!
//! ```text
//!   ranks   0   1   2   3   4        n = 5, p = 4
//!           └─◄─┘   │   │   │
//!   places    0     1   2   3        a place stands for adjacent ranks, in order
//! ```
//!
//! **Combining.** In each exchange the ranks of the peer's place are adjacent to the own ones,
//! either all above or all below. A reduction computes `into = from op into`. So with ranks above,
//! the result is in the memory of the received partial result, and with ranks below, in the memory
//! of the own one. Both sides of an exchange compute the same expression, so results are bitwise
//! equal.

use std::ops::Range;

use crate::mpi::collective::algorithms::algorithm::Cost;
use crate::mpi::collective::algorithms::{Operands, RECEIVE, SEND, Shape};
use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepId};

/// Role of a rank in a butterfly.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ButterflyRole {
    /// The rank has this place, and acts for the rank after it if there is one.
    Place { place: u32, absorbs: Option<u32> },
    /// The previous rank acts for this rank.
    Absorbed { by: u32 },
}

impl ButterflyRole {
    /// Role of `rank` if `root` must have a place, so that it acts for its pair if it is in one.
    pub(crate) fn for_root(shape: Shape, rank: u32, root: u32) -> Self {
        match (Self::of(shape, rank), Self::of(shape, root)) {
            (Self::Absorbed { by }, _) if rank == root => {
                Self::Place { place: place_of(shape, rank), absorbs: Some(by) }
            }
            (Self::Place { .. }, Self::Absorbed { by }) if rank == by => {
                Self::Absorbed { by: root }
            }
            (part, _) => part,
        }
    }

    pub(crate) fn of(shape: Shape, rank: u32) -> Self {
        let pairs = shape.ranks - places(shape);
        if rank >= 2 * pairs {
            Self::Place { place: rank - pairs, absorbs: None }
        } else if rank.is_multiple_of(2) {
            Self::Place { place: rank / 2, absorbs: Some(rank + 1) }
        } else {
            Self::Absorbed { by: rank - 1 }
        }
    }
}

/// Number of places in a butterfly.
pub(crate) fn places(shape: Shape) -> u32 {
    1 << shape.ranks.ilog2()
}

/// The place that stands for `rank`.
pub(crate) fn place_of(shape: Shape, rank: u32) -> u32 {
    let pairs = shape.ranks - places(shape);
    if rank < 2 * pairs { rank / 2 } else { rank - pairs }
}

/// The rank at a place. [`ButterflyRole::for_root`] documents the difference from [`rank_at`].
pub(crate) fn rank_for_root(shape: Shape, place: u32, root: u32) -> u32 {
    if place == place_of(shape, root) { root } else { rank_at(shape, place) }
}

/// The rank at a place.
pub(crate) fn rank_at(shape: Shape, place: u32) -> u32 {
    let pairs = shape.ranks - places(shape);
    if place < pairs { 2 * place } else { place + pairs }
}

/// Number of rounds before the butterfly itself: those in which ranks are absorbed.
pub(crate) fn rounds_before(shape: Shape) -> u32 {
    u32::from(!shape.ranks.is_power_of_two())
}

/// One exchange of a rank with a peer.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PeerExchange {
    pub(crate) peer: u32,
    /// Whether the peer stands for ranks above, not below.
    pub(crate) above: bool,
    pub(crate) round: u32,
    /// The bytes of the partial result that the peer receives.
    pub(crate) give: Option<Range<usize>>,
    /// The bytes that this rank continues with, and receives from the peer.
    pub(crate) keep: Range<usize>,
}

impl PeerExchange {
    /// The exchange with the rank that this rank acts for.
    pub(crate) fn absorbing(peer: u32, operands: Operands) -> Self {
        Self { peer, above: true, round: 1, give: None, keep: 0..operands.bytes }
    }
}

/// Location of a rank's operand, and whether the receive buffer may hold results.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ButterflyBuffers {
    pub(crate) input: Buffer,
    pub(crate) receives: bool,
}

impl ButterflyBuffers {
    /// Buffers of a rank that forwards its result.
    pub(crate) const FORWARDING: Self = Self { input: SEND, receives: false };

    /// Buffers of a rank that receives a result.
    pub(crate) fn of(in_place: bool) -> Self {
        match in_place {
            true => Self { input: RECEIVE, receives: false },
            false => Self { input: SEND, receives: true },
        }
    }
}

/// Location of a peer's partial result, and the step that receives it.
pub(crate) struct ExchangeReceive {
    pub(crate) region: Region,
    pub(crate) step: StepId,
}

/// The partial result of a rank.
#[derive(Clone, Debug)]
pub(crate) struct PartialResult {
    buffer: Buffer,
    /// The offset in the operand of the region's first byte.
    offset: usize,
    /// The step that completes it.
    pub(crate) ready: Option<StepId>,
    /// The send of each exchange.
    pub(crate) sends: Vec<Option<StepId>>,
}

impl PartialResult {
    /// The partial result in `region`, which `ready` completes.
    pub(crate) fn at(region: Region, ready: Option<StepId>) -> Self {
        Self { buffer: region.buffer, offset: 0, ready, sends: Vec::new() }
    }

    /// Combines it with the data received in the exchanges. The first exchange covers all bytes.
    pub(crate) fn combine_all(
        mut self, plan: &mut ScheduleBuilder, meetings: &[PeerExchange],
        arrivals: &[ExchangeReceive], receives: bool,
    ) -> Self {
        for (meeting, arrival) in meetings.iter().zip(arrivals) {
            let send = meeting.give.clone().map(|give| {
                plan.send(meeting.peer, self.part(&give), meeting.round, self.ready.as_slice())
            });
            self.sends.push(send);
            if meeting.above {
                self.combine_above(plan, &meeting.keep, arrival);
            } else {
                if self.buffer == SEND {
                    let last = receives && meetings.iter().all(|meeting| !meeting.above);
                    self.copy_to_writable(plan, &meeting.keep, last);
                }
                self.combine_below(plan, meeting, arrival);
            }
        }
        self
    }

    /// Combines with the partial result of the ranks above, in the memory of the latter.
    fn combine_above(
        &mut self, plan: &mut ScheduleBuilder, keep: &Range<usize>, arrival: &ExchangeReceive,
    ) {
        let after: Vec<StepId> = self.ready.into_iter().chain([arrival.step]).collect();
        self.ready = Some(plan.reduce(self.part(keep), arrival.region, &after));
        self.relocate(arrival.region, keep);
    }

    /// Combines with the partial result of the ranks below, in the own memory.
    fn combine_below(
        &mut self, plan: &mut ScheduleBuilder, meeting: &PeerExchange, arrival: &ExchangeReceive,
    ) {
        // The send of this memory must have completed.
        let sent = self.sends.last().copied().flatten();
        let sent = sent.filter(|_| meeting.give.as_ref() == Some(&meeting.keep));
        let after: Vec<StepId> = self.ready.into_iter().chain([arrival.step]).chain(sent).collect();
        self.ready = Some(plan.reduce(arrival.region, self.part(&meeting.keep), &after));
    }

    /// Copies to writable memory: to the receive buffer if the data stay there to the end.
    fn copy_to_writable(&mut self, plan: &mut ScheduleBuilder, keep: &Range<usize>, last: bool) {
        let to = match last {
            true => RECEIVE.region(keep.start, keep.len()),
            false => plan.scratch(keep.len()).region(0, keep.len()),
        };
        self.ready = Some(plan.copy(self.part(keep), to, &[]));
        self.relocate(to, keep);
    }

    fn relocate(&mut self, to: Region, keep: &Range<usize>) {
        self.buffer = to.buffer;
        self.offset = keep.start - to.start;
    }

    /// The region of these bytes.
    pub(crate) fn part(&self, range: &Range<usize>) -> Region {
        self.buffer.region(range.start - self.offset, range.len())
    }

    /// Copies these bytes to the receive buffer unless they are there; returns the last step.
    pub(crate) fn deliver(
        &self, plan: &mut ScheduleBuilder, range: &Range<usize>,
    ) -> Option<StepId> {
        if self.buffer == RECEIVE {
            return self.ready;
        }
        let after: Vec<StepId> =
            self.ready.iter().chain(self.sends.iter().flatten()).copied().collect();
        Some(plan.copy(self.part(range), RECEIVE.region(range.start, range.len()), &after))
    }
}

/// Schedule of a rank that has no exchange, or no bytes.
pub(crate) fn local_copy(bytes: usize, in_place: bool) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    if bytes > 0 && !in_place {
        plan.copy(SEND.region(0, bytes), RECEIVE.region(0, bytes), &[]);
    }
    plan.finish()
}

/// Cost of [`local_copy`].
pub(crate) fn local_copy_cost(bytes: u64, in_place: bool) -> Cost {
    Cost::of_copy(if in_place { 0 } else { bytes })
}

/// Combines the operand of this rank with the data received in `meetings`.
///
/// If the receive buffer may be used, it holds the result for the bytes of the last exchange.
pub(crate) fn combine(
    plan: &mut ScheduleBuilder, meetings: &[PeerExchange], ends: ButterflyBuffers,
) -> PartialResult {
    let arrivals = post_receives(plan, meetings, ends.receives);
    let held = PartialResult { buffer: ends.input, offset: 0, ready: None, sends: Vec::new() };
    held.combine_all(plan, meetings, &arrivals, ends.receives)
}

/// Posts the receives of all exchanges at once, each to its own memory.
///
/// If the receive buffer may be used, the last receive that becomes the result arrives there.
pub(crate) fn post_receives(
    plan: &mut ScheduleBuilder, meetings: &[PeerExchange], receives: bool,
) -> Vec<ExchangeReceive> {
    let last = meetings.iter().rposition(|meeting| meeting.above).filter(|_| receives);
    let mut arrivals = Vec::with_capacity(meetings.len());
    for (number, PeerExchange { peer, round, keep, .. }) in meetings.iter().enumerate() {
        let region = match Some(number) == last {
            true => RECEIVE.region(keep.start, keep.len()),
            false => plan.scratch(keep.len()).region(0, keep.len()),
        };
        arrivals.push(ExchangeReceive { region, step: plan.receive(*peer, region, *round, &[]) });
    }
    arrivals
}

/// Schedule of a rank that another rank acts for: it sends its operand and receives the result.
pub(crate) fn absorbed(
    plan: &mut ScheduleBuilder, by: u32, bytes: usize, in_place: bool, rounds: u32,
) {
    let input = if in_place { RECEIVE } else { SEND };
    let send = plan.send(by, input.region(0, bytes), 1, &[]);
    let after = if in_place { &[send][..] } else { &[] };
    plan.receive(by, RECEIVE.region(0, bytes), rounds, after);
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn places_stand_for_adjacent_ranks_in_order() {
        for ranks in 1..70 {
            let shape = Shape { ranks };
            let mut next = 0;
            for place in 0..places(shape) {
                let rank = rank_at(shape, place);
                assert_eq!(rank, next);
                let ButterflyRole::Place { place: back, absorbs } = ButterflyRole::of(shape, rank)
                else {
                    panic!("rank {rank} has no place");
                };
                assert_eq!(back, place);
                next += 1;
                if let Some(other) = absorbs {
                    assert_eq!(
                        (other, ButterflyRole::of(shape, other)),
                        (next, ButterflyRole::Absorbed { by: rank })
                    );
                    next += 1;
                }
            }
            assert_eq!(next, ranks);
        }
    }

    #[test]
    fn a_root_has_a_place() {
        for ranks in 1..20 {
            let shape = Shape { ranks };
            for root in 0..ranks {
                let place_of_root = place_of(shape, root);
                for rank in 0..ranks {
                    match ButterflyRole::for_root(shape, rank, root) {
                        ButterflyRole::Place { place, absorbs } => {
                            assert_eq!(place == place_of_root, rank == root);
                            assert_eq!(rank_for_root(shape, place, root), rank);
                            if let Some(other) = absorbs {
                                let absorbed = ButterflyRole::for_root(shape, other, root);
                                assert_eq!(absorbed, ButterflyRole::Absorbed { by: rank });
                            }
                        }
                        ButterflyRole::Absorbed { by } => {
                            assert!(rank != root && place_of(shape, by) == place_of(shape, rank));
                        }
                    }
                }
            }
        }
    }
}
