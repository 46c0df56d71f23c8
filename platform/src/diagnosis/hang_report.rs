//! Reports of calls that wait for long: `SUIRO_HANG_REPORT`.
//!
//! A wait is reported when it reaches the limit, and again each time its age has doubled.

use std::collections::{BTreeMap, BTreeSet};
use std::time::Duration;

use super::wait_graph::ranks_named;
use super::wait_monitor::WaitId;
use super::wait_report::{QueueLengths, WaitReport, ranges};
use crate::base::Peer;
use crate::bootstrap::JobHosts;

/// Hosts that a line names, at most.
const HOSTS_MAX: usize = 8;

/// Which waits of one rank have been reported.
#[derive(Debug)]
pub struct HangReports {
    limit: Duration,
    /// The wait of the last report, and the age at which it is reported again.
    last: Option<(WaitId, Duration)>,
}

impl HangReports {
    /// Reports of waits that last `limit` or longer.
    pub fn new(limit: Duration) -> Self {
        Self { limit, last: None }
    }

    /// The age at which a wait is first reported.
    pub fn limit(&self) -> Duration {
        self.limit
    }

    /// Whether to report now that `wait` has lasted `waited`. A report counts as made.
    pub fn take_due(&mut self, wait: WaitId, waited: Duration) -> bool {
        let due = match self.last {
            Some((reported, due)) if reported == wait => due,
            Some(_) | None => self.limit,
        };
        if waited < due {
            return false;
        }
        self.last = Some((wait, waited * 2));
        true
    }
}

/// The line about a call of `rank`. On several hosts it names that of the rank, and the hosts of the
/// ranks of other hosts that must act.
pub fn hang_text(rank: Peer, waited: Duration, report: &WaitReport, hosts: &JobHosts) -> String {
    let (seconds, queues) = (waited.as_secs_f64(), QueueLengths::describe(&[report.queues]));
    let comma = if queues.is_empty() { "" } else { ", " };
    let WaitReport { function, details, .. } = report;
    let (here, elsewhere) = match hosts.is_one() {
        true => (String::new(), String::new()),
        false => (format!(" on {}", hosts.name_of(rank)), remote_ranks(rank, report, hosts)),
    };
    format!(
        "Suiro: rank {rank}{here} has waited {seconds:.1} s{comma}{queues}: \
         {function}{details}{elsewhere}\n"
    )
}

/// Ranks with their hosts if there are several, such as `ranks 0,2 on node1, 1,3 on node2`.
pub fn ranks_on_hosts(ranks: &[Peer], hosts: &JobHosts) -> String {
    if hosts.is_one() {
        return ranks_named(ranks);
    }
    let mut by_host = BTreeMap::<u32, Vec<Peer>>::new();
    for rank in ranks {
        by_host.entry(hosts.number_of(*rank)).or_default().push(*rank);
    }
    let texts = by_host
        .values()
        .take(HOSTS_MAX)
        .map(|on_host| format!("{} on {}", ranges(on_host), hosts.name_of(on_host[0])));
    let plural = if ranks.len() == 1 { "" } else { "s" };
    let more = by_host.len().saturating_sub(HOSTS_MAX);
    let more = if more > 0 { format!(" and {more} more hosts") } else { String::new() };
    format!("rank{plural} {}{more}", texts.collect::<Vec<_>>().join(", "))
}

/// The ranks of other hosts in the conditions of a report, such as `; ranks 1,3 are on node2`.
fn remote_ranks(own: Peer, report: &WaitReport, hosts: &JobHosts) -> String {
    let mut by_host = BTreeMap::<u32, BTreeSet<Peer>>::new();
    let peers = report.conditions.iter().flat_map(|condition| &condition.peers);
    for peer in peers {
        by_host.entry(hosts.number_of(*peer)).or_default().insert(*peer);
    }
    by_host.remove(&hosts.number_of(own));
    let texts = by_host.values().take(HOSTS_MAX).map(|peers| {
        let peers: Vec<Peer> = peers.iter().copied().collect();
        let name = hosts.name_of(peers[0]);
        let (noun, verb) = if peers.len() == 1 { ("rank", "is") } else { ("ranks", "are") };
        format!("; {noun} {} {verb} on {name}", ranges(&peers))
    });
    texts.collect()
}

#[cfg(test)]
mod tests {
    use super::super::wait_report::WaitCondition;
    use super::*;

    #[test]
    fn a_wait_is_reported_at_the_limit_and_each_time_its_age_has_doubled() {
        let (first, second) =
            (WaitId { since_ns: 0, address: 0 }, WaitId { since_ns: 0, address: 8 });
        let mut reports = HangReports::new(Duration::from_millis(500));
        let due: Vec<_> = (0..50)
            .map(|round| round * 100)
            .filter(|ms| reports.take_due(first, Duration::from_millis(*ms)))
            .collect();
        assert_eq!(due, [500, 1000, 2000, 4000]);
        assert!(!reports.take_due(second, Duration::from_millis(499)));
        assert!(reports.take_due(second, Duration::from_millis(500)));
    }

    #[test]
    fn hosts_are_named_if_there_are_several() {
        let condition =
            |peers: &[Peer]| WaitCondition { peers: peers.to_vec(), ..WaitCondition::default() };
        let conditions = vec![condition(&[1, 3]), condition(&[2, 4, 3])];
        let report = WaitReport { conditions, ..WaitReport::new("MPI_Waitall") };
        let text = |names: &[&str]| {
            let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
            hang_text(0, Duration::from_secs(1), &report, &hosts)
        };
        assert_eq!(text(&["one"; 5]), "Suiro: rank 0 has waited 1.0 s: MPI_Waitall\n");
        let names = ["one", "two", "one", "two", "three"];
        let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
        assert_eq!(ranks_on_hosts(&[0, 2, 3], &hosts), "ranks 0,2 on one, 3 on two");
        assert_eq!(ranks_on_hosts(&[4], &hosts), "rank 4 on three");
        assert_eq!(
            text(&names),
            "Suiro: rank 0 on one has waited 1.0 s: MPI_Waitall; ranks 1,3 are on two; rank 4 is on \
             three\n"
        );
    }
}
