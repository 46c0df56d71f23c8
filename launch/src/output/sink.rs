//! A queue of bytes for one descriptor: the terminal, or a file.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, IsTerminal, Write};
use std::os::fd::{AsFd, BorrowedFd, OwnedFd};
use std::os::unix::fs::MetadataExt;

use platform::sys::descriptor;

/// With more bytes than this, a sink is full: ranks are not read until some are written.
const QUEUE_BYTES: usize = 256 * 1024;

/// The most bytes of one write that cannot block.
const WRITE_BYTES: usize = 64 * 1024;

/// A writable pipe accepts this many bytes (PIPE_BUF of Linux), so such a write after poll does not
/// block.
const PIPE_WRITE_BYTES: usize = 4096;

/// A writable terminal of Linux has room for at least 256 bytes; it may write eight for one (tabs).
const TERMINAL_WRITE_BYTES: usize = 32;

/// The end of a line that another writer interrupts.
const END: &[u8] = b"\n";

/// Queued bytes of one descriptor.
#[derive(Debug)]
pub(super) struct OutputSink {
    file: File,
    /// The name in errors.
    name: String,
    /// The most bytes of one write.
    write_max_bytes: usize,
    queue: VecDeque<u8>,
    /// The writer of the unfinished last line, if lines have prefixes.
    writer: Option<u64>,
    /// The last written byte does not end a line, and more were queued then.
    in_line: bool,
    /// Bytes for a failed sink are dropped.
    failed: bool,
}

/// A failed write.
#[derive(Debug)]
pub(crate) struct SinkFailure {
    /// The name and the error; `None` if the reader has closed the pipe.
    pub why: Option<String>,
}

impl OutputSink {
    /// A sink that writes to `file`; errors call it `name`.
    pub(super) fn new(file: impl Into<OwnedFd>, name: impl Into<String>) -> Self {
        let given = File::from(file.into());
        let is_regular = given.metadata().is_ok_and(|metadata| metadata.is_file());
        let (file, write_max_bytes) = match descriptor::reopen_for_writing(&given) {
            Some(again) => (again, WRITE_BYTES),
            None if is_regular => (given, WRITE_BYTES),
            None if given.is_terminal() => (given, TERMINAL_WRITE_BYTES),
            None => (given, PIPE_WRITE_BYTES),
        };
        let (queue, name) = (VecDeque::new(), name.into());
        Self { file, name, write_max_bytes, queue, writer: None, in_line: false, failed: false }
    }

    /// Whether this is the same file as `other`.
    pub(super) fn is_same_file(&self, other: &Self) -> bool {
        let identity = |sink: &Self| sink.file.metadata().map(|data| (data.dev(), data.ino())).ok();
        identity(self).is_some_and(|own| identity(other) == Some(own))
    }

    /// Whether a line has been written in part, and its rest is queued.
    pub(super) fn is_in_line(&self) -> bool {
        self.in_line && self.queue.contains(&b'\n')
    }

    /// The name in messages.
    pub(super) fn name(&self) -> &str {
        &self.name
    }

    /// Drops the queue; the number of dropped bytes.
    pub(super) fn give_up(&mut self) -> usize {
        (self.writer, self.in_line) = (None, false);
        std::mem::take(&mut self.queue).len()
    }

    /// Queues `bytes` unchanged.
    pub(super) fn push(&mut self, bytes: &[u8]) {
        if !self.failed {
            self.queue.extend(bytes);
        }
    }

    /// Queues `bytes` of `writer`, each line with `prefix`.
    pub(super) fn push_lines(&mut self, writer: u64, prefix: &[u8], bytes: &[u8]) {
        for line in bytes.split_inclusive(|byte| *byte == b'\n') {
            if self.writer != Some(writer) {
                self.end_line();
                self.push(prefix);
            }
            self.push(line);
            self.writer = (!line.ends_with(END)).then_some(writer);
        }
    }

    /// Ends the unfinished line of `writer`, which has closed its stream.
    pub(super) fn end_lines_of(&mut self, writer: u64) {
        if self.writer == Some(writer) {
            self.end_line();
        }
    }

    /// Ends an unfinished line.
    pub(super) fn end_line(&mut self) {
        if self.writer.take().is_some() {
            self.push(END);
        }
    }

    /// Whether ranks must wait.
    pub(super) fn is_full(&self) -> bool {
        self.queue.len() > QUEUE_BYTES
    }

    pub(super) fn is_empty(&self) -> bool {
        self.queue.is_empty()
    }

    pub(super) fn is_failed(&self) -> bool {
        self.failed
    }

