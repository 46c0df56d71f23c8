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
//! A reduction by a function of the application is not run here: it is handed out as [`ReductionWork`],
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

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{MemoryRange, OperationOwner};
use crate::engine::point_to_point::protocol::CompletedStep;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::point_to_point::{Engine, Mode};
use crate::engine::programs::offloaded::OffloadedId;
use crate::engine::schedules::continuation::Continuation;
use crate::engine::schedules::run_progress::{ProgressFreeList, RunProgress};
use crate::offload::{Arithmetic, Buffer, Region, Schedule, StepAction, StepId};
use platform::base::{ErrorClass, MpiError, Peer, Slab, Span};

/// The key of a run.
pub type RunId = u32;

/// Computes `into = from op into` for two spans of one length.
pub type ReductionKernel = Arc<dyn Fn(Span, Span) + Send + Sync>;

/// How the reductions of a run are done.
#[derive(Clone)]
pub enum ReductionMethod {
    /// There are none.
    None,
    /// By the library, here.
    Kernel(ReductionKernel),
    /// The same on numbers of 8 bytes, with what an interface would call it.
    Numbers(ReductionKernel, Arithmetic),
    /// By a function of the application: each becomes a piece of [`ReductionWork`].
    Application(ReductionKernel),
}

/// Which peer a rank of a communicator is.
pub trait Members: Send + Sync {
    /// The peer of `rank`.
    fn peer(&self, rank: u32) -> Peer;
}

/// A schedule with the memory that it moves: all of a collective operation but its communicator.
pub struct RunPlan {
    /// What to do.
    pub schedule: Arc<Schedule>,
    /// The table of user buffers that the schedule's regions name.
    pub buffers: Vec<Memory>,
    /// Memory that is packed into a buffer of the table, or unpacked from one.
    pub staged: Vec<StagedBuffer>,
    /// How to reduce.
    pub reduction: ReductionMethod,
}

/// Scattered memory whose packed bytes are a buffer of their own: what reductions want.
pub struct StagedBuffer {
    /// The entry of the table of buffers, which has adjacent bytes as many as there are here.
    pub(crate) buffer: usize,
    /// The memory of the application.
    pub(crate) memory: Memory,
    /// Whether it is packed before the first step.
    pub(crate) read: bool,
    /// Whether it is unpacked after the last attached one.
    pub(crate) written: bool,
}

/// Everything that makes a schedule a run.
pub struct Launch {
    /// What to do with which memory.
    pub plan: RunPlan,
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
pub struct ReductionWork {
    pub(in crate::engine) origin: WorkOrigin,
    pub(in crate::engine) step: StepId,
    pub(in crate::engine) kernel: ReductionKernel,
    pub(in crate::engine) from: Span,
    pub(in crate::engine) into: Span,
}

/// What a reduction is a step of.
#[derive(Clone, Copy, Debug)]
pub(in crate::engine) enum WorkOrigin {
    /// A run.
    Run(RunId),
    /// An operation that the device runs.
    Program(OffloadedId),
}

impl ReductionWork {
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
        let RunPlan { schedule, buffers, staged, reduction } = &mut self.plan;
        let plan = RunPlan {
            schedule: Arc::clone(schedule),
            buffers: std::mem::take(buffers),
            staged: std::mem::take(staged),
            reduction: reduction.clone(),
        };
        Self { plan, members: Arc::clone(&self.members), ..*self }
    }
}

impl RunPlan {
    /// A plan that only moves data.
    pub fn moving(schedule: impl Into<Arc<Schedule>>, buffers: Vec<Memory>) -> Self {
        let (schedule, staged) = (schedule.into(), Vec::new());
        Self { schedule, buffers, staged, reduction: ReductionMethod::None }
    }

    pub(in crate::engine) fn pack(&mut self) {
        self.staged.iter().for_each(|staged| staged.pack(&mut self.buffers));
    }

    pub(in crate::engine) fn unpack(&mut self) {
        self.staged.iter_mut().for_each(|staged| staged.unpack(&self.buffers));
    }
}

