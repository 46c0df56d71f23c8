//! The status table: what each rank of a job waits for, in memory that processes share.
//!
//! ```text
//!   table   header: alarm | entry of rank 0 | entry of rank 1 | ...
//!   entry   sequence number (odd during a write) | length | up to 1016 bytes: a `RankStatus`
//!   alarm   0 ── raise: a rank reports a deadlock ──> 1 ── withdraw: a rank continued ──> 2
//! ```
//!
//! A job has one table. `mpirun` creates it and reads it for its own reports; below another
//! launcher the table is a part of the segment that the ranks of a node share. Either way each rank
//! writes its own entry and all ranks read all entries ([`super::deadlock`]). Memory of zeros is an
//! empty table.
//!
//! A write never waits for a reader. A read never waits for a writer: if the writer was stopped or
//! killed during a write, the read gives up. Source: sequence locks, as in Boehm, "Can Seqlocks Get
//! Along With Programming Language Memory Models?", MSPC 2012.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use memmap2::MmapRaw;

use super::rank_status::{RankActivity, RankStatus};
use crate::sys::{descriptor, shm};

/// The longest text of an entry, in bytes.
pub(super) const ENTRY_MAX_BYTES: usize = WORDS * 8;
const WORDS: usize = 127;

/// How often a read is tried before the entry counts as never completed.
const READS_MAX: u32 = 1000;

const RAISED: u32 = 1;
const WITHDRAWN: u32 = 2;

/// One process's view of the table.
#[derive(Debug)]
pub struct StatusTable {
    memory: Arc<MmapRaw>,
    /// Where the table begins in `memory`, in bytes.
    offset: usize,
    ranks: usize,
}

#[repr(C, align(64))]
struct TableHeader {
    alarm: AtomicU32,
}

#[repr(C, align(64))]
struct TableEntry {
    /// 0: never written; odd: a write is in progress.
    sequence: AtomicU32,
    length: AtomicU32,
    words: [AtomicU64; WORDS],
}

impl StatusTable {
    /// The size of a table for `ranks` ranks, in bytes; `None` if no memory is that large.
    pub fn bytes(ranks: usize) -> Option<usize> {
        ranks.checked_mul(size_of::<TableEntry>())?.checked_add(size_of::<TableHeader>())
    }

    /// An empty table in memory of its own, and the descriptor that the ranks inherit.
    ///
    /// # Errors
    /// The system has no memory for it.
    pub fn create(ranks: usize) -> io::Result<(Self, OwnedFd)> {
        let bytes = Self::bytes(ranks).ok_or(io::ErrorKind::OutOfMemory)?;
        let file = shm::create()?;
        let memory = shm::map(file.try_clone()?, bytes).map_err(io::Error::other)?;
        Ok((Self { memory: Arc::new(memory), offset: 0, ranks }, file))
    }

    /// The table that the launcher created, from the number of the inherited descriptor.
    ///
    /// # Errors
    /// The number is not a descriptor of a table.
    pub fn inherit(number: i32) -> io::Result<Self> {
        Self::open(descriptor::inherit(number)?)
    }

    fn open(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        let ranks = bytes.saturating_sub(size_of::<TableHeader>()) / size_of::<TableEntry>();
        if bytes == 0 || Self::bytes(ranks) != Some(bytes) {
            let why = format!("a file of {bytes} bytes is not a status table");
            return Err(io::Error::new(io::ErrorKind::InvalidData, why));
        }
        let memory = shm::map(file.into(), bytes).map_err(io::Error::other)?;
        Ok(Self { memory: Arc::new(memory), offset: 0, ranks })
    }

    /// The table of `ranks` ranks that begins `offset` bytes from the beginning of `memory`.
    ///
    /// # Panics
    /// The table is not inside `memory`, or not aligned to 64 bytes.
    ///
    /// # Safety
    /// The memory was zero at first, is used only as such a table, and never shrinks.
    pub unsafe fn within(memory: Arc<MmapRaw>, offset: usize, ranks: usize) -> Self {
        let end = Self::bytes(ranks).and_then(|bytes| bytes.checked_add(offset));
        assert!(end.is_some_and(|end| end <= memory.len()));
        assert!(offset.is_multiple_of(align_of::<TableEntry>()));
        Self { memory, offset, ranks }
    }

