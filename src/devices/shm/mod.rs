//! Between the ranks of a node: lock-free rings in one shared segment.
//!
//! ```text
//!  sender                                 receiver's area
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
//! atomic read-modify-write (`lane`, `doze`). Long messages may be read from the sender's memory
//! instead ([`Bulk`], `reading`).
//!
//! It knows peers of this node only. Lengths and positions from the segment are checked or masked;
//! what cannot be right is a panic that says so.
#![allow(unsafe_code)]
// The model checker's constructors are in both flavours of the rings and used in one.
#![cfg_attr(loom, allow(dead_code))]

mod board;
mod doze;
mod joint;
mod lane;
mod queue;
mod reading;
mod segment;
mod terms;

#[cfg(all(test, loom))]
mod model;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::base::{ErrorClass, Peer, Result, Span};
use crate::device::room::{Room, Rooms};
use crate::device::{Bulk, Busy, Caps, Device, Header, JointEnd, Shared, Sink, Wake, primitive};
use crate::sys::{cma, futex, membarrier};
pub use board::{Board, Seen};
use doze::Doze;
use joint::Joint;
use queue::Arrival;
use reading::Reading;
use segment::{
    Area, CROWDED_LANE_BYTES, LANE_BYTES, LANES, Lane, Mapped, PACKET_MAX, Queue, Segment,
};
use terms::Terms;
pub use terms::Unlike;

pub use reading::Copy;

/// Packets that a sender puts into a queue before it asks for a lane, if there may be too few.
const QUEUE_FIRST: u32 = 4;

/// Shorter messages are read by their receivers alone: a half is not worth the packet and the
/// system call of the other.
const JOINT_MIN: usize = 32 << 10;

/// Packets that one poll takes from each lane and from the queue.
const BATCH: usize = 16;

/// With no more ranks that share processors, each gets its lane for the first packet, and the pages
/// of a lane and of the room of all ranks are made present when it is taken: 144 KiB for each pair that
/// talks, 256 KiB for each rank. One by one, each page takes an interrupt of both ends amid what the
/// application does: with 8 ranks on 2 processors the MG kernel of the NAS Parallel Benchmarks, class
/// S (5 ms long), was 2.1 times slower.
const PROMPT_RANKS_MAX: usize = LANES;

/// One rank's end of the segment of its node.
pub struct Shm {
    me: usize,
    slots: Slots,
    area: Mapped<Area>,
    /// By slot.
    outbound: Vec<Outbound>,
    queue: queue::Reader<Mapped<Queue>>,
    /// In the order in which their senders switched.
    inbound: Vec<Inbound>,
    /// What this rank sleeps on.
    doze: Arc<Sleeper>,
    fences: Fences,
    reading: Reading,
    /// Whether a peer that waits has a processor to do a part of the work.
    roomy: bool,
    /// Whether pages are made present when it is known that they will be used ([`PROMPT_RANKS_MAX`]).
    prompt: bool,
    segment: Segment,
    /// Bytes of a lane that are used, the same on all ranks.
    lane_bytes: usize,
    rooms: Rooms,
    terms: Mapped<Terms>,
    alarm: Mapped<primitive::AtomicU32>,
}

/// Who needs full fences (`doze`).
#[derive(Clone, Copy)]
struct Fences {
    /// This rank when it sends: the membarrier of others does not reach it.
    sending: bool,
    /// Everybody who sends to this rank: it has no membarrier.
    receiving: bool,
}

/// Which rank is in which slot.
struct Slots {
    ranks: Vec<Peer>,
    /// By rank less the smallest: 1 + the slot, or 0.
    table: Vec<u16>,
    smallest: Peer,
}

