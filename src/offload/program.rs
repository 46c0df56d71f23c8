//! Programs: one rank's part of a collective operation as an interface with counters runs it.
//!
//! ```text
//!   arrival ──add──> counter ──level reached──> work: put, signal, copy, add, ... ──> other ranks
//!                       ▲                        │ done
//!                       └────────────────────────┘
//! ```
//!
//! **Counters** hold a level of 64 bits that is only ever added to, with wrapping: the "tanks" whose
//! water opens valves. **Work** is deferred until its counter has at least its level, and is done
//! once per instance. What libfabric calls `fi_deferred_work`, plus the addition to a counter of
//! another rank.
//!
//! **Tanks.** Each counter of a program exists [`Program::tanks`] times; instance `j` of a persistent
//! operation uses copy `j % tanks`, on all ranks alike.
//!
//! **Places.** How much an arrival adds to which counter, and where its bytes go, is the business of
//! the receiver; it told the sender, and a program is *linked*: it names counters and buffers of the
//! receiver's program. Which counter of an interface, and which memory, these are is not known
//! here: that is bound when the program is loaded (`device::trigger`).
//!
//! Whoever runs a program, an interface, the host or a model checker, keeps an [`Instance`] and asks
//! it what may be done next. Nothing here moves a byte.

use super::{Region, StepId};

/// A counter of a program, from 0.
pub type CounterId = u16;

/// How a schedule was turned into a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Mixed-radix weights, two tanks by parity of the instance: safe for every schedule.
    #[default]
    Tank,
    /// One tank, as the paper prints it; runs where it is proved safe.
    Tank1,
    /// Three counters for each round of messages, as in pre-matched send and receive.
    Prematched,
}

/// An addition to a counter; wrapping, so that it can also take away.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterAdd {
    /// Which counter; whose, the user of this says.
    pub counter: CounterId,
    /// How much.
    pub value: u64,
}

/// Arithmetic on numbers of 8 bytes, which some interfaces have. Sums wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// The sum, of signed and unsigned numbers alike.
    Sum,
    /// The larger of two signed numbers.
    Max,
    /// The smaller of two signed numbers.
    Min,
    /// The larger of two unsigned numbers.
    MaxUnsigned,
    /// The smaller of two unsigned numbers.
    MinUnsigned,
    /// Bitwise and.
    And,
    /// Bitwise or.
    Or,
    /// Bitwise exclusive or.
    Xor,
}

impl Arithmetic {
    /// The result for two numbers.
    pub(crate) fn apply(self, one: u64, other: u64) -> u64 {
        let (signed, other_signed) = (one as i64, other as i64);
        match self {
            Self::Sum => one.wrapping_add(other),
            Self::Max => signed.max(other_signed) as u64,
            Self::Min => signed.min(other_signed) as u64,
            Self::MaxUnsigned => one.max(other),
            Self::MinUnsigned => one.min(other),
            Self::And => one & other,
            Self::Or => one | other,
            Self::Xor => one ^ other,
        }
    }
}

/// What is to be done once a level is reached.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramOp {
    /// Copies bytes into a buffer of rank `to`, then adds to its counter: one operation, whose
    /// addition is never seen before its bytes.
    Put {
        /// The receiving rank of the communicator.
        to: u32,
        /// What is read, in this rank's buffers.
        from: Region,
        /// What is written, in the buffers of `to`; as long as `from`.
        into: Region,
        /// Added to the counter of `to`.
        signal: CounterAdd,
        /// Added to this rank's counter once `from` may be overwritten.
        done: Option<CounterAdd>,
        /// Which engine of the interface to use, modulo how many it has; any if `None`.
        engine: Option<u8>,
    },
    /// Adds to a counter of rank `to`.
    Signal {
        /// The receiving rank of the communicator.
        to: u32,
        /// Added to the counter of `to`.
        signal: CounterAdd,
    },
    /// Copies bytes within this rank: a put to oneself.
    Copy {
        /// What is read.
        from: Region,
        /// What is written, as long as `from`.
        into: Region,
        /// Added once that is done.
        done: Option<CounterAdd>,
    },
    /// A step of the schedule that the host must run: arithmetic.
    Host {
        /// A [`Reduce`](super::StepAction::Reduce) of the schedule.
        step: StepId,
        /// Added once that is done.
        done: Option<CounterAdd>,
    },
    /// The same where the interface has the arithmetic: `into = from with into`, number by number.
    Combine {
        /// The left operands.
        from: Region,
        /// The right operands and the results, as many.
        into: Region,
        /// What is computed.
        with: Arithmetic,
        /// Added once that is done.
        done: Option<CounterAdd>,
    },
    /// Adds to a counter of this rank: a carry between tanks, or a reset.
    Add(CounterAdd),
    /// The instance is over.
    Complete,
}

/// Something to be done once `counter` has at least `level`. What has one level starts together,
/// also when the first of it lowers the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferredWork {
    /// A counter of this rank.
    pub counter: CounterId,
    /// The level that lets it start.
    pub level: u64,
    /// What is done.
    pub op: ProgramOp,
    /// The round of the schedule that it belongs to, for who prints it.
    pub round: u32,
}

/// One rank's part of a collective operation; never changes once made.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// How it was made.
    pub scheme: Scheme,
    /// How often each counter exists: 1, or 2 for instances of either parity.
    pub tanks: u8,
    /// The work of counter 0, of counter 1, ...; by level, and what has one level in the order in
    /// which it is done.
    work: Box<[DeferredWork]>,
    /// Where the work of each counter ends.
    ends: Box<[u32]>,
}

