//! Frames: the unit of the stream of a connection.
//!
//! ```text
//!   words 0, 1        of the packet's header                       16 bytes
//!   acknowledged      packets received from the other end so far    8
//!   len               bytes of data that follow                     4
//!   kind              of the packet's header                        1
//!   class             [`FrameClass`]                                1
//!   0                                                               2
//!   data              len bytes
//! ```
//!
//! All numbers are little-endian. Datagrams have data, too. Packets have no numbers on the wire: each end counts them.

use crate::device::{DATAGRAM_MAX, Header};

/// The longest data of a frame, in bytes.
pub(crate) const FRAME_DATA_MAX: usize = 1 << 20;

/// The longest data of a frame of a one-sided access, in bytes: a quarter of what is received at once,
/// so most of them need no other buffer.
pub(crate) const FRAME_ACCESS_MAX: usize = 16 << 10;

/// The kinds of frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub(crate) enum FrameClass {
    /// A packet. It is counted, and sent again after a connection is lost.
    Packet = 1,
    /// A packet whose sender waits for the acknowledgement.
    UrgentPacket = 2,
    /// An acknowledgement without a packet.
    Acknowledgement = 3,
    /// The sender may exit: the end of the connection is no failure.
    Leaving = 4,
    /// A datagram: neither counted nor sent again.
    Datagram = 5,
    /// Of a one-sided access. It is counted, and sent again after a connection is lost.
    Access = 6,
    /// The last frame of a link: its sender has forgotten the peer. The connection may be of use to the next
    /// link.
    Released = 7,
    /// The words name a segment that the sender offers, or has.
    Offer = 8,
    /// The words name a segment that the sender has now, too.
    Taken = 9,
    /// The words name a segment that the sender does not have.
    Refused = 10,
}

/// The header of a frame.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FrameHeader {
    pub(crate) class: FrameClass,
    /// The header of the packet or access, and the words about a segment; zero in other frames.
    pub(crate) packet: Header,
    /// Bytes of data.
    pub(crate) len: usize,
    /// The number of packets that the sender of this frame has received.
    pub(crate) acknowledged: u64,
}

impl FrameHeader {
    /// Its length in bytes.
    pub(crate) const LEN: usize = 32;

    /// A frame without a packet and data.
    pub(crate) fn control(class: FrameClass, acknowledged: u64) -> Self {
        Self { class, packet: Header::default(), len: 0, acknowledged }
    }

    #[inline]
    pub(crate) fn emit(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..8].copy_from_slice(&self.packet.words[0].to_le_bytes());
        bytes[8..16].copy_from_slice(&self.packet.words[1].to_le_bytes());
        bytes[16..24].copy_from_slice(&self.acknowledged.to_le_bytes());
        bytes[24..28].copy_from_slice(&(self.len as u32).to_le_bytes());
        bytes[28] = self.packet.kind;
        bytes[29] = self.class as u8;
        bytes
    }

    /// The header in the first bytes; `None` if they are none.
    #[inline]
    pub(crate) fn parse(bytes: &[u8; Self::LEN]) -> Option<Self> {
        let word = |at: usize| bytes[at..].first_chunk().map(|word| u64::from_le_bytes(*word));
        let len = u32::from_le_bytes(*bytes[24..].first_chunk()?) as usize;
        let class = match bytes[29] {
            1 => FrameClass::Packet,
            2 => FrameClass::UrgentPacket,
            3 => FrameClass::Acknowledgement,
            4 => FrameClass::Leaving,
            5 => FrameClass::Datagram,
            6 => FrameClass::Access,
            7 => FrameClass::Released,
            8 => FrameClass::Offer,
            9 => FrameClass::Taken,
            10 => FrameClass::Refused,
            _ => return None,
        };
        let len_max = match class {
            FrameClass::Packet | FrameClass::UrgentPacket => FRAME_DATA_MAX,
            FrameClass::Datagram => DATAGRAM_MAX,
            FrameClass::Access => FRAME_ACCESS_MAX,
            FrameClass::Acknowledgement
            | FrameClass::Leaving
            | FrameClass::Released
            | FrameClass::Offer
            | FrameClass::Taken
            | FrameClass::Refused => 0,
        };
        let packet = Header { words: [word(0)?, word(8)?], kind: bytes[28] };
        (len <= len_max && bytes[30..] == [0, 0]).then_some(Self {
            class,
            packet,
            len,
            acknowledged: word(16)?,
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    #[test]
    fn every_frame_reads_back() {
        let packet = Header { words: [u64::MAX, 7], kind: 200 };
        let urgent = FrameClass::UrgentPacket;
        for frame in [
            FrameHeader { class: FrameClass::Packet, packet, len: 0, acknowledged: u64::MAX },
            FrameHeader { class: urgent, packet, len: FRAME_DATA_MAX, acknowledged: 0 },
            FrameHeader::control(FrameClass::Acknowledgement, 9),
            FrameHeader::control(FrameClass::Leaving, 0),
            FrameHeader {
                class: FrameClass::Access,
                packet,
                len: FRAME_ACCESS_MAX,
                acknowledged: 1,
            },
            FrameHeader { len: DATAGRAM_MAX, ..FrameHeader::control(FrameClass::Datagram, 3) },
        ] {
            assert_eq!(FrameHeader::parse(&frame.emit()), Some(frame));
        }
        let long = FrameHeader { len: FRAME_DATA_MAX + 1, ..FrameHeader::control(urgent, 0) };
        assert_eq!(FrameHeader::parse(&long.emit()), None);
        let datagram = FrameHeader::control(FrameClass::Datagram, 0);
        let long = FrameHeader { len: DATAGRAM_MAX + 1, ..datagram };
        assert_eq!(FrameHeader::parse(&long.emit()), None);
        let filled = FrameHeader { len: 1, ..FrameHeader::control(FrameClass::Leaving, 0) };
        assert_eq!(FrameHeader::parse(&filled.emit()), None);
    }

    proptest! {
        #[test]
        fn any_bytes_are_taken(bytes: [u8; FrameHeader::LEN]) {
            if let Some(frame) = FrameHeader::parse(&bytes) {
                prop_assert_eq!(frame.emit(), bytes);
            }
        }
    }
}
