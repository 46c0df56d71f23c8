//! Collective operations that the device runs by itself, from their programs on (`linking` makes
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
//! asks for. Those by functions of the application are handed out as [`Work`], as
//! they are by runs.

use std::ops::Range;

use crate::base::{MpiError, Peer, Slab, Span};
use crate::core::arranging::Share;
use crate::core::engine::Engine;
use crate::core::linking::restored;
use crate::core::memory::{Bytes, Memory};
use crate::core::pending::PendingRun;
use crate::core::run::{Launch, Place, Reduction, Work};
use crate::device::Device;
use crate::device::rma::Key;
use crate::device::trigger::{CounterKey, Look, ProgramKey, Runner};
use crate::offload::{Action, Buffer, Region, StepId};

/// The key of an operation that the device runs.
pub type OffloadedId = u32;

/// Scattered memory of the application, and the entry of the table of buffers that has its bytes
/// while the operation is under way.
pub(in crate::core) struct Packed {
    /// The entry.
    pub entry: usize,
    /// The memory.
    pub memory: Memory,
    /// The bytes that steps read, and those that steps write.
    pub read: Vec<Range<usize>>,
    pub written: Vec<Range<usize>>,
}

/// What the device gave for an operation, to be given back.
#[derive(Default)]
pub(in crate::core) struct Reserved {
    /// Counters of this rank: all of tank 0, all of tank 1.
    pub counters: Vec<CounterKey>,
    /// Memory that peers write to.
    pub keys: Vec<(Buffer, Key)>,
}

/// How far an operation is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum State {
    /// It may start.
    Idle,
    /// The device runs it.
    UnderWay,
    /// Its end waits to be taken.
    Over,
}

/// An operation with all that it uses.
pub(in crate::core) struct Offloaded {
    pub launch: Launch,
    pub packed: Vec<Packed>,
    pub scratch: Vec<Bytes>,
    pub reserved: Reserved,
    pub program: ProgramKey,
    /// Whom the program names, ascending.
    pub peers: Vec<Peer>,
    /// What it puts, if all of that starts at the same time.
    pub shares: Vec<Share>,
    /// Stands for how its puts were arranged last.
    arrangement: Option<u64>,
    state: State,
    error: Option<Box<MpiError>>,
    /// Whether nobody waits for it any more.
    released: bool,
}

/// The operations that the device runs for an engine.
#[derive(Default)]
pub struct Offloads {
    all: Slab<Offloaded>,
    /// Those that have started and are not over.
    under_way: Vec<OffloadedId>,
    /// What the device said of its rest when it was last looked at, while any was under way.
    rest: Option<u64>,
}

impl Packed {
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

impl Offloaded {
    /// One that is idle.
    pub fn new(
        launch: Launch, packed: Vec<Packed>, scratch: Vec<Bytes>, reserved: Reserved,
        program: ProgramKey, peers: Vec<Peer>, shares: Vec<Share>,
    ) -> Self {
        Self {
            launch,
            packed,
            scratch,
            reserved,
            program,
            peers,
            shares,
            arrangement: None,
            state: State::Idle,
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
    fn run(&self, id: OffloadedId, step: StepId) -> Option<Work> {
        let Action::Reduce { from, into } = self.launch.plan.schedule.steps()[step as usize].action
        else {
            return None;
        };
        let (from, into) = (self.span(from), self.span(into));
        match &self.launch.plan.reduction {
            Reduction::None => None,
            Reduction::Kernel(kernel) | Reduction::Numbers(kernel, _) => {
                kernel(from, into);
                None
            }
            Reduction::Application(kernel) => {
                let kernel = std::sync::Arc::clone(kernel);
                Some(Work { place: Place::Program(id), step, kernel, from, into })
            }
        }
    }
}

impl<D: Device> Engine<D> {
    /// Keeps an operation whose program is loaded.
    pub(in crate::core) fn keep_offloaded(&mut self, offloaded: Offloaded) -> OffloadedId {
        let id = self.offloads.all.insert(offloaded);
        // So that no start needs memory.
        let more = self.offloads.all.len().saturating_sub(self.offloads.under_way.len());
        self.offloads.under_way.reserve(more);
        id
    }

    /// What an operation puts, and whether that has been arranged so; it counts as arranged so from
    /// here on.
    pub(in crate::core) fn arrangement_of(
        &mut self, id: OffloadedId, arrangement: u64,
    ) -> (ProgramKey, &[Share], bool) {
        let operation = &mut self.offloads.all[id];
        let known = operation.arrangement.replace(arrangement) == Some(arrangement);
        (operation.program, &operation.shares, known)
    }

    /// Starts an operation that is idle once more. It may be over when this returns.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn start_offloaded(&mut self, id: OffloadedId) {
        let operation = &mut self.offloads.all[id];
        debug_assert!(operation.state == State::Idle);
        operation.pack();
        operation.state = State::UnderWay;
        let program = operation.program;
        let Some(trigger) = self.device.trigger() else { return };
        trigger.start(program);
        let host = matches!(trigger.runner(program), Runner::Host(_));
        if self.look_at_offloaded(id) {
            return;
        }
        let reduces = !matches!(self.offloads.all[id].launch.plan.reduction, Reduction::None);
        self.offloads.under_way.push(id);
        if host || reduces {
            self.note_long_start();
        }
    }

    /// Whether an operation is over, or has not been started since its end was taken.
    ///
    /// # Panics
    /// If there is no such operation.
    #[inline]
    pub fn is_offloaded_over(&self, id: OffloadedId) -> bool {
        self.offloads.all[id].state != State::UnderWay
    }

    /// Takes the end of an operation that is over: why it failed, if it did.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn take_offloaded_end(&mut self, id: OffloadedId) -> Option<Box<MpiError>> {
        let operation = &mut self.offloads.all[id];
        debug_assert!(operation.state != State::UnderWay);
        operation.state = State::Idle;
        operation.error.take()
    }

