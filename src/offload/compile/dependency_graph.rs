//! What arrives at a rank, what its work waits for, and when: its part of the global graph.
//!
//! ```text
//!   level   2r-1              2r                          2r, deeper
//!           ready-to-receive  data, end of the send       copies, arithmetic
//! ```
//!
//! **Levels** order all arrivals and work of all ranks, without communication, as messages have one
//! round on both sides: whatever makes something of one level arrive waits for lower ones only. So
//! who waits for everything up to a level waits for nobody who waits for him.

use std::collections::HashMap;

use super::super::{Buffer, Region, Schedule, Scheme, StepAction, StepId, Wait};
use super::Rules;

/// The index of an arrival at a rank.
pub(super) type ArrivalId = u32;

/// A place in the order of all arrivals; 0 is the start.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(super) struct ArrivalLevel(u64);

impl ArrivalLevel {
    /// After everything.
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

    /// For ranks that count their own steps.
    fn listed(step: StepId, is_ready: bool) -> Self {
        Self(2 * u64::from(step) + 2 - u64::from(is_ready))
    }

    fn depth(self) -> u32 {
        self.0 as u32
    }
}

/// Something that adds to a counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct Arrival {
    pub(crate) kind: ArrivalKind,
    pub(crate) level: ArrivalLevel,
    /// Where it comes from if it carries bytes of another rank.
    pub(crate) source: Option<u32>,
    /// The place among what comes from there: round and label of the message.
    pub(crate) sequence: (u32, u16),
}

/// What it is that arrives.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ArrivalKind {
    /// A message.
    Message,
    /// The word of a rank that it is ready.
    Ready,
    /// The end of a step of this rank's own, or of a counter.
    Done,
}

/// What starts once some arrivals are there.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct CounterTask {
    pub(crate) kind: TaskKind,
    /// The arrivals that it waits for.
    pub(crate) needs: Vec<ArrivalId>,
    /// It also waits for all others up to this level, which is that of the latest at least.
    pub(crate) level: ArrivalLevel,
    pub(crate) round: u32,
}

/// What a task does.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum TaskKind {
    /// Tells a rank that this one is ready for a group of its messages.
    Ready { to: u32, group: u16 },
    /// Tells the source of everything that this rank is ready.
    Join { to: u32 },
    /// Runs a step of the schedule, and tells itself by an arrival when that is done.
    Step { step: StepId, done: Option<ArrivalId> },
}

/// Messages from one rank for which this one is ready at the same time.
#[derive(Clone, Debug, PartialEq, Eq)]
struct ReadyGroup {
    level: ArrivalLevel,
    needs: Vec<ArrivalId>,
    round: u32,
    from: u32,
    index: u16,
}

/// In a list of groups: the message needs no ready-to-receive.
pub(super) const NO_GROUP: u16 = u16::MAX;

/// Messages between this rank and another in one direction, by label.
pub(super) type EdgeSteps = Vec<StepId>;

/// A rank's part of the global graph.
#[derive(Clone, Debug)]
pub(super) struct DependencyGraph {
    /// Each step with what it reads.
    pub(crate) actions: Vec<StepAction>,
    rounds: Vec<u32>,
    after: Vec<Box<[StepId]>>,
    pub(crate) arrivals: Vec<Arrival>,
    /// The arrival of the message of a receive, and of the end of any other step that has one.
    pub(crate) own: Vec<Option<ArrivalId>>,
    /// For each step the arrivals that are there when it is complete.
    complete: Vec<Vec<ArrivalId>>,
    /// For each receive, its group, which has an index among those of its source.
    group: Vec<Option<u32>>,
    groups: Vec<ReadyGroup>,
    /// For each send, the arrival of its ready-to-receive.
    ready: Vec<Option<ArrivalId>>,
    /// At the source of everything, the arrivals of the others' word that they are ready.
    pub(crate) joins: Vec<ArrivalId>,
}

impl DependencyGraph {
    /// The part of the graph that the schedule alone says.
    pub(crate) fn new(schedule: &Schedule, rules: &Rules) -> Result<Self, String> {
        let steps = schedule.steps().len();
        let mut flow = Self {
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
            flow.actions.push(countable(schedule, step)?);
            flow.complete_step(step, rules);
        }
        flow.join_groups(rules);
        flow.check_single_source(rules)?;
        Ok(flow)
    }

    /// The highest round of any step.
    pub(crate) fn rounds(&self) -> u32 {
        self.rounds.iter().copied().max().unwrap_or(0)
    }

