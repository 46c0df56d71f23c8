//! What carries messages beside shared memory or instead of it.

use std::iter;
use std::os::fd::AsFd;
use std::sync::Arc;

use crate::device::near_memory::NearMemory;
use crate::device::reach::Reach;
use crate::device::rma::{MemoryKey, RemoteAccess, Rma};
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, WakeSource};
use crate::devices::put_links::ConnectionDesk;
use crate::devices::rings::near_segment::HostSharing;
use crate::devices::shm::Shm;
use crate::devices::tcp::Tcp;
use crate::devices::tofu::Tofu;
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::doorbell::Doorbell;

use super::bridged::Bridged;
use super::carrier::CarrierNetwork;
use super::socket_interval::SocketInterval;

/// A device beside that of the host.
#[expect(clippy::large_enum_variant, reason = "a process has one, in a box")]
pub(super) enum Network {
    /// Carries all messages.
    Tofu(Tofu),
    /// Carries messages between hosts, or all but those of a rank to itself.
    Tcp(Sockets),
    /// Carries messages between ranks, or between hosts.
    Carrier(CarrierNetwork),
    /// Carries messages to other clients of a world, beside one of the others or none.
    Bridged(Bridged),
    /// Shared memory carries all messages, though not by its short path (`interruptions`).
    Node,
}

/// The peers to which TCP carries the messages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SocketScope {
    /// Those of other hosts, and of other jobs.
    Hosts,
    /// All but this rank.
    All(Peer),
    /// Those of other jobs: from this number on.
    OtherJobs(Peer),
}

/// TCP beside shared memory.
pub(super) struct Sockets {
    tcp: Tcp,
    scope: SocketScope,
    interval: SocketInterval,
    /// Whether this rank has sent by TCP since the last packet from there.
    awaits_answer: bool,
    /// What this process shares with others of its host, unless TCP carries the messages to all of them.
    sharing: Option<HostSharing>,
}

/// Applies an operation to the device that carries messages to a peer.
macro_rules! route {
    (
        $network:expr, $node:expr, $peer:expr, $device:ident => $body:expr,
        $bridged:ident => $beyond:expr
    ) => {
        match $network {
            Self::Tofu($device) => $body,
            Self::Tcp(sockets) if sockets.carries($node, $peer) => {
                sockets.awaits_answer = true;
                let $device = &mut sockets.tcp;
                $body
            }
            Self::Carrier(carrier) if carrier.carries($node, $peer) => {
                let $device = &mut carrier.device;
                $body
            }
            Self::Carrier(carrier) if carrier.reaches_by_sockets($node, $peer) => {
                let $device = carrier.sockets_for_packet();
                $body
            }
            Self::Tcp(_) | Self::Carrier(_) | Self::Node => {
                let $device = $node;
                $body
            }
            Self::Bridged($bridged) => $beyond,
        }
    };
}

/// These functions are kept out of their callers, which hold the short path of messages through shared
/// memory.
impl Network {
    #[inline(never)]
    pub(super) fn caps(&self, node: Caps) -> Caps {
        match self {
            Self::Tofu(interface) => interface.caps(),
            Self::Tcp(sockets) => common(sockets.tcp.caps(), node),
            Self::Carrier(carrier) => carrier.caps(node),
            Self::Bridged(bridged) => bridged.caps(node),
            Self::Node => node,
        }
    }

    #[inline]
    pub(super) fn awaits_answer(&self) -> bool {
        match self {
            Self::Tofu(_) | Self::Node => false,
            Self::Carrier(carrier) => carrier.sockets().is_some_and(|it| it.awaits_answer),
            Self::Tcp(sockets) => sockets.awaits_answer,
            Self::Bridged(bridged) => bridged.awaits_answer(),
        }
    }

    /// The sockets of the own job.
    #[inline]
    pub(super) fn sockets(&self) -> Option<&Sockets> {
        match self {
            Self::Tofu(_) | Self::Node => None,
            Self::Carrier(carrier) => carrier.sockets(),
            Self::Tcp(sockets) => Some(sockets),
            Self::Bridged(bridged) => bridged.inner.as_deref().and_then(Self::sockets),
        }
    }

    /// Whether messages inside a host do not go by shared memory.
    #[inline]
    pub(super) fn is_everywhere(&self) -> bool {
        match self {
            Self::Tofu(_) => true,
            Self::Tcp(sockets) => sockets.are_everywhere(),
            Self::Carrier(carrier) => carrier.is_everywhere(),
            Self::Bridged(bridged) => bridged.inner.as_deref().is_some_and(Self::is_everywhere),
            Self::Node => false,
        }
    }

