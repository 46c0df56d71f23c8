//! The agents that an agent has started, and what it passes on between them and its head.
//!
//! What is passed on stays bytes ([`Recipients`]). What waits for the other end is bounded: output by the
//! credit of each rank, which the head gives, as is input; and while much waits for the head, nothing is
//! read from agents, nor what their starters write to standard error. An agent whose starter passes no
//! input on cannot be started here: only the head can be called back.

use std::collections::HashMap;
use std::env;
use std::time::Instant;

use platform::sys::poll::PollSet;
use platform::sys::process::Exit;

use super::rank_pipes::QUEUE_BYTES;
use crate::connection::{AgentLink, AgentLinkReady};
use crate::control::{
    AgentCommand, AgentEvent, BranchHost, BranchPlan, HostLimits, Recipients, message_bytes,
};
use crate::starter::tree::branches;

/// The agents below an agent.
#[derive(Default)]
pub(super) struct Branch {
    /// The number of this host, once it is known.
    host: Option<u32>,
    fan_out: u32,
    limits: HostLimits,
    children: Vec<ChildAgent>,
    /// The child through which a host is reached.
    routes: HashMap<u32, usize>,
}

struct ChildAgent {
    link: AgentLink,
    /// What it is to start.
    below: Vec<BranchHost>,
}

impl Branch {
    /// Starts the first agents of `plan`. Those that cannot be started are reported in time.
    pub(super) fn start(plan: BranchPlan, file_limit: Option<u64>, now: Instant) -> Self {
        let BranchPlan { host, below, fan_out, limits } = plan;
        let mut branch = Self {
            host: Some(host),
            fan_out,
            limits,
            children: Vec::new(),
            routes: HashMap::new(),
        };
        let environment: Vec<_> = env::vars_os().collect();
        for range in branches(0..below.len(), fan_out as usize) {
            let (first, rest) = (&below[range.start], &below[range.start + 1..range.end]);
            let (number, words) = (first.number, &first.words);
            let started = AgentLink::start(number, words, &environment, file_limit, limits, now);
            let link = started.unwrap_or_else(|error| {
                let mut link = AgentLink::via(number, words, limits, now);
                let program = words.first().map(|word| word.to_string_lossy());
                link.fail(&format!("{}: {error}", program.unwrap_or_default()), now);
                link
            });
            let hosts = below[range.clone()].iter().map(|host| host.number);
            branch.routes.extend(hosts.map(|host| (host, branch.children.len())));
            branch.children.push(ChildAgent { link, below: rest.to_vec() });
        }
        branch
    }

    /// Whether agents have been started here.
    pub(super) fn is_started(&self) -> bool {
        self.host.is_some()
    }

    /// The processes of starters that have not been reaped.
    pub(super) fn starters(&self) -> Vec<u32> {
        self.children.iter().filter_map(|child| child.link.starter()).collect()
    }

    /// Passes a command on; whether it is for this host as well.
    pub(super) fn pass(&mut self, to: Recipients, message: &[u8]) -> bool {
        let route = match to {
            Recipients::Host(host) => self.routes.get(&host).copied(),
            Recipients::All | Recipients::AllBut(_) => None,
        };
        for (number, ChildAgent { link, below }) in self.children.iter_mut().enumerate() {
            let is_way = match to {
                Recipients::Host(_) => route == Some(number),
                Recipients::All | Recipients::AllBut(_) => true,
            };
            if !is_way {
                continue;
            }
            if below.is_empty() || to == Recipients::Host(link.host) {
                if to.include(link.host) {
                    link.send_bytes(message);
                }
            } else {
                link.send(&AgentCommand::Pass { to, message: message.to_vec() });
            }
        }
        // Without a branch, an agent does not know its number, and gets only what is for it.
        self.host.is_none_or(|host| to.include(host))
    }

