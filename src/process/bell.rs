//! What a thread that waits for another one of its process listens to.
//!
//! ```text
//!   Quiet ── sleep (the listener) ──> Asleep ── ring ──> Rung, one futex wake
//!    ▲└──────────────────────────────────────── ring ──> Rung, no system call
//!    └─────────────── answer (the listener) ───────────────┘
//! ```

use std::time::Duration;

use super::primitive::{AtomicU32, Ordering, wait, wake};

const QUIET: u32 = 0;
const ASLEEP: u32 = 1;
const RUNG: u32 = 2;

/// How a sleep for a limited time ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Slept {
    /// It did not begin: the bell had been rung.
    Not,
    /// The bell rang.
    Woken,
    /// By its length.
    Long,
}

/// A bell for one listener.
pub struct Bell {
    word: AtomicU32,
}

impl Bell {
    /// A bell that nobody has rung.
    pub fn new() -> Self {
        Self { word: AtomicU32::new(QUIET) }
    }

    /// Wakes the listener. What was written before, it sees.
    pub fn ring(&self) {
        if self.word.swap(RUNG, Ordering::SeqCst) == ASLEEP {
            wake(&self.word);
        }
    }

    /// Whether it has been rung.
    pub fn is_rung(&self) -> bool {
        self.word.load(Ordering::Acquire) == RUNG
    }

    /// Sleeps until it is rung.
    pub fn sleep(&self) {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        // It fails if the bell was rung, and nobody sleeps then.
        let _ = self.word.compare_exchange(QUIET, ASLEEP, order, failed);
        while !self.is_rung() {
            wait(&self.word, ASLEEP, None);
        }
    }

    /// Sleeps until it is rung, or about so long, unless it has been rung already, and answers it.
    pub fn sleep_for(&self, longest: Duration) -> Slept {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        if self.word.compare_exchange(QUIET, ASLEEP, order, failed).is_ok() {
            wait(&self.word, ASLEEP, Some(longest));
            return if self.answer() { Slept::Woken } else { Slept::Long };
        }
        self.answer();
        Slept::Not
    }

    /// Makes it quiet; whether it had been rung. What the ringer wrote before, the listener sees.
    fn answer(&self) -> bool {
        self.word.swap(QUIET, Ordering::SeqCst) == RUNG
    }
}
