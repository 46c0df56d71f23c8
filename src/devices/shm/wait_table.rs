//! The wait table of a node: which ranks wait for a long time, and the alarm of the deadlock detector.
//!
//! ```text
//!   entry of each rank   a text; empty: the rank does not wait
//!   alarm of the node    0 ── raise: a rank has found a deadlock ───────> 1
//!                        1 ── withdraw: a rank made progress after all ─> 2, final
//! ```
//!
//! The table lies in the segment of the node, so it works under every launcher. It does not read the
//! texts. A rank writes its entry only in a long wait, never on the path of a message.

use super::primitive::{AtomicU32, Ordering};
use super::segment::RankArea;
use crate::devices::rings::memory::Mapped;
use platform::base::Peer;

const RAISED: u32 = 1;
const WITHDRAWN: u32 = 2;

/// The entries of all ranks of a node.
pub(crate) struct WaitTable {
    me: usize,
    /// By slot.
    ranks: Vec<Peer>,
    areas: Vec<Mapped<RankArea>>,
    alarm: Mapped<AtomicU32>,
}

/// The state of a rank by its entry.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum PeerState {
    /// It waits; the text of its entry.
    Waiting(Vec<u8>),
    /// Its process has ended.
    Ended,
    /// It runs, or has not attached yet.
    NotWaiting,
}

impl WaitTable {
    pub(super) fn new(
        me: usize, ranks: Vec<Peer>, areas: Vec<Mapped<RankArea>>, alarm: Mapped<AtomicU32>,
    ) -> Self {
        Self { me, ranks, areas, alarm }
    }

    /// Ranks of the node, by slot.
    pub(crate) fn ranks(&self) -> &[Peer] {
        &self.ranks
    }

    /// The slot of this rank.
    pub(crate) fn own_slot(&self) -> usize {
        self.me
    }

    /// Replaces the entry of this rank; an empty text ends the wait.
    pub fn write(&self, text: &[u8]) {
        self.areas[self.me].wait_entry.write(text);
    }

    /// The state of the rank in `slot`. An entry is returned without a check of the process.
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

    /// Whether the process of the rank in `slot` has attached and has ended, as far as this process can
    /// know.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn has_ended(&self, slot: usize) -> bool {
        self.areas[slot].address.has_ended(&self.areas[self.me].address)
    }

    /// Raises the alarm; true for the first rank that raises it.
    pub(crate) fn raise_alarm(&self) -> bool {
        self.swap(0, RAISED)
    }

    /// Withdraws the alarm after progress of this rank; true if it was raised, for the first rank that
    /// withdraws it.
    pub(crate) fn withdraw_alarm(&self) -> bool {
        self.swap(RAISED, WITHDRAWN)
    }

    fn swap(&self, from: u32, to: u32) -> bool {
        let order = Ordering::SeqCst;
        self.alarm.load(Ordering::Relaxed) == from
            && self.alarm.compare_exchange(from, to, order, order).is_ok()
    }
}
