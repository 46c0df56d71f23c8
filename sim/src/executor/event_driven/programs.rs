//! Programs of interfaces: work that starts when a counter reaches a level.
//!
//! ```text
//!   processor   ├ o ┤ start                                    noticed ├ o ┤ next start
//!   interface       └─> work of level 0 ─> ... ─> end of the instance ─┘
//! ```
//!
//! The processor of a rank starts an instance, computes its reductions and notices its end, so noise delays these and
//! nothing else. A put occupies an engine, then the links and the port of its receiver as a message of a schedule; its
//! addition follows the last byte. An addition without bytes waits for no engine and no port, as its packets go between
//! those of transfers. A copy occupies an engine. Work beyond the slots of the interface is posted later
//! ([`PostedWork`]), as in the library's interfaces (`devices::interface`).

use mpi_abi::device::trigger::{InterfaceLimits, PostedWork};
use mpi_abi::offload::{CounterAdd, CounterId, Instance, Program, ProgramOp};

use super::causes::{EventMark, PathPart};
use super::event_queue::EventKind;
use super::links::{LinkMessage, LinkNetwork};
use super::machine::{EventExecutor, EventMachine, SimulatedPort};
use crate::executor::chunk::MessageTotals;
use crate::executor::costs::StepCosts;
use crate::executor::levelled::{PROGRESS, ReportProgress};
use crate::executor::mark::ProcessorWork;

/// The interfaces of all ranks, and how often they run their programs.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct InterfaceSetting {
    /// Counters, slots and engines.
    pub limits: InterfaceLimits,
    /// The time to post an operation to a slot.
    pub post_ps: u64,
    /// Starts of each program, one after the other.
    pub instances: u32,
    /// Whether to keep all [`LevelChange`]s.
    pub traces: bool,
}

/// A change of a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LevelChange {
    /// When.
    pub time_ps: u64,
    /// The rank of the counter.
    pub rank: u32,
    /// Its tank.
    pub tank: usize,
    /// The counter.
    pub counter: CounterId,
    /// The new value.
    pub level: u64,
}

/// What a run of programs shows beside its times.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InstanceTimes {
    /// When each rank has noticed the end of each instance.
    pub ends_ps: Vec<Vec<u64>>,
    /// All changes of counters by time, if they are kept.
    pub changes: Vec<LevelChange>,
}

/// Executes the programs of all ranks.
pub(super) struct ProgramExecutor<'a> {
    pub(super) machine: EventMachine<'a>,
    programs: &'a [Program],
    setting: InterfaceSetting,
    ranks: Vec<ProgramRank>,
    pending: Vec<Pending>,
    /// Numbers of pending additions that have come.
    free: Vec<u32>,
    /// Counters of the present rank that may have reached a level.
    due: Vec<CounterId>,
    pub(super) times: InstanceTimes,
    /// Instances of all ranks.
    completed: u64,
    pub(super) quiet_ps: u64,
}

/// A rank with its interface.
#[derive(Debug)]
struct ProgramRank {
    /// The counters of tank 0, then those of tank 1.
    levels: Vec<u64>,
    instance: Option<Instance>,
    /// Of the present instance, or the next one.
    number: u64,
    /// When the processor is free.
    free: EventMark,
    /// The slots of an instance.
    window: u32,
    posted: PostedWork,
    engines: Vec<SimulatedPort>,
    receive_port: SimulatedPort,
    end: EventMark,
}

/// What follows a message, the end of work, or a wait.
#[derive(Clone, Copy, Debug)]
struct Pending {
    mark: EventMark,
    bytes: u64,
    then: PendingStep,
}

#[derive(Clone, Copy, Debug)]
enum PendingStep {
    /// The instance starts.
    Start,
    Add {
        tank: u8,
        add: CounterAdd,
    },
    /// Work of this counter is posted.
    Post(CounterId),
}

