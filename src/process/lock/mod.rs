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
//! A thread that holds the lock for long checks [`Guard::is_contended`] and hands the lock over:
//! [`Guard::hand_off`] if it has nothing to do, [`Guard::hand_off_asleep`] if it has much to do,
//! [`Guard::pass_on`] at the end of a call that found nothing. Other calls release the lock to any
//! thread that comes first, as a handover to a sleeping thread costs more than many calls; the mutex
//! then gives a waiting thread its turn after about half a millisecond.
#![allow(unsafe_code)]

mod biased_lock;
mod biased_lock_primitive;

use std::cell::UnsafeCell;
use std::ops::{Deref, DerefMut};
use std::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use std::time::Duration;

use parking_lot::RawMutex;
use parking_lot::lock_api::{RawMutex as _, RawMutexFair as _};

use biased_lock::{BiasedLock, LockEntry, UNBIASED};
use platform::sys::futex;

/// How often to check whether the waiting thread has taken the lock, about 1 µs. A spinning thread
/// needs no longer; a sleeping thread gets the lock by the fair unlock.
const HANDOFF_SPINS: u32 = 50;

/// How long a busy thread sleeps for a waiting thread that takes the lock no sooner: that thread has
/// no processor, and may need the one of the busy thread.
const HANDOFF_SLEEP: Duration = Duration::from_micros(500);

/// A value that one thread at a time may use.
pub(crate) struct ProcessLock<T> {
    bias: BiasedLock,
    mutex: RawMutex,
    /// Threads that wait for the mutex.
    waiting_threads: AtomicU32,
    /// Threads that have waited and then entered, modulo 2^32.
    turns: AtomicU32,
    /// Threads that sleep until the number of turns changes.
    handing_off: AtomicU32,
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
            turns: AtomicU32::new(0),
            handing_off: AtomicU32::new(0),
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

