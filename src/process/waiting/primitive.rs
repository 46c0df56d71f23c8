//! Atomics and futex calls of [`super::parker`]. The model checker has its own:
//! `models/src/parker_primitive.rs`.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};

use std::time::Duration;

use platform::sys::futex;

/// Sleeps while the word is `expected`, not much longer than `longest`. May return early.
pub fn wait(word: &AtomicU32, expected: u32, longest: Option<Duration>) {
    futex::wait(word, expected, longest);
}

/// Wakes all threads that sleep on the word.
pub fn wake(word: &AtomicU32) {
    futex::wake(word);
}
