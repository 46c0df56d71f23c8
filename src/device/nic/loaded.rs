//! A program that was loaded: its names bound to memory and counters, and the instance under way.
//!
//! ```text
//!          start                    all work started, Complete among it,
//!   idle ────────> under way ──────> and nothing reads its memory ──look──> idle
//! ```

use std::collections::VecDeque;

use super::action::{Action, Signal};
use super::counters::Counters;
use crate::base::{MpiError, Peer, Span};
use crate::device::rma::Remote;
use crate::device::trigger::{CounterKey, Linked, Loading, Look, Runner};
use crate::offload::{Add, Buffer, Instance, Op, Program, Region, StepId};

/// Marks work that is for no other rank.
const NOBODY: u32 = u32::MAX;

/// What a program's work comes to.
pub(super) enum Step {
    /// A command for an engine: any, or a certain one.
    Command { action: Action, engine: Option<u8>, done: Option<(CounterKey, u64)> },
    /// Work that is done at once.
    Nothing,
}

#[derive(Debug)]
pub(super) struct Loaded {
    loading: Loading,
    /// For each work, the entry of `loading.peers` that it is for.
    links: Box<[u32]>,
    /// For each entry of `loading.peers`, the engine of puts to it, if that was arranged.
    arranged: Box<[Option<u8>]>,
    pub(super) runner: Runner,
    /// Deferred work of the interface that it may have posted at a time.
    pub(super) window: u32,
    /// Instances started so far.
    started: u64,
    is_under_way: bool,
    /// The last instance, whose memory is that of the next one: no start takes any.
    run: Run,
}

/// An instance.
#[derive(Debug)]
struct Run {
    instance: Instance,
    tank: usize,
    /// [`Op::Complete`] was reached.
    complete: bool,
    /// Commands whose source must not be overwritten yet.
    outstanding: u32,
    failed: Option<Box<MpiError>>,
    /// For the host: steps that nobody has asked for, and those that were handed to it.
    due: VecDeque<(StepId, Option<Add>)>,
    asked: Vec<(StepId, Option<Add>)>,
}

impl Loaded {
    /// # Panics
    /// If the program names ranks, counters or memory that `loading` does not have.
    pub(super) fn new(loading: Loading, runner: Runner, window: u32) -> Self {
        let program = &loading.program;
        assert_eq!(
            loading.counters.len(),
            usize::from(program.counters()) * usize::from(program.tanks)
        );
        let link = |op: &Op| match *op {
            Op::Put { to, .. } | Op::Signal { to, .. } => {
                let found = loading.peers.iter().position(|linked| linked.rank == to);
                found.unwrap_or_else(|| panic!("rank {to} of the program is not linked")) as u32
            }
            _ => NOBODY,
        };
        let links = program.work().iter().map(|work| link(&work.op)).collect();
        let arranged = vec![None; loading.peers.len()].into();
        let hosts = program.work().iter().filter(|work| matches!(work.op, Op::Host { .. })).count();
        let run = Run {
            instance: Instance::new(program),
            tank: 0,
            complete: false,
            outstanding: 0,
            failed: None,
            due: VecDeque::with_capacity(hosts),
            asked: Vec::with_capacity(hosts),
        };
        Self { loading, links, arranged, runner, window, started: 0, is_under_way: false, run }
    }

    /// Chooses the engines of puts to these ranks, which keep their order so.
    pub(super) fn arrange(&mut self, engines: &[(u32, u8)]) {
        for &(rank, engine) in engines {
            let at = self.loading.peers.iter().position(|linked| linked.rank == rank);
            if let Some(at) = at {
                self.arranged[at] = Some(engine);
            }
        }
    }

    pub(super) fn is_idle(&self) -> bool {
        !self.is_under_way
    }

    /// # Panics
    /// If it is not idle.
    pub(super) fn start(&mut self) {
        assert!(self.is_idle(), "a program starts when its last instance is over");
        let Self { run, loading: Loading { program, .. }, .. } = self;
        run.instance.restart(program);
        run.tank = program.tank(self.started);
        run.complete = false;
        self.is_under_way = true;
        self.started += 1;
    }

    /// Starts the next work whose counter lets it; `None` until a level rises.
    pub(super) fn next(&mut self, counters: &impl Counters) -> Option<Step> {
        if !self.is_under_way {
            return None;
        }
        let Self { run, loading: Loading { program, counters: keys, .. }, .. } = self;
        let own = own(keys, program, run.tank);
        let level = |counter| counters.level(own[usize::from(counter)]);
        let index = run.instance.next(program, level)?;
        let op = program.work()[index].op;
        match op {
            Op::Add(add) => counters.add(own[usize::from(add.counter)], add.value),
            Op::Complete => run.complete = true,
            Op::Host { step, done } => run.due.push_back((step, done)),
            _ => {
                run.outstanding += 1;
                return Some(self.command(op, index));
            }
        }
        Some(Step::Nothing)
    }

