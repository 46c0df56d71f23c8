//! The connection to an agent, with its starter.
//!
//! ```text
//!   Starting --Hello--> Serving --Childless--> Childless
//!   \______/ started again to call back, once, if it has no input
//!       \__________________\____the connection or the starter ends_____> Lost
//! ```
//!
//! A starter that does not pass input on exits without a failure, or the agent says so: then the agent
//! is started again, and the connection is that by which it calls back.
//!
//! A link *via* another agent has no starter and no connection here: the other agent has them, and says
//! when they end.

use std::ffi::OsString;
use std::io::{self, ErrorKind};
use std::time::{Duration, Instant};

use platform::sys::poll::PollSet;
use platform::sys::process::Exit;
use platform::sys::signals;

use super::command::{StartedCommand, command_text};
use crate::build_info;
use crate::control::{
    AgentCommand, AgentEvent, ControlLink, HostFacts, HostLimits, LinkReady, Silence,
    beat_interval, parse,
};

/// The time after which the user is told that a starter has not started an agent.
const START_WARNING: Duration = Duration::from_secs(5);

/// The time that a starter has to exit after its connection has ended: its exit is in the message.
const EXIT_TIMEOUT: Duration = Duration::from_millis(500);

/// The time from the exit of a starter that leaves its agent running to the call of the agent: more than
/// the agent tries.
const CALL_TIMEOUT: Duration = Duration::from_secs(25);

const NOT_CALLED: &str = "its command has exited, and it has not called back: it needs standard input and \
    output, or the variables of the command, and a way to a port of this host";

const CONNECTION_ENDED: &str = "its connection has ended";

/// The agent of another host.
pub(crate) struct AgentLink {
    /// Its number in the layout.
    pub(crate) host: u32,
    /// `None` of a link via another agent.
    starter: Option<StartedCommand>,
    /// The starter's command line, for messages.
    command: String,
    /// `None` while the agent that is to start it has not been heard.
    started_at: Option<Instant>,
    limits: HostLimits,
    /// The time to warn of a slow starter; `None` after that.
    warn_at: Option<Instant>,
    control: Option<ControlLink<AgentEvent>>,
    /// What the connection ended with, and when.
    ended: Option<(String, Instant)>,
    state: AgentLinkState,
    call: CallState,
    /// The agent has said that it has no input.
    is_inputless: bool,
    silence: Silence,
    beat_at: Instant,
}

#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AgentLinkState {
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
pub(crate) enum AgentLinkReady {
    Control(LinkReady),
    Errors,
}

impl AgentLink {
    /// Starts the agent of `host` by the command `words`.
    ///
    /// # Errors
    /// The command cannot be started.
    pub(crate) fn start(
        host: u32, words: &[OsString], environment: &[(OsString, OsString)],
        file_limit: Option<u64>, limits: HostLimits, now: Instant,
    ) -> io::Result<Self> {
        let (starter, mut control) = StartedCommand::start(words, environment, file_limit)?;
        // The agent answers what it reads first.
        control.send(&beat(limits));
        let mut link = Self::via(host, words, limits, now);
        (link.starter, link.control) = (Some(starter), Some(control));
        link.silence = Silence::new(limits.silence, now);
        link.starts(now);
        Ok(link)
    }

    /// The agent of `host`, which another agent is to start by the command `words`.
    pub(crate) fn via(host: u32, words: &[OsString], limits: HostLimits, now: Instant) -> Self {
        Self {
            host,
            starter: None,
            command: command_text(words),
            started_at: None,
            limits,
            warn_at: None,
            control: None,
            ended: None,
            state: AgentLinkState::Starting,
            call: CallState::NotNeeded,
            is_inputless: false,
            silence: Silence::new(None, now),
            beat_at: now,
        }
    }

    /// The starter starts now.
    pub(crate) fn starts(&mut self, now: Instant) {
        self.started_at = Some(now);
        self.warn_at = Some(now + START_WARNING);
    }

    /// Whether the starter has started, and its agent has not been heard.
    pub(crate) fn is_awaited(&self) -> bool {
        self.state == AgentLinkState::Starting && self.started_at.is_some()
    }

    fn exit(&self) -> Option<Exit> {
        self.starter.as_ref().and_then(StartedCommand::exit)
    }

