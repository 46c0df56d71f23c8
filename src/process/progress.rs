//! The progress thread: moves messages while the application computes.
//!
//! Whoever waits polls, so the thread keeps out of the way of waiting calls. It never runs a
//! function of the application: those wait for the next call of MPI. Its end is asked for by a flag
//! and happens within one nap.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::waiting::sleep;
use super::{Process, State};
use crate::base::{ErrorClass, Result};
use crate::sys::process::THREAD_NAME;

/// How long the thread stays away from a call that waits.
const AWAY: Duration = Duration::from_millis(1);

/// A progress thread that runs.
pub struct Progressing {
    thread: JoinHandle<()>,
    stopping: Arc<AtomicBool>,
}

impl Progressing {
    /// Starts the thread.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    pub fn start(process: &'static Process) -> Result<Self> {
        let stopping = Arc::new(AtomicBool::new(false));
        let stops = Arc::clone(&stopping);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}progress"));
        let thread = thread.spawn(move || process.progress(&stops)).map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the progress thread: {error}"))
        })?;
        Ok(Self { thread, stopping })
    }

    /// Ends the thread. Nothing may be locked.
    pub fn stop(self) {
        self.stopping.store(true, Ordering::SeqCst);
        // A panic of the thread has been printed by itself.
        drop(self.thread.join());
    }
}

impl Process {
    fn progress(&self, stopping: &AtomicBool) {
        while !stopping.load(Ordering::SeqCst) {
            if self.waiting.load(Ordering::Relaxed) > 0 {
                std::thread::sleep(AWAY);
                continue;
            }
            let mut state = self.state.lock();
            let State::Running(running) = &mut *state else { return };
            let quiet = running.mpi.poll() == 0 && running.waiters.is_empty();
            // Work of the application is not for this thread, which may sleep beside it.
            if quiet && sleep(&mut state, None).is_err() {
                return;
            }
            let State::Running(running) = &mut *state else { return };
            let rings = running.serve();
            drop(state);
            rings.ring();
        }
    }
}