    fn command(&self, op: Op, index: usize) -> Step {
        let Self { run, loading: Loading { program, counters, peers, .. }, .. } = self;
        let own = own(counters, program, run.tank);
        let done = |done: Option<Add>| done.map(|add| (own[usize::from(add.counter)], add.value));
        let linked = peers.get(self.links[index] as usize);
        let signal = |add: Add| {
            let linked = linked.expect("linked when it was loaded");
            let counters = linked.counters.len() / usize::from(program.tanks);
            let counter = linked.counters[run.tank * counters + usize::from(add.counter)];
            (linked, Signal { counter, value: add.value })
        };
        match op {
            Op::Put { from, into, signal: add, done: after, engine, .. } => {
                let (linked, signal) = signal(add);
                let action = put(self.span(from), linked, into, signal);
                let arranged = self.arranged[self.links[index] as usize];
                Step::Command { action, engine: arranged.or(engine), done: done(after) }
            }
            Op::Signal { signal: add, .. } => {
                let (linked, signal) = signal(add);
                let action = Action::Signal { peer: linked.peer, signal };
                Step::Command { action, engine: None, done: None }
            }
            Op::Copy { from, into, done: after } => {
                let action = Action::Copy { from: self.span(from), into: self.span(into) };
                Step::Command { action, engine: None, done: done(after) }
            }
            Op::Combine { from, into, with, done: after } => {
                let action = Action::Combine { from: self.span(from), into: self.span(into), with };
                Step::Command { action, engine: None, done: done(after) }
            }
            Op::Host { .. } | Op::Add(_) | Op::Complete => Step::Nothing,
        }
    }

    fn span(&self, region: Region) -> Span {
        if region.len == 0 {
            return Span::EMPTY;
        }
        let named = self.loading.memory.iter().find(|(buffer, _)| *buffer == region.buffer);
        let (_, span) = named.unwrap_or_else(|| panic!("{:?} has no memory", region.buffer));
        span.part(region.start, region.len)
    }

    /// The source of one of its commands may be overwritten; whether the instance is over by that.
    pub(super) fn left(&mut self, failed: Option<Box<MpiError>>) -> bool {
        self.run.outstanding -= 1;
        self.run.failed = self.run.failed.take().or(failed);
        self.is_over()
    }

    pub(super) fn look(&mut self) -> Look {
        if let Some((step, done)) = self.run.due.pop_front() {
            self.run.asked.push((step, done));
            return Look::Host(step);
        }
        if !self.is_over() {
            return Look::Waits;
        }
        self.is_under_way = false;
        Look::Over(self.run.failed.take().map_or(Ok(()), Err))
    }

    /// # Panics
    /// If the host was not asked for that step.
    pub(super) fn host_done(&mut self, step: StepId, counters: &impl Counters) {
        let run = &mut self.run;
        let at = run.asked.iter().position(|(asked, _)| *asked == step);
        let (_, done) = run.asked.swap_remove(at.expect("a step that a look asked for"));
        if let Some(add) = done {
            let Loading { program, counters: keys, .. } = &self.loading;
            counters.add(own(keys, program, run.tank)[usize::from(add.counter)], add.value);
        }
    }

    /// Whether a look would say so.
    pub(super) fn is_over(&self) -> bool {
        let run = &self.run;
        let started = run.complete && run.instance.is_over(&self.loading.program);
        !self.is_under_way
            || started && run.outstanding == 0 && run.due.is_empty() && run.asked.is_empty()
    }

    /// Whether the host has something to do.
    pub(super) fn wants_host(&self) -> bool {
        !self.run.due.is_empty()
    }
}

/// The counters of one tank.
fn own<'a>(keys: &'a [CounterKey], program: &Program, tank: usize) -> &'a [CounterKey] {
    let count = usize::from(program.counters());
    &keys[tank * count..][..count]
}

/// A put; one without bytes names no memory and is a signal.
fn put(from: Span, linked: &Linked, into: Region, signal: Signal) -> Action {
    let peer: Peer = linked.peer;
    if into.len == 0 {
        return Action::Signal { peer, signal };
    }
    let named = linked.buffers.iter().find(|(buffer, _): &&(Buffer, _)| *buffer == into.buffer);
    let &(_, key) = named.unwrap_or_else(|| panic!("{:?} of a peer has no key", into.buffer));
    let to = Remote { peer, key, offset: into.start as u64 };
    Action::Put { from, to, signal: Some(signal) }
}
