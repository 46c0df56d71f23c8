//! What the ranks of a node tell each other about calls that wait for long.
//!
//! ```text
//!   notice of each rank   a text of its own choice; empty: it waits for nothing
//!   alarm of the node     0 ── raise: a rank says that none can go on ──> 1
//!                         1 ── withdraw: a rank went on after all ──────> 2, for ever
//! ```
//!
//! It lies in the segment, so it is the same under every launcher. It knows nothing of what the
//! texts say. A rank writes to it when it has waited for long, never on the way of a message.

use super::primitive::{AtomicU32, Ordering};
use super::segment::RankArea;
use crate::devices::rings::memory::Mapped;
use platform::base::Peer;

const RAISED: u32 = 1;
const WITHDRAWN: u32 = 2;

/// The notices of all ranks of a node.
pub(crate) struct WaitTable {
    me: usize,
    /// By slot.
    ranks: Vec<Peer>,
    areas: Vec<Mapped<RankArea>>,
    alarm: Mapped<AtomicU32>,
}

/// What is known of a rank by looking.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// It waits, and says this.
    Waiting(Vec<u8>),
    /// Its process has ended.
    Ended,
    /// It does something else, or has not come yet.
    NotWaiting,
}

impl WaitTable {
    pub(super) fn new(
        me: usize, ranks: Vec<Peer>, areas: Vec<Mapped<RankArea>>, alarm: Mapped<AtomicU32>,
    ) -> Self {
        Self { me, ranks, areas, alarm }
    }

    /// The ranks of the node, by slot.
    pub(crate) fn ranks(&self) -> &[Peer] {
        &self.ranks
    }

    /// The slot of this rank.
    pub(crate) fn own_slot(&self) -> usize {
        self.me
    }

    /// This rank waits, and says so; or does not any more, with an empty text.
    pub fn write(&self, text: &[u8]) {
        self.areas[self.me].wait_entry.write(text);
    }

    /// What the rank in `slot` does. Of one that waits it is not asked whether it lives.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn read(&self, slot: usize) -> PeerState {
        match self.areas[slot].wait_entry.read() {
            Some(text) if !text.is_empty() => PeerState::Waiting(text),
            _ if self.has_ended(slot) => PeerState::Ended,
            _ => PeerState::NotWaiting,
        }
    }

    /// Whether the process of the rank in `slot` has come and has ended, as far as that can be seen
    /// from here.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn has_ended(&self, slot: usize) -> bool {
        self.areas[slot].address.has_ended(&self.areas[self.me].address)
    }

    /// Says that no rank can go on; true for the first to say so.
    pub(crate) fn raise_alarm(&self) -> bool {
        self.swap(0, RAISED)
    }

    /// This rank goes on; true if it was said that none can, for the first to find that wrong.
    pub(crate) fn withdraw_alarm(&self) -> bool {
        self.swap(RAISED, WITHDRAWN)
    }

    fn swap(&self, from: u32, to: u32) -> bool {
        let order = Ordering::SeqCst;
        self.alarm.load(Ordering::Relaxed) == from
            && self.alarm.compare_exchange(from, to, order, order).is_ok()
    }
}
