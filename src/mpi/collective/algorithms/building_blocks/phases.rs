//! Composition of schedules: phases in sequence, with the fewest possible dependencies.
//!
//! A phase is an operation among some of the ranks, by any algorithm. [`PhasePlacement`] maps its
//! ranks and its buffers. Its steps wait on exactly the earlier steps that access the same bytes of
//! a buffer, where at least one of the two writes:
//!
//! ```text
//!   first phase      receive 0..4          receive 4..8
//!                        │ written             │ written
//!   second phase     send 0..4             send 4..8        each as soon as its bytes are there
//! ```
//!
//! A phase whose empty messages signal completion begins when all earlier phases have completed.
//!
//! **Rounds** of a phase follow all rounds of earlier phases, so their number must be the same on
//! all ranks. Labels of a phase are at most its number of rounds.

use std::collections::BTreeMap;

use crate::offload::{
    Buffer, Region, Schedule, ScheduleBuilder, Step, StepAction, StepId, Wait, label_of_tag,
};

/// The schedule under construction.
#[derive(Default)]
pub(crate) struct Phases {
    plan: ScheduleBuilder,
    /// For each step, whether another step waits on it, or no wait is necessary.
    waited: Vec<bool>,
    accesses: AccessHistory,
    /// Number of rounds so far, the maximum over the ranks.
    rounds: u32,
    /// The highest label of this rank.
    labelled: u32,
    /// The label of all messages, if their tag is fixed.
    fixed_label: Option<u16>,
}

/// Placement of a phase among some ranks in a larger schedule.
pub(crate) struct PhasePlacement<'a> {
    /// Maps a rank of the phase to a rank of the whole.
    pub(crate) member: &'a dyn Fn(u32) -> u32,
    /// Region of each user buffer of the phase.
    pub(crate) buffer: &'a dyn Fn(u32) -> Region,
}

/// Condition for the start of a phase's steps.
#[derive(Clone, Copy, PartialEq, Eq)]
enum PhaseStart {
    /// The bytes that they access are ready.
    Ready,
    /// All earlier phases have completed on this rank.
    Completed,
}

impl Phases {
    pub(crate) fn scratch(&mut self, bytes: usize) -> Region {
        self.plan.scratch(bytes).region(0, bytes)
    }

    /// Appends a phase of at most `rounds` rounds on any rank; `part` may be empty.
    pub(crate) fn then(&mut self, part: &Schedule, rounds: u32, place: &PhasePlacement<'_>) {
        // A step that waits for any of several steps cannot wait on a further step.
        let is_plain = part.steps().iter().all(|step| step.wait == Wait::All);
        self.append(
            part,
            rounds,
            place,
            if is_plain { PhaseStart::Ready } else { PhaseStart::Completed },
        );
    }

    /// As [`Phases::then`], for a phase whose messages signal that all earlier phases have
    /// completed on this rank.
    pub(crate) fn then_synchronized(
        &mut self, part: &Schedule, rounds: u32, member: &dyn Fn(u32) -> u32,
    ) {
        self.append(
            part,
            rounds,
            &PhasePlacement { member, buffer: &|_| Region::EMPTY },
            PhaseStart::Completed,
        );
    }

    /// What `append` appends has messages with this tag.
    pub(crate) fn with_tag(&mut self, tag: u8, append: impl FnOnce(&mut Self)) {
        self.fixed_label = Some(label_of_tag(tag));
        append(self);
        self.fixed_label = None;
    }

    /// Appends a round of messages, each with the peer and the region.
    pub(crate) fn round(&mut self, receives: &[(u32, Region)], sends: &[(u32, Region)]) {
        let mut part = ScheduleBuilder::new();
        for (peer, region) in receives {
            part.receive(*peer, *region, 1, &[]);
        }
        for (peer, region) in sends {
            part.send(*peer, *region, 1, &[]);
        }
        self.append_steps(&part.finish(), 1, PhaseStart::Ready, &|action| action);
    }

    /// Appends copies, each from one region to another.
    pub(crate) fn copy(&mut self, pairs: impl IntoIterator<Item = (Region, Region)>) {
        let mut part = ScheduleBuilder::new();
        for (from, to) in pairs.into_iter().filter(|(from, to)| from.len > 0 && from != to) {
            part.copy(from, to, &[]);
        }
        self.append_steps(&part.finish(), 0, PhaseStart::Ready, &|action| action);
    }

    /// Appends a reduction: `into = from op into`.
    pub(crate) fn reduce(&mut self, from: Region, into: Region) {
        let mut part = ScheduleBuilder::new();
        part.reduce(from, into, &[]);
        self.append_steps(&part.finish(), 0, PhaseStart::Ready, &|action| action);
    }

    /// Skips rounds in which this rank has no steps.
    pub(crate) fn skip_rounds(&mut self, rounds: u32) {
        self.rounds += rounds;
    }

    pub(crate) fn finish(self) -> Schedule {
        self.plan.finish()
    }

