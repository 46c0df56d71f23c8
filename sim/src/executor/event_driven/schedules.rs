//! Schedules, as the engine of the library goes on with them: a step has a number of completions that it waits for, each
//! completion decrements the numbers of its successors, and a step without waits is started.
//!
//! It knows no rounds except in the order of the engines (`executor`).

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpi_abi::offload::StepId;

use super::causes::EventMark;
use super::event_queue::EventKind;
use super::links::{LinkMessage, LinkNetwork};
use super::machine::{EventExecutor, EventMachine, SimulatedPort};
use super::steps::{EventAction, EventSteps};
use crate::executor::costs::{LocalStep, StepCosts};
use crate::executor::levelled::{PROGRESS, ReportProgress};
use crate::executor::mark::ProcessorWork;

/// Executes the steps of all ranks.
pub(super) struct ScheduleExecutor<'a> {
    pub(super) machine: EventMachine<'a>,
    pub(super) steps: EventSteps,
    ranks: Vec<EventRank>,
    /// Steps of all ranks.
    completed: u64,
    /// When the last one has completed.
    pub(super) quiet_ps: u64,
}

/// A rank with its engines.
#[derive(Debug)]
struct EventRank {
    /// The index of its first step among those of all ranks.
    first: u32,
    /// Steps that have not completed.
    left: u32,
    processor: OrderedEngine,
    /// When the processor is free.
    free: EventMark,
    /// The sends that need no processor.
    sends: OrderedEngine,
    send_port: SimulatedPort,
    receive_port: ReceivePort,
    end: EventMark,
}

/// An engine that takes its steps in one order, however they become ready: a part of a list.
#[derive(Debug)]
struct OrderedEngine {
    next: u32,
    end: u32,
}

/// The port for receives: the messages of the earliest round that is not finished, as they arrive.
#[derive(Debug)]
struct ReceivePort {
    port: SimulatedPort,
    /// The rounds in [`EventSteps::missing`].
    first: u32,
    end: u32,
    round: u32,
    /// Messages of later rounds that have arrived, by round, first byte and step.
    waiting: BinaryHeap<Reverse<(u32, u64, StepId)>>,
}

impl ReceivePort {
    /// Goes on to the first round with messages that are missing.
    #[inline]
    fn skip(&mut self, missing: &[u32]) {
        while self.first + self.round < self.end && missing[(self.first + self.round) as usize] == 0
        {
            self.round += 1;
        }
    }
}

impl OrderedEngine {
    /// The step whose turn it is.
    #[inline]
    fn step(&self, order: &[StepId]) -> Option<StepId> {
        (self.next < self.end).then(|| order[self.next as usize])
    }
}

impl EventRank {
    fn new(rank: u32, steps: &EventSteps) -> Self {
        let (start, end) = (steps.start(rank), steps.ends[rank as usize]);
        let mut receive_port = ReceivePort {
            port: SimulatedPort::default(),
            first: start.missing,
            end: end.missing,
            round: 0,
            waiting: BinaryHeap::new(),
        };
        receive_port.skip(&steps.missing);
        Self {
            first: start.steps,
            left: end.steps - start.steps,
            processor: OrderedEngine { next: start.order, end: end.order },
            free: EventMark::default(),
            sends: OrderedEngine { next: start.sends, end: end.sends },
            send_port: SimulatedPort::default(),
            receive_port,
            end: EventMark::default(),
        }
    }
}

impl<'a> ScheduleExecutor<'a> {
    pub(super) fn new(
        steps: EventSteps, costs: &'a StepCosts, network: Option<&'a LinkNetwork>,
    ) -> Self {
        let ranks = steps.ends.len() as u32;
        Self {
            machine: EventMachine::new(ranks, costs, network),
            ranks: (0..ranks).map(|rank| EventRank::new(rank, &steps)).collect(),
            steps,
            completed: 0,
            quiet_ps: 0,
        }
    }

