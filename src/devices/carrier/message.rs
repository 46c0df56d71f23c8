//! The messages of the device inside messages of the library.
//!
//! ```text
//!   tag HEADER   | word 0: 8 | word 1: 8 | length: 4 | sequence: 2 | packet kind: 1 | message kind: 1 | data |
//!   tag DATA     | data of a long packet |
//! ```
//!
//! Numbers are those of the host: all ranks have one byte order. Lengths are in bytes. Messages with headers to one
//! peer are numbered, so that one that a provider loses after an error is missed.

use crate::device::Header;

/// Bytes of a header.
pub(super) const HEADER_BYTES: usize = 24;

/// Tags of the messages of the library.
pub(super) const HEADER_TAG: i32 = 1;
pub(super) const DATA_TAG: i32 = 2;

/// What follows a header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(super) enum MessageKind {
    /// The data of the packet, in the same message.
    Short = 1,
    /// The data of the packet, in the next message with the other tag.
    Long = 2,
    /// A datagram, in the same message.
    Datagram = 3,
    /// A message of one-sided access, whole: its kind is that of the packet.
    Access = 4,
}

/// A header and its length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct MessageHeader {
    pub(super) packet: Header,
    pub(super) kind: MessageKind,
    pub(super) sequence: u16,
    pub(super) len: usize,
}

impl MessageHeader {
    /// Writes it to the beginning of `bytes`.
    ///
    /// # Panics
    /// If there are fewer than [`HEADER_BYTES`].
    #[inline]
    pub(super) fn emit(&self, bytes: &mut [u8]) {
        let [first, second] = self.packet.words;
        let kinds = u64::from(self.packet.kind) << 48 | (self.kind as u64) << 56;
        let third = self.len as u64 | u64::from(self.sequence) << 32 | kinds;
        let words = bytes[..HEADER_BYTES].as_chunks_mut::<8>().0;
        for (place, word) in words.iter_mut().zip([first, second, third]) {
            *place = word.to_ne_bytes();
        }
    }

    /// Reads it from the beginning of `bytes`; `None` if it is none, which only a stranger sends.
    #[inline]
    pub(super) fn parse(bytes: &[u8]) -> Option<Self> {
        let (words, _) = bytes.as_chunks::<8>();
        let word = |index: usize| u64::from_ne_bytes(words[index]);
        if words.len() < HEADER_BYTES / 8 {
            return None;
        }
        let third = word(2);
        let kind = match third >> 56 {
            1 => MessageKind::Short,
            2 => MessageKind::Long,
            3 => MessageKind::Datagram,
            4 => MessageKind::Access,
            _ => return None,
        };
        let packet = Header { words: [word(0), word(1)], kind: (third >> 48) as u8 };
        Some(Self { packet, kind, sequence: (third >> 32) as u16, len: third as u32 as usize })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_header_reads_back() {
        use MessageKind::{Access, Datagram, Long, Short};
        for kind in [Short, Long, Datagram, Access] {
            let packet = Header { words: [u64::MAX, 7], kind: 255 };
            let (sequence, len) = (0xfedc, u32::MAX as usize);
            let header = MessageHeader { packet, kind, sequence, len };
            let mut bytes = [0; HEADER_BYTES + 1];
            header.emit(&mut bytes);
            assert_eq!(MessageHeader::parse(&bytes), Some(header));
            assert_eq!(bytes[HEADER_BYTES], 0);
            assert_eq!(MessageHeader::parse(&bytes[..HEADER_BYTES - 1]), None);
            bytes[HEADER_BYTES - 1] = 5;
            assert_eq!(MessageHeader::parse(&bytes), None);
        }
    }
}
