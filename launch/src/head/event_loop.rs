//! The event loop: starts the ranks, then polls until the job has completed.

use std::env;
use std::ffi::{OsStr, OsString};
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::os::unix::ffi::OsStrExt;
use std::time::Instant;

use platform::bootstrap::{ChildMessage, JobHosts};
use platform::sys::host;
use platform::sys::poll::PollSet;
use platform::sys::process;
use platform::sys::signals;

use super::Head;
use super::calls::{CallPort, CallReady};
use super::links::HostLinks;
use crate::agent::environment::EnvironmentVariable;
use crate::agent::{AgentReady, RankStreams};
use crate::command_line::plan::LaunchPlan;
use crate::connection::{AgentLink, AgentLinkReady, AgentLinkState};
use crate::control::AgentCommand;
use crate::input::{self, Feed};
use crate::mpirun::AGENT;
use crate::output::{self, Streams};
use crate::starter::Starter;

/// With more input on the way to a host, no more is read.
const INPUT_QUEUE_BYTES: usize = 256 * 1024;

/// The descriptor that became ready.
#[derive(Clone, Copy, Debug)]
enum HeadToken {
    Signals,
    Supervisor,
    Debugger,
    Agent(AgentReady),
    Link(u32, AgentLinkReady),
    Call(CallReady),
    RemoteInput(usize),
    Subordinate(u32),
    Parent,
    NameServer,
    Input(input::InputReady),
    Output(output::OutputReady),
}

/// The standard streams of the ranks of the head's host: their descriptors are those of the head.
struct OwnStreams<'a> {
    feed: &'a mut Feed,
    streams: &'a mut Streams,
}

impl RankStreams for OwnStreams<'_> {
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd> {
        self.feed.of_rank(rank)
    }

    fn started(
        &mut self, rank: u32, process: u32, outputs: [Option<OwnedFd>; 2],
    ) -> io::Result<()> {
        self.streams.add(rank, process, outputs)
    }
}