    /// The agent has been started to call back; its starter waits for its end or not.
    pub(crate) fn awaiting_call(self, is_attached: bool) -> Self {
        Self { call: CallState::Awaited { is_attached, until: None }, ..self }
    }

    /// Whether the agent has to be started again to call back: its output is not the connection if that
    /// ends and the starter does not fail, or runs on.
    pub(crate) fn needs_call(&self, now: Instant) -> bool {
        let has_ended = self.ended.as_ref().is_some_and(|(why, at)| match self.exit() {
            _ if why != CONNECTION_ENDED => false,
            Some(exit) => exit == Exit::Code(0),
            None => now >= *at + EXIT_TIMEOUT,
        });
        let is_new = self.state == AgentLinkState::Starting && self.call == CallState::NotNeeded;
        is_new && self.starter.is_some() && (self.is_inputless || has_ended)
    }

    /// Whether the agent has no input, and has not been called back.
    pub(crate) fn is_inputless(&self) -> bool {
        self.is_inputless
    }

    /// Whether the agent may call.
    pub(crate) fn awaits_call(&self) -> bool {
        matches!(self.call, CallState::Awaited { .. }) && self.state == AgentLinkState::Starting
    }

    /// The agent has called; the events that have arrived.
    pub(crate) fn called(
        &mut self, control: ControlLink<AgentEvent>, now: Instant,
    ) -> Vec<AgentEvent> {
        self.call = CallState::Arrived;
        self.control = Some(control);
        self.silence.heard(now);
        self.send(&beat(self.limits));
        self.take_messages(Ok(()), now)
    }

    /// The process of the starter, unless it has been reaped.
    pub(crate) fn starter(&self) -> Option<u32> {
        self.starter.as_ref()?.process()
    }

    pub(crate) fn state(&self) -> AgentLinkState {
        self.state
    }

    /// Whether there is no agent any more.
    pub(crate) fn is_lost(&self) -> bool {
        self.state == AgentLinkState::Lost
    }

    /// Whether the host has no process of the job, as far as is known.
    pub(crate) fn is_childless(&self) -> bool {
        matches!(self.state, AgentLinkState::Childless | AgentLinkState::Lost)
    }

    /// Sends `command`, if the agent can take it.
    pub(crate) fn send(&mut self, command: &AgentCommand) {
        if let Some(control) = &mut self.control {
            control.send(command);
        }
    }

    /// Sends a command in its form on the wire.
    pub(crate) fn send_bytes(&mut self, command: &[u8]) {
        if let Some(control) = &mut self.control {
            control.send_bytes(command);
        }
    }

    /// The number of bytes that the agent has not accepted.
    pub(crate) fn queued_bytes(&self) -> usize {
        self.control.as_ref().map_or(0, ControlLink::queued_bytes)
    }

