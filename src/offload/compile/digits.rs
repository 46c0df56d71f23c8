//! Weights and thresholds: one number shows which of the arrivals that work waits for have happened.
//!
//! ```text
//!   digit          0             1            last
//!   arrivals       c0            c1           c2: only the end waits for these
//!   weight         (1+c1)(1+c2)  1+c2         1
//!   threshold      c0 w0         c0 w0+c1 w1  c0 w0+c1 w1+c2: complete
//! ```
//!
//! **Weights** are those of a number with mixed radices. While an arrival of a digit up to `d` is
//! missing, the level is below the threshold of `d`: the weight of `d` is one more than all later
//! digits can add. So the arrivals of a digit may happen in any order, and arrivals of later digits
//! before them. With one arrival in each digit, weights are powers of two.
//!
//! **Cuts** divide arrivals into digits: they are the levels (`dependency_graph`) that work waits
//! for. An arrival counts in the digit of the first cut that needs it; arrivals that no work needs
//! share the last digit.
//!
//! **Unary digits.** If the arrivals of successive digits come from one rank in order, they share one
//! digit that counts them, and each cut is a number in it. A pipeline takes the logarithm of its
//! number of segments in bits, instead of a bit for each.
//!
//! **Carry.** Digits that do not fit in the bits of a counter continue in the next one. A full counter
//! adds to the first digit of the next, so that work there waits for both.
//!
//! **Queues.** A counter of session mode is a queue of commands (`offload::session`): additions are
//! small, and each command has a level of its own. So the weight of a digit is the number of the
//! commands that wait for it, plus what all later digits can add; the commands have the last levels up
//! to its threshold:
//!
//! ```text
//!   digit          0                      1
//!   arrivals       c0                     c1
//!   commands       k0                     k1
//!   weight         k0 + c1 w1             k1
//!   threshold      c0 w0                  c0 w0 + c1 w1
//!   levels         threshold-k0+1 ...     threshold-k1+1 ... threshold
//! ```
//!
//! While an arrival of a digit up to `d` is missing, the level is below the first command of `d`, as
//! above. If a digit has more commands than steps of an addition, the last command of each addition adds
//! to its own queue and so starts the next commands:
//!
//! ```text
//!   arrivals ──+15──> [1: put] ... [14: put] [15: +15] [16: put] ... [29: put] [30: +2] [31: put] [32: put]
//! ```
//!
//! Levels after such a digit are higher by what it adds, which has happened only if the digit is complete.
//!
//! A carry that is larger than an addition may be (before a unary digit) takes a queue of its own, an
//! *amplifier*, whose commands are additions:
//!
//! ```text
//!   full ──+3──> amplifier [1: +15] [2: +15] [3: +7] ──> next queue
//! ```
//!
//! The additions of an amplifier may arrive one by one: a part of a weight keeps the level below as well
//! as none of it does, and shows that the first queue is full.
//!
//! **Streams.** Pipelines that do not wait for each other have their own counters, if they are few.
//! The end of each adds to the last digit of the last counter.
//!
//! Water tanks that count in powers of two are from Morie et al., "Design and evaluation of
//! persistent collective communication with the offload API of Open Fabrics Interfaces", RIKEN (in
//! Japanese).

use std::collections::HashMap;

use super::dependency_graph::{Arrival, ArrivalId, ArrivalKind, ArrivalLevel, CounterTask};
use super::rules::Rules;
use crate::offload::program::{CounterAdd, CounterId};

/// Counters, weights and thresholds of a rank.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digits {
    /// The addition of each arrival.
    pub(crate) adds: Vec<CounterAdd>,
    /// For each task, the counter and the level that start it.
    pub(crate) due: Vec<(CounterId, u64)>,
    /// The level of each counter after all arrivals.
    pub(crate) full: Vec<u64>,
    /// Additions to counters of this rank, each with the counter and the level that start it.
    pub(crate) chained: Vec<(CounterId, u64, CounterAdd)>,
}

