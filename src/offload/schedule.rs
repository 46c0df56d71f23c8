//! Schedules: one rank's part of a collective operation, as a graph of steps.
//!
//! ```text
//!   rank 0                      rank 1                     a reduction to rank 0
//!   [0] receive ◄── label 1 ─── [0] send
//!    │ then
//!   [1] reduce scratch 0 into receive buffer
//! ```
//!
//! **Steps.** A step may start once the steps that it waits on are complete: all of them, or any
//! one ([`Wait`]). A send is complete when its bytes may be overwritten, a receive when they have
//! arrived. A step only waits on steps before it, and of several that may start the earlier is
//! started first, so algorithms list their receives before their sends. A run is complete when all
//! steps are that are not *detached*; those use only buffers that the run owns, and whoever runs
//! the schedule keeps these until the last step is done.
//!
//! **Copies.** The same bytes may come by several ways, each to scratch memory of its own, and what
//! goes on with them takes the copy that is there first:
//!
//! ```text
//!   [0] receive from 1 into scratch 0 ──┐ any
//!                                       ├─────► [2] copy what came first to the receive buffer
//!   [1] receive from 2 into scratch 1 ──┘
//! ```
//!
//! Step 2 reads [`Buffer::First`]: what the step that let it start has written, the one whose
//! completion was the first among those that it waits on. Receives of copies are detached, so the
//! run is complete without those that are late. They still take place, into memory that nobody
//! reads any more, and the run keeps that memory until they have: a message of this call is never
//! left over for another. Whoever starts the same schedule again meanwhile needs a run of its own.
//!
//! **Regions** are ranges of bytes in the *packed* stream of a buffer, never addresses. Where the
//! bytes of the stream lie in memory is the business of whoever supplies the buffer.
//!
//! **Reductions** compute `into = from op into`, element by element, `from` being the left operand
//! (MPI 5.0 §6.9.5: `inoutvec = invec op inoutvec`). An operation that does not commute therefore
//! wants the part of the lower ranks in `from`. Both regions begin and end between elements.
//!
//! **Messages** are matched by (context, sequence of the call, source, label). A label is used for
//! one message at most between two ranks in one direction of one schedule. A message of no bytes
//! is a message; algorithms that leave it out do so on both sides.
//!
//! **Rounds** level the *global* graph: a message has the same round on both sides, and it is later
//! than the round of everything that its send or its receive waits on, directly or through others.
//! Rounds count from 1; a copy or a reduction has the round of what it waits on, 0 if nothing.
//! Whoever counts arrivals instead of matching them relies on it.
//!
//! Units: bytes, ranks of the communicator, indices of steps.

/// The index of a step in its schedule.
pub type StepId = u32;

/// Where the bytes of a [`Region`] are.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub enum Buffer {
    /// No memory: the buffer of messages without bytes.
    None,
    /// An entry of the table of buffers that the caller of a run supplies.
    ///
    /// The algorithm's module says which entry is what (`mpi::coll`).
    User(u32),
    /// A buffer that the run owns, [`Schedule::scratch`] bytes long and aligned for any element.
    Scratch(u32),
    /// What the step that let this one start has written: for a step that waits for any one.
    ///
    /// Only read, and byte 0 is the first that was written.
    First,
}

/// A range of bytes in the packed stream of a buffer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Region {
    /// The buffer.
    pub buffer: Buffer,
    /// The first byte.
    pub start: usize,
    /// How many bytes.
    pub len: usize,
}

impl Region {
    /// No bytes at all.
    pub const EMPTY: Self = Self { buffer: Buffer::None, start: 0, len: 0 };

    /// The byte after the last.
    pub fn end(self) -> usize {
        self.start + self.len
    }

    /// Whether a byte belongs to both.
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

/// What a step does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum StepAction {
    /// Send `region` to the rank `peer` of the communicator, which is another rank.
    Send {
        /// The receiving rank.
        peer: u32,
        /// What to send.
        region: Region,
        /// Tells this message from others between the two ranks.
        label: u16,
    },
    /// Receive a message of exactly that length from the rank `peer`, which is another rank.
    Receive {
        /// The sending rank.
        peer: u32,
        /// Where to put it.
        region: Region,
        /// Tells this message from others between the two ranks.
        label: u16,
    },
    /// Copy bytes; the two regions have one length and do not overlap.
    Copy {
        /// What is read.
        from: Region,
        /// What is written.
        to: Region,
    },
    /// `into = from op into`; the two regions have one length and do not overlap.
    Reduce {
        /// The left operand.
        from: Region,
        /// The right operand and the result.
        into: Region,
    },
}

impl StepAction {
    /// The region that is read, and the one that is written.
    pub fn regions(&self) -> (Option<Region>, Option<Region>) {
        match *self {
            Self::Send { region, .. } => (Some(region), None),
            Self::Receive { region, .. } => (None, Some(region)),
            Self::Copy { from, to } => (Some(from), Some(to)),
            Self::Reduce { from, into } => (Some(from), Some(into)),
        }
    }

