//! Schedules: one rank's part of a collective operation, as a graph of steps.
//!
//! ```text
//!   rank 0                      rank 1                     a reduction to rank 0
//!   [0] receive ◄── label 1 ─── [0] send
//!    │ then
//!   [1] reduce scratch 0 into receive buffer
//! ```
//!
//! **Steps.** A step may start when the steps that it waits on have completed: all of them, or any
//! one ([`Wait`]). A send completes when its bytes may be overwritten, a receive when they have
//! arrived. A step waits only on earlier steps. If several steps may start, the earliest starts
//! first, so algorithms list their receives before their sends. A run completes when all *attached*
//! steps have completed. *Detached* steps use only buffers of the run, which keeps them until the
//! last step has completed.
//!
//! **Copies.** The same bytes may arrive on several paths, each in its own scratch memory. The next
//! step takes the copy that arrives first:
//!
//! ```text
//!   [0] receive from 1 into scratch 0 ──┐ any
//!                                       ├─────► [2] copy the first one to the receive buffer
//!   [1] receive from 2 into scratch 1 ──┘
//! ```
//!
//! Step 2 reads [`Buffer::First`]: the bytes written by the step whose completion made it ready, the
//! first one among those that it waits on. The receives of copies are detached, so the run completes
//! without the late ones. These still receive their message, into memory that is not read any more,
//! and the run keeps that memory until then: no message of a call is left for another call. A second
//! start of the same schedule in the meantime needs another run.
//!
//! **Regions** are ranges of bytes in the *packed* stream of a buffer, never addresses. The supplier
//! of the buffer knows the memory of these bytes.
//!
//! **Reductions** compute `into = from op into`, element by element, with `from` as the left operand
//! (MPI 5.0 §6.9.5: `inoutvec = invec op inoutvec`). For an operation that does not commute, `from`
//! therefore has the part of the lower ranks. Both regions begin and end between elements.
//!
//! **Messages** are matched by (context, sequence of the call, source, label). In one schedule, a
//! label names at most one message from one rank to another. A message of no bytes is a message;
//! algorithms that omit it do so on both sides.
//!
//! **Rounds** are levels of the *global* graph: a message has the same round on both sides, and its
//! round is later than those of all steps that its send or its receive waits on, directly or
//! through others. Rounds count from 1; a copy or a reduction has the round of the steps that it
//! waits on, or 0. The compiler relies on rounds, because it counts arrivals instead of matching
//! them.
//!
//! Units: bytes, ranks of the communicator, indices of steps.

/// The index of a step in its schedule.
pub type StepId = u32;

/// The buffer of a [`Region`].
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// No memory, for messages without bytes.
    None,
    /// An entry of the table of buffers that the caller of a run supplies. The module of the
    /// algorithm defines the entries (`mpi::collective`).
    User(u32),
    /// A buffer of the run, [`Schedule::scratch`] bytes long and aligned for any element.
    Scratch(u32),
    /// The bytes written by the step whose completion made this one ready, for a step that waits for
    /// any one. Read only; byte 0 is the first written byte.
    First,
}

/// A range of bytes in the packed stream of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The buffer.
    pub buffer: Buffer,
    /// The first byte.
    pub start: usize,
    /// The number of bytes.
    pub len: usize,
}

impl Region {
    /// No bytes.
    pub const EMPTY: Self = Self { buffer: Buffer::None, start: 0, len: 0 };

    /// The byte after the last.
    pub fn end(self) -> usize {
        self.start + self.len
    }

    /// Whether some byte is in both regions.
    pub fn overlaps(self, other: Self) -> bool {
        self.buffer == other.buffer && self.start.max(other.start) < self.end().min(other.end())
    }
}

impl Buffer {
    /// `len` bytes of this buffer, from byte `start` on.
    pub fn region(self, start: usize, len: usize) -> Region {
        Region { buffer: self, start, len }
    }
}

/// The action of a step.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepAction {
    /// Send `region` to another rank of the communicator.
    Send {
        /// The receiving rank.
        peer: u32,
        /// The bytes to send.
        region: Region,
        /// Distinguishes the messages between the two ranks.
        label: u16,
    },
    /// Receive a message of exactly this length from another rank.
    Receive {
        /// The sending rank.
        peer: u32,
        /// The destination of the bytes.
        region: Region,
        /// Distinguishes the messages between the two ranks.
        label: u16,
    },
    /// Copy bytes between two regions of equal length that do not overlap.
    Copy {
        /// The source.
        from: Region,
        /// The destination.
        to: Region,
    },
    /// `into = from op into` for two regions of equal length that do not overlap.
    Reduce {
        /// The left operand.
        from: Region,
        /// The right operand and the result.
        into: Region,
    },
}

