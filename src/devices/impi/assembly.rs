//! The beginning of a mesh: connects to some ends, waits for the connections of others, until all are
//! there or the time is over.
//!
//! ```text
//!   each end to connect to     attempt ──accepted──> there
//!                                ▲  └──lost──> pause ──┐      refused for REFUSED_MAX: no mesh
//!                                └─────────────────────┘      a wrong end there: no mesh
//!   each connection accepted   Introduction ──an awaited number──> there
//!                                └──late, wrong, too many──> closed
//! ```
//!
//! Nothing is kept for a stranger but a bounded number of connections for a bounded time; the oldest goes
//! when a new one comes.

use std::collections::{BTreeSet, VecDeque};
use std::net::SocketAddr;
use std::time::{Duration, Instant};

use super::introduction::{
    FailedIntroduction, Introduction, IntroductionError, IntroductionStep, MeshIdentity, MeshRole,
};
use super::mesh_stream::MeshStream;
use super::roster::Roster;
use platform::sys::clock::monotonic_ns;
use platform::sys::poll::is_readable;
use platform::sys::ready_set::Ready;
use platform::sys::tcp::{TcpAcceptor, Watched};

/// Connections that have not named themselves, at most, beside one for each awaited end; and the time for
/// that.
const UNNAMED_MAX: usize = 64;
const UNNAMED_NS: u64 = 5_000_000_000;

/// The time between two attempts, and that after which nobody listens there.
const PAUSE: Duration = Duration::from_millis(100);
const REFUSED_MAX: Duration = Duration::from_secs(2);

/// The pause after a socket had nothing to accept.
const EMPTY_PAUSE: Duration = Duration::from_millis(1);

/// The longest sleep: the caller may have given up.
const SLEEP_MAX: Duration = Duration::from_millis(200);

const ACCEPTOR: u64 = 1 << 32;
/// Tokens of connections that were accepted: this and their number.
const UNNAMED: u64 = 1 << 33;

pub(crate) struct Assembly<'a> {
    identity: MeshIdentity,
    acceptor: Option<&'a TcpAcceptor>,
    dials: Vec<Dial>,
    /// Ends whose connections are awaited.
    awaited: BTreeSet<u32>,
    /// Accepted connections, the oldest first, with their numbers.
    unnamed: VecDeque<(u64, Introduction)>,
    accepted: u64,
    watched: Watched,
    /// Why the last connection of nobody was closed.
    stranger: String,
}

/// An end to connect to.
struct Dial {
    number: u32,
    /// Its addresses, and the one that is tried next.
    endpoints: Vec<SocketAddr>,
    next: usize,
    attempt: Option<Introduction>,
    retry_at: Instant,
    /// Since when nobody has listened there.
    refused_since: Option<Instant>,
    why: String,
    is_there: bool,
}

/// Why there is no mesh.
#[derive(Debug)]
pub(crate) struct NoMesh {
    /// The end that is missing, if it is one.
    pub(crate) number: Option<u32>,
    /// Part of a sentence.
    pub(crate) why: String,
}

impl<'a> Assembly<'a> {
    /// # Errors
    /// The system's error.
    pub(crate) fn new(identity: MeshIdentity) -> Result<Self, NoMesh> {
        let watched = Watched::new().map_err(|error| no_mesh(format!("has no epoll: {error}")))?;
        Ok(Self {
            identity,
            acceptor: None,
            dials: Vec::new(),
            awaited: BTreeSet::new(),
            unnamed: VecDeque::new(),
            accepted: 0,
            watched,
            stranger: String::new(),
        })
    }

    /// Connects to the end with this number, at one of its addresses.
    pub(crate) fn dial(&mut self, number: u32, endpoints: Vec<SocketAddr>) {
        self.dials.push(Dial {
            number,
            endpoints,
            next: 0,
            attempt: None,
            retry_at: Instant::now(),
            refused_since: None,
            why: "no connection was tried".to_owned(),
            is_there: false,
        });
    }

    /// Waits for connections of the ends with these numbers.
    pub(crate) fn await_ends(&mut self, acceptor: &'a TcpAcceptor, numbers: BTreeSet<u32>) {
        self.acceptor = Some(acceptor);
        self.awaited = numbers;
    }

