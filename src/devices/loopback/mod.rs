//! The test device: N ranks in one process, with small bounded queues, so that tests meet
//! back-pressure.
//!
//! A rank has one queue behind a lock for all its senders. A rank may send to itself. Ranks may be in
//! threads of their own or take turns in one thread. The shared segments of a node lie in an anonymous
//! file, so that unused pages take no memory; ranks on different nodes share none.
//!
//! [`Loopback::remote`] makes ranks that share no memory (`remote`), [`Loopback::remote_on_nodes`] ranks that
//! share segments beside such a network.
//!
//! One-sided access and programs of deferred work use a network of their own ([`LIMITS`]). A seed drives
//! it, and it keeps no order, so a program that relies on order fails its tests.
#![allow(unsafe_code)]

mod network;
mod offload;
mod remote;

use std::collections::{BTreeMap, VecDeque};
use std::ptr::NonNull;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};

use parking_lot::Mutex;

use crate::device::rma::Rma;
use crate::device::trigger::{InterfaceLimits, Trigger};
use crate::device::{Busy, Caps, Device, Header, PacketSink, PeerCaps, SharedMemory, WakeSource};
use crate::shared_memory::segment::{SegmentPool, SharedSegment};
pub use network::LIMITS;
use network::LoopbackNetwork;
use platform::base::{Peer, Span};
use platform::sys::{futex, shm};
pub use remote::LoopbackLinks;
use remote::{OutgoingData, RemoteQueues};

/// Packets in the queue of a rank; with more, senders get [`Busy`].
pub(crate) const QUEUE_PACKETS: usize = 8;

/// In bytes: the limit of the device `shm`, so that tests cross it too.
pub(crate) const SHORT_MAX: usize = 40;

/// In bytes: small, so that a test message needs many packets.
pub(crate) const PACKET_MAX: usize = 256;

/// One rank of a network ([`Loopback::network`]).
pub struct Loopback {
    me: Peer,
    inboxes: Arc<[LoopbackInbox]>,
    network: Arc<SharedNetwork>,
    /// The node of each rank.
    nodes: Arc<[u32]>,
    links: LoopbackLinks,
    /// The segments of the own node.
    segments: Option<SegmentPool>,
    /// The queues of a rank that shares no memory with its peers.
    remote: Option<Box<RemoteQueues>>,
    /// Packets delivered by `poll`.
    delivered: u64,
}

/// The interfaces of all ranks.
struct SharedNetwork {
    interfaces: Mutex<LoopbackNetwork>,
    /// Whether an interface may have work.
    is_active: AtomicBool,
}

struct LoopbackInbox {
    arrivals: Mutex<ArrivalQueue>,
    /// Counts wake-ups; what an armed rank sleeps on.
    wakes: Arc<WakeCounter>,
}

#[derive(Default)]
struct ArrivalQueue {
    packets: VecDeque<QueuedPacket>,
    /// The receiver is armed: the next packet bumps `wakes`.
    is_armed: bool,
    /// The receiver has died.
    is_dead: bool,
    /// The receiver has left: what is sent to it is dropped.
    has_left: bool,
    /// Ranks with packets that did not fit.
    senders: Vec<Peer>,
}

struct QueuedPacket {
    from: Peer,
    header: Header,
    data: Box<[u8]>,
}

struct WakeCounter(AtomicU32);

impl Loopback {
    /// The ranks `0..ranks`, in order.
    pub fn network(ranks: usize) -> Vec<Self> {
        Self::offloading(ranks, 0, |_| LIMITS)
    }

    /// The ranks `0..nodes.len()`, each on the given node.
    pub fn on_nodes(nodes: &[u32]) -> Vec<Self> {
        Self::with_interfaces(nodes, 0, |_| LIMITS)
    }

    /// The ranks `0..ranks`, with interfaces of other limits and with the order of events of `seed`.
    pub fn offloading(
        ranks: usize, seed: u64, limits: impl Fn(Peer) -> InterfaceLimits,
    ) -> Vec<Self> {
        Self::with_interfaces(&vec![0; ranks], seed, limits)
    }

    fn with_interfaces(
        nodes: &[u32], seed: u64, limits: impl Fn(Peer) -> InterfaceLimits,
    ) -> Vec<Self> {
        let ranks = nodes.len();
        let inboxes: Arc<[LoopbackInbox]> = (0..ranks).map(|_| LoopbackInbox::new()).collect();
        let interfaces = Mutex::new(LoopbackNetwork::new(ranks, seed, limits));
        let network = Arc::new(SharedNetwork { interfaces, is_active: AtomicBool::new(false) });
        let mut pools = BTreeMap::new();
        for node in nodes {
            let local_ranks = nodes.iter().filter(|other| *other == node).count();
            pools.entry(*node).or_insert_with(|| segment_pool(local_ranks));
        }
        let nodes: Arc<[u32]> = nodes.into();
        let links = LoopbackLinks::new(ranks);
        let rank = |me| Self {
            me,
            inboxes: inboxes.clone(),
            network: network.clone(),
            segments: pools[&nodes[me as usize]].clone(),
            nodes: nodes.clone(),
            links: links.clone(),
            remote: None,
            delivered: 0,
        };
        (0..ranks as Peer).map(rank).collect()
    }

