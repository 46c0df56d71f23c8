//! What a thread that waits for another one of its process listens to.
//!
//! ```text
//!   Quiet ── sleep (the listener) ──> Asleep ── ring ──> Rung, one futex wake
//!    ▲└──────────────────────────────────────── ring ──> Rung, no system call
//!    └─────────────── answer (the listener) ───────────────┘
//! ```

use std::time::Duration;

use super::primitive::{AtomicU32, Ordering, wait, wake};

const EMPTY: u32 = 0;
const PARKED: u32 = 1;
const NOTIFIED: u32 = 2;

/// How a sleep for a limited time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ParkOutcome {
    /// It did not begin: the bell had been rung.
    AlreadyNotified,
    /// The bell rang.
    Notified,
    /// By its length.
    TimedOut,
}

/// A bell for one listener.
pub(crate) struct Parker {
    word: AtomicU32,
}

impl Parker {
    /// A bell that nobody has rung.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(EMPTY) }
    }

    /// Wakes the listener. What was written before, it sees.
    pub(crate) fn notify(&self) {
        if self.word.swap(NOTIFIED, Ordering::SeqCst) == PARKED {
            wake(&self.word);
        }
    }

    /// Whether it has been rung.
    pub(crate) fn is_notified(&self) -> bool {
        self.word.load(Ordering::Acquire) == NOTIFIED
    }

    /// Sleeps until it is rung.
    pub(crate) fn park(&self) {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        // It fails if the bell was rung, and nobody sleeps then.
        let _ = self.word.compare_exchange(EMPTY, PARKED, order, failed);
        while !self.is_notified() {
            wait(&self.word, PARKED, None);
        }
    }

    /// Sleeps until it is rung, or about so long, unless it has been rung already, and answers it.
    pub(crate) fn park_timeout(&self, longest: Duration) -> ParkOutcome {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        if self.word.compare_exchange(EMPTY, PARKED, order, failed).is_ok() {
            wait(&self.word, PARKED, Some(longest));
            return if self.reset() { ParkOutcome::Notified } else { ParkOutcome::TimedOut };
        }
        self.reset();
        ParkOutcome::AlreadyNotified
    }

    /// Makes it quiet; whether it had been rung. What the ringer wrote before, the listener sees.
    fn reset(&self) -> bool {
        self.word.swap(EMPTY, Ordering::SeqCst) == NOTIFIED
    }
}
