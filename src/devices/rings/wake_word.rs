//! A word that says whether a rank sleeps, and that it sleeps on.
//!
//! ```text
//!  awake ── arm (receiver) ──> armed ── ring (a sender) ──> awake, count + 1, one futex wake
//!    ^──────────── disarm ───────┘
//! ```
//!
//! The receiver arms, then looks for packets once more; a sender publishes a packet, then looks at
//! the word. With a full fence between the two steps of both, at least one sees the other. The
//! sender's fence is on the path of every message, so it is left out where the receiver's is a
//! membarrier(2), which stands for both. A receiver that cannot call that sets [`FENCE`] when it
//! attaches, long before it first sleeps; a sender that could not register has `fence` set.

use super::primitive::{AtomicU32, Ordering, full_fence, light_fence};

/// The rank sleeps or is about to.
const ARMED: u32 = 1;

/// Senders need a fence of their own.
const FENCE: u32 = 2;

/// Above the flags: how often a sender has rung.
const NOTIFY_STEP: u32 = 4;

/// All zero: awake, never rung.
#[repr(C, align(128))]
pub(crate) struct WakeWord {
    word: AtomicU32,
}

impl WakeWord {
    /// What to sleep on.
    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Senders must fence from now on.
    pub(crate) fn require_fences(&self) {
        self.word.fetch_or(FENCE, Ordering::SeqCst);
    }

    /// The receiver is about to sleep, while the word is what this returns. To be followed by a
    /// membarrier unless fences are required.
    pub(crate) fn arm(&self) -> u32 {
        let armed = self.word.fetch_or(ARMED, Ordering::SeqCst) | ARMED;
        full_fence();
        armed
    }

    /// The receiver will not sleep.
    pub(crate) fn disarm(&self) {
        self.word.fetch_and(!ARMED, Ordering::Relaxed);
    }

    /// Whether the rank sleeps, or is about to: a hint.
    pub(crate) fn is_armed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & ARMED != 0
    }

    /// To be called after a packet was published; true if the caller must wake the word's waiters.
    #[inline]
    pub(crate) fn notify(&self, fence: bool) -> bool {
        if fence {
            full_fence();
        } else {
            light_fence();
        }
        let seen = self.word.load(Ordering::Relaxed);
        seen & (ARMED | FENCE) != 0 && self.notify_armed(seen)
    }

    /// Changes the word, armed or not: some thread of this rank may sleep on it for whom it is
    /// armed no longer. The caller must wake the word's waiters.
    pub(crate) fn wake(&self) {
        let order = Ordering::SeqCst;
        let mut seen = self.word.load(Ordering::Relaxed);
        while let Err(now) = {
            let rung = (seen & !ARMED).wrapping_add(NOTIFY_STEP);
            self.word.compare_exchange_weak(seen, rung, order, order)
        } {
            seen = now;
        }
    }

    #[cold]
    fn notify_armed(&self, mut seen: u32) -> bool {
        if seen & FENCE != 0 {
            full_fence();
            seen = self.word.load(Ordering::Relaxed);
        }
        while seen & ARMED != 0 {
            let rung = (seen & !ARMED).wrapping_add(NOTIFY_STEP);
            let order = Ordering::SeqCst;
            match self.word.compare_exchange_weak(seen, rung, order, order) {
                Ok(_) => return true,
                Err(now) => seen = now,
            }
        }
        false
    }
}

#[cfg(loom)]
impl WakeWord {
    /// Awake, for the model checker.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU32::new(0) }
    }
}
