//! A network interface with engines, counters and deferred work, as a value without I/O.
//!
//! ```text
//!   access, defer ────────────────┐
//!   start ──> deferred work ──────┴─> queues of engines ──next──> owner: copies, adds
//!                 ▲                                                  │ sent, done
//!                 └──── levels of counters (`Counters`) ◄────────────┘
//! ```
//!
//! The owner is a device. It posts commands and gets the next action from [`NetworkInterface::next`]. It
//! moves the bytes, without the lock on this value for long actions, and reports
//! [`NetworkInterface::sent`] (the source may be overwritten) and [`NetworkInterface::done`] (all bytes
//! are at the peer). Peers add to levels of counters without a call here, so the owner calls `next`
//! after such additions, after every command and after every report. A paced interface
//! ([`NetworkInterface::paced`]) also needs a call at [`NetworkInterface::next_event_ns`].
//!
//! Deferred work occupies slots, of which an interface has few. A program that starts gets a window of
//! slots until the instance has completed, at least one for each of its counters, so that the operation of
//! the lowest level is always posted; a slot is refilled when its operation has started, which takes the
//! time of a command if the interface is paced. If slots or counters are not enough, a program needs
//! neither: software looks at its counters, which are words of memory, and posts the same commands. Peers
//! see no difference.
//!
//! It knows no addresses of peers, threads or clocks. The idea: deferred work of libfabric
//! (fi_trigger(3)) and Portals 4 (triggered operations), with additions to counters of other ranks.

mod action;
mod counters;
mod engine;
mod loaded_program;
mod network_model;
#[cfg(test)]
mod tests;

pub(crate) use action::{ActionId, DueAction, InterfaceAction, Signal, combine};
pub(crate) use counters::Counters;
pub(crate) use network_model::{NetworkModel, TransferPath, TransferTimes};

use std::collections::{BTreeMap, BTreeSet, HashMap, VecDeque};
use std::ops::Range;

use crate::device::Busy;
use crate::device::access_ledger::{AccessLedger, CompletedPrefix};
use crate::device::rma::{NumberKind, PutSignal, RemoteAddress, RmaAccess, Update};
use crate::device::trigger::{
    CounterKey, InstanceState, InterfaceLimits, ProgramBinding, ProgramKey, ReductionKernel,
    Runner, SlotNeed,
};
use crate::offload::StepId;
use counters::CounterPool;
use engine::{AccessNumber, CommandOrigin, InterfaceEngines};
use loaded_program::{LoadedProgram, WorkOutcome};
use platform::base::{MpiError, Peer, Result, Slab, Span};

/// Accesses in progress, by default.
const ACCESSES_MAX: u32 = 4096;

/// The longest command that is short, in bytes: the thread that posts it may perform it, as the copy takes as long as a
/// wake-up of another thread.
pub(crate) const SHORT_MAX: usize = 4 << 10;

/// The longest copy that an engine thread makes in one piece, in bytes: at 5 GB/s, 52 µs. Between two parts, it sends
/// signals and serves other engines.
pub(crate) const PART_MAX: usize = 256 << 10;

/// The most counters of instances in progress that are looked at one by one.
const WATCHED_MAX: usize = 8;

/// The counters on which work of programs waits.
#[derive(Debug, Default)]
struct WaitingWork {
    /// For each counter, its program and its index there.
    by_counter: HashMap<CounterKey, (u32, u32)>,
    /// Counters that may have reached a level: of programs that have started, those to which this rank has
    /// added, and those that peers have changed.
    due: VecDeque<(u32, u32)>,
    /// Counters whose next operation is posted at a time, in nanoseconds.
    unposted: Vec<(u64, (u32, u32))>,
    /// The programs in progress, with the counters of the instances.
    in_progress: Vec<(u32, Range<u32>)>,
    /// How many counters these are, and how many of the programs have long commands.
    watched: usize,
    long: u32,
    /// [`Counters::additions`] at the last look.
    seen: u64,
}

