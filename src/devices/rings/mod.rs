//! Packets between the ranks of a node through memory that they share, for devices that have a
//! segment of it.
//!
//! ```text
//!  sender                                 receiver's inlet
//!  first packets to a peer ────────────>  queue (many senders)  ──┐
//!  claim a lane, switch marker ────────>  queue                   ├─> poll: queue, then lanes
//!  all later packets ──────────────────>  lane (one sender) ──────┘
//! ```
//!
//! A sender that has written [`QUEUE_FIRST`] packets to a peer claims one of its lanes and tells so in
//! the queue; the receiver reads the lane only when it finds that marker, so order holds, and the
//! sender never goes back. A rank without lanes left goes on in the queue.
//!
//! A packet costs the sender one cache line that the receiver then reads; no lock, no fence, no
//! atomic read-modify-write (`spsc_ring`, `wake_word`).
//!
//! It knows peers of this node only, and nothing of what else is in a segment. Lengths and positions
//! from there are checked or masked; what cannot be right is a panic that says so.
#![allow(unsafe_code)]

pub(crate) mod memory;
pub(crate) mod mpsc_queue;
mod node_ranks;
pub(crate) mod peer_address;
mod receive_queues;
mod spsc_ring;
pub(crate) mod wake_word;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::device::{Busy, Caps, Header, PacketSink, WakeSource};
use crate::shared_memory::primitive;
use memory::Mapped;
use mpsc_queue::QueueArrival;
pub use node_ranks::NodeRanks;
use platform::base::Peer;
use platform::sys::{futex, membarrier};
pub(crate) use receive_queues::{LAYOUT, PACKET_MAX, RING_COUNT, ReceiveQueues};
use receive_queues::{OVERSUBSCRIBED_RING_BYTES, PacketQueue, PacketRing, RING_BYTES};
use wake_word::WakeWord;

/// Packets that a sender puts into a queue before it asks for a lane, if there may be too few.
pub(crate) const QUEUE_FIRST: u32 = 4;

/// Packets that one poll takes from each lane and from the queue.
const BATCH: usize = 16;

/// With no more ranks that share processors, each gets its lane for the first packet, and the pages
/// of a lane are made present when it is taken: 144 KiB for each pair that talks. One by one, each
/// page takes an interrupt of both ends amid what the application does: with 8 ranks on 2 processors
/// the MG kernel of the NAS Parallel Benchmarks, class S (5 ms long), was 2.1 times slower.
const PREFAULT_RANKS_MAX: usize = RING_COUNT;

/// One rank's end of all rings of its node.
pub(crate) struct Packets {
    me: usize,
    node_ranks: NodeRanks,
    receive_queues: Mapped<ReceiveQueues>,
    /// By slot.
    outbound: Vec<Outbound>,
    queue: mpsc_queue::QueueReader<Mapped<PacketQueue>>,
    /// In the order in which their senders switched.
    inbound: Vec<Inbound>,
    /// What this rank sleeps on.
    wake_word: Arc<MappedWakeWord>,
    fences: Fences,
    /// Whether pages are made present when it is known that they will be used ([`PREFAULT_RANKS_MAX`]).
    prefault: bool,
    /// Bytes of a lane that are used, the same on all ranks.
    ring_bytes: usize,
}

/// Who needs full fences (`wake_word`).
#[derive(Clone, Copy)]
struct Fences {
    /// This rank when it sends: the membarrier of others does not reach it.
    sending: bool,
    /// Everybody who sends to this rank: it has no membarrier.
    receiving: bool,
}

/// The way to a peer.
struct Outbound {
    route: SendRoute,
    wake_word: Mapped<WakeWord>,
    receive_queues: Mapped<ReceiveQueues>,
}

/// Queued --QUEUE_FIRST packets, a free lane--> Claimed --marker is in the queue--> Lane
///       \-- no free lane --> Crowded
enum SendRoute {
    /// So many packets have gone through the queue.
    Queued { packets: u32 },
    /// This lane is ours; the receiver does not know yet.
    Claimed { ring: usize },
    /// All packets go here now.
    Ring(spsc_ring::RingWriter<Mapped<PacketRing>>),
    /// All packets go through the queue for ever.
    NoRing,
}