    fn append(
        &mut self, part: &Schedule, rounds: u32, place: &PhasePlacement<'_>, start: PhaseStart,
    ) {
        let scratch: Vec<Region> =
            part.scratch().iter().map(|bytes| self.scratch(*bytes)).collect();
        let member = place.member;
        let placed = |region: Region| {
            let base = match region.buffer {
                Buffer::None => return Region::EMPTY,
                // Copies are in scratch memory, which no other phase accesses.
                Buffer::First => return region,
                Buffer::User(entry) => (place.buffer)(entry),
                Buffer::Scratch(index) => scratch[index as usize],
            };
            base.buffer.region(base.start + region.start, region.len)
        };
        self.append_steps(part, rounds, start, &|action| match action {
            StepAction::Send { peer, region, label } => {
                StepAction::Send { peer: member(peer), region: placed(region), label }
            }
            StepAction::Receive { peer, region, label } => {
                StepAction::Receive { peer: member(peer), region: placed(region), label }
            }
            StepAction::Copy { from, to } => {
                StepAction::Copy { from: placed(from), to: placed(to) }
            }
            StepAction::Reduce { from, into } => {
                StepAction::Reduce { from: placed(from), into: placed(into) }
            }
        });
    }

    /// Appends a phase whose steps `append_steps` adds.
    fn append_steps(
        &mut self, part: &Schedule, rounds: u32, start: PhaseStart,
        moved: &dyn Fn(StepAction) -> StepAction,
    ) {
        debug_assert!(self.labelled <= self.rounds, "a phase has more rounds than it said");
        let ends = if start == PhaseStart::Completed { self.pending_ends() } else { Vec::new() };
        let mut steps: Vec<StepId> = Vec::with_capacity(part.steps().len());
        let mut actions = Vec::with_capacity(part.steps().len());
        for (id, step) in (0..).zip(part.steps()) {
            let mut action = moved(step.action);
            let mut after: Vec<StepId> =
                part.predecessors(id).iter().map(|earlier| steps[*earlier as usize]).collect();
            match start {
                PhaseStart::Ready => self.accesses.conflicts(&action, &mut after),
                PhaseStart::Completed if after.is_empty() => after.clone_from(&ends),
                PhaseStart::Completed => {}
            }
            let round = match &mut action {
                StepAction::Send { label, .. } | StepAction::Receive { label, .. } => {
                    match self.fixed_label {
                        Some(fixed) => *label = fixed,
                        None => {
                            *label = relabelled(self.rounds, *label);
                            self.labelled = self.labelled.max(u32::from(*label));
                        }
                    }
                    self.rounds + step.round
                }
                StepAction::Copy { .. } | StepAction::Reduce { .. } => self.plan.round_of(&after),
            };
            steps.push(self.step(action, round, step, &after));
            actions.push(action);
        }
        for (action, step) in actions.iter().zip(steps) {
            self.accesses.note(action, step);
        }
        self.rounds += rounds;
    }

    /// Adds a step with `action`, and with the other fields of `like`.
    fn step(&mut self, action: StepAction, round: u32, like: &Step, after: &[StepId]) -> StepId {
        let new = self.plan.push(action, round, like.wait, after);
        self.waited.push(like.detached);
        if like.detached {
            self.plan.detach(new);
        }
        for earlier in after {
            self.waited[*earlier as usize] = true;
        }
        new
    }

    /// The steps that no step waits on.
    fn pending_ends(&self) -> Vec<StepId> {
        (0..).zip(&self.waited).filter(|(_, waited)| !**waited).map(|(id, _)| id).collect()
    }
}

fn relabelled(before: u32, label: u16) -> u16 {
    let label = before + u32::from(label);
    u16::try_from(label).expect("a schedule has fewer than 65,536 labels")
}

/// The last steps that accessed each range of bytes.
#[derive(Default)]
struct AccessHistory {
    /// Keyed by buffer and first byte; pieces of one buffer do not overlap.
    pieces: BTreeMap<(Buffer, usize), AccessedRange>,
}

/// A range of bytes, all accessed by the same steps.
#[derive(Clone, Default)]
struct AccessedRange {
    end: usize,
    writer: Option<StepId>,
    /// The steps that have read it since then.
    readers: Vec<StepId>,
}

impl AccessHistory {
    /// Adds to `after` the steps that `action` must wait on.
    fn conflicts(&self, action: &StepAction, after: &mut Vec<StepId>) {
        let (read, written) = action.regions();
        for (region, writes) in [(read, false), (written, true)] {
            let Some(region) = region.filter(|region| region.len > 0) else { continue };
            for piece in self.overlapping(region) {
                let readers = if writes { &piece.readers[..] } else { &[] };
                for step in piece.writer.iter().chain(readers) {
                    if !after.contains(step) {
                        after.push(*step);
                    }
                }
            }
        }
    }