impl StagedBuffer {
    /// Packs the memory into its entry of `buffers`, if it is to be read.
    pub(crate) fn pack(&self, buffers: &mut [Memory]) {
        if self.read {
            self.memory.copy(0, &mut buffers[self.buffer], 0, self.memory.len());
        }
    }

    /// Unpacks the memory from its entry of `buffers`, if it is to be written.
    pub(crate) fn unpack(&mut self, buffers: &[Memory]) {
        if self.written {
            let len = self.memory.len();
            buffers[self.buffer].copy(0, &mut self.memory, 0, len);
        }
    }
}

impl std::fmt::Debug for RunPlan {
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

struct ScheduleRun {
    launch: Launch,
    progress: RunProgress,
    error: Option<Box<MpiError>>,
    owner: OperationOwner,
    /// Whether it may start again: then it stays when it is over.
    persistent: bool,
    /// What comes after all steps.
    continuation: Option<Box<Continuation>>,
}

/// The runs of an engine.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Slab<ScheduleRun>,
    free_list: ProgressFreeList,
    work: VecDeque<ReductionWork>,
}

impl Runs {
    /// What the run `id` does.
    ///
    /// # Panics
    /// If there is no such run.
    pub(in crate::engine) fn launch(&self, id: RunId) -> &Launch {
        &self.runs[id].launch
    }

    /// Something for the application to do.
    pub(in crate::engine) fn push_work(&mut self, work: ReductionWork) {
        self.work.push_back(work);
    }

    /// A run that has not started.
    fn insert(&mut self, launch: Launch, stays: bool) -> RunId {
        let progress = self.free_list.take(&launch.plan.schedule);
        let (owner, error, sequel) = (OperationOwner::Caller, None, None);
        self.runs.insert(ScheduleRun {
            launch,
            progress,
            error,
            owner,
            persistent: stays,
            continuation: sequel,
        })
    }

    /// A run that does what `id` does, which is left with the steps that nobody waits for.
    fn split_off(&mut self, id: RunId) -> RunId {
        let old = &mut self.runs[id];
        (old.owner, old.persistent) = (OperationOwner::Released, false);
        let launch = old.launch.take();
        self.insert(launch, true)
    }

    fn remove_if_done(&mut self, id: RunId) {
        let run = &self.runs[id];
        if run.progress.has_completed_all()
            && run.owner == OperationOwner::Released
            && let Some(run) = self.runs.remove(id)
        {
            let ScheduleRun { launch, progress, .. } = run;
            // The state is worth keeping only if others have the schedule, too.
            drop(launch);
            self.free_list.recycle(progress);
        }
    }
}

impl ScheduleRun {
    /// The part of memory that a region names. Owned memory stays with the run, which outlives
    /// its operations.
    fn memory_range(&self, region: Region) -> MemoryRange {
        let memory = match region.buffer {
            Buffer::None => Memory::EMPTY,
            Buffer::User(entry) => self.launch.plan.buffers[entry as usize].alias(),
            Buffer::Scratch(index) => Memory::Span(self.progress.scratch(index)),
            Buffer::First => unreachable!("the schedule has said what came first"),
        };
        MemoryRange { memory, start: region.start, len: region.len }
    }

    fn span(&self, region: Region) -> Span {
        self.memory_range(region).span().expect("a reduction's buffers are contiguous")
    }

    /// What the messages of this run are matched by, from rank `source` on.
    fn envelope(&self, source: u32, label: u16) -> Envelope {
        let tag = (self.launch.sequence << 16 | u32::from(label)) as i32;
        Envelope { context: self.launch.context, source, tag }
    }

    /// Why a step failed. The length of each message is known on both of its sides, so one of
    /// another length tells of ranks that passed unlike amounts of data (MPI 5.0 §6.1).
    fn step_error(&self, ended: &CompletedStep) -> Option<Box<MpiError>> {
        let step = &self.progress.schedule().steps()[ended.step as usize];
        let StepAction::Receive { peer, region, .. } = step.action else { return None };
        match &ended.error {
            None if ended.bytes == region.len => None,
            None => Some(length_mismatch(ErrorClass::Count, peer, region.len, "fewer")),
            Some(error) if error.code.0 == ErrorClass::Truncate as i32 => {
                Some(length_mismatch(ErrorClass::Truncate, peer, region.len, "more"))
            }
            Some(error) => Some(error.clone()),
        }
    }

