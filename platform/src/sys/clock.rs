//! Clock shared by all processes of a host, and local time for messages.

#![allow(unsafe_code)]

use std::ffi::CStr;
use std::mem::MaybeUninit;

use libc::{CLOCK_MONOTONIC, timespec};

/// Nanoseconds since the host started.
pub fn monotonic_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: `time` is a writable local variable. The call cannot fail: Linux always has this
    // clock.
    unsafe { libc::clock_gettime(CLOCK_MONOTONIC, &mut time) };
    nanoseconds(time)
}

/// Resolution of the clock in nanoseconds, as the kernel reports it.
pub fn resolution_ns() -> u64 {
    let mut time = timespec { tv_sec: 0, tv_nsec: 0 };
    // SAFETY: as above.
    unsafe { libc::clock_getres(CLOCK_MONOTONIC, &mut time) };
    nanoseconds(time)
}

/// `seconds` since the beginning of 1970 in the user's time zone, formatted by strftime(3).
///
/// Empty when the text has more than 127 bytes, or the year cannot be represented.
pub fn local_time(seconds: i64, format: &CStr) -> String {
    let mut fields = MaybeUninit::<libc::tm>::uninit();
    let mut text = [0_u8; 128];
    // SAFETY: `seconds` and `fields` live through the call, which fills `fields` or returns null.
    if unsafe { libc::localtime_r(&seconds, fields.as_mut_ptr()) }.is_null() {
        return String::new();
    }
    // SAFETY: the call above filled `fields`; the length passed is that of `text`; `format` ends
    // with a zero.
    let len_bytes = unsafe {
        let buffer = text.as_mut_ptr().cast();
        libc::strftime(buffer, text.len(), format.as_ptr(), fields.as_ptr())
    };
    String::from_utf8_lossy(&text[..len_bytes]).into_owned()
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

    #[test]
    fn the_time_of_day_has_the_form_that_was_asked_for() {
        // Time zones differ in hours and minutes.
        assert_eq!(local_time(1_000_000_007, c"%Y, %S"), "2001, 47");
        assert_eq!(local_time(0, &std::ffi::CString::new("x".repeat(200)).unwrap()), "");
        assert_eq!(local_time(i64::MAX, c"%Y"), "");
    }
}
