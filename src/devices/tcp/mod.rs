//! The device for ranks on any hosts: TCP connections.
//!
//! ```text
//!   Tcp ── Link (one peer) ── SendQueue      packets that the peer has not acknowledged
//!    │         │    └──────── FrameReader    the stream, cut into packets
//!    │         └── OpenConnection            frames, in the clear or encrypted
//!    ├── OneSidedTraffic                     accesses to memory of peers, and of peers to ours
//!    ├── opening: Greeting ── Handshake      connections before their first frame
//!    ├── ProgramLinks                        those for the interface of this rank
//!    └── Watched                             one descriptor for all sockets and times
//! ```
//!
//! A link connects at its first packet, so memory grows with the peers that a rank talks to. Connecting
//! takes polls of both ends, and the packet is refused until then: if it were accepted, it would leave
//! with a later call of a sender that may compute meanwhile.
//!
//! A connection counts after both ends have proved the job's secret; two that cross become one. Packets
//! are kept until the peer has acknowledged them, and sent again after a connection is lost: each
//! arrives exactly once. A peer has failed when no process listens at its addresses, or when none
//! answers for the time of the settings. One-sided accesses are frames between packets; their owner
//! answers when it polls.
//!
//! Few sockets are read directly in each poll; many are asked for by epoll. It knows no launcher: cards
//! of peers are given to it ([`Tcp::set_card`]).

mod access_frame;
mod access_origin;
mod access_target;
mod card;
mod connection;
mod foreign;
mod frame;
mod frame_reader;
mod greeting;
mod kept;
mod link;
mod near;
mod one_sided;
mod opening;
mod program_links;
mod proof;
mod send_queue;
mod settings;

use std::net::IpAddr;
use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::sync::atomic::{AtomicU32, Ordering};
use std::time::Duration;

use crate::device::reach::Reach;
use crate::device::rma::Rma;
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, WakeSource};
use card::{Keyring, KnownPeer, TcpCard};
use foreign::ForeignPeers;
use frame::{FRAME_DATA_MAX, FrameClass, FrameHeader};
use greeting::Greeting;
use kept::KeptConnections;
use link::{Link, LinkState};
use near::{NEAR_PACKET_MAX, NearPeers, NearRings};
use one_sided::{OneSidedTraffic, SinkBesideAccesses};
use platform::base::{ErrorClass, Peer, Result, Slab, Span};
use platform::network::{AddressDecision, SharedSecret, StrangerCount, address_choice};
use platform::sys::network_interfaces;
use platform::sys::ready_set::Ready;
use platform::sys::tcp::{TcpAcceptor, Watched};
use program_links::ProgramLinks;
pub(crate) use settings::{CryptMode, LossPace, TcpSettings};

/// In bytes: at least those of the device `shm`.
const SHORT_MAX: usize = 64;
const PACKET_MAX: usize = 64 << 10;

/// The longest message that is sent eagerly, in bytes: a rendezvous costs a round trip.
const EAGER_MAX: usize = 64 << 10;

/// Data from which on a copy is made after the data has been written, in bytes.
const WRITE_FIRST_MIN: usize = 4 << 10;

/// The number of open connections up to which each is read in every poll.
const DIRECT_MAX: usize = 4;

/// Direct polls between two looks at all descriptors.
const LOOK_INTERVAL: u32 = 64;
/// The same without an open connection.
const IDLE_LOOK_INTERVAL: u32 = 8;

/// Polls without a packet after which acknowledgements leave that nobody waits for.
const IDLE_POLLS: u32 = 32;

/// The time in which a peer must answer so that a datagram reaches it.
const DATAGRAM_TIMEOUT: Duration = Duration::from_secs(1);

/// Bytes that are received at once.
const SCRATCH_BYTES: usize = 64 << 10;

/// The identity of a job, and what its processes prove to each other.
#[derive(Clone)]
pub(crate) struct JobKey {
    /// The identity of the job.
    pub(crate) id: [u8; 16],
    /// The secret of the job.
    pub(crate) secret: [u8; 32],
}

