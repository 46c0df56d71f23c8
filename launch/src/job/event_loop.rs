//! The event loop: starts the ranks, then polls until the job has completed.

use std::io;
use std::os::fd::AsFd;
use std::time::Instant;

use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::signals;

use super::JobLoop;
use super::rank::RunningRank;
use super::report_process::ReportProcess;
use super::start::{LaunchContext, StartedRank};
use crate::input;
use crate::output;

/// The descriptor that became ready; a number is the rank.
#[derive(Clone, Copy, Debug)]
pub(super) enum JobLoopToken {
    Signals,
    Supervisor,
    Debugger,
    Report,
    Request(usize),
    Reply(usize),
    MpiProcess(usize),
    Input(input::InputReady),
    Output(output::OutputReady),
}

impl JobLoop {
    pub(super) fn start(&mut self, context: LaunchContext<'_>, size: u32) {
        for rank in 0..size {
            if !self.job.is_running() {
                break;
            }
            match context.start(rank, self.feed.of_rank(rank)) {
                Ok(StartedRank { pid, pmi, outputs }) => {
                    self.job.started(rank, pid);
                    self.pids.push(pid);
                    self.streams.add(pid, outputs);
                    self.ranks.push(RunningRank::new(pmi));
                }
                Err(error) => {
                    let actions = self.job.refused(error.code, &error.why, Instant::now());
                    self.perform(actions);
                }
            }
        }
        if self.pids.len() == size as usize {
            self.pid_sender.send(&self.pids);
            if let Some((file, table)) = context.process_table(&host::name(), &self.pids)
                && let Err(error) = self.streams.print_table(file, &table)
            {
                let line = format!("mpirun: cannot write the process table: {error}");
                self.streams.print_line(&line, Instant::now());
            }
        }
    }

    pub(super) fn serve(&mut self) -> io::Result<()> {
        loop {
            let childless = self.reap();
            let now = Instant::now();
            // Processes that cannot be killed are left alone.
            let ended = childless || self.job.kill_timed_out(now);
            self.check_pending_ends(now);
            self.read_report(now);
            self.streams.flush_overdue(now);
            let slow_readers = self.feed.drop_slow_readers(now);
            self.perform(self.job.input_lost(&slow_readers));
            if ended {
                self.streams.drain(now);
            }
            if self.has_deadline(ended) {
                let actions = self.job.tick(now);
                self.perform(actions);
            }
            if ended && self.output_is_finished(now) {
                return self.give_up_output();
            }
            for token in self.wait(ended, now)? {
                self.handle(token);
            }
        }
    }

    /// Reports the output that is not written.
    fn give_up_output(&mut self) -> io::Result<()> {
        for line in self.streams.give_up() {
            self.streams.print_line(&format!("mpirun: {line}"), Instant::now());
        }
        self.streams.write_now()
    }

    /// Whether the state of the job has a deadline: of a job without processes, only the time limit.
    fn has_deadline(&self, ended: bool) -> bool {
        !ended || self.job.is_running()
    }

    fn wait(&mut self, ended: bool, now: Instant) -> io::Result<Vec<JobLoopToken>> {
        let looks = self.ranks.iter_mut().filter_map(|rank| rank.look_up_mpi(now)).min();
        let timeout = self.deadline(ended, now).into_iter().chain(looks).min();
        let timeout = timeout.map(|at| at.saturating_duration_since(now));
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), JobLoopToken::Signals);
        if let Some(supervisor) = &self.supervisor {
            set.add_read(supervisor.as_fd(), JobLoopToken::Supervisor);
        }
        if let Some(debugger) = self.pid_sender.hold_fd() {
            set.add_read(debugger, JobLoopToken::Debugger);
        }
        for (number, rank) in self.ranks.iter().enumerate() {
            rank.interests(number, self.pid_sender.hold_fd().is_some(), &mut set);
        }
        if let Some(report) = &self.report {
            set.add_read(report.as_fd(), JobLoopToken::Report);
        }
        self.feed.interests(&mut set, JobLoopToken::Input);
        self.streams.interests(&mut set, JobLoopToken::Output);
        set.wait(timeout)
    }

    /// The earliest timeout.
    fn deadline(&self, ended: bool, now: Instant) -> Option<Instant> {
        let checks = self
            .ranks
            .iter()
            .filter(|rank| rank.exit.is_none())
            .filter_map(RunningRank::check_deadline);
        let job = self.job.deadline().filter(|_| self.has_deadline(ended));
        let remaining_output = self.output_deadline().filter(|at| *at > now);
        let leftovers = self.ranks_ended.filter(|_| self.job.is_running());
        let leftovers = leftovers.and_then(|at| self.streams.leftovers_deadline(at, now));
        let others = [job, remaining_output, leftovers, self.streams.deadline()];
        let report = self.report.as_ref().map(ReportProcess::deadline);
        let others = others.into_iter().flatten().chain(report);
        checks.chain(others).chain(self.feed.deadline()).min()
    }

    /// The time at which the remaining output is given up; may be in the past.
    pub(super) fn output_deadline(&self) -> Option<Instant> {
        self.streams.drain_deadline(self.job.output_timeout()?)
    }

    fn handle(&mut self, token: JobLoopToken) {
        let now = Instant::now();
        match token {
            JobLoopToken::Signals => {
                while let Some(signal) = self.signals.take() {
                    if signal != signals::CHLD && signal != signals::TTOU {
                        let actions = self.job.signalled(signal, now);
                        self.perform(actions);
                    }
                }
            }
            JobLoopToken::Supervisor => {
                self.supervisor = None;
                let actions = self.job.supervisor_gone(now);
                self.perform(actions);
            }
            JobLoopToken::Debugger => self.pid_sender.release(),
            // Read in every turn of the loop.
            JobLoopToken::Report => {}
            JobLoopToken::Request(rank) => self.read_requests(rank),
            JobLoopToken::Reply(rank) => self.send_replies(rank),
            JobLoopToken::MpiProcess(rank) => self.ranks[rank].mpi_ended(now),
            JobLoopToken::Input(ready) => self.feed.handle(ready, now),
            JobLoopToken::Output(ready) => {
                if let Err(failure) = self.streams.handle(ready, now) {
                    let actions = self.job.output_lost(failure.why.as_deref(), now);
                    self.perform(actions);
                }
            }
        }
    }
}
