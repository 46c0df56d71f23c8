//! Executor of schedules event by event: the reference for [`levelled`](super::levelled), and the one that knows
//! [`links`].
//!
//! It goes on as the engine of the library does: a step has a number of completions that it waits for,
//! each completion decrements the numbers of its successors, and a step without waits is started. It
//! knows no rounds except in the order of the engines (`executor`). A heap orders the events by time;
//! events of one time are ordered by rank and step.

mod event_mark;
mod event_queue;
mod links;

use std::collections::BTreeSet;

use mpi_abi::offload::{Schedule, Step, StepAction, StepId};

use super::chunk::MessageTotals;
use super::costs::StepCosts;
use super::levelled::{PROGRESS, ReportProgress};
use super::mark::ProcessorWork;
use super::{RunTimes, last_of};
use event_mark::EventMark;
use event_queue::EventQueue;
use links::{Flights, LinkStates};
pub use links::{LinkNetwork, LinkUse};

/// What a run shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRun {
    /// Times, path and messages.
    pub times: RunTimes,
    /// What each link has carried, by number.
    pub links: Vec<LinkUse>,
    /// Number of events.
    pub events: u64,
}

/// Events between two reports of progress.
const REPORTED: u64 = 1 << 16;

/// Runs these schedules, one for each rank, on a network without links.
///
/// # Errors
/// A message has only one end, some steps never start, or they may take longer than times can be.
pub fn run(schedules: &[Schedule], costs: &StepCosts) -> Result<EventRun, String> {
    run_on_links(schedules, costs, None, &|_| {})
}

/// Runs these schedules, one for each rank.
///
/// # Errors
/// As [`run`].
pub fn run_on_links(
    schedules: &[Schedule], costs: &StepCosts, network: Option<&LinkNetwork>,
    progress: ReportProgress<'_>,
) -> Result<EventRun, String> {
    let mut totals = MessageTotals::default();
    schedules.iter().for_each(|schedule| totals.add(MessageTotals::of(schedule)));
    costs.check(&totals)?;
    let mut run = EventExecutor {
        costs,
        ranks: (0..).zip(schedules).map(|(rank, own)| EventRank::new(rank, own, costs)).collect(),
        receivers: receivers(schedules)?,
        events: EventQueue::default(),
        links: network.map(LinkStates::new),
        flights: Flights::default(),
        ends: vec![EventMark::default(); schedules.len()],
        completed: 0,
        run: EventRun { times: RunTimes { totals, ..RunTimes::default() }, ..EventRun::default() },
    };
    for (rank, schedule) in schedules.iter().enumerate() {
        for (step, _) in (0..).zip(schedule.waits()).filter(|(_, waits)| **waits == 0) {
            run.make_ready(EventMark::default(), rank, step);
        }
    }
    while let Some((now_ps, rank, step, kind)) = run.events.pop() {
        run.run.events += 1;
        if run.run.events.is_multiple_of(REPORTED) {
            progress(PROGRESS * run.completed / totals.steps);
        }
        match kind {
            EventKind::Link => run.take_link(now_ps, step),
            EventKind::FirstByte => run.arrive(now_ps, rank, step),
            EventKind::Complete => run.complete(rank, step),
        }
    }
    match run.ranks.iter().position(|rank| rank.left > 0) {
        Some(rank) => Err(format!("rank {rank} has {} steps left", run.ranks[rank].left)),
        None => Ok(run.finish()),
    }
}

/// A receive of a rank: its sender and its label, and the step.
type ReceiveOfRank = (u32, u16, StepId);

/// The step that receives each message, for each send of each rank.
fn receivers(schedules: &[Schedule]) -> Result<Vec<Vec<StepId>>, String> {
    let receives: Vec<Vec<ReceiveOfRank>> =
        (0..).zip(schedules).map(|(rank, own)| receives(rank, own)).collect::<Result<_, _>>()?;
    let of_rank = |(rank, schedule): (u32, &Schedule)| {
        let of_step = |step: &Step| match step.action {
            StepAction::Send { peer, label, .. } => {
                let known = receives.get(peer as usize).map_or(&[][..], |known| known);
                let found = known.binary_search_by_key(&(rank, label), |it| (it.0, it.1));
                found.map(|index| known[index].2).map_err(|_| {
                    format!("rank {peer} does not receive message {label} of rank {rank}")
                })
            }
            _ => Ok(0),
        };
        schedule.steps().iter().map(of_step).collect()
    };
    (0..).zip(schedules).map(of_rank).collect()
}

