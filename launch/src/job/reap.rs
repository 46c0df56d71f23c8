//! Reaping: which child of `mpirun` ended, and whether its end is an error.
//!
//! When a rank has ended, its remaining PMI requests are read before its exit is checked, so that
//! a rank that called `MPI_Abort` is reported as an abort and not as an exit.

use std::time::Instant;

use platform::bootstrap::JoinState;
use platform::diagnosis::rank_status::RankActivity;
use platform::sys::control_group;
use platform::sys::process;
use platform::sys::process::{Exit, Reap};

use super::JobLoop;
use super::rank::MpiProcess;

impl JobLoop {
    /// Reaps all ended children; whether no child is left.
    pub(super) fn reap(&mut self) -> bool {
        loop {
            match process::reap() {
                Reap::Running => break,
                Reap::Childless => return true,
                Reap::Ended(pid, exit) => {
                    if let Some(rank) = self.pids.iter().position(|other| *other == pid)
                        && self.ranks[rank].exit.is_none()
                    {
                        self.rank_ended(rank, exit);
                    }
                }
            }
        }
        if self.ranks.iter().all(|rank| rank.exit.is_some()) {
            self.end_leftovers(Instant::now());
        }
        false
    }

    /// Ends the processes that the ranks left. Those that still have the output of a rank open, such
    /// as a filter, may write what they read from the rank before.
    fn end_leftovers(&mut self, now: Instant) {
        if !self.job.is_running() || self.report.is_some() {
            return;
        }
        let ranks_ended = *self.ranks_ended.get_or_insert(now);
        let deadline = self.streams.leftovers_deadline(ranks_ended, now);
        if deadline.is_some_and(|at| now < at) {
            return;
        }
        let actions = self.job.all_ended(deadline.map(|_| leftovers_text()), now);
        self.perform(actions);
    }

    fn rank_ended(&mut self, rank: usize, exit: Exit) {
        self.read_requests(rank);
        let now = Instant::now();
        let join_state = self.server.join_state(rank as u32);
        let inner = self.ranks[rank].inner_exit();
        self.ranks[rank].exit = Some(exit);
        if exit != Exit::Code(0) || inner.is_some() {
            self.record_circumstances(rank);
        }
        let actions = self.job.exited(rank as u32, exit, inner, join_state, now);
        self.perform(actions);
        let events = self.server.rank_ended(rank as u32);
        self.handle_events(events);
    }

    /// Passes the call that `rank` waited in, and whether memory was scarce, to the state of the
    /// job, for its message.
    fn record_circumstances(&mut self, rank: usize) {
        if let (Some(before), Some(now)) =
            (self.memory_kills_before, control_group::out_of_memory_kills())
        {
            self.job.memory_killed(now.saturating_sub(before));
        }
        let activity = self.status_table.as_ref().map(|table| table.read(rank as u32));
        if let Some(RankActivity::Waiting(status)) = activity {
            let call = status.report;
            self.job.waiting_in(rank as u32, format!("{}{}", call.function, call.details));
        }
    }

    /// Checks ended MPI processes and closed connections whose timeout has expired.
    pub(super) fn check_pending_ends(&mut self, now: Instant) {
        for rank in 0..self.ranks.len() {
            let due = self.ranks[rank].check_deadline().is_some_and(|at| at <= now);
            if !due || self.ranks[rank].exit.is_some() {
                continue;
            }
            self.read_requests(rank);
            self.record_circumstances(rank);
            self.ranks[rank].disconnect_deadline = None;
            let exit = self.ranks[rank].inner_exit().map(|(_, exit)| exit);
            let joined = self.server.join_state(rank as u32) == JoinState::Joined;
            let actions = match std::mem::replace(&mut self.ranks[rank].mpi, MpiProcess::RankItself)
            {
                MpiProcess::Gone { watch, .. } if joined => {
                    self.job.process_gone(rank as u32, watch.pid(), exit, now)
                }
                MpiProcess::Running(watch) if joined => {
                    self.job.disconnected(rank as u32, watch.pid(), now)
                }
                MpiProcess::RankItself if joined => {
                    self.job.disconnected(rank as u32, self.pids[rank], now)
                }
                MpiProcess::Gone { .. } | MpiProcess::Running(_) | MpiProcess::RankItself => {
                    continue;
                }
            };
            self.perform(actions);
        }
    }

    /// Whether all output of a job without processes is written, or its time has expired.
    pub(super) fn output_is_finished(&self, now: Instant) -> bool {
        self.streams.are_empty() || self.output_deadline().is_some_and(|at| now >= at)
    }
}

/// A sentence about the processes that still have the output of ranks open.
fn leftovers_text() -> String {
    let describe = |pid: &u32| format!("{pid} {}", process::name(*pid).unwrap_or_default());
    let processes: Vec<_> = process::descendants().iter().map(describe).collect();
    format!(
        "all ranks have ended, but processes that they started may still write their output; \
         ending them: {}",
        processes.join(", ")
    )
}
