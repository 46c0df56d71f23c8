//! The identity of the calling thread, and the names of the threads that it starts.
#![allow(unsafe_code)]

use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use crate::sys::process::THREAD_NAME;

/// Bytes of a thread's name, with its terminator.
const NAME_BYTES: usize = 16;

/// A number for the calling thread, unique while the thread lives, and never a small number. The
/// function costs about a nanosecond: it makes no system call.
#[inline]
pub fn current() -> usize {
    // SAFETY: the call cannot fail and takes no arguments.
    let thread = unsafe { libc::pthread_self() };
    // The value is an address in all C libraries of Linux.
    thread as usize
}

/// Runs `body`, which calls a foreign library. Threads that the library starts meanwhile, and their
/// threads, get a name of this library, as a thread has the name of the thread that started it.
pub(crate) fn naming_helpers<T>(body: impl FnOnce() -> T) -> T {
    let own = name();
    let mut helper = [0; NAME_BYTES];
    helper[..THREAD_NAME.len()].copy_from_slice(THREAD_NAME.as_bytes());
    helper[THREAD_NAME.len()..][..6].copy_from_slice(b"helper");
    set_name(&helper);
    let result = body();
    set_name(&own);
    result
}

/// Runs `body`, which calls a foreign library that may never return, on a thread of its own for `limit` at most;
/// whether it has ended. Without a thread it does not run.
pub(crate) fn runs_within(limit: Duration, body: impl FnOnce() + Send + 'static) -> bool {
    let (end, ended) = mpsc::channel();
    let run = move || {
        body();
        // The other end may not wait any more.
        let _gone = end.send(());
    };
    let thread = thread::Builder::new().name(format!("{THREAD_NAME}foreign")).spawn(run);
    thread.is_ok() && ended.recv_timeout(limit).is_ok()
}

/// The name of the calling thread.
fn name() -> [u8; NAME_BYTES] {
    let mut name = [0; NAME_BYTES];
    // SAFETY: PR_GET_NAME writes at most 16 bytes, and the array has as many.
    unsafe { libc::prctl(libc::PR_GET_NAME, name.as_mut_ptr()) };
    name
}

fn set_name(name: &[u8; NAME_BYTES]) {
    // SAFETY: PR_SET_NAME reads 16 bytes at most, and the array has as many.
    unsafe { libc::prctl(libc::PR_SET_NAME, name.as_ptr()) };
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn threads_of_a_library_and_their_threads_have_a_name_of_their_own() {
        let mine = name();
        let names = naming_helpers(|| {
            let helper = std::thread::spawn(|| {
                let own = name();
                (own, std::thread::spawn(name).join().unwrap())
            });
            helper.join().unwrap()
        });
        for name in [names.0, names.1] {
            assert!(name.starts_with(THREAD_NAME.as_bytes()), "{name:?}");
        }
        assert_eq!(name(), mine);
        assert_eq!(std::thread::spawn(name).join().unwrap(), mine);
    }

    #[test]
    fn a_foreign_call_that_does_not_return_is_left() {
        let (release, released) = mpsc::channel::<()>();
        assert!(runs_within(Duration::from_secs(60), || ()));
        assert!(!runs_within(Duration::from_millis(20), move || {
            let _end = released.recv();
        }));
        drop(release);
    }

    #[test]
    fn threads_that_live_have_their_own_numbers() {
        let mine = current();
        assert_eq!(current(), mine);
        assert!(mine > 4096);
        std::thread::scope(|scope| {
            scope.spawn(|| assert_ne!(current(), mine));
        });
    }
}