/// An access that waits for all before it.
#[derive(Debug)]
struct DeferredCommand {
    peer: Peer,
    number: AccessNumber,
    action: InterfaceAction,
    engine: u8,
}

/// The interface of one rank.
#[derive(Debug)]
pub(crate) struct NetworkInterface {
    limits: InterfaceLimits,
    counters: CounterPool,
    slots_left: u32,
    programs: Slab<LoadedProgram>,
    waiting: WaitingWork,
    engines: InterfaceEngines,
    accesses: AccessLedger,
    /// The accesses to all peers together.
    all_accesses: CompletedPrefix,
    /// Accesses that wait for all before them, in their order; each has a slot.
    deferred: VecDeque<DeferredCommand>,
    accesses_max: u32,
    fallbacks: u64,
    progressed: bool,
    /// Peers that programs no longer reach, with the errors.
    failed: BTreeMap<Peer, Box<MpiError>>,
    /// Counters of programs that have failed, to which peers may still add.
    spoiled: BTreeSet<CounterKey>,
}

impl NetworkInterface {
    /// An interface with these limits. Its rank has `words` counters; those after the first
    /// [`InterfaceLimits::counters`] trigger nothing.
    pub(crate) fn new(limits: InterfaceLimits, words: u32) -> Self {
        Self {
            limits,
            counters: CounterPool::new(limits.counters, words),
            slots_left: limits.slots,
            programs: Slab::default(),
            waiting: WaitingWork::default(),
            engines: InterfaceEngines::new(&limits),
            accesses: AccessLedger::default(),
            all_accesses: CompletedPrefix::default(),
            deferred: VecDeque::new(),
            accesses_max: ACCESSES_MAX,
            fallbacks: 0,
            progressed: false,
            failed: BTreeMap::new(),
            spoiled: BTreeSet::new(),
        }
    }

    /// With the pace of `network`: `next` returns an action when its transfer would be complete.
    #[must_use]
    pub(crate) fn paced(mut self, network: Box<dyn NetworkModel>) -> Self {
        self.engines.set_network(network);
        self
    }

    /// With transfers of more than this number of bytes in parts, between which signals and other
    /// engines have their turns.
    #[must_use]
    pub(crate) fn divided(mut self, transfer_max: usize) -> Self {
        self.engines.limit_transfers(transfer_max);
        self
    }

    /// With room for this number of accesses in progress.
    #[must_use]
    pub(crate) fn limited(self, accesses_max: u32) -> Self {
        Self { accesses_max, ..self }
    }

    /// Resources of the interface.
    pub(crate) fn limits(&self) -> InterfaceLimits {
        self.limits
    }

    /// Takes counters, all of one kind, and sets them to 0.
    ///
    /// # Errors
    /// `NoMem` if there are not enough of either kind.
    pub(crate) fn reserve(
        &mut self, count: usize, levels: &impl Counters,
    ) -> Result<Vec<CounterKey>> {
        self.counters.take(count, levels)
    }

    /// Gives counters back, except those of programs that have failed; whether there are none of these.
    pub(crate) fn release(&mut self, counters: &[CounterKey]) -> bool {
        let is_good = |counter: &&CounterKey| !self.spoiled.contains(*counter);
        let good: Vec<CounterKey> = counters.iter().filter(is_good).copied().collect();
        good.iter().for_each(|counter| self.counters.release(*counter));
        good.len() == counters.len()
    }

    /// Starts an access of an engine, or of one chosen by the peer. The owner has checked an update.
    ///
    /// # Errors
    /// [`Busy`] with too many accesses in progress, as all accesses.
    pub(crate) fn access(&mut self, access: RmaAccess, engine: Option<u8>) -> Result<(), Busy> {
        self.begin(access.into(), None, engine)
    }