struct Inbound {
    from: Peer,
    slot: usize,
    reader: spsc_ring::RingReader<Mapped<PacketRing>>,
    /// The position of our writer to that peer when its next cell was last fetched.
    prefetched: u32,
}

struct MappedWakeWord(Mapped<WakeWord>);

impl Packets {
    /// The end of the rank `ranks[me]`, where `inlets` are those of all ranks, in the same order.
    ///
    /// # Safety
    /// It is the only one for that inlet, ever, and each rank has the same list.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub(crate) unsafe fn attach(
        me: usize, ranks: &[Peer], inlets: Vec<Mapped<ReceiveQueues>>,
    ) -> Self {
        assert!(me < ranks.len() && ranks.len() == inlets.len());
        let node_ranks = NodeRanks::new(ranks);
        let receive_queues = inlets[me].clone();
        let fences = Fences { sending: !membarrier::register(), receiving: !membarrier::barrier() };
        if fences.receiving {
            receive_queues.wake_word.require_fences();
        }
        // SAFETY: the only one, as the caller promises.
        let queue =
            unsafe { mpsc_queue::QueueReader::new(receive_queues.part(|inlet| &inlet.queue)) };
        let wake_word = Arc::new(MappedWakeWord(receive_queues.part(|inlet| &inlet.wake_word)));
        let outbound = inlets.into_iter().map(Outbound::new).collect();
        let inbound = Vec::with_capacity(RING_COUNT);
        let (prefault, ring_bytes) = (false, RING_BYTES);
        Self {
            me,
            node_ranks,
            receive_queues,
            outbound,
            queue,
            inbound,
            wake_word,
            fences,
            prefault,
            ring_bytes,
        }
    }

    /// The ranks of the job share processors: their lanes are small, so that those of all stay in
    /// the caches. Either all ranks say so or none, before their first packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        let is_first = self.outbound.iter().all(Outbound::is_unused);
        assert!(is_first && self.queue.position() == 0, "packets came before the job was known");
        self.ring_bytes = OVERSUBSCRIBED_RING_BYTES;
        self.prefault = self.node_ranks.ranks().len() <= PREFAULT_RANKS_MAX;
    }

    /// Whether memory that will be used is made present at once.
    pub(crate) fn prefaults(&self) -> bool {
        self.prefault
    }

    /// A number that changes whenever a packet arrives.
    pub(crate) fn arrivals(&self) -> u64 {
        let lanes = self.inbound.iter().map(|inbound| u64::from(inbound.reader.position()));
        lanes.sum::<u64>() + u64::from(self.queue.position())
    }

    /// Which rank is in which slot.
    #[inline]
    pub(crate) fn node_ranks(&self) -> &NodeRanks {
        &self.node_ranks
    }

    /// The slot of this rank.
    pub(crate) fn own_slot(&self) -> usize {
        self.me
    }

    /// Whether the rank in `slot` sleeps: a hint.
    pub(crate) fn is_armed(&self, slot: usize) -> bool {
        self.outbound[slot].wake_word.is_armed()
    }

    /// Of packets, for [`Device::caps`](crate::device::Device::caps).
    pub(crate) fn caps(&self) -> Caps {
        Caps { short_max: spsc_ring::INLINE, packet_max: PACKET_MAX }
    }

    /// [`Device::send_short`](crate::device::Device::send_short).
    ///
    /// # Errors
    /// [`Busy`] without room.
    #[inline]
    pub(crate) fn send_short(
        &mut self, peer: Peer, header: &Header, data: &[u8],
    ) -> Result<(), Busy> {
        let slot = self.node_ranks.slot_of(peer);
        let fill = |room: &mut [u8]| room.copy_from_slice(data);
        match &mut self.outbound[slot].route {
            SendRoute::Ring(writer) => writer.send_inline(header, data.len(), fill)?,
            _ => self.send_queued(slot, header, data.len(), fill)?,
        }
        self.wake(slot);
        Ok(())
    }

    /// [`Device::send`](crate::device::Device::send).
    ///
    /// # Errors
    /// [`Busy`] without room; `fill` has not been called then.
    #[inline(always)]
    pub(crate) fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let slot = self.node_ranks.slot_of(peer);
        match &mut self.outbound[slot].route {
            SendRoute::Ring(writer) => writer.send(header, len, fill)?,
            _ => self.send_queued(slot, header, len, fill)?,
        }
        self.wake(slot);
        Ok(())
    }

    /// [`Device::poll`](crate::device::Device::poll).
    #[inline]
    pub(crate) fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        // The queue first: a lane that is opened there is looked at in the same poll.
        let mut count = self.poll_queue(sink);
        for inbound in &mut self.inbound {
            let from = inbound.from;
            let before = count;
            while count < before + BATCH
                && inbound.reader.next(|header, data| sink.packet(from, header, data))
            {
                count += 1;
            }
            if count > before {
                inbound.prefetch(&self.outbound[inbound.slot]);
            }
        }
        count
    }

    /// [`Device::arm`](crate::device::Device::arm).
    pub fn arm(&mut self) -> WakeSource {
        let mut expected = self.receive_queues.wake_word.arm();
        if !self.fences.receiving && !membarrier::barrier() {
            // It worked when we attached. From now on the senders fence.
            self.receive_queues.wake_word.require_fences();
            self.fences.receiving = true;
            expected = self.receive_queues.wake_word.arm();
        }
        WakeSource::Word { word: self.wake_word.clone(), expected }
    }

    /// [`Device::disarm`](crate::device::Device::disarm).
    pub(crate) fn disarm(&mut self) {
        self.receive_queues.wake_word.disarm();
    }

    /// [`Device::wake_self`](crate::device::Device::wake_self).
    pub fn wake_self(&mut self) {
        self.receive_queues.wake_word.wake();
        futex::wake(self.receive_queues.wake_word.word());
    }

    /// Wakes the rank in `slot` if it sleeps; after each packet for it.
    #[inline]
    pub fn wake(&self, slot: usize) {
        let doze = &self.outbound[slot].wake_word;
        if doze.notify(self.fences.sending) {
            futex::wake(doze.word());
        }
    }

    /// Sends where there is no lane yet, or never will be.
    #[cold]
    fn send_queued(
        &mut self, slot: usize, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let outbound = &mut self.outbound[slot];
        outbound.advance(self.me, self.ring_bytes, self.prefault)?;
        match &mut outbound.route {
            SendRoute::Ring(writer) => writer.send(header, len, fill),
            SendRoute::Claimed { .. } => Err(Busy),
            SendRoute::NoRing => {
                outbound.receive_queues.queue.send(self.me as u32, header, len, fill)
            }
            SendRoute::Queued { packets } => {
                outbound.receive_queues.queue.send(self.me as u32, header, len, fill)?;
                *packets += 1;
                Ok(())
            }
        }
    }

    /// The sender in slot `from` goes on in `spsc_ring`.
    fn switch(&mut self, from: u32, lane: u64) {
        let lane = lane as usize;
        let ranks = self.node_ranks.ranks();
        assert!(
            (from as usize) < ranks.len() && lane < RING_COUNT,
            "shared segment damaged: slot {from} switches to lane {lane}"
        );
        let slot = from as usize;
        let from = ranks[slot];
        let known = self.inbound.iter().any(|inbound| inbound.from == from);
        assert!(!known && self.inbound.len() < RING_COUNT, "rank {from} switches twice");
        let memory = self.receive_queues.part(|inlet| &inlet.rings[lane]);
        if self.prefault {
            memory.prefault(PacketRing::used_bytes(self.ring_bytes));
        }
        // SAFETY: the only one: a lane is claimed once, and its owner switches once. All ranks have
        // the same `ring_bytes` (`share_processors`).
        let reader = unsafe { spsc_ring::RingReader::new(memory, self.ring_bytes) };
        self.inbound.push(Inbound { from, slot, reader, prefetched: 0 });
    }

    /// Takes what is in the queue; kept apart from the one look that usually finds nothing.
    fn poll_queue(&mut self, sink: &mut impl PacketSink) -> usize {
        let mut count = 0;
        while count < BATCH {
            let ranks = self.node_ranks.ranks();
            let switch = self.queue.next(|arrival| match arrival {
                QueueArrival::Packet { from, header, data } => {
                    let from = ranks.get(from as usize);
                    sink.packet(*from.expect("shared segment damaged: sender"), &header, data);
                    None
                }
                QueueArrival::Switch { from, ring: lane } => Some((from, lane)),
            });
            match switch {
                None => break,
                Some(None) => count += 1,
                Some(Some((from, lane))) => self.switch(from, lane),
            }
        }
        count
    }
}