fn receives(rank: u32, schedule: &Schedule) -> Result<Vec<ReceiveOfRank>, String> {
    let steps = (0..).zip(schedule.steps());
    let mut found: Vec<_> = steps
        .filter_map(|(id, step)| match step.action {
            StepAction::Receive { peer, label, .. } => Some((peer, label, id)),
            _ => None,
        })
        .collect();
    found.sort_unstable();
    match found.windows(2).find(|pair| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1)) {
        Some(&[(peer, label, _), _]) => {
            Err(format!("rank {rank} receives message {label} of rank {peer} twice"))
        }
        _ => Ok(found),
    }
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// The first byte of a message reaches a link; the step is the number of its flight.
    Link,
    /// The first byte of a message reaches its receiver.
    FirstByte,
    /// A step completes.
    Complete,
}

struct EventExecutor<'a> {
    costs: &'a StepCosts,
    ranks: Vec<EventRank<'a>>,
    /// For each send of each rank, the step that receives its message.
    receivers: Vec<Vec<StepId>>,
    events: EventQueue,
    links: Option<LinkStates<'a>>,
    /// Messages on links.
    flights: Flights,
    ends: Vec<EventMark>,
    /// Steps of all ranks.
    completed: u64,
    run: EventRun,
}

/// A rank with its engines.
struct EventRank<'a> {
    rank: u32,
    schedule: &'a Schedule,
    waits: Vec<u32>,
    /// Steps that have not completed.
    left: usize,
    /// For each step, when the steps that it waits on have completed.
    ready: Vec<Option<EventMark>>,
    /// For each receive, when the last byte of its message arrives.
    arrivals: Vec<EventMark>,
    /// For each receive, when its message has passed the port.
    taken: Vec<Option<EventMark>>,
    /// For each step, when it completes.
    completions: Vec<EventMark>,
    processor: OrderedEngine,
    send_port: OrderedEngine,
    receive_port: ReceivePort,
}

/// An engine that takes its steps in one order, however they become ready.
#[derive(Default)]
struct OrderedEngine {
    order: Vec<StepId>,
    next: usize,
    free: EventMark,
}

/// The port for receives: the messages of the earliest round that is not finished, as they arrive.
#[derive(Default)]
struct ReceivePort {
    /// For each round, the messages that have not arrived.
    missing: Vec<usize>,
    round: usize,
    /// Messages that have arrived, by round, first byte and step.
    waiting: BTreeSet<(u32, u64, StepId)>,
    free: EventMark,
}

impl<'a> EventRank<'a> {
    fn new(rank: u32, schedule: &'a Schedule, costs: &StepCosts) -> Self {
        let steps = schedule.steps();
        let attached = |id: &StepId| costs.network.contends && !steps[*id as usize].detached;
        let is_send = |id: StepId| matches!(steps[id as usize].action, StepAction::Send { .. });
        let mut order: Vec<StepId> = (0..steps.len() as StepId).filter(attached).collect();
        order.sort_by_key(|id| (steps[*id as usize].round, !is_send(*id), *id));
        let sends = order.iter().copied().filter(|id| is_send(*id)).collect();
        if costs.network.overhead_ps == 0 {
            order.retain(|id| !is_send(*id));
        }
        let mut missing = vec![0; schedule.rounds() as usize + 1];
        for id in (0..steps.len() as StepId).filter(attached) {
            if let StepAction::Receive { .. } = steps[id as usize].action {
                missing[steps[id as usize].round as usize] += 1;
            }
        }
        Self {
            rank,
            schedule,
            waits: schedule.waits().to_vec(),
            left: steps.len(),
            ready: vec![None; steps.len()],
            arrivals: vec![EventMark::default(); steps.len()],
            taken: vec![None; steps.len()],
            completions: vec![EventMark::default(); steps.len()],
            processor: OrderedEngine { order, ..OrderedEngine::default() },
            send_port: OrderedEngine { order: sends, ..OrderedEngine::default() },
            receive_port: ReceivePort { missing, ..ReceivePort::default() },
        }
    }

    fn is_queued(&self, step: StepId, costs: &StepCosts) -> bool {
        costs.network.contends && !self.schedule.steps()[step as usize].detached
    }

    /// When the processor could begin with a step: a receive needs its message.
    fn processor_ready(&self, step: StepId) -> Option<EventMark> {
        let ready = self.ready[step as usize]?;
        match self.schedule.steps()[step as usize].action {
            StepAction::Receive { .. } => Some(ready.later(self.taken[step as usize]?)),
            _ => Some(ready),
        }
    }

    fn is_send(&self, step: StepId) -> bool {
        matches!(self.schedule.steps()[step as usize].action, StepAction::Send { .. })
    }
}

