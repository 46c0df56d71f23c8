//! Executor of schedules and of programs event by event: the reference for [`levelled`](super::levelled), and the one
//! that knows [`links`].
//!
//! | file | content |
//! |---|---|
//! | `schedules`, `steps` | steps of the host, and their compact form |
//! | `programs` | programs of interfaces |
//! | `machine` | what ranks use and share: processors, ports, the main loop |
//! | `links` | messages on links |
//! | `causes` | times with what led to them |
//! | `event_queue` | events by time; events of one time are ordered by rank and step |

mod causes;
mod event_queue;
mod links;
mod machine;
mod programs;
mod schedules;
mod steps;

use mpi_abi::offload::Program;

use super::costs::StepCosts;
use super::levelled::ReportProgress;
use super::{RunTimes, last_of};
use crate::collective::ScheduleOf;
use causes::EventMark;
pub use links::{LinkNetwork, LinkUse};
use machine::EventMachine;
use programs::ProgramExecutor;
pub use programs::{InstanceTimes, InterfaceSetting, LevelChange};
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
    let times = RunTimes {
        quiet_ps: run.quiet_ps,
        rounds: run.steps.rounds,
        totals: run.steps.totals,
        ..RunTimes::default()
    };
    let ends: Vec<_> = run.ends().collect();
    Ok(finished(run.machine, &ends, times, events))
}

/// Runs programs, one for each rank.
///
/// # Errors
/// An interface cannot hold its program, a program stops before its end, or programs may take longer than times can be.
pub fn run_programs(
    programs: &[Program], costs: &StepCosts, network: Option<&LinkNetwork>,
    setting: &InterfaceSetting, progress: ReportProgress<'_>,
) -> Result<(EventRun, InstanceTimes), String> {
    let totals = programs::totals(programs, setting);
    costs.check(&totals)?;
    let mut run = ProgramExecutor::new(programs, costs, network, *setting)?;
    let events = run.run(progress)?;
    let times = RunTimes { quiet_ps: run.quiet_ps, totals, ..RunTimes::default() };
    let ends: Vec<_> = run.ends().collect();
    Ok((finished(run.machine, &ends, times, events), run.times))
}

/// The result of a run whose ranks have completed at `ends`.
fn finished(
    machine: EventMachine<'_>, ends: &[EventMark], times: RunTimes, events: u64,
) -> EventRun {
    let ends_ps: Vec<u64> = ends.iter().map(|end| end.time_ps).collect();
    let last = last_of(&ends_ps);
    let end = ends.get(last).copied().unwrap_or_default();
    let path = machine.causes.path(end, &machine.costs.network);
    let times = RunTimes { ends_ps, last: last as u32, path, ..times };
    let links = machine.links.map_or_else(Vec::new, |links| links.uses());
    EventRun { times, links, events }
}
