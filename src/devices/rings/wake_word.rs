//! The futex word of a rank: whether the rank is armed, and how often it was notified.
//!
//! ```text
//!  awake ── arm (receiver) ──> armed ── notify (a sender) ──> awake, count + 1, one futex wake
//!    ^──────────── disarm ───────┘
//! ```
//!
//! The receiver arms, then polls once more; a sender publishes a packet, then reads the word. With a
//! full fence between the two steps on both sides, at least one side sees the other. The sender's
//! fence is on the path of every message, so it is left out if the receiver calls membarrier(2),
//! which replaces both fences. A receiver without membarrier sets [`FENCE`] when it attaches, before
//! it first sleeps; a sender that could not register for membarriers passes `fence`.
//!
//! A rank that waits for descriptors, too, has a doorbell, whose address is beside the word: a sender
//! rings it instead of waking the waiters of the word. The address is read only when the rank must be
//! woken, so a rank without a doorbell costs its senders nothing.

use super::primitive::{AtomicU32, AtomicU64, Ordering, full_fence, light_fence};
use platform::sys::doorbell::DoorbellAddress;

/// The rank sleeps or will sleep soon.
const ARMED: u32 = 1;

/// Senders must use a full fence.
const FENCE: u32 = 2;

/// Above the flags: the number of notifications.
const NOTIFY_STEP: u32 = 4;

/// In the place of a doorbell: a peer cannot ring it. No pid is so large.
const UNREACHABLE: u64 = u64::MAX;

/// All zero: awake, never notified, without a doorbell.
#[repr(C, align(128))]
pub(crate) struct WakeWord {
    word: AtomicU32,
    /// The pid above the descriptor of the doorbell + 1; 0 without a doorbell.
    doorbell: AtomicU64,
    /// The inode of the doorbell, written before its place.
    inode: AtomicU64,
}

/// How to wake a rank that has been notified.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeMethod {
    /// A futex wake of the waiters of the word.
    Word,
    /// A ring of this doorbell.
    Doorbell(DoorbellAddress),
    /// None: the rank polls.
    Unreachable,
}

impl WakeWord {
    /// The futex word.
    pub(crate) fn word(&self) -> &AtomicU32 {
        &self.word
    }

    /// Senders must use fences from now on.
    pub(crate) fn require_fences(&self) {
        self.word.fetch_or(FENCE, Ordering::SeqCst);
    }

    /// Arms the receiver and returns the value of the word to sleep on. A membarrier must follow,
    /// unless fences are required.
    pub(crate) fn arm(&self) -> u32 {
        let armed = self.word.fetch_or(ARMED, Ordering::SeqCst) | ARMED;
        full_fence();
        armed
    }

    /// From now on the receiver waits for this doorbell, before it first arms.
    pub(crate) fn publish_doorbell(&self, address: DoorbellAddress) {
        let DoorbellAddress { pid, descriptor, inode } = address;
        self.inode.store(inode, Ordering::Relaxed);
        self.doorbell.store(u64::from(pid) << 32 | (u64::from(descriptor) + 1), Ordering::Release);
    }

    /// How a sender must wake the receiver after a notification.
    pub(crate) fn wake_method(&self) -> WakeMethod {
        match self.doorbell.load(Ordering::Acquire) {
            0 => WakeMethod::Word,
            UNREACHABLE => WakeMethod::Unreachable,
            place => WakeMethod::Doorbell(DoorbellAddress {
                pid: (place >> 32) as u32,
                descriptor: place as u32 - 1,
                inode: self.inode.load(Ordering::Relaxed),
            }),
        }
    }

    /// A sender cannot ring: the receiver, which may sleep once more until the end of its slice, must
    /// poll from then on.
    pub(crate) fn withdraw_doorbell(&self) {
        self.doorbell.store(UNREACHABLE, Ordering::Release);
    }

    /// The receiver no longer sleeps.
    pub(crate) fn disarm(&self) {
        self.word.fetch_and(!ARMED, Ordering::Relaxed);
    }

    /// Whether the rank is armed: a hint.
    pub(crate) fn is_armed(&self) -> bool {
        self.word.load(Ordering::Relaxed) & ARMED != 0
    }

    /// Called after a packet was published; true if the caller must wake the rank ([`WakeMethod`]).
    #[inline]
    pub(crate) fn notify(&self, fence: bool) -> bool {
        self.notify_if(fence, || true)
    }

    /// The same; false if the rank is armed and `is_awaited` returns false.
    #[inline]
    pub(crate) fn notify_if(&self, fence: bool, is_awaited: impl FnOnce() -> bool) -> bool {
        if fence {
            full_fence();
        } else {
            light_fence();
        }
        let seen = self.word.load(Ordering::Relaxed);
        seen & (ARMED | FENCE) != 0 && is_awaited() && self.notify_armed(seen)
    }

    /// Changes the word, armed or not: a thread of this rank may still sleep on it after `disarm`. The
    /// caller must wake the rank.
    pub(crate) fn wake(&self) {
        let order = Ordering::SeqCst;
        let mut seen = self.word.load(Ordering::Relaxed);
        while let Err(now) = {
            let notified = (seen & !ARMED).wrapping_add(NOTIFY_STEP);
            self.word.compare_exchange_weak(seen, notified, order, order)
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
            let notified = (seen & !ARMED).wrapping_add(NOTIFY_STEP);
            let order = Ordering::SeqCst;
            match self.word.compare_exchange_weak(seen, notified, order, order) {
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
        Self { word: AtomicU32::new(0), doorbell: AtomicU64::new(0), inode: AtomicU64::new(0) }
    }
}