/// The device of one rank.
pub(crate) struct Tcp {
    me: Peer,
    job: [u8; 16],
    keys: Keyring,
    /// Processes of other jobs.
    foreign: ForeignPeers,
    settings: TcpSettings,
    card: String,
    /// All addresses of this host.
    interfaces: Vec<AddressDecision>,
    /// The card and the host of each peer.
    cards: Vec<Option<Box<KnownPeer>>>,
    links: Vec<Option<Box<Link>>>,
    /// Peers with an open connection.
    open: Vec<Peer>,
    /// Those of them that are new. What came with the verdict is in no socket.
    opened: Vec<Peer>,
    /// Peers to which a connection is being opened.
    opening: Vec<Peer>,
    acceptor: TcpAcceptor,
    /// Connections of other processes that have not proved the secret.
    unproven: Slab<Greeting>,
    /// Those that have not proved it, up to now.
    pub(crate) strangers: StrangerCount,
    /// Connections that no link uses.
    kept: KeptConnections,
    /// Peers with shared memory beside the connection.
    near: NearPeers,
    /// Whether the acceptors are watched.
    accepts: bool,
    watched: Watched,
    ready: Vec<Ready>,
    /// When something has to be done without an event, in nanoseconds of the host's clock.
    due_ns: u64,
    /// Connections that a send has found lost.
    lost: Vec<(Peer, String)>,
    /// Peers that have failed, with the reason.
    failures: Vec<(Peer, String)>,
    /// Open connections that are watched for writing.
    blocked: usize,
    one_sided: Box<OneSidedTraffic>,
    /// Connections for the interface of this rank.
    programs: ProgramLinks,
    scratch: Box<[u8]>,
    polls: u32,
    idle_polls: u32,
    is_armed: bool,
    /// The time for which the timer was set last.
    ordered_ns: u64,
    wakes: Arc<WakeCount>,
}

struct WakeCount(AtomicU32);

impl AsRef<AtomicU32> for WakeCount {
    fn as_ref(&self) -> &AtomicU32 {
        &self.0
    }
}

impl Tcp {
    /// Opens the listening socket of rank `me` of `size`, on several hosts or on one.
    ///
    /// # Errors
    /// `Other` if there is no address that the settings allow; as [`Tcp::listen_at`].
    pub(crate) fn listen(
        me: Peer, size: usize, spans_hosts: bool, job: JobKey, settings: &TcpSettings,
    ) -> Result<Self> {
        let all = network_interfaces::interface_addresses().unwrap_or_default();
        let decisions = settings.interfaces.decide(&all, spans_hosts);
        let chosen = decisions.iter().filter(|it| it.is_chosen).map(|it| it.address.address);
        let chosen: Vec<_> = chosen.collect();
        if chosen.is_empty() {
            let skipped: Vec<_> = decisions.iter().map(ToString::to_string).collect();
            return Err(ErrorClass::Other.error(format!(
                "rank {me} has no address for other ranks; change SUIRO_TCP_IF \
                 or the interfaces: {}",
                if skipped.is_empty() { "there are none".to_owned() } else { skipped.join("; ") }
            )));
        }
        let mut tcp = Self::listen_at(me, size, job, settings, chosen)?;
        tcp.interfaces = decisions;
        Ok(tcp)
    }