impl Head<'_> {
    pub(super) fn start(&mut self, file_limit: Option<u64>) -> io::Result<()> {
        if self.awaited.is_some() {
            self.start_agents();
            return Ok(());
        }
        self.start_own(file_limit)
    }

    /// Opens the files of all ranks, then starts those of this host.
    pub(super) fn start_own(&mut self, file_limit: Option<u64>) -> io::Result<()> {
        let plan = self.shares.plan;
        let hosts = self.shares.layout.names(&host::name(), plan.size());
        let layout = &self.shares.layout;
        let on_hosts = plan.output.writes_on_hosts();
        let comes_here = |rank| !on_hosts || layout.host_of(rank) == 0;
        self.streams.open_files(&plan.output, hosts, comes_here)?;
        let mut streams = OwnStreams { feed: &mut self.feed, streams: &mut self.streams };
        self.agent.start(file_limit, &mut streams)?;
        self.take_events();
        Ok(())
    }

    /// Starts the agents of the other hosts that no other agent starts, up to the first that cannot be
    /// started.
    fn start_agents(&mut self) {
        let plan = self.shares.plan;
        let starter = plan.starter.as_ref();
        let passes_input = starter.is_some_and(Starter::passes_input);
        // A host that is lost takes those behind it along, which a job that survives cannot afford.
        let fan_out = starter.and_then(|starter| starter.fan_out).filter(|_| !plan.survives);
        self.links = HostLinks::new(plan.layout.remote.len(), fan_out);
        for host in 1..=plan.layout.remote.len() as u32 {
            let now = Instant::now();
            let started = match passes_input {
                _ if self.links.parent(host) != 0 => self.starter_words(host, None).map(|words| {
                    self.links.push_via(words, plan.limits, now);
                }),
                true => self.starter_link(host, None, &[]).map(|link| self.started(link)),
                false => self.calling_link(host).map(|link| self.started(link)),
            };
            if let Err(why) = started {
                return self.agent_lost(host, false, &why, &[], now);
            }
        }
    }

    fn started(&mut self, link: AgentLink) {
        link.starter().into_iter().for_each(|pid| self.agent.spare(pid));
        self.links.push(link);
    }

    /// The command that starts the agent of `host` with this argument.
    fn starter_words(&self, host: u32, argument: Option<String>) -> Result<Vec<OsString>, String> {
        let plan = self.shares.plan;
        let place = &plan.layout.remote[host as usize - 1];
        let starter = plan.starter.as_ref().ok_or("no command starts it")?;
        let program = starter.agent_program(&env::current_exe().unwrap_or_default());
        let agent = [program.into(), AGENT.into()];
        let agent: Vec<_> = agent.into_iter().chain(argument.map(OsString::from)).collect();
        starter.command(place, &agent).map_err(|error| error.why)
    }

    /// Starts the agent of `host` with this argument and these variables.
    pub(super) fn starter_link(
        &self, host: u32, argument: Option<String>, variables: &[EnvironmentVariable],
    ) -> Result<AgentLink, String> {
        let words = self.starter_words(host, argument)?;
        let environment: Vec<_> = env::vars_os().chain(variables.iter().cloned()).collect();
        let limits = self.shares.plan.limits;
        let file_limit = self.awaited.as_ref().and_then(|awaited| awaited.file_limit);
        AgentLink::start(host, &words, &environment, file_limit, limits, Instant::now())
            .map_err(|error| format!("{}: {error}", words[0].to_string_lossy()))
    }

    /// Passes the processes to the debugger and to the process table, once all ranks have started.
    pub(super) fn show_processes(&mut self) {
        let Some(pids) = self.pids.iter().copied().collect::<Option<Vec<_>>>() else { return };
        self.tell_parent(ChildMessage::Started);
        let plan = self.shares.plan;
        let layout = &self.shares.layout;
        let places = (0..).zip(&pids).map(|(rank, pid)| (layout.host_of(rank), *pid));
        self.pid_sender.send(&places.collect::<Vec<_>>());
        let hosts = layout.names(&host::name(), plan.size());
        if let Some((file, table)) = process_table(plan, &hosts, &pids)
            && let Err(error) = self.streams.print_table(file, &table)
        {
            let line = format!("mpirun: cannot write the process table: {error}");
            self.streams.print_line(&line, Instant::now());
        }
    }

    pub(super) fn serve(&mut self) -> io::Result<()> {
        loop {
            let childless = self.reap();
            let now = Instant::now();
            // Processes that cannot be killed are left alone.
            let ended = childless || self.job.kill_timed_out(now);
            if ended && !childless {
                self.links.lose();
            }
            let agent_deadline = self.agent.tick(now);
            self.take_events();
            self.tick_links(now);
            self.tick_calls(now);
            self.tick_names(now);
            self.tick_report(now);
            self.streams.flush_overdue(now);
            let slow_readers = self.feed.drop_slow_readers(now);
            self.perform(self.job.input_lost(&slow_readers));
            if ended {
                self.streams.drain(now);
            }
            if self.has_deadline(ended) {
                let actions = self.job.tick(now);
                self.perform(actions);
            }
            self.take_events();
            if ended && self.output_is_finished(now) {
                return self.give_up_output();
            }
            self.grant_output();
            for token in self.wait(ended, agent_deadline, now)? {
                self.handle(token);
                self.take_events();
            }
        }
    }

    /// Reaps all ended children; whether no child is left.
    fn reap(&mut self) -> bool {
        let mut others = Vec::new();
        let childless = self.agent.reap(|pid, exit| others.push((pid, exit)));
        self.take_events();
        for (pid, exit) in others {
            self.subordinate_ended(pid, exit);
            // Other children are adopted orphans.
            let Some(link) = self.links.started_by(pid) else { continue };
            let (host, events) = (link.host, link.starter_ended(exit, Instant::now()));
            self.arrived(host, events);
        }
        let childless = childless || self.has_only_starters();
        let childless = childless && self.links.iter().all(AgentLink::is_childless);
        if !childless && self.job.have_ranks_ended() {
            self.end_leftovers(Instant::now());
        }
        childless
    }

    /// Whether the children of this process are the starters of agents.
    fn has_only_starters(&self) -> bool {
        let starters = self.links.starters();
        !starters.is_empty()
            && self.agent.have_ranks_ended()
            && !process::has_other_children(&starters)
    }

    /// Does what is due for the agents of other hosts.
    fn tick_links(&mut self, now: Instant) {
        for host in self.links.numbers() {
            if self.links.of(host).needs_call(now) && self.job.is_running() {
                self.start_caller(host);
            }
            let (name, way) = (self.host_name(host), self.way_to(host));
            let reported = self.links.reports(host);
            let link = self.links.of(host);
            let state = link.state();
            let lines = match self.streams.takes_lines() {
                true => link.take_lines(),
                false => Vec::new(),
            };
            let lost = link.tick(now);
            let warning = link.take_warning(&way, now).filter(|_| !self.shares.plan.quiet);
            for line in lines {
                self.streams.print_line(&format!("{name}: {line}"), now);
            }
            if let Some(warning) = warning {
                self.streams.print_line(&format!("mpirun: {warning}"), now);
            }
            if self.links.of(host).is_lost() {
                self.lose_output(host, now);
                self.report_arrived(host, Vec::new());
            }
            let Some(why) = lost else { continue };
            let below = self.links.lose_below(host);
            // What ends after the processes of the job is no failure of it.
            if state != AgentLinkState::Childless || !below.is_empty() {
                self.agent_lost(host, reported, &why, &below, now);
            }
        }
    }

    /// No more output arrives from `host`.
    fn lose_output(&mut self, host: u32, now: Instant) {
        let plan = self.shares.plan;
        let ranks = self.shares.layout.ranks_on(host, plan.size());
        ranks.into_iter().for_each(|rank| self.streams.lose(rank, now));
    }

    /// Ends the processes that the ranks left. Those that still have the output of a rank open, such
    /// as a filter, may write what they read from the rank before.
    fn end_leftovers(&mut self, now: Instant) {
        if !self.job.is_running() || self.report.is_some() || self.subordinates.are_running() {
            return;
        }
        let ranks_ended = *self.ranks_ended.get_or_insert(now);
        let deadline = self.streams.leftovers_deadline(ranks_ended, now);
        if deadline.is_some_and(|at| now < at) {
            return;
        }
        let actions = self.job.all_ended(deadline.is_some(), now);
        self.perform(actions);
    }

    /// Whether all output of a job without processes is written, or its time has expired.
    fn output_is_finished(&self, now: Instant) -> bool {
        self.streams.are_empty() || self.output_deadline().is_some_and(|at| now >= at)
    }

    /// Reports the output that is not written.
    fn give_up_output(&mut self) -> io::Result<()> {
        for line in self.streams.give_up() {
            self.streams.print_line(&format!("mpirun: {line}"), Instant::now());
        }
        self.streams.write_now()
    }

    /// Whether the state of the job has a deadline: of a job without processes, only the time limit.
    fn has_deadline(&self, ended: bool) -> bool {
        !ended || self.job.is_running()
    }

    fn wait(
        &mut self, ended: bool, agent_deadline: Option<Instant>, now: Instant,
    ) -> io::Result<Vec<HeadToken>> {
        let timeout = self.deadline(ended, now).into_iter().chain(agent_deadline).min();
        let timeout = timeout.map(|at| at.saturating_duration_since(now));
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), HeadToken::Signals);
        if let Some(supervisor) = &self.supervisor {
            set.add_read(supervisor.as_fd(), HeadToken::Supervisor);
        }
        if let Some(debugger) = self.pid_sender.hold_fd() {
            set.add_read(debugger, HeadToken::Debugger);
        }
        self.agent.interests(&mut set, HeadToken::Agent);
        self.links.interests(self.streams.takes_lines(), &mut set, HeadToken::Link);
        if let Some(calls) = &self.calls {
            calls.interests(&mut set, HeadToken::Call);
        }
        for (number, input) in self.inputs.iter().enumerate() {
            let queued = self.links.queued_bytes(input.host);
            if let Some(source) = input.source().filter(|_| queued < INPUT_QUEUE_BYTES) {
                set.add_read(source.as_fd(), HeadToken::RemoteInput(number));
            }
        }
        self.subordinates.interests(&mut set, HeadToken::Subordinate);
        if let Some(parent) = &self.parent {
            parent.interests(&mut set, HeadToken::Parent);
        }
        self.names.interests(&mut set, HeadToken::NameServer);
        self.feed.interests(&mut set, HeadToken::Input);
        self.streams.interests(&mut set, HeadToken::Output);
        set.wait(timeout)
    }

    /// The earliest timeout of the head.
    fn deadline(&self, ended: bool, now: Instant) -> Option<Instant> {
        let job = self.job.deadline().filter(|_| self.has_deadline(ended));
        let remaining_output = self.output_deadline().filter(|at| *at > now);
        let leftovers = self.ranks_ended.filter(|_| self.job.is_running());
        let leftovers = leftovers.and_then(|at| self.streams.leftovers_deadline(at, now));
        let all = [job, remaining_output, leftovers, self.streams.deadline(), self.feed.deadline()];
        let links = self.links.deadline();
        let calls = self.calls.as_ref().and_then(CallPort::deadline);
        let names = self.names.deadline();
        let report = self.report_deadline().into_iter().chain(names);
        all.into_iter().flatten().chain(links).chain(calls).chain(report).min()
    }

    /// The time at which the remaining output is given up; may be in the past.
    fn output_deadline(&self) -> Option<Instant> {
        self.streams.drain_deadline(self.job.output_timeout()?)
    }

    fn handle(&mut self, token: HeadToken) {
        let now = Instant::now();
        match token {
            HeadToken::Signals => {
                while let Some(signal) = self.signals.take() {
                    match signal {
                        signals::CHLD => self.agent.children_changed(),
                        signals::TTOU => {}
                        signal => {
                            let actions = self.job.signalled(signal, now);
                            self.perform(actions);
                        }
                    }
                }
            }
            HeadToken::Supervisor => {
                self.supervisor = None;
                let actions = self.job.supervisor_gone(now);
                self.perform(actions);
            }
            HeadToken::Debugger => {
                self.pid_sender.release();
                self.command(&AgentCommand::Release);
            }
            HeadToken::Agent(ready) => self.agent.handle(ready, now),
            HeadToken::Link(host, ready) => {
                let events = self.links.handle(host, ready, now);
                self.arrived(host, events);
            }
            HeadToken::Call(ready) => self.call_arrived(ready, now),
            HeadToken::RemoteInput(number) => {
                let input = &mut self.inputs[number];
                if let Some(command) = input.read() {
                    self.links.send(input.host, &command);
                }
            }
            HeadToken::Subordinate(number) => self.subordinate_ready(number),
            HeadToken::Parent => self.parent_ready(),
            HeadToken::NameServer => self.tick_names(now),
            HeadToken::Input(ready) => self.feed.handle(ready, now),
            HeadToken::Output(ready) => {
                if let Err(failure) = self.streams.handle(ready, now) {
                    let actions = self.job.output_lost(failure.why.as_deref(), now);
                    self.perform(actions);
                }
            }
        }
    }
}

/// The table of all processes, in the form of Open MPI, and where it is to be printed.
fn process_table<'a>(
    plan: &'a LaunchPlan, hosts: &JobHosts, pids: &[u32],
) -> Option<(&'a OsStr, Vec<u8>)> {
    let destination = plan.process_table.as_ref()?;
    let mut table = Vec::new();
    for ((rank, pid), app) in (0..).zip(pids).zip(plan.app_of_rank()) {
        let (program, host) = (&plan.apps[app as usize].program, hosts.name_of(rank));
        table.extend_from_slice(format!("(rank, host, exe, pid) = ({rank}, {host}, ").as_bytes());
        table.extend_from_slice(program.as_bytes());
        table.extend_from_slice(format!(", {pid})\n").as_bytes());
    }
    Some((destination, table))
}