impl StepAction {
    /// The region that the action reads, and the region that it writes.
    pub fn regions(&self) -> (Option<Region>, Option<Region>) {
        match *self {
            Self::Send { region, .. } => (Some(region), None),
            Self::Receive { region, .. } => (None, Some(region)),
            Self::Copy { from, to } => (Some(from), Some(to)),
            Self::Reduce { from, into } => (Some(from), Some(into)),
        }
    }

    /// The action with the region that it reads replaced.
    fn reading(self, replace: impl Fn(Region) -> Region) -> Self {
        match self {
            Self::Send { peer, region, label } => {
                Self::Send { peer, region: replace(region), label }
            }
            Self::Receive { .. } => self,
            Self::Copy { from, to } => Self::Copy { from: replace(from), to },
            Self::Reduce { from, into } => Self::Reduce { from: replace(from), into },
        }
    }
}

/// How many of its predecessors must complete before a step may start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// All.
    #[default]
    All,
    /// One. The step runs once; later completions change nothing. [`Buffer::First`] is the buffer of
    /// the first one.
    Any,
}

/// A step. [`Schedule::predecessors`] has the steps that it waits on.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// The action.
    pub action: StepAction,
    /// The level of the step in the global graph (see the module documentation).
    pub round: u32,
    /// How many predecessors must have completed.
    pub wait: Wait,
    /// Whether the run completes without the step.
    pub detached: bool,
    predecessors: LinkRange,
    successors: LinkRange,
}

/// A range of `Schedule::links`.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct LinkRange {
    start: u32,
    end: u32,
}

/// One rank's part of a collective operation. A schedule never changes, and many runs share it.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Schedule {
    steps: Box<[Step]>,
    /// The predecessors of step 0, of step 1, ..., then the successors of step 0, ...
    links: Box<[StepId]>,
    waits: Box<[u32]>,
    scratch: Box<[usize]>,
    attached: usize,
    rounds: u32,
}

impl Schedule {
    /// The steps. A step waits only on earlier ones.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// The action of step `id` when the completion of its predecessor `first` has made it ready.
    /// `first` matters only if the step reads [`Buffer::First`].
    ///
    /// # Panics
    /// If there are no such steps, or the step reads [`Buffer::First`] and `first` writes nothing.
    #[inline]
    pub fn action(&self, id: StepId, first: StepId) -> StepAction {
        self.steps[id as usize].action.reading(|region| match region.buffer {
            Buffer::First => {
                let (_, written) = self.steps[first as usize].action.regions();
                let written = written.expect("the predecessor writes");
                written.buffer.region(written.start + region.start, region.len)
            }
            _ => region,
        })
    }

    /// The steps that step `id` waits on.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn predecessors(&self, id: StepId) -> &[StepId] {
        self.linked(self.steps[id as usize].predecessors)
    }

    /// The steps that wait on step `id`.
    ///
    /// # Panics
    /// If there is no such step.
    pub fn successors(&self, id: StepId) -> &[StepId] {
        self.linked(self.steps[id as usize].successors)
    }

    /// For each step, the number of completed [`Schedule::predecessors`] that starts it.
    ///
    /// A run begins with a copy of these numbers and starts the steps with 0. Each completion
    /// decrements the numbers of its [`Schedule::successors`], down to 0. A step that waits for any
    /// one has 1.
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// The length of each scratch buffer, in bytes.
    pub fn scratch(&self) -> &[usize] {
        &self.scratch
    }

    /// The number of steps that are not detached.
    pub(crate) fn attached(&self) -> usize {
        self.attached
    }

    /// The highest round of any step of this rank.
    pub fn rounds(&self) -> u32 {
        self.rounds
    }

    fn linked(&self, links: LinkRange) -> &[StepId] {
        &self.links[links.start as usize..links.end as usize]
    }
}

/// Builds a schedule step by step.
#[derive(Debug, Default)]
pub struct ScheduleBuilder {
    steps: Vec<Step>,
    links: Vec<StepId>,
    scratch: Vec<usize>,
}

impl ScheduleBuilder {
    /// An empty schedule.
    pub fn new() -> Self {
        Self::default()
    }

    /// Adds a scratch buffer of `bytes` bytes.
    pub(crate) fn scratch(&mut self, bytes: usize) -> Buffer {
        self.scratch.push(bytes);
        Buffer::Scratch(index(self.scratch.len() - 1))
    }

