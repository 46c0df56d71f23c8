//! The stream of one connection, cut into packets.
//!
//! ```text
//!            header, short data ────────────────────────────────────> packet, placed
//!   Header ──header of long data──> Body ──Deliver──> a buffer ─────> packet
//!     ▲                              ├────Place────> its span ──────> placed
//!     │                              └────Discard───> nowhere
//!     └──────────────────────────────┘
//! ```
//!
//! The handler judges each header before its data is stored, so nothing grows for a peer that lies about
//! a length. The caller may receive straight to a span ([`PacketReader::destination`]).
//!
//! It has no socket, and takes any bytes.

use platform::base::Span;
use platform::impi::{HEADER_BYTES, PacketHeader};

/// Memory that a packet of this length and longer ones get at once, in bytes.
const BUFFER_MIN: usize = 256 << 10;

/// What becomes of the data of a packet.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Intake {
    /// [`PacketHandler::packet`] takes it.
    Deliver,
    /// It goes to this span, of its length; then comes [`PacketHandler::placed`].
    Place(Span),
    /// It is dropped.
    Discard,
}

/// What takes packets. An error is why the connection is of no use, as part of a sentence.
pub(crate) trait PacketHandler {
    /// Judges a header, once for each packet.
    fn begin(&mut self, header: &PacketHeader) -> Result<Intake, String>;

    /// A packet to deliver is complete.
    fn packet(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String>;

    /// A packet to place is complete.
    fn placed(&mut self, header: &PacketHeader) -> Result<(), String>;
}

#[derive(Default)]
pub(crate) struct PacketReader {
    /// The beginning of a header.
    partial: Vec<u8>,
    body: Option<PacketBody>,
}

/// A packet whose data has arrived in part.
struct PacketBody {
    header: PacketHeader,
    arrived: usize,
    intake: Intake,
    /// The data, if it is to be delivered.
    buffer: Vec<u8>,
}

impl PacketReader {
    /// Whether the stream is between two packets.
    pub(crate) fn is_between_packets(&self) -> bool {
        self.partial.is_empty() && self.body.is_none()
    }

    /// Drops the rest of a packet that has arrived in part, if its header is such a one.
    pub(crate) fn discard_if(&mut self, is_such: impl FnOnce(&PacketHeader) -> bool) {
        if let Some(body) = &mut self.body
            && is_such(&body.header)
        {
            body.intake = Intake::Discard;
            body.buffer = Vec::new();
        }
    }

    /// Where the next bytes of the stream belong, if that is a span of the handler.
    #[inline]
    pub(crate) fn destination(&self) -> Option<Span> {
        let body = self.body.as_ref()?;
        match body.intake {
            Intake::Place(span) => Some(span.part(body.arrived, span.len() - body.arrived)),
            Intake::Deliver | Intake::Discard => None,
        }
    }

    /// `bytes` have been received to [`PacketReader::destination`].
    ///
    /// # Errors
    /// That of the handler; the stream is of no further use.
    pub(crate) fn arrived(
        &mut self, bytes: usize, handler: &mut impl PacketHandler,
    ) -> Result<(), String> {
        let Some(body) = &mut self.body else { return Ok(()) };
        body.arrived += bytes;
        self.end_body(handler)
    }

    /// Takes the next bytes of the stream.
    ///
    /// # Errors
    /// That of the handler, or bytes that are no packet; the stream is of no further use.
    #[inline]
    pub(crate) fn feed(
        &mut self, mut bytes: &[u8], handler: &mut impl PacketHandler,
    ) -> Result<(), String> {
        while !bytes.is_empty() {
            if self.body.is_some() {
                self.feed_body(&mut bytes, handler)?;
            } else if !self.partial.is_empty() {
                self.feed_header(&mut bytes, handler)?;
            } else if let Some((header, rest)) = bytes.split_first_chunk() {
                bytes = rest;
                self.begin(header, &mut bytes, handler)?;
            } else {
                self.partial.extend_from_slice(bytes);
                return Ok(());
            }
        }
        Ok(())
    }

