//! Weights and thresholds: one number tells how much of what work waits for has arrived.
//!
//! ```text
//!   digit          0             1            last
//!   arrivals       c0            c1           c2: nobody but the end waits for these
//!   weight         (1+c1)(1+c2)  1+c2         1
//!   threshold      c0 w0         c0 w0+c1 w1  c0 w0+c1 w1+c2: over
//! ```
//!
//! **Weights** are those of a number with mixed radices. While an arrival of a digit up to `d` is
//! missing, the level is below the threshold of `d`: what the later digits may add at most, and one,
//! is the weight of `d`. So arrivals of a digit may come in any order, and those of later ones before
//! them. With one arrival for each digit, weights are powers of two.
//!
//! **Cuts** divide arrivals into digits: the levels (`dependency_graph`) that work waits for. An arrival counts in
//! the digit of the first cut that needs it; all that nobody needs share the last digit.
//!
//! **Unary digits.** Where the arrivals of successive digits come from one rank in order, counting
//! them is enough: they share one digit, of which each cut is a number. A pipeline takes as many bits
//! as the number of its segments has, not a bit for each.
//!
//! **Carry.** What does not fit into the bits of a counter goes on in the next one. The end of a
//! counter adds the first digit of the next, so that what waits there waits for both.
//!
//! **Streams.** Pipelines that do not wait for each other have counters of their own, if they are few;
//! the end of each adds to the last digit of the last counter.
//!
//! Water tanks that count in powers of two are from: Morie et al., "Design and evaluation of
//! persistent collective communication with the offload API of Open Fabrics Interfaces", RIKEN (in
//! Japanese).

use std::collections::HashMap;

use super::super::{CounterAdd, CounterId};
use super::Rules;
use super::dependency_graph::{Arrival, ArrivalId, ArrivalKind, ArrivalLevel, CounterTask};

/// Where everything counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digits {
    /// What each arrival adds.
    pub(crate) adds: Vec<CounterAdd>,
    /// For each task, the counter and the level that let it start.
    pub(crate) due: Vec<(CounterId, u64)>,
    /// The level of each counter when all has arrived.
    pub(crate) full: Vec<u64>,
    /// Additions to counters of this rank, each with the counter and the level that let it start.
    pub(crate) chained: Vec<(CounterId, u64, CounterAdd)>,
}

/// What is counted together.
#[derive(Debug, Default)]
struct CountingGroup {
    tasks: Vec<usize>,
    arrivals: Vec<ArrivalId>,
}

/// Successive cuts that share a digit.
#[derive(Debug, Default)]
struct Digit {
    /// The arrivals of each cut; more than one cut only if they are counted in order.
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
    /// Whether the end of another counter is its first digit.
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
        // The ends of all parts but the last arrive there.
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

    /// Gives a part its counters.
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
            return Err(format!("{counters} counters are needed, too many to name"));
        }
        // The counter and the level at which all of a cut and of those before is there.
        let mut reached = Vec::with_capacity(cuts.len() + 1);
        for column in &columns {
            self.fill(column, rules, &mut reached);
        }
        for &task in waiting() {
            self.due[task] = reached[cuts.partition_point(|cut| *cut < tasks[task].level)];
        }
        Ok(())
    }

    /// Weighs the digits of one more counter.
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

/// What is counted together: all, or the pipelines that do not wait for each other, and the rest.
fn parts(arrivals: &[Arrival], tasks: &[CounterTask], rules: &Rules) -> Vec<CountingGroup> {
    let mut sets = DisjointSets((0..arrivals.len()).collect());
    for task in tasks {
        for pair in task.needs.windows(2) {
            sets.join(pair[0] as usize, pair[1] as usize);
        }
    }
    // The level of the first work of each set, and whether there is work of another one.
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
    // What is no stream comes last, if there is anything to wait for.
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

/// Sets of numbers that are joined: union and find, with paths cut short on the way.
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

/// The arrivals of each cut, and those that nobody needs.
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

/// One digit for each cut, or for several of which the arrivals come in order.
fn digits(cuts: Vec<Vec<ArrivalId>>, arrivals: &[Arrival], rules: &Rules) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    let mut last: Option<ArrivalSequence> = None;
    for cut in cuts {
        let line = if rules.ordered { ArrivalSequence::of(&cut, arrivals) } else { None };
        let follows = last
            .as_ref()
            .zip(line.as_ref())
            .is_some_and(|(last, line)| last.source == line.source && last.end < line.start);
        // A cut without arrivals divides nothing, and a digit goes on behind it.
        if follows || cut.is_empty() && !digits.is_empty() {
            digits.last_mut().expect("one is there").cuts.push(cut);
        } else {
            digits.push(Digit { cuts: vec![cut] });
            last = None;
        }
        last = line.or(last);
    }
    digits
}

/// Arrivals of one rank, from the first turn among them to the last.
struct ArrivalSequence {
    source: u32,
    start: (u32, u16),
    end: (u32, u16),
}

impl ArrivalSequence {
    /// The line of all arrivals of a cut, if they come from one rank in order.
    fn of(cut: &[ArrivalId], arrivals: &[Arrival]) -> Option<Self> {
        let mut cut = cut.iter().map(|&arrival| &arrivals[arrival as usize]);
        let first = cut.next()?;
        let mut line = Self { source: first.source?, start: first.sequence, end: first.sequence };
        for arrival in cut {
            if arrival.source != Some(line.source) {
                return None;
            }
            line.start = line.start.min(arrival.sequence);
            line.end = line.end.max(arrival.sequence);
        }
        Some(line)
    }
}

/// Deals digits to counters that have bits for them.
fn columns(digits: Vec<Digit>, rules: &Rules) -> Vec<Column> {
    let limit = 1u64 << rules.bits;
    let mut columns = vec![Column::default()];
    let mut room = limit;
    for digit in digits {
        let radix = 1 + digit.count();
        let column = columns.last_mut().expect("there is one");
        if radix > room && !column.digits.is_empty() {
            // One bit is for what is carried.
            columns.push(Column { digits: vec![digit], carried: true });
            room = limit / 2 / radix;
        } else {
            column.digits.push(digit);
            room /= radix;
        }
    }
    columns
}
