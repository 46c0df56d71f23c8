//! The mesh: connections between the processes of independently started clients (IMPI).
//!
//! ```text
//!   Mesh ── MeshLink (one host of another client, or the gateway)
//!    │         └── MeshStream ── OutQueue         packets that are not written
//!    │              ├───── PacketReader     the stream, cut into packets
//!    │              └───── StreamSealing      records, if the world is encrypted
//!    ├── MeshPair (each process of other clients) ── PairFlow
//!    └── Roster                             hosts and processes of the world, by number
//!
//!   by default            each process is an IMPI host; connections lead to the processes of other clients
//!   in gateway mode       Gateway: the client is one host; a thread forwards the packets of its processes
//! ```
//!
//! Processes are numbered by their ranks in the world of all clients; those of the own client are not
//! reached. Both ends of a connection prove the secret of the world ([`MeshSecurity::Sealed`]) or take each
//! other's word, as foreign peers must.
//!
//! Packets have no second way: the end of a connection without FINI is the failure of all processes behind
//! it. So is a packet that no process sends, after which the connection is cut off, and a link without an
//! answer for the time of the settings. A process that computes and does not read is none of these.
//!
//! It knows no engine: what packets mean is the business of its sink. Source: IMPI, the report of the
//! steering committee (NIST, draft of March 1999), and LAM/MPI 7.

mod assembly;
mod flow;
mod gateway;
mod intake;
mod introduction;
mod listener;
mod mesh_link;
mod mesh_stream;
mod out_queue;
mod packet_reader;
mod polling;
mod roster;
mod settings;
mod silence;

use std::os::fd::{AsFd, OwnedFd};
use std::sync::Arc;
use std::time::{Duration, Instant};

use crate::device::Busy;
use assembly::{Assembly, NoMesh};
use flow::{FlowLimits, PairFlow, is_counted};
use intake::{HostPresence, MeshEvent, MeshPair};
use introduction::MeshIdentity;
use mesh_link::MeshLink;
use mesh_stream::MeshStream;
use platform::base::{ErrorClass, Result};
use platform::impi::{ImpiKind, PacketHeader, World};
use platform::sys::ready_set::Ready;
use platform::sys::tcp::Watched;
use roster::Roster;

pub(crate) use gateway::{Gateway, GatewayListener};
pub(crate) use intake::MeshSink;
pub(crate) use introduction::{MeshRole, MeshSecurity};
pub(crate) use listener::{MeshListener, process_id};
pub(crate) use settings::MeshSettings;

/// Bytes that are received at once.
const SCRATCH_BYTES: usize = 64 << 10;

/// Questions about the silence of a connection in the time of the settings.
const QUESTIONS: u32 = 8;

/// A process without a link: one of the own client.
const NO_LINK: u32 = u32::MAX;

/// What the sender of a packet decides; source, destination and sequence number are the mesh's.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct Outgoing {
    /// Neither PROTOACK nor FINI.
    pub(crate) kind: ImpiKind,
    pub(crate) source_request: u64,
    pub(crate) destination_request: u64,
    pub(crate) message_len: u64,
    pub(crate) source_rank: i32,
    pub(crate) tag: i32,
    pub(crate) context: u64,
    pub(crate) count: i64,
    pub(crate) datatype: u64,
}

/// The connections of one process to the other clients.
pub(crate) struct Mesh {
    roster: Roster,
    me: u32,
    client: u32,
    is_sealed: bool,
    links: Vec<MeshLink>,
    /// The link to each process.
    routes: Vec<u32>,
    pairs: Vec<MeshPair>,
    presence: Vec<HostPresence>,
    /// Hosts that have failed and are not reported: why, as part of a sentence.
    failures: Vec<(u32, String)>,
    events: Vec<MeshEvent>,
    /// Whether processes that await room may have it.
    may_have_room: bool,
    is_leaving: bool,
    silence: Duration,
    /// When connections are asked for their silence, in nanoseconds of the host's clock.
    due_ns: u64,
    ordered_ns: u64,
    watched: Watched,
    ready: Vec<Ready>,
    blocked: usize,
    scratch: Box<[u8]>,
    polls: u32,
    is_armed: bool,
    /// Packets that were accepted, and that have arrived.
    sent: u64,
    received: u64,
}

