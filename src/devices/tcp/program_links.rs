//! Connections for the interface of this rank (`put_links`): opened like those of packets, then given away.
//!
//! ```text
//!   wish ──> Opening ──proven, accepted──> the desk, with the connection
//!                └── refused, or no answer ──> the desk, with the reason
//! ```
//!
//! The hello of such a connection says what it is for. The end that accepts gives it to its own interface.
//! With `SUIRO_TCP_CRYPT=full` there are none: the frames of interfaces travel in the clear.

use std::sync::Arc;

use super::card::{Hello, Verdict};
use super::connection::OpenConnection;
use super::greeting::{Greeting, GreetingError, GreetingStep};
use super::link::{Attempt, Opening};
use super::opening::PROGRAMS;
use super::{CryptMode, Tcp};
use crate::devices::put_links::{ConnectionDesk, ProvenStream};
use platform::base::Peer;
use platform::sys::clock::monotonic_ns;

const ENCRYPTED: &str = "SUIRO_TCP_CRYPT=full leaves nothing in the clear";

/// The connections that are being opened for an interface.
#[derive(Default)]
pub(super) struct ProgramLinks {
    desk: Option<Arc<ConnectionDesk>>,
    opening: Vec<(Peer, Box<Opening>)>,
}

impl ProgramLinks {
    /// Whether every poll has to look at all descriptors and times.
    #[inline]
    pub(super) fn are_busy(&self) -> bool {
        !self.opening.is_empty() || self.desk.as_ref().is_some_and(|desk| desk.has_wishes())
    }

    /// When something has to be done without an event.
    pub(super) fn due_ns(&self) -> Option<u64> {
        self.opening.iter().map(|(_, opening)| opening.due_ns()).min()
    }

    fn opening(&mut self, peer: Peer) -> Option<&mut Opening> {
        let found = self.opening.iter_mut().find(|(other, _)| *other == peer);
        found.map(|(_, opening)| &mut **opening)
    }

    fn remove(&mut self, peer: Peer) {
        self.opening.retain(|(other, _)| *other != peer);
    }

    fn refuse(&mut self, peer: Peer, why: &str) {
        tracing::debug!(peer, why, "no connection for programs");
        self.remove(peer);
        self.desk.iter().for_each(|desk| desk.refuse(peer, why.to_owned()));
    }
}

impl Tcp {
    /// Opens connections for an interface from now on.
    pub(crate) fn serve_programs(&mut self, desk: Arc<ConnectionDesk>) {
        self.programs.desk = Some(desk);
    }

    /// Begins the attempts that are wanted, and goes on with those that are due.
    #[cold]
    pub(super) fn advance_programs(&mut self) {
        let wishes = self.programs.desk.as_ref().map(|desk| desk.take_wishes());
        for peer in wishes.unwrap_or_default() {
            self.begin_for_programs(peer);
        }
        let peers: Vec<Peer> = self.programs.opening.iter().map(|(peer, _)| *peer).collect();
        let now_ns = monotonic_ns();
        for peer in peers {
            self.proceed_for_programs(peer, now_ns);
        }
        self.due_ns = self.programs.due_ns().map_or(self.due_ns, |at_ns| at_ns.min(self.due_ns));
    }

    fn begin_for_programs(&mut self, peer: Peer) {
        let encrypts = self.settings.crypt == CryptMode::Full;
        let Some(known) = self.cards[peer as usize].as_ref().filter(|_| !encrypts) else {
            let why = if encrypts { ENCRYPTED } else { "its process has no TCP address" };
            return self.programs.refuse(peer, why);
        };
        let (now_ns, patience) = (monotonic_ns(), self.settings.timeout.as_nanos() as u64);
        let times = [now_ns, now_ns, patience, self.settings.pace.pause_ns];
        let places = known.card.places().collect();
        let opening = Opening::new(places, known.key, times, "no connection was tried".to_owned());
        self.programs.opening.push((peer, Box::new(opening)));
    }

    fn proceed_for_programs(&mut self, peer: Peer, now_ns: u64) {
        let hello = Hello { is_for_programs: true, ..self.hello(peer, 0) };
        let Some(opening) = self.programs.opening(peer) else { return };
        if opening.greeting.as_ref().is_some_and(|greeting| now_ns >= greeting.deadline_ns) {
            opening.unanswered(now_ns);
        }
        let had_attempt = opening.greeting.is_some();
        match opening.proceed(now_ns, hello) {
            Attempt::Pending => {
                let Some(greeting) = opening.greeting.as_ref().filter(|_| !had_attempt) else {
                    return;
                };
                let token = PROGRAMS | u64::from(peer);
                if self.watched.add(greeting.connection(), token, true).is_ok() {
                    self.advance_for_programs(peer);
                }
            }
            Attempt::Hopeless(why) | Attempt::Ended(why) => self.programs.refuse(peer, &why),
        }
    }

    /// Handles an event of such a connection.
    #[cold]
    pub(super) fn advance_for_programs(&mut self, peer: Peer) {
        let meant = (self.job, peer);
        let Some(opening) = self.programs.opening(peer) else { return };
        let Some(greeting) = &mut opening.greeting else { return };
        let error = match greeting.advance(&self.keys) {
            Ok(GreetingStep::Answered(Verdict::Accepted { .. })) => {
                let Some(greeting) = opening.greeting.take() else { return };
                self.programs.remove(peer);
                return self.give_to_interface(peer, greeting);
            }
            Ok(GreetingStep::Answered(Verdict::Crossed | Verdict::Refused)) => {
                return self.programs.refuse(peer, "the other end refused");
            }
            Ok(GreetingStep::Reached(hello)) if (hello.job, hello.rank) != meant => {
                let why = "another process answers there".to_owned();
                GreetingError { why, is_refusal: true }
            }
            Ok(_) => {
                let (wants, token) = (greeting.wants_to_write(), PROGRAMS | u64::from(peer));
                return self.watched.change(greeting.connection(), token, wants);
            }
            Err(error) => error,
        };
        opening.lost(monotonic_ns(), error);
        self.due_ns = 0;
    }

    /// The verdict on a connection that a process of the own job has opened for its interface.
    pub(super) fn decide_for_programs(&mut self, mut greeting: Greeting, hello: &Hello) {
        let may_be = self.programs.desk.as_ref().is_some_and(|desk| desk.admits(hello.rank));
        let encrypts = hello.encrypts || self.settings.crypt == CryptMode::Full;
        let is_known = self.cards.get(hello.rank as usize).is_some_and(Option::is_some);
        if encrypts || !may_be || !is_known {
            return greeting.answer(Verdict::Refused);
        }
        greeting.answer(Verdict::Accepted { received: 0 });
        self.give_to_interface(hello.rank, greeting);
    }

    fn give_to_interface(&mut self, peer: Peer, greeting: Greeting) {
        let _ = greeting.connection().configure(self.settings.timeout);
        self.watched.remove(greeting.connection());
        let known = self.cards.get(peer as usize).and_then(Option::as_deref);
        let process = known.map_or_else(String::new, |known| known.card.process_on(&known.host));
        let Some(desk) = &self.programs.desk else { return };
        match greeting.open(false).and_then(OpenConnection::into_plain) {
            Some((connection, early, unsent)) => {
                desk.open(peer, ProvenStream { connection, early, unsent, process });
            }
            None => desk.refuse(peer, ENCRYPTED.to_owned()),
        }
    }
}
