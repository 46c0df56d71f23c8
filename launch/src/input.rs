//! The ranks that read the launcher's standard input.
//!
//! ```text
//!   one rank:      standard input --(the descriptor itself)--> rank
//!   several:       standard input --> window --> pipe --> rank   (each with its own position)
//!   the others:    /dev/null
//! ```
//!
//! A regular file is opened once for each of several ranks. Other input is copied by the launcher:
//! it reads more when one rank has read everything, and keeps at most a window of bytes for slower
//! ranks. With a full window, fast ranks wait for the slowest. If a rank reads nothing for
//! [`SLOW_READER_TIMEOUT`] while others wait, its input is closed.
//!
//! [`InputWindow`] is a value without I/O.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::sys::descriptor;
use platform::sys::poll::PollSet;

use super::{LaunchError, USAGE};
use crate::command_line::plan::RankSet;

const WINDOW_BYTES: usize = 64 << 20;

const READ_BYTES: usize = 64 * 1024;

/// The time that fast ranks wait for a rank that reads nothing.
const SLOW_READER_TIMEOUT: Duration = Duration::from_secs(5);

/// The ranks that read standard input. Each of several ranks gets a copy.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Input(RankSet);

impl Default for Input {
    /// Rank 0.
    fn default() -> Self {
        Self(RankSet::Ranges(vec![(0, 0)]))
    }
}

impl Input {
    /// `--stdin word` and `-s word`: `all`, `none`, or ranks such as `0,2-4`.
    ///
    /// # Errors
    /// Any other word.
    pub(crate) fn parse(word: &str) -> Result<Self, LaunchError> {
        let ranks = match word {
            "none" => Some(RankSet::Ranges(Vec::new())),
            ranks => RankSet::parse(ranks),
        };
        let why = || format!("--stdin {word}: expected all, none, or ranks such as 0,2-4");
        ranks.map(Self).ok_or_else(|| LaunchError::new(USAGE, why()))
    }

    /// Whether `rank` reads standard input.
    pub(crate) fn is_for(&self, rank: u32) -> bool {
        self.0.contains(rank)
    }

    /// Checks that all ranks are below `size`.
    ///
    /// # Errors
    /// A rank is not.
    pub(crate) fn check(&self, size: u32) -> Result<(), LaunchError> {
        let RankSet::Ranges(ranges) = &self.0 else { return Ok(()) };
        match ranges.iter().map(|(_, last)| *last).find(|last| *last >= size) {
            Some(rank) => {
                let why = format!("--stdin {rank}: the highest rank is {}", size - 1);
                Err(LaunchError::new(USAGE, why))
            }
            None => Ok(()),
        }
    }
}

/// A descriptor of [`Feed`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(crate) enum InputReady {
    Source,
    /// The pipe of this reader.
    Reader(usize),
}

/// Passes standard input to the ranks.
#[derive(Debug)]
pub(crate) struct Feed {
    input: Input,
    source: InputSource,
    null_input: OwnedFd,
    readers: Vec<InputReader>,
    window: InputWindow,
}

#[derive(Debug)]
enum InputSource {
    /// No rank reads it any more.
    Closed,
    /// One rank gets the descriptor.
    One(OwnedFd),
    /// A file that is opened for each rank.
    Regular(OwnedFd),
    /// Input that is copied to several ranks.
    Copied(File),
    /// The input has ended; copies are not complete.
    Ended,
}

#[derive(Debug)]
struct InputReader {
    rank: u32,
    /// The read end, until the rank starts: on another host that is later than on this one.
    read_end: Option<OwnedFd>,
    /// `None` once the input of this rank is closed.
    pipe: Option<File>,
}

