//! Carries out what [`JobState`](super::state::JobState) decides: messages, commands to the agent.

use std::time::Instant;

use platform::bootstrap::{ChildMessage, Fence, FenceEvent, JoinState};
use platform::sys::host;

use super::Head;
use super::names::NameClient;
use super::remote_input::RemoteInput;
use super::state::JobAction;
use super::state::LostHost;
use crate::control::{AgentCommand, AgentEvent, Circumstances, Recipients};
use crate::output::{OutputGrant, OutputStream};

impl Head<'_> {
    pub(super) fn perform(&mut self, actions: Vec<JobAction>) {
        let now = Instant::now();
        for action in actions {
            match action {
                JobAction::Print(line) => {
                    if !self.job.is_running() {
                        // Before the start of all ranks, this is why the job could not be spawned.
                        self.tell_parent(ChildMessage::Failed(line.clone()));
                    }
                    let line = format!("mpirun: {}", line.replace('\n', " "));
                    self.streams.print_line(&line, Instant::now());
                }
                JobAction::Forward(signal) => {
                    self.command(&AgentCommand::Signal(signal));
                    self.subordinates.signal(signal);
                }
                // A user who does not read needs no further report.
                JobAction::Dump { overdue: false } if !self.streams.takes_lines() => {}
                JobAction::Dump { overdue } => self.dump(overdue),
                JobAction::Terminate => {
                    self.streams.restart_drain_timeout(Instant::now());
                    self.links.dismiss();
                    self.command(&AgentCommand::Terminate);
                    self.subordinates.terminate(now);
                }
                JobAction::EndLeftovers => self.command(&AgentCommand::EndLeftovers),
                JobAction::TerminateRest => self.command(&AgentCommand::TerminateRest),
                JobAction::Kill => {
                    self.command(&AgentCommand::Kill);
                    self.subordinates.kill(now);
                }
            }
        }
    }

    pub(super) fn command(&mut self, command: &AgentCommand) {
        self.agent.perform(command);
        self.links.send_all(Recipients::All, command);
    }

    /// Takes the events of the agent of this host. Actions may cause further events.
    pub(super) fn take_events(&mut self) {
        loop {
            let events = self.agent.take_events();
            if events.is_empty() {
                return;
            }
            events.into_iter().for_each(|event| self.event(0, event));
        }
    }

    /// Something has happened on `host`.
    pub(super) fn event(&mut self, host: u32, event: AgentEvent) {
        let now = Instant::now();
        if let Some(rank) = event.rank()
            && !self.is_rank_of(rank, host)
        {
            // Only a broken program reports ranks of other hosts.
            return;
        }
        let actions = match event {
            AgentEvent::Started { rank, pid } => {
                self.job.started(rank, pid);
                self.pids[rank as usize] = Some(pid);
                if host != 0 {
                    let streams = &OutputStream::BOTH[..self.streams_of_a_rank()];
                    self.streams.add_remote(rank, pid, streams);
                }
                return self.show_processes();
            }
            AgentEvent::Refused { code, why } => {
                let place = match self.links.is_empty() {
                    true => String::new(),
                    false => format!(" on host {}", self.host_name(host)),
                };
                self.job.refused(code, &format!("{why}{place}"), now)
            }
            AgentEvent::Output { rank, stream, bytes } => {
                if self.streams.receive(rank, stream, &bytes, now) {
                    return;
                }
                let why = format!("it sent more output of rank {rank} than it was allowed");
                return self.links.of(host).fail(&why, now);
            }
            AgentEvent::InputTaken { rank, bytes } => {
                return self.input_of(rank).into_iter().for_each(|input| input.grant(bytes));
            }
            AgentEvent::InputClosed { rank } => {
                return self.input_of(rank).into_iter().for_each(RemoteInput::close);
            }
            AgentEvent::OutputLost { why } => {
                let why = why.map(|why| format!("{why} on host {}", self.host_name(host)));
                self.job.output_lost(why.as_deref(), now)
            }
            AgentEvent::Hello(facts) => {
                if self.job.is_running() && host != 0 {
                    self.links.start_branch(host, self.shares.plan.limits, now);
                }
                return self.heard(host, &facts);
            }
            AgentEvent::Token(token) => {
                let port = self.calls.as_mut();
                return port.into_iter().for_each(|port| port.add_token(host, token.clone()));
            }
            AgentEvent::Exited { rank, exit, inner, join_state, circumstances } => {
                self.record(rank, circumstances);
                let inner = inner.map(|inner| (inner.pid, inner.exit));
                self.record_end(rank, join_state == JoinState::Joined);
                self.job.exited(rank, exit, inner, join_state, now)
            }
            AgentEvent::ProcessGone { rank, pid, exit, circumstances } => {
                self.record(rank, circumstances);
                self.record_end(rank, true);
                self.job.process_gone(rank, pid, exit, now)
            }
            AgentEvent::Disconnected { rank, pid } => {
                self.record_end(rank, true);
                self.job.disconnected(rank, pid, now)
            }
            AgentEvent::Aborted { rank, code, message } => {
                self.job.aborted(rank, code, message.as_deref(), now)
            }
            AgentEvent::Stuck { ended, waiting } => self.job.stuck(ended, waiting, now),
            AgentEvent::Unsupported { rank, why } => self.job.unable(rank, &why),
            AgentEvent::Broken { rank, why } => self.job.broken(rank, &why),
            AgentEvent::Fence(fence) => return self.fence(host, fence),
            AgentEvent::Name { rank, request } => {
                return self.name_requested(NameClient::Rank { host, rank }, request);
            }
            AgentEvent::Spawn { rank, call } => return self.spawn_called(host, rank, call),
            AgentEvent::Ended { rank, programs } => {
                let events = self.fences.rank_ended(rank, programs);
                return events.into_iter().for_each(|event| self.fence_event(event));
            }
            AgentEvent::Ending(why) => {
                let below = self.links.busy_below(host);
                return self.agent_lost(host, true, &why, &below, now);
            }
            // Noted by the link.
            AgentEvent::Inputless | AgentEvent::Childless | AgentEvent::Beat => return,
            // Of a connection.
            AgentEvent::From { .. }
            | AgentEvent::BranchLost { .. }
            | AgentEvent::BranchLine { .. } => return,
            AgentEvent::Leftovers(processes) => {
                let place = match self.links.is_empty() {
                    true => String::new(),
                    false => format!(" on {}", self.host_name(host)),
                };
                vec![JobAction::Print(format!(
                    "all ranks have ended, but processes that they started{place} may still write \
                     their output; ending them: {processes}"
                ))]
            }
            AgentEvent::Report(facts) => return self.report_arrived(host, facts),
        };
        self.perform(actions);
    }

    /// Events have arrived over the connection to the agent of `host`.
    pub(super) fn arrived(&mut self, host: u32, events: Vec<AgentEvent>) {
        let now = Instant::now();
        for event in events {
            match event {
                AgentEvent::From { host: from, message } if self.links.is_below(from, host) => {
                    let event = self.links.of(from).relayed(&message, now);
                    event.into_iter().for_each(|event| self.event(from, event));
                }
                AgentEvent::BranchLost { host: lost, why } if self.links.is_below(lost, host) => {
                    self.links.of(lost).fail(&why, now);
                }
                AgentEvent::BranchLine { host: from, line } if self.links.is_below(from, host) => {
                    // Nothing holds these lines back: they are lost if nobody reads.
                    if self.streams.takes_lines() {
                        self.streams.print_line(&format!("{}: {line}", self.host_name(from)), now);
                    }
                }
                event => self.event(host, event),
            }
        }
    }

    /// The agent of `host` is lost, and with it those of the hosts `below`.
    pub(super) fn agent_lost(
        &mut self, host: u32, has_started: bool, why: &str, below: &[u32], now: Instant,
    ) {
        let (layout, size) = (&self.shares.layout, self.shares.plan.size());
        let ranks_of = |host: &u32| layout.ranks_on(*host, size);
        let lost = LostHost {
            name: &if has_started { self.host_name(host) } else { self.way_to(host) },
            ranks: &ranks_of(&host),
            hosts_below: below.len(),
            ranks_below: &below.iter().flat_map(ranks_of).collect::<Vec<_>>(),
        };
        let hint = match self.links.parent(host) {
            0 => "",
            _ if has_started => "",
            _ => "; SUIRO_START_FAN_OUT=off starts all agents from here",
        };
        let actions = self.job.agent_lost(lost, has_started, &format!("{why}{hint}"), now);
        self.perform(actions);
        if self.job.is_running() {
            [&[host], below].concat().into_iter().for_each(|host| self.ranks_lost(host));
        }
    }

    /// The ranks of `host` are lost, and the others survive that.
    fn ranks_lost(&mut self, host: u32) {
        let ranks = self.shares.layout.ranks_on(host, self.shares.plan.size());
        ranks.into_iter().for_each(|rank| self.record_end(rank, true));
        let events = self.fences.child_lost(host as usize);
        events.into_iter().for_each(|event| self.fence_event(event));
    }

    /// Tells the agents of the other hosts that `rank` has ended, if ranks survive that.
    fn record_end(&mut self, rank: u32, has_failed: bool) {
        if !self.shares.plan.survives || self.links.is_empty() {
            return;
        }
        let own = self.shares.layout.host_of(rank);
        let command = AgentCommand::RecordEnd { rank, has_failed };
        if own != 0 {
            self.agent.perform(&command);
        }
        self.links.send_all(Recipients::AllBut(own), &command);
    }

    /// All ranks of `host` have reached `fence`.
    fn fence(&mut self, host: u32, fence: Fence) {
        match self.fences.reached(host as usize, fence) {
            Ok(events) => events.into_iter().for_each(|event| self.fence_event(event)),
            Err(why) => {
                let line =
                    format!("the agent on {} sent a wrong fence: {why}", self.host_name(host));
                self.perform(vec![JobAction::Print(line)]);
            }
        }
    }

    fn fence_event(&mut self, event: FenceEvent) {
        match event {
            FenceEvent::Merged { fence, children } => {
                let command = AgentCommand::FenceDone(fence);
                if children.len() == self.links.numbers().count() + 1 {
                    return self.command(&command);
                }
                children.into_iter().for_each(|child| self.command_host(child as u32, &command));
            }
            FenceEvent::Ended { rank, programs } => {
                let own = self.shares.layout.host_of(rank);
                let command = AgentCommand::RemoteEnded { rank, programs };
                if own != 0 {
                    self.agent.perform(&command);
                }
                self.links.send_all(Recipients::AllBut(own), &command);
            }
            FenceEvent::Stuck { ended, waiting } => {
                let actions = self.job.stuck(ended, waiting, Instant::now());
                self.perform(actions);
            }
        }
    }

    pub(super) fn command_host(&mut self, host: u32, command: &AgentCommand) {
        match host {
            0 => self.agent.perform(command),
            host => self.links.send(host, command),
        }
    }

    /// The number of output streams of a rank of another host that come here.
    fn streams_of_a_rank(&self) -> usize {
        if self.shares.plan.output.writes_on_hosts() {
            return 0;
        }
        if self.shares.plan.output.shares_pipe() { 1 } else { 2 }
    }

    pub(super) fn is_rank_of(&self, rank: u32, host: u32) -> bool {
        rank < self.shares.plan.size() && self.shares.layout.host_of(rank) == host
    }

    fn input_of(&mut self, rank: u32) -> Option<&mut RemoteInput> {
        self.inputs.iter_mut().find(|input| input.rank == rank)
    }

    /// Sends credit for output to the agents of other hosts.
    pub(super) fn grant_output(&mut self) {
        for OutputGrant { rank, stream, bytes } in self.streams.take_grants() {
            let host = self.shares.layout.host_of(rank);
            if host != 0 {
                self.links.send(host, &AgentCommand::Grant { rank, stream, bytes });
            }
        }
    }

    /// The name of `host`, and of the host that starts its agent if that is another one than this.
    pub(super) fn way_to(&self, host: u32) -> String {
        match self.links.parent(host) {
            0 => self.host_name(host),
            parent => format!("{} from {}", self.host_name(host), self.host_name(parent)),
        }
    }

    pub(super) fn host_name(&self, host: u32) -> String {
        match host {
            0 => host::name(),
            host => self.shares.layout.name_of(host, "").to_owned(),
        }
    }

    /// Passes the circumstances of the next event of `rank` to the state of the job, for its message.
    fn record(&mut self, rank: u32, circumstances: Circumstances) {
        let Circumstances { call, memory_kills } = circumstances;
        if memory_kills > 0 {
            self.job.memory_killed(memory_kills);
        }
        if let Some(call) = call {
            self.job.waiting_in(rank, call);
        }
    }
}
