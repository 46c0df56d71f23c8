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
//!
//! **Instances** of a run that may start again have the same tags, and need nothing to be told
//! apart. Such an instance is over on a rank when all its steps have started there, too, the
//! detached ones among them. So on each rank the sends and the receives with one tag start in the
//! order of the instances, and messages with one tag keep their order: that of instance `j` goes to
//! the receive of instance `j`, no matter which of both comes first, nor how far apart the ranks
//! are. Detached steps of the last instance that go on keep its state, and the next one takes
//! another.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::base::{ErrorClass, MpiError, Peer, Slab, Span};
use crate::core::engine::{Engine, Mode};
use crate::core::matching::Pattern;
use crate::core::memory::Memory;
use crate::core::offloaded::OffloadedId;
use crate::core::operation::{Owner, Part};
use crate::core::progress::{Progress, Spares};
use crate::core::protocol::EndedStep;
use crate::core::sequel::Sequel;
use crate::core::wire::Envelope;
use crate::device::Device;
use crate::offload::{Action, Arithmetic, Buffer, Region, Schedule, StepId};

/// The key of a run.
pub type RunId = u32;

/// Computes `into = from op into` for two spans of one length.
pub type Kernel = Arc<dyn Fn(Span, Span) + Send + Sync>;

/// How the reductions of a run are done.
#[derive(Clone)]
pub enum Reduction {
    /// There are none.
    None,
    /// By the library, here.
    Kernel(Kernel),
    /// The same on numbers of 8 bytes, with what an interface would call it.
    Numbers(Kernel, Arithmetic),
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
    pub(in crate::core) place: Place,
    pub(in crate::core) step: StepId,
    pub(in crate::core) kernel: Kernel,
    pub(in crate::core) from: Span,
    pub(in crate::core) into: Span,
}

/// What a reduction is a step of.
#[derive(Clone, Copy, Debug)]
pub(in crate::core) enum Place {
    /// A run.
    Run(RunId),
    /// An operation that the device runs.
    Program(OffloadedId),
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

impl Launch {
    /// The same for another run, with the user buffers: of steps that go on none uses them.
    fn take(&mut self) -> Self {
        let Plan { schedule, buffers, staged, reduction } = &mut self.plan;
        let plan = Plan {
            schedule: Arc::clone(schedule),
            buffers: std::mem::take(buffers),
            staged: std::mem::take(staged),
            reduction: reduction.clone(),
        };
        Self { plan, members: Arc::clone(&self.members), ..*self }
    }
}

impl Plan {
    /// A plan that only moves data.
    pub fn moving(schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>) -> Self {
        let (schedule, staged) = (schedule.into(), Vec::new());
        Self { schedule, buffers, staged, reduction: Reduction::None }
    }

    pub(in crate::core) fn pack(&mut self) {
        self.staged.iter().for_each(|staged| staged.pack(&mut self.buffers));
    }

