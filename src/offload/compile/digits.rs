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
//! **Cuts** divide arrivals into digits: the levels (`flow`) that work waits for. An arrival counts in
//! the digit of the first cut that needs it; all that nobody needs share the last digit.
//!
//! **Unary digits.** Where the arrivals of successive digits come from one rank in order, counting
//! them is enough: they share one digit, of which each cut is a number. A pipeline takes as many bits
//! as the number of its segments has, not a bit for each.
//!
//! **Carry.** What does not fit into the bits of a counter goes on in the next one. The end of a
//! counter adds the first digit of the next, so that what waits there waits for both.
//!
//! Water tanks that count in powers of two are from: Morie et al., "Design and evaluation of
//! persistent collective communication with the offload API of Open Fabrics Interfaces", RIKEN (in
//! Japanese).

use super::super::{Add, CounterId};
use super::Rules;
use super::flow::{Arrival, ArrivalId, Level, Task};

/// Where everything counts.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Digits {
    /// What each arrival adds.
    pub adds: Vec<Add>,
    /// For each task, the counter and the level that let it start.
    pub due: Vec<(CounterId, u64)>,
    /// The level of each counter when all has arrived.
    pub full: Vec<u64>,
    /// For each counter but the last, what its end adds to the next.
    pub carries: Vec<Add>,
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
    pub fn new(arrivals: &[Arrival], tasks: &[Task], rules: &Rules) -> Result<Self, String> {
        let mut cuts: Vec<Level> = tasks.iter().map(|task| task.level).collect();
        cuts.sort_unstable();
        cuts.dedup();
        let columns = columns(digits(by_cut(arrivals, tasks, &cuts), arrivals, rules), rules);
        if columns.len() > CounterId::MAX.into() {
            return Err(format!("{} counters are needed, too many to name", columns.len()));
        }
        let mut plan =
            Self { adds: vec![Add { counter: 0, value: 0 }; arrivals.len()], ..Self::default() };
        // The counter and the level at which all of a cut and of those before is there.
        let mut reached = Vec::with_capacity(cuts.len() + 1);
        for (counter, column) in (0..).zip(&columns) {
            plan.fill(counter, column, rules, &mut reached);
        }
        let due = |task: &Task| match task.level == Level::default() {
            true => (0, 0),
            false => reached[cuts.partition_point(|cut| *cut < task.level)],
        };
        plan.due = tasks.iter().map(due).collect();
        Ok(plan)
    }

    /// Weighs the digits of one counter.
    fn fill(
        &mut self, counter: CounterId, column: &Column, rules: &Rules,
        reached: &mut Vec<(CounterId, u64)>,
    ) {
        let radix = |digit: &Digit| 1 + digit.count();
        let mut weight: u64 = column.digits.iter().map(radix).product();
        let mut level = 0;
        if column.carried && rules.carry {
            self.carries.push(Add { counter, value: weight });
            level += weight;
        }
        for digit in &column.digits {
            weight /= radix(digit);
            for cut in &digit.cuts {
                for &arrival in cut {
                    self.adds[arrival as usize] = Add { counter, value: weight };
                }
                level += weight * cut.len() as u64;
                reached.push((counter, level));
            }
        }
        self.full.push(level);
    }
}

/// The arrivals of each cut, and those that nobody needs.
fn by_cut(arrivals: &[Arrival], tasks: &[Task], cuts: &[Level]) -> Vec<Vec<ArrivalId>> {
    let mut first = vec![cuts.len(); arrivals.len()];
    for task in tasks {
        let cut = cuts.partition_point(|cut| *cut < task.level);
        for &arrival in &task.needs {
            let first = &mut first[arrival as usize];
            *first = cut.min(*first);
        }
    }
    let mut members = vec![Vec::new(); cuts.len() + 1];
    for (arrival, cut) in (0..).zip(first) {
        members[cut].push(arrival);
    }
    members
}

/// One digit for each cut, or for several of which the arrivals come in order.
fn digits(cuts: Vec<Vec<ArrivalId>>, arrivals: &[Arrival], rules: &Rules) -> Vec<Digit> {
    let mut digits: Vec<Digit> = Vec::new();
    let mut last: Option<Line> = None;
    for cut in cuts {
        let line = if rules.ordered { Line::of(&cut, arrivals) } else { None };
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
struct Line {
    source: u32,
    start: (u32, u16),
    end: (u32, u16),
}

impl Line {
    /// The line of all arrivals of a cut, if they come from one rank in order.
    fn of(cut: &[ArrivalId], arrivals: &[Arrival]) -> Option<Self> {
        let mut cut = cut.iter().map(|&arrival| &arrivals[arrival as usize]);
        let first = cut.next()?;
        let mut line = Self { source: first.source?, start: first.turn, end: first.turn };
        for arrival in cut {
            if arrival.source != Some(line.source) {
                return None;
            }
            line.start = line.start.min(arrival.turn);
            line.end = line.end.max(arrival.turn);
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
