//! Offloaded operations: collectives that the device runs. `program_setup` makes them.
//!
//! ```text
//!            start: pack, arm            the device has completed
//!   Idle ──────────────────────> Active ──────────────────────> Complete ──error taken──> Idle
//!    │                            │  ▲      or failed; unpack     │
//!    │          a reduction is due └──┘ done                      │ released before
//!    └── released ──> unloaded <──────────────────────────────────┘
//! ```
//!
//! Nothing here moves data. A poll queries the device; reductions by functions of the application become
//! [`ReductionWork`], as in runs, and the device computes all others.

use std::collections::VecDeque;
use std::ops::Range;
use std::sync::Arc;

use crate::device::Device;
use crate::device::rma::MemoryKey;
use crate::device::trigger::{CounterKey, InstanceState, ProgramKey};
use crate::engine::memory::Memory;
use crate::engine::point_to_point::PointToPoint;
use crate::engine::programs::traffic::PeerTraffic;
use crate::engine::schedules::plan::{Launch, PendingRun};
use crate::engine::schedules::reduction::{ReductionMethod, ReductionWork, WorkOrigin};
use crate::offload::{Buffer, Region, StepAction, StepId};
use platform::base::{MpiError, Peer, Slab, Span};

/// The key of an offloaded operation.
pub(crate) type OffloadedId = u32;

/// Memory of the application that peers do not write to directly, because it is scattered or short, and the entry of
/// the table of buffers that has its bytes while the operation is in progress.
pub(crate) struct PackedBuffer {
    pub(crate) entry: usize,
    pub(crate) memory: Memory,
    /// The bytes that steps read.
    pub(crate) read: Vec<Range<usize>>,
    /// The bytes that steps write.
    pub(crate) written: Vec<Range<usize>>,
}

/// Resources of the device that an operation uses.
#[derive(Default)]
pub(crate) struct ReservedResources {
    /// Counters of this rank: all of tank 0, all of tank 1.
    pub(crate) counters: Vec<CounterKey>,
    /// Memory that peers write to.
    pub(crate) keys: Vec<(Buffer, MemoryKey)>,
    /// Short memory among it that they have mapped.
    pub(crate) places: Vec<Span>,
}

/// A loaded program with all that it uses.
pub(crate) struct OffloadedOperation {
    pub(crate) launch: Launch,
    pub(crate) packed: Vec<PackedBuffer>,
    pub(crate) scratch: Vec<Memory>,
    pub(crate) reserved: ReservedResources,
    pub(crate) program: ProgramKey,
    /// The peers that the program names, ascending.
    pub(crate) peers: Vec<Peer>,
    /// The puts of the operation, if all of them start at the same time.
    pub(crate) traffic: Vec<PeerTraffic>,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum OffloadState {
    /// May start.
    Idle,
    /// In progress on the device.
    Active,
    /// The error has not been taken.
    Complete,
}

struct OffloadedEntry {
    operation: OffloadedOperation,
    state: OffloadState,
    error: Option<Box<MpiError>>,
    /// Whether the operation is unloaded when it completes.
    released: bool,
    /// Hash of the last engine assignment.
    assignment: Option<u64>,
}

/// The offloaded operations of a rank.
#[derive(Default)]
pub(crate) struct Offloads {
    all: Slab<OffloadedEntry>,
    active: Vec<OffloadedId>,
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

    /// Puts scattered memory back into the table of buffers of its launch.
    pub(crate) fn restore(packed: Vec<Self>, launch: &mut Launch) {
        for Self { entry, memory, .. } in packed {
            launch.plan.buffers[entry] = memory;
        }
    }
}

impl ReservedResources {
    /// Returns the resources to the device. No program that uses them is loaded.
    pub(crate) fn release(self, device: &mut impl Device) {
        if let Some(rma) = device.rma() {
            self.keys.into_iter().for_each(|(_, key)| rma.deregister(key));
        }
        if let Some(trigger) = device.trigger() {
            trigger.release(&self.counters, &self.places);
        }
    }
}

impl OffloadedOperation {
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
            Buffer::Scratch(index) => self.scratch[index as usize].span(),
            Buffer::None | Buffer::First => Some(Span::EMPTY),
        };
        all.expect("the buffers of a program are contiguous").part(region.start, region.len)
    }

    /// A reduction that the device requests, as work for the application. The device computes those
    /// without one itself.
    fn reduction(&self, id: OffloadedId, step: StepId) -> Option<ReductionWork> {
        let StepAction::Reduce { from, into } =
            self.launch.plan.schedule.steps()[step as usize].action
        else {
            return None;
        };
        let ReductionMethod::Application(kernel) = &self.launch.plan.reduction else { return None };
        let (from, into) = (self.span(from), self.span(into));
        let (origin, kernel) = (WorkOrigin::Program(id), Arc::clone(kernel));
        Some(ReductionWork { origin, step, kernel, from, into })
    }
}

/// What a caller may do with offloaded operations.
impl Offloads {
    /// Adds an operation whose program is loaded.
    pub(crate) fn insert(&mut self, operation: OffloadedOperation) -> OffloadedId {
        let (state, error, released, assignment) = (OffloadState::Idle, None, false, None);
        let id = self.all.insert(OffloadedEntry { operation, state, error, released, assignment });
        // So that no start allocates memory.
        self.active.reserve(self.all.len().saturating_sub(self.active.len()));
        id
    }

