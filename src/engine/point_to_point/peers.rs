//! The peers: what this rank keeps for each of them, from the first contact on.
//!
//! ```text
//! slots    by peer, 4 bytes each:   must queue | number of its state, 0 before the first contact
//! states   in the order of contact
//! ```
//!
//! A short message looks at the slot of its peer only, and makes no state. Peers beyond those of the
//! world need no announcement: a slot is made when it is needed.

use std::collections::VecDeque;

use crate::engine::point_to_point::credit::Credit;
use crate::engine::point_to_point::operation::OperationId;
use crate::engine::point_to_point::wire::Control;
use platform::base::Peer;

/// The bit of a slot: first packets of sends may not leave at once.
const MUST_QUEUE: u32 = 1 << 31;

/// All peers.
#[derive(Default)]
pub(crate) struct PeerTable {
    slots: Vec<u32>,
    states: Vec<PeerQueues>,
}

/// The state of one peer.
#[derive(Default)]
pub(crate) struct PeerQueues {
    pub(crate) credit: Credit,
    /// Packets without an envelope. They leave first, in order.
    pub(crate) replies: VecDeque<Control>,
    /// First packets of sends, in the order in which they must leave.
    envelopes: VecDeque<QueuedEnvelope>,
    /// Granted sends, whose data follows the envelopes.
    pub(crate) streams: VecDeque<OperationId>,
    pub(crate) outbox: OutboxState,
    /// RTS packets to the peer without an answer: copies that the peer has to do before it can
    /// assist one of this rank.
    pub(crate) unanswered_rts: u32,
    /// The memory of unexpected messages of the peer, in bytes.
    pub(crate) kept: usize,
    /// Whether this rank has asked the peer to hold its messages back (`hold`).
    pub(crate) asked_to_hold: bool,
    /// The receive into which the device writes a whole message of the peer (`placement`).
    pub(crate) placing: Option<OperationId>,
    /// Whether the device copies what it sends to the peer, and takes no longer packets than to all: known
    /// after the first eager message that is no inline one, false before and after a failure.
    pub(crate) is_copied_to: bool,
    /// Why no packet reaches the peer any more.
    failure: Option<Box<str>>,
}

/// Where a peer with queued packets waits.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum OutboxState {
    /// Nowhere: nothing is queued, or nothing of it may leave.
    #[default]
    Out,
    /// In the outbox.
    Queued,
    /// For the device to announce room.
    AwaitsRoom,
}

/// An entry of the queue of first packets.
#[derive(Clone, Copy, PartialEq, Eq)]
pub(crate) enum QueuedEnvelope {
    /// The peer has asked this rank to hold its messages back: no first packet leaves before this
    /// entry is removed.
    Hold,
    /// The first packet of a send.
    FirstOf(OperationId),
}

impl PeerTable {
    /// Whether the first packet of a send to `peer` has to wait behind others, or never leaves.
    #[inline(always)]
    pub(crate) fn must_queue(&self, peer: Peer) -> bool {
        self.slots.get(peer as usize).is_some_and(|slot| slot & MUST_QUEUE != 0)
    }

    /// The state of a peer, if there was a contact.
    pub(crate) fn get(&self, peer: Peer) -> Option<&PeerQueues> {
        let slot = self.slots.get(peer as usize)? & !MUST_QUEUE;
        self.states.get((slot as usize).wrapping_sub(1))
    }

    /// The state of a peer, made now if this is the first contact.
    #[inline]
    pub(crate) fn at(&mut self, peer: Peer) -> &mut PeerQueues {
        let slot = self.slots.get(peer as usize).map_or(0, |slot| slot & !MUST_QUEUE);
        let number = if slot == 0 { self.meet(peer) } else { slot };
        &mut self.states[number as usize - 1]
    }

    #[cold]
    fn meet(&mut self, peer: Peer) -> u32 {
        self.states.push(PeerQueues::default());
        let number = self.states.len() as u32;
        if self.slots.len() <= peer as usize {
            self.slots.resize(peer as usize + 1, 0);
        }
        self.slots[peer as usize] |= number;
        number
    }

