//! What each rank is doing in MPI, for the launcher to read at any time.
//!
//! A rank writes only when a call is about to sleep or has waited for long, and once more when that
//! call returns; so the notice of a rank that computes is empty. Other launchers make no board:
//! then nothing is written anywhere.

use std::io;
use std::os::fd::OwnedFd;

use crate::diagnosis::status_table::StatusTable;
use crate::diagnosis::wait_report::WaitReport;
use crate::sys::descriptor;

use crate::bootstrap::Environment;

/// A rank's own notice.
#[derive(Debug)]
pub struct StatusWriter {
    table: StatusTable,
    rank: usize,
}

/// What a rank says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankActivity {
    /// It has never said anything: it has not called MPI, or its library is another one.
    Unknown,
    /// It is in no call that waits for long.
    Busy,
    /// It waits since this time of the host's clock, in nanoseconds.
    Waiting(u64, WaitReport),
}

impl StatusWriter {
    /// The notice of `rank`, if the launcher reads it. What cannot be opened is not there: no job
    /// fails for it.
    pub fn open(environment: &Environment, rank: u32) -> Option<Self> {
        let file = descriptor::inherit(environment.status_fd?).ok()?;
        let status = Self { table: StatusTable::open(file).ok()?, rank: rank as usize };
        status.clear();
        Some(status)
    }

    /// A call waits since `since_ns` of the host's clock.
    pub fn report(&self, since_ns: u64, blocked: &WaitReport) {
        self.table.write(self.rank, blocked.emit(since_ns).as_bytes());
    }

    /// No call waits.
    pub fn clear(&self) {
        self.table.write(self.rank, b"");
    }
}

/// The notices of all ranks.
#[derive(Debug)]
pub struct StatusReader {
    table: StatusTable,
}

impl StatusReader {
    /// A board for `size` ranks, and the descriptor that they inherit.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn create(size: u32) -> io::Result<(Self, OwnedFd)> {
        let (board, file) = StatusTable::create(size as usize)?;
        Ok((Self { table: board }, file))
    }

    /// What `rank` said last.
    pub fn read(&self, rank: u32) -> RankActivity {
        let Some(text) = self.table.read(rank as usize) else { return RankActivity::Unknown };
        let text = String::from_utf8_lossy(&text);
        if text.is_empty() {
            return RankActivity::Busy;
        }
        match WaitReport::parse(&text) {
            Some((since_ns, blocked)) => RankActivity::Waiting(since_ns, blocked),
            None => RankActivity::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_launcher_reads_what_a_rank_tells() {
        let (board, file) = StatusReader::create(3).unwrap();
        assert_eq!(board.read(2), RankActivity::Unknown);
        let status_fd = Some(file.as_raw_fd());
        let environment = Environment { status_fd, ..Environment::default() };
        let status = StatusWriter::open(&environment, 2).unwrap();
        assert_eq!(board.read(2), RankActivity::Busy);
        let blocked = WaitReport::new("MPI_Barrier");
        status.report(5, &blocked);
        assert_eq!(board.read(2), RankActivity::Waiting(5, blocked));
        status.clear();
        assert_eq!(board.read(2), RankActivity::Busy);
        assert_eq!((board.read(0), board.read(9)), (RankActivity::Unknown, RankActivity::Unknown));
    }

    #[test]
    fn without_a_board_nothing_is_told() {
        assert!(StatusWriter::open(&Environment::default(), 0).is_none());
        let environment = Environment { status_fd: Some(1 << 20), ..Environment::default() };
        assert!(StatusWriter::open(&environment, 0).is_none());
    }
}
