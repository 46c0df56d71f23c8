//! Resources of an interface that programs use: counters, slots for deferred work, bits of a counter.
//!
//! Table 6 of Morie et al. (`compile`) counts the resources of a butterfly: three counters for each
//! round of messages with pre-matched sends and receives, pre- and post-rounds included; one counter
//! with a tank, on which work waits twice in each round. [`MessageRounds`] computes these numbers;
//! [`Resources`] are those of a compiled program.

use crate::offload::program::{Program, ProgramOp};

/// The resources of a program, or the maximum over several programs.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Resources {
    /// Counters of one instance.
    pub counters: u32,
    /// Copies of the counters.
    pub tanks: u32,
    /// Deferred work of one instance.
    pub slots: u32,
    /// Bits of the highest level of a counter in one instance.
    pub bits: u32,
    /// Levels that work waits for, start and end included.
    pub levels: u32,
    /// Additions to counters of other ranks, with or without data.
    pub(crate) messages: u32,
}

impl Resources {
    /// The resources of one program.
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

    /// The maximum of each.
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

/// The message rounds of an operation on all ranks, for table 6 of the paper.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MessageRounds(pub u32);

impl MessageRounds {
    /// Counters with pre-matched sends and receives: two for a receive, one for a send.
    pub fn prematched(self) -> u32 {
        3 * self.0
    }

    /// The rounds of a tank ("R"): two for each message round, ready-to-receive and data.
    pub fn of_tank(self) -> u32 {
        2 * self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::offload::program::{CounterAdd, DeferredWork, Scheme};

    #[test]
    fn the_resources_of_a_program() {
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
