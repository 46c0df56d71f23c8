//! The process lock: one thread at a time inside MPI, for nothing where calls never overlap.
//!
//! ```text
//!   alone:   lock ── held = true; a visitor? ── no ──> inside (no atomic read-modify-write)
//!                                            \─ yes ─> visit
//!            visit ── mutex, VISITED, membarrier(2), wait for held = false ──> inside
//!   met:     lock, visit ── mutex ──> inside
//! ```
//!
//! Below `MPI_THREAD_MULTIPLE` and without a progress thread the application has promised that
//! calls never overlap, so a plain flag is enough, which also finds broken promises. Only what the
//! standard wants to be safe at any time from any thread (MPI 5.0 §11.4.1: information, error
//! codes) may come in between: such a visitor announces itself, and the membarrier is the fence
//! of both sides. Before initialization, after finalization, with a progress thread and at
//! `MPI_THREAD_MULTIPLE` threads meet, and the lock is a mutex.
//!
//! Who holds the lock for long asks [`Guard::is_wanted`] and lets others in ([`Guard::give_way`]).
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU8, AtomicU32, Ordering, compiler_fence};

use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};

use crate::sys::membarrier;

/// Calls never overlap: `held` is the lock.
const ALONE: u8 = 0;
/// The same, and a visitor is there or about to be.
const VISITED: u8 = 1;
/// Calls may overlap: the mutex is the lock.
const MET: u8 = 2;

/// How often to look whether who wanted the lock has it, about 1 µs. A spinning thread needs no
/// more; one that sleeps got the lock from the fair unlock.
const COURTESY: u32 = 50;

/// A value that one thread at a time may use.
pub struct Lock<T> {
    mutex: RawMutex,
    /// `ALONE`, `VISITED` or `MET`; changes only with the mutex locked.
    kind: AtomicU8,
    /// Whether somebody is inside who has not locked the mutex.
    held: AtomicBool,
    /// Threads that wait for the mutex.
    wanting: AtomicU32,
    value: UnsafeCell<T>,
}

// SAFETY: `Guard` is the only way to the value, and there is one at a time (see `Lock::lock`).
unsafe impl<T: Send> Sync for Lock<T> {}

/// The lock, held.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    entry: Entry,
}

/// How a thread came in.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Entry {
    /// It has left again.
    Left,
    /// By the flag.
    Flag,
    /// By the mutex.
    Mutex,
    /// By the mutex, beside the flag.
    Visit,
}

impl<T> Lock<T> {
    /// A lock for threads that may meet.
    pub const fn new(value: T) -> Self {
        Self {
            mutex: RawMutex::INIT,
            kind: AtomicU8::new(MET),
            held: AtomicBool::new(false),
            wanting: AtomicU32::new(0),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters.
    ///
    /// # Panics
    /// If another thread is inside although the application promised that none would be.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        Guard { lock: self, entry: self.enter() }
    }

    /// Enters from any thread at any time, at the price of a system call where calls do not
    /// overlap otherwise.
    pub fn visit(&self) -> Guard<'_, T> {
        Guard { lock: self, entry: self.enter_mutex() }
    }

    #[inline]
    fn enter(&self) -> Entry {
        if self.kind.load(Ordering::Relaxed) == ALONE {
            assert!(
                !self.held.load(Ordering::Relaxed),
                "two threads are inside MPI at once, which needs MPI_THREAD_MULTIPLE"
            );
            self.held.store(true, Ordering::Relaxed);
            // The processor's fence is the visitor's membarrier: it sees `held`, or we see it.
            compiler_fence(Ordering::SeqCst);
            if self.kind.load(Ordering::Acquire) == ALONE {
                return Entry::Flag;
            }
            self.held.store(false, Ordering::Release);
        }
        self.enter_mutex()
    }

