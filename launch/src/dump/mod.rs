//! Facts about the ranks of a job that takes too long: what `platform::diagnosis::job_report` turns
//! into text.

mod program_file;
pub(crate) mod stack;

use std::time::{Duration, Instant};

use platform::bootstrap::JoinState;
use platform::diagnosis::job_report::RankReport;
use platform::diagnosis::rank_status::RankActivity;
use platform::sys::process;
use platform::sys::process::Exit;
use platform::sys::trace::Untraceable;

use crate::dump::stack::{ProgramFiles, ThreadSnapshots};

/// How long ranks may be stopped, all together.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
/// How long symbols may be searched.
pub(crate) const SYMBOL_TIMEOUT: Duration = Duration::from_secs(5);

/// The facts about one rank, with copies of stacks that are not unwound yet.
#[derive(Debug)]
pub(crate) struct RankSnapshot {
    report: RankReport,
    copies: Option<ThreadSnapshots>,
}

impl RankSnapshot {
    /// Inspects the process of a rank until `deadline`, if it has not ended.
    pub(crate) fn of(
        pid: u32, exit: Option<Exit>, join_state: JoinState, activity: RankActivity,
        deadline: Instant,
    ) -> Self {
        // Copying the stacks stops the threads, so the state of the process is read before.
        let task = process::task_stat(pid).filter(|_| exit.is_none());
        let copies = match exit {
            Some(_) => Err(Untraceable::Gone),
            None if Instant::now() >= deadline => Err(Untraceable::Late),
            None => ThreadSnapshots::take(pid, deadline),
        };
        let stacks = copies.as_ref().map(|_| Vec::new()).map_err(|why| *why);
        let report = RankReport { pid, exit, join_state, activity, task, stacks };
        Self { report, copies: copies.ok() }
    }

    /// The facts with symbols, which are searched until `deadline`.
    pub(crate) fn report(mut self, files: &mut ProgramFiles, deadline: Instant) -> RankReport {
        if let Some(copies) = self.copies {
            self.report.stacks = Ok(copies.stacks(files, deadline));
        }
        self.report
    }
}