    /// Executes all steps; returns the number of events.
    ///
    /// # Errors
    /// Some steps never start.
    pub(super) fn run(&mut self, progress: ReportProgress<'_>) -> Result<u64, String> {
        for rank in 0..self.ranks.len() as u32 {
            let EventRank { first, left, .. } = self.ranks[rank as usize];
            for step in 0..left {
                if self.steps.states[(first + step) as usize].waits == 0 {
                    self.make_ready(EventMark::default(), rank, step);
                }
            }
        }
        let steps = self.steps.totals.steps;
        let events = self.execute(|run| progress(PROGRESS * run.completed / steps));
        match self.ranks.iter().position(|rank| rank.left > 0) {
            Some(rank) => Err(format!("rank {rank} has {} steps left", self.ranks[rank].left)),
            None => Ok(events),
        }
    }

    /// When each rank has completed its attached steps.
    pub(super) fn ends(&self) -> impl Iterator<Item = EventMark> {
        self.ranks.iter().map(|rank| rank.end)
    }

    #[inline]
    fn index(&self, rank: u32, step: StepId) -> usize {
        (self.ranks[rank as usize].first + step) as usize
    }

    /// The steps that this step waits on have completed.
    fn make_ready(&mut self, ready: EventMark, rank: u32, step: StepId) {
        let index = self.index(rank, step);
        let state = &mut self.steps.states[index];
        (state.is_ready, state.mark) = (true, ready.cause);
        self.advance(rank, step);
    }

    /// When the processor could begin with a step: a receive needs its message.
    #[inline]
    fn processor_ready(&self, index: usize) -> Option<EventMark> {
        let state = &self.steps.states[index];
        if !state.is_ready {
            return None;
        }
        let ready = self.machine.causes.mark(state.mark);
        match self.steps.all[index].action {
            EventAction::Receive { .. } if state.is_taken => {
                Some(ready.later(self.machine.causes.mark(state.message)))
            }
            EventAction::Receive { .. } => None,
            EventAction::Send { .. } | EventAction::Local(_) => Some(ready),
        }
    }

    /// Goes on with a step that has become ready, or whose message has arrived.
    fn advance(&mut self, rank: u32, step: StepId) {
        let index = self.index(rank, step);
        if self.steps.states[index].is_queued {
            self.advance_engines(rank);
            return;
        }
        let Some(ready) = self.processor_ready(index) else { return };
        match self.steps.all[index].action {
            EventAction::Send { .. } => {
                let prepared = self.prepared(rank, ready);
                self.leave_from(rank, step, prepared);
            }
            action => {
                let end = self.worked(rank, index, action, ready);
                self.end_at(end, rank, step);
            }
        }
    }

    /// Starts all steps whose turn has come at the engines of a rank.
    fn advance_engines(&mut self, rank: u32) {
        loop {
            let state = &self.ranks[rank as usize];
            let Some(step) = state.processor.step(&self.steps.order) else { break };
            let index = (state.first + step) as usize;
            let Some(ready) = self.processor_ready(index) else { break };
            let start = ready.later(state.free);
            match self.steps.all[index].action {
                EventAction::Send { .. } => {
                    let prepared = self.prepared(rank, start);
                    self.begin_next(rank, prepared);
                    self.leave_in_turn(rank, step, prepared);
                }
                action => {
                    let end = self.worked(rank, index, action, start);
                    self.begin_next(rank, end);
                    self.end_at(end, rank, step);
                }
            }
        }
        loop {
            let state = &self.ranks[rank as usize];
            let Some(step) = state.sends.step(&self.steps.sends) else { break };
            let Some(ready) = self.processor_ready((state.first + step) as usize) else { break };
            self.ranks[rank as usize].sends.next += 1;
            self.leave_in_turn(rank, step, ready);
        }
    }

    /// The processor is in use until then, and takes the step after this one.
    fn begin_next(&mut self, rank: u32, free: EventMark) {
        let state = &mut self.ranks[rank as usize];
        state.processor.next += 1;
        state.free = free;
    }

    fn leave_in_turn(&mut self, rank: u32, step: StepId, ready: EventMark) {
        let mut port = self.ranks[rank as usize].send_port;
        let start = self.machine.begin(&port, ready);
        let left = self.leave_from(rank, step, start);
        self.machine.use_port(&mut port, left);
        self.ranks[rank as usize].send_port = port;
    }

    /// Sends the message of a step, whose first byte leaves at `start`; returns when the last one has left.
    fn leave_from(&mut self, rank: u32, step: StepId, start: EventMark) -> EventMark {
        let index = self.index(rank, step);
        let EventAction::Send { peer, receive } = self.steps.all[index].action else {
            unreachable!("only sends leave");
        };
        let bytes = self.steps.all[index].bytes;
        let left = self.leave(start, LinkMessage { from: rank, to: peer, receive, bytes });
        self.end_at(left, rank, step);
        left
    }

