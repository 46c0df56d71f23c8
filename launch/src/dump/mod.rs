//! State of every rank of a job, printed at the time limit or on SIGQUIT.
//!
//! ```text
//!   mpirun: state of the ranks on node7:
//!     ranks 0,2 (processes 41,43): MPI_Allreduce(MPI_COMM_WORLD, call 17) for 4.9 s, 3 receives
//!       posted
//!     rank 1 (process 42): not waiting in MPI: running, 4.9 s of processor time
//!     ranks 0,2 wait for rank 1, which is not waiting in MPI
//!     calls of ranks 0,2:
//!       PMPI_Allreduce (libmpi_abi.so.1)
//!       main at solver.c:12
//! ```
//!
//! Ranks with equal state share a line.

mod program_file;
pub(crate) mod stack;

use std::time::{Duration, Instant};

use platform::bootstrap::JoinState;
use platform::diagnosis::status::RankActivity;
use platform::diagnosis::wait_graph::{RankState, diagnose, groups, ranks_named, time_range};
use platform::diagnosis::wait_report::{QueueLengths, ranges};
use platform::sys::process;
use platform::sys::process::{Exit, TaskStat, TaskState};
use platform::sys::signals;
use platform::sys::trace::Untraceable;

use crate::dump::stack::{ProgramFiles, Stack, StackFrame, ThreadSnapshots};

/// Limits of the time for which ranks are stopped, all together, and of the search for names.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
pub(crate) const SYMBOL_TIMEOUT: Duration = Duration::from_secs(5);

/// A rank that has waited for less does not count as blocked: its message may be in transit.
const BLOCKED_MIN: Duration = Duration::from_millis(500);

/// The maximum number of printed groups of ranks.
const GROUPS_MAX: usize = 100;

/// The known facts about one rank.
#[derive(Debug)]
pub(crate) struct RankReport {
    /// The MPI process, or the started process.
    pub pid: u32,
    /// Its exit, if it has ended.
    pub exit: Option<Exit>,
    /// Its PMI state.
    pub join_state: JoinState,
    /// Its entry in the status table.
    pub activity: RankActivity,
    /// The kernel's view of the process.
    pub task: Option<TaskStat>,
    /// The stacks of its threads.
    pub stacks: Result<Vec<Stack>, Untraceable>,
}

/// A [`RankReport`] whose stacks are not unwound yet.
#[derive(Debug)]
pub(crate) struct RankSnapshot {
    report: RankReport,
    copies: Option<ThreadSnapshots>,
}

impl RankSnapshot {
    /// Reads the process of a rank until `deadline`, if it has not ended.
    pub(crate) fn of(
        pid: u32, exit: Option<Exit>, join_state: JoinState, activity: RankActivity,
        deadline: Instant,
    ) -> Self {
        // Copying stacks stops the threads, so the state is read first.
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

    /// Unwinds the stacks; names are searched until `deadline`.
    pub(crate) fn report(mut self, files: &mut ProgramFiles, deadline: Instant) -> RankReport {
        if let Some(copies) = self.copies {
            self.report.stacks = Ok(copies.stacks(files, deadline));
        }
        self.report
    }
}

impl RankReport {
    fn is_stopped(&self) -> bool {
        self.task.is_some_and(|task| task.state == TaskState::Stopped)
    }

    /// The time for which it has waited, at `now_ns` of the monotonic clock.
    fn waited(&self, now_ns: u64) -> Option<Duration> {
        match &self.activity {
            RankActivity::Waiting(since_ns, _) => {
                Some(Duration::from_nanos(now_ns.saturating_sub(*since_ns)))
            }
            RankActivity::Unknown | RankActivity::Busy => None,
        }
    }

    /// The lengths of its queues, if it waits.
    fn queues(&self) -> Option<QueueLengths> {
        match &self.activity {
            RankActivity::Waiting(_, blocked) => Some(blocked.queues),
            RankActivity::Unknown | RankActivity::Busy => None,
        }
    }

    /// Its state, without numbers.
    fn description(&self) -> String {
        let state = match (self.exit, self.task) {
            (Some(Exit::Code(code)), _) => return format!("ended with code {code}"),
            (Some(Exit::Signal(signal)), _) => {
                return format!("was killed by {}", signals::name(signal));
            }
            (None, Some(task)) => task.state.describe(),
            (None, None) => "gone",
        };
        let stopped = if self.is_stopped() { ", now stopped by a signal" } else { "" };
        match (&self.activity, self.join_state) {
            (RankActivity::Waiting(_, blocked), _) => {
                format!("{}{}{stopped}", blocked.function, blocked.details)
            }
            (RankActivity::Unknown, JoinState::NotJoined) => {
                format!("has not called MPI_Init: {state}")
            }
            (_, JoinState::Left) => format!("after MPI_Finalize: {state}"),
            (RankActivity::Busy, JoinState::Joined | JoinState::NotJoined) => {
                format!("not waiting in MPI: {state}")
            }
            (RankActivity::Unknown, JoinState::Joined) => {
                format!("in an MPI library that does not report its state: {state}")
            }
        }
    }