/// The way to a peer.
struct Outbound {
    route: Route,
    doze: Mapped<Doze>,
    area: Mapped<Area>,
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

impl Shm {
    /// Joins the segment of a node (made by `sys::shm::create`) as the rank `ranks[me]`.
    ///
    /// `ranks` are the world ranks on this node; every one of them calls this, at any time, with
    /// the same list and a descriptor of the same file.
    ///
    /// # Errors
    /// `NoMem` if the segment cannot have the size that it needs; `Arg` if it has another;
    /// `Other` if a process of another build is in it, or somebody in our slot.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub fn attach(segment: OwnedFd, me: usize, ranks: &[Peer], copy: Copy) -> Result<Self> {
        assert!(me < ranks.len());
        let slots = Slots::new(ranks);
        let segment = Segment::open(segment, ranks.len())?;
        let area = segment.area(me);
        let fences = Fences { sending: !membarrier::register(), receiving: !membarrier::barrier() };
        if fences.receiving {
            area.doze.require_fences();
        }
        cma::admit_siblings();
        let reading = Reading::new(copy, ranks.len());
        if let Err(pid) = reading.introduce(&area.card) {
            let why = format!(
                "process {pid} has taken the place of this rank; each rank of a job is one program \
                 that uses MPI, so start the others by an mpirun of their own"
            );
            return Err(ErrorClass::Other.error(why));
        }
        let outbound = (0..ranks.len()).map(|slot| Outbound::new(segment.area(slot))).collect();
        // SAFETY: the only one: the slot is ours (`introduce`), and this is called once.
        let queue = unsafe { queue::Reader::new(area.part(|area| &area.queue)) };
        let doze = Arc::new(Sleeper(area.part(|area| &area.doze)));
        let inbound = Vec::with_capacity(LANES);
        let (rooms, terms, alarm) = (segment.rooms(), segment.terms(), segment.alarm());
        Ok(Self {
            me,
            slots,
            area,
            outbound,
            queue,
            inbound,
            doze,
            fences,
            reading,
            roomy: false,
            prompt: false,
            segment,
            lane_bytes: LANE_BYTES,
            rooms,
            terms,
            alarm,
        })
    }

    /// Each rank has a processor of its own: long messages are copied by both of their ends.
    pub fn copy_jointly(&mut self) {
        self.roomy = true;
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
        self.prompt = self.slots.ranks.len() <= PROMPT_RANKS_MAX;
    }

    /// Compares a text with that of the first rank that came, where `rank` is what others are told
    /// about this one; returns what the first proposed.
    ///
    /// # Errors
    /// Whose text is another.
    pub fn agree(&self, rank: Peer, text: &str, proposal: bool) -> Result<bool, Unlike> {
        self.terms.agree(rank, text, proposal)
    }

    /// What the ranks tell each other about calls that wait for long.
    pub fn board(&self) -> Board {
        let areas = self.outbound.iter().map(|outbound| outbound.area.part(|area| area));
        Board::new(self.me, self.slots.ranks.clone(), areas.collect(), self.alarm.part(|it| it))
    }

