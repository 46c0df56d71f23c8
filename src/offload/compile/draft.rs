//! One rank's program in the making, from its schedule to the finished program.

use std::collections::BTreeMap;

use super::arrival_target::ArrivalTarget;
use super::dependency_graph::{
    ArrivalId, CounterTask, DependencyGraph, EdgeSteps, NO_GROUP, TaskKind,
};
use super::digits::Digits;
use super::prematched;
use super::rules::{Rules, SingleSource};
use crate::offload::program::{CounterAdd, CounterId, DeferredWork, Program, ProgramOp, Scheme};
use crate::offload::schedule::{Region, Schedule, StepAction};

#[derive(Clone, Debug)]
pub(crate) struct Draft {
    rules: Rules,
    graph: DependencyGraph,
    /// Receives, by source.
    incoming: BTreeMap<u32, EdgeSteps>,
    /// Sends, by destination.
    outgoing: BTreeMap<u32, OutgoingMessages>,
    /// For each send, its index among the sends to its destination.
    send_indices: Vec<usize>,
    /// Known when all grants have been taken.
    plan: Option<CounterPlan>,
    /// Why counters of the interface cannot count the arrivals.
    misfit: Option<String>,
}

/// The messages to one rank.
#[derive(Clone, Debug)]
struct OutgoingMessages {
    sends: EdgeSteps,
    /// The index of the rank among all destinations.
    number: usize,
    /// The ready-to-receive arrival of each group; `None` before the grants are taken.
    ready: Option<Vec<ArrivalId>>,
}

#[derive(Clone, Debug)]
struct CounterPlan {
    tasks: Vec<CounterTask>,
    digits: Digits,
    /// The targets at each peer: messages by label, then groups.
    targets: BTreeMap<u32, Vec<ArrivalTarget>>,
}

impl Draft {
    /// Begins the program of a rank's schedule.
    ///
    /// # Errors
    /// A sentence if counters cannot run the schedule: it takes the first of several copies, or has
    /// detached steps.
    pub(crate) fn new(schedule: &Schedule, rules: &Rules) -> Result<Self, String> {
        if rules.single.is_some() && rules.scheme == Scheme::Prematched {
            return Err("pre-matched messages have no common ready-to-receive".into());
        }
        let graph = DependencyGraph::new(schedule, rules)?;
        let mut send_indices = vec![0; schedule.steps().len()];
        let mut outgoing = BTreeMap::new();
        for (number, (peer, sends)) in graph.edges(false)?.into_iter().enumerate() {
            for (index, &send) in sends.iter().enumerate() {
                send_indices[send as usize] = index;
            }
            outgoing.insert(peer, OutgoingMessages { sends, number, ready: None });
        }
        let incoming = graph.edges(true)?.into_iter().collect();
        let mut draft = Self {
            rules: *rules,
            incoming,
            outgoing,
            send_indices,
            graph,
            plan: None,
            misfit: None,
        };
        if draft.outgoing.is_empty() {
            draft.assign_counters()?;
        }
        Ok(draft)
    }

