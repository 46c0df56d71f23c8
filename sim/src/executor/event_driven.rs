//! Executor of schedules event by event: the reference for [`levelled`](super::levelled).
//!
//! It goes on as the engine of the library does: a step has a number of completions that it waits for,
//! each completion decrements the numbers of its successors, and a step without waits is started. It
//! knows no rounds except in the order of the engines (`executor`). A heap orders the events by time;
//! events of one time are ordered by rank and step.

use std::cmp::Reverse;
use std::collections::{BTreeSet, BinaryHeap, HashMap};

use mpi_abi::offload::{Schedule, StepAction, StepId};

use super::costs::StepCosts;

/// Times of an operation on all ranks.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRun {
    /// When the operation has completed on each rank, in picoseconds.
    pub ends_ps: Vec<u64>,
    /// When the last step of any rank has completed, detached ones included.
    pub quiet_ps: u64,
    /// Number of events.
    pub events: u64,
}

/// Runs these schedules, one for each rank.
///
/// # Errors
/// A message has only one end, or some steps never start.
pub fn run(schedules: &[Schedule], costs: &StepCosts) -> Result<EventRun, String> {
    let mut run = EventExecutor {
        costs,
        ranks: (0..).zip(schedules).map(|(rank, own)| EventRank::new(rank, own, costs)).collect(),
        receives: receives(schedules)?,
        events: BinaryHeap::new(),
        run: EventRun { ends_ps: vec![0; schedules.len()], ..EventRun::default() },
    };
    for (rank, schedule) in schedules.iter().enumerate() {
        for (step, _) in (0..).zip(schedule.waits()).filter(|(_, waits)| **waits == 0) {
            run.make_ready(0, rank, step);
        }
    }
    while let Some(Reverse((now_ps, rank, step, kind))) = run.events.pop() {
        run.run.events += 1;
        match kind {
            EventKind::FirstByte => run.arrive(now_ps, rank, step),
            EventKind::Complete => run.complete(now_ps, rank, step),
        }
    }
    match run.ranks.iter().position(|rank| rank.left > 0) {
        Some(rank) => Err(format!("rank {rank} has {} steps left", run.ranks[rank].left)),
        None => Ok(run.run),
    }
}

/// Sender, receiver and label of a message.
type MessageKey = (u32, u32, u16);

/// The step that receives each message.
fn receives(schedules: &[Schedule]) -> Result<HashMap<MessageKey, StepId>, String> {
    let mut found = HashMap::new();
    for (rank, schedule) in (0..).zip(schedules) {
        for (id, step) in (0..).zip(schedule.steps()) {
            if let StepAction::Receive { peer, label, .. } = step.action
                && found.insert((peer, rank, label), id).is_some()
            {
                return Err(format!("rank {rank} receives message {label} of rank {peer} twice"));
            }
        }
    }
    for (rank, schedule) in (0..).zip(schedules) {
        for step in schedule.steps() {
            if let StepAction::Send { peer, label, .. } = step.action
                && !found.contains_key(&(rank, peer, label))
            {
                return Err(format!("rank {peer} does not receive message {label} of rank {rank}"));
            }
        }
    }
    Ok(found)
}

#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum EventKind {
    /// The first byte of a message reaches its receiver.
    FirstByte,
    /// A step completes.
    Complete,
}

/// Time, rank, step.
type SimulatedEvent = Reverse<(u64, usize, StepId, EventKind)>;

struct EventExecutor<'a> {
    costs: &'a StepCosts,
    ranks: Vec<EventRank<'a>>,
    receives: HashMap<MessageKey, StepId>,
    events: BinaryHeap<SimulatedEvent>,
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
    ready_ps: Vec<Option<u64>>,
    /// For each receive, when its message has passed the port.
    taken_ps: Vec<Option<u64>>,
    processor: OrderedEngine,
    send_port: OrderedEngine,
    receive_port: ReceivePort,
}