    /// Sees that everything stems from one rank, if it is to.
    fn check_single_source(&mut self, rules: &Rules) -> Result<(), String> {
        let Some(single) = rules.single else { return Ok(()) };
        let mut stems = Vec::with_capacity(self.actions.len());
        for (step, action) in self.actions.iter().enumerate() {
            let is_receive = matches!(action, StepAction::Receive { .. });
            stems.push(is_receive || self.after[step].iter().any(|&step| stems[step as usize]));
            let is_send = matches!(action, StepAction::Send { .. });
            if is_send && !rules.is_source() && !stems[step] {
                let source = single.source;
                return Err(format!("step {step} sends what does not stem from rank {source}"));
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

    /// Whether this rank tells the source of everything that it is ready.
    pub(crate) fn joins(&self, rules: &Rules) -> bool {
        let receives = || self.actions.iter().any(|it| matches!(it, StepAction::Receive { .. }));
        rules.single.is_some() && !rules.is_source() && receives()
    }

    /// Notes what is there when a step is complete.
    fn complete_step(&mut self, step: StepId, rules: &Rules) {
        let before = self.before(step);
        let (action, round) = (self.actions[step as usize], self.rounds[step as usize]);
        let level = if rules.rounds {
            self.level(action, round, &before)
        } else {
            ArrivalLevel::listed(step, false)
        };
        let (source, turn) = match action {
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
                Some(self.add_arrival(Arrival { kind, level, source, sequence: turn }));
        }
        let mut complete = Vec::from_iter(self.own[step as usize]);
        // The bytes of who said that it was ready come after what that waited for.
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

    /// The arrivals that are there when all that a step waits on is complete.
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

    /// Puts the receives from one rank that are due at the same time into one group.
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

    /// The group of a receive among those from its source, [`NO_GROUP`] if it has none.
    pub(crate) fn group(&self, receive: StepId) -> u16 {
        let group = self.group[receive as usize];
        group.map_or(NO_GROUP, |at| self.groups[at as usize].index)
    }

    /// The messages from each rank, or to each, by label.
    ///
    /// # Errors
    /// A sentence if there are two of one label.
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

    /// Notes the groups that a receiver made of the messages that go to it, and returns the arrival
    /// of each group's ready-to-receive.
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

    /// All tasks, in the order in which those of one level start: steps as listed, and a
    /// ready-to-receive in the place of its first receive.
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
        // Counters that tell messages apart need no order.
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

    /// Makes puts to one rank start in the order of their rounds and labels.
    fn order_puts(&self, tasks: &mut [CounterTask]) {
        let mut turns: Vec<((u32, u32, u16), usize)> = Vec::new();
        for (index, task) in tasks.iter().enumerate() {
            if let TaskKind::Step { step, .. } = task.kind
                && let StepAction::Send { peer, label, region } = self.actions[step as usize]
                && region.len > 0
            {
                turns.push(((peer, task.round, label), index));
            }
        }
        turns.sort_unstable();
        for pair in turns.windows(2).filter(|pair| pair[0].0.0 == pair[1].0.0) {
            // What an earlier one waits for last, a later one waits for too.
            let earlier = &tasks[pair[0].1];
            let level = earlier.level;
            let latest = |&&it: &&ArrivalId| self.arrivals[it as usize].level == level;
            let latest = earlier.needs.iter().find(latest).copied();
            let later = &mut tasks[pair[1].1];
            later.needs.extend(latest.filter(|it| !later.needs.contains(it)));
            later.level = level.max(later.level);
        }
        // Those of one level start in the order of the list.
        let mut order: Vec<usize> = (0..tasks.len()).collect();
        for messages in turns.chunk_by(|one, two| one.0.0 == two.0.0) {
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

/// Whether the receiver says when it is ready for a message.
fn needs_ready(receive: StepAction, rules: &Rules) -> bool {
    let StepAction::Receive { region, .. } = receive else { return false };
    let matches = rules.scheme == Scheme::Prematched;
    rules.ready && (matches || !(rules.synchronizes && region.len == 0))
}

/// What a step does, if counters can tell when it may.
fn countable(schedule: &Schedule, step: StepId) -> Result<StepAction, String> {
    let it = &schedule.steps()[step as usize];
    let after = schedule.predecessors(step);
    if it.detached {
        return Err(format!("step {step} may be late, but counters wait for everything"));
    }
    if it.wait == Wait::Any && after.len() > 1 {
        let several = after.len();
        return Err(format!("step {step} waits for any of {several} steps, counters for all"));
    }
    let action = schedule.action(step, after.first().copied().unwrap_or(0));
    let first = |region: Option<Region>| region.is_some_and(|it| it.buffer == Buffer::First);
    let (read, written) = action.regions();
    if first(read) || first(written) {
        return Err(format!("step {step} uses what came first, which counters do not tell"));
    }
    Ok(action)
}