    /// The number of entries.
    pub fn ranks(&self) -> usize {
        self.ranks
    }

    /// Replaces the status of `rank`, if the table has this rank.
    pub fn write(&self, rank: u32, status: &RankStatus) {
        self.write_text(rank, status.emit().as_bytes());
    }

    /// Records that `rank` does not wait.
    pub fn clear(&self, rank: u32) {
        self.write_text(rank, b"");
    }

    /// The status of `rank`.
    pub fn read(&self, rank: u32) -> RankActivity {
        let Some(text) = self.entry(rank).and_then(TableEntry::read) else {
            return RankActivity::Unknown;
        };
        let text = String::from_utf8_lossy(&text);
        if text.is_empty() {
            return RankActivity::Busy;
        }
        RankStatus::parse(&text).map_or(RankActivity::Unknown, RankActivity::Waiting)
    }

    /// Records that a deadlock was reported; true for the first caller.
    pub fn raise_alarm(&self) -> bool {
        self.change_alarm(0, RAISED)
    }

    /// Records that a rank continued; true for the first caller after a deadlock was reported.
    pub fn withdraw_alarm(&self) -> bool {
        self.change_alarm(RAISED, WITHDRAWN)
    }

    fn change_alarm(&self, from: u32, to: u32) -> bool {
        let (alarm, order) = (&self.header().alarm, Ordering::SeqCst);
        alarm.load(Ordering::Relaxed) == from
            && alarm.compare_exchange(from, to, order, order).is_ok()
    }

    fn write_text(&self, rank: u32, text: &[u8]) {
        if let Some(entry) = self.entry(rank) {
            entry.write(text);
        }
    }

    fn header(&self) -> &TableHeader {
        // SAFETY: the header is inside the mapping and aligned (`within`; elsewhere `offset` is 0
        // and a mapping begins at a page). The file is sealed against shrinking (`shm::map`). The
        // fields are atomics: every value is valid, and other processes may change them at any
        // time.
        unsafe { &*self.memory.as_ptr().add(self.offset).cast::<TableHeader>() }
    }

    fn entry(&self, rank: u32) -> Option<&TableEntry> {
        let rank = rank as usize;
        if rank >= self.ranks {
            return None;
        }
        let offset = self.offset + size_of::<TableHeader>() + rank * size_of::<TableEntry>();
        // SAFETY: the entry is inside the mapping (`rank < ranks`) and aligned, as the sizes of the
        // header and of entries are multiples of their alignment. For the rest see `header`.
        Some(unsafe { &*self.memory.as_ptr().add(offset).cast::<TableEntry>() })
    }
}