    /// Notes the end of a step: its successors may become ready.
    fn complete_step(&mut self, step: StepId) {
        if self.progress.complete_step(step) {
            self.launch.plan.unpack();
        }
    }
}

#[cold]
fn length_mismatch(class: ErrorClass, peer: u32, bytes: usize, how: &str) -> Box<MpiError> {
    class.error(format!(
        "the ranks disagree about the amount of data: rank {peer} sent {how} than the {bytes} bytes \
         that this rank expects from it"
    ))
}

impl<D: Device> Engine<D> {
    /// Starts a run. It may be over when this returns.
    pub fn launch(&mut self, launch: Launch) -> RunId {
        let run = self.runs.insert(launch, false);
        self.begin_run(run);
        run
    }

    /// Starts a run that goes on as `continuation` says; it has no detached steps before that.
    pub(crate) fn launch_with(&mut self, launch: Launch, sequel: Continuation) -> RunId {
        let run = self.runs.insert(launch, false);
        self.runs.runs[run].continuation = Some(Box::new(sequel));
        self.begin_run(run);
        run
    }

    /// Goes on with what follows a run, unless that has failed.
    #[cold]
    fn continue_run(&mut self, id: RunId) {
        let Runs { runs, free_list: spares, .. } = &mut self.runs;
        let run = &mut runs[id];
        let Some(Continuation { check: judge, next }) =
            run.continuation.take().map(|sequel| *sequel)
        else {
            return;
        };
        let failed = run.error.take().or_else(|| judge(&run.launch.plan.buffers).err());
        match (failed, next) {
            (None, Some((plan, sequence))) => {
                run.progress = spares.take(&plan.schedule);
                (run.launch.plan, run.launch.sequence) = (plan, sequence);
                self.rewind_run(id);
            }
            (error, _) => run.error = error,
        }
    }

    /// A run that may start as often as wanted ([`Engine::start`]), one instance after the other.
    /// It stays until it is released.
    pub(crate) fn create_persistent(&mut self, launch: Launch) -> RunId {
        self.runs.insert(launch, true)
    }

