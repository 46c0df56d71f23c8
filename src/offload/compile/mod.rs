//! Schedules become programs: for each rank by itself, with two short exchanges between neighbors.
//!
//! ```text
//!   schedule ──► Draft ──grants──► peers that send to it: which messages one ready-to-receive covers
//!                  ◄────grants──── peers that it sends to
//!                  ──places──► all peers: what each of their arrivals adds, and where its bytes go
//!                  ◄──places──
//!                finish ──► Program
//! ```
//!
//! A receive becomes an addition to the sender's counter, *ready-to-receive*, once everything that it
//! waits on is done; a send becomes a put with an addition to the receiver's counter, which waits for
//! that too. What else a step waits on are arrivals at the own counters: data, ends of sends, copies
//! and arithmetic. `graph` says which, `digits` how they are counted.
//!
//! With that, two tanks by parity are enough, whatever the schedule: a put of an instance comes after
//! its receiver has begun it; and a ready-to-receive of instance `j` after its sender's end of
//! `j - 1`, thus after its receiver, of which it had data then, has begun `j - 1`, and emptied the
//! tank of `j - 2`.
//!
//! Lists that are exchanged are in an order that both sides know from their schedules: messages by
//! label, then groups of them by number. Nothing here sends them.

mod arrival_target;
mod dependency_graph;
mod digits;
mod link;
mod prematched;
mod rules;

use std::collections::BTreeMap;

use super::{
    CounterAdd, CounterId, DeferredWork, Program, ProgramOp, Region, Schedule, Scheme, StepAction,
};
use dependency_graph::{ArrivalId, CounterTask, DependencyGraph, EdgeSteps, NO_GROUP, TaskKind};
use digits::Digits;

pub(crate) use arrival_target::ArrivalTarget;
pub use link::{link_all, link_one, link_some};
pub use rules::{Rules, SingleSource};

/// One rank's program under way.
#[derive(Clone, Debug)]
pub(crate) struct Draft {
    rules: Rules,
    graph: DependencyGraph,
    /// Receives, by source.
    incoming: BTreeMap<u32, EdgeSteps>,
    /// Sends, by destination.
    outgoing: BTreeMap<u32, OutgoingMessages>,
    /// For each send, its place among those to its destination.
    send_indices: Vec<usize>,
    /// What is known once all grants are here.
    plan: Option<CounterPlan>,
}

/// The messages to a rank.
#[derive(Clone, Debug)]
struct OutgoingMessages {
    sends: EdgeSteps,
    /// The place of the rank among those that messages go to.
    number: usize,
    /// The arrivals of the groups' ready-to-receive; `None` before the grants are here.
    ready: Option<Vec<ArrivalId>>,
}

#[derive(Clone, Debug)]
struct CounterPlan {
    tasks: Vec<CounterTask>,
    digits: Digits,
    /// What each peer told: its messages by label, then its groups.
    targets: BTreeMap<u32, Vec<ArrivalTarget>>,
}

impl Draft {
    /// Begins the program of a rank's schedule.
    ///
    /// # Errors
    /// A sentence, if counters cannot run it: it takes what comes first, or lets steps be late.
    pub(crate) fn new(schedule: &Schedule, rules: &Rules) -> Result<Self, String> {
        if rules.single.is_some() && rules.scheme == Scheme::Prematched {
            return Err("messages matched one by one have no common ready-to-receive".into());
        }
        let flow = DependencyGraph::new(schedule, rules)?;
        let mut turns = vec![0; schedule.steps().len()];
        let mut outgoing = BTreeMap::new();
        for (number, (peer, sends)) in flow.edges(false)?.into_iter().enumerate() {
            for (turn, &send) in sends.iter().enumerate() {
                turns[send as usize] = turn;
            }
            outgoing.insert(peer, OutgoingMessages { sends, number, ready: None });
        }
        let incoming = flow.edges(true)?.into_iter().collect();
        let mut draft = Self {
            rules: *rules,
            incoming,
            outgoing,
            send_indices: turns,
            graph: flow,
            plan: None,
        };
        if draft.outgoing.is_empty() {
            draft.assign_counters()?;
        }
        Ok(draft)
    }