    #[inline(never)]
    fn enter_mutex(&self) -> Entry {
        if !self.mutex.try_lock() {
            self.wanting.fetch_add(1, Ordering::Relaxed);
            self.mutex.lock();
            self.wanting.fetch_sub(1, Ordering::Relaxed);
        }
        if self.kind.load(Ordering::Relaxed) != ALONE {
            return Entry::Mutex;
        }
        self.kind.store(VISITED, Ordering::SeqCst);
        // It worked when the lock became one for calls that never overlap.
        assert!(membarrier::barrier_of_threads(), "membarrier(2) has stopped working");
        while self.held.load(Ordering::Acquire) {
            std::thread::yield_now();
        }
        Entry::Visit
    }
}

impl<T> Guard<'_, T> {
    /// Says whether calls may overlap from now on. They may wherever membarrier(2) is missing.
    ///
    /// # Panics
    /// If this is not the guard of a visit.
    pub fn set_met(&mut self, met: bool) {
        assert!(matches!(self.entry, Entry::Mutex | Entry::Visit), "only a visitor may decide");
        let kind = if met || !membarrier::register_threads() { MET } else { ALONE };
        self.lock.kind.store(kind, Ordering::SeqCst);
        self.entry = Entry::Mutex;
    }

    /// Whether another thread waits for the lock.
    #[inline]
    pub fn is_wanted(&self) -> bool {
        match self.entry {
            Entry::Flag => self.lock.kind.load(Ordering::Relaxed) != ALONE,
            Entry::Left | Entry::Mutex | Entry::Visit => {
                self.lock.wanting.load(Ordering::Relaxed) > 0
            }
        }
    }

    /// Does something with the lock free.
    #[inline]
    pub fn unlocked<R>(&mut self, body: impl FnOnce() -> R) -> R {
        self.leave(false);
        let result = body();
        self.entry = self.lock.enter();
        result
    }

    /// Lets a thread in that wants the lock, before this one goes on.
    #[cold]
    pub fn give_way(&mut self) {
        self.leave(true);
        for _ in 0..COURTESY {
            if self.lock.wanting.load(Ordering::Relaxed) == 0 {
                break;
            }
            std::hint::spin_loop();
        }
        self.entry = self.lock.enter();
    }

    #[inline]
    fn leave(&mut self, fairly: bool) {
        match std::mem::replace(&mut self.entry, Entry::Left) {
            Entry::Left => return,
            Entry::Flag => return self.lock.held.store(false, Ordering::Release),
            Entry::Mutex => {}
            Entry::Visit => self.lock.kind.store(ALONE, Ordering::Release),
        }
        // SAFETY: this guard's thread locked the mutex when it entered, and leaves once.
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
        // SAFETY: this guard is the only one that has not left (see `Lock`), and one that has
        // left is borrowed by the function that made it leave.
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
    use super::*;

    #[test]
    fn threads_that_meet_take_turns() {
        let lock = Lock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
    }

    #[test]
    fn visitors_come_between_calls() {
        let lock = Lock::new(0);
        lock.visit().set_met(false);
        std::thread::scope(|scope| {
            scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            (0..100_000).for_each(|_| *lock.lock() += 1);
        });
        assert_eq!(*lock.lock(), 102_000);
    }

    #[test]
    fn who_holds_the_lock_lets_others_in() {
        for met in [true, false] {
            let lock = Lock::new(0);
            lock.visit().set_met(met);
            std::thread::scope(|scope| {
                let mut guard = lock.lock();
                scope.spawn(|| *lock.visit() = 1);
                while *guard == 0 {
                    if guard.is_wanted() {
                        guard.give_way();
                    }
                }
            });
        }
    }

    #[test]
    fn the_kind_changes_while_others_call() {
        let lock = Lock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..2 {
                scope.spawn(|| (0..1000).for_each(|_| *lock.visit() += 1));
            }
            for round in 0..200 {
                lock.visit().set_met(round % 2 == 0);
                (0..10).for_each(|_| *lock.lock() += 1);
            }
        });
        assert_eq!(*lock.lock(), 4000);
    }

    #[test]
    #[should_panic(expected = "MPI_THREAD_MULTIPLE")]
    fn a_broken_promise_is_found() {
        let lock = Lock::new(0);
        lock.visit().set_met(false);
        let _inside = lock.lock();
        let _again = lock.lock();
    }
}
