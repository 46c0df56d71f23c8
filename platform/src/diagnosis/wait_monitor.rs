//! Supervision of one rank's waits: publishes them, reports long ones, and runs the deadlock
//! detector.
//!
//! A thread that waits calls [`WaitMonitor::check`] before each sleep, and every few thousand polls
//! that found nothing. The process lock is held then, and the last poll found nothing. The caller
//! prints the result after it has freed the lock.
//!
//! ```text
//!   process ── WaitSource: snapshot, report ──> WaitMonitor ──> job status: table, other hosts
//!      ▲                                         │    │    │
//!      └────────── datagrams ────────────────────│────│────┘
//!                                   hang_report <┘    └> deadlock
//! ```
//!
//! Costs: a wait shorter than [`FIRST_CHECK_AGE`] reads the clock once per sleep, and writes its
//! entry if the launcher reads the table. A check takes some microseconds, at most ten times a
//! second.

use std::time::Duration;

use super::deadlock::{
    DeadlockAction, DeadlockDetector, WaitDiagnostic, WaitSnapshot, age, nanoseconds,
};
use super::hang_report::{HangReports, hang_text};
use super::job_status::JobStatus;
use super::rank_status::{RankActivity, RankStatus, SteadyInterval};
use super::status_exchange::StatusDatagram;
use super::status_table::StatusTable;
use super::wait_report::WaitReport;
use crate::base::Peer;
use crate::bootstrap::JobHosts;

/// Shorter waits are not checked.
const FIRST_CHECK_AGE: Duration = Duration::from_millis(50);

/// The shortest time between two checks, for ranks that never sleep.
const CHECK_INTERVAL: Duration = Duration::from_millis(25);

/// One wait of one thread.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct WaitId {
    /// When the wait began, in nanoseconds of the host's clock.
    pub since_ns: u64,
    /// The address of the waiting call, which tells waits apart that began at the same time.
    pub address: usize,
}

/// A process with a call that waits, as its monitor sees it.
pub trait WaitSource {
    /// All waits of the process.
    fn snapshot(&self) -> WaitSnapshot;
    /// The longest wait.
    fn report(&self) -> WaitReport;
    /// Whether the process of `rank` has ended.
    fn has_ended(&self, rank: Peer) -> bool;
}

/// The settings of a monitor.
#[derive(Clone, Copy, Debug, Default)]
pub struct MonitorSettings {
    /// `SUIRO_DEADLOCK`.
    pub deadlock: DeadlockAction,
    /// `SUIRO_HANG_REPORT`.
    pub hang_report: Option<Duration>,
}

/// The monitor of one rank.
#[derive(Debug)]
pub struct WaitMonitor {
    rank: Peer,
    hosts: JobHosts,
    /// `None` if neither the launcher nor a detector reads it.
    job: Option<JobStatus>,
    is_read_by_launcher: bool,
    detector: Option<DeadlockDetector>,
    hang_reports: Option<HangReports>,
    /// When the next check is due, in nanoseconds of the host's clock.
    next_check_ns: u64,
    /// The entry of this rank in the table, while a call waits.
    published: Option<(WaitId, RankStatus)>,
    /// Datagrams to send.
    outgoing: Vec<StatusDatagram>,
}

impl WaitId {
    /// A number for the wait. Sums of such numbers are equal only by chance.
    pub fn number(self) -> u64 {
        // The golden ratio scatters small differences.
        (self.since_ns ^ (self.address as u64).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }
}

impl WaitMonitor {
    /// The monitor of `rank` in a job of `size` ranks on `hosts`. `of_launcher` is the table that the launcher
    /// reads; if there is none, the detector needs that of `of_node`.
    pub fn new(
        settings: MonitorSettings, (rank, size, hosts): (Peer, u32, JobHosts),
        of_launcher: Option<StatusTable>, of_node: impl FnOnce() -> StatusTable,
    ) -> Self {
        let MonitorSettings { deadlock, hang_report } = settings;
        let is_read_by_launcher = of_launcher.is_some();
        let detects = deadlock != DeadlockAction::Off;
        let table = of_launcher.or_else(|| detects.then(of_node));
        // Without entries of all ranks nothing can be proved.
        let job = table.map(|table| JobStatus::new(table, (rank, size), &hosts));
        let is_complete = job.as_ref().is_some_and(|job| job.is_complete(size));
        let detector = DeadlockDetector::new(rank, size as usize, deadlock);
        Self {
            rank,
            hosts,
            job: job.filter(|_| is_complete || is_read_by_launcher),
            is_read_by_launcher,
            detector: (detects && is_complete).then_some(detector),
            hang_reports: hang_report.map(HangReports::new),
            next_check_ns: 0,
            published: None,
            outgoing: Vec::new(),
        }
    }

