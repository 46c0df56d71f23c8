//! One rank's part of the global graph: the arrivals at the rank and the work that waits for them.
//!
//! ```text
//!   level   2r-1              2r                          2r, deeper
//!           ready-to-receive  data, end of the send       copies, reductions
//! ```
//!
//! **Levels** order all arrivals and work of all ranks without communication, because a message has
//! the same round on both sides. The work that makes an arrival of a level waits for lower levels
//! only. So waiting for everything up to a level makes no circular wait.

use std::collections::HashMap;

use super::rules::Rules;
use crate::offload::program::Scheme;
use crate::offload::schedule::{Buffer, Region, Schedule, StepAction, StepId, Wait};

/// The index of an arrival at a rank.
pub(super) type ArrivalId = u32;

/// A position in the order of all arrivals; 0 is the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ArrivalLevel(u64);

impl ArrivalLevel {
    /// After all arrivals.
    pub(crate) const MAX: Self = Self(u64::MAX);

    fn ready(round: u32) -> Self {
        Self((2 * u64::from(round) - 1) << 32)
    }

    fn message(round: u32) -> Self {
        Self((2 * u64::from(round)) << 32)
    }

    fn local(round: u32, depth: u32) -> Self {
        Self(Self::message(round).0 + u64::from(depth))
    }

    /// For ranks that count their steps in the order of their list.
    fn listed(step: StepId, is_ready: bool) -> Self {
        Self(2 * u64::from(step) + 2 - u64::from(is_ready))
    }

    fn depth(self) -> u32 {
        self.0 as u32
    }
}

/// An addition to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(crate) kind: ArrivalKind,
    pub(crate) level: ArrivalLevel,
    /// The source, if it carries bytes of another rank.
    pub(crate) source: Option<u32>,
    /// The order among arrivals from the source: round and label of the message.
    pub(crate) sequence: (u32, u16),
}

/// The kind of an arrival.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalKind {
    /// A message.
    Message,
    /// A ready-to-receive.
    Ready,
    /// The completion of a step of this rank, or of a counter.
    Done,
}

/// Work that starts after some arrivals.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CounterTask {
    pub(crate) kind: TaskKind,
    /// The arrivals that the task waits for.
    pub(crate) needs: Vec<ArrivalId>,
    /// The task also waits for all other arrivals up to this level, at least the latest of `needs`.
    pub(crate) level: ArrivalLevel,
    pub(crate) round: u32,
}

/// The action of a task.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// Sends the ready-to-receive for a group of messages.
    Ready { to: u32, group: u16 },
    /// Sends the ready-to-receive to the single source.
    Join { to: u32 },
    /// Runs a step of the schedule; `done` is the arrival of its completion.
    Step { step: StepId, done: Option<ArrivalId> },
}

/// Messages from one rank with one ready-to-receive.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReadyGroup {
    level: ArrivalLevel,
    needs: Vec<ArrivalId>,
    round: u32,
    from: u32,
    index: u16,
}

/// In a list of grants: the message needs no ready-to-receive.
pub(super) const NO_GROUP: u16 = u16::MAX;

/// Messages between this rank and another in one direction, by label.
pub(super) type EdgeSteps = Vec<StepId>;

/// A rank's part of the global graph.
#[derive(Clone, Debug)]
pub(super) struct DependencyGraph {
    /// The action of each step.
    pub(crate) actions: Vec<StepAction>,
    rounds: Vec<u32>,
    after: Vec<Box<[StepId]>>,
    pub(crate) arrivals: Vec<Arrival>,
    /// For each step its arrival: the message of a receive, the completion of another step.
    pub(crate) own: Vec<Option<ArrivalId>>,
    /// For each step the arrivals that show its completion.
    complete: Vec<Vec<ArrivalId>>,
    /// For each receive the index of its group.
    group: Vec<Option<u32>>,
    groups: Vec<ReadyGroup>,
    /// For each send the arrival of its ready-to-receive.
    ready: Vec<Option<ArrivalId>>,
    /// At the single source, the ready-to-receive arrivals of all other ranks.
    pub(crate) joins: Vec<ArrivalId>,
}

impl DependencyGraph {
    /// The part of the graph that follows from the schedule alone.
    pub(crate) fn new(schedule: &Schedule, rules: &Rules) -> Result<Self, String> {
        let steps = schedule.steps().len();
        let mut graph = Self {
            actions: Vec::with_capacity(steps),
            rounds: schedule.steps().iter().map(|step| step.round).collect(),
            after: (0..steps).map(|step| schedule.predecessors(step as StepId).into()).collect(),
            arrivals: Vec::new(),
            own: vec![None; steps],
            complete: Vec::with_capacity(steps),
            group: vec![None; steps],
            groups: Vec::new(),
            ready: vec![None; steps],
            joins: Vec::new(),
        };
        for step in 0..steps as StepId {
            graph.actions.push(countable(schedule, step)?);
            graph.complete_step(step, rules);
        }
        graph.join_groups(rules);
        graph.check_single_source(rules)?;
        Ok(graph)
    }