    /// Judges a header, and takes the data behind it if all of it is there.
    #[inline]
    fn begin(
        &mut self, header: &[u8; HEADER_BYTES], rest: &mut &[u8], handler: &mut impl PacketHandler,
    ) -> Result<(), String> {
        let header = PacketHeader::parse(header).map_err(|error| error.to_string())?;
        let intake = handler.begin(&header)?;
        let len = header.len as usize;
        if let Intake::Place(span) = intake {
            assert_eq!(span.len(), len, "the destination of a packet has its length");
        }
        if let Some((data, behind)) = rest.split_at_checked(len) {
            *rest = behind;
            return end_packet(&header, intake, data, handler);
        }
        let buffered = if intake == Intake::Deliver { len.min(BUFFER_MIN) } else { 0 };
        let buffer = Vec::with_capacity(buffered);
        self.body = Some(PacketBody { header, arrived: 0, intake, buffer });
        Ok(())
    }

    fn feed_header(
        &mut self, bytes: &mut &[u8], handler: &mut impl PacketHandler,
    ) -> Result<(), String> {
        let missing = HEADER_BYTES - self.partial.len();
        let (taken, rest) = bytes.split_at(missing.min(bytes.len()));
        self.partial.extend_from_slice(taken);
        *bytes = rest;
        let Some(header) = self.partial.first_chunk().copied() else { return Ok(()) };
        self.partial.clear();
        self.begin(&header, bytes, handler)
    }

    fn feed_body(
        &mut self, bytes: &mut &[u8], handler: &mut impl PacketHandler,
    ) -> Result<(), String> {
        let Some(body) = &mut self.body else { return Ok(()) };
        let missing = body.header.len as usize - body.arrived;
        let (data, rest) = bytes.split_at(missing.min(bytes.len()));
        match body.intake {
            Intake::Deliver => body.buffer.extend_from_slice(data),
            Intake::Place(span) => span.write(body.arrived, data),
            Intake::Discard => {}
        }
        body.arrived += data.len();
        *bytes = rest;
        self.end_body(handler)
    }

