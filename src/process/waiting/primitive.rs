//! What [`super::parker`] is made of. For the model checker: `models/src/parker_primitive.rs`.

pub(crate) use std::sync::atomic::{AtomicU32, Ordering};

use std::time::Duration;

use platform::sys::futex;

/// Sleeps while the word is `expected`, or shorter, but not much longer than `longest`.
pub fn wait(word: &AtomicU32, expected: u32, longest: Option<Duration>) {
    futex::wait(word, expected, longest);
}

/// Wakes who sleeps on the word.
pub fn wake(word: &AtomicU32) {
    futex::wake(word);
}
