//! The port at which agents call back whose starters do not pass standard input and output on. It is
//! open while such a call is awaited, and only then.

use std::env;
use std::io;
use std::os::fd::{AsFd, OwnedFd};
use std::time::{Duration, Instant};

use platform::base::{Slab, Span};
use platform::network::{AddressDecision, InterfaceChoice, Refusal, SealedChannel};
use platform::sys::network_interfaces::interface_addresses;
use platform::sys::poll::PollSet;
use platform::sys::secret::JobCredentials;
use platform::sys::tcp::{Moved, SendPart, StreamConnection, TcpAcceptor};

use super::Head;
use super::ports::PortRange;
use crate::connection::AgentLink;
use crate::control::{
    AgentEvent, AwaitedCall, CALL_MAX_BYTES, CALL_SILENCE_TIMEOUT, CallAddress, CallToken,
    ControlLink, PBS_COOKIE, ProvenCall, TOKEN, UnprovenCall,
};
use crate::mpirun::AGENT_CALL;
use crate::starter::Starter;

/// Connections that have not proved a token, at most, and the time for the proof. The kernel holds
/// further ones until there is room.
const UNPROVEN_MAX: usize = 64;
const PROOF_TIMEOUT: Duration = Duration::from_secs(2);

/// An open port.
pub(super) struct CallPort {
    job: [u8; 16],
    acceptor: TcpAcceptor,
    awaited: Vec<AwaitedCall>,
    unproven: Slab<Caller>,
}

struct Caller {
    connection: StreamConnection,
    call: UnprovenCall,
    until: Instant,
}

/// A descriptor of a [`CallPort`] that became ready.
#[derive(Clone, Copy, Debug)]
pub(super) enum CallReady {
    Accept,
    Caller(u32),
}

impl CallPort {
    /// Opens a port for agents of `job`, one of `range` if there is one.
    ///
    /// # Errors
    /// The system's.
    pub(super) fn open(job: [u8; 16], range: Option<&PortRange>) -> io::Result<Self> {
        let acceptor = TcpAcceptor::listen(range.map(|range| range.ports.clone()));
        let acceptor = acceptor.map_err(|error| match range {
            Some(PortRange { text, .. }) => {
                let why = format!("mpirun cannot listen on a port of {text}: {error}");
                io::Error::new(error.kind(), why)
            }
            None => error,
        })?;
        Ok(Self { job, acceptor, awaited: Vec::new(), unproven: Slab::default() })
    }

    /// Where the agent of `host` is to call; from now on it may, with a token that `tokens` makes.
    ///
    /// # Errors
    /// This host has no address.
    pub(super) fn await_call(
        &mut self, host: u32, tokens: impl FnOnce(&CallAddress) -> Vec<CallToken>,
    ) -> io::Result<CallAddress> {
        let addresses = own_addresses()?.into_iter().map(|it| it.address.address).collect();
        let address = CallAddress { job: self.job, host, port: self.acceptor.port(), addresses };
        self.stop_awaiting(host);
        self.awaited.push(AwaitedCall { host, tokens: tokens(&address) });
        Ok(address)
    }

    /// The agent of `host` may also prove this token.
    pub(super) fn add_token(&mut self, host: u32, token: CallToken) {
        let call = self.awaited.iter_mut().find(|call| call.host == host);
        call.into_iter().for_each(|call| call.tokens.push(token.clone()));
    }

    /// The tokens of `host` prove nothing any more.
    pub(super) fn stop_awaiting(&mut self, host: u32) {
        self.awaited.retain(|call| call.host != host);
    }

    /// Whether no call is awaited: the port is to be closed.
    pub(super) fn is_idle(&self) -> bool {
        self.awaited.is_empty()
    }

    /// Adds descriptors to poll; `token` makes the caller's tokens.
    pub(super) fn interests<'a, Token: Copy>(
        &'a self, set: &mut PollSet<'a, Token>, token: impl Fn(CallReady) -> Token,
    ) {
        if self.unproven.len() < UNPROVEN_MAX {
            set.add_read(self.acceptor.as_fd(), token(CallReady::Accept));
        }
        for (key, caller) in self.unproven.iter() {
            set.add_read(caller.connection.as_fd(), token(CallReady::Caller(key)));
        }
    }

    /// Serves a ready descriptor; the host that has proved its token, and its connection.
    pub(super) fn handle(
        &mut self, ready: CallReady, now: Instant,
    ) -> Option<(u32, ControlLink<AgentEvent>)> {
        match ready {
            CallReady::Accept => {
                while self.unproven.len() < UNPROVEN_MAX
                    && let Some(connection) = self.acceptor.accept()
                {
                    let (call, until) = (UnprovenCall::new(self.job), now + PROOF_TIMEOUT);
                    self.unproven.insert(Caller { connection, call, until });
                }
                None
            }
            CallReady::Caller(key) => {
                let caller = self.unproven.get_mut(key)?;
                let proven = match caller.read(&self.awaited) {
                    Ok(None) => return None,
                    Ok(Some(proven)) => Some(proven),
                    Err(_) => None,
                };
                let Caller { connection, .. } = self.unproven.remove(key)?;
                let ProvenCall { host, channel, early } = proven?;
                self.stop_awaiting(host);
                connected(connection, channel, early).ok().map(|link| (host, link))
            }
        }
    }

    /// Forgets callers that have proved nothing in time.
    pub(super) fn tick(&mut self, now: Instant) {
        let late = self.unproven.iter().filter(|(_, caller)| now >= caller.until);
        let late: Vec<_> = late.map(|(key, _)| key).collect();
        late.into_iter().for_each(|key| drop(self.unproven.remove(key)));
    }

    /// The time to call [`CallPort::tick`].
    pub(super) fn deadline(&self) -> Option<Instant> {
        self.unproven.iter().map(|(_, caller)| caller.until).min()
    }
}

