//! Packet formats of the engine: header words and data of each kind.
//!
//! ```text
//! kind            words[0]            words[1]              data
//! Eager           context             source, tag           the whole message
//! Rts             context             source, tag           [`Rts`]: 28 bytes
//! Cts             sender, receiver    limit                 -
//! Data            receiver            offset                a part of the message
//! Fin             sender              -                     -
//! Credit          bytes               -                     -
//! CopyAssist      sender, receiver    ticket                -
//! CopyAssistDone  sender, receiver    1: whole, 0: failed   -
//! Hold            -                   -                     -
//! Resume          -                   -                     -
//! Cancel          sender              -                     -
//! CancelReply     sender              1: yes, 0: no         -
//! ```
//!
//! `sender` and `receiver` are operation keys at the sending and the receiving rank of the message.
//! Lengths and offsets are in bytes of the packed message. All ranks of a job have one byte order;
//! the device checks that when it attaches.

use crate::device::{Header, MemoryDescriptor};

/// A message that cannot be read, in an [`Rts`].
const NO_DESCRIPTOR: [u8; MemoryDescriptor::LEN] = [0; MemoryDescriptor::LEN];

/// The context of messages of the library about failures, which any process may send to any other.
pub(crate) const NOTICE_CONTEXT: u64 = ((1 << 29) - 1) << 35 | 7;

/// The kinds of packet, as in [`Header::kind`].
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum PacketKind {
    /// A whole message.
    Eager = 1,
    /// Request to send: the envelope of a message whose data follows on request.
    Rts = 2,
    /// Clear to send: the receiver requests data up to a limit.
    Cts = 3,
    /// A part of a requested message.
    Data = 4,
    /// The receiver has read the message from the sender's memory.
    Fin = 5,
    /// The receiver has consumed eager payload.
    Credit = 6,
    /// The receiver copies a message and the sender may copy a part of it.
    CopyAssist = 7,
    /// The sender has copied the last part.
    CopyAssistDone = 8,
    /// The receiver keeps too many unexpected messages: no further ones.
    Hold = 9,
    /// The end of [`PacketKind::Hold`].
    Resume = 10,
    /// The sender takes a message back, unless a receive has matched it.
    Cancel = 11,
    /// Whether the receiver has forgotten it.
    CancelReply = 12,
}

/// The part of a message that matching compares (MPI 5.0 §3.2.3).
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct Envelope {
    /// The communicator's context.
    pub context: u64,
    /// The sender's rank in the communicator.
    pub source: u32,
    /// The tag.
    pub tag: i32,
}

impl Envelope {
    /// The header of a packet of `kind` that carries this envelope.
    #[inline]
    pub(crate) fn header(self, kind: PacketKind) -> Header {
        let second = u64::from(self.source) << 32 | u64::from(self.tag as u32);
        Header { words: [self.context, second], kind: kind as u8 }
    }

    /// The envelope in a header.
    #[inline]
    pub(crate) fn of(header: &Header) -> Self {
        let [context, second] = header.words;
        Self { context, source: (second >> 32) as u32, tag: second as u32 as i32 }
    }
}

/// The data of an [`PacketKind::Rts`] packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Rts {
    /// The operation at the sender.
    pub(crate) sender: u32,
    /// Bytes of the packed message.
    pub(crate) total: u64,
    /// What the receiver's device needs to read the message; `None` (zero) if it cannot be read.
    pub(crate) descriptor: Option<MemoryDescriptor>,
}

impl Rts {
    /// The data's length in bytes.
    pub(crate) const LEN: usize = 12 + MemoryDescriptor::LEN;

    /// The packet data.
    pub(crate) fn emit(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..4].copy_from_slice(&self.sender.to_le_bytes());
        bytes[4..12].copy_from_slice(&self.total.to_le_bytes());
        bytes[12..].copy_from_slice(&self.descriptor.map_or(NO_DESCRIPTOR, |readable| readable.0));
        bytes
    }

    /// Parses packet data; `None` if it has the wrong length.
    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        let (sender, rest) = bytes.split_first_chunk()?;
        let (total, descriptor) = rest.split_first_chunk()?;
        let descriptor = descriptor.try_into().ok()?;
        Some(Self {
            sender: u32::from_le_bytes(*sender),
            total: u64::from_le_bytes(*total),
            descriptor: (descriptor != NO_DESCRIPTOR).then_some(MemoryDescriptor(descriptor)),
        })
    }
}

