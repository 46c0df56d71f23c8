//! Who passes into the process lock without locking its mutex, and what that costs the others.
//!
//! ```text
//!             the flag is for   lock                            visit
//!   anyone    every call        held = true; still so? inside   stop, inside, start again
//!   owner     the owner's       the same                        the same
//!             other calls       stop, inside ──> met
//!   met       nobody            mutex                           mutex
//!                               many in a row by the owner ──> owner
//!
//!   stop      with the mutex: word = visited, membarrier(2), wait for held = false
//! ```
//!
//! Who has the flag pays for no atomic read-modify-write: a store, a load, and where the flag is
//! a thread's, the question which thread this is. The other side pays for both fences. So the
//! flag is only worth it where others come seldom: the calls of a second thread take it away, and
//! the owner gets it back when its calls have had the mutex to themselves for a while ([`REBIAS_CALLS`]), as
//! those of a main thread whose helper came once. Visits leave it where it is.
//!
//! There is one owner for ever, or none where calls never overlapped first. For a thread may have
//! seen that the flag is its own, and not have said yet that it is inside: were the flag another
//! thread's when it does so, it would clear what that one said.
//!
//! Guaranteed, in all interleavings (`models/src/biased_lock.rs`): one thread at a time is inside; it sees what
//! those before it wrote; who waits for `held` with the mutex locked gets in as soon as whoever has
//! the flag leaves, which it is told of ([`BiasedLock::is_revoked`]). A thread that waits for the mutex
//! waits as that mutex lets it. Numbers of threads that have ended may be used again; the new
//! thread is the owner then, and the old one cannot be inside.
//!
//! It does not know the mutex, nor what is behind it.

use super::biased_lock_primitive::{
    AtomicBool, AtomicU32, AtomicUsize, Ordering, REBIAS_CALLS, has_heavy_fence, heavy_fence,
    light_fence, this_thread, yield_now,
};

/// Nobody has the flag.
pub(crate) const UNBIASED: usize = 0;
/// Every call has it: they never overlap.
pub(crate) const BIASED_TO_ALL: usize = 1;
/// It is stopped: somebody with the mutex is inside or about to be.
const REVOKED: usize = 2;
// Every other value of the word is the owner, a thread (`this_thread` gives no small number).

/// No thread has that number: there will be no owner.
pub(crate) const NO_OWNER: usize = usize::MAX;

/// The flag and whose it is.
pub(crate) struct BiasedLock {
    /// `UNBIASED`, `BIASED_TO_ALL`, `REVOKED` or the owner. Changes with the mutex locked.
    pub(crate) word: AtomicUsize,
    /// Whether somebody is inside by the flag.
    pub(crate) held: AtomicBool,
    /// The thread that may have the flag alone; 0 until that is decided. Used with the mutex locked.
    pub(crate) owner: AtomicUsize,
    /// Its calls in a row that had the mutex to themselves. Used with the mutex locked.
    pub(crate) owner_streak: AtomicU32,
}

/// How a thread came in.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockEntry {
    /// By the flag.
    Flag,
    /// By the mutex.
    Mutex,
    /// By the mutex, and the flag is stopped, which is `flag`'s otherwise.
    Visit { flag: usize },
}

impl BiasedLock {
    /// Enters by the flag, without the mutex. False if that is not possible now, or not for this
    /// thread.
    ///
    /// # Panics
    /// If another call is inside that should not be.
    #[inline]
    pub(crate) fn try_enter(&self) -> bool {
        let word = self.word.load(Ordering::Relaxed);
        // Below MPI_THREAD_MULTIPLE it is enough to look.
        if word != BIASED_TO_ALL && (word == UNBIASED || word == REVOKED || word != this_thread()) {
            return false;
        }
        self.assert_free();
        self.held.store(true, Ordering::Relaxed);
        // Whoever stops the flag has the other half: it sees `held`, or we see the word. Acquire:
        // what those wrote who stopped it before.
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

    /// Whether somebody waits for whoever is inside by the flag.
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
            // It was stopped when this call came, and is not any more.
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

    /// Says from inside, with the mutex locked, whether calls may overlap from now on. If so, the
    /// flag is this thread's for now, if it is the owner or the first to ask. Nobody has it where
    /// there is no membarrier(2).
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

    /// Nobody is inside by the flag when this returns, nor comes in before the word changes.
    fn revoke(&self) {
        self.word.store(REVOKED, Ordering::SeqCst);
        heavy_fence();
        while self.held.load(Ordering::Acquire) {
            yield_now();
        }
    }

    /// A thread has entered by the mutex, which is the lock.
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
