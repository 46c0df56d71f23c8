//! An open connection: packets out, packets in, in the clear or encrypted.
//!
//! In the clear, bytes go from the queue to the socket, and from the socket to the span that the handler
//! names. Encrypted, what waits in the queue is sealed together, in runs of at most [`SEAL_MAX`] bytes,
//! and every byte that arrives is copied once more.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::out_queue::{OutQueue, QUEUE_PARTS};
use super::packet_reader::{PacketHandler, PacketReader};
use platform::base::Span;
use platform::impi::PacketHeader;
use platform::network::SealedChannel;
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Bytes that one poll takes from a connection, about.
const READ_MAX: usize = 256 << 10;

/// Bytes that are encrypted at once.
const SEAL_MAX: usize = 64 << 10;

pub(crate) struct MeshStream {
    connection: StreamConnection,
    sealing: Option<StreamSealing>,
    /// Bytes of the other end that came with its introduction, in the clear.
    early: Vec<u8>,
    pub(crate) queue: OutQueue,
    reader: PacketReader,
    /// Whether the connection is watched for writing.
    pub(crate) is_blocked: bool,
}

/// The records of a connection.
pub(crate) struct StreamSealing {
    channel: SealedChannel,
    sealed: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    plain: Vec<u8>,
}

impl StreamSealing {
    /// `input` has arrived and is not opened; `sealed` is not written.
    pub(crate) fn new(channel: SealedChannel, input: Vec<u8>, sealed: Vec<u8>) -> Self {
        Self { channel, sealed, written: 0, input, plain: Vec::new() }
    }
}

/// Why nothing more comes.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) enum StreamEnd {
    /// The other end has closed the connection.
    Closed,
    /// The system's error.
    Lost(String),
    /// The other end sends what it must not: part of a sentence.
    Violation(String),
}

impl MeshStream {
    /// `early` has arrived, in the clear.
    pub(crate) fn new(
        connection: StreamConnection, sealing: Option<StreamSealing>, early: Vec<u8>,
    ) -> Self {
        Self {
            connection,
            sealing,
            early,
            queue: OutQueue::default(),
            reader: PacketReader::default(),
            is_blocked: false,
        }
    }

    pub(crate) fn connection(&self) -> &StreamConnection {
        &self.connection
    }

    /// Whether all bytes have been written.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.queue.is_empty() && self.sealing.as_ref().is_none_or(StreamSealing::is_written)
    }

    /// Whether bytes came with the introduction that no poll has taken.
    pub(crate) fn has_early(&self) -> bool {
        !self.early.is_empty() || self.sealing.as_ref().is_some_and(|it| !it.input.is_empty())
    }

    /// Writes what the socket takes.
    ///
    /// # Errors
    /// The system's error: the connection is over, but what has arrived can still be read.
    #[inline]
    pub(crate) fn write(&mut self) -> io::Result<()> {
        if let Some(sealing) = &mut self.sealing {
            return sealing.write(&self.connection, &mut self.queue);
        }
        while !self.queue.is_empty() {
            let mut parts = [SendPart::Bytes(&[]); QUEUE_PARTS];
            let count = self.queue.gather(&mut parts);
            match self.connection.send(&parts[..count])? {
                Moved::Bytes(bytes) => self.queue.advance(bytes),
                Moved::Nothing | Moved::End => break,
            }
        }
        Ok(())
    }

    /// Nothing can be written any more.
    pub(crate) fn drop_output(&mut self) {
        self.queue.clear();
        if let Some(sealing) = &mut self.sealing {
            sealing.sealed.clear();
            sealing.written = 0;
        }
    }

    /// Delivers what has arrived, a bounded part of it. `scratch` is for the time of the call.
    ///
    /// # Errors
    /// Why nothing more comes. Packets may have been delivered before.
    #[inline]
    pub(crate) fn read(
        &mut self, scratch: &mut [u8], handler: &mut impl PacketHandler,
    ) -> Result<(), StreamEnd> {
        if self.has_early() {
            let early = std::mem::take(&mut self.early);
            self.reader.feed(&early, handler).map_err(StreamEnd::Violation)?;
            self.take(&[], handler)?;
        }
        let mut taken = 0;
        while taken < READ_MAX {
            let is_plain = self.sealing.is_none();
            let place = self.reader.destination().filter(|_| is_plain).unwrap_or(Span::EMPTY);
            let bytes = match self.connection.receive(place, scratch) {
                Ok(Moved::Bytes(bytes)) => bytes,
                Ok(Moved::Nothing) => return Ok(()),
                Ok(Moved::End) => return Err(StreamEnd::Closed),
                Err(error) => return Err(StreamEnd::Lost(error.to_string())),
            };
            let placed = bytes.min(place.len());
            if placed > 0 {
                self.reader.arrived(placed, handler).map_err(StreamEnd::Violation)?;
            }
            self.take(&scratch[..bytes - placed], handler)?;
            taken += bytes;
            // The socket was empty.
            if bytes < place.len() + scratch.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn take(&mut self, bytes: &[u8], handler: &mut impl PacketHandler) -> Result<(), StreamEnd> {
        let Some(sealing) = &mut self.sealing else {
            return self.reader.feed(bytes, handler).map_err(StreamEnd::Violation);
        };
        sealing.input.extend_from_slice(bytes);
        sealing.plain.clear();
        // What came before a bad record is delivered.
        let opened = sealing.channel.open(&mut sealing.input, &mut sealing.plain);
        self.reader.feed(&sealing.plain, handler).map_err(StreamEnd::Violation)?;
        opened.map_err(|why| StreamEnd::Violation(why.to_string()))
    }

    /// Drops the rest of a packet that has arrived in part, if its header is such a one.
    pub(crate) fn discard_if(&mut self, is_such: impl FnOnce(&PacketHeader) -> bool) {
        self.reader.discard_if(is_such);
    }

    /// Whether the other end has ended within a packet.
    pub(crate) fn is_within_packet(&self) -> bool {
        !self.reader.is_between_packets()
            || self.sealing.as_ref().is_some_and(|it| !it.input.is_empty())
    }
}

impl StreamSealing {
    fn is_written(&self) -> bool {
        self.written == self.sealed.len()
    }

    fn write(&mut self, connection: &StreamConnection, queue: &mut OutQueue) -> io::Result<()> {
        loop {
            while !self.is_written() {
                match connection.send(&[SendPart::Bytes(&self.sealed[self.written..])])? {
                    Moved::Bytes(bytes) => self.written += bytes,
                    Moved::Nothing | Moved::End => return Ok(()),
                }
            }
            self.sealed.clear();
            self.written = 0;
            let run = queue.front(SEAL_MAX);
            if run.is_empty() {
                return Ok(());
            }
            self.channel.seal(run, &mut self.sealed);
            let taken = run.len();
            queue.advance(taken);
        }
    }
}

impl AsFd for MeshStream {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
