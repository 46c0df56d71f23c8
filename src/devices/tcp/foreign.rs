//! Processes of other jobs: their numbers, the keys of connections with them, and connections of
//! processes that have no number yet.
//!
//! ```text
//!   proven with a key of this process ── known ──────────> decide
//!            └── unknown ──> parked ── taken, admitted ──> decide
//!                              └── closed by the other end, or too many ──> gone
//! ```

use std::collections::{HashMap, HashSet};

use super::Tcp;
use super::card::{Hello, KeyId, KnownPeer, TcpCard};
use super::greeting::Greeting;
use super::link::LinkState;
use super::opening::LOCAL_ACCEPTOR;
use crate::device::PacketSink;
use crate::device::reach::{
    ConnectionKey, ForeignAddress, ForeignProcess, Reach, SEALED_BYTES, SealedFor,
};
use platform::base::{ErrorClass, Peer, Result};
use platform::network::{SharedSecret, address_choice, key_wrap};
use platform::sys::local_socket::LocalAcceptor;

/// Parked connections at most: further ones are closed, and their processes try again.
const PARKED_MAX: usize = 1024;

/// The first byte of a sealed key that is encrypted.
const WRAPPED: u8 = 1;
const _: () = assert!(SEALED_BYTES == 1 + key_wrap::WRAPPED_BYTES);

/// The state of the device for other jobs.
#[derive(Default)]
pub(crate) struct ForeignPeers {
    pub(super) peers: HashMap<([u8; 16], u32), Peer>,
    parked: Vec<Parked>,
    /// Parked connections of processes that have a number by now.
    admitted: Vec<(Greeting, Hello)>,
    /// The keys of open ports.
    ports: HashSet<KeyId>,
    /// Whether a connection may have waited for a key that is known now.
    has_new_key: bool,
    /// Whether all ranks of the job know its secret.
    pub(super) shares_secret: bool,
    /// Where processes of other jobs on this host connect, once there may be some.
    pub(super) local: Option<LocalAcceptor>,
}

/// A proven connection of a process without a number.
struct Parked {
    greeting: Greeting,
    hello: Hello,
    is_taken: bool,
}

impl Tcp {
    /// Keeps a connection until its process has a number. A later one of a process replaces it.
    pub(super) fn park(&mut self, greeting: Greeting, hello: Hello) {
        self.watched.remove(greeting.connection());
        if self.is_armed {
            // No packet has arrived, but the caller has to look before it sleeps.
            self.watched.ring();
        }
        let is_same = |it: &Parked| {
            let is_of = (it.hello.job, it.hello.rank) == (hello.job, hello.rank);
            is_of && it.greeting.key() == greeting.key()
        };
        let place = self.foreign.parked.iter().position(is_same);
        match place {
            Some(place) => {
                let parked = &mut self.foreign.parked[place];
                (parked.greeting, parked.hello) = (greeting, hello);
            }
            None if self.foreign.parked.len() < PARKED_MAX => {
                self.foreign.parked.push(Parked { greeting, hello, is_taken: false });
            }
            None => tracing::warn!("{PARKED_MAX} connections wait for MPI_Comm_accept"),
        }
    }

    /// Opens the parked connections of processes that have been admitted.
    pub(super) fn open_admitted(&mut self, sink: &mut impl PacketSink) {
        for (greeting, hello) in std::mem::take(&mut self.foreign.admitted) {
            self.decide(greeting, hello, true, sink);
        }
        if std::mem::take(&mut self.foreign.has_new_key) {
            let waiting: Vec<_> = self.unproven.iter().map(|(key, _)| key).collect();
            waiting.into_iter().for_each(|key| self.advance_unproven(key, sink));
        }
        if self.kept.is_unread {
            self.read_kept(sink);
        }
    }

    /// Whether a key is that of a port, at which processes call.
    pub(super) fn is_port(&self, key: KeyId) -> bool {
        self.foreign.ports.contains(&key)
    }

    /// Ends the link to a peer.
    pub(super) fn drop_link(&mut self, peer: Peer) {
        if let Some(link) = &self.links[peer as usize]
            && let LinkState::Open(connection) = &link.state
        {
            self.watched.remove(&**connection);
        }
        self.close(peer);
        self.drop_near(peer);
        self.lost.retain(|(lost, _)| *lost != peer);
        self.failures.retain(|(failed, _)| *failed != peer);
        self.opened.retain(|opened| *opened != peer);
        self.links[peer as usize] = None;
    }

    /// Whether [`Tcp::open_admitted`] has work.
    #[inline]
    pub(super) fn has_admitted(&self) -> bool {
        self.foreign.has_new_key || self.kept.is_unread || !self.foreign.admitted.is_empty()
    }

    /// The secret that both ends know; `None` in a job without one.
    fn secret_with(&self, other: SealedFor) -> Option<&SharedSecret> {
        match other {
            SealedFor::Rank => self.keys.get(self.job).filter(|_| self.foreign.shares_secret),
            SealedFor::Peer(peer) => self.keys.get(self.cards.get(peer as usize)?.as_ref()?.key),
            SealedFor::Port(key) => self.keys.get(key),
        }
    }

    fn store(&mut self, peer: Peer, known: KnownPeer) {
        let len = self.cards.len().max(peer as usize + 1);
        self.cards.resize_with(len, || None);
        self.links.resize_with(len, || None);
        self.foreign.peers.insert((known.job, known.rank), peer);
        self.cards[peer as usize] = Some(Box::new(known));
    }
}