    /// Starts an idle operation. It may have completed when this returns.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn start<D: Device>(
        &mut self, id: OffloadedId, messages: &mut PointToPoint<D>,
        work: &mut VecDeque<ReductionWork>,
    ) {
        let entry = &mut self.all[id];
        debug_assert!(entry.state == OffloadState::Idle);
        entry.operation.pack();
        entry.state = OffloadState::Active;
        let program = entry.operation.program;
        let Some(trigger) = messages.device.trigger() else { return };
        trigger.start(program);
        if self.poll_operation(id, messages, work) {
            return;
        }
        let reduction = &self.all[id].operation.launch.plan.reduction;
        let needs_calls = matches!(reduction, ReductionMethod::Application(_));
        self.active.push(id);
        if needs_calls {
            messages.note_long_start();
        }
    }

    /// Whether an operation is not in progress.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub(crate) fn is_complete(&self, id: OffloadedId) -> bool {
        self.all[id].state != OffloadState::Active
    }

    /// Takes the error of a completed operation, which becomes idle.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn take_error(&mut self, id: OffloadedId) -> Option<Box<MpiError>> {
        let entry = &mut self.all[id];
        debug_assert!(entry.state != OffloadState::Active);
        entry.state = OffloadState::Idle;
        entry.error.take()
    }

    /// Unloads an operation, now or when it completes.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn release(&mut self, id: OffloadedId, device: &mut impl Device) {
        let entry = &mut self.all[id];
        entry.released = true;
        if entry.state != OffloadState::Active {
            drop(self.unload(id, device));
        }
    }

    /// Unloads an operation that is not in progress and returns what a run by messages needs.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn unload(&mut self, id: OffloadedId, device: &mut impl Device) -> Launch {
        let OffloadedEntry { operation, .. } = self.all.remove(id).expect("the operation exists");
        let OffloadedOperation { mut launch, packed, reserved, program, .. } = operation;
        if let Some(trigger) = device.trigger() {
            trigger.unload(program);
        }
        reserved.release(device);
        PackedBuffer::restore(packed, &mut launch);
        launch
    }

    /// The state of an operation; `None` if it has completed.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn pending(&self, id: OffloadedId) -> Option<PendingRun> {
        let OffloadedOperation { launch, peers, .. } = &self.all[id].operation;
        let Launch { context, sequence, .. } = *launch;
        let is_active = !self.is_complete(id);
        is_active.then(|| PendingRun { context, sequence, peers: peers.clone() })
    }

    /// Ends the operations of a context with this error, and all that start there later.
    pub(crate) fn close_context(
        &mut self, context: u64, error: &MpiError, device: &mut impl Device,
    ) {
        let all = self.all.iter().map(|(_, entry)| &entry.operation);
        for operation in all.filter(|operation| operation.launch.context == context) {
            if let Some(trigger) = device.trigger() {
                trigger.fail(operation.program, error);
            }
        }
    }

    /// Whether there are no operations, not even idle ones.
    pub(crate) fn is_empty(&self) -> bool {
        self.all.is_empty()
    }

    /// Whether a released operation is in progress.
    pub(crate) fn has_released(&self) -> bool {
        self.active.iter().any(|id| self.all[*id].released)
    }

    /// The program and the puts of an operation, and whether `assignment` was its last engine
    /// assignment already. It is from now on.
    pub(crate) fn assignment_of(
        &mut self, id: OffloadedId, assignment: u64,
    ) -> (ProgramKey, &[PeerTraffic], bool) {
        let entry = &mut self.all[id];
        let known = entry.assignment.replace(assignment) == Some(assignment);
        (entry.operation.program, &entry.operation.traffic, known)
    }
}

/// Execution.
impl Offloads {
    /// Queries the device about all active operations and returns how many made progress.
    #[inline]
    pub(crate) fn poll<D: Device>(
        &mut self, messages: &mut PointToPoint<D>, work: &mut VecDeque<ReductionWork>,
    ) -> usize {
        if self.active.is_empty() { 0 } else { self.poll_active(messages, work) }
    }

    fn poll_active<D: Device>(
        &mut self, messages: &mut PointToPoint<D>, work: &mut VecDeque<ReductionWork>,
    ) -> usize {
        let mut active = std::mem::take(&mut self.active);
        let (before, events) = (active.len(), messages.events());
        active.retain(|id| !self.poll_operation(*id, messages, work));
        let completed = before - active.len();
        self.active = active;
        completed.max(usize::from(messages.events() != events))
    }

    /// Queries the device about an operation. True if it has completed.
    fn poll_operation<D: Device>(
        &mut self, id: OffloadedId, messages: &mut PointToPoint<D>,
        work: &mut VecDeque<ReductionWork>,
    ) -> bool {
        let program = self.all[id].operation.program;
        loop {
            let Some(trigger) = messages.device.trigger() else { return false };
            let end = match trigger.poll_program(program) {
                InstanceState::Waiting => return false,
                InstanceState::HostStep(step) => {
                    messages.note_event();
                    match self.all[id].operation.reduction(id, step) {
                        Some(reduction) => work.push_back(reduction),
                        None => host_step_done(program, step, &mut messages.device),
                    }
                    continue;
                }
                InstanceState::Completed(end) => end,
            };
            messages.note_event();
            let entry = &mut self.all[id];
            entry.state = OffloadState::Complete;
            entry.error = end.err();
            entry.operation.unpack();
            if entry.released {
                drop(self.unload(id, &mut messages.device));
            }
            return true;
        }
    }

    /// Completes the step of a reduction that the application has computed.
    pub(crate) fn work_done<D: Device>(
        &mut self, id: OffloadedId, step: StepId, messages: &mut PointToPoint<D>,
        work: &mut VecDeque<ReductionWork>,
    ) {
        messages.note_event();
        host_step_done(self.all[id].operation.program, step, &mut messages.device);
        self.poll(messages, work);
    }
}

fn host_step_done(program: ProgramKey, step: StepId, device: &mut impl Device) {
    if let Some(trigger) = device.trigger() {
        trigger.host_done(program, step);
    }
}
