//! A process with a supervisor that does nothing but watch it: the agent of a remote host.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::process::{self, Exit, Reap, Side};
use platform::sys::signals::{self, Signals};

use super::kill_remaining;
use crate::mpirun::print_note;

/// The time that the child has to end after its connection, before it is killed: it may be stopped.
const END_TIMEOUT: Duration = Duration::from_secs(2);

/// Runs `body` in a child process and kills what it leaves; its exit code. `body` gets a pipe that
/// ends with this process. The child is killed if it does not end after the other end of `connection`.
///
/// # Errors
/// A system call that the launcher needs failed.
pub(crate) fn guarded(connection: &OwnedFd, body: impl FnOnce(OwnedFd) -> i32) -> io::Result<i32> {
    let signals = Signals::block(&signals::JOB_SIGNALS)?;
    process::adopt_orphans()?;
    let (end, life) = descriptor::pipe()?;
    let child = match process::fork_single_threaded()? {
        Side::Child => {
            drop((signals, life));
            std::process::exit(body(end));
        }
        Side::Parent(child) => child,
    };
    drop(end);
    let mut kill_at: Option<Instant> = None;
    loop {
        match process::reap() {
            Reap::Ended(pid, exit) if pid == child => {
                kill_remaining();
                if let Exit::Signal(signal) = exit {
                    let name = signals::name(signal);
                    print_note(&format!("the agent process {child} was killed by {name}"));
                }
                return Ok(exit.code());
            }
            Reap::Ended(..) => continue,
            Reap::Childless => return Ok(1),
            Reap::Running => {}
        }
        if kill_at.is_some_and(|at| at <= Instant::now()) {
            kill_remaining();
            return Ok(1);
        }
        let mut set = PollSet::default();
        set.add_read(signals.as_fd(), GuardToken::Signals);
        if kill_at.is_none() {
            set.add_end(connection.as_fd(), GuardToken::ConnectionEnd);
        }
        let timeout = kill_at.map(|at| at.saturating_duration_since(Instant::now()));
        if set.wait(timeout)?.contains(&GuardToken::ConnectionEnd) {
            kill_at = Some(Instant::now() + END_TIMEOUT);
        }
        while let Some(signal) = signals.take() {
            if signal != signals::CHLD {
                process::signal_process(child, signal);
            }
        }
    }
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum GuardToken {
    Signals,
    ConnectionEnd,
}
