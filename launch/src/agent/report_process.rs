//! The process that turns copies of stacks into the report about the ranks of a host.
//!
//! ```text
//!   agent ──copies stacks, forks──> report process ──facts──> agent
//! ```
//!
//! Symbols are searched in files that may be large or on a slow server, so the agent does not do
//! that itself: meanwhile it serves its ranks, and it ends a search that takes too long.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use platform::sys::descriptor;
use platform::sys::process::{self, Side};
use platform::sys::signals;

use crate::control::RankFacts;
use crate::dump::stack::ProgramFiles;
use crate::dump::{RankSnapshot, SYMBOL_TIMEOUT};

/// A running report process.
#[derive(Debug)]
pub(super) struct ReportProcess {
    pid: u32,
    facts: File,
    received: Vec<u8>,
    /// The process is killed at this time.
    deadline: Instant,
}

impl ReportProcess {
    /// Starts the report about ranks with their `snapshots`, taken at `now_ns`.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub(super) fn start(snapshots: Vec<(u32, RankSnapshot)>, now_ns: u64) -> io::Result<Self> {
        let (read, write) = descriptor::pipe()?;
        descriptor::set_nonblocking(&read)?;
        let deadline = Instant::now() + SYMBOL_TIMEOUT;
        match process::fork_single_threaded()? {
            Side::Child => {
                let facts = postcard::to_stdvec(&report(snapshots, now_ns, deadline));
                // The agent is the only reader.
                let _ = File::from(write).write_all(&facts.unwrap_or_default());
                std::process::exit(0)
            }
            Side::Parent(pid) => {
                let (facts, received) = (File::from(read), Vec::new());
                Ok(Self { pid, facts, received, deadline })
            }
        }
    }

    /// The time at which the report is given up.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reads what is available; whether the report is complete.
    pub(super) fn read(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.facts.read(&mut buffer) {
                Ok(count) if count > 0 => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Ends the process; its report, which is empty if it is not complete.
    pub(super) fn finish(self) -> Vec<RankFacts> {
        process::signal_process(self.pid, signals::KILL);
        postcard::from_bytes(&self.received).unwrap_or_default()
    }
}

impl AsFd for ReportProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.facts.as_fd()
    }
}

/// The report about ranks with their `snapshots`; symbols are searched until `deadline`.
pub(super) fn report(
    snapshots: Vec<(u32, RankSnapshot)>, now_ns: u64, deadline: Instant,
) -> Vec<RankFacts> {
    let mut files = ProgramFiles::default();
    let facts = |(rank, snapshot): (u32, RankSnapshot)| {
        RankFacts::new(rank, snapshot.report(&mut files, deadline), now_ns)
    };
    snapshots.into_iter().map(facts).collect()
}
