//! From the plan of a job to the share of each host.

use std::ffi::OsString;
use std::io;

use platform::sys::secret::JobCredentials;

use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::{App, LaunchPlan};
use crate::control::{HostShare, RankShare, ShareApp, ShareSecret};
use crate::placement::Placement;

/// The share of a job of `plan`, named `job`, that runs on one host.
///
/// # Errors
/// The system gives no random bytes.
pub(super) fn of_one_host(
    plan: &LaunchPlan, environments: &[Vec<EnvironmentVariable>], placement: &Placement, job: &str,
    holds: bool,
) -> io::Result<HostShare> {
    let JobCredentials { id, key } = JobCredentials::draw()?;
    let rank = |rank| RankShare {
        rank,
        processors: placement.of_rank(rank).map(<[_]>::to_vec),
        reads_input: plan.input.is_for(rank),
    };
    Ok(HostShare {
        job: job.to_owned(),
        secret: ShareSecret { id, key },
        size: plan.size(),
        apps: plan.apps.iter().zip(environments).map(program).collect(),
        app_of_rank: plan.app_of_rank(),
        host_of_rank: Vec::new(),
        ranks: (0..plan.size()).map(rank).collect(),
        shares_pipe: plan.output.shares_pipe(),
        holds,
    })
}

fn program((app, environment): (&App, &Vec<EnvironmentVariable>)) -> ShareApp {
    let wrap =
        |wrap: &crate::command_line::plan::RankWrapper| (wrap.ranks.clone(), wrap.words.clone());
    ShareApp {
        program: app.program.clone(),
        arguments: app.arguments.clone(),
        environment: environment.clone(),
        directory: app.directory.clone().map(OsString::from),
        path: app.path.clone(),
        wraps: app.wraps.iter().map(wrap).collect(),
    }
}
