//! The report about all ranks of a job that takes too long, which `mpirun` prints.
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
//! Ranks with the same description share a line, those of all hosts. The launcher collects the facts;
//! this module only turns them into text.

use std::collections::BTreeMap;
use std::time::Duration;

use super::hang_report::ranks_on_hosts;
use super::rank_status::{RankActivity, RankStatus};
use super::wait_graph::{RankState, diagnose, groups, ranks_named, time_range};
use super::wait_report::{QueueLengths, ranges};
use crate::bootstrap::{JobHosts, JoinState};
use crate::sys::process::{Exit, TaskStat, TaskState};
use crate::sys::signals;
use crate::sys::trace::Untraceable;

/// A rank that has waited for less still counts as able to act: the message that it waits for may
/// be in transit.
const BLOCKED_MIN: Duration = Duration::from_millis(500);

/// The most groups of ranks in a report.
const GROUPS_MAX: usize = 100;

/// The facts about one rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankReport {
    /// The process that uses MPI, else the process that the launcher started.
    pub pid: u32,
    /// How the process ended; `None` while it runs.
    pub exit: Option<Exit>,
    /// The state of its connection to the launcher.
    pub join_state: JoinState,
    /// Its record in the status table.
    pub activity: RankActivity,
    /// What the system tells about the process.
    pub task: Option<TaskStat>,
    /// The call stacks of its threads.
    pub stacks: Result<Vec<CallStack>, Untraceable>,
}

/// Threads of a rank with the same calls.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct CallStack {
    /// The number of such threads.
    pub threads: usize,
    /// The calls, innermost first.
    pub calls: Vec<StackFrame>,
}

/// One call that has not returned.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct StackFrame {
    /// The function, or an address inside `location` if the function has no name.
    pub function: String,
    /// The file and the line if they are known, else the program or library.
    pub location: String,
}

impl RankReport {
    fn is_stopped(&self) -> bool {
        self.task.is_some_and(|task| task.state == TaskState::Stopped)
    }

    fn wait_status(&self) -> Option<&RankStatus> {
        match &self.activity {
            RankActivity::Waiting(status) => Some(status),
            RankActivity::Unknown | RankActivity::Busy => None,
        }
    }

    /// For how long the rank has waited at `now_ns` of the host's clock.
    fn waited(&self, now_ns: u64) -> Option<Duration> {
        let since_ns = self.wait_status()?.since_ns;
        Some(Duration::from_nanos(now_ns.saturating_sub(since_ns)))
    }

    fn queues(&self) -> Option<QueueLengths> {
        Some(self.wait_status()?.report.queues)
    }

    /// What the rank does, without numbers.
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
            (RankActivity::Waiting(RankStatus { report, .. }), _) => {
                format!("{}{}{stopped}", report.function, report.details)
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
            RankActivity::Waiting(status) if self.waited(now_ns) >= Some(BLOCKED_MIN) => {
                RankState::Waiting(&status.report)
            }
            RankActivity::Waiting(..) | RankActivity::Busy => {
                RankState::Active("is not waiting in MPI".to_owned())
            }
            RankActivity::Unknown => RankState::Active("does not report its state".to_owned()),
        }
    }
}

/// The report about the ranks of a job on `hosts`, in lines; `reports` are in the order of ranks, with
/// `None` for ranks that are not known.
pub fn text(hosts: &JobHosts, now_ns: u64, reports: &[Option<RankReport>]) -> String {
    let place = if hosts.is_one() { format!(" on {}", hosts.name_of(0)) } else { String::new() };
    let mut lines = vec![format!("mpirun: state of the ranks{place}:")];
    let reports: Vec<_> = reports.iter().map(Option::as_ref).collect();
    let descriptions = groups(reports.iter().map(|report| Some(report.as_ref()?.description())));
    let hidden = descriptions.len().saturating_sub(GROUPS_MAX);
    for (description, ranks) in descriptions.into_iter().take(GROUPS_MAX) {
        let names = rank_names(&reports, &ranks, hosts);
        lines.push(format!("  {names}: {description}{}", times(&reports, &ranks, now_ns)));
    }
    if hidden > 0 {
        lines.push(format!("  and {hidden} more"));
    }
    let unknown: Vec<_> =
        (0..).zip(&reports).filter(|(_, one)| one.is_none()).map(|(rank, _)| rank).collect();
    if !unknown.is_empty() {
        lines.push(format!("  {}: no report", ranks_on_hosts(&unknown, hosts)));
    }
    let states = reports.iter().map(|report| match report {
        Some(report) => report.rank_state(now_ns),
        None => RankState::Active("is not known".to_owned()),
    });
    let states: Vec<_> = states.collect();
    lines.extend(diagnose(&states).into_iter().map(|sentence| format!("  {sentence}")));
    let stacks = groups(reports.iter().map(|report| report.as_ref()?.stacks.as_ref().ok()));
    for (stacks, ranks) in stacks.into_iter().take(GROUPS_MAX) {
        lines.extend(calls(stacks, &ranks));
    }
    lines.extend(missing_stacks(&reports));
    lines.join("\n") + "\n"
}