/// Numbers of messages of all instances of these programs.
pub(super) fn totals(programs: &[Program], setting: &InterfaceSetting) -> MessageTotals {
    let mut all = MessageTotals::default();
    let instances = u64::from(setting.instances);
    for program in programs {
        let mut own = MessageTotals::default();
        for work in program.work() {
            own.steps += instances;
            match work.op {
                ProgramOp::Put { from, .. } => {
                    own.messages += instances;
                    own.bytes += instances * from.len as u64;
                }
                ProgramOp::Signal { .. } => own.messages += instances,
                ProgramOp::Copy { from, .. }
                | ProgramOp::Host { from, .. }
                | ProgramOp::Combine { from, .. } => {
                    own.local_bytes += instances * from.len as u64;
                }
                ProgramOp::Add(_) | ProgramOp::Complete => {}
            }
        }
        (own.messages_max, own.bytes_max) = (own.messages, own.bytes);
        all.add(own);
    }
    all
}

impl<'a> ProgramExecutor<'a> {
    /// # Errors
    /// The interface of a rank cannot hold its program.
    pub(super) fn new(
        programs: &'a [Program], costs: &'a StepCosts, network: Option<&'a LinkNetwork>,
        setting: InterfaceSetting,
    ) -> Result<Self, String> {
        let rank = |(rank, program): (usize, &Program)| {
            ProgramRank::new(program, &setting.limits).map_err(|why| format!("rank {rank}: {why}"))
        };
        Ok(Self {
            machine: EventMachine::new(programs.len() as u32, costs, network),
            programs,
            setting,
            ranks: programs.iter().enumerate().map(rank).collect::<Result<_, _>>()?,
            pending: Vec::new(),
            free: Vec::new(),
            due: Vec::new(),
            times: InstanceTimes {
                ends_ps: vec![Vec::new(); programs.len()],
                ..InstanceTimes::default()
            },
            completed: 0,
            quiet_ps: 0,
        })
    }

    /// Executes all instances; returns the number of events.
    ///
    /// # Errors
    /// A program stops before its end.
    pub(super) fn run(&mut self, progress: ReportProgress<'_>) -> Result<u64, String> {
        let instances = u64::from(self.setting.instances);
        let all = instances * self.ranks.len() as u64;
        (0..self.ranks.len() as u32).for_each(|rank| self.start(rank));
        let events = self.execute(|run| progress(PROGRESS * run.completed / all));
        match self.ranks.iter().position(|rank| rank.number < instances) {
            Some(rank) => {
                Err(format!("rank {rank} never completes instance {}", self.ranks[rank].number))
            }
            None => Ok(events),
        }
    }

    /// When each rank has noticed the end of its last instance.
    pub(super) fn ends(&self) -> impl Iterator<Item = EventMark> {
        self.ranks.iter().map(|rank| rank.end)
    }

    /// Work of the processor of a rank.
    fn worked(&mut self, rank: u32, ready: EventMark, work: ProcessorWork) -> EventMark {
        let own = &mut self.ranks[rank as usize];
        let start = if self.machine.costs.network.contends { ready.later(own.free) } else { ready };
        own.free = self.machine.after_work(rank, start, work);
        own.free
    }

    /// The processor starts the next instance.
    fn start(&mut self, rank: u32) {
        let overhead = ProcessorWork::Overhead(self.machine.costs.network.overhead_ps);
        let started = self.worked(rank, self.ranks[rank as usize].end, overhead);
        self.complete_at(started, rank, PendingStep::Start);
    }

    /// All work of an instance has started, and the processor notices it.
    fn end(&mut self, rank: u32, mark: EventMark) {
        let overhead = ProcessorWork::Overhead(self.machine.costs.network.overhead_ps);
        let end = self.worked(rank, mark, overhead);
        let own = &mut self.ranks[rank as usize];
        (own.instance, own.end) = (None, end);
        own.number += 1;
        self.completed += 1;
        self.quiet_ps = end.time_ps.max(self.quiet_ps);
        self.times.ends_ps[rank as usize].push(end.time_ps);
        if own.number < u64::from(self.setting.instances) {
            self.start(rank);
        }
    }

