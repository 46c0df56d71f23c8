//! Packets between the ranks of a node through shared memory: the queues and rings of the devices
//! `shm` and `tofu`.
//!
//! ```text
//!  sender                                 receive queues of the peer
//!  first packets to a peer ────────────>  queue (many senders)  ──┐
//!  claim a ring, switch marker ────────>  queue                   ├─> poll: queue, then rings
//!  all later packets ──────────────────>  ring (one sender) ──────┘
//! ```
//!
//! After [`QUEUE_FIRST`] packets to a peer, a sender claims one of the peer's rings and writes a
//! switch marker to the queue. The receiver reads the ring only after this marker, so the order of
//! packets holds. The sender never returns to the queue. If no ring is free, the sender stays with
//! the queue.
//!
//! A packet costs one cache line that the sender writes and the receiver reads: no lock, no fence, no
//! atomic read-modify-write (`spsc_ring`, `wake_word`).
//!
//! Beside them is what both devices have in their segments: the addresses of processes
//! (`peer_address`), registered memory (`registrations`), and the choice between packets and reads of the
//! memory of a peer (`read_trial`). Processes of other jobs on this host have rings by pairs (`pair`), and
//! segments of windows (`near_segment`).
//!
//! It knows peers of this node only, and no other part of the segment. Lengths and positions read
//! from the segment are checked or masked; an impossible value is a panic with a message.
#![allow(unsafe_code)]

pub(crate) mod doorbells;
pub(crate) mod memory;
pub(crate) mod mpsc_queue;
pub(crate) mod near_segment;
mod node_ranks;
pub(crate) mod pair;
pub(crate) mod peer_address;
pub(crate) mod read_trial;
mod receive_queues;
pub(crate) mod registrations;
mod spsc_ring;
pub(crate) mod wake_word;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::device::{Busy, Caps, Header, PacketSink, WakeSource};
use crate::shared_memory::primitive;
use doorbells::{OwnDoorbell, PeerDoorbells};
use memory::Mapped;
use mpsc_queue::QueueArrival;
pub use node_ranks::NodeRanks;
use platform::base::Peer;
use platform::sys::doorbell::Doorbell;
#[cfg(test)]
use platform::sys::doorbell::DoorbellAddress;
use platform::sys::{futex, membarrier};
pub(crate) use receive_queues::{
    LAYOUT, PACKET_MAX, QueueBuffers, QueueHead, RING_COUNT, ReceiveQueues,
};
use receive_queues::{OVERSUBSCRIBED_RING_BYTES, PacketCells, PacketRing, PacketSlots, RING_BYTES};
use wake_word::{WakeMethod, WakeWord};

/// Packets that a sender puts into a queue before it claims a ring, if there may be too few rings.
pub(crate) const QUEUE_FIRST: u32 = 4;

/// Packets that one poll takes from each ring and from the queue.
const BATCH: usize = 16;

/// Up to this number of ranks that share processors, a sender claims a ring for its first packet and
/// makes the pages of the ring present: 144 KiB for each pair that communicates. Without that, each
/// page costs both ends a page fault during the application: with 8 ranks on 2 processors the MG
/// kernel of the NAS Parallel Benchmarks, class S (5 ms long), was 2.1 times slower.
const PREFAULT_RANKS_MAX: usize = RING_COUNT;

/// One rank's end of all rings of its node.
pub(crate) struct Packets {
    me: usize,
    node_ranks: NodeRanks,
    /// By slot.
    outbound: Vec<Outbound>,
    queue: mpsc_queue::QueueReader<Mapped<PacketCells>, Mapped<PacketSlots>>,
    /// In the order of the switch markers.
    inbound: Vec<Inbound>,
    /// Shared with the wake sources of threads that sleep or have not returned yet.
    wake_word: Arc<MappedWakeWord>,
    /// `None`: threads sleep on the wake word.
    doorbell: Option<Box<OwnDoorbell>>,
    peer_doorbells: PeerDoorbells,
    fences: Fences,
    /// Whether the pages of a claimed ring are made present ([`PREFAULT_RANKS_MAX`]).
    prefault: bool,
    /// Used bytes of each ring, equal on all ranks.
    ring_bytes: usize,
}

