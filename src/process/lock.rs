//! The process lock: one thread at a time inside MPI, for nothing where only one can be.
//!
//! Below `MPI_THREAD_MULTIPLE` and without a progress thread the application has promised that
//! calls never overlap, so taking the lock is a plain flag that also finds broken promises. With
//! a progress thread it is a mutex.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::RawMutex;
use parking_lot::lock_api::RawMutex as _;

/// A value that one thread at a time may use.
pub struct Lock<T> {
    mutex: RawMutex,
    /// Whether threads may meet here. Only changes while one thread is in MPI.
    shared: AtomicBool,
    /// Whether somebody is inside.
    held: AtomicBool,
    value: UnsafeCell<T>,
}

// SAFETY: `Guard` is the only way to the value, and `lock` gives out one at a time: by the mutex
// where threads may meet, else by the application's promise, which `held` checks.
unsafe impl<T: Send> Sync for Lock<T> {}

/// The lock, held.
pub struct Guard<'a, T> {
    lock: &'a Lock<T>,
    /// Whether the mutex is to be unlocked.
    mutex: bool,
}

impl<T> Lock<T> {
    /// A lock for threads that never meet.
    pub const fn new(value: T) -> Self {
        Self {
            mutex: RawMutex::INIT,
            shared: AtomicBool::new(false),
            held: AtomicBool::new(false),
            value: UnsafeCell::new(value),
        }
    }

    /// Enters.
    ///
    /// # Panics
    /// If another thread is inside although the application promised that none would be.
    #[inline]
    pub fn lock(&self) -> Guard<'_, T> {
        let mutex = self.shared.load(Ordering::Relaxed);
        if mutex {
            self.mutex.lock();
        }
        assert!(
            !self.held.load(Ordering::Relaxed),
            "two threads are inside MPI at once, which needs MPI_THREAD_MULTIPLE"
        );
        self.held.store(true, Ordering::Relaxed);
        Guard { lock: self, mutex }
    }

    /// Says whether threads may meet here from now on.
    ///
    /// # Panics
    /// If somebody is inside: who entered without the mutex is not seen by those who take it.
    pub fn set_shared(&self, shared: bool) {
        assert!(!self.held.load(Ordering::Relaxed), "the lock changes its kind while it is held");
        self.shared.store(shared, Ordering::SeqCst);
    }
}

impl<T> Deref for Guard<'_, T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: this guard is the only one (see `Lock`).
        unsafe { &*self.lock.value.get() }
    }
}

impl<T> DerefMut for Guard<'_, T> {
    #[inline]
    fn deref_mut(&mut self) -> &mut T {
        // SAFETY: this guard is the only one (see `Lock`).
        unsafe { &mut *self.lock.value.get() }
    }
}

impl<T> Drop for Guard<'_, T> {
    #[inline]
    fn drop(&mut self) {
        self.lock.held.store(false, Ordering::Relaxed);
        if self.mutex {
            // SAFETY: `lock` locked the mutex for this guard.
            unsafe { self.lock.mutex.unlock() };
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_that_meet_take_turns() {
        let lock = Lock::new(0);
        lock.set_shared(true);
        std::thread::scope(|scope| {
            for _ in 0..4 {
                scope.spawn(|| (0..10_000).for_each(|_| *lock.lock() += 1));
            }
        });
        assert_eq!(*lock.lock(), 40_000);
    }

    #[test]
    #[should_panic(expected = "while it is held")]
    fn threads_cannot_begin_to_meet_while_one_is_inside() {
        let lock = Lock::new(0);
        let _inside = lock.lock();
        lock.set_shared(true);
    }

    #[test]
    #[should_panic(expected = "MPI_THREAD_MULTIPLE")]
    fn a_broken_promise_is_found() {
        let lock = Lock::new(0);
        let _inside = lock.lock();
        let _again = lock.lock();
    }
}