/// `ranks 0,2 (processes 41,43)`, on several hosts `ranks 0,2 on node1 (processes 41,43), 1 on node2
/// (process 9)`.
fn rank_names(reports: &[Option<&RankReport>], ranks: &[u32], hosts: &JobHosts) -> String {
    if hosts.is_one() {
        return format!("{} {}", ranks_named(ranks), processes(reports, ranks));
    }
    let mut by_host = BTreeMap::<u32, Vec<u32>>::new();
    for rank in ranks {
        by_host.entry(hosts.number_of(*rank)).or_default().push(*rank);
    }
    let on_host = |ranks: &Vec<u32>| {
        format!("{} on {} {}", ranges(ranks), hosts.name_of(ranks[0]), processes(reports, ranks))
    };
    let plural = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{plural} {}", by_host.values().map(on_host).collect::<Vec<_>>().join(", "))
}

/// `(processes 41,43)`
fn processes(reports: &[Option<&RankReport>], ranks: &[u32]) -> String {
    let pid = |rank: &u32| Some(reports[*rank as usize]?.pid);
    let mut pids: Vec<_> = ranks.iter().filter_map(pid).collect();
    pids.sort_unstable();
    let plural = if pids.len() == 1 { "" } else { "es" };
    format!("(process{plural} {})", ranges(&pids))
}

/// How long these ranks have waited, with their queues, or how long they have computed.
fn times(reports: &[Option<&RankReport>], ranks: &[u32], now_ns: u64) -> String {
    let of_ranks = || ranks.iter().filter_map(|rank| reports[*rank as usize]);
    if let Some(waited) = time_range(of_ranks().filter_map(|report| report.waited(now_ns))) {
        let queues: Vec<_> = of_ranks().filter_map(|report| report.queues()).collect();
        let queues = QueueLengths::describe(&queues);
        let comma = if queues.is_empty() { "" } else { ", " };
        return format!(" for {waited}{comma}{queues}");
    }
    match time_range(of_ranks().filter_map(|report| Some(report.task?.processor_time))) {
        Some(time) => format!(", {time} of processor time"),
        None => String::new(),
    }
}

fn calls(stacks: &[CallStack], ranks: &[u32]) -> Vec<String> {
    let mut lines = Vec::new();
    for (index, CallStack { threads, calls }) in stacks.iter().enumerate() {
        lines.push(match (index, threads) {
            (0, 1) => format!("  calls of {}:", ranks_named(ranks)),
            (0, threads) => format!("  calls of {}, {threads} threads:", ranks_named(ranks)),
            (_, 1) => "   of another thread:".to_owned(),
            (_, threads) => format!("   of {threads} other threads:"),
        });
        if calls.is_empty() {
            lines.push("    unknown".to_owned());
        }
        lines.extend(calls.iter().map(|StackFrame { function, location }| {
            let line = location.rsplit_once(':').map(|(_, line)| line.parse::<u32>());
            match line {
                Some(Ok(_)) => format!("    {function} at {location}"),
                Some(Err(_)) | None => format!("    {function} ({location})"),
            }
        }));
    }
    lines
}