    /// The ranks that messages come from and grants go to, ascending.
    pub(crate) fn sources(&self) -> impl Iterator<Item = u32> + '_ {
        self.incoming.keys().copied()
    }

    /// The ranks that messages go to and grants come from, ascending.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = u32> + '_ {
        self.outgoing.keys().copied()
    }

    /// Sources and destinations, ascending. Targets go to each of them and come from each.
    pub(crate) fn peers(&self) -> Vec<u32> {
        let mut peers: Vec<u32> = self.sources().chain(self.destinations()).collect();
        if let Some(single) = self.rules.single {
            let all = 0..single.ranks;
            peers.extend(all.filter(|&rank| rank != single.rank && !self.graph.joins.is_empty()));
            peers.extend(Some(single.source).filter(|_| self.graph.joins(&self.rules)));
        }
        peers.sort_unstable();
        peers.dedup();
        peers
    }

    /// For each message from `peer`, by label, the number of its ready-to-receive, or `u16::MAX` if it
    /// needs none.
    pub(crate) fn grants_to(&self, peer: u32) -> Vec<u16> {
        let receives = self.incoming.get(&peer).into_iter().flatten();
        receives.map(|&step| self.graph.group(step)).collect()
    }

    /// The number of grants that [`Draft::take_grants`] expects from `peer`.
    pub(crate) fn grants_due(&self, peer: u32) -> usize {
        self.outgoing.get(&peer).map_or(0, |outgoing| outgoing.sends.len())
    }

    /// Takes the [`Draft::grants_to`] this rank of `peer`.
    ///
    /// # Errors
    /// A sentence if they do not fit the messages to `peer`; nothing changes then.
    pub(crate) fn take_grants(&mut self, peer: u32, groups: &[u16]) -> Result<(), String> {
        let due = self.grants_due(peer);
        if groups.len() != due {
            return Err(format!("rank {peer} sent {} grants, expected {due}", groups.len()));
        }
        let Some(outgoing) = self.outgoing.get_mut(&peer).filter(|it| it.ready.is_none()) else {
            return Err(format!("rank {peer} sent grants twice or without a message to it"));
        };
        let numbers = groups.iter().filter(|&&group| group != NO_GROUP);
        if let Some(group) = numbers.clone().find(|&&group| usize::from(group) >= due) {
            return Err(format!("rank {peer} granted a group {group} of only {due} messages"));
        }
        outgoing.ready = Some(self.graph.grant(&outgoing.sends, groups, &self.rules));
        if self.outgoing.values().all(|outgoing| outgoing.ready.is_some()) {
            self.assign_counters()?;
        }
        Ok(())
    }

    /// Assigns counters and weights, when all arrivals are known. If counters of the interface cannot
    /// count them, those of software do.
    fn assign_counters(&mut self) -> Result<(), String> {
        let tasks = self.graph.tasks(&self.rules);
        let arrivals = &self.graph.arrivals;
        let digits = match self.rules.scheme {
            Scheme::Tank | Scheme::Tank1 => match Digits::new(arrivals, &tasks, &self.rules) {
                Ok(digits) => digits,
                Err(why) => {
                    self.misfit = Some(why);
                    Digits::new(arrivals, &tasks, &self.rules.of_software())?
                }
            },
            Scheme::Prematched => prematched::count(arrivals, &tasks)?,
        };
        self.plan = Some(CounterPlan { tasks, digits, targets: BTreeMap::new() });
        Ok(())
    }

    fn plan(&self) -> &CounterPlan {
        self.plan.as_ref().expect("all grants have been taken")
    }

    /// Why counters of the interface cannot count the arrivals, so that only software can run the
    /// program; known when all grants have been taken.
    pub(crate) fn misfit(&self) -> Option<&str> {
        self.misfit.as_deref()
    }

    /// The number of counters of the program, without their copies ([`Rules::tanks`]).
    ///
    /// # Panics
    /// Before all grants have been taken.
    pub(crate) fn counters(&self) -> CounterId {
        self.plan().digits.full.len() as CounterId
    }

    /// The arrival targets for each message from `peer`, by label, then for the ready-to-receive of
    /// each group of messages to `peer`, by number.
    ///
    /// # Panics
    /// Before all grants have been taken.
    pub(crate) fn targets_to(&self, peer: u32) -> Vec<ArrivalTarget> {
        let adds = &self.plan().digits.adds;
        let receives = self.incoming.get(&peer).into_iter().flatten();
        let messages = receives.map(|&step| {
            let arrival = self.graph.own[step as usize].expect("a message arrives");
            let (_, into) = self.graph.actions[step as usize].regions();
            let into = into.filter(|region| region.len > 0).unwrap_or(Region::EMPTY);
            ArrivalTarget { signal: adds[arrival as usize], into }
        });
        let outgoing = self.outgoing.get(&peer);
        let ready = outgoing.and_then(|outgoing| outgoing.ready.as_ref()).into_iter().flatten();
        let groups = ready
            .map(|&arrival| ArrivalTarget { signal: adds[arrival as usize], into: Region::EMPTY });
        let mut targets: Vec<ArrivalTarget> = messages.chain(groups).collect();
        if let Some(single) = self.rules.single.filter(|_| !self.graph.joins.is_empty()) {
            let number = peer - u32::from(peer > single.source);
            let signal = adds[self.graph.joins[number as usize] as usize];
            targets.push(ArrivalTarget { signal, into: Region::EMPTY });
        }
        targets
    }

    /// The number of targets that [`Draft::take_targets`] expects from `peer`.
    pub(crate) fn targets_due(&self, peer: u32) -> usize {
        let groups = self.grants_to(peer).into_iter().filter(|&group| group != NO_GROUP).max();
        let is_source =
            |single: SingleSource| single.source == peer && self.graph.joins(&self.rules);
        self.grants_due(peer)
            + groups.map_or(0, |last| usize::from(last) + 1)
            + usize::from(self.rules.single.is_some_and(is_source))
    }

    /// Takes the [`Draft::targets_to`] this rank of `peer`.
    ///
    /// # Errors
    /// A sentence if they do not fit the messages to `peer`; nothing changes then.
    ///
    /// # Panics
    /// Before all grants have been taken.
    pub(crate) fn take_targets(
        &mut self, peer: u32, targets: Vec<ArrivalTarget>,
    ) -> Result<(), String> {
        let due = self.targets_due(peer);
        if targets.len() != due {
            return Err(format!("rank {peer} sent {} targets, expected {due}", targets.len()));
        }
        let sends = self.outgoing.get(&peer).map_or(&[][..], |outgoing| &outgoing.sends);
        for (&step, target) in sends.iter().zip(&targets) {
            let len = self.graph.actions[step as usize].regions().0.map_or(0, |region| region.len);
            if len != target.into.len {
                let expected = target.into.len;
                return Err(format!("rank {peer} receives {expected} bytes of a message of {len}"));
            }
        }
        self.plan.as_mut().expect("all grants have been taken").targets.insert(peer, targets);
        Ok(())
    }

    /// The program.
    ///
    /// # Errors
    /// A sentence if the grants or the targets of some peer are missing.
    pub(crate) fn finish(self) -> Result<Program, String> {
        let plan = self.plan.as_ref().ok_or("the grants of some rank are missing")?;
        let missing = self.peers().into_iter().find(|peer| !plan.targets.contains_key(peer));
        if let Some(peer) = missing {
            return Err(format!("the targets of rank {peer} are missing"));
        }
        let counters = self.counters();
        let mut work = Vec::with_capacity(plan.tasks.len() + plan.digits.full.len() * 2 + 1);
        for (task, &(counter, level)) in plan.tasks.iter().zip(&plan.digits.due) {
            work.push(DeferredWork { counter, level, op: self.op(task, plan), round: task.round });
        }
        let round = self.graph.rounds() + 1;
        for &(counter, level, add) in &plan.digits.chained {
            work.push(DeferredWork { counter, level, op: ProgramOp::Add(add), round });
        }
        let mut full = plan.digits.full.clone();
        if self.rules.branches && !self.rules.is_source() {
            branch(&mut work, &mut full);
        }
        self.end(&full, &mut work);
        Ok(Program::new(self.rules.scheme, self.rules.tanks(), counters, work))
    }

    fn op(&self, task: &CounterTask, plan: &CounterPlan) -> ProgramOp {
        let (step, done) = match task.kind {
            TaskKind::Ready { to, group } => {
                let target = plan.targets[&to][self.grants_due(to) + usize::from(group)];
                return ProgramOp::Signal { to, signal: target.signal };
            }
            TaskKind::Join { to } => {
                let target = plan.targets[&to].last().expect("the source has a target for it");
                return ProgramOp::Signal { to, signal: target.signal };
            }
            TaskKind::Step { step, done } => (step, done),
        };
        let done = done.map(|arrival| plan.digits.adds[arrival as usize]);
        match self.graph.actions[step as usize] {
            StepAction::Send { peer: to, region: from, .. } => {
                let ArrivalTarget { signal, into } =
                    plan.targets[&to][self.send_indices[step as usize]];
                if from.len == 0 {
                    return ProgramOp::Signal { to, signal };
                }
                // One engine for each destination keeps the puts to it in order.
                let engine = self.rules.ordered.then(|| self.outgoing[&to].number as u8);
                ProgramOp::Put { to, from, into, signal, done, engine }
            }
            StepAction::Copy { from, to: into } => ProgramOp::Copy { from, into, done },
            StepAction::Reduce { from, into } => ProgramOp::Host { step, from, into, done },
            StepAction::Receive { .. } => unreachable!("a receive is not work"),
        }
    }

    /// Adds the end: when the last counter is full, all counters are lowered and the instance
    /// completes.
    fn end(&self, full: &[u64], work: &mut Vec<DeferredWork>) {
        let round = self.graph.rounds() + 1;
        let (last, level) = (full.len() - 1, full[full.len() - 1]);
        let mut at_end =
            |op| work.push(DeferredWork { counter: last as CounterId, level, op, round });
        if !self.rules.reset_first {
            at_end(ProgramOp::Complete);
        }
        for (counter, &full) in (0..).zip(full).filter(|it| *it.1 > 0) {
            at_end(ProgramOp::Add(CounterAdd { counter, value: full.wrapping_neg() }));
        }
        if self.rules.reset_first {
            at_end(ProgramOp::Complete);
        }
    }
}

/// Raises the counter by the number of puts of a level before they start, if there are several; later
/// levels rise by as much.
fn branch(work: &mut Vec<DeferredWork>, full: &mut [u64]) {
    work.sort_by_key(|work| (work.counter, work.level));
    let mut raised = Vec::with_capacity(work.len());
    for (counter, full) in (0..).zip(full) {
        let own = work.iter().filter(|work| work.counter == counter).copied();
        let own: Vec<DeferredWork> = own.collect();
        let mut shift = 0;
        for together in own.chunk_by(|one, two| one.level == two.level) {
            let puts =
                together.iter().filter(|work| matches!(work.op, ProgramOp::Put { .. })).count();
            if puts > 1 && together[0].level > 0 {
                let add = CounterAdd { counter, value: puts as u64 };
                let level = together[0].level + shift;
                raised.push(DeferredWork { level, op: ProgramOp::Add(add), ..together[0] });
                shift += puts as u64;
            }
            raised.extend(
                together.iter().map(|work| DeferredWork { level: work.level + shift, ..*work }),
            );
        }
        *full += shift;
    }
    *work = raised;
}
