//! What a thread that waits for another one of its process listens to.
//!
//! ```text
//!   Quiet ── sleep (the listener) ──> Asleep ── ring ──> Rung, one futex wake
//!     └──────────────────────────────────────── ring ──> Rung, no system call
//! ```

use super::primitive::{AtomicU32, Ordering, wait, wake};

const QUIET: u32 = 0;
const ASLEEP: u32 = 1;
const RUNG: u32 = 2;

/// A bell that is rung once.
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

    /// Sleeps until it is rung; for one listener.
    pub fn sleep(&self) {
        let (order, failed) = (Ordering::SeqCst, Ordering::Acquire);
        // It fails if the bell was rung, and nobody sleeps then.
        let _ = self.word.compare_exchange(QUIET, ASLEEP, order, failed);
        while !self.is_rung() {
            wait(&self.word, ASLEEP);
        }
    }
}
