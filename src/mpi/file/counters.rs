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
    /// Bytes read, gaps included.
    pub(crate) read: u64,
    /// Bytes written, by calls and by stores.
    pub(crate) written: u64,
    /// Bytes of gaps that were read with the pieces beside them.
    pub(crate) gaps: u64,
}

impl FileCounters {
    pub(crate) fn note_read(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.read.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_write(&self, bytes: usize) {
        self.calls.fetch_add(1, Ordering::Relaxed);
        self.note_stores(bytes);
    }

    pub(crate) fn note_stores(&self, bytes: usize) {
        self.written.fetch_add(bytes as u64, Ordering::Relaxed);
    }

    pub(crate) fn note_gaps(&self, bytes: u64) {
        self.gaps.fetch_add(bytes, Ordering::Relaxed);
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
        counters.note_stores(1);
        counters.note_gaps(4);
        let expected = FileCounts { calls: 2, read: 10, written: 6, gaps: 4 };
        assert_eq!(counters.counts(), expected);
    }
}