    /// The ranks that messages come from, ascending: those that grants go to.
    pub(crate) fn sources(&self) -> impl Iterator<Item = u32> + '_ {
        self.incoming.keys().copied()
    }

    /// The ranks that messages go to, ascending: those that grants come from.
    pub(crate) fn destinations(&self) -> impl Iterator<Item = u32> + '_ {
        self.outgoing.keys().copied()
    }

    /// All of these, ascending: places go to each and come from each.
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

    /// For each message from `peer`, by label, the number of the ready-to-receive that covers it, or
    /// `u16::MAX` if it needs none.
    pub(crate) fn grants_to(&self, peer: u32) -> Vec<u16> {
        let receives = self.incoming.get(&peer).into_iter().flatten();
        receives.map(|&step| self.graph.group(step)).collect()
    }

    /// How many numbers [`Draft::take_grants`] wants from `peer`.
    pub(crate) fn grants_due(&self, peer: u32) -> usize {
        self.outgoing.get(&peer).map_or(0, |outgoing| outgoing.sends.len())
    }

    /// Takes what `peer` has as [`Draft::grants_to`] this rank.
    ///
    /// # Errors
    /// A sentence if it does not fit the messages that go there, and changes nothing then.
    pub(crate) fn take_grants(&mut self, peer: u32, groups: &[u16]) -> Result<(), String> {
        let due = self.grants_due(peer);
        if groups.len() != due {
            return Err(format!("rank {peer} grants {} messages of {due}", groups.len()));
        }
        let Some(outgoing) = self.outgoing.get_mut(&peer).filter(|it| it.ready.is_none()) else {
            return Err(format!("rank {peer} grants messages that nobody sends there"));
        };
        let numbers = groups.iter().filter(|&&group| group != NO_GROUP);
        if let Some(group) = numbers.clone().find(|&&group| usize::from(group) >= due) {
            return Err(format!("rank {peer} grants a group {group} of {due} messages"));
        }
        outgoing.ready = Some(self.graph.grant(&outgoing.sends, groups, &self.rules));
        if self.outgoing.values().all(|outgoing| outgoing.ready.is_some()) {
            self.assign_counters()?;
        }
        Ok(())
    }

    /// Decides where everything counts, now that all arrivals are known.
    fn assign_counters(&mut self) -> Result<(), String> {
        let tasks = self.graph.tasks(&self.rules);
        let digits = match self.rules.scheme {
            Scheme::Tank | Scheme::Tank1 => Digits::new(&self.graph.arrivals, &tasks, &self.rules)?,
            Scheme::Prematched => prematched::count(&self.graph.arrivals, &tasks)?,
        };
        self.plan = Some(CounterPlan { tasks, digits, targets: BTreeMap::new() });
        Ok(())
    }

    fn plan(&self) -> &CounterPlan {
        self.plan.as_ref().expect("all grants are here")
    }

    /// How many counters the program has, each of which exists [`Rules::tanks`] times.
    ///
    /// # Panics
    /// Before all grants are here.
    pub(crate) fn counters(&self) -> CounterId {
        self.plan().digits.full.len() as CounterId
    }

    /// For each message from `peer`, by label, then for each group of messages to it, by number, what
    /// its arrival adds and where its bytes go.
    ///
    /// # Panics
    /// Before all grants are here.
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
        let mut places: Vec<ArrivalTarget> = messages.chain(groups).collect();
        if let Some(single) = self.rules.single.filter(|_| !self.graph.joins.is_empty()) {
            let number = peer - u32::from(peer > single.source);
            let signal = adds[self.graph.joins[number as usize] as usize];
            places.push(ArrivalTarget { signal, into: Region::EMPTY });
        }
        places
    }

    /// How many places [`Draft::take_targets`] wants from `peer`.
    pub(crate) fn targets_due(&self, peer: u32) -> usize {
        let groups = self.grants_to(peer).into_iter().filter(|&group| group != NO_GROUP).max();
        let is_source =
            |single: SingleSource| single.source == peer && self.graph.joins(&self.rules);
        self.grants_due(peer)
            + groups.map_or(0, |last| usize::from(last) + 1)
            + usize::from(self.rules.single.is_some_and(is_source))
    }

    /// Takes what `peer` has as [`Draft::targets_to`] this rank.
    ///
    /// # Errors
    /// A sentence if it does not fit what goes there, and changes nothing then.
    ///
    /// # Panics
    /// Before all grants are here.
    pub(crate) fn take_targets(
        &mut self, peer: u32, places: Vec<ArrivalTarget>,
    ) -> Result<(), String> {
        let due = self.targets_due(peer);
        if places.len() != due {
            return Err(format!("rank {peer} tells {} places of {due}", places.len()));
        }
        let sends = self.outgoing.get(&peer).map_or(&[][..], |outgoing| &outgoing.sends);
        for (&step, place) in sends.iter().zip(&places) {
            let len = self.graph.actions[step as usize].regions().0.map_or(0, |region| region.len);
            if len != place.into.len {
                let room = place.into.len;
                return Err(format!("rank {peer} takes {room} bytes of a message of {len}"));
            }
        }
        self.plan.as_mut().expect("all grants are here").targets.insert(peer, places);
        Ok(())
    }

    /// The program.
    ///
    /// # Errors
    /// A sentence if the places of some peer are not here.
    pub(crate) fn finish(self) -> Result<Program, String> {
        let plan = self.plan.as_ref().ok_or("the grants of some rank are not here")?;
        let missing = self.peers().into_iter().find(|peer| !plan.targets.contains_key(peer));
        if let Some(peer) = missing {
            return Err(format!("the places of rank {peer} are not here"));
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
                let place = plan.targets[&to][self.grants_due(to) + usize::from(group)];
                return ProgramOp::Signal { to, signal: place.signal };
            }
            TaskKind::Join { to } => {
                let place = plan.targets[&to].last().expect("the source has a place for it");
                return ProgramOp::Signal { to, signal: place.signal };
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
                // One engine for each destination keeps what goes there in order.
                let engine = self.rules.ordered.then(|| self.outgoing[&to].number as u8);
                ProgramOp::Put { to, from, into, signal, done, engine }
            }
            StepAction::Copy { from, to: into } => ProgramOp::Copy { from, into, done },
            StepAction::Reduce { .. } => ProgramOp::Host { step, done },
            StepAction::Receive { .. } => unreachable!("a receive is not work"),
        }
    }

    /// When the last counter is full, all are lowered, and the instance is over.
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

/// Before several puts of one level, has the counter raised by their number; what is later waits for
/// as much more.
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