    /// Checks the waits of this rank at `now_ns` of the host's clock, of which `wait` has lasted
    /// longest; the text to print, if there is any.
    pub fn check(
        &mut self, now_ns: u64, wait: WaitId, source: &impl WaitSource,
    ) -> Option<WaitDiagnostic> {
        if !self.is_due(wait, now_ns) {
            if self.is_read_by_launcher {
                let steady = self.published_interval();
                self.publish(wait, source.report(), steady);
            }
            return None;
        }
        self.next_check_ns = now_ns + nanoseconds(CHECK_INTERVAL);
        let waited = age(wait.since_ns, now_ns);
        let detector = self.detector.as_mut();
        let steady =
            detector.and_then(|detector| detector.observe(now_ns, waited, source.snapshot()));
        let hangs = self.hang_reports.as_mut();
        let reports = hangs.is_some_and(|hangs| hangs.take_due(wait, waited));
        let publishes = self.is_read_by_launcher || steady.is_some();
        if !publishes {
            self.clear();
        }
        if !publishes && !reports {
            return None;
        }
        let report = source.report();
        let hang = reports.then(|| hang_text(self.rank, waited, &report, &self.hosts));
        if publishes {
            self.publish(wait, report, steady);
        }
        let deadlock = steady.and_then(|_| {
            self.ask(now_ns, wait.since_ns, source);
            self.detect(now_ns, source)
        });
        match (hang, deadlock) {
            (None, deadlock) => deadlock,
            (Some(text), None) => Some(WaitDiagnostic { text, abort_reason: None }),
            (Some(text), Some(deadlock)) => {
                Some(WaitDiagnostic { text: text + &deadlock.text, ..deadlock })
            }
        }
    }

    /// Takes a datagram of another rank, while this one waits.
    pub fn take_datagram(
        &mut self, from: Peer, data: &[u8], now_ns: u64, source: &impl WaitSource,
    ) {
        let Some(job) = self.job.as_mut().filter(|_| self.detector.is_some()) else { return };
        let Some((exchange, table)) = job.exchange() else { return };
        let local = exchange.local_ranks().to_vec();
        let read = |rank| {
            let entry = local.binary_search(&rank).unwrap_or(usize::MAX);
            (!source.has_ended(rank)).then(|| table.read(entry as u32))
        };
        let awaited = !exchange.is_answered();
        self.outgoing.extend(exchange.take(from, data, now_ns, read));
        if awaited && exchange.is_answered() {
            self.next_check_ns = 0;
        }
    }

    /// The datagrams to send.
    pub fn take_outgoing(&mut self) -> Vec<StatusDatagram> {
        std::mem::take(&mut self.outgoing)
    }

    /// Asks other hosts if this is the lowest rank of its host that waits, and all others wait or have
    /// ended.
    fn ask(&mut self, now_ns: u64, since_ns: u64, source: &impl WaitSource) {
        let Some(job) = &mut self.job else { return };
        let Some((exchange, table)) = job.exchange() else { return };
        let mut lowest = None;
        for (entry, rank) in (0..).zip(exchange.local_ranks()) {
            match table.read(entry) {
                RankActivity::Waiting(status) if status.steady.is_some() => {
                    lowest.get_or_insert(*rank);
                }
                _ if source.has_ended(*rank) => {}
                _ => return,
            }
        }
        if lowest == Some(self.rank) {
            let ended = |rank| source.has_ended(rank);
            self.outgoing.extend(exchange.questions(now_ns, since_ns, ended));
        }
    }

    /// Records that a wait of this rank has ended: `wait`, or one that never had to wait for long.
    /// The text to print, if there is any.
    #[inline]
    pub fn wait_ended(&mut self, wait: Option<WaitId>) -> Option<WaitDiagnostic> {
        if self.published.is_some() { self.withdraw(wait) } else { None }
    }

