//! The agents of the other hosts of a job, by the numbers of the hosts, which begin at 1.

use std::time::Instant;

use platform::sys::poll::PollSet;

use crate::connection::{AgentLink, AgentLinkReady};
use crate::control::{AgentCommand, AgentEvent, HostShare};

/// The agents that have been started: those of the hosts from 1 on.
#[derive(Default)]
pub(super) struct HostLinks {
    hosts: Vec<HostLink>,
}

struct HostLink {
    agent: AgentLink,
    /// The agent has been told which ranks to start.
    has_share: bool,
}

impl HostLinks {
    /// Adds the agent of the next host.
    pub(super) fn push(&mut self, agent: AgentLink) {
        self.hosts.push(HostLink { agent, has_share: false });
    }

    /// The agent of its host has been started again.
    pub(super) fn replace(&mut self, agent: AgentLink) {
        let number = agent.host as usize - 1;
        self.hosts[number] = HostLink { agent, has_share: false };
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
        let HostLink { agent, has_share } = &self.hosts[host as usize - 1];
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
        self.of(host).send(command);
    }

    /// Sends `command` to all agents that can take it.
    pub(super) fn send_all(&mut self, command: &AgentCommand) {
        self.hosts.iter_mut().for_each(|host| host.agent.send(command));
    }

    /// The number of bytes on the way to `host` that its agent has not accepted.
    pub(super) fn queued_bytes(&self, host: u32) -> usize {
        self.hosts[host as usize - 1].agent.queued_bytes()
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
