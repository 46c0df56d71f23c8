//! Executor of schedules and of programs event by event: the reference for [`levelled`](super::levelled), and the one
//! that knows [`links`].
//!
//! | file | content |
//! |---|---|
//! | `schedules`, `steps` | steps of the host, and their compact form |
//! | `machine` | what ranks use and share: processors, ports, the main loop |
//! | `links` | messages on links |
//! | `causes` | times with what led to them |
//! | `event_queue` | events by time; events of one time are ordered by rank and step |

mod causes;
mod event_queue;
mod links;
mod machine;
mod schedules;
mod steps;

use super::costs::StepCosts;
use super::levelled::ReportProgress;
use super::{RunTimes, last_of};
use crate::collective::ScheduleOf;
pub use links::{LinkNetwork, LinkUse};
use schedules::ScheduleExecutor;
use steps::EventSteps;

/// What a run shows.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct EventRun {
    /// Times, path and messages.
    pub times: RunTimes,
    /// What each link has carried, by number.
    pub links: Vec<LinkUse>,
    /// Number of events.
    pub events: u64,
}

/// Runs `schedule` on `ranks` ranks, on a network without links.
///
/// # Errors
/// A message has only one end, some steps never start, there are too many of them, or they may take longer than times
/// can be.
pub fn run(ranks: u32, schedule: &ScheduleOf<'_>, costs: &StepCosts) -> Result<EventRun, String> {
    run_on_links(ranks, schedule, costs, None, &|_| {})
}

/// Runs `schedule` on `ranks` ranks.
///
/// # Errors
/// As [`run`].
pub fn run_on_links(
    ranks: u32, schedule: &ScheduleOf<'_>, costs: &StepCosts, network: Option<&LinkNetwork>,
    progress: ReportProgress<'_>,
) -> Result<EventRun, String> {
    let steps = EventSteps::new(ranks, schedule, costs)?;
    costs.check(&steps.totals)?;
    let mut run = ScheduleExecutor::new(steps, costs, network);
    let events = run.run(progress)?;
    let ends: Vec<_> = run.ends().collect();
    let ends_ps: Vec<u64> = ends.iter().map(|end| end.time_ps).collect();
    let last = last_of(&ends_ps);
    let end = ends.get(last).copied().unwrap_or_default();
    let times = RunTimes {
        ends_ps,
        quiet_ps: run.quiet_ps,
        last: last as u32,
        path: run.machine.causes.path(end, &costs.network),
        rounds: run.steps.rounds,
        totals: run.steps.totals,
    };
    let links = run.machine.links.map_or_else(Vec::new, |links| links.uses());
    Ok(EventRun { times, links, events })
}
