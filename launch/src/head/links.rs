//! The agents of the other hosts of a job, by the numbers of the hosts, which begin at 1.
//!
//! The head starts the first host of each branch of the [`AgentTree`]. All others are reached through
//! those ([`Recipients`]): a command for all hosts crosses each connection once, a share, credit, and
//! whatever concerns one rank are sent one by one. Input for a rank is bounded by its credit, and by what
//! waits on the connection to the first host of the branch.

use std::ffi::OsString;
use std::ops::Range;
use std::time::Instant;

use platform::sys::poll::PollSet;

use crate::connection::{AgentLink, AgentLinkReady};
use crate::control::{
    AgentCommand, AgentEvent, BranchHost, BranchPlan, HostLimits, HostShare, Recipients,
    message_bytes,
};
use crate::starter::tree::AgentTree;

/// The agents that have been started: those of the hosts from 1 on.
#[derive(Default)]
pub(super) struct HostLinks {
    hosts: Vec<HostLink>,
    tree: AgentTree,
    fan_out: usize,
}

struct HostLink {
    agent: AgentLink,
    /// The command that starts the agent, if another agent is to do so.
    words: Vec<OsString>,
    /// The agent has been told which ranks to start.
    has_share: bool,
}

impl HostLinks {
    /// No agents yet, of this number of hosts.
    pub(super) fn new(hosts: usize, fan_out: Option<usize>) -> Self {
        let tree = AgentTree::new(hosts as u32, fan_out);
        Self { hosts: Vec::new(), tree, fan_out: fan_out.unwrap_or(0) }
    }

    /// Adds the agent of the next host, which the head has started.
    pub(super) fn push(&mut self, agent: AgentLink) {
        self.hosts.push(HostLink { agent, words: Vec::new(), has_share: false });
    }

    /// Adds the agent of the next host, which another agent is to start by the command `words`.
    pub(super) fn push_via(&mut self, words: Vec<OsString>, limits: HostLimits, now: Instant) {
        let agent = AgentLink::via(self.hosts.len() as u32 + 1, &words, limits, now);
        self.hosts.push(HostLink { agent, words, has_share: false });
    }

    /// The agent of its host has been started again.
    pub(super) fn replace(&mut self, agent: AgentLink) {
        let number = agent.host as usize - 1;
        self.hosts[number].agent = agent;
    }

    /// The host whose agent starts that of `host`; 0 is that of the head.
    pub(super) fn parent(&self, host: u32) -> u32 {
        self.tree.parent(host)
    }

    /// The hosts that are reached through the agent of `host`.
    fn below(&self, host: u32) -> Range<u32> {
        let below = self.tree.below(host);
        // The start has stopped at a host whose agent cannot be started.
        below.start..below.end.min(self.hosts.len() as u32 + 1)
    }

    /// Whether messages of `host` may arrive over the connection to `through`.
    pub(super) fn is_below(&self, host: u32, through: u32) -> bool {
        self.below(through).contains(&host)
    }

    /// The agent of `host` has been heard: it may start others.
    pub(super) fn start_branch(&mut self, host: u32, limits: HostLimits, now: Instant) {
        let below = self.below(host);
        let children = below.clone().filter(|below| self.tree.parent(*below) == host);
        for child in children.collect::<Vec<_>>() {
            self.of(child).starts(now);
        }
        // Other agents get theirs from the one that starts them.
        if self.tree.parent(host) == 0 && !below.is_empty() {
            let words = |host: u32| self.hosts[host as usize - 1].words.clone();
            let below = below.map(|host| BranchHost { number: host, words: words(host) }).collect();
            let plan = BranchPlan { host, below, fan_out: self.fan_out as u32, limits };
            self.send(host, &AgentCommand::StartBranch(Box::new(plan)));
        }
    }

    /// The agent of `host` is lost: so are those that are reached through it. Those that had processes
    /// of the job.
    pub(super) fn lose_below(&mut self, host: u32) -> Vec<u32> {
        let below = self.busy_below(host);
        self.below(host).for_each(|host| self.of(host).lose());
        below
    }

    /// The hosts that are reached through `host` and have processes of the job.
    pub(super) fn busy_below(&self, host: u32) -> Vec<u32> {
        let is_busy = |host: &u32| {
            let HostLink { agent, has_share, .. } = &self.hosts[*host as usize - 1];
            *has_share && !agent.is_childless()
        };
        self.below(host).filter(is_busy).collect()
    }

