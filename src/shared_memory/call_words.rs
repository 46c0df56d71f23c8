//! How often one rank has called `MPI_Win_post` and `MPI_Win_complete` for another, in memory that both
//! share.
//!
//! ```text
//!   MPI_Win_post      the target has used its memory    posts += 1      ──> the origin accesses this memory
//!   MPI_Win_complete  the origin has accessed it        completes += 1  ──> the target uses its memory
//! ```
//!
//! One rank writes the words, the other knows how many of the calls it has used. So no word is reset, and a
//! call may come before the one before it has been used. Numbers are compared for equality only, and wrap.

use super::primitive::{AtomicU32, Ordering};

/// A call of one rank that another waits for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WindowCall {
    /// `MPI_Win_post`
    Post,
    /// `MPI_Win_complete`
    Complete,
}

/// The calls of one rank for another so far, modulo 2^32. Zeros are the initial state.
#[derive(Debug)]
#[repr(C)]
pub(crate) struct CallWords {
    posts: AtomicU32,
    completes: AtomicU32,
}

impl CallWords {
    /// Records a call. The one rank that calls this function has finished its accesses.
    #[inline]
    pub(crate) fn call(&self, call: WindowCall) {
        let word = self.word(call);
        // Release: whoever sees the call sees all accesses before. Only this rank writes the word.
        word.store(word.load(Ordering::Relaxed).wrapping_add(1), Ordering::Release);
    }

    /// The number of calls, modulo 2^32. What the caller does next comes after these calls.
    #[inline]
    pub(crate) fn calls(&self, call: WindowCall) -> u32 {
        self.word(call).load(Ordering::Acquire)
    }

    #[inline]
    fn word(&self, call: WindowCall) -> &AtomicU32 {
        match call {
            WindowCall::Post => &self.posts,
            WindowCall::Complete => &self.completes,
        }
    }
}

#[cfg(loom)]
impl CallWords {
    /// No calls, for the model checker.
    pub(crate) fn new() -> Self {
        Self { posts: AtomicU32::new(0), completes: AtomicU32::new(0) }
    }
}