    /// A number that changes whenever a packet arrives.
    pub fn arrivals(&self) -> u64 {
        let lanes = self.inbound.iter().map(|inbound| u64::from(inbound.reader.position()));
        lanes.sum::<u64>() + u64::from(self.queue.position())
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
            Route::Crowded => outbound.area.queue.send(self.me as u32, header, len, fill),
            Route::Queued { packets } => {
                outbound.area.queue.send(self.me as u32, header, len, fill)?;
                *packets += 1;
                Ok(())
            }
        }
    }

    /// Wakes the rank in `slot` if it sleeps; after each packet for it.
    #[inline]
    fn wake(&self, slot: usize) {
        let doze = &self.outbound[slot].doze;
        if doze.ring(self.fences.sending) {
            futex::wake(doze.word());
        }
    }

    /// The sender in slot `from` goes on in `lane`.
    fn switch(&mut self, from: u32, lane: u64) {
        let lane = lane as usize;
        assert!(
            (from as usize) < self.slots.ranks.len() && lane < LANES,
            "shared segment damaged: slot {from} switches to lane {lane}"
        );
        let slot = from as usize;
        let from = self.slots.ranks[slot];
        let known = self.inbound.iter().any(|inbound| inbound.from == from);
        assert!(!known && self.inbound.len() < LANES, "rank {from} switches twice");
        let memory = self.area.part(|area| &area.lanes[lane]);
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
            let ranks = &self.slots.ranks;
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

impl Slots {
    fn new(ranks: &[Peer]) -> Self {
        assert!(ranks.len() <= i16::MAX as usize);
        let smallest = ranks.iter().copied().min().unwrap_or(0);
        let largest = ranks.iter().copied().max().unwrap_or(0);
        let mut table = vec![0; (largest - smallest) as usize + 1];
        for (slot, rank) in ranks.iter().enumerate() {
            let entry = &mut table[(rank - smallest) as usize];
            assert_eq!(*entry, 0, "rank {rank} is there twice");
            *entry = slot as u16 + 1;
        }
        Self { ranks: ranks.to_vec(), table, smallest }
    }

    /// The slot of `peer`.
    ///
    /// # Panics
    /// If it is not on this node: `process` has routed wrongly.
    #[inline]
    fn of(&self, peer: Peer) -> usize {
        self.find(peer).unwrap_or_else(|| panic!("rank {peer} is not on this node"))
    }

    /// The slot of `peer`, if it is on this node.
    #[inline]
    fn find(&self, peer: Peer) -> Option<usize> {
        let entry = *self.table.get(peer.wrapping_sub(self.smallest) as usize)?;
        usize::from(entry).checked_sub(1)
    }
}

impl Outbound {
    fn new(area: Mapped<Area>) -> Self {
        let doze = area.part(|area| &area.doze);
        Self { route: Route::Queued { packets: 0 }, doze, area }
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
            self.route = match self.area.owners.claim(me) {
                Some(lane) => Route::Claimed { lane },
                None => Route::Crowded,
            };
        }
        if let Route::Claimed { lane } = self.route {
            self.area.queue.switch(me as u32, lane)?;
            let lane = self.area.part(|area| &area.lanes[lane]);
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

impl Device for Shm {
    fn caps(&self) -> Caps {
        Caps { short_max: lane::INLINE, packet_max: PACKET_MAX }
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        let slot = self.slots.of(peer);
        let fill = |room: &mut [u8]| room.copy_from_slice(data);
        match &mut self.outbound[slot].route {
            Route::Lane(writer) => writer.send_inline(header, data.len(), fill)?,
            _ => self.send_queued(slot, header, data.len(), fill)?,
        }
        self.wake(slot);
        Ok(())
    }

    #[inline(always)]
    fn send(
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

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> usize {
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

    fn arm(&mut self) -> Wake {
        let mut expected = self.area.doze.arm();
        if !self.fences.receiving && !membarrier::barrier() {
            // It worked when we attached. From now on the senders fence.
            self.area.doze.require_fences();
            self.fences.receiving = true;
            expected = self.area.doze.arm();
        }
        Wake::Word { word: self.doze.clone(), expected }
    }

    fn disarm(&mut self) {
        self.area.doze.disarm();
    }

    fn rouse(&mut self) {
        self.area.doze.rouse();
        futex::wake(self.area.doze.word());
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        if self.reading.possible() { Some(self) } else { None }
    }

    fn shared(&mut self) -> Option<&mut dyn Shared> {
        Some(self)
    }

    #[inline]
    fn ring(&mut self, peer: Peer) {
        self.wake(self.slots.of(peer));
    }
}

impl Shared for Shm {
    fn claim(&mut self) -> Option<u32> {
        self.rooms.claim()
    }

    fn claim_spare(&mut self) -> Option<u32> {
        self.rooms.claim_spare()
    }

    fn release(&mut self, number: u32) {
        self.rooms.release(number);
    }

    fn enter(&mut self, number: u32, seats: &[Peer]) -> Option<Room> {
        if !seats.iter().all(|peer| self.slots.find(*peer).is_some()) {
            return None;
        }
        let own = self.slots.ranks[self.me];
        let seat = seats.iter().position(|peer| *peer == own)?;
        if self.prompt && number == 0 {
            self.segment.make_first_room_present();
        }
        self.rooms.enter(number, seat, seats.len())
    }

    fn leave(&mut self, room: Room) {
        self.rooms.leave(room);
    }
}

impl Bulk for Shm {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        let slot = self.slots.of(peer);
        let card = &self.outbound[slot].area.card;
        self.reading.prefers(slot, card, len)
    }

    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String> {
        let slot = self.slots.of(peer);
        let card = &self.outbound[slot].area.card;
        self.reading.read(slot, card, from, into)
    }

    fn begin(&mut self, peer: Peer, into: Span) -> Option<u64> {
        let slot = self.slots.of(peer);
        // Waking a sleeper takes longer than the half that it would do.
        if !self.roomy || into.len() < JOINT_MIN || self.outbound[slot].doze.is_armed() {
            return None;
        }
        let begin = |(index, joint): (usize, &Joint)| {
            let generation = joint.begin(into.address() as u64, into.len())?;
            Some((index as u64) << 32 | u64::from(generation))
        };
        self.area.joints.iter().enumerate().find_map(begin)
    }

    fn read_jointly(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> JointEnd {
        let slot = self.slots.of(peer);
        let card = &self.outbound[slot].area.card;
        let joint = &self.area.joints[(ticket >> 32) as usize];
        self.reading.read_jointly(slot, card, joint, from, into)
    }

    fn write_jointly(&mut self, peer: Peer, ticket: u64, from: Span) -> JointEnd {
        let area = &self.outbound[self.slots.of(peer)].area;
        match area.joints.get((ticket >> 32) as usize) {
            Some(joint) => reading::write_jointly(&area.card, joint, ticket as u32, from),
            None => JointEnd::Others,
        }
    }
}

impl AsRef<AtomicU32> for Sleeper {
    fn as_ref(&self) -> &AtomicU32 {
        self.0.word()
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