    /// Ends the packet if all of its data has arrived.
    fn end_body(&mut self, handler: &mut impl PacketHandler) -> Result<(), String> {
        let is_complete = |body: &mut PacketBody| body.arrived == body.header.len as usize;
        let Some(body) = self.body.take_if(is_complete) else { return Ok(()) };
        match body.intake {
            Intake::Deliver => handler.packet(&body.header, &body.buffer),
            Intake::Place(_) => handler.placed(&body.header),
            Intake::Discard => Ok(()),
        }
    }
}

/// Ends a packet all of whose data is in `data`.
#[inline]
fn end_packet(
    header: &PacketHeader, intake: Intake, data: &[u8], handler: &mut impl PacketHandler,
) -> Result<(), String> {
    match intake {
        Intake::Deliver => handler.packet(header, data),
        Intake::Place(span) => {
            span.write(0, data);
            handler.placed(header)
        }
        Intake::Discard => Ok(()),
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// Packets as they were delivered; every third one is placed, the next one discarded.
    #[derive(Default)]
    struct Delivered {
        packets: Vec<(u64, Vec<u8>)>,
        memory: Vec<u8>,
        begun: usize,
        len_max: u32,
    }

    impl PacketHandler for Delivered {
        fn begin(&mut self, header: &PacketHeader) -> Result<Intake, String> {
            self.begun += 1;
            if header.len > self.len_max {
                return Err(format!("{} bytes", header.len));
            }
            self.memory = vec![0; header.len as usize];
            Ok(match header.sequence % 3 {
                // SAFETY: the memory is not used otherwise before `placed`.
                0 => Intake::Place(unsafe { Span::of(&mut self.memory) }),
                1 => Intake::Discard,
                _ => Intake::Deliver,
            })
        }

        fn packet(&mut self, header: &PacketHeader, data: &[u8]) -> Result<(), String> {
            self.packets.push((header.sequence, data.to_vec()));
            Ok(())
        }

        fn placed(&mut self, header: &PacketHeader) -> Result<(), String> {
            self.packets.push((header.sequence, self.memory.clone()));
            Ok(())
        }
    }

    fn packet(sequence: u64, len: usize) -> Vec<u8> {
        let header = PacketHeader { sequence, len: len as u32, ..PacketHeader::default() };
        [&header.emit()[..], &vec![sequence as u8; len]].concat()
    }

    #[test]
    fn a_header_is_judged_before_its_data_is_stored() {
        let (mut reader, mut handler) = (PacketReader::default(), Delivered::default());
        handler.len_max = 10;
        assert_eq!(reader.feed(&packet(2, 10), &mut handler), Ok(()));
        let header = &packet(2, 11)[..HEADER_BYTES];
        assert_eq!(reader.feed(&header[..100], &mut handler), Ok(()));
        assert!(!reader.is_between_packets());
        assert_eq!(reader.feed(&header[100..], &mut handler), Err("11 bytes".to_owned()));
        assert_eq!((handler.begun, reader.is_between_packets()), (2, true));
        let mut unknown = packet(0, 0);
        unknown[3] = 9;
        let why = PacketReader::default().feed(&unknown, &mut handler).unwrap_err();
        assert!(why.contains("kind 9"), "{why}");
        assert_eq!(handler.begun, 2);
    }

    #[test]
    fn the_rest_of_a_packet_can_be_dropped() {
        let (mut reader, mut handler) = (PacketReader::default(), Delivered::default());
        handler.len_max = 10;
        let bytes = [packet(3, 10), packet(5, 1)].concat();
        assert_eq!(reader.feed(&bytes[..HEADER_BYTES + 4], &mut handler), Ok(()));
        assert_eq!(reader.destination().map(Span::len), Some(6));
        reader.discard_if(|header| header.sequence == 4);
        assert_eq!(reader.destination().map(Span::len), Some(6));
        reader.discard_if(|header| header.sequence == 3);
        assert_eq!(reader.destination(), None);
        assert_eq!(reader.feed(&bytes[HEADER_BYTES + 4..], &mut handler), Ok(()));
        assert_eq!(handler.packets, [(5, vec![5])]);
    }

    proptest! {
        /// However the stream is cut, the packets are the same.
        #[test]
        fn any_cuts_give_the_packets(
            lengths in proptest::collection::vec(
                prop_oneof![0_usize..100, 1900_usize..9000], 1..20,
            ),
            cuts in proptest::collection::vec(1_usize..4000, 1..60),
        ) {
            let numbered = || lengths.iter().zip(0..);
            let stream: Vec<_> =
                numbered().flat_map(|(len, number)| packet(number, *len)).collect();
            let mut reader = PacketReader::default();
            let mut handler = Delivered { len_max: u32::MAX, ..Delivered::default() };
            let mut rest = &stream[..];
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (mut now, later) = rest.split_at((*cut).min(rest.len()));
                if let Some(to) = reader.destination() && cut % 2 == 0 {
                    let (data, after) = now.split_at(now.len().min(to.len()));
                    to.write(0, data);
                    reader.arrived(data.len(), &mut handler).unwrap();
                    now = after;
                }
                reader.feed(now, &mut handler).unwrap();
                rest = later;
            }
            let kept = numbered().filter(|(_, number)| number % 3 != 1);
            let expected: Vec<_> =
                kept.map(|(len, number)| (number, vec![number as u8; *len])).collect();
            prop_assert_eq!(handler.packets, expected);
            prop_assert_eq!(handler.begun, lengths.len());
            prop_assert!(reader.is_between_packets());
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..600)) {
            let mut handler = Delivered { len_max: 1000, ..Delivered::default() };
            let _ = PacketReader::default().feed(&bytes, &mut handler);
        }

        /// Any headers are packets if their kinds have a meaning.
        #[test]
        fn any_headers_are_taken(
            fields in proptest::collection::vec((any::<[u64; 16]>(), 0_u8..9, 0_u8..4), 0..6),
        ) {
            let mut stream = Vec::new();
            for (words, kind, len) in &fields {
                let start = stream.len();
                words.iter().for_each(|word| stream.extend_from_slice(&word.to_be_bytes()));
                stream[start..start + 8].copy_from_slice(&[0, 0, 0, *kind, 0, 0, 0, *len]);
                stream.extend_from_slice(&[7; 4][..usize::from(*len)]);
            }
            let mut handler = Delivered { len_max: 1000, ..Delivered::default() };
            let taken = PacketReader::default().feed(&stream, &mut handler);
            prop_assert_eq!(taken.is_ok(), fields.iter().all(|(_, kind, _)| *kind < 8));
            prop_assert!(handler.packets.len() <= fields.len());
        }
    }
}
