//! A board of notices in shared memory: each process writes its own, one process reads all.
//!
//! ```text
//!   record   turn (odd while it is written) | length | up to 1016 bytes
//! ```
//!
//! A writer never waits, whatever the reader does, and the reader never waits for a writer that
//! was stopped or killed in the middle: it gives up. Source: sequence locks, as in Boehm, "Can
//! Seqlocks Get Along With Programming Language Memory Models?", MSPC 2012.
#![allow(unsafe_code)]

use std::fs::File;
use std::io;
use std::os::fd::OwnedFd;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering, fence};

use memmap2::MmapRaw;

use crate::sys::shm;

/// The bytes of a notice at most.
pub const STATUS_MAX_BYTES: usize = WORDS * 8;
const WORDS: usize = 127;

/// How often the reader tries before it takes a notice for one that never gets finished.
const READS_MAX: u32 = 1000;

/// A notice, in memory that processes share. All zero: never written.
#[repr(C, align(64))]
pub struct StatusEntry {
    /// 0: never written; odd: being written.
    sequence: AtomicU32,
    length: AtomicU32,
    words: [AtomicU64; WORDS],
}

/// A number of notices that processes share.
#[derive(Debug)]
pub(crate) struct StatusTable {
    map: MmapRaw,
}

impl StatusTable {
    /// An empty board of `count` notices, and the descriptor to pass to others.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub(crate) fn create(count: usize) -> io::Result<(Self, OwnedFd)> {
        let file = shm::create()?;
        let bytes = count.max(1).saturating_mul(size_of::<StatusEntry>());
        let map = shm::map(file.try_clone()?, bytes).map_err(io::Error::other)?;
        Ok((Self { map }, file))
    }

    /// The board that another process made.
    ///
    /// # Errors
    /// When the descriptor is none of a board.
    pub(crate) fn open(file: OwnedFd) -> io::Result<Self> {
        let file = File::from(file);
        let bytes = usize::try_from(file.metadata()?.len()).map_err(io::Error::other)?;
        if bytes == 0 || !bytes.is_multiple_of(size_of::<StatusEntry>()) {
            return Err(io::Error::new(io::ErrorKind::InvalidData, "no board of notices"));
        }
        let map = shm::map(file.into(), bytes).map_err(io::Error::other)?;
        Ok(Self { map })
    }

    /// [`StatusEntry::write`] of notice `number`; one that the board does not have is nothing.
    pub(crate) fn write(&self, number: usize, text: &[u8]) {
        if let Some(notice) = self.entry(number) {
            notice.write(text);
        }
    }

    /// [`StatusEntry::read`] of notice `number`.
    pub(crate) fn read(&self, number: usize) -> Option<Vec<u8>> {
        self.entry(number)?.read()
    }

    fn entry(&self, number: usize) -> Option<&StatusEntry> {
        if number >= self.map.len() / size_of::<StatusEntry>() {
            return None;
        }
        // SAFETY: the notice lies in the mapping by the check above, and the file behind it is
        // sealed against shrinking (`shm::map`). A mapping is aligned to a page, a notice's size is
        // a multiple of its alignment, and all its fields are atomic: any bytes are a value, and
        // other processes may change them at any time.
        Some(unsafe { &*self.map.as_ptr().cast::<StatusEntry>().add(number) })
    }
}

impl StatusEntry {
    /// Replaces the notice, cut to [`STATUS_MAX_BYTES`]. What another thread writes there at the
    /// same time wins.
    pub fn write(&self, text: &[u8]) {
        let turn = self.sequence.load(Ordering::Relaxed);
        let claim = || {
            let (success, failure) = (Ordering::Acquire, Ordering::Relaxed);
            self.sequence.compare_exchange(turn, turn | 1, success, failure).is_ok()
        };
        if turn % 2 == 1 || !claim() {
            return;
        }
        fence(Ordering::Release);
        let text = &text[..text.len().min(STATUS_MAX_BYTES)];
        self.length.store(text.len() as u32, Ordering::Relaxed);
        for (word, bytes) in self.words.iter().zip(text.chunks(8)) {
            let mut value = [0; 8];
            value[..bytes.len()].copy_from_slice(bytes);
            word.store(u64::from_ne_bytes(value), Ordering::Relaxed);
        }
        self.sequence.store(turn.wrapping_add(2).max(2), Ordering::Release);
    }

    /// What it says; `None` if it has never been written, or its writer does not finish it.
    pub fn read(&self) -> Option<Vec<u8>> {
        for _ in 0..READS_MAX {
            let turn = self.sequence.load(Ordering::Acquire);
            if turn == 0 {
                return None;
            }
            let length = self.length.load(Ordering::Relaxed) as usize;
            let words = self.words.iter().take(length.div_ceil(8));
            let mut text: Vec<u8> =
                words.flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
            text.truncate(length);
            fence(Ordering::Acquire);
            if turn.is_multiple_of(2) && self.sequence.load(Ordering::Relaxed) == turn {
                return Some(text);
            }
            std::hint::spin_loop();
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::thread;

    #[test]
    fn a_reader_sees_whole_notices_or_none() {
        let (board, file) = StatusTable::create(2).unwrap();
        assert_eq!(board.read(1), None);
        let writer = StatusTable::open(file).unwrap();
        let thread = thread::spawn(move || {
            for round in 0..20_000_u32 {
                let letter = b'a' + (round % 26) as u8;
                writer.write(1, &vec![letter; (round % 1016) as usize]);
            }
            writer.write(1, b"end");
        });
        let mut seen = 0;
        loop {
            let Some(text) = board.read(1) else { continue };
            assert!(text == b"end" || text.iter().all(|letter| *letter == text[0]));
            seen += 1;
            if text == b"end" {
                break;
            }
        }
        thread.join().unwrap();
        assert!(seen > 0);
        assert_eq!(board.read(0), None);
    }

    #[test]
    fn numbers_and_lengths_that_do_not_fit_are_harmless() {
        let (board, _file) = StatusTable::create(1).unwrap();
        board.write(0, &[7; 5000]);
        assert_eq!(board.read(0).unwrap().len(), STATUS_MAX_BYTES);
        board.write(0, b"");
        assert_eq!(board.read(0), Some(Vec::new()));
        board.write(9, b"x");
        assert_eq!(board.read(9), None);
    }

    #[test]
    fn a_writer_that_died_in_the_middle_is_no_notice() {
        let (board, file) = StatusTable::create(1).unwrap();
        board.write(0, b"x");
        let other = StatusTable::open(file).unwrap();
        other.entry(0).unwrap().sequence.fetch_add(1, Ordering::Relaxed);
        assert_eq!(board.read(0), None);
    }

    #[test]
    fn a_file_of_another_size_is_no_board() {
        let file = crate::sys::descriptor::memory_file("suiro-test").unwrap();
        assert!(StatusTable::open(file).is_err());
    }
}
