//! The process of an agent on another host than the head's: `mpirun --agent`.
//!
//! ```text
//!   Serving --no process is left--> Childless --the head closes the connection--> Left
//!      \---the head is lost, a signal--> Ending --killed--> exit
//! ```
//!
//! Commands come in on standard input, events go out on standard output; standard error is passed on
//! by the command that started this process, for messages of last resort. An agent whose standard input
//! ends before anything has come says so, and is started again to call its head back ([`call`]). A head that
//! closes the connection, or is silent for longer than it said, has ended or cannot be reached: then all
//! processes of the job on this host are ended. If this process is stopped, its supervisor ends them when
//! the connection ends.
//!
//! An agent that has started others ([`branch`](super::branch)) is the head to them: it closes their
//! connections when its own ends, and stays until its head leaves, which knows when all are childless.

use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::bootstrap::identity;
use platform::sys::poll::PollSet;
use platform::sys::process::{self, Reap};
use platform::sys::signals::{self, Signals};
use platform::sys::topology::CpuTopology;
use platform::sys::{host, limits};

use super::branch::Branch;
use super::rank_pipes::{PipeReady, RankPipes};
use super::{Agent, AgentReady, RankStreams, call};
use crate::build_info;
use crate::connection::AgentLinkReady;
use crate::control::{
    AgentCommand, AgentEvent, CallAddress, ControlLink, HostFacts, HostLimits, HostShare,
    LinkReady, Silence, parse,
};
use crate::mpirun::print_note;
use crate::supervisor::guarded;

/// The time from SIGTERM for the processes of a lost head to SIGKILL, the interval at which they are
/// killed again, and the time after which they are left alone.
const GRACE: Duration = Duration::from_millis(500);
const KILL_INTERVAL: Duration = Duration::from_millis(10);
const KILL_TIMEOUT: Duration = Duration::from_secs(5);

/// Runs the agent of this host until its head has left, which it calls at `address` if there is one;
/// the exit code.
pub(crate) fn main(address: Option<&CallAddress>) -> i32 {
    // The supervisor has the connection, too.
    let served = connect(address).and_then(|(link, connection)| {
        guarded(&connection, |supervisor| match RemoteAgent::open(supervisor, link) {
            Ok(agent) => agent.serve(),
            Err(error) => failed(&error),
        })
    });
    served.unwrap_or_else(|error| failed(&error))
}

/// The connection to the head, and the descriptor that it is read from.
fn connect(address: Option<&CallAddress>) -> io::Result<(ControlLink<AgentCommand>, OwnedFd)> {
    if let Some(address) = address {
        return call::call(address);
    }
    let input = io::stdin().as_fd().try_clone_to_owned()?;
    let output = io::stdout().as_fd().try_clone_to_owned()?;
    Ok((ControlLink::new(input.try_clone()?, output)?, input))
}

fn failed(error: &io::Error) -> i32 {
    print_note(&format!("the agent on {} cannot run: {error}", host::name()));
    1
}

struct RemoteAgent {
    agent: Option<Agent>,
    link: ControlLink<AgentCommand>,
    silence: Silence,
    /// The head has been heard.
    has_heard: bool,
    pipes: RankPipes,
    /// The agents that this one has started.
    branch: Branch,
    signals: Signals,
    /// The read end of a pipe whose other end the supervisor alone has, while it runs.
    supervisor: OwnedFd,
    /// The limit of open files of this process, before it was raised.
    file_limit: Option<u64>,
    state: RemoteState,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum RemoteState {
    /// Ranks run, or have not been started.
    Serving,
    /// No process of the job is left, and the head knows. The rest of the output is sent.
    Childless,
    /// The head has closed the connection to an agent without processes.
    Left,
    /// The head is lost: remaining processes are killed at `kill_at`, and left alone at `until`.
    Ending { kill_at: Instant, until: Instant },
}

impl RemoteState {
    /// Whether the head is awaited.
    fn serves(self) -> bool {
        matches!(self, Self::Serving | Self::Childless)
    }
}

/// The standard streams of ranks that start. A program on a slow file server starts slowly: meanwhile,
/// the agent is not silent.
struct StartStreams<'a> {
    pipes: &'a mut RankPipes,
    link: &'a mut ControlLink<AgentCommand>,
}

impl RankStreams for StartStreams<'_> {
    fn input_of(&mut self, rank: u32) -> io::Result<OwnedFd> {
        self.link.send(&AgentEvent::Beat);
        self.pipes.input_of(rank)
    }

    fn started(
        &mut self, rank: u32, process: u32, outputs: [Option<OwnedFd>; 2],
    ) -> io::Result<()> {
        self.pipes.started(rank, process, outputs)
    }
}

/// The descriptor that became ready.
#[derive(Clone, Copy, Debug)]
enum RemoteToken {
    Signals,
    Supervisor,
    Link(LinkReady),
    Agent(AgentReady),
    Pipe(PipeReady),
    Branch(usize, AgentLinkReady),
}