impl Feed {
    /// Passes `stdin` to those of `size` ranks that `input` names.
    pub(crate) fn new(input: Input, stdin: OwnedFd, size: u32) -> io::Result<Self> {
        let source = match (0..size).filter(|rank| input.is_for(*rank)).count() {
            0 => InputSource::Closed,
            1 => InputSource::One(stdin),
            _ if descriptor::reopen_for_reading(&stdin).is_some() => InputSource::Regular(stdin),
            _ => InputSource::Copied(stdin.into()),
        };
        let null_input = File::open("/dev/null")?.into();
        let (readers, window) = (Vec::new(), InputWindow::default());
        let mut feed = Self { input, source, null_input, readers, window };
        if matches!(feed.source, InputSource::Copied(_)) {
            (0..size).try_for_each(|rank| feed.add_reader(rank))?;
        }
        Ok(feed)
    }

    /// Makes the pipe of `rank`, if it reads.
    fn add_reader(&mut self, rank: u32) -> io::Result<()> {
        if self.input.is_for(rank) {
            let (read, write) = descriptor::pipe()?;
            descriptor::set_nonblocking(&write)?;
            let (read_end, pipe) = (Some(read), Some(write.into()));
            self.readers.push(InputReader { rank, read_end, pipe });
            self.window.add_reader();
        }
        Ok(())
    }

    /// The standard input for `rank`, before its start.
    pub(crate) fn of_rank(&mut self, rank: u32) -> io::Result<OwnedFd> {
        if !self.input.is_for(rank) {
            return self.null_input.try_clone();
        }
        if let Some(reader) = self.readers.iter_mut().find(|reader| reader.rank == rank) {
            return reader.read_end.take().ok_or_else(|| ErrorKind::NotConnected.into());
        }
        match std::mem::replace(&mut self.source, InputSource::Closed) {
            InputSource::Closed | InputSource::Ended | InputSource::Copied(_) => {
                self.null_input.try_clone()
            }
            InputSource::One(stdin) => Ok(stdin),
            InputSource::Regular(stdin) => {
                let file = descriptor::reopen_for_reading(&stdin);
                self.source = InputSource::Regular(stdin);
                file.map(OwnedFd::from).ok_or_else(|| ErrorKind::PermissionDenied.into())
            }
        }
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(crate) fn interests<'a, Token: std::marker::Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(InputReady) -> Token,
    ) {
        if let InputSource::Copied(source) = &self.source
            && self.window.wants_more()
        {
            set.add_read(source.as_fd(), token(InputReady::Source));
        }
        for (number, copy) in self.readers.iter().enumerate() {
            if let Some(pipe) = &copy.pipe
                && !self.window.is_read_by(number)
            {
                set.add_write(pipe.as_fd(), token(InputReady::Reader(number)));
            }
        }
    }

    /// The time to call [`Feed::drop_slow_readers`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        self.window.waiting_since.map(|since| since + SLOW_READER_TIMEOUT)
    }

    /// Reads or writes a ready descriptor.
    pub(crate) fn handle(&mut self, ready: InputReady, now: Instant) {
        match ready {
            InputReady::Source => self.read(now),
            InputReady::Reader(number) => self.write(number, now),
        }
    }

    /// Closes the input of ranks that read nothing while others wait; these ranks.
    pub(crate) fn drop_slow_readers(&mut self, now: Instant) -> Vec<u32> {
        if self.deadline().is_none_or(|at| at > now) {
            return Vec::new();
        }
        let slowest = self.window.slowest();
        for number in &slowest {
            self.end(*number, now);
        }
        slowest.into_iter().map(|number| self.readers[number].rank).collect()
    }

    fn read(&mut self, now: Instant) {
        let InputSource::Copied(source) = &mut self.source else { return };
        let mut buffer = vec![0; READ_BYTES];
        match source.read(&mut buffer) {
            Ok(count) if count > 0 => self.window.push(&buffer[..count], now),
            Err(error) if descriptor::is_transient(&error) => {}
            Ok(_) | Err(_) => {
                self.source = InputSource::Ended;
                for number in 0..self.readers.len() {
                    self.end_if_read(number, now);
                }
            }
        }
    }

    fn write(&mut self, number: usize, now: Instant) {
        let Some(pipe) = &mut self.readers[number].pipe else { return };
        match pipe.write(self.window.unread_by(number)) {
            Ok(count) => {
                self.window.take(number, count, now);
                self.end_if_read(number, now);
            }
            Err(error) if descriptor::is_transient(&error) => {}
            Err(_) => self.end(number, now),
        }
    }

    fn end_if_read(&mut self, number: usize, now: Instant) {
        if matches!(self.source, InputSource::Ended) && self.window.is_read_by(number) {
            self.end(number, now);
        }
    }

    fn end(&mut self, number: usize, now: Instant) {
        self.readers[number].pipe = None;
        self.window.remove_reader(number, now);
    }
}