impl Mesh {
    /// Connects process `me` with all hosts of other clients, and waits until each is there: the host with
    /// the higher number connects to the lower one.
    ///
    /// # Errors
    /// `Other` if a host is missing at the deadline, has ended, or is a wrong one.
    pub(crate) fn connect(
        listener: MeshListener, world: &World, me: u32, security: MeshSecurity, deadline: Instant,
    ) -> Result<Self> {
        let roster = Roster::new(world);
        let number = roster.host_of(me);
        let is_sealed = matches!(security, MeshSecurity::Sealed(..));
        let identity = MeshIdentity { number, role: MeshRole::Host, security };
        let streams =
            assembly::connect_hosts(&listener.acceptor, &roster, identity, deadline, || false);
        let streams = streams.map_err(|why| ErrorClass::Other.error(why))?;
        let links = streams.into_iter().map(|(host, stream)| (Some(host), stream)).collect();
        Self::new(roster, me, is_sealed, listener.settings.silence, links)
    }

    /// Connects process `me` with the gateway that gave `card`, and waits until that has connections to all
    /// hosts of other clients. `silence` is as in the settings.
    ///
    /// # Errors
    /// As [`Mesh::connect`]; also if the text is no card.
    pub(crate) fn connect_gateway(
        card: &str, world: &World, me: u32, security: MeshSecurity, silence: Duration,
        deadline: Instant,
    ) -> Result<Self> {
        let wrong = |why: String| ErrorClass::Other.error(why);
        let endpoints = gateway::endpoints(card);
        let endpoints = endpoints.ok_or_else(|| wrong(format!("{card:?} is no gateway")))?;
        let roster = Roster::new(world);
        let host = roster.host_of(me);
        let is_sealed = matches!(security, MeshSecurity::Sealed(..));
        let identity = MeshIdentity { number: me, role: MeshRole::Process, security };
        let mut there = Vec::new();
        let connected = Assembly::new(identity).and_then(|mut assembly| {
            assembly.dial(host, endpoints);
            assembly.run(deadline, || false, &mut there)
        });
        let failed = |no_mesh: NoMesh| wrong(format!("the gateway of this client {}", no_mesh.why));
        connected.map_err(failed)?;
        let streams = there.into_iter().map(|(_, end)| (None, end.into_stream())).collect();
        Self::new(roster, me, is_sealed, silence, streams)
    }

    fn new(
        roster: Roster, me: u32, is_sealed: bool, silence: Duration,
        streams: Vec<(Option<u32>, MeshStream)>,
    ) -> Result<Self> {
        let failed = |error| ErrorClass::Other.error(format!("cannot watch TCP sockets: {error}"));
        let watched = Watched::new().map_err(failed)?;
        let mut links = Vec::with_capacity(streams.len());
        for (token, (host, stream)) in (0..).zip(streams) {
            stream.connection().keep_alive(silence).map_err(failed)?;
            watched.add(&stream, token, false).map_err(failed)?;
            links.push(MeshLink::new(host, stream));
        }
        // What came with the introductions is in no socket.
        watched.ring();
        let client = roster.hosts[roster.host_of(me) as usize].client;
        let route = |process| {
            let host = roster.host_of(process);
            let leads = |link: &MeshLink| link.host.is_none_or(|it| it == host);
            match roster.hosts[host as usize].client == client {
                true => NO_LINK,
                false => links.iter().position(leads).map_or(NO_LINK, |link| link as u32),
            }
        };
        let processes = 0..roster.process_count();
        let routes = processes.clone().map(route).collect();
        let own = roster.limits_of(me);
        let pair = |process| MeshPair::new(own, roster.limits_of(process));
        Ok(Self {
            me,
            client,
            is_sealed,
            routes,
            pairs: processes.map(pair).collect(),
            presence: vec![HostPresence::Here; roster.hosts.len()],
            roster,
            links,
            failures: Vec::new(),
            events: Vec::new(),
            may_have_room: false,
            is_leaving: false,
            silence,
            due_ns: u64::MAX,
            ordered_ns: u64::MAX,
            watched,
            ready: Vec::new(),
            blocked: 0,
            scratch: vec![0; SCRATCH_BYTES].into(),
            polls: 0,
            is_armed: false,
            sent: 0,
            received: 0,
        })
    }

    /// The longest data of a packet, in bytes, as all clients have agreed.
    pub(crate) fn data_len(&self) -> usize {
        self.roster.data_len as usize
    }

