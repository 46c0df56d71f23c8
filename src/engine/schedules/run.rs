//! Runs: the host executor of schedules.
//!
//! A run is one instance of a [`Schedule`](crate::offload::Schedule) on one rank. A step becomes a
//! send, a receive, a copy or a reduction when the steps that it waits for have completed.
//!
//! ```text
//! start ──> ready steps ──> operations, copies, reductions ──> completed steps ──┐
//!               ▲                                                                │
//!               └─────────────── waits[..] of their successors ──────────────────┘
//! ```
//!
//! A reduction by a function of the application is not computed here: it becomes a [`ReductionWork`],
//! and its step completes with [`Runs::work_done`].
//!
//! Messages have the communicator's context for collectives. Their tag is the sequence number of the
//! call with the label of the step. Calls on a communicator have the same order on all of its ranks
//! (MPI 5.0 §6.14), so the number may wrap: messages of one source with one tag keep their order.
//!
//! **Instances** of a persistent run have the same tags. An instance completes on a rank when all of
//! its steps have started there, detached ones included. So on each rank the sends and the receives
//! with one tag start in the order of the instances, and messages with one tag keep their order: the
//! message of instance `j` matches the receive of instance `j`, whichever of them starts first and
//! however far the ranks are apart. Detached steps of the last instance that are still in progress
//! keep its state, and the next instance takes another one.

use std::collections::VecDeque;
use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::operation::{CompletedStep, MemoryRange, OperationOwner};
use crate::engine::point_to_point::pending::PendingOperation;
use crate::engine::point_to_point::send::Mode;
use crate::engine::point_to_point::wire::Envelope;
use crate::engine::schedules::continuation::Continuation;
use crate::engine::schedules::plan::{Launch, PendingRun, RunEnd, RunId};
use crate::engine::schedules::reduction::{ReductionMethod, ReductionWork, WorkOrigin};
use crate::engine::schedules::run_progress::{ProgressFreeList, RunProgress};
use crate::offload::{Buffer, Region, StepAction, StepId, tag_of_label};
use platform::base::{ErrorClass, MpiError, Slab, Span};

struct ScheduleRun {
    launch: Launch,
    progress: RunProgress,
    error: Option<Box<MpiError>>,
    owner: OperationOwner,
    /// Whether the run may start again. Then it is kept when it has completed.
    persistent: bool,
    continuation: Option<Box<Continuation>>,
}

/// The runs of a rank.
#[derive(Default)]
pub(crate) struct Runs {
    runs: Slab<ScheduleRun>,
    free_list: ProgressFreeList,
    /// Reductions for the application, also those of offloaded operations.
    pub(crate) work: VecDeque<ReductionWork>,
}

impl ScheduleRun {
    /// Memory of a region. The run owns scratch memory and outlives its operations.
    fn memory_range(&self, region: Region) -> MemoryRange {
        let memory = match region.buffer {
            Buffer::None => Memory::EMPTY,
            Buffer::User(entry) => self.launch.plan.buffers[entry as usize].alias(),
            Buffer::Scratch(index) => Memory::Span(self.progress.scratch(index)),
            Buffer::First => unreachable!("the schedule has replaced it"),
        };
        MemoryRange { memory, start: region.start, len: region.len }
    }

    fn span(&self, region: Region) -> Span {
        self.memory_range(region).span().expect("the buffers of a reduction are contiguous")
    }

    /// The envelope of a message that rank `source` sends.
    fn envelope(&self, source: u32, label: u16) -> Envelope {
        let of_call = || (self.launch.sequence << 16 | u32::from(label)) as i32;
        let tag = tag_of_label(label).unwrap_or_else(of_call);
        Envelope { context: self.launch.context, source, tag }
    }

    /// The error of a step. Both sides know the length of each message, so another length means
    /// that the ranks passed different amounts of data (MPI 5.0 §6.1).
    fn step_error(&self, completed: &CompletedStep) -> Option<Box<MpiError>> {
        let step = &self.progress.schedule().steps()[completed.step as usize];
        let StepAction::Receive { peer, region, .. } = step.action else {
            return completed.error.clone();
        };
        match &completed.error {
            None if completed.bytes == region.len => None,
            None => Some(length_mismatch(ErrorClass::Count, peer, region.len, "fewer")),
            Some(error) if error.is(ErrorClass::Truncate) => {
                Some(length_mismatch(ErrorClass::Truncate, peer, region.len, "more"))
            }
            Some(error) => Some(error.clone()),
        }
    }