    /// Adds a send in `round`, labelled with the round, after all of `after`.
    ///
    /// # Panics
    /// If the round does not fit in a label.
    pub(crate) fn send(
        &mut self, peer: u32, region: Region, round: u32, after: &[StepId],
    ) -> StepId {
        self.push(StepAction::Send { peer, region, label: label(round) }, round, Wait::All, after)
    }

    /// Adds a receive in `round`, labelled with the round, after all of `after`.
    ///
    /// # Panics
    /// If the round does not fit in a label.
    pub(crate) fn receive(
        &mut self, peer: u32, region: Region, round: u32, after: &[StepId],
    ) -> StepId {
        self.push(
            StepAction::Receive { peer, region, label: label(round) },
            round,
            Wait::All,
            after,
        )
    }

    /// Adds a copy after all of `after`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn copy(&mut self, from: Region, to: Region, after: &[StepId]) -> StepId {
        assert_eq!(from.len, to.len);
        self.push(StepAction::Copy { from, to }, self.round_of(after), Wait::All, after)
    }

    /// Adds `into = from op into` after all of `after`.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn reduce(&mut self, from: Region, into: Region, after: &[StepId]) -> StepId {
        assert_eq!(from.len, into.len);
        self.push(StepAction::Reduce { from, into }, self.round_of(after), Wait::All, after)
    }

    /// Adds a copy of the bytes that the first completed step of `after` has written, to `to`.
    pub(crate) fn copy_first(&mut self, to: Region, after: &[StepId]) -> StepId {
        let from = Buffer::First.region(0, to.len);
        self.push(StepAction::Copy { from, to }, self.round_of(after), Wait::Any, after)
    }

    /// Adds a send in `round`, labelled with the round, of the first `len` bytes that the first
    /// completed step of `after` has written.
    ///
    /// # Panics
    /// If the round does not fit in a label.
    pub(crate) fn send_first(
        &mut self, peer: u32, len: usize, round: u32, after: &[StepId],
    ) -> StepId {
        let region = Buffer::First.region(0, len);
        self.push(StepAction::Send { peer, region, label: label(round) }, round, Wait::Any, after)
    }

    /// Adds a step.
    ///
    /// # Panics
    /// If `after` names a later step.
    pub fn push(&mut self, action: StepAction, round: u32, wait: Wait, after: &[StepId]) -> StepId {
        let id = index(self.steps.len());
        assert!(after.iter().all(|&before| before < id));
        let start = index(self.links.len());
        self.links.extend_from_slice(after);
        let after = LinkRange { start, end: index(self.links.len()) };
        let then = LinkRange::default();
        self.steps.push(Step {
            action,
            round,
            wait,
            detached: false,
            predecessors: after,
            successors: then,
        });
        id
    }

    /// Detaches step `id`: the run completes without it.
    ///
    /// # Panics
    /// If there is no such step.
    pub(crate) fn detach(&mut self, id: StepId) {
        self.steps[id as usize].detached = true;
    }

    /// The highest round among `after`, which is the round of a copy or a reduction after them.
    pub(crate) fn round_of(&self, after: &[StepId]) -> u32 {
        after.iter().map(|&id| self.steps[id as usize].round).max().unwrap_or(0)
    }

    /// The finished schedule.
    pub fn finish(mut self) -> Schedule {
        let waits = self.steps.iter().map(waits).collect();
        self.link_successors();
        Schedule {
            waits,
            attached: self.steps.iter().filter(|step| !step.detached).count(),
            rounds: self.steps.iter().map(|step| step.round).max().unwrap_or(0),
            steps: self.steps.into(),
            links: self.links.into(),
            scratch: self.scratch.into(),
        }
    }

    /// Appends to `links` the successors of each step, in order.
    fn link_successors(&mut self) {
        let predecessors = self.links.len();
        for &before in &self.links {
            self.steps[before as usize].successors.end += 1;
        }
        let mut start = index(predecessors);
        for step in &mut self.steps {
            let count = step.successors.end;
            step.successors = LinkRange { start, end: start };
            start += count;
        }
        self.links.resize(start as usize, 0);
        for id in 0..self.steps.len() {
            let after = self.steps[id].predecessors;
            for link in after.start..after.end {
                let then = &mut self.steps[self.links[link as usize] as usize].successors;
                self.links[then.end as usize] = index(id);
                then.end += 1;
            }
        }
    }
}

/// The number of completions that starts `step`.
fn waits(step: &Step) -> u32 {
    let named = step.predecessors.end - step.predecessors.start;
    match step.wait {
        Wait::All => named,
        Wait::Any => named.min(1),
    }
}

