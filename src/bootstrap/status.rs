//! What each rank is doing in MPI, for the launcher to read at any time.
//!
//! A rank writes only when a call is about to sleep or has waited for long, and once more when that
//! call returns; so the notice of a rank that computes is empty. Other launchers make no board:
//! then nothing is written anywhere.

use std::io;
use std::os::fd::OwnedFd;

use crate::base::blocked::Blocked;
use crate::sys::descriptor;
use crate::sys::notices::Notices;

use super::environment::Environment;

/// A rank's own notice.
#[derive(Debug)]
pub struct Status {
    board: Notices,
    rank: usize,
}

/// What a rank says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Doing {
    /// It has never said anything: it has not called MPI, or its library is another one.
    Unknown,
    /// It is in no call that waits for long.
    Busy,
    /// It waits since this time of the host's clock, in nanoseconds.
    Waiting(u64, Blocked),
}

impl Status {
    /// The notice of `rank`, if the launcher reads it. What cannot be opened is not there: no job
    /// fails for it.
    pub fn open(environment: &Environment, rank: u32) -> Option<Self> {
        let file = descriptor::inherit(environment.status_fd?).ok()?;
        let status = Self { board: Notices::open(file).ok()?, rank: rank as usize };
        status.clear();
        Some(status)
    }

    /// A call waits since `since_ns` of the host's clock.
    pub fn tell(&self, since_ns: u64, blocked: &Blocked) {
        self.board.write(self.rank, blocked.emit(since_ns).as_bytes());
    }

    /// No call waits.
    pub fn clear(&self) {
        self.board.write(self.rank, b"");
    }
}

/// The notices of all ranks.
#[derive(Debug)]
pub struct StatusBoard {
    board: Notices,
}

impl StatusBoard {
    /// A board for `size` ranks, and the descriptor that they inherit.
    ///
    /// # Errors
    /// When the system has no room for it.
    pub fn create(size: u32) -> io::Result<(Self, OwnedFd)> {
        let (board, file) = Notices::create(size as usize)?;
        Ok((Self { board }, file))
    }

    /// What `rank` said last.
    pub fn read(&self, rank: u32) -> Doing {
        let Some(text) = self.board.read(rank as usize) else { return Doing::Unknown };
        let text = String::from_utf8_lossy(&text);
        if text.is_empty() {
            return Doing::Busy;
        }
        match Blocked::parse(&text) {
            Some((since_ns, blocked)) => Doing::Waiting(since_ns, blocked),
            None => Doing::Unknown,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use std::os::fd::AsRawFd;

    #[test]
    fn the_launcher_reads_what_a_rank_tells() {
        let (board, file) = StatusBoard::create(3).unwrap();
        assert_eq!(board.read(2), Doing::Unknown);
        let status_fd = Some(file.as_raw_fd());
        let environment = Environment { status_fd, ..Environment::default() };
        let status = Status::open(&environment, 2).unwrap();
        assert_eq!(board.read(2), Doing::Busy);
        let blocked = Blocked::new("MPI_Barrier");
        status.tell(5, &blocked);
        assert_eq!(board.read(2), Doing::Waiting(5, blocked));
        status.clear();
        assert_eq!(board.read(2), Doing::Busy);
        assert_eq!((board.read(0), board.read(9)), (Doing::Unknown, Doing::Unknown));
    }

    #[test]
    fn without_a_board_nothing_is_told() {
        assert!(Status::open(&Environment::default(), 0).is_none());
        let environment = Environment { status_fd: Some(1 << 20), ..Environment::default() };
        assert!(Status::open(&environment, 0).is_none());
    }
}
