//! Buffers the unfinished line of one stream.
//!
//! A value without I/O: bytes and the time go in; complete lines go to a closure.

use std::time::{Duration, Instant};

/// A partial line without new bytes is written after this time: too short for people to notice,
/// long enough for a rank on a busy machine to run again.
const LINE_TIMEOUT: Duration = Duration::from_millis(100);

/// A partial line is written after this time even with new bytes, such as dots of progress.
const LINE_TIMEOUT_TOTAL: Duration = Duration::from_millis(300);

/// A longer line, in bytes, is not a prompt.
const PROMPT_MAX_BYTES: usize = 4096;

/// The timeout of a partial line that is not a prompt.
const LONG_LINE_TIMEOUT: Duration = Duration::from_secs(1);

/// Longer lines, in bytes, are written in parts.
const LINE_MAX_BYTES: usize = 1 << 20;

/// The bytes of one stream after its last line end.
#[derive(Debug, Default)]
pub(super) struct LineBuffer {
    pending: Vec<u8>,
    /// Arrival of the first and of the last byte.
    times: Option<(Instant, Instant)>,
}

impl LineBuffer {
    /// Passes `bytes` up to the last line end to `pass`; keeps the rest.
    pub(super) fn push(&mut self, bytes: &[u8], now: Instant, mut pass: impl FnMut(&[u8])) {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            // The pending bytes begin the first line; both are passed together.
            if self.pending.is_empty() {
                pass(&bytes[..whole]);
            } else {
                self.pending.extend_from_slice(&bytes[..whole]);
                self.flush(&mut pass);
            }
        }
        if whole < bytes.len() {
            self.pending.extend_from_slice(&bytes[whole..]);
            let first = self.times.map_or(now, |(first, _)| first);
            self.times = Some((first, now));
        }
        if self.pending.len() > LINE_MAX_BYTES {
            self.flush(&mut pass);
        }
    }

    /// Passes the pending bytes.
    pub(super) fn flush(&mut self, mut pass: impl FnMut(&[u8])) {
        if !self.pending.is_empty() {
            pass(&self.pending);
        }
        self.pending.clear();
        self.times = None;
    }

    /// Number of pending bytes.
    pub(super) fn len_bytes(&self) -> usize {
        self.pending.len()
    }

    /// The time to call [`LineBuffer::flush`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        let (first, last) = self.times?;
        if self.pending.len() > PROMPT_MAX_BYTES {
            return Some(last + LONG_LINE_TIMEOUT);
        }
        Some((last + LINE_TIMEOUT).min(first + LINE_TIMEOUT_TOTAL))
    }

    /// The output was blocked until `now`: timeouts begin again.
    pub(super) fn restart(&mut self, now: Instant) {
        self.times = self.times.map(|_| (now, now));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const TICK: Duration = Duration::from_millis(99);

    #[test]
    fn only_whole_lines_pass() {
        let (mut lines, mut out) = (LineBuffer::default(), Vec::new());
        let now = Instant::now();
        for (bytes, expected) in
            [("a", ""), ("b\n", "ab\n"), ("x\ny\nz", "ab\nx\ny\n"), ("\n", "ab\nx\ny\nz\n")]
        {
            lines.push(bytes.as_bytes(), now, |bytes| out.extend_from_slice(bytes));
            assert_eq!(out, expected.as_bytes());
        }
        assert_eq!(lines.deadline(), None);
    }

    #[test]
    fn a_line_without_new_bytes_times_out() {
        let (mut lines, start) = (LineBuffer::default(), Instant::now());
        let pass = |bytes: &[u8]| panic!("{bytes:?} was passed");
        lines.push(b"prompt", start, pass);
        assert_eq!(lines.deadline(), Some(start + LINE_TIMEOUT));
        lines.push(b">", start + TICK, pass);
        assert_eq!(lines.deadline(), Some(start + TICK + LINE_TIMEOUT));
        lines.restart(start + 3 * TICK);
        assert_eq!(lines.deadline(), Some(start + 3 * TICK + LINE_TIMEOUT));
        let mut out = Vec::new();
        lines.flush(|bytes| out.extend_from_slice(bytes));
        assert_eq!((&out[..], lines.deadline()), (&b"prompt>"[..], None));
    }

    #[test]
    fn a_line_that_never_ends_times_out() {
        let (mut lines, start) = (LineBuffer::default(), Instant::now());
        for tick in 0..3 {
            lines.push(b".", start + tick * TICK, |_| ());
        }
        assert_eq!(lines.deadline(), Some(start + 2 * TICK + LINE_TIMEOUT));
        lines.push(b".", start + 3 * TICK, |_| ());
        assert_eq!(lines.deadline(), Some(start + LINE_TIMEOUT_TOTAL));
        lines.push(&[b'x'; PROMPT_MAX_BYTES], start + 3 * TICK, |_| ());
        assert_eq!(lines.deadline(), Some(start + 3 * TICK + LONG_LINE_TIMEOUT));
    }

    #[test]
    fn a_line_that_is_too_long_is_passed_in_parts() {
        let (mut lines, mut out) = (LineBuffer::default(), Vec::new());
        for _ in 0..3 {
            let piece = vec![b'x'; LINE_MAX_BYTES / 2];
            lines.push(&piece, Instant::now(), |bytes| out.push(bytes.len()));
        }
        assert_eq!(out, [LINE_MAX_BYTES / 2 * 3]);
        assert_eq!(lines.deadline(), None);
    }
}
