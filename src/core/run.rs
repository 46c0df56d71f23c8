//! Runs: the host executor of schedules.
//!
//! A run is one instance of a [`Schedule`] on one rank. Its steps become operations of the engine
//! the moment that the steps they wait on are complete; copies and reductions happen in between.
//!
//! ```text
//! start ──> ready steps ──> operations, copies, reductions ──> completed steps ──┐
//!               ▲                                                                │
//!               └─────────────── waits[..] of their successors ──────────────────┘
//! ```
//!
//! A reduction by a function of the application is not run here: it is handed out as [`Work`],
//! and the step completes with [`Engine::work_done`].
//!
//! Messages are matched in the communicator's context for collectives, with the sequence number of
//! the call and the label of the step as their tag. Calls on a communicator come in the same order
//! on all of its ranks (MPI 5.0 §6.14), so the number may wrap: messages of one source with one tag
//! keep their order.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::{ErrorClass, MpiError, Peer, Slab, Span};
use crate::core::engine::{Engine, Mode};
use crate::core::matching::Pattern;
use crate::core::memory::{Bytes, Memory};
use crate::core::operation::{Owner, Part};
use crate::core::protocol::EndedStep;
use crate::core::wire::Envelope;
use crate::device::Device;
use crate::offload::{Action, Buffer, Region, Schedule, StepId};

/// The key of a run.
pub type RunId = u32;

/// Computes `into = from op into` for two spans of one length.
pub type Kernel = Arc<dyn Fn(Span, Span) + Send + Sync>;

/// How the reductions of a run are done.
pub enum Reduction {
    /// There are none.
    None,
    /// By the library, here.
    Kernel(Kernel),
    /// By a function of the application: each becomes a piece of [`Work`].
    Application(Kernel),
}

/// Which peer a rank of a communicator is.
pub trait Members: Send + Sync {
    /// The peer of `rank`.
    fn peer(&self, rank: u32) -> Peer;
}

/// A schedule with the memory that it moves: all of a collective operation but its communicator.
pub struct Plan {
    /// What to do.
    pub schedule: Arc<Schedule>,
    /// The table of user buffers that the schedule's regions name.
    pub buffers: Vec<Memory>,
    /// Memory that is packed into a buffer of the table, or unpacked from one.
    pub staged: Vec<Staged>,
    /// How to reduce.
    pub reduction: Reduction,
}

/// Scattered memory whose packed bytes are a buffer of their own: what reductions want.
pub struct Staged {
    /// The entry of the table of buffers, which has adjacent bytes as many as there are here.
    pub buffer: usize,
    /// The memory of the application.
    pub memory: Memory,
    /// Whether it is packed before the first step.
    pub read: bool,
    /// Whether it is unpacked after the last attached one.
    pub written: bool,
}

/// Everything that makes a schedule a run.
pub struct Launch {
    /// What to do with which memory.
    pub plan: Plan,
    /// The ranks of the communicator.
    pub members: Arc<dyn Members>,
    /// This rank in it.
    pub rank: u32,
    /// The context that no point-to-point message uses.
    pub context: u64,
    /// The number of the call on this communicator.
    pub sequence: u32,
}

/// A reduction that the application's own function must do, outside the engine.
///
/// Both spans hold packed elements and stay good until [`Engine::work_done`].
pub struct Work {
    run: RunId,
    step: StepId,
    kernel: Kernel,
    from: Span,
    into: Span,
}

impl Work {
    /// Calls the application. Nothing may be locked.
    pub fn execute(&self) {
        (self.kernel)(self.from, self.into);
    }
}

/// How a run ended.
#[derive(Debug)]
pub struct RunEnd {
    /// The user buffers, back from the run.
    pub buffers: Vec<Memory>,
    /// The first error of any step.
    pub error: Option<Box<MpiError>>,
}

impl Plan {
    /// A plan that only moves data.
    pub fn moving(schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>) -> Self {
        let (schedule, staged) = (schedule.into(), Vec::new());
        Self { schedule, buffers, staged, reduction: Reduction::None }
    }

    fn pack(&mut self) {
        self.staged.iter().for_each(|staged| staged.pack(&mut self.buffers));
    }

    fn unpack(&mut self) {
        self.staged.iter_mut().for_each(|staged| staged.unpack(&self.buffers));
    }
}

impl Staged {
    /// Packs the memory into its entry of `buffers`, if it is to be read.
    pub fn pack(&self, buffers: &mut [Memory]) {
        if self.read {
            self.memory.copy(0, &mut buffers[self.buffer], 0, self.memory.len());
        }
    }