    /// Starts a run that was held, and is not under way, once more. It has another key from now on
    /// if steps of the last instance that nobody waits for go on.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn start(&mut self, run: RunId) -> RunId {
        debug_assert!(self.is_run_complete(run) && self.runs.runs[run].persistent);
        let is_done = self.runs.runs[run].progress.has_completed_all();
        let run = if is_done { run } else { self.runs.split_off(run) };
        self.begin_run(run);
        run
    }

    fn begin_run(&mut self, id: RunId) {
        self.rewind_run(id);
        self.advance();
        if !self.is_run_complete(id) {
            self.note_long_start();
        }
    }

    fn rewind_run(&mut self, id: RunId) {
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
    pub(crate) fn is_run_complete(&self, run: RunId) -> bool {
        let run = &self.runs.runs[run];
        let begun = !run.persistent || run.progress.has_started_all();
        run.progress.is_complete() && begun && run.continuation.is_none()
    }

    /// Takes the end of a run that is over; steps that nobody waits for go on. One that may start
    /// again keeps its buffers.
    ///
    /// # Panics
    /// If there is no such run.
    pub fn take_run_end(&mut self, run: RunId) -> Option<RunEnd> {
        if !self.is_run_complete(run) {
            return None;
        }
        let end = &mut self.runs.runs[run];
        let error = end.error.take();
        if end.persistent {
            return Some(RunEnd { buffers: Vec::new(), error });
        }
        end.owner = OperationOwner::Released;
        let buffers = std::mem::take(&mut end.launch.plan.buffers);
        self.runs.remove_if_done(run);
        Some(RunEnd { buffers, error })
    }

    /// Lets a run go on without anybody waiting for it; it does not start again.
    pub(crate) fn release_run(&mut self, run: RunId) {
        let released = &mut self.runs.runs[run];
        (released.owner, released.persistent) = (OperationOwner::Released, false);
        self.runs.remove_if_done(run);
    }

    /// The next reduction that the application must do.
    #[inline]
    pub fn take_work(&mut self) -> Option<ReductionWork> {
        self.runs.work.pop_front()
    }

    /// Whether there is [`ReductionWork`] to take.
    #[inline]
    pub(crate) fn has_work(&self) -> bool {
        !self.runs.work.is_empty()
    }

    /// The application has done `work`.
    pub fn work_done(&mut self, work: &ReductionWork) {
        let run = match work.origin {
            WorkOrigin::Run(run) => run,
            WorkOrigin::Program(id) => return self.offloaded_work_done(id, work.step),
        };
        self.note_event();
        self.runs.runs[run].complete_step(work.step);
        self.start_ready(run);
        self.runs.remove_if_done(run);
        self.advance();
    }

    /// Whether a run that nobody waits for any more has steps to do.
    pub(in crate::engine) fn has_released_runs(&self) -> bool {
        self.runs.runs.iter().any(|(_, run)| run.owner == OperationOwner::Released)
    }

    /// Whether any run or program of the device has steps to do or may start again.
    pub fn has_runs(&self) -> bool {
        !self.runs.runs.is_empty() || self.has_offloads()
    }

    /// Runs the schedules as far as the operations that have ended let them.
    pub(in crate::engine) fn advance(&mut self) {
        while let Some(ended) = self.protocol.steps.pop_front() {
            let run = &mut self.runs.runs[ended.run];
            if run.error.is_none() {
                run.error = run.step_error(&ended);
            }
            run.complete_step(ended.step);
            self.start_ready(ended.run);
            self.runs.remove_if_done(ended.run);
        }
    }

    fn start_ready(&mut self, id: RunId) {
        while let Some((step, first)) = self.runs.runs[id].progress.next() {
            if self.start_step(id, step, first) {
                self.runs.runs[id].complete_step(step);
            }
        }
        let run = &self.runs.runs[id];
        if run.continuation.is_some() && run.progress.has_completed_all() {
            self.continue_run(id);
        }
    }

    /// Starts a step, which the completion of `first` let; true if that completed it.
    fn start_step(&mut self, id: RunId, step: StepId, first: StepId) -> bool {
        let run = &mut self.runs.runs[id];
        let owner = OperationOwner::Step { run: id, step };
        match run.progress.schedule().action(step, first) {
            StepAction::Send { peer, region, label } => {
                let envelope = run.envelope(run.launch.rank, label);
                let (part, peer) = (run.memory_range(region), run.launch.members.peer(peer));
                self.send_range(peer, envelope, part, Mode::Standard, owner).is_none()
            }
            StepAction::Receive { peer, region, label } => {
                let Envelope { context, source, tag } = run.envelope(peer, label);
                let pattern = MatchPattern { context, source: Some(source), tag: Some(tag) };
                let part = run.memory_range(region);
                self.receive_range(pattern, part, owner);
                false
            }
            StepAction::Copy { from, to } => {
                let (from, mut to) = (run.memory_range(from), run.memory_range(to));
                from.memory.copy(from.start, &mut to.memory, to.start, from.len);
                true
            }
            StepAction::Reduce { from, into } => {
                let (from, into) = (run.span(from), run.span(into));
                match &run.launch.plan.reduction {
                    ReductionMethod::Kernel(kernel) | ReductionMethod::Numbers(kernel, _) => {
                        kernel(from, into);
                        true
                    }
                    ReductionMethod::Application(kernel) => {
                        let kernel = Arc::clone(kernel);
                        let place = WorkOrigin::Run(id);
                        self.runs.push_work(ReductionWork {
                            origin: place,
                            step,
                            kernel,
                            from,
                            into,
                        });
                        false
                    }
                    ReductionMethod::None => true,
                }
            }
        }
    }
}