/// Tasks and arrivals that are counted together.
#[derive(Debug, Default)]
struct CountingGroup {
    tasks: Vec<usize>,
    arrivals: Vec<ArrivalId>,
}

/// The arrivals up to a level that no earlier cut has, and the tasks that wait for it.
#[derive(Debug, Default)]
struct Cut {
    arrivals: Vec<ArrivalId>,
    tasks: Vec<usize>,
}

/// Successive cuts that share a digit.
#[derive(Debug)]
struct Digit {
    /// Several cuts are counted in order.
    cuts: Vec<Cut>,
}

impl Digit {
    fn arrivals(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.arrivals.len() as u64).sum()
    }

    /// The largest number of commands for one arrival; `carries` if a carry follows the last cut.
    fn commands(&self, carries: bool) -> u64 {
        let last = self.cuts.len() - 1;
        let of = |(at, cut): (usize, &Cut)| cut.tasks.len() + usize::from(carries && at == last);
        self.cuts.iter().enumerate().map(of).max().unwrap_or(0) as u64
    }
}

/// The digits of one counter.
#[derive(Debug, Default)]
struct Column {
    digits: Vec<Digit>,
    /// Whether the counter before adds to it when it is full.
    carried: bool,
    /// Whether it adds to another counter when it is full.
    carries: bool,
}

/// The weights of a column.
struct Weights {
    /// Of its digits.
    digits: Vec<u64>,
    /// Of the carry of the counter before; 0 without one.
    carry: u64,
}

impl Column {
    /// The weights, or the limit of the counter that they exceed.
    fn weights(&self, rules: &Rules) -> Result<Weights, &'static str> {
        let (mut later, mut weights) = (0u128, vec![0; self.digits.len()]);
        // A carry is one more arrival of the first digit, unless that counts arrivals in order.
        let joins = self.carried && self.digits[0].cuts.len() == 1;
        for (at, digit) in self.digits.iter().enumerate().rev() {
            let carries = self.carries && at == self.digits.len() - 1;
            let commands = rules.steps_max.map_or(1, |most| digit.commands(carries).min(most));
            let weight = later + u128::from(commands.max(1));
            if rules.steps_max.is_some_and(|most| weight > most.into()) {
                return Err("the steps of an addition");
            }
            weights[at] = u64::try_from(weight).map_err(|_| "the bits of a counter")?;
            later += weight * u128::from(digit.arrivals() + u64::from(joins && at == 0));
        }
        let carry = match (self.carried, joins) {
            (false, _) => 0,
            (true, true) => weights[0].into(),
            (true, false) => later + 1,
        };
        let full = if joins { later } else { later + carry };
        if full >= 1 << rules.bits {
            return Err("the bits of a counter");
        }
        Ok(Weights { digits: weights, carry: carry as u64 })
    }
}

impl Digits {
    /// Weights for all arrivals of a rank, and thresholds for its tasks.
    ///
    /// # Errors
    /// A sentence if there are too many counters.
    pub(crate) fn new(
        arrivals: &[Arrival], tasks: &[CounterTask], rules: &Rules,
    ) -> Result<Self, String> {
        let mut parts = parts(arrivals, tasks, rules);
        // The ends of all parts except the last arrive in the last one.
        let mut all = arrivals.to_vec();
        let end = Arrival {
            kind: ArrivalKind::Done,
            level: ArrivalLevel::MAX,
            source: None,
            sequence: (0, 0),
        };
        let (last, others) = parts.split_last_mut().expect("there is one");
        last.arrivals.extend(others.iter().zip(arrivals.len() as ArrivalId..).map(|it| it.1));
        all.resize(all.len() + others.len(), end);
        let mut plan = Self {
            adds: vec![CounterAdd { counter: 0, value: 0 }; all.len()],
            due: vec![(0, 0); tasks.len()],
            ..Self::default()
        };
        let mut ends = Vec::with_capacity(parts.len());
        for (at, part) in parts.iter().enumerate() {
            plan.count(part, &all, tasks, rules, at + 1 < parts.len())?;
            ends.push(plan.full.len() - 1);
        }
        for (&end, &add) in ends.iter().zip(&plan.adds[arrivals.len()..]) {
            plan.chained.push((end as CounterId, plan.full[end], add));
        }
        plan.adds.truncate(arrivals.len());
        Ok(plan)
    }