    /// Unpacks the memory from its entry of `buffers`, if it is to be written.
    pub fn unpack(&mut self, buffers: &[Memory]) {
        if self.written {
            let len = self.memory.len();
            buffers[self.buffer].copy(0, &mut self.memory, 0, len);
        }
    }
}

impl std::fmt::Debug for Plan {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        to.debug_struct("Plan").field("buffers", &self.buffers).finish_non_exhaustive()
    }
}

struct Run {
    launch: Launch,
    scratch: Vec<Bytes>,
    /// Completions that each step still waits for.
    waits: Vec<u32>,
    /// Steps that may start, each with the one whose completion let it (itself if there is none).
    ready: VecDeque<(StepId, StepId)>,
    /// Steps that must still complete, and those including the detached ones.
    attached: usize,
    all: usize,
    error: Option<Box<MpiError>>,
    owner: Owner,
}

/// The runs of an engine.
#[derive(Default)]
pub struct Runs {
    runs: Slab<Run>,
    work: VecDeque<Work>,
}

impl Runs {
    /// What the run `id` does.
    ///
    /// # Panics
    /// If there is no such run.
    pub(in crate::core) fn launch(&self, id: RunId) -> &Launch {
        &self.runs[id].launch
    }
}

impl Run {
    fn new(mut launch: Launch) -> Self {
        launch.plan.pack();
        let schedule = &launch.plan.schedule;
        let waits = schedule.waits().to_vec();
        let ready =
            (0..).zip(&waits).filter(|(_, waits)| **waits == 0).map(|(id, _)| (id, id)).collect();
        Self {
            scratch: schedule.scratch().iter().map(|bytes| Bytes::zeroed(*bytes)).collect(),
            attached: schedule.attached(),
            all: schedule.steps().len(),
            waits,
            ready,
            error: None,
            owner: Owner::Caller,
            launch,
        }
    }

    /// The part of memory that a region names. Owned memory stays with the run, which outlives
    /// its operations.
    fn part(&self, region: Region) -> Part {
        let memory = match region.buffer {
            Buffer::None => Memory::EMPTY,
            Buffer::User(entry) => self.launch.plan.buffers[entry as usize].alias(),
            Buffer::Scratch(index) => Memory::Span(self.scratch[index as usize].span()),
            Buffer::First => unreachable!("the schedule has said what came first"),
        };
        Part { memory, start: region.start, len: region.len }
    }

    fn span(&self, region: Region) -> Span {
        self.part(region).span().expect("a reduction's buffers are contiguous")
    }

    /// What the messages of this run are matched by, from rank `source` on.
    fn envelope(&self, source: u32, label: u16) -> Envelope {
        let tag = (self.launch.sequence << 16 | u32::from(label)) as i32;
        Envelope { context: self.launch.context, source, tag }
    }

    /// Why a step failed. The length of each message is known on both of its sides, so one of
    /// another length tells of ranks that passed unlike amounts of data (MPI 5.0 §6.1).
    fn error_of(&self, ended: &EndedStep) -> Option<Box<MpiError>> {
        let step = &self.launch.plan.schedule.steps()[ended.step as usize];
        let Action::Receive { peer, region, .. } = step.action else { return None };
        match &ended.error {
            None if ended.bytes == region.len => None,
            None => Some(disagreement(ErrorClass::Count, peer, region.len, "fewer")),
            Some(error) if error.code.0 == ErrorClass::Truncate as i32 => {
                Some(disagreement(ErrorClass::Truncate, peer, region.len, "more"))
            }
            Some(error) => Some(error.clone()),
        }
    }

    /// Notes the end of a step: its successors may become ready.
    fn completed(&mut self, step: StepId) {
        let schedule = Arc::clone(&self.launch.plan.schedule);
        self.all -= 1;
        if !schedule.steps()[step as usize].detached {
            self.attached -= 1;
            if self.attached == 0 {
                self.launch.plan.unpack();
            }
        }
        for &then in schedule.then(step) {
            let waits = &mut self.waits[then as usize];
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.ready.push_back((then, step));
                }
            }
        }
    }
}

#[cold]
fn disagreement(class: ErrorClass, peer: u32, bytes: usize, how: &str) -> Box<MpiError> {
    class.error(format!(
        "the ranks disagree about the amount of data: rank {peer} sent {how} than the {bytes} bytes \
         that this rank expects from it"
    ))
}

