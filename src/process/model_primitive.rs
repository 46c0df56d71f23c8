//! `primitive` for the model checker: a futex is a word with a mutex and a condition.

use loom::sync::{Condvar, Mutex};

pub use loom::sync::atomic::Ordering;

/// A word to sleep on.
pub struct AtomicU32 {
    word: loom::sync::atomic::AtomicU32,
    gate: Mutex<()>,
    changed: Condvar,
}

impl AtomicU32 {
    pub fn new(value: u32) -> Self {
        let word = loom::sync::atomic::AtomicU32::new(value);
        Self { word, gate: Mutex::new(()), changed: Condvar::new() }
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

/// No time passes here: who relies on the end of a time sleeps for ever.
pub fn wait(word: &AtomicU32, expected: u32, _longest: Option<std::time::Duration>) {
    let gate = word.gate.lock().unwrap();
    if word.load(Ordering::SeqCst) == expected {
        drop(word.changed.wait(gate).unwrap());
    }
}

pub fn wake(word: &AtomicU32) {
    drop(word.gate.lock().unwrap());
    word.changed.notify_all();
}
