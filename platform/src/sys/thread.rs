//! Which thread is running.
#![allow(unsafe_code)]

/// A number for the calling thread, which no other one has as long as it lives, and which is no
/// small one. It costs about a nanosecond: there is no system call in it.
#[inline]
pub fn current() -> usize {
    // SAFETY: it cannot fail and takes nothing.
    let thread = unsafe { libc::pthread_self() };
    // An address, in all libraries of C that there are for Linux.
    thread as usize
}

#[cfg(test)]
mod tests {
    use super::*;

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