    /// The end of the overhead of a send.
    fn prepared(&mut self, rank: u32, start: EventMark) -> EventMark {
        match self.machine.costs.network.overhead_ps {
            0 => start,
            overhead_ps => {
                self.machine.after_work(rank, start, ProcessorWork::Overhead(overhead_ps))
            }
        }
    }

    /// The end of the work of a receive or a local step.
    fn worked(
        &mut self, rank: u32, index: usize, action: EventAction, start: EventMark,
    ) -> EventMark {
        let (network, bytes) = (&self.machine.costs.network, self.steps.all[index].bytes);
        let work = match action {
            EventAction::Local(LocalStep::Copy) => {
                ProcessorWork::Arithmetic(bytes * network.copied_ps)
            }
            EventAction::Local(LocalStep::Reduce) => {
                ProcessorWork::Arithmetic(bytes * network.reduced_ps)
            }
            EventAction::Send { .. } | EventAction::Receive { .. } => {
                ProcessorWork::Overhead(network.overhead_ps)
            }
        };
        self.machine.after_work(rank, start, work)
    }

    /// Takes a message, whose first byte came at `first_ps`, through the port.
    fn take(&mut self, rank: u32, step: StepId, first_ps: u64) {
        let index = self.index(rank, step);
        let (bytes, state) = (self.steps.all[index].bytes, &mut self.steps.states[index]);
        let receive_port = &mut self.ranks[rank as usize].receive_port;
        let arrival = self.machine.causes.mark(state.message);
        let taken = self.machine.receive(&mut receive_port.port, first_ps, arrival, bytes);
        (state.is_taken, state.message) = (true, taken.cause);
        self.steps.missing[(receive_port.first + receive_port.round) as usize] -= 1;
        receive_port.skip(&self.steps.missing);
    }

    /// A step will have completed at `end`.
    fn end_at(&mut self, end: EventMark, rank: u32, step: StepId) {
        let index = self.index(rank, step);
        self.steps.states[index].mark = end.cause;
        self.machine.events.push(end.time_ps, rank, step, EventKind::Complete);
    }
}

impl<'a> EventExecutor<'a> for ScheduleExecutor<'a> {
    #[inline]
    fn machine(&mut self) -> &mut EventMachine<'a> {
        &mut self.machine
    }

    #[inline]
    fn come(&mut self, message: LinkMessage, arrival: EventMark) {
        let index = self.index(message.to, message.receive);
        self.steps.states[index].message = arrival.cause;
    }

    fn arrive(&mut self, now_ps: u64, rank: u32, step: StepId) {
        let index = self.index(rank, step);
        if !self.steps.states[index].is_queued {
            self.steps.states[index].is_taken = true;
            self.advance(rank, step);
            return;
        }
        let EventAction::Receive { round } = self.steps.all[index].action else {
            unreachable!("only receives have messages");
        };
        let port = &mut self.ranks[rank as usize].receive_port;
        if round != port.round {
            port.waiting.push(Reverse((round, now_ps, step)));
            return;
        }
        self.take(rank, step, now_ps);
        loop {
            let port = &mut self.ranks[rank as usize].receive_port;
            match port.waiting.peek() {
                Some(&Reverse((round, first_ps, step))) if round == port.round => {
                    port.waiting.pop();
                    self.take(rank, step, first_ps);
                }
                _ => break,
            }
        }
        self.advance_engines(rank);
    }

    fn complete(&mut self, now_ps: u64, rank: u32, step: StepId) {
        let index = self.index(rank, step);
        let state = self.steps.states[index];
        let end = EventMark { time_ps: now_ps, cause: state.mark };
        let own = &mut self.ranks[rank as usize];
        own.left -= 1;
        if !state.is_detached {
            own.end = own.end.later(end);
        }
        let first = own.first;
        self.completed += 1;
        self.quiet_ps = now_ps;
        for place in self.steps.successors(index) {
            let then = self.steps.successor(place);
            let waits = &mut self.steps.states[(first + then) as usize].waits;
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.make_ready(end, rank, then);
                }
            }
        }
    }
}