    /// The ranks `0..ranks` of a network: they share no memory, lend what they send, write long packets
    /// to their destinations, announce room, and may [die](Self::die). `seed` decides the order of
    /// events.
    pub fn remote(ranks: usize, seed: u64) -> Vec<Self> {
        let mut ranks = Self::remote_on_nodes(&vec![0; ranks], seed);
        ranks.iter_mut().for_each(|rank| rank.segments = None);
        ranks
    }

    /// The same, where the ranks of a node share segments.
    pub fn remote_on_nodes(nodes: &[u32], seed: u64) -> Vec<Self> {
        let mut ranks = Self::on_nodes(nodes);
        for (rank, seed) in ranks.iter_mut().zip(seed..) {
            rank.remote = Some(Box::new(RemoteQueues::new(seed)));
        }
        ranks
    }

    /// The links of the network, for a test that cuts them.
    pub fn links(&self) -> LoopbackLinks {
        self.links.clone()
    }

    fn inbox(&self, peer: Peer) -> &LoopbackInbox {
        &self.inboxes[peer as usize]
    }

    fn is_on_node(&self, peer: Peer) -> bool {
        self.nodes.get(peer as usize) == Some(&self.nodes[self.me as usize])
    }
}

/// The shared segments of this number of ranks, if the system has memory for them.
fn segment_pool(ranks: usize) -> Option<SegmentPool> {
    let memory = shm::map(shm::create().ok()?, SegmentPool::bytes(ranks)?.max(1)).ok()?;
    let start = NonNull::new(memory.as_mut_ptr())?;
    // SAFETY: a new mapping of that size, at a page boundary, all zero and without another use.
    Some(unsafe { SegmentPool::new(start, ranks, Arc::new(memory)) })
}

impl LoopbackInbox {
    fn new() -> Self {
        Self { arrivals: Mutex::default(), wakes: Arc::new(WakeCounter(AtomicU32::new(0))) }
    }

    /// Wakes the rank if it is armed.
    fn wake(&self) {
        if std::mem::take(&mut self.arrivals.lock().is_armed) {
            self.wakes.0.fetch_add(1, Ordering::SeqCst);
            futex::wake(&self.wakes.0);
        }
    }
}

impl Device for Loopback {
    fn caps(&self) -> Caps {
        Caps { short_max: SHORT_MAX, packet_max: PACKET_MAX }
    }

    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        assert!(data.len() <= SHORT_MAX);
        self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data))
    }

    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(len <= PACKET_MAX);
        let data = || {
            let mut data = vec![0; len].into_boxed_slice();
            fill(&mut data);
            data
        };
        if let Some(remote) = &mut self.remote {
            return remote.send(peer, header, || OutgoingData::Copied(data()));
        }
        let inbox = self.inbox(peer);
        let mut arrivals = inbox.arrivals.lock();
        if arrivals.packets.len() == QUEUE_PACKETS {
            return Err(Busy);
        }
        arrivals.packets.push_back(QueuedPacket { from: self.me, header: *header, data: data() });
        drop(arrivals);
        inbox.wake();
        Ok(())
    }

    fn peer_caps(&self, _peer: Peer) -> PeerCaps {
        match &self.remote {
            Some(_) => RemoteQueues::caps(),
            None => PeerCaps::reliable(PACKET_MAX),
        }
    }

    fn send_contiguous(&mut self, peer: Peer, header: &Header, data: Span) -> Result<(), Busy> {
        let Some(remote) = &mut self.remote else {
            return self.send(peer, header, data.len(), |packet| data.read(0, packet));
        };
        assert!(data.len() <= RemoteQueues::caps().long_max);
        remote.send(peer, header, || {
            let mut bytes = vec![0; data.len()].into_boxed_slice();
            data.read(0, &mut bytes);
            OutgoingData::Copied(bytes)
        })
    }

    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        assert!(data.len() <= RemoteQueues::caps().long_max);
        let remote = self.remote.as_mut().expect("a rank of a network");
        remote.send(peer, header, || OutgoingData::Lent(data, token))
    }

    fn is_drained(&self) -> bool {
        self.remote.as_ref().is_none_or(|remote| remote.is_drained())
    }

    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        if let Some(mut remote) = self.remote.take() {
            let delivered = self.poll_remote(&mut remote, sink);
            self.remote = Some(remote);
            self.delivered += delivered as u64;
            return delivered;
        }
        self.advance_network();
        // The whole queue, before the first delivery: so the batch is bounded.
        let packets = std::mem::take(&mut self.inbox(self.me).arrivals.lock().packets);
        for packet in &packets {
            sink.packet(packet.from, &packet.header, &packet.data);
        }
        self.delivered += packets.len() as u64;
        packets.len()
    }

    fn arm(&mut self) -> WakeSource {
        let inbox = self.inbox(self.me);
        let mut arrivals = inbox.arrivals.lock();
        let expected = inbox.wakes.0.load(Ordering::SeqCst);
        arrivals.is_armed = true;
        drop(arrivals);
        let wake = WakeSource::Word { word: inbox.wakes.clone(), expected };
        self.run_to_quiescence();
        self.remote.iter_mut().for_each(|remote| remote.set_armed(true));
        wake
    }

    fn disarm(&mut self) {
        self.inbox(self.me).arrivals.lock().is_armed = false;
        self.remote.iter_mut().for_each(|remote| remote.set_armed(false));
    }

    fn wake_self(&mut self) {
        self.inbox(self.me).wake();
    }

    fn quiescence(&self) -> Option<u64> {
        let is_idle = self.remote.as_ref().is_none_or(|remote| remote.is_idle());
        let changes = self.counter_changes().filter(|_| is_idle)?;
        Some(changes.wrapping_add(self.delivered))
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        if self.segments.is_some() { Some(self) } else { None }
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        if self.remote.is_none() { Some(self) } else { None }
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        if self.remote.is_none() { Some(self) } else { None }
    }

    fn notify(&mut self, peer: Peer) {
        assert!(self.is_on_node(peer), "rank {peer} shares no memory with this rank");
        self.inbox(peer).wake();
    }
}