    /// Gives an operation up: now, or once the instance under way is over.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn release_offloaded(&mut self, id: OffloadedId) {
        let operation = &mut self.offloads.all[id];
        operation.released = true;
        if operation.state != State::UnderWay {
            drop(self.unload(id));
        }
    }

    /// What an operation still waits for; `None` if it is over.
    ///
    /// # Panics
    /// If there is no such operation.
    pub fn pending_offloaded(&self, id: OffloadedId) -> Option<PendingRun> {
        let Offloaded { launch, peers, .. } = &self.offloads.all[id];
        let Launch { context, sequence, .. } = *launch;
        let is_under_way = !self.is_offloaded_over(id);
        is_under_way.then(|| PendingRun { context, sequence, peers: peers.clone() })
    }

    /// Looks at what is under way; how many operations came further.
    #[inline]
    pub(in crate::core) fn look_at_offloads(&mut self) -> usize {
        if self.offloads.under_way.is_empty() { 0 } else { self.look_at_all() }
    }

    fn look_at_all(&mut self) -> usize {
        let mut under_way = std::mem::take(&mut self.offloads.under_way);
        let before = under_way.len();
        let events = self.events();
        under_way.retain(|id| !self.look_at_offloaded(*id));
        let over = before - under_way.len();
        self.offloads.under_way = under_way;
        let moved = over.max(usize::from(self.events() != events));
        // Asked after the looks: what they did may have given the device something to do.
        self.offloads.rest = match moved {
            0 => self.device.trigger().and_then(|trigger| trigger.rest()),
            _ => None,
        };
        moved
    }

    /// Looks how far the device is with an operation, and runs the reductions that it asks for.
    /// Whether the operation is over.
    fn look_at_offloaded(&mut self, id: OffloadedId) -> bool {
        let program = self.offloads.all[id].program;
        loop {
            let Some(trigger) = self.device.trigger() else { return false };
            let end = match trigger.look(program) {
                Look::Waits => return false,
                Look::Host(step) => {
                    self.note_event();
                    match self.offloads.all[id].run(id, step) {
                        Some(work) => self.runs.push_work(work),
                        None => self.host_step_done(program, step),
                    }
                    continue;
                }
                Look::Over(end) => end,
            };
            self.note_event();
            let operation = &mut self.offloads.all[id];
            operation.state = State::Over;
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
    pub(in crate::core) fn offloaded_work_done(&mut self, id: OffloadedId, step: StepId) {
        self.note_event();
        self.host_step_done(self.offloads.all[id].program, step);
        self.look_at_offloads();
    }

    /// Whether an operation that nobody waits for any more is under way.
    pub(in crate::core) fn has_late_offloads(&self) -> bool {
        self.offloads.under_way.iter().any(|id| self.offloads.all[*id].released)
    }

    /// Whether there is any operation, under way or not.
    pub fn has_offloads(&self) -> bool {
        !self.offloads.all.is_empty()
    }

    /// Whether the device runs anything, and does nothing now; then a number that changes whenever
    /// it has done something. `None` while it may be doing something.
    pub fn rest_of_offloads(&self) -> Option<u64> {
        if self.offloads.under_way.is_empty() { Some(0) } else { self.offloads.rest }
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
        self.give_back(operation.reserved);
        restored(operation.launch, operation.packed)
    }

    /// Gives back what the device gave for a program that is not loaded.
    pub(in crate::core) fn give_back(&mut self, reserved: Reserved) {
        if let Some(trigger) = self.device.trigger() {
            trigger.release(&reserved.counters);
        }
        if let Some(rma) = self.device.rma() {
            reserved.keys.into_iter().for_each(|(_, key)| rma.deregister(key));
        }
    }
}