    pub(super) fn is_empty(&self) -> bool {
        self.hosts.is_empty()
    }

    /// The hosts.
    pub(super) fn numbers(&self) -> impl Iterator<Item = u32> + use<> {
        1..=self.hosts.len() as u32
    }

    pub(super) fn iter(&self) -> impl Iterator<Item = &AgentLink> {
        self.hosts.iter().map(|host| &host.agent)
    }

    /// The agent of `host`.
    pub(super) fn of(&mut self, host: u32) -> &mut AgentLink {
        &mut self.hosts[host as usize - 1].agent
    }

    /// The agent whose starter is this process.
    pub(super) fn started_by(&mut self, process: u32) -> Option<&mut AgentLink> {
        let mut all = self.hosts.iter_mut().map(|host| &mut host.agent);
        all.find(|agent| agent.starter() == Some(process))
    }

    /// The processes of starters that have not been reaped.
    pub(super) fn starters(&self) -> Vec<u32> {
        self.iter().filter_map(AgentLink::starter).collect()
    }

    /// The hosts whose agents report the state of their ranks when they are asked.
    pub(super) fn reporting(&self) -> impl Iterator<Item = u32> {
        self.numbers().filter(|host| self.reports(*host))
    }

    /// Whether the agent of `host` reports the state of its ranks when it is asked.
    pub(super) fn reports(&self, host: u32) -> bool {
        let HostLink { agent, has_share, .. } = &self.hosts[host as usize - 1];
        *has_share && !agent.is_lost()
    }

    /// Makes the agent of `host` start its ranks.
    pub(super) fn start_ranks(&mut self, host: u32, share: HostShare) {
        self.hosts[host as usize - 1].has_share = true;
        self.send(host, &AgentCommand::Start(Box::new(share)));
    }

    /// The job ends: agents that have not started their ranks are not needed.
    pub(super) fn dismiss(&mut self) {
        let idle = self.hosts.iter_mut().filter(|host| !host.has_share);
        idle.for_each(|host| host.agent.lose());
    }

    /// Gives all agents up.
    pub(super) fn lose(&mut self) {
        self.hosts.iter_mut().for_each(|host| host.agent.lose());
    }

    /// Sends `command` to the agent of `host`, if it can take it.
    pub(super) fn send(&mut self, host: u32, command: &AgentCommand) {
        let first = self.tree.first(host);
        if first == host {
            self.of(host).send(command);
        } else if !self.of(host).is_lost() {
            let (to, message) = (Recipients::Host(host), message_bytes(command));
            self.of(first).send(&AgentCommand::Pass { to, message });
        }
    }

    /// Sends `command` to all of these agents that can take it.
    pub(super) fn send_all(&mut self, to: Recipients, command: &AgentCommand) {
        let pass = AgentCommand::Pass { to, message: message_bytes(command) };
        for HostLink { agent, .. } in &mut self.hosts {
            let host = agent.host;
            if self.tree.parent(host) != 0 {
                continue;
            }
            match self.tree.below(host).is_empty() {
                true if to.include(host) => agent.send(command),
                true => {}
                false => agent.send(&pass),
            }
        }
    }

    /// The number of bytes on the way to `host` that its agent has not accepted.
    pub(super) fn queued_bytes(&self, host: u32) -> usize {
        self.hosts[self.tree.first(host) as usize - 1].agent.queued_bytes()
    }

    /// Adds descriptors to poll, standard error of starters only if `takes_lines`; `token` makes the
    /// caller's tokens of hosts.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, takes_lines: bool, set: &mut PollSet<'a, Token>,
        token: impl Fn(u32, AgentLinkReady) -> Token,
    ) {
        for agent in self.iter() {
            agent.interests(takes_lines, set, |ready| token(agent.host, ready));
        }
    }

    /// Serves a ready descriptor of `host`; the events that have arrived.
    pub(super) fn handle(
        &mut self, host: u32, ready: AgentLinkReady, now: Instant,
    ) -> Vec<AgentEvent> {
        self.of(host).handle(ready, now)
    }

    /// The time at which something is due.
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.iter().filter_map(AgentLink::deadline).min()
    }
}