    /// The states of all peers with a contact.
    pub(crate) fn states(&self) -> impl Iterator<Item = &PeerQueues> {
        self.states.iter()
    }

    /// The first packet that leaves next, or the entry that holds it back.
    pub(crate) fn first_envelope(&self, peer: Peer) -> Option<QueuedEnvelope> {
        self.get(peer)?.envelopes.front().copied()
    }

    /// Changes the queue of first packets of a peer.
    pub(crate) fn change_envelopes<T>(
        &mut self, peer: Peer, change: impl FnOnce(&mut VecDeque<QueuedEnvelope>) -> T,
    ) {
        let state = self.at(peer);
        change(&mut state.envelopes);
        let must_queue = !state.envelopes.is_empty() || state.failure.is_some();
        self.set_must_queue(peer, must_queue);
    }

    fn set_must_queue(&mut self, peer: Peer, must_queue: bool) {
        let slot = &mut self.slots[peer as usize];
        *slot = *slot & !MUST_QUEUE | if must_queue { MUST_QUEUE } else { 0 };
    }

    /// Why a peer has failed, if it has. Cheap for all peers that have not.
    pub(crate) fn failure(&self, peer: Peer) -> Option<&str> {
        if self.must_queue(peer) { self.get(peer)?.failure.as_deref() } else { None }
    }

    /// Notes that a peer has failed: its queues end. Returns where it waited.
    pub(crate) fn fail(&mut self, peer: Peer, why: &str) -> OutboxState {
        let state = self.at(peer);
        let waited = state.outbox;
        let failure = Some(why.into());
        *state = PeerQueues { failure, kept: state.kept, ..PeerQueues::default() };
        self.set_must_queue(peer, true);
        waited
    }

    /// Forgets all of a peer: another process may have its number. Returns where it waited.
    pub(crate) fn renew(&mut self, peer: Peer) -> OutboxState {
        if self.get(peer).is_none() {
            return OutboxState::Out;
        }
        let state = std::mem::take(self.at(peer));
        self.set_must_queue(peer, false);
        state.outbox
    }
}

impl PeerQueues {
    /// Whether first packets wait.
    #[inline]
    pub(crate) fn has_envelopes(&self) -> bool {
        !self.envelopes.is_empty()
    }

    /// The number of packets and granted sends that have not left.
    pub(crate) fn len(&self) -> usize {
        let hold = usize::from(self.envelopes.front() == Some(&QueuedEnvelope::Hold));
        self.replies.len() + self.envelopes.len() - hold + self.streams.len()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_peer_has_state_from_its_first_contact_on() {
        let mut peers = PeerTable::default();
        assert!(peers.get(1_000_000).is_none() && !peers.must_queue(1_000_000));
        peers.at(9).kept = 5;
        peers.at(1_000_000).kept = 7;
        assert_eq!((peers.at(9).kept, peers.at(1_000_000).kept), (5, 7));
        assert!(peers.get(0).is_none());
        assert_eq!(peers.states().count(), 2);
    }

    #[test]
    fn a_queued_first_packet_makes_later_ones_queue() {
        let mut peers = PeerTable::default();
        peers.change_envelopes(3, |queue| queue.push_back(QueuedEnvelope::FirstOf(1)));
        assert!(peers.must_queue(3) && !peers.must_queue(2));
        assert!(peers.first_envelope(3) == Some(QueuedEnvelope::FirstOf(1)));
        peers.change_envelopes(3, VecDeque::pop_front);
        assert!(!peers.must_queue(3) && peers.first_envelope(3).is_none());
    }

    #[test]
    fn everything_to_a_failed_peer_queues() {
        let mut peers = PeerTable::default();
        peers.at(3).outbox = OutboxState::Queued;
        assert_eq!(peers.failure(3), None);
        assert_eq!(peers.fail(3, "gone"), OutboxState::Queued);
        peers.change_envelopes(3, VecDeque::clear);
        assert_eq!((peers.failure(3), peers.must_queue(3)), (Some("gone"), true));
        assert_eq!(peers.failure(4), None);
    }
}
