//! The clock that all processes of a host share.

#![allow(unsafe_code)]

use libc::{CLOCK_MONOTONIC, timespec};

/// Nanoseconds since the host started.
pub fn monotonic_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is ours to write. The call cannot fail: Linux always has this clock.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    nanoseconds(time)
}

/// Nanoseconds between two values of the clock, as the kernel tells it.
pub fn resolution_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_getres(CLOCK_MONOTONIC, &mut time) };
    nanoseconds(time)
}

fn nanoseconds(time: timespec) -> u64 {
    time.tv_sec as u64 * 1_000_000_000 + time.tv_nsec as u64
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn time_does_not_run_backwards() {
        let before = monotonic_ns();
        assert!(monotonic_ns() >= before && before > 0);
        assert!((1..1_000_000_000).contains(&resolution_ns()));
    }
}
