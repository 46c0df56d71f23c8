//! What makes a program safe, each countermeasure by itself, so that tests can leave one out and
//! see what it is for.

use super::super::Scheme;

/// How a schedule becomes a program. All ranks of an operation use equal rules, apart from
/// [`Rules::ordered`] if the interface of none but the one rank differs in it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Rules {
    /// The scheme.
    pub scheme: Scheme,
    /// Digits count the rounds of the schedules, which level the global graph; else each rank counts
    /// its own steps in the order in which it lists them.
    pub rounds: bool,
    /// A message leaves only once its receiver has said that it is ready for it.
    pub ready: bool,
    /// No rank's part of the operation is over before all ranks have begun theirs, as in a barrier:
    /// then messages of no bytes need no ready-to-receive.
    pub synchronizes: bool,
    /// The ready-to-receive of several messages to one rank that are due at the same time are one.
    pub merges: bool,
    /// Instances take turns between two tanks.
    pub parity: bool,
    /// A counter that is full adds to the next one.
    pub carry: bool,
    /// An instance is over when its counters have been lowered, not before.
    pub reset_first: bool,
    /// An instance is over when its sends are: their bytes may be overwritten.
    pub local: bool,
    /// What one rank puts to another through one engine arrives in order, as the interfaces of all
    /// ranks promise: then such arrivals share a digit.
    pub ordered: bool,
    /// How many bits of a counter are used.
    pub bits: u32,
    /// How many pipelines that do not wait for each other may have counters of their own.
    pub streams: u8,
    /// A rank is ready for a message once all of earlier rounds has arrived, not before: what comes
    /// before it in the paper's tables.
    pub in_turn: bool,
    /// Everything that is sent stems from one rank: the others tell that one that they are ready for
    /// all that they receive into untouched memory, instead of telling each sender.
    pub single: Option<SingleSource>,
    /// A counter is raised by the number of puts that a rank passes a message on with, before these
    /// start, as in the paper's table 2: what interfaces need that consume what they count.
    pub branches: bool,
}

/// An operation in which all messages stem from one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SingleSource {
    /// That rank.
    pub source: u32,
    /// How many ranks there are, each of which but the source receives something.
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
        streams: 4,
        in_turn: false,
        single: None,
        branches: false,
    };

    /// The single tank of Morie et al., as their tables print it: ends of sends do not count. It runs
    /// safely where `offload::order` proves that.
    pub const PAPER: Self = Self {
        scheme: Scheme::Tank1,
        merges: false,
        parity: false,
        local: false,
        streams: 1,
        in_turn: true,
        ..Self::SAFE
    };

    /// Rules for a scheme, such that an instance is over when its memory may be used.
    pub fn of(scheme: Scheme) -> Self {
        match scheme {
            Scheme::Tank | Scheme::Prematched => Self { scheme, ..Self::SAFE },
            Scheme::Tank1 => Self { local: true, ..Self::PAPER },
        }
    }

    /// Whether this rank is the one that everything stems from.
    pub(super) fn is_source(&self) -> bool {
        self.single.is_some_and(|single| single.rank == single.source)
    }

    /// How often each counter exists.
    pub(crate) fn tanks(&self) -> u8 {
        1 + u8::from(self.parity)
    }
}

/// With one bit more to spare than levels of two instances can need, and none of the sign.
const BITS: u32 = 62;

impl Default for Rules {
    fn default() -> Self {
        Self::SAFE
    }
}
