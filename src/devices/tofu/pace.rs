//! Paced transfers: the nodes of ranks, and packets whose arrival time has not come.
//!
//! A packet is in the ring of its receiver at once, with its arrival time ([`NetworkModel`]) as a stamp
//! at its end. The receiver holds it until then. So a packet arrives even if its sender has exited, and
//! the receiver's own engine thread wakes a receiver that sleeps.

use std::collections::VecDeque;
use std::fmt;

use super::segment::BusyTimes;
use crate::device::{Header, PacketSink};
use crate::devices::interface::{NetworkModel, TransferPath, TransferTimes};
use crate::devices::rings::NodeRanks;
use crate::devices::torus::{NetworkRates, TorusEndpoint, TorusFabric, TorusShape};
use platform::base::Peer;

/// Bytes of the arrival time at the end of a packet.
pub(crate) const STAMP_BYTES: usize = 8;

/// Packets that a receiver holds; further packets stay in the rings, so senders get back-pressure.
const HELD_MAX: usize = 64;

/// The network at one rank. The rank in slot `n` is node `n`.
pub(crate) struct PacedNetwork {
    endpoint: TorusEndpoint<BusyTimes>,
    node_ranks: NodeRanks,
}

/// Paced packets of one rank.
pub(crate) struct PacedPackets {
    network: PacedNetwork,
    /// By slot: arrival time of the last packet to that rank.
    last_ns: Vec<u64>,
    held: PacedQueue,
}

#[derive(Default)]
struct PacedQueue(VecDeque<PacedPacket>);

struct PacedPacket {
    from: Peer,
    header: Header,
    data: Vec<u8>,
    due_ns: u64,
}

impl PacedNetwork {
    /// The network at the rank `ranks[me]`.
    pub(crate) fn new(
        shape: TorusShape, rates: NetworkRates, busy: BusyTimes, me: usize, ranks: &[Peer],
    ) -> Self {
        let endpoint =
            TorusEndpoint { fabric: TorusFabric::new(shape, rates, busy), node: me as u32 };
        Self { endpoint, node_ranks: NodeRanks::new(ranks) }
    }
}

impl NetworkModel for PacedNetwork {
    fn post_ns(&self) -> u64 {
        self.endpoint.post_ns()
    }

    fn send(&mut self, path: TransferPath, engine: u8, bytes: u64, at_ns: u64) -> TransferTimes {
        let node = |peer| self.node_ranks.slot_of(peer) as u32;
        let path = match path {
            TransferPath::Local => TransferPath::Local,
            TransferPath::ToPeer(peer) => TransferPath::ToPeer(node(peer)),
            TransferPath::FromPeer(peer) => TransferPath::FromPeer(node(peer)),
        };
        self.endpoint.send(path, engine, bytes, at_ns)
    }
}

impl fmt::Debug for PacedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

impl PacedPackets {
    /// Without packets.
    pub(crate) fn new(network: PacedNetwork) -> Self {
        let last_ns = vec![0; network.node_ranks.ranks().len()];
        Self { network, last_ns, held: PacedQueue::default() }
    }

    /// The stamp of a packet of `bytes` bytes to `peer`.
    pub(crate) fn stamp(&mut self, peer: Peer, bytes: usize, now_ns: u64) -> [u8; STAMP_BYTES] {
        let last_ns = &mut self.last_ns[self.network.node_ranks.slot_of(peer)];
        let times = self.network.send(TransferPath::ToPeer(peer), 0, bytes as u64, now_ns);
        // No packet overtakes another.
        *last_ns = times.arrived_ns.max(*last_ns);
        last_ns.to_ne_bytes()
    }

    /// The sink for packets from the rings; `None` if no more may be held.
    pub(crate) fn packet_sink(&mut self) -> Option<&mut (impl PacketSink + use<>)> {
        (self.held.0.len() < HELD_MAX).then_some(&mut self.held)
    }

    /// Delivers packets whose time has come; returns their number and the time of the next packet.
    pub(crate) fn deliver(
        &mut self, now_ns: u64, sink: &mut impl PacketSink,
    ) -> (usize, Option<u64>) {
        let before = self.held.0.len();
        for packet in std::mem::take(&mut self.held.0) {
            if packet.due_ns <= now_ns {
                sink.packet(packet.from, &packet.header, &packet.data);
            } else {
                self.held.0.push_back(packet);
            }
        }
        let next = self.held.0.iter().map(|packet| packet.due_ns).min();
        (before - self.held.0.len(), next)
    }

    /// Whether no packet is held.
    pub(crate) fn is_empty(&self) -> bool {
        self.held.0.is_empty()
    }
}

impl PacketSink for PacedQueue {
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
        let (data, stamp) = data.split_last_chunk().expect("shared segment damaged: no stamp");
        let due_ns = u64::from_ne_bytes(*stamp);
        self.0.push_back(PacedPacket { from, header: *header, data: data.to_vec(), due_ns });
    }
}
