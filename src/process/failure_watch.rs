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

use std::time::{Duration, Instant};

use super::{Process, ProcessState};
use platform::diagnosis::ended_ranks::{EndedRanks, RankEnd};
use platform::sys::process::THREAD_NAME;
use platform::sys::signals;

/// Polls for what a process has sent before its end, at most.
const LAST_POLLS_MAX: u32 = 10_000;

/// How long messages of a rank that has finalized may be on their way from another host.
const LAST_MESSAGES_TIME: Duration = Duration::from_millis(100);

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
    // Ranks that have finalized, until their last messages are here.
    let mut finished: Vec<(u32, Instant)> = Vec::new();
    loop {
        let (changes, now) = (table.changes(), Instant::now());
        let mut ended = Vec::new();
        running.retain(|rank| {
            match table.end_of(*rank) {
                None => return true,
                Some(RankEnd::Failed) => ended.push((*rank, RankEnd::Failed)),
                Some(RankEnd::Finished) => finished.push((*rank, now + LAST_MESSAGES_TIME)),
            }
            false
        });
        let is_due = |(_, due): &mut (u32, Instant)| *due <= now;
        ended.extend(finished.extract_if(.., is_due).map(|(rank, _)| (rank, RankEnd::Finished)));
        if !ended.is_empty() {
            process.peers_ended(&ended);
        }
        let next = finished.iter().map(|(_, due)| due.saturating_duration_since(now)).min();
        table.wait(changes, next);
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
            let why = match end {
                RankEnd::Failed => "has ended",
                RankEnd::Finished => "has called MPI_Finalize and ended",
            };
            running.mpi.engine.device_mut().peer_ended(*rank, why);
            // A peer to which there is no connection.
            running.mpi.poll();
            running.mpi.engine.peer_failed(*rank, &format!("its process {why}"));
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