/// An engine that takes its steps in one order, however they become ready.
#[derive(Default)]
struct OrderedEngine {
    order: Vec<StepId>,
    next: usize,
    free_ps: u64,
}

/// The port for receives: the messages of the earliest round that is not finished, as they arrive.
#[derive(Default)]
struct ReceivePort {
    /// For each round, the messages that have not arrived.
    missing: Vec<usize>,
    round: usize,
    /// Messages that have arrived, by round, first byte and step.
    waiting: BTreeSet<(u32, u64, StepId)>,
    free_ps: u64,
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
            ready_ps: vec![None; steps.len()],
            taken_ps: vec![None; steps.len()],
            processor: OrderedEngine { order, ..OrderedEngine::default() },
            send_port: OrderedEngine { order: sends, ..OrderedEngine::default() },
            receive_port: ReceivePort { missing, ..ReceivePort::default() },
        }
    }

    fn is_queued(&self, step: StepId, costs: &StepCosts) -> bool {
        costs.network.contends && !self.schedule.steps()[step as usize].detached
    }

    /// When the processor could begin with a step: a receive needs its message.
    fn processor_ready_ps(&self, step: StepId) -> Option<u64> {
        let ready_ps = self.ready_ps[step as usize]?;
        match self.schedule.steps()[step as usize].action {
            StepAction::Receive { .. } => Some(ready_ps.max(self.taken_ps[step as usize]?)),
            _ => Some(ready_ps),
        }
    }
}

