//! The name server's end of a connection.

use std::io;
use std::net::SocketAddr;
use std::os::fd::{AsFd, BorrowedFd};

use super::sealed_lines::SealedLines;
use crate::bootstrap::NameRequest;
use crate::network::SharedSecret;
use crate::sys::tcp::StreamConnection;

/// Bytes of replies above which no request of a connection is taken, until the other end has read some.
const UNSENT_MAX_BYTES: usize = 64 << 10;

/// A job, or a stranger.
pub struct NameCaller {
    lines: SealedLines,
}

impl NameCaller {
    /// An accepted connection, whose other end has proved nothing.
    pub fn new(connection: StreamConnection, secret: &SharedSecret) -> Self {
        Self { lines: SealedLines::respond(connection, secret) }
    }

    /// The address of the other end.
    pub fn peer_address(&self) -> Option<SocketAddr> {
        self.lines.peer_address()
    }

    /// Whether the other end has proved the key.
    pub fn is_proven(&self) -> bool {
        self.lines.is_open()
    }

    /// Whether the next requests are to be read now.
    pub fn takes_requests(&self) -> bool {
        self.lines.unsent_bytes() <= UNSENT_MAX_BYTES
    }

    /// Whether replies wait for room.
    pub fn has_unsent(&self) -> bool {
        self.lines.unsent_bytes() > 0
    }

    /// Reads and sends what is possible now, and answers requests by `serve`.
    ///
    /// # Errors
    /// The other end has closed the connection, or sends what it may not.
    pub fn advance(&mut self, mut serve: impl FnMut(NameRequest) -> Vec<u8>) -> io::Result<()> {
        self.lines.write()?;
        if self.takes_requests() {
            self.lines.read()?;
        }
        // Requests that have arrived wait here while replies wait for room.
        while self.takes_requests() {
            let Some(line) = self.lines.next_line()? else { break };
            let request = NameRequest::parse(line)
                .ok_or_else(|| io::Error::other("it sent what is no request about a name"))?;
            let reply = serve(request);
            self.lines.send(&reply);
            self.lines.write()?;
        }
        Ok(())
    }
}

impl AsFd for NameCaller {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.lines.as_fd()
    }
}
