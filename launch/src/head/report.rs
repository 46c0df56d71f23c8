//! The report about all ranks, which SIGQUIT and the time limit ask for.
//!
//! ```text
//!   dump ──> PendingReport ──all hosts have answered, or REPORT_TIMEOUT──> printed
//! ```

use std::collections::{BTreeMap, BTreeSet};
use std::time::{Duration, Instant};

use platform::diagnosis::job_report;
use platform::sys::{clock, host};

use super::Head;
use super::state::ranks_text;
use crate::control::{AgentCommand, RankFacts};

/// More than the agent of a host needs, with the time in which it searches symbols; less than the
/// supervisor waits for the end of an overdue job.
const REPORT_TIMEOUT: Duration = Duration::from_secs(7);

/// A report that is being made.
pub(super) struct PendingReport {
    /// The job ends after it.
    is_overdue: bool,
    /// It is printed at this time without the hosts that have not answered.
    until: Instant,
    awaited: BTreeSet<u32>,
    arrived: BTreeMap<u32, RankFacts>,
}

impl Head<'_> {
    /// Starts the report about each rank; if the job is overdue, it ends after that.
    pub(super) fn dump(&mut self, is_overdue: bool) {
        if let Some(report) = &mut self.report {
            report.is_overdue |= is_overdue;
            return;
        }
        self.report = Some(PendingReport {
            is_overdue,
            until: Instant::now() + REPORT_TIMEOUT,
            awaited: self.links.reporting().chain([0]).collect(),
            arrived: BTreeMap::new(),
        });
        self.command(&AgentCommand::Dump);
        self.name_silent_hosts();
    }

    /// A command that asks for a password, or hangs, starts no agent and reports nothing.
    fn name_silent_hosts(&mut self) {
        for link in self.links.iter().filter(|link| link.is_awaited()) {
            let line = format!(
                "mpirun: mpirun's agent on host {} has not answered; does its command ask or hang?",
                self.way_to(link.host)
            );
            self.streams.print_line(&line, Instant::now());
        }
    }

    /// The report of `host` has arrived, or will not. When all have arrived, they are printed.
    pub(super) fn report_arrived(&mut self, host: u32, facts: Vec<RankFacts>) {
        let Some(mut report) = self.report.take_if(|report| report.awaited.remove(&host)) else {
            return;
        };
        let own = facts.into_iter().filter(|facts| self.is_rank_of(facts.rank, host));
        report.arrived.extend(own.map(|facts| (facts.rank, facts)));
        match report.awaited.is_empty() {
            true => self.finish_report(report),
            false => self.report = Some(report),
        }
    }

    /// Prints the report without hosts that do not answer in time: a process there may be stopped.
    pub(super) fn tick_report(&mut self, now: Instant) {
        if let Some(report) = self.report.take_if(|report| now >= report.until) {
            self.finish_report(report);
        }
    }

    /// The time to call [`Head::tick_report`].
    pub(super) fn report_deadline(&self) -> Option<Instant> {
        self.report.as_ref().map(|report| report.until)
    }

    fn finish_report(&mut self, report: PendingReport) {
        let PendingReport { is_overdue, awaited, arrived, .. } = report;
        self.print_report(arrived);
        let (size, seconds) = (self.shares.plan.size(), REPORT_TIMEOUT.as_secs());
        for host in awaited {
            let ranks = ranks_text(&self.shares.layout.ranks_on(host, size));
            let line = format!(
                "mpirun: host {} with {ranks} has not answered for {seconds} s, and is not in this \
                 report",
                self.host_name(host)
            );
            self.streams.print_line(&line, Instant::now());
        }
        if is_overdue {
            let actions = self.job.dumped(Instant::now());
            self.perform(actions);
        }
    }

    fn print_report(&mut self, mut reports: BTreeMap<u32, RankFacts>) {
        let size = self.shares.plan.size();
        let hosts = self.shares.layout.names(&host::name(), size);
        let now_ns = clock::monotonic_ns();
        let reports: Vec<_> =
            (0..size).map(|rank| Some(reports.remove(&rank)?.report(now_ns))).collect();
        for line in job_report::text(&hosts, now_ns, &reports).lines() {
            self.streams.print_line(line, Instant::now());
        }
    }
}
