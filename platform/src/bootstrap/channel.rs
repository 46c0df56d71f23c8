//! A connection to a launcher with a line protocol: the start of every PMI connection.
//!
//! ```text
//!   PMI_FD ──> inherited ─────────────────────────────────┐
//!   PMI_PORT ─> connected ─initack─> identity, 3 lines ───┴─init─> PMI-1 lines, or PMI-2
//! ```
//!
//! Source: as of the wire ([`super::wire`]).

use std::io;

use crate::base::{ErrorClass, MpiError, Result};
use crate::sys::socket::SocketStream;

use super::client::RequiredRanks;
use super::environment::Environment;
use super::wire::{PmiFields, PmiLine, PmiLines};

/// A connection and its received bytes.
#[derive(Debug)]
pub(super) struct Channel {
    stream: SocketStream,
    lines: PmiLines,
}

impl Channel {
    pub(super) fn new(stream: SocketStream) -> Self {
        Self { stream, lines: PmiLines::default() }
    }

    pub(super) fn socket(&self) -> &SocketStream {
        &self.stream
    }

    /// The connection that `environment` names, with the rank and the size of the job.
    ///
    /// # Errors
    /// `Other` when it names none, or no launcher answers.
    pub(super) fn open(environment: &Environment) -> Result<(Self, u32, u32)> {
        match (environment.pmi_fd, &environment.pmi_port) {
            (Some(number), _) => Self::inherit(number, environment),
            (None, Some(port)) => Self::connect(port, environment.pmi_id.unwrap_or(0)),
            (None, None) => Err(ErrorClass::Other.error("neither PMI_FD nor PMI_PORT is set")),
        }
    }

    fn inherit(number: i32, environment: &Environment) -> Result<(Self, u32, u32)> {
        let stream = SocketStream::inherit(number).map_err(|error| {
            ErrorClass::Other.error(format!(
                "PMI_FD={number} is no open socket ({error}): did a program between the launcher \
                 and this one close it? Python's subprocess does, unless close_fds=False"
            ))
        })?;
        match (environment.pmi_rank, environment.pmi_size) {
            (Some(rank), Some(size)) => Ok((Self::new(stream), rank, size)),
            _ => Err(ErrorClass::Other.error("PMI_FD is set but PMI_RANK or PMI_SIZE is not")),
        }
    }

    fn connect(port: &str, id: u32) -> Result<(Self, u32, u32)> {
        let stream = SocketStream::connect(port).map_err(|error| {
            ErrorClass::Other.error(format!("nobody answers at PMI_PORT={port} ({error})"))
        })?;
        let mut channel = Self::new(stream);
        let answer = channel.ask(PmiLine::new("initack").number("pmiid", id), "initack")?;
        answer.check_success()?;
        let (rank, size) = (answer.wanted_number("rank")?, answer.wanted_number("size")?);
        for _ in 0..3 {
            channel.read_reply("set")?;
        }
        Ok((channel, rank, size))
    }

    /// Selects the protocol for the rest of the connection, with further fields for Suiro's own
    /// launcher.
    ///
    /// Slurm accepts only version 1.1 of version 1, so 1.1 is requested.
    ///
    /// # Errors
    /// `Other` when the launcher refuses the protocol.
    pub(super) fn init(
        &mut self, version: u32, to_ours: Option<RequiredRanks>,
    ) -> Result<PmiReply> {
        self.greet(init_line(version, to_ours))
    }

    /// Joins again by version 1, which this process has left, or requires more ranks.
    ///
    /// # Errors
    /// `Other` when the launcher refuses that.
    pub(super) fn init_again(&mut self, to_ours: Option<RequiredRanks>) -> Result<PmiReply> {
        let line = init_line(1, to_ours);
        self.greet(if to_ours.is_some() { line.number("again", 1) } else { line })
    }

    fn greet(&mut self, line: PmiLine) -> Result<PmiReply> {
        let answer = self.ask(line, "response_to_init")?;
        answer.check_success()?;
        Ok(answer)
    }

    /// Sends a request and waits for the reply named `reply`.
    ///
    /// # Errors
    /// `Other` when the launcher has exited or sends another reply.
    pub(super) fn ask(&mut self, line: PmiLine, reply: &str) -> Result<PmiReply> {
        self.send(&line.into_bytes())?;
        self.read_reply(reply)
    }

    /// Sends bytes.
    ///
    /// # Errors
    /// `Other` when the launcher has exited.
    pub(super) fn send(&mut self, bytes: &[u8]) -> Result {
        self.stream.send_all(bytes).map_err(|error| lost(&error))
    }

