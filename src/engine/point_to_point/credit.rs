//! Credit: how much eager payload a peer may have to keep for us.
//!
//! ```text
//! sender                         receiver
//!   | left -= len                   |
//!   |--- Eager, len bytes --------->|  kept until a receive matches, if none has yet
//!   |                               |  owed += len when the application has it
//!   |<-- Credit { owed } -----------|  once half of the allowance is owed
//!   | left += owed                  |
//! ```
//!
//! A sender without credit announces its message instead of sending it, so the payload of
//! unexpected messages that a rank holds is at most [`ALLOWANCE`] for each peer. Envelopes and
//! short messages, which travel inside their envelope's cache line, cost no credit and are never
//! held back: progress never waits for credit.

/// Bytes of eager payload that may be on the way to, or unexpected at, one receiver.
pub(crate) const ALLOWANCE: usize = 512 << 10;

/// What one rank knows of the credit between itself and one peer, in both directions.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Credit {
    /// Bytes that we may still send.
    left: usize,
    /// Bytes that we have consumed and not told the peer yet.
    owed: usize,
}

impl Default for Credit {
    fn default() -> Self {
        Self { left: ALLOWANCE, owed: 0 }
    }
}

impl Credit {
    /// Takes credit for a message of `len` bytes; false if there is not enough.
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
        let bytes = usize::try_from(bytes).unwrap_or(ALLOWANCE);
        self.left = ALLOWANCE.min(self.left.saturating_add(bytes));
    }

    /// We have consumed `len` bytes of the peer's; the result is due to be told now.
    #[inline]
    pub(crate) fn consume(&mut self, len: usize) -> Option<u64> {
        self.owed += len;
        (self.owed >= ALLOWANCE / 2).then(|| std::mem::take(&mut self.owed) as u64)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn what_is_consumed_comes_back_and_never_more() {
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
    }

    #[test]
    fn a_silent_receiver_stops_the_sender() {
        let mut sender = Credit::default();
        let accepted = (0..1000).filter(|_| sender.spend(10_000)).count();
        assert_eq!(accepted, ALLOWANCE / 10_000);
    }
}