    /// Opens the listening socket of rank `me` of `size`, which peers reach at `addresses`, the best
    /// first.
    ///
    /// # Errors
    /// `Other` if no socket can be opened.
    pub(crate) fn listen_at(
        me: Peer, size: usize, job: JobKey, settings: &TcpSettings, addresses: Vec<IpAddr>,
    ) -> Result<Self> {
        let failed = |what: &str, error: std::io::Error| {
            ErrorClass::Other.error(format!("rank {me} cannot {what}: {error}"))
        };
        let acceptor = TcpAcceptor::listen(settings.ports.clone()).map_err(|error| {
            let ports = settings.ports.as_ref().map_or_else(String::new, |ports| {
                format!(" of SUIRO_TCP_PORTS={}-{}", ports.start(), ports.end())
            });
            failed(&format!("listen on a TCP port{ports}"), error)
        })?;
        let watched = Watched::new().map_err(|error| failed("watch TCP sockets", error))?;
        let added = watched.add(&acceptor, opening::ACCEPTOR, false);
        added.map_err(|error| failed("watch TCP sockets", error))?;
        let card = TcpCard { port: acceptor.port(), addresses, local: None }.emit();
        let mut keys = Keyring::default();
        keys.insert(job.id, SharedSecret(job.secret));
        Ok(Self {
            me,
            job: job.id,
            keys,
            foreign: ForeignPeers::default(),
            settings: settings.clone(),
            card,
            interfaces: Vec::new(),
            cards: (0..size).map(|_| None).collect(),
            links: (0..size).map(|_| None).collect(),
            open: Vec::new(),
            opened: Vec::new(),
            opening: Vec::new(),
            acceptor,
            unproven: Slab::default(),
            strangers: StrangerCount::default(),
            kept: KeptConnections::default(),
            near: NearPeers::default(),
            accepts: true,
            watched,
            ready: Vec::new(),
            due_ns: u64::MAX,
            lost: Vec::new(),
            failures: Vec::new(),
            blocked: 0,
            one_sided: Box::default(),
            programs: ProgramLinks::default(),
            scratch: vec![0; SCRATCH_BYTES].into(),
            polls: 0,
            idle_polls: 0,
            is_armed: false,
            ordered_ns: u64::MAX,
            wakes: Arc::new(WakeCount(AtomicU32::new(0))),
        })
    }

    /// Processes of the own job know the secret too, from now on.
    pub(crate) fn share_secret(&mut self) {
        self.foreign.shares_secret = true;
    }

    /// What a peer needs to connect: at most 400 printable ASCII characters without spaces.
    pub(crate) fn card(&self) -> &str {
        &self.card
    }

    /// Why peers are told of the addresses of this host, or not: a sentence each.
    pub(crate) fn explanations(&self) -> Vec<String> {
        self.interfaces.iter().map(ToString::to_string).collect()
    }

    /// Takes the card of a peer, before the first packet to it; `host` is its host's name.
    ///
    /// # Errors
    /// `Other` for a text that is no card.
    pub(crate) fn set_card(&mut self, peer: Peer, card: &str, host: &str) -> Result {
        let mut parsed = TcpCard::parse(card).ok_or_else(|| {
            let why = format!("rank {peer} on host {host} has no TCP addresses: {card:?}");
            ErrorClass::Other.error(why)
        })?;
        let own = self.interfaces.iter().filter(|it| it.is_chosen).map(|it| &it.address);
        parsed.addresses = address_choice::order(own, parsed.addresses);
        let (job, host) = (self.job, host.into());
        let known = KnownPeer { card: parsed, host, job, rank: peer, key: job };
        self.cards[peer as usize] = Some(Box::new(known));
        Ok(())
    }

    /// The descriptor of [`Device::arm`], from now on readable also while `doorbell` is, so that a sleep
    /// covers another device.
    ///
    /// # Errors
    /// `Other` with the system's error.
    pub(crate) fn watch_beside(&self, doorbell: impl AsFd) -> Result<Arc<OwnedFd>> {
        let added = self.watched.add_beside(doorbell);
        added.map_err(|error| ErrorClass::Other.error(format!("cannot watch a pipe: {error}")))?;
        Ok(self.watched.descriptor())
    }

    /// The link to a peer, with room for a packet; `None` if the peer has failed.
    ///
    /// # Errors
    /// [`Busy`] without room, and before the first connection is open.
    #[inline]
    fn roomy_link(&mut self, peer: Peer) -> Result<Option<&mut Link>, Busy> {
        let Some(link) = self.linked(peer) else { return Ok(None) };
        if !(link.has_been_open() && link.queue.has_room()) {
            link.owes_room = true;
            return Err(Busy);
        }
        Ok(Some(link))
    }