/// Lines about ranks without call stacks.
fn missing_stacks(reports: &[Option<&RankReport>]) -> Vec<String> {
    let reasons =
        groups(reports.iter().map(|report| report.as_ref()?.stacks.as_ref().err().copied()));
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
    use crate::diagnosis::wait_report::{WaitCondition, WaitReport};

    const SECOND_NS: u64 = 1_000_000_000;

    fn report(pid: u32, activity: RankActivity) -> RankReport {
        let task =
            TaskStat { state: TaskState::Running, processor_time: Duration::from_millis(4800) };
        let call = |function: &str, location: &str| StackFrame {
            function: function.into(),
            location: location.into(),
        };
        let calls = vec![call("PMPI_Recv", "libmpi_abi.so.1"), call("main", "a.c:12")];
        RankReport {
            pid,
            exit: None,
            join_state: JoinState::Joined,
            activity,
            task: Some(task),
            stacks: Ok(vec![CallStack { threads: 1, calls }]),
        }
    }

    fn node7() -> JobHosts {
        JobHosts::one("node7".to_owned())
    }

    fn receiving(source: u32, since_ns: u64) -> RankActivity {
        let condition = WaitCondition { peers: vec![source], ..WaitCondition::default() };
        let report = WaitReport {
            details: format!("(source {source}, tag 5)"),
            conditions: vec![condition],
            queues: QueueLengths { posted: 1, ..QueueLengths::default() },
            ..WaitReport::new("MPI_Recv")
        };
        RankActivity::Waiting(RankStatus { since_ns, report, steady: None })
    }

    #[test]
    fn ranks_with_the_same_description_share_a_line() {
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
        assert_eq!(text(&node7(), 5 * SECOND_NS, &reports.map(Some)), expected);
    }

    #[test]
    fn ranks_of_all_hosts_share_lines_and_sentences() {
        let names = ["node1", "node2", "node1", "node2", "node3"];
        let hosts = JobHosts::of_ranks(names.iter().map(|name| (*name, *name)));
        let untraced =
            |pid, activity| RankReport { stacks: Err(Untraceable::Gone), ..report(pid, activity) };
        let reports = [
            Some(untraced(40, receiving(1, 0))),
            Some(untraced(7, receiving(0, 0))),
            Some(untraced(41, receiving(1, 0))),
            Some(untraced(9, receiving(4, 0))),
            None,
        ];
        let expected = "\
mpirun: state of the ranks:
  ranks 0,2 on node1 (processes 40,41): MPI_Recv(source 1, tag 5) for 1.0 s, 1 receive posted
  rank 1 on node2 (process 7): MPI_Recv(source 0, tag 5) for 1.0 s, 1 receive posted
  rank 3 on node2 (process 9): MPI_Recv(source 4, tag 5) for 1.0 s, 1 receive posted
  rank 4 on node3: no report
  deadlock: rank 0 in MPI_Recv(source 1, tag 5) <- rank 1 in MPI_Recv(source 0, tag 5) <- rank 0
  rank 3 waits for rank 4, which is not known
";
        assert_eq!(text(&hosts, SECOND_NS, &reports), expected);
    }

    #[test]
    fn a_deadlock_is_reported_only_after_all_have_waited_for_long() {
        let has_deadlock = |now_ns| {
            let reports = [report(40, receiving(1, 0)), report(41, receiving(0, SECOND_NS))];
            text(&node7(), now_ns, &reports.map(Some))
                .contains("deadlock: rank 0 in MPI_Recv(source 1, tag 5)")
        };
        assert!(!has_deadlock(SECOND_NS + 1000));
        assert!(has_deadlock(2 * SECOND_NS));
    }

    #[test]
    fn a_stopped_rank_is_no_deadlock() {
        let mut reports = [report(40, receiving(1, 0)), report(41, receiving(0, 0))];
        reports[1].task =
            Some(TaskStat { state: TaskState::Stopped, processor_time: Duration::ZERO });
        let text = text(&node7(), SECOND_NS, &reports.map(Some));
        assert!(text.contains("rank 1 (process 41): MPI_Recv(source 0, tag 5), now stopped by a"));
        assert!(text.contains("rank 0 waits for rank 1, which is stopped by a signal"), "{text}");
    }

    #[test]
    fn every_state_has_its_description() {
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
        let untraceable = |pid| RankReport {
            stacks: Err(Untraceable::Forbidden),
            ..report(pid, RankActivity::Busy)
        };
        let text = text(&node7(), 0, &[untraceable(40), untraceable(41)].map(Some));
        assert_eq!(text.matches("no calls of ranks 0,1: the system forbids").count(), 1, "{text}");
    }
}