/// The part of a stream that some readers have not read.
///
/// ```text
///      start                               start + bytes.len()
///        |--------------- bytes ----------------|
///     slowest reader      ...             fastest reader
/// ```
#[derive(Debug, Default)]
struct InputWindow {
    bytes: VecDeque<u8>,
    /// Position of `bytes` in the stream.
    start: u64,
    /// The position of each reader; `None` once its input is closed.
    positions: Vec<Option<u64>>,
    /// The window is full, others wait, and the slowest readers have read nothing since then.
    waiting_since: Option<Instant>,
}

impl InputWindow {
    /// Adds a reader at the beginning.
    fn add_reader(&mut self) {
        self.positions.push(Some(0));
    }

    /// Whether a reader has read everything and the window is not full.
    fn wants_more(&self) -> bool {
        !self.is_full() && self.is_waited_for()
    }

    /// The readers that have read least.
    fn slowest(&self) -> Vec<usize> {
        let positions = self.positions.iter().enumerate();
        positions
            .filter(|(_, position)| **position == Some(self.start))
            .map(|(number, _)| number)
            .collect()
    }

    fn push(&mut self, bytes: &[u8], now: Instant) {
        self.bytes.extend(bytes);
        self.discard_read(now);
    }

    /// Whether this reader has read everything.
    fn is_read_by(&self, number: usize) -> bool {
        self.positions[number].is_none_or(|position| position == self.end())
    }

    /// The next bytes for this reader; possibly only a part.
    fn unread_by(&self, number: usize) -> &[u8] {
        let (front, back) = self.bytes.as_slices();
        let skip = self.positions[number]
            .map_or(self.bytes.len(), |position| (position - self.start) as usize);
        front
            .get(skip..)
            .filter(|rest| !rest.is_empty())
            .unwrap_or_else(|| &back[skip - front.len()..])
    }

    /// This reader has read `count` bytes.
    fn take(&mut self, number: usize, count: usize, now: Instant) {
        if let Some(position) = &mut self.positions[number] {
            *position += count as u64;
        }
        self.discard_read(now);
    }

    fn remove_reader(&mut self, number: usize, now: Instant) {
        self.positions[number] = None;
        self.discard_read(now);
    }

    /// Discards the bytes that all have read.
    fn discard_read(&mut self, now: Instant) {
        let slowest = self.positions.iter().flatten().min().copied().unwrap_or(self.end());
        let read = (slowest - self.start) as usize;
        self.bytes.drain(..read);
        self.start = slowest;
        let before = self.waiting_since.filter(|_| read == 0);
        let waiting = self.is_full() && self.is_waited_for();
        self.waiting_since = waiting.then_some(before.unwrap_or(now));
    }

    fn is_full(&self) -> bool {
        self.bytes.len() >= WINDOW_BYTES
    }

    fn is_waited_for(&self) -> bool {
        self.positions.iter().any(|position| *position == Some(self.end()))
    }

