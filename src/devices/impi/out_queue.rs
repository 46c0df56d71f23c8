//! The bytes to one connection that have not been written.
//!
//! Packets lie one after the other in chunks, so that one call of the system writes many short ones.
//! It has no socket: the caller writes what [`OutQueue::gather`] returns.

use std::collections::VecDeque;

use platform::sys::tcp::SendPart;

/// The lengths of the first chunk and of the longest, in bytes; a packet may need a longer one.
const CHUNK_MIN: usize = 16 << 10;
const CHUNK_MAX: usize = 256 << 10;

/// Chunks that are kept for the next use.
const SPARE_MAX: usize = 4;

/// Parts that one call writes.
pub(crate) const QUEUE_PARTS: usize = 16;

#[derive(Default)]
pub(crate) struct OutQueue {
    /// None of them is empty.
    chunks: VecDeque<Vec<u8>>,
    /// Bytes of the first chunk that are written.
    written: usize,
    spare: Vec<Vec<u8>>,
    len: usize,
    /// All bytes that were added, ever.
    added: u64,
}

impl OutQueue {
    /// The number of bytes.
    #[inline]
    pub(crate) fn len(&self) -> usize {
        self.len
    }

    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.len == 0
    }

    /// All bytes that were added, ever.
    pub(crate) fn added(&self) -> u64 {
        self.added
    }

    /// All bytes that were taken, ever.
    pub(crate) fn taken(&self) -> u64 {
        self.added - self.len as u64
    }

    /// Adds `head`, then `len` bytes that `fill` writes.
    #[inline]
    pub(crate) fn push(&mut self, head: &[u8], len: usize, fill: impl FnOnce(&mut [u8])) {
        let all = head.len() + len;
        if all == 0 {
            return;
        }
        let chunk = self.chunk(all);
        let start = chunk.len() + head.len();
        chunk.extend_from_slice(head);
        chunk.resize(start + len, 0);
        fill(&mut chunk[start..]);
        self.len += all;
        self.added += all as u64;
    }

    /// A chunk with room for `len` bytes at its end.
    #[inline]
    fn chunk(&mut self, len: usize) -> &mut Vec<u8> {
        let last = self.chunks.back().map_or((0, 0), |last| (last.len(), last.capacity()));
        if last.1 - last.0 < len {
            self.add_chunk(last.1, len);
        }
        self.chunks.back_mut().expect("there is one with room")
    }

    #[cold]
    fn add_chunk(&mut self, last: usize, len: usize) {
        let capacity = (2 * last).clamp(CHUNK_MIN, CHUNK_MAX).max(len);
        let mut chunk = self.spare.pop().unwrap_or_default();
        chunk.reserve_exact(capacity);
        self.chunks.push_back(chunk);
    }

    /// What is to be written next; the number of parts.
    pub(crate) fn gather<'a>(&'a self, parts: &mut [SendPart<'a>; QUEUE_PARTS]) -> usize {
        let mut skip = self.written;
        let chunks = self.chunks.iter().take(QUEUE_PARTS);
        for (part, chunk) in parts.iter_mut().zip(chunks) {
            *part = SendPart::Bytes(&chunk[skip..]);
            skip = 0;
        }
        self.chunks.len().min(QUEUE_PARTS)
    }

    /// The next bytes, at most `max`, without a gap; empty at the end only.
    pub(crate) fn front(&self, max: usize) -> &[u8] {
        let Some(chunk) = self.chunks.front() else { return &[] };
        &chunk[self.written..chunk.len().min(self.written + max)]
    }

    /// The next `bytes` have been written.
    pub(crate) fn advance(&mut self, mut bytes: usize) {
        assert!(bytes <= self.len);
        self.len -= bytes;
        while let Some(chunk) = self.chunks.front()
            && bytes > 0
        {
            let left = chunk.len() - self.written;
            if bytes < left {
                self.written += bytes;
                return;
            }
            bytes -= left;
            self.written = 0;
            self.free_front();
        }
    }

    /// The last chunk is filled again from its start, unless it is an unusual one.
    fn free_front(&mut self) {
        let Some(mut chunk) = self.chunks.pop_front() else { return };
        if chunk.capacity() <= CHUNK_MAX && self.spare.len() < SPARE_MAX {
            chunk.clear();
            self.spare.push(chunk);
        }
    }

    /// Drops all bytes, which count as taken.
    pub(crate) fn clear(&mut self) {
        *self = Self { added: self.added, ..Self::default() };
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use proptest::prelude::*;

    fn pending(queue: &OutQueue) -> Vec<u8> {
        let mut parts = [SendPart::Bytes(&[]); QUEUE_PARTS];
        let count = queue.gather(&mut parts);
        let bytes = parts[..count].iter().map(|part| match part {
            SendPart::Bytes(bytes) => *bytes,
            SendPart::Memory(_) => unreachable!("the queue has no memory of others"),
        });
        bytes.collect::<Vec<_>>().concat()
    }

    #[test]
    fn short_packets_are_one_part() {
        let mut queue = OutQueue::default();
        (0..5).for_each(|number| queue.push(&[number], 2, |data| data.fill(9)));
        let mut parts = [SendPart::Bytes(&[]); QUEUE_PARTS];
        assert_eq!(queue.gather(&mut parts), 1);
        assert_eq!(pending(&queue), [0, 9, 9, 1, 9, 9, 2, 9, 9, 3, 9, 9, 4, 9, 9]);
        assert_eq!(queue.front(4), [0, 9, 9, 1]);
        queue.advance(14);
        assert_eq!((pending(&queue), queue.added(), queue.taken()), (vec![9], 15, 14));
        queue.clear();
        assert_eq!((queue.is_empty(), queue.front(9), queue.taken()), (true, &[][..], 15));
    }

    #[test]
    fn no_memory_grows_without_bytes() {
        let mut queue = OutQueue::default();
        for _ in 0..10 {
            queue.push(&[], 1 << 20, |_| {});
            queue.push(&[], 1 << 10, |_| {});
            queue.advance((1 << 20) + (1 << 10));
        }
        assert!(queue.chunks.is_empty() && queue.spare.len() <= SPARE_MAX);
        assert!(queue.spare.iter().all(|chunk| chunk.capacity() <= CHUNK_MAX));
    }

    proptest! {
        /// However it is written, the stream is what was added.
        #[test]
        fn the_stream_is_what_was_added(
            steps in proptest::collection::vec((any::<bool>(), 0_usize..6_000), 1..60),
        ) {
            let mut queue = OutQueue::default();
            let (mut expected, mut written) = (Vec::new(), 0);
            for (number, (adds, size)) in steps.into_iter().enumerate() {
                if adds {
                    queue.push(&[1, 2], size, |data| data.fill(number as u8));
                    expected.extend_from_slice(&[1, 2]);
                    expected.resize(expected.len() + size, number as u8);
                } else {
                    let next = pending(&queue);
                    let bytes = size.min(next.len());
                    prop_assert_eq!(&next[..bytes], &expected[written..][..bytes]);
                    queue.advance(bytes);
                    written += bytes;
                }
                prop_assert_eq!(queue.len(), expected.len() - written);
                prop_assert_eq!(queue.taken(), written as u64);
            }
        }
    }
}
