//! The packets to one peer that the peer has not acknowledged, as frames.
//!
//! ```text
//!   acknowledged │ written, not acknowledged │ being written │ not written
//!   gone         ▲ first                       ▲ next, written          ▲ last
//! ```
//!
//! After a lost connection everything behind the last acknowledgement is written again
//! ([`SendQueue::rewind`]). Headers and copied data lie one after the other in chunks, so that one
//! call of the system writes many short frames; lent data stays where it is.
//!
//! It has no socket: the caller writes what [`SendQueue::gather`] returns.

use std::collections::VecDeque;

use super::frame::{FrameClass, FrameHeader};
use crate::device::Header;
use platform::base::Span;
use platform::sys::tcp::SendPart;

/// Copied bytes beyond which no packet is accepted.
const COPIED_MAX: usize = 1 << 20;

/// Lent packets beyond which no packet is accepted.
const LENT_MAX: usize = 32;

/// The lengths of the first chunk and of the longest, in bytes; a frame may need a longer one.
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_MAX: usize = 256 << 10;

/// Chunks that are kept: enough for a full queue.
const SPARE_MAX: usize = COPIED_MAX / CHUNK_MAX + 2;

/// Parts that one call writes, and the bytes of data after which no further part is added.
pub(crate) const GATHER_PARTS: usize = 32;
const GATHER_BYTES: usize = 1 << 20;

#[derive(Default)]
pub(crate) struct SendQueue {
    chunks: VecDeque<Chunk>,
    /// The number of the first chunk.
    first_chunk: u64,
    /// Empty chunks for the next use: memory of the system costs a page fault for each 4 KiB.
    spare: Vec<Vec<u8>>,
    frames: VecDeque<QueuedFrame>,
    /// The number of packets before the first frame.
    first: u64,
    /// The index of the frame that is written next, and how many of its bytes are written.
    next: usize,
    written: usize,
    copied_bytes: usize,
    lent: usize,
}

struct Chunk {
    bytes: Vec<u8>,
    /// Frames that have not been acknowledged.
    frames: usize,
}

struct QueuedFrame {
    chunk: u64,
    /// The header and copied data in the chunk.
    start: usize,
    copied: usize,
    lent: Option<Lent>,
}

#[derive(Clone, Copy)]
struct Lent {
    data: Span,
    token: u32,
}

impl QueuedFrame {
    fn len(&self) -> usize {
        self.copied + self.lent.map_or(0, |lent| lent.data.len())
    }
}

/// The peer has acknowledged a packet that was not sent.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct FalseAcknowledgement;

/// Packets.
impl SendQueue {
    /// Whether a packet is accepted.
    #[inline]
    pub(crate) fn has_room(&self) -> bool {
        self.copied_bytes < COPIED_MAX && self.lent < LENT_MAX
    }

    /// Whether there is enough room again after there was none.
    pub(crate) fn has_much_room(&self) -> bool {
        self.copied_bytes <= COPIED_MAX / 2 && self.lent <= LENT_MAX / 2
    }

    /// Whether all packets have been acknowledged.
    pub(crate) fn is_empty(&self) -> bool {
        self.frames.is_empty()
    }

    /// The number of packets that the peer has acknowledged.
    pub(crate) fn acknowledged(&self) -> u64 {
        self.first
    }

    /// The number of packets that have been added.
    #[inline]
    pub(crate) fn pushed(&self) -> u64 {
        self.first + self.frames.len() as u64
    }

    /// Whether data of the application is in use.
    pub(crate) fn has_lent(&self) -> bool {
        self.lent > 0
    }

    /// Whether all frames have been written.
    #[inline]
    pub(crate) fn is_written(&self) -> bool {
        self.next == self.frames.len()
    }

    /// Whether no frame has been written in part.
    pub(crate) fn is_between_frames(&self) -> bool {
        self.written == 0
    }