    /// Locks if this thread has the bias.
    ///
    /// # Panics
    /// As [`ProcessLock::lock`].
    #[inline(always)]
    pub(crate) fn lock_by_bias(&self) -> Option<Guard<'_, T>> {
        let entry = Some(LockEntry::Flag);
        self.bias.try_enter().then(|| Guard { lock: self, entry, visits: false })
    }

    /// Locks unless another thread has the lock.
    ///
    /// # Panics
    /// As [`ProcessLock::lock`].
    #[inline]
    pub(crate) fn try_lock(&self) -> Option<Guard<'_, T>> {
        let entry = match self.bias.try_enter() {
            true => LockEntry::Flag,
            false if self.mutex.try_lock() => self.enter_with_mutex(false),
            false => return None,
        };
        Some(Guard { lock: self, entry: Some(entry), visits: false })
    }

    /// Locks from any thread at any time. If the lock is biased this takes a system call; the bias
    /// stays.
    pub(crate) fn visit(&self) -> Guard<'_, T> {
        Guard { lock: self, entry: Some(self.enter_mutex(true)), visits: true }
    }

    /// [`ProcessLock::visit`], unless another thread has the mutex.
    pub(crate) fn try_visit(&self) -> Option<Guard<'_, T>> {
        let is_entered = self.mutex.try_lock();
        let entry = is_entered.then(|| self.enter_with_mutex(true));
        entry.map(|entry| Guard { lock: self, entry: Some(entry), visits: true })
    }

    #[inline]
    fn enter(&self) -> LockEntry {
        if self.bias.try_enter() { LockEntry::Flag } else { self.enter_mutex(false) }
    }

    #[inline(never)]
    fn enter_mutex(&self, visits: bool) -> LockEntry {
        if !self.mutex.try_lock() {
            self.wait_for_mutex();
        }
        self.enter_with_mutex(visits)
    }

    /// Enters with the mutex locked by this thread.
    fn enter_with_mutex(&self, visits: bool) -> LockEntry {
        let entry =
            self.bias.enter_locked(visits, self.waiting_threads.load(Ordering::Relaxed) > 0);
        if entry == LockEntry::Flag {
            // SAFETY: this thread has locked the mutex (both callers).
            unsafe { self.mutex.unlock() };
        }
        entry
    }

    #[cold]
    fn wait_for_mutex(&self) {
        self.waiting_threads.fetch_add(1, Ordering::Relaxed);
        self.mutex.lock();
        self.waiting_threads.fetch_sub(1, Ordering::Relaxed);
        // The order of these two is the reverse of that in `sleep_until_turn`.
        self.turns.fetch_add(1, Ordering::SeqCst);
        if self.handing_off.load(Ordering::SeqCst) > 0 {
            futex::wake(&self.turns);
        }
    }

    /// Spins until no thread waits or one has entered since there were `turns` turns; whether that
    /// happened soon.
    fn spin_until_turn(&self, turns: u32) -> bool {
        (0..HANDOFF_SPINS).any(|_| {
            std::hint::spin_loop();
            self.waiting_threads.load(Ordering::Relaxed) == 0
                || self.turns.load(Ordering::Relaxed) != turns
        })
    }

    /// Sleeps for a short while, at most until a waiting thread has entered.
    fn sleep_until_turn(&self, turns: u32) {
        self.handing_off.fetch_add(1, Ordering::SeqCst);
        futex::wait(&self.turns, turns, Some(HANDOFF_SLEEP));
        self.handing_off.fetch_sub(1, Ordering::SeqCst);
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

    /// Lets a waiting thread take the lock first, if it is awake or asleep in the mutex.
    #[cold]
    pub(crate) fn hand_off(&mut self) {
        self.offer();
        self.reenter();
    }

    /// As [`Guard::hand_off`]; sleeps if the waiting thread waits for a processor. Otherwise it would
    /// find the lock held by the same busy thread each time when it runs.
    #[cold]
    pub(crate) fn hand_off_asleep(&mut self) {
        if let Some(turns) = self.offer() {
            self.lock.sleep_until_turn(turns);
        }
        self.reenter();
    }

    /// Releases the lock to a waiting thread; yields if that thread waits for a processor.
    #[cold]
    pub(crate) fn pass_on(mut self) {
        if self.offer().is_some() {
            std::thread::yield_now();
        }
    }

    /// Releases the lock to a waiting thread and spins until that thread has entered. The number of
    /// turns if the lock is still free then.
    fn offer(&mut self) -> Option<u32> {
        let turns = self.lock.turns.load(Ordering::Relaxed);
        self.leave(true);
        let is_free = !self.lock.spin_until_turn(turns) && !self.lock.mutex.is_locked();
        is_free.then_some(turns)
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
    fn a_lock_that_another_thread_has_is_not_waited_for() {
        let lock = ProcessLock::new(0);
        lock.visit().set_overlapping(true);
        let visit = lock.visit();
        std::thread::scope(|scope| {
            scope.spawn(|| assert!(lock.try_lock().is_none()));
        });
        drop(visit);
        let count = || {
            for _ in 0..1000 {
                let mut guard = loop {
                    match lock.try_lock() {
                        Some(guard) => break guard,
                        None => std::thread::yield_now(),
                    }
                };
                *guard += 1;
            }
        };
        std::thread::scope(|scope| {
            (0..3).for_each(|_| drop(scope.spawn(count)));
            count();
        });
        assert_eq!(*lock.lock(), 4000);
    }

    /// As a loop over `MPI_Test`; the other thread calls now and then.
    #[test]
    fn a_thread_that_locks_again_at_once_passes_the_lock_on() {
        let lock = ProcessLock::new(0);
        let rounds = 200;
        let mut passed: Vec<u32> = std::thread::scope(|scope| {
            scope.spawn(|| {
                for _ in 0..rounds {
                    std::thread::sleep(Duration::from_micros(50));
                    *lock.lock() += 1;
                }
            });
            let rounds = 0..rounds;
            rounds.map(|round| until_entered(&lock, round)).collect()
        });
        passed.sort_unstable();
        // Without a processor the other thread may wait for longer.
        assert!(passed[passed.len() / 2] < 5, "{passed:?}");
    }

    /// How often this thread has passed the lock on while a thread waited, until the value changed.
    fn until_entered(lock: &ProcessLock<u32>, value: u32) -> u32 {
        let mut passed = 0;
        loop {
            let guard = lock.lock();
            if *guard != value {
                return passed;
            }
            passed += u32::from(guard.is_contended());
            (0..10).for_each(|_| std::hint::spin_loop());
            guard.pass_on();
        }
    }

    #[test]
    fn a_busy_thread_lets_each_waiting_thread_in() {
        let lock = ProcessLock::new(0);
        std::thread::scope(|scope| {
            for _ in 0..3 {
                scope.spawn(|| (0..100).for_each(|_| *lock.lock() += 1));
            }
            let mut guard = lock.lock();
            while *guard < 300 {
                guard.hand_off_asleep();
            }
        });
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
