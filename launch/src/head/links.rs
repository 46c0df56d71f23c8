//! The agents of other hosts: the commands that start them, and the connections to them.
//!
//! ```text
//!   Starting --Hello--> Serving --Childless--> Childless
//!       \__________________\____the connection or the starter ends_____> Lost
//! ```
//!
//! A *starter* is a command such as ssh: its standard input and output are the connection, and what it
//! and the agent write to standard error is printed with the name of the host.

use std::ffi::OsString;
use std::fs::File;
use std::io::{self, ErrorKind, Read};
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::sys::descriptor;
use platform::sys::poll::PollSet;
use platform::sys::process::{self, ChildProgram, Exit};
use platform::sys::signals;

use crate::agent::environment::EnvironmentVariable;
use crate::build_info;
use crate::control::{
    AgentCommand, AgentEvent, ControlLink, HostFacts, HostShare, LinkReady, StreamCredit,
    window_bytes,
};

/// An agent that is silent for so long is lost. It answers every [`BEAT_INTERVAL`].
const AGENT_TIMEOUT: Duration = Duration::from_secs(10);
const BEAT_INTERVAL: Duration = Duration::from_secs(1);

const INPUT_READ_BYTES: usize = 64 * 1024;

/// The time that a starter has to exit after its connection has ended: its exit is in the message.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// Longest line of an agent's standard error; longer ones are printed in parts.
const LINE_MAX_BYTES: usize = 4096;

/// The agent of another host.
pub(super) struct AgentLink {
    /// Its number in the layout.
    pub(super) host: u32,
    pub(super) name: String,
    starter: u32,
    /// The starter's exit, once reaped.
    exit: Option<Exit>,
    control: Option<ControlLink<AgentEvent>>,
    /// What the connection ended with, and when.
    ended: Option<(String, Instant)>,
    errors: Option<File>,
    line: Vec<u8>,
    state: AgentLinkState,
    /// The agent has been told which ranks to start.
    has_share: bool,
    heard_at: Instant,
    beat_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum AgentLinkState {
    /// The agent has not been heard.
    Starting,
    Serving,
    /// No process of the job is left on the host; the rest of its output arrives.
    Childless,
    /// There is no agent any more.
    Lost,
}

/// A descriptor of an [`AgentLink`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum AgentLinkReady {
    Control(LinkReady),
    Errors,
}

