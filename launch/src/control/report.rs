//! What an agent reports of its ranks, in forms that cross hosts: clocks of hosts differ, so times are
//! ages.

use std::time::Duration;

use platform::bootstrap::JoinState;
use platform::diagnosis::job_report::{CallStack, RankReport, StackFrame};
use platform::diagnosis::rank_status::{RankActivity, RankStatus};
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::process::{Exit, TaskStat, TaskState};
use platform::sys::trace::Untraceable;
use serde::{Deserialize, Serialize};

use super::wire::{JoinForm, exit};

/// The report about one rank.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
pub(crate) struct RankFacts {
    pub rank: u32,
    pid: u32,
    #[serde(with = "exit::option")]
    exit: Option<Exit>,
    #[serde(with = "JoinForm")]
    join_state: JoinState,
    activity: ActivityFacts,
    task: Option<TaskFacts>,
    stacks: StackFacts,
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum ActivityFacts {
    Unknown,
    Busy,
    Waiting { age: Duration, report: String },
}

#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
struct TaskFacts {
    #[serde(with = "TaskStateForm")]
    state: TaskState,
    processor_time: Duration,
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "TaskState")]
enum TaskStateForm {
    Running,
    Sleeping,
    Uninterruptible,
    Stopped,
    Traced,
    Ended,
}

/// Stacks, of which each call is a function and a location.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
enum StackFacts {
    Known(Vec<(usize, Vec<(String, String)>)>),
    Unknown(#[serde(with = "UntraceableForm")] Untraceable),
}

#[derive(Serialize, Deserialize)]
#[serde(remote = "Untraceable")]
enum UntraceableForm {
    Gone,
    Forbidden,
    Late,
    Unsupported,
}

impl RankFacts {
    /// The facts of `rank`, at `now_ns` of this host's clock.
    pub(crate) fn new(rank: u32, report: RankReport, now_ns: u64) -> Self {
        let activity = match report.activity {
            RankActivity::Unknown => ActivityFacts::Unknown,
            RankActivity::Busy => ActivityFacts::Busy,
            RankActivity::Waiting(RankStatus { since_ns, report, .. }) => {
                let age = Duration::from_nanos(now_ns.saturating_sub(since_ns));
                ActivityFacts::Waiting { age, report: report.emit() }
            }
        };
        let frame = |call: StackFrame| (call.function, call.location);
        let stack =
            |stack: CallStack| (stack.threads, stack.calls.into_iter().map(frame).collect());
        let stacks = match report.stacks {
            Ok(stacks) => StackFacts::Known(stacks.into_iter().map(stack).collect()),
            Err(why) => StackFacts::Unknown(why),
        };
        let task = report
            .task
            .map(|TaskStat { state, processor_time }| TaskFacts { state, processor_time });
        let RankReport { pid, exit, join_state, .. } = report;
        Self { rank, pid, exit, join_state, activity, task, stacks }
    }

    /// The report, at `now_ns` of this host's clock.
    pub(crate) fn report(self, now_ns: u64) -> RankReport {
        let activity = match self.activity {
            ActivityFacts::Unknown => RankActivity::Unknown,
            ActivityFacts::Busy => RankActivity::Busy,
            ActivityFacts::Waiting { age, report } => {
                let since_ns = now_ns.saturating_sub(age.as_nanos() as u64);
                let status = |report| RankStatus { since_ns, report, steady: None };
                WaitReport::parse(&report)
                    .map_or(RankActivity::Unknown, |report| RankActivity::Waiting(status(report)))
            }
        };
        let frame = |(function, location)| StackFrame { function, location };
        let stack = |(threads, calls): (usize, Vec<_>)| CallStack {
            threads,
            calls: calls.into_iter().map(frame).collect(),
        };
        let stacks = match self.stacks {
            StackFacts::Known(stacks) => Ok(stacks.into_iter().map(stack).collect()),
            StackFacts::Unknown(why) => Err(why),
        };
        let task =
            self.task.map(|TaskFacts { state, processor_time }| TaskStat { state, processor_time });
        let Self { pid, exit, join_state, .. } = self;
        RankReport { pid, exit, join_state, activity, task, stacks }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_report_reads_back_on_a_host_with_another_clock() {
        let calls = vec![StackFrame { function: "main".into(), location: "a.c:3".into() }];
        let report = |since_ns, stacks| RankReport {
            pid: 7,
            exit: Some(Exit::Signal(9)),
            join_state: JoinState::Left,
            activity: RankActivity::Waiting(RankStatus {
                since_ns,
                report: WaitReport::new("MPI_Recv"),
                steady: None,
            }),
            task: Some(TaskStat {
                state: TaskState::Stopped,
                processor_time: Duration::from_millis(5),
            }),
            stacks,
        };
        for stacks in [Ok(vec![CallStack { threads: 2, calls }]), Err(Untraceable::Late)] {
            let facts = RankFacts::new(3, report(900, stacks.clone()), 1000);
            let bytes = postcard::to_stdvec(&facts).unwrap();
            let facts: RankFacts = postcard::from_bytes(&bytes).unwrap();
            assert_eq!((facts.rank, facts.report(50_000)), (3, report(49_900, stacks)));
        }
    }
}
