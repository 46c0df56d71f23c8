//! Programs: one rank's part of a collective operation, for an interface with counters.
//!
//! ```text
//!   arrival ──add──> counter ──level reached──> work: put, signal, copy, add, ... ──> other ranks
//!                       ▲                        │ done
//!                       └────────────────────────┘
//! ```
//!
//! **Counters** hold a level of 64 bits that additions change, with wrapping: the "tanks" of the
//! paper (`compile`), whose water opens valves. **Work** is deferred until its counter has at least
//! its level, and is done once in each instance. libfabric has `fi_deferred_work` for this, except
//! for additions to a counter of another rank.
//!
//! **Tanks.** Each counter of a program exists [`Program::tanks`] times. Instance `j` of a persistent
//! operation uses copy `j % tanks` on all ranks.
//!
//! **Arrival targets.** The receiver decides which counter an arrival adds to, how much, and where
//! its bytes go. The sender learns this during compilation, so a program is *linked*: it names
//! counters and buffers of the receiver's program. The counters of an interface and the memory
//! behind these names are bound when the program is loaded (`device::trigger`).
//!
//! An executor (an interface, the host or a model checker) keeps an [`Instance`], which returns the
//! work that may start next. Nothing here moves a byte.

use crate::offload::schedule::{Region, StepId};

/// A counter of a program, from 0.
pub type CounterId = u16;

/// How a schedule is compiled to a program.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Scheme {
    /// Mixed-radix weights and two tanks by the parity of the instance: safe for every schedule.
    #[default]
    Tank,
    /// One tank, as in the paper; used where it is proved safe.
    Tank1,
    /// Three counters for each round of messages, as in pre-matched sends and receives.
    Prematched,
}

impl Scheme {
    /// Every scheme.
    pub const ALL: [Self; 3] = [Self::Tank, Self::Tank1, Self::Prematched];

    /// Its name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tank => "tank",
            Self::Tank1 => "tank1",
            Self::Prematched => "prematched",
        }
    }

    /// The scheme with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|scheme| scheme.name() == name)
    }
}

/// An addition to a counter. It wraps, so it can subtract.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct CounterAdd {
    /// The counter, of the rank that the context names.
    pub counter: CounterId,
    /// The added value.
    pub value: u64,
}

/// Arithmetic on numbers of 8 bytes, as some interfaces have it. Sums wrap.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Arithmetic {
    /// The sum of signed or unsigned numbers.
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

/// An operation that starts at a level.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ProgramOp {
    /// Copies bytes into a buffer of rank `to`, then adds to a counter there. The addition is never
    /// visible before the bytes.
    Put {
        /// The receiving rank of the communicator.
        to: u32,
        /// The source, in the buffers of this rank.
        from: Region,
        /// The destination, in the buffers of `to`; as long as `from`.
        into: Region,
        /// Added to the counter of `to`.
        signal: CounterAdd,
        /// Added to a counter of this rank when `from` may be overwritten.
        done: Option<CounterAdd>,
        /// The engine of the interface, modulo their number; any engine if `None`.
        engine: Option<u8>,
    },
    /// Adds to a counter of rank `to`.
    Signal {
        /// The receiving rank of the communicator.
        to: u32,
        /// Added to the counter of `to`.
        signal: CounterAdd,
    },
    /// Copies bytes within this rank.
    Copy {
        /// The source.
        from: Region,
        /// The destination, as long as `from`.
        into: Region,
        /// Added when that is done.
        done: Option<CounterAdd>,
    },
    /// A reduction that the host computes: `into = from op into`.
    Host {
        /// A [`Reduce`](super::StepAction::Reduce) of the schedule.
        step: StepId,
        /// The left operands.
        from: Region,
        /// The right operands and the results, as long as `from`.
        into: Region,
        /// Added when that is done.
        done: Option<CounterAdd>,
    },
    /// A reduction that the interface computes: `into = from with into`, number by number.
    Combine {
        /// The left operands.
        from: Region,
        /// The right operands and the results, as many as in `from`.
        into: Region,
        /// The operation.
        with: Arithmetic,
        /// Added when that is done.
        done: Option<CounterAdd>,
    },
    /// Adds to a counter of this rank: a carry between tanks, or a reset.
    Add(CounterAdd),
    /// Completes the instance.
    Complete,
}

