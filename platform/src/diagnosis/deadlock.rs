//! The deadlock detector: finds out that no rank of the job can continue.
//!
//! The detector is a value. Its inputs are snapshots of this rank's waits, the [`JobStatus`], and
//! the time; [`super::wait_monitor`] calls it. It prints nothing, and it uses no thread or clock.
//!
//! Each rank publishes a [`SteadyInterval`] in the status table:
//!
//! ```text
//!   from    the first check that found the rank in its present state
//!   until   the last check but one, which found the same state
//! ```
//!
//! The *state* ([`WaitSnapshot::state`]) is a digest of the calls that wait, of the number of
//! packets that have arrived, and of the number of events in the engine and in shared segments. A
//! rank publishes an interval only while all of its threads that could call MPI wait, its engine is
//! quiescent (no packet waits for space, nothing is left to pull, reduce or answer), and only ranks
//! of this job can end the wait ([`WaitSnapshot::is_conclusive`]). Otherwise, and when a wait ends,
//! the rank withdraws the interval.
//!
//! The running rank with the lowest number reads all entries. The job is deadlocked if
//!
//! ```text
//!   latest `from` + MARGIN <= earliest `until`                of all ranks that have not ended
//! ```
//!
//! *Proof.* Let T be the latest `from`, and t a time between T and the earliest `until`. At t each
//! rank is in the state of its own `from`: the counts in the digest only grow, and they were equal
//! at a check before t and at a check after t. In that time the rank has sent nothing: a rank that
//! waits and is quiescent sends only in answer to a packet or to an entry of a shared segment,
//! which changes its state; its threads wait, and call nothing. So everything that was ever sent
//! was sent before T. Each rank has polled after its `until`, which is at least MARGIN after T;
//! MARGIN is longer than a store takes to become visible. So each rank has received everything that
//! was ever sent to it, and its state is unchanged. No message is in transit and no rank sends, so
//! no message will ever arrive. These are two equal snapshots of the counts of sent and received
//! packets, combined with the wait during which the counts do not change (Mattern, "Algorithms for
//! distributed termination detection", Distributed Computing 2, 1987).
//!
//! What a device carries by itself (TCP) is in transit for longer. There a rank is quiescent only while
//! its peers have acknowledged all that it has sent: at t, each packet had been delivered. The intervals
//! of ranks on other hosts are known in times of this host, shortened by what is not known of the
//! clocks ([`super::status_exchange`]).
//!
//! A process that has ended sends nothing. Its `from` is the time at which its end was observed
//! plus [`EXIT_GRACE`], as the launcher may react to the end of a process.
//!
//! A rank that is stopped, computes, sleeps in a system call or runs a function of the application
//! does not check, so its `until` does not advance. A rank that loops over `MPI_Test` does not wait
//! and publishes nothing. The graph of waits between ranks ([`super::wait_graph`]) is used only for
//! the text. If a rank continues after a report all the same, the first such rank reports that, and
//! the job reports no further deadlock.

use std::time::Duration;

use super::hang_report::ranks_on_hosts;
use super::job_status::JobStatus;
use super::rank_status::{RankActivity, RankStatus, SteadyInterval};
use super::wait_graph::{RankState, diagnose_deadlock, groups, time_range};
use crate::base::Peer;
use crate::bootstrap::JobHosts;

/// A shorter wait is never a part of a deadlock.
const DEADLOCK_AGE_MIN: Duration = Duration::from_millis(250);

/// Much longer than a store takes to become visible, or than clocks of processors differ.
const MARGIN: Duration = Duration::from_millis(10);

/// The time that the launcher has to end a job after one of its processes ended.
pub const EXIT_GRACE: Duration = Duration::from_secs(1);

/// The exit code of a job that `SUIRO_DEADLOCK=abort` ends: `EDEADLK`.
pub const DEADLOCK_CODE: i32 = 35;

/// The most groups of ranks in a report.
const GROUPS_MAX: usize = 100;

/// What a deadlock leads to.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum DeadlockAction {
    /// One rank reports it.
    #[default]
    Report,
    /// One rank reports it and ends the job.
    Abort,
    /// There is no detector.
    Off,
}