    /// The highest round of any step.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.iter().copied().max().unwrap_or(0)
    }

    /// Checks that all sent data stems from the single source, if there is one.
    fn check_single_source(&mut self, rules: &Rules) -> Result<(), String> {
        let Some(single) = rules.single else { return Ok(()) };
        let mut stems = Vec::with_capacity(self.actions.len());
        for (step, action) in self.actions.iter().enumerate() {
            let is_receive = matches!(action, StepAction::Receive { .. });
            stems.push(is_receive || self.after[step].iter().any(|&step| stems[step as usize]));
            let is_send = matches!(action, StepAction::Send { .. });
            if is_send && !rules.is_source() && !stems[step] {
                let source = single.source;
                return Err(format!(
                    "step {step} sends data that does not stem from rank {source}"
                ));
            }
        }
        if rules.is_source() && self.actions.iter().any(|it| matches!(it, StepAction::Send { .. }))
        {
            for _ in 1..single.ranks {
                let join = Arrival {
                    kind: ArrivalKind::Ready,
                    level: ArrivalLevel::ready(1),
                    source: None,
                    sequence: (0, 0),
                };
                let join = self.add_arrival(join);
                self.joins.push(join);
            }
        }
        Ok(())
    }

    /// Whether this rank sends a ready-to-receive to the single source.
    pub(crate) fn joins(&self, rules: &Rules) -> bool {
        let receives = || self.actions.iter().any(|it| matches!(it, StepAction::Receive { .. }));
        rules.single.is_some() && !rules.is_source() && receives()
    }

    /// Adds the arrivals that show the completion of a step.
    fn complete_step(&mut self, step: StepId, rules: &Rules) {
        let before = self.before(step);
        let (action, round) = (self.actions[step as usize], self.rounds[step as usize]);
        let level = if rules.rounds {
            self.level(action, round, &before)
        } else {
            ArrivalLevel::listed(step, false)
        };
        let (source, sequence) = match action {
            StepAction::Receive { peer, region, label } => {
                (Some(peer).filter(|_| region.len > 0), (round, label))
            }
            _ => (None, (round, 0)),
        };
        let is_receive = matches!(action, StepAction::Receive { .. });
        let kind = if is_receive { ArrivalKind::Message } else { ArrivalKind::Done };
        let counts = match action {
            StepAction::Receive { .. } => true,
            StepAction::Send { region, .. } => region.len > 0 && rules.local,
            StepAction::Copy { to, .. } => to.len > 0,
            StepAction::Reduce { into, .. } => into.len > 0,
        };
        if counts {
            self.own[step as usize] =
                Some(self.add_arrival(Arrival { kind, level, source, sequence }));
        }
        let mut complete = Vec::from_iter(self.own[step as usize]);
        // Bytes that needed a ready-to-receive arrive after everything that the ready-to-receive
        // waited for.
        if complete.is_empty() || is_receive && !needs_ready(action, rules) {
            complete.extend(before);
        }
        self.complete.push(complete);
    }

    fn level(&self, action: StepAction, round: u32, before: &[ArrivalId]) -> ArrivalLevel {
        if matches!(action, StepAction::Send { .. } | StepAction::Receive { .. }) {
            return ArrivalLevel::message(round);
        }
        let levels = before.iter().map(|&arrival| self.arrivals[arrival as usize].level);
        let latest = levels.max().filter(|&level| level >= ArrivalLevel::message(round));
        ArrivalLevel::local(round, latest.map_or(0, ArrivalLevel::depth) + 1)
    }

    fn add_arrival(&mut self, arrival: Arrival) -> ArrivalId {
        self.arrivals.push(arrival);
        self.arrivals.len() as ArrivalId - 1
    }

    /// The arrivals that show the completion of all predecessors of a step.
    fn before(&self, step: StepId) -> Vec<ArrivalId> {
        let after = self.after[step as usize].iter();
        let mut before: Vec<ArrivalId> =
            after.flat_map(|&step| &self.complete[step as usize]).copied().collect();
        before.sort_unstable();
        before.dedup();
        before
    }

    fn latest(&self, arrivals: &[ArrivalId]) -> ArrivalLevel {
        let levels = arrivals.iter().map(|&arrival| self.arrivals[arrival as usize].level);
        levels.max().unwrap_or_default()
    }

    /// Groups the receives from one rank that are due at the same time.
    fn join_groups(&mut self, rules: &Rules) {
        let mut known: HashMap<(u32, ArrivalLevel), u32> = HashMap::new();
        let mut counts: HashMap<u32, u16> = HashMap::new();
        for step in 0..self.actions.len() {
            let action = self.actions[step];
            let StepAction::Receive { peer: from, .. } = action else { continue };
            if !needs_ready(action, rules) {
                continue;
            }
            let needs = self.before(step as StepId);
            if rules.single.is_some() && needs.is_empty() {
                continue;
            }
            let (level, round) = (self.latest(&needs), self.rounds[step]);
            let merges = rules.merges && rules.scheme != Scheme::Prematched;
            if let Some(&at) = known.get(&(from, level)).filter(|_| merges) {
                let group = &mut self.groups[at as usize];
                group.needs.extend(needs);
                group.round = group.round.min(round);
                self.group[step] = Some(at);
                continue;
            }
            let count = counts.entry(from).or_default();
            self.group[step] = Some(self.groups.len() as u32);
            known.insert((from, level), self.groups.len() as u32);
            self.groups.push(ReadyGroup { level, needs, round, from, index: *count });
            *count += 1;
        }
    }

    /// The index of the group of a receive among the groups of its source; [`NO_GROUP`] without one.
    pub(crate) fn group(&self, receive: StepId) -> u16 {
        let group = self.group[receive as usize];
        group.map_or(NO_GROUP, |at| self.groups[at as usize].index)
    }

    /// The messages from each rank, or to each rank, by label.
    ///
    /// # Errors
    /// A sentence if two messages have the same label.
    pub(crate) fn edges(&self, incoming: bool) -> Result<Vec<(u32, EdgeSteps)>, String> {
        let mut messages: Vec<(u32, u16, StepId)> = Vec::new();
        for (step, action) in (0..).zip(&self.actions) {
            match *action {
                StepAction::Receive { peer, label, .. } if incoming => {
                    messages.push((peer, label, step));
                }
                StepAction::Send { peer, label, .. } if !incoming => {
                    messages.push((peer, label, step))
                }
                _ => {}
            }
        }
        messages.sort_unstable();
        let twice = |pair: &&[(u32, u16, StepId)]| (pair[0].0, pair[0].1) == (pair[1].0, pair[1].1);
        if let Some(pair) = messages.windows(2).find(twice) {
            let (peer, label, _) = pair[0];
            return Err(format!("two messages with label {label} between this rank and {peer}"));
        }
        let by_peer = messages.chunk_by(|one, two| one.0 == two.0);
        let edge = |messages: &[(u32, u16, StepId)]| messages.iter().map(|it| it.2).collect();
        Ok(by_peer.map(|messages| (messages[0].0, edge(messages))).collect())
    }

    /// Takes the groups that a receiver made of its messages, and returns the arrival of the
    /// ready-to-receive of each group.
    pub(crate) fn grant(
        &mut self, sends: &[StepId], groups: &[u16], rules: &Rules,
    ) -> Vec<ArrivalId> {
        let count = groups.iter().filter(|&&group| group != NO_GROUP).max();
        let count = count.map_or(0, |&last| last as usize + 1);
        let mut levels = vec![ArrivalLevel::MAX; count];
        for (&step, &group) in sends.iter().zip(groups).filter(|it| *it.1 != NO_GROUP) {
            let round = self.rounds[step as usize];
            let level = if rules.rounds {
                ArrivalLevel::ready(round)
            } else {
                ArrivalLevel::listed(step, true)
            };
            levels[group as usize] = levels[group as usize].min(level);
        }
        let kind = ArrivalKind::Ready;
        let arrival = |level| Arrival { kind, level, source: None, sequence: (0, 0) };
        let ids: Vec<ArrivalId> =
            levels.into_iter().map(|level| self.add_arrival(arrival(level))).collect();
        for (&step, &group) in sends.iter().zip(groups).filter(|it| *it.1 != NO_GROUP) {
            self.ready[step as usize] = Some(ids[group as usize]);
        }
        ids
    }

    /// All tasks. Tasks of one level start in this order: steps as listed, and a ready-to-receive at
    /// the position of its first receive.
    pub(crate) fn tasks(&self, rules: &Rules) -> Vec<CounterTask> {
        let mut tasks = Vec::new();
        if let Some(single) = rules.single.filter(|_| self.joins(rules)) {
            let kind = TaskKind::Join { to: single.source };
            tasks.push(CounterTask {
                kind,
                needs: Vec::new(),
                level: ArrivalLevel::default(),
                round: 0,
            });
        }
        let mut begun = vec![false; self.groups.len()];
        for step in 0..self.actions.len() as StepId {
            match self.actions[step as usize] {
                StepAction::Receive { .. } => {
                    if let Some(at) = self.group[step as usize]
                        && !std::mem::replace(&mut begun[at as usize], true)
                    {
                        let ReadyGroup { mut level, mut needs, round, from, index } =
                            self.groups[at as usize].clone();
                        if rules.in_turn {
                            needs = self.arrivals_below(ArrivalLevel::ready(round));
                            level = self.latest(&needs);
                        }
                        let kind = TaskKind::Ready { to: from, group: index };
                        tasks.push(CounterTask { kind, needs, level, round });
                    }
                }
                StepAction::Copy { to: Region { len: 0, .. }, .. }
                | StepAction::Reduce { into: Region { len: 0, .. }, .. } => {}
                StepAction::Send { .. } | StepAction::Copy { .. } | StepAction::Reduce { .. } => {
                    let mut needs = self.before(step);
                    needs.extend(self.ready[step as usize]);
                    if matches!(self.actions[step as usize], StepAction::Send { .. }) {
                        needs.extend(self.joins.first());
                    }
                    let kind = TaskKind::Step { step, done: self.own[step as usize] };
                    let (level, round) = (self.latest(&needs), self.rounds[step as usize]);
                    tasks.push(CounterTask { kind, needs, level, round });
                }
            }
        }
        let sends = tasks.iter_mut().filter(|task| matches!(task.kind, TaskKind::Step { .. }));
        let first =
            sends.filter(|task| self.joins.first().is_some_and(|join| task.needs.contains(join)));
        if let Some(first) = first.min_by_key(|task| task.level) {
            first.needs.extend(&self.joins[1..]);
        }
        // Pre-matched messages have their own counters and need no order.
        if rules.ordered && rules.scheme != Scheme::Prematched {
            self.order_puts(&mut tasks);
        }
        tasks
    }

    /// All arrivals below a level.
    fn arrivals_below(&self, level: ArrivalLevel) -> Vec<ArrivalId> {
        let arrivals = (0..).zip(&self.arrivals);
        arrivals.filter(|(_, arrival)| arrival.level < level).map(|(id, _)| id).collect()
    }

    /// Makes the puts to each rank start in the order of their rounds and labels.
    fn order_puts(&self, tasks: &mut [CounterTask]) {
        let mut puts: Vec<((u32, u32, u16), usize)> = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            if let TaskKind::Step { step, .. } = task.kind
                && let StepAction::Send { peer, label, region } = self.actions[step as usize]
                && region.len > 0
            {
                puts.push(((peer, task.round, label), index));
            }
        }
        puts.sort_unstable();
        for pair in puts.windows(2).filter(|pair| pair[0].0.0 == pair[1].0.0) {
            // A later put waits for the last arrival that an earlier one waits for.
            let earlier = &tasks[pair[0].1];
            let level = earlier.level;
            let latest = |&&it: &&ArrivalId| self.arrivals[it as usize].level == level;
            let latest = earlier.needs.iter().find(latest).copied();
            let later = &mut tasks[pair[1].1];
            later.needs.extend(latest.filter(|it| !later.needs.contains(it)));
            later.level = level.max(later.level);
        }
        // Tasks of one level start in the order of the list.
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        for messages in puts.chunk_by(|one, two| one.0.0 == two.0.0) {
            let mut slots: Vec<usize> = messages.iter().map(|it| it.1).collect();
            slots.sort_unstable();
            for (slot, message) in slots.into_iter().zip(messages) {
                order[slot] = message.1;
            }
        }
        let sorted: Vec<CounterTask> =
            order.into_iter().map(|index| tasks[index].clone()).collect();
        tasks.clone_from_slice(&sorted);
    }
}

/// Whether a message needs a ready-to-receive.
fn needs_ready(receive: StepAction, rules: &Rules) -> bool {
    let StepAction::Receive { region, .. } = receive else { return false };
    let matches = rules.scheme == Scheme::Prematched;
    rules.ready && (matches || !(rules.synchronizes && region.len == 0))
}

/// The action of a step.
///
/// # Errors
/// A sentence if counters cannot decide when the step may start.
fn countable(schedule: &Schedule, step: StepId) -> Result<StepAction, String> {
    let it = &schedule.steps()[step as usize];
    let after = schedule.predecessors(step);
    if it.detached {
        return Err(format!("step {step} is detached, but counters wait for every step"));
    }
    if it.wait == Wait::Any && after.len() > 1 {
        let several = after.len();
        return Err(format!(
            "step {step} waits for any one of {several} steps, but counters wait for all"
        ));
    }
    let action = schedule.action(step, after.first().copied().unwrap_or(0));
    let first = |region: Option<Region>| region.is_some_and(|it| it.buffer == Buffer::First);
    let (read, written) = action.regions();
    if first(read) || first(written) {
        return Err(format!(
            "step {step} reads the first of several copies, which counters do not identify"
        ));
    }
    Ok(action)
}