    /// Starts to copy `from` to memory of a peer, and then to add.
    ///
    /// # Errors
    /// [`Busy`].
    pub(crate) fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), Busy> {
        self.begin(InterfaceAction::Put { from, to, signal: None }, Some(signal), None)
    }

    /// Starts an access of an engine once all accesses before it, to any peers, have completed.
    ///
    /// # Errors
    /// [`Busy`], also without a free slot.
    pub(crate) fn defer(&mut self, access: RmaAccess, engine: u8) -> Result<(), Busy> {
        if self.all_accesses.is_complete() {
            return self.access(access, Some(engine));
        }
        if self.slots_left == 0 {
            return Err(Busy);
        }
        let action = InterfaceAction::from(access);
        let (peer, number) = self.issue(&action)?;
        self.slots_left -= 1;
        self.deferred.push_back(DeferredCommand { peer, number, action, engine });
        Ok(())
    }

    fn begin(
        &mut self, action: InterfaceAction, signal: Option<PutSignal>, engine: Option<u8>,
    ) -> Result<(), Busy> {
        let (peer, number) = self.issue(&action)?;
        let engine = self.engines.choose(engine, 0, peer);
        self.engines.post(engine, CommandOrigin::Access { peer, number, signal }, action);
        Ok(())
    }

    /// Counts an access.
    fn issue(&mut self, action: &InterfaceAction) -> Result<(Peer, AccessNumber), Busy> {
        if self.accesses.in_progress() >= u64::from(self.accesses_max) {
            return Err(Busy);
        }
        let peer = action.peer().unwrap_or(0);
        let of_peer = self.accesses.issue(peer);
        Ok((peer, AccessNumber { of_peer, of_all: self.all_accesses.issue() }))
    }

    /// Posts the deferred accesses that are due.
    fn post_deferred(&mut self) {
        while let Some(first) = self.deferred.front()
            && self.all_accesses.completed() + 1 == first.number.of_all
            && let Some(DeferredCommand { peer, number, action, engine }) =
                self.deferred.pop_front()
        {
            self.slots_left += 1;
            let engine = self.engines.choose(Some(engine), 0, peer);
            let origin = CommandOrigin::Access { peer, number, signal: None };
            self.engines.post(engine, origin, action);
        }
    }

    /// The accesses of this rank, with their ends.
    pub(crate) fn accesses(&mut self) -> &mut AccessLedger {
        &mut self.accesses
    }

    /// Loads a program, for software if that is wanted or the hardware lacks a resource.
    ///
    /// # Panics
    /// If the program names ranks, counters or memory that `binding` does not have.
    pub(crate) fn load(&mut self, binding: ProgramBinding, by_software: bool) -> ProgramKey {
        let needs = match by_software {
            true => Err("requested by the caller"),
            false => self.needs(&binding),
        };
        let mut loaded = LoadedProgram::new(binding, needs);
        if let (Err(why), false) = (needs, by_software) {
            count_fallback(&mut self.fallbacks, &mut loaded, why);
        }
        let counters = loaded.counters().to_vec();
        let key = self.programs.insert(loaded);
        self.waiting.insert(key, &counters);
        ProgramKey(key)
    }

    /// The slots that an instance needs, or why the hardware never can run one.
    fn needs(&self, binding: &ProgramBinding) -> Result<SlotNeed, &'static str> {
        if !binding.counters.iter().all(|counter| self.counters.triggers(*counter)) {
            return Err("the interface has no free counters");
        }
        self.limits.slots_for(&binding.program)
    }

    /// What runs the last instance of a program.
    ///
    /// # Panics
    /// If there is no such program, as all methods below.
    pub(crate) fn runner(&self, program: ProgramKey) -> Runner {
        self.programs[program.0].runner
    }

    /// Sends the puts of an idle program to these ranks through these engines.
    pub(crate) fn assign_engines(&mut self, program: ProgramKey, engines: &[(u32, u8)]) {
        self.programs[program.0].assign_engines(engines);
    }

    /// Starts the next instance of a program.
    ///
    /// # Panics
    /// If it is not idle.
    pub(crate) fn start(&mut self, program: ProgramKey) {
        let loaded = &mut self.programs[program.0];
        let lost = loaded.peers().find_map(|peer| self.failed.get(&peer));
        if let Some(error) = lost {
            loaded.fail(error);
        }
        match loaded.needs.and_then(|needs| needs.window(self.slots_left)) {
            Ok(window) => {
                self.slots_left -= window;
                loaded.start(Runner::Interface, window);
            }
            Err(why) => {
                loaded.start(Runner::Software(why), 0);
                if loaded.needs.is_ok() {
                    count_fallback(&mut self.fallbacks, loaded, why);
                }
            }
        }
        self.waiting.begin(program.0, loaded);
    }

    /// Ends the instance in progress with an error once no command uses its memory, and all later ones.
    pub(crate) fn fail(&mut self, program: ProgramKey, error: &MpiError) {
        let loaded = &mut self.programs[program.0];
        loaded.fail(error);
        self.progressed |= loaded.is_complete();
    }

    /// Programs no longer reach `peer`: those that start with it from now on fail, and with `ends_programs`
    /// those in progress.
    pub(crate) fn peer_failed(&mut self, peer: Peer, error: &MpiError, ends_programs: bool) {
        self.failed.entry(peer).or_insert_with(|| Box::new(error.clone()));
        for loaded in self.programs.values_mut().filter(|it| ends_programs && it.names(peer)) {
            loaded.fail(error);
            self.progressed |= loaded.is_complete();
        }
    }

    /// How many instances are in progress, and how many of them have commands of more than [`SHORT_MAX`] bytes.
    pub(crate) fn active(&self) -> (u32, u32) {
        (self.waiting.in_progress.len() as u32, self.waiting.long)
    }

    /// Whether an instance is in progress that names such a peer.
    pub(crate) fn is_any_active(&self, is_meant: impl Fn(Peer) -> bool) -> bool {
        self.in_progress().any(|loaded| loaded.peers().any(&is_meant))
    }

    fn in_progress(&self) -> impl Iterator<Item = &LoadedProgram> {
        self.waiting.in_progress.iter().map(|(program, _)| &self.programs[*program])
    }

    /// The state of an instance.
    pub(crate) fn poll_program(&mut self, program: ProgramKey) -> InstanceState {
        let loaded = &mut self.programs[program.0];
        let was_active = !loaded.is_idle();
        let state = loaded.poll();
        if matches!(state, InstanceState::Completed(_)) {
            if was_active {
                self.waiting.end(program.0, loaded);
            }
            self.slots_left += std::mem::take(&mut loaded.window);
        }
        state
    }

    /// The host has run a step that `poll_program` returned.
    ///
    /// # Panics
    /// If it did not return that step.
    pub fn host_done(&mut self, program: ProgramKey, step: StepId, levels: &impl Counters) {
        let loaded = &mut self.programs[program.0];
        let added = loaded.host_done(step, levels);
        self.waiting.due.extend(added.map(|counter| (program.0, counter)));
        self.progressed |= loaded.is_complete();
    }

    /// Unloads an idle program.
    ///
    /// # Panics
    /// If it is not idle.
    pub fn unload(&mut self, program: ProgramKey) {
        let loaded = self.programs.remove(program.0).expect("a loaded program");
        assert!(loaded.is_idle(), "a program is unloaded when it is idle");
        if loaded.has_failed() {
            self.spoiled.extend(loaded.counters());
        }
        self.waiting.remove(loaded.counters());
    }

    /// How many programs were for software because the hardware lacked a resource.
    pub(crate) fn fallbacks(&self) -> u64 {
        self.fallbacks
    }

    /// What computes an action in progress; `None` if that is no [`InterfaceAction::Reduce`].
    pub(crate) fn kernel(&self, due: &DueAction) -> Option<ReductionKernel> {
        let InterfaceAction::Reduce { .. } = due.action else { return None };
        match self.engines.origin(due.id) {
            CommandOrigin::Work { program, .. } => self.programs[program].kernel(),
            CommandOrigin::Access { .. } => None,
        }
    }

    /// The next action at `now_ns`; `None` until an event or [`NetworkInterface::next_event_ns`].
    pub(crate) fn next(&mut self, now_ns: u64, levels: &impl Counters) -> Option<DueAction> {
        self.waiting.take_posted(now_ns);
        self.waiting.take_changed(levels);
        while let Some((program, counter)) = self.waiting.due.pop_front() {
            self.run(program, counter, now_ns, levels);
            self.waiting.take_changed(levels);
        }
        self.engines.next(now_ns)
    }

    /// Time of the next action without an event before, in nanoseconds; always `None` without a pace.
    pub(crate) fn next_event_ns(&self) -> Option<u64> {
        let posted = self.waiting.unposted.iter().map(|(at_ns, _)| *at_ns);
        self.engines.next_event_ns().into_iter().chain(posted).min()
    }

    /// Starts all due work that waits for a counter of a program, if that is still loaded.
    fn run(&mut self, program: u32, counter: u32, now_ns: u64, levels: &impl Counters) {
        let Some(loaded) = self.programs.get_mut(program) else { return };
        let post_ns = self.engines.post_ns();
        let mut any = false;
        while let Some(step) = loaded.next(counter, now_ns, post_ns, levels) {
            match step {
                WorkOutcome::Command { action, engine, done } => {
                    let origin = CommandOrigin::Work { program, done };
                    let peer = action.peer().unwrap_or(0);
                    let engine = self.engines.choose(engine, program, peer);
                    self.engines.post(engine, origin, action);
                }
                // Its own counter is the next one that this loop looks at.
                WorkOutcome::Added(other) if other != counter => {
                    self.waiting.due.push_back((program, other));
                }
                WorkOutcome::Added(_) | WorkOutcome::Nothing => (),
                WorkOutcome::Unposted(at_ns) => {
                    self.waiting.unposted.push((at_ns, (program, counter)));
                    break;
                }
            }
            any = true;
        }
        self.progressed |= any && (loaded.is_complete() || loaded.wants_host());
    }

    /// The source of an action may be overwritten, and its engine is free.
    ///
    /// # Panics
    /// If `next` has not returned the action, as [`NetworkInterface::done`].
    pub(crate) fn sent(&mut self, action: ActionId, levels: &impl Counters) {
        if let Some(CommandOrigin::Work { program, done }) = self.engines.sent(action) {
            self.work_sent(program, done, Ok(()), levels);
        }
    }

    /// An action has completed, with or without a call of [`NetworkInterface::sent`] before.
    ///
    /// After `sent`, an error is kept for an access only: a program may have completed by then.
    pub(crate) fn done(&mut self, action: ActionId, end: Result, levels: &impl Counters) {
        let Some(action) = self.engines.done(action, end.is_err()) else { return };
        match action.origin {
            CommandOrigin::Access { peer, number, signal: Some(signal) } if end.is_ok() => {
                let (at, old) = (signal.address(peer), Span::EMPTY);
                let (kind, update) = (NumberKind::Unsigned8, Update::Add(signal.addend));
                let add = InterfaceAction::Update { at, kind, update, old };
                let engine = self.engines.choose(None, 0, peer);
                let origin = CommandOrigin::Access { peer, number, signal: None };
                self.engines.post(engine, origin, add);
            }
            CommandOrigin::Access { peer, number, .. } => {
                self.accesses.complete(peer, number.of_peer, end);
                self.all_accesses.complete(number.of_all);
                self.progressed = true;
                self.post_deferred();
            }
            CommandOrigin::Work { program, done } if !action.is_sent => {
                self.work_sent(program, done, end, levels);
            }
            CommandOrigin::Work { .. } => (),
        }
    }

    fn work_sent(
        &mut self, program: u32, done: Option<(u32, u64)>, end: Result, levels: &impl Counters,
    ) {
        let loaded = &mut self.programs[program];
        if let Some((counter, value)) = done {
            levels.add(loaded.counters()[counter as usize], value);
            self.waiting.due.push_back((program, counter));
        }
        self.progressed |= loaded.sent(end.err(), levels);
    }

    /// Whether there was progress since the last call, for [`NetworkInterface::poll_program`] or
    /// [`NetworkInterface::accesses`].
    pub(crate) fn take_progressed(&mut self) -> bool {
        std::mem::take(&mut self.progressed)
    }

    /// Whether no command is due, waits or is in progress.
    pub(crate) fn is_idle(&self) -> bool {
        self.engines.are_idle() && self.deferred.is_empty() && self.waiting.due.is_empty()
    }

    /// Whether [`NetworkInterface::poll_program`] has something to tell.
    pub(crate) fn has_news(&self) -> bool {
        self.in_progress().any(|loaded| loaded.is_complete() || loaded.wants_host())
    }
}