    pub(in crate::core) fn unpack(&mut self) {
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

impl std::fmt::Debug for Launch {
    fn fmt(&self, to: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        let Self { plan, rank, context, sequence, .. } = self;
        let mut all = to.debug_struct("Launch");
        all.field("plan", plan).field("rank", rank);
        all.field("context", context).field("sequence", sequence).finish_non_exhaustive()
    }
}

struct Run {
    launch: Launch,
    progress: Progress,
    error: Option<Box<MpiError>>,
    owner: Owner,
    /// Whether it may start again: then it stays when it is over.
    stays: bool,
    /// What comes after all steps.
    sequel: Option<Box<Sequel>>,
}

/// The runs of an engine.
#[derive(Default)]
pub struct Runs {
    runs: Slab<Run>,
    spares: Spares,
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

    /// Something for the application to do.
    pub(in crate::core) fn push_work(&mut self, work: Work) {
        self.work.push_back(work);
    }

    /// A run that has not started.
    fn insert(&mut self, launch: Launch, stays: bool) -> RunId {
        let progress = self.spares.take(&launch.plan.schedule);
        let (owner, error, sequel) = (Owner::Caller, None, None);
        self.runs.insert(Run { launch, progress, error, owner, stays, sequel })
    }

    /// A run that does what `id` does, which is left with the steps that nobody waits for.
    fn part(&mut self, id: RunId) -> RunId {
        let old = &mut self.runs[id];
        (old.owner, old.stays) = (Owner::Nobody, false);
        let launch = old.launch.take();
        self.insert(launch, true)
    }

    fn remove_if_done(&mut self, id: RunId) {
        let run = &self.runs[id];
        if run.progress.is_done()
            && run.owner == Owner::Nobody
            && let Some(run) = self.runs.remove(id)
        {
            let Run { launch, progress, .. } = run;
            // The state is worth keeping only if others have the schedule, too.
            drop(launch);
            self.spares.keep(progress);
        }
    }
}

impl Run {
    /// The part of memory that a region names. Owned memory stays with the run, which outlives
    /// its operations.
    fn part(&self, region: Region) -> Part {
        let memory = match region.buffer {
            Buffer::None => Memory::EMPTY,
            Buffer::User(entry) => self.launch.plan.buffers[entry as usize].alias(),
            Buffer::Scratch(index) => Memory::Span(self.progress.scratch(index)),
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
        let step = &self.progress.schedule().steps()[ended.step as usize];
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
        if self.progress.completed(step) {
            self.launch.plan.unpack();
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
        let run = self.runs.insert(launch, false);
        self.begin(run);
        run
    }

    /// Starts a run that goes on as `sequel` says; it has no detached steps before that.
    pub fn launch_with(&mut self, launch: Launch, sequel: Sequel) -> RunId {
        let run = self.runs.insert(launch, false);
        self.runs.runs[run].sequel = Some(Box::new(sequel));
        self.begin(run);
        run
    }

    /// Goes on with what follows a run, unless that has failed.
    #[cold]
    fn go_on(&mut self, id: RunId) {
        let Runs { runs, spares, .. } = &mut self.runs;
        let run = &mut runs[id];
        let Some(Sequel { judge, next }) = run.sequel.take().map(|sequel| *sequel) else { return };
        let failed = run.error.take().or_else(|| judge(&run.launch.plan.buffers).err());
        match (failed, next) {
            (None, Some((plan, sequence))) => {
                run.progress = spares.take(&plan.schedule);
                (run.launch.plan, run.launch.sequence) = (plan, sequence);
                self.restart(id);
            }
            (error, _) => run.error = error,
        }
    }

    /// A run that may start as often as wanted ([`Engine::start`]), one instance after the other.
    /// It stays until it is released.
    pub fn hold(&mut self, launch: Launch) -> RunId {
        self.runs.insert(launch, true)
    }

    /// Starts a run that was held, and is not under way, once more. It has another key from now on
    /// if steps of the last instance that nobody waits for go on.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn start(&mut self, run: RunId) -> RunId {
        debug_assert!(self.is_over(run) && self.runs.runs[run].stays);
        let is_done = self.runs.runs[run].progress.is_done();
        let run = if is_done { run } else { self.runs.part(run) };
        self.begin(run);
        run
    }

    fn begin(&mut self, id: RunId) {
        self.restart(id);
        self.advance();
        if !self.is_over(id) {
            self.note_long_start();
        }
    }

    fn restart(&mut self, id: RunId) {
        let run = &mut self.runs.runs[id];
        run.progress.rewind();
        run.launch.plan.pack();
        self.start_ready(id);
    }

    /// Whether the run is over, for all that its caller can see.
    ///
    /// # Panics
    /// If there is no such run.
    #[inline]
    pub fn is_over(&self, run: RunId) -> bool {
        let run = &self.runs.runs[run];
        let begun = !run.stays || run.progress.has_begun_all();
        run.progress.is_over() && begun && run.sequel.is_none()
    }

    /// Takes the end of a run that is over; steps that nobody waits for go on. One that may start
    /// again keeps its buffers.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn take_end(&mut self, run: RunId) -> Option<RunEnd> {
        if !self.is_over(run) {
            return None;
        }
        let end = &mut self.runs.runs[run];
        let error = end.error.take();
        if end.stays {
            return Some(RunEnd { buffers: Vec::new(), error });
        }
        end.owner = Owner::Nobody;
        let buffers = std::mem::take(&mut end.launch.plan.buffers);
        self.runs.remove_if_done(run);
        Some(RunEnd { buffers, error })
    }

    /// Lets a run go on without anybody waiting for it; it does not start again.
    pub fn release_run(&mut self, run: RunId) {
        let released = &mut self.runs.runs[run];
        (released.owner, released.stays) = (Owner::Nobody, false);
        self.runs.remove_if_done(run);
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
        let run = match work.place {
            Place::Run(run) => run,
            Place::Program(id) => return self.offloaded_work_done(id, work.step),
        };
        self.note_event();
        self.runs.runs[run].completed(work.step);
        self.start_ready(run);
        self.runs.remove_if_done(run);
        self.advance();
    }

    /// Whether a run that nobody waits for any more has steps to do.
    pub(in crate::core) fn has_late_runs(&self) -> bool {
        self.runs.runs.iter().any(|(_, run)| run.owner == Owner::Nobody)
    }

    /// Whether any run or program of the device has steps to do or may start again.
    pub fn has_runs(&self) -> bool {
        !self.runs.runs.is_empty() || self.has_offloads()
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
            self.runs.remove_if_done(ended.run);
        }
    }

    fn start_ready(&mut self, id: RunId) {
        while let Some((step, first)) = self.runs.runs[id].progress.next() {
            if self.start_step(id, step, first) {
                self.runs.runs[id].completed(step);
            }
        }
        let run = &self.runs.runs[id];
        if run.sequel.is_some() && run.progress.is_done() {
            self.go_on(id);
        }
    }

    /// Starts a step, which the completion of `first` let; true if that completed it.
    fn start_step(&mut self, id: RunId, step: StepId, first: StepId) -> bool {
        let run = &mut self.runs.runs[id];
        let owner = Owner::Step { run: id, step };
        match run.progress.schedule().action(step, first) {
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
                    Reduction::Kernel(kernel) | Reduction::Numbers(kernel, _) => {
                        kernel(from, into);
                        true
                    }
                    Reduction::Application(kernel) => {
                        let kernel = Arc::clone(kernel);
                        let place = Place::Run(id);
                        self.runs.push_work(Work { place, step, kernel, from, into });
                        false
                    }
                    Reduction::None => true,
                }
            }
        }
    }
}