/// Which sides need full fences (`wake_word`).
#[derive(Clone, Copy)]
struct Fences {
    /// This rank as a sender: the membarriers of peers do not reach it.
    sending: bool,
    /// All senders to this rank: it has no membarrier.
    receiving: bool,
}

/// The sending side to a peer.
struct Outbound {
    route: SendRoute,
    receive_queues: ReceiveQueues,
}

/// Queued --QUEUE_FIRST packets, a free ring--> Claimed --marker is in the queue--> Ring
///       \-- no free ring --> NoRing
enum SendRoute {
    /// This number of packets has gone through the queue.
    Queued { packets: u32 },
    /// This rank owns the ring; the marker is not in the queue yet.
    Claimed { ring: usize },
    /// All packets go through the ring.
    Ring(spsc_ring::RingWriter<Mapped<PacketRing>>),
    /// All packets go through the queue; there is no free ring.
    NoRing,
}

struct Inbound {
    from: Peer,
    slot: usize,
    reader: spsc_ring::RingReader<Mapped<PacketRing>>,
    /// Position of the own writer to that peer when its next cell was last prefetched.
    prefetched: u32,
}

struct MappedWakeWord(Mapped<WakeWord>);

/// Wakes a rank without a doorbell from another thread of its process, as a packet would.
pub(crate) struct OwnWaker(Arc<MappedWakeWord>);

impl OwnWaker {
    /// Called after the thread has published what the rank will find.
    pub(crate) fn wake(&self) {
        let wake_word = &self.0.0;
        // Membarriers of the rank reach its own threads, too, unless it has none.
        if wake_word.notify(true) {
            futex::wake(wake_word.word());
        }
    }
}

