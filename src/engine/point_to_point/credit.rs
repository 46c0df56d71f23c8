//! Credit: the limit of eager payload that a peer may have to keep for this rank.
//!
//! ```text
//! sender                         receiver
//!   | left -= len                   |
//!   |--- Eager, len bytes --------->|  kept until a receive matches
//!   |                               |  owed += len when the application has the data
//!   |<-- Credit { owed } -----------|  when half of the allowance is owed
//!   | left += owed                  |
//! ```
//!
//! A sender without enough credit for a message uses a rendezvous, so a rank holds at most [`ALLOWANCE`] bytes of
//! unexpected payload for each peer. Envelopes and inline messages, which fit in the cache line of
//! their envelope, need no credit: progress never waits for credit. [`UnexpectedMemory`] counts them,
//! and all other unexpected messages, for the limit of all of them (`hold`).

use platform::base::Peer;

/// Bytes of eager payload that may be on the way to, or unexpected at, one receiver.
pub(crate) const ALLOWANCE: usize = 512 << 10;

/// The same for a peer to which long messages are sent eagerly, as over a network: 64 messages of 64
/// KiB. A rendezvous costs such a peer a round trip.
const WIDE_ALLOWANCE: usize = 4 << 20;

/// The credit between this rank and one peer, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    /// Bytes that this rank may still send.
    left: usize,
    /// Bytes that it may send before the peer has consumed any.
    allowance: usize,
    /// Bytes that this rank has consumed since its last credit packet.
    owed: usize,
}

impl Default for Credit {
    fn default() -> Self {
        Self { left: ALLOWANCE, allowance: ALLOWANCE, owed: 0 }
    }
}

impl Credit {
    /// Takes credit for a message of `len` bytes; false if there is too little.
    #[inline]
    pub(crate) fn spend(&mut self, len: usize) -> bool {
        match self.left.checked_sub(len) {
            Some(left) => {
                self.left = left;
                true
            }
            None => false,
        }
    }

    /// The peer has consumed `bytes`.
    pub(crate) fn refill(&mut self, bytes: u64) {
        let bytes = usize::try_from(bytes).unwrap_or(self.allowance);
        self.left = self.allowance.min(self.left.saturating_add(bytes));
    }

    /// Long messages are sent to the peer eagerly.
    pub(crate) fn widen(&mut self) {
        self.left += WIDE_ALLOWANCE - self.allowance;
        self.allowance = WIDE_ALLOWANCE;
    }

    /// Counts `len` consumed bytes of the peer. The result is the credit to return now.
    #[inline]
    pub(crate) fn consume(&mut self, len: usize) -> Option<u64> {
        self.owed += len;
        (self.owed >= ALLOWANCE / 2).then(|| std::mem::take(&mut self.owed) as u64)
    }
}

/// The limit of the memory of all unexpected messages, in bytes: as much as 512 peers may send with
/// their credit.
const UNEXPECTED_MAX: usize = ALLOWANCE * 512;

/// The memory of all unexpected messages of this rank, in bytes.
#[derive(Debug)]
pub(crate) struct UnexpectedMemory {
    used: usize,
    limit: usize,
    /// The number of peers, each of which has a share of the limit.
    peers: usize,
    /// Peers that were asked to hold messages back.
    pub(crate) holding: Vec<Peer>,
}

impl UnexpectedMemory {
    /// Nothing, of `peers` peers.
    pub(crate) fn new(peers: usize) -> Self {
        Self { used: 0, limit: UNEXPECTED_MAX, peers, holding: Vec::new() }
    }

    pub(crate) fn set_limit(&mut self, bytes: usize) {
        self.limit = bytes;
    }

    /// Whether peers hold messages back.
    #[inline]
    pub(crate) fn is_limited(&self) -> bool {
        !self.holding.is_empty()
    }

    /// Counts a message that is kept; whether it exceeds the limit.
    #[inline]
    pub(crate) fn add(&mut self, bytes: usize) -> bool {
        self.used += bytes;
        self.used > self.limit
    }

    /// Counts a message that is kept no longer.
    #[inline]
    pub(crate) fn remove(&mut self, bytes: usize) {
        self.used -= bytes;
    }

    /// Whether less than half of the limit is in use.
    pub(crate) fn is_low(&self) -> bool {
        self.used < self.limit / 2
    }

    /// The part of the limit that each peer may always use, in bytes.
    pub(crate) fn share(&self) -> usize {
        self.limit / self.peers
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn credit_returns_and_never_exceeds_the_allowance() {
        let mut sender = Credit::default();
        let mut receiver = Credit::default();
        for _ in 0..1000 {
            assert!(sender.spend(10_000));
            if let Some(bytes) = receiver.consume(10_000) {
                sender.refill(bytes);
            }
        }
        sender.refill(u64::MAX);
        assert_eq!(sender.left, ALLOWANCE);
        assert!(sender.spend(ALLOWANCE));
        sender.widen();
        sender.widen();
        assert_eq!(sender.left, WIDE_ALLOWANCE - ALLOWANCE);
        sender.refill(u64::MAX);
        assert_eq!(sender.left, WIDE_ALLOWANCE);
    }

    #[test]
    fn a_silent_receiver_stops_the_sender() {
        let mut sender = Credit::default();
        let accepted = (0..1000).filter(|_| sender.spend(10_000)).count();
        assert_eq!(accepted, ALLOWANCE / 10_000);
    }
}
