//! The bytes of a sequence in its buffer: a ring.
//!
//! ```text
//!   buffer  | ..5 6 7 | free | 0 1 2 3 4 |         index 0 is at `offset`, index 5 at 0
//!                            ▲ offset    ▲ capacity
//! ```
//!
//! Indices count bytes of the sequence; those from `size` to `capacity` are free room behind it. A
//! vector is a ring whose offset is 0.

use super::Element;
use crate::failure::Failure;
use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

/// Where the bytes of a sequence are.
#[derive(Clone, Copy, Debug, Eq, PartialEq)]
pub(crate) struct Ring {
    pub(super) buffer: SpaceAddress,
    /// Of index 0 in the buffer.
    pub(super) offset: u64,
    pub(super) size: u64,
    pub(super) capacity: u64,
}

impl Ring {
    /// What no sequence has, to recognize one that is used after it has been destroyed.
    pub(super) const DESTROYED: Self =
        Self { buffer: SpaceAddress::NULL, offset: 0, size: 1, capacity: 0 };

    /// This ring, as read from memory.
    ///
    /// # Errors
    /// `Damaged` if no sequence has it.
    pub(super) fn checked(self, space: &impl GlobalSpace) -> Result<Self, Failure> {
        let heap = space.owner(self.buffer).and_then(|rank| space.heap(rank));
        let is_sound = self.size <= self.capacity
            && self.offset < self.capacity.max(1)
            && match heap {
                Some((_, heap_bytes)) => self.capacity <= heap_bytes,
                None => self.capacity == 0 && self.buffer.is_null(),
            };
        if is_sound { Ok(self) } else { Err(Failure::Damaged) }
    }

    /// The `len` bytes from `index` on, within the capacity: one piece, or two around the end of
    /// the buffer.
    pub(super) fn pieces(self, index: u64, len: u64) -> [Element; 2] {
        let first = self.from(index, len);
        let rest = len - first.len_bytes;
        let second = if rest == 0 { Element::default() } else { Element::new(self.buffer, rest) };
        [first, second]
    }

    /// Copies the bytes of `source` to those from `index` on.
    pub(super) fn fill(
        self, space: &impl GlobalSpace, index: u64, source: [Element; 2],
    ) -> Result<(), AccessRefused> {
        let mut to = index;
        for piece in source {
            let mut done = 0;
            while done < piece.len_bytes {
                let target = self.from(to, piece.len_bytes - done);
                space.copy(target.at, piece.at.plus(done), target.len_bytes)?;
                done += target.len_bytes;
                to += target.len_bytes;
            }
        }
        Ok(())
    }

    /// Writes `data` to the bytes from `index` on.
    pub(super) fn write(
        self, space: &impl GlobalSpace, index: u64, data: &[u8],
    ) -> Result<(), AccessRefused> {
        let [first, second] = self.pieces(index, data.len() as u64);
        let (head, rest) = data.split_at(first.len_bytes as usize);
        space.write(first.at, head)?;
        if second.len_bytes > 0 { space.write(second.at, rest) } else { Ok(()) }
    }

    /// Moves the `len` bytes from index `from` on to those from `to` on, which may overlap.
    pub(super) fn shift(
        self, space: &impl GlobalSpace, from: u64, to: u64, len: u64,
    ) -> Result<(), AccessRefused> {
        let mut left = len;
        while left > 0 {
            // From the side to which the bytes move, so that none is overwritten before it has
            // moved.
            let (part, source, target) = if to < from {
                let done = len - left;
                let part = self.from(from + done, left).len_bytes;
                let part = self.from(to + done, part).len_bytes;
                (part, from + done, to + done)
            } else {
                let part = self.before(from + left, left);
                let part = self.before(to + left, part);
                (part, from + left - part, to + left - part)
            };
            space.copy(self.from(target, part).at, self.from(source, part).at, part)?;
            left -= part;
        }
        Ok(())
    }

    /// Whether some bytes of `source` are in the buffer.
    pub(super) fn overlaps(self, source: [Element; 2]) -> bool {
        let in_buffer = |piece: Element| {
            piece.len_bytes > 0
                && piece.at < self.buffer.plus(self.capacity)
                && self.buffer < piece.at.plus(piece.len_bytes)
        };
        source.into_iter().any(in_buffer)
    }

    /// The bytes from `index` on, at most `len`, up to the end of the buffer.
    fn from(self, index: u64, len: u64) -> Element {
        if len == 0 {
            return Element::default();
        }
        let offset = self.offset(index);
        Element::new(self.buffer.plus(offset), len.min(self.capacity - offset))
    }

    /// How many of the `len` bytes before index `end` are in one piece with the last of them.
    fn before(self, end: u64, len: u64) -> u64 {
        len.min(self.offset(end - 1) + 1)
    }

    /// The offset of the byte with this index, below the capacity.
    fn offset(self, index: u64) -> u64 {
        let behind = self.offset + index;
        if behind < self.capacity { behind } else { behind - self.capacity }
    }
}
