//! Passes the processes of a job to a parallel debugger.
//!
//! ```text
//!   job loop ──process ids──> supervisor ──> Debugger::show     the debugger attaches
//!            <────release────
//! ```
//!
//! A debugger attaches to the supervisor, so the supervisor has the process table. If a debugger is
//! attached at the start, the launcher does not answer ranks in `MPI_Init` before the debugger has
//! seen the table. A debugger that attaches later finds the table. The symbols of the table (MPIR)
//! are in the program `mpirun`, not here.

use std::ffi::OsString;
use std::io;
use std::os::fd::{AsFd, BorrowedFd};

use platform::sys::socket::SocketStream;

/// A process of the job, for a debugger.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DebuggedProcess {
    /// Name of its host.
    pub host: String,
    /// The program, as on the command line.
    pub program: OsString,
    /// Process id on that host.
    pub pid: u32,
}

/// A debugger of the launcher.
pub trait Debugger {
    /// Whether a debugger is attached to this process.
    fn is_there(&self) -> bool;

    /// Shows the processes in the order of ranks. Called once, when all have started.
    fn show(&mut self, processes: &[DebuggedProcess]);
}

/// The end of the job loop.
#[derive(Debug)]
pub(crate) struct PidSender {
    supervisor: SocketStream,
    holding: bool,
}

/// The end of the supervisor.
#[derive(Debug)]
pub(crate) struct PidReceiver {
    job_loop: SocketStream,
    received: Vec<u8>,
    ranks: usize,
}

/// Both ends for a job of `ranks` ranks; with `hold`, ranks wait for the debugger.
///
/// # Errors
/// The system cannot make a socket.
pub(crate) fn connected(ranks: usize, hold: bool) -> io::Result<(PidSender, PidReceiver)> {
    let (supervisor, job_loop) = SocketStream::pair()?;
    let receiver = PidReceiver { job_loop, received: Vec::new(), ranks };
    Ok((PidSender { supervisor, holding: hold }, receiver))
}

impl PidSender {
    /// Sends the host's number and the process id of each rank.
    pub(crate) fn send(&self, places: &[(u32, u32)]) {
        let numbers = places.iter().flat_map(|(host, pid)| [*host, *pid]);
        let bytes: Vec<u8> = numbers.flat_map(u32::to_ne_bytes).collect();
        // The end of the supervisor is noticed by another pipe.
        let _ = self.supervisor.send_all(&bytes);
    }

    /// While ranks are held, a descriptor that becomes readable when they are released.
    pub(crate) fn hold_fd(&self) -> Option<BorrowedFd<'_>> {
        self.holding.then(|| self.supervisor.as_fd())
    }

    /// Releases the ranks.
    pub(crate) fn release(&mut self) {
        self.holding = false;
    }
}

impl PidReceiver {
    /// Readable when [`PidReceiver::receive`] has data; `None` once all ids have arrived.
    pub(crate) fn as_fd(&self) -> Option<BorrowedFd<'_>> {
        (self.received.len() < self.ranks * size_of::<[u32; 2]>()).then(|| self.job_loop.as_fd())
    }

    /// The host's number and the process id of each rank, once all have arrived.
    pub(crate) fn receive(&mut self) -> Option<Vec<(u32, u32)>> {
        let mut buffer = [0; 4096];
        match self.job_loop.receive_now(&mut buffer) {
            Ok(received) if received.len_bytes > 0 => {
                self.received.extend_from_slice(&buffer[..received.len_bytes]);
            }
            Err(error) if error.kind() == io::ErrorKind::WouldBlock => {}
            // The job ended before all ranks had started.
            Ok(_) | Err(_) => self.ranks = 0,
        }
        let (numbers, _) = self.received.as_chunks();
        let numbers: Vec<_> = numbers.iter().map(|bytes| u32::from_ne_bytes(*bytes)).collect();
        let (places, _) = numbers.as_chunks();
        (self.ranks > 0 && places.len() == self.ranks)
            .then(|| places.iter().map(|[host, pid]| (*host, *pid)).collect())
    }

    /// Reports that the debugger has seen the table.
    pub(crate) fn release(&self) {
        let _ = self.job_loop.send_all(&[1]);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn process_ids_arrive_once_and_ranks_are_released() {
        let (mut sender, mut receiver) = connected(3, true).unwrap();
        assert!(receiver.as_fd().is_some());
        assert_eq!(receiver.receive(), None);
        sender.send(&[(0, 7), (1, 8), (0, 9)]);
        assert_eq!(receiver.receive(), Some(vec![(0, 7), (1, 8), (0, 9)]));
        assert!(receiver.as_fd().is_none() && sender.hold_fd().is_some());
        receiver.release();
        sender.release();
        assert!(sender.hold_fd().is_none());
    }

    #[test]
    fn a_job_that_never_started_sends_no_process_ids() {
        let (sender, mut receiver) = connected(2, false).unwrap();
        drop(sender);
        assert_eq!(receiver.receive(), None);
        assert!(receiver.as_fd().is_none());
    }
}
