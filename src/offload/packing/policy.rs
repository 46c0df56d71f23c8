//! Packing policies.

use std::fmt;

use super::bottom_left::bottom_left;
use super::placement::Packing;
use super::put::{InterfaceModel, Put};
use super::search;

/// How engines are chosen for puts.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum PackingPolicy {
    /// Puts in their order, to this number of engines in turn.
    RoundRobin(u8),
    /// The longest put first, as early as an engine and the direction are free, with at most this
    /// number of diagonal puts at the same time.
    BottomLeft(u8),
    /// [`PackingPolicy::BottomLeft`] with as many diagonal puts as engines, and with the time to write
    /// the queue of each engine as its initial load.
    Access,
    /// The best of all others in a model of flows, improved step by step.
    Best,
}

impl PackingPolicy {
    /// All policies with a name.
    pub const ALL: [Self; 8] = [
        Self::RoundRobin(1),
        Self::RoundRobin(2),
        Self::RoundRobin(4),
        Self::BottomLeft(1),
        Self::BottomLeft(2),
        Self::BottomLeft(4),
        Self::Access,
        Self::Best,
    ];

    /// The name in settings.
    pub fn name(self) -> String {
        match self {
            Self::RoundRobin(engines) => format!("rr{engines}"),
            Self::BottomLeft(diagonals) => format!("bl{diagonals}"),
            Self::Access => "access".to_owned(),
            Self::Best => "best".to_owned(),
        }
    }

    /// The policy with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|policy| policy.name() == name)
    }
}

impl fmt::Display for PackingPolicy {
    /// The name in the paper.
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self {
            Self::RoundRobin(engines) => write!(f, "RoundRobin({engines})"),
            Self::BottomLeft(diagonals) => write!(f, "BLbased({diagonals})"),
            Self::Access => f.write_str("BL + access"),
            Self::Best => f.write_str("best"),
        }
    }
}

impl Packing {
    /// Packs `puts` for the interface `machine`.
    pub fn new(policy: PackingPolicy, puts: &[Put], machine: &InterfaceModel) -> Self {
        let all = machine.engines;
        match policy {
            PackingPolicy::RoundRobin(engines) => {
                let engines = usize::from(engines.min(all).max(1));
                let mut queues = vec![Vec::new(); all.max(1).into()];
                (0..puts.len()).for_each(|put| queues[put % engines].push(put));
                Self::stacked(queues, puts, machine)
            }
            PackingPolicy::BottomLeft(diagonals) => bottom_left(puts, machine, diagonals, false),
            PackingPolicy::Access => bottom_left(puts, machine, all, true),
            PackingPolicy::Best => {
                let others =
                    PackingPolicy::ALL.into_iter().filter(|policy| *policy != PackingPolicy::Best);
                search::best(
                    puts,
                    machine,
                    others.map(|policy| Self::new(policy, puts, machine).queues),
                )
            }
        }
    }
}