    /// Whether there may be sockets beside it.
    pub(super) fn admits_sockets(&self) -> bool {
        match self {
            Self::Tofu(_) => false,
            // Another MPI library has a launcher of its own, which knows no other jobs.
            Self::Carrier(carrier) => carrier.is_fabric(),
            Self::Tcp(_) | Self::Node => true,
            Self::Bridged(bridged) => bridged
                .inner
                .as_deref()
                .is_none_or(|inner| !inner.has_carrier() && inner.admits_sockets()),
        }
    }

    /// Whether another library carries messages of the own job.
    pub(super) fn has_carrier(&self) -> bool {
        match self {
            Self::Tofu(_) | Self::Tcp(_) | Self::Node => false,
            Self::Carrier(_) => true,
            Self::Bridged(bridged) => bridged.inner.as_deref().is_some_and(Self::has_carrier),
        }
    }

    /// The other library of the own job.
    pub(super) fn carrier_mut(&mut self) -> Option<&mut CarrierNetwork> {
        match self {
            Self::Tofu(_) | Self::Tcp(_) | Self::Node => None,
            Self::Carrier(carrier) => Some(carrier),
            Self::Bridged(bridged) => bridged.inner.as_deref_mut().and_then(Self::carrier_mut),
        }
    }

    /// As [`Network::sockets`].
    #[inline]
    pub(super) fn sockets_mut(&mut self) -> Option<&mut Sockets> {
        match self {
            Self::Tofu(_) | Self::Node => None,
            Self::Carrier(carrier) => carrier.sockets_mut(),
            Self::Tcp(sockets) => Some(sockets),
            Self::Bridged(bridged) => bridged.inner.as_deref_mut().and_then(Self::sockets_mut),
        }
    }

    /// Whether sockets carry messages to `peer`. They know no peer of another cluster.
    fn has_sockets_toward(&self, node: &Shm, peer: Peer) -> bool {
        match self {
            Self::Bridged(bridged) if bridged.carries(peer) => false,
            other => other.sockets().is_some_and(|sockets| sockets.carries(node, peer)),
        }
    }

    /// The sockets, if they carry messages to `peer`.
    pub(super) fn sockets_toward(&mut self, node: &Shm, peer: Peer) -> Option<&mut Sockets> {
        if self.has_sockets_toward(node, peer) { self.sockets_mut() } else { None }
    }

    /// What makes accesses to memory of `peer`, if it is not the device of the host.
    pub(super) fn one_sided_toward(&mut self, node: &Shm, peer: Peer) -> Option<&mut dyn Rma> {
        if self.has_sockets_toward(node, peer) {
            return self.sockets_mut().map(Sockets::one_sided);
        }
        let carrier = self.carrier_mut().filter(|carrier| carrier.carries(node, peer));
        carrier.map(|carrier| -> &mut dyn Rma { &mut carrier.device })
    }

    /// As [`Tcp::has_ended`], for peers that sockets reach.
    pub(super) fn has_ended(&self, node: &Shm, peer: Peer) -> bool {
        let sockets = self.sockets().filter(|_| self.has_sockets_toward(node, peer));
        sockets.is_some_and(|sockets| sockets.tcp.has_ended(peer))
    }

    /// As [`Tcp::peer_ended`], for peers that sockets or another library reach.
    pub(super) fn peer_ended(&mut self, node: &Shm, peer: Peer, why: &str) {
        if let Some(sockets) = self.sockets_toward(node, peer) {
            sockets.tcp.peer_ended(peer, why);
        } else if let Some(carrier) = self.carrier_mut().filter(|it| it.carries(node, peer)) {
            carrier.device.peer_ended(peer, why);
        }
    }

    pub(super) fn peer_caps(&self, node: &Shm, peer: Peer) -> PeerCaps {
        match self {
            Self::Tofu(interface) => interface.peer_caps(peer),
            Self::Tcp(sockets) if sockets.carries(node, peer) => sockets.tcp.peer_caps(peer),
            Self::Carrier(carrier) => carrier.peer_caps(node, peer),
            Self::Tcp(_) | Self::Node => node.peer_caps(peer),
            Self::Bridged(bridged) => bridged.peer_caps(node, peer),
        }
    }

    #[inline(never)]
    pub(super) fn send(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        route!(
            self, node, peer, device => device.send(peer, header, len, fill),
            bridged => bridged.send(node, peer, header, len, fill)
        )
    }

