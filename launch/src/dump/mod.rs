//! What the launcher says of every rank of a job that takes too long.
//!
//! ```text
//!   mpirun: where the ranks are on node7:
//!     ranks 0,2 (processes 41,43): MPI_Allreduce(MPI_COMM_WORLD, call 17) for 4.9 s, 3 receives
//!       posted
//!     rank 1 (process 42): not waiting in MPI: running, 4.9 s of processor time
//!     ranks 0,2 wait for rank 1, which is not waiting in MPI
//!     calls of ranks 0,2:
//!       PMPI_Allreduce (libmpi_abi.so.1)
//!       main at solver.c:12
//! ```
//!
//! Ranks of which the same is to be said are said together.

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

/// How long ranks may be made to stand still, all together, and how long names may be looked for.
pub(crate) const SNAPSHOT_TIMEOUT: Duration = Duration::from_secs(1);
pub(crate) const SYMBOL_TIMEOUT: Duration = Duration::from_secs(5);

/// A rank that waits for less is not taken for one that others hope for in vain: its message may
/// be on the way.
const BLOCKED_MIN: Duration = Duration::from_millis(500);

/// How many groups of ranks are told.
const GROUPS_MAX: usize = 100;

/// All that is known of one rank.
#[derive(Debug)]
pub(crate) struct RankReport {
    /// The process that does MPI, else the one that was started.
    pub pid: u32,
    /// How it ended, if it has.
    pub exit: Option<Exit>,
    /// What it said to the launcher.
    pub standing: JoinState,
    /// What it says of itself, and for how long it has waited.
    pub doing: RankActivity,
    /// What the system says.
    pub vitals: Option<TaskStat>,
    /// Where its threads are.
    pub stacks: Result<Vec<Stack>, Untraceable>,
}

/// All that is known of one rank, with threads that are not understood yet.
#[derive(Debug)]
pub(crate) struct RankSnapshot {
    report: RankReport,
    copies: Option<ThreadSnapshots>,
}

impl RankSnapshot {
    /// Looks at the process of a rank until `deadline`, if it has not ended; the rest is given.
    pub(crate) fn of(
        pid: u32, exit: Option<Exit>, standing: JoinState, doing: RankActivity, deadline: Instant,
    ) -> Self {
        // Looking at its threads makes them stop, so its state comes first.
        let vitals = process::task_stat(pid).filter(|_| exit.is_none());
        let copies = match exit {
            Some(_) => Err(Untraceable::Gone),
            None if Instant::now() >= deadline => Err(Untraceable::Late),
            None => ThreadSnapshots::take(pid, deadline),
        };
        let stacks = copies.as_ref().map(|_| Vec::new()).map_err(|why| *why);
        let report = RankReport { pid, exit, standing, doing, vitals, stacks };
        Self { report, copies: copies.ok() }
    }

    /// The whole report; names are looked for until `deadline`.
    pub(crate) fn report(mut self, files: &mut ProgramFiles, deadline: Instant) -> RankReport {
        if let Some(copies) = self.copies {
            self.report.stacks = Ok(copies.stacks(files, deadline));
        }
        self.report
    }
}

impl RankReport {
    fn is_stopped(&self) -> bool {
        self.vitals.is_some_and(|vitals| vitals.state == TaskState::Stopped)
    }

    /// For how long it has waited at `now_ns` of the host's clock.
    fn waited(&self, now_ns: u64) -> Option<Duration> {
        match &self.doing {
            RankActivity::Waiting(since_ns, _) => {
                Some(Duration::from_nanos(now_ns.saturating_sub(*since_ns)))
            }
            RankActivity::Unknown | RankActivity::Busy => None,
        }
    }

    /// What is in its queues, if it waits.
    fn queues(&self) -> Option<QueueLengths> {
        match &self.doing {
            RankActivity::Waiting(_, blocked) => Some(blocked.queues),
            RankActivity::Unknown | RankActivity::Busy => None,
        }
    }

    /// What it does, without figures.
    fn description(&self) -> String {
        let state = match (self.exit, self.vitals) {
            (Some(Exit::Code(code)), _) => return format!("ended with code {code}"),
            (Some(Exit::Signal(signal)), _) => {
                return format!("was killed by {}", signals::name(signal));
            }
            (None, Some(vitals)) => vitals.state.describe(),
            (None, None) => "gone",
        };
        let stopped = if self.is_stopped() { ", now stopped by a signal" } else { "" };
        match (&self.doing, self.standing) {
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
                format!("in an MPI that does not say what it does: {state}")
            }
        }
    }

    fn rank_state(&self, now_ns: u64) -> RankState<'_> {
        match &self.doing {
            _ if self.exit.is_some() => RankState::Ended,
            _ if self.is_stopped() => RankState::Active("is stopped by a signal".to_owned()),
            RankActivity::Waiting(_, blocked) if self.waited(now_ns) >= Some(BLOCKED_MIN) => {
                RankState::Waiting(blocked)
            }
            RankActivity::Waiting(..) | RankActivity::Busy => {
                RankState::Active("is not waiting in MPI".to_owned())
            }
            RankActivity::Unknown => RankState::Active("does not say what it does".to_owned()),
        }
    }
}

