//! Connections before they are open: those that this process opens, those that it accepts, and the ones
//! that are lost.
//!
//! If two processes connect to each other at the same time, the connection of the lower rank stays. The
//! other one is told that they crossed, also when it comes late, and waits; if the better one does not
//! come, it tries again and is accepted.

use std::time::Duration;

use super::card::{Hello, Verdict};
use super::connection::OpenConnection;
use super::greeting::{Greeting, GreetingError, GreetingStep};
use super::link::{Attempt, Link, LinkState};
use super::{CryptMode, LossPace, Tcp};
use crate::device::PacketSink;
use platform::base::Peer;
use platform::sys::clock::monotonic_ns;
use platform::sys::local_socket::LocalArrival;
use platform::sys::tcp::StreamConnection;

/// The token of the acceptor. Those of open connections are peers.
pub(crate) const ACCEPTOR: u64 = 1 << 32;
/// That of the acceptor inside this host.
pub(crate) const LOCAL_ACCEPTOR: u64 = ACCEPTOR | 1;
/// Tokens of connections that this process opens: this and the peer.
pub(super) const OPENING: u64 = 1 << 33;
/// Tokens of connections that it accepts: this and their key.
const UNPROVEN: u64 = 1 << 34;
/// Tokens of connections that are kept: this and their number.
pub(super) const KEPT: u64 = 1 << 35;
/// Tokens of connections that this process opens for its interface: this and the peer.
pub(super) const PROGRAMS: u64 = 1 << 36;

/// Connections that have not proved the secret, at most, and the time for the proof.
pub(crate) const UNPROVEN_MAX: usize = 64;
const PROOF_NS: u64 = 2_000_000_000;

/// How long a connection that crosses a better one is refused for its sake.
const CROSSING_NS: u64 = 1_000_000_000;

/// The longest time in which a lost connection must come again; the kernel has waited before.
const REOPENING_MAX: Duration = Duration::from_secs(10);

impl Tcp {
    /// Begins to connect to a peer, to which there may be no link.
    #[cold]
    pub(super) fn begin_link(&mut self, peer: Peer) {
        let is_released = |link: &Link| link.connection_is_open() && link.reader.is_released();
        match &self.links[peer as usize] {
            None => self.open_link(peer),
            Some(link) if is_released(link) => {
                self.connection_lost(peer, "the other end has forgotten this process".to_owned());
            }
            Some(_) => {}
        }
        let link = self.links[peer as usize].as_ref();
        if link.is_some_and(|link| matches!(link.state, LinkState::Idle)) {
            self.begin(peer, self.settings.timeout);
        }
    }

