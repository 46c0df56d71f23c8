//! Schedules put one after the other.
//!
//! A phase begins on a rank when the one before it is over there. The rounds of a phase come after
//! all rounds of those before it, so their number must be the same on all ranks.

use crate::offload::{Action, Buffer, Builder, Region, Schedule, StepId};

/// The phases so far.
#[derive(Default)]
pub(super) struct Phases {
    plan: Builder,
    /// The steps that the next phase waits on.
    ends: Vec<StepId>,
    /// The rounds so far, on the rank that has most.
    rounds: u32,
}

/// How a phase for one group becomes part of a larger schedule.
pub(super) struct Place<'a> {
    /// Which member a rank of the phase is.
    pub member: &'a dyn Fn(u32) -> u32,
    /// The place of each user buffer of the phase.
    pub buffer: &'a dyn Fn(u32) -> Region,
}

impl Phases {
    pub fn scratch(&mut self, bytes: usize) -> Region {
        self.plan.scratch(bytes).region(0, bytes)
    }

    /// A phase that takes at most `rounds` rounds on any rank; this one's part may be empty.
    pub fn then(&mut self, part: &Schedule, rounds: u32, place: &Place<'_>) {
        let scratch: Vec<Region> =
            part.scratch().iter().map(|bytes| self.scratch(*bytes)).collect();
        let placed = |region: Region| {
            let base = match region.buffer {
                Buffer::None => return Region::EMPTY,
                Buffer::User(entry) => (place.buffer)(entry),
                Buffer::Scratch(index) => scratch[index as usize],
            };
            base.buffer.region(base.start + region.start, region.len)
        };
        let before = self.rounds;
        let mut steps: Vec<StepId> = Vec::with_capacity(part.steps().len());
        for (id, step) in (0..).zip(part.steps()) {
            let mut after: Vec<StepId> =
                part.after(id).iter().map(|earlier| steps[*earlier as usize]).collect();
            if after.is_empty() {
                after.clone_from(&self.ends);
            }
            // A label is the round, as `Builder` writes them.
            let round = before + step.round;
            let (plan, after) = (&mut self.plan, &after[..]);
            steps.push(match step.action {
                Action::Send { peer, region, .. } => {
                    plan.send((place.member)(peer), placed(region), round, after)
                }
                Action::Receive { peer, region, .. } => {
                    plan.receive((place.member)(peer), placed(region), round, after)
                }
                Action::Copy { from, to } => plan.copy(placed(from), placed(to), after),
                Action::Reduce { from, into } => plan.reduce(placed(from), placed(into), after),
            });
        }
        let ends = (0..).zip(&steps).filter(|(id, _)| part.then(*id).is_empty());
        let ends: Vec<StepId> = ends.map(|(_, step)| *step).collect();
        self.end(ends, rounds);
    }

    /// A round of messages, which `write` adds: it gets the number of the round and what they wait
    /// on, and returns them.
    pub fn round(&mut self, write: impl FnOnce(&mut Builder, u32, &[StepId]) -> Vec<StepId>) {
        let ends = write(&mut self.plan, self.rounds + 1, &self.ends);
        self.end(ends, 1);
    }

    /// Rounds that this rank has no part in.
    pub fn pass(&mut self, rounds: u32) {
        self.rounds += rounds;
    }

    pub fn finish(self) -> Schedule {
        self.plan.finish()
    }

    fn end(&mut self, ends: Vec<StepId>, rounds: u32) {
        if !ends.is_empty() {
            self.ends = ends;
        }
        self.rounds += rounds;
    }
}