fn label(round: u32) -> u16 {
    let label = u16::try_from(round).ok().filter(|label| *label < FIXED_TAGS);
    label.expect("a schedule has fewer than 65,024 rounds")
}

/// The most rounds of messages in a schedule: each has a label of its own.
pub const ROUNDS_MAX: u32 = FIXED_TAGS as u32 - 1;

/// The labels from this one to the one 255 above stand for messages with a fixed tag, from 0 to 255,
/// instead of one that tells calls apart: another library has prescribed it. Such messages of calls in a
/// row are told apart by their order.
const FIXED_TAGS: u16 = 0xfe00;

/// The label of messages with this tag.
pub const fn label_of_tag(tag: u8) -> u16 {
    FIXED_TAGS + tag as u16
}

/// The fixed tag of messages with this label, if they have one.
#[inline]
pub fn tag_of_label(label: u16) -> Option<i32> {
    label.checked_sub(FIXED_TAGS).filter(|tag| *tag < 0x100).map(i32::from)
}

fn index(value: usize) -> u32 {
    u32::try_from(value).expect("a schedule has fewer than 2^32 steps, links and buffers")
}

#[cfg(test)]
mod tests {
    use super::*;

    const USER: Buffer = Buffer::User(0);

    #[test]
    fn links_run_both_ways() {
        let mut plan = ScheduleBuilder::new();
        let scratch = plan.scratch(8);
        let first = plan.receive(1, scratch.region(0, 8), 1, &[]);
        let second = plan.receive(2, USER.region(0, 8), 1, &[]);
        let third = plan.reduce(scratch.region(0, 8), USER.region(0, 8), &[first, second]);
        let fourth = plan.send(3, USER.region(0, 8), 2, &[third]);
        plan.detach(fourth);
        let schedule = plan.finish();

        assert_eq!(schedule.predecessors(third), [first, second]);
        assert_eq!(schedule.successors(first), [third]);
        assert_eq!(schedule.successors(second), [third]);
        assert_eq!(schedule.successors(third), [fourth]);
        assert!(schedule.successors(fourth).is_empty());
        assert_eq!(schedule.waits(), [0, 0, 2, 1]);
        assert_eq!(schedule.steps()[third as usize].round, 1);
        assert_eq!((schedule.attached(), schedule.rounds()), (3, 2));
        assert_eq!(schedule.scratch(), [8]);
    }

    #[test]
    fn any_waits_for_one() {
        let mut plan = ScheduleBuilder::new();
        let scratch = plan.scratch(8);
        let one = plan.receive(1, scratch.region(0, 4), 1, &[]);
        let two = plan.receive(2, scratch.region(4, 4), 1, &[]);
        let action = StepAction::Send { peer: 3, region: Region::EMPTY, label: 2 };
        plan.push(action, 2, Wait::Any, &[one, two]);
        plan.push(action, 2, Wait::Any, &[]);
        assert_eq!(plan.finish().waits(), [0, 0, 1, 0]);
    }

    #[test]
    fn the_first_copy_is_read_from_the_buffer_of_its_step() {
        let mut plan = ScheduleBuilder::new();
        let scratch = plan.scratch(16);
        let one = plan.receive(1, scratch.region(0, 8), 1, &[]);
        let two = plan.receive(2, scratch.region(8, 8), 1, &[]);
        let copy = plan.copy_first(USER.region(0, 8), &[one, two]);
        let send = plan.send_first(3, 4, 2, &[one, two]);
        let schedule = plan.finish();
        assert_eq!(schedule.waits(), [0, 0, 1, 1]);
        let copied = |from| StepAction::Copy { from, to: USER.region(0, 8) };
        assert_eq!(schedule.action(copy, one), copied(scratch.region(0, 8)));
        assert_eq!(schedule.action(copy, two), copied(scratch.region(8, 8)));
        let sent = StepAction::Send { peer: 3, region: scratch.region(8, 4), label: 2 };
        assert_eq!(schedule.action(send, two), sent);
    }

    #[test]
    #[should_panic(expected = "before < id")]
    fn a_step_waits_on_earlier_steps_only() {
        ScheduleBuilder::new().send(1, Region::EMPTY, 1, &[0]);
    }

    #[test]
    fn empty_regions_overlap_nothing() {
        assert!(!Region::EMPTY.overlaps(Region::EMPTY));
        assert!(!USER.region(4, 0).overlaps(USER.region(0, 8)));
        assert!(USER.region(4, 5).overlaps(USER.region(8, 1)));
        assert!(!USER.region(4, 4).overlaps(USER.region(8, 1)));
    }
}
