//! From the plan of a job to the share of each host.

use std::env;
use std::ffi::OsString;

use platform::bootstrap::FenceMerger;
use platform::sys::limits;

use super::environment;
use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::{App, EnvironmentChanges, HostLayout, LaunchPlan, RankWrapper};
use crate::control::{HostShare, RankShare, ShareApp, ShareSecret};
use crate::output::OutputOptions;
use crate::placement::Placement;

/// What all shares of a job have in common.
#[derive(Clone, Debug)]
pub(super) struct ShareMaker<'a> {
    pub plan: &'a LaunchPlan,
    /// The variables of each program.
    pub environments: &'a [Vec<EnvironmentVariable>],
    /// Of a job on several hosts, as if other hosts were as this one, until their agents are heard.
    pub placement: Placement,
    /// The hosts of the ranks by `placement`.
    pub layout: HostLayout,
    /// The name of the job.
    pub job: String,
    pub secret: ShareSecret,
    pub holds: bool,
    /// The limit of open files that `mpirun` was started with.
    pub file_limit: u64,
}

impl ShareMaker<'_> {
    /// Barriers and values of PMI that concern several hosts.
    pub(super) fn fences(&self) -> FenceMerger {
        let size = self.plan.size();
        let hosts = 0..=self.layout.remote.len() as u32;
        let ranks = hosts.map(|host| self.layout.ranks_on(host, size).into_iter().collect());
        FenceMerger::new(size, ranks.collect())
    }

    /// The files of the ranks of `host`, if they are written there.
    fn output_on(&self, host: u32) -> Option<(OutputOptions, String)> {
        let writes = host != 0 && self.plan.output.writes_on_hosts();
        let here = env::current_dir().unwrap_or_else(|_| "/".into());
        let name = self.layout.name_of(host, "").to_owned();
        writes.then(|| (self.plan.output.below(&here), name))
    }

    /// The share of `host`.
    pub(super) fn of_host(&self, host: u32) -> HostShare {
        let plan = self.plan;
        let rank = |rank: &u32| RankShare {
            rank: *rank,
            processors: self.placement.of_rank(*rank).map(<[_]>::to_vec),
            reads_input: plan.input.is_for(*rank),
        };
        let (apps, global) = (plan.apps.iter().zip(self.environments), &plan.global_environment);
        HostShare {
            job: self.job.clone(),
            secret: self.secret.clone(),
            size: plan.size(),
            apps: apps.map(|(app, variables)| program(app, (variables, global), host)).collect(),
            app_of_rank: plan.app_of_rank(),
            host_of_rank: self.layout.host_of_rank.clone(),
            ranks: self.layout.ranks_on(host, plan.size()).iter().map(rank).collect(),
            output: self.output_on(host),
            shares_pipe: plan.output.shares_pipe(),
            survives: plan.survives,
            holds: self.holds,
            limits: if host == 0 { Vec::new() } else { limits::own() },
            file_limit: self.file_limit,
            file_mask: limits::file_mask(),
        }
    }
}

fn program(
    app: &App, (environment, global): (&[EnvironmentVariable], &EnvironmentChanges), host: u32,
) -> ShareApp {
    let wrap = |wrap: &RankWrapper| (wrap.ranks.clone(), wrap.words.clone());
    let directory = match (host, &app.directory) {
        (0, directory) => directory.clone(),
        // An agent starts in another directory than the launcher.
        (_, directory) => {
            let here = env::current_dir().unwrap_or_else(|_| "/".into());
            Some(directory.as_ref().map_or(here.clone(), |directory| here.join(directory)))
        }
    };
    let (environment, host_variables) = match host {
        0 => (environment.to_vec(), Vec::new()),
        _ => environment::for_other_host(environment, [global, &app.variables]),
    };
    ShareApp {
        program: app.program.clone(),
        arguments: app.arguments.clone(),
        environment,
        host_variables,
        directory: directory.map(OsString::from),
        path: app.path.clone(),
        wraps: app.wraps.iter().map(wrap).collect(),
    }
}
