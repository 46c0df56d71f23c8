//! The heap of each rank: blocks of memory that any rank allocates and frees, by one-sided
//! accesses.
//!
//! ```text
//!   lock │ used │ bin 0 .. bin n │ block │ free block │ block │ block │ unused
//!   └────────── control ────────┘ ▲                                    ▲
//!                               first                            first + used
//!
//!   block in use    │ header │ bytes ............................. │ header of the next block
//!   free block      │ header │ ................ next previous size │
//! ```
//!
//! A header has the size of its block, whether the block is in use and whether the one before is
//! free. A free block has in its last words (its tail) its size and its place in the list of its
//! bin, where it is known by the offset of its *end*. So one read in front of a header gives all
//! that matters of a free block before it, and a block of which the front is allocated stays where
//! it is in its list. The idea of sizes at both ends is that of the boundary tags of D. Knuth ("The
//! Art of Computer Programming", volume 1, 2.5), the bins are those of D. Lea's malloc.
//!
//! Two free blocks are never neighbours, and no free block ends at `first + used`. All zero is the
//! empty heap: no rank initializes it.
//!
//! A header has a check, and the header of a freed block is always overwritten: an address that is
//! not of a block in use, or not any more, is recognized unless the program wrote a header itself.
//! Every value read is checked before use, and every loop has a bound.
//!
//! The heap knows neither its users nor processes: if a rank ends while it holds the lock, the heap
//! is lost. Sizes are bytes, offsets too.

mod layout;
#[cfg(test)]
pub(crate) mod tests;

use std::ops::Range;

use self::layout::{BLOCK_MIN, BlockHeader, HeapLayout, TAIL, bin_of, block_size};
use crate::failure::Failure;
use crate::lock::Lock;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words::{self, WORD};

/// Free blocks of the own bin that an allocation looks at before it takes one of a larger bin.
const OWN_BIN_STEPS: u64 = 4;

/// Up to this size the words at both ends of a block are written in one access, with zeros between
/// them.
const WHOLE_WRITE_MAX: u64 = 256;

/// Blocks freed under one lock at the most: other ranks wait for it.
const FREE_AT_ONCE: usize = 16;

/// The index of the used bytes in the control, and of bin 0.
const USED: usize = 0;
const BINS: usize = 1;

/// Allocates `len_bytes` bytes of the heap of `rank`; their address is a multiple of 16, their
/// content is not specified.
///
/// # Errors
/// `NoRoom`; `Argument` if there is no such rank; `Damaged`, `Refused`.
pub(crate) fn allocate(
    space: &impl GlobalSpace, rank: u32, len_bytes: u64,
) -> Result<SpaceAddress, Failure> {
    let layout = HeapLayout::of(space, rank)?;
    let size = block_size(len_bytes)?;
    if size > layout.room() {
        return Err(Failure::NoRoom);
    }
    let mut heap = Heap::lock(space, layout)?;
    let start = match heap.find(size)? {
        Some(block) => heap.take(block, size)?,
        None => heap.extend(size)?,
    };
    heap.store()?;
    Ok(layout.base.plus(start + WORD))
}

/// Frees the bytes at `at`, of any rank.
///
/// # Errors
/// Nothing has happened: `Argument` or `Damaged` if they are not allocated, `Refused`.
pub(crate) fn free(space: &impl GlobalSpace, at: SpaceAddress) -> Result<(), Failure> {
    let layout = HeapLayout::at(space, at)?;
    free_at_once(space, layout, &[layout.block_at(at)?])
}

/// Frees blocks of any ranks; those that are not allocated are ignored. Blocks of one rank that
/// follow each other share the accesses that do not depend on the block.
pub(crate) fn free_all(space: &impl GlobalSpace, blocks: &[SpaceAddress]) {
    for of_a_rank in blocks.chunk_by(|left, right| space.owner(*left) == space.owner(*right)) {
        let Ok(layout) = HeapLayout::at(space, of_a_rank[0]) else { continue };
        let starts = of_a_rank.iter().filter_map(|at| layout.block_at(*at).ok());
        for starts in starts.collect::<Vec<_>>().chunks(FREE_AT_ONCE) {
            // What is not allocated is ignored.
            let _ = free_at_once(space, layout, starts);
        }
    }
}

/// Frees the blocks at these offsets under one lock; the first failure.
fn free_at_once(
    space: &impl GlobalSpace, layout: HeapLayout, starts: &[u64],
) -> Result<(), Failure> {
    let mut heap = Heap::lock(space, layout)?;
    let mut result = Ok(());
    for start in starts {
        result = result.and(heap.release(*start));
    }
    heap.store().and(result)
}

/// The most blocks that all heaps together can have. A chain with more elements is damaged.
pub(crate) fn blocks_max(space: &impl GlobalSpace) -> u64 {
    let room = HeapLayout::of(space, space.rank()).map_or(0, HeapLayout::room);
    room / BLOCK_MIN * u64::from(space.ranks())
}