impl TableEntry {
    /// Replaces the text, cut to [`ENTRY_MAX_BYTES`]. Of two writes at the same time one is
    /// dropped.
    fn write(&self, text: &[u8]) {
        let sequence = self.sequence.load(Ordering::Relaxed);
        let claim = || {
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            self.sequence.compare_exchange(sequence, sequence | 1, success, failure).is_ok()
        };
        if sequence % 2 == 1 || !claim() {
            return;
        }
        fence(Ordering::Release);
        let text = &text[..text.len().min(ENTRY_MAX_BYTES)];
        self.length.store(text.len() as u32, Ordering::Relaxed);
        for (word, bytes) in self.words.iter().zip(text.chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
        self.sequence.store(sequence.wrapping_add(2).max(2), Ordering::Release);
    }

    /// The text; `None` if it was never written, or a write does not complete.
    fn read(&self) -> Option<Vec<u8>> {
        for _ in 0..READS_MAX {
            let sequence = self.sequence.load(Ordering::Acquire);
            if sequence == 0 {
                return None;
            }
            let length = self.length.load(Ordering::Relaxed) as usize;
            let words = self.words.iter().take(length.div_ceil(8));
            let mut text: Vec<u8> =
                words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
            text.truncate(length);
            fence(Ordering::Acquire);
            if sequence.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == sequence {
                return Some(text);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::super::wait_report::WaitReport;
    use super::*;
    use std::os::fd::AsRawFd;
    use std::thread;

    #[test]
    fn a_reader_sees_whole_texts_or_none() {
        let (table, file) = StatusTable::create(2).unwrap();
        let read = |rank| table.entry(rank).unwrap().read();
        assert_eq!(read(1), None);
        let writer = StatusTable::open(file).unwrap();
        let thread = thread::spawn(move || {
            for round in 0..20_000_u32 {
                let letter = b'a' + (round % 26) as u8;
                writer.write_text(1, &vec![letter; (round % 1016) as usize]);
            }
            writer.write_text(1, b"end");
        });
        let mut seen = 0;
        loop {
            let Some(text) = read(1) else { continue };
            assert!(text == b"end" || text.iter().all(|letter| *letter == text[0]));
            seen += 1;
            if text == b"end" {
                break;
            }
        }
        thread.join().unwrap();
        assert!(seen > 0);
        assert_eq!(read(0), None);
    }

    #[test]
    fn ranks_and_lengths_out_of_bounds_are_harmless() {
        let (table, _file) = StatusTable::create(1).unwrap();
        let read = |rank| table.entry(rank).and_then(TableEntry::read);
        table.write_text(0, &[7; 5000]);
        assert_eq!(read(0).unwrap().len(), ENTRY_MAX_BYTES);
        table.write_text(0, b"");
        assert_eq!(read(0), Some(Vec::new()));
        table.write_text(9, b"x");
        assert_eq!(read(9), None);
    }

    #[test]
    fn an_entry_whose_writer_was_killed_during_a_write_is_unknown() {
        let (table, file) = StatusTable::create(1).unwrap();
        table.clear(0);
        let other = StatusTable::open(file).unwrap();
        other.entry(0).unwrap().sequence.fetch_add(1, Ordering::Relaxed);
        assert_eq!(table.read(0), RankActivity::Unknown);
    }

    #[test]
    fn a_file_of_another_size_is_refused() {
        assert!(StatusTable::open(descriptor::memory_file("suiro-test").unwrap()).is_err());
        let file = shm::create().unwrap();
        shm::map(file.try_clone().unwrap(), 4096).unwrap();
        assert!(StatusTable::open(file).is_err());
        assert!(StatusTable::inherit(1 << 20).is_err());
    }

    #[test]
    fn the_launcher_reads_what_a_rank_wrote() {
        let (table, file) = StatusTable::create(3).unwrap();
        assert_eq!(table.read(2), RankActivity::Unknown);
        let of_rank = StatusTable::inherit(file.as_raw_fd()).unwrap();
        of_rank.clear(2);
        assert_eq!(table.read(2), RankActivity::Busy);
        let status =
            RankStatus { since_ns: 5, report: WaitReport::new("MPI_Barrier"), steady: None };
        of_rank.write(2, &status);
        assert_eq!(table.read(2), RankActivity::Waiting(status));
        of_rank.clear(2);
        assert_eq!(table.read(2), RankActivity::Busy);
        assert_eq!((table.read(0), table.read(9)), (RankActivity::Unknown, RankActivity::Unknown));
    }

    #[test]
    fn an_alarm_is_raised_once_and_withdrawn_once() {
        let (one, file) = StatusTable::create(2).unwrap();
        let other = StatusTable::open(file).unwrap();
        assert!(!one.withdraw_alarm());
        assert!(one.raise_alarm() && !other.raise_alarm());
        assert!(other.withdraw_alarm() && !one.withdraw_alarm() && !one.raise_alarm());
    }

    #[test]
    fn a_table_may_lie_inside_other_memory() {
        let bytes = 4096 + StatusTable::bytes(2).unwrap();
        let memory = Arc::new(shm::map(shm::create().unwrap(), bytes).unwrap());
        // SAFETY: new memory, which nothing else uses.
        let views = [(); 2].map(|()| unsafe { StatusTable::within(memory.clone(), 4096, 2) });
        views[0].clear(1);
        assert_eq!(views[1].read(1), RankActivity::Busy);
        assert_eq!(views[1].read(0), RankActivity::Unknown);
    }
}