    fn overlapping(&self, region: Region) -> impl Iterator<Item = &AccessedRange> {
        let (first, end) = ((region.buffer, region.start), (region.buffer, region.end()));
        let before = self.pieces.range((region.buffer, 0)..first).next_back();
        let reaches = before.filter(|(_, piece)| piece.end > region.start);
        reaches.into_iter().chain(self.pieces.range(first..end)).map(|(_, piece)| piece)
    }

    fn note(&mut self, action: &StepAction, step: StepId) {
        let (read, written) = action.regions();
        if let Some(region) = read.filter(|region| region.len > 0) {
            self.change(region, |piece| piece.readers.push(step));
        }
        if let Some(region) = written.filter(|region| region.len > 0) {
            self.change(region, |piece| {
                piece.writer = Some(step);
                piece.readers.clear();
            });
        }
    }

    /// Applies `change` to all pieces of a region, split at its begin and end.
    fn change(&mut self, region: Region, mut change: impl FnMut(&mut AccessedRange)) {
        self.split(region.buffer, region.start);
        self.split(region.buffer, region.end());
        let mut start = region.start;
        let range = (region.buffer, region.start)..(region.buffer, region.end());
        let known: Vec<usize> = self.pieces.range(range).map(|(key, _)| key.1).collect();
        for next in known.into_iter().chain([region.end()]) {
            if start < next {
                let mut gap = AccessedRange { end: next, ..AccessedRange::default() };
                change(&mut gap);
                self.pieces.insert((region.buffer, start), gap);
            }
            if let Some(piece) = self.pieces.get_mut(&(region.buffer, next))
                && next < region.end()
            {
                change(piece);
                start = piece.end;
            }
        }
    }

    /// Splits a piece at byte `at` if it extends across it.
    fn split(&mut self, buffer: Buffer, at: usize) {
        let before = self.pieces.range_mut((buffer, 0)..(buffer, at)).next_back();
        if let Some((_, piece)) = before.filter(|(_, piece)| piece.end > at) {
            let rest = piece.clone();
            piece.end = at;
            self.pieces.insert((buffer, at), rest);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Buffer = Buffer::User(0);

    fn here() -> PhasePlacement<'static> {
        PhasePlacement { member: &|rank| rank, buffer: &|_| USER.region(0, 8) }
    }

    #[test]
    fn a_step_waits_on_what_touches_its_bytes_only() {
        let mut phases = Phases::default();
        phases.round(&[(1, USER.region(0, 4)), (4, USER.region(4, 4))], &[]);
        phases.round(&[], &[(2, USER.region(0, 4))]);
        phases.round(&[(3, USER.region(2, 4))], &[]);
        phases.copy([(USER.region(6, 2), USER.region(8, 2))]);
        let schedule = phases.finish();
        assert_eq!(schedule.predecessors(2), [0]);
        assert_eq!(schedule.predecessors(3), [0, 2, 1]);
        assert_eq!(schedule.predecessors(4), [1]);
        let rounds: Vec<u32> = schedule.steps().iter().map(|step| step.round).collect();
        assert_eq!(rounds, [1, 1, 2, 3, 1]);
    }

    #[test]
    fn readers_of_one_piece_do_not_wait_for_one_another() {
        let mut phases = Phases::default();
        phases.round(&[], &[(1, USER.region(0, 8))]);
        phases.round(&[], &[(2, USER.region(2, 4))]);
        phases.round(&[(1, USER.region(0, 4))], &[]);
        let schedule = phases.finish();
        assert!(schedule.predecessors(1).is_empty());
        assert_eq!(schedule.predecessors(2), [0, 1]);
    }

    #[test]
    fn news_wait_for_all_that_is_before() {
        let mut told = ScheduleBuilder::new();
        told.receive(1, Region::EMPTY, 1, &[]);
        told.send(1, Region::EMPTY, 1, &[]);
        let told = told.finish();
        let mut phases = Phases::default();
        for _ in 0..2 {
            phases.then_synchronized(&told, 1, &|rank| rank);
        }
        let schedule = phases.finish();
        assert_eq!(
            (schedule.predecessors(2), schedule.predecessors(3)),
            (&[0, 1][..], &[0, 1][..])
        );
    }

    #[test]
    fn what_is_waited_for_and_detached_is_kept() {
        let mut part = ScheduleBuilder::new();
        let scratch = part.scratch(8);
        let one = part.receive(1, scratch.region(0, 4), 1, &[]);
        let two = part.receive(2, scratch.region(4, 4), 1, &[]);
        let send = StepAction::Send { peer: 3, region: USER.region(0, 8), label: 2 };
        part.push(send, 2, Wait::Any, &[one, two]);
        part.detach(two);
        let mut phases = Phases::default();
        phases.round(&[(5, USER.region(0, 1))], &[]);
        phases.then(&part.finish(), 2, &here());
        let schedule = phases.finish();
        assert_eq!((schedule.predecessors(1), schedule.predecessors(2)), (&[0][..], &[0][..]));
        assert_eq!(schedule.steps()[3].wait, Wait::Any);
        assert!(schedule.steps()[2].detached);
        assert_eq!(schedule.steps()[3].round, 3);
    }
}