impl Packets {
    /// The rings of the rank `ranks[me]`. `all_queues` are those of all ranks, in the same order.
    ///
    /// # Safety
    /// This is the only value that the receive queues of this rank ever have, and all ranks have the
    /// same list.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub(crate) unsafe fn attach(
        me: usize, ranks: &[Peer], all_queues: impl Iterator<Item = ReceiveQueues>,
    ) -> Self {
        let outbound: Vec<_> = all_queues.map(Outbound::new).collect();
        assert!(me < ranks.len() && ranks.len() == outbound.len());
        let node_ranks = NodeRanks::new(ranks);
        let own = &outbound[me].receive_queues;
        let fences = Fences { sending: !membarrier::register(), receiving: !membarrier::barrier() };
        if fences.receiving {
            own.wake_word.require_fences();
        }
        // SAFETY: the only reader, by the caller's contract.
        let queue = unsafe { mpsc_queue::QueueReader::new(own.own_queue()) };
        let wake_word = Arc::new(MappedWakeWord(own.wake_word.clone()));
        let inbound = Vec::with_capacity(RING_COUNT);
        let (prefault, ring_bytes) = (false, RING_BYTES);
        let (doorbell, peer_doorbells) = (None, PeerDoorbells::default());
        Self {
            me,
            node_ranks,
            outbound,
            queue,
            inbound,
            wake_word,
            doorbell,
            peer_doorbells,
            fences,
            prefault,
            ring_bytes,
        }
    }

    /// The ranks of the job share processors: rings are small, so that all of them stay in the caches.
    /// All ranks call this or none does, before their first packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        let is_first = self.outbound.iter().all(Outbound::is_unused);
        assert!(is_first && self.queue.count() == 0, "packets came before the job was known");
        self.ring_bytes = OVERSUBSCRIBED_RING_BYTES;
        self.prefault = self.node_ranks.ranks().len() <= PREFAULT_RANKS_MAX;
    }

    /// Sleeps of this rank wait for `descriptor` from now on, which is readable while `doorbell` is: an
    /// epoll instance that watches it, and sockets. Called before the first packet.
    pub(crate) fn wait_for_descriptor(&mut self, doorbell: Doorbell, descriptor: Arc<OwnedFd>) {
        self.wake_word.0.publish_doorbell(doorbell.address());
        self.doorbell = Some(Box::new(OwnDoorbell { doorbell, descriptor }));
    }

    /// Whether pages are made present before their first use.
    pub(crate) fn prefaults(&self) -> bool {
        self.prefault
    }

    /// A number that changes with every packet read.
    pub(crate) fn arrivals(&self) -> u64 {
        let rings = self.inbound.iter().map(|inbound| u64::from(inbound.reader.position()));
        rings.sum::<u64>() + u64::from(self.queue.count())
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

    /// Whether the rank in `slot` is armed: a hint.
    pub(crate) fn is_armed(&self, slot: usize) -> bool {
        self.outbound[slot].receive_queues.wake_word.is_armed()
    }

    /// [`Device::caps`](crate::device::Device::caps).
    pub(crate) fn caps(&self) -> Caps {
        Caps { short_max: spsc_ring::INLINE, packet_max: PACKET_MAX }
    }

    /// [`Device::send_short`](crate::device::Device::send_short).
    ///
    /// # Errors
    /// [`Busy`] without packet.
    #[inline]
    pub(crate) fn send_short(
        &mut self, peer: Peer, header: &Header, data: &[u8],
    ) -> Result<(), Busy> {
        let slot = self.node_ranks.slot_of(peer);
        let fill = |packet: &mut [u8]| packet.copy_from_slice(data);
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
    /// [`Busy`] without packet; `fill` has not been called then.
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
        // The queue first: a ring whose switch marker is there is read in the same poll.
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
        self.queue.look_past_soon();
        self.drain_doorbell();
        let wake_word = &self.wake_word.0;
        let mut expected = wake_word.arm();
        if !self.fences.receiving && !membarrier::barrier() {
            // It worked at `attach`. From now on the senders use fences.
            wake_word.require_fences();
            self.fences.receiving = true;
            expected = wake_word.arm();
        }
        let word = self.wake_word.clone();
        match &self.doorbell {
            None => WakeSource::Word { word, expected },
            Some(_) if self.wake_word.0.wake_method() == WakeMethod::Unreachable => {
                WakeSource::Never
            }
            Some(own) => {
                WakeSource::Descriptor { descriptor: own.descriptor.clone(), word, expected }
            }
        }
    }

    /// A thread that was woken, and has not run since, would sleep on if another thread drained the
    /// doorbell. Until that thread has dropped its wake source, all sleeps end at once.
    fn drain_doorbell(&self) {
        if let Some(own) = &self.doorbell
            && Arc::strong_count(&self.wake_word) == 1
        {
            own.doorbell.drain();
        }
    }

    /// [`Device::disarm`](crate::device::Device::disarm).
    pub(crate) fn disarm(&mut self) {
        self.wake_word.0.disarm();
    }

    /// [`Device::wake_self`](crate::device::Device::wake_self).
    pub fn wake_self(&mut self) {
        self.wake_word.0.wake();
        match &self.doorbell {
            None => drop(futex::wake(self.wake_word.0.word())),
            Some(own) => own.doorbell.ring(),
        }
    }

    /// What wakes this rank from other threads.
    pub(crate) fn own_waker(&self) -> OwnWaker {
        OwnWaker(Arc::clone(&self.wake_word))
    }

    /// Wakes the rank in `slot` if it is armed; called after each packet for it.
    #[inline]
    pub fn wake(&self, slot: usize) {
        self.wake_if(slot, || true);
    }

    /// The same, unless the rank is armed and `is_awaited` returns false.
    #[inline]
    pub(crate) fn wake_if(&self, slot: usize, is_awaited: impl FnOnce() -> bool) {
        let wake_word = &self.outbound[slot].receive_queues.wake_word;
        if wake_word.notify_if(self.fences.sending, is_awaited) {
            self.peer_doorbells.wake(slot, self.outbound.len(), wake_word);
        }
    }

    /// Sends to a peer while no ring is in use.
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
                outbound.receive_queues.queue().send(self.me as u32, header, len, fill)
            }
            SendRoute::Queued { packets } => {
                outbound.receive_queues.queue().send(self.me as u32, header, len, fill)?;
                *packets += 1;
                Ok(())
            }
        }
    }

    /// Begins to read the ring to which the sender in slot `from` has switched.
    fn switch(&mut self, from: u32, ring: u64) {
        let ring = ring as usize;
        let ranks = self.node_ranks.ranks();
        assert!(
            (from as usize) < ranks.len() && ring < RING_COUNT,
            "shared segment damaged: slot {from} switches to ring {ring}"
        );
        let slot = from as usize;
        let from = ranks[slot];
        let known = self.inbound.iter().any(|inbound| inbound.from == from);
        assert!(!known && self.inbound.len() < RING_COUNT, "rank {from} switches twice");
        let memory = self.outbound[self.me].receive_queues.ring(ring);
        if self.prefault {
            memory.prefault(PacketRing::used_bytes(self.ring_bytes));
        }
        // SAFETY: the only reader: a ring is claimed once, and its owner switches once. All ranks have
        // the same `ring_bytes` (`share_processors`).
        let reader = unsafe { spsc_ring::RingReader::new(memory, self.ring_bytes) };
        self.inbound.push(Inbound { from, slot, reader, prefetched: 0 });
    }

    /// Delivers packets of the queue.
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
                QueueArrival::Switch { from, ring } => Some((from, ring)),
            });
            match switch {
                None => break,
                Some(None) => count += 1,
                Some(Some((from, ring))) => self.switch(from, ring),
            }
        }
        count
    }
}

