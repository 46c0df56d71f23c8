//! The descriptors of a connection between head and agent: the only I/O of this module.
//!
//! A connection is the two pipes of a starter, or a socket, over which everything is sealed.

use std::fs::File;
use std::io::{self, ErrorKind, Read, Write};
use std::mem;
use std::os::fd::{AsFd, OwnedFd};

use platform::network::SealedChannel;
use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use serde::Serialize;

use super::frame::{BrokenFrame, ControlReader, emit, emit_bytes};
use super::greeting::{ControlMessage, GREETING, GreetingSearch};

const READ_BYTES: usize = 256 * 1024;

/// The longest message: the share of a host has the environment and the arguments of each program.
const MESSAGE_MAX_BYTES: usize = 64 << 20;

/// One end of a connection, which takes messages and gives `Received`.
pub(crate) struct ControlLink<Received> {
    input: File,
    output: File,
    /// Set until the agent has been heard.
    search: Option<GreetingSearch>,
    reader: ControlReader<Received>,
    seal: Option<Seal>,
    /// Room for one read, made by the first.
    buffer: Vec<u8>,
    /// Bytes to send, and how many of them have been sent.
    queue: Vec<u8>,
    sent: usize,
    /// The other end takes nothing more.
    is_deaf: bool,
}

/// The keys of a connection that strangers could read.
struct Seal {
    channel: SealedChannel,
    /// Received bytes that have not been opened.
    input: Vec<u8>,
}

/// A descriptor of a [`ControlLink`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(crate) enum LinkReady {
    Read,
    Write,
}

impl<Received: ControlMessage> ControlLink<Received> {
    /// A connection over these descriptors, which become nonblocking.
    ///
    /// # Errors
    /// The system's.
    pub(crate) fn new(input: OwnedFd, output: OwnedFd) -> io::Result<Self> {
        descriptor::set_nonblocking(&input)?;
        descriptor::set_nonblocking(&output)?;
        Ok(Self {
            input: input.into(),
            output: output.into(),
            search: Received::IS_OF_AGENT.then(GreetingSearch::default),
            reader: ControlReader::new(MESSAGE_MAX_BYTES),
            seal: None,
            buffer: Vec::new(),
            queue: if Received::IS_OF_AGENT { Vec::new() } else { GREETING.to_vec() },
            sent: 0,
            is_deaf: false,
        })
    }

    /// A connection over a socket, whose other end has proved a token; it has sent `early` after that.
    ///
    /// # Errors
    /// The system's, or what [`ControlLink::read`] reports of `early`.
    pub(crate) fn sealed(
        socket: OwnedFd, channel: SealedChannel, early: Vec<u8>,
    ) -> io::Result<Self> {
        let mut link = Self::new(socket.try_clone()?, socket)?;
        link.seal = Some(Seal { channel, input: Vec::new() });
        // No login script writes here.
        link.search = None;
        link.queue.clear();
        link.arrived(&early)?;
        Ok(link)
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(crate) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(LinkReady) -> Token,
    ) {
        set.add_read(self.input.as_fd(), token(LinkReady::Read));
        self.write_interest(set, token);
    }

