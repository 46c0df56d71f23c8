//! Where one thread sleeps until another thread of its process wakes it.
//!
//! ```text
//!   Empty ── park ──> Parked ── notify ──> Notified, one futex wake
//!    ▲└──────────────────────── notify ──> Notified, no system call
//!    └────────────── reset ───────────────────┘
//! ```

use std::time::Duration;

use super::primitive::{AtomicU32, Ordering, wait, wake};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// How a sleep for a limited time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkOutcome {
    /// The thread did not sleep: it was notified before.
    AlreadyNotified,
    /// The thread was notified while it slept.
    Notified,
    /// The time ended.
    TimedOut,
}

/// A place for one thread to sleep.
pub(crate) struct Parker {
    word: AtomicU32,
}

impl Parker {
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(EMPTY) }
    }

    /// Wakes the thread, which sees everything that the caller has written.
    pub(crate) fn notify(&self) {
        if self.word.swap(NOTIFIED, Ordering::SeqCst) == PARKED {
            wake(&self.word);
        }
    }

    pub(crate) fn is_notified(&self) -> bool {
        self.word.load(Ordering::Acquire) == NOTIFIED
    }

    /// Sleeps until notified.
    pub(crate) fn park(&self) {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        // The exchange fails if the thread was notified; then it does not sleep.
        let _ = self.word.compare_exchange(EMPTY, PARKED, order, failed);
        while !self.is_notified() {
            wait(&self.word, PARKED, None);
        }
    }

    /// Sleeps until notified, for about `longest` at most, and resets the notification.
    pub(crate) fn park_timeout(&self, longest: Duration) -> ParkOutcome {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        if self.word.compare_exchange(EMPTY, PARKED, order, failed).is_ok() {
            wait(&self.word, PARKED, Some(longest));
            return if self.reset() { ParkOutcome::Notified } else { ParkOutcome::TimedOut };
        }
        self.reset();
        ParkOutcome::AlreadyNotified
    }

    /// Resets the notification; whether there was one. The caller sees what its sender has written.
    fn reset(&self) -> bool {
        self.word.swap(EMPTY, Ordering::SeqCst) == NOTIFIED
    }
}
