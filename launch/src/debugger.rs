//! How a parallel debugger learns of the ranks.
//!
//! ```text
//!   run  ──process numbers──> front ──> Debugger::show     the debugger attaches
//!        <────────go on──────
//! ```
//!
//! A debugger knows the process that the shell knows, so that one has the table. If one is there
//! from the start, ranks are held in `MPI_Init`, where the launcher does not answer them, until it
//! has seen the table; one that attaches later finds the table. What the table looks like to a
//! debugger is the program's, not the library's.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use platform::sys::socket::SocketStream;

/// A process of the job, for a debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebuggedProcess {
    /// The host that it runs on.
    pub host: String,
    /// The program, as the command line has it.
    pub program: OsString,
    /// Its number there.
    pub pid: u32,
}

/// What a debugger may do with a launcher.
pub trait Debugger {
    /// Does one watch this process?
    fn is_there(&self) -> bool;

    /// Shows it the ranks, in order; called once, when all have started.
    fn show(&mut self, processes: &[DebuggedProcess]);
}

/// The side that starts the ranks.
#[derive(Debug)]
pub struct PidSender {
    supervisor: SocketStream,
    holding: bool,
}

/// The side that the debugger watches.
#[derive(Debug)]
pub struct PidReceiver {
    runner: SocketStream,
    received: Vec<u8>,
    ranks: usize,
}

/// Both sides, for a job of so many ranks; `hold` says that a debugger is there.
///
/// # Errors
/// When the system has no room for a socket.
pub fn connected(ranks: usize, hold: bool) -> io::Result<(PidSender, PidReceiver)> {
    let (front, runner) = SocketStream::pair()?;
    let listener = PidReceiver { runner, received: Vec::new(), ranks };
    Ok((PidSender { supervisor: front, holding: hold }, listener))
}

impl PidSender {
    /// Tells the numbers of all ranks.
    pub fn send(&self, pids: &[u32]) {
        let bytes: Vec<u8> = pids.iter().flat_map(|pid| pid.to_ne_bytes()).collect();
        // A front that is gone ends the job by other ways.
        let _ = self.supervisor.send_all(&bytes);
    }

    /// Must ranks be held? Then this becomes readable when they may go on.
    pub fn hold_fd(&self) -> Option<BorrowedFd<'_>> {
        self.holding.then(|| self.supervisor.as_fd())
    }

    /// The ranks may go on.
    pub fn release(&mut self) {
        self.holding = false;
    }
}

impl PidReceiver {
    /// Readable when there is something to [`PidReceiver::receive`].
    pub fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        (self.received.len() < self.ranks * size_of::<u32>()).then(|| self.runner.as_fd())
    }

    /// The numbers of all ranks, once.
    pub fn receive(&mut self) -> Option<Vec<u32>> {
        let mut buffer = [0; 4096];
        match self.runner.receive_now(&mut buffer) {
            Ok(received) if received.len_bytes > 0 => {
                self.received.extend_from_slice(&buffer[..received.len_bytes]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The job ended before all ranks had started.
            Ok(_) | Err(_) => self.ranks = 0,
        }
        let (numbers, _) = self.received.as_chunks();
        (self.ranks > 0 && numbers.len() == self.ranks)
            .then(|| numbers.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect())
    }

    /// The table has been shown.
    pub fn release(&self) {
        let _ = self.runner.send_all(&[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn numbers_arrive_once_and_ranks_are_released() {
        let (mut announcer, mut listener) = connected(3, true).unwrap();
        assert!(listener.as_fd().is_some());
        assert_eq!(listener.receive(), None);
        announcer.send(&[7, 8, 9]);
        assert_eq!(listener.receive(), Some(vec![7, 8, 9]));
        assert!(listener.as_fd().is_none() && announcer.hold_fd().is_some());
        listener.release();
        announcer.release();
        assert!(announcer.hold_fd().is_none());
    }

    #[test]
    fn a_job_that_never_started_says_nothing() {
        let (announcer, mut listener) = connected(2, false).unwrap();
        drop(announcer);
        assert_eq!(listener.receive(), None);
        assert!(listener.as_fd().is_none());
    }
}
