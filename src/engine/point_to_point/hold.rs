//! Hold: the limit of the memory of all unexpected messages of a rank.
//!
//! ```text
//! sender                          receiver
//!   |--- Eager, Rts ... ------------>|  kept until a receive matches
//!   |<-- Hold -----------------------|  it keeps more than the limit, more than its share of this
//!   |  first packets stay queued     |  sender, and no receive is posted
//!   |<-- Resume ---------------------|  it keeps less than half of either, or a receive or a probe
//!   |--- Eager, Rts ... ------------>|  matches nothing that it keeps
//! ```
//!
//! Credit limits the payload of each peer, but not their number, and neither short messages nor
//! envelopes. A receive or a probe without a match may wait for a message that its sender holds back,
//! so it ends all holds: like in every MPI library, such a rank keeps all messages before the one that
//! it waits for. Packets that are on their way when the receiver asks are kept too. Packets without an
//! envelope are never held back, so a message that has matched always arrives.

use std::collections::VecDeque;

use crate::engine::point_to_point::matching::MatchPattern;
use crate::engine::point_to_point::peers::QueuedEnvelope;
use crate::engine::point_to_point::protocol::{MessageBody, MessageProtocol, UnexpectedMessage};
use crate::engine::point_to_point::wire::{Control, Envelope, NOTICE_CONTEXT};
use platform::base::Peer;

/// The memory of an unexpected message besides its payload, in bytes: entries of the queue and of a
/// hash table, and a part of a page of the allocator.
const ENTRY_BYTES: usize = 128;

impl UnexpectedMessage {
    /// The memory of the message, in bytes.
    fn memory(&self) -> usize {
        ENTRY_BYTES
            + match &self.body {
                MessageBody::Whole(data) => data.len(),
                MessageBody::Rts(_) => 0,
            }
    }
}

/// The receiver's side.
impl MessageProtocol {
    /// Keeps a message that matches no posted receive.
    #[inline]
    pub(crate) fn keep(&mut self, envelope: Envelope, message: UnexpectedMessage) {
        self.events += 1;
        let needs_care = self.is_disturbed | (envelope.context == NOTICE_CONTEXT);
        if needs_care && self.refuses(envelope, &message) {
            return;
        }
        let (from, memory) = (message.from, message.memory());
        self.peers.at(from).kept += memory;
        if self.unexpected.add(memory) {
            self.ask_to_hold(from);
        }
        self.watched.arrived(envelope.context);
        self.matching.push_message(envelope, message);
    }

    /// Takes the oldest unexpected message that matches.
    #[inline]
    pub(crate) fn take_message(
        &mut self, pattern: MatchPattern,
    ) -> Option<(Envelope, UnexpectedMessage)> {
        let (envelope, message) = self.matching.take_message(pattern)?;
        self.keeps_no_longer(&message);
        Some((envelope, message))
    }

    /// Counts an unexpected message that this rank does not keep any more.
    #[inline]
    pub(crate) fn keeps_no_longer(&mut self, message: &UnexpectedMessage) {
        let (from, memory) = (message.from, message.memory());
        self.peers.at(from).kept -= memory;
        self.unexpected.remove(memory);
        if self.unexpected.is_limited() {
            self.taken(from);
        }
    }

    #[cold]
    fn ask_to_hold(&mut self, from: Peer) {
        let (receives, _) = self.matching.lengths();
        let has_share = self.peers.at(from).kept <= self.unexpected.share();
        if from == self.me || receives > 0 || has_share {
            return;
        }
        if !std::mem::replace(&mut self.peers.at(from).asked_to_hold, true) {
            self.unexpected.holding.push(from);
            self.queue_reply(from, Control::Hold);
        }
    }

    /// A message of this peer is kept no longer, while peers hold messages back.
    #[cold]
    fn taken(&mut self, from: Peer) {
        if self.unexpected.is_low() {
            return self.ask_to_resume();
        }
        let peer = self.peers.at(from);
        if peer.asked_to_hold && peer.kept < self.unexpected.share() / 2 {
            peer.asked_to_hold = false;
            self.unexpected.holding.retain(|holding| *holding != from);
            self.queue_reply(from, Control::Resume);
        }
    }

    /// Ends all holds.
    #[inline]
    pub(crate) fn resume_all(&mut self) {
        if self.unexpected.is_limited() {
            self.ask_to_resume();
        }
    }

    #[cold]
    fn ask_to_resume(&mut self) {
        for peer in std::mem::take(&mut self.unexpected.holding) {
            self.peers.at(peer).asked_to_hold = false;
            self.queue_reply(peer, Control::Resume);
        }
    }
}

/// The sender's side.
impl MessageProtocol {
    /// The peer asks for no further messages.
    pub(crate) fn hold(&mut self, peer: Peer) {
        if self.peers.first_envelope(peer) != Some(QueuedEnvelope::Hold) {
            self.peers.change_envelopes(peer, |queue| queue.push_front(QueuedEnvelope::Hold));
        }
    }

    /// The peer accepts messages again.
    pub(crate) fn resume(&mut self, peer: Peer) {
        if self.peers.first_envelope(peer) == Some(QueuedEnvelope::Hold) {
            self.peers.change_envelopes(peer, VecDeque::pop_front);
            self.queue_peer(peer);
        }
    }
}
