//! What the system has done for files of this process, for performance variables and explanations.

use std::sync::atomic::{AtomicU64, Ordering};

/// Numbers that threads without the lock change.
#[derive(Debug, Default)]
pub(crate) struct FileCounters {
    calls: AtomicU64,
    read: AtomicU64,
    written: AtomicU64,
    gaps: AtomicU64,
}

/// Their values at one time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct FileCounts {
    /// Reads and writes.
    pub(crate) calls: u64,
    /// Bytes read, by calls with gaps, and by loads.
    pub(crate) read: u64,
    /// Bytes written, by calls and by stores.
    pub(crate) written: u64,
    /// Bytes of gaps that were read with the pieces beside them.
    pub(crate) gaps: u64,
}

impl FileCounters {
    pub(crate) fn note_read(&self, bytes: usize) {
        self.add(FileCounts { calls: 1, read: bytes as u64, ..FileCounts::default() });
    }

    pub(crate) fn note_write(&self, bytes: usize) {
        self.add(FileCounts { calls: 1, written: bytes as u64, ..FileCounts::default() });
    }

    pub(crate) fn add(&self, counts: FileCounts) {
        let add = |number: &AtomicU64, count| match count {
            0 => {}
            count => _ = number.fetch_add(count, Ordering::Relaxed),
        };
        add(&self.calls, counts.calls);
        add(&self.read, counts.read);
        add(&self.written, counts.written);
        add(&self.gaps, counts.gaps);
    }

    pub(crate) fn counts(&self) -> FileCounts {
        let of = |number: &AtomicU64| number.load(Ordering::Relaxed);
        FileCounts {
            calls: of(&self.calls),
            read: of(&self.read),
            written: of(&self.written),
            gaps: of(&self.gaps),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn calls_and_bytes_are_counted() {
        let counters = FileCounters::default();
        counters.note_read(10);
        counters.note_write(5);
        counters.add(FileCounts { written: 1, gaps: 4, ..FileCounts::default() });
        let expected = FileCounts { calls: 2, read: 10, written: 6, gaps: 4 };
        assert_eq!(counters.counts(), expected);
    }
}