    /// Waits for further bytes.
    ///
    /// # Errors
    /// `Other` when the launcher has exited.
    pub(super) fn receive<'a>(&mut self, buffer: &'a mut [u8]) -> Result<&'a [u8]> {
        let received = self.stream.receive(buffer).map_err(|error| lost(&error))?;
        if received.len_bytes == 0 {
            return Err(lost(&io::ErrorKind::UnexpectedEof.into()));
        }
        Ok(&buffer[..received.len_bytes])
    }

    /// The next line, which must be the reply named `reply`.
    ///
    /// # Errors
    /// As of [`Channel::ask`].
    pub(super) fn read_reply(&mut self, reply: &str) -> Result<PmiReply> {
        let mut buffer = [0; 4096];
        loop {
            if let Some(line) = self.lines.next_line() {
                return check_reply(
                    line.map_err(|malformed| protocol_error(&malformed.why))?,
                    reply,
                );
            }
            let bytes = self.receive(&mut buffer)?;
            self.lines.push(bytes);
        }
    }
}

fn init_line(version: u32, to_ours: Option<RequiredRanks>) -> PmiLine {
    let subversion = u32::from(version == 1);
    let line = PmiLine::new("init").number("pmi_version", version);
    let line = line.number("pmi_subversion", subversion);
    match to_ours {
        None => line,
        Some(RequiredRanks::All) => line.number("suiro", 1),
        Some(RequiredRanks::Any) => line.number("suiro", 1).number("any", 1),
    }
}

/// # Errors
/// `Other` for another line than the reply named `reply`.
pub(super) fn check_reply(line: &str, reply: &str) -> Result<PmiReply> {
    match PmiFields::of(line) {
        Some(fields) if fields.command == reply => Ok(PmiReply { line: line.to_owned() }),
        _ => Err(protocol_error(&format!("{line:?} instead of {reply}"))),
    }
}

/// A reply with the expected name.
#[derive(Debug)]
pub(super) struct PmiReply {
    line: String,
}

impl PmiReply {
    /// The value of `key`, if the reply has one.
    pub(super) fn value(&self, key: &str) -> Option<String> {
        PmiFields::of(&self.line)?.value(key)
    }

    /// The value of `key`, if it is a nonnegative number.
    pub(super) fn number(&self, key: &str) -> Option<u32> {
        self.value(key)?.parse().ok()
    }

    /// # Errors
    /// `Other` when there is no such number.
    pub(super) fn wanted_number(&self, key: &str) -> Result<u32> {
        self.number(key).ok_or_else(|| self.lacks(key))
    }

    /// # Errors
    /// `Other` when there is no such value.
    pub(super) fn wanted_value(&self, key: &str) -> Result<String> {
        self.value(key).ok_or_else(|| self.lacks(key))
    }

    /// Whether the reply reports success. An absent `rc` means success: not all launchers send it.
    pub(super) fn is_good(&self) -> bool {
        self.value("rc").is_none_or(|code| code == "0")
    }

    /// # Errors
    /// `Other` for a refusal.
    pub(super) fn check_success(&self) -> Result {
        if self.is_good() {
            return Ok(());
        }
        let reason = self.value("msg").unwrap_or_else(|| self.line.clone());
        Err(refused(&reason))
    }

    fn lacks(&self, key: &str) -> Box<MpiError> {
        protocol_error(&format!("{:?} without {key}", self.line))
    }
}

/// Error for a refused request.
pub(super) fn refused(reason: &str) -> Box<MpiError> {
    ErrorClass::Other.error(format!("the launcher refused: {reason}"))
}

/// Error for an invalid reply.
pub(super) fn protocol_error(what: &str) -> Box<MpiError> {
    ErrorClass::Other.error(format!("the launcher answered {what}"))
}

fn lost(error: &io::Error) -> Box<MpiError> {
    ErrorClass::Other.error(format!("the connection to the launcher is lost: {error}"))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_launcher_that_goes_or_talks_nonsense_is_an_error() {
        let (ours, theirs) = SocketStream::pair().unwrap();
        drop(ours);
        let error = Channel::new(theirs).init(1, None).unwrap_err();
        assert!(error.why.contains("launcher is lost"), "{error}");
        for noise in ["hello\n", "cmd=maxes rc=0\n", "cmd=response_to_init rc=3\n", "\u{1}\n"] {
            let (ours, theirs) = SocketStream::pair().unwrap();
            ours.send_all(noise.as_bytes()).unwrap();
            assert!(Channel::new(theirs).init(1, None).is_err(), "{noise}");
        }
    }

    #[test]
    fn a_descriptor_that_is_no_open_socket_is_an_error() {
        let environment = |number| Environment { pmi_fd: Some(number), ..Environment::default() };
        let file = std::fs::File::open("/dev/null").unwrap();
        for number in [1_000_000, std::os::fd::AsRawFd::as_raw_fd(&file)] {
            let error = Channel::open(&environment(number)).unwrap_err();
            assert!(error.why.contains(&format!("PMI_FD={number}")), "{error}");
        }
        assert!(Channel::open(&Environment::default()).is_err());
    }
}
