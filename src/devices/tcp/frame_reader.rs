//! The stream of one connection, cut into packets.
//!
//! ```text
//!            header, short data ──────────────────────────────> PacketSink::packet, ::datagram
//!   Header ──header of long data──> Body ──place──> destination ──all bytes──> PacketSink::placed
//!     ▲                               └──no place──> a buffer ────all bytes──> PacketSink::packet
//!     └───────────────────────────────────────────────────────────┘
//! ```
//!
//! Long data goes where the sink wants it; the caller may also receive straight to that place
//! ([`FrameReader::destination`]). A frame that a lost connection has cut comes again from its start;
//! its destination was asked for and stays.
//!
//! It has no socket, and takes any bytes: those that are no frames are a [`StreamViolation`].

use super::frame::{FrameClass, FrameHeader};
use super::near::SegmentNotice;
use crate::device::{DATAGRAM_MAX, Header, PacketSink};
use platform::base::{Peer, Span};

/// Data from which on the sink is asked for its place, in bytes. Shorter data is copied once more if it
/// arrives in parts.
const PLACED_MIN: usize = 2 << 10;

const _: () = assert!(DATAGRAM_MAX < PLACED_MIN, "a datagram has no place");

/// Received bytes after which an acknowledgement is due although nobody waits for it.
const UNACKNOWLEDGED_MAX: usize = 256 << 10;

#[derive(Default)]
pub(crate) struct FrameReader {
    /// The beginning of a frame whose data is short.
    partial: Vec<u8>,
    body: Option<Body>,
    /// The destination of the next packet: a connection was lost after the sink had named it.
    kept: Option<Span>,
    received: u64,
    acknowledged: u64,
    /// Bytes received since the last acknowledgement.
    unacknowledged: usize,
    is_urgent: bool,
    is_leaving: bool,
    is_released: bool,
    /// What the peer has said last of a segment.
    notice: Option<SegmentNotice>,
    /// The segment that the peer keeps with the connection.
    kept_segment: [u64; 2],
    /// What has come behind the last frame of the peer's link.
    behind_release: Vec<u8>,
}

/// Data that has arrived in part.
struct Body {
    frame: FrameHeader,
    arrived: usize,
    place: Place,
}

enum Place {
    Memory(Span),
    Buffer(Vec<u8>),
}

/// What a stream delivers.
pub(crate) trait FrameSink: PacketSink {
    /// The packet with this number of the stream, from 0, is about to be delivered or placed.
    fn next_is(&mut self, from: Peer, number: u64) {
        let _ = (from, number);
    }

    /// A frame of a one-sided access from `from`; `data` is valid during this call.
    fn access(&mut self, from: Peer, header: &Header, data: &[u8]);
}

/// The peer sends bytes that are no frames.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct StreamViolation;

impl FrameReader {
    /// The number of packets received.
    #[inline]
    pub(crate) fn received(&self) -> u64 {
        self.received
    }

    /// The number of packets that the peer has acknowledged.
    #[inline]
    pub(crate) fn acknowledged(&self) -> u64 {
        self.acknowledged
    }

    /// Whether the peer may exit.
    pub(crate) fn is_leaving(&self) -> bool {
        self.is_leaving
    }

    /// Whether the peer has forgotten this link: no frame follows.
    #[inline]
    pub(crate) fn is_released(&self) -> bool {
        self.is_released
    }

    /// The words of the segment that the peer keeps; zero without one.
    pub(crate) fn kept_segment(&self) -> [u64; 2] {
        self.kept_segment
    }

    /// What has come behind the last frame.
    pub(crate) fn behind_release(&self) -> &[u8] {
        &self.behind_release
    }

    /// Whether bytes may be written to memory that the sink has named.
    pub(crate) fn holds_memory(&self) -> bool {
        self.kept.is_some() || self.destination().is_some()
    }

    /// Whether packets have not been acknowledged.
    #[inline]
    pub(crate) fn owes_acknowledgement(&self) -> bool {
        self.unacknowledged > 0
    }

    /// Whether the peer waits for an acknowledgement, or many bytes have come since the last.
    #[inline]
    pub(crate) fn owes_at_once(&self) -> bool {
        self.is_urgent || self.unacknowledged >= UNACKNOWLEDGED_MAX
    }

