//! A process with a supervisor that does nothing but watch it: the agent of a remote host.

use std::io;
use std::os::fd::{AsFd, OwnedFd};

use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::process::{self, Exit, Reap, Side};
use platform::sys::signals::{self, Signals};

use super::kill_remaining;
use crate::mpirun::print_note;

/// Runs `body` in a child process and kills what it leaves; its exit code. `body` gets a pipe that
/// ends with this process.
///
/// # Errors
/// A system call that the launcher needs failed.
pub(crate) fn guarded(body: impl FnOnce(OwnedFd) -> i32) -> io::Result<i32> {
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
        let mut set = PollSet::default();
        set.add_read(signals.as_fd(), ());
        set.wait(None)?;
        while let Some(signal) = signals.take() {
            if signal != signals::CHLD {
                process::signal_process(child, signal);
            }
        }
    }
}
