//! The accesses of a rank to memory of its peers, for a device: which have completed.
//!
//! ```text
//!   issue ──number──> in progress ──complete──> completed, in any order
//!
//!   completed      1 2 3 . 5 . 7        the count from the first one on: 3
//!                        ▲ the oldest access in progress
//! ```
//!
//! Accesses are numbered for each peer. Devices complete them in any order; callers see the number of the
//! last access before the oldest one in progress.

use std::collections::{BTreeMap, BTreeSet};

use super::rma::AccessProgress;
use platform::base::{MpiError, Peer, Result};

/// The accesses of a rank to its peers.
#[derive(Debug, Default)]
pub(crate) struct AccessLedger {
    peers: BTreeMap<Peer, AccessAccount>,
    in_progress: u64,
}

/// The accesses to one peer.
#[derive(Debug, Default)]
struct AccessAccount {
    prefix: CompletedPrefix,
    /// The first since the last flush.
    error: Option<Box<MpiError>>,
}

/// Events with the numbers 1, 2, ..., which complete in any order.
#[derive(Debug, Default)]
pub(crate) struct CompletedPrefix {
    issued: u64,
    /// All up to this number have completed.
    completed: u64,
    /// Others that have completed.
    later: BTreeSet<u64>,
}

impl CompletedPrefix {
    /// The number of a new event.
    pub(crate) fn issue(&mut self) -> u64 {
        self.issued += 1;
        self.issued
    }

    /// An event has completed.
    pub(crate) fn complete(&mut self, number: u64) {
        debug_assert!(number > self.completed && number <= self.issued);
        if number != self.completed + 1 {
            self.later.insert(number);
            return;
        }
        self.completed = number;
        while self.later.first() == Some(&(self.completed + 1)) {
            self.later.pop_first();
            self.completed += 1;
        }
    }

    /// The number of the last event before the first one that has not completed.
    pub(crate) fn completed(&self) -> u64 {
        self.completed
    }

    /// Whether all events have completed.
    pub(crate) fn is_complete(&self) -> bool {
        self.completed == self.issued
    }
}

impl AccessLedger {
    /// An access was accepted; its number among those to this peer.
    pub(crate) fn issue(&mut self, peer: Peer) -> u64 {
        self.in_progress += 1;
        self.peers.entry(peer).or_default().prefix.issue()
    }

    /// An access has completed.
    pub(crate) fn complete(&mut self, peer: Peer, number: u64, end: Result) {
        let account = self.peers.entry(peer).or_default();
        account.prefix.complete(number);
        if let Err(error) = end {
            account.error.get_or_insert(error);
        }
        self.in_progress -= 1;
    }

    /// The oldest access to a peer has completed.
    pub(crate) fn complete_oldest(&mut self, peer: Peer, end: Result) {
        let completed = self.peers.entry(peer).or_default().prefix.completed();
        self.complete(peer, completed + 1, end);
    }

    /// An access was accepted and has completed.
    pub(crate) fn pass(&mut self, peer: Peer, end: Result) {
        let number = self.issue(peer);
        self.complete(peer, number, end);
    }

    /// Accesses to all peers that have not completed.
    pub(crate) fn in_progress(&self) -> u64 {
        self.in_progress
    }

    /// [`Rma::progress`](super::rma::Rma::progress).
    pub(crate) fn progress(&self, peer: Peer) -> AccessProgress {
        let Some(AccessAccount { prefix, error }) = self.peers.get(&peer) else {
            return AccessProgress::default();
        };
        let (accepted, completed) = (prefix.issued, prefix.completed);
        AccessProgress { accepted, completed, has_error: error.is_some() }
    }

    /// [`Rma::flush`](super::rma::Rma::flush).
    pub(crate) fn flush(&mut self, peer: Peer) -> Option<Result> {
        let Some(account) = self.peers.get_mut(&peer) else { return Some(Ok(())) };
        let is_complete = account.prefix.is_complete();
        is_complete.then(|| account.error.take().map_or(Ok(()), Err))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::base::ErrorClass;

    #[test]
    fn the_first_error_is_kept_until_a_flush() {
        let mut ledger = AccessLedger::default();
        let why = |end: Option<Result>| end.unwrap().unwrap_err().why;
        let [one, two, three] = [(); 3].map(|()| ledger.issue(4));
        ledger.complete(4, one, Err(ErrorClass::RmaRange.error("first")));
        assert!(ledger.flush(4).is_none() && ledger.in_progress() == 2);
        assert!(ledger.progress(4).has_error && !ledger.progress(5).has_error);
        ledger.complete(4, three, Err(ErrorClass::RmaRange.error("second")));
        ledger.complete(4, two, Ok(()));
        assert_eq!(why(ledger.flush(4)), "first");
        assert!(matches!(ledger.flush(4), Some(Ok(()))));
        assert!(matches!(ledger.flush(5), Some(Ok(()))));
    }

    #[test]
    fn accesses_complete_in_any_order_and_count_from_the_first_on() {
        let mut ledger = AccessLedger::default();
        let peers = [1, 2, 1, 1, 2];
        let numbers = peers.map(|peer| ledger.issue(peer));
        let completed = |ledger: &AccessLedger| [1, 2].map(|peer| ledger.progress(peer).completed);
        let expected = [(3, [0, 0]), (4, [0, 0]), (0, [1, 0]), (2, [3, 0]), (1, [3, 2])];
        for (at, after) in expected {
            ledger.complete(peers[at], numbers[at], Ok(()));
            assert_eq!(completed(&ledger), after, "after {at}");
        }
        assert_eq!(
            ledger.progress(1),
            AccessProgress { accepted: 3, completed: 3, has_error: false }
        );
        assert_eq!(ledger.progress(7), AccessProgress::default());
        let last = ledger.issue(7);
        assert!(ledger.in_progress() == 1 && ledger.flush(7).is_none());
        ledger.complete_oldest(7, Ok(()));
        assert_eq!((last, ledger.progress(7).completed, ledger.in_progress()), (1, 1, 0));
        ledger.pass(7, Ok(()));
        assert!(ledger.flush(7).is_some());
    }
}
