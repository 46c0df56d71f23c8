//! The standard streams of the ranks of a remote host, between their pipes and messages.

use std::collections::VecDeque;
use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::os::fd::{AsFd, OwnedFd};

use platform::sys::descriptor;
use platform::sys::poll::PollSet;

use super::RankStreams;
use crate::control::{AgentCommand, AgentEvent, ControlLink};
use crate::output::OutputStream;

/// With more bytes on the way to the head, ranks are not read.
const QUEUE_BYTES: usize = 256 * 1024;

const READ_BYTES: usize = 64 * 1024;

/// The pipes of all ranks of a host.
#[derive(Debug, Default)]
pub(super) struct RankPipes {
    /// The ranks that read standard input.
    readers: Vec<u32>,
    inputs: Vec<InputPipe>,
    outputs: Vec<OutputPipe>,
}

#[derive(Debug)]
struct InputPipe {
    rank: u32,
    /// `None` once the input of this rank is closed.
    pipe: Option<File>,
    pending: VecDeque<u8>,
    /// No more input will come.
    has_ended: bool,
}

#[derive(Debug)]
struct OutputPipe {
    rank: u32,
    stream: OutputStream,
    /// `None` once it has ended, and the head knows.
    pipe: Option<File>,
}

/// A pipe that became ready, by its number.
#[derive(Clone, Copy, Debug)]
pub(super) enum PipeReady {
    Input(usize),
    Output(usize),
}

impl RankPipes {
    /// Pipes for ranks, of which `readers` read standard input.
    pub(super) fn new(readers: Vec<u32>) -> Self {
        Self { readers, inputs: Vec::new(), outputs: Vec::new() }
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
        if link.queued_bytes() > QUEUE_BYTES {
            return;
        }
        for (number, output) in self.outputs.iter().enumerate() {
            if let Some(pipe) = &output.pipe {
                set.add_read(pipe.as_fd(), token(PipeReady::Output(number)));
            }
        }
    }

    pub(super) fn handle(&mut self, ready: PipeReady, link: &mut ControlLink<AgentCommand>) {
        match ready {
            PipeReady::Input(number) => self.inputs[number].write(),
            PipeReady::Output(number) => drop(self.outputs[number].read(link)),
        }
    }

    /// Input for `rank`; no bytes are its end.
    pub(super) fn feed(&mut self, rank: u32, bytes: &[u8]) {
        let Some(input) = self.inputs.iter_mut().find(|input| input.rank == rank) else { return };
        input.has_ended |= bytes.is_empty();
        if input.pipe.is_some() {
            input.pending.extend(bytes);
            input.write();
        }
    }

    /// Reads the rest of all pipes, when no process is left; whether all have ended.
    pub(super) fn drain(&mut self, link: &mut ControlLink<AgentCommand>) -> bool {
        for output in &mut self.outputs {
            while output.pipe.is_some() {
                if link.queued_bytes() > QUEUE_BYTES {
                    return false;
                }
                if output.read(link).is_none() {
                    output.end(link);
                }
            }
        }
        true
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
        self.inputs.push(InputPipe { rank, pipe, pending, has_ended: false });
        Ok(read)
    }

    fn started(&mut self, rank: u32, _process: u32, outputs: [Option<OwnedFd>; 2]) {
        for (stream, pipe) in OutputStream::BOTH.into_iter().zip(outputs) {
            if let Some(pipe) = pipe {
                self.outputs.push(OutputPipe { rank, stream, pipe: Some(pipe.into()) });
            }
        }
    }
}

impl InputPipe {
    fn write(&mut self) {
        let Some(pipe) = &mut self.pipe else { return };
        while !self.pending.is_empty() {
            match pipe.write(self.pending.as_slices().0) {
                Ok(count) => drop(self.pending.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => return,
                // The rank reads no more.
                Err(_) => {
                    self.pending.clear();
                    self.pipe = None;
                    return;
                }
            }
        }
        if self.has_ended {
            self.pipe = None;
        }
    }
}

impl OutputPipe {
    /// Reads once; `None` if no data is available.
    fn read(&mut self, link: &mut ControlLink<AgentCommand>) -> Option<()> {
        let mut bytes = vec![0; READ_BYTES];
        match self.pipe.as_mut()?.read(&mut bytes) {
            Ok(count) if count > 0 => {
                bytes.truncate(count);
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
