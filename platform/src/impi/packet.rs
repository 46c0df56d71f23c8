//! The packets between the processes of IMPI clients: a header of 128 bytes, then the data.
//!
//! ```text
//!     0 kind             4 length of the data
//!     8 source: address of the host in 16 bytes, process id in 8
//!    32 destination: the same
//!    56 request of the source          64 request of the destination
//!    72 length of the message          80 rank of the source    84 tag
//!    88 context id                     96 sequence number
//!   104 count of elements             112 datatype             120 reserved
//! ```
//!
//! All numbers are big-endian, all lengths in bytes. The layout is that of LAM/MPI 7 for IMPI as of
//! January 2000; the draft report of March 1999 (NIST) has the same fields. What the fields mean is the
//! business of both ends: the codec only knows which kinds there are.

use std::fmt;

use super::world::ip_address;

/// The length of a header.
pub const HEADER_BYTES: usize = 128;

/// What a packet is for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(u32)]
pub enum ImpiKind {
    /// A whole short message, or a further part of a long one.
    #[default]
    Data = 0,
    /// The first packet of a synchronous or long message.
    DataSync = 1,
    /// Packets of the destination of this one have arrived.
    ProtoAck = 2,
    /// A message has been matched.
    SyncAck = 3,
    /// A message is to be cancelled.
    Cancel = 4,
    /// It was.
    CancelYes = 5,
    /// It was not.
    CancelNo = 6,
    /// The host sends nothing more.
    Fini = 7,
}

impl ImpiKind {
    /// All kinds, in the order of their numbers.
    pub const ALL: [Self; 8] = [
        Self::Data,
        Self::DataSync,
        Self::ProtoAck,
        Self::SyncAck,
        Self::Cancel,
        Self::CancelYes,
        Self::CancelNo,
        Self::Fini,
    ];

    /// Whether data follows the header.
    pub fn has_data(self) -> bool {
        matches!(self, Self::Data | Self::DataSync)
    }

    /// The name in the report.
    pub fn name(self) -> &'static str {
        match self {
            Self::Data => "DATA",
            Self::DataSync => "DATASYNC",
            Self::ProtoAck => "PROTOACK",
            Self::SyncAck => "SYNCACK",
            Self::Cancel => "CANCEL",
            Self::CancelYes => "CANCELYES",
            Self::CancelNo => "CANCELNO",
            Self::Fini => "FINI",
        }
    }
}

impl fmt::Display for ImpiKind {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.write_str(self.name())
    }
}

/// The name of a process in a world.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub struct ProcessId {
    /// An address of its host: IPv6, or IPv4 in the last four bytes behind zeros.
    pub address: [u8; 16],
    /// Its process id there.
    pub pid: i64,
}

impl ProcessId {
    const BYTES: usize = 24;

    fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.address);
        bytes[16..].copy_from_slice(&self.pid.to_be_bytes());
        bytes
    }
}

impl fmt::Display for ProcessId {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match ip_address(self.address) {
            Some(address) => write!(f, "process id {} at {address}", self.pid),
            None => write!(f, "process id {} at no address", self.pid),
        }
    }
}

/// The header of a packet.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct PacketHeader {
    /// What the packet is for.
    pub kind: ImpiKind,
    /// The number of bytes behind the header.
    pub len: u32,
    /// The process that sent the packet.
    pub source: ProcessId,
    /// The process to which it goes.
    pub destination: ProcessId,
    /// The request of the sender of the message.
    pub source_request: u64,
    /// The request of its receiver.
    pub destination_request: u64,
    /// The length of the message.
    pub message_len: u64,
    /// The rank of the sender in the communicator.
    pub source_rank: i32,
    /// The tag of the message.
    pub tag: i32,
    /// The context id of the communicator.
    pub context: u64,
    /// The number of the packet, as its source counts.
    pub sequence: u64,
    /// The number of elements of the message.
    pub count: i64,
    /// The datatype, as the source names it.
    pub datatype: u64,
}

/// The kind of a packet is none.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PacketError {
    /// The number where the kind should be.
    pub kind: u32,
}

impl fmt::Display for PacketError {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "a packet of kind {}, where 0 to 7 have a meaning", self.kind)
    }
}

