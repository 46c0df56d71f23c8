//! The process lock: one thread at a time inside MPI, without cost if calls never overlap.
//!
//! ```text
//!   lock ── biased to this thread? ── yes ──> inside (no atomic read-modify-write)
//!                                  \─ no ──> mutex, revoke the bias ──> inside
//!   visit ──────────────────────────────────> the same; the bias is restored afterwards
//! ```
//!
//! Below `MPI_THREAD_MULTIPLE` the application has promised that calls never overlap, so a flag is
//! enough; it also detects broken promises. Only calls that the standard allows at any time from
//! any thread (MPI 5.0 §11.4.1: information, error codes) and threads of the library may come in
//! between; they *visit*. At `MPI_THREAD_MULTIPLE` the lock is biased to the thread that
//! initialized, until another thread needs the lock, and again after that thread has called alone
//! for a while. Otherwise the lock is a mutex. `biased_lock` has the protocol and its guarantees.
//!
//! A thread that holds the lock for long checks [`Guard::is_contended`] and hands the lock over
//! ([`Guard::hand_off`]).
#![allow(unsafe_code)]

mod biased_lock;
mod biased_lock_primitive;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};

use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};

use biased_lock::{BiasedLock, LockEntry, UNBIASED};

/// How often to check whether the waiting thread has taken the lock, about 1 µs. A spinning thread
/// needs no longer; a sleeping thread gets the lock by the fair unlock.
const HANDOFF_SPINS: u32 = 50;

/// A value that one thread at a time may use.
pub(crate) struct ProcessLock<T> {
    bias: BiasedLock,
    mutex: RawMutex,
    /// Threads that wait for the mutex.
    waiting_threads: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: only a `Guard` gives access to the value, and there is one at a time
// (`ProcessLock::lock`).
unsafe impl<T: Send> Sync for ProcessLock<T> {}

/// The lock, held.
pub(crate) struct Guard<'a, T> {
    lock: &'a ProcessLock<T>,
    /// How the thread entered; `None` while it has left.
    entry: Option<LockEntry>,
    /// Whether this is a visit; then the thread re-enters as a visitor.
    visits: bool,
}

impl<T> ProcessLock<T> {
    /// An unbiased lock.
    pub(crate) const fn new(value: T) -> Self {
        let bias = BiasedLock {
            word: AtomicUsize::new(UNBIASED),
            held: AtomicBool::new(false),
            owner: AtomicUsize::new(0),
            owner_streak: AtomicU32::new(0),
        };
        Self {
            bias,
            mutex: RawMutex::INIT,
            waiting_threads: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Locks.
    ///
    /// # Panics
    /// If calls overlap although the application has promised that they do not.
    #[inline]
    pub(crate) fn lock(&self) -> Guard<'_, T> {
        Guard { lock: self, entry: Some(self.enter()), visits: false }
    }

    /// Locks from any thread at any time. If the lock is biased this takes a system call; the bias
    /// stays.
    pub(crate) fn visit(&self) -> Guard<'_, T> {
        Guard { lock: self, entry: Some(self.enter_mutex(true)), visits: true }
    }

    #[inline]
    fn enter(&self) -> LockEntry {
        if self.bias.try_enter() { LockEntry::Flag } else { self.enter_mutex(false) }
    }

    #[inline(never)]
    fn enter_mutex(&self, visits: bool) -> LockEntry {
        if !self.mutex.try_lock() {
            self.waiting_threads.fetch_add(1, Ordering::Relaxed);
            self.mutex.lock();
            self.waiting_threads.fetch_sub(1, Ordering::Relaxed);
        }
        let entry =
            self.bias.enter_locked(visits, self.waiting_threads.load(Ordering::Relaxed) > 0);
        if entry == LockEntry::Flag {
            // SAFETY: this thread has locked the mutex, above.
            unsafe { self.mutex.unlock() };
        }
        entry
    }
}