impl RemoteAgent {
    fn open(supervisor: OwnedFd, link: ControlLink<AgentCommand>) -> io::Result<Self> {
        let file_limit = process::raise_file_limit();
        process::leave_group()?;
        process::adopt_orphans()?;
        let signals = Signals::block(&signals::JOB_SIGNALS)?;
        Ok(Self {
            agent: None,
            link,
            silence: Silence::new(HostLimits::default().silence_of_head(), Instant::now()),
            has_heard: false,
            pipes: RankPipes::default(),
            branch: Branch::default(),
            signals,
            supervisor,
            file_limit,
            state: RemoteState::Serving,
        })
    }

    fn serve(mut self) -> i32 {
        loop {
            let now = Instant::now();
            let childless = self.reap(now);
            if let Some(code) = self.exit_code(childless, now) {
                self.pipes.close_files(&mut self.link);
                return code;
            }
            if self.state.serves() && self.silence.turn(now).is_some() {
                print_note(&format!("mpirun is silent; ending its processes on {}", host::name()));
                self.end("it has heard nothing of mpirun (SUIRO_HOST_TIMEOUT)", now);
            }
            let agent_deadline = self.agent.as_mut().and_then(|agent| agent.tick(now));
            let files_deadline = self.pipes.flush_overdue(now);
            let agent_deadline = agent_deadline.into_iter().chain(files_deadline).min();
            self.send_events();
            let events = self.branch.tick(self.link.queued_bytes(), now);
            self.send_up(&events);
            if childless && self.agent.is_some() {
                self.pipes.drain(&mut self.link);
                if self.state == RemoteState::Serving && self.pipes.are_written() {
                    self.pipes.close_files(&mut self.link);
                    self.state = RemoteState::Childless;
                    self.link.send(&AgentEvent::Childless);
                }
            }
            self.kill(now);
            match self.wait(agent_deadline, now) {
                Ok(tokens) => tokens.into_iter().for_each(|token| self.handle(token)),
                Err(error) => return failed(&error),
            }
        }
    }

    /// The exit code, if nothing is left to do.
    fn exit_code(&self, childless: bool, now: Instant) -> Option<i32> {
        match self.state {
            RemoteState::Serving | RemoteState::Childless => None,
            RemoteState::Left => Some(0),
            // Processes that cannot be killed are left alone.
            RemoteState::Ending { until, .. } => (childless || now >= until).then_some(1),
        }
    }

    /// Reaps ended children; whether no process of the job is left.
    fn reap(&mut self, now: Instant) -> bool {
        let mut others = Vec::new();
        let childless = match &mut self.agent {
            Some(agent) => agent.reap(|pid, exit| others.push((pid, exit))),
            None => {
                while let Reap::Ended(pid, exit) = process::reap() {
                    others.push((pid, exit));
                }
                true
            }
        };
        self.send_events();
        for (pid, exit) in others {
            // Other children are adopted orphans.
            let events = self.branch.child_ended(pid, exit, now);
            self.send_up(&events);
        }
        childless || self.state == RemoteState::Childless || self.has_only_starters()
    }

    /// Whether the children of this process are the starters of other agents.
    fn has_only_starters(&self) -> bool {
        let starters = self.branch.starters();
        !starters.is_empty()
            && self.agent.as_ref().is_none_or(Agent::have_ranks_ended)
            && !process::has_other_children(&starters)
    }

    fn send_events(&mut self) {
        let events = self.agent.as_mut().map(Agent::take_events).unwrap_or_default();
        self.send_up(&events);
    }

    fn send_up(&mut self, events: &[AgentEvent]) {
        events.iter().for_each(|event| self.link.send(event));
    }

    fn wait(&self, agent_deadline: Option<Instant>, now: Instant) -> io::Result<Vec<RemoteToken>> {
        let own = match self.state {
            RemoteState::Ending { kill_at, .. } => Some(kill_at),
            RemoteState::Serving | RemoteState::Childless | RemoteState::Left => {
                self.silence.deadline()
            }
        };
        let deadlines = agent_deadline.into_iter().chain(own).chain(self.branch.deadline());
        let deadline = deadlines.min();
        let mut set = PollSet::default();
        set.add_read(self.signals.as_fd(), RemoteToken::Signals);
        if !matches!(self.state, RemoteState::Ending { .. }) {
            set.add_read(self.supervisor.as_fd(), RemoteToken::Supervisor);
            self.link.interests(&mut set, RemoteToken::Link);
            self.branch.interests(self.link.queued_bytes(), &mut set, RemoteToken::Branch);
        }
        if let Some(agent) = &self.agent {
            agent.interests(&mut set, RemoteToken::Agent);
        }
        self.pipes.interests(&self.link, &mut set, RemoteToken::Pipe);
        set.wait(deadline.map(|at| at.saturating_duration_since(now)))
    }

