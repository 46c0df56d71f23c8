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
    pub gated: bool,
    /// An instance is over when its sends are: their bytes may be overwritten.
    pub local: bool,
    /// What one rank puts to another through one engine arrives in order, as the interfaces of all
    /// ranks promise: then such arrivals share a digit.
    pub ordered: bool,
    /// How many bits of a counter are used.
    pub bits: u32,
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
        gated: true,
        local: true,
        ordered: false,
        bits: BITS,
    };

    /// How often each counter exists.
    pub fn tanks(&self) -> u8 {
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