    /// Adds a packet, or a frame of an access, whose data `fill` writes.
    #[inline]
    pub(crate) fn push(
        &mut self, class: FrameClass, packet: &Header, acknowledged: u64, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) {
        let header = FrameHeader { class, packet: *packet, len, acknowledged };
        let (chunk, start) = self.reserve(FrameHeader::LEN + len);
        let bytes = &mut self.chunks[(chunk - self.first_chunk) as usize].bytes;
        bytes.extend_from_slice(&header.emit());
        bytes.resize(start + FrameHeader::LEN + len, 0);
        fill(&mut bytes[start + FrameHeader::LEN..]);
        self.add(QueuedFrame { chunk, start, copied: FrameHeader::LEN + len, lent: None });
    }

    /// Adds a packet with a copy of `data`, of which `written` bytes, its header included, have been
    /// written: all or a part of it if the frames before were written.
    pub(crate) fn push_copy(
        &mut self, header: &[u8; FrameHeader::LEN], data: Span, written: usize,
    ) {
        let copied = FrameHeader::LEN + data.len();
        let (chunk, start) = self.reserve(copied);
        let bytes = &mut self.chunks[(chunk - self.first_chunk) as usize].bytes;
        bytes.extend_from_slice(header);
        data.append_to(bytes);
        self.add(QueuedFrame { chunk, start, copied, lent: None });
        self.advance(written);
    }

    /// Adds a packet whose data is lent.
    pub(crate) fn push_lent(&mut self, packet: &Header, acknowledged: u64, data: Span, token: u32) {
        let class = FrameClass::UrgentPacket;
        let header = FrameHeader { class, packet: *packet, len: data.len(), acknowledged };
        let (chunk, start) = self.reserve(FrameHeader::LEN);
        let bytes = &mut self.chunks[(chunk - self.first_chunk) as usize].bytes;
        bytes.extend_from_slice(&header.emit());
        self.lent += 1;
        let lent = Some(Lent { data, token });
        self.add(QueuedFrame { chunk, start, copied: FrameHeader::LEN, lent });
    }

    fn add(&mut self, frame: QueuedFrame) {
        self.copied_bytes += frame.copied;
        if let Some(chunk) = self.chunks.back_mut() {
            chunk.frames += 1;
        }
        self.frames.push_back(frame);
    }

    /// A chunk with room for `len` bytes at its end, and the position of that end.
    #[inline]
    fn reserve(&mut self, len: usize) -> (u64, usize) {
        if let Some(last) = self.chunks.back()
            && last.bytes.capacity() - last.bytes.len() >= len
        {
            return (self.first_chunk + self.chunks.len() as u64 - 1, last.bytes.len());
        }
        self.add_chunk(len)
    }

    #[cold]
    fn add_chunk(&mut self, len: usize) -> (u64, usize) {
        let last = self.chunks.back().map_or(0, |last| last.bytes.capacity());
        let capacity = (2 * last).clamp(CHUNK_MIN, CHUNK_MAX).max(len);
        let mut bytes = self.spare.pop().unwrap_or_default();
        bytes.reserve_exact(capacity);
        self.chunks.push_back(Chunk { bytes, frames: 0 });
        (self.first_chunk + self.chunks.len() as u64 - 1, 0)
    }
}

/// Writing.
impl SendQueue {
    /// What is to be written next; the number of parts.
    pub(crate) fn gather<'a>(&'a self, parts: &mut [SendPart<'a>; GATHER_PARTS]) -> usize {
        let (mut count, mut bytes, mut skip) = (0, 0, self.written);
        // The range of the last part, while the next frame may continue it.
        let mut run: Option<(u64, usize, usize)> = None;
        for frame in self.frames.range(self.next..) {
            if count + 2 > GATHER_PARTS || bytes >= GATHER_BYTES {
                break;
            }
            bytes += frame.len() - skip;
            if skip < frame.copied {
                let (from, to) = (frame.start + skip, frame.start + frame.copied);
                let start = match run {
                    Some((chunk, start, end)) if chunk == frame.chunk && end == from => {
                        count -= 1;
                        start
                    }
                    _ => from,
                };
                let chunk = &self.chunks[(frame.chunk - self.first_chunk) as usize];
                parts[count] = SendPart::Bytes(&chunk.bytes[start..to]);
                run = Some((frame.chunk, start, to));
                count += 1;
            }
            if let Some(Lent { data, .. }) = frame.lent {
                let skip = skip.saturating_sub(frame.copied);
                parts[count] = SendPart::Memory(data.part(skip, data.len() - skip));
                run = None;
                count += 1;
            }
            skip = 0;
        }
        count
    }

