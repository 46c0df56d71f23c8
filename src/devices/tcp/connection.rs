//! An open connection: frames out, frames in, in the clear or encrypted.
//!
//! Frames without packets go between other frames, in a buffer of their own. In the clear, long data
//! goes from the sender's memory and to the receiver's without a copy. Encrypted, every byte is copied
//! into records.

use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use super::frame::{FrameClass, FrameHeader};
use super::frame_reader::{FrameReader, FrameSink};
use super::kept::LocalEnd;
use super::send_queue::{GATHER_PARTS, SendQueue};
use crate::device::Header;
use platform::base::{Peer, Span};
use platform::network::SealedChannel;
use platform::sys::tcp::{Moved, SendPart, StreamConnection};

/// Bytes that one poll takes from a connection, about.
const READ_MAX: usize = 256 << 10;

/// Bytes that are encrypted at once.
const SEAL_MAX: usize = 64 << 10;

pub(crate) struct OpenConnection {
    connection: StreamConnection,
    cipher: Option<Cipher>,
    /// That of a connection inside this host.
    local: Option<LocalEnd>,
    /// Bytes to write before the frames of the queue: the verdict, frames without packets.
    prelude: Vec<u8>,
    /// Bytes received with the verdict.
    early: Vec<u8>,
    /// Whether the connection is watched for writing.
    pub(crate) is_blocked: bool,
}

/// The records of a connection.
struct Cipher {
    channel: SealedChannel,
    sealed: Vec<u8>,
    written: usize,
    input: Vec<u8>,
    plain: Vec<u8>,
}

impl OpenConnection {
    pub(crate) fn new(
        connection: StreamConnection, channel: Option<SealedChannel>, early: Vec<u8>,
        unsent: Vec<u8>,
    ) -> Self {
        let (mut prelude, mut sealed) = (Vec::new(), Vec::new());
        // What is left of the verdict is a record already.
        if channel.is_some() {
            sealed = unsent
        } else {
            prelude = unsent
        }
        let cipher = channel.map(|channel| Cipher {
            channel,
            sealed,
            written: 0,
            input: Vec::new(),
            plain: Vec::new(),
        });
        Self { connection, cipher, local: None, prelude, early, is_blocked: false }
    }

    /// A connection inside this host, never encrypted: the kernel carries the bytes.
    pub(crate) fn new_local(
        connection: StreamConnection, end: LocalEnd, early: Vec<u8>, unsent: Vec<u8>,
    ) -> Self {
        Self { local: Some(end), ..Self::new(connection, None, early, unsent) }
    }

    /// Whether the kernel of this host carries the bytes: what is written arrives, if its receiver lives.
    #[inline]
    pub(crate) fn is_local(&self) -> bool {
        self.local.is_some()
    }

    /// What it has of a link before, if it is one inside this host.
    pub(crate) fn local_mut(&mut self) -> Option<&mut LocalEnd> {
        self.local.as_mut()
    }

    /// The connection without its frames; `None` if it is none of this host, or has bytes to write or to
    /// deliver.
    pub(crate) fn into_local(self) -> Option<(StreamConnection, LocalEnd)> {
        let is_empty = self.prelude.is_empty() && self.early.is_empty();
        self.local.filter(|_| is_empty).map(|end| (self.connection, end))
    }

    /// The connection without its frames, the bytes that have been received, and those to be written first;
    /// `None` if it is encrypted, or one of this host.
    pub(crate) fn into_plain(self) -> Option<(StreamConnection, Vec<u8>, Vec<u8>)> {
        let Self { connection, cipher, local, prelude, early, .. } = self;
        (cipher.is_none() && local.is_none()).then_some((connection, early, prelude))
    }

    /// Whether bytes go to the socket as they are.
    #[inline]
    pub(crate) fn is_plain(&self) -> bool {
        self.cipher.is_none()
    }

    /// Whether nothing waits to be written before the frames of the queue.
    #[inline]
    pub(crate) fn is_ready(&self) -> bool {
        self.prelude.is_empty() && !self.is_blocked
    }

    /// Whether nothing is left of what was to be written before the frames of the queue.
    #[inline]
    pub(crate) fn has_written(&self) -> bool {
        let sealed = self.cipher.as_ref().is_none_or(|it| it.written == it.sealed.len());
        self.prelude.is_empty() && sealed
    }

    /// Adds a frame without a packet. No frame of the queue has been written in part.
    pub(crate) fn push_control(&mut self, class: FrameClass, received: u64) {
        self.prelude.extend_from_slice(&FrameHeader::control(class, received).emit());
    }

    /// Adds a frame without a packet that has words, under the same condition.
    pub(crate) fn push_words(&mut self, class: FrameClass, words: [u64; 2], received: u64) {
        let packet = Header { words, kind: 0 };
        let frame = FrameHeader { packet, ..FrameHeader::control(class, received) };
        self.prelude.extend_from_slice(&frame.emit());
    }