    /// The link to a peer, whose connection is open or begins now; `None` if the peer has failed.
    #[inline]
    fn linked(&mut self, peer: Peer) -> Option<&mut Link> {
        let is_idle =
            |link: &Link| matches!(link.state, LinkState::Idle) || link.reader.is_released();
        if self.links[peer as usize].as_deref().is_none_or(is_idle) {
            self.begin_link(peer);
        }
        self.links[peer as usize].as_deref_mut().filter(|link| !link.has_failed())
    }

    /// Writes to an open connection what the socket takes.
    #[inline]
    fn write(&mut self, peer: Peer, acknowledges: bool) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        let written = link.write(acknowledges);
        self.after_write(peer, written);
    }

    /// Watches a connection for writing while something is left.
    #[inline]
    fn after_write(&mut self, peer: Peer, written: Result<(), String>) {
        let Some(link) = &mut self.links[peer as usize] else { return };
        if let Err(why) = written {
            return self.lost.push((peer, why));
        }
        let is_written = link.queue.is_written();
        let LinkState::Open(connection) = &mut link.state else { return };
        let is_blocked = !(is_written && connection.has_written());
        if is_blocked != connection.is_blocked {
            connection.is_blocked = is_blocked;
            self.watched.change(&**connection, u64::from(peer), is_blocked);
            if is_blocked { self.blocked += 1 } else { self.blocked -= 1 }
        }
    }

    /// Delivers what has arrived from an open connection.
    #[inline]
    fn read(&mut self, peer: Peer, sink: &mut impl PacketSink) -> usize {
        let Some(link) = &mut self.links[peer as usize] else { return 0 };
        let mut packets = 0;
        // What is in the ring may precede what is in the connection.
        let mut near = std::mem::take(&mut link.near);
        let accesses = &mut self.one_sided;
        let mut ordered = SinkBesideAccesses { sink, accesses, near: near.rings_mut() };
        let read = link.read(&mut self.scratch, &mut ordered, &mut packets);
        packets += near.rings_mut().map_or(0, NearRings::take_preceding);
        link.near = near;
        if packets > 0 {
            link.note_stream();
        }
        let notice = link.reader.take_notice();
        if read.is_err() || link.reader.is_released() {
            packets += self.drain_near(peer, sink);
        } else if packets > 0 {
            self.count_toward_offer(peer, packets as u32);
        }
        if let Some(notice) = notice {
            self.take_notice(peer, notice);
        }
        let Some(link) = &mut self.links[peer as usize] else { return packets };
        // An acknowledgement may have been written, or have waited for the rest of a frame.
        if read.is_err() || link.connection().is_some_and(|connection| !connection.has_written()) {
            self.after_write(peer, read);
        }
        packets
    }

    /// Writes the acknowledgements that nobody waits for.
    fn acknowledge_all(&mut self) {
        for index in 0..self.open.len() {
            let peer = self.open[index];
            let link = self.links[peer as usize].as_ref();
            if link.is_some_and(|link| !link.reader.behind_release().is_empty()) {
                let why = "the other end has forgotten this process and calls again";
                self.lost.push((peer, why.to_owned()));
            } else if link.is_some_and(|link| link.reader.owes_acknowledgement()) {
                self.write(peer, true);
            }
        }
    }

    /// Looks at all descriptors and times.
    fn look(&mut self, sink: &mut impl PacketSink) -> usize {
        let mut ready = std::mem::take(&mut self.ready);
        self.watched.look(&mut ready);
        let mut packets = 0;
        for event in &ready {
            match Peer::try_from(event.token) {
                Ok(peer) => {
                    if event.writable {
                        self.write(peer, false);
                    }
                    if event.readable {
                        packets += self.read(peer, sink);
                    }
                }
                Err(_) => self.opening_event(event.token, sink),
            }
        }
        self.ready = ready;
        packets
    }

    /// Whether a datagram could not be sent because the process of `peer` has ended.
    pub(crate) fn has_ended(&self, peer: Peer) -> bool {
        self.links[peer as usize].as_ref().is_some_and(|link| link.has_ended)
    }

    /// The process of `peer` has ended, as others have learned: what has not arrived of it is dropped, and
    /// the next poll reports the failure.
    pub(crate) fn peer_ended(&mut self, peer: Peer, why: &str) {
        if let Some(link) = self.links[peer as usize].as_mut().filter(|link| !link.has_failed()) {
            let why = link.fail(why);
            self.failures.push((peer, why));
        }
    }

    /// Handles lost connections and reports failed peers.
    #[cold]
    fn settle(&mut self, sink: &mut impl PacketSink) {
        for (peer, why) in std::mem::take(&mut self.lost) {
            self.connection_lost(peer, why);
        }
        for (peer, why) in std::mem::take(&mut self.failures) {
            tracing::warn!(peer, why, "a peer has failed");
            self.drain_near(peer, sink);
            self.drop_near(peer);
            self.one_sided.fail(peer, &why);
            sink.failed(peer, &why);
        }
    }
}