    /// The same with what it reads changed by `place`.
    fn reading(self, place: impl Fn(Region) -> Region) -> Self {
        match self {
            Self::Send { peer, region, label } => Self::Send { peer, region: place(region), label },
            Self::Receive { .. } => self,
            Self::Copy { from, to } => Self::Copy { from: place(from), to },
            Self::Reduce { from, into } => Self::Reduce { from: place(from), into },
        }
    }
}

/// How many of the earlier steps that a step names must be complete.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum Wait {
    /// Every one.
    #[default]
    All,
    /// At least one. The step runs once; completions after the first change nothing. Which one that
    /// was tells it what [`Buffer::First`] is.
    Any,
}

/// One step; what it waits on is [`Schedule::predecessors`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Step {
    /// What it does.
    pub action: StepAction,
    /// The level of the step in the global graph (see the module's text).
    pub round: u32,
    /// How much of what it waits on must be complete.
    pub wait: Wait,
    /// Whether the run is complete without it.
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

/// One rank's part of a collective operation; never changes once built, and many runs share it.
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
    /// The steps; a step waits only on steps before it.
    pub fn steps(&self) -> &[Step] {
        &self.steps
    }

    /// What step `id` does when the completion of `first`, which it waits on, lets it start; that is
    /// not read unless the step reads [`Buffer::First`].
    ///
    /// # Panics
    /// If there are no such steps, or `first` writes nothing and is read.
    #[inline]
    pub fn action(&self, id: StepId, first: StepId) -> StepAction {
        self.steps[id as usize].action.reading(|region| match region.buffer {
            Buffer::First => {
                let (_, written) = self.steps[first as usize].action.regions();
                let written = written.expect("what is read has been written");
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

    /// For each step, how many completions among [`Schedule::predecessors`] start it.
    ///
    /// A run begins with a copy of this, starts the steps that have 0, and takes 1 off each of
    /// [`Schedule::successors`] at a completion, stopping at 0 (a step that waits for any has 1 here).
    pub fn waits(&self) -> &[u32] {
        &self.waits
    }

    /// The bytes of each scratch buffer.
    pub fn scratch(&self) -> &[usize] {
        &self.scratch
    }

    /// How many steps must be complete before the run is: those that are not detached.
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

/// Writes a schedule, step after step.
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

    /// One more buffer that the run owns, of `bytes` bytes.
    pub(crate) fn scratch(&mut self, bytes: usize) -> Buffer {
        self.scratch.push(bytes);
        Buffer::Scratch(index(self.scratch.len() - 1))
    }

    /// A send in `round`, labelled with the round, once all of `predecessors` is complete.
    ///
    /// # Panics
    /// If the round does not fit in a label.
    pub(crate) fn send(
        &mut self, peer: u32, region: Region, round: u32, after: &[StepId],
    ) -> StepId {
        self.push(StepAction::Send { peer, region, label: label(round) }, round, Wait::All, after)
    }

    /// A receive in `round`, labelled with the round, once all of `predecessors` is complete.
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

    /// A copy once all of `predecessors` is complete.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn copy(&mut self, from: Region, to: Region, after: &[StepId]) -> StepId {
        assert_eq!(from.len, to.len);
        self.push(StepAction::Copy { from, to }, self.round_of(after), Wait::All, after)
    }

    /// `into = from op into` once all of `predecessors` is complete.
    ///
    /// # Panics
    /// If the lengths differ.
    pub(crate) fn reduce(&mut self, from: Region, into: Region, after: &[StepId]) -> StepId {
        assert_eq!(from.len, into.len);
        self.push(StepAction::Reduce { from, into }, self.round_of(after), Wait::All, after)
    }

    /// A copy of what the first complete step of `predecessors` has written, which is as long as `to`.
    pub(crate) fn copy_first(&mut self, to: Region, after: &[StepId]) -> StepId {
        let from = Buffer::First.region(0, to.len);
        self.push(StepAction::Copy { from, to }, self.round_of(after), Wait::Any, after)
    }

    /// A send in `round`, labelled with the round, of the first `len` bytes of what the first complete
    /// step of `predecessors` has written.
    ///
    /// # Panics
    /// If the round does not fit in a label.
    pub(crate) fn send_first(
        &mut self, peer: u32, len: usize, round: u32, after: &[StepId],
    ) -> StepId {
        let region = Buffer::First.region(0, len);
        self.push(StepAction::Send { peer, region, label: label(round) }, round, Wait::Any, after)
    }

    /// Any step at all; the other methods are short for this one.
    ///
    /// # Panics
    /// If it waits on a step that is not there yet.
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

    /// Lets the run be complete without step `id`.
    ///
    /// # Panics
    /// If there is no such step.
    pub(crate) fn detach(&mut self, id: StepId) {
        self.steps[id as usize].detached = true;
    }

    /// The highest round among `predecessors`: that of a copy or a reduction which waits on these.
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

/// How many completions start `step`.
fn waits(step: &Step) -> u32 {
    let named = step.predecessors.end - step.predecessors.start;
    match step.wait {
        Wait::All => named,
        Wait::Any => named.min(1),
    }
}

fn label(round: u32) -> u16 {
    u16::try_from(round).expect("a schedule has fewer than 65,536 rounds")
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
    fn the_first_copy_is_where_its_step_wrote_it() {
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