    #[cold]
    fn withdraw(&mut self, ended: Option<WaitId>) -> Option<WaitDiagnostic> {
        let was_steady = self.published_interval().is_some();
        // Another thread may still wait: then the launcher keeps its report.
        match self.published.take_if(|(wait, _)| self.is_read_by_launcher && Some(*wait) != ended) {
            Some((wait, status)) => self.publish(wait, status.report, None),
            None => self.clear(),
        }
        if !was_steady {
            return None;
        }
        self.detector.as_mut().into_iter().for_each(DeadlockDetector::wait_ended);
        let was_reported = self.job.as_ref().is_some_and(JobStatus::withdraw_alarm);
        was_reported.then(|| {
            let rank = self.rank;
            let text = format!("Suiro: rank {rank} goes on: what was reported is no deadlock\n");
            WaitDiagnostic { text, abort_reason: None }
        })
    }

    fn is_due(&self, wait: WaitId, now_ns: u64) -> bool {
        let limit = self.hang_reports.as_ref().map(HangReports::limit);
        let first = match (&self.detector, limit) {
            (None, None) => return false,
            (None, Some(limit)) => limit,
            (Some(_), limit) => limit.map_or(FIRST_CHECK_AGE, |limit| limit.min(FIRST_CHECK_AGE)),
        };
        now_ns >= self.next_check_ns && age(wait.since_ns, now_ns) >= first
    }

    fn detect(&mut self, now_ns: u64, source: &impl WaitSource) -> Option<WaitDiagnostic> {
        let (detector, job) = (self.detector.as_mut()?, self.job.as_ref()?);
        detector.detect(now_ns, job, &self.hosts, |rank| {
            source.has_ended(rank) || job.has_ended_elsewhere(rank)
        })
    }

    fn published_interval(&self) -> Option<SteadyInterval> {
        self.published.as_ref()?.1.steady
    }

    fn publish(&mut self, wait: WaitId, report: WaitReport, steady: Option<SteadyInterval>) {
        let Some(job) = &self.job else { return };
        let status = RankStatus { since_ns: wait.since_ns, report, steady };
        job.write(self.rank, &status);
        self.published = Some((wait, status));
    }

    fn clear(&mut self) {
        if let (Some(_), Some(job)) = (self.published.take(), &self.job) {
            job.clear(self.rank);
        }
    }
}

#[cfg(test)]
mod tests {
    use std::os::fd::AsRawFd;

    use super::super::rank_status::RankActivity;
    use super::super::wait_report::WaitCondition;
    use super::*;

    const BEGIN_NS: u64 = 1 << 40;
    const WAIT: WaitId = WaitId { since_ns: BEGIN_NS, address: 0 };

    /// A rank in `MPI_Recv`.
    struct Receive {
        source: Peer,
        snapshot: WaitSnapshot,
    }

    impl WaitSource for Receive {
        fn snapshot(&self) -> WaitSnapshot {
            self.snapshot
        }

        fn report(&self) -> WaitReport {
            let condition = WaitCondition { peers: vec![self.source], ..WaitCondition::default() };
            WaitReport { conditions: vec![condition], ..WaitReport::new("MPI_Recv") }
        }

        fn has_ended(&self, _rank: Peer) -> bool {
            false
        }
    }

    fn one_host() -> JobHosts {
        JobHosts::one("here".to_owned())
    }

    /// The monitors of all ranks of a job below a launcher that does not read the table.
    fn monitors(
        count: u32, deadlock: DeadlockAction, hang_report: Option<Duration>,
    ) -> Vec<WaitMonitor> {
        let (_, file) = StatusTable::create(count as usize).unwrap();
        let table = || StatusTable::inherit(file.as_raw_fd()).unwrap();
        let settings = MonitorSettings { deadlock, hang_report };
        (0..count)
            .map(|rank| WaitMonitor::new(settings, (rank, count, one_host()), None, table))
            .collect()
    }

    fn snapshot(state: u64) -> WaitSnapshot {
        WaitSnapshot { state, is_conclusive: true, is_multiple: false }
    }

    /// A check some milliseconds after the wait began.
    fn check(monitor: &mut WaitMonitor, ms: u64, snapshot: WaitSnapshot) -> Option<WaitDiagnostic> {
        let source = Receive { source: 1 - monitor.rank.min(1), snapshot };
        monitor.check(BEGIN_NS + ms * 1_000_000, WAIT, &source)
    }

