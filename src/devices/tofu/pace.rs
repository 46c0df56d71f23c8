//! The pace of a real network: who is where, and packets that have not arrived yet.
//!
//! A packet lies in the ring of its receiver at once, and says at its end when it would have arrived
//! ([`NetworkModel`]). The receiver holds it until then; so it arrives although its sender has gone, and a
//! receiver that sleeps is woken in time by its own engine thread.

use std::collections::VecDeque;
use std::fmt;

use super::segment::BusyTimes;
use crate::device::{Header, PacketSink};
use crate::devices::interface::{NetworkModel, TransferPath, TransferTimes};
use crate::devices::rings::NodeRanks;
use crate::devices::torus::{NetworkRates, TorusEndpoint, TorusFabric, TorusShape};
use platform::base::Peer;

/// Bytes at the end of a packet that say when it arrives.
pub(crate) const STAMP_BYTES: usize = 8;

/// Packets that a receiver holds before it leaves the others in the rings, where they fill up.
const HELD_MAX: usize = 64;

/// The network as one rank sees it. The rank in slot `n` is node `n`.
pub(crate) struct PacedNetwork {
    endpoint: TorusEndpoint<BusyTimes>,
    node_ranks: NodeRanks,
}

/// The packets of one rank.
pub(crate) struct PacedPackets {
    network: PacedNetwork,
    /// By slot: when the last packet to that rank arrives.
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
    /// As the rank `ranks[node]` sees it.
    pub(crate) fn new(
        shape: TorusShape, rates: NetworkRates, busy: BusyTimes, me: usize, ranks: &[Peer],
    ) -> Self {
        let endpoint =
            TorusEndpoint { fabric: TorusFabric::new(shape, rates, busy), node: me as u32 };
        Self { endpoint, node_ranks: NodeRanks::new(ranks) }
    }
}

impl NetworkModel for PacedNetwork {
    fn send(&mut self, way: TransferPath, engine: u8, bytes: u64, at_ns: u64) -> TransferTimes {
        let node = |peer| self.node_ranks.slot_of(peer) as u32;
        let way = match way {
            TransferPath::Local => TransferPath::Local,
            TransferPath::ToPeer(peer) => TransferPath::ToPeer(node(peer)),
            TransferPath::FromPeer(peer) => TransferPath::FromPeer(node(peer)),
        };
        self.endpoint.send(way, engine, bytes, at_ns)
    }
}

impl fmt::Debug for PacedNetwork {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        self.endpoint.fmt(f)
    }
}

impl PacedPackets {
    /// No packet is on its way.
    pub(crate) fn new(network: PacedNetwork) -> Self {
        let last_ns = vec![0; network.node_ranks.ranks().len()];
        Self { network, last_ns, held: PacedQueue::default() }
    }

    /// A packet of `bytes` bytes leaves for `peer`: the stamp that it gets.
    pub(crate) fn stamp(&mut self, peer: Peer, bytes: usize, now_ns: u64) -> [u8; STAMP_BYTES] {
        let last_ns = &mut self.last_ns[self.network.node_ranks.slot_of(peer)];
        let flight = self.network.send(TransferPath::ToPeer(peer), 0, bytes as u64, now_ns);
        // None overtakes another one.
        *last_ns = flight.arrived_ns.max(*last_ns);
        last_ns.to_ne_bytes()
    }

    /// Where packets from the rings go, if there is room for more.
    pub(crate) fn packet_sink(&mut self) -> Option<&mut (impl PacketSink + use<>)> {
        (self.held.0.len() < HELD_MAX).then_some(&mut self.held)
    }

    /// Delivers what has arrived by now, and says how much that was and when the next one arrives.
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

    /// Whether packets are on their way to this rank.
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
