//! The process that turns copies of stacks into the report about the ranks.
//!
//! ```text
//!   agent ──copies stacks, forks──> report process ──text──> agent
//! ```
//!
//! Symbols are searched in files that may be large or on a slow server, so the agent does not do
//! that itself: meanwhile it serves its ranks, and it ends a search that takes too long.

use std::fs::File;
use std::io::{self, Read, Write};
use std::os::fd::{AsFd, BorrowedFd};
use std::time::Instant;

use platform::diagnosis::job_report;
use platform::sys::descriptor;
use platform::sys::host;
use platform::sys::process::{self, Side};
use platform::sys::signals;

use crate::dump::stack::ProgramFiles;
use crate::dump::{RankSnapshot, SYMBOL_TIMEOUT};

/// A running report process.
#[derive(Debug)]
pub(super) struct ReportProcess {
    pid: u32,
    text: File,
    received: Vec<u8>,
    /// The process is killed at this time.
    deadline: Instant,
}

impl ReportProcess {
    /// Starts the report about `snapshots`, taken at `now_ns`.
    ///
    /// # Errors
    /// The system cannot start a process.
    pub(super) fn start(snapshots: Vec<Option<RankSnapshot>>, now_ns: u64) -> io::Result<Self> {
        let (read, write) = descriptor::pipe()?;
        descriptor::set_nonblocking(&read)?;
        let deadline = Instant::now() + SYMBOL_TIMEOUT;
        match process::fork_single_threaded()? {
            Side::Child => {
                let text = report(snapshots, now_ns, deadline);
                // The agent is the only reader.
                let _ = File::from(write).write_all(text.as_bytes());
                std::process::exit(0)
            }
            Side::Parent(pid) => {
                let (text, received) = (File::from(read), Vec::new());
                Ok(Self { pid, text, received, deadline })
            }
        }
    }

    /// The time at which the report is given up.
    pub(super) fn deadline(&self) -> Instant {
        self.deadline
    }

    /// Reads available text; whether the report is complete.
    pub(super) fn read(&mut self) -> bool {
        let mut buffer = [0; 64 * 1024];
        loop {
            match self.text.read(&mut buffer) {
                Ok(count) if count > 0 => self.received.extend_from_slice(&buffer[..count]),
                Err(error) if error.kind() == io::ErrorKind::Interrupted => {}
                Err(error) if error.kind() == io::ErrorKind::WouldBlock => return false,
                Ok(_) | Err(_) => return true,
            }
        }
    }

    /// Ends the process; the text that has arrived.
    pub(super) fn finish(self) -> String {
        process::signal_process(self.pid, signals::KILL);
        String::from_utf8_lossy(&self.received).into_owned()
    }
}

impl AsFd for ReportProcess {
    fn as_fd(&self) -> BorrowedFd<'_> {
        self.text.as_fd()
    }
}

/// The report about the ranks of the job, those of other hosts without a snapshot; symbols are
/// searched until `deadline`.
pub(super) fn report(
    snapshots: Vec<Option<RankSnapshot>>, now_ns: u64, deadline: Instant,
) -> String {
    let mut files = ProgramFiles::default();
    let reports = snapshots.into_iter().map(|one| Some(one?.report(&mut files, deadline)));
    job_report::text(&host::name(), now_ns, &reports.collect::<Vec<_>>())
}
