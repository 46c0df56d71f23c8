//! The standard streams of the ranks of a remote host, between their pipes and messages.
//!
//! Output is read while the head has room for it, and input comes while this value has room: see
//! [`StreamCredit`]. Files that are written on this host take output instead of the head. A rank that does not read, or output that nothing takes, makes only its own stream wait.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};
use std::time::Instant;

use platform::bootstrap::JobHosts;
use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::ready_set::{Interest, Polled, ReadySet};

use super::RankStreams;
use crate::control::{
    AgentCommand, AgentEvent, ControlLink, CreditWindow, HostShare, StreamCredit, window_bytes,
};
use crate::output::{JobIdentity, OutputReady, OutputStream, SinkFailure, Streams};

/// With more bytes on the way to the head, nothing is read: neither ranks nor agents below this one, so
/// that none waits for long while others are read.
pub(super) const QUEUE_BYTES: usize = 256 * 1024;

const READ_BYTES: usize = 64 * 1024;

/// The pipes of all ranks of a host.
#[derive(Debug, Default)]
pub(super) struct RankPipes {
    /// The ranks that read standard input.
    readers: Vec<u32>,
    /// Of each stream, in bytes.
    window: usize,
    inputs: Vec<InputPipe>,
    outputs: Vec<OutputPipe>,
    /// The output pipes, by their numbers.
    ready: ReadySet,
    /// The files of the ranks, if they are written here.
    files: Option<Streams>,
}

#[derive(Debug)]
struct InputPipe {
    rank: u32,
    /// `None` once the input of this rank is closed.
    pipe: Option<File>,
    pending: VecDeque<u8>,
    window: CreditWindow,
    /// No more input will come.
    has_ended: bool,
}

#[derive(Debug)]
struct OutputPipe {
    rank: u32,
    stream: OutputStream,
    credit: StreamCredit,
    /// `None` once it has ended, and the head knows.
    pipe: Option<Polled<File>>,
}

/// A pipe that became ready, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum PipeReady {
    Input(usize),
    Outputs,
    File(OutputReady),
}

impl RankPipes {
    /// Pipes for ranks, of which `readers` read standard input, of a job of `size` ranks.
    pub(super) fn new(readers: Vec<u32>, size: u32) -> Self {
        Self { readers, window: window_bytes(size), ..Self::default() }
    }

    /// Opens the files of the ranks of `share`, if they are written here.
    ///
    /// # Errors
    /// Names the file that cannot be made.
    pub(super) fn open_files(&mut self, share: &HostShare, now: Instant) -> io::Result<()> {
        let Some((form, host)) = &share.output else { return Ok(()) };
        let nothing = || File::options().write(true).open("/dev/null").map(OwnedFd::from);
        let hosts = JobHosts::one(host.clone());
        let job = JobIdentity { name: share.job.clone(), hosts: hosts.clone(), size: share.size };
        let mut files = Streams::new(form, job, [nothing()?, nothing()?], now);
        let is_here = |rank| share.ranks.iter().any(|share| share.rank == rank);
        files.open_files(form, hosts, is_here)?;
        self.files = Some(files);
        Ok(())
    }

    /// Writes partial lines to files that have timed out; the time to call this again.
    pub(super) fn flush_overdue(&mut self, now: Instant) -> Option<Instant> {
        let files = self.files.as_mut()?;
        files.flush_overdue(now);
        files.deadline()
    }

    /// Whether the files have all output of ended ranks.
    pub(super) fn are_written(&self) -> bool {
        self.files.as_ref().is_none_or(Streams::are_empty)
    }