    /// An acknowledgement of all packets has left.
    #[inline]
    pub(crate) fn note_acknowledged(&mut self) {
        self.unacknowledged = 0;
        self.is_urgent = false;
    }

    /// A new connection: the peer continues with the first packet that was not received whole.
    pub(crate) fn restart(&mut self) {
        self.partial.clear();
        self.behind_release.clear();
        (self.is_leaving, self.is_released) = (false, false);
        self.notice = None;
        if let Some(Body { place: Place::Memory(span), .. }) = self.body.take() {
            self.kept = Some(span);
        }
    }

    /// Where the next bytes of the stream belong, if that is memory of the sink.
    #[inline]
    pub(crate) fn destination(&self) -> Option<Span> {
        let body = self.body.as_ref()?;
        match body.place {
            Place::Memory(span) => Some(span.part(body.arrived, body.frame.len - body.arrived)),
            Place::Buffer(_) => None,
        }
    }

    /// `bytes` have been received to [`FrameReader::destination`]. Returns the number of packets that
    /// are complete.
    pub(crate) fn arrived(&mut self, from: Peer, bytes: usize, sink: &mut impl FrameSink) -> usize {
        let Some(body) = &mut self.body else { return 0 };
        body.arrived += bytes;
        self.end_body(from, sink)
    }

    /// Takes the next bytes of the stream; returns the number of packets that are complete.
    ///
    /// # Errors
    /// [`StreamViolation`]; the stream is of no further use.
    #[inline]
    pub(crate) fn feed(
        &mut self, from: Peer, mut bytes: &[u8], sink: &mut impl FrameSink,
    ) -> Result<usize, StreamViolation> {
        let mut packets = 0;
        while !(bytes.is_empty() || self.is_released) {
            if self.body.is_some() {
                packets += self.feed_body(from, &mut bytes, sink);
            } else if !self.partial.is_empty() {
                packets += self.feed_partial(from, &mut bytes, sink)?;
            } else if let Some((header, rest)) = bytes.split_first_chunk() {
                let frame = FrameHeader::parse(header).ok_or(StreamViolation)?;
                if let Some((data, rest)) = rest.split_at_checked(frame.len)
                    && (self.kept.is_none() || frame.len < PLACED_MIN)
                {
                    packets += self.frame(from, &frame, data, sink);
                    bytes = rest;
                } else if frame.len >= PLACED_MIN {
                    self.begin_body(from, frame, sink);
                    bytes = rest;
                } else {
                    self.partial.extend_from_slice(bytes);
                    return Ok(packets);
                }
            } else {
                self.partial.extend_from_slice(bytes);
                return Ok(packets);
            }
        }
        if self.is_released {
            self.behind_release.extend_from_slice(bytes);
        }
        Ok(packets)
    }

    /// A whole frame.
    #[inline]
    fn frame(
        &mut self, from: Peer, frame: &FrameHeader, data: &[u8], sink: &mut impl FrameSink,
    ) -> usize {
        self.acknowledged = self.acknowledged.max(frame.acknowledged);
        if !self.count(frame) {
            if frame.class == FrameClass::Datagram {
                sink.datagram(from, data);
            }
            return 0;
        }
        if frame.class != FrameClass::Access {
            sink.next_is(from, self.received - 1);
        }
        deliver(from, frame, data, sink);
        1
    }

    /// What the peer has said of a segment, once.
    #[inline]
    pub(crate) fn take_notice(&mut self) -> Option<SegmentNotice> {
        self.notice.take()
    }

    /// Counts a frame; whether it has a packet.
    #[inline]
    fn count(&mut self, frame: &FrameHeader) -> bool {
        match frame.class {
            FrameClass::Packet | FrameClass::Access => {}
            FrameClass::UrgentPacket => self.is_urgent = true,
            FrameClass::Acknowledgement | FrameClass::Datagram => return false,
            FrameClass::Leaving => {
                self.is_leaving = true;
                return false;
            }
            FrameClass::Released => {
                (self.is_leaving, self.is_released) = (true, true);
                self.kept_segment = frame.packet.words;
                return false;
            }
            FrameClass::Offer | FrameClass::Taken | FrameClass::Refused => {
                let words = frame.packet.words;
                self.notice = Some(SegmentNotice { class: frame.class, words });
                return false;
            }
        }
        self.received += 1;
        self.is_leaving = false;
        self.unacknowledged += FrameHeader::LEN + frame.len;
        true
    }

