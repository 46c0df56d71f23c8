//! Sleeps on a word of memory until another thread or process changes it (futex(2)).
//!
//! The words may lie in memory shared between processes, so the process-private form is not used.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

/// Sleeps while `word` holds `expected`, until a [`wake`], a signal or the end of `timeout`.
///
/// Returns at once if the word holds another value. Spurious returns occur: check the word again.
pub fn wait(word: &AtomicU32, expected: u32, timeout: Option<Duration>) {
    let timeout = timeout.map(|timeout| libc::timespec {
        // 68 years; the type of this field depends on the C library.
        tv_sec: timeout.as_secs().try_into().unwrap_or(i32::MAX.into()),
        tv_nsec: timeout.subsec_nanos().into(),
    });
    let timeout = timeout.as_ref().map_or(ptr::null(), ptr::from_ref);
    // SAFETY: `word` is a live, aligned word for the whole call; `timeout` is null or points to the
    // value above. The kernel only reads both. After any error the caller checks the word again.
    unsafe {
        libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAIT, expected, timeout);
    }
}

/// Wakes all sleepers on `word` and returns their number.
pub fn wake(word: &AtomicU32) -> usize {
    // SAFETY: FUTEX_WAKE uses the address only as a name.
    let woken =
        unsafe { libc::syscall(libc::SYS_futex, word.as_ptr(), libc::FUTEX_WAKE, i32::MAX) };
    woken.max(0) as usize
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::sync::atomic::Ordering::SeqCst;

    #[test]
    fn a_changed_word_does_not_sleep() {
        wait(&AtomicU32::new(1), 0, None);
    }

    #[test]
    fn a_sleeper_wakes() {
        let word = AtomicU32::new(0);
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while word.load(SeqCst) == 0 {
                    wait(&word, 0, None);
                }
            });
            word.store(1, SeqCst);
            wake(&word);
        });
    }
}
