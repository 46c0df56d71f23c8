//! Carries out commands of the head: signals, and the report about the ranks.

use std::time::Instant;

use platform::diagnosis::rank_status::RankActivity;
use platform::sys::clock;
use platform::sys::process;
use platform::sys::signals;

use super::Agent;
use super::rank::RunningRank;
use super::report_process::{self, ReportProcess};
use crate::control::{AgentCommand, AgentEvent};
use crate::dump::{self, RankSnapshot};

impl Agent {
    /// Carries out `command`. The ranks of a host are started by [`Agent::start`], and their input
    /// is not the concern of this value.
    pub(crate) fn perform(&mut self, command: &AgentCommand) {
        match command {
            AgentCommand::Release => {
                self.held = false;
                (0..self.ranks.len()).for_each(|number| self.wait_for_rank(number));
            }
            AgentCommand::Signal(signal) => self.signal_groups(*signal),
            AgentCommand::Terminate => {
                self.signal_ranks(signals::TERM);
                self.signal_ranks(signals::CONT);
            }
            AgentCommand::TerminateRest => {
                self.signal_everything(signals::TERM);
                self.signal_everything(signals::CONT);
            }
            AgentCommand::EndLeftovers => self.end_leftovers(),
            AgentCommand::Kill => self.signal_everything(signals::KILL),
            AgentCommand::Dump => self.dump(),
            AgentCommand::FenceDone(fence) => self.fence_done(fence),
            AgentCommand::Answer { rank, reply } => self.reply(*rank, reply),
            AgentCommand::RecordEnd { rank, has_failed } => self.record_end(*rank, *has_failed),
            AgentCommand::RemoteEnded { rank, programs } => {
                let events = self.server.remote_ended(*rank, *programs);
                self.handle_events(events);
            }
            AgentCommand::Start(_)
            | AgentCommand::Input { .. }
            | AgentCommand::Grant { .. }
            | AgentCommand::Beat { .. }
            | AgentCommand::StartBranch(_)
            | AgentCommand::Pass { .. } => {}
        }
    }

    /// Starts the report about each rank, unless one is being made.
    fn dump(&mut self) {
        if self.report.is_some() {
            return;
        }
        let (now_ns, snapshots) = (clock::monotonic_ns(), self.snapshots());
        match ReportProcess::start(snapshots, now_ns) {
            Ok(report) => {
                self.report = Some(report);
                self.children_changed();
            }
            Err(_) => {
                // There is no room for a process: without names, this takes no time.
                let facts = report_process::report(self.snapshots(), now_ns, Instant::now());
                self.events.push(AgentEvent::Report(facts));
            }
        }
    }

    /// A snapshot of each started rank.
    fn snapshots(&self) -> Vec<(u32, RankSnapshot)> {
        let end = Instant::now() + dump::SNAPSHOT_TIMEOUT;
        let snapshot = |rank: &RunningRank| {
            let activity = self.activity(rank.rank);
            let join_state = self.server.join_state(rank.rank);
            let pid = rank.mpi_pid();
            (rank.rank, RankSnapshot::of(pid, rank.exit, join_state, activity, end))
        };
        self.ranks.iter().map(snapshot).collect()
    }

    /// What the status table says of `rank`.
    pub(super) fn activity(&self, rank: u32) -> RankActivity {
        let entry = self.share.ranks.iter().position(|share| share.rank == rank);
        match (&self.status_table, entry) {
            (Some(table), Some(entry)) => table.read(entry as u32),
            (None, _) | (_, None) => RankActivity::Unknown,
        }
    }

    /// Passes the report on if it is complete or takes too long.
    pub(super) fn read_report(&mut self, now: Instant) {
        let is_over = |report: &mut ReportProcess| report.read() || report.deadline() <= now;
        if let Some(report) = self.report.take_if(is_over) {
            self.events.push(AgentEvent::Report(report.finish()));
        }
    }

    /// Terminates the processes that the ranks left, and names them.
    fn end_leftovers(&mut self) {
        let describe = |pid: &u32| format!("{pid} {}", process::name(*pid).unwrap_or_default());
        let all: Vec<_> =
            process::descendants_without(&self.starters).iter().map(describe).collect();
        if !all.is_empty() {
            self.events.push(AgentEvent::Leftovers(all.join(", ")));
        }
        self.perform(&AgentCommand::TerminateRest);
    }

    /// Signals the processes of the ranks, and their MPI processes.
    fn signal_ranks(&self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.exit.is_none()) {
            process::signal_process(rank.pid, signal);
            if rank.mpi_pid() != rank.pid {
                process::signal_process(rank.mpi_pid(), signal);
            }
        }
    }

    /// Signals all descendants; without /proc, the process groups of the ranks.
    fn signal_everything(&self, signal: i32) {
        let all = process::descendants_without(&self.starters);
        for pid in &all {
            process::signal_process(*pid, signal);
        }
        if all.is_empty() {
            self.signal_groups(signal);
        }
    }

    fn signal_groups(&self, signal: i32) {
        for rank in self.ranks.iter().filter(|rank| rank.exit.is_none()) {
            process::signal_group(rank.pid, signal);
        }
    }
}