    /// Checks of all ranks every 100 ms, from one time to before another; the texts, with time and
    /// rank.
    fn checks(
        monitors: &mut [WaitMonitor], from_ms: u64, to_ms: u64,
        snapshot: impl Fn(u32, u64) -> WaitSnapshot,
    ) -> Vec<(u64, u32, WaitDiagnostic)> {
        let mut found = Vec::new();
        for ms in (from_ms..to_ms).step_by(100) {
            for (rank, monitor) in (0..).zip(&mut *monitors) {
                let diagnostic = check(monitor, ms, snapshot(rank, ms));
                found.extend(diagnostic.map(|diagnostic| (ms, rank, diagnostic)));
            }
        }
        found
    }

    #[test]
    fn a_deadlock_is_reported_once_by_the_first_rank() {
        let mut all = monitors(3, DeadlockAction::Report, None);
        let found = checks(&mut all, 0, 2000, |rank, _| snapshot(u64::from(rank)));
        let [(400, 0, diagnostic)] = &found[..] else { panic!("{found:?}") };
        assert_eq!(diagnostic.abort_reason, None);
        let expected = "\
Suiro: no rank can go on: all of them wait for each other
Suiro:   ranks 0-2: MPI_Recv for 0.4 s
Suiro:   deadlock: rank 0 in MPI_Recv <- rank 1 in MPI_Recv <- rank 0
Suiro:   SUIRO_DEADLOCK=abort ends such a job
";
        assert_eq!(diagnostic.text, expected);
    }

    #[test]
    fn a_state_that_changes_now_and_then_is_no_deadlock() {
        let mut all = monitors(2, DeadlockAction::Report, None);
        let found = checks(&mut all, 0, 3000, |rank, ms| snapshot(u64::from(rank) * (ms / 200)));
        assert_eq!(found, []);
    }

    #[test]
    fn a_wait_that_not_only_ranks_can_end_is_no_deadlock() {
        let mut all = monitors(2, DeadlockAction::Report, None);
        let of = |rank, _| WaitSnapshot { is_conclusive: rank == 0, ..snapshot(0) };
        assert_eq!(checks(&mut all, 0, 2000, of), []);
    }

    #[test]
    fn a_rank_that_stopped_checking_proves_nothing_about_later() {
        let mut all = monitors(2, DeadlockAction::Report, None);
        assert_eq!(checks(&mut all[1..], 0, 600, |_, _| snapshot(0)), []);
        // Rank 1 is stopped now; a message of rank 0 may be in transit to it.
        assert_eq!(checks(&mut all[..1], 600, 3000, |_, _| snapshot(0)), []);
        let found = checks(&mut all, 3000, 3500, |rank, _| snapshot(u64::from(rank)));
        assert_eq!(found.len(), 1, "{found:?}");
    }

    #[test]
    fn a_job_is_ended_only_if_no_thread_may_call() {
        for is_multiple in [false, true] {
            let mut all = monitors(2, DeadlockAction::Abort, None);
            let of =
                |rank, _| WaitSnapshot { is_multiple: is_multiple && rank == 1, ..snapshot(0) };
            let found = checks(&mut all, 0, 1000, of);
            let [(_, 0, diagnostic)] = &found[..] else { panic!("{found:?}") };
            assert_eq!(diagnostic.abort_reason.is_none(), is_multiple);
            let text = &diagnostic.text;
            assert_eq!(text.contains("the job goes on"), is_multiple, "{text}");
        }
    }

    #[test]
    fn a_rank_that_continues_after_a_report_says_so_once() {
        let mut all = monitors(2, DeadlockAction::Report, None);
        assert_eq!(all[1].wait_ended(Some(WAIT)), None);
        assert_eq!(checks(&mut all, 0, 1000, |_, _| snapshot(0)).len(), 1);
        let text = all[1].wait_ended(Some(WAIT)).unwrap().text;
        assert_eq!(text, "Suiro: rank 1 goes on: what was reported is no deadlock\n");
        assert_eq!((all[0].wait_ended(Some(WAIT)), all[1].wait_ended(Some(WAIT))), (None, None));
        assert_eq!(checks(&mut all, 1000, 3000, |_, _| snapshot(0)), []);
    }