    /// Adds descriptors to poll, standard error only if `takes_lines`; `token` makes the caller's tokens.
    pub(crate) fn interests<'a, Token: Copy>(
        &'a self, takes_lines: bool, set: &mut PollSet<'a, Token>,
        token: impl Fn(AgentLinkReady) -> Token,
    ) {
        if let Some(control) = &self.control {
            control.interests(set, |ready| token(AgentLinkReady::Control(ready)));
        }
        if let Some(starter) = self.starter.as_ref().filter(|_| takes_lines) {
            starter.interests(set, token(AgentLinkReady::Errors));
        }
    }

    /// Adds what is to be polled to send, and nothing to read.
    pub(crate) fn write_interest<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(AgentLinkReady) -> Token,
    ) {
        if let Some(control) = &self.control {
            control.write_interest(set, |ready| token(AgentLinkReady::Control(ready)));
        }
    }

    /// Serves a ready descriptor; the events that have arrived.
    pub(crate) fn handle(&mut self, ready: AgentLinkReady, now: Instant) -> Vec<AgentEvent> {
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

    /// An event of an agent via another, in its form on the wire.
    pub(crate) fn relayed(&mut self, message: &[u8], now: Instant) -> Option<AgentEvent> {
        if self.is_lost() || self.ended.is_some() {
            return None;
        }
        match parse(message) {
            Ok(event) => self.noted(vec![event], now).pop(),
            Err(broken) => {
                self.fail(&broken.0, now);
                None
            }
        }
    }

    /// The agent violates the protocol, or is lost to the one that has started it. The first reason
    /// counts.
    pub(crate) fn fail(&mut self, why: &str, now: Instant) {
        self.control = None;
        self.ended.get_or_insert_with(|| (why.to_owned(), now));
    }

    /// Nothing is read from the agent now: it is not silent.
    pub(crate) fn excuse(&mut self, now: Instant) {
        self.silence.heard(now);
    }

    /// The whole lines on standard error that have arrived.
    pub(crate) fn take_lines(&mut self) -> Vec<String> {
        self.starter.as_mut().map(StartedCommand::take_lines).unwrap_or_default()
    }

    /// The starter has exited; events that arrived before.
    pub(crate) fn starter_ended(&mut self, exit: Exit, now: Instant) -> Vec<AgentEvent> {
        self.starter.iter_mut().for_each(|starter| starter.exited(exit));
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
    pub(crate) fn tick(&mut self, now: Instant) -> Option<String> {
        if self.is_lost() {
            return None;
        }
        if let Some((why, at)) = &self.ended {
            let why = match self.exit() {
                None if self.starter.is_some() && now < *at + EXIT_TIMEOUT => return None,
                None => why.clone(),
                Some(Exit::Code(code)) => format!("{why}: the command exited with code {code}"),
                Some(Exit::Signal(signal)) => {
                    format!("{why}: the command was killed by {}", signals::name(signal))
                }
            };
            let why = match self.state {
                AgentLinkState::Starting if self.starter.is_some() => {
                    format!("{why} ({})", self.command)
                }
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
            if now < self.started_at? + limit {
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

    /// A sentence for the user about the agent on host `name`, once, if the agent has not been heard for long.
    pub(crate) fn take_warning(&mut self, name: &str, now: Instant) -> Option<String> {
        self.warn_at.take_if(|at| now >= *at)?;
        if self.state != AgentLinkState::Starting || self.ended.is_some() {
            return None;
        }
        let command = &self.command;
        let seconds = START_WARNING.as_secs();
        let limit = match self.limits.start {
            Some(limit) => format!(" until {} s", limit.as_secs_f64()),
            None => String::new(),
        };
        Some(format!(
            "note: mpirun's agent on host {name} has not answered for {seconds} s; waiting{limit} \
             (SUIRO_START_TIMEOUT) for: {command}"
        ))
    }

    /// The time to call [`AgentLink::tick`].
    pub(crate) fn deadline(&self) -> Option<Instant> {
        match (&self.ended, self.state) {
            (_, AgentLinkState::Lost) => None,
            (Some((_, at)), _) => Some(*at + EXIT_TIMEOUT),
            (None, AgentLinkState::Starting) => {
                let end = self.limits.start.and_then(|limit| Some(self.started_at? + limit));
                let call = match self.call {
                    CallState::Awaited { until, .. } => until,
                    CallState::NotNeeded | CallState::Arrived => None,
                };
                self.warn_at.into_iter().chain(end).chain(call).min()
            }
            (None, _) if self.starter.is_none() => None,
            (None, AgentLinkState::Serving | AgentLinkState::Childless) => {
                self.silence.deadline().into_iter().chain([self.beat_at]).min()
            }
        }
    }

    /// Gives the agent up.
    pub(crate) fn lose(&mut self) {
        self.state = AgentLinkState::Lost;
        self.control = None;
        self.starter.iter().for_each(StartedCommand::kill);
    }
}

fn beat(limits: HostLimits) -> AgentCommand {
    AgentCommand::Beat { silence_max: limits.silence_of_head() }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_starter_that_starts_no_agent_is_named_and_then_given_up() {
        let words = ["cat".into(), "-".into()];
        let (limits, now) = (HostLimits::default(), Instant::now());
        let mut link = AgentLink::start(1, &words, &[], None, limits, now).unwrap();
        let end = now + limits.start.unwrap();
        assert_eq!((link.take_warning("node1", now), link.tick(now)), (None, None));
        assert_eq!(link.deadline(), Some(now + START_WARNING));
        let warning = link.take_warning("node1", now + START_WARNING).unwrap();
        assert_eq!(
            warning,
            "note: mpirun's agent on host node1 has not answered for 5 s; waiting until 120 s \
             (SUIRO_START_TIMEOUT) for: cat -"
        );
        assert_eq!((link.take_warning("node1", end), link.deadline()), (None, Some(end)));
        assert!(link.tick(end).unwrap().starts_with("it has not answered for 120 s"));
        assert_eq!(link.state(), AgentLinkState::Lost);
    }
}