impl Reach for Tcp {
    fn card(&mut self) -> String {
        if self.foreign.local.is_none() && self.accepts {
            // Without it, processes of this host come by TCP.
            let local = LocalAcceptor::listen_anywhere().ok();
            let is_watched =
                |local: &LocalAcceptor| self.watched.add(local, LOCAL_ACCEPTOR, false).is_ok();
            self.foreign.local = local.filter(is_watched);
        }
        match (&self.foreign.local, TcpCard::parse(&self.card)) {
            (Some(local), Some(card)) => TcpCard { local: Some(local.name()), ..card }.emit(),
            _ => self.card.clone(),
        }
    }

    fn open_port(&mut self, key: &ConnectionKey) {
        self.foreign.ports.insert(key.id);
        self.add_key(key);
    }

    fn close_port(&mut self, id: KeyId) {
        self.foreign.ports.remove(&id);
        self.foreign.parked.retain(|parked| parked.greeting.key() != id);
        self.keys.remove(id);
    }

    fn add_key(&mut self, key: &ConnectionKey) {
        self.keys.insert(key.id, SharedSecret(key.secret));
        self.foreign.has_new_key = true;
    }

    fn drop_unused_key(&mut self, key: KeyId) {
        let mut known = self.cards.iter().flatten();
        if !self.is_port(key) && !known.any(|known| known.key == key) {
            self.keys.remove(key);
        }
    }

    fn knows_key(&self, key: &ConnectionKey) -> bool {
        self.keys.get(key.id).is_some_and(|secret| secret.0 == key.secret)
    }

    fn seal_key(&self, key: &ConnectionKey, to: SealedFor) -> [u8; SEALED_BYTES] {
        let mut sealed = [0; SEALED_BYTES];
        match self.secret_with(to) {
            Some(outer) => {
                sealed[0] = WRAPPED;
                sealed[1..].copy_from_slice(&key_wrap::wrap(outer, &SharedSecret(key.secret)));
            }
            None => sealed[1..=key.secret.len()].copy_from_slice(&key.secret),
        }
        sealed
    }

    fn open_key(&self, sealed: &[u8; SEALED_BYTES], from: SealedFor) -> Option<[u8; 32]> {
        let (how, rest) = sealed.split_first()?;
        match (self.secret_with(from), *how == WRAPPED) {
            (Some(outer), true) => {
                key_wrap::unwrap(outer, rest.first_chunk()?).map(|secret| secret.0)
            }
            (None, false) => rest.first_chunk().copied(),
            (Some(_), false) | (None, true) => None,
        }
    }

    fn take_caller(&mut self, key: KeyId) -> Option<ForeignProcess> {
        let mut parked = self.foreign.parked.iter_mut();
        let found = parked.find(|it| it.greeting.key() == key && !it.is_taken)?;
        found.is_taken = true;
        Some(ForeignProcess { job: found.hello.job, rank: found.hello.rank })
    }

    fn admit(&mut self, peer: Peer, address: ForeignAddress<'_>) -> Result {
        let ForeignAddress { process: ForeignProcess { job, rank }, card, host, key } = address;
        let is_of = |it: &mut Parked| (it.hello.job, it.hello.rank) == (job, rank);
        let arrived = self.foreign.parked.extract_if(.., is_of);
        self.foreign.admitted.extend(arrived.map(|it| (it.greeting, it.hello)));
        // The next poll opens them.
        self.due_ns = 0;
        let is_known = self.cards.get(peer as usize).is_some_and(Option::is_some);
        if is_known && card.is_empty() {
            return Ok(());
        }
        let mut parsed = match card {
            "" => TcpCard { port: 0, addresses: Vec::new(), local: None },
            _ => TcpCard::parse(card).ok_or_else(|| {
                let why = format!("rank {rank} of another job has no TCP addresses: {card:?}");
                ErrorClass::Other.error(why)
            })?,
        };
        let own = self.interfaces.iter().filter(|it| it.is_chosen).map(|it| &it.address);
        parsed.addresses = address_choice::order(own, parsed.addresses);
        let known = KnownPeer { card: parsed, host: host.into(), job, rank, key };
        if let Some(Some(link)) = self.links.get_mut(peer as usize) {
            link.learn(&known);
        }
        let old = self.cards.get(peer as usize).and_then(|old| Some(old.as_ref()?.key));
        self.store(peer, known);
        if let Some(old) = old.filter(|old| *old != key) {
            self.drop_unused_key(old);
        }
        Ok(())
    }

    fn connect(&mut self, peer: Peer) {
        let known = self.cards.get(peer as usize).and_then(Option::as_ref);
        if known.is_some_and(|known| !known.card.addresses.is_empty()) {
            self.linked(peer);
        }
    }

    fn forget(&mut self, peer: Peer, is_orderly: bool) {
        let Some(Some(known)) = self.cards.get(peer as usize) else { return };
        let key = known.key;
        self.foreign.peers.remove(&(known.job, known.rank));
        if is_orderly {
            self.release(peer);
        }
        if is_orderly && let Some(link) = &mut self.links[peer as usize] {
            // A connection that is lost now needs no farewell.
            drop(link.say_leaving());
        }
        self.drop_link(peer);
        self.cards[peer as usize] = None;
        self.drop_unused_key(key);
    }

    fn is_settled_with(&self, peer: Peer) -> bool {
        let link = self.links.get(peer as usize).and_then(Option::as_ref);
        link.is_none_or(|link| link.is_settled())
    }
}