/// The waits of one rank at the time of a check.
#[derive(Clone, Copy, Debug)]
pub struct WaitSnapshot {
    /// A number that changes whenever something happens to the rank.
    pub state: u64,
    /// Whether other ranks of the job must act before this one continues, and nothing else can end
    /// the wait.
    pub is_conclusive: bool,
    /// Whether threads of this rank may call MPI at any time.
    pub is_multiple: bool,
}

/// A text to print while the process lock is free.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WaitDiagnostic {
    /// Whole lines.
    pub text: String,
    /// Why the job must end after the text is printed; `None` if the job continues.
    pub abort_reason: Option<&'static str>,
}

/// The detector of one rank.
#[derive(Debug)]
pub struct DeadlockDetector {
    rank: Peer,
    action: DeadlockAction,
    /// `None` after a check that was not conclusive.
    steady: Option<SteadyState>,
    /// By rank: when its process was first seen to have ended.
    ended_ns: Vec<Option<u64>>,
}

#[derive(Clone, Copy, Debug)]
struct SteadyState {
    state: u64,
    /// The first check in this state.
    from_ns: u64,
    /// The last check in this state.
    last_ns: u64,
}

/// Another rank, as the status table shows it.
enum PeerWait {
    Waiting(RankStatus, SteadyInterval),
    Ended,
}

impl DeadlockDetector {
    /// The detector of `rank` in a job of `size` ranks.
    pub fn new(rank: Peer, size: usize, action: DeadlockAction) -> Self {
        Self { rank, action, steady: None, ended_ns: vec![None; size] }
    }

    /// Records a snapshot of this rank, whose longest wait has lasted `waited`; the interval to
    /// publish, if this rank is steady.
    pub fn observe(
        &mut self, now_ns: u64, waited: Duration, snapshot: WaitSnapshot,
    ) -> Option<SteadyInterval> {
        let WaitSnapshot { state, is_conclusive, is_multiple } = snapshot;
        let last = self.steady.filter(|last| last.state == state);
        if !is_conclusive {
            self.steady = None;
            return None;
        }
        let from_ns = last.map_or(now_ns, |last| last.from_ns);
        self.steady = Some(SteadyState { state, from_ns, last_ns: now_ns });
        let until_ns = last.filter(|_| waited >= DEADLOCK_AGE_MIN)?.last_ns;
        Some(SteadyInterval { from_ns, until_ns, is_multiple })
    }

    /// Forgets earlier snapshots: a wait of this rank has ended.
    pub fn wait_ended(&mut self) {
        self.steady = None;
    }

    /// Decides whether the job is deadlocked, after this rank has published its interval. The
    /// report is for this rank to print; other ranks get `None`. `has_ended` finds out whether the
    /// process of a rank has ended.
    pub fn detect(
        &mut self, now_ns: u64, job: &JobStatus, hosts: &JobHosts, has_ended: impl Fn(Peer) -> bool,
    ) -> Option<WaitDiagnostic> {
        let peers = self.read_peers(now_ns, job, has_ended)?;
        if !job.raise_alarm() {
            return None;
        }
        let is_multiple =
            |peer: &PeerWait| matches!(peer, PeerWait::Waiting(_, steady) if steady.is_multiple);
        let ends_job = self.action == DeadlockAction::Abort && !peers.iter().any(is_multiple);
        Some(WaitDiagnostic {
            text: deadlock_text(now_ns, &peers, hosts, self.action, ends_job),
            abort_reason: ends_job.then_some("no rank can go on (SUIRO_DEADLOCK=abort)"),
        })
    }