    /// A number for what is pending.
    fn pend(&mut self, pending: Pending) -> u32 {
        match self.free.pop() {
            Some(number) => {
                self.pending[number as usize] = pending;
                number
            }
            None => {
                self.pending.push(pending);
                self.pending.len() as u32 - 1
            }
        }
    }

    fn complete_at(&mut self, mark: EventMark, rank: u32, then: PendingStep) {
        let number = self.pend(Pending { mark, bytes: 0, then });
        self.machine.events.push(mark.time_ps, rank, number, EventKind::Complete);
    }

    fn add_at(&mut self, mark: EventMark, rank: u32, tank: u8, add: Option<CounterAdd>) {
        if let Some(add) = add {
            self.complete_at(mark, rank, PendingStep::Add { tank, add });
        }
    }

    /// Adds to a counter of a rank.
    fn add(&mut self, time_ps: u64, rank: u32, tank: u8, add: CounterAdd) {
        let (tank, counter) = (usize::from(tank), add.counter);
        let own = &mut self.ranks[rank as usize];
        let counters = usize::from(self.programs[rank as usize].counters());
        let level = &mut own.levels[tank * counters + usize::from(counter)];
        *level = level.wrapping_add(add.value);
        if self.setting.traces {
            let change = LevelChange { time_ps, rank, tank, counter, level: *level };
            self.times.changes.push(change);
        }
    }

    /// Starts all work that waits for the counters that are due.
    fn advance(&mut self, rank: u32, mark: EventMark) {
        let program = &self.programs[rank as usize];
        while let Some(counter) = self.due.pop() {
            loop {
                let own = &mut self.ranks[rank as usize];
                let Some(instance) = &mut own.instance else { break };
                let posted_ps = own.posted.next(own.window).filter(|at_ps| *at_ps > mark.time_ps);
                if let Some(posted_ps) = posted_ps {
                    if instance.awaited(program, counter).is_some() {
                        let posted = self.machine.causes.after(mark, PathPart::Gap, posted_ps);
                        self.complete_at(posted, rank, PendingStep::Post(counter));
                    }
                    break;
                }
                let tank = program.tank(own.number);
                let at = tank * usize::from(program.counters()) + usize::from(counter);
                let level = || own.levels[at];
                let Some(index) = instance.next_of(program, counter, level) else { break };
                own.posted.begin(own.window, mark.time_ps, self.setting.post_ps);
                self.work(rank, mark, tank as u8, program.work()[index].op);
            }
        }
        let own = &self.ranks[rank as usize];
        if own.instance.as_ref().is_some_and(|instance| instance.is_complete(program)) {
            self.end(rank, mark);
        }
    }

    /// Starts an operation.
    fn work(&mut self, rank: u32, mark: EventMark, tank: u8, op: ProgramOp) {
        let network = &self.machine.costs.network;
        match op {
            ProgramOp::Put { to, from, signal, done, engine, .. } if from.len > 0 => {
                let message = self.message((rank, to), from.len, tank, signal);
                let engine = engine.map_or(to, u32::from);
                let left = self.through(rank, engine, mark, |run, start| run.leave(start, message));
                self.add_at(left, rank, tank, done);
            }
            ProgramOp::Put { to, signal, done, .. } => {
                let message = self.message((rank, to), 0, tank, signal);
                let left = self.leave(mark, message);
                self.add_at(left, rank, tank, done);
            }
            ProgramOp::Signal { to, signal } => {
                let message = self.message((rank, to), 0, tank, signal);
                self.leave(mark, message);
            }
            ProgramOp::Copy { from, done, .. } => {
                let took_ps = from.len as u64 * network.copied_ps;
                self.compute(rank, mark, took_ps, tank, done);
            }
            ProgramOp::Combine { from, done, .. } => {
                let took_ps = from.len as u64 * network.reduced_ps;
                self.compute(rank, mark, took_ps, tank, done);
            }
            ProgramOp::Host { from, done, .. } => {
                let work = ProcessorWork::Arithmetic(from.len as u64 * network.reduced_ps);
                let end = self.worked(rank, mark, work);
                self.add_at(end, rank, tank, done);
            }
            ProgramOp::Add(add) => {
                self.add(mark.time_ps, rank, tank, add);
                self.due.push(add.counter);
            }
            ProgramOp::Complete => {}
        }
    }

