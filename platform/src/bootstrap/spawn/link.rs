//! The connection between a mpirun and the one that has started it for a spawned job.
//!
//! ```text
//!   child ──started, failed, ended────────> parent
//!         ──publish, lookup, unpublish────>
//!         <─replies, in order──────────────
//!         <─disconnected───────────────────
//! ```
//!
//! All messages are lines of PMI. The end of the connection without `disconnected` is the end of the
//! parent, which ends the child.

use std::io::{self, ErrorKind};
use std::os::fd::{AsFd, BorrowedFd};

use crate::bootstrap::server::NameRequest;
use crate::bootstrap::wire::{PmiFields, PmiLine, PmiLines, PmiRequest};
use crate::bootstrap::wire::{decoded, encoded, parse_request};
use crate::sys::socket::SocketStream;

/// What a child tells its parent.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ChildMessage {
    /// All processes have started.
    Started,
    /// A process could not be started, for this reason.
    Failed(String),
    /// The job ends with this exit code.
    Ended(i32),
    /// A request of a rank about a published name; it waits for the reply.
    Name(NameRequest),
}

/// What a parent tells its child.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum ParentMessage {
    /// The end of the parent does not end the child any more.
    Disconnected,
    /// The reply to the oldest request about a name that has none, a line for the rank.
    NameReply(Vec<u8>),
}

impl ChildMessage {
    fn into_bytes(self) -> Vec<u8> {
        let line = match self {
            Self::Started => PmiLine::new("started"),
            Self::Failed(why) => PmiLine::new("failed").text("why", &encoded(&why)),
            Self::Ended(code) => PmiLine::new("ended").number("code", code),
            Self::Name(request) => request.into_line(),
        };
        line.into_bytes()
    }

    fn parse(line: &str) -> Option<Self> {
        let fields = PmiFields::of(line)?;
        match fields.command {
            "started" => Some(Self::Started),
            "failed" => Some(Self::Failed(decoded(&fields.value("why")?))),
            "ended" => Some(Self::Ended(fields.value("code")?.parse().ok()?)),
            _ => match parse_request(line).ok()? {
                PmiRequest::Name(request) => Some(Self::Name(request)),
                _ => None,
            },
        }
    }
}

/// One end of the connection. It sends without waiting: what does not fit now is kept.
#[derive(Debug)]
pub struct SpawnLink {
    stream: SocketStream,
    lines: PmiLines,
    unsent: Vec<u8>,
    has_ended: bool,
}

impl SpawnLink {
    /// The end of the connection that has this socket.
    pub fn new(stream: SocketStream) -> Self {
        Self { stream, lines: PmiLines::default(), unsent: Vec::new(), has_ended: false }
    }

    /// The connection to the parent of this process, its standard input.
    ///
    /// # Errors
    /// It is no socket.
    pub fn inherit() -> io::Result<Self> {
        SocketStream::inherit(0).map(Self::new)
    }

    /// Sends a message of a child.
    pub fn tell_parent(&mut self, message: ChildMessage) {
        self.send(&message.into_bytes());
    }

    /// Sends a message of a parent.
    pub fn tell_child(&mut self, message: ParentMessage) {
        match message {
            ParentMessage::Disconnected => {
                self.send(&PmiLine::new("disconnected").into_bytes());
            }
            ParentMessage::NameReply(line) => self.send(&line),
        }
    }

    /// The messages of the child that have arrived.
    pub fn from_child(&mut self) -> Vec<ChildMessage> {
        self.receive().iter().filter_map(|line| ChildMessage::parse(line)).collect()
    }

    /// The messages of the parent that have arrived.
    pub fn from_parent(&mut self) -> Vec<ParentMessage> {
        let message = |line: String| match line.as_str() {
            "cmd=disconnected" => ParentMessage::Disconnected,
            _ => ParentMessage::NameReply([line.as_bytes(), b"\n"].concat()),
        };
        self.receive().into_iter().map(message).collect()
    }

    /// Whether the other side has closed the connection.
    pub fn has_ended(&self) -> bool {
        self.has_ended
    }

    /// Whether messages wait for room.
    pub fn has_unsent(&self) -> bool {
        !self.unsent.is_empty() && !self.has_ended
    }

    /// Sends what fits now.
    pub fn send_rest(&mut self) {
        while !self.unsent.is_empty() {
            match self.stream.send_some(&self.unsent) {
                Ok(count) => drop(self.unsent.drain(..count)),
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) => {
                    if error.kind() != ErrorKind::WouldBlock {
                        self.unsent.clear();
                    }
                    return;
                }
            }
        }
    }

    fn send(&mut self, bytes: &[u8]) {
        self.unsent.extend_from_slice(bytes);
        self.send_rest();
    }

    /// The lines that have arrived.
    fn receive(&mut self) -> Vec<String> {
        let mut buffer = [0; 4096];
        while !self.has_ended {
            match self.stream.receive_now(&mut buffer) {
                Ok(received) if received.len_bytes > 0 => {
                    self.lines.push(&buffer[..received.len_bytes]);
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => self.has_ended = true,
            }
        }
        let mut lines = Vec::new();
        while let Some(line) = self.lines.next_line() {
            match line {
                Ok(line) => lines.push(line.to_owned()),
                Err(_) => {
                    self.has_ended = true;
                    break;
                }
            }
        }
        lines
    }
}

impl AsFd for SpawnLink {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.stream.as_fd()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::bootstrap::server::NameScope;

    #[test]
    fn messages_cross_the_connection_both_ways() {
        let (one, other) = SocketStream::pair().unwrap();
        let (mut parent, mut child) = (SpawnLink::new(one), SpawnLink::new(other));
        let service = "a b=%\n\\".to_owned();
        let messages = [
            ChildMessage::Started,
            ChildMessage::Failed("no such program\n100 %".to_owned()),
            ChildMessage::Name(
                NameRequest::publish(&service, "p port=q")
                    .within(NameScope::Global)
                    .replacing(true),
            ),
            ChildMessage::Name(NameRequest::lookup("a").within(NameScope::Job)),
            ChildMessage::Ended(3),
        ];
        messages.iter().for_each(|message| child.tell_parent(message.clone()));
        let [ChildMessage::Started, failed, _, lookup, ended] = &parent.from_child()[..] else {
            panic!("a message is lost");
        };
        assert_eq!([failed, lookup, ended], [&messages[1], &messages[3], &messages[4]]);
        let reply = ParentMessage::NameReply(b"cmd=lookup_result rc=0 port=x\n".to_vec());
        parent.tell_child(reply.clone());
        parent.tell_child(ParentMessage::Disconnected);
        drop(parent);
        assert_eq!(child.from_parent(), [reply, ParentMessage::Disconnected]);
        assert!(child.has_ended());
    }
}
