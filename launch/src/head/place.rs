//! The ranks of each host, once the agents of all other hosts have reported what their hosts have.

use std::collections::BTreeMap;
use std::time::Instant;

use platform::sys::host;
use platform::sys::topology::CpuTopology;

use super::Head;
use super::links::{AgentLink, RemoteInput};
use super::share::ShareMaker;
use crate::LaunchError;
use crate::agent::Agent;
use crate::command_line::plan::{App, HostLayout};
use crate::control::HostFacts;
use crate::mpirun::{resources, threads};
use crate::placement::display::DisplayOptions;
use crate::placement::report::PlacementReport;
use crate::placement::{HostResources, place_on_hosts};

/// A job whose agents have not all been heard.
#[derive(Debug)]
pub(super) struct AwaitedHosts {
    pub(super) file_limit: Option<u64>,
    /// The topologies of other hosts, by their number.
    pub(super) topologies: BTreeMap<u32, CpuTopology>,
}

/// What is printed of a placement.
struct PlacementText {
    /// On standard output.
    shown: String,
    /// Lines on standard error.
    lines: Vec<String>,
}

impl Head<'_> {
    /// The agent of `host` has been heard. When all have been, the ranks are placed and started.
    pub(super) fn heard(&mut self, host: u32, facts: &HostFacts) {
        let hosts = self.shares.layout.remote.len();
        let Some(awaited) = &mut self.awaited else { return };
        // A host that does not show its processors binds no ranks.
        let topology = CpuTopology::from_text(&facts.topology).unwrap_or_else(unknown);
        awaited.topologies.insert(host, topology);
        if awaited.topologies.len() < hosts || !self.job.is_running() {
            return;
        }
        let Some(AwaitedHosts { file_limit, topologies }) = self.awaited.take() else { return };
        let now = Instant::now();
        let text = match self.shares.place(&topologies) {
            Ok(text) => text,
            Err(error) => {
                let actions = self.job.refused(error.code, &error.why, now);
                return self.perform(actions);
            }
        };
        self.print_placement(&text);
        self.take_layout();
        if let Err(error) = self.start_own(file_limit) {
            let actions = self.job.refused(1, &format!("cannot run the job: {error}"), now);
            return self.perform(actions);
        }
        // A local rank may have failed to start.
        for host in 1..=hosts as u32 {
            if self.job.is_running() {
                self.start_remote(host);
            }
        }
    }

    fn print_placement(&mut self, text: &PlacementText) {
        let now = Instant::now();
        if !text.shown.is_empty()
            && let Err(error) = self.streams.print_table("-".as_ref(), text.shown.as_bytes())
        {
            let line = format!("mpirun: cannot write standard output: {error}");
            self.streams.print_line(&line, now);
        }
        for line in &text.lines {
            self.streams.print_line(&format!("mpirun: {}", line.trim_end()), now);
        }
    }

    /// The ranks are where they were placed. None has started.
    fn take_layout(&mut self) {
        let size = self.shares.plan.size();
        let hosts = self.shares.layout.names(&host::name(), size);
        self.job.placed_on(hosts);
        self.fences = self.shares.fences();
        self.agent = Agent::new(self.shares.of_host(0));
        let starters = self.links.iter().filter_map(AgentLink::starter);
        starters.for_each(|pid| self.agent.spare(pid));
    }

    /// The agent of `host` starts its ranks.
    fn start_remote(&mut self, host: u32) {
        let share = self.shares.of_host(host);
        for rank in share.ranks.iter().filter(|rank| rank.reads_input).map(|rank| rank.rank) {
            match self.feed.of_rank(rank) {
                Ok(source) => self.inputs.push(RemoteInput::new(rank, host, source, share.size)),
                Err(error) => {
                    let why = format!("cannot read standard input for rank {rank}: {error}");
                    let actions = self.job.refused(1, &why, Instant::now());
                    return self.perform(actions);
                }
            }
        }
        self.links[host as usize - 1].start_ranks(share);
    }
}

impl ShareMaker<'_> {
    /// Places the ranks on hosts with these topologies.
    fn place(
        &mut self, topologies: &BTreeMap<u32, CpuTopology>,
    ) -> Result<PlacementText, LaunchError> {
        let plan = self.plan;
        let (own, here) = (host::name(), CpuTopology::here().unwrap_or_else(|_| unknown()));
        let mut others = topologies.values();
        let mut hosts = resources(plan, &own, &here);
        for host in hosts.iter_mut().filter(|host| host.is_supposed) {
            let topology = others.next().unwrap_or(host.topology);
            *host = HostResources { topology, is_supposed: false, ..*host };
        }
        let programs: Vec<_> = plan.apps.iter().map(App::ranks).collect();
        let threads = threads(self.environments);
        self.placement = place_on_hosts(&plan.placement, &hosts, &programs, threads)?;
        self.layout = HostLayout::new(&plan.hosts, &self.placement);
        let program = |app: u32| plan.apps[app as usize].program.to_string_lossy().into_owned();
        let programs: Vec<_> = plan.app_of_rank().into_iter().map(program).collect();
        let placement = &self.placement;
        let report = PlacementReport { hosts: &hosts, placement, programs: &programs };
        let note = placement.note.as_ref().filter(|_| !plan.quiet);
        let mut lines: Vec<_> = note.map(|note| format!("note: {note}")).into_iter().collect();
        if plan.display.report {
            lines.extend(report.bindings());
        }
        let shown = report.shown(DisplayOptions { report: false, ..plan.display });
        Ok(PlacementText { shown, lines })
    }
}

/// The topology of a host that does not show its processors.
fn unknown() -> CpuTopology {
    CpuTopology::read(&[], &|_| None)
}
