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
//! atomic read-modify-write (`lane`, `doze`).
//!
//! It knows peers of this node only, and nothing of what else is in a segment. Lengths and positions
//! from there are checked or masked; what cannot be right is a panic that says so.
#![allow(unsafe_code)]
// The model checker's constructors are in both flavours of the rings and used in one.
#![cfg_attr(loom, allow(dead_code))]

pub mod card;
pub mod doze;
mod inlet;
mod lane;
pub mod memory;
pub mod queue;
mod slots;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::base::Peer;
use crate::device::{Busy, Caps, Header, Sink, Wake, primitive};
use crate::sys::{futex, membarrier};
use doze::Doze;
use inlet::{CROWDED_LANE_BYTES, LANE_BYTES, Lane, Queue};
pub use inlet::{Inlet, LANES, LAYOUT, PACKET_MAX};
use memory::Mapped;
use queue::Arrival;
pub use slots::Slots;

/// Packets that a sender puts into a queue before it asks for a lane, if there may be too few.
pub const QUEUE_FIRST: u32 = 4;

/// Packets that one poll takes from each lane and from the queue.
const BATCH: usize = 16;

/// With no more ranks that share processors, each gets its lane for the first packet, and the pages
/// of a lane are made present when it is taken: 144 KiB for each pair that talks. One by one, each
/// page takes an interrupt of both ends amid what the application does: with 8 ranks on 2 processors
/// the MG kernel of the NAS Parallel Benchmarks, class S (5 ms long), was 2.1 times slower.
const PROMPT_RANKS_MAX: usize = LANES;

/// One rank's end of all rings of its node.
pub struct Packets {
    me: usize,
    slots: Slots,
    inlet: Mapped<Inlet>,
    /// By slot.
    outbound: Vec<Outbound>,
    queue: queue::Reader<Mapped<Queue>>,
    /// In the order in which their senders switched.
    inbound: Vec<Inbound>,
    /// What this rank sleeps on.
    doze: Arc<Sleeper>,
    fences: Fences,
    /// Whether pages are made present when it is known that they will be used ([`PROMPT_RANKS_MAX`]).
    prompt: bool,
    /// Bytes of a lane that are used, the same on all ranks.
    lane_bytes: usize,
}

/// Who needs full fences (`doze`).
#[derive(Clone, Copy)]
struct Fences {
    /// This rank when it sends: the membarrier of others does not reach it.
    sending: bool,
    /// Everybody who sends to this rank: it has no membarrier.
    receiving: bool,
}

/// The way to a peer.
struct Outbound {
    route: Route,
    doze: Mapped<Doze>,
    inlet: Mapped<Inlet>,
}

/// Queued --QUEUE_FIRST packets, a free lane--> Claimed --marker is in the queue--> Lane
///       \-- no free lane --> Crowded
enum Route {
    /// So many packets have gone through the queue.
    Queued { packets: u32 },
    /// This lane is ours; the receiver does not know yet.
    Claimed { lane: usize },
    /// All packets go here now.
    Lane(lane::Writer<Mapped<Lane>>),
    /// All packets go through the queue for ever.
    Crowded,
}

struct Inbound {
    from: Peer,
    slot: usize,
    reader: lane::Reader<Mapped<Lane>>,
    /// The position of our writer to that peer when its next cell was last fetched.
    anticipated: u32,
}

struct Sleeper(Mapped<Doze>);

