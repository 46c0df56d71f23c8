//! Routes of output: from the pipes of all ranks to the terminal and to files.

use std::borrow::Cow;
use std::collections::hash_map::Entry;
use std::collections::{BTreeSet, HashMap, VecDeque};
use std::ffi::{OsStr, OsString};
use std::fs::{self, File};
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::{OsStrExt, OsStringExt};
use std::path::{Path, PathBuf};
use std::time::{Duration, Instant, SystemTime};

use platform::bootstrap::JobHosts;
use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::ready_set::{Interest, Polled, ReadySet};

use super::OutputStream;
use super::line_buffer::LineBuffer;
use super::options::OutputOptions;
use super::pattern::{LinePrefix, OutputOrigin, OutputPattern};
use super::sink::{OutputSink, SinkFailure};
use crate::control::{CreditWindow, window_bytes};

/// The time without output after which processes that ended ranks left are ended, and the longest
/// time that they may write, without the time in which an output accepted nothing.
const LEFTOVERS_QUIET_TIMEOUT: Duration = Duration::from_secs(2);
const LEFTOVERS_TIMEOUT: Duration = Duration::from_secs(30);

/// A full output that accepts nothing for longer keeps its writers waiting.
const STALL: Duration = Duration::from_millis(100);

const READ_BYTES: usize = 64 * 1024;

/// A descriptor of [`Streams`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(crate) enum OutputReady {
    /// Pipes of ranks.
    Sources,
    /// The sink with this index.
    Sink(usize),
}

/// Name, hosts and size of a job.
#[derive(Clone, Debug)]
pub(crate) struct JobIdentity {
    pub name: String,
    pub hosts: JobHosts,
    /// Number of ranks.
    pub size: u32,
}

/// All pipes, buffers and sinks of a job.
#[derive(Debug)]
pub(crate) struct Streams {
    job: JobIdentity,
    prefix: Option<OutputPattern>,
    /// Partial lines are written at once.
    is_unbuffered: bool,
    /// The launcher's standard output and error, then files.
    sinks: Vec<OutputSink>,
    /// Standard output and error are the same file.
    is_one_terminal: bool,
    /// The sinks of each stream of each rank.
    sinks_by_rank: Vec<[Vec<usize>; 2]>,
    sources: Vec<[Option<OutputSource>; 2]>,
    /// The pipes of the ranks.
    ready: ReadySet,
    /// The keys of streams that wait for a full sink, in the order in which they are served.
    waiting: VecDeque<u64>,
    /// The keys of streams with a partial line.
    partial: BTreeSet<u64>,
    /// The time of the last write.
    written_at: Instant,
    /// The time of the last byte from a rank.
    read_at: Instant,
    /// Credit to send to the agents of other hosts.
    grants: Vec<OutputGrant>,
    /// The time that ranks have waited for a full sink, as far as it was longer than [`STALL`].
    stalled: Duration,
}

/// One stream of a rank.
#[derive(Debug)]
struct OutputSource {
    end: SourceEnd,
    lines: LineBuffer,
    destinations: LineDestinations,
    /// It waits for a full sink.
    waits: bool,
}

/// Where the bytes of a stream come from.
#[derive(Debug)]
enum SourceEnd {
    Pipe(Polled<File>),
    Agent(ReceivedOutput),
}

/// Bytes of a rank of another host that no sink has taken.
#[derive(Debug)]
struct ReceivedOutput {
    queue: VecDeque<u8>,
    window: CreditWindow,
    /// Nothing follows.
    has_ended: bool,
}

/// The agent of a rank may send more of a stream.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct OutputGrant {
    pub rank: u32,
    pub stream: OutputStream,
    pub bytes: u32,
}

/// Sinks and prefix of one stream.
#[derive(Debug)]
struct LineDestinations {
    writer: u64,
    prefix: Option<LinePrefix>,
    sinks: Vec<usize>,
}

