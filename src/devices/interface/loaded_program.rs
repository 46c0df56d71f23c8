//! A loaded program: its names bound to memory and counters, and the instance in progress.
//!
//! ```text
//!          start                    all work started, Complete among it,
//!   idle ────────> in progress ────> and no command reads its memory ──poll──> idle
//!                       └── failed ────────────────────┘
//! ```
//!
//! A program that has failed starts no work any more: its counters have lost additions, so each later
//! instance ends with the same error.

use std::collections::VecDeque;
use std::ops::Range;

use super::SHORT_MAX;
use super::action::{InterfaceAction, Signal};
use super::counters::Counters;
use crate::device::rma::RemoteAddress;
use crate::device::trigger::{
    CounterKey, InstanceState, PeerBinding, PostedWork, ProgramBinding, ReductionKernel, Runner,
    SlotNeed,
};
use crate::offload::{Buffer, CounterAdd, CounterId, Instance, Program, ProgramOp, Region, StepId};
use platform::base::{ErrorClass, MpiError, Peer, Span};

/// Marks work without another rank.
const NO_PEER: u32 = u32::MAX;

/// Outcome of an operation of a program.
pub(super) enum WorkOutcome {
    /// A command, for a certain engine if given.
    Command {
        action: InterfaceAction,
        engine: Option<u8>,
        /// An index of [`LoadedProgram::counters`], and what its counter gets when the source may be overwritten.
        done: Option<(u32, u64)>,
    },
    /// The operation has added to the counter at this index.
    Added(u32),
    /// The operation is complete.
    Nothing,
    /// The next operation will be posted at this time, in nanoseconds.
    Unposted(u64),
}

#[derive(Debug)]
pub(super) struct LoadedProgram {
    binding: ProgramBinding,
    /// For each operation, the index of its rank in `binding.peers`.
    peer_indices: Box<[u32]>,
    /// For each entry of `binding.peers`, the engine of puts to it, if assigned.
    assigned_engines: Box<[Option<u8>]>,
    /// The slots of an instance, or why the hardware never can run one.
    pub(super) needs: Result<SlotNeed, &'static str>,
    /// Whether software has run an instance that the hardware should have run.
    pub(super) is_fallback: bool,
    /// Runs the current or last instance.
    pub(super) runner: Runner,
    /// Whether it has commands of more than [`SHORT_MAX`] bytes.
    pub(super) is_long: bool,
    /// Slots of the interface for the current instance.
    pub(super) window: u32,
    /// Instances started so far.
    started: u64,
    is_active: bool,
    /// The error of all instances from now on.
    lost: Option<Box<MpiError>>,
    /// The current or last instance. The next one reuses its memory: no start allocates.
    run: InstanceRun,
}

/// An instance.
#[derive(Debug)]
struct InstanceRun {
    instance: Instance,
    tank: usize,
    /// [`ProgramOp::Complete`] was reached.
    complete: bool,
    /// Commands whose source must not be overwritten yet.
    outstanding: u32,
    /// Operations that have started; times in nanoseconds.
    posted: PostedWork,
    failed: Option<Box<MpiError>>,
    /// Steps for the host: due ones, and those returned by `poll`.
    host_due: VecDeque<(StepId, Option<CounterAdd>)>,
    host_issued: Vec<(StepId, Option<CounterAdd>)>,
}

impl LoadedProgram {
    /// # Panics
    /// If the program names ranks, counters or memory that `binding` does not have.
    pub(super) fn new(binding: ProgramBinding, needs: Result<SlotNeed, &'static str>) -> Self {
        let program = &binding.program;
        assert_eq!(
            binding.counters.len(),
            usize::from(program.counters()) * usize::from(program.tanks)
        );
        let link = |op: &ProgramOp| match *op {
            ProgramOp::Put { to, .. } | ProgramOp::Signal { to, .. } => {
                let found = binding.peers.iter().position(|linked| linked.rank == to);
                found.unwrap_or_else(|| panic!("rank {to} of the program is not linked")) as u32
            }
            _ => NO_PEER,
        };
        let peer_indices = program.work().iter().map(|work| link(&work.op)).collect();
        let assigned_engines = vec![None; binding.peers.len()].into();
        let hosts =
            program.work().iter().filter(|work| matches!(work.op, ProgramOp::Host { .. })).count();
        let is_long = program.work().iter().any(|work| work.op.bytes() > SHORT_MAX);
        let run = InstanceRun {
            instance: Instance::new(program),
            tank: 0,
            complete: false,
            outstanding: 0,
            posted: PostedWork::default(),
            failed: None,
            host_due: VecDeque::with_capacity(hosts),
            host_issued: Vec::with_capacity(hosts),
        };
        Self {
            binding,
            peer_indices,
            assigned_engines,
            needs,
            is_fallback: false,
            runner: needs.map_or_else(Runner::Software, |_| Runner::Interface),
            is_long,
            window: 0,
            started: 0,
            is_active: false,
            lost: None,
            run,
        }
    }

