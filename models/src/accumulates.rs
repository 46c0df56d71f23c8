//! The lock of accumulates: what one rank writes is never written beside another access, and the next rank
//! sees it.
//!
//! Weakened by hand, the model fails: a relaxed exchange in `try_once`, a relaxed store in `give_back`.

#[path = "../../src/shared_memory/accumulate_lock.rs"]
mod accumulate_lock;

use std::sync::Arc;

use loom::thread;

use crate::primitive::{self, SharedCell};
use accumulate_lock::{AccumulateLock, AccumulateWord};

/// A lock, and what it guards.
struct Accumulated {
    word: AccumulateWord,
    value: SharedCell<u32>,
}

impl Accumulated {
    #[allow(unsafe_code)]
    fn add_one(&self, me: u32) {
        let lock = AccumulateLock::new(&self.word, me);
        while !lock.try_once() {
            thread::yield_now();
        }
        assert_eq!(lock.holder(), Some(me as usize));
        // SAFETY: loom checks that the lock is held by this thread only.
        unsafe { self.value.store(self.value.load() + 1) };
        lock.give_back();
    }
}

#[test]
#[allow(unsafe_code)]
fn accumulates_of_ranks_exclude_each_other() {
    const EACH: u32 = 2;
    crate::check(|| {
        let all = Arc::new(Accumulated { word: AccumulateWord::new(), value: SharedCell::new(0) });
        let add = |all: &Accumulated, me| (0..EACH).for_each(|_| all.add_one(me));
        let shared = all.clone();
        let other = thread::spawn(move || add(&shared, 1));
        add(&all, 0);
        other.join().unwrap();
        // SAFETY: no other thread is left.
        assert_eq!(unsafe { all.value.load() }, 2 * EACH);
    });
}