    fn handle(&mut self, token: RemoteToken) {
        let now = Instant::now();
        match token {
            RemoteToken::Signals => self.take_signals(now),
            RemoteToken::Supervisor => {
                self.end("the supervisor process of its mpirun was killed", now)
            }
            RemoteToken::Link(LinkReady::Write) => self.link.write(),
            RemoteToken::Link(LinkReady::Read) => {
                self.silence.heard(now);
                if let Err(error) = self.read_commands() {
                    self.head_left(&error, now);
                }
            }
            RemoteToken::Agent(ready) => {
                if let Some(agent) = &mut self.agent {
                    agent.handle(ready, now);
                }
                // The head decides with what has happened, in order.
                self.send_events();
            }
            RemoteToken::Pipe(ready) => self.pipes.handle(ready, &mut self.link),
            RemoteToken::Branch(number, ready) => {
                let events = self.branch.handle(number, ready, now);
                self.send_up(&events);
            }
        }
    }

    /// Signals for the job come from the head; these are for this process.
    fn take_signals(&mut self, now: Instant) {
        while let Some(signal) = self.signals.take() {
            if signal == signals::CHLD {
                self.agent.iter_mut().for_each(Agent::children_changed);
            }
            if [signals::INT, signals::TERM, signals::HUP].contains(&signal) {
                self.end(&format!("its mpirun received {}", signals::name(signal)), now);
            }
        }
    }

    fn read_commands(&mut self) -> io::Result<()> {
        self.link.read()?;
        if !self.has_heard {
            self.has_heard = true;
            self.greet();
        }
        while let Some(command) = self.link.next_message()? {
            match command {
                AgentCommand::Start(share) if self.agent.is_none() => self.start(*share)?,
                AgentCommand::Input { rank, bytes } => {
                    self.pipes.feed(rank, &bytes, &mut self.link)?;
                }
                AgentCommand::Grant { rank, stream, bytes } => {
                    self.pipes.grant((rank, stream), bytes, &mut self.link);
                }
                AgentCommand::Beat { silence_max } => {
                    self.silence.set_limit(silence_max);
                    self.link.send(&AgentEvent::Beat);
                }
                AgentCommand::StartBranch(plan) if !self.branch.is_started() => {
                    self.branch = Branch::start(*plan, self.file_limit, Instant::now());
                    self.spare_starters();
                }
                AgentCommand::Pass { to, message } => {
                    if self.branch.pass(to, &message) {
                        let command = parse(&message);
                        self.perform(&command.map_err(|broken| io::Error::other(broken.0))?);
                    }
                }
                command => self.perform(&command),
            }
            self.send_events();
        }
        Ok(())
    }

    fn spare_starters(&mut self) {
        if let Some(agent) = &mut self.agent {
            self.branch.starters().into_iter().for_each(|pid| agent.spare(pid));
        }
    }

    fn greet(&mut self) {
        self.link.send(&AgentEvent::Hello(HostFacts {
            build: build_info::identity(),
            name: host::name(),
            identity: identity::of_this_host(),
            topology: CpuTopology::here().map_or_else(|_| String::new(), |here| here.to_text()),
        }));
    }

    fn start(&mut self, share: HostShare) -> io::Result<()> {
        let readers = share.ranks.iter().filter(|rank| rank.reads_input);
        self.pipes = RankPipes::new(readers.map(|rank| rank.rank).collect(), share.size);
        limits::adopt(&share.limits);
        limits::set_file_mask(share.file_mask);
        let opened = self.pipes.open_files(&share, Instant::now());
        let (_, file_limit_max) = process::file_limit()?;
        let file_limit = share.file_limit.min(file_limit_max);
        self.agent = Some(Agent::new(share));
        self.spare_starters();
        if let Err(error) = opened {
            self.link.send(&AgentEvent::Refused { code: 1, why: error.to_string() });
            return Ok(());
        }
        let mut streams = StartStreams { pipes: &mut self.pipes, link: &mut self.link };
        self.agent.iter_mut().try_for_each(|agent| agent.start(Some(file_limit), &mut streams))
    }

    /// The connection to the head has ended, or is of no use.
    fn head_left(&mut self, error: &io::Error, now: Instant) {
        let is_idle = self.agent.is_none() || self.state == RemoteState::Childless;
        match error.kind() {
            io::ErrorKind::UnexpectedEof if is_idle => {
                if !self.has_heard {
                    self.link.send(&AgentEvent::Inputless);
                }
                self.state = RemoteState::Left;
            }
            io::ErrorKind::UnexpectedEof => self.end("its connection has ended", now),
            _ => self.end(&format!("it cannot understand its head: {error}"), now),
        }
    }

    /// The head is lost: ends all processes.
    fn end(&mut self, why: &str, now: Instant) {
        if matches!(self.state, RemoteState::Ending { .. }) {
            return;
        }
        self.link.send(&AgentEvent::Ending(why.to_owned()));
        self.branch.end();
        self.state = RemoteState::Ending { kill_at: now + GRACE, until: now + KILL_TIMEOUT };
        self.perform(&AgentCommand::TerminateRest);
    }

    fn kill(&mut self, now: Instant) {
        if let RemoteState::Ending { kill_at, .. } = &mut self.state
            && now >= *kill_at
        {
            *kill_at = now + KILL_INTERVAL;
            self.perform(&AgentCommand::Kill);
        }
    }

    fn perform(&mut self, command: &AgentCommand) {
        if let Some(agent) = &mut self.agent {
            agent.perform(command);
        }
    }
}