impl PacketHeader {
    /// The header as bytes.
    pub fn emit(&self) -> [u8; HEADER_BYTES] {
        let mut bytes = [0; HEADER_BYTES];
        let mut put = |at: usize, value: &[u8]| bytes[at..at + value.len()].copy_from_slice(value);
        put(0, &(self.kind as u32).to_be_bytes());
        put(4, &self.len.to_be_bytes());
        put(8, &self.source.emit());
        put(32, &self.destination.emit());
        put(56, &self.source_request.to_be_bytes());
        put(64, &self.destination_request.to_be_bytes());
        put(72, &self.message_len.to_be_bytes());
        put(80, &self.source_rank.to_be_bytes());
        put(84, &self.tag.to_be_bytes());
        put(88, &self.context.to_be_bytes());
        put(96, &self.sequence.to_be_bytes());
        put(104, &self.count.to_be_bytes());
        put(112, &self.datatype.to_be_bytes());
        bytes
    }

    /// The header in bytes of a peer. LAM/MPI counts the header in the length of packets without data.
    ///
    /// # Errors
    /// The kind is none.
    pub fn parse(bytes: &[u8; HEADER_BYTES]) -> Result<Self, PacketError> {
        let kind = u32::from_be_bytes(part(bytes, 0));
        let known = ImpiKind::ALL.get(kind as usize);
        let process = |at| ProcessId {
            address: part(bytes, at),
            pid: i64::from_be_bytes(part(bytes, at + 16)),
        };
        let word = |at| u64::from_be_bytes(part(bytes, at));
        let kind = *known.ok_or(PacketError { kind })?;
        let len = u32::from_be_bytes(part(bytes, 4));
        let is_own = !kind.has_data() && len as usize == HEADER_BYTES;
        Ok(Self {
            kind,
            len: if is_own { 0 } else { len },
            source: process(8),
            destination: process(32),
            source_request: word(56),
            destination_request: word(64),
            message_len: word(72),
            source_rank: i32::from_be_bytes(part(bytes, 80)),
            tag: i32::from_be_bytes(part(bytes, 84)),
            context: word(88),
            sequence: word(96),
            count: i64::from_be_bytes(part(bytes, 104)),
            datatype: word(112),
        })
    }
}

