//! The ranks of each host, once the agents of all other hosts have reported what their hosts have.

use std::collections::BTreeMap;
use std::time::Instant;

use platform::bootstrap::identity;
use platform::sys::host;
use platform::sys::topology::CpuTopology;

use super::Head;
use super::remote_input::RemoteInput;
use super::share::ShareMaker;
use crate::LaunchError;
use crate::agent::Agent;
use crate::command_line::plan::{App, HostLayout};
use crate::control::HostFacts;
use crate::mpirun::{resources, threads};
use crate::placement::display::DisplayOptions;
use crate::placement::report::PlacementReport;
use crate::placement::{HostResources, place_on_hosts};
use crate::starter::Starter;

/// A job whose agents have not all been heard.
#[derive(Debug)]
pub(super) struct AwaitedHosts {
    pub(super) file_limit: Option<u64>,
    /// The other hosts that have been heard, by their number.
    pub(super) heard: BTreeMap<u32, HeardHost>,
}

/// What is known of another host.
#[derive(Debug)]
pub(super) struct HeardHost {
    /// Equal for two names of one machine.
    identity: String,
    topology: CpuTopology,
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
        awaited.heard.insert(host, HeardHost { identity: facts.identity.clone(), topology });
        if awaited.heard.len() < hosts || !self.job.is_running() {
            return;
        }
        let Some(AwaitedHosts { file_limit, heard }) = self.awaited.take() else { return };
        let now = Instant::now();
        let text = match self.shares.place(&heard) {
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
        self.links.starters().into_iter().for_each(|pid| self.agent.spare(pid));
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
        self.links.start_ranks(host, share);
    }
}

impl ShareMaker<'_> {
    /// Places the ranks on these hosts and that of the launcher.
    fn place(&mut self, heard: &BTreeMap<u32, HeardHost>) -> Result<PlacementText, LaunchError> {
        let plan = self.plan;
        let (own, here) = (host::name(), CpuTopology::here().unwrap_or_else(|_| unknown()));
        let own_identity = identity::of_this_host();
        let by_machine = plan.starter.as_ref().is_some_and(Starter::reaches_machines);
        let mut others = heard.values();
        let mut hosts = resources(plan, &own, &here);
        for host in &mut hosts {
            let HostResources { mut topology, mut identity, is_supposed, .. } = *host;
            if !is_supposed {
                identity = &own_identity;
            } else if let Some(heard) = others.next() {
                topology = &heard.topology;
                identity = if by_machine { &heard.identity } else { identity };
            }
            *host = HostResources { topology, identity, is_supposed: false, ..*host };
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
        lines.extend(aliases(&hosts).into_iter().filter(|_| !plan.quiet));
        if plan.display.report {
            lines.extend(report.bindings());
        }
        let shown = report.shown(DisplayOptions { report: false, ..plan.display });
        Ok(PlacementText { shown, lines })
    }
}

/// A line for each name of a machine that has another name before.
fn aliases(hosts: &[HostResources<'_>]) -> Vec<String> {
    let first = |host: &HostResources<'_>| hosts.iter().find(|one| one.identity == host.identity);
    let line = |host: &HostResources<'_>| {
        let first = first(host).filter(|first| first.name != host.name)?;
        let (name, other) = (host.name, first.name);
        Some(format!("note: {name} is the same machine as {other}; their slots are added"))
    };
    hosts.iter().filter_map(line).collect()
}

/// The topology of a host that does not show its processors.
fn unknown() -> CpuTopology {
    CpuTopology::read(&[], &|_| None)
}
