//! What carries messages beside shared memory or instead of it.

use std::iter;

use crate::device::reach::Reach;
use crate::device::rma::{MemoryKey, RemoteAccess, Rma};
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, WakeSource};
use crate::devices::shm::Shm;
use crate::devices::tcp::Tcp;
use crate::devices::tofu::Tofu;
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::doorbell::Doorbell;

use super::socket_interval::SocketInterval;

/// A device beside that of the host.
#[expect(clippy::large_enum_variant, reason = "there is one value of it, in a box")]
pub(super) enum Network {
    /// Carries all messages.
    Tofu(Tofu),
    /// Carries messages between hosts, or all but those of a rank to itself.
    Tcp(Sockets),
}

/// TCP beside shared memory.
pub(super) struct Sockets {
    tcp: Tcp,
    /// This rank, if TCP carries the messages to all others; else those to ranks of other hosts.
    everywhere: Option<Peer>,
    interval: SocketInterval,
    /// Whether this rank has sent by TCP since the last packet from there.
    awaits_answer: bool,
}

/// Applies an operation to the device that carries messages to a peer.
macro_rules! route {
    ($network:expr, $node:expr, $peer:expr, $device:ident => $body:expr) => {
        match $network {
            Self::Tofu($device) => $body,
            Self::Tcp(sockets) if sockets.carries($node, $peer) => {
                sockets.awaits_answer = true;
                let $device = &mut sockets.tcp;
                $body
            }
            Self::Tcp(_) => {
                let $device = $node;
                $body
            }
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
            Self::Tcp(sockets) => {
                let tcp = sockets.tcp.caps();
                Caps {
                    short_max: tcp.short_max.min(node.short_max),
                    packet_max: tcp.packet_max.min(node.packet_max),
                }
            }
        }
    }

    #[inline]
    pub(super) fn awaits_answer(&self) -> bool {
        matches!(self, Self::Tcp(sockets) if sockets.awaits_answer)
    }

    /// As [`Tcp::has_ended`].
    pub(super) fn has_ended(&self, peer: Peer) -> bool {
        matches!(self, Self::Tcp(sockets) if sockets.tcp.has_ended(peer))
    }

    /// As [`Tcp::peer_ended`], for peers that sockets reach.
    pub(super) fn peer_ended(&mut self, node: &Shm, peer: Peer, why: &str) {
        if let Self::Tcp(sockets) = self
            && sockets.carries(node, peer)
        {
            sockets.tcp.peer_ended(peer, why);
        }
    }

    pub(super) fn peer_caps(&self, node: &Shm, peer: Peer) -> PeerCaps {
        match self {
            Self::Tofu(interface) => interface.peer_caps(peer),
            Self::Tcp(sockets) if sockets.carries(node, peer) => sockets.tcp.peer_caps(peer),
            Self::Tcp(_) => node.peer_caps(peer),
        }
    }

    #[inline(never)]
    pub(super) fn send(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, len: usize,
        fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        route!(self, node, peer, device => device.send(peer, header, len, fill))
    }

    #[inline(never)]
    pub(super) fn send_contiguous(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span,
    ) -> Result<(), Busy> {
        route!(self, node, peer, device => device.send_contiguous(peer, header, data))
    }

    #[inline(never)]
    pub(super) fn send_lent(
        &mut self, node: &mut Shm, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        route!(self, node, peer, device => device.send_lent(peer, header, data, token))
    }

    #[inline(never)]
    pub(super) fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        match self {
            Self::Tofu(interface) => interface.poll(sink),
            Self::Tcp(sockets) => sockets.poll(node, sink),
        }
    }
}

impl Sockets {
    /// `everywhere` is this rank, if TCP carries the messages to all others. Sleeps on `node` cover
    /// sockets from now on.
    ///
    /// # Errors
    /// `Other` if this process may not have more descriptors.
    pub(super) fn new(tcp: Tcp, everywhere: Option<Peer>, node: &mut Shm) -> Result<Self> {
        let doorbell = Doorbell::new().map_err(|error| {
            ErrorClass::Other.error(format!("a rank that uses sockets needs a pipe: {error}"))
        })?;
        let descriptor = tcp.watch_beside(&doorbell)?;
        node.wait_for_descriptor(doorbell, descriptor);
        Ok(Self { tcp, everywhere, interval: SocketInterval::new(), awaits_answer: false })
    }

    /// Whether TCP carries the messages to ranks of this host, too.
    pub(super) fn are_everywhere(&self) -> bool {
        self.everywhere.is_some()
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

    /// As [`Tcp::register_under`].
    pub(super) fn register_under(&mut self, key: MemoryKey, memory: Span, access: RemoteAccess) {
        self.tcp.register_under(key, memory, access);
    }

    /// Whether TCP carries the messages to `peer`.
    pub(super) fn carries(&self, node: &Shm, peer: Peer) -> bool {
        match self.everywhere {
            None => !node.reaches(peer),
            Some(me) => peer != me,
        }
    }

    fn poll(&mut self, node: &mut Shm, sink: &mut impl PacketSink) -> usize {
        let arrived = node.poll(sink);
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

    pub(super) fn send_datagram(&mut self, node: &Shm, peer: Peer, data: &[u8]) {
        if self.carries(node, peer) {
            self.tcp.send_datagram(peer, data);
        }
    }

    pub(super) fn is_drained(&self) -> bool {
        self.tcp.is_drained()
    }

    pub(super) fn leave(&mut self) {
        self.tcp.leave();
    }

    /// One sleep for both: peers of this host ring a doorbell, which the descriptor of the sockets
    /// covers. (Measured beside a thread that sleeps on the sockets and changes the word: a packet from
    /// a socket wakes in 14 instead of 27 µs, one from shared memory in 11 µs either way, and a futex
    /// alone needs 11 µs.)
    pub(super) fn arm(&mut self, node: &mut Shm) -> WakeSource {
        // `wake_self` and peers of this host do not change its word: they ring.
        let _ = self.tcp.arm();
        node.arm()
    }

    pub(super) fn disarm(&mut self, node: &mut Shm) {
        self.tcp.disarm();
        node.disarm();
    }

    /// Packets of both.
    pub(super) fn quiescence(&self, node: &Shm) -> Option<u64> {
        Some(self.tcp.quiescence()?.wrapping_add(node.quiescence()?))
    }
}
