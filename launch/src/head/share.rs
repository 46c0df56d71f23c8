//! From the plan of a job to the share of each host.

use std::env;
use std::ffi::OsString;

use crate::LaunchError;
use crate::agent::environment::EnvironmentVariable;
use crate::command_line::plan::{App, LaunchPlan, RankWrapper};
use crate::control::{HostShare, RankShare, ShareApp, ShareSecret};
use crate::mpirun::threads;
use crate::placement::report::bindings_of;
use crate::placement::{HostResources, Placement, place_on_one_of_several};
use platform::sys::topology::CpuTopology;

/// What all shares of a job have in common.
#[derive(Clone, Debug)]
pub(super) struct ShareMaker<'a> {
    pub plan: &'a LaunchPlan,
    /// The variables of each program.
    pub environments: &'a [Vec<EnvironmentVariable>],
    pub placement: &'a Placement,
    /// The name of the job.
    pub job: String,
    pub secret: ShareSecret,
    pub holds: bool,
}

impl ShareMaker<'_> {
    /// The share of the launcher's own host.
    pub(super) fn of_own_host(&self) -> HostShare {
        let ranks = self.plan.layout.ranks_on(0, self.plan.size());
        let processors = ranks.iter().map(|rank| self.placement.of_rank(*rank).map(<[_]>::to_vec));
        self.of_host(0, &ranks, processors.collect())
    }

    /// The share of another host with this topology, and its binding in lines.
    ///
    /// # Errors
    /// The host cannot satisfy the request for placement.
    pub(super) fn of_other_host(
        &self, host: u32, topology: &CpuTopology,
    ) -> Result<(HostShare, Vec<String>), LaunchError> {
        let plan = self.plan;
        let ranks = plan.layout.ranks_on(host, plan.size());
        let threads = threads(self.environments);
        let supposed = CpuTopology::here().unwrap_or_else(|_| topology.clone());
        let placed =
            place_on_one_of_several(&plan.placement, topology, &supposed, &ranks, threads)?;
        let name = &*plan.layout.remote[host as usize - 1].name;
        let mut lines: Vec<_> =
            placed.note.iter().map(|note| format!("note: {name}: {note}")).collect();
        if plan.quiet {
            lines.clear();
        }
        if plan.display.report {
            let resources = HostResources {
                name,
                identity: name,
                slots: None,
                slots_max: None,
                topology,
                is_supposed: false,
            };
            lines.extend(bindings_of(&resources, &ranks, &placed.processors));
        }
        Ok((self.of_host(host, &ranks, placed.processors), lines))
    }

    fn of_host(&self, host: u32, ranks: &[u32], processors: Vec<Option<Vec<usize>>>) -> HostShare {
        let plan = self.plan;
        let rank = |(rank, processors): (&u32, Option<Vec<usize>>)| RankShare {
            rank: *rank,
            processors,
            reads_input: plan.input.is_for(*rank),
        };
        let apps = plan.apps.iter().zip(self.environments);
        HostShare {
            job: self.job.clone(),
            secret: self.secret.clone(),
            size: plan.size(),
            apps: apps.map(|(app, variables)| program(app, variables, host)).collect(),
            app_of_rank: plan.app_of_rank(),
            host_of_rank: plan.layout.host_of_rank.clone(),
            ranks: ranks.iter().zip(processors).map(rank).collect(),
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