    fn end(&self) -> u64 {
        self.start + self.bytes.len() as u64
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn words_name_ranks() {
        for (word, expected) in [
            ("all", Input(RankSet::All)),
            ("none", Input(RankSet::Ranges(vec![]))),
            ("0", Input::default()),
            ("1,3-4", Input(RankSet::Ranges(vec![(1, 1), (3, 4)]))),
        ] {
            assert_eq!(Input::parse(word), Ok(expected));
        }
        for word in ["", "some", "-1", "2-1", "1,", "1;2"] {
            assert!(Input::parse(word).unwrap_err().why.contains("all, none, or ranks"), "{word}");
        }
        let some = Input::parse("1-3").unwrap();
        assert!(some.check(4).is_ok() && Input(RankSet::All).check(1).is_ok());
        assert!(some.check(3).unwrap_err().why.contains("--stdin 3: the highest rank is 2"));
    }

    #[test]
    fn a_rank_that_starts_later_gets_everything() {
        let (stdin, mut typed) =
            descriptor::pipe().map(|(read, write)| (read, File::from(write))).unwrap();
        let mut feed = Feed::new(Input::parse("0,2").unwrap(), stdin, 3).unwrap();
        let now = Instant::now();
        let mut early = File::from(feed.of_rank(0).unwrap());
        typed.write_all(b"one").unwrap();
        feed.handle(InputReady::Source, now);
        feed.handle(InputReady::Reader(0), now);
        let mut late = File::from(feed.of_rank(2).unwrap());
        drop(typed);
        feed.handle(InputReady::Reader(1), now);
        feed.handle(InputReady::Source, now);
        for file in [&mut early, &mut late] {
            let mut text = String::new();
            file.read_to_string(&mut text).unwrap();
            assert_eq!(text, "one");
        }
        assert_eq!(File::from(feed.of_rank(1).unwrap()).read(&mut [0; 9]).unwrap(), 0);
    }

    #[test]
    fn each_reader_has_its_own_position() {
        let (mut window, now) = (InputWindow::default(), Instant::now());
        window.add_reader();
        window.add_reader();
        assert!(window.wants_more());
        window.push(b"abc", now);
        assert!(!window.wants_more());
        window.take(1, 3, now);
        window.push(b"de", now);
        window.take(0, 1, now);
        assert_eq!((window.bytes.len(), window.start), (4, 1));
        assert_eq!((window.unread_by(0), window.unread_by(1)), (&b"bcde"[..], &b"de"[..]));
        window.take(1, 2, now);
        assert!(window.is_read_by(1) && window.unread_by(1).is_empty());
        window.remove_reader(0, now);
        assert!(window.bytes.is_empty() && window.wants_more());
        window.remove_reader(1, now);
        assert!(!window.wants_more());
    }

    #[test]
    fn a_window_that_wraps_loses_nothing() {
        let (mut window, now) = (InputWindow::default(), Instant::now());
        window.add_reader();
        let (mut sent, mut seen) = (Vec::new(), Vec::new());
        for round in 0..200_u8 {
            let bytes = vec![round; usize::from(round) % 7 + 1];
            window.push(&bytes, now);
            sent.extend(bytes);
            let some = window.unread_by(0)[..1].to_vec();
            window.take(0, 1, now);
            seen.extend(some);
        }
        while !window.is_read_by(0) {
            let some = window.unread_by(0).to_vec();
            window.take(0, some.len(), now);
            seen.extend(some);
        }
        assert!(seen == sent);
    }

    #[test]
    fn a_full_window_makes_the_fast_wait_for_the_slow_that_read() {
        let (mut window, start) = (InputWindow::default(), Instant::now());
        window.add_reader();
        window.add_reader();
        window.push(&vec![1; WINDOW_BYTES], start);
        assert_eq!((window.wants_more(), window.waiting_since), (false, None));
        let later = start + SLOW_READER_TIMEOUT;
        window.take(0, WINDOW_BYTES, later);
        assert_eq!((window.waiting_since, window.slowest()), (Some(later), vec![1]));
        assert!(!window.wants_more());
        window.take(1, 1, later);
        assert!(window.waiting_since.is_none() && window.wants_more());
        window.push(b"xy", later);
        window.take(0, 2, later);
        assert_eq!(window.waiting_since, Some(later));
        window.take(1, 1, later + SLOW_READER_TIMEOUT);
        assert_eq!(window.waiting_since, Some(later + SLOW_READER_TIMEOUT));
        window.remove_reader(1, later);
        assert!(window.wants_more() && window.bytes.is_empty());
    }
}