/// What to say of all ranks of a job, in lines.
pub(crate) fn text(host: &str, now_ns: u64, reports: &[RankReport]) -> String {
    let mut lines = vec![format!("mpirun: where the ranks are on {host}:")];
    let states = groups(reports.iter().map(|report| Some(report.description())));
    let hidden = states.len().saturating_sub(GROUPS_MAX);
    for (words, ranks) in states.into_iter().take(GROUPS_MAX) {
        lines.push(format!(
            "  {}: {words}{}",
            rank_names(reports, &ranks),
            figures(reports, &ranks, now_ns)
        ));
    }
    if hidden > 0 {
        lines.push(format!("  and {hidden} more"));
    }
    let fates: Vec<_> = reports.iter().map(|report| report.rank_state(now_ns)).collect();
    lines.extend(diagnose(&fates).into_iter().map(|sentence| format!("  {sentence}")));
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

/// How long these ranks have waited, or what they have computed.
fn figures(reports: &[RankReport], ranks: &[u32], now_ns: u64) -> String {
    let of_ranks = || ranks.iter().map(|rank| &reports[*rank as usize]);
    if let Some(waited) = time_range(of_ranks().filter_map(|report| report.waited(now_ns))) {
        let queues: Vec<_> = of_ranks().filter_map(RankReport::queues).collect();
        let queues = QueueLengths::describe(&queues);
        let comma = if queues.is_empty() { "" } else { ", " };
        return format!(" for {waited}{comma}{queues}");
    }
    match time_range(of_ranks().filter_map(|report| Some(report.vitals?.processor_time))) {
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
            lines.push("    not known".to_owned());
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

/// Why there are no calls of some ranks.
fn missing_stacks(reports: &[RankReport]) -> Vec<String> {
    let reasons = groups(reports.iter().map(|report| report.stacks.as_ref().err().copied()));
    let line = |(reason, ranks): (Untraceable, Vec<u32>)| {
        let ranks = ranks_named(&ranks);
        match reason {
            Untraceable::Gone => None,
            Untraceable::Forbidden => Some(format!(
                "  no calls of {ranks}: the system forbids to look (ptrace); a container may \
                 need --cap-add=SYS_PTRACE"
            )),
            Untraceable::Late => Some(format!("  no calls of {ranks}: looking took too long")),
            Untraceable::Unsupported => {
                Some(format!("  no calls of {ranks}: not possible on this kind of processor"))
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

    fn report(pid: u32, doing: RankActivity) -> RankReport {
        let vitals =
            TaskStat { state: TaskState::Running, processor_time: Duration::from_millis(4800) };
        let call = |function: &str, place: &str| StackFrame {
            function: function.into(),
            place: place.into(),
        };
        let calls = vec![call("PMPI_Recv", "libmpi_abi.so.1"), call("main", "a.c:12")];
        RankReport {
            pid,
            exit: None,
            standing: JoinState::Joined,
            doing,
            vitals: Some(vitals),
            stacks: Ok(vec![Stack { threads: 1, calls }]),
        }
    }

    fn receiving(source: u32, since_ns: u64) -> RankActivity {
        let need = WaitCondition { peers: vec![source], ..WaitCondition::default() };
        let words = format!("(source {source}, tag 5)");
        let queues = QueueLengths { posted: 1, ..QueueLengths::default() };
        let receive = WaitReport::new("MPI_Recv");
        RankActivity::Waiting(
            since_ns,
            WaitReport { details: words, conditions: vec![need], queues, ..receive },
        )
    }

    #[test]
    fn ranks_of_which_the_same_is_said_are_said_together() {
        let reports = [
            report(40, receiving(1, 100_000_000)),
            RankReport { stacks: Err(Untraceable::Gone), ..report(41, RankActivity::Busy) },
            report(42, receiving(1, 4 * SECOND_NS)),
        ];
        let expected = "\
mpirun: where the ranks are on node7:
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
    fn a_deadlock_is_told_only_once_all_have_waited_for_long() {
        let told = |now_ns| {
            let reports = [report(40, receiving(1, 0)), report(41, receiving(0, SECOND_NS))];
            text("node7", now_ns, &reports)
                .contains("deadlock: rank 0 in MPI_Recv(source 1, tag 5)")
        };
        assert!(!told(SECOND_NS + 1000));
        assert!(told(2 * SECOND_NS));
    }

    #[test]
    fn a_stopped_rank_is_no_deadlock() {
        let mut reports = [report(40, receiving(1, 0)), report(41, receiving(0, 0))];
        reports[1].vitals =
            Some(TaskStat { state: TaskState::Stopped, processor_time: Duration::ZERO });
        let text = text("node7", SECOND_NS, &reports);
        assert!(text.contains("rank 1 (process 41): MPI_Recv(source 0, tag 5), now stopped by a"));
        assert!(text.contains("rank 0 waits for rank 1, which is stopped by a signal"), "{text}");
    }

    #[test]
    fn every_standing_has_its_words() {
        let with = |doing, standing, exit| {
            RankReport { standing, exit, ..report(40, doing) }.description()
        };
        assert!(
            with(RankActivity::Unknown, JoinState::NotJoined, None)
                .starts_with("has not called MPI_Init")
        );
        assert!(with(RankActivity::Unknown, JoinState::Joined, None).contains("does not say"));
        assert!(with(RankActivity::Busy, JoinState::Left, None).starts_with("after MPI_Finalize"));
        let ended = with(RankActivity::Busy, JoinState::Left, Some(Exit::Code(3)));
        assert_eq!(ended, "ended with code 3");
        let killed = with(RankActivity::Busy, JoinState::Joined, Some(Exit::Signal(9)));
        assert_eq!(killed, "was killed by SIGKILL");
    }

    #[test]
    fn what_could_not_be_looked_at_is_told_once_with_the_reason() {
        let blind = |pid| RankReport {
            stacks: Err(Untraceable::Forbidden),
            ..report(pid, RankActivity::Busy)
        };
        let text = text("node7", 0, &[blind(40), blind(41)]);
        assert_eq!(text.matches("no calls of ranks 0,1: the system forbids").count(), 1, "{text}");
    }
}