impl ProgramOp {
    /// Bytes that the operation reads from its source.
    pub fn bytes(&self) -> usize {
        match *self {
            Self::Put { from, .. } | Self::Copy { from, .. } => from.len,
            Self::Host { from, .. } | Self::Combine { from, .. } => from.len,
            Self::Signal { .. } | Self::Add(_) | Self::Complete => 0,
        }
    }
}

/// An operation that starts when `counter` has at least `level`. Work with the same level starts
/// together, even if the first of it lowers the counter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DeferredWork {
    /// A counter of this rank.
    pub counter: CounterId,
    /// The level that starts the work.
    pub level: u64,
    /// The operation.
    pub op: ProgramOp,
    /// The round of the schedule, for printed tables.
    pub round: u32,
}

/// One rank's part of a collective operation. A program never changes.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Program {
    /// How it was compiled.
    pub scheme: Scheme,
    /// Copies of each counter: 1, or 2 by the parity of the instance.
    pub tanks: u8,
    /// The work of counter 0, of counter 1, ...; by level. Work with the same level is in the order of
    /// execution.
    work: Box<[DeferredWork]>,
    /// For each counter, the index after its last work.
    ends: Box<[u32]>,
}

impl Program {
    /// A program with `counters` counters. Work with the same counter and level keeps its order.
    ///
    /// # Panics
    /// If work waits for a counter that does not exist.
    pub fn new(
        scheme: Scheme, tanks: u8, counters: CounterId, mut work: Vec<DeferredWork>,
    ) -> Self {
        assert!(work.iter().all(|work| work.counter < counters));
        work.sort_by_key(|work| (work.counter, work.level));
        let end = |counter| work.partition_point(|work| work.counter <= counter) as u32;
        let ends = (0..counters).map(end).collect();
        Self { scheme, tanks, work: work.into(), ends }
    }

    /// The number of counters, without their copies ([`Program::tanks`]).
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

    /// Whether the work at this index has the level of the work before.
    fn is_level_of_last(&self, at: u32) -> bool {
        self.work[at as usize].level == self.work[at as usize - 1].level
    }
}

/// One instance of a program: the work that has started.
#[derive(Clone, Debug, Default, PartialEq, Eq, Hash)]
pub struct Instance {
    /// For each counter, the index of the first work that has not started.
    next: Box<[u32]>,
}

impl Instance {
    /// An instance that has not started.
    pub fn new(program: &Program) -> Self {
        let mut instance = Self { next: vec![0; program.ends.len()].into() };
        instance.restart(program);
        instance
    }

    /// Begins the next instance of the same program.
    pub(crate) fn restart(&mut self, program: &Program) {
        let starts = std::iter::once(0).chain(program.ends.iter().copied());
        self.next.iter_mut().zip(starts).for_each(|(next, start)| *next = start);
    }

    /// The index of work that may start at these levels of the tank's counters. It counts as started
    /// from now on. `None` until a level rises.
    pub fn next(
        &mut self, program: &Program, mut level: impl FnMut(CounterId) -> u64,
    ) -> Option<usize> {
        (0..program.counters())
            .find_map(|counter| self.next_of(program, counter, || level(counter)))
    }

    /// As [`Instance::next`], for work that waits for `counter`. `None` also if there is no such counter.
    pub fn next_of(
        &mut self, program: &Program, counter: CounterId, level: impl FnOnce() -> u64,
    ) -> Option<usize> {
        let at = usize::from(counter);
        let (next, &end) = self.next.get_mut(at).zip(program.ends.get(at))?;
        let start = at.checked_sub(1).map_or(0, |before| program.ends[before]);
        let is_begun = *next > start && *next < end && program.is_level_of_last(*next);
        if !is_begun && (*next == end || level() < program.work[*next as usize].level) {
            return None;
        }
        *next += 1;
        Some(*next as usize - 1)
    }

    /// The lowest level of `counter` that starts more work; `None` if there is no more.
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
    fn a_reset_does_not_delay_work_of_its_level() {
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
    fn a_counter_may_have_no_work() {
        let program = Program::new(Scheme::Tank, 1, 3, vec![work(1, 1)]);
        let mut instance = Instance::new(&program);
        assert_eq!(program.counters(), 3);
        assert_eq!(instance.awaited(&program, 1), Some(1));
        assert_eq!(instance.next(&program, |_| 0), None);
        assert_eq!(instance.next(&program, |_| 1), Some(0));
        assert!(instance.is_complete(&program));
    }
}