    #[inline(never)]
    pub(super) fn send_contiguous(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span,
    ) -> Result<(), Busy> {
        route!(
            self, node, peer, device => device.send_contiguous(peer, header, data),
            bridged => bridged.send_contiguous(node, peer, header, data)
        )
    }

    #[inline(never)]
    pub(super) fn send_lent(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        route!(
            self, node, peer, device => device.send_lent(peer, header, data, token),
            bridged => bridged.send_lent(node, peer, header, data, token)
        )
    }

    #[inline(never)]
    pub(super) fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        match self {
            Self::Tofu(interface) => interface.poll(sink),
            Self::Tcp(sockets) => sockets.poll(node, sink),
            Self::Carrier(carrier) => carrier.poll(node, sink),
            Self::Bridged(bridged) => bridged.poll(node, sink),
            Self::Node => node.poll(sink),
        }
    }

    pub(super) fn send_datagram(&mut self, node: &Shm, peer: Peer, data: &[u8]) {
        if let Some(sockets) = self.sockets_toward(node, peer) {
            sockets.tcp.send_datagram(peer, data);
        } else if let Self::Carrier(carrier) = self
            && carrier.carries(node, peer)
        {
            carrier.device.send_datagram(peer, data);
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        match self {
            Self::Tofu(_) | Self::Node => true,
            Self::Tcp(sockets) => sockets.tcp.is_drained(),
            Self::Carrier(carrier) => carrier.is_drained(),
            Self::Bridged(bridged) => bridged.is_drained(),
        }
    }

    pub(super) fn leave(&mut self) {
        match self {
            Self::Tofu(_) | Self::Node => (),
            Self::Tcp(sockets) => sockets.tcp.leave(),
            Self::Carrier(carrier) => carrier.leave(),
            Self::Bridged(bridged) => bridged.leave(),
        }
    }

    pub(super) fn arm(&mut self, node: &mut Shm) -> WakeSource {
        match self {
            Self::Tofu(interface) => interface.arm(),
            Self::Tcp(sockets) => sockets.arm(node),
            Self::Carrier(carrier) => carrier.arm(node),
            Self::Bridged(bridged) => bridged.arm(node),
            Self::Node => node.arm(),
        }
    }

    pub(super) fn disarm(&mut self, node: &mut Shm) {
        match self {
            Self::Tofu(interface) => interface.disarm(),
            Self::Tcp(sockets) => sockets.disarm(node),
            Self::Carrier(carrier) => carrier.disarm(node),
            Self::Node => node.disarm(),
            Self::Bridged(bridged) => bridged.disarm(node),
        }
    }

    pub(super) fn wake_self(&mut self, node: &mut Shm) {
        match self {
            Self::Tofu(interface) => interface.wake_self(),
            Self::Tcp(_) | Self::Carrier(_) | Self::Bridged(_) | Self::Node => node.wake_self(),
        }
    }

    /// Packets of both. Nobody compares those of several jobs.
    pub(super) fn quiescence(&self, node: &Shm) -> Option<u64> {
        match self {
            Self::Tofu(interface) => interface.quiescence(),
            Self::Tcp(sockets) => Some(sockets.tcp.quiescence()?.wrapping_add(node.quiescence()?)),
            Self::Carrier(carrier) => carrier.quiescence(node),
            Self::Bridged(_) => None,
            Self::Node => node.quiescence(),
        }
    }
}

/// What both devices can do.
pub(super) fn common(one: Caps, other: Caps) -> Caps {
    Caps {
        short_max: one.short_max.min(other.short_max),
        packet_max: one.packet_max.min(other.packet_max),
    }
}

