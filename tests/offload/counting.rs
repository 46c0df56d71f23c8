//! Programs as deferred work of libfabric, where an arrival adds 1 to a counter and no other number.
//!
//! ```text
//!   by sums     arrival of weight 16 ──+1──> ones ──1, 2, ...──> add 16 ──> level ──16──> put
//!   by digits   arrival of weight 16 ──+1──> ones ──1──────────────────────────────────> put
//! ```
//!
//! **By sums**, each weight of a counter has a counter of its own, and an addition for each arrival. That is possible
//! for the programs of all schemes whose additions do not lead back to a counter, which hangs the provider.
//!
//! **By digits**, the counters of ones are all that there is, and work waits for the lowest digit of its level. That is
//! right if all higher digits are full before: in pre-matched programs, a send completes only after it has started, and
//! work that waits for the completion waits for what the send has waited for.
//!
//! Levels rise from instance to instance, so what lowers them at the end of an instance is left out, and so is its
//! completion, which is the rise of all counters.

use std::collections::{BTreeMap, BTreeSet};

use mpi_abi::offload::{CounterAdd, CounterId, Program, ProgramOp, Region};

/// How counters of ones stand for a counter with weights.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Form {
    Sums,
    Digits,
}

/// A counter of libfabric in one tank.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum CountedBy {
    /// The level of a counter of the program.
    Level(CounterId),
    /// The number of additions of one value to a counter of the program.
    Ones(CounterId, u64),
    /// Ends of writes that nothing waits for.
    Rest,
}

/// An operation of libfabric.
#[derive(Clone, Copy, Debug)]
pub enum CountedAction {
    /// A write to a peer, which may be this rank.
    Put {
        to: u32,
        from: Region,
        into: Region,
        lands: Option<CountedBy>,
    },
    /// A reduction, by sums of bytes in memory of this rank.
    Sum {
        from: Region,
        into: Region,
    },
    Add {
        counter: CountedBy,
        value: u64,
    },
}

#[derive(Clone, Copy, Debug)]
pub struct CountedWork {
    pub waits: CountedBy,
    pub level: u64,
    pub action: CountedAction,
    pub ends: CountedBy,
}

/// The program of one rank.
#[derive(Debug, Default)]
pub struct CountedProgram {
    /// By counter, then by level.
    pub work: Vec<CountedWork>,
    /// How far one instance raises each counter.
    pub rises: BTreeMap<CountedBy, u64>,
    /// The counters of writes of peers.
    pub landings: BTreeSet<CountedBy>,
}

impl Form {
    /// What an arrival raises by 1.
    fn counted(self, add: CounterAdd) -> CountedBy {
        match self {
            Self::Sums if add.value == 1 => CountedBy::Level(add.counter),
            Self::Sums | Self::Digits => CountedBy::Ones(add.counter, add.value),
        }
    }

    /// The program of `rank`.
    pub fn count(self, programs: &[Program], rank: usize) -> CountedProgram {
        let all = programs.iter().flat_map(|program| program.work());
        let arrivals: Vec<CounterAdd> = all.filter_map(|work| arrival(&work.op, rank)).collect();
        let own = programs[rank].work();
        let ends: Vec<CounterAdd> = own.iter().filter_map(|work| end(&work.op)).collect();
        let sums: Vec<CounterAdd> = own.iter().filter_map(|work| addition(&work.op)).collect();
        let mut counted = CountedProgram::default();
        counted.landings = arrivals.iter().map(|add| self.counted(*add)).collect();
        // How often each value is added to each counter.
        let mut times: BTreeMap<CounterId, BTreeMap<u64, u64>> = BTreeMap::new();
        let all = arrivals.iter().chain(&ends).chain(&sums);
        all.for_each(|add| {
            *times.entry(add.counter).or_default().entry(add.value).or_default() += 1;
        });
        for work in own {
            let Some(action) = self.action(&work.op, rank) else { continue };
            let (waits, level) = match self {
                Self::Sums => (CountedBy::Level(work.counter), work.level),
                Self::Digits => lowest_digit(work.counter, work.level, times.get(&work.counter)),
            };
            let ends = end(&work.op).map_or(CountedBy::Rest, |add| self.counted(add));
            counted.work.push(CountedWork { waits, level, action, ends });
        }
        if self == Self::Sums {
            let ones = arrivals.iter().chain(&ends).filter(|add| add.value != 1);
            counted.add_weights(ones);
        }
        counted.work.sort_by_key(|work| (work.waits, work.level));
        counted.rise(arrivals.iter().map(|add| self.counted(*add)));
        counted
    }