    /// Assigns counters to a part; `carries` if its end is an arrival at another part.
    fn count(
        &mut self, part: &CountingGroup, arrivals: &[Arrival], tasks: &[CounterTask],
        rules: &Rules, carries: bool,
    ) -> Result<(), String> {
        let digits = digits(cuts(part, tasks), arrivals, rules);
        let mut last = None;
        for column in columns(digits, rules, carries)? {
            self.fill(&column, rules, last)?;
            last = Some(self.full.len() - 1);
        }
        let counters = self.full.len();
        if counters > CounterId::MAX.into() {
            return Err(format!(
                "the program needs {counters} counters, more than their numbers can name"
            ));
        }
        Ok(())
    }

    /// Adds a counter with the weights of its digits, after the counter `before` of the same part.
    fn fill(
        &mut self, column: &Column, rules: &Rules, before: Option<usize>,
    ) -> Result<(), String> {
        let weights = column.weights(rules)?;
        let mut level = 0;
        if let Some(before) = before.filter(|_| rules.carry) {
            self.carry(before, weights.carry, rules);
            level += weights.carry;
        }
        let counter = self.full.len() as CounterId;
        let mut left = column.digits.iter().map(|digit| digit.cuts.len()).sum::<usize>();
        for (digit, weight) in column.digits.iter().zip(weights.digits) {
            for cut in &digit.cuts {
                for &arrival in &cut.arrivals {
                    self.adds[arrival as usize] = CounterAdd { counter, value: weight };
                }
                level += weight * cut.arrivals.len() as u64;
                left -= 1;
                level = self.start_tasks(cut, column.carries && left == 0, counter, level, rules);
            }
        }
        if level >= 1 << rules.bits {
            return Err("the commands exceed the bits of a counter".to_owned());
        }
        self.full.push(level);
        Ok(())
    }

    /// Gives the tasks of a cut that is complete at `level` their levels. Returns the level of its last
    /// command, which is the carry if `carries`.
    fn start_tasks(
        &mut self, cut: &Cut, carries: bool, counter: CounterId, mut level: u64, rules: &Rules,
    ) -> u64 {
        let Some(most) = rules.steps_max else {
            cut.tasks.iter().for_each(|&task| self.due[task] = (counter, level));
            return level;
        };
        let mut tasks = cut.tasks.iter();
        let mut commands = cut.tasks.len() as u64 + u64::from(carries);
        // The first of the levels that an addition has reached.
        let mut first = level - commands.min(most);
        while commands > most {
            for at in 1..most {
                let task = tasks.next().expect("the carry is the last command");
                self.due[*task] = (counter, first + at);
            }
            commands -= most - 1;
            (first, level) = (level, level + commands.min(most));
            let add = CounterAdd { counter, value: level - first };
            self.chained.push((counter, first, add));
        }
        for (&task, at) in tasks.zip(1..) {
            self.due[task] = (counter, first + at);
        }
        level
    }

    /// Makes a full counter add `value` to the next counter, through amplifiers if that is too much for
    /// an addition.
    fn carry(&mut self, mut from: usize, value: u64, rules: &Rules) {
        let most = rules.steps_max.unwrap_or(u64::MAX);
        let mut stages = vec![value];
        while let Some(&value) = stages.last().filter(|value| **value > most) {
            stages.push(value.div_ceil(most));
        }
        let mut level = self.full[from];
        while let Some(value) = stages.pop() {
            let counter = self.full.len();
            for (at, added) in (0..).zip((0..value).step_by(most as usize)) {
                let add =
                    CounterAdd { counter: counter as CounterId, value: most.min(value - added) };
                self.chained.push((from as CounterId, level + at, add));
            }
            if !stages.is_empty() {
                self.full.push(value);
                (from, level) = (counter, 1);
            }
        }
    }
}