impl Streams {
    /// The streams of `job` without files; `terminals` are the launcher's standard output and error.
    pub(crate) fn new(
        form: &OutputOptions, job: JobIdentity, terminals: [OwnedFd; 2], now: Instant,
    ) -> Self {
        let [output, error] = terminals;
        let sinks = vec![
            OutputSink::new(output, "standard output"),
            OutputSink::new(error, "standard error"),
        ];
        let prefix = form.prefix();
        Self {
            // The lines of one rank cannot mix.
            is_unbuffered: form.raw || (job.size == 1 && prefix.is_none()),
            sinks_by_rank: Vec::with_capacity(job.size as usize),
            sources: (0..job.size).map(|_| [None, None]).collect(),
            job,
            prefix,
            is_one_terminal: sinks[0].is_same_file(&sinks[1]),
            sinks,
            ready: ReadySet::default(),
            waiting: VecDeque::new(),
            partial: BTreeSet::new(),
            written_at: now,
            read_at: now,
            grants: Vec::new(),
            stalled: Duration::ZERO,
        }
    }

    /// Opens the files for all ranks whose output comes here; the ranks are on `hosts`. Called once, before
    /// a rank starts.
    ///
    /// # Errors
    /// Names the file that cannot be made.
    pub(crate) fn open_files(
        &mut self, form: &OutputOptions, hosts: JobHosts, comes_here: impl Fn(u32) -> bool,
    ) -> io::Result<()> {
        self.job.hosts = hosts;
        let mut files = HashMap::new();
        for rank in 0..self.job.size {
            if !comes_here(rank) {
                self.sinks_by_rank.push([Vec::new(), Vec::new()]);
                continue;
            }
            let [output, error] = OutputStream::BOTH.map(|stream| {
                if form.only.is_some_and(|only| only != rank) {
                    return Ok(Vec::new());
                }
                let file = form.file(stream).map(|name| self.job.path(name, rank, stream));
                let file = file.map(|path| self.open_once(path, &mut files)).transpose()?;
                let terminal = form.destination_of(stream) as usize;
                let terminal = form.reaches_terminal(stream).then_some(terminal);
                Ok::<_, io::Error>(terminal.into_iter().chain(file).collect())
            });
            self.sinks_by_rank.push([output?, error?]);
        }
        Ok(())
    }

    /// `rank` has started as `process`; `pipes` are its output streams, nonblocking (only the first
    /// if both share it).
    ///
    /// # Errors
    /// The system cannot poll so many.
    pub(crate) fn add(
        &mut self, rank: u32, process: u32, pipes: [Option<OwnedFd>; 2],
    ) -> io::Result<()> {
        for (stream, pipe) in OutputStream::BOTH.into_iter().zip(pipes) {
            if let Some(pipe) = pipe {
                let mut pipe = self.ready.add(File::from(pipe), stream.key(rank))?;
                pipe.wait_for(Interest::READ)?;
                self.add_source(rank, process, stream, SourceEnd::Pipe(pipe));
            }
        }
        Ok(())
    }

    /// `rank` has started as `process` on another host; the bytes of these streams come to
    /// [`Streams::receive`].
    pub(crate) fn add_remote(&mut self, rank: u32, process: u32, streams: &[OutputStream]) {
        let window = CreditWindow::new(window_bytes(self.job.size));
        for stream in streams {
            let (queue, has_ended) = (VecDeque::new(), false);
            let end = SourceEnd::Agent(ReceivedOutput { queue, window, has_ended });
            self.add_source(rank, process, *stream, end);
        }
    }

    fn add_source(&mut self, rank: u32, process: u32, stream: OutputStream, end: SourceEnd) {
        let origin = self.job.origin(rank, process, stream);
        self.sources[rank as usize][stream as usize] = Some(OutputSource {
            end,
            lines: LineBuffer::default(),
            destinations: LineDestinations {
                writer: stream.key(rank),
                prefix: self.prefix.as_ref().map(|prefix| prefix.of(&origin)),
                sinks: self.sinks_by_rank[rank as usize][stream as usize].clone(),
            },
            waits: false,
        });
    }

    /// Bytes of a rank of another host; no bytes are the end of the stream. Whether the sender had
    /// credit for them; if not, they are dropped.
    pub(crate) fn receive(
        &mut self, rank: u32, stream: OutputStream, bytes: &[u8], now: Instant,
    ) -> bool {
        let source = self.sources[rank as usize][stream as usize].as_mut();
        let Some(OutputSource { end: SourceEnd::Agent(received), .. }) = source else {
            // The output of this job has been given up.
            return true;
        };
        if received.has_ended || !received.window.receive(bytes.len()) {
            return false;
        }
        received.has_ended = bytes.is_empty();
        received.queue.extend(bytes);
        self.pass_received(rank as usize, stream, now);
        true
    }

