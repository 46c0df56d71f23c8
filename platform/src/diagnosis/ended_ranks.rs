//! Which ranks of a job have ended: the word of the launcher to ranks that survive failures.
//!
//! ```text
//!   header: number of changes (a futex) | size of the job
//!   one word for each rank: 0 runs, 1 has ended after MPI_Finalize, 2 has failed
//! ```
//!
//! The agent of a host creates the table and records the end of every rank of the job; ranks sleep until
//! the number of changes grows ([`EndedRanks::wait`]), which takes them no processor.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use memmap2::MmapRaw;

use crate::sys::{descriptor, futex, shm};

/// Words before those of the ranks.
const HEADER_WORDS: usize = 2;
const WORD_BYTES: usize = size_of::<AtomicU32>();

/// How a rank has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u32)]
pub enum RankEnd {
    /// After `MPI_Finalize`.
    Finished = 1,
    /// Without `MPI_Finalize`.
    Failed = 2,
}

/// One process's view of the table.
#[derive(Debug)]
pub struct EndedRanks {
    memory: MmapRaw,
    ranks: usize,
}

impl EndedRanks {
    /// An empty table for the ranks of a job, and the descriptor that ranks inherit.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn create(ranks: usize) -> io::Result<(Self, OwnedFd)> {
        let file = shm::create()?;
        let bytes = (HEADER_WORDS + ranks) * WORD_BYTES;
        let memory = shm::map(file.try_clone()?, bytes).map_err(io::Error::other)?;
        let table = Self { memory, ranks };
        table.word(1).store(ranks as u32, Ordering::Relaxed);
        Ok((table, file))
    }

    /// The table of the launcher, from the number of the inherited descriptor.
    ///
    /// # Errors
    /// The number is not a descriptor of a table.
    pub fn inherit(number: i32) -> io::Result<Self> {
        let file = File::from(descriptor::inherit(number)?);
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let ranks = (bytes / WORD_BYTES).saturating_sub(HEADER_WORDS);
        if bytes < HEADER_WORDS * WORD_BYTES {
            let why = format!("a file of {bytes} bytes is not a table of ended ranks");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let memory = shm::map(file.into(), bytes).map_err(io::Error::other)?;
        let mut table = Self { memory, ranks };
        table.ranks = ranks.min(table.word(1).load(Ordering::Relaxed) as usize);
        Ok(table)
    }

    /// Records the end of `rank`, and wakes those that [wait](EndedRanks::wait). The first record counts.
    pub fn record(&self, rank: u32, end: RankEnd) {
        if rank as usize >= self.ranks {
            return;
        }
        let word = self.word(HEADER_WORDS + rank as usize);
        let order = Ordering::Relaxed;
        if word.compare_exchange(0, end as u32, order, order).is_ok() {
            self.word(0).fetch_add(1, Ordering::Release);
            futex::wake(self.word(0));
        }
    }

    /// How `rank` has ended; `None` while it runs.
    pub fn end_of(&self, rank: u32) -> Option<RankEnd> {
        let word = (rank as usize) < self.ranks;
        match word.then(|| self.word(HEADER_WORDS + rank as usize).load(Ordering::Relaxed))? {
            0 => None,
            1 => Some(RankEnd::Finished),
            _ => Some(RankEnd::Failed),
        }
    }

    /// The number of ranks of the job.
    pub fn ranks(&self) -> u32 {
        self.ranks as u32
    }

    /// The number of ends so far.
    pub fn changes(&self) -> u32 {
        self.word(0).load(Ordering::Acquire)
    }

    /// Sleeps until the number of ends is another one than `known`, for `longest` at most; may return early.
    pub fn wait(&self, known: u32, longest: Option<Duration>) {
        futex::wait(self.word(0), known, longest);
    }

    fn word(&self, index: usize) -> &AtomicU32 {
        debug_assert!(index < HEADER_WORDS + self.ranks);
        // SAFETY: the word is inside the mapping, whose length was derived from the same number, and
        // aligned, as a mapping begins at a page. The file is sealed against shrinking (`shm::map`). All
        // processes use the words as atomics.
        unsafe { &*self.memory.as_ptr().cast::<AtomicU32>().add(index) }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::IntoRawFd;

    #[test]
    fn a_rank_ends_once_and_sleepers_wake() {
        let (table, file) = EndedRanks::create(3).unwrap();
        let other = EndedRanks::inherit(file.into_raw_fd()).unwrap();
        assert_eq!((other.ranks(), other.changes(), other.end_of(2)), (3, 0, None));
        std::thread::scope(|scope| {
            scope.spawn(|| {
                while other.changes() == 0 {
                    other.wait(0, None);
                }
            });
            table.record(2, RankEnd::Failed);
        });
        table.record(2, RankEnd::Finished);
        table.record(9, RankEnd::Failed);
        assert_eq!((other.changes(), other.end_of(2)), (1, Some(RankEnd::Failed)));
        assert_eq!((other.end_of(0), other.end_of(9)), (None, None));
    }
}