/// The groups that are counted together: everything, or each independent pipeline and the rest.
fn parts(arrivals: &[Arrival], tasks: &[CounterTask], rules: &Rules) -> Vec<CountingGroup> {
    let mut sets = DisjointSets((0..arrivals.len()).collect());
    for task in tasks {
        for pair in task.needs.windows(2) {
            sets.join(pair[0] as usize, pair[1] as usize);
        }
    }
    // The level of the first work of each set, and whether work of another level exists.
    let mut works: HashMap<usize, (ArrivalLevel, bool)> = HashMap::new();
    for task in tasks {
        if let Some(&arrival) = task.needs.first() {
            let work = works.entry(sets.root(arrival as usize)).or_insert((task.level, false));
            work.1 |= work.0 != task.level;
        }
    }
    let mut streams: Vec<usize> =
        works.iter().filter(|(_, work)| work.1).map(|(&set, _)| set).collect();
    streams.sort_unstable();
    if streams.len() > rules.streams.into() || streams.len() < 2 {
        streams.clear();
    }
    // The rest is the last part, if any work waits there.
    let rest = usize::from(works.len() > streams.len() || streams.is_empty());
    let mut parts: Vec<CountingGroup> =
        (0..streams.len() + rest).map(|_| CountingGroup::default()).collect();
    let last = parts.len() - 1;
    let mut part_of = |arrival: usize| {
        let set = sets.root(arrival);
        streams.binary_search(&set).unwrap_or(last)
    };
    for arrival in 0..arrivals.len() {
        parts[part_of(arrival)].arrivals.push(arrival as ArrivalId);
    }
    for (index, task) in tasks.iter().enumerate() {
        let part = task.needs.first().map_or(last, |&arrival| part_of(arrival as usize));
        parts[part].tasks.push(index);
    }
    parts
}

/// Union and find on sets of numbers, with path halving.
struct DisjointSets(Vec<usize>);

impl DisjointSets {
    fn root(&mut self, mut of: usize) -> usize {
        while self.0[of] != of {
            self.0[of] = self.0[self.0[of]];
            of = self.0[of];
        }
        of
    }

    fn join(&mut self, one: usize, other: usize) {
        let (one, other) = (self.root(one), self.root(other));
        self.0[one.max(other)] = one.min(other);
    }
}

/// The cuts of a part; the last has the arrivals that no work needs.
fn cuts(part: &CountingGroup, tasks: &[CounterTask]) -> Vec<Cut> {
    let waiting = || part.tasks.iter().filter(|&&task| !tasks[task].needs.is_empty());
    let mut levels: Vec<ArrivalLevel> = waiting().map(|&task| tasks[task].level).collect();
    levels.sort_unstable();
    levels.dedup();
    let mut cuts: Vec<Cut> = (0..=levels.len()).map(|_| Cut::default()).collect();
    let mut first: HashMap<ArrivalId, usize> = HashMap::new();
    for &task in waiting() {
        let at = levels.partition_point(|level| *level < tasks[task].level);
        cuts[at].tasks.push(task);
        for &arrival in &tasks[task].needs {
            let first = first.entry(arrival).or_insert(at);
            *first = at.min(*first);
        }
    }
    for &arrival in &part.arrivals {
        let at = first.get(&arrival).copied().unwrap_or(levels.len());
        cuts[at].arrivals.push(arrival);
    }
    cuts
}