    /// Waits until all ends are there, and adds them to `there`. Processes that have connected to their gateway await its answer
    /// ([`Introduction::answer`]).
    ///
    /// # Errors
    /// One is missing at the deadline, or there will be none; or `is_given_up`.
    pub(crate) fn run(
        mut self, deadline: Instant, is_given_up: impl Fn() -> bool,
        there: &mut Vec<(u32, Introduction)>,
    ) -> Result<(), NoMesh> {
        if let Some(acceptor) = self.acceptor {
            let added = self.watched.add(acceptor, ACCEPTOR, false);
            added.map_err(|error| no_mesh(format!("cannot watch a socket: {error}")))?;
        }
        let mut ready = Vec::new();
        loop {
            let now = Instant::now();
            self.drop_late();
            for index in 0..self.dials.len() {
                self.proceed(index, now, deadline)?;
            }
            if self.awaited.is_empty() && self.dials.iter().all(|dial| dial.is_there) {
                return Ok(());
            }
            if now >= deadline {
                return Err(self.missing());
            }
            if is_given_up() {
                return Err(no_mesh("has been given up".to_owned()));
            }
            is_readable(self.watched.descriptor(), self.next_time(deadline) - now);
            self.watched.look(&mut ready);
            for event in &ready {
                self.event(*event, there)?;
            }
        }
    }

    fn event(
        &mut self, Ready { token, .. }: Ready, there: &mut Vec<(u32, Introduction)>,
    ) -> Result<(), NoMesh> {
        if token == ACCEPTOR {
            self.accept(there);
        } else if token & UNNAMED != 0 {
            self.advance_unnamed(token & !UNNAMED, there);
        } else {
            self.advance_dial(token as usize, there)?;
        }
        Ok(())
    }

    /// When something has to be done without an event.
    fn next_time(&self, deadline: Instant) -> Instant {
        let idle = self.dials.iter().filter(|dial| !dial.is_there && dial.attempt.is_none());
        let soon = Instant::now() + SLEEP_MAX;
        idle.map(|dial| dial.retry_at).fold(deadline.min(soon), Instant::min)
    }

    fn missing(&self) -> NoMesh {
        if let Some(dial) = self.dials.iter().find(|dial| !dial.is_there) {
            let why = format!("has not answered in time ({})", dial.why);
            return NoMesh { number: Some(dial.number), why };
        }
        let stranger = match &*self.stranger {
            "" => String::new(),
            why => format!("; the last connection that was closed: {why}"),
        };
        let why = format!("has not connected in time{stranger}");
        NoMesh { number: self.awaited.first().copied(), why }
    }
}

/// Connects an end, which accepts at `acceptor`, with all hosts of other clients: the host with the higher
/// number connects to the lower one. Returns their numbers and connections, in order.
///
/// # Errors
/// Why there is no mesh, as a sentence.
pub(crate) fn connect_hosts(
    acceptor: &TcpAcceptor, roster: &Roster, identity: MeshIdentity, deadline: Instant,
    is_given_up: impl Fn() -> bool,
) -> Result<Vec<(u32, MeshStream)>, String> {
    let sentence = |NoMesh { number, why }: NoMesh| match number {
        Some(number) => format!("{} {why}", roster.host_name(number)),
        None => format!("the connections to other IMPI clients cannot be made: this process {why}"),
    };
    let own = identity.number;
    let client = roster.hosts[own as usize].client;
    let mut assembly = Assembly::new(identity).map_err(sentence)?;
    let (lower, higher): (BTreeSet<_>, BTreeSet<_>) =
        roster.hosts_beside(client).partition(|number| *number < own);
    for number in lower {
        let to = roster.hosts[number as usize].socket_address();
        let to = to.map_err(|why| sentence(NoMesh { number: Some(number), why }))?;
        assembly.dial(number, vec![to]);
    }
    assembly.await_ends(acceptor, higher);
    let mut there = Vec::new();
    assembly.run(deadline, is_given_up, &mut there).map_err(sentence)?;
    there.sort_by_key(|(number, _)| *number);
    Ok(there.into_iter().map(|(number, end)| (number, end.into_stream())).collect())
}

fn no_mesh(why: String) -> NoMesh {
    NoMesh { number: None, why }
}