impl Packets {
    /// The end of the rank `ranks[me]`, where `inlets` are those of all ranks, in the same order.
    ///
    /// # Safety
    /// It is the only one for that inlet, ever, and each rank has the same list.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub unsafe fn attach(me: usize, ranks: &[Peer], inlets: Vec<Mapped<Inlet>>) -> Self {
        assert!(me < ranks.len() && ranks.len() == inlets.len());
        let slots = Slots::new(ranks);
        let inlet = inlets[me].clone();
        let fences = Fences { sending: !membarrier::register(), receiving: !membarrier::barrier() };
        if fences.receiving {
            inlet.doze.require_fences();
        }
        // SAFETY: the only one, as the caller promises.
        let queue = unsafe { queue::Reader::new(inlet.part(|inlet| &inlet.queue)) };
        let doze = Arc::new(Sleeper(inlet.part(|inlet| &inlet.doze)));
        let outbound = inlets.into_iter().map(Outbound::new).collect();
        let inbound = Vec::with_capacity(LANES);
        let (prompt, lane_bytes) = (false, LANE_BYTES);
        Self { me, slots, inlet, outbound, queue, inbound, doze, fences, prompt, lane_bytes }
    }

    /// The ranks of the job share processors: their lanes are small, so that those of all stay in
    /// the caches. Either all ranks say so or none, before their first packet.
    ///
    /// # Panics
    /// After the first packet.
    pub fn share_processors(&mut self) {
        let is_first = self.outbound.iter().all(Outbound::is_unused);
        assert!(is_first && self.queue.position() == 0, "packets came before the job was known");
        self.lane_bytes = CROWDED_LANE_BYTES;
        self.prompt = self.slots.ranks().len() <= PROMPT_RANKS_MAX;
    }

    /// Whether memory that will be used is made present at once.
    pub fn is_prompt(&self) -> bool {
        self.prompt
    }

    /// A number that changes whenever a packet arrives.
    pub fn arrivals(&self) -> u64 {
        let lanes = self.inbound.iter().map(|inbound| u64::from(inbound.reader.position()));
        lanes.sum::<u64>() + u64::from(self.queue.position())
    }

    /// Which rank is in which slot.
    #[inline]
    pub fn slots(&self) -> &Slots {
        &self.slots
    }

    /// The slot of this rank.
    pub fn own_slot(&self) -> usize {
        self.me
    }

    /// Whether the rank in `slot` sleeps: a hint.
    pub fn is_armed(&self, slot: usize) -> bool {
        self.outbound[slot].doze.is_armed()
    }

    /// Of packets, for [`Device::caps`](crate::device::Device::caps).
    pub fn caps(&self) -> Caps {
        Caps { short_max: lane::INLINE, packet_max: PACKET_MAX }
    }

    /// [`Device::send_short`](crate::device::Device::send_short).
    ///
    /// # Errors
    /// [`Busy`] without room.
    #[inline]
    pub fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        let slot = self.slots.of(peer);
        let fill = |room: &mut [u8]| room.copy_from_slice(data);
        match &mut self.outbound[slot].route {
            Route::Lane(writer) => writer.send_inline(header, data.len(), fill)?,
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
    pub fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let slot = self.slots.of(peer);
        match &mut self.outbound[slot].route {
            Route::Lane(writer) => writer.send(header, len, fill)?,
            _ => self.send_queued(slot, header, len, fill)?,
        }
        self.wake(slot);
        Ok(())
    }

    /// [`Device::poll`](crate::device::Device::poll).
    #[inline]
    pub fn poll(&mut self, sink: &mut impl Sink) -> usize {
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
                inbound.anticipate(&self.outbound[inbound.slot]);
            }
        }
        count
    }

    /// [`Device::arm`](crate::device::Device::arm).
    pub fn arm(&mut self) -> Wake {
        let mut expected = self.inlet.doze.arm();
        if !self.fences.receiving && !membarrier::barrier() {
            // It worked when we attached. From now on the senders fence.
            self.inlet.doze.require_fences();
            self.fences.receiving = true;
            expected = self.inlet.doze.arm();
        }
        Wake::Word { word: self.doze.clone(), expected }
    }

    /// [`Device::disarm`](crate::device::Device::disarm).
    pub fn disarm(&mut self) {
        self.inlet.doze.disarm();
    }

    /// [`Device::rouse`](crate::device::Device::rouse).
    pub fn rouse(&mut self) {
        self.inlet.doze.rouse();
        futex::wake(self.inlet.doze.word());
    }

    /// Wakes the rank in `slot` if it sleeps; after each packet for it.
    #[inline]
    pub fn wake(&self, slot: usize) {
        let doze = &self.outbound[slot].doze;
        if doze.ring(self.fences.sending) {
            futex::wake(doze.word());
        }
    }

    /// Sends where there is no lane yet, or never will be.
    #[cold]
    fn send_queued(
        &mut self, slot: usize, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let outbound = &mut self.outbound[slot];
        outbound.advance(self.me, self.lane_bytes, self.prompt)?;
        match &mut outbound.route {
            Route::Lane(writer) => writer.send(header, len, fill),
            Route::Claimed { .. } => Err(Busy),
            Route::Crowded => outbound.inlet.queue.send(self.me as u32, header, len, fill),
            Route::Queued { packets } => {
                outbound.inlet.queue.send(self.me as u32, header, len, fill)?;
                *packets += 1;
                Ok(())
            }
        }
    }

    /// The sender in slot `from` goes on in `lane`.
    fn switch(&mut self, from: u32, lane: u64) {
        let lane = lane as usize;
        let ranks = self.slots.ranks();
        assert!(
            (from as usize) < ranks.len() && lane < LANES,
            "shared segment damaged: slot {from} switches to lane {lane}"
        );
        let slot = from as usize;
        let from = ranks[slot];
        let known = self.inbound.iter().any(|inbound| inbound.from == from);
        assert!(!known && self.inbound.len() < LANES, "rank {from} switches twice");
        let memory = self.inlet.part(|inlet| &inlet.lanes[lane]);
        if self.prompt {
            memory.make_present(Lane::used(self.lane_bytes));
        }
        // SAFETY: the only one: a lane is claimed once, and its owner switches once. All ranks have
        // the same `lane_bytes` (`share_processors`).
        let reader = unsafe { lane::Reader::new(memory, self.lane_bytes) };
        self.inbound.push(Inbound { from, slot, reader, anticipated: 0 });
    }

    /// Takes what is in the queue; kept apart from the one look that usually finds nothing.
    fn poll_queue(&mut self, sink: &mut impl Sink) -> usize {
        let mut count = 0;
        while count < BATCH {
            let ranks = self.slots.ranks();
            let switch = self.queue.next(|arrival| match arrival {
                Arrival::Packet { from, header, data } => {
                    let from = ranks.get(from as usize);
                    sink.packet(*from.expect("shared segment damaged: sender"), &header, data);
                    None
                }
                Arrival::Switch { from, lane } => Some((from, lane)),
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
    pub fn fence_everything(&mut self) {
        self.fences = Fences { sending: true, receiving: true };
        self.inlet.doze.require_fences();
    }

    /// How many senders have switched to a lane.
    pub fn inbound_lanes(&self) -> usize {
        self.inbound.len()
    }

    /// How this rank sends to the one in `slot`.
    pub fn route(&self, slot: usize) -> &'static str {
        match self.outbound[slot].route {
            Route::Queued { packets: 0 } => "unused",
            Route::Queued { .. } => "queued",
            Route::Claimed { .. } => "claimed",
            Route::Lane(_) => "lane",
            Route::Crowded => "crowded",
        }
    }
}

impl Outbound {
    fn new(inlet: Mapped<Inlet>) -> Self {
        let doze = inlet.part(|inlet| &inlet.doze);
        Self { route: Route::Queued { packets: 0 }, doze, inlet }
    }

    /// Whether nothing has been sent.
    fn is_unused(&self) -> bool {
        matches!(self.route, Route::Queued { packets: 0 })
    }

    /// Moves on towards a lane, if it is time to.
    fn advance(&mut self, me: usize, lane_bytes: usize, prompt: bool) -> Result<(), Busy> {
        let queue_first = if prompt { 0 } else { QUEUE_FIRST };
        if let Route::Queued { packets } = self.route
            && packets >= queue_first
        {
            self.route = match self.inlet.owners.claim(me) {
                Some(lane) => Route::Claimed { lane },
                None => Route::Crowded,
            };
        }
        if let Route::Claimed { lane } = self.route {
            self.inlet.queue.switch(me as u32, lane)?;
            let lane = self.inlet.part(|inlet| &inlet.lanes[lane]);
            if prompt {
                lane.make_present(Lane::used(lane_bytes));
            }
            // SAFETY: the only one: the lane was claimed by us, for this peer, once. All ranks have
            // the same `lane_bytes` (`share_processors`).
            self.route = Route::Lane(unsafe { lane::Writer::new(lane, lane_bytes) });
        }
        Ok(())
    }
}

impl Inbound {
    /// Something came from the peer of `outbound`: an answer is likely if the last one was answered.
    #[inline]
    fn anticipate(&mut self, outbound: &Outbound) {
        if let Route::Lane(writer) = &outbound.route
            && writer.position() != self.anticipated
        {
            self.anticipated = writer.position();
            writer.anticipate();
        }
    }
}

impl AsRef<AtomicU32> for Sleeper {
    fn as_ref(&self) -> &AtomicU32 {
        self.0.word()
    }
}