impl<T> Guard<'_, T> {
    /// Sets whether calls may overlap from now on. Without membarrier(2) the lock allows it in any
    /// case.
    ///
    /// # Panics
    /// If this is not the guard of a visit.
    pub(crate) fn set_overlapping(&mut self, met: bool) {
        assert!(self.visits, "only a visitor may decide whether calls overlap");
        self.lock.bias.set_overlapping(met);
        self.entry = Some(LockEntry::Mutex);
    }

    /// Whether another thread waits for the lock.
    #[inline]
    pub(crate) fn is_contended(&self) -> bool {
        match self.entry {
            Some(LockEntry::Flag) => self.lock.bias.is_revoked(),
            _ => self.lock.waiting_threads.load(Ordering::Relaxed) > 0,
        }
    }

    /// Runs `body` with the lock free.
    #[inline]
    pub(crate) fn unlocked<R>(&mut self, body: impl FnOnce() -> R) -> R {
        self.leave(false);
        let result = body();
        self.reenter();
        result
    }

    /// Lets a waiting thread take the lock first.
    #[cold]
    pub(crate) fn hand_off(&mut self) {
        self.leave(true);
        for _ in 0..HANDOFF_SPINS {
            if self.lock.waiting_threads.load(Ordering::Relaxed) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        self.reenter();
    }

    #[inline]
    fn reenter(&mut self) {
        let lock = self.lock;
        self.entry = Some(if self.visits { lock.enter_mutex(true) } else { lock.enter() });
    }

    #[inline]
    fn leave(&mut self, fairly: bool) {
        match self.entry.take() {
            None => {}
            Some(LockEntry::Flag) => self.lock.bias.leave(),
            Some(entry) => self.leave_mutex(entry, fairly),
        }
    }

    fn leave_mutex(&self, entry: LockEntry, fairly: bool) {
        self.lock.bias.leave_locked(entry);
        // SAFETY: the thread of this guard locked the mutex when it entered, and leaves once.
        unsafe {
            if fairly {
                self.lock.mutex.unlock_fair();
            } else {
                self.lock.mutex.unlock();
            }
        }
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: of all guards only this one has not left (`ProcessLock`); a guard that has left
        // is borrowed by the function that made it leave.
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: as above.
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.leave(false);
    }
}

#[cfg(test)]
mod tests {
    use super::biased_lock_primitive::REBIAS_CALLS;
    use super::*;
    use platform::sys::membarrier;

    #[test]
    fn threads_whose_calls_overlap_take_turns() {
        let lock = ProcessLock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
    }

    #[test]
    fn visitors_enter_between_calls() {
        let lock = ProcessLock::new(0);
        lock.visit().set_overlapping(false);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            (0..100_000).for_each(|_| *lock.lock() += 1);
        });
        assert_eq!(*lock.lock(), 102_000);
    }

    #[test]
    fn a_visitor_re_enters_as_a_visitor() {
        let lock = ProcessLock::new(0);
        lock.visit().set_overlapping(false);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                let mut visit = lock.visit();
                for _ in 0..1000 {
                    visit.unlocked(|| ());
                    *visit += 1;
                    visit.hand_off();
                    *visit += 1;
                }
            });
            (0..100_000).for_each(|_| *lock.lock() += 1);
        });
        assert_eq!(*lock.lock(), 102_000);
    }

    #[test]
    fn the_bias_is_revoked_and_restored_by_several_threads() {
        let lock = ProcessLock::new(0);
        lock.visit().set_overlapping(true);
        let calls = 10 * REBIAS_CALLS;
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| {
                    for call in 0..calls {
                        *lock.lock() += 1;
                        if call % 100 == 0 {
                            *lock.visit() += 1;
                        }
                    }
                });
            }
        });
        assert_eq!(*lock.lock(), 3 * (calls + calls / 100));
    }

    #[test]
    fn the_bias_is_that_of_the_owner_while_its_calls_are_alone() {
        if !membarrier::register_threads() {
            return;
        }
        let lock = ProcessLock::new(());
        let by = |guard: Guard<'_, ()>| guard.entry.unwrap();
        assert_eq!(by(lock.lock()), LockEntry::Mutex);
        lock.visit().set_overlapping(true);
        assert_eq!(by(lock.lock()), LockEntry::Flag);
        assert_eq!(by(lock.visit()), LockEntry::Mutex);
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(matches!(by(lock.visit()), LockEntry::Visit { .. })));
        });
        assert_eq!(by(lock.lock()), LockEntry::Flag);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_eq!(by(lock.lock()), LockEntry::Mutex));
        });
        assert_eq!(by(lock.lock()), LockEntry::Mutex);
        let first = (0..2 * REBIAS_CALLS).position(|_| by(lock.lock()) == LockEntry::Flag);
        assert!(first.is_some_and(|calls| calls > 1));
        assert_eq!(by(lock.lock()), LockEntry::Flag);
    }

    #[test]
    fn a_holder_hands_the_lock_over() {
        for met in [true, false] {
            let lock = ProcessLock::new(0);
            lock.visit().set_overlapping(met);
            std::thread::scope(|scope| {
                let mut guard = lock.lock();
                scope.spawn(|| *lock.visit() = 1);
                while *guard == 0 {
                    if guard.is_contended() {
                        guard.hand_off();
                    }
                }
            });
        }
    }

    #[test]
    fn the_bias_may_be_set_while_other_threads_call() {
        let lock = ProcessLock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            }
            for round in 0..200 {
                lock.visit().set_overlapping(round % 2 == 0);
                (0..10).for_each(|_| *lock.lock() += 1);
            }
        });
        assert_eq!(*lock.lock(), 4000);
    }

    #[test]
    #[should_panic(expected = "MPI_THREAD_MULTIPLE")]
    fn a_broken_promise_is_found() {
        let lock = ProcessLock::new(0);
        lock.visit().set_overlapping(false);
        let _inside = lock.lock();
        let _again = lock.lock();
    }
}
