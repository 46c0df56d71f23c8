//! Where the parts of a heap are, and the words between its blocks.
//!
//! Offsets count bytes from the first byte of the heap memory. Blocks start and end at offsets of 8
//! modulo 16, so that the bytes of a block, behind its header, are at a multiple of 16.

use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::WORD;

/// Sizes of blocks are multiples of this.
pub(super) const UNIT: u64 = 16;

/// The smallest block: a header, and the three words at the end of a free block.
pub(super) const BLOCK_MIN: u64 = 4 * WORD;

/// Words at the end of a free block: the next and the previous free block, its size.
pub(super) const TAIL: u64 = 3 * WORD;

/// The words of the control before the bins: lock, used bytes.
const CONTROL_WORDS: u64 = 2;

/// Heap memory behind this is not used: a size has 48 bits of a header.
const HEAP_MAX: u64 = 1 << 47;

const IN_USE: u64 = 1;
const PREVIOUS_FREE: u64 = 2;

/// The bits of a header with size and flags. The others are a check.
const CONTENT: u64 = (1 << 48) - 1;

/// The places of a heap.
#[derive(Clone, Copy, Debug)]
pub(super) struct HeapLayout {
    /// The address of offset 0.
    pub(super) base: SpaceAddress,
    /// The number of bins.
    pub(super) bins: usize,
    /// The offset of the first block.
    pub(super) first: u64,
    /// The largest offset at which a block may end.
    pub(super) limit: u64,
}

/// The first word of a block.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct BlockHeader {
    /// Bytes of the block with this word.
    pub(super) size: u64,
    pub(super) in_use: bool,
    /// Whether the block before is free, so that its tail is before this word.
    pub(super) previous_free: bool,
}

impl HeapLayout {
    /// The layout of the heap of `rank`.
    ///
    /// # Errors
    /// `Argument` if there is no such rank, `NoRoom` if its heap memory is too small for a block.
    pub(super) fn of(space: &impl GlobalSpace, rank: u32) -> Result<Self, Failure> {
        let (base, len) = space.heap(rank).ok_or(Failure::Argument)?;
        let len = len.min(HEAP_MAX);
        if len < 2 * BLOCK_MIN {
            return Err(Failure::NoRoom);
        }
        let bins = bin_of(len) + 1;
        // The offsets of 8 modulo 16 that are next to the control and to the end.
        let control = WORD * (CONTROL_WORDS + bins as u64);
        let first = (control + WORD).next_multiple_of(UNIT) - WORD;
        let limit = (len - WORD) / UNIT * UNIT + WORD;
        Ok(Self { base, bins, first, limit })
    }

    /// The layout of the heap of the rank that `at` belongs to.
    ///
    /// # Errors
    /// As [`HeapLayout::of`].
    pub(super) fn at(space: &impl GlobalSpace, at: SpaceAddress) -> Result<Self, Failure> {
        Self::of(space, space.owner(at).ok_or(Failure::Argument)?)
    }

    /// Bytes for blocks.
    pub(super) fn room(self) -> u64 {
        self.limit - self.first
    }

    /// The offset of the block whose bytes are at `at`; the last three bits of `at` are ignored.
    ///
    /// # Errors
    /// `Argument` if no block of this heap can be there.
    pub(super) fn block_at(self, at: SpaceAddress) -> Result<u64, Failure> {
        let start = (at.0 & !(WORD - 1)).wrapping_sub(self.base.0).wrapping_sub(WORD);
        let is_block = (self.first..self.limit).contains(&start) && start % UNIT == WORD;
        if is_block { Ok(start) } else { Err(Failure::Argument) }
    }
}

impl BlockHeader {
    pub(super) fn in_use(size: u64) -> Self {
        Self { size, in_use: true, previous_free: false }
    }

    /// Of a free block: its neighbours are in use.
    pub(super) fn free(size: u64) -> Self {
        Self { size, in_use: false, previous_free: false }
    }

    pub(super) fn behind_free(self, previous_free: bool) -> Self {
        Self { previous_free, ..self }
    }

    /// The word of this header at `offset`.
    pub(super) fn word(self, offset: u64) -> u64 {
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        let content =
            self.size | flag(self.in_use, IN_USE) | flag(self.previous_free, PREVIOUS_FREE);
        check(offset, content) | content
    }

    /// The header of `word` at `offset`.
    ///
    /// # Errors
    /// `Damaged` if no header is there.
    pub(super) fn of(word: u64, offset: u64) -> Result<Self, Failure> {
        let content = word & CONTENT;
        let size = content & !(UNIT - 1);
        let header = Self {
            size,
            in_use: content & IN_USE != 0,
            previous_free: content & PREVIOUS_FREE != 0,
        };
        let is_header = word == header.word(offset) && size >= BLOCK_MIN;
        if is_header { Ok(header) } else { Err(Failure::Damaged) }
    }
}

/// The bytes of a block for `len_bytes` bytes of a program, with its header.
///
/// # Errors
/// `NoRoom` if no heap has as many.
pub(super) fn block_size(len_bytes: u64) -> Result<u64, Failure> {
    if len_bytes > HEAP_MAX {
        return Err(Failure::NoRoom);
    }
    Ok((len_bytes + WORD).next_multiple_of(UNIT).max(BLOCK_MIN))
}

/// The bin of free blocks of this size: bin `k` has those from `BLOCK_MIN << k` to less than twice
/// that.
pub(super) fn bin_of(size: u64) -> usize {
    (size.ilog2() - BLOCK_MIN.ilog2()) as usize
}

/// The upper bits of a header: equal for other offsets and contents only by chance.
fn check(offset: u64, content: u64) -> u64 {
    // The multiplier of D. Knuth, "The Art of Computer Programming", volume 3, 6.4: 2^64 by the
    // golden ratio.
    (offset ^ content.rotate_left(20)).wrapping_mul(0x9e37_79b9_7f4a_7c15) & !CONTENT
}