    /// The action of work; none at the end of an instance.
    fn action(self, op: &ProgramOp, rank: usize) -> Option<CountedAction> {
        let lands = |signal| Some(self.counted(signal));
        Some(match *op {
            ProgramOp::Put { to, from, into, signal, .. } => {
                CountedAction::Put { to, from, into, lands: lands(signal) }
            }
            ProgramOp::Signal { to, signal } => CountedAction::Put {
                to,
                from: Region::EMPTY,
                into: Region::EMPTY,
                lands: lands(signal),
            },
            ProgramOp::Copy { from, into, .. } => {
                CountedAction::Put { to: rank as u32, from, into, lands: None }
            }
            ProgramOp::Host { from, into, .. } => CountedAction::Sum { from, into },
            ProgramOp::Combine { .. } => unreachable!("the compiler leaves reductions to the host"),
            ProgramOp::Add(add) if is_lowering(add) => return None,
            ProgramOp::Add(add) => match self {
                Self::Sums => {
                    CountedAction::Add { counter: CountedBy::Level(add.counter), value: add.value }
                }
                Self::Digits => CountedAction::Add { counter: self.counted(add), value: 1 },
            },
            ProgramOp::Complete => return None,
        })
    }
}

impl CountedProgram {
    /// An addition for each arrival of a weight other than 1.
    fn add_weights<'a>(&mut self, arrivals: impl Iterator<Item = &'a CounterAdd>) {
        let mut times: BTreeMap<(CounterId, u64), u64> = BTreeMap::new();
        for add in arrivals {
            let level = times.entry((add.counter, add.value)).or_default();
            *level += 1;
            let action =
                CountedAction::Add { counter: CountedBy::Level(add.counter), value: add.value };
            let waits = CountedBy::Ones(add.counter, add.value);
            self.work.push(CountedWork { waits, level: *level, action, ends: waits });
        }
    }

    fn rise(&mut self, arrivals: impl Iterator<Item = CountedBy>) {
        let rises = &mut self.rises;
        rises.insert(CountedBy::Rest, 0);
        arrivals.for_each(|counter| *rises.entry(counter).or_default() += 1);
        for work in &self.work {
            rises.entry(work.waits).or_default();
            match work.action {
                CountedAction::Put { .. } | CountedAction::Sum { .. } => {
                    *rises.entry(work.ends).or_default() += 1
                }
                CountedAction::Add { counter, value } => {
                    *rises.entry(counter).or_default() += value
                }
            }
        }
    }
}

/// The last digit of a level that is not 0, and how many arrivals it has there.
///
/// # Panics
/// If the level is no number by these weights.
fn lowest_digit(
    counter: CounterId, level: u64, times: Option<&BTreeMap<u64, u64>>,
) -> (CountedBy, u64) {
    let (mut rest, mut lowest) = (level, (CountedBy::Rest, 0));
    for (&value, &most) in times.into_iter().flatten().rev() {
        let digit = rest / value;
        assert!(digit <= most, "level {level} of counter {counter}: {times:?}");
        rest %= value;
        if digit > 0 {
            lowest = (CountedBy::Ones(counter, value), digit);
        }
    }
    assert_eq!(rest, 0, "level {level} of counter {counter}: {times:?}");
    lowest
}

fn arrival(op: &ProgramOp, rank: usize) -> Option<CounterAdd> {
    match *op {
        ProgramOp::Put { to, signal, .. } | ProgramOp::Signal { to, signal } => {
            (to as usize == rank).then_some(signal)
        }
        _ => None,
    }
}

fn end(op: &ProgramOp) -> Option<CounterAdd> {
    match *op {
        ProgramOp::Put { done, .. }
        | ProgramOp::Copy { done, .. }
        | ProgramOp::Host { done, .. } => done,
        _ => None,
    }
}

/// What raises a counter of the rank itself.
fn addition(op: &ProgramOp) -> Option<CounterAdd> {
    match *op {
        ProgramOp::Add(add) if !is_lowering(add) => Some(add),
        _ => None,
    }
}

fn is_lowering(add: CounterAdd) -> bool {
    add.value.cast_signed() < 0
}