    fn begin_body(&mut self, from: Peer, frame: FrameHeader, sink: &mut impl FrameSink) {
        self.acknowledged = self.acknowledged.max(frame.acknowledged);
        // What an access may do is known when all of it is there.
        let is_placed = frame.class != FrameClass::Access;
        if is_placed {
            sink.next_is(from, self.received);
        }
        let place = || is_placed.then(|| sink.place(from, &frame.packet, frame.len)).flatten();
        let place = match self.kept.take().or_else(place) {
            Some(span) => Place::Memory(span),
            None => Place::Buffer(Vec::with_capacity(frame.len)),
        };
        self.body = Some(Body { frame, arrived: 0, place });
    }

    fn feed_body(&mut self, from: Peer, bytes: &mut &[u8], sink: &mut impl FrameSink) -> usize {
        let Some(body) = &mut self.body else { return 0 };
        let (data, rest) = bytes.split_at(bytes.len().min(body.frame.len - body.arrived));
        match &mut body.place {
            Place::Memory(span) => span.write(body.arrived, data),
            Place::Buffer(buffer) => buffer.extend_from_slice(data),
        }
        body.arrived += data.len();
        *bytes = rest;
        self.end_body(from, sink)
    }

    /// Delivers the body if all of it has arrived.
    fn end_body(&mut self, from: Peer, sink: &mut impl FrameSink) -> usize {
        let Some(body) = self.body.take_if(|body| body.arrived == body.frame.len) else { return 0 };
        self.count(&body.frame);
        match body.place {
            Place::Memory(_) => sink.placed(from, &body.frame.packet, body.frame.len),
            Place::Buffer(data) => deliver(from, &body.frame, &data, sink),
        }
        1
    }

    /// Completes the header, then the data of a frame that has arrived in part.
    fn feed_partial(
        &mut self, from: Peer, bytes: &mut &[u8], sink: &mut impl FrameSink,
    ) -> Result<usize, StreamViolation> {
        self.complete_partial(FrameHeader::LEN, bytes);
        let Some(header) = self.partial.first_chunk() else { return Ok(0) };
        let frame = FrameHeader::parse(header).ok_or(StreamViolation)?;
        if frame.len >= PLACED_MIN {
            self.partial.clear();
            self.begin_body(from, frame, sink);
            return Ok(0);
        }
        self.complete_partial(FrameHeader::LEN + frame.len, bytes);
        if self.partial.len() < FrameHeader::LEN + frame.len {
            return Ok(0);
        }
        let mut partial = std::mem::take(&mut self.partial);
        let packets = self.frame(from, &frame, &partial[FrameHeader::LEN..], sink);
        partial.clear();
        self.partial = partial;
        Ok(packets)
    }

    fn complete_partial(&mut self, len: usize, bytes: &mut &[u8]) {
        let missing = len.saturating_sub(self.partial.len()).min(bytes.len());
        let (taken, rest) = bytes.split_at(missing);
        self.partial.extend_from_slice(taken);
        *bytes = rest;
    }
}

