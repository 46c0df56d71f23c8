//! The biased lock of the process: one thread holds it at a time and sees the writes of the holders
//! before it, whichever thread the lock is biased to, and every thread gets it. `source` is the
//! library's; around it is what `src/process/lock/mod.rs` does.
//!
//! The fences of both sides are full fences here. That membarrier(2) makes the other side's compiler
//! fence a full one is the kernel's guarantee.

#[path = "../../src/process/lock/biased_lock.rs"]
mod source;

mod biased_lock_primitive {
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
    pub use loom::thread::yield_now;

    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use loom::sync::atomic::fence;

    pub fn this_thread() -> usize {
        let hashed = BuildHasherDefault::<DefaultHasher>::new();
        hashed.hash_one(loom::thread::current().id()) as usize | FIRST
    }

    /// Larger than the words of the lock that are not threads.
    const FIRST: usize = 16;

    /// Few, so that the model gets there.
    pub const REBIAS_CALLS: u32 = 2;

    pub fn has_heavy_fence() -> bool {
        true
    }

    pub fn light_fence() {
        fence(Ordering::SeqCst);
    }

    pub fn heavy_fence() {
        fence(Ordering::SeqCst);
    }
}

use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
use loom::sync::{Arc, Mutex, MutexGuard};
use loom::thread;

use source::{BIASED_TO_ALL, BiasedLock, LockEntry, NO_OWNER, UNBIASED};

/// Stands for the number of the first thread.
const FIRST: usize = usize::MAX;

struct Lock {
    bias: BiasedLock,
    mutex: Mutex<()>,
    /// A count that loses additions if two threads hold the lock at once, or one does not see the
    /// other's write: the count itself orders nothing.
    value: AtomicU32,
}

/// Held.
struct Guard<'a> {
    lock: &'a Lock,
    _mutex: Option<MutexGuard<'a, ()>>,
    entry: LockEntry,
}

impl Lock {
    fn new(word: usize) -> Self {
        let first = biased_lock_primitive::this_thread();
        let owner = if word == BIASED_TO_ALL { NO_OWNER } else { first };
        let word = if word == FIRST { first } else { word };
        let bias = BiasedLock {
            word: AtomicUsize::new(word),
            held: AtomicBool::new(false),
            owner: AtomicUsize::new(owner),
            owner_streak: AtomicU32::new(0),
        };
        Self { bias, mutex: Mutex::new(()), value: AtomicU32::new(0) }
    }

    fn lock(&self) -> Guard<'_> {
        if self.bias.try_enter() {
            return Guard { lock: self, _mutex: None, entry: LockEntry::Flag };
        }
        self.enter(false)
    }

    fn visit(&self) -> Guard<'_> {
        self.enter(true)
    }

    fn enter(&self, visits: bool) -> Guard<'_> {
        let mutex = Some(self.mutex.lock().unwrap());
        let entry = self.bias.enter_locked(visits, false);
        Guard { lock: self, _mutex: mutex.filter(|_| entry != LockEntry::Flag), entry }
    }
}

impl Guard<'_> {
    fn add(&mut self) {
        let value = self.lock.value.load(Ordering::Relaxed);
        self.lock.value.store(value + 1, Ordering::Relaxed);
    }
}

impl Drop for Guard<'_> {
    fn drop(&mut self) {
        match self.entry {
            LockEntry::Flag => self.lock.bias.leave(),
            entry => self.lock.bias.leave_locked(entry),
        }
    }
}

type Body = fn(&Lock);

/// Threads with these bodies and a lock that begins with `word`; `entries` is the sum of their adds.
fn model(word: usize, threads: &'static [Body], entries: u32) {
    crate::check(move || {
        let lock = Arc::new(Lock::new(word));
        let others: Vec<_> = (1..threads.len())
            .map(|index| {
                let lock = lock.clone();
                thread::spawn(move || threads[index](&lock))
            })
            .collect();
        threads[0](&lock);
        others.into_iter().for_each(|thread| thread.join().unwrap());
        let inside = lock.visit();
        assert_eq!(lock.value.load(Ordering::Relaxed), entries);
        drop(inside);
        assert!(!lock.bias.held.load(Ordering::SeqCst));
    });
}

fn calls_twice(lock: &Lock) {
    lock.lock().add();
    lock.lock().add();
}

fn calls_thrice(lock: &Lock) {
    calls_twice(lock);
    lock.lock().add();
}

fn calls_once(lock: &Lock) {
    lock.lock().add();
}

/// Initializes MPI once more, with calls that may overlap.
fn joins(lock: &Lock) {
    let mut inside = lock.visit();
    inside.add();
    lock.bias.set_overlapping(true);
    inside.entry = LockEntry::Mutex;
}

fn visits_once(lock: &Lock) {
    lock.visit().add();
}

fn visits_twice(lock: &Lock) {
    lock.visit().add();
    lock.visit().add();
}

/// Holds the lock until another thread revokes the bias.
fn stays(lock: &Lock) {
    let mut inside = lock.lock();
    inside.add();
    if inside.entry == LockEntry::Flag && lock.bias.is_revoked() {
        drop(inside);
        inside = lock.lock();
    }
    inside.add();
}

#[test]
fn visits_between_calls_that_never_overlap() {
    model(BIASED_TO_ALL, &[calls_twice, visits_twice], 4);
    model(BIASED_TO_ALL, &[calls_once, visits_once, visits_once], 3);
}

#[test]
fn a_long_holder_lets_a_visitor_in() {
    model(BIASED_TO_ALL, &[stays, visits_once], 3);
    model(FIRST, &[stays, calls_once], 3);
}

#[test]
fn a_call_of_another_thread_removes_the_bias() {
    model(FIRST, &[calls_twice, calls_twice], 4);
    model(FIRST, &[calls_once, calls_once, calls_once], 3);
}

#[test]
fn a_visitor_keeps_the_bias() {
    model(FIRST, &[calls_twice, visits_twice], 4);
    model(FIRST, &[calls_once, calls_once, visits_once], 3);
}

/// After `REBIAS_CALLS` calls of the owner in a row.
#[test]
fn the_owner_gets_the_bias_back() {
    model(UNBIASED, &[calls_thrice, calls_once], 4);
    model(UNBIASED, &[calls_thrice, visits_once], 4);
    model(UNBIASED, &[calls_thrice, calls_thrice], 6);
    model(FIRST, &[calls_twice, calls_thrice, visits_once], 6);
}

/// A thread that is about to enter at that moment breaks nothing.
#[test]
fn another_initialization_between_calls() {
    model(FIRST, &[calls_twice, joins, calls_once], 4);
    model(BIASED_TO_ALL, &[calls_twice, joins, visits_once], 4);
}