impl EventExecutor<'_> {
    fn push(&mut self, time_ps: u64, rank: usize, step: StepId, kind: EventKind) {
        self.events.push(Reverse((time_ps, rank, step, kind)));
    }

    /// The steps that this step waits on have completed.
    fn make_ready(&mut self, now_ps: u64, rank: usize, step: StepId) {
        self.ranks[rank].ready_ps[step as usize] = Some(now_ps);
        self.advance(rank, step);
    }

    /// Goes on with a step that has become ready, or whose message has arrived.
    fn advance(&mut self, rank: usize, step: StepId) {
        if self.ranks[rank].is_queued(step, self.costs) {
            self.advance_engines(rank);
            return;
        }
        let state = &self.ranks[rank];
        let Some(ready_ps) = state.processor_ready_ps(step) else { return };
        match state.schedule.steps()[step as usize].action {
            StepAction::Send { .. } => {
                let prepared_ps = self.prepared_ps(rank, ready_ps);
                self.leave(rank, step, prepared_ps);
            }
            _ => {
                let end_ps = self.work_end_ps(rank, step, ready_ps);
                self.push(end_ps, rank, step, EventKind::Complete);
            }
        }
    }

    /// Starts all steps whose turn has come at the engines of a rank.
    fn advance_engines(&mut self, rank: usize) {
        loop {
            let state = &self.ranks[rank];
            let engine = &state.processor;
            let Some(&step) = engine.order.get(engine.next) else { break };
            let Some(ready_ps) = state.processor_ready_ps(step) else { break };
            let start_ps = ready_ps.max(engine.free_ps);
            let is_send =
                matches!(state.schedule.steps()[step as usize].action, StepAction::Send { .. });
            let end_ps = match is_send {
                true => self.prepared_ps(rank, start_ps),
                false => self.work_end_ps(rank, step, start_ps),
            };
            self.ranks[rank].processor.free_ps = end_ps;
            self.ranks[rank].processor.next += 1;
            match is_send {
                true => self.leave_in_turn(rank, step, end_ps),
                false => self.push(end_ps, rank, step, EventKind::Complete),
            }
        }
        // The sends that need no processor.
        while self.costs.network.overhead_ps == 0 {
            let port = &self.ranks[rank].send_port;
            let Some(&step) = port.order.get(port.next) else { break };
            let Some(ready_ps) = self.ranks[rank].ready_ps[step as usize] else { break };
            self.leave_in_turn(rank, step, ready_ps);
        }
    }

    fn leave_in_turn(&mut self, rank: usize, step: StepId, ready_ps: u64) {
        let port = &mut self.ranks[rank].send_port;
        debug_assert_eq!(port.order[port.next], step);
        port.next += 1;
        let start_ps = ready_ps.max(port.free_ps);
        let left_ps = self.leave(rank, step, start_ps);
        self.ranks[rank].send_port.free_ps = left_ps + self.costs.network.gap_ps;
    }

    /// Sends a message, whose first byte leaves at `start_ps`; returns when the last one has left.
    fn leave(&mut self, rank: usize, step: StepId, start_ps: u64) -> u64 {
        let network = &self.costs.network;
        let state = &self.ranks[rank];
        let StepAction::Send { peer, region, label } = state.schedule.steps()[step as usize].action
        else {
            unreachable!("only sends leave");
        };
        let left_ps = start_ps + region.len as u64 * network.byte_ps;
        let first_ps = start_ps + network.latency_ps;
        let receive = self.receives[&(state.rank, peer, label)];
        self.push(left_ps, rank, step, EventKind::Complete);
        self.push(first_ps, peer as usize, receive, EventKind::FirstByte);
        left_ps
    }

    /// The end of the overhead of a send.
    fn prepared_ps(&self, rank: usize, start_ps: u64) -> u64 {
        match self.costs.network.overhead_ps {
            0 => start_ps,
            overhead_ps => {
                let noise = self.costs.noise.of_rank(self.ranks[rank].rank);
                noise.end_ps(start_ps, overhead_ps)
            }
        }
    }

    /// The end of the work of a receive or a local step.
    fn work_end_ps(&self, rank: usize, step: StepId, start_ps: u64) -> u64 {
        let network = &self.costs.network;
        let work_ps = match self.ranks[rank].schedule.steps()[step as usize].action {
            StepAction::Copy { to, .. } => to.len as u64 * network.copied_ps,
            StepAction::Reduce { into, .. } => into.len as u64 * network.reduced_ps,
            StepAction::Send { .. } | StepAction::Receive { .. } => network.overhead_ps,
        };
        self.costs.noise.of_rank(self.ranks[rank].rank).end_ps(start_ps, work_ps)
    }

    /// The first byte of a message reaches its receiver.
    fn arrive(&mut self, now_ps: u64, rank: usize, step: StepId) {
        if !self.ranks[rank].is_queued(step, self.costs) {
            self.take(rank, step, now_ps);
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
            let start_ps = first_ps.max(port.free_ps);
            let end_ps = self.take(rank, step, start_ps);
            self.ranks[rank].receive_port.free_ps = end_ps + self.costs.network.gap_ps;
        }
        self.advance_engines(rank);
    }

    /// Takes a message through the port from `start_ps` on; returns the end.
    fn take(&mut self, rank: usize, step: StepId, start_ps: u64) -> u64 {
        let state = &mut self.ranks[rank];
        let (_, region) = state.schedule.steps()[step as usize].action.regions();
        let bytes = region.map_or(0, |region| region.len as u64);
        let end_ps = start_ps + bytes * self.costs.network.byte_ps;
        state.taken_ps[step as usize] = Some(end_ps);
        end_ps
    }

    fn complete(&mut self, now_ps: u64, rank: usize, step: StepId) {
        let state = &mut self.ranks[rank];
        state.left -= 1;
        self.run.quiet_ps = self.run.quiet_ps.max(now_ps);
        if !state.schedule.steps()[step as usize].detached {
            let end_ps = &mut self.run.ends_ps[rank];
            *end_ps = now_ps.max(*end_ps);
        }
        let schedule = state.schedule;
        for &then in schedule.successors(step) {
            let waits = &mut self.ranks[rank].waits[then as usize];
            if *waits > 0 {
                *waits -= 1;
                if *waits == 0 {
                    self.make_ready(now_ps, rank, then);
                }
            }
        }
    }
}