/// The `N` bytes at a fixed place of a header.
fn part<const N: usize>(bytes: &[u8; HEADER_BYTES], at: usize) -> [u8; N] {
    bytes[at..].first_chunk().copied().unwrap_or([0; N])
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::hex;
    use proptest::prelude::*;

    fn bytes(lines: &[&str]) -> [u8; HEADER_BYTES] {
        let text: String = lines.concat().split_whitespace().collect();
        hex::parse(&text).unwrap()
    }

    /// Written by hand from the table of offsets, not by this codec.
    #[test]
    fn a_short_message_is_these_bytes() {
        let transcript = bytes(&[
            "00000000 00000005",
            "00000000000000000000000a4d0001 01 0000000000001267",
            "20010db8000000000000000000000042 00000000000003e8",
            "0000000000000007",
            "0000000000000000",
            "0000000000000005",
            "00000003 0000002a",
            "0000000000000010",
            "0000000000000001",
            "0000000000000005",
            "0000000000000001",
            "0000000000000000",
        ]);
        let header = PacketHeader {
            kind: ImpiKind::Data,
            len: 5,
            source: ProcessId {
                address: [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x0a, 0x4d, 0, 1, 1],
                pid: 0x1267,
            },
            destination: ProcessId {
                address: [0x20, 1, 0x0d, 0xb8, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0x42],
                pid: 1000,
            },
            source_request: 7,
            destination_request: 0,
            message_len: 5,
            source_rank: 3,
            tag: 42,
            context: 16,
            sequence: 1,
            count: 5,
            datatype: 1,
        };
        assert_eq!(header.emit(), transcript);
        assert_eq!(PacketHeader::parse(&transcript), Ok(header));
    }

    /// The same for the widest values, which fill every byte.
    #[test]
    fn every_field_has_its_place() {
        let transcript = bytes(&[
            "00000001 fffefdfc",
            "101112131415161718191a1b1c1d1e1f fffffffffffffff0",
            "303132333435363738393a3b3c3d3e3f 7071727374757677",
            "8081828384858687",
            "88898a8b8c8d8e8f",
            "9091929394959697",
            "fffffffe 9c9d9e9f",
            "a0a1a2a3a4a5a6a7",
            "a8a9aaabacadaeaf",
            "b0b1b2b3b4b5b6b7",
            "b8b9babbbcbdbebf",
            "0000000000000000",
        ]);
        let header = PacketHeader {
            kind: ImpiKind::DataSync,
            len: 0xfffe_fdfc,
            source: ProcessId { address: std::array::from_fn(|at| 0x10 + at as u8), pid: -16 },
            destination: ProcessId {
                address: std::array::from_fn(|at| 0x30 + at as u8),
                pid: 0x7071_7273_7475_7677,
            },
            source_request: 0x8081_8283_8485_8687,
            destination_request: 0x8889_8a8b_8c8d_8e8f,
            message_len: 0x9091_9293_9495_9697,
            source_rank: -2,
            tag: 0x9c9d_9e9f_u32 as i32,
            context: 0xa0a1_a2a3_a4a5_a6a7,
            sequence: 0xa8a9_aaab_acad_aeaf,
            count: 0xb0b1_b2b3_b4b5_b6b7_u64 as i64,
            datatype: 0xb8b9_babb_bcbd_bebf,
        };
        assert_eq!(header.emit(), transcript);
        assert_eq!(PacketHeader::parse(&transcript), Ok(header));
    }

    #[test]
    fn kinds_have_these_numbers() {
        let names = "DATA DATASYNC PROTOACK SYNCACK CANCEL CANCELYES CANCELNO FINI";
        for (number, (kind, name)) in ImpiKind::ALL.into_iter().zip(names.split(' ')).enumerate() {
            let bytes = PacketHeader { kind, ..PacketHeader::default() }.emit();
            assert_eq!((&bytes[..4], kind.name()), (&[0, 0, 0, number as u8][..], name));
            assert_eq!(PacketHeader::parse(&bytes).map(|header| header.kind), Ok(kind));
        }
        for kind in [8_u32, 0x0100_0000, u32::MAX] {
            let mut bytes = [0; HEADER_BYTES];
            bytes[..4].copy_from_slice(&kind.to_be_bytes());
            assert_eq!(PacketHeader::parse(&bytes), Err(PacketError { kind }));
            assert!(PacketError { kind }.to_string().contains(&kind.to_string()));
        }
    }

    #[test]
    fn packets_without_data_may_count_their_header() {
        for kind in ImpiKind::ALL {
            let header = PacketHeader { kind, len: HEADER_BYTES as u32, ..PacketHeader::default() };
            let len = if kind.has_data() { header.len } else { 0 };
            assert_eq!(PacketHeader::parse(&header.emit()), Ok(PacketHeader { len, ..header }));
        }
    }

    #[test]
    fn what_is_reserved_is_ignored() {
        let mut bytes = PacketHeader::default().emit();
        bytes[120..].fill(0xff);
        assert_eq!(PacketHeader::parse(&bytes), Ok(PacketHeader::default()));
    }

    #[test]
    fn processes_have_readable_names() {
        let mut id = ProcessId { address: [0; 16], pid: -3 };
        assert_eq!(id.to_string(), "process id -3 at no address");
        id.address[12..].copy_from_slice(&[10, 77, 0, 1]);
        assert_eq!(id.to_string(), "process id -3 at 10.77.0.1");
    }

    proptest! {
        #[test]
        fn any_known_kind_reads_back(fields in any::<[u64; 16]>(), kind in 0_u8..8) {
            let mut bytes: [u8; HEADER_BYTES] = std::array::from_fn(|at| {
                fields[at / 8].to_be_bytes()[at % 8]
            });
            bytes[..4].copy_from_slice(&[0, 0, 0, kind]);
            bytes[120..].fill(0);
            prop_assert_eq!(PacketHeader::parse(&bytes).unwrap().emit(), bytes);
        }
    }
}