    /// Assigns the engines of puts to these ranks.
    pub(super) fn assign_engines(&mut self, engines: &[(u32, u8)]) {
        for &(rank, engine) in engines {
            let at = self.binding.peers.iter().position(|linked| linked.rank == rank);
            if let Some(at) = at {
                self.assigned_engines[at] = Some(engine);
            }
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.is_active
    }

    /// The peers that it names.
    pub(super) fn peers(&self) -> impl Iterator<Item = Peer> {
        self.binding.peers.iter().map(|linked| linked.peer)
    }

    pub(super) fn names(&self, peer: Peer) -> bool {
        self.peers().any(|named| named == peer)
    }

    /// Starts no work from now on; the first error stays.
    pub(super) fn fail(&mut self, error: &MpiError) {
        self.lost.get_or_insert_with(|| Box::new(error.clone()));
        self.run.host_due.clear();
    }

    pub(super) fn has_failed(&self) -> bool {
        self.lost.is_some()
    }

    /// The indices of the counters of the current or last instance.
    pub(super) fn in_use(&self) -> Range<u32> {
        let count = u32::from(self.binding.program.counters());
        let first = self.run.tank as u32 * count;
        first..first + count
    }

    /// All of its counters.
    pub(super) fn counters(&self) -> &[CounterKey] {
        &self.binding.counters
    }

    /// # Panics
    /// If it is not idle.
    pub(super) fn start(&mut self, runner: Runner, window: u32) {
        assert!(self.is_idle(), "a program starts when it is idle");
        let Self { run, binding: ProgramBinding { program, .. }, .. } = self;
        run.instance.restart(program);
        run.tank = program.tank(self.started);
        run.complete = false;
        run.posted.restart();
        (self.runner, self.window) = (runner, window);
        self.is_active = true;
        self.started += 1;
    }

    /// Starts the next operation that waits for the counter at this index of `binding.counters`, if its
    /// level is reached; `None` until that rises.
    pub(super) fn next(
        &mut self, at: u32, now_ns: u64, post_ns: u64, counters: &impl Counters,
    ) -> Option<WorkOutcome> {
        if !self.is_active || self.has_failed() {
            return None;
        }
        let Self { run, binding: ProgramBinding { program, counters: keys, .. }, .. } = self;
        let own = own(keys, program, run.tank);
        // None for a counter of the other tank.
        let counter = (at as usize).checked_sub(run.tank * own.len());
        let counter = counter.filter(|counter| *counter < own.len())?;
        if let Some(at_ns) = run.posted.next(self.window).filter(|at_ns| *at_ns > now_ns) {
            let more = run.instance.awaited(program, counter as CounterId);
            return more.map(|_| WorkOutcome::Unposted(at_ns));
        }
        let level = || counters.level(own[counter]);
        let index = run.instance.next_of(program, counter as CounterId, level)?;
        run.posted.begin(self.window, now_ns, post_ns);
        let op = program.work()[index].op;
        let mut outcome = WorkOutcome::Nothing;
        match op {
            ProgramOp::Add(add) => {
                counters.add(own[usize::from(add.counter)], add.value);
                outcome =
                    WorkOutcome::Added((run.tank * own.len()) as u32 + u32::from(add.counter));
            }
            ProgramOp::Complete => run.complete = true,
            ProgramOp::Host { step, done, .. } if self.binding.kernel.is_none() => {
                run.host_due.push_back((step, done));
            }
            _ => {
                run.outstanding += 1;
                return Some(self.command(op, index));
            }
        }
        self.check_end(counters);
        Some(outcome)
    }

    fn command(&self, op: ProgramOp, index: usize) -> WorkOutcome {
        let Self { run, binding: ProgramBinding { program, peers, .. }, .. } = self;
        let first = self.in_use().start;
        let done =
            |done: Option<CounterAdd>| done.map(|add| (first + u32::from(add.counter), add.value));
        let linked = peers.get(self.peer_indices[index] as usize);
        let signal = |add: CounterAdd| {
            let linked = linked.expect("linked when it was loaded");
            let counters = linked.counters.len() / usize::from(program.tanks);
            let counter = linked.counters[run.tank * counters + usize::from(add.counter)];
            (linked, Signal { counter, value: add.value })
        };
        match op {
            ProgramOp::Put { from, into, signal: add, done: after, engine, .. } => {
                let (linked, signal) = signal(add);
                let action = put(self.span(from), linked, into, signal);
                let assigned = self.assigned_engines[self.peer_indices[index] as usize];
                WorkOutcome::Command { action, engine: assigned.or(engine), done: done(after) }
            }
            ProgramOp::Signal { signal: add, .. } => {
                let (linked, signal) = signal(add);
                let action = InterfaceAction::Signal { peer: linked.peer, signal };
                WorkOutcome::Command { action, engine: None, done: None }
            }
            ProgramOp::Copy { from, into, done: after } => {
                let action = InterfaceAction::Copy { from: self.span(from), into: self.span(into) };
                WorkOutcome::Command { action, engine: None, done: done(after) }
            }
            ProgramOp::Combine { from, into, with, done: after } => {
                let action =
                    InterfaceAction::Combine { from: self.span(from), into: self.span(into), with };
                WorkOutcome::Command { action, engine: None, done: done(after) }
            }
            ProgramOp::Host { from, into, done: after, .. } => {
                let (from, into) = (self.span(from), self.span(into));
                let action = InterfaceAction::Reduce { from, into };
                WorkOutcome::Command { action, engine: None, done: done(after) }
            }
            ProgramOp::Add(_) | ProgramOp::Complete => WorkOutcome::Nothing,
        }
    }

    fn span(&self, region: Region) -> Span {
        if region.len == 0 {
            return Span::EMPTY;
        }
        let named = self.binding.memory.iter().find(|(buffer, _)| *buffer == region.buffer);
        let (_, span) = named.unwrap_or_else(|| panic!("{:?} has no memory", region.buffer));
        span.part(region.start, region.len)
    }

    /// The source of one of its commands may be overwritten; whether that completes the instance.
    pub(super) fn sent(&mut self, failed: Option<Box<MpiError>>, counters: &impl Counters) -> bool {
        self.run.outstanding -= 1;
        self.run.failed = self.run.failed.take().or(failed);
        self.check_end(counters);
        self.is_complete()
    }

    /// At the end of an instance, its tank is empty: no peer may have begun the next one of the same tank.
    /// Otherwise the instance fails, and the tank is emptied for the next one.
    fn check_end(&mut self, counters: &impl Counters) {
        if !self.is_active
            || !self.is_complete()
            || self.has_failed()
            || self.binding.program.tanks < 2
        {
            return;
        }
        let Self { run, binding: ProgramBinding { program, counters: keys, .. }, .. } = self;
        for counter in own(keys, program, run.tank) {
            let level = counters.level(*counter);
            if level != 0 {
                counters.add(*counter, level.wrapping_neg());
                let level = level.cast_signed();
                run.failed.get_or_insert_with(|| {
                    ErrorClass::Intern.error(format!(
                        "a counter of the network interface is {level} at the end of an operation \
                         instead of 0: its result may be wrong"
                    ))
                });
            }
        }
    }

    pub(super) fn poll(&mut self) -> InstanceState {
        if let Some((step, done)) = self.run.host_due.pop_front() {
            self.run.host_issued.push((step, done));
            return InstanceState::HostStep(step);
        }
        if !self.is_complete() {
            return InstanceState::Waiting;
        }
        self.is_active = false;
        let failed = self.run.failed.take();
        InstanceState::Completed(self.lost.clone().or(failed).map_or(Ok(()), Err))
    }

    /// The host has run a step; the index of the counter to which that adds.
    ///
    /// # Panics
    /// If `poll` did not return that step.
    pub(super) fn host_done(&mut self, step: StepId, counters: &impl Counters) -> Option<u32> {
        let first = self.in_use().start;
        let run = &mut self.run;
        let at = run.host_issued.iter().position(|(issued, _)| *issued == step);
        let (_, done) = run.host_issued.swap_remove(at.expect("a step that poll returned"));
        if let Some(add) = done {
            let ProgramBinding { program, counters: keys, .. } = &self.binding;
            counters.add(own(keys, program, run.tank)[usize::from(add.counter)], add.value);
        }
        self.check_end(counters);
        done.map(|add| first + u32::from(add.counter))
    }

    /// Whether the instance has completed, or there is none.
    pub(super) fn is_complete(&self) -> bool {
        let run = &self.run;
        let all_started = run.complete && run.instance.is_complete(&self.binding.program);
        !self.is_active
            || (all_started || self.has_failed())
                && run.outstanding == 0
                && run.host_due.is_empty()
                && run.host_issued.is_empty()
    }

    /// What computes its reductions.
    pub(super) fn kernel(&self) -> Option<ReductionKernel> {
        self.binding.kernel.clone()
    }

    /// Whether steps for the host are due.
    pub(super) fn wants_host(&self) -> bool {
        !self.run.host_due.is_empty()
    }
}

/// The counters of one tank.
fn own<'a>(keys: &'a [CounterKey], program: &Program, tank: usize) -> &'a [CounterKey] {
    let count = usize::from(program.counters());
    &keys[tank * count..][..count]
}

/// A put; one without bytes names no memory and is a signal.
fn put(from: Span, linked: &PeerBinding, into: Region, signal: Signal) -> InterfaceAction {
    let peer: Peer = linked.peer;
    if into.len == 0 {
        return InterfaceAction::Signal { peer, signal };
    }
    let named = linked.buffers.iter().find(|(buffer, _): &&(Buffer, _)| *buffer == into.buffer);
    let &(_, key) = named.unwrap_or_else(|| panic!("{:?} of a peer has no key", into.buffer));
    let to = RemoteAddress { peer, key, offset: into.start as u64 };
    InterfaceAction::Put { from, to, signal: Some(signal) }
}