/// The heap of a rank, locked.
struct Heap<'s, S: GlobalSpace> {
    space: &'s S,
    layout: HeapLayout,
    /// The control behind the lock: used bytes, then the end of the first free block of each bin.
    control: Vec<u64>,
    /// The words of it that are not yet in memory.
    changed: Range<usize>,
    _lock: Lock<'s, S>,
}

/// A free block, as its last words describe it.
#[derive(Clone, Copy, Debug)]
struct FreeBlock {
    end: u64,
    size: u64,
    /// The ends of its neighbours in its list; 0 for none.
    next: u64,
    previous: u64,
    /// The header at its end.
    following: BlockHeader,
}

impl<'s, S: GlobalSpace> Heap<'s, S> {
    fn lock(space: &'s S, layout: HeapLayout) -> Result<Self, Failure> {
        let lock = Lock::take(space, layout.base)?;
        let control = words::read_many(space, layout.base.plus(WORD), BINS + layout.bins)?;
        let used = control[USED];
        if used > layout.room() || !used.is_multiple_of(layout::UNIT) {
            return Err(Failure::Damaged);
        }
        Ok(Self { space, layout, control, changed: 0..0, _lock: lock })
    }

    /// Writes what has changed of the control, and releases the lock.
    fn store(self) -> Result<(), Failure> {
        if self.changed.is_empty() {
            return Ok(());
        }
        let offset = WORD * (1 + self.changed.start as u64);
        self.write(offset, &self.control[self.changed.clone()])
    }

    /// A block of at least `size` bytes; `None` if unused memory has to be taken.
    fn find(&self, size: u64) -> Result<Option<FreeBlock>, Failure> {
        let own = bin_of(size);
        if let Some(block) = self.search(own, size, OWN_BIN_STEPS)? {
            return Ok(Some(block));
        }
        // The first of any larger bin is large enough.
        let larger = (own + 1..self.layout.bins).find(|bin| self.control[BINS + bin] != 0);
        if let Some(bin) = larger {
            return self.search(bin, size, 1);
        }
        if self.top() + size <= self.layout.limit {
            return Ok(None);
        }
        self.search(own, size, self.control[USED] / BLOCK_MIN)
    }

    /// The first block with `size` bytes among the first `steps` of a bin.
    fn search(&self, bin: usize, size: u64, steps: u64) -> Result<Option<FreeBlock>, Failure> {
        let mut end = self.control[BINS + bin];
        for _ in 0..steps {
            if end == 0 {
                break;
            }
            let block = self.free_block(end)?;
            if bin_of(block.size) != bin {
                return Err(Failure::Damaged);
            }
            if block.size >= size {
                return Ok(Some(block));
            }
            end = block.next;
        }
        Ok(None)
    }

    /// Takes `size` bytes from the front of a free block; the offset of the new block.
    fn take(&mut self, block: FreeBlock, size: u64) -> Result<u64, Failure> {
        let start = block.start();
        let rest = block.size - size;
        if rest < BLOCK_MIN {
            self.unlink(&block)?;
            let following = block.following.behind_free(false);
            self.write(block.end, &[following.word(block.end)])?;
            self.write(start, &[BlockHeader::in_use(block.size).word(start)])?;
            return Ok(start);
        }
        let behind = start + size;
        let header = BlockHeader::in_use(size).word(start);
        self.write_ends((start, &[header]), (behind, &[BlockHeader::free(rest).word(behind)]))?;
        if bin_of(rest) == bin_of(block.size) {
            self.write(block.end - WORD, &[rest])?;
        } else {
            self.unlink(&block)?;
            let next = self.push(block.end, rest)?;
            self.write(block.end - TAIL, &[next, 0, rest])?;
        }
        Ok(start)
    }

    /// Takes `size` bytes of the memory behind all blocks.
    fn extend(&mut self, size: u64) -> Result<u64, Failure> {
        let start = self.top();
        if start + size > self.layout.limit {
            return Err(Failure::NoRoom);
        }
        self.write(start, &[BlockHeader::in_use(size).word(start)])?;
        self.set(USED, self.control[USED] + size);
        Ok(start)
    }

    /// Frees the block at `start`, and merges it with free neighbours.
    fn release(&mut self, start: u64) -> Result<(), Failure> {
        let (end, before) = self.block_in_use(start)?;
        let merged_start = before.map_or(start, |block| block.start());
        if end == self.top() {
            if let Some(before) = &before {
                self.unlink(before)?;
            }
            self.write(start, &[0])?;
            self.set(USED, merged_start - self.layout.first);
            return Ok(());
        }
        let following = self.header(end)?;
        let after = if following.in_use { None } else { Some(self.free_at(end, following)?) };
        if let Some(before) = &before {
            self.unlink(before)?;
        }
        let Some(after) = after else {
            return self.place(merged_start..end, start, following);
        };
        let after = before.map_or(after, |before| after.without(&before));
        self.unlink(&after)?;
        self.place(merged_start..after.end, start, after.following)
    }