    /// The agent of this rank of another host is lost: no more bytes of the rank arrive.
    pub(crate) fn lose(&mut self, rank: u32, now: Instant) {
        for stream in OutputStream::BOTH {
            let source = self.sources[rank as usize][stream as usize].as_mut();
            if let Some(OutputSource { end: SourceEnd::Agent(received), .. }) = source {
                received.has_ended = true;
            }
            self.pass_received(rank as usize, stream, now);
        }
    }

    /// Credit to send to the agents of other hosts.
    pub(crate) fn take_grants(&mut self) -> Vec<OutputGrant> {
        std::mem::take(&mut self.grants)
    }

    /// Passes what an agent has sent to sinks that are not full.
    fn pass_received(&mut self, rank: usize, stream: OutputStream, now: Instant) {
        while !self.is_blocked(rank, stream) {
            let source = self.sources[rank][stream as usize].as_mut();
            let Some(OutputSource { end: SourceEnd::Agent(received), .. }) = source else { return };
            if received.queue.is_empty() {
                if received.has_ended {
                    self.end(rank, stream);
                }
                return;
            }
            let count = received.queue.len().min(READ_BYTES);
            let bytes: Vec<u8> = received.queue.drain(..count).collect();
            let grant = received.window.pass_on(count);
            let grant = grant.map(|bytes| OutputGrant { rank: rank as u32, stream, bytes });
            self.grants.extend(grant);
            self.push(rank, stream, &bytes, now);
        }
        self.wait(rank, stream);
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(crate) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(OutputReady) -> Token,
    ) {
        let waiting = |(number, sink): &(usize, &OutputSink)| {
            !sink.is_empty() && !self.interrupts_line(*number)
        };
        for (number, sink) in self.sinks.iter().enumerate().filter(waiting) {
            set.add_write(sink.as_fd(), token(OutputReady::Sink(number)));
        }
        if let Some(ready) = self.ready.fd() {
            set.add_read(ready, token(OutputReady::Sources));
        }
    }

    /// Reads or writes a ready descriptor.
    ///
    /// # Errors
    /// A sink failed.
    pub(crate) fn handle(&mut self, ready: OutputReady, now: Instant) -> Result<(), SinkFailure> {
        match ready {
            OutputReady::Sources => {
                for ready in self.ready.take() {
                    let (rank, stream) = OutputStream::of_key(ready.token);
                    self.read_or_wait(rank, stream, now)?;
                }
                Ok(())
            }
            OutputReady::Sink(number) => self.write(number, now),
        }
    }