    /// Writes some bytes, whole lines if possible. For a descriptor that poll reports as writable.
    ///
    /// # Errors
    /// Reported once; after that, bytes are dropped.
    pub(super) fn write_some(&mut self) -> Result<(), SinkFailure> {
        let (front, _) = self.queue.as_slices();
        let most = &front[..front.len().min(self.write_max_bytes)];
        let lines = most.iter().rposition(|byte| *byte == b'\n').map_or(most.len(), |at| at + 1);
        match self.file.write(&most[..lines]) {
            Ok(count) => {
                let ends_line = count > 0 && front[count - 1] == b'\n';
                drop(self.queue.drain(..count));
                self.in_line = !ends_line && !self.queue.is_empty();
            }
            Err(error) if descriptor::is_transient(&error) => {}
            Err(error) => {
                (self.failed, self.in_line) = (true, false);
                self.queue.clear();
                return Err(SinkFailure::new(&self.name, &error));
            }
        }
        Ok(())
    }

    /// Closes the descriptor.
    ///
    /// # Errors
    /// The system has not stored all bytes. A sink that failed before has no error.
    pub(super) fn close(self) -> Result<(), SinkFailure> {
        let Self { file, name, failed, .. } = self;
        match descriptor::close(file) {
            Err(error) if !failed => Err(SinkFailure::new(&name, &error)),
            Ok(()) | Err(_) => Ok(()),
        }
    }
}

impl SinkFailure {
    fn new(name: &str, error: &io::Error) -> Self {
        let closed = error.kind() == ErrorKind::BrokenPipe;
        Self { why: (!closed).then(|| format!("{name}: {error}")) }
    }
}

impl AsFd for OutputSink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.file.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;
    use std::io::Read;

    fn sink() -> (OutputSink, File) {
        let (read, write) = descriptor::pipe().unwrap();
        (OutputSink::new(write, "the test"), read.into())
    }

    /// All bytes that `sink` writes.
    fn written(mut sink: OutputSink, mut read: File) -> String {
        while !sink.is_empty() {
            sink.write_some().unwrap();
        }
        sink.close().unwrap();
        let mut out = String::new();
        read.read_to_string(&mut out).unwrap();
        out
    }

    #[test]
    fn a_line_in_pieces_has_one_prefix() {
        let (mut sink, read) = sink();
        sink.push_lines(0, b"[0] ", b"name");
        sink.push_lines(0, b"[0] ", b"? ");
        sink.push_lines(0, b"[0] ", b"me\n\nx");
        assert_eq!(written(sink, read), "[0] name? me\n[0] \n[0] x");
    }

    #[test]
    fn an_interrupted_line_continues_with_its_prefix() {
        let (mut sink, read) = sink();
        sink.push_lines(0, b"[0] ", b"name? ");
        sink.push_lines(1, b"[1] ", b"x\n");
        sink.push_lines(0, b"[0] ", b"me");
        sink.end_lines_of(1);
        sink.end_lines_of(0);
        sink.end_lines_of(0);
        assert_eq!(written(sink, read), "[0] name? \n[1] x\n[0] me\n");
    }

    #[test]
    fn a_failed_sink_reports_it_once_and_drops_the_rest() {
        let (mut sink, read) = sink();
        drop(read);
        sink.push(b"x");
        assert_eq!(sink.write_some().unwrap_err().why, None);
        sink.push(b"y");
        assert!(sink.is_empty() && sink.is_failed());
        assert!(sink.close().is_ok());
    }

    #[test]
    fn whole_lines_are_written_and_the_rest_of_a_part_is_known() {
        let (mut sink, read) = sink();
        let other = OutputSink::new(sink.file.try_clone().unwrap(), "the same");
        assert!(sink.is_same_file(&other));
        sink.push(b"one\ntwo");
        sink.write_some().unwrap();
        assert_eq!((sink.queue.len(), sink.is_in_line()), (3, false));
        sink.push(&[b'x'; WRITE_BYTES]);
        sink.write_some().unwrap();
        assert!(!sink.is_empty() && !sink.is_in_line());
        sink.push(b"\n");
        assert!(sink.is_in_line());
        let mut bytes = [0; WRITE_BYTES];
        (&read).read_exact(&mut bytes[..32]).unwrap();
        assert!(bytes.starts_with(b"one\ntwoxx"));
    }

    #[test]
    fn a_full_disk_is_named() {
        let full = File::options().write(true).open("/dev/full").unwrap();
        let mut sink = OutputSink::new(full, "that file");
        sink.push(b"x");
        let why = sink.write_some().unwrap_err().why.unwrap();
        assert!(why.starts_with("that file: No space left"), "{why}");
    }

    proptest! {
        #[test]
        fn every_line_has_one_prefix(
            pieces in proptest::collection::vec((0..3_u64, "[a\n]{0,5}"), 0..20)
        ) {
            let (mut sink, read) = sink();
            let mut expected = [const { String::new() }; 3];
            for (writer, piece) in &pieces {
                sink.push_lines(*writer, format!("{writer}>").as_bytes(), piece.as_bytes());
                expected[*writer as usize] += piece;
            }
            sink.end_line();
            let mut lines = [const { String::new() }; 3];
            for line in written(sink, read).lines() {
                let (writer, text) = line.split_once('>').unwrap();
                prop_assert!(!text.contains('>'));
                lines[writer.parse::<usize>().unwrap()] += text;
            }
            prop_assert_eq!(lines, expected.map(|text| text.replace('\n', "")));
        }
    }
}