    /// Sends a packet with `data_len` bytes, at most [`Mesh::data_len`], which `fill` writes. A packet to a
    /// process that has failed or left is dropped.
    ///
    /// # Errors
    /// [`Busy`] if `to` has not acknowledged many packets, or many bytes wait for the connection;
    /// [`MeshSink::room`] follows.
    ///
    /// # Panics
    /// If `to` is a process of the own client, or the packet is none of a sender.
    pub(crate) fn send(
        &mut self, to: u32, packet: &Outgoing, data_len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(data_len <= self.data_len() && is_counted(packet.kind), "{packet:?}: {data_len}");
        let route = self.routes[to as usize];
        assert!(route != NO_LINK, "process {to} is one of the own client");
        if self.is_leaving || self.presence_of(to) != HostPresence::Here {
            return Ok(());
        }
        let (link, pair) = (&mut self.links[route as usize], &mut self.pairs[to as usize]);
        if !(pair.flow.has_room() && link.has_room()) {
            if !pair.is_refused {
                pair.is_refused = true;
                link.refused.push(to);
            }
            return Err(Busy);
        }
        pair.flow.sent();
        self.sent += 1;
        self.push(to, packet, data_len, fill);
        self.write(route as usize);
        Ok(())
    }

    /// Withholds the acknowledgements of what comes from a process, which then stops to send, or gives them
    /// again.
    pub(crate) fn withhold(&mut self, from: u32, is_withheld: bool) {
        let flow = &mut self.pairs[from as usize].flow;
        if flow.withhold(is_withheld) && flow.owes_acknowledgement() {
            let route = self.routes[from as usize] as usize;
            self.links[route].unacknowledged.push(from);
            self.write(route);
        }
    }

    /// Adds a packet to the queue of its connection.
    #[inline]
    fn push(&mut self, to: u32, packet: &Outgoing, len: usize, fill: impl FnOnce(&mut [u8])) {
        let pair = &mut self.pairs[to as usize];
        let header = PacketHeader {
            kind: packet.kind,
            len: len as u32,
            source: self.roster.id(self.me),
            destination: self.roster.id(to),
            source_request: packet.source_request,
            destination_request: packet.destination_request,
            message_len: packet.message_len,
            source_rank: packet.source_rank,
            tag: packet.tag,
            context: packet.context,
            sequence: pair.sent,
            count: packet.count,
            datatype: packet.datatype,
        };
        pair.sent += 1;
        if let Some(stream) = &mut self.links[self.routes[to as usize] as usize].stream {
            stream.queue.push(&header.emit(), len, fill);
        }
    }

    fn presence_of(&self, process: u32) -> HostPresence {
        self.presence[self.roster.host_of(process) as usize]
    }

    /// The descriptor on which to sleep after [`Mesh::arm`]: readable when a poll has something to do.
    pub(crate) fn descriptor(&self) -> Arc<OwnedFd> {
        self.watched.descriptor()
    }

    /// Makes [`Mesh::descriptor`] readable also while `doorbell` is, so that a sleep covers another device.
    ///
    /// # Errors
    /// `Other` with the system's error.
    pub(crate) fn watch_beside(&self, doorbell: impl AsFd) -> Result<()> {
        let added = self.watched.add_beside(doorbell);
        added.map_err(|error| ErrorClass::Other.error(format!("cannot watch a pipe: {error}")))
    }

    /// Makes the descriptor readable once.
    #[cfg(test)]
    pub(crate) fn ring(&self) {
        self.watched.ring();
    }

    /// From now on, the descriptor becomes readable when a poll has something to do. A poll follows before
    /// the sleep.
    pub(crate) fn arm(&mut self) {
        self.is_armed = true;
        self.order_timer();
    }

    /// The sleep has ended.
    pub(crate) fn disarm(&mut self) {
        self.is_armed = false;
    }

    /// Whether the kernel has all packets that were accepted.
    pub(crate) fn is_drained(&self) -> bool {
        self.streams().all(MeshStream::is_written)
    }

    /// The numbers of packets that were accepted, and that have arrived; PROTOACK and FINI do not count.
    pub(crate) fn packet_counts(&self) -> (u64, u64) {
        (self.sent, self.received)
    }

    /// This process sends nothing more, but still receives: FINI to every host. What is sent later is
    /// dropped.
    pub(crate) fn leave(&mut self) {
        if std::mem::replace(&mut self.is_leaving, true) {
            return;
        }
        for index in 0..self.links.len() {
            self.say_fini(index);
            self.write(index);
            self.close_if_over(index);
        }
    }

    /// Whether all connections have been closed, after [`Mesh::leave`] when all hosts have left or failed.
    pub(crate) fn has_left(&self) -> bool {
        self.streams().next().is_none()
    }

    fn streams(&self) -> impl Iterator<Item = &MeshStream> {
        self.links.iter().filter_map(|link| link.stream.as_deref())
    }
}

impl MeshPair {
    fn new(own: FlowLimits, of_peer: FlowLimits) -> Self {
        Self { flow: PairFlow::new(own, of_peer), sent: 0, received: 0, is_refused: false }
    }
}

#[cfg(test)]
mod tests;