    /// Appends about `max` bytes of what is to be written next to `out`.
    pub(crate) fn copy_next(&self, max: usize, out: &mut Vec<u8>) {
        let mut parts = [SendPart::Bytes(&[]); GATHER_PARTS];
        let count = self.gather(&mut parts);
        for part in &parts[..count] {
            let room = max.saturating_sub(out.len());
            match part {
                SendPart::Bytes(bytes) => out.extend_from_slice(&bytes[..bytes.len().min(room)]),
                SendPart::Memory(span) => span.part(0, span.len().min(room)).append_to(out),
            }
        }
    }

    /// The next `bytes` have been written.
    pub(crate) fn advance(&mut self, mut bytes: usize) {
        while bytes > 0 {
            let left = self.frames[self.next].len() - self.written;
            if bytes < left {
                self.written += bytes;
                return;
            }
            bytes -= left;
            self.next += 1;
            self.written = 0;
        }
    }

    /// The peer has received all packets before `number`; `returned` takes the tokens of lent data.
    ///
    /// # Errors
    /// [`FalseAcknowledgement`]; nothing has changed then.
    pub(crate) fn acknowledge(
        &mut self, number: u64, mut returned: impl FnMut(u32),
    ) -> Result<(), FalseAcknowledgement> {
        // An acknowledgement that was written before the last one.
        let Some(count) = number.checked_sub(self.first) else { return Ok(()) };
        if count > self.next as u64 {
            return Err(FalseAcknowledgement);
        }
        for frame in self.frames.drain(..count as usize) {
            self.copied_bytes -= frame.copied;
            if let Some(lent) = frame.lent {
                self.lent -= 1;
                returned(lent.token);
            }
            self.chunks[(frame.chunk - self.first_chunk) as usize].frames -= 1;
        }
        self.first = number;
        self.next -= count as usize;
        self.free_chunks();
        Ok(())
    }

    /// The connection is a new one, whose other end has received all packets before `number`: the rest
    /// is written again.
    ///
    /// # Errors
    /// As [`SendQueue::acknowledge`]; also if the peer has forgotten packets.
    pub(crate) fn rewind(
        &mut self, number: u64, returned: impl FnMut(u32),
    ) -> Result<(), FalseAcknowledgement> {
        if number < self.first {
            return Err(FalseAcknowledgement);
        }
        self.acknowledge(number, returned)?;
        (self.next, self.written) = (0, 0);
        Ok(())
    }

    /// Drops all packets.
    pub(crate) fn clear(&mut self) {
        *self = Self { first: self.first, ..Self::default() };
    }

    /// Frees chunks whose frames have all been acknowledged. The last one is filled again from its
    /// start.
    fn free_chunks(&mut self) {
        while let Some(chunk) = self.chunks.front_mut()
            && chunk.frames == 0
        {
            if self.chunks.len() == 1 {
                return self.chunks[0].bytes.clear();
            }
            let Some(mut chunk) = self.chunks.pop_front() else { return };
            self.first_chunk += 1;
            if chunk.bytes.capacity() == CHUNK_MAX && self.spare.len() < SPARE_MAX {
                chunk.bytes.clear();
                self.spare.push(chunk.bytes);
            }
        }
    }
}