/// One digit for each cut, or for several cuts whose arrivals happen in order.
fn digits(cuts: Vec<Cut>, arrivals: &[Arrival], rules: &Rules) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    let mut last: Option<ArrivalSequence> = None;
    for cut in cuts {
        // A cut without arrivals has the level of the one before.
        if let Some(before) = digits.last_mut().filter(|_| cut.arrivals.is_empty()) {
            before.cuts.last_mut().expect("there is one").tasks.extend(cut.tasks);
            continue;
        }
        let sequence =
            if rules.ordered { ArrivalSequence::of(&cut.arrivals, arrivals) } else { None };
        let follows = last.as_ref().zip(sequence.as_ref()).is_some_and(|(last, sequence)| {
            last.source == sequence.source && last.end < sequence.start
        });
        match digits.last_mut().filter(|_| follows) {
            Some(digit) => digit.cuts.push(cut),
            None => digits.push(Digit { cuts: vec![cut] }),
        }
        last = sequence;
    }
    digits
}

/// Arrivals from one rank, with their first and last sequence.
struct ArrivalSequence {
    source: u32,
    start: (u32, u16),
    end: (u32, u16),
}

impl ArrivalSequence {
    /// The arrivals of a cut, if they come from one rank in order.
    fn of(cut: &[ArrivalId], arrivals: &[Arrival]) -> Option<Self> {
        let mut cut = cut.iter().map(|&arrival| &arrivals[arrival as usize]);
        let first = cut.next()?;
        let mut sequence =
            Self { source: first.source?, start: first.sequence, end: first.sequence };
        for arrival in cut {
            if arrival.source != Some(sequence.source) {
                return None;
            }
            sequence.start = sequence.start.min(arrival.sequence);
            sequence.end = sequence.end.max(arrival.sequence);
        }
        Some(sequence)
    }
}

/// Distributes digits to counters that can hold them; `carries` if the last one adds to another one
/// when it is full.
///
/// # Errors
/// A sentence if a counter cannot hold a single digit.
fn columns(digits: Vec<Digit>, rules: &Rules, carries: bool) -> Result<Vec<Column>, String> {
    let mut columns = vec![Column::default()];
    let digits = digits.into_iter().flat_map(|digit| divide(digit, rules));
    for digit in digits {
        let column = columns.last_mut().expect("there is one");
        column.digits.push(digit);
        // With room for a carry, as another digit may follow.
        column.carries = true;
        if column.digits.len() > 1 && column.weights(rules).is_err() {
            let digit = column.digits.pop().expect("added above");
            columns.push(Column { digits: vec![digit], carried: true, carries: true });
        }
        let column = columns.last().expect("there is one");
        if let Err(limit) = column.weights(rules) {
            let arrivals = column.digits[0].arrivals();
            return Err(format!("a digit of {arrivals} arrivals exceeds {limit}"));
        }
    }
    columns.last_mut().expect("there is one").carries = carries;
    Ok(columns)
}

/// Divides a digit with more arrivals than a counter can count. The parts are digits one after the other.
fn divide(digit: Digit, rules: &Rules) -> Vec<Digit> {
    // A carry is one more arrival, and before a sequence it weighs as much as that.
    let is_sequence = digit.cuts.len() > 1;
    let levels = if is_sequence {
        (1 << (rules.bits - 1)) / rules.steps_max.unwrap_or(1)
    } else {
        (1u64 << rules.bits) - 1
    };
    let arrivals_max = usize::try_from(levels.saturating_sub(1)).unwrap_or(usize::MAX).max(1);
    if digit.arrivals() <= arrivals_max as u64 {
        return vec![digit];
    }
    let part = |arrivals, tasks| Digit { cuts: vec![Cut { arrivals, tasks }] };
    let mut parts: Vec<Digit> = Vec::new();
    for Cut { mut arrivals, tasks } in digit.cuts {
        while arrivals.len() > arrivals_max {
            let rest = arrivals.split_off(arrivals_max);
            parts.push(part(arrivals, Vec::new()));
            arrivals = rest;
        }
        let mut cut = part(arrivals, tasks);
        let fits = |last: &&mut Digit| last.arrivals() + cut.arrivals() <= arrivals_max as u64;
        match parts.last_mut().filter(|_| is_sequence).filter(fits) {
            Some(last) => last.cuts.append(&mut cut.cuts),
            None => parts.push(cut),
        }
    }
    parts
}