impl Sockets {
    /// Sleeps on `node` cover sockets from now on.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(super) fn new(mut tcp: Tcp, scope: SocketScope, node: &mut Shm) -> Result<Self> {
        let doorbell = Doorbell::new().map_err(|error| {
            ErrorClass::Other.error(format!("a rank that uses sockets needs a pipe: {error}"))
        })?;
        let descriptor = tcp.watch_beside(&doorbell)?;
        let shared = (scope == SocketScope::Hosts).then(|| doorbell.address());
        if let Some(doorbell) = shared {
            tcp.share_memory(doorbell, node.copy_method());
        }
        node.wait_for_descriptor(doorbell, descriptor);
        let (interval, sharing) = (SocketInterval::new(), shared.map(HostSharing::new));
        Ok(Self { tcp, scope, interval, awaits_answer: false, sharing })
    }

    /// Whether TCP carries the messages to ranks of this host, too.
    pub(super) fn are_everywhere(&self) -> bool {
        matches!(self.scope, SocketScope::All(_))
    }

    /// As [`Tcp::serve_programs`].
    pub(super) fn serve_programs(&mut self, desk: Arc<ConnectionDesk>) {
        self.tcp.serve_programs(desk);
    }

    /// One-sided access to ranks that TCP reaches. Accesses wait for answers.
    pub(super) fn one_sided(&mut self) -> &mut dyn Rma {
        self.awaits_answer = true;
        &mut self.tcp
    }

    /// Connections with other jobs. They begin with answers.
    pub(super) fn reach(&mut self) -> &mut dyn Reach {
        self.awaits_answer = true;
        &mut self.tcp
    }

    /// Memory that this process shares with others of its host.
    pub(super) fn near_memory(&mut self) -> Option<&mut dyn NearMemory> {
        let sharing = self.sharing.as_mut()?;
        Some(sharing)
    }

    /// As [`Tcp::register_under`].
    pub(super) fn register_under(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        self.tcp.register_under(key, memory, access);
    }

    /// Whether TCP carries the messages to `peer`.
    pub(super) fn carries(&self, node: &Shm, peer: Peer) -> bool {
        match self.scope {
            SocketScope::Hosts => !node.reaches(peer),
            SocketScope::All(me) => peer != me,
            SocketScope::OtherJobs(first) => peer >= first,
        }
    }

    /// TCP, for a packet that will have an answer.
    #[inline]
    pub(super) fn for_packet(&mut self) -> &mut Tcp {
        self.awaits_answer = true;
        &mut self.tcp
    }

    /// TCP.
    pub(super) fn tcp(&self) -> &Tcp {
        &self.tcp
    }

    /// As [`Device::leave`].
    pub(super) fn leave(&mut self) {
        self.tcp.leave();
    }

    fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        let arrived = node.poll(sink);
        self.poll_beside(arrived, sink)
    }

    /// Polls after another device from which so many packets have arrived; the packets of both.
    pub(super) fn poll_beside(&mut self, arrived: usize, sink: &mut impl PacketSink) -> usize {
        let near = self.tcp.poll_near(sink);
        self.awaits_answer &= near == 0;
        let arrived = arrived + near;
        if !self.interval.is_due(arrived, self.awaits_answer) {
            return arrived;
        }
        let from_sockets = self.tcp.poll(sink);
        self.interval.polled(from_sockets);
        self.awaits_answer &= from_sockets == 0;
        arrived + from_sockets
    }

    /// A sentence about connections of strangers, if there were some.
    pub(super) fn stranger_report(&self) -> Option<String> {
        self.tcp.strangers.report()
    }

    /// Where this rank listens, one sentence each.
    pub(super) fn explanations(&self) -> Vec<String> {
        let card = format!("tcp: rank 0 is reached at {}", self.tcp.card());
        let addresses = self.tcp.explanations().into_iter().map(|line| format!("tcp: {line}"));
        iter::once(card).chain(addresses).collect()
    }

    /// Sleeps cover a further descriptor.
    ///
    /// # Errors
    /// `Other` with the system's error.
    pub(super) fn watch_beside(&self, descriptor: impl AsFd) -> Result {
        self.tcp.watch_beside(descriptor).map(|_| ())
    }

    /// One sleep for both: peers of this host ring a doorbell, which the descriptor of the sockets
    /// covers. (Measured beside a thread that sleeps on the sockets and changes the word: a packet from
    /// a socket wakes in 14 instead of 27 µs, one from shared memory in 11 µs either way, and a futex
    /// alone needs 11 µs.)
    pub(super) fn arm(&mut self, node: &mut Shm) -> WakeSource {
        // `wake_self` and peers of this host do not change its word: they ring.
        let _ = self.tcp.arm();
        let wake = node.arm();
        if let Some(sharing) = &mut self.sharing {
            // Not before `node` has drained the doorbell: a ring from now on stays, as it tells of no packet
            // that the next poll finds.
            sharing.arm();
        }
        if self.tcp.must_poll() { WakeSource::Never } else { wake }
    }

    /// Direct copies from the memory of processes of other jobs.
    pub(super) fn foreign_memory(&mut self) -> &mut Tcp {
        &mut self.tcp
    }

    pub(super) fn disarm(&mut self, node: &mut Shm) {
        self.tcp.disarm();
        if let Some(sharing) = &mut self.sharing {
            sharing.disarm();
        }
        node.disarm();
    }
}