    fn rank_state(&self, now_ns: u64) -> RankState<'_> {
        match &self.activity {
            _ if self.exit.is_some() => RankState::Ended,
            _ if self.is_stopped() => RankState::Active("is stopped by a signal".to_owned()),
            RankActivity::Waiting(_, blocked) if self.waited(now_ns) >= Some(BLOCKED_MIN) => {
                RankState::Waiting(blocked)
            }
            RankActivity::Waiting(..) | RankActivity::Busy => {
                RankState::Active("is not waiting in MPI".to_owned())
            }
            RankActivity::Unknown => RankState::Active("does not report its state".to_owned()),
        }
    }
}

/// The report on all ranks of a job, in lines.
pub(crate) fn text(host: &str, now_ns: u64, reports: &[RankReport]) -> String {
    let mut lines = vec![format!("mpirun: state of the ranks on {host}:")];
    let states = groups(reports.iter().map(|report| Some(report.description())));
    let hidden = states.len().saturating_sub(GROUPS_MAX);
    for (description, ranks) in states.into_iter().take(GROUPS_MAX) {
        lines.push(format!(
            "  {}: {description}{}",
            rank_names(reports, &ranks),
            figures(reports, &ranks, now_ns)
        ));
    }
    if hidden > 0 {
        lines.push(format!("  and {hidden} more"));
    }
    let states: Vec<_> = reports.iter().map(|report| report.rank_state(now_ns)).collect();
    lines.extend(diagnose(&states).into_iter().map(|sentence| format!("  {sentence}")));
    let stacks = groups(reports.iter().map(|report| report.stacks.as_ref().ok()));
    for (stacks, ranks) in stacks.into_iter().take(GROUPS_MAX) {
        lines.extend(calls(stacks, &ranks));
    }
    lines.extend(missing_stacks(reports));
    lines.join("\n") + "\n"
}

/// `ranks 0,2 (processes 41,43)`
fn rank_names(reports: &[RankReport], ranks: &[u32]) -> String {
    let mut pids: Vec<_> = ranks.iter().map(|rank| reports[*rank as usize].pid).collect();
    pids.sort_unstable();
    let many = if pids.len() == 1 { "" } else { "es" };
    format!("{} (process{many} {})", ranks_named(ranks), ranges(&pids))
}

/// The time for which these ranks have waited, or their processor time.
fn figures(reports: &[RankReport], ranks: &[u32], now_ns: u64) -> String {
    let of_ranks = || ranks.iter().map(|rank| &reports[*rank as usize]);
    if let Some(waited) = time_range(of_ranks().filter_map(|report| report.waited(now_ns))) {
        let queues: Vec<_> = of_ranks().filter_map(RankReport::queues).collect();
        let queues = QueueLengths::describe(&queues);
        let comma = if queues.is_empty() { "" } else { ", " };
        return format!(" for {waited}{comma}{queues}");
    }
    match time_range(of_ranks().filter_map(|report| Some(report.task?.processor_time))) {
        Some(time) => format!(", {time} of processor time"),
        None => String::new(),
    }
}

fn calls(stacks: &[Stack], ranks: &[u32]) -> Vec<String> {
    let mut lines = Vec::new();
    for (number, Stack { threads, calls }) in stacks.iter().enumerate() {
        lines.push(match (number, threads) {
            (0, 1) => format!("  calls of {}:", ranks_named(ranks)),
            (0, threads) => format!("  calls of {}, {threads} threads:", ranks_named(ranks)),
            (_, 1) => "   of another thread:".to_owned(),
            (_, threads) => format!("   of {threads} other threads:"),
        });
        if calls.is_empty() {
            lines.push("    unknown".to_owned());
        }
        lines.extend(calls.iter().map(|StackFrame { function, place }| {
            let is_line =
                place.rsplit_once(':').is_some_and(|(_, line)| line.parse::<u32>().is_ok());
            if is_line {
                format!("    {function} at {place}")
            } else {
                format!("    {function} ({place})")
            }
        }));
    }
    lines
}