impl Device for Tcp {
    fn caps(&self) -> Caps {
        let packet_max = if self.near.is_possible() { NEAR_PACKET_MAX } else { PACKET_MAX };
        Caps { short_max: SHORT_MAX, packet_max }
    }

    fn peer_caps(&self, peer: Peer) -> PeerCaps {
        let caps = PeerCaps {
            long_max: FRAME_DATA_MAX,
            eager_max: Some(EAGER_MAX),
            lends: true,
            delivers_alone: false,
            announces_room: true,
            announced_max: 0,
        };
        match self.is_near(peer) {
            // Further data goes by the ring.
            true => PeerCaps { long_max: NEAR_PACKET_MAX, eager_max: None, lends: false, ..caps },
            false => caps,
        }
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    #[inline]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let Some(link) = self.roomy_link(peer)? else { return Ok(()) };
        if link.is_near(header, len) {
            return link.send_near(header, len, fill);
        }
        link.begin_by_stream()?;
        let received = link.reader.received();
        link.queue.push(FrameClass::Packet, header, received, len, fill);
        link.reader.note_acknowledged();
        self.write(peer, false);
        self.count_toward_offer(peer, 1);
        Ok(())
    }

    fn send_contiguous(&mut self, peer: Peer, header: &Header, data: Span) -> Result<(), Busy> {
        let Some(link) = self.roomy_link(peer)? else { return Ok(()) };
        if link.is_near(header, data.len()) {
            return link.send_near(header, data.len(), |packet| data.read(0, packet));
        }
        link.begin_by_stream()?;
        let acknowledged = link.reader.received();
        let (class, len) = (FrameClass::Packet, data.len());
        let frame = FrameHeader { class, packet: *header, len, acknowledged }.emit();
        let is_first = link.queue.is_written();
        let mut written = Ok(0);
        if let LinkState::Open(connection) = &mut link.state
            && is_first
            && len >= WRITE_FIRST_MIN
            && connection.is_plain()
            && connection.is_ready()
        {
            written = connection.write_now(&frame, data);
        }
        let bytes = *written.as_ref().unwrap_or(&0);
        link.queue.push_copy(&frame, data, bytes);
        link.reader.note_acknowledged();
        match written {
            Ok(bytes) if bytes == FrameHeader::LEN + len => {}
            Ok(_) => self.write(peer, false),
            Err(error) => self.lost.push((peer, error.to_string())),
        }
        self.count_toward_offer(peer, 1);
        Ok(())
    }

    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        let Some(link) = self.roomy_link(peer)? else { return Ok(()) };
        link.begin_by_stream()?;
        let received = link.reader.received();
        link.queue.push_lent(header, received, data, token);
        link.reader.note_acknowledged();
        self.write(peer, false);
        Ok(())
    }

    fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        if self.links[peer as usize].is_none() && self.cards[peer as usize].is_some() {
            self.open_link(peer);
        }
        let Some(link) = &mut self.links[peer as usize] else { return };
        if matches!(link.state, LinkState::Idle) {
            link.first_datagram = Some(data.into());
            return self.begin(peer, DATAGRAM_TIMEOUT);
        }
        let written = link.send_datagram(data);
        self.after_write(peer, written);
    }

    fn is_drained(&self) -> bool {
        self.one_sided.is_sent() && self.links.iter().flatten().all(|link| link.queue.is_empty())
    }

    /// The packets received so far. The peers have acknowledged all packets of this rank then, so none
    /// is in transit, and no connection is lost.
    fn quiescence(&self) -> Option<u64> {
        let mut links = self.links.iter().flatten();
        let is_settled = self.lost.is_empty()
            && self.failures.is_empty()
            && self.one_sided.is_idle()
            && !self.programs.are_busy();
        let is_quiet = is_settled && links.all(|link| !link.has_packets() && !link.is_reopening());
        let links = self.links.iter().flatten();
        let received = || links.map(|link| link.reader.received()).sum::<u64>();
        is_quiet.then(|| received().wrapping_add(self.near_arrivals()))
    }

    fn leave(&mut self) {
        for index in 0..self.open.len() {
            let peer = self.open[index];
            if let Some(link) = &mut self.links[peer as usize] {
                let written = link.say_leaving();
                self.after_write(peer, written);
            }
        }
    }

    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        self.polls = self.polls.wrapping_add(1);
        let mut packets = self.poll_near(sink);
        let interval = if self.open.is_empty() { IDLE_LOOK_INTERVAL } else { LOOK_INTERVAL };
        let is_direct = self.open.len() <= DIRECT_MAX + self.near.peers.len()
            && !self.is_armed
            && self.blocked == 0
            && self.opening.is_empty()
            && self.unproven.is_empty()
            && !self.has_admitted()
            && !self.programs.are_busy()
            && !self.polls.is_multiple_of(interval);
        if is_direct {
            for index in 0..self.open.len() {
                let peer = self.open[index];
                let link = self.links[peer as usize].as_mut();
                if link.is_some_and(|link| link.reads_stream()) {
                    packets += self.read(peer, sink);
                }
            }
        } else {
            packets += self.look(sink);
            if self.programs.are_busy() {
                self.advance_programs();
            }
            self.keep_times(sink);
            if self.has_admitted() {
                self.open_admitted(sink);
            }
            for peer in std::mem::take(&mut self.opened) {
                packets += self.read(peer, sink);
            }
        }
        if self.one_sided.has_work() {
            self.advance_accesses();
        }
        if !(self.lost.is_empty() && self.failures.is_empty()) {
            self.settle(sink);
        }
        if self.is_armed {
            self.order_timer();
        }
        if packets > 0 {
            self.idle_polls = 0;
        } else {
            self.idle_polls = self.idle_polls.wrapping_add(1);
            if self.idle_polls.is_multiple_of(IDLE_POLLS) {
                self.acknowledge_all();
            }
        }
        packets
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        Some(self)
    }

    fn reach(&mut self) -> Option<&mut dyn Reach> {
        Some(self)
    }

    fn arm(&mut self) -> WakeSource {
        self.is_armed = true;
        self.arm_near();
        self.acknowledge_all();
        if self.programs.are_busy() {
            // The poll that follows may be one of other devices only.
            self.due_ns = 0;
        }
        self.order_timer();
        WakeSource::Descriptor {
            descriptor: self.watched.descriptor(),
            word: self.wakes.clone(),
            expected: self.wakes.0.load(Ordering::SeqCst),
        }
    }

    fn disarm(&mut self) {
        self.is_armed = false;
        self.disarm_near();
    }

    fn wake_self(&mut self) {
        self.wakes.0.fetch_add(1, Ordering::SeqCst);
        self.watched.ring();
    }
}

#[cfg(test)]
mod tests;
