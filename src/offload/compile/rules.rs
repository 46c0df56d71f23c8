//! The countermeasures that make a program safe. Tests leave out one at a time to show its purpose.

use crate::offload::program::Scheme;

/// How a schedule becomes a program. All ranks of an operation use equal rules, except
/// [`Rules::ordered`], [`Rules::bits`] and [`Rules::steps_max`] if the interface of only one rank differs
/// in them: these are about counters of a rank and its own work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The scheme.
    pub scheme: Scheme,
    /// Digits follow the rounds of the schedules, which are levels of the global graph; else each rank
    /// counts its steps in the order of its list.
    pub rounds: bool,
    /// A message leaves after the ready-to-receive of its receiver.
    pub ready: bool,
    /// No rank completes before all ranks have started, as in a barrier: messages of no bytes need no
    /// ready-to-receive.
    pub synchronizes: bool,
    /// Messages from one rank that are due at the same time share one ready-to-receive.
    pub merges: bool,
    /// Instances alternate between two tanks.
    pub parity: bool,
    /// A full counter adds to the next one.
    pub carry: bool,
    /// An instance completes after its counters have been lowered.
    pub reset_first: bool,
    /// An instance completes after its sends, whose bytes may then be overwritten.
    pub local: bool,
    /// Puts from one rank to another through one engine arrive in order, as the interfaces of all
    /// ranks guarantee: such arrivals share a digit.
    pub ordered: bool,
    /// The number of bits of a counter that are used.
    pub bits: u32,
    /// Counters are queues of session mode (`offload::session`): the largest addition. Each operation
    /// that waits for a counter has a level of its own.
    pub steps_max: Option<u64>,
    /// The number of independent pipelines that may have their own counters.
    pub streams: u8,
    /// A rank sends its ready-to-receive after all arrivals of earlier rounds, as in the paper's
    /// tables.
    pub in_turn: bool,
    /// All sent data stems from one rank: the other ranks send that rank one ready-to-receive for all
    /// that they receive into unused memory, instead of one to each sender.
    pub single: Option<SingleSource>,
    /// A counter is raised by the number of puts that forward a message, before these start, as in the
    /// paper's table 2. Interfaces whose work consumes the count need this.
    pub branches: bool,
}

/// An operation in which all data stems from one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleSource {
    /// That rank.
    pub source: u32,
    /// The number of ranks. Each except the source receives something.
    pub ranks: u32,
    /// This rank.
    pub rank: u32,
}

impl Rules {
    /// All countermeasures, for any schedule.
    pub const SAFE: Self = Self {
        scheme: Scheme::Tank,
        rounds: true,
        ready: true,
        synchronizes: false,
        merges: true,
        parity: true,
        carry: true,
        reset_first: true,
        local: true,
        ordered: false,
        bits: BITS,
        steps_max: None,
        streams: 4,
        in_turn: false,
        single: None,
        branches: false,
    };

    /// The single tank of Morie et al., as in their tables: ends of sends do not count. It is safe
    /// where `offload::causal_order` proves it.
    pub const PAPER: Self = Self {
        scheme: Scheme::Tank1,
        merges: false,
        parity: false,
        local: false,
        streams: 1,
        in_turn: true,
        ..Self::SAFE
    };

    /// The rules of a scheme under which an instance completes when its memory may be used.
    pub fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Tank | Scheme::Prematched => Self { scheme, ..Self::SAFE },
            Scheme::Tank1 => Self { local: true, ..Self::PAPER },
        }
    }

    /// Whether this rank is the single source.
    pub(super) fn is_source(&self) -> bool {
        self.single.is_some_and(|single| single.rank == single.source)
    }

    /// The same rules for counters of software, which are words of memory.
    pub(super) fn of_software(&self) -> Self {
        Self { bits: BITS, steps_max: None, ..*self }
    }

    /// Copies of each counter.
    pub(crate) fn tanks(&self) -> u8 {
        1 + u8::from(self.parity)
    }
}

/// One bit more than the levels of two instances need, without the sign bit.
const BITS: u32 = 62;

impl Default for Rules {
    fn default() -> Self {
        Self::SAFE
    }
}