    /// The end of the block at `start`, and the free block before it.
    fn block_in_use(&self, start: u64) -> Result<(u64, Option<FreeBlock>), Failure> {
        if start >= self.top() {
            return Err(Failure::Argument);
        }
        let [next, previous, size, word] = self.read(start - TAIL)?;
        let header = BlockHeader::of(word, start)?;
        let end = start + header.size;
        if !header.in_use || end > self.top() {
            return Err(Failure::Damaged);
        }
        let before = FreeBlock { end: start, size, next, previous, following: header };
        let before = if header.previous_free { Some(self.checked(before)?) } else { None };
        Ok((end, before))
    }

    /// Makes `block` a free block before the one with the header `following`. Its part from `freed`
    /// on was in use.
    fn place(
        &mut self, block: Range<u64>, freed: u64, following: BlockHeader,
    ) -> Result<(), Failure> {
        let size = block.end - block.start;
        let next = self.push(block.end, size)?;
        let header = BlockHeader::free(size).word(block.start);
        let following = following.behind_free(true).word(block.end);
        let tail = block.end - TAIL;
        if freed != block.start && tail - block.start > WHOLE_WRITE_MAX {
            self.write(freed, &[0])?;
        }
        self.write_ends((block.start, &[header]), (tail, &[next, 0, size, following]))
    }

    /// Makes the block that ends at `end` the first of the bin for `size`; the end of the one that
    /// was it, or 0.
    fn push(&mut self, end: u64, size: u64) -> Result<u64, Failure> {
        let bin = BINS + bin_of(size);
        let next = self.control[bin];
        if next != 0 {
            self.write(self.inside(next)? - TAIL + WORD, &[end])?;
        }
        self.set(bin, end);
        Ok(next)
    }

    /// Takes a free block out of its list.
    fn unlink(&mut self, block: &FreeBlock) -> Result<(), Failure> {
        match block.previous {
            0 => self.set(BINS + bin_of(block.size), block.next),
            previous => self.write(self.inside(previous)? - TAIL, &[block.next])?,
        }
        match block.next {
            0 => Ok(()),
            next => self.write(self.inside(next)? - TAIL + WORD, &[block.previous]),
        }
    }

    /// The free block that ends at `end`.
    fn free_block(&self, end: u64) -> Result<FreeBlock, Failure> {
        let end = self.inside(end)?;
        let [next, previous, size, word] = self.read(end - TAIL)?;
        let following = BlockHeader::of(word, end)?;
        self.checked(FreeBlock { end, size, next, previous, following })
    }

    /// The free block that starts at `start`, with the header `header`.
    fn free_at(&self, start: u64, header: BlockHeader) -> Result<FreeBlock, Failure> {
        let block = self.free_block(start + header.size)?;
        if block.start() == start { Ok(block) } else { Err(Failure::Damaged) }
    }

    fn checked(&self, block: FreeBlock) -> Result<FreeBlock, Failure> {
        let has_size = block.size.is_multiple_of(layout::UNIT)
            && (BLOCK_MIN..=block.end - self.layout.first).contains(&block.size);
        let is_free = has_size && block.following.previous_free;
        if is_free { Ok(block) } else { Err(Failure::Damaged) }
    }

    /// The end of a free block, checked.
    fn inside(&self, end: u64) -> Result<u64, Failure> {
        let ends = self.layout.first + BLOCK_MIN..self.top();
        if ends.contains(&end) && end % layout::UNIT == WORD {
            Ok(end)
        } else {
            Err(Failure::Damaged)
        }
    }

    fn header(&self, offset: u64) -> Result<BlockHeader, Failure> {
        let [word] = self.read(offset)?;
        BlockHeader::of(word, offset)
    }

    /// The offset behind all blocks.
    fn top(&self) -> u64 {
        self.layout.first + self.control[USED]
    }

    /// Changes a word of the control.
    fn set(&mut self, index: usize, word: u64) {
        self.control[index] = word;
        let range = if self.changed.is_empty() { index..index + 1 } else { self.changed.clone() };
        self.changed = range.start.min(index)..range.end.max(index + 1);
    }

    fn read<const N: usize>(&self, offset: u64) -> Result<[u64; N], Failure> {
        Ok(words::read(self.space, self.layout.base.plus(offset))?)
    }

    fn write(&self, offset: u64, words: &[u64]) -> Result<(), Failure> {
        Ok(words::write(self.space, self.layout.base.plus(offset), words)?)
    }

    /// Writes words at two offsets; in one access if they are near, with zeros between them.
    fn write_ends(&self, first: (u64, &[u64]), second: (u64, &[u64])) -> Result<(), Failure> {
        let distance = second.0 - first.0;
        if distance > WHOLE_WRITE_MAX {
            self.write(first.0, first.1)?;
            return self.write(second.0, second.1);
        }
        let mut words = first.1.to_vec();
        words.resize((distance / WORD) as usize, 0);
        words.extend(second.1);
        self.write(first.0, &words)
    }
}

impl FreeBlock {
    fn start(&self) -> u64 {
        self.end - self.size
    }

    /// The block when `other` has been taken out of its list.
    fn without(self, other: &Self) -> Self {
        let around = |end, beyond| if end == other.end { beyond } else { end };
        let next = around(self.next, other.next);
        Self { next, previous: around(self.previous, other.previous), ..self }
    }
}
