//! The agents of other hosts: the commands that start them, and the connections to them.
//!
//! ```text
//!   Starting --Hello--> Serving --Childless--> Childless
//!   \______/ started again to call back, once, if it has no input
//!       \__________________\____the connection or the starter ends_____> Lost
//! ```
//!
//! A *starter* is a command such as ssh: its standard input and output are the connection, and what it
//! and the agent write to standard error is printed with the name of the host. A starter that does not
//! pass input on exits without a failure, or the agent says so: then the agent is started again, and the
//! connection is that by which it calls back.

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
    AgentCommand, AgentEvent, ControlLink, HostFacts, HostLimits, HostShare, LinkReady, Silence,
    StreamCredit, beat_interval, window_bytes,
};

/// The time after which the user is told that a starter has not started an agent.
const START_WARNING: Duration = Duration::from_secs(5);

const INPUT_READ_BYTES: usize = 64 * 1024;

/// The time that a starter has to exit after its connection has ended: its exit is in the message.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// The time from the exit of a starter that leaves its agent running to the call of the agent: more than
/// the agent tries.
const CALL_TIMEOUT: Duration = Duration::from_secs(25);

const NOT_CALLED: &str = "its command has exited, and it has not called back: it needs standard input and \
    output, or the variables of the command, and a way to a port of this host";

const CONNECTION_ENDED: &str = "its connection has ended";

/// Longest line of an agent's standard error; longer ones are printed in parts.
const LINE_MAX_BYTES: usize = 4096;