    /// Begins to connect to the peer of a link that has no connection.
    #[cold]
    pub(super) fn begin(&mut self, peer: Peer, timeout: Duration) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let now_ns = monotonic_ns();
        let times = [now_ns, now_ns, timeout.as_nanos() as u64, self.settings.pace.pause_ns];
        link.begin(times, "no connection was tried".to_owned());
        self.opening.push(peer);
        self.call_kept(peer);
        // The next poll connects.
        self.due_ns = 0;
    }

    /// Makes the link to a peer. A peer without a card has failed.
    #[cold]
    pub(crate) fn open_link(&mut self, peer: Peer) {
        let Some(known) = self.cards[peer as usize].as_deref().cloned() else {
            let why = "its process has no TCP address".to_owned();
            return self.failures.push((peer, why));
        };
        self.links[peer as usize] = Some(Box::new(Link::new(peer, known)));
    }

    /// Handles an event of a connection that is not open.
    #[cold]
    pub(crate) fn opening_event(&mut self, token: u64, sink: &mut impl PacketSink) {
        if token == ACCEPTOR || token == LOCAL_ACCEPTOR {
            self.accept(token == LOCAL_ACCEPTOR);
        } else if token & PROGRAMS != 0 {
            self.advance_for_programs(token as u32);
        } else if token & KEPT != 0 {
            self.advance_kept(token as u32, sink);
        } else if token & OPENING != 0 {
            self.advance_opening(token as u32, sink);
        } else {
            self.advance_unproven(token as u32, sink);
        }
    }

    /// Ends what has lasted too long and begins what is due.
    pub(crate) fn keep_times(&mut self, sink: &mut impl PacketSink) {
        if self.due_ns == u64::MAX || monotonic_ns() < self.due_ns {
            return;
        }
        let now_ns = monotonic_ns();
        let unproven = self.unproven.iter();
        let late = unproven.filter(|(_, greeting)| now_ns >= greeting.deadline_ns);
        let late: Vec<_> = late.map(|(key, _)| key).collect();
        for key in late {
            self.unproven.remove(key).iter().for_each(|it| self.note_refused(it));
        }
        if !self.accepts && self.unproven.len() < UNPROVEN_MAX {
            self.accepts = self.watched.add(&self.acceptor, ACCEPTOR, false).is_ok();
            if let Some(local) = &self.foreign.local {
                self.accepts &= self.watched.add(local, LOCAL_ACCEPTOR, false).is_ok();
            }
        }
        for peer in self.opening.clone() {
            self.proceed(peer, now_ns, sink);
        }
        self.find_due();
    }

    fn find_due(&mut self) {
        let unproven = self.unproven.iter().map(|(_, greeting)| greeting.deadline_ns);
        let links = self.opening.iter().filter_map(|peer| self.links[*peer as usize].as_ref());
        let opening = links.filter_map(|link| match &link.state {
            LinkState::Opening(opening) => Some(opening.due_ns()),
            _ => None,
        });
        let of_programs = self.programs.due_ns();
        self.due_ns = unproven.chain(opening).chain(of_programs).min().unwrap_or(u64::MAX);
    }

    /// Makes the descriptor readable when something is due.
    pub(crate) fn order_timer(&mut self) {
        if std::mem::replace(&mut self.ordered_ns, self.due_ns) == self.due_ns {
            return;
        }
        self.watched.set_timer((self.due_ns != u64::MAX).then_some(self.due_ns));
    }

    /// `wanted` is the rank of the other end in its job.
    pub(super) fn hello(&self, wanted: u32, received: u64) -> Hello {
        let encrypts = self.settings.crypt == CryptMode::Full;
        let (job, rank) = (self.job, self.me);
        Hello { job, rank, wanted, received, encrypts, is_for_programs: false }
    }

    /// The peer with this rank of this job, if it is known.
    fn peer_of(&self, job: [u8; 16], rank: u32) -> Option<Peer> {
        let peer = match job == self.job {
            true => rank,
            false => *self.foreign.peers.get(&(job, rank))?,
        };
        self.cards.get(peer as usize)?.as_ref().map(|_| peer)
    }

    /// Whether the connection that this process opens stays if both ends open one: the lower rank has
    /// that right, or the lower identity of the job.
    pub(super) fn is_preferred_to(&self, job: [u8; 16], rank: u32) -> bool {
        (self.job, self.me) < (job, rank)
    }
}

/// Connections of other processes.
impl Tcp {
    fn accept(&mut self, is_local: bool) {
        while self.unproven.len() < UNPROVEN_MAX {
            let arrival = match &self.foreign.local {
                Some(acceptor) if is_local => acceptor.accept(),
                _ => self.acceptor.accept().map(LocalArrival::Own),
            };
            match arrival {
                None => return,
                Some(LocalArrival::Own(connection)) => self.add_unproven(connection),
                Some(LocalArrival::Stranger) => {
                    tracing::warn!("a connection of another user was refused");
                    self.strangers.note_other_user();
                }
            }
        }
        // The kernel holds further ones.
        self.watched.remove(&self.acceptor);
        self.foreign.local.iter().for_each(|local| self.watched.remove(local));
        self.accepts = false;
    }

    fn add_unproven(&mut self, connection: StreamConnection) {
        if connection.configure(self.settings.timeout).is_err() {
            return;
        }
        let deadline_ns = monotonic_ns() + PROOF_NS;
        let hello = self.hello(self.me, 0);
        let greeting = Greeting::accept(connection, hello, deadline_ns);
        let key = self.unproven.insert(greeting);
        let Some(greeting) = self.unproven.get(key) else { return };
        if self.watched.add(greeting.connection(), UNPROVEN | u64::from(key), false).is_err() {
            self.unproven.remove(key);
        }
        self.due_ns = self.due_ns.min(deadline_ns);
    }

    pub(super) fn advance_unproven(&mut self, key: u32, sink: &mut impl PacketSink) {
        let Some(greeting) = self.unproven.get_mut(key) else { return };
        match greeting.advance(&self.keys) {
            Ok(GreetingStep::Asked(hello)) => {
                let Some(greeting) = self.unproven.remove(key) else { return };
                self.decide(greeting, hello, false, sink);
                // Another one may be accepted.
                self.due_ns = 0;
            }
            Ok(_) => {
                let wants = greeting.wants_to_write();
                self.watched.change(greeting.connection(), UNPROVEN | u64::from(key), wants);
            }
            Err(error) => {
                let address = greeting.connection().peer_address();
                tracing::warn!(?address, why = error.why, "a connection was refused");
                self.unproven.remove(key).iter().for_each(|it| self.note_refused(it));
                self.due_ns = 0;
            }
        }
    }

    /// Counts a connection without a proof.
    fn note_refused(&mut self, greeting: &Greeting) {
        if !greeting.may_be_of_a_peer() {
            self.strangers.note(greeting.connection().peer_address());
        }
    }