    /// Notes a completed step: its successors may become ready.
    fn complete_step(&mut self, step: StepId) {
        if self.progress.complete_step(step) {
            self.launch.plan.unpack();
        }
    }

    /// Computes a reduction, or returns it as work for the application.
    fn reduce(&self, id: RunId, step: StepId, from: Region, into: Region) -> Option<ReductionWork> {
        let (from, into) = (self.span(from), self.span(into));
        match &self.launch.plan.reduction {
            ReductionMethod::Kernel(kernel) | ReductionMethod::Numbers(kernel, _) => {
                kernel(from, into);
                None
            }
            ReductionMethod::Application(kernel) => {
                let (origin, kernel) = (WorkOrigin::Run(id), Arc::clone(kernel));
                Some(ReductionWork { origin, step, kernel, from, into })
            }
            ReductionMethod::None => None,
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

/// What a caller may do with runs.
impl Runs {
    /// Starts a run, which has no detached steps before its `continuation`. The run may have
    /// completed when this returns.
    pub(crate) fn launch<D: Device>(
        &mut self, launch: Launch, continuation: Option<Continuation>,
        messages: &mut PointToPoint<D>,
    ) -> RunId {
        let id = self.insert(launch, false);
        self.runs[id].continuation = continuation.map(Box::new);
        self.begin(id, messages);
        id
    }

    /// Makes a run that may start any number of times ([`Runs::start`]), one instance after the
    /// other, until it is released.
    pub(crate) fn create_persistent(&mut self, launch: Launch) -> RunId {
        self.insert(launch, true)
    }

    /// Starts a persistent run that is not in progress. The key changes if detached steps of the
    /// last instance are still in progress.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn start<D: Device>(&mut self, id: RunId, messages: &mut PointToPoint<D>) -> RunId {
        debug_assert!(self.is_complete(id) && self.runs[id].persistent);
        let is_done = self.runs[id].progress.has_completed_all();
        let id = if is_done { id } else { self.split_off(id) };
        self.begin(id, messages);
        id
    }

    /// Whether the run has completed from its caller's view: detached steps may still be in
    /// progress.
    ///
    /// # Panics
    /// If there is no such run.
    #[inline]
    pub(crate) fn is_complete(&self, id: RunId) -> bool {
        let run = &self.runs[id];
        let has_started = !run.persistent || run.progress.has_started_all();
        run.progress.is_complete() && has_started && run.continuation.is_none()
    }

    /// Takes the result of a completed run. A persistent run keeps its buffers.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn take_end(&mut self, id: RunId) -> Option<RunEnd> {
        if !self.is_complete(id) {
            return None;
        }
        let run = &mut self.runs[id];
        let error = run.error.take();
        if run.persistent {
            return Some(RunEnd { buffers: Vec::new(), error });
        }
        run.owner = OperationOwner::Released;
        let buffers = std::mem::take(&mut run.launch.plan.buffers);
        self.remove_if_done(id);
        Some(RunEnd { buffers, error })
    }

    /// Removes the run when all of its steps have completed. It does not start again.
    pub(crate) fn release(&mut self, id: RunId) {
        let run = &mut self.runs[id];
        (run.owner, run.persistent) = (OperationOwner::Released, false);
        self.remove_if_done(id);
    }

    /// Completes the step of a reduction that the application has computed.
    pub(crate) fn work_done<D: Device>(
        &mut self, id: RunId, step: StepId, messages: &mut PointToPoint<D>,
    ) {
        messages.note_event();
        self.runs[id].complete_step(step);
        self.start_ready(id, messages);
        self.remove_if_done(id);
        self.advance(messages);
    }

    /// The state of a run; `None` if it has completed.
    ///
    /// # Panics
    /// If there is no such run.
    pub(crate) fn pending<D: Device>(
        &self, id: RunId, messages: &PointToPoint<D>,
    ) -> Option<PendingRun> {
        if self.is_complete(id) {
            return None;
        }
        let launch = &self.runs[id].launch;
        let peer = |operation| match operation {
            PendingOperation::Send { to, .. } => Some(to),
            PendingOperation::Receive { pattern, .. } => {
                pattern.source.map(|rank| launch.members.peer(rank))
            }
            PendingOperation::Arriving { envelope, .. } => {
                Some(launch.members.peer(envelope.source))
            }
        };
        let mut peers: Vec<_> = messages.pending_steps(id).filter_map(peer).collect();
        peers.sort_unstable();
        peers.dedup();
        Some(PendingRun { context: launch.context, sequence: launch.sequence, peers })
    }

    /// Whether there are no runs, not even idle persistent ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.runs.is_empty()
    }