    /// Adds a datagram, under the same condition.
    pub(crate) fn push_datagram(&mut self, received: u64, data: &[u8]) {
        let control = FrameHeader::control(FrameClass::Datagram, received);
        self.prelude.extend_from_slice(&FrameHeader { len: data.len(), ..control }.emit());
        self.prelude.extend_from_slice(data);
    }

    /// Writes what the socket takes. False if something is left.
    ///
    /// # Errors
    /// The system's error: the connection is over.
    pub(crate) fn write(&mut self, queue: &mut SendQueue) -> io::Result<bool> {
        if self.cipher.is_some() {
            return self.write_sealed(queue);
        }
        while !(self.prelude.is_empty() && queue.is_written()) {
            let mut parts = [SendPart::Bytes(&[]); GATHER_PARTS];
            let count = if self.prelude.is_empty() {
                queue.gather(&mut parts)
            } else {
                parts[0] = SendPart::Bytes(&self.prelude);
                1
            };
            let Moved::Bytes(bytes) = self.connection.send(&parts[..count])? else {
                return Ok(false);
            };
            if self.prelude.is_empty() {
                queue.advance(bytes);
            } else {
                self.prelude.drain(..bytes);
            }
        }
        Ok(true)
    }

    /// Writes a frame with a header and data in memory, all of it or a part; the number of bytes.
    ///
    /// # Errors
    /// As [`OpenConnection::write`].
    pub(crate) fn write_now(&self, header: &[u8], data: Span) -> io::Result<usize> {
        match self.connection.send(&[SendPart::Bytes(header), SendPart::Memory(data)])? {
            Moved::Bytes(bytes) => Ok(bytes),
            Moved::Nothing | Moved::End => Ok(0),
        }
    }

    fn write_sealed(&mut self, queue: &mut SendQueue) -> io::Result<bool> {
        let Some(cipher) = &mut self.cipher else { return Ok(true) };
        loop {
            while cipher.written < cipher.sealed.len() {
                let rest = SendPart::Bytes(&cipher.sealed[cipher.written..]);
                match self.connection.send(&[rest])? {
                    Moved::Bytes(bytes) => cipher.written += bytes,
                    Moved::Nothing | Moved::End => return Ok(false),
                }
            }
            cipher.sealed.clear();
            cipher.written = 0;
            let mut plain = std::mem::take(&mut self.prelude);
            let prelude = plain.len();
            queue.copy_next(SEAL_MAX, &mut plain);
            if plain.is_empty() {
                self.prelude = plain;
                return Ok(true);
            }
            cipher.channel.seal(&plain, &mut cipher.sealed);
            queue.advance(plain.len() - prelude);
            plain.clear();
            self.prelude = plain;
        }
    }

    /// Delivers what has arrived, a bounded part of it; the number of packets. `scratch` is for the
    /// time of the call.
    ///
    /// # Errors
    /// Why the connection is over, as part of a sentence. Packets may have been delivered before.
    #[inline]
    pub(crate) fn read(
        &mut self, from: Peer, reader: &mut FrameReader, scratch: &mut [u8],
        sink: &mut impl FrameSink, packets: &mut usize,
    ) -> Result<(), String> {
        if !self.early.is_empty() {
            let early = std::mem::take(&mut self.early);
            self.take(from, &early, reader, sink, packets)?;
        }
        let mut taken = 0;
        while taken < READ_MAX {
            let place = reader.destination().filter(|_| self.is_plain()).unwrap_or(Span::EMPTY);
            let bytes = match self.connection.receive(place, scratch) {
                Ok(Moved::Bytes(bytes)) => bytes,
                Ok(Moved::Nothing) => return Ok(()),
                Ok(Moved::End) => return Err("the other end closed the connection".to_owned()),
                Err(error) => return Err(error.to_string()),
            };
            let placed = bytes.min(place.len());
            if placed > 0 {
                *packets += reader.arrived(from, placed, sink);
            }
            self.take(from, &scratch[..bytes - placed], reader, sink, packets)?;
            taken += bytes;
            // The socket was empty.
            if bytes < place.len() + scratch.len() {
                return Ok(());
            }
        }
        Ok(())
    }

    #[inline]
    fn take(
        &mut self, from: Peer, bytes: &[u8], reader: &mut FrameReader, sink: &mut impl FrameSink,
        packets: &mut usize,
    ) -> Result<(), String> {
        const NO_FRAMES: &str = "the other end sent bytes without a meaning";
        let Some(cipher) = &mut self.cipher else {
            *packets += reader.feed(from, bytes, sink).map_err(|_| NO_FRAMES)?;
            return Ok(());
        };
        cipher.input.extend_from_slice(bytes);
        cipher.plain.clear();
        let opened = cipher.channel.open(&mut cipher.input, &mut cipher.plain);
        opened.map_err(|why| why.to_string())?;
        *packets += reader.feed(from, &cipher.plain, sink).map_err(|_| NO_FRAMES)?;
        Ok(())
    }
}

#[cfg(test)]
impl OpenConnection {
    /// Ends the connection at both ends.
    pub(crate) fn cut(&self) {
        self.connection.cut();
    }
}

impl AsFd for OpenConnection {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.connection.as_fd()
    }
}