    /// The time to call [`Streams::flush_overdue`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        let partial = self.partial.iter().map(|key| OutputStream::of_key(*key));
        let sources =
            partial.filter_map(|(rank, stream)| self.sources[rank][stream as usize].as_ref());
        let waiting = sources.filter(|source| !source.destinations.are_full(&self.sinks));
        waiting.filter_map(|source| source.lines.deadline()).min()
    }

    /// Writes partial lines that have timed out.
    pub(crate) fn flush_overdue(&mut self, now: Instant) {
        let partial: Vec<_> = self.partial.iter().map(|key| OutputStream::of_key(*key)).collect();
        for (rank, stream) in partial {
            // If this process was delayed, the line end may already be in the pipe.
            if self.is_overdue(rank, stream, now)
                && self.read(rank, stream, now).is_none_or(|()| self.is_overdue(rank, stream, now))
                && let Some(source) = &mut self.sources[rank][stream as usize]
            {
                source.lines.flush(source.destinations.line_writer(&mut self.sinks));
                self.partial.remove(&stream.key(rank as u32));
            }
        }
    }

    /// Reads the rest of all pipes, when no process is left. The agents of other hosts send the rest, and
    /// its end.
    pub(crate) fn drain(&mut self, now: Instant) {
        for rank in 0..self.sources.len() {
            for stream in OutputStream::BOTH {
                self.pass_received(rank, stream, now);
                while !self.is_blocked(rank, stream) && self.read(rank, stream, now).is_some() {}
                if !self.is_blocked(rank, stream) && !self.is_received(rank, stream) {
                    self.end(rank, stream);
                }
            }
        }
    }

    /// Whether all output has been written.
    pub(crate) fn are_empty(&self) -> bool {
        self.sources.iter().flatten().all(Option::is_none)
            && self.sinks.iter().all(OutputSink::is_empty)
    }

    /// The time at which no output has been accepted for `timeout`; may be in the past. `None` if
    /// no output waits.
    pub(crate) fn drain_deadline(&self, timeout: Duration) -> Option<Instant> {
        let waits = self.sinks.iter().any(|sink| !sink.is_empty());
        waits.then_some(self.written_at + timeout)
    }

    /// The time at which processes that the ranks left, all of which ended at `ranks_ended`, no
    /// longer may write. `None` once all pipes of the ranks have ended.
    pub(crate) fn leftovers_deadline(&self, ranks_ended: Instant, now: Instant) -> Option<Instant> {
        if self.sources.iter().flatten().all(Option::is_none) {
            return None;
        }
        let longest = ranks_ended + LEFTOVERS_TIMEOUT + self.stalled;
        if self.sinks.iter().any(OutputSink::is_full) {
            return Some(longest + self.stall(now));
        }
        let active = ranks_ended.max(self.read_at).max(self.written_at);
        Some(longest.min(active + LEFTOVERS_QUIET_TIMEOUT))
    }

    /// The time since the last write, if it is long.
    fn stall(&self, now: Instant) -> Duration {
        let waited = now.saturating_duration_since(self.written_at);
        if waited > STALL { waited } else { Duration::ZERO }
    }

    /// Drops the output that no sink has accepted; one sentence for each sink.
    pub(crate) fn give_up(&mut self) -> Vec<String> {
        let mut lost: Vec<_> = self.sinks.iter_mut().map(OutputSink::give_up).collect();
        for source in self.sources.iter_mut().flatten().filter_map(Option::take) {
            let unread = match &source.end {
                SourceEnd::Pipe(pipe) => descriptor::unread(pipe.get()).max(0) as usize,
                SourceEnd::Agent(received) => received.queue.len(),
            };
            let bytes = source.lines.len_bytes() + unread;
            source.destinations.sinks.iter().for_each(|sink| lost[*sink] += bytes);
        }
        let lost = self.sinks.iter().zip(lost).filter(|(_, bytes)| *bytes > 0);
        let line = |(sink, bytes): (&OutputSink, usize)| {
            format!("{bytes} bytes are lost: {} did not accept them in time", sink.name())
        };
        lost.map(line).collect()
    }

    /// Writes what the launcher's own outputs accept without waiting.
    ///
    /// # Errors
    /// The error of poll(2).
    pub(crate) fn write_now(&mut self) -> io::Result<()> {
        loop {
            let mut set = PollSet::default();
            for (number, sink) in self.sinks.iter().enumerate().filter(|(_, sink)| !sink.is_empty())
            {
                set.add_write(sink.as_fd(), number);
            }
            let ready = set.wait(Some(Duration::ZERO))?;
            if ready.is_empty() {
                return Ok(());
            }
            for number in ready {
                // The job has ended; nothing can be done about a further failure.
                let _ = self.sinks[number].write_some();
            }
        }
    }

    /// The job is being ended: the timeout for its remaining output begins at `now`.
    pub(crate) fn restart_drain_timeout(&mut self, now: Instant) {
        self.written_at = now;
    }

    /// Whether what may print many lines by [`Streams::print_line`] need not wait.
    pub(crate) fn takes_lines(&self) -> bool {
        !self.sinks[self.line_sink()].is_full()
    }

    /// Prints a line of the launcher on standard error, or on standard output if that failed.
    pub(crate) fn print_line(&mut self, line: &str, now: Instant) {
        self.written_at = now;
        let terminal = self.line_sink();
        self.sinks[terminal].end_line();
        self.sinks[terminal].push(format!("{line}\n").as_bytes());
    }

    fn line_sink(&self) -> usize {
        usize::from(!self.sinks[1].is_failed())
    }

    /// Prints `table` on standard output (`-`), standard error (`+`), or to a new file.
    ///
    /// # Errors
    /// The file cannot be made.
    pub(crate) fn print_table(&mut self, destination: &OsStr, table: &[u8]) -> io::Result<()> {
        let number = match destination.as_bytes() {
            b"-" => 0,
            b"+" => 1,
            _ => self.open_once(destination.into(), &mut HashMap::new())?,
        };
        self.sinks[number].end_line();
        self.sinks[number].push(table);
        Ok(())
    }

    /// Closes all files.
    ///
    /// # Errors
    /// The system has not stored all bytes of a file.
    pub(crate) fn close(self) -> io::Result<()> {
        for file in self.sinks.into_iter().skip(2) {
            if let Err(SinkFailure { why: Some(why) }) = file.close() {
                return Err(io::Error::other(format!("cannot write {why}")));
            }
        }
        Ok(())
    }

    /// The sink for the file at `path`.
    fn open_once(
        &mut self, path: PathBuf, files: &mut HashMap<PathBuf, usize>,
    ) -> io::Result<usize> {
        let number = match files.entry(path) {
            Entry::Occupied(known) => return Ok(*known.get()),
            Entry::Vacant(new) => {
                let name = new.key().display().to_string();
                let file = create(new.key()).map_err(|error| {
                    io::Error::new(error.kind(), format!("cannot write {name}: {error}"))
                })?;
                self.sinks.push(OutputSink::new(file, name));
                *new.insert(self.sinks.len() - 1)
            }
        };
        Ok(number)
    }

    /// Reads once; `None` if no data is available.
    fn read(&mut self, rank: usize, stream: OutputStream, now: Instant) -> Option<()> {
        let SourceEnd::Pipe(pipe) = &mut self.sources[rank][stream as usize].as_mut()?.end else {
            return None;
        };
        let mut buffer = [0; READ_BYTES];
        match pipe.get_mut().read(&mut buffer) {
            Ok(count) if count > 0 => {
                self.push(rank, stream, &buffer[..count], now);
                Some(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(_) | Err(_) => {
                self.end(rank, stream);
                None
            }
        }
    }

    fn push(&mut self, rank: usize, stream: OutputStream, bytes: &[u8], now: Instant) {
        let Some(source) = &mut self.sources[rank][stream as usize] else { return };
        self.read_at = now;
        let mut pass = source.destinations.line_writer(&mut self.sinks);
        source.lines.push(bytes, now, &mut pass);
        if self.is_unbuffered {
            source.lines.flush(pass);
        }
        let key = stream.key(rank as u32);
        match source.lines.len_bytes() {
            0 => self.partial.remove(&key),
            _ => self.partial.insert(key),
        };
    }

    /// Whether a write to this sink would come into a line of another sink for the same file.
    fn interrupts_line(&self, number: usize) -> bool {
        self.is_one_terminal && number < 2 && self.sinks[1 - number].is_in_line()
    }

    fn write(&mut self, number: usize, now: Instant) -> Result<(), SinkFailure> {
        if self.interrupts_line(number) {
            return Ok(());
        }
        let stall = self.stall(now);
        let sink = &mut self.sinks[number];
        let was_full = sink.is_full();
        let written = sink.write_some();
        self.written_at = now;
        if was_full {
            self.stalled += stall;
        }
        if was_full && !sink.is_full() { written.and(self.resume(now)) } else { written }
    }

    /// Reads a pipe, unless a sink is full.
    fn read_or_wait(
        &mut self, rank: usize, stream: OutputStream, now: Instant,
    ) -> Result<(), SinkFailure> {
        if self.is_blocked(rank, stream) {
            self.wait(rank, stream);
            return self.wait_for(rank, stream, Interest::NONE);
        }
        self.read(rank, stream, now);
        self.wait_for(rank, stream, Interest::READ)
    }

    /// The stream is served again when a sink is no longer full, after those that wait already.
    fn wait(&mut self, rank: usize, stream: OutputStream) {
        let source = self.sources[rank][stream as usize].as_mut();
        if let Some(source) = source.filter(|source| !source.waits) {
            source.waits = true;
            self.waiting.push_back(stream.key(rank as u32));
        }
    }

    /// Serves streams that waited for a full sink, until it is full again.
    fn resume(&mut self, now: Instant) -> Result<(), SinkFailure> {
        for key in &self.partial {
            let (rank, stream) = OutputStream::of_key(*key);
            if let Some(source) = &mut self.sources[rank][stream as usize] {
                source.lines.restart(now);
            }
        }
        let mut others = VecDeque::new();
        for key in std::mem::take(&mut self.waiting) {
            let (rank, stream) = OutputStream::of_key(key);
            if self.is_blocked(rank, stream) {
                others.push_back(key);
                continue;
            }
            if let Some(source) = &mut self.sources[rank][stream as usize] {
                source.waits = false;
            }
            match self.is_received(rank, stream) {
                true => self.pass_received(rank, stream, now),
                false => self.read_or_wait(rank, stream, now)?,
            }
        }
        // Those that have been served come last.
        others.append(&mut self.waiting);
        self.waiting = others;
        Ok(())
    }

    fn wait_for(
        &mut self, rank: usize, stream: OutputStream, interest: Interest,
    ) -> Result<(), SinkFailure> {
        let source = self.sources[rank][stream as usize].as_mut();
        let Some(OutputSource { end: SourceEnd::Pipe(pipe), .. }) = source else { return Ok(()) };
        pipe.wait_for(interest).map_err(|error| SinkFailure {
            why: Some(format!("the output of rank {rank}: {error}")),
        })
    }

    fn is_overdue(&self, rank: usize, stream: OutputStream, now: Instant) -> bool {
        let source = self.sources[rank][stream as usize].as_ref();
        source.is_some_and(|source| {
            source.lines.deadline().is_some_and(|at| at <= now)
                && !source.destinations.are_full(&self.sinks)
        })
    }

    fn is_blocked(&self, rank: usize, stream: OutputStream) -> bool {
        let source = self.sources[rank][stream as usize].as_ref();
        source.is_some_and(|source| source.destinations.are_full(&self.sinks))
    }

    /// Whether more of this stream may arrive from an agent.
    fn is_received(&self, rank: usize, stream: OutputStream) -> bool {
        let source = self.sources[rank][stream as usize].as_ref();
        source.is_some_and(|source| matches!(source.end, SourceEnd::Agent(_)))
    }

    /// The pipe has been closed.
    fn end(&mut self, rank: usize, stream: OutputStream) {
        let Some(mut source) = self.sources[rank][stream as usize].take() else { return };
        self.partial.remove(&stream.key(rank as u32));
        source.lines.flush(source.destinations.line_writer(&mut self.sinks));
        for sink in &source.destinations.sinks {
            self.sinks[*sink].end_lines_of(source.destinations.writer);
        }
    }
}

impl JobIdentity {
    fn origin(&self, rank: u32, process: u32, stream: OutputStream) -> OutputOrigin<'_> {
        let host = self.hosts.name_of(rank);
        OutputOrigin { rank, size: self.size, host, job: &self.name, process, stream }
    }

    /// The file of `name` for a stream of `rank`.
    fn path(&self, name: &OutputPattern, rank: u32, stream: OutputStream) -> PathBuf {
        let bytes = name.of(&self.origin(rank, 0, stream)).at(seconds_since_1970()).into_owned();
        PathBuf::from(OsString::from_vec(bytes))
    }
}

