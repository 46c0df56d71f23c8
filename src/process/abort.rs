//! Abort: ends the job with an exit code (MPI 5.0 §9.7).

use std::convert::Infallible;
use std::sync::mpsc;
use std::thread;
use std::time::Duration;

use super::lock::Guard;
use super::{Process, ProcessState};
use platform::sys::{descriptor, process};

/// How long a launcher has to read the output of this process before it is asked to end the
/// process.
const LAUNCHER_READ_TIMEOUT: Duration = Duration::from_millis(200);

/// How long the buffered output of this process may take to be written before the launcher is told, which
/// may end the process at once.
const FLUSH_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a launcher has to notice that another process has ended. A closed connection may tell its peers
/// first, and the launcher knows more: a signal, a lack of memory.
const LAUNCHER_NOTICE_TIMEOUT: Duration = Duration::from_secs(1);

/// How long a launcher has to end this process and the one that started it, in milliseconds.
const LAUNCHER_END_TIMEOUT_MS: u16 = 1000;

impl Process {
    /// Prints the reason, ends the job with this exit code, and never returns. The lock is free
    /// while functions run that the application registered with atexit(3).
    pub(crate) fn abort(&self, code: i32, why: &str) -> ! {
        abort(&mut self.state.lock(), code, why)
    }

    /// [`Process::abort`] because a process has failed: if it is one of its job, the launcher may first end
    /// the job for that, unless the job survives failures.
    pub(crate) fn abort_by_failure(&self, code: i32, why: &str) -> ! {
        let awaits_launcher = match &*self.state.lock() {
            ProcessState::Running(running) | ProcessState::Dormant(running) => {
                let engine = &running.mpi.engine;
                let has_failed = |rank| engine.failure(rank).is_some();
                let ranks = running.launcher.as_ref().map_or(0, |it| it.attributes().size);
                !engine.survives_failures() && (0..ranks).any(has_failed)
            }
            ProcessState::Uninitialized | ProcessState::Early(_) => false,
        };
        if awaits_launcher {
            thread::sleep(LAUNCHER_NOTICE_TIMEOUT);
        }
        self.abort(code, why)
    }
}

/// [`Process::abort`] by a thread that holds the lock.
pub(super) fn abort(state: &mut Guard<'_, ProcessState>, code: i32, why: &str) -> ! {
    let print = || eprintln!("Suiro: {why}");
    let mut is_printed = false;
    let mut unguarded = None;
    if let ProcessState::Running(running) | ProcessState::Dormant(running) = &mut **state
        && let Some(launcher) = &mut running.launcher
    {
        unguarded = launcher.unguarded_connection();
        flush_output();
        if !launcher.prints_aborts() {
            print();
            is_printed = true;
            // Some launchers drop unread output of a job that they end.
            descriptor::wait_until_read(std::io::stderr(), LAUNCHER_READ_TIMEOUT);
        }
        // If the launcher has gone, this process prints the reason.
        is_printed |= match running.vendor.clone() {
            None => launcher.abort(code, why).is_ok(),
            Some(library) => {
                // No call of it may be in progress, and it ends this process by exit(3).
                running.mpi.engine.device_mut().stop_carrier_thread();
                state.unlocked(|| library.abort(code));
                is_printed
            }
        };
    }
    match state.unlocked(|| -> Infallible {
        if !is_printed {
            print();
            // As above: this process may not have joined its launcher, such as after an error in MPI_Init.
            descriptor::wait_until_read(std::io::stderr(), LAUNCHER_READ_TIMEOUT);
        }
        // What started this process, such as a shell, goes on when it ends: the launcher ends both, or has
        // itself ended, maybe while it was being told.
        if unguarded.is_some_and(|launcher| launcher.is_ended_within(LAUNCHER_END_TIMEOUT_MS)) {
            process::kill_own_group();
        }
        // An exit status has 8 bits, and an abort must not look like success.
        std::process::exit(if code & 0xff == 0 { 255 } else { code })
    }) {}
}

/// Writes the buffered output of C's streams, for a limited time: a reader may be slow, and another thread may
/// hold the lock of a stream.
fn flush_output() {
    let (done, is_done) = mpsc::channel();
    let flush = move || {
        process::flush_streams();
        // The other end may have given up.
        let _ = done.send(());
    };
    if thread::Builder::new().name("suiro-flush".to_owned()).spawn(flush).is_ok() {
        let _ = is_done.recv_timeout(FLUSH_TIMEOUT);
    }
}
