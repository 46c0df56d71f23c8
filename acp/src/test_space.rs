//! Memory of several ranks in one process, for tests: a [`GlobalSpace`] whose ranks may be threads.
//!
//! ```text
//!   address   | rank + 1 : 24 bits | region : 8 | offset : 32 |
//!
//!   region 0 is the heap memory, region 1 the user memory
//! ```
//!
//! Memory is words of 8 bytes, so that aligned words never tear, as on real machines. Every access
//! is checked and counted.

use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

/// Bytes of user memory of each rank.
pub(crate) const USER_BYTES: u64 = 16 * 1024;

/// The bits of an address that are the offset in a region, and those below the rank.
const OFFSET_BITS: u32 = 32;
const RANK_SHIFT: u32 = 40;

/// The memory of all ranks, at one of them.
#[derive(Debug)]
pub(crate) struct TestSpace {
    ranks: Arc<[RankMemory]>,
    rank: u32,
    remote_accesses: AtomicU64,
    /// Numbers that decide before which accesses the thread yields; 0 if before none.
    turns: AtomicU64,
}

#[derive(Debug)]
struct RankMemory {
    regions: [Box<[AtomicU64]>; 2],
}

/// Bytes of one rank, checked.
struct TestBytes<'a> {
    words: &'a [AtomicU64],
    offset: usize,
    len: usize,
}

impl TestSpace {
    /// Ranks with `heap_bytes` bytes of heap memory each, in the order of their numbers.
    pub(crate) fn ranks(count: u32, heap_bytes: u64) -> Vec<Self> {
        let region = |bytes: u64| (0..bytes / 8).map(|_| AtomicU64::new(0)).collect();
        let memory = || RankMemory { regions: [region(heap_bytes), region(USER_BYTES)] };
        let ranks: Arc<[RankMemory]> = (0..count).map(|_| memory()).collect();
        let space = |rank| Self {
            ranks: ranks.clone(),
            rank,
            remote_accesses: AtomicU64::new(0),
            turns: AtomicU64::new(0),
        };
        (0..count).map(space).collect()
    }

    /// Runs `work` as all ranks at once, each in a thread. Threads yield before some of their
    /// accesses, so that operations of several ranks mix, on one processor too.
    pub(crate) fn run_all(spaces: &[Self], work: impl Fn(&Self) + Sync) {
        std::thread::scope(|scope| {
            let work = &work;
            for space in spaces {
                space.turns.store(u64::from(space.rank) + 1, Ordering::Relaxed);
                scope.spawn(move || work(space));
            }
        });
    }

    /// The word with this index in the user memory of this rank.
    pub(crate) fn user(&self, index: u64) -> SpaceAddress {
        Self::region(self.rank, 1).plus(8 * index)
    }

    /// Stores `data` in the user memory of this rank, from its word `index` on; its address.
    pub(crate) fn place(&self, index: u64, data: &[u8]) -> SpaceAddress {
        self.write(self.user(index), data).unwrap();
        self.user(index)
    }

    /// The `len` bytes from `from` on.
    pub(crate) fn bytes(&self, from: SpaceAddress, len: u64) -> Vec<u8> {
        let mut data = vec![0; usize::try_from(len).unwrap()];
        self.read(from, &mut data).unwrap();
        data
    }

    /// How many accesses to the memory of other ranks `work` takes.
    pub(crate) fn remote_accesses(&self, work: impl FnOnce()) -> u64 {
        let before = self.remote_accesses.load(Ordering::Relaxed);
        work();
        self.remote_accesses.load(Ordering::Relaxed) - before
    }

    fn region(rank: u32, region: u64) -> SpaceAddress {
        SpaceAddress(u64::from(rank + 1) << RANK_SHIFT | region << OFFSET_BITS)
    }

    /// The `len` bytes from `at` on.
    fn span(&self, at: SpaceAddress, len: u64) -> Result<TestBytes<'_>, AccessRefused> {
        let rank = self.owner(at).ok_or(AccessRefused)?;
        let region = at.0 >> OFFSET_BITS & ((1 << (RANK_SHIFT - OFFSET_BITS)) - 1);
        let words = self.ranks[rank as usize].regions.get(region as usize).ok_or(AccessRefused)?;
        let offset = at.0 & ((1 << OFFSET_BITS) - 1);
        let end = offset.checked_add(len).ok_or(AccessRefused)?;
        if end > 8 * words.len() as u64 {
            return Err(AccessRefused);
        }
        Ok(TestBytes { words, offset: offset as usize, len: len as usize })
    }

    fn count(&self, addresses: &[SpaceAddress]) {
        let is_remote = addresses.iter().any(|at| self.owner(*at) != Some(self.rank));
        self.remote_accesses.fetch_add(is_remote.into(), Ordering::Relaxed);
        self.yield_at_times();
    }

    /// Gives the processor to another rank before one of sixteen accesses.
    fn yield_at_times(&self) {
        // The generator of D. Knuth's MMIX.
        let next = |turn: u64| turn.wrapping_mul(6_364_136_223_846_793_005).wrapping_add(1);
        let turn = self.turns.load(Ordering::Relaxed);
        if turn != 0 {
            self.turns.store(next(turn), Ordering::Relaxed);
            if (turn >> 33).is_multiple_of(16) {
                std::thread::yield_now();
            }
        }
    }

    /// The word at `at`, for an atomic access.
    fn word(&self, at: SpaceAddress) -> Result<&AtomicU64, AccessRefused> {
        self.count(&[at]);
        let span = self.span(at, 8)?;
        if at.0.is_multiple_of(8) { Ok(&span.words[span.offset / 8]) } else { Err(AccessRefused) }
    }
}

