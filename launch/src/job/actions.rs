//! Carries out what [`JobState`](super::state::JobState) decides: messages, signals, the state dump.

use std::time::Instant;

use platform::diagnosis::job_report;
use platform::diagnosis::rank_status::RankActivity;
use platform::sys::clock;
use platform::sys::host;
use platform::sys::process;
use platform::sys::signals;

use super::JobLoop;
use super::rank::RunningRank;
use super::state::JobAction;
use crate::dump::stack::ProgramFiles;
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
                JobAction::Dump { overdue } => {
                    self.dump();
                    if overdue {
                        let actions = self.job.dumped(Instant::now());
                        self.perform(actions);
                    }
                }
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

    /// Prints the state of each rank.
    fn dump(&mut self) {
        let (now_ns, end) = (clock::monotonic_ns(), Instant::now() + dump::SNAPSHOT_TIMEOUT);
        let snapshot = |(number, (rank, pid)): (u32, (&RunningRank, &u32))| {
            let activity = self
                .status_table
                .as_ref()
                .map_or(RankActivity::Unknown, |table| table.read(number));
            let join_state = self.server.join_state(number);
            RankSnapshot::of(rank.mpi.pid(*pid), rank.exit, join_state, activity, end)
        };
        let ranks = self.ranks.iter().zip(&self.pids);
        let snapshots: Vec<_> = (0..).zip(ranks).map(snapshot).collect();
        let (mut files, end) = (ProgramFiles::default(), Instant::now() + dump::SYMBOL_TIMEOUT);
        let reports = snapshots.into_iter().map(|snapshot| snapshot.report(&mut files, end));
        let reports: Vec<_> = reports.collect();
        for line in job_report::text(&host::name(), now_ns, &reports).lines() {
            self.streams.print_line(line, Instant::now());
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
