//! What programs take of an interface: counters, places for deferred work, bits of a counter.
//!
//! The paper that the tanks are from counts in its table 6 what a butterfly takes: a set of three
//! counters for each round of messages where sends and receives are matched beforehand, for pre- and
//! post-rounds too; with a tank one counter, on which work waits twice in a round. [`MessageRounds`] is that;
//! [`Resources`] is what a compiled program really has.

use super::{Program, ProgramOp};

/// What a program takes; or the most that any of several takes.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Counters of an instance.
    pub counters: u32,
    /// How many instances have counters of their own.
    pub tanks: u32,
    /// Deferred work of an instance.
    pub slots: u32,
    /// Bits of the highest level that one instance makes a counter reach.
    pub bits: u32,
    /// Levels that work waits for, the start and the end among them.
    pub levels: u32,
    /// Additions to other ranks, with data or without.
    pub(crate) messages: u32,
}

impl Resources {
    /// Of one program.
    pub fn of(program: &Program) -> Self {
        let work = program.work();
        let differ = work.chunk_by(|one, two| (one.counter, one.level) == (two.counter, two.level));
        let highest = work.iter().map(|work| work.level).max().unwrap_or(0);
        let is_message =
            |op: &ProgramOp| matches!(op, ProgramOp::Put { .. } | ProgramOp::Signal { .. });
        Self {
            counters: program.counters().into(),
            tanks: program.tanks.into(),
            slots: work.len() as u32,
            bits: u64::BITS - highest.leading_zeros(),
            levels: differ.count() as u32,
            messages: work.iter().filter(|work| is_message(&work.op)).count() as u32,
        }
    }

    /// The larger of each.
    pub fn max(self, other: Self) -> Self {
        Self {
            counters: self.counters.max(other.counters),
            tanks: self.tanks.max(other.tanks),
            slots: self.slots.max(other.slots),
            bits: self.bits.max(other.bits),
            levels: self.levels.max(other.levels),
            messages: self.messages.max(other.messages),
        }
    }
}

/// The rounds of messages of an operation on all ranks, which the paper's table 6 counts by.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRounds(pub u32);

impl MessageRounds {
    /// Counters where sends and receives are matched beforehand: two for a receive, one for a send.
    pub fn prematched(self) -> u32 {
        3 * self.0
    }

    /// The rounds of a tank ("R"): in each, one waits to be ready, and one for the data.
    pub fn of_tank(self) -> u32 {
        2 * self.0
    }
}

#[cfg(test)]
mod tests {
    use super::super::{CounterAdd, DeferredWork, Scheme};
    use super::*;

    #[test]
    fn a_program_takes_what_it_has() {
        let work = |level, op| DeferredWork { counter: 0, level, op, round: 1 };
        let signal = ProgramOp::Signal { to: 1, signal: CounterAdd { counter: 0, value: 1 } };
        let given = vec![work(0, signal), work(4, signal), work(4, ProgramOp::Complete)];
        let of = Resources::of(&Program::new(Scheme::Tank, 2, 1, given));
        let due = Resources { counters: 1, tanks: 2, slots: 3, bits: 3, levels: 2, messages: 2 };
        assert_eq!(of, due);
        assert_eq!(Resources { slots: 2, bits: 9, ..of }.max(of), Resources { bits: 9, ..of });
        assert_eq!(Resources::of(&Program::default()), Resources::default());
    }
}
