//! Collective operations that the device runs by itself, from their programs on (`program_setup` makes
//! these).
//!
//! ```text
//!            start: pack, arm               the device: over
//!   idle ──────────────────────> under way ─────────────────> over: unpack ──end taken──> idle
//!    │                             │   ▲                        │
//!    │           a reduction is due └───┘ done                  │ released before
//!    └── released ──> unloaded <───────────────────────────────┘
//! ```
//!
//! Nothing here moves data: a poll only looks how far the device is, and runs reductions that it
//! asks for. Those by functions of the application are handed out as [`ReductionWork`], as
//! they are by runs.

use std::ops::Range;

use crate::device::Device;
use crate::device::rma::MemoryKey;
use crate::device::trigger::{CounterKey, InstanceState, ProgramKey, Runner};
use crate::engine::memory::{Memory, OwnedBytes};
use crate::engine::point_to_point::Engine;
use crate::engine::point_to_point::pending::PendingRun;
use crate::engine::programs::engine_assignment::PeerTraffic;
use crate::engine::programs::program_setup::restore_buffers;
use crate::engine::schedules::run::{Launch, ReductionMethod, ReductionWork, WorkOrigin};
use crate::offload::{Buffer, Region, StepAction, StepId};
use platform::base::{MpiError, Peer, Slab, Span};

/// The key of an operation that the device runs.
pub(crate) type OffloadedId = u32;

/// Scattered memory of the application, and the entry of the table of buffers that has its bytes
/// while the operation is under way.
pub(in crate::engine) struct PackedBuffer {
    /// The entry.
    pub(crate) entry: usize,
    /// The memory.
    pub(crate) memory: Memory,
    /// The bytes that steps read, and those that steps write.
    pub(crate) read: Vec<Range<usize>>,
    pub(crate) written: Vec<Range<usize>>,
}

/// What the device gave for an operation, to be given back.
#[derive(Default)]
pub(in crate::engine) struct ReservedResources {
    /// Counters of this rank: all of tank 0, all of tank 1.
    pub(crate) counters: Vec<CounterKey>,
    /// Memory that peers write to.
    pub(crate) keys: Vec<(Buffer, MemoryKey)>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffloadState {
    /// It may start.
    Idle,
    /// The device runs it.
    Active,
    /// Its end waits to be taken.
    Complete,
}

/// An operation with all that it uses.
pub(in crate::engine) struct OffloadedOperation {
    pub(crate) launch: Launch,
    pub(crate) packed: Vec<PackedBuffer>,
    pub(crate) scratch: Vec<OwnedBytes>,
    pub(crate) reserved: ReservedResources,
    pub(crate) program: ProgramKey,
    /// Whom the program names, ascending.
    pub(crate) peers: Vec<Peer>,
    /// What it puts, if all of that starts at the same time.
    pub(crate) traffic: Vec<PeerTraffic>,
    /// Stands for how its puts were arranged last.
    assignment: Option<u64>,
    state: OffloadState,
    error: Option<Box<MpiError>>,
    /// Whether nobody waits for it any more.
    released: bool,
}

/// The operations that the device runs for an engine.
#[derive(Default)]
pub(crate) struct Offloads {
    all: Slab<OffloadedOperation>,
    /// Those that have started and are not over.
    active: Vec<OffloadedId>,
    /// [`Device::quiescence`] after the last poll, while any is in progress.
    quiescence: Option<u64>,
}

impl PackedBuffer {
    fn pack(&self, buffers: &mut [Memory]) {
        for range in &self.read {
            self.memory.copy(range.start, &mut buffers[self.entry], range.start, range.len());
        }
    }

    fn unpack(&mut self, buffers: &[Memory]) {
        for range in &self.written {
            buffers[self.entry].copy(range.start, &mut self.memory, range.start, range.len());
        }
    }
}

impl OffloadedOperation {
    /// One that is idle.
    pub(crate) fn new(
        launch: Launch, packed: Vec<PackedBuffer>, scratch: Vec<OwnedBytes>,
        reserved: ReservedResources, program: ProgramKey, peers: Vec<Peer>,
        traffic: Vec<PeerTraffic>,
    ) -> Self {
        Self {
            launch,
            packed,
            scratch,
            reserved,
            program,
            peers,
            traffic,
            assignment: None,
            state: OffloadState::Idle,
            error: None,
            released: false,
        }
    }