impl<D: Device> Engine<D> {
    /// Starts a run. It may be over when this returns.
    pub fn launch(&mut self, launch: Launch) -> RunId {
        let run = self.runs.runs.insert(Run::new(launch));
        self.start_ready(run);
        self.advance();
        run
    }

    /// Whether the run is over, for all that its caller can see.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn is_over(&self, run: RunId) -> bool {
        self.runs.runs[run].attached == 0
    }

    /// Takes the end of a run that is over; steps that nobody waits for go on.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn take_end(&mut self, run: RunId) -> Option<RunEnd> {
        if !self.is_over(run) {
            return None;
        }
        let end = &mut self.runs.runs[run];
        end.owner = Owner::Nobody;
        let buffers = std::mem::take(&mut end.launch.plan.buffers);
        let result = RunEnd { buffers, error: end.error.take() };
        self.remove_if_done(run);
        Some(result)
    }

    /// Lets a run go on without anybody waiting for it.
    pub fn release_run(&mut self, run: RunId) {
        self.runs.runs[run].owner = Owner::Nobody;
        self.remove_if_done(run);
    }

    /// The next reduction that the application must do.
    #[inline]
    pub fn take_work(&mut self) -> Option<Work> {
        self.runs.work.pop_front()
    }

    /// Whether there is [`Work`] to take.
    #[inline]
    pub fn has_work(&self) -> bool {
        !self.runs.work.is_empty()
    }

    /// The application has done `work`.
    pub fn work_done(&mut self, work: &Work) {
        self.note_event();
        self.runs.runs[work.run].completed(work.step);
        self.start_ready(work.run);
        self.remove_if_done(work.run);
        self.advance();
    }

    /// Whether a run that nobody waits for any more has steps to do.
    pub(in crate::core) fn has_late_runs(&self) -> bool {
        self.runs.runs.iter().any(|(_, run)| run.owner == Owner::Nobody)
    }

    /// Whether any run has steps to do.
    pub fn has_runs(&self) -> bool {
        !self.runs.runs.is_empty()
    }

    /// Runs the schedules as far as the operations that have ended let them.
    pub(in crate::core) fn advance(&mut self) {
        while let Some(ended) = self.protocol.steps.pop_front() {
            let run = &mut self.runs.runs[ended.run];
            if run.error.is_none() {
                run.error = run.error_of(&ended);
            }
            run.completed(ended.step);
            self.start_ready(ended.run);
            self.remove_if_done(ended.run);
        }
    }

    fn start_ready(&mut self, id: RunId) {
        while let Some((step, first)) = self.runs.runs[id].ready.pop_front() {
            if self.start_step(id, step, first) {
                self.runs.runs[id].completed(step);
            }
        }
    }

    /// Starts a step, which the completion of `first` let; true if that completed it.
    fn start_step(&mut self, id: RunId, step: StepId, first: StepId) -> bool {
        let run = &mut self.runs.runs[id];
        let owner = Owner::Step { run: id, step };
        match run.launch.plan.schedule.action(step, first) {
            Action::Send { peer, region, label } => {
                let envelope = run.envelope(run.launch.rank, label);
                let (part, peer) = (run.part(region), run.launch.members.peer(peer));
                self.send_part(peer, envelope, part, Mode::Standard, owner).is_none()
            }
            Action::Receive { peer, region, label } => {
                let Envelope { context, source, tag } = run.envelope(peer, label);
                let pattern = Pattern { context, source: Some(source), tag: Some(tag) };
                let part = run.part(region);
                self.receive_part(pattern, part, owner);
                false
            }
            Action::Copy { from, to } => {
                let (from, mut to) = (run.part(from), run.part(to));
                from.memory.copy(from.start, &mut to.memory, to.start, from.len);
                true
            }
            Action::Reduce { from, into } => {
                let (from, into) = (run.span(from), run.span(into));
                match &run.launch.plan.reduction {
                    Reduction::Kernel(kernel) => {
                        kernel(from, into);
                        true
                    }
                    Reduction::Application(kernel) => {
                        let kernel = Arc::clone(kernel);
                        self.runs.work.push_back(Work { run: id, step, kernel, from, into });
                        false
                    }
                    Reduction::None => true,
                }
            }
        }
    }

    fn remove_if_done(&mut self, id: RunId) {
        let run = &self.runs.runs[id];
        if run.all == 0 && run.owner == Owner::Nobody {
            self.runs.runs.remove(id);
        }
    }
}
