//! Carries out what [`JobState`](super::state::JobState) decides: messages, signals, the state dump.

use std::time::Instant;

use platform::diagnosis::rank_status::RankActivity;
use platform::sys::clock;
use platform::sys::process;
use platform::sys::signals;

use super::JobLoop;
use super::rank::RunningRank;
use super::report_process::{self, ReportProcess};
use super::state::JobAction;
use crate::dump::{self, RankSnapshot};

impl JobLoop {
    pub(super) fn perform(&mut self, actions: Vec<JobAction>) {
        for action in actions {
            match action {
                JobAction::Print(line) => {
                    let line = format!("mpirun: {}", line.replace('\n', " "));
                    self.streams.print_line(&line, Instant::now());
                }
                JobAction::Forward(signal) => self.signal_groups(signal),
                JobAction::Dump { overdue } => self.dump(overdue),
                JobAction::Terminate => {
                    self.streams.restart_drain_timeout(Instant::now());
                    self.signal_ranks(signals::TERM);
                    self.signal_ranks(signals::CONT);
                }
                JobAction::TerminateRest => {
                    self.signal_everything(signals::TERM);
                    self.signal_everything(signals::CONT);
                }
                JobAction::Kill => self.signal_everything(signals::KILL),
            }
        }
    }

    /// Starts the report about each rank; if the job is overdue, it ends after that.
    fn dump(&mut self, overdue: bool) {
        if let Some(report) = &mut self.report {
            report.overdue |= overdue;
            return;
        }
        let (now_ns, snapshots) = (clock::monotonic_ns(), self.snapshots());
        match ReportProcess::start(snapshots, now_ns, overdue) {
            Ok(report) => self.report = Some(report),
            Err(_) => {
                // There is no room for a process: without names, this takes no time.
                let text = report_process::report(self.snapshots(), now_ns, Instant::now());
                self.print_report(&text, overdue);
            }
        }
    }

    fn snapshots(&self) -> Vec<RankSnapshot> {
        let end = Instant::now() + dump::SNAPSHOT_TIMEOUT;
        let snapshot = |(number, (rank, pid)): (u32, (&RunningRank, &u32))| {
            let activity = self
                .status_table
                .as_ref()
                .map_or(RankActivity::Unknown, |table| table.read(number));
            let join_state = self.server.join_state(number);
            RankSnapshot::of(rank.mpi.pid(*pid), rank.exit, join_state, activity, end)
        };
        (0..).zip(self.ranks.iter().zip(&self.pids)).map(snapshot).collect()
    }

    /// Prints the report if it is complete or takes too long.
    pub(super) fn read_report(&mut self, now: Instant) {
        let is_over = |report: &mut ReportProcess| report.read() || report.deadline() <= now;
        if let Some(report) = self.report.take_if(is_over) {
            let overdue = report.overdue;
            self.print_report(&report.finish(), overdue);
        }
    }

    fn print_report(&mut self, text: &str, overdue: bool) {
        for line in text.lines() {
            self.streams.print_line(line, Instant::now());
        }
        if overdue {
            let actions = self.job.dumped(Instant::now());
            self.perform(actions);
        }
    }

    /// Signals the processes of the ranks, and their MPI processes.
    fn signal_ranks(&self, signal: i32) {
        let running = self.ranks.iter().zip(&self.pids).filter(|(rank, _)| rank.exit.is_none());
        for (rank, pid) in running {
            process::signal_process(*pid, signal);
            if rank.mpi.pid(*pid) != *pid {
                process::signal_process(rank.mpi.pid(*pid), signal);
            }
        }
    }

    /// Signals all descendants; without /proc, the process groups of the ranks.
    fn signal_everything(&self, signal: i32) {
        let all = process::descendants();
        for pid in &all {
            process::signal_process(*pid, signal);
        }
        if all.is_empty() {
            self.signal_groups(signal);
        }
    }

    fn signal_groups(&self, signal: i32) {
        for (rank, pid) in self.ranks.iter().zip(&self.pids) {
            if rank.exit.is_none() {
                process::signal_group(*pid, signal);
            }
        }
    }
}
