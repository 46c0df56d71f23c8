//! Which thread enters the process lock without locking its mutex, and what that costs the others.
//!
//! ```text
//!   word      biased to     lock                            visit
//!   all       every call    held = true; word unchanged?    revoke, inside, restore
//!   owner     the owner     the same                        the same
//!             other calls   revoke, inside ──> unbiased
//!   unbiased  no thread     mutex                           mutex
//!                           many consecutive calls by the owner ──> owner
//!
//!   revoke    with the mutex: word = revoked, membarrier(2), wait for held = false
//! ```
//!
//! A thread with the bias executes no atomic read-modify-write: only a store and a load, and, if
//! the bias belongs to one thread, a comparison with the current thread. The other side pays for
//! both fences. So the bias is worth it only if other threads enter rarely: a call of a second
//! thread removes it, and the owner gets it back after [`REBIAS_CALLS`] calls alone with the mutex,
//! such as those of a main thread after one call of a helper thread. Visits do not change the bias.
//!
//! The owner never changes, and there is none if calls could not overlap at first. The reason: a
//! thread may have read that the bias is its own without having set `held` yet. If the bias
//! belonged to another thread by the time it sets `held`, it would clear the `held` of that thread.
//!
//! Guaranteed in all interleavings (`models/src/biased_lock.rs`): one thread at a time is inside,
//! and it sees what earlier threads have written. A thread that holds the mutex and waits for
//! `held` enters as soon as the thread inside leaves, which learns of it by
//! [`BiasedLock::is_revoked`]. A thread that waits for the mutex waits as long as the mutex makes
//! it. The number of a thread that has ended may be used again: then the new thread is the owner,
//! and the old one cannot be inside.
//!
//! Not known here: the mutex, and the value that the lock protects.

use super::biased_lock_primitive::{
    AtomicBool, AtomicU32, AtomicUsize, Ordering, REBIAS_CALLS, has_heavy_fence, heavy_fence,
    light_fence, this_thread, yield_now,
};

/// No thread has the bias.
pub(crate) const UNBIASED: usize = 0;
/// Every call has the bias: calls never overlap.
pub(crate) const BIASED_TO_ALL: usize = 1;
/// The bias is revoked: a thread with the mutex is inside or about to enter.
const REVOKED: usize = 2;
// Every other value of the word is the owner, a thread (`this_thread` gives no small number).

/// There will be no owner: no thread has this number.
pub(crate) const NO_OWNER: usize = usize::MAX;

/// The bias and its owner.
pub(crate) struct BiasedLock {
    /// `UNBIASED`, `BIASED_TO_ALL`, `REVOKED` or the owner. Changes with the mutex locked.
    pub(crate) word: AtomicUsize,
    /// Whether a thread is inside by the bias.
    pub(crate) held: AtomicBool,
    /// The thread that may have the bias alone; 0 until that is decided. Used with the mutex
    /// locked.
    pub(crate) owner: AtomicUsize,
    /// Its consecutive calls while no other thread waited. Used with the mutex locked.
    pub(crate) owner_streak: AtomicU32,
}

/// How a thread entered.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockEntry {
    /// By the bias.
    Flag,
    /// By the mutex.
    Mutex,
    /// By the mutex, with the bias revoked; `flag` is the word to restore.
    Visit { flag: usize },
}

impl BiasedLock {
    /// Enters by the bias, without the mutex. False if that is not possible now, or not for this
    /// thread.
    ///
    /// # Panics
    /// If another call is inside that should not be.
    #[inline]
    pub(crate) fn try_enter(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        // Below MPI_THREAD_MULTIPLE the first comparison is enough.
        if word != BIASED_TO_ALL && (word == UNBIASED || word == REVOKED || word != this_thread()) {
            return false;
        }
        self.assert_free();
        self.held.store(true, Ordering::Relaxed);
        // The thread that revokes the bias executes the other fence: it sees `held`, or this thread
        // sees the word. Acquire: what earlier holders of the mutex wrote.
        light_fence();
        if self.word.load(Ordering::Acquire) == word {
            return true;
        }
        self.held.store(false, Ordering::Release);
        false
    }

    /// Leaves after [`BiasedLock::try_enter`].
    #[inline]
    pub(crate) fn leave(&self) {
        self.held.store(false, Ordering::Release);
    }

    /// Whether a thread waits for the thread that is inside by the bias.
    #[inline]
    pub(crate) fn is_revoked(&self) -> bool {
        self.word.load(Ordering::Relaxed) == REVOKED
    }

    /// Enters with the mutex locked. After [`LockEntry::Flag`] the mutex is to be unlocked at once.
    /// `is_contended`: whether others wait for the mutex.
    ///
    /// # Panics
    /// As [`BiasedLock::try_enter`].
    pub(crate) fn enter_locked(&self, visits: bool, is_contended: bool) -> LockEntry {
        let word = self.word.load(Ordering::Relaxed);
        if word == UNBIASED {
            self.count_owner_calls(is_contended);
            return LockEntry::Mutex;
        }
        if !visits && (word == BIASED_TO_ALL || word == this_thread()) {
            // The bias was revoked when this call began, and has been restored.
            self.assert_free();
            self.held.store(true, Ordering::Relaxed);
            return LockEntry::Flag;
        }
        if word != BIASED_TO_ALL && word == this_thread() {
            self.assert_free();
            return LockEntry::Mutex;
        }
        self.revoke();
        if visits {
            return LockEntry::Visit { flag: word };
        }
        self.owner_streak.store(0, Ordering::Relaxed);
        self.word.store(UNBIASED, Ordering::SeqCst);
        LockEntry::Mutex
    }

    /// Leaves with the mutex locked, which is to be unlocked afterwards.
    pub(crate) fn leave_locked(&self, entry: LockEntry) {
        if let LockEntry::Visit { flag } = entry {
            self.word.store(flag, Ordering::Release);
        }
    }

    /// Sets from inside, with the mutex locked, whether calls may overlap from now on. If they may,
    /// this thread gets the bias if it is the owner or the first caller. Without membarrier(2) no
    /// thread has the bias.
    pub(crate) fn set_overlapping(&self, met: bool) {
        let thread = this_thread();
        if self.owner.load(Ordering::Relaxed) == 0 {
            self.owner.store(if met { thread } else { NO_OWNER }, Ordering::Relaxed);
        }
        let word = match has_heavy_fence() {
            true if !met => BIASED_TO_ALL,
            true if self.owner.load(Ordering::Relaxed) == thread => thread,
            _ => UNBIASED,
        };
        self.word.store(word, Ordering::SeqCst);
    }

    fn assert_free(&self) {
        assert!(
            !self.held.load(Ordering::Relaxed),
            "two threads are inside MPI at once, which needs MPI_THREAD_MULTIPLE"
        );
    }

    /// Revokes the bias: no thread is inside by it afterwards, or enters before the word changes.
    fn revoke(&self) {
        self.word.store(REVOKED, Ordering::SeqCst);
        heavy_fence();
        while self.held.load(Ordering::Acquire) {
            yield_now();
        }
    }

    /// Counts a call that has entered by the mutex.
    fn count_owner_calls(&self, is_contended: bool) {
        let owner = self.owner.load(Ordering::Relaxed);
        let is_alone = !is_contended && owner != 0 && owner == this_thread();
        let row = if is_alone { self.owner_streak.load(Ordering::Relaxed) + 1 } else { 0 };
        self.owner_streak.store(row % REBIAS_CALLS, Ordering::Relaxed);
        if row == REBIAS_CALLS && has_heavy_fence() {
            self.word.store(owner, Ordering::SeqCst);
        }
    }
}