#[cfg(test)]
#[allow(unsafe_code)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    /// The bytes that the queue would write next.
    fn pending(queue: &SendQueue) -> Vec<u8> {
        let mut parts = [SendPart::Bytes(&[]); GATHER_PARTS];
        let count = queue.gather(&mut parts);
        let mut bytes = Vec::new();
        for part in &parts[..count] {
            match part {
                SendPart::Bytes(part) => bytes.extend_from_slice(part),
                SendPart::Memory(span) => {
                    let at = bytes.len();
                    bytes.resize(at + span.len(), 0);
                    span.read(0, &mut bytes[at..]);
                }
            }
        }
        bytes
    }

    #[test]
    fn short_packets_are_one_part() {
        let mut queue = SendQueue::default();
        for kind in 0..5 {
            queue.push(FrameClass::Packet, &Header { kind, ..Header::default() }, 0, 3, |data| {
                data.fill(kind)
            });
        }
        let mut parts = [SendPart::Bytes(&[]); GATHER_PARTS];
        assert_eq!(queue.gather(&mut parts), 1);
        queue.advance(5 * 35);
        assert!(queue.is_written() && !queue.is_empty());
        assert_eq!(queue.acknowledge(6, drop), Err(FalseAcknowledgement));
        queue.acknowledge(5, drop).unwrap();
        queue.acknowledge(2, drop).unwrap();
        assert!(queue.is_empty() && queue.has_much_room());
    }

    #[test]
    fn a_full_queue_has_room_after_acknowledgements() {
        let mut queue = SendQueue::default();
        let mut packets = 0;
        while queue.has_room() {
            queue.push(FrameClass::Packet, &Header::default(), 0, 5000, |_| {});
            packets += 1;
        }
        let all = packets * 5032;
        assert!((COPIED_MAX..COPIED_MAX + 5032).contains(&all));
        queue.advance(all);
        queue.acknowledge(packets as u64 / 4, drop).unwrap();
        assert!(queue.has_room() && !queue.has_much_room());
        queue.acknowledge(packets as u64, drop).unwrap();
        assert!(queue.has_much_room());
        assert_eq!((queue.chunks.len(), queue.chunks[0].bytes.len()), (1, 0));
    }

    proptest! {
        /// Whatever is written, lost and acknowledged, the stream is the packets in order.
        #[test]
        fn what_is_lost_is_written_again(
            steps in proptest::collection::vec((0_u8..5, 0_usize..40_000), 1..120),
        ) {
            let mut lent = vec![9; 40_000];
            // SAFETY: not used otherwise while the queue is.
            let memory = unsafe { Span::of(&mut lent) };
            let mut queue = SendQueue::default();
            let (mut expected, mut lengths) = (Vec::new(), Vec::new());
            let (mut written, mut acknowledged) = (0, 0);
            let (mut given, mut returned) = (Vec::new(), Vec::new());
            for (step, size) in steps {
                match step {
                    0 | 1 if queue.has_room() => {
                        let packet = Header { words: [lengths.len() as u64, 0], kind: 1 };
                        let before = expected.len();
                        let class = match step {
                            0 => {
                                queue.push(FrameClass::Packet, &packet, 7, size, |data| data.fill(size as u8));
                                FrameClass::Packet
                            }
                            _ => {
                                let token = lengths.len() as u32;
                                queue.push_lent(&packet, 7, memory.part(0, size), token);
                                given.push(token);
                                FrameClass::UrgentPacket
                            }
                        };
                        let header = FrameHeader { class, packet, len: size, acknowledged: 7 };
                        expected.extend_from_slice(&header.emit());
                        let fill = if step == 0 { size as u8 } else { 9 };
                        expected.resize(expected.len() + size, fill);
                        lengths.push(expected.len() - before);
                    }
                    2 => {
                        let next = pending(&queue);
                        prop_assert_eq!(next.is_empty(), queue.is_written());
                        prop_assert_eq!(&expected[written..][..next.len()], &next);
                        let bytes = size.min(next.len());
                        queue.advance(bytes);
                        written += bytes;
                    }
                    3 | 4 => {
                        let start = |number: usize| lengths[..number].iter().sum::<usize>();
                        let whole = (0..=lengths.len()).rfind(|it| start(*it) <= written).unwrap();
                        let number = acknowledged.max(whole - size % (whole + 1));
                        if step == 3 {
                            queue.acknowledge(number as u64, |token| returned.push(token)).unwrap();
                        } else {
                            queue.rewind(number as u64, |token| returned.push(token)).unwrap();
                            written = start(number);
                        }
                        acknowledged = number;
                    }
                    _ => {}
                }
            }
            prop_assert_eq!(&given[..returned.len()], &returned);
        }
    }
}