/// Delivers a frame that has been counted.
#[inline]
fn deliver(from: Peer, frame: &FrameHeader, data: &[u8], sink: &mut impl FrameSink) {
    match frame.class {
        FrameClass::Access => sink.access(from, &frame.packet, data),
        _ => sink.packet(from, &frame.packet, data),
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use crate::device::Header;
    use proptest::prelude::*;

    /// DeliveredPackets as they were delivered, and a place for every second long one.
    #[derive(Default)]
    struct DeliveredPackets {
        delivered: Vec<(u64, Vec<u8>)>,
        memory: Vec<u8>,
        asked: usize,
    }

    impl PacketSink for DeliveredPackets {
        fn packet(&mut self, _from: Peer, header: &Header, data: &[u8]) {
            self.delivered.push((header.words[0], data.to_vec()));
        }

        fn place(&mut self, _from: Peer, header: &Header, len: usize) -> Option<Span> {
            self.asked += 1;
            self.memory = vec![0; len];
            // SAFETY: the memory is not used otherwise before `placed`.
            header.words[0].is_multiple_of(2).then(|| unsafe { Span::of(&mut self.memory) })
        }

        fn placed(&mut self, _from: Peer, header: &Header, len: usize) {
            assert_eq!(len, self.memory.len());
            self.delivered.push((header.words[0], self.memory.clone()));
        }
    }

    impl FrameSink for DeliveredPackets {
        fn access(&mut self, from: Peer, header: &Header, data: &[u8]) {
            self.packet(from, header, data);
        }
    }

    fn frame(number: u64, len: usize) -> Vec<u8> {
        let packet = Header { words: [number, 0], kind: 1 };
        let class = FrameClass::Packet;
        let header = FrameHeader { class, packet, len, acknowledged: number };
        [&header.emit()[..], &vec![number as u8; len]].concat()
    }

    #[test]
    fn a_lost_connection_repeats_a_frame_and_not_its_place() {
        let (mut reader, mut sink) = (FrameReader::default(), DeliveredPackets::default());
        let long = frame(0, 5000);
        assert_eq!(reader.feed(3, &long[..4000], &mut sink), Ok(0));
        assert_eq!(reader.destination().unwrap().len(), 5032 - 4000);
        reader.restart();
        assert_eq!((reader.received(), reader.destination()), (0, None));
        assert_eq!(reader.feed(3, &long, &mut sink), Ok(1));
        assert_eq!(reader.feed(3, &frame(1, 3), &mut sink), Ok(1));
        assert_eq!(sink.delivered, [(0, vec![0; 5000]), (1, vec![1; 3])]);
        assert_eq!((sink.asked, reader.received()), (1, 2));
    }

    #[test]
    fn controls_are_no_packets() {
        let (mut reader, mut sink) = (FrameReader::default(), DeliveredPackets::default());
        let control = |class| FrameHeader::control(class, 5).emit();
        assert_eq!(reader.feed(0, &control(FrameClass::Acknowledgement), &mut sink), Ok(0));
        assert!(reader.acknowledged() == 5 && !reader.is_leaving());
        assert_eq!(reader.feed(0, &control(FrameClass::Leaving), &mut sink), Ok(0));
        assert!(reader.is_leaving() && reader.received() == 0 && !reader.owes_acknowledgement());
        assert_eq!(reader.feed(0, &[9; 40], &mut sink), Err(StreamViolation));
        reader.restart();
        let last = [&control(FrameClass::Released)[..], b"of another link"].concat();
        for piece in last.chunks(5) {
            assert_eq!(reader.feed(0, piece, &mut sink), Ok(0));
        }
        assert!(reader.is_released() && reader.is_leaving());
        assert_eq!(reader.behind_release(), b"of another link");
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
                numbered().flat_map(|(len, number)| frame(number, *len)).collect();
            let (mut reader, mut sink) = (FrameReader::default(), DeliveredPackets::default());
            let (mut rest, mut packets) = (&stream[..], 0);
            for cut in cuts.iter().cycle() {
                if rest.is_empty() {
                    break;
                }
                let (mut now, later) = rest.split_at((*cut).min(rest.len()));
                if let Some(to) = reader.destination() && cut % 2 == 0 {
                    let (data, after) = now.split_at(now.len().min(to.len()));
                    to.write(0, data);
                    packets += reader.arrived(0, data.len(), &mut sink);
                    now = after;
                }
                packets += reader.feed(0, now, &mut sink).unwrap();
                rest = later;
            }
            let expected: Vec<_> =
                numbered().map(|(len, number)| (number, vec![number as u8; *len])).collect();
            prop_assert_eq!(packets, expected.len());
            prop_assert_eq!(sink.delivered, expected);
        }

        #[test]
        fn any_bytes_are_taken(bytes in proptest::collection::vec(any::<u8>(), 0..200)) {
            let _ = FrameReader::default().feed(0, &bytes, &mut DeliveredPackets::default());
        }
    }
}