    /// As [`ControlLink::interests`], without what is to be read.
    pub(crate) fn write_interest<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(LinkReady) -> Token,
    ) {
        if self.queued_bytes() > 0 {
            set.add_write(self.output.as_fd(), token(LinkReady::Write));
        }
    }

    /// The number of bytes that the other end has not accepted.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.queue.len() - self.sent
    }

    /// Sends `message`, or queues it.
    pub(crate) fn send(&mut self, message: &impl Serialize) {
        self.enqueue(|out| emit(message, out));
    }

    /// As [`ControlLink::send`], of a message in its form on the wire.
    pub(crate) fn send_bytes(&mut self, message: &[u8]) {
        self.enqueue(|out| emit_bytes(message, out));
    }

    fn enqueue(&mut self, emit: impl FnOnce(&mut Vec<u8>)) {
        if !self.is_deaf {
            match &mut self.seal {
                None => emit(&mut self.queue),
                Some(seal) => {
                    let mut plain = Vec::new();
                    emit(&mut plain);
                    seal.channel.seal(&plain, &mut self.queue);
                }
            }
            self.write();
        }
    }

    /// Writes what the other end accepts now. That the other end has gone is noticed by reading.
    pub(crate) fn write(&mut self) {
        while self.queued_bytes() > 0 {
            match self.output.write(&self.queue[self.sent..]) {
                Ok(count) => self.sent += count,
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Err(_) => {
                    self.is_deaf = true;
                    self.sent = self.queue.len();
                }
            }
        }
        // Moving the rest costs less than the bytes before it did.
        if self.sent * 2 >= self.queue.len() {
            self.queue.drain(..self.sent);
            self.sent = 0;
        }
    }

    /// Reads once.
    ///
    /// # Errors
    /// `UnexpectedEof` if the other end has closed the connection.
    pub(crate) fn read(&mut self) -> io::Result<()> {
        self.buffer.resize(READ_BYTES, 0);
        match self.input.read(&mut self.buffer) {
            Ok(0) => Err(match self.search.as_ref().and_then(GreetingSearch::broken) {
                Some(broken) => no_message(broken),
                None => ErrorKind::UnexpectedEof.into(),
            }),
            Ok(count) => {
                let buffer = mem::take(&mut self.buffer);
                let result = self.arrived(&buffer[..count]);
                self.buffer = buffer;
                result
            }
            Err(error) if descriptor::is_transient(&error) => Ok(()),
            Err(error) => Err(error),
        }
    }

    fn push(&mut self, bytes: &[u8]) -> Result<(), BrokenFrame> {
        let Some(search) = &mut self.search else {
            self.reader.push(bytes);
            return Ok(());
        };
        if let Some(rest) = search.push(bytes)? {
            self.search = None;
            self.reader.push(&rest);
        }
        Ok(())
    }

    fn arrived(&mut self, bytes: &[u8]) -> io::Result<()> {
        let Some(Seal { channel, input }) = &mut self.seal else {
            return self.push(bytes).map_err(no_message);
        };
        input.extend_from_slice(bytes);
        let mut plain = Vec::new();
        let opened = channel.open(input, &mut plain);
        self.reader.push(&plain);
        opened.map_err(|refusal| io::Error::other(refusal.to_string()))
    }

    /// The next message that has arrived.
    ///
    /// # Errors
    /// The other end speaks another protocol.
    pub(crate) fn next_message(&mut self) -> io::Result<Option<Received>> {
        self.reader.next_message().map_err(no_message)
    }
}

fn no_message(broken: BrokenFrame) -> io::Error {
    io::Error::other(broken.0)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::control::{AgentCommand, AgentEvent};

    #[test]
    fn messages_wait_until_they_are_accepted_and_the_end_is_noticed() {
        let ((down, to_agent), (up, to_head)) =
            (descriptor::pipe().unwrap(), descriptor::pipe().unwrap());
        let mut head = ControlLink::<AgentEvent>::new(up, to_agent).unwrap();
        let mut agent = ControlLink::<AgentCommand>::new(down, to_head).unwrap();
        let sent = AgentCommand::Input { rank: 1, bytes: vec![3; 1 << 20] };
        head.send(&sent);
        assert!(head.queued_bytes() > 0);
        let received = loop {
            agent.read().unwrap();
            if let Some(message) = agent.next_message().unwrap() {
                break message;
            }
            head.write();
        };
        assert_eq!((received, head.queued_bytes()), (sent, 0));
        drop(head);
        assert_eq!(agent.read().unwrap_err().kind(), ErrorKind::UnexpectedEof);
        agent.send(&AgentEvent::Beat);
        assert_eq!(agent.queued_bytes(), 0);
    }

    #[test]
    fn what_is_printed_before_the_agent_starts_is_skipped() {
        let (up, to_head) = descriptor::pipe().unwrap();
        let (down, to_agent) = descriptor::pipe().unwrap();
        let mut head = ControlLink::<AgentEvent>::new(up, to_agent).unwrap();
        File::from(to_head.try_clone().unwrap()).write_all(b"Welcome to node1\n").unwrap();
        head.read().unwrap();
        assert_eq!(head.next_message().unwrap(), None);
        let mut agent = ControlLink::<AgentCommand>::new(down, to_head).unwrap();
        agent.send(&AgentEvent::Beat);
        head.read().unwrap();
        assert_eq!(head.next_message().unwrap(), Some(AgentEvent::Beat));
    }
}
