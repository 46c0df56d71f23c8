//! What ranks print, on its way to the launcher's own output.
//!
//! ```text
//!   rank's pipe --> Lines (whole lines, or what is late) --> Sink (bounded queue) --> descriptor
//! ```
//!
//! Bytes are never changed, lost or reordered within one stream. Lines of different ranks do not
//! mix, unless a rank leaves a line unfinished for longer than [`PATIENCE`]: a prompt must come
//! out too.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

/// How long the start of a line waits for its end.
pub const PATIENCE: Duration = Duration::from_millis(20);

/// A line may wait up to this length, in bytes.
const LINE_MAX_BYTES: usize = 64 * 1024;

/// A sink with more than this, in bytes, takes nothing from ranks until some is written.
const QUEUE_BYTES: usize = 256 * 1024;

/// A pipe that can take anything takes this much (PIPE_BUF of Linux), so a write of no more after
/// poll never blocks.
const WRITE_BYTES: usize = 4096;

/// The unfinished line of one stream.
#[derive(Debug, Default)]
pub struct Lines {
    held: Vec<u8>,
    since: Option<Instant>,
}

impl Lines {
    /// Passes `bytes` on to `sink`, up to the end of the last line; holds the rest.
    pub fn push(&mut self, bytes: &[u8], sink: &mut Sink, now: Instant) {
        let whole = bytes.iter().rposition(|byte| *byte == b'\n').map_or(0, |at| at + 1);
        if whole > 0 {
            self.flush(sink);
            sink.push(&bytes[..whole]);
        }
        if whole < bytes.len() {
            self.held.extend_from_slice(&bytes[whole..]);
            self.since.get_or_insert(now);
        }
        if self.held.len() > LINE_MAX_BYTES {
            self.flush(sink);
        }
    }

    /// Passes on what is held.
    pub fn flush(&mut self, sink: &mut Sink) {
        sink.push(&self.held);
        self.held.clear();
        self.since = None;
    }

    /// When what is held must not wait any longer.
    pub fn deadline(&self) -> Option<Instant> {
        self.since.map(|since| since + PATIENCE)
    }
}

/// Bytes that wait until the launcher's own output takes them.
#[derive(Debug)]
pub struct Sink {
    file: File,
    queue: VecDeque<u8>,
    /// Nobody reads there any more: what comes is dropped.
    lost: bool,
}

impl Sink {
    /// A sink that writes to `fd`.
    pub fn new(fd: OwnedFd) -> Self {
        Self { file: File::from(fd), queue: VecDeque::new(), lost: false }
    }

    /// Takes all of `bytes`.
    pub fn push(&mut self, bytes: &[u8]) {
        if !self.lost {
            self.queue.extend(bytes);
        }
    }

    /// Is there so much that ranks must wait?
    pub fn is_full(&self) -> bool {
        self.queue.len() > QUEUE_BYTES
    }

    /// Is there nothing to write?
    pub fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    /// Writes a bit; call it when poll says that this is possible.
    ///
    /// # Errors
    /// That of the system, once: from then on everything is dropped.
    pub fn write_some(&mut self) -> io::Result<()> {
        let (front, _) = self.queue.as_slices();
        match self.file.write(&front[..front.len().min(WRITE_BYTES)]) {
            Ok(count) => drop(self.queue.drain(..count)),
            Err(error) if is_passing(&error) => {}
            Err(error) => {
                self.lost = true;
                self.queue.clear();
                return Err(error);
            }
        }
        Ok(())
    }
}

impl AsFd for Sink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

/// Will the same call work later?
fn is_passing(error: &io::Error) -> bool {
    matches!(error.kind(), io::ErrorKind::WouldBlock | io::ErrorKind::Interrupted)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::sys::descriptor;
    use proptest::prelude::*;
    use std::io::Read;

    fn sink() -> (Sink, File) {
        let (read, write) = descriptor::pipe().unwrap();
        (Sink::new(write), read.into())
    }

    #[test]
    fn lines_of_two_ranks_do_not_mix() {
        let (mut sink, _keep) = sink();
        let (mut one, mut other) = (Lines::default(), Lines::default());
        let now = Instant::now();
        one.push(b"a", &mut sink, now);
        other.push(b"x\ny", &mut sink, now);
        one.push(b"b\n", &mut sink, now);
        other.flush(&mut sink);
        assert_eq!(sink.queue, b"x\nab\ny");
        assert_eq!(one.deadline(), None);
    }

    #[test]
    fn the_start_of_a_line_waits_only_so_long() {
        let (mut sink, _keep) = sink();
        let mut lines = Lines::default();
        let now = Instant::now();
        lines.push(b"prompt", &mut sink, now);
        lines.push(b"> ", &mut sink, now + PATIENCE / 2);
        assert_eq!(lines.deadline(), Some(now + PATIENCE));
        assert!(sink.is_empty());
        lines.push(&vec![b'x'; LINE_MAX_BYTES], &mut sink, now);
        assert_eq!(sink.queue.len(), LINE_MAX_BYTES + 8);
    }

    #[test]
    fn a_broken_sink_says_so_once_and_drops_the_rest() {
        let (mut sink, read) = sink();
        drop(read);
        sink.push(b"x");
        assert_eq!(sink.write_some().unwrap_err().kind(), io::ErrorKind::BrokenPipe);
        sink.push(b"y");
        assert!(sink.is_empty());
    }

    proptest! {
        #[test]
        fn bytes_come_out_as_they_went_in(pieces in proptest::collection::vec("[a\n]{0,9}", 0..20)) {
            let (mut sink, mut read) = sink();
            let mut lines = Lines::default();
            for piece in &pieces {
                lines.push(piece.as_bytes(), &mut sink, Instant::now());
            }
            lines.flush(&mut sink);
            while !sink.is_empty() {
                sink.write_some().unwrap();
            }
            drop(sink);
            let mut out = String::new();
            read.read_to_string(&mut out).unwrap();
            prop_assert_eq!(out, pieces.concat());
        }
    }
}