impl WaitingWork {
    fn insert(&mut self, program: u32, counters: &[CounterKey]) {
        let at = counters.iter().zip(0..).map(|(&counter, at)| (counter, (program, at)));
        self.by_counter.extend(at);
        // No start allocates memory, unless counters change at the same time.
        self.due.reserve(self.by_counter.len().saturating_sub(self.due.len()));
        self.in_progress.reserve(self.by_counter.len().saturating_sub(self.in_progress.len()));
    }

    fn remove(&mut self, counters: &[CounterKey]) {
        for counter in counters {
            self.by_counter.remove(counter);
        }
    }

    fn take_posted(&mut self, now_ns: u64) {
        let Self { due, unposted, .. } = self;
        let posted = unposted.extract_if(.., |(at_ns, _)| *at_ns <= now_ns);
        due.extend(posted.map(|(_, at)| at));
    }

    /// An instance of a program is in progress from now on.
    fn begin(&mut self, program: u32, loaded: &LoadedProgram) {
        let counters = loaded.in_use();
        self.long += u32::from(loaded.is_long);
        self.watched += counters.len();
        self.due.extend(counters.clone().map(|at| (program, at)));
        self.in_progress.push((program, counters));
    }

    fn end(&mut self, program: u32, loaded: &LoadedProgram) {
        self.long -= u32::from(loaded.is_long);
        let at = self.in_progress.iter().position(|(other, _)| *other == program);
        let (_, counters) = self.in_progress.swap_remove(at.expect("it has begun"));
        self.watched -= counters.len();
    }

    /// Finds the counters that peers may have raised to a level. Few are looked at one by one: their marks stay set,
    /// so peers that add need not write them again, nor this rank read them.
    fn take_changed(&mut self, levels: &impl Counters) {
        let additions = levels.additions();
        if std::mem::replace(&mut self.seen, additions) == additions {
            return;
        }
        let Self { by_counter, due, in_progress, .. } = self;
        if self.watched > WATCHED_MAX {
            levels.take_changed(|counter| due.extend(by_counter.get(&counter)));
            return;
        }
        for (program, counters) in &*in_progress {
            due.extend(counters.clone().map(|at| (*program, at)));
        }
    }
}

/// Counts a program of which the hardware cannot run an instance, once.
fn count_fallback(fallbacks: &mut u64, loaded: &mut LoadedProgram, why: &'static str) {
    if std::mem::replace(&mut loaded.is_fallback, true) {
        return;
    }
    if *fallbacks == 0 {
        tracing::warn!("software runs a program of deferred work, because {why}");
    }
    *fallbacks += 1;
}