impl EventExecutor<'_> {
    fn push(&mut self, time_ps: u64, rank: usize, step: StepId, kind: EventKind) {
        self.events.push(time_ps, rank, step, kind);
    }

    /// The steps that this step waits on have completed.
    fn make_ready(&mut self, ready: EventMark, rank: usize, step: StepId) {
        self.ranks[rank].ready[step as usize] = Some(ready);
        self.advance(rank, step);
    }

    /// Goes on with a step that has become ready, or whose message has arrived.
    fn advance(&mut self, rank: usize, step: StepId) {
        if self.ranks[rank].is_queued(step, self.costs) {
            self.advance_engines(rank);
            return;
        }
        let state = &self.ranks[rank];
        let Some(ready) = state.processor_ready(step) else { return };
        match state.is_send(step) {
            true => _ = self.leave(rank, step, self.prepared(rank, ready)),
            false => self.end_at(self.worked(rank, step, ready), rank, step),
        }
    }

    /// Starts all steps whose turn has come at the engines of a rank.
    fn advance_engines(&mut self, rank: usize) {
        loop {
            let state = &self.ranks[rank];
            let engine = &state.processor;
            let Some(&step) = engine.order.get(engine.next) else { break };
            let Some(ready) = state.processor_ready(step) else { break };
            let (start, is_send) = (ready.later(engine.free), state.is_send(step));
            let end = match is_send {
                true => self.prepared(rank, start),
                false => self.worked(rank, step, start),
            };
            self.ranks[rank].processor.free = end;
            self.ranks[rank].processor.next += 1;
            match is_send {
                true => self.leave_in_turn(rank, step, end),
                false => self.end_at(end, rank, step),
            }
        }
        // The sends that need no processor.
        while self.costs.network.overhead_ps == 0 {
            let port = &self.ranks[rank].send_port;
            let Some(&step) = port.order.get(port.next) else { break };
            let Some(ready) = self.ranks[rank].ready[step as usize] else { break };
            self.leave_in_turn(rank, step, ready);
        }
    }

    fn leave_in_turn(&mut self, rank: usize, step: StepId, ready: EventMark) {
        let port = &mut self.ranks[rank].send_port;
        debug_assert_eq!(port.order[port.next], step);
        port.next += 1;
        let start = ready.later(port.free);
        let left = self.leave(rank, step, start);
        let gap_ps = self.costs.network.gap_ps;
        self.ranks[rank].send_port.free = left.then(|mark| mark.after_gap(gap_ps));
    }

    /// Sends a message, whose first byte leaves at `start`; returns when the last one has left.
    fn leave(&mut self, rank: usize, step: StepId, start: EventMark) -> EventMark {
        let network = &self.costs.network;
        let state = &self.ranks[rank];
        let StepAction::Send { peer, region, .. } = state.schedule.steps()[step as usize].action
        else {
            unreachable!("only sends leave");
        };
        let (from, bytes) = (state.rank, region.len as u64);
        let left = start.then(|mark| mark.after_bytes(bytes * network.byte_ps));
        let receive = self.receivers[rank][step as usize];
        self.end_at(left, rank, step);
        let flights = &mut self.flights;
        let ends = ((from, peer), receive);
        match self.links.as_ref().and_then(|links| links.depart(flights, ends, left, bytes)) {
            Some(flight) => self.push(start.time_ps(), peer as usize, flight, EventKind::Link),
            None => {
                let inside_ps = self.links.as_ref().map(LinkStates::node_latency_ps);
                let arrival = match inside_ps {
                    Some(latency_ps) => left.after_inside(latency_ps),
                    None => left.then(|mark| mark.after_latency(network.latency_ps)),
                };
                self.come(peer as usize, receive, arrival, bytes);
            }
        }
        left
    }

    /// The first byte of a message is at a link.
    fn take_link(&mut self, now_ps: u64, number: u32) {
        let Some(links) = &mut self.links else { unreachable!("a message is on a link") };
        let flight = self.flights.get_mut(number);
        let (rank, step, bytes) = (flight.to, flight.receive, flight.bytes);
        let next_ps = links.take(now_ps, flight);
        if !flight.is_through() {
            self.push(next_ps, rank, number, EventKind::Link);
            return;
        }
        let through = flight.through(next_ps + bytes * self.costs.network.byte_ps);
        self.flights.end(number);
        let latency_ps = self.costs.network.latency_ps;
        self.come(rank, step, through.then(|mark| mark.after_latency(latency_ps)), bytes);
    }

    /// A message comes to its receiver, its last byte at `arrival`.
    fn come(&mut self, rank: usize, step: StepId, arrival: EventMark, bytes: u64) {
        let first_ps = arrival.time_ps() - bytes * self.costs.network.byte_ps;
        self.ranks[rank].arrivals[step as usize] = arrival;
        self.push(first_ps, rank, step, EventKind::FirstByte);
    }

    /// The end of the overhead of a send.
    fn prepared(&self, rank: usize, start: EventMark) -> EventMark {
        match self.costs.network.overhead_ps {
            0 => start,
            overhead_ps => self.after_work(rank, start, ProcessorWork::Overhead(overhead_ps)),
        }
    }

    /// The end of the work of a receive or a local step.
    fn worked(&self, rank: usize, step: StepId, start: EventMark) -> EventMark {
        let network = &self.costs.network;
        let arithmetic = |bytes: usize, byte_ps| ProcessorWork::Arithmetic(bytes as u64 * byte_ps);
        let work = match self.ranks[rank].schedule.steps()[step as usize].action {
            StepAction::Copy { to, .. } => arithmetic(to.len, network.copied_ps),
            StepAction::Reduce { into, .. } => arithmetic(into.len, network.reduced_ps),
            StepAction::Send { .. } | StepAction::Receive { .. } => {
                ProcessorWork::Overhead(network.overhead_ps)
            }
        };
        self.after_work(rank, start, work)
    }

    fn after_work(&self, rank: usize, start: EventMark, work: ProcessorWork) -> EventMark {
        let noise = self.costs.noise.of_rank(self.ranks[rank].rank);
        let end_ps = noise.end_ps(start.time_ps(), work.work_ps());
        start.then(|mark| work.after(mark, end_ps))
    }

    /// The first byte of a message reaches its receiver.
    fn arrive(&mut self, now_ps: u64, rank: usize, step: StepId) {
        if !self.ranks[rank].is_queued(step, self.costs) {
            let state = &mut self.ranks[rank];
            state.taken[step as usize] = Some(state.arrivals[step as usize]);
            self.advance(rank, step);
            return;
        }
        let round = self.ranks[rank].schedule.steps()[step as usize].round;
        self.ranks[rank].receive_port.waiting.insert((round, now_ps, step));
        loop {
            let port = &mut self.ranks[rank].receive_port;
            while port.missing.get(port.round) == Some(&0) {
                port.round += 1;
            }
            let Some(&(round, first_ps, step)) = port.waiting.first() else { break };
            if round as usize != port.round {
                break;
            }
            port.waiting.pop_first();
            port.missing[round as usize] -= 1;
            self.take(rank, step, first_ps);
        }
        self.advance_engines(rank);
    }

    /// Takes a message, whose first byte came at `first_ps`, through the port.
    fn take(&mut self, rank: usize, step: StepId, first_ps: u64) {
        let network = &self.costs.network;
        let state = &mut self.ranks[rank];
        let (_, region) = state.schedule.steps()[step as usize].action.regions();
        let bytes = region.map_or(0, |region| region.len as u64);
        let port = &mut state.receive_port;
        let taken = match port.free.time_ps() <= first_ps {
            true => state.arrivals[step as usize],
            false => port.free.then(|mark| mark.after_bytes(bytes * network.byte_ps)),
        };
        port.free = taken.then(|mark| mark.after_gap(network.gap_ps));
        state.taken[step as usize] = Some(taken);
    }

    /// A step will have completed at `end`.
    fn end_at(&mut self, end: EventMark, rank: usize, step: StepId) {
        self.ranks[rank].completions[step as usize] = end;
        self.push(end.time_ps(), rank, step, EventKind::Complete);
    }

    fn complete(&mut self, rank: usize, step: StepId) {
        let state = &mut self.ranks[rank];
        let end = state.completions[step as usize];
        state.left -= 1;
        self.completed += 1;
        self.run.times.quiet_ps = self.run.times.quiet_ps.max(end.time_ps());
        if !state.schedule.steps()[step as usize].detached {
            self.ends[rank] = self.ends[rank].later(end);
        }
        let schedule = state.schedule;
        for &then in schedule.successors(step) {
            let waits = &mut self.ranks[rank].waits[then as usize];
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.make_ready(end, rank, then);
                }
            }
        }
    }

    fn finish(self) -> EventRun {
        let ends_ps: Vec<u64> = self.ends.iter().map(|end| end.time_ps()).collect();
        let last = last_of(&ends_ps);
        let path = self.ends.get(last).copied().unwrap_or_default().path(&self.costs.network);
        let rounds = self.ranks.iter().map(|rank| rank.schedule.rounds()).max();
        let times = RunTimes {
            ends_ps,
            last: last as u32,
            path,
            rounds: rounds.unwrap_or(0),
            ..self.run.times
        };
        let links = self.links.map_or_else(Vec::new, |links| links.uses);
        EventRun { times, links, ..self.run }
    }
}