    /// The verdict on a connection whose other end has proved the secret; `is_admitted`: its process was
    /// admitted after that.
    pub(super) fn decide(
        &mut self, mut greeting: Greeting, hello: Hello, is_admitted: bool,
        sink: &mut impl PacketSink,
    ) {
        let Hello { job, rank, wanted, received, .. } = hello;
        // The key of a job is for its ranks, and other keys for processes of other jobs.
        let is_own = job == self.job;
        let has_right_key = (greeting.key() == self.job) == is_own;
        let is_self = is_own && rank == self.me;
        if wanted != self.me || is_self || !has_right_key {
            return greeting.answer(Verdict::Refused);
        }
        if hello.is_for_programs {
            return match is_own {
                true => self.decide_for_programs(greeting, &hello),
                false => greeting.answer(Verdict::Refused),
            };
        }
        let Some(peer) = self.peer_of(job, rank) else {
            return match is_own {
                true => greeting.answer(Verdict::Refused),
                false => self.park(greeting, hello),
            };
        };
        if self.is_call_anew(peer, &greeting, &hello) {
            if !is_admitted {
                return self.park(greeting, hello);
            }
            self.drop_link(peer);
        }
        let is_preferred = self.is_preferred_to(job, rank);
        if self.links[peer as usize].is_none() {
            self.open_link(peer);
        }
        let Some(link) = &mut self.links[peer as usize] else { return };
        let now_ns = monotonic_ns();
        let has_better = is_preferred
            && match &link.state {
                LinkState::Opening(opening) => {
                    opening.greeting.is_some() && now_ns < opening.since_ns + CROSSING_NS
                }
                LinkState::Open(_) => now_ns < link.opened_ns + CROSSING_NS,
                LinkState::Idle | LinkState::Failed => false,
            };
        // An attempt that began before a connection that has carried packets.
        let is_stale = received < link.queue.acknowledged();
        let verdict = match link.has_failed() {
            true => Verdict::Refused,
            false if has_better || is_stale => Verdict::Crossed,
            false => Verdict::Accepted { received: link.reader.received() },
        };
        greeting.answer(verdict);
        if matches!(verdict, Verdict::Accepted { .. }) {
            self.open(peer, greeting, received, sink);
        }
    }

    /// Whether a process calls at a port that has forgotten its link to this one, which still has it, until
    /// it has disconnected, too. What comes by the connection is not for that link: its end would be the end
    /// of the call.
    fn is_call_anew(&self, peer: Peer, greeting: &Greeting, hello: &Hello) -> bool {
        let key = greeting.key();
        let is_over = |link: &Link| {
            let is_settled = matches!(link.state, LinkState::Open(_) | LinkState::Idle);
            is_settled && link.has_been_open() && link.key != key
        };
        let link = self.links[peer as usize].as_deref();
        self.is_port(key) && hello.received == 0 && link.is_some_and(is_over)
    }

    /// The connection is the one to the peer from now on.
    fn open(&mut self, peer: Peer, greeting: Greeting, received: u64, sink: &mut impl PacketSink) {
        let encrypts = self.settings.crypt == CryptMode::Full;
        let Some(connection) = greeting.open(encrypts) else { return self.close(peer) };
        self.watched.remove(&connection);
        self.adopt(peer, connection, received, sink);
    }

    /// Takes over a connection whose other end has received the packets before `received`.
    pub(super) fn adopt(
        &mut self, peer: Peer, mut connection: OpenConnection, received: u64,
        sink: &mut impl PacketSink,
    ) {
        self.close(peer);
        let mut kept = None;
        if let (Some(end), Some(link)) = (connection.local_mut(), &mut self.links[peer as usize]) {
            link.offer_after = end.offer_after;
            kept = end.near.take().map(|near| near.renewed(end.connects));
        }
        self.drop_released(peer);
        let Some(link) = &mut self.links[peer as usize] else { return };
        let (token, is_blocked) = (u64::from(peer), connection.is_blocked);
        if self.watched.add(&connection, token, is_blocked).is_err() {
            return self.lost.push((peer, "the system cannot watch its socket".to_owned()));
        }
        if !link.open(connection, received, sink) {
            let why = link.fail("has lost packets that it had received");
            return self.failures.push((peer, why));
        }
        link.opened_ns = monotonic_ns();
        self.adopt_near(peer, kept);
        tracing::debug!(peer, received, "connected");
        self.open.push(peer);
        self.write(peer, false);
        self.opened.push(peer);
    }

    /// Ends the link to a peer that breaks the rules.
    #[cold]
    pub(super) fn expel(&mut self, peer: Peer, why: &str) {
        self.close(peer);
        if let Some(link) = &mut self.links[peer as usize] {
            let why = link.fail(why);
            self.failures.push((peer, why));
        }
    }