    /// An engine computes or copies.
    fn compute(
        &mut self, rank: u32, mark: EventMark, took_ps: u64, tank: u8, done: Option<CounterAdd>,
    ) {
        let end = self.through(rank, rank, mark, |run, start| {
            let end_ps = start.time_ps + took_ps;
            run.machine.causes.after(start, PathPart::Arithmetic, end_ps)
        });
        self.add_at(end, rank, tank, done);
    }

    /// Does something by an engine when that is free; `then` returns its end.
    fn through(
        &mut self, rank: u32, engine: u32, ready: EventMark,
        then: impl FnOnce(&mut Self, EventMark) -> EventMark,
    ) -> EventMark {
        if !self.machine.costs.network.contends {
            return then(self, ready);
        }
        let engine = engine as usize % self.ranks[rank as usize].engines.len();
        let mut port = self.ranks[rank as usize].engines[engine];
        let start = self.machine.begin(&port, ready);
        let end = then(self, start);
        self.machine.use_port(&mut port, end);
        self.ranks[rank as usize].engines[engine] = port;
        end
    }

    /// A message from one rank to another, which adds to a counter there.
    fn message(
        &mut self, (from, to): (u32, u32), bytes: usize, tank: u8, add: CounterAdd,
    ) -> LinkMessage {
        let bytes = bytes as u64;
        let then = PendingStep::Add { tank, add };
        let receive = self.pend(Pending { mark: EventMark::default(), bytes, then });
        LinkMessage { from, to, receive, bytes }
    }
}

impl ProgramRank {
    fn new(program: &Program, limits: &InterfaceLimits) -> Result<Self, String> {
        let counters = usize::from(program.counters()) * usize::from(program.tanks);
        if counters > limits.counters as usize {
            let most = limits.counters;
            return Err(format!("{counters} counters of a program: expected at most {most}"));
        }
        let window = limits.slots_for(program).and_then(|need| need.window(limits.slots))?;
        Ok(Self {
            levels: vec![0; counters],
            instance: None,
            number: 0,
            free: EventMark::default(),
            window,
            posted: PostedWork::default(),
            engines: vec![SimulatedPort::default(); usize::from(limits.engines.max(1))],
            receive_port: SimulatedPort::default(),
            end: EventMark::default(),
        })
    }
}

impl<'a> EventExecutor<'a> for ProgramExecutor<'a> {
    fn machine(&mut self) -> &mut EventMachine<'a> {
        &mut self.machine
    }

    fn come(&mut self, message: LinkMessage, arrival: EventMark) {
        self.pending[message.receive as usize].mark = arrival;
    }

    fn arrive(&mut self, now_ps: u64, rank: u32, number: u32) {
        let Pending { mark, bytes, .. } = self.pending[number as usize];
        let mut taken = mark;
        if self.machine.costs.network.contends && bytes > 0 {
            let port = &mut self.ranks[rank as usize].receive_port;
            taken = self.machine.receive(port, now_ps, mark, bytes);
        }
        self.pending[number as usize].mark = taken;
        self.machine.events.push(taken.time_ps, rank, number, EventKind::Complete);
    }

    fn complete(&mut self, now_ps: u64, rank: u32, number: u32) {
        let Pending { mark, then, .. } = self.pending[number as usize];
        self.free.push(number);
        self.quiet_ps = now_ps.max(self.quiet_ps);
        let program = &self.programs[rank as usize];
        match then {
            PendingStep::Start => {
                let own = &mut self.ranks[rank as usize];
                own.instance = Some(Instance::new(program));
                own.posted.restart();
                self.due.extend((0..program.counters()).rev());
            }
            PendingStep::Add { tank, add } => {
                self.add(now_ps, rank, tank, add);
                let present = program.tank(self.ranks[rank as usize].number);
                self.due.extend((usize::from(tank) == present).then_some(add.counter));
            }
            PendingStep::Post(counter) => self.due.push(counter),
        }
        self.advance(rank, mark);
    }
}