impl AgentLink {
    /// Starts the agent of `host` by the command `words`.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(super) fn start(
        (host, name): (u32, &str), words: &[OsString], environment: &[EnvironmentVariable],
        file_limit: Option<u64>, now: Instant,
    ) -> io::Result<Self> {
        let (input, to_agent) = descriptor::pipe()?;
        let (from_agent, output) = descriptor::pipe()?;
        let (errors, errors_end) = descriptor::pipe()?;
        descriptor::set_nonblocking(&errors)?;
        let control = ControlLink::new(from_agent, to_agent)?;
        let starter = process::spawn(ChildProgram {
            name: &words[0],
            arguments: &words[1..],
            environment,
            directory: None,
            streams: [input, output, errors_end],
            inherited: &[],
            file_limit,
            processors: None,
        })?;
        Ok(Self {
            host,
            name: name.to_owned(),
            starter,
            exit: None,
            control: Some(control),
            ended: None,
            errors: Some(errors.into()),
            line: Vec::new(),
            state: AgentLinkState::Starting,
            has_share: false,
            heard_at: now,
            beat_at: now + BEAT_INTERVAL,
        })
    }

    /// The process of the starter, unless it has been reaped.
    pub(super) fn starter(&self) -> Option<u32> {
        self.exit.is_none().then_some(self.starter)
    }

    pub(super) fn state(&self) -> AgentLinkState {
        self.state
    }

    /// Whether the host has no process of the job, as far as is known.
    pub(super) fn is_childless(&self) -> bool {
        matches!(self.state, AgentLinkState::Childless | AgentLinkState::Lost)
    }

    /// Whether the agent reports the state of its ranks when it is asked.
    pub(super) fn reports(&self) -> bool {
        self.has_share && self.state != AgentLinkState::Lost
    }

    /// Makes the agent start its ranks.
    pub(super) fn start_ranks(&mut self, share: HostShare) {
        self.has_share = true;
        self.send(&AgentCommand::Start(Box::new(share)));
    }

    /// The job ends: an agent that has not started its ranks is not needed.
    pub(super) fn dismiss(&mut self) {
        if !self.has_share {
            self.lose();
        }
    }

    /// Sends `command`, if the agent can take it.
    pub(super) fn send(&mut self, command: &AgentCommand) {
        if let Some(control) = &mut self.control {
            control.send(command);
        }
    }

    /// The number of bytes that the agent has not accepted.
    pub(super) fn queued_bytes(&self) -> usize {
        self.control.as_ref().map_or(0, ControlLink::queued_bytes)
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(AgentLinkReady) -> Token,
    ) {
        if let Some(control) = &self.control {
            control.interests(set, |ready| token(AgentLinkReady::Control(ready)));
        }
        if let Some(errors) = &self.errors {
            set.add_read(errors.as_fd(), token(AgentLinkReady::Errors));
        }
    }

    /// Serves a ready descriptor; the events that have arrived.
    pub(super) fn handle(&mut self, ready: AgentLinkReady, now: Instant) -> Vec<AgentEvent> {
        match ready {
            AgentLinkReady::Control(LinkReady::Write) => {
                if let Some(control) = &mut self.control {
                    control.write();
                }
            }
            AgentLinkReady::Control(LinkReady::Read) => return self.read(now),
            // Read by `take_lines`.
            AgentLinkReady::Errors => {}
        }
        Vec::new()
    }

    fn read(&mut self, now: Instant) -> Vec<AgentEvent> {
        let Some(control) = &mut self.control else { return Vec::new() };
        self.heard_at = now;
        let mut events = Vec::new();
        let mut result = control.read();
        while result.is_ok() {
            match control.next_message() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return self.noted(events),
                Err(error) => result = Err(error),
            }
        }
        if let Err(error) = result {
            let why = match error.kind() {
                ErrorKind::UnexpectedEof => "its connection has ended".to_owned(),
                _ => error.to_string(),
            };
            self.control = None;
            self.ended = Some((why, now));
        }
        self.noted(events)
    }

    /// Notes what events say of the agent itself.
    fn noted(&mut self, events: Vec<AgentEvent>) -> Vec<AgentEvent> {
        for event in &events {
            match event {
                AgentEvent::Hello(HostFacts { build, .. }) if *build != build_info::identity() => {
                    let own = build_info::identity();
                    let why = format!("its mpirun is the build {build}, this one is {own}");
                    self.control = None;
                    self.ended = Some((why, self.heard_at));
                    return Vec::new();
                }
                AgentEvent::Hello(_) => self.state = AgentLinkState::Serving,
                AgentEvent::Childless => self.state = AgentLinkState::Childless,
                _ => {}
            }
        }
        events
    }

    /// The agent violates the protocol.
    pub(super) fn fail(&mut self, why: &str, now: Instant) {
        self.control = None;
        self.ended = Some((why.to_owned(), now));
    }

    /// The whole lines on standard error that have arrived.
    pub(super) fn take_lines(&mut self) -> Vec<String> {
        let mut buffer = [0; LINE_MAX_BYTES];
        let mut lines = Vec::new();
        while let Some(errors) = &mut self.errors {
            match errors.read(&mut buffer) {
                Ok(count) if count > 0 => {
                    for byte in &buffer[..count] {
                        if *byte != b'\n' {
                            self.line.push(*byte);
                        }
                        if *byte == b'\n' || self.line.len() == LINE_MAX_BYTES {
                            lines.push(std::mem::take(&mut self.line));
                        }
                    }
                }
                Err(error) if error.kind() == ErrorKind::Interrupted => {}
                Err(error) if error.kind() == ErrorKind::WouldBlock => break,
                Ok(_) | Err(_) => {
                    self.errors = None;
                    lines.push(std::mem::take(&mut self.line));
                }
            }
        }
        let text = |line: Vec<u8>| String::from_utf8_lossy(&line).trim_end().to_owned();
        lines.into_iter().map(text).filter(|line| !line.is_empty()).collect()
    }

    /// The starter has exited; events that arrived before.
    pub(super) fn starter_ended(&mut self, exit: Exit, now: Instant) -> Vec<AgentEvent> {
        self.exit = Some(exit);
        let mut events = Vec::new();
        // The rest of what it wrote: its end comes last.
        for _ in 0..64 {
            if self.control.is_none() {
                break;
            }
            events.extend(self.read(now));
        }
        if self.control.take().is_some() {
            self.ended = Some(("its connection has ended".to_owned(), now));
        }
        events
    }

    /// Does what is due; why the agent is lost, if it has been lost now.
    pub(super) fn tick(&mut self, now: Instant) -> Option<String> {
        if self.state == AgentLinkState::Lost {
            return None;
        }
        if let Some((why, at)) = &self.ended {
            let why = match self.exit {
                None if now < *at + EXIT_TIMEOUT => return None,
                None => why.clone(),
                Some(Exit::Code(code)) => format!("{why}: the command exited with code {code}"),
                Some(Exit::Signal(signal)) => {
                    format!("{why}: the command was killed by {}", signals::name(signal))
                }
            };
            self.lose();
            return Some(why);
        }
        if self.state != AgentLinkState::Starting {
            if now >= self.heard_at + AGENT_TIMEOUT {
                self.lose();
                let seconds = AGENT_TIMEOUT.as_secs();
                return Some(format!("it has been silent for {seconds} s"));
            }
            if now >= self.beat_at {
                self.beat_at = now + BEAT_INTERVAL;
                self.send(&AgentCommand::Beat);
            }
        }
        None
    }

    /// This process did not run for a while: the agents were not silent, they were not heard.
    pub(super) fn excuse(&mut self, now: Instant) {
        self.heard_at = now;
    }

    /// The time to call [`AgentLink::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (&self.ended, self.state) {
            (_, AgentLinkState::Lost) | (None, AgentLinkState::Starting) => None,
            (Some((_, at)), _) => Some(*at + EXIT_TIMEOUT),
            (None, AgentLinkState::Serving | AgentLinkState::Childless) => Some(self.beat_at),
        }
    }

    /// Gives the agent up.
    pub(super) fn lose(&mut self) {
        self.state = AgentLinkState::Lost;
        self.control = None;
        if let Some(starter) = self.starter() {
            process::signal_group(starter, signals::KILL);
        }
    }
}

