//! Reports of calls that wait for long: `SUIRO_HANG_REPORT`.
//!
//! A wait is reported when it reaches the limit, and again each time its age has doubled.

use std::time::Duration;

use super::wait_monitor::WaitId;
use super::wait_report::{QueueLengths, WaitReport};
use crate::base::Peer;

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

/// The line about a call of `rank`.
pub fn hang_text(rank: Peer, waited: Duration, report: &WaitReport) -> String {
    let (seconds, queues) = (waited.as_secs_f64(), QueueLengths::describe(&[report.queues]));
    let comma = if queues.is_empty() { "" } else { ", " };
    let WaitReport { function, details, .. } = report;
    format!("Suiro: rank {rank} has waited {seconds:.1} s{comma}{queues}: {function}{details}\n")
}

#[cfg(test)]
mod tests {
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
}