    fn pack(&mut self) {
        let plan = &mut self.launch.plan;
        plan.pack();
        self.packed.iter().for_each(|packed| packed.pack(&mut plan.buffers));
    }

    fn unpack(&mut self) {
        let plan = &mut self.launch.plan;
        self.packed.iter_mut().for_each(|packed| packed.unpack(&plan.buffers));
        plan.unpack();
    }

    fn span(&self, region: Region) -> Span {
        let all = match region.buffer {
            Buffer::User(entry) => self.launch.plan.buffers[entry as usize].span(),
            Buffer::Scratch(index) => Some(self.scratch[index as usize].span()),
            Buffer::None | Buffer::First => Some(Span::EMPTY),
        };
        all.expect("buffers of programs are contiguous").part(region.start, region.len)
    }

    /// Runs a step that the device asked for; what the application has to do instead, if it is
    /// that which has to do it.
    fn run(&self, id: OffloadedId, step: StepId) -> Option<ReductionWork> {
        let StepAction::Reduce { from, into } =
            self.launch.plan.schedule.steps()[step as usize].action
        else {
            return None;
        };
        let (from, into) = (self.span(from), self.span(into));
        match &self.launch.plan.reduction {
            ReductionMethod::None => None,
            ReductionMethod::Kernel(kernel) | ReductionMethod::Numbers(kernel, _) => {
                kernel(from, into);
                None
            }
            ReductionMethod::Application(kernel) => {
                let kernel = std::sync::Arc::clone(kernel);
                Some(ReductionWork { origin: WorkOrigin::Program(id), step, kernel, from, into })
            }
        }
    }
}

impl<D: Device> Engine<D> {
    /// Keeps an operation whose program is loaded.
    pub(in crate::engine) fn keep_offloaded(
        &mut self, offloaded: OffloadedOperation,
    ) -> OffloadedId {
        let id = self.offloads.all.insert(offloaded);
        // So that no start needs memory.
        let more = self.offloads.all.len().saturating_sub(self.offloads.active.len());
        self.offloads.active.reserve(more);
        id
    }

    /// What an operation puts, and whether that has been arranged so; it counts as arranged so from
    /// here on.
    pub(in crate::engine) fn assignment_of(
        &mut self, id: OffloadedId, arrangement: u64,
    ) -> (ProgramKey, &[PeerTraffic], bool) {
        let operation = &mut self.offloads.all[id];
        let known = operation.assignment.replace(arrangement) == Some(arrangement);
        (operation.program, &operation.traffic, known)
    }

    /// Starts an operation that is idle once more. It may be over when this returns.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn start_offloaded(&mut self, id: OffloadedId) {
        let operation = &mut self.offloads.all[id];
        debug_assert!(operation.state == OffloadState::Idle);
        operation.pack();
        operation.state = OffloadState::Active;
        let program = operation.program;
        let Some(trigger) = self.device.trigger() else { return };
        trigger.start(program);
        let host = matches!(trigger.runner(program), Runner::Host(_));
        if self.poll_offloaded(id) {
            return;
        }
        let reduces = !matches!(self.offloads.all[id].launch.plan.reduction, ReductionMethod::None);
        self.offloads.active.push(id);
        if host || reduces {
            self.note_long_start();
        }
    }