/// The standard input of a rank of another host, copied to its agent.
#[derive(Debug)]
pub(super) struct RemoteInput {
    pub(super) rank: u32,
    pub(super) host: u32,
    source: Option<File>,
    credit: StreamCredit,
}

impl RemoteInput {
    /// The input of `rank` on `host` comes from `source`, in a job of `size` ranks.
    pub(super) fn new(rank: u32, host: u32, source: OwnedFd, size: u32) -> Self {
        let credit = StreamCredit::new(window_bytes(size));
        Self { rank, host, source: Some(source.into()), credit }
    }

    /// What to poll, until the end; `None` while the agent has no room.
    pub(super) fn source(&self) -> Option<&File> {
        self.source.as_ref().filter(|_| self.credit.left() > 0)
    }

    /// The rank has read this number of bytes.
    pub(super) fn grant(&mut self, bytes: u32) {
        self.credit.grant(bytes);
    }

    /// The rank reads no more.
    pub(super) fn close(&mut self) {
        self.source = None;
    }

    /// Reads once, after poll; what to send to the agent.
    pub(super) fn read(&mut self) -> Option<AgentCommand> {
        let mut bytes = vec![0; INPUT_READ_BYTES.min(self.credit.left())];
        match self.source.as_mut()?.read(&mut bytes) {
            Err(error) if descriptor::is_transient(&error) => return None,
            Ok(count) => bytes.truncate(count),
            Err(_) => bytes.clear(),
        }
        self.credit.spend(bytes.len());
        if bytes.is_empty() {
            self.source = None;
        }
        Some(AgentCommand::Input { rank: self.rank, bytes })
    }
}
