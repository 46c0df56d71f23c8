//! The words of a window that ranks of one node share, at the beginning of its segment.
//!
//! ```text
//!   target 0: lock | accumulate lock       each on lines of its own
//!   target 1: ...
//!   places of target 0's lock, for ranks that sleep until their turn
//!   places of target 1's lock ...
//! ```
//!
//! Zeros are the initial state. The memory of the window follows; it is not in this module, nor is
//! waiting.
#![allow(unsafe_code)]

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use super::turn_lock::{TurnLock, TurnLockWords};
use platform::base::Span;

/// The words of one target.
#[repr(C, align(128))]
struct TargetWords {
    lock: TurnLockWords,
    /// The index of the rank that accumulates, plus 1; 0 for none.
    accumulating: AtomicU32,
}

/// The words of a window, at one of its ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowControl {
    memory: Span,
    ranks: usize,
}

impl WindowControl {
    /// The length of the words of so many ranks, in bytes.
    pub(crate) fn bytes(ranks: usize) -> usize {
        ranks * (size_of::<TargetWords>() + places(ranks) * size_of::<AtomicU64>())
    }

    /// The words at the beginning of `memory`, which is mapped as long as this value is used.
    ///
    /// # Panics
    /// If the memory is too short or not aligned.
    pub(crate) fn new(memory: Span, ranks: usize) -> Self {
        assert!(memory.len() >= Self::bytes(ranks));
        assert!(memory.address().is_multiple_of(align_of::<TargetWords>()));
        Self { memory, ranks }
    }

    /// The lock of a target.
    ///
    /// # Panics
    /// If there is no such target.
    pub(crate) fn lock(&self, target: usize) -> TurnLock<'_> {
        let count = places(self.ranks);
        let first = self.ranks * size_of::<TargetWords>() + target * count * size_of::<AtomicU64>();
        let list = self.memory.part(first, count * size_of::<AtomicU64>());
        // SAFETY: the part is mapped memory (the promise of `new`), aligned as `first` is a multiple
        // of 8, and all processes use it as these atomic words only.
        let places =
            unsafe { std::slice::from_raw_parts(list.address() as *const AtomicU64, count) };
        TurnLock::new(&self.words(target).lock, places)
    }

    /// Takes the lock of accumulates on a target, unless another rank has it.
    #[inline]
    pub(crate) fn try_accumulate(&self, target: usize, me: usize) -> bool {
        let word = &self.words(target).accumulating;
        // Acquire: what the last rank has written comes before.
        word.load(Ordering::Relaxed) == 0
            && word.compare_exchange(0, me as u32 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// Gives the lock of [`WindowControl::try_accumulate`] back.
    #[inline]
    pub(crate) fn end_accumulate(&self, target: usize) {
        self.words(target).accumulating.store(0, Ordering::Release);
    }

    #[inline]
    fn words(&self, target: usize) -> &TargetWords {
        assert!(target < self.ranks);
        let at = self.memory.part(target * size_of::<TargetWords>(), size_of::<TargetWords>());
        // SAFETY: as of `lock`; `new` has checked the alignment of the first.
        unsafe { &*(at.address() as *const TargetWords) }
    }
}

/// Places of a lock: a power of two, at least the number of ranks.
fn places(ranks: usize) -> usize {
    ranks.next_power_of_two()
}