impl Head<'_> {
    /// Starts the agent of `host`, whose starter passes no input on, to call back.
    pub(super) fn start_caller(&mut self, host: u32) {
        self.links.of(host).lose();
        match self.calling_link(host) {
            Ok(link) => {
                link.starter().into_iter().for_each(|pid| self.agent.spare(pid));
                self.links.replace(link);
            }
            Err(why) => {
                self.agent_lost(host, false, &why, &[], Instant::now());
            }
        }
    }

    /// The link of an agent of `host` that is to call back.
    pub(super) fn calling_link(&mut self, host: u32) -> Result<AgentLink, String> {
        let failed = |error: io::Error| format!("it cannot call back: {error}");
        let port = match &mut self.calls {
            Some(port) => port,
            None => {
                let port = CallPort::open(self.shares.secret.id, self.shares.plan.ports.as_ref())
                    .map_err(failed)?;
                self.calls.insert(port)
            }
        };
        let credentials = JobCredentials::draw().map_err(failed)?;
        let address = port.await_call(host, |address| {
            let of_pbs = env::var_os(PBS_COOKIE).map(|cookie| address.token_of_pbs(&cookie));
            of_pbs.into_iter().chain([CallToken::of(&credentials)]).collect()
        });
        let argument = format!("{AGENT_CALL}{}", address.map_err(failed)?.to_text());
        let token = (TOKEN.into(), credentials.to_text().into());
        let link = self.starter_link(host, Some(argument), &[token])?;
        let is_attached = self.shares.plan.starter.as_ref().is_some_and(Starter::is_attached);
        Ok(link.awaiting_call(is_attached))
    }

    pub(super) fn call_arrived(&mut self, ready: CallReady, now: Instant) {
        let Some(port) = &mut self.calls else { return };
        let Some((host, control)) = port.handle(ready, now) else { return };
        let events = self.links.of(host).called(control, now);
        self.arrived(host, events);
    }

    /// Closes the port when no call is awaited any more.
    pub(super) fn tick_calls(&mut self, now: Instant) {
        let Some(port) = &mut self.calls else { return };
        port.tick(now);
        let awaiting = |link: &AgentLink| link.awaits_call();
        for link in self.links.iter().filter(|link| !awaiting(link)) {
            port.stop_awaiting(link.host);
        }
        self.calls.take_if(|port| port.is_idle());
    }
}

impl Caller {
    fn read(&mut self, awaited: &[AwaitedCall]) -> Result<Option<ProvenCall>, Refusal> {
        let (mut buffer, mut out) = ([0; CALL_MAX_BYTES], Vec::new());
        let room = self.call.room();
        let count = match self.connection.receive(Span::EMPTY, &mut buffer[..room]) {
            Ok(Moved::Bytes(count)) => count,
            Ok(Moved::Nothing) if room > 0 => return Ok(None),
            Ok(Moved::Nothing | Moved::End) | Err(_) => return Err(Refusal::Magic),
        };
        let proven = self.call.advance(&buffer[..count], awaited, &mut out)?;
        // An empty socket has room for a reply.
        match self.connection.send(&[SendPart::Bytes(&out)]) {
            Ok(Moved::Bytes(count)) if count == out.len() => Ok(proven),
            Ok(_) if out.is_empty() => Ok(proven),
            Ok(_) | Err(_) => Err(Refusal::Magic),
        }
    }
}

fn connected(
    connection: StreamConnection, channel: SealedChannel, early: Vec<u8>,
) -> io::Result<ControlLink<AgentEvent>> {
    connection.configure(CALL_SILENCE_TIMEOUT)?;
    ControlLink::sealed(OwnedFd::from(connection), channel, early)
}

/// The addresses that ranks would use.
///
/// # Errors
/// This host has none.
pub(crate) fn own_addresses() -> io::Result<Vec<AddressDecision>> {
    let setting = env::var("SUIRO_TCP_IF").ok().filter(|text| text != "auto");
    // A wrong value is reported by the ranks.
    let choice = setting.as_deref().and_then(InterfaceChoice::parse);
    let choice = choice.unwrap_or_default();
    let mut decisions = choice.decide(&interface_addresses()?, true);
    decisions.retain(|decision| decision.is_chosen);
    match decisions.is_empty() {
        true => {
            Err(io::Error::other("this host has no address that another host could connect to"))
        }
        false => Ok(decisions),
    }
}