impl LineDestinations {
    /// Queues bytes in all sinks of the stream.
    fn line_writer<'a>(&'a self, sinks: &'a mut [OutputSink]) -> impl FnMut(&[u8]) + 'a {
        let prefix: Option<Cow<'_, [u8]>> =
            self.prefix.as_ref().map(|prefix| prefix.at(seconds_since_1970()));
        move |bytes| {
            for number in &self.sinks {
                match &prefix {
                    Some(prefix) => sinks[*number].push_lines(self.writer, prefix, bytes),
                    None => sinks[*number].push(bytes),
                }
            }
        }
    }

    /// Whether one of the sinks is full.
    fn are_full(&self, sinks: &[OutputSink]) -> bool {
        self.sinks.iter().any(|number| sinks[*number].is_full())
    }
}

/// The file at `path`, emptied, with its parent directories.
fn create(path: &Path) -> io::Result<File> {
    if let Some(folder) = path.parent().filter(|folder| !folder.as_os_str().is_empty()) {
        fs::create_dir_all(folder).map_err(|error| {
            io::Error::new(error.kind(), format!("directory {}: {error}", folder.display()))
        })?;
    }
    descriptor::append_to_new(path)
}

fn seconds_since_1970() -> i64 {
    SystemTime::UNIX_EPOCH.elapsed().map_or(0, |since| since.as_secs() as i64)
}
