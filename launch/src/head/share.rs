//! From the plan of a job to the share of each host.

use std::env;
use std::ffi::OsString;

use platform::bootstrap::FenceMerger;

use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::{App, HostLayout, LaunchPlan, RankWrapper};
use crate::control::{HostShare, RankShare, ShareApp, ShareSecret};
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
}

impl ShareMaker<'_> {
    /// Barriers and values of PMI that concern several hosts.
    pub(super) fn fences(&self) -> FenceMerger {
        let size = self.plan.size();
        let hosts = 0..=self.layout.remote.len() as u32;
        let ranks = hosts.map(|host| self.layout.ranks_on(host, size).into_iter().collect());
        FenceMerger::new(size, ranks.collect())
    }

    /// The share of `host`.
    pub(super) fn of_host(&self, host: u32) -> HostShare {
        let plan = self.plan;
        let rank = |rank: &u32| RankShare {
            rank: *rank,
            processors: self.placement.of_rank(*rank).map(<[_]>::to_vec),
            reads_input: plan.input.is_for(*rank),
        };
        let apps = plan.apps.iter().zip(self.environments);
        HostShare {
            job: self.job.clone(),
            secret: self.secret.clone(),
            size: plan.size(),
            apps: apps.map(|(app, variables)| program(app, variables, host)).collect(),
            app_of_rank: plan.app_of_rank(),
            host_of_rank: self.layout.host_of_rank.clone(),
            ranks: self.layout.ranks_on(host, plan.size()).iter().map(rank).collect(),
            shares_pipe: plan.output.shares_pipe(),
            holds: self.holds,
        }
    }
}

fn program(app: &App, environment: &[EnvironmentVariable], host: u32) -> ShareApp {
    let wrap = |wrap: &RankWrapper| (wrap.ranks.clone(), wrap.words.clone());
    let directory = match (host, &app.directory) {
        (0, directory) => directory.clone(),
        // An agent starts in another directory than the launcher.
        (_, directory) => {
            let here = env::current_dir().unwrap_or_else(|_| "/".into());
            Some(directory.as_ref().map_or(here.clone(), |directory| here.join(directory)))
        }
    };
    ShareApp {
        program: app.program.clone(),
        arguments: app.arguments.clone(),
        environment: environment.to_vec(),
        directory: directory.map(OsString::from),
        path: app.path.clone(),
        wraps: app.wraps.iter().map(wrap).collect(),
    }
}
