//! Reaping: which child of the agent ended, and in what circumstances.
//!
//! When a rank has ended, its remaining PMI requests are read before its exit is reported, so that
//! a rank that called `MPI_Abort` is reported as an abort and not as an exit.

use std::time::Instant;

use platform::bootstrap::JoinState;
use platform::diagnosis::ended_ranks::RankEnd;
use platform::diagnosis::rank_status::RankActivity;
use platform::sys::control_group;
use platform::sys::process;
use platform::sys::process::{Exit, Reap};

use super::Agent;
use super::rank::MpiProcess;
use crate::control::{AgentEvent, Circumstances};

impl Agent {
    /// A child may have ended, or one has been started.
    pub(crate) fn children_changed(&mut self) {
        self.is_childless = None;
    }

    /// Reaps all ended children; whether no child is left. `other` gets those that are no ranks.
    pub(crate) fn reap(&mut self, other: impl FnMut(u32, Exit)) -> bool {
        let is_childless = self.is_childless.unwrap_or_else(|| self.reap_ended(other));
        *self.is_childless.insert(is_childless)
    }

    fn reap_ended(&mut self, mut other: impl FnMut(u32, Exit)) -> bool {
        loop {
            match process::reap() {
                Reap::Running => return false,
                Reap::Childless => return true,
                Reap::Ended(pid, exit) => match self.running(pid) {
                    Some(number) => self.rank_ended(number, exit),
                    None => {
                        // A later process of a rank may get this id.
                        self.starters.retain(|starter| *starter != pid);
                        other(pid, exit);
                    }
                },
            }
        }
    }

    /// The number of the rank whose process is `pid` and has not been reaped.
    fn running(&self, pid: u32) -> Option<usize> {
        self.ranks.iter().position(|rank| rank.pid == pid && rank.exit.is_none())
    }

    fn rank_ended(&mut self, number: usize, exit: Exit) {
        self.read_requests(number);
        let rank = self.ranks[number].rank;
        let join_state = self.server.join_state(rank);
        let inner = self.ranks[number].inner_exit();
        self.ranks[number].exit = Some(exit);
        self.record_end(rank, join_state == JoinState::Joined);
        self.wait_for_rank(number);
        let circumstances = match exit != Exit::Code(0) || inner.is_some() {
            true => self.circumstances(rank),
            false => Circumstances::default(),
        };
        self.events.push(AgentEvent::Exited { rank, exit, inner, join_state, circumstances });
        if !self.share.host_of_rank.is_empty() {
            let programs = self.server.programs(rank);
            self.events.push(AgentEvent::Ended { rank, programs });
        }
        let events = self.server.rank_ended(rank);
        self.handle_events(events);
    }

    /// Tells the ranks of this host that `rank` has ended, if they survive that.
    pub(super) fn record_end(&self, rank: u32, has_failed: bool) {
        if let Some(table) = &self.ended_ranks {
            table.record(rank, if has_failed { RankEnd::Failed } else { RankEnd::Finished });
        }
    }

    /// The call that `rank` waited in, and whether memory was scarce.
    fn circumstances(&self, rank: u32) -> Circumstances {
        let memory_kills = match (self.memory_kills_before, control_group::out_of_memory_kills()) {
            (Some(before), Some(now)) => now.saturating_sub(before),
            (None, _) | (_, None) => 0,
        };
        let call = match self.activity(rank) {
            RankActivity::Waiting(status) => {
                let call = status.report;
                Some(format!("{}{}", call.function, call.details))
            }
            _ => None,
        };
        Circumstances { call, memory_kills }
    }

    /// Checks ended MPI processes and closed connections whose timeout has expired.
    pub(super) fn check_pending_ends(&mut self, now: Instant) {
        for number in self.timed.clone() {
            let due = self.ranks[number].check_deadline().is_some_and(|at| at <= now);
            if !due || self.ranks[number].exit.is_some() || self.ranks[number].postpones_check(now)
            {
                continue;
            }
            self.read_requests(number);
            let (rank, own) = (self.ranks[number].rank, self.ranks[number].pid);
            let circumstances = self.circumstances(rank);
            self.ranks[number].disconnect_deadline = None;
            let exit = self.ranks[number].inner_exit().map(|inner| inner.exit);
            let mpi = std::mem::replace(&mut self.ranks[number].mpi, MpiProcess::RankItself);
            if self.server.join_state(rank) != JoinState::Joined {
                continue;
            }
            self.record_end(rank, true);
            self.events.push(match mpi {
                MpiProcess::Gone { watch, .. } => {
                    AgentEvent::ProcessGone { rank, pid: watch.pid(), exit, circumstances }
                }
                MpiProcess::Running { watch, .. } => {
                    AgentEvent::Disconnected { rank, pid: watch.pid() }
                }
                MpiProcess::RankItself => AgentEvent::Disconnected { rank, pid: own },
            });
        }
    }
}
