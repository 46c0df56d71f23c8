//! Learns from the launcher which ranks have ended, in a job that survives failures.
//!
//! ```text
//!   agent of the host ── record ──► EndedRanks ── futex ──► this thread ──► the engine: peer failed
//!                                                                      └──► waiting calls wake
//! ```
//!
//! A thread that sleeps on the table makes the word quick and free: nothing polls for it, and it reaches a
//! rank that computes, spins or sleeps. A rank that has finalized counts as failed as well: it sends
//! nothing any more, and an agreement must not wait for it.

use super::{Process, ProcessState};
use platform::diagnosis::ended_ranks::{EndedRanks, RankEnd};
use platform::sys::process::THREAD_NAME;
use platform::sys::signals;

/// Polls for what a process has sent before its end, at most.
const LAST_POLLS_MAX: u32 = 10_000;

/// Starts the watch for the process of rank `me`. Without a thread for it, only devices report failures.
pub(super) fn start(process: &'static Process, table: EndedRanks, me: u32) {
    let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}failures"));
    let watch = move || watch(process, &table, me);
    if let Err(error) = signals::without(|| thread.spawn(watch)) {
        tracing::warn!(%error, "failures of ranks are noticed by their connections only");
    }
}

fn watch(process: &'static Process, table: &EndedRanks, me: u32) {
    let mut running: Vec<u32> = (0..table.ranks()).filter(|rank| *rank != me).collect();
    loop {
        let changes = table.changes();
        let mut ended = Vec::new();
        running.retain(|rank| match table.end_of(*rank) {
            Some(end) => {
                ended.push((*rank, end));
                false
            }
            None => true,
        });
        if !ended.is_empty() {
            process.peers_ended(&ended);
        }
        table.wait(changes);
    }
}

impl Process {
    /// These ranks have ended: what they sent before is delivered, and then they have failed.
    fn peers_ended(&'static self, ended: &[(u32, RankEnd)]) {
        let mut state = self.state.visit();
        let ProcessState::Running(running) = &mut *state else { return };
        running.take_over_polling();
        for _ in 0..LAST_POLLS_MAX {
            if running.waiters.is_delegated() || running.mpi.poll() == 0 {
                break;
            }
        }
        for (rank, end) in ended {
            running.mpi.engine.peer_failed(
                *rank,
                match end {
                    RankEnd::Failed => "its process has ended",
                    RankEnd::Finished => "it has called MPI_Finalize and ended",
                },
            );
        }
        running.mpi.poll();
        let wakeups = running.serve_waiters();
        running.mpi.engine.wake_self();
        let needs_thread = running.needs_progress_thread();
        drop(state);
        wakeups.notify_all();
        if needs_thread {
            // Windows whose locks were words are served by messages now, also while the application computes.
            drop(self.start_progress_thread());
        }
    }
}
