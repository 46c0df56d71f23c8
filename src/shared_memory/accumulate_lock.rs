//! The lock of accumulates on the memory of one rank, in memory that its node shares. It is held for the
//! time of one operation.
//!
//! ```text
//!   free 0 ──try_take──> index of the rank + 1 ──give_back──> 0
//!                            └──take_over──> index of another rank + 1
//! ```
//!
//! It is not fair, and has no list of waiting ranks: a caller that fails yields its processor and tries
//! again. That is not in this module, nor is which processes have ended.

use std::hint::spin_loop;

use super::primitive::{AtomicU32, Ordering};

/// The word of a lock. Zero is a free lock.
#[derive(Debug)]
#[repr(transparent)]
pub(crate) struct AccumulateWord(AtomicU32);

/// The lock, for one rank.
#[derive(Clone, Copy, Debug)]
pub(crate) struct AccumulateLock<'a> {
    word: &'a AccumulateWord,
    /// What the rank writes there.
    owner: u32,
}

impl<'a> AccumulateLock<'a> {
    /// The lock in `word`, for the rank with this index.
    #[inline]
    pub(crate) fn new(word: &'a AccumulateWord, me: u32) -> Self {
        Self { word, owner: me + 1 }
    }

    /// Takes it, unless another rank has it for long.
    #[inline]
    pub(crate) fn try_take(self) -> bool {
        // An accumulate of one number takes less time than this.
        const TRIES: usize = 64;
        self.try_once()
            || (1..TRIES).any(|_| {
                spin_loop();
                self.try_once()
            })
    }

    /// Takes it, unless another rank has it.
    #[inline]
    pub(crate) fn try_once(self) -> bool {
        // Acquire: what the last rank has written comes before.
        let (taken, lost) = (Ordering::Acquire, Ordering::Relaxed);
        self.word.0.load(Ordering::Relaxed) == 0
            && self.word.0.compare_exchange(0, self.owner, taken, lost).is_ok()
    }

    /// The rank that has it.
    pub(crate) fn holder(self) -> Option<usize> {
        (self.word.0.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Takes it from a rank whose process has ended. What that was changing may be incomplete.
    pub(crate) fn take_over(self, ended: usize) -> bool {
        let before = ended as u32 + 1;
        let (taken, lost) = (Ordering::Acquire, Ordering::Relaxed);
        self.word.0.compare_exchange(before, self.owner, taken, lost).is_ok()
    }

    /// Gives it back. Release: the next rank sees what this one has written.
    #[inline]
    pub(crate) fn give_back(self) {
        self.word.0.store(0, Ordering::Release);
    }
}

#[cfg(loom)]
impl AccumulateWord {
    /// A free lock, for the model checker.
    pub(crate) fn new() -> Self {
        Self(AtomicU32::new(0))
    }
}
