//! `src/process/waiting/primitive.rs` for the model checker: a futex is a word, a mutex and a condition.

use loom::sync::{Condvar, Mutex};

pub use loom::sync::atomic::Ordering;

/// A word that threads sleep on.
pub struct AtomicU32 {
    word: loom::sync::atomic::AtomicU32,
    mutex: Mutex<()>,
    changed: Condvar,
}

impl AtomicU32 {
    pub fn new(value: u32) -> Self {
        let word = loom::sync::atomic::AtomicU32::new(value);
        Self { word, mutex: Mutex::new(()), changed: Condvar::new() }
    }

    pub fn load(&self, order: Ordering) -> u32 {
        self.word.load(order)
    }

    pub fn swap(&self, value: u32, order: Ordering) -> u32 {
        self.word.swap(value, order)
    }

    pub fn compare_exchange(
        &self, current: u32, new: u32, order: Ordering, failed: Ordering,
    ) -> Result<u32, u32> {
        self.word.compare_exchange(current, new, order, failed)
    }
}

/// No time passes here: a thread that needs the end of a timeout never wakes, and loom reports it.
pub fn wait(word: &AtomicU32, expected: u32, _longest: Option<std::time::Duration>) {
    let mutex = word.mutex.lock().unwrap();
    if word.load(Ordering::SeqCst) == expected {
        drop(word.changed.wait(mutex).unwrap());
    }
}

pub fn wake(word: &AtomicU32) {
    drop(word.mutex.lock().unwrap());
    word.changed.notify_all();
}