    /// Forgets the connection to a peer, open or not.
    pub(super) fn close(&mut self, peer: Peer) {
        self.open.retain(|open| *open != peer);
        self.opening.retain(|opening| *opening != peer);
        let Some(link) = &mut self.links[peer as usize] else { return };
        if link.connection().is_some_and(|connection| connection.is_blocked) {
            self.blocked -= 1;
        }
        if !link.has_failed() {
            link.state = LinkState::Idle;
        }
    }
}

/// Connections that this process opens.
impl Tcp {
    /// A connection is lost. It is opened again, unless the peer has announced its end.
    pub(crate) fn connection_lost(&mut self, peer: Peer, why: String) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        if link.connection().is_none() {
            return;
        }
        tracing::debug!(peer, why, "the connection is lost");
        self.close(peer);
        self.drop_released(peer);
        let Some(link) = &mut self.links[peer as usize] else { return };
        if link.reader.is_leaving() && !link.queue.has_lent() {
            // What the peer has not received concerns operations that it has not waited for.
            link.queue.clear();
            link.reader.restart();
            return self.one_sided.fail(peer, "its process has ended");
        }
        let now_ns = monotonic_ns();
        let (job, rank) = (link.job, link.rank);
        let is_preferred = self.is_preferred_to(job, rank);
        let LossPace { courtesy_ns, pause_ns } = self.settings.pace;
        let retry_ns = if is_preferred { now_ns } else { now_ns + courtesy_ns };
        let Some(link) = &mut self.links[peer as usize] else { return };
        let patience = self.settings.timeout.min(REOPENING_MAX);
        link.begin([now_ns, retry_ns, patience.as_nanos() as u64, pause_ns], why);
        self.opening.push(peer);
        self.due_ns = self.due_ns.min(retry_ns);
    }

    /// Begins the next attempt to connect to a peer, if it is time.
    fn proceed(&mut self, peer: Peer, now_ns: u64, sink: &mut impl PacketSink) {
        let Some(link) = &self.links[peer as usize] else { return };
        let hello = self.hello(link.rank, link.reader.received());
        let Some(link) = &mut self.links[peer as usize] else { return };
        let Some(opening) = link.opening() else { return };
        if opening.greeting.as_ref().is_some_and(|greeting| now_ns >= greeting.deadline_ns) {
            opening.unanswered(now_ns);
        }
        let had_attempt = opening.greeting.is_some();
        match opening.proceed(now_ns, hello) {
            Attempt::Pending if had_attempt || opening.greeting.is_none() => {}
            Attempt::Pending => {
                let Some(greeting) = &opening.greeting else { return };
                let token = OPENING | u64::from(peer);
                if self.watched.add(greeting.connection(), token, true).is_ok() {
                    self.advance_opening(peer, sink);
                }
            }
            // No packet has waited for all of that time.
            attempt if link.first_datagram.take().is_some() => {
                link.has_ended = matches!(attempt, Attempt::Ended(_));
                link.state = LinkState::Idle;
                let has_packets = link.has_packets();
                self.opening.retain(|opening| *opening != peer);
                if has_packets {
                    self.begin(peer, self.settings.timeout);
                }
            }
            Attempt::Hopeless(why) | Attempt::Ended(why) => {
                let why = link.fail(&why);
                self.opening.retain(|opening| *opening != peer);
                self.failures.push((peer, why));
            }
        }
    }

    fn advance_opening(&mut self, peer: Peer, sink: &mut impl PacketSink) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let meant = (link.job, link.rank);
        let Some(opening) = link.opening() else { return };
        let Some(greeting) = &mut opening.greeting else { return };
        let now_ns = monotonic_ns();
        let error = match greeting.advance(&self.keys) {
            Ok(GreetingStep::Answered(Verdict::Accepted { received })) => {
                let Some(greeting) = opening.greeting.take() else { return };
                let _ = greeting.connection().configure(self.settings.timeout);
                return self.open(peer, greeting, received, sink);
            }
            Ok(GreetingStep::Answered(Verdict::Crossed)) => {
                opening.crossed(now_ns);
                self.due_ns = self.due_ns.min(opening.due_ns());
                return;
            }
            Ok(GreetingStep::Answered(Verdict::Refused)) => "the other end refused",
            Ok(GreetingStep::Reached(hello)) if (hello.job, hello.rank) != meant => {
                "another process answers there"
            }
            Ok(_) => {
                let wants = greeting.wants_to_write();
                let token = OPENING | u64::from(peer);
                self.watched.change(greeting.connection(), token, wants);
                return;
            }
            Err(error) => {
                opening.lost(now_ns, error);
                self.due_ns = 0;
                return;
            }
        };
        opening.lost(now_ns, GreetingError { why: error.to_owned(), is_refusal: true });
        self.due_ns = 0;
    }
}