    /// Writes what the files take, and closes them.
    pub(super) fn close_files(&mut self, link: &mut ControlLink<AgentCommand>) {
        let Some(mut files) = self.files.take() else { return };
        files.drain(Instant::now());
        if let Err(error) = files.write_now().and_then(|()| files.close()) {
            let why = error.to_string();
            let why = why.strip_prefix("cannot write ").unwrap_or(&why).to_owned();
            link.send(&AgentEvent::OutputLost { why: Some(why) });
        }
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, link: &ControlLink<AgentCommand>, set: &mut PollSet<'a, Token>,
        token: impl Fn(PipeReady) -> Token,
    ) {
        for (number, input) in self.inputs.iter().enumerate() {
            if let Some(pipe) = input.pipe.as_ref().filter(|_| !input.pending.is_empty()) {
                set.add_write(pipe.as_fd(), token(PipeReady::Input(number)));
            }
        }
        if let Some(files) = &self.files {
            files.interests(set, |ready| token(PipeReady::File(ready)));
        }
        let can_send = link.queued_bytes() <= QUEUE_BYTES;
        if let Some(ready) = self.ready.fd().filter(|_| can_send) {
            set.add_read(ready, token(PipeReady::Outputs));
        }
    }

    pub(super) fn handle(&mut self, ready: PipeReady, link: &mut ControlLink<AgentCommand>) {
        match ready {
            PipeReady::Input(number) => self.inputs[number].write(link),
            PipeReady::Outputs => {
                for ready in self.ready.take() {
                    self.outputs[ready.token as usize].serve(link);
                }
            }
            PipeReady::File(ready) => {
                let failed = self.files.as_mut().map(|files| files.handle(ready, Instant::now()));
                if let Some(Err(SinkFailure { why })) = failed {
                    link.send(&AgentEvent::OutputLost { why });
                }
            }
        }
    }

    /// Input for `rank`; no bytes are its end.
    ///
    /// # Errors
    /// There is no room for so many bytes.
    pub(super) fn feed(
        &mut self, rank: u32, bytes: &[u8], link: &mut ControlLink<AgentCommand>,
    ) -> io::Result<()> {
        let input = self.inputs.iter_mut().find(|input| input.rank == rank);
        let Some(input) = input.filter(|input| input.pipe.is_some()) else { return Ok(()) };
        if !input.window.receive(bytes.len()) {
            return Err(io::Error::other(format!("more input than allowed for rank {rank}")));
        }
        input.has_ended |= bytes.is_empty();
        input.pending.extend(bytes);
        input.write(link);
        Ok(())
    }

    /// The head has passed on this number of bytes.
    pub(super) fn grant(
        &mut self, (rank, stream): (u32, OutputStream), bytes: u32,
        link: &mut ControlLink<AgentCommand>,
    ) {
        let mut outputs = self.outputs.iter_mut();
        if let Some(output) = outputs.find(|output| (output.rank, output.stream) == (rank, stream))
        {
            output.credit.grant(bytes);
            output.wait(link);
        }
    }

    /// Reads the rest of all pipes, when no process is left, as far as there is credit.
    pub(super) fn drain(&mut self, link: &mut ControlLink<AgentCommand>) {
        self.files.iter_mut().for_each(|files| files.drain(Instant::now()));
        for output in &mut self.outputs {
            while output.pipe.is_some() && output.credit.left() > 0 {
                if link.queued_bytes() > QUEUE_BYTES {
                    return;
                }
                if output.read(link).is_none() {
                    output.end(link);
                }
            }
        }
    }
}

impl RankStreams for RankPipes {
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd> {
        if !self.readers.contains(&rank) {
            return Ok(File::open("/dev/null")?.into());
        }
        let (read, write) = descriptor::pipe()?;
        descriptor::set_nonblocking(&write)?;
        let (pipe, pending) = (Some(write.into()), VecDeque::new());
        let window = CreditWindow::new(self.window);
        self.inputs.push(InputPipe { rank, pipe, pending, window, has_ended: false });
        Ok(read)
    }