impl Program {
    /// A program of so many counters. Work of one counter with one level is done in the order given.
    ///
    /// # Panics
    /// If work waits for a counter that is not there.
    pub fn new(
        scheme: Scheme, tanks: u8, counters: CounterId, mut work: Vec<DeferredWork>,
    ) -> Self {
        assert!(work.iter().all(|work| work.counter < counters));
        work.sort_by_key(|work| (work.counter, work.level));
        let end = |counter| work.partition_point(|work| work.counter <= counter) as u32;
        let ends = (0..counters).map(end).collect();
        Self { scheme, tanks, work: work.into(), ends }
    }

    /// How many counters it has, each of which exists [`Program::tanks`] times.
    pub fn counters(&self) -> CounterId {
        self.ends.len() as CounterId
    }

    /// All work, by counter, then by level.
    pub fn work(&self) -> &[DeferredWork] {
        &self.work
    }

    /// The tank of instance `number`, from 0.
    pub fn tank(&self, number: u64) -> usize {
        (number % u64::from(self.tanks.max(1))) as usize
    }

    /// Whether work waits for the level of the work before it.
    fn is_level_of_last(&self, at: u32) -> bool {
        self.work[at as usize].level == self.work[at as usize - 1].level
    }
}

/// One instance of a program under way: which work has been done.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// For each counter, the first work that has not started.
    next: Box<[u32]>,
}

impl Instance {
    /// An instance of which nothing has started.
    pub fn new(program: &Program) -> Self {
        let mut instance = Self { next: vec![0; program.ends.len()].into() };
        instance.restart(program);
        instance
    }

    /// The next instance of the same program, in the same memory.
    pub(crate) fn restart(&mut self, program: &Program) {
        let starts = std::iter::once(0).chain(program.ends.iter().copied());
        self.next.iter_mut().zip(starts).for_each(|(next, start)| *next = start);
    }

    /// The index of work that may start now, given the levels of the tank's counters; it counts as
    /// started from here on. `None` until a level rises.
    pub fn next(
        &mut self, program: &Program, mut level: impl FnMut(CounterId) -> u64,
    ) -> Option<usize> {
        let mut start = 0;
        for (counter, (next, &end)) in self.next.iter_mut().zip(&program.ends).enumerate() {
            let begun = *next > start && *next < end && program.is_level_of_last(*next);
            let mut is_due = || program.work[*next as usize].level <= level(counter as CounterId);
            if begun || *next < end && is_due() {
                *next += 1;
                return Some(*next as usize - 1);
            }
            start = end;
        }
        None
    }

    /// The lowest level of `counter` that lets more work start; `None` if there is no more.
    pub fn awaited(&self, program: &Program, counter: CounterId) -> Option<u64> {
        let next = self.next[counter as usize];
        let more = next < program.ends[counter as usize];
        more.then(|| program.work[next as usize].level)
    }

    /// Whether all work has started.
    pub fn is_complete(&self, program: &Program) -> bool {
        self.next.iter().eq(program.ends.iter())
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn work(counter: CounterId, level: u64) -> DeferredWork {
        DeferredWork { counter, level, op: ProgramOp::Complete, round: 0 }
    }

    #[test]
    fn work_starts_by_level_on_each_counter() {
        let given = vec![work(1, 5), work(0, 3), work(0, 0), work(1, 2)];
        let program = Program::new(Scheme::Tank, 2, 2, given);
        let mut instance = Instance::new(&program);
        let mut levels = [0, 4];
        let mut started = Vec::new();
        for raise in [(0, 0), (0, 3), (1, 1)] {
            levels[raise.0] += raise.1;
            while let Some(index) = instance.next(&program, |counter| levels[counter as usize]) {
                let work = program.work()[index];
                started.push((work.counter, work.level));
            }
        }
        assert_eq!(started, [(0, 0), (1, 2), (0, 3), (1, 5)]);
        assert!(instance.is_complete(&program));
        assert_eq!(instance.awaited(&program, 0), None);
        assert_eq!((program.tank(0), program.tank(3)), (0, 1));
    }

    #[test]
    fn a_reset_does_not_hold_back_what_has_its_level() {
        let reset = ProgramOp::Add(CounterAdd { counter: 0, value: 3u64.wrapping_neg() });
        let given =
            vec![DeferredWork { op: reset, ..work(0, 3) }, work(0, 3), work(0, 4), work(1, 4)];
        let program = Program::new(Scheme::Tank, 1, 2, given);
        let mut instance = Instance::new(&program);
        assert_eq!(instance.next(&program, |_| 2), None);
        assert_eq!(instance.next(&program, |_| 3), Some(0));
        assert_eq!(instance.next(&program, |_| 0), Some(1));
        assert_eq!(instance.next(&program, |_| 0), None);
        assert_eq!(instance.next(&program, |counter| 4 * u64::from(counter)), Some(3));
    }

    #[test]
    fn a_counter_without_work_is_a_counter() {
        let program = Program::new(Scheme::Tank, 1, 3, vec![work(1, 1)]);
        let mut instance = Instance::new(&program);
        assert_eq!(program.counters(), 3);
        assert_eq!(instance.awaited(&program, 1), Some(1));
        assert_eq!(instance.next(&program, |_| 0), None);
        assert_eq!(instance.next(&program, |_| 1), Some(0));
        assert!(instance.is_complete(&program));
    }
}