#[cfg(test)]
impl Packets {
    /// As where there is no membarrier.
    pub(crate) fn fence_everything(&mut self) {
        self.fences = Fences { sending: true, receiving: true };
        self.receive_queues.wake_word.require_fences();
    }

    /// How many senders have switched to a lane.
    pub(crate) fn inbound_rings(&self) -> usize {
        self.inbound.len()
    }

    /// How this rank sends to the one in `slot`.
    pub(crate) fn route(&self, slot: usize) -> &'static str {
        match self.outbound[slot].route {
            SendRoute::Queued { packets: 0 } => "unused",
            SendRoute::Queued { .. } => "queued",
            SendRoute::Claimed { .. } => "claimed",
            SendRoute::Ring(_) => "lane",
            SendRoute::NoRing => "crowded",
        }
    }
}

impl Outbound {
    fn new(receive_queues: Mapped<ReceiveQueues>) -> Self {
        let wake_word = receive_queues.part(|inlet| &inlet.wake_word);
        Self { route: SendRoute::Queued { packets: 0 }, wake_word, receive_queues }
    }

    /// Whether nothing has been sent.
    fn is_unused(&self) -> bool {
        matches!(self.route, SendRoute::Queued { packets: 0 })
    }

    /// Moves on towards a lane, if it is time to.
    fn advance(&mut self, me: usize, lane_bytes: usize, prompt: bool) -> Result<(), Busy> {
        let queue_first = if prompt { 0 } else { QUEUE_FIRST };
        if let SendRoute::Queued { packets } = self.route
            && packets >= queue_first
        {
            self.route = match self.receive_queues.ring_owners.claim(me) {
                Some(lane) => SendRoute::Claimed { ring: lane },
                None => SendRoute::NoRing,
            };
        }
        if let SendRoute::Claimed { ring: lane } = self.route {
            self.receive_queues.queue.switch(me as u32, lane)?;
            let lane = self.receive_queues.part(|inlet| &inlet.rings[lane]);
            if prompt {
                lane.prefault(PacketRing::used_bytes(lane_bytes));
            }
            // SAFETY: the only one: the lane was claimed by us, for this peer, once. All ranks have
            // the same `ring_bytes` (`share_processors`).
            self.route = SendRoute::Ring(unsafe { spsc_ring::RingWriter::new(lane, lane_bytes) });
        }
        Ok(())
    }
}

impl Inbound {
    /// Something came from the peer of `outbound`: an answer is likely if the last one was answered.
    #[inline]
    fn prefetch(&mut self, outbound: &Outbound) {
        if let SendRoute::Ring(writer) = &outbound.route
            && writer.position() != self.prefetched
        {
            self.prefetched = writer.position();
            writer.prefetch();
        }
    }
}

impl AsRef<AtomicU32> for MappedWakeWord {
    fn as_ref(&self) -> &AtomicU32 {
        self.0.word()
    }
}