    /// All ranks, if the job is deadlocked and this is the running rank with the lowest number.
    fn read_peers(
        &mut self, now_ns: u64, job: &JobStatus, has_ended: impl Fn(Peer) -> bool,
    ) -> Option<Vec<PeerWait>> {
        let (mut latest_from, mut earliest_until) = (0, u64::MAX);
        let mut peers = Vec::new();
        for (rank, ended_ns) in (0..).zip(&mut self.ended_ns) {
            let published = match job.read(rank) {
                RankActivity::Waiting(status) => status.steady.map(|steady| (status, steady)),
                RankActivity::Busy | RankActivity::Unknown => None,
            };
            // A process that was killed during a wait leaves its interval in the table.
            let is_fresh = |steady: &SteadyInterval| age(steady.until_ns, now_ns) < EXIT_GRACE;
            match published {
                Some((status, steady)) if is_fresh(&steady) || !has_ended(rank) => {
                    let is_first = peers.iter().all(|peer| matches!(peer, PeerWait::Ended));
                    if is_first && rank != self.rank {
                        return None;
                    }
                    latest_from = latest_from.max(steady.from_ns);
                    earliest_until = earliest_until.min(steady.until_ns);
                    peers.push(PeerWait::Waiting(status, steady));
                }
                None if !has_ended(rank) => return None,
                Some(_) | None => {
                    let ended_ns = *ended_ns.get_or_insert(now_ns);
                    latest_from = latest_from.max(ended_ns + nanoseconds(EXIT_GRACE));
                    peers.push(PeerWait::Ended);
                }
            }
        }
        (latest_from + nanoseconds(MARGIN) <= earliest_until).then_some(peers)
    }
}

/// The report of a deadlock. Ranks in the same call share a line.
fn deadlock_text(
    now_ns: u64, peers: &[PeerWait], hosts: &JobHosts, action: DeadlockAction, ends_job: bool,
) -> String {
    let calls = peers.iter().map(|peer| match peer {
        PeerWait::Waiting(RankStatus { report, .. }, _) => {
            Some(format!("{}{}", report.function, report.details))
        }
        PeerWait::Ended => Some("ended".to_owned()),
    });
    let mut lines = vec!["no rank can go on: all of them wait for each other".to_owned()];
    let groups = groups(calls);
    let hidden = groups.len().saturating_sub(GROUPS_MAX);
    for (call, ranks) in groups.into_iter().take(GROUPS_MAX) {
        let ages = ranks.iter().filter_map(|rank| match &peers[*rank as usize] {
            PeerWait::Waiting(status, _) => Some(age(status.since_ns, now_ns)),
            PeerWait::Ended => None,
        });
        let waited = time_range(ages).map_or(String::new(), |waited| format!(" for {waited}"));
        lines.push(format!("  {}: {call}{waited}", ranks_on_hosts(&ranks, hosts)));
    }
    if hidden > 0 {
        lines.push(format!("  and {hidden} more"));
    }
    let states: Vec<_> = peers
        .iter()
        .map(|peer| match peer {
            PeerWait::Waiting(status, _) => RankState::Waiting(&status.report),
            PeerWait::Ended => RankState::Ended,
        })
        .collect();
    lines.extend(diagnose_deadlock(&states).into_iter().map(|sentence| format!("  {sentence}")));
    lines.extend(match (action, ends_job) {
        (DeadlockAction::Abort, false) => Some(
            "  the job goes on, as threads may call MPI at any time (MPI_THREAD_MULTIPLE)"
                .to_owned(),
        ),
        (DeadlockAction::Report, _) => Some("  SUIRO_DEADLOCK=abort ends such a job".to_owned()),
        (DeadlockAction::Abort | DeadlockAction::Off, _) => None,
    });
    lines.into_iter().map(|line| format!("Suiro: {line}\n")).collect()
}

/// The time between two readings of the host's clock, in nanoseconds; 0 if they are in the wrong order.
pub fn age(since_ns: u64, now_ns: u64) -> Duration {
    Duration::from_nanos(now_ns.saturating_sub(since_ns))
}

pub(super) fn nanoseconds(duration: Duration) -> u64 {
    duration.as_nanos() as u64
}

#[cfg(test)]
mod tests {
    use super::super::status_table::StatusTable;
    use super::super::wait_report::WaitReport;
    use super::*;

    const SECOND_NS: u64 = 1_000_000_000;

    fn one_host() -> JobHosts {
        JobHosts::one("here".to_owned())
    }

    fn two_ranks() -> JobStatus {
        JobStatus::new(StatusTable::create(2).unwrap().0, (0, 2), &one_host())
    }