/// The reasons for missing stacks.
fn missing_stacks(reports: &[RankReport]) -> Vec<String> {
    let reasons = groups(reports.iter().map(|report| report.stacks.as_ref().err().copied()));
    let line = |(reason, ranks): (Untraceable, Vec<u32>)| {
        let ranks = ranks_named(&ranks);
        match reason {
            Untraceable::Gone => None,
            Untraceable::Forbidden => Some(format!(
                "  no calls of {ranks}: the system forbids to read them (ptrace); a container may \
                 need --cap-add=SYS_PTRACE"
            )),
            Untraceable::Late => Some(format!("  no calls of {ranks}: reading them took too long")),
            Untraceable::Unsupported => {
                Some(format!("  no calls of {ranks}: not supported on this processor architecture"))
            }
        }
    };
    reasons.into_iter().filter_map(line).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::diagnosis::wait_report::{WaitCondition, WaitReport};

    const SECOND_NS: u64 = 1_000_000_000;

    fn report(pid: u32, activity: RankActivity) -> RankReport {
        let task =
            TaskStat { state: TaskState::Running, processor_time: Duration::from_millis(4800) };
        let call = |function: &str, place: &str| StackFrame {
            function: function.into(),
            place: place.into(),
        };
        let calls = vec![call("PMPI_Recv", "libmpi_abi.so.1"), call("main", "a.c:12")];
        RankReport {
            pid,
            exit: None,
            join_state: JoinState::Joined,
            activity,
            task: Some(task),
            stacks: Ok(vec![Stack { threads: 1, calls }]),
        }
    }

    fn receiving(source: u32, since_ns: u64) -> RankActivity {
        let need = WaitCondition { peers: vec![source], ..WaitCondition::default() };
        let details = format!("(source {source}, tag 5)");
        let queues = QueueLengths { posted: 1, ..QueueLengths::default() };
        let receive = WaitReport::new("MPI_Recv");
        RankActivity::Waiting(
            since_ns,
            WaitReport { details, conditions: vec![need], queues, ..receive },
        )
    }

    #[test]
    fn ranks_with_equal_state_share_a_line() {
        let reports = [
            report(40, receiving(1, 100_000_000)),
            RankReport { stacks: Err(Untraceable::Gone), ..report(41, RankActivity::Busy) },
            report(42, receiving(1, 4 * SECOND_NS)),
        ];
        let expected = "\
mpirun: state of the ranks on node7:
  ranks 0,2 (processes 40,42): MPI_Recv(source 1, tag 5) for 1.0 to 4.9 s, 1 receive posted
  rank 1 (process 41): not waiting in MPI: running, 4.8 s of processor time
  ranks 0,2 wait for rank 1, which is not waiting in MPI
  calls of ranks 0,2:
    PMPI_Recv (libmpi_abi.so.1)
    main at a.c:12
";
        assert_eq!(text("node7", 5 * SECOND_NS, &reports), expected);
    }

    #[test]
    fn a_deadlock_is_reported_only_if_all_have_waited_long() {
        let is_reported = |now_ns| {
            let reports = [report(40, receiving(1, 0)), report(41, receiving(0, SECOND_NS))];
            text("node7", now_ns, &reports)
                .contains("deadlock: rank 0 in MPI_Recv(source 1, tag 5)")
        };
        assert!(!is_reported(SECOND_NS + 1000));
        assert!(is_reported(2 * SECOND_NS));
    }

    #[test]
    fn a_stopped_rank_is_not_deadlocked() {
        let mut reports = [report(40, receiving(1, 0)), report(41, receiving(0, 0))];
        reports[1].task =
            Some(TaskStat { state: TaskState::Stopped, processor_time: Duration::ZERO });
        let text = text("node7", SECOND_NS, &reports);
        assert!(text.contains("rank 1 (process 41): MPI_Recv(source 0, tag 5), now stopped by a"));
        assert!(text.contains("rank 0 waits for rank 1, which is stopped by a signal"), "{text}");
    }

    #[test]
    fn every_pmi_state_has_its_description() {
        let with = |activity, join_state, exit| {
            RankReport { join_state, exit, ..report(40, activity) }.description()
        };
        assert!(
            with(RankActivity::Unknown, JoinState::NotJoined, None)
                .starts_with("has not called MPI_Init")
        );
        assert!(with(RankActivity::Unknown, JoinState::Joined, None).contains("does not report"));
        assert!(with(RankActivity::Busy, JoinState::Left, None).starts_with("after MPI_Finalize"));
        let ended = with(RankActivity::Busy, JoinState::Left, Some(Exit::Code(3)));
        assert_eq!(ended, "ended with code 3");
        let killed = with(RankActivity::Busy, JoinState::Joined, Some(Exit::Signal(9)));
        assert_eq!(killed, "was killed by SIGKILL");
    }

    #[test]
    fn missing_stacks_are_reported_once_with_the_reason() {
        let blind = |pid| RankReport {
            stacks: Err(Untraceable::Forbidden),
            ..report(pid, RankActivity::Busy)
        };
        let text = text("node7", 0, &[blind(40), blind(41)]);
        assert_eq!(text.matches("no calls of ranks 0,1: the system forbids").count(), 1, "{text}");
    }
}