/// Transfers of this rank still arrive; later, nothing accesses its memory.
impl Drop for Loopback {
    fn drop(&mut self) {
        if !std::thread::panicking() {
            self.run_to_quiescence();
        }
        self.inbox(self.me).arrivals.lock().has_left = self.remote.is_some();
        self.network.interfaces.lock().remove_rank(self.me);
    }
}

impl SharedMemory for Loopback {
    fn claim(&mut self) -> Option<u32> {
        self.segments.as_ref()?.claim()
    }

    fn claim_spare(&mut self) -> Option<u32> {
        self.segments.as_ref()?.claim_spare()
    }

    fn release(&mut self, number: u32) {
        if let Some(segments) = &self.segments {
            segments.release(number);
        }
    }

    fn enter(&mut self, number: u32, ranks: &[Peer]) -> Option<SharedSegment> {
        let local_rank = ranks.iter().position(|peer| *peer == self.me)?;
        ranks.iter().all(|peer| self.is_on_node(*peer)).then_some(())?;
        self.segments.as_ref()?.enter(number, local_rank, ranks.len())
    }

    fn leave(&mut self, segment: SharedSegment) {
        if let Some(segments) = &self.segments {
            segments.leave(segment);
        }
    }
}

impl AsRef<AtomicU32> for WakeCounter {
    fn as_ref(&self) -> &AtomicU32 {
        &self.0
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    struct Count(usize);

    impl PacketSink for Count {
        fn packet(&mut self, from: Peer, header: &Header, data: &[u8]) {
            assert_eq!((from, header.kind, data), (0, 7, &b"hello"[..]));
            self.0 += 1;
        }
    }

    #[test]
    fn conforms() {
        crate::device::conformance::check(Loopback::network);
        crate::device::conformance::check_middleware(Loopback::network);
    }

    #[test]
    fn a_network_conforms() {
        let seeded = |seed| move |ranks| Loopback::remote(ranks, seed);
        crate::device::conformance::check_bare(seeded(1));
        (0..10).for_each(|seed| {
            crate::device::conformance::check_network(seeded(seed), Loopback::die);
        });
    }

    #[test]
    fn conforms_with_interfaces_of_other_kinds() {
        use crate::devices::torus::Generation;
        for (seed, generation) in (1..).zip(Generation::ALL) {
            let network = |ranks| Loopback::offloading(ranks, seed, |_| generation.limits());
            crate::device::conformance::check_offload(network);
        }
    }

    #[test]
    fn a_full_queue_is_busy_until_the_receiver_polls() {
        let mut ranks = Loopback::network(2);
        let header = Header { words: [1, 2], kind: 7 };
        let sent = (0..).take_while(|_| ranks[0].send_short(1, &header, b"hello").is_ok()).count();
        assert_eq!(sent, QUEUE_PACKETS);
        let mut sink = Count(0);
        assert_eq!(ranks[1].poll(&mut sink), QUEUE_PACKETS);
        assert_eq!(sink.0, QUEUE_PACKETS);
        assert_eq!(ranks[0].send(1, &header, 5, |data| data.copy_from_slice(b"hello")), Ok(()));
    }
}
