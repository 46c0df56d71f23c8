//! One record of the status table, as text that crosses processes.
//!
//! ```text
//!   line 1   when the wait began; if the rank is in a steady state also its first and last time
//!            and 1 if threads may call MPI at any time, else 0. Times are nanoseconds of the
//!            host's clock.
//!   rest     a `WaitReport`
//! ```

use super::wait_report::WaitReport;

/// What a rank does, as far as its record tells.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankActivity {
    /// There is no record: the rank has not called MPI, or uses another library.
    Unknown,
    /// The rank is in no call that has waited for long.
    Busy,
    /// The rank waits.
    Waiting(RankStatus),
}

/// A rank that waits.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankStatus {
    /// When the longest wait began.
    pub since_ns: u64,
    /// The call, and what must happen before it returns.
    pub report: WaitReport,
    /// Set while only other ranks can end the wait, and nothing has happened to this rank.
    pub steady: Option<SteadyInterval>,
}

/// A time in which nothing happened to a rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct SteadyInterval {
    /// The first check that found the rank in its present state.
    pub from_ns: u64,
    /// The last check but one, which found the same state.
    pub until_ns: u64,
    /// Whether threads of the rank may call MPI at any time (`MPI_THREAD_MULTIPLE`).
    pub is_multiple: bool,
}

impl RankStatus {
    /// The record as text.
    pub(super) fn emit(&self) -> String {
        let Self { since_ns, report, steady } = self;
        let steady = steady.map(|SteadyInterval { from_ns, until_ns, is_multiple }| {
            format!(" {from_ns} {until_ns} {}", u8::from(is_multiple))
        });
        format!("{since_ns}{}\n{}", steady.unwrap_or_default(), report.emit())
    }

    /// Reads the text of [`RankStatus::emit`].
    pub(super) fn parse(text: &str) -> Option<Self> {
        let (times, report) = text.split_once('\n')?;
        let numbers = times.split(' ').map(|number| number.parse().ok());
        let (since_ns, steady) = match numbers.collect::<Option<Vec<u64>>>()?[..] {
            [since_ns] => (since_ns, None),
            [since_ns, from_ns, until_ns, multiple] => {
                let is_multiple = multiple == 1;
                (since_ns, Some(SteadyInterval { from_ns, until_ns, is_multiple }))
            }
            _ => return None,
        };
        Some(Self { since_ns, report: WaitReport::parse(report)?, steady })
    }
}

#[cfg(test)]
mod tests {
    use super::super::status_table::ENTRY_MAX_BYTES;
    use super::*;

    #[test]
    fn a_record_reads_back_and_the_longest_fits_into_an_entry() {
        let (from_ns, until_ns) = (u64::MAX, u64::MAX);
        let steady = SteadyInterval { from_ns, until_ns, is_multiple: true };
        for steady in [None, Some(steady)] {
            let report = WaitReport { details: "x".repeat(5000), ..WaitReport::new("MPI_Recv") };
            let mut status = RankStatus { since_ns: u64::MAX, report, steady };
            let text = status.emit();
            assert!(text.len() <= ENTRY_MAX_BYTES);
            let read = RankStatus::parse(&text).unwrap();
            status.report.details.truncate(read.report.details.len());
            assert_eq!(read, status);
        }
    }

    #[test]
    fn damaged_records_are_refused() {
        let report = WaitReport::new("MPI_Recv").emit();
        assert!(RankStatus::parse(&format!("3\n{report}")).is_some());
        for times in ["", "x", "1 2", "1 2 3", "1 2 3 x", "1 2 3 0 4"] {
            assert_eq!(RankStatus::parse(&format!("{times}\n{report}")), None, "{times}");
        }
        assert_eq!(RankStatus::parse("3"), None);
        assert_eq!(RankStatus::parse("3\nx"), None);
    }
}