/// A packet without an envelope: its header has everything except data.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Control {
    /// [`PacketKind::Cts`].
    Cts {
        /// The sending operation.
        sender: u32,
        /// The receiving operation.
        receiver: u32,
        /// Bytes to send, from the first on.
        limit: u64,
    },
    /// [`PacketKind::Data`].
    Data {
        /// The receiving operation.
        receiver: u32,
        /// The position in the packed message, in bytes.
        offset: u64,
    },
    /// [`PacketKind::Fin`].
    Fin {
        /// The sending operation.
        sender: u32,
    },
    /// [`PacketKind::Credit`].
    Credit {
        /// Consumed bytes of eager payload.
        bytes: u64,
    },
    /// [`PacketKind::CopyAssist`].
    CopyAssist {
        /// The sending operation.
        sender: u32,
        /// The receiving operation.
        receiver: u32,
        /// The ticket of the device.
        ticket: u64,
    },
    /// [`PacketKind::CopyAssistDone`].
    CopyAssistDone {
        /// The sending operation.
        sender: u32,
        /// The receiving operation.
        receiver: u32,
        /// Whether every byte has been copied.
        whole: bool,
    },
    /// [`PacketKind::Hold`].
    Hold,
    /// [`PacketKind::Resume`].
    Resume,
    /// [`PacketKind::Cancel`].
    Cancel {
        /// The sending operation.
        sender: u32,
    },
    /// [`PacketKind::CancelReply`].
    CancelReply {
        /// The sending operation.
        sender: u32,
        /// Whether no receive gets the message.
        is_cancelled: bool,
    },
}

/// Two operation keys in one word.
fn pair(sender: u32, receiver: u32) -> u64 {
    u64::from(sender) << 32 | u64::from(receiver)
}

impl Control {
    /// The packet header.
    pub(crate) fn header(self) -> Header {
        let (kind, words) = match self {
            Self::Cts { sender, receiver, limit } => {
                (PacketKind::Cts, [pair(sender, receiver), limit])
            }
            Self::Data { receiver, offset } => (PacketKind::Data, [u64::from(receiver), offset]),
            Self::Fin { sender } => (PacketKind::Fin, [u64::from(sender), 0]),
            Self::Credit { bytes } => (PacketKind::Credit, [bytes, 0]),
            Self::CopyAssist { sender, receiver, ticket } => {
                (PacketKind::CopyAssist, [pair(sender, receiver), ticket])
            }
            Self::CopyAssistDone { sender, receiver, whole } => {
                (PacketKind::CopyAssistDone, [pair(sender, receiver), u64::from(whole)])
            }
            Self::Hold => (PacketKind::Hold, [0; 2]),
            Self::Resume => (PacketKind::Resume, [0; 2]),
            Self::Cancel { sender } => (PacketKind::Cancel, [u64::from(sender), 0]),
            Self::CancelReply { sender, is_cancelled } => {
                (PacketKind::CancelReply, [u64::from(sender), u64::from(is_cancelled)])
            }
        };
        Header { words, kind: kind as u8 }
    }

    /// Parses a header; `None` if it has another kind.
    pub(crate) fn parse(header: &Header) -> Option<Self> {
        let [first, second] = header.words;
        let (sender, receiver) = ((first >> 32) as u32, first as u32);
        Some(match header.kind {
            kind if kind == PacketKind::Cts as u8 => Self::Cts { sender, receiver, limit: second },
            kind if kind == PacketKind::Data as u8 => {
                Self::Data { receiver: first as u32, offset: second }
            }
            kind if kind == PacketKind::Fin as u8 => Self::Fin { sender: first as u32 },
            kind if kind == PacketKind::Credit as u8 => Self::Credit { bytes: first },
            kind if kind == PacketKind::CopyAssist as u8 => {
                Self::CopyAssist { sender, receiver, ticket: second }
            }
            kind if kind == PacketKind::CopyAssistDone as u8 => {
                Self::CopyAssistDone { sender, receiver, whole: second != 0 }
            }
            kind if kind == PacketKind::Hold as u8 => Self::Hold,
            kind if kind == PacketKind::Resume as u8 => Self::Resume,
            kind if kind == PacketKind::Cancel as u8 => Self::Cancel { sender: first as u32 },
            kind if kind == PacketKind::CancelReply as u8 => {
                Self::CancelReply { sender: first as u32, is_cancelled: second != 0 }
            }
            _ => return None,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_packet_reads_back() {
        let envelope = Envelope { context: u64::MAX - 1, source: u32::MAX, tag: -7 };
        assert_eq!(Envelope::of(&envelope.header(PacketKind::Eager)), envelope);
        for descriptor in [None, Some(MemoryDescriptor::of_address(1 << 47))] {
            let rts = Rts { sender: 7, total: u64::MAX, descriptor };
            assert_eq!(Rts::parse(&rts.emit()), Some(rts));
        }
        assert_eq!(Rts::parse(&[0; Rts::LEN - 1]), None);
        for control in [
            Control::Cts { sender: 1, receiver: u32::MAX, limit: 1 << 40 },
            Control::Data { receiver: 3, offset: u64::MAX },
            Control::Fin { sender: 9 },
            Control::Credit { bytes: 12 },
            Control::CopyAssist { sender: u32::MAX, receiver: 5, ticket: u64::MAX },
            Control::CopyAssistDone { sender: 4, receiver: 0, whole: true },
            Control::CopyAssistDone { sender: 4, receiver: 0, whole: false },
            Control::Hold,
            Control::Resume,
            Control::Cancel { sender: u32::MAX },
            Control::CancelReply { sender: 6, is_cancelled: true },
            Control::CancelReply { sender: 6, is_cancelled: false },
        ] {
            assert_eq!(Control::parse(&control.header()), Some(control));
        }
        assert_eq!(Control::parse(&Header { kind: 99, words: [0; 2] }), None);
    }
}