    /// Whether a released run is in progress.
    pub(crate) fn has_released(&self) -> bool {
        self.runs.iter().any(|(_, run)| run.owner == OperationOwner::Released)
    }
}

/// Execution.
impl Runs {
    /// Starts all steps that wait only for completed operations.
    pub(crate) fn advance<D: Device>(&mut self, messages: &mut PointToPoint<D>) {
        while let Some(completed) = messages.next_completed_step() {
            let run = &mut self.runs[completed.run];
            if run.error.is_none() {
                run.error = run.step_error(&completed);
            }
            if completed.error.is_some_and(|error| ErrorClass::is_of_failure(error.code)) {
                run.progress.stop();
            }
            run.complete_step(completed.step);
            self.start_ready(completed.run, messages);
            self.remove_if_done(completed.run);
            // The event of the operation may have been served before the run went on.
            messages.note_event();
        }
    }

    fn begin<D: Device>(&mut self, id: RunId, messages: &mut PointToPoint<D>) {
        self.rewind(id, messages);
        self.advance(messages);
        if !self.is_complete(id) {
            messages.note_long_start();
        }
    }

    fn rewind<D: Device>(&mut self, id: RunId, messages: &mut PointToPoint<D>) {
        let run = &mut self.runs[id];
        run.progress.rewind();
        run.launch.plan.pack();
        self.start_ready(id, messages);
    }

    fn start_ready<D: Device>(&mut self, id: RunId, messages: &mut PointToPoint<D>) {
        while let Some((step, first)) = self.runs[id].progress.next() {
            if self.start_step(id, step, first, messages) {
                self.runs[id].complete_step(step);
            }
        }
        let run = &self.runs[id];
        if run.continuation.is_some() && run.progress.has_completed_all() {
            self.continue_run(id, messages);
        }
    }

    /// Starts a step that the completion of `first` made ready; true if the step has completed.
    fn start_step<D: Device>(
        &mut self, id: RunId, step: StepId, first: StepId, messages: &mut PointToPoint<D>,
    ) -> bool {
        let run = &mut self.runs[id];
        let owner = OperationOwner::Step { run: id, step };
        match run.progress.schedule().action(step, first) {
            StepAction::Send { peer, region, label } => {
                let envelope = run.envelope(run.launch.rank, label);
                let (range, to) = (run.memory_range(region), run.launch.members.peer(peer));
                messages.send_range(to, envelope, range, Mode::Standard, owner).is_none()
            }
            StepAction::Receive { peer, region, label } => {
                let Envelope { context, source, tag } = run.envelope(peer, label);
                let pattern = MatchPattern { context, source: Some(source), tag: Some(tag) };
                let range = run.memory_range(region);
                messages.receive_range(pattern, range, owner);
                false
            }
            StepAction::Copy { from, to } => {
                let (from, mut to) = (run.memory_range(from), run.memory_range(to));
                from.memory.copy(from.start, &mut to.memory, to.start, from.len);
                true
            }
            StepAction::Reduce { from, into } => {
                let work = run.reduce(id, step, from, into);
                let is_done = work.is_none();
                self.work.extend(work);
                is_done
            }
        }
    }

    /// Starts the next plan of a run whose steps have completed, unless the run has failed.
    #[cold]
    fn continue_run<D: Device>(&mut self, id: RunId, messages: &mut PointToPoint<D>) {
        let run = &mut self.runs[id];
        let Some(Continuation { check, next }) = run.continuation.take().map(|boxed| *boxed) else {
            return;
        };
        let failed = run.error.take().or_else(|| check(&run.launch.plan.buffers).err());
        match (failed, next) {
            (None, Some((plan, sequence))) => {
                run.progress = self.free_list.take(&plan.schedule);
                (run.launch.plan, run.launch.sequence) = (plan, sequence);
                self.rewind(id, messages);
            }
            (error, _) => run.error = error,
        }
    }

    /// Adds a run that has not started.
    fn insert(&mut self, launch: Launch, persistent: bool) -> RunId {
        let progress = self.free_list.take(&launch.plan.schedule);
        let (owner, error, continuation) = (OperationOwner::Caller, None, None);
        self.runs.insert(ScheduleRun { launch, progress, error, owner, persistent, continuation })
    }

    /// Adds a run for the next instance of `id`, which keeps its detached steps in progress.
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
            // First, so that the free list sees whether anything else has the schedule.
            drop(launch);
            self.free_list.recycle(progress);
        }
    }
}