#[cfg(test)]
impl Packets {
    /// As on a system without membarrier.
    pub(crate) fn fence_everything(&mut self) {
        self.fences = Fences { sending: true, receiving: true };
        self.wake_word.0.require_fences();
    }

    /// Peers cannot open the doorbell, as in a process that the system protects.
    pub(crate) fn hide_doorbell(&self) {
        let address = self.doorbell.as_ref().unwrap().doorbell.address();
        let hidden = DoorbellAddress { inode: address.inode + 1, ..address };
        self.wake_word.0.publish_doorbell(hidden);
    }

    /// How many senders have switched to a ring.
    pub(crate) fn inbound_rings(&self) -> usize {
        self.inbound.len()
    }

    /// How this rank sends to the rank in `slot`.
    pub(crate) fn route(&self, slot: usize) -> &'static str {
        match self.outbound[slot].route {
            SendRoute::Queued { packets: 0 } => "unused",
            SendRoute::Queued { .. } => "queued",
            SendRoute::Claimed { .. } => "claimed",
            SendRoute::Ring(_) => "ring",
            SendRoute::NoRing => "no ring",
        }
    }
}

impl Outbound {
    fn new(receive_queues: ReceiveQueues) -> Self {
        Self { route: SendRoute::Queued { packets: 0 }, receive_queues }
    }

    fn is_unused(&self) -> bool {
        matches!(self.route, SendRoute::Queued { packets: 0 })
    }

    /// Claims a ring and switches to it, once enough packets were queued.
    fn advance(&mut self, me: usize, ring_bytes: usize, prefault: bool) -> Result<(), Busy> {
        let queue_first = if prefault { 0 } else { QUEUE_FIRST };
        if let SendRoute::Queued { packets } = self.route
            && packets >= queue_first
        {
            self.route = match self.receive_queues.ring_owners().claim(me) {
                Some(ring) => SendRoute::Claimed { ring },
                None => SendRoute::NoRing,
            };
        }
        if let SendRoute::Claimed { ring } = self.route {
            self.receive_queues.queue().switch(me as u32, ring)?;
            let ring = self.receive_queues.ring(ring);
            if prefault {
                ring.prefault(PacketRing::used_bytes(ring_bytes));
            }
            // SAFETY: the only writer: this rank claimed the ring, for this peer, once. All ranks have
            // the same `ring_bytes` (`share_processors`).
            self.route = SendRoute::Ring(unsafe { spsc_ring::RingWriter::new(ring, ring_bytes) });
        }
        Ok(())
    }
}

impl Inbound {
    /// After a packet from the peer of `outbound`: a reply is likely if the last packet had a reply.
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