    /// The reports of ranks 0 and 2 on one host and 1 and 3 on another, in 3 s. The clock of the other
    /// host shows less.
    fn reports_of_two_hosts(
        snapshot: impl Fn(u32, u64) -> WaitSnapshot,
    ) -> Vec<(u64, u32, WaitDiagnostic)> {
        const BEHIND_NS: u64 = 7_000_000_000;
        let names = ["one", "two", "one", "two"];
        let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
        let files = [(); 2].map(|()| StatusTable::create(2).unwrap().1);
        let settings = MonitorSettings { deadlock: DeadlockAction::Report, hang_report: None };
        let monitor = |rank| {
            let table = || StatusTable::inherit(files[rank as usize % 2].as_raw_fd()).unwrap();
            WaitMonitor::new(settings, (rank, 4, hosts.clone()), None, table)
        };
        let mut monitors: Vec<_> = (0..4).map(monitor).collect();
        let mut in_transit: Vec<(Peer, StatusDatagram)> = Vec::new();
        let mut found = Vec::new();
        for ms in (0..3000).step_by(50) {
            for (rank, monitor) in (0..).zip(&mut monitors) {
                let behind_ns = u64::from(rank % 2) * BEHIND_NS;
                let wait = WaitId { since_ns: BEGIN_NS - behind_ns, address: 0 };
                let now_ns = wait.since_ns + ms * 1_000_000;
                let source = Receive { source: (rank + 1) % 4, snapshot: snapshot(rank, ms) };
                for (from, (_, data)) in in_transit.extract_if(.., |(_, (to, _))| *to == rank) {
                    monitor.take_datagram(from, &data, now_ns, &source);
                }
                let diagnostic = monitor.check(now_ns, wait, &source);
                found.extend(diagnostic.map(|diagnostic| (ms, rank, diagnostic)));
                in_transit.extend(monitor.take_outgoing().into_iter().map(|sent| (rank, sent)));
            }
        }
        found
    }

    #[test]
    fn a_deadlock_over_hosts_is_reported_once_and_names_them() {
        let found = reports_of_two_hosts(|rank, _| snapshot(u64::from(rank)));
        let [(_, 0, diagnostic)] = &found[..] else { panic!("{found:?}") };
        let text = &diagnostic.text;
        assert!(text.contains("  ranks 0,2 on one, 1,3 on two: MPI_Recv for 0."), "{text}");
        assert!(text.contains("deadlock: rank 0 in MPI_Recv <- rank 1 in MPI_Recv <- "), "{text}");
    }

    #[test]
    fn a_rank_of_another_host_that_may_continue_is_no_deadlock() {
        for other in 0..4 {
            let may_end = |rank, _| WaitSnapshot { is_conclusive: rank != other, ..snapshot(0) };
            assert_eq!(reports_of_two_hosts(may_end), []);
            let changes = |rank, ms| snapshot(u64::from(rank == other) * (ms / 100));
            assert_eq!(reports_of_two_hosts(changes), []);
        }
    }

    #[test]
    fn long_waits_are_reported_without_a_detector() {
        let mut all = monitors(1, DeadlockAction::Off, Some(Duration::from_millis(500)));
        let found = checks(&mut all, 0, 5000, |_, _| snapshot(0));
        let times: Vec<_> = found.iter().map(|(ms, ..)| *ms).collect();
        assert_eq!(times, [500, 1000, 2000, 4000]);
        assert_eq!(found[1].2.text, "Suiro: rank 0 has waited 1.0 s: MPI_Recv\n");
    }

    #[test]
    fn the_launcher_sees_every_wait_and_the_detector_the_same_entries() {
        let (launcher, file) = StatusTable::create(2).unwrap();
        let table = || StatusTable::inherit(file.as_raw_fd()).ok();
        let settings = MonitorSettings::default();
        let monitor = |rank| {
            let no_other = || unreachable!("the table of the launcher is used");
            WaitMonitor::new(settings, (rank, 2, one_host()), table(), no_other)
        };
        let mut all: Vec<_> = (0..2).map(monitor).collect();
        let status = |rank| match launcher.read(rank) {
            RankActivity::Waiting(status) => status,
            other => panic!("{other:?}"),
        };
        assert_eq!(check(&mut all[1], 1, snapshot(0)), None);
        assert_eq!((status(1).since_ns, status(1).steady), (BEGIN_NS, None));
        assert_eq!(checks(&mut all, 100, 1000, |_, _| snapshot(0)).len(), 1);
        assert!(status(1).steady.is_some());
        // Another wait ended: the entry stays, but the rank is not steady.
        assert!(all[1].wait_ended(None).is_some());
        assert_eq!((status(1).report.function.as_str(), status(1).steady), ("MPI_Recv", None));
        assert_eq!(all[1].wait_ended(Some(WAIT)), None);
        assert_eq!(launcher.read(1), RankActivity::Busy);
    }
}
