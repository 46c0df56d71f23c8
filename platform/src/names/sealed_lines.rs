//! Lines over a connection whose ends prove a secret first; every byte after that is sealed.
//!
//! ```text
//!   Proving ── the other end has proved the secret ──> Open ── lines
//! ```
//!
//! It never waits: what is not sent is kept. Before the proof, a stranger makes this end keep
//! [`PROOF_MAX_BYTES`] at most; after it, one line and one read.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Duration;

use crate::base::Span;
use crate::bootstrap::wire::PmiLines;
use crate::network::{Handshake, HandshakeStep, SealedChannel, SharedSecret};
use crate::sys::tcp::{Moved, SendPart, StreamConnection};

/// More than the messages of a proof need.
const PROOF_MAX_BYTES: usize = 512;

const READ_BYTES: usize = 16 << 10;

/// The kernel ends a connection whose other end does not acknowledge for this time.
const SILENCE_TIMEOUT: Duration = Duration::from_secs(10);

/// One end of a connection.
pub(super) struct SealedLines {
    connection: StreamConnection,
    seal: LineSeal,
    /// Bytes that have not been opened.
    input: Vec<u8>,
    lines: PmiLines,
    unsent: Vec<u8>,
}

enum LineSeal {
    Proving(Handshake),
    Open(SealedChannel),
    /// The proof has failed.
    Broken,
}

impl SealedLines {
    /// The address of the other end.
    pub(super) fn peer_address(&self) -> Option<SocketAddr> {
        self.connection.peer_address()
    }

    /// The end that has connected.
    pub(super) fn initiate(connection: StreamConnection, secret: &SharedSecret) -> Self {
        let mut unsent = Vec::new();
        let handshake = Handshake::initiate(secret, b"", &mut unsent);
        Self { unsent, ..Self::of(connection, handshake) }
    }

    /// The end that has accepted.
    pub(super) fn respond(connection: StreamConnection, secret: &SharedSecret) -> Self {
        Self::of(connection, Handshake::respond(secret, b""))
    }

    fn of(connection: StreamConnection, handshake: Handshake) -> Self {
        Self {
            connection,
            seal: LineSeal::Proving(handshake),
            input: Vec::new(),
            lines: PmiLines::default(),
            unsent: Vec::new(),
        }
    }

    pub(super) fn is_open(&self) -> bool {
        matches!(self.seal, LineSeal::Open(_))
    }

    pub(super) fn unsent_bytes(&self) -> usize {
        self.unsent.len()
    }

    /// Sends a line, or keeps it; without effect before the proof.
    pub(super) fn send(&mut self, line: &[u8]) {
        if let LineSeal::Open(channel) = &mut self.seal {
            channel.seal(line, &mut self.unsent);
        }
    }

    /// Sends what the other end accepts now.
    ///
    /// # Errors
    /// The connection is over.
    pub(super) fn write(&mut self) -> io::Result<()> {
        while !self.unsent.is_empty() {
            match self.connection.send(&[SendPart::Bytes(&self.unsent)])? {
                Moved::Bytes(count) => drop(self.unsent.drain(..count)),
                Moved::Nothing => break,
                Moved::End => return Err(io::ErrorKind::BrokenPipe.into()),
            }
        }
        Ok(())
    }

    /// Reads once; whether bytes have arrived.
    ///
    /// # Errors
    /// `UnexpectedEof` if the other end has closed the connection; it does not prove the secret, or sends
    /// what it may not.
    pub(super) fn read(&mut self) -> io::Result<bool> {
        let mut buffer = [0; READ_BYTES];
        let room = match self.is_open() {
            true => READ_BYTES,
            false => PROOF_MAX_BYTES - self.input.len(),
        };
        let count = match self.connection.receive(Span::EMPTY, &mut buffer[..room])? {
            Moved::Bytes(count) => count,
            Moved::Nothing => return Ok(false),
            Moved::End => return Err(io::ErrorKind::UnexpectedEof.into()),
        };
        self.input.extend_from_slice(&buffer[..count]);
        self.prove()?;
        if let LineSeal::Open(channel) = &mut self.seal {
            let mut plain = Vec::new();
            let opened = channel.open(&mut self.input, &mut plain);
            self.lines.push(&plain);
            opened.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        } else if self.input.len() >= PROOF_MAX_BYTES {
            return Err(io::Error::other("it proves nothing"));
        }
        Ok(true)
    }

    fn prove(&mut self) -> io::Result<()> {
        let LineSeal::Proving(handshake) = &mut self.seal else { return Ok(()) };
        let step = handshake.advance(&mut self.input, &mut self.unsent);
        let step = step.map_err(|refusal| io::Error::other(refusal.to_string()))?;
        if let HandshakeStep::Proven { .. } = step
            && let LineSeal::Proving(handshake) =
                std::mem::replace(&mut self.seal, LineSeal::Broken)
        {
            self.seal = LineSeal::Open(handshake.into_channel());
            self.connection.configure(SILENCE_TIMEOUT)?;
        }
        self.write()
    }

    /// The next line that has arrived.
    ///
    /// # Errors
    /// A line is too long or is no text.
    pub(super) fn next_line(&mut self) -> io::Result<Option<&str>> {
        self.lines.next_line().transpose().map_err(|malformed| io::Error::other(malformed.why))
    }
}

impl AsFd for SealedLines {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