    fn started(
        &mut self, rank: u32, process: u32, outputs: [Option<OwnedFd>; 2],
    ) -> io::Result<()> {
        if let Some(files) = &mut self.files {
            return files.add(rank, process, outputs);
        }
        for (stream, pipe) in OutputStream::BOTH.into_iter().zip(outputs) {
            if let Some(pipe) = pipe {
                let mut pipe = self.ready.add(File::from(pipe), self.outputs.len() as u64)?;
                pipe.wait_for(Interest::READ)?;
                let (pipe, credit) = (Some(pipe), StreamCredit::new(self.window));
                self.outputs.push(OutputPipe { rank, stream, credit, pipe });
            }
        }
        Ok(())
    }
}

impl InputPipe {
    fn write(&mut self, link: &mut ControlLink<AgentCommand>) {
        let (rank, Some(pipe)) = (self.rank, &mut self.pipe) else { return };
        while !self.pending.is_empty() {
            match pipe.write(self.pending.as_slices().0) {
                Ok(count) => {
                    self.pending.drain(..count);
                    if let Some(bytes) = self.window.pass_on(count) {
                        link.send(&AgentEvent::InputTaken { rank, bytes });
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The rank reads no more.
                Err(_) => {
                    self.pending.clear();
                    self.pipe = None;
                    return link.send(&AgentEvent::InputClosed { rank });
                }
            }
        }
        if self.has_ended {
            self.pipe = None;
        }
    }
}

impl OutputPipe {
    /// Reads once, if there is credit for it; if not, this pipe waits for credit.
    fn serve(&mut self, link: &mut ControlLink<AgentCommand>) {
        if self.credit.left() > 0 {
            self.read(link);
        }
        self.wait(link);
    }

    /// Waits for bytes if there is credit for them.
    fn wait(&mut self, link: &mut ControlLink<AgentCommand>) {
        let interest = Interest { read: self.credit.left() > 0, write: false };
        if let Some(pipe) = &mut self.pipe
            && let Err(error) = pipe.wait_for(interest)
        {
            let why = format!("the output of rank {}: {error}", self.rank);
            link.send(&AgentEvent::OutputLost { why: Some(why) });
        }
    }

    /// Reads once; `None` if no data is available.
    fn read(&mut self, link: &mut ControlLink<AgentCommand>) -> Option<()> {
        let mut bytes = vec![0; READ_BYTES.min(self.credit.left())];
        match self.pipe.as_mut()?.get_mut().read(&mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
                self.credit.spend(count);
                link.send(&AgentEvent::Output { rank: self.rank, stream: self.stream, bytes });
                Some(())
            }
            Err(error) if error.kind() == ErrorKind::Interrupted => Some(()),
            Err(error) if error.kind() == ErrorKind::WouldBlock => None,
            Ok(_) | Err(_) => {
                self.end(link);
                None
            }
        }
    }

    fn end(&mut self, link: &mut ControlLink<AgentCommand>) {
        if self.pipe.take().is_some() {
            let (rank, stream) = (self.rank, self.stream);
            link.send(&AgentEvent::Output { rank, stream, bytes: Vec::new() });
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::output::{JobIdentity, OutputGrant, OutputOptions, Streams};
    use platform::base::Random;
    use platform::bootstrap::JobHosts;
    use std::time::{Duration, Instant};

    const RANKS: u32 = 4;

    /// Ranks of the job: windows are as small as they can be.
    const SIZE: u32 = 1024;

    /// The agent and the head of a job whose ranks are all on the agent's host.
    struct Pair {
        pipes: RankPipes,
        agent: ControlLink<AgentCommand>,
        head: ControlLink<AgentEvent>,
        streams: Streams,
        /// The write ends of the ranks' output.
        ranks: Vec<File>,
        /// What the launcher writes to, for reading.
        terminal: File,
    }

    fn nonblocking_pipe() -> (File, OwnedFd) {
        let (read, write) = descriptor::pipe().unwrap();
        descriptor::set_nonblocking(&read).unwrap();
        descriptor::set_nonblocking(&write).unwrap();
        (read.into(), write)
    }

    impl Pair {
        fn new(readers: Vec<u32>) -> Self {
            let ((down, to_agent), (up, to_head)) =
                (descriptor::pipe().unwrap(), descriptor::pipe().unwrap());
            let (terminal, output) = nonblocking_pipe();
            let now = Instant::now();
            let job = JobIdentity {
                name: "job".to_owned(),
                hosts: JobHosts::one("here".to_owned()),
                size: SIZE,
            };
            let terminals = [output.try_clone().unwrap(), output];
            let mut pair = Self {
                pipes: RankPipes::new(readers, SIZE),
                agent: ControlLink::new(down, to_head).unwrap(),
                head: ControlLink::new(up, to_agent).unwrap(),
                streams: Streams::new(&OutputOptions::default(), job, terminals, now),
                ranks: Vec::new(),
                terminal,
            };
            let hosts = JobHosts::one("here".to_owned());
            pair.streams.open_files(&OutputOptions::default(), hosts, |_| true).unwrap();
            for rank in 0..RANKS {
                let (read, write) = nonblocking_pipe();
                pair.pipes.started(rank, 1, [Some(read.into()), None]).unwrap();
                pair.streams.add_remote(rank, 1, &[OutputStream::Output]);
                pair.ranks.push(write.into());
            }
            pair
        }

        /// The events that the head has not seen.
        fn events(&mut self) -> Vec<AgentEvent> {
            self.agent.write();
            // So that there is something to read.
            self.agent.send(&AgentEvent::Beat);
            self.head.read().unwrap();
            let mut events = Vec::new();
            while let Some(event) = self.head.next_message().unwrap() {
                events.extend((event != AgentEvent::Beat).then_some(event));
            }
            events
        }

        /// Everything that agent and head can do at once.
        fn turn(&mut self) {
            let now = Instant::now();
            if self.agent.queued_bytes() <= QUEUE_BYTES {
                self.pipes.handle(PipeReady::Outputs, &mut self.agent);
            }
            self.agent.write();
            self.head.read().unwrap();
            while let Some(event) = self.head.next_message().unwrap() {
                let AgentEvent::Output { rank, stream, bytes } = event else { panic!("{event:?}") };
                assert!(self.streams.receive(rank, stream, &bytes, now));
            }
            let mut set = PollSet::default();
            self.streams.interests(&mut set, |ready| ready);
            for ready in set.wait(Some(Duration::ZERO)).unwrap() {
                self.streams.handle(ready, now).unwrap();
            }
            for OutputGrant { rank, stream, bytes } in self.streams.take_grants() {
                self.head.send(&AgentCommand::Grant { rank, stream, bytes });
            }
            self.head.write();
            self.agent.read().unwrap();
            while let Some(command) = self.agent.next_message().unwrap() {
                let AgentCommand::Grant { rank, stream, bytes } = command else {
                    panic!("{command:?}")
                };
                self.pipes.grant((rank, stream), bytes, &mut self.agent);
            }
        }

        /// Writes what the pipes of the ranks accept of `left`; the number of bytes.
        fn write(&mut self, left: &mut [&[u8]]) -> usize {
            let mut written = 0;
            for (pipe, left) in self.ranks.iter_mut().zip(left).filter(|(_, left)| !left.is_empty())
            {
                let count = pipe.write(left).unwrap_or(0);
                *left = &left[count..];
                written += count;
            }
            written
        }
    }

    #[test]
    fn input_waits_for_the_rank_and_its_end_comes_last() {
        let mut pair = Pair::new(vec![2]);
        let mut rank = File::from(pair.pipes.input_of(2).unwrap());
        let text = lines_of(2, 300_000, &mut Random::new(1));
        let (mut credit, mut left, mut read) =
            (StreamCredit::new(window_bytes(SIZE)), &text[..], vec![]);
        while read.len() < text.len() {
            let count = left.len().min(credit.left());
            credit.spend(count);
            if count > 0 {
                pair.pipes.feed(2, &left[..count], &mut pair.agent).unwrap();
                left = &left[count..];
                if left.is_empty() {
                    pair.pipes.feed(2, &[], &mut pair.agent).unwrap();
                }
            }
            let mut buffer = [0; 5000];
            let count = rank.read(&mut buffer).unwrap();
            read.extend_from_slice(&buffer[..count]);
            pair.pipes.inputs[0].write(&mut pair.agent);
            for event in pair.events() {
                let AgentEvent::InputTaken { rank: 2, bytes } = event else { panic!("{event:?}") };
                credit.grant(bytes);
            }
        }
        assert!(read == text);
        assert_eq!(rank.read(&mut [0; 9]).unwrap(), 0);
    }

    #[test]
    fn input_beyond_the_window_is_refused_and_a_rank_that_has_closed_it_is_reported() {
        let mut pair = Pair::new(vec![2]);
        let rank = pair.pipes.input_of(2).unwrap();
        let text = vec![7; window_bytes(SIZE)];
        pair.pipes.feed(2, &text, &mut pair.agent).unwrap();
        // The pipe has taken one window.
        pair.pipes.feed(2, &text, &mut pair.agent).unwrap();
        assert!(pair.pipes.feed(2, b"x", &mut pair.agent).is_err());
        drop(rank);
        pair.pipes.inputs[0].write(&mut pair.agent);
        let events = pair.events();
        assert_eq!(events.last(), Some(&AgentEvent::InputClosed { rank: 2 }));
        assert!(pair.pipes.feed(2, b"x", &mut pair.agent).is_ok());
        assert!(File::from(pair.pipes.input_of(1).unwrap()).read(&mut [0; 9]).unwrap() == 0);
    }

    /// Lines of random lengths, each with its rank and number.
    fn lines_of(rank: u32, bytes: usize, random: &mut Random) -> Vec<u8> {
        let mut text = Vec::new();
        for number in 0.. {
            if text.len() >= bytes {
                break;
            }
            let filler = "x".repeat(random.below(3000) as usize);
            text.extend_from_slice(format!("{rank}:{number}:{filler}\n").as_bytes());
        }
        text
    }

    #[test]
    fn a_slow_terminal_stops_the_ranks_and_loses_nothing() {
        for seed in 0..4 {
            let random = &mut Random::new(seed);
            let mut pair = Pair::new(Vec::new());
            let texts: Vec<_> = (0..RANKS).map(|rank| lines_of(rank, 1 << 20, random)).collect();
            let mut left: Vec<_> = texts.iter().map(Vec::as_slice).collect();
            // Nothing reads the terminal: after a while the ranks cannot write.
            let (mut total, mut idle) = (0, 0);
            while idle < 20 {
                let written = pair.write(&mut left);
                total += written;
                idle = if written == 0 { idle + 1 } else { 0 };
                pair.turn();
            }
            assert!(total < 2 << 20, "{total} bytes are held");
            let (mut out, mut buffer) = (Vec::new(), vec![0; 64 << 10]);
            for turn in 0.. {
                assert!(turn < 1_000_000, "{} bytes have arrived", out.len());
                pair.write(&mut left);
                if left.iter().all(|left| left.is_empty()) {
                    pair.ranks.clear();
                }
                pair.turn();
                let count = 1 + random.below(buffer.len() as u64) as usize;
                let count = pair.terminal.read(&mut buffer[..count]).unwrap_or(0);
                out.extend_from_slice(&buffer[..count]);
                if pair.streams.are_empty() && count == 0 {
                    break;
                }
            }
            let mut lines = vec![Vec::new(); RANKS as usize];
            for line in out.split_inclusive(|byte| *byte == b'\n') {
                let rank = usize::from(line[0] - b'0');
                lines[rank].extend_from_slice(line);
            }
            assert!(lines == texts, "seed {seed}");
        }
    }
}