    /// Whether an operation is over, or has not been started since its end was taken.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub(crate) fn is_offloaded_complete(&self, id: OffloadedId) -> bool {
        self.offloads.all[id].state != OffloadState::Active
    }

    /// Takes the end of an operation that is over: why it failed, if it did.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn take_offloaded_error(&mut self, id: OffloadedId) -> Option<Box<MpiError>> {
        let operation = &mut self.offloads.all[id];
        debug_assert!(operation.state != OffloadState::Active);
        operation.state = OffloadState::Idle;
        operation.error.take()
    }

    /// Gives an operation up: now, or once the instance under way is over.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn release_offloaded(&mut self, id: OffloadedId) {
        let operation = &mut self.offloads.all[id];
        operation.released = true;
        if operation.state != OffloadState::Active {
            drop(self.unload(id));
        }
    }

    /// What an operation still waits for; `None` if it is over.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn pending_offloaded(&self, id: OffloadedId) -> Option<PendingRun> {
        let OffloadedOperation { launch, peers, .. } = &self.offloads.all[id];
        let Launch { context, sequence, .. } = *launch;
        let is_under_way = !self.is_offloaded_complete(id);
        is_under_way.then(|| PendingRun { context, sequence, peers: peers.clone() })
    }

    /// Looks at what is under way; how many operations came further.
    #[inline]
    pub(in crate::engine) fn poll_offloads(&mut self) -> usize {
        if self.offloads.active.is_empty() { 0 } else { self.poll_all_offloads() }
    }

    fn poll_all_offloads(&mut self) -> usize {
        let mut under_way = std::mem::take(&mut self.offloads.active);
        let before = under_way.len();
        let events = self.events();
        under_way.retain(|id| !self.poll_offloaded(*id));
        let over = before - under_way.len();
        self.offloads.active = under_way;
        let moved = over.max(usize::from(self.events() != events));
        // After the polls: they may have given the device work.
        self.offloads.quiescence = match moved {
            0 => self.device.quiescence(),
            _ => None,
        };
        moved
    }

    /// Looks how far the device is with an operation, and runs the reductions that it asks for.
    /// Whether the operation is over.
    fn poll_offloaded(&mut self, id: OffloadedId) -> bool {
        let program = self.offloads.all[id].program;
        loop {
            let Some(trigger) = self.device.trigger() else { return false };
            let end = match trigger.poll_program(program) {
                InstanceState::Waiting => return false,
                InstanceState::HostStep(step) => {
                    self.note_event();
                    match self.offloads.all[id].run(id, step) {
                        Some(work) => self.runs.push_work(work),
                        None => self.host_step_done(program, step),
                    }
                    continue;
                }
                InstanceState::Completed(end) => end,
            };
            self.note_event();
            let operation = &mut self.offloads.all[id];
            operation.state = OffloadState::Complete;
            operation.error = end.err();
            operation.unpack();
            if operation.released {
                drop(self.unload(id));
            }
            return true;
        }
    }

    fn host_step_done(&mut self, program: ProgramKey, step: StepId) {
        if let Some(trigger) = self.device.trigger() {
            trigger.host_done(program, step);
        }
    }

    /// The application has done a reduction of an operation.
    pub(in crate::engine) fn offloaded_work_done(&mut self, id: OffloadedId, step: StepId) {
        self.note_event();
        self.host_step_done(self.offloads.all[id].program, step);
        self.poll_offloads();
    }

    /// Whether an operation that nobody waits for any more is under way.
    pub(in crate::engine) fn has_released_offloads(&self) -> bool {
        self.offloads.active.iter().any(|id| self.offloads.all[*id].released)
    }

    /// Whether there is any operation, under way or not.
    pub fn has_offloads(&self) -> bool {
        !self.offloads.all.is_empty()
    }

    /// [`Device::quiescence`]. While the device runs operations: its value after the last poll, `None`
    /// if an operation made progress in that poll.
    pub fn device_quiescence(&self) -> Option<u64> {
        match self.offloads.active.is_empty() {
            true => self.device.quiescence(),
            false => self.offloads.quiescence,
        }
    }

    /// Unloads an operation that is not under way; what a run by messages would need.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn unload(&mut self, id: OffloadedId) -> Launch {
        let operation = self.offloads.all.remove(id).expect("the operation has been made");
        if let Some(trigger) = self.device.trigger() {
            trigger.unload(operation.program);
        }
        self.release_reserved(operation.reserved);
        restore_buffers(operation.launch, operation.packed)
    }

    /// Gives back what the device gave for a program that is not loaded.
    pub(in crate::engine) fn release_reserved(&mut self, reserved: ReservedResources) {
        if let Some(trigger) = self.device.trigger() {
            trigger.release(&reserved.counters);
        }
        if let Some(rma) = self.device.rma() {
            reserved.keys.into_iter().for_each(|(_, key)| rma.deregister(key));
        }
    }
}