    /// Adds descriptors to poll, unless too much waits for the head; `token` makes the caller's tokens.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, queued_bytes: usize, set: &mut PollSet<'a, Token>,
        token: impl Fn(usize, AgentLinkReady) -> Token,
    ) {
        for (number, child) in self.children.iter().enumerate() {
            match queued_bytes <= QUEUE_BYTES {
                true => child.link.interests(true, set, |ready| token(number, ready)),
                false => child.link.write_interest(set, |ready| token(number, ready)),
            }
        }
    }

    /// Serves a ready descriptor; what to send to the head.
    pub(super) fn handle(
        &mut self, number: usize, ready: AgentLinkReady, now: Instant,
    ) -> Vec<AgentEvent> {
        let events = self.children[number].link.handle(ready, now);
        self.relay(number, events)
    }

    /// A child of this process has ended; what to send to the head.
    pub(super) fn child_ended(&mut self, pid: u32, exit: Exit, now: Instant) -> Vec<AgentEvent> {
        let is_starter = |child: &ChildAgent| child.link.starter() == Some(pid);
        let Some(number) = self.children.iter().position(is_starter) else { return Vec::new() };
        let events = self.children[number].link.starter_ended(exit, now);
        self.relay(number, events)
    }

    /// Does what is due; what to send to the head.
    pub(super) fn tick(&mut self, queued_bytes: usize, now: Instant) -> Vec<AgentEvent> {
        let mut events = Vec::new();
        let is_held = queued_bytes > QUEUE_BYTES;
        for ChildAgent { link, .. } in &mut self.children {
            let host = link.host;
            if is_held {
                link.excuse(now);
            } else {
                let lines = link.take_lines().into_iter();
                events.extend(lines.map(|line| AgentEvent::BranchLine { host, line }));
            }
            if link.is_inputless() {
                link.fail("its command passes no standard input on", now);
            }
            events.extend(link.tick(now).map(|why| AgentEvent::BranchLost { host, why }));
            // The head warns.
            let _ = link.take_warning("", now);
        }
        events
    }

    /// The time to call [`Branch::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.children.iter().filter_map(|child| child.link.deadline()).min()
    }

    /// The head is lost, or the job has ended: so do the agents below.
    pub(super) fn end(&mut self) {
        self.children.iter_mut().for_each(|child| child.link.lose());
    }

    /// What to send to the head of what has arrived from a child.
    fn relay(&mut self, number: usize, events: Vec<AgentEvent>) -> Vec<AgentEvent> {
        let (limits, fan_out, routes) = (self.limits, self.fan_out, &self.routes);
        let ChildAgent { link, below } = &mut self.children[number];
        let mut relayed = Vec::new();
        for event in events {
            match event {
                AgentEvent::From { host, .. }
                | AgentEvent::BranchLost { host, .. }
                | AgentEvent::BranchLine { host, .. } => {
                    if routes.get(&host) == Some(&number) {
                        relayed.push(event);
                    }
                    continue;
                }
                AgentEvent::Beat => continue,
                AgentEvent::Hello(_) if !below.is_empty() => {
                    let (host, below) = (link.host, below.clone());
                    let plan = BranchPlan { host, below, fan_out, limits };
                    link.send(&AgentCommand::StartBranch(Box::new(plan)));
                }
                _ => {}
            }
            relayed.push(AgentEvent::From { host: link.host, message: message_bytes(&event) });
        }
        relayed
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn plan(words: &[&str]) -> BranchPlan {
        let host = |number| BranchHost { number, words: words.iter().map(Into::into).collect() };
        let limits = HostLimits::default();
        BranchPlan { host: 3, below: (4..9).map(host).collect(), fan_out: 2, limits }
    }

    #[test]
    fn a_command_that_cannot_start_is_reported_for_each_host_that_it_was_to_start() {
        let now = Instant::now();
        for (words, why) in [(&["/no/such/command", "x"][..], "/no/such/command: "), (&[], ": ")] {
            let mut branch = Branch::start(plan(words), None, now);
            let lost = branch.tick(0, now);
            let hosts = lost.iter().map(|event| match event {
                AgentEvent::BranchLost { host, why: found } if found.starts_with(why) => *host,
                other => panic!("{other:?}"),
            });
            assert_eq!(hosts.collect::<Vec<_>>(), [4, 6]);
            assert_eq!((branch.tick(0, now), branch.starters()), (Vec::new(), Vec::new()));
        }
    }

    #[test]
    fn nothing_is_read_while_much_waits_for_the_head_and_no_agent_is_silent() {
        let begin = Instant::now();
        let words = ["sh", "-c", "echo no route >&2; exec sleep 300"];
        let mut branch = Branch::start(plan(&words), None, begin);
        for second in 0..60 {
            let now = begin + std::time::Duration::from_secs(second);
            assert_eq!(branch.tick(QUEUE_BYTES + 1, now), []);
        }
        let mut set = PollSet::default();
        branch.interests(QUEUE_BYTES + 1, &mut set, |number, _| number);
        assert_eq!(set.wait(Some(std::time::Duration::ZERO)).unwrap(), [0_usize; 0]);
        drop(set);
        let line = |event: &AgentEvent| matches!(event, AgentEvent::BranchLine { line, .. } if line == "no route");
        let until = begin + std::time::Duration::from_secs(10);
        let mut lines = Vec::new();
        while lines.is_empty() && Instant::now() < until {
            lines = branch.tick(0, begin);
        }
        assert!(!lines.is_empty() && lines.iter().all(line), "{lines:?}");
        branch.end();
    }

    #[test]
    fn events_of_hosts_that_are_reached_otherwise_are_not_passed_on() {
        let mut branch = Branch::start(plan(&["cat"]), None, Instant::now());
        let from = |host| AgentEvent::From { host, message: Vec::new() };
        // 4 starts 5, 6 starts 7 and 8.
        let relayed = branch.relay(1, vec![from(5), from(7), from(3), from(99), AgentEvent::Beat]);
        assert_eq!(relayed, [from(7)]);
        let own = branch.relay(0, vec![AgentEvent::Childless]);
        let message = message_bytes(&AgentEvent::Childless);
        assert_eq!(own, [AgentEvent::From { host: 4, message }]);
        assert!(branch.pass(Recipients::All, &[]) && branch.pass(Recipients::Host(3), &[]));
        assert!(!branch.pass(Recipients::AllBut(3), &[]) && !branch.pass(Recipients::Host(9), &[]));
        branch.end();
    }
}
