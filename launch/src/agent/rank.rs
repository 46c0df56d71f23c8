//! One started rank, as its agent sees it: its process, its PMI connection, and the MPI process
//! if the rank was started through a shell or a wrapper.

use std::io;
use std::os::fd::{BorrowedFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::sys::process::{self, Exit};
use platform::sys::ready_set::{Interest, Polled, ReadySet};
use platform::sys::socket::SocketStream;
use platform::sys::watch::ProcessWatch;

use crate::control::InnerExit;

/// The time that a shell has to exit with the code of its MPI process, and that a process has to
/// exit after it closed its PMI connection.
pub(super) const SHELL_TIMEOUT: Duration = Duration::from_millis(100);

/// The time that a process has to end once it is exiting, on a machine with much else to do. Its files are
/// closed first.
const EXIT_TIMEOUT: Duration = Duration::from_secs(10);

/// Interval at which an MPI process without a pidfd is looked up.
const LOOK_UP_INTERVAL: Duration = Duration::from_millis(100);

/// A rank and the launcher's descriptors of it.
pub(super) struct RunningRank {
    /// Its number in the job.
    pub(super) rank: u32,
    /// The process that the launcher started.
    pub(super) pid: u32,
    /// Its exit, once reaped.
    pub(super) exit: Option<Exit>,
    pub(super) pmi: Option<Polled<SocketStream>>,
    /// Replies that the socket has not accepted yet.
    pub(super) replies: Vec<u8>,
    pub(super) mpi: MpiProcess,
    /// The connection was closed without a PMI finalize; checked at this time.
    pub(super) disconnect_deadline: Option<Instant>,
    /// The process that closed the connection is exiting; it should have ended at this time.
    exit_deadline: Option<Instant>,
}

/// The process that uses PMI for a rank.
pub(super) enum MpiProcess {
    /// The rank's own process, or none has joined yet.
    RankItself,
    /// A descendant of the rank's process. Without a descriptor that reports its end, it is looked up.
    Running { watch: ProcessWatch, end: Option<Polled<OwnedFd>> },
    /// A descendant that has ended; checked when the timeout of its shell expires.
    Gone { watch: ProcessWatch, check_at: Instant },
}

impl RunningRank {
    pub(super) fn new(rank: u32, pid: u32, pmi: Polled<SocketStream>) -> Self {
        Self {
            rank,
            pid,
            exit: None,
            pmi: Some(pmi),
            replies: Vec::new(),
            mpi: MpiProcess::RankItself,
            disconnect_deadline: None,
            exit_deadline: None,
        }
    }

    /// Waits for what its connection is to do next; requests of `held` ranks are not read.
    ///
    /// # Errors
    /// The system's, see [`Polled::wait_for`].
    pub(super) fn wait(&mut self, held: bool) -> io::Result<()> {
        let interest = Interest { read: self.is_heard(held), write: !self.replies.is_empty() };
        self.pmi.as_mut().map_or(Ok(()), |pmi| pmi.wait_for(interest))
    }

    /// Whether requests are read.
    pub(super) fn is_heard(&self, held: bool) -> bool {
        self.exit.is_none() && !held
    }

    /// The process that runs MPI for this rank.
    pub(super) fn mpi_pid(&self) -> u32 {
        match &self.mpi {
            MpiProcess::RankItself | MpiProcess::Gone { .. } => self.pid,
            MpiProcess::Running { watch, .. } => watch.pid(),
        }
    }

    /// The process `sender` joined for this rank; its end has this key.
    pub(super) fn watch_mpi(&mut self, sender: Option<u32>, ready: &mut ReadySet, key: u64) {
        let Some(pid) = sender.filter(|pid| *pid != self.pid) else { return };
        let watch = ProcessWatch::of(pid);
        let end = watch.fd().and_then(|fd| watched_end(fd, ready, key).ok());
        self.mpi = MpiProcess::Running { watch, end };
    }

    /// The MPI process, if it is not the rank's own and has ended, with its exit if known.
    pub(super) fn ended_mpi(&self) -> Option<(u32, Option<Exit>)> {
        match &self.mpi {
            MpiProcess::Running { watch, .. } | MpiProcess::Gone { watch, .. }
                if watch.has_ended() =>
            {
                Some((watch.pid(), watch.exit()))
            }
            MpiProcess::RankItself | MpiProcess::Running { .. } | MpiProcess::Gone { .. } => None,
        }
    }

    /// Looks up an MPI process without a pidfd; the time of the next look or check.
    pub(super) fn next_look(&mut self, now: Instant) -> Option<Instant> {
        let look = match &self.mpi {
            MpiProcess::Running { watch, end: None } => {
                if watch.has_ended() {
                    self.mpi_ended(now);
                }
                Some(now + LOOK_UP_INTERVAL)
            }
            MpiProcess::RankItself | MpiProcess::Running { .. } | MpiProcess::Gone { .. } => None,
        };
        let check = self.check_deadline().filter(|_| self.exit.is_none());
        look.into_iter().chain(check).min()
    }

    /// The MPI process ended; the exit code of its shell is awaited.
    pub(super) fn mpi_ended(&mut self, now: Instant) {
        self.mpi = match std::mem::replace(&mut self.mpi, MpiProcess::RankItself) {
            MpiProcess::Running { watch, .. } => {
                MpiProcess::Gone { watch, check_at: now + SHELL_TIMEOUT }
            }
            other @ (MpiProcess::RankItself | MpiProcess::Gone { .. }) => other,
        };
    }

    /// The time at which an ended MPI process or a closed connection is checked.
    pub(super) fn check_deadline(&self) -> Option<Instant> {
        match self.mpi {
            MpiProcess::Gone { check_at, .. } => Some(check_at),
            MpiProcess::RankItself | MpiProcess::Running { .. } => self.disconnect_deadline,
        }
    }

    /// Whether the check of a closed connection has to wait, since its process is about to end.
    pub(super) fn postpones_check(&mut self, now: Instant) -> bool {
        let pid = match &self.mpi {
            MpiProcess::RankItself => self.pid,
            MpiProcess::Running { watch, .. } => watch.pid(),
            MpiProcess::Gone { .. } => return false,
        };
        let postpones =
            process::is_exiting(pid) && now < *self.exit_deadline.get_or_insert(now + EXIT_TIMEOUT);
        if postpones {
            self.disconnect_deadline = Some(now + SHELL_TIMEOUT);
        }
        postpones
    }

    /// The exit of the MPI process, if it is not the rank's own and the kernel reports it.
    pub(super) fn inner_exit(&self) -> Option<InnerExit> {
        match &self.mpi {
            MpiProcess::RankItself => None,
            MpiProcess::Running { watch, .. } | MpiProcess::Gone { watch, .. } => {
                Some(InnerExit { pid: watch.pid(), exit: watch.exit()? })
            }
        }
    }
}

/// A copy of the descriptor of a process, which is ready when that ends.
fn watched_end(fd: BorrowedFd<'_>, ready: &mut ReadySet, key: u64) -> io::Result<Polled<OwnedFd>> {
    let mut end = ready.add(fd.try_clone_to_owned()?, key)?;
    end.wait_for(Interest::READ)?;
    Ok(end)
}