/// Connections that this end begins.
impl Assembly<'_> {
    /// Begins the next attempt if it is time.
    fn proceed(&mut self, index: usize, now: Instant, deadline: Instant) -> Result<(), NoMesh> {
        let dial = &mut self.dials[index];
        if dial.is_there || dial.attempt.is_some() || now < dial.retry_at {
            return Ok(());
        }
        let left_ns = deadline.saturating_duration_since(now).as_nanos() as u64;
        let deadline_ns = monotonic_ns() + left_ns;
        let to = dial.endpoints[dial.next % dial.endpoints.len()];
        dial.next += 1;
        match Introduction::start(to, dial.number, self.identity.clone(), deadline_ns) {
            Ok(attempt) => {
                let added = self.watched.add(attempt.connection(), index as u64, true);
                added.map_err(|error| no_mesh(format!("cannot watch a socket: {error}")))?;
                dial.attempt = Some(attempt);
                Ok(())
            }
            Err(error) => dial.lost(error.into()),
        }
    }

    fn advance_dial(
        &mut self, index: usize, there: &mut Vec<(u32, Introduction)>,
    ) -> Result<(), NoMesh> {
        let dial = &mut self.dials[index];
        let Some(attempt) = &mut dial.attempt else { return Ok(()) };
        match attempt.advance() {
            Ok(IntroductionStep::Accepted) => {
                self.watched.remove(attempt.connection());
                dial.is_there = true;
                there.extend(dial.attempt.take().map(|attempt| (dial.number, attempt)));
                Ok(())
            }
            Ok(IntroductionStep::Pending | IntroductionStep::Named(_)) => {
                let writable = attempt.wants_to_write();
                self.watched.change(attempt.connection(), index as u64, writable);
                Ok(())
            }
            Err(error) => dial.lost(error),
        }
    }
}

impl Dial {
    /// The attempt has failed.
    fn lost(&mut self, error: IntroductionError) -> Result<(), NoMesh> {
        let now = Instant::now();
        self.attempt = None;
        self.retry_at = now + PAUSE;
        let why = match error.cause {
            FailedIntroduction::Lost => {
                self.refused_since = None;
                None
            }
            FailedIntroduction::Refused => {
                let since = *self.refused_since.get_or_insert(now);
                (now - since >= REFUSED_MAX).then(|| format!("has ended ({})", error.why))
            }
            FailedIntroduction::Wrong => Some(format!("cannot be reached: {}", error.why)),
        };
        self.why = error.why;
        match why {
            Some(why) => Err(NoMesh { number: Some(self.number), why }),
            None => Ok(()),
        }
    }
}

/// Connections of others.
impl Assembly<'_> {
    fn accept(&mut self, there: &mut Vec<(u32, Introduction)>) {
        // Others than strangers must have their turn.
        for accepted in 0..UNNAMED_MAX {
            let Some(connection) = self.acceptor.and_then(TcpAcceptor::accept) else {
                // Without descriptors, the socket stays readable.
                let pause = if accepted == 0 { EMPTY_PAUSE } else { Duration::ZERO };
                return std::thread::sleep(pause);
            };
            let deadline_ns = monotonic_ns() + UNNAMED_NS;
            let introduction = Introduction::accept(connection, self.identity.clone(), deadline_ns);
            let key = self.accepted;
            self.accepted += 1;
            if self.watched.add(introduction.connection(), UNNAMED | key, false).is_err() {
                continue;
            }
            self.unnamed.push_back((key, introduction));
            self.advance_unnamed(key, there);
            if self.unnamed.len() > UNNAMED_MAX + self.awaited.len() {
                self.unnamed.pop_front();
            }
        }
    }

    fn advance_unnamed(&mut self, key: u64, there: &mut Vec<(u32, Introduction)>) {
        let Some(place) = self.unnamed.iter().position(|it| it.0 == key) else { return };
        let introduction = &mut self.unnamed[place].1;
        match introduction.advance() {
            Ok(IntroductionStep::Pending | IntroductionStep::Accepted) => {
                let writable = introduction.wants_to_write();
                self.watched.change(introduction.connection(), UNNAMED | key, writable);
            }
            Ok(IntroductionStep::Named(number)) => {
                self.watched.remove(introduction.connection());
                let Some((_, mut introduction)) = self.unnamed.remove(place) else { return };
                if self.awaited.remove(&number) {
                    // A process waits until the mesh of its gateway is whole.
                    if self.identity.role == MeshRole::Host {
                        introduction.answer(self.identity.number);
                    }
                    there.push((number, introduction));
                } else {
                    self.close_stranger(format!("it says that it is number {number}"));
                }
            }
            Err(error) => {
                self.unnamed.remove(place);
                self.close_stranger(error.why);
            }
        }
    }

    fn drop_late(&mut self) {
        let now_ns = monotonic_ns();
        while self.unnamed.front().is_some_and(|(_, it)| now_ns >= it.deadline_ns) {
            self.unnamed.pop_front();
            self.close_stranger("it does not say which host it is".to_owned());
        }
    }

    fn close_stranger(&mut self, why: String) {
        tracing::debug!(why, "a connection to the port for other clients has been closed");
        self.stranger = why;
    }
}
