//! The words of a window that ranks of one node share, at the beginning of its segment.
//!
//! ```text
//!   target 0: lock | accumulate lock       each on lines of its own
//!   target 1: ...
//!   places of target 0's lock, for ranks that sleep until their turn
//!   places of target 1's lock ...
//!   calls of each rank that rank 0 waits for, in lines of their own; those for rank 1 ...
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

/// A call of one rank that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowCall {
    /// `MPI_Win_post`
    Post,
    /// `MPI_Win_complete`
    Complete,
}

/// The calls of one rank for another so far, modulo 2^32.
#[repr(C)]
struct CallWords {
    posts: AtomicU32,
    completes: AtomicU32,
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
        calls_at(ranks) + ranks * calls_stride(ranks)
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

    /// Records a call of `from` for `to`. What `from` has written before is visible to whoever sees it.
    #[inline]
    pub(crate) fn call(&self, call: WindowCall, from: usize, to: usize) {
        let word = self.call_word(call, from, to);
        // Only `from` writes it.
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// The number of calls of `from` for `to`, modulo 2^32.
    #[inline]
    pub(crate) fn calls(&self, call: WindowCall, from: usize, to: usize) -> u32 {
        self.call_word(call, from, to).load(Ordering::Acquire)
    }

    #[inline]
    fn call_word(&self, call: WindowCall, from: usize, to: usize) -> &AtomicU32 {
        assert!(from < self.ranks && to < self.ranks);
        let at =
            calls_at(self.ranks) + to * calls_stride(self.ranks) + from * size_of::<CallWords>();
        let part = self.memory.part(at, size_of::<CallWords>());
        // SAFETY: as of `lock`; all offsets are multiples of 8.
        let words = unsafe { &*(part.address() as *const CallWords) };
        match call {
            WindowCall::Post => &words.posts,
            WindowCall::Complete => &words.completes,
        }
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

/// The offset of the words of calls.
fn calls_at(ranks: usize) -> usize {
    (ranks * (size_of::<TargetWords>() + places(ranks) * size_of::<AtomicU64>()))
        .next_multiple_of(align_of::<TargetWords>())
}

/// The bytes of the calls for one rank: whole lines, which other ranks write.
fn calls_stride(ranks: usize) -> usize {
    (ranks * size_of::<CallWords>()).next_multiple_of(align_of::<TargetWords>())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_of_different_ranks_are_apart() {
        let ranks = 3;
        let memory = vec![0u128; WindowControl::bytes(ranks) / 16 + 8];
        let start = memory.as_ptr().align_offset(align_of::<TargetWords>());
        let at = memory[start..].as_ptr().cast();
        // SAFETY: the vector lives until the end of the test, and nothing else uses it.
        let span = unsafe { Span::new(at, WindowControl::bytes(ranks)) };
        let control = WindowControl::new(span, ranks);
        for (from, to) in [(0, 1), (1, 0), (2, 1), (1, 2), (2, 2)] {
            (0..=from + to).for_each(|_| control.call(WindowCall::Post, from, to));
            control.call(WindowCall::Complete, to, from);
        }
        assert_eq!(control.calls(WindowCall::Post, 2, 1), 4);
        assert_eq!(control.calls(WindowCall::Post, 0, 1), 2);
        assert_eq!(control.calls(WindowCall::Post, 0, 2), 0);
        assert_eq!(control.calls(WindowCall::Complete, 1, 2), 1);
        assert!(control.try_accumulate(1, 2) && !control.try_accumulate(1, 0));
        assert!(control.try_accumulate(0, 2));
        control.end_accumulate(1);
        assert!(control.try_accumulate(1, 0));
    }
}
