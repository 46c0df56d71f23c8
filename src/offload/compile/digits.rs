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

/// Successive cuts that share a digit.
#[derive(Debug, Default)]
struct Digit {
    /// The arrivals of each cut. Several cuts are counted in order.
    cuts: Vec<Vec<ArrivalId>>,
}

impl Digit {
    fn count(&self) -> u64 {
        self.cuts.iter().map(|cut| cut.len() as u64).sum()
    }
}

/// The digits of one counter.
#[derive(Debug, Default)]
struct Column {
    digits: Vec<Digit>,
    /// Whether its first digit is the end of another counter.
    carried: bool,
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
        for part in &parts {
            plan.count(part, &all, tasks, rules)?;
            ends.push(plan.full.len() - 1);
        }
        for (&end, &add) in ends.iter().zip(&plan.adds[arrivals.len()..]) {
            plan.chained.push((end as CounterId, plan.full[end], add));
        }
        plan.adds.truncate(arrivals.len());
        Ok(plan)
    }

    /// Assigns counters to a part.
    fn count(
        &mut self, part: &CountingGroup, arrivals: &[Arrival], tasks: &[CounterTask], rules: &Rules,
    ) -> Result<(), String> {
        let waiting = || part.tasks.iter().filter(|&&task| !tasks[task].needs.is_empty());
        let mut cuts: Vec<ArrivalLevel> = waiting().map(|&task| tasks[task].level).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let columns = columns(digits(by_cut(part, tasks, &cuts), arrivals, rules), rules);
        let counters = self.full.len() + columns.len();
        if counters > CounterId::MAX.into() {
            return Err(format!(
                "the program needs {counters} counters, more than their numbers can name"
            ));
        }
        // The counter and the level at which all arrivals of a cut and of earlier cuts have happened.
        let mut reached = Vec::with_capacity(cuts.len() + 1);
        for column in &columns {
            self.fill(column, rules, &mut reached);
        }
        for &task in waiting() {
            self.due[task] = reached[cuts.partition_point(|cut| *cut < tasks[task].level)];
        }
        Ok(())
    }

    /// Adds a counter with the weights of its digits.
    fn fill(&mut self, column: &Column, rules: &Rules, reached: &mut Vec<(CounterId, u64)>) {
        let counter = self.full.len() as CounterId;
        let radix = |digit: &Digit| 1 + digit.count();
        let mut weight: u64 = column.digits.iter().map(radix).product();
        let mut level = 0;
        if column.carried && rules.carry {
            let from = counter - 1;
            let full = self.full[usize::from(from)];
            self.chained.push((from, full, CounterAdd { counter, value: weight }));
            level += weight;
        }
        for digit in &column.digits {
            weight /= radix(digit);
            for cut in &digit.cuts {
                for &arrival in cut {
                    self.adds[arrival as usize] = CounterAdd { counter, value: weight };
                }
                level += weight * cut.len() as u64;
                reached.push((counter, level));
            }
        }
        self.full.push(level);
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

/// The arrivals of each cut, and those that no work needs.
fn by_cut(
    part: &CountingGroup, tasks: &[CounterTask], cuts: &[ArrivalLevel],
) -> Vec<Vec<ArrivalId>> {
    let mut first: HashMap<ArrivalId, usize> = HashMap::new();
    for &task in &part.tasks {
        let cut = cuts.partition_point(|cut| *cut < tasks[task].level);
        for &arrival in &tasks[task].needs {
            let first = first.entry(arrival).or_insert(cut);
            *first = cut.min(*first);
        }
    }
    let mut members = vec![Vec::new(); cuts.len() + 1];
    for &arrival in &part.arrivals {
        members[first.get(&arrival).copied().unwrap_or(cuts.len())].push(arrival);
    }
    members
}

/// One digit for each cut, or for several cuts whose arrivals happen in order.
fn digits(cuts: Vec<Vec<ArrivalId>>, arrivals: &[Arrival], rules: &Rules) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    let mut last: Option<ArrivalSequence> = None;
    for cut in cuts {
        let sequence = if rules.ordered { ArrivalSequence::of(&cut, arrivals) } else { None };
        let follows = last.as_ref().zip(sequence.as_ref()).is_some_and(|(last, sequence)| {
            last.source == sequence.source && last.end < sequence.start
        });
        // A cut without arrivals does not end a digit.
        if follows || cut.is_empty() && !digits.is_empty() {
            digits.last_mut().expect("there is one").cuts.push(cut);
        } else {
            digits.push(Digit { cuts: vec![cut] });
            last = None;
        }
        last = sequence.or(last);
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

/// Distributes digits to counters with enough bits.
fn columns(digits: Vec<Digit>, rules: &Rules) -> Vec<Column> {
    let limit = 1u64 << rules.bits;
    let mut columns = vec![Column::default()];
    let mut capacity = limit;
    for digit in digits {
        let radix = 1 + digit.count();
        let column = columns.last_mut().expect("there is one");
        if radix > capacity && !column.digits.is_empty() {
            // One bit is for the carry.
            columns.push(Column { digits: vec![digit], carried: true });
            capacity = limit / 2 / radix;
        } else {
            column.digits.push(digit);
            capacity /= radix;
        }
    }
    columns
}