    fn publish(table: &JobStatus, rank: Peer, from_ns: u64, until_ns: u64) {
        let steady = Some(SteadyInterval { from_ns, until_ns, is_multiple: false });
        table.write(rank, &RankStatus { since_ns: 0, report: WaitReport::new("MPI_Recv"), steady });
    }

    fn detect(table: &JobStatus, rank: Peer, now_ns: u64, ended: &[Peer]) -> bool {
        let mut detector = DeadlockDetector::new(rank, 2, DeadlockAction::Report);
        detector.detect(now_ns, table, &one_host(), |rank| ended.contains(&rank)).is_some()
    }

    #[test]
    fn an_interval_begins_at_the_second_of_equal_conclusive_snapshots() {
        let mut detector = DeadlockDetector::new(0, 1, DeadlockAction::Report);
        let snapshot = |state| WaitSnapshot { state, is_conclusive: true, is_multiple: false };
        let mut observe = |now_ns, snapshot| detector.observe(now_ns, DEADLOCK_AGE_MIN, snapshot);
        assert_eq!(observe(10, snapshot(1)), None);
        let steady = |from_ns, until_ns| SteadyInterval { from_ns, until_ns, is_multiple: false };
        assert_eq!(observe(20, snapshot(1)), Some(steady(10, 10)));
        assert_eq!(observe(30, snapshot(1)), Some(steady(10, 20)));
        assert_eq!(observe(40, snapshot(2)), None);
        assert_eq!(observe(50, WaitSnapshot { is_conclusive: false, ..snapshot(2) }), None);
        assert_eq!(observe(60, snapshot(2)), None);
        assert_eq!(observe(70, snapshot(2)), Some(steady(60, 60)));
        let young = detector.observe(80, DEADLOCK_AGE_MIN / 2, snapshot(2));
        assert_eq!(young, None);
        detector.wait_ended();
        assert_eq!(detector.observe(90, DEADLOCK_AGE_MIN, snapshot(2)), None);
    }

    #[test]
    fn the_intervals_must_have_the_margin_in_common() {
        let margin_ns = nanoseconds(MARGIN);
        for (until_ns, is_deadlock) in [(5 + margin_ns, true), (4 + margin_ns, false)] {
            let table = two_ranks();
            publish(&table, 0, 5, SECOND_NS);
            publish(&table, 1, 0, until_ns);
            assert!(!detect(&table, 1, SECOND_NS, &[]), "rank 0 reports");
            assert_eq!(detect(&table, 0, SECOND_NS, &[]), is_deadlock);
        }
    }

    #[test]
    fn a_rank_without_an_interval_may_continue() {
        let table = two_ranks();
        publish(&table, 0, 0, SECOND_NS);
        assert!(!detect(&table, 0, SECOND_NS, &[]), "never written");
        table.clear(1);
        assert!(!detect(&table, 0, SECOND_NS, &[]), "busy");
        let status = RankStatus { since_ns: 0, report: WaitReport::new("MPI_Recv"), steady: None };
        table.write(1, &status);
        assert!(!detect(&table, 0, SECOND_NS, &[]), "not steady");
    }

    #[test]
    fn a_process_that_ended_counts_after_the_grace_time() {
        let table = two_ranks();
        let mut detector = DeadlockDetector::new(1, 2, DeadlockAction::Report);
        for (until_ns, is_deadlock) in [(SECOND_NS, false), (3 * SECOND_NS, true)] {
            publish(&table, 1, 0, until_ns);
            let found = detector.detect(until_ns, &table, &one_host(), |rank| rank == 0);
            assert_eq!(found.is_some(), is_deadlock);
        }
        // A process that was killed leaves its interval in the table.
        let table = two_ranks();
        publish(&table, 0, 0, SECOND_NS);
        publish(&table, 1, 0, 9 * SECOND_NS);
        assert!(!detect(&table, 1, 9 * SECOND_NS, &[]), "rank 0 reports");
        assert!(!detect(&table, 1, 9 * SECOND_NS, &[0]), "its end was observed just now");
    }
}