impl TestBytes<'_> {
    /// For each word with bytes of the span: the word, the first byte in it, and the bytes of
    /// `0..len` that lie in it.
    fn parts(&self) -> impl Iterator<Item = (&AtomicU64, usize, std::ops::Range<usize>)> {
        let mut done = 0;
        std::iter::from_fn(move || {
            let (at, start) = (self.offset + done, done);
            done = (start + 8 - at % 8).min(self.len);
            (start < self.len).then(|| (&self.words[at / 8], at % 8, start..done))
        })
    }

    fn read(&self, into: &mut [u8]) {
        for (word, first, range) in self.parts() {
            let bytes = word.load(Ordering::SeqCst).to_ne_bytes();
            into[range.clone()].copy_from_slice(&bytes[first..first + range.len()]);
        }
    }

    fn write(&self, data: &[u8]) {
        for (word, first, range) in self.parts() {
            let change = |old: u64| {
                let mut bytes = old.to_ne_bytes();
                bytes[first..first + range.len()].copy_from_slice(&data[range.clone()]);
                Some(u64::from_ne_bytes(bytes))
            };
            // The closure always returns a word.
            let _ = word.fetch_update(Ordering::SeqCst, Ordering::SeqCst, change);
        }
    }
}

impl GlobalSpace for TestSpace {
    fn rank(&self) -> u32 {
        self.rank
    }

    fn ranks(&self) -> u32 {
        self.ranks.len() as u32
    }

    fn owner(&self, at: SpaceAddress) -> Option<u32> {
        let rank = u32::try_from(at.0 >> RANK_SHIFT).ok()?.checked_sub(1)?;
        (rank < self.ranks()).then_some(rank)
    }

    fn heap(&self, rank: u32) -> Option<(SpaceAddress, u64)> {
        let memory = self.ranks.get(rank as usize)?;
        Some((Self::region(rank, 0), 8 * memory.regions[0].len() as u64))
    }

    fn read(&self, from: SpaceAddress, into: &mut [u8]) -> Result<(), AccessRefused> {
        self.count(&[from]);
        self.span(from, into.len() as u64).map(|span| span.read(into))
    }

    fn write(&self, to: SpaceAddress, data: &[u8]) -> Result<(), AccessRefused> {
        self.count(&[to]);
        self.span(to, data.len() as u64).map(|span| span.write(data))
    }

    fn copy(
        &self, to: SpaceAddress, from: SpaceAddress, len_bytes: u64,
    ) -> Result<(), AccessRefused> {
        self.count(&[to, from]);
        let (source, target) = (self.span(from, len_bytes)?, self.span(to, len_bytes)?);
        let mut data = vec![0; source.len];
        source.read(&mut data);
        target.write(&data);
        Ok(())
    }

    fn compare_swap(
        &self, at: SpaceAddress, expected: u64, new: u64,
    ) -> Result<u64, AccessRefused> {
        let word = self.word(at)?;
        let order = Ordering::SeqCst;
        Ok(word.compare_exchange(expected, new, order, order).unwrap_or_else(|old| old))
    }

    fn pause(&self, _attempts: u32) {
        std::thread::yield_now();
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn bytes_are_read_as_they_were_written() {
        let spaces = TestSpace::ranks(2, 64);
        let at = spaces[1].user(0).plus(3);
        spaces[0].write(at, &[1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11]).unwrap();
        assert_eq!(spaces[1].bytes(at.plus(4), 7), [5, 6, 7, 8, 9, 10, 11]);
        assert_eq!(spaces[1].bytes(spaces[1].user(0), 4), [0, 0, 0, 1]);
    }

    #[test]
    fn copies_may_overlap() {
        let space = &TestSpace::ranks(1, 64)[0];
        let at = space.place(0, &[1, 2, 3, 4, 5, 6, 7, 8, 9]);
        space.copy(at.plus(2), at, 7).unwrap();
        assert_eq!(space.bytes(at, 9), [1, 2, 1, 2, 3, 4, 5, 6, 7]);
        space.copy(at, at.plus(2), 7).unwrap();
        assert_eq!(space.bytes(at, 9), [1, 2, 3, 4, 5, 6, 7, 6, 7]);
    }

    #[test]
    fn accesses_outside_memory_are_refused() {
        let space = &TestSpace::ranks(1, 64)[0];
        let (heap, len) = space.heap(0).unwrap();
        assert!(space.read(heap.plus(len - 1), &mut [0]).is_ok());
        assert_eq!(space.read(heap.plus(len - 1), &mut [0; 2]), Err(AccessRefused));
        assert_eq!(space.read(SpaceAddress::NULL, &mut [0]), Err(AccessRefused));
        assert_eq!(space.read(SpaceAddress(2 << RANK_SHIFT), &mut [0]), Err(AccessRefused));
        assert_eq!(space.compare_swap(heap.plus(4), 0, 1), Err(AccessRefused));
        assert_eq!(space.compare_swap(heap.plus(len), 0, 1), Err(AccessRefused));
    }

    #[test]
    fn accesses_to_other_ranks_are_counted() {
        let spaces = TestSpace::ranks(2, 64);
        let [near, far] = [&spaces[0], &spaces[1]].map(|space| space.user(0));
        let count = spaces[0].remote_accesses(|| {
            spaces[0].copy(near, far, 8).unwrap();
            spaces[0].read(near, &mut [0; 8]).unwrap();
            spaces[0].compare_swap(far, 0, 1).unwrap();
        });
        assert_eq!(count, 2);
    }
}
