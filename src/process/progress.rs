//! The progress thread: moves messages while the application computes.
//!
//! Whoever waits polls, so the thread keeps out of the way of waiting calls. It never runs a
//! function of the application: those wait for the next call of MPI. Its end is asked for by a flag
//! and happens within one nap.

use std::sync::atomic::Ordering;
use std::thread::JoinHandle;
use std::time::Duration;

use super::waiting::sleep;
use super::{Process, State};
use crate::base::{ErrorClass, Result};

/// How long the thread stays away from a call that waits.
const AWAY: Duration = Duration::from_millis(1);

/// A progress thread that runs.
pub struct Progressing(JoinHandle<()>);

impl Progressing {
    /// Starts the thread.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    pub fn start(process: &'static Process) -> Result<Self> {
        process.stopping.store(false, Ordering::SeqCst);
        let thread = std::thread::Builder::new().name("suiro-progress".into());
        let handle = thread.spawn(move || process.progress()).map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the progress thread: {error}"))
        })?;
        Ok(Self(handle))
    }

    /// Waits for the end of the thread, which has been asked to stop. Nothing may be locked.
    pub fn join(self) {
        // A panic of the thread has been printed by itself.
        drop(self.0.join());
    }
}

impl Process {
    fn progress(&self) {
        while !self.stopping.load(Ordering::SeqCst) {
            if self.waiting.load(Ordering::Relaxed) > 0 {
                std::thread::sleep(AWAY);
                continue;
            }
            let mut state = self.state.lock();
            let State::Running(running) = &mut *state else { return };
            let quiet = running.mpi.engine.poll() == 0 && running.waiters.is_empty();
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
