//! The bias of the process lock under the model checker loom: one thread is inside at a time and
//! sees what those before it wrote, whoever has the flag, and everybody gets in. `bias` is the
//! source of the library; around it is what `lock` does.
//!
//! The fences of both sides are full ones here: that a membarrier(2) makes the other side's compiler
//! fence one is the kernel's promise.
//!
//! `scripts/loom` runs it.

#[allow(dead_code)]
#[path = "biased_lock.rs"]
mod biased_lock;

mod gate_primitive {
    pub use loom::sync::atomic::{AtomicBool, AtomicU32, AtomicUsize, Ordering};
    pub use loom::thread::yield_now;

    use std::hash::{BuildHasher, BuildHasherDefault, DefaultHasher};

    use loom::sync::atomic::fence;

    pub fn this_thread() -> usize {
        let hashed = BuildHasherDefault::<DefaultHasher>::new();
        hashed.hash_one(loom::thread::current().id()) as usize | FIRST
    }

    /// Larger than the words of the bias that are no threads.
    const FIRST: usize = 16;

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

use bias::{BIASED_TO_ALL, BiasedLock, LockEntry, NO_OWNER, UNBIASED};

/// Instead of the number of the first thread.
const FIRST: usize = usize::MAX;

struct Lock {
    bias: BiasedLock,
    mutex: Mutex<()>,
    /// It counts what is lost when two threads are inside at once, or when one does not see what
    /// another wrote: nothing here orders its loads and stores.
    value: AtomicU32,
}

/// A thread inside.
struct LockModelGuard<'a> {
    lock: &'a Lock,
    _mutex: Option<MutexGuard<'a, ()>>,
    entry: LockEntry,
}

impl Lock {
    fn new(word: usize) -> Self {
        let first = gate_primitive::this_thread();
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

    fn lock(&self) -> LockModelGuard<'_> {
        if self.bias.try_enter() {
            return LockModelGuard { lock: self, _mutex: None, entry: LockEntry::Flag };
        }
        self.enter(false)
    }

    fn visit(&self) -> LockModelGuard<'_> {
        self.enter(true)
    }

    fn enter(&self, visits: bool) -> LockModelGuard<'_> {
        let mutex = Some(self.mutex.lock().unwrap());
        let entry = self.bias.enter_locked(visits, false);
        LockModelGuard { lock: self, _mutex: mutex.filter(|_| entry != LockEntry::Flag), entry }
    }
}

impl LockModelGuard<'_> {
    fn add(&mut self) {
        let value = self.lock.value.load(Ordering::Relaxed);
        self.lock.value.store(value + 1, Ordering::Relaxed);
    }
}

impl Drop for LockModelGuard<'_> {
    fn drop(&mut self) {
        match self.entry {
            LockEntry::Flag => self.lock.bias.leave(),
            entry => self.lock.bias.leave_locked(entry),
        }
    }
}

type LockModelThread = fn(&Lock);

/// Threads that do this to a lock whose flag is `word`'s; how often they enter, all together.
fn model(word: usize, threads: &'static [LockModelThread], entries: u32) {
    loom::model(move || {
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

/// Another user of MPI comes, who lets calls overlap, too.
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

/// Stays inside until nobody waits for the flag, or three looks found nobody.
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
fn loom_visitors_come_between_calls_that_never_overlap() {
    model(BIASED_TO_ALL, &[calls_twice, visits_twice], 4);
    model(BIASED_TO_ALL, &[calls_once, visits_once, visits_once], 3);
}

#[test]
fn loom_who_stays_lets_a_visitor_in() {
    model(BIASED_TO_ALL, &[stays, visits_once], 3);
    model(FIRST, &[stays, calls_once], 3);
}

#[test]
fn loom_the_call_of_another_thread_takes_the_flag_away() {
    model(FIRST, &[calls_twice, calls_twice], 4);
    model(FIRST, &[calls_once, calls_once, calls_once], 3);
}

#[test]
fn loom_a_visitor_leaves_the_flag_to_its_thread() {
    model(FIRST, &[calls_twice, visits_twice], 4);
    model(FIRST, &[calls_once, calls_once, visits_once], 3);
}

/// With `REBIAS_CALLS` calls in a owner_streak, which are few here.
#[test]
fn loom_the_flag_becomes_that_of_a_thread_again() {
    model(UNBIASED, &[calls_thrice, calls_once], 4);
    model(UNBIASED, &[calls_thrice, visits_once], 4);
    model(UNBIASED, &[calls_thrice, calls_thrice], 6);
    model(FIRST, &[calls_twice, calls_thrice, visits_once], 6);
}

/// Whoever was about to enter when that changes disturbs nobody.
#[test]
fn loom_another_user_comes_between_calls() {
    model(FIRST, &[calls_twice, joins, calls_once], 4);
    model(BIASED_TO_ALL, &[calls_twice, joins, visits_once], 4);
}