/// The agent of another host.
pub(super) struct AgentLink {
    /// Its number in the layout.
    pub(super) host: u32,
    pub(super) name: String,
    starter: u32,
    /// The starter's command line, for messages.
    command: String,
    started_at: Instant,
    limits: HostLimits,
    /// The time to warn of a slow starter; `None` after that.
    warn_at: Option<Instant>,
    /// The starter's exit, once reaped.
    exit: Option<Exit>,
    control: Option<ControlLink<AgentEvent>>,
    /// What the connection ended with, and when.
    ended: Option<(String, Instant)>,
    errors: Option<File>,
    line: Vec<u8>,
    state: AgentLinkState,
    call: CallState,
    /// The agent has said that it has no input.
    is_inputless: bool,
    /// The agent has been told which ranks to start.
    has_share: bool,
    silence: Silence,
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

/// Whether the connection is one that the agent opens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum CallState {
    NotNeeded,
    /// The agent is to call: with a starter that waits for it, before that exits; with another, until
    /// this time, once the starter has exited.
    Awaited {
        is_attached: bool,
        until: Option<Instant>,
    },
    Arrived,
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
        file_limit: Option<u64>, limits: HostLimits, now: Instant,
    ) -> io::Result<Self> {
        let (input, to_agent) = descriptor::pipe()?;
        let (from_agent, output) = descriptor::pipe()?;
        let (errors, errors_end) = descriptor::pipe()?;
        descriptor::set_nonblocking(&errors)?;
        let mut control = ControlLink::new(from_agent, to_agent)?;
        // The agent answers what it reads first.
        control.send(&beat(limits));
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
            command: command_text(words),
            started_at: now,
            limits,
            warn_at: Some(now + START_WARNING),
            exit: None,
            control: Some(control),
            ended: None,
            errors: Some(errors.into()),
            line: Vec::new(),
            state: AgentLinkState::Starting,
            call: CallState::NotNeeded,
            is_inputless: false,
            has_share: false,
            silence: Silence::new(limits.silence, now),
            beat_at: now,
        })
    }

    /// The agent has been started to call back; its starter waits for its end or not.
    pub(super) fn awaiting_call(self, is_attached: bool) -> Self {
        Self { call: CallState::Awaited { is_attached, until: None }, ..self }
    }

    /// Whether the agent has to be started again to call back: its output is not the connection if that
    /// ends and the starter does not fail, or runs on.
    pub(super) fn needs_call(&self, now: Instant) -> bool {
        let has_ended = self.ended.as_ref().is_some_and(|(why, at)| match self.exit {
            _ if why != CONNECTION_ENDED => false,
            Some(exit) => exit == Exit::Code(0),
            None => now >= *at + EXIT_TIMEOUT,
        });
        let is_new = self.state == AgentLinkState::Starting && self.call == CallState::NotNeeded;
        is_new && (self.is_inputless || has_ended)
    }

    /// Whether the agent may call.
    pub(super) fn awaits_call(&self) -> bool {
        matches!(self.call, CallState::Awaited { .. }) && self.state == AgentLinkState::Starting
    }

    /// The agent has called; the events that have arrived.
    pub(super) fn called(
        &mut self, control: ControlLink<AgentEvent>, now: Instant,
    ) -> Vec<AgentEvent> {
        self.call = CallState::Arrived;
        self.control = Some(control);
        self.silence.heard(now);
        self.send(&beat(self.limits));
        self.take_messages(Ok(()), now)
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
        self.silence.heard(now);
        let result = control.read();
        self.take_messages(result, now)
    }

    /// Takes what has arrived, and the end of the connection after an error.
    fn take_messages(&mut self, mut result: io::Result<()>, now: Instant) -> Vec<AgentEvent> {
        let Some(control) = &mut self.control else { return Vec::new() };
        let mut events = Vec::new();
        while result.is_ok() {
            match control.next_message() {
                Ok(Some(event)) => events.push(event),
                Ok(None) => return self.noted(events, now),
                Err(error) => result = Err(error),
            }
        }
        if let Err(error) = result {
            let why = match error.kind() {
                ErrorKind::UnexpectedEof => CONNECTION_ENDED.to_owned(),
                _ => error.to_string(),
            };
            self.control = None;
            // What a starter writes before the call has no meaning.
            if !self.awaits_call() {
                self.ended = Some((why, now));
            }
        }
        self.noted(events, now)
    }

    /// Notes what events say of the agent itself.
    fn noted(&mut self, events: Vec<AgentEvent>, now: Instant) -> Vec<AgentEvent> {
        for event in &events {
            match event {
                AgentEvent::Hello(HostFacts { build, .. }) if *build != build_info::identity() => {
                    let own = build_info::identity();
                    let why = format!("its mpirun is the build {build}, this one is {own}");
                    self.control = None;
                    self.ended = Some((why, now));
                    return Vec::new();
                }
                AgentEvent::Inputless => {
                    self.control = None;
                    self.is_inputless = true;
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
        // More than that in one turn would keep the loop from the others.
        for _ in 0..16 {
            let Some(errors) = &mut self.errors else { break };
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
        if self.call == CallState::Arrived {
            return Vec::new();
        }
        let mut events = Vec::new();
        // The rest of what it wrote: its end comes last.
        for _ in 0..64 {
            if self.control.is_none() {
                break;
            }
            events.extend(self.read(now));
        }
        let had_control = self.control.take().is_some();
        match &mut self.call {
            CallState::Awaited { is_attached: false, until } if exit == Exit::Code(0) => {
                *until = Some(now + CALL_TIMEOUT);
            }
            CallState::Awaited { .. } => {
                self.ended = Some(("it has not called back".to_owned(), now));
            }
            CallState::NotNeeded | CallState::Arrived if had_control => {
                self.ended = Some((CONNECTION_ENDED.to_owned(), now));
            }
            CallState::NotNeeded | CallState::Arrived => {}
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
            let why = match self.state {
                AgentLinkState::Starting => format!("{why} ({})", self.command),
                _ => why,
            };
            self.lose();
            return Some(why);
        }
        if let CallState::Awaited { until: Some(until), .. } = self.call
            && now >= until
        {
            self.lose();
            return Some(NOT_CALLED.to_owned());
        }
        if self.state == AgentLinkState::Starting {
            let limit = self.limits.start?;
            if now < self.started_at + limit {
                return None;
            }
            self.lose();
            let (seconds, command) = (limit.as_secs_f64(), &self.command);
            return Some(format!(
                "it has not answered for {seconds} s (SUIRO_START_TIMEOUT); its command: {command}"
            ));
        }
        if let Some(limit) = self.silence.turn(now) {
            self.lose();
            let seconds = limit.as_secs_f64();
            return Some(format!("it has been silent for {seconds} s (SUIRO_HOST_TIMEOUT)"));
        }
        if now >= self.beat_at {
            self.beat_at = now + beat_interval(self.limits.silence);
            self.send(&beat(self.limits));
        }
        None
    }

    /// A sentence for the user, once, if the agent has not been heard for long.
    pub(super) fn take_warning(&mut self, now: Instant) -> Option<String> {
        self.warn_at.take_if(|at| now >= *at)?;
        if self.state != AgentLinkState::Starting || self.ended.is_some() {
            return None;
        }
        let (host, command) = (&self.name, &self.command);
        let seconds = START_WARNING.as_secs();
        let limit = match self.limits.start {
            Some(limit) => format!(" until {} s", limit.as_secs_f64()),
            None => String::new(),
        };
        Some(format!(
            "note: mpirun's agent on host {host} has not answered for {seconds} s; waiting{limit} \
             (SUIRO_START_TIMEOUT) for: {command}"
        ))
    }

    /// The time to call [`AgentLink::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        match (&self.ended, self.state) {
            (_, AgentLinkState::Lost) => None,
            (Some((_, at)), _) => Some(*at + EXIT_TIMEOUT),
            (None, AgentLinkState::Starting) => {
                let end = self.limits.start.map(|limit| self.started_at + limit);
                let call = match self.call {
                    CallState::Awaited { until, .. } => until,
                    CallState::NotNeeded | CallState::Arrived => None,
                };
                self.warn_at.into_iter().chain(end).chain(call).min()
            }
            (None, AgentLinkState::Serving | AgentLinkState::Childless) => {
                self.silence.deadline().into_iter().chain([self.beat_at]).min()
            }
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

fn beat(limits: HostLimits) -> AgentCommand {
    AgentCommand::Beat { silence_max: limits.silence_of_head() }
}

/// A command line that can be repeated in a shell.
fn command_text(words: &[OsString]) -> String {
    let words: Vec<_> = words.iter().map(|word| word.to_string_lossy()).collect();
    let words = words.iter().map(|word| &**word);
    shlex::try_join(words).unwrap_or_default()
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

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_that_starts_no_agent_is_named_and_then_given_up() {
        let words = ["cat".into(), "-".into()];
        let (limits, now) = (HostLimits::default(), Instant::now());
        let mut link = AgentLink::start((1, "node1"), &words, &[], None, limits, now).unwrap();
        let end = now + limits.start.unwrap();
        assert_eq!((link.take_warning(now), link.tick(now)), (None, None));
        assert_eq!(link.deadline(), Some(now + START_WARNING));
        let warning = link.take_warning(now + START_WARNING).unwrap();
        assert_eq!(
            warning,
            "note: mpirun's agent on host node1 has not answered for 5 s; waiting until 120 s \
             (SUIRO_START_TIMEOUT) for: cat -"
        );
        assert_eq!((link.take_warning(end), link.deadline()), (None, Some(end)));
        assert!(link.tick(end).unwrap().starts_with("it has not answered for 120 s"));
        assert_eq!(link.state(), AgentLinkState::Lost);
    }
}
