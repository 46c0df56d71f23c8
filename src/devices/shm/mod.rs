//! Between the ranks of a node: lock-free rings in one shared segment.
//!
//! Packets go through the rings of [`rings`](super::rings). Long messages may be read from the
//! sender's memory instead ([`Bulk`], `reading`), and ranks share [rooms](crate::device::room).
//!
//! It knows peers of this node only. Lengths and positions from the segment are checked or masked;
//! what cannot be right is a panic that says so.
#![allow(unsafe_code)]
// The model checker's constructors are in both flavours of the rings and used in one.
#![cfg_attr(loom, allow(dead_code))]

mod board;
mod joint;
mod reading;
mod segment;
mod terms;

#[cfg(all(test, loom))]
mod model;

use std::os::fd::OwnedFd;

use crate::base::{Peer, Result, Span};
use crate::device::room::{Room, Rooms};
use crate::device::{Bulk, Busy, Caps, Device, Header, JointEnd, Shared, Sink, Wake, primitive};
use crate::devices::rings::Packets;
use crate::devices::rings::memory::Mapped;
use crate::sys::cma;
pub use board::{Board, Seen};
use joint::Joint;
use reading::Reading;
use segment::{Area, Segment};
use terms::Terms;
pub use terms::Unlike;

pub use reading::Copy;

/// Shorter messages are read by their receivers alone: a half is not worth the packet and the
/// system call of the other.
const JOINT_MIN: usize = 32 << 10;

/// One rank's end of the segment of its node.
pub struct Shm {
    packets: Packets,
    /// By slot.
    areas: Vec<Mapped<Area>>,
    reading: Reading,
    /// Whether a peer that waits has a processor to do a part of the work.
    roomy: bool,
    segment: Segment,
    rooms: Rooms,
    terms: Mapped<Terms>,
    alarm: Mapped<primitive::AtomicU32>,
}

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
        let segment = Segment::open(segment, ranks.len())?;
        let areas: Vec<_> = (0..ranks.len()).map(|slot| segment.area(slot)).collect();
        cma::admit_siblings();
        let reading = Reading::new(copy, ranks.len(), &areas[me].card)?;
        let inlets = areas.iter().map(|area| area.part(|area| &area.inlet)).collect();
        // SAFETY: the only one: the slot is ours (`Reading::new`), and this is called once.
        let packets = unsafe { Packets::attach(me, ranks, inlets) };
        let (rooms, terms, alarm) = (segment.rooms(), segment.terms(), segment.alarm());
        Ok(Self { packets, areas, reading, roomy: false, segment, rooms, terms, alarm })
    }

    /// Each rank has a processor of its own: long messages are copied by both of their ends.
    pub fn copy_jointly(&mut self) {
        self.roomy = true;
    }

    /// The ranks of the job share processors. Either all ranks say so or none, before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub fn share_processors(&mut self) {
        self.packets.share_processors();
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
        let (me, ranks) = (self.packets.own_slot(), self.packets.slots().ranks().to_vec());
        Board::new(me, ranks, self.areas.clone(), self.alarm.clone())
    }

    /// A number that changes whenever a packet arrives.
    pub fn arrivals(&self) -> u64 {
        self.packets.arrivals()
    }
}

impl Device for Shm {
    fn caps(&self) -> Caps {
        self.packets.caps()
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.packets.send_short(peer, header, data)
    }

    #[inline(always)]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.packets.send(peer, header, len, fill)
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> usize {
        self.packets.poll(sink)
    }

    fn arm(&mut self) -> Wake {
        self.packets.arm()
    }

    fn disarm(&mut self) {
        self.packets.disarm();
    }

    fn rouse(&mut self) {
        self.packets.rouse();
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        if self.reading.possible() { Some(self) } else { None }
    }

    fn shared(&mut self) -> Option<&mut dyn Shared> {
        Some(self)
    }

    #[inline]
    fn ring(&mut self, peer: Peer) {
        self.packets.wake(self.packets.slots().of(peer));
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
        if !seats.iter().all(|peer| self.packets.slots().find(*peer).is_some()) {
            return None;
        }
        let own = self.packets.slots().ranks()[self.packets.own_slot()];
        let seat = seats.iter().position(|peer| *peer == own)?;
        if self.packets.is_prompt() && number == 0 {
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
        let slot = self.packets.slots().of(peer);
        let card = &self.areas[slot].card;
        self.reading.prefers(slot, card, len)
    }

    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String> {
        let slot = self.packets.slots().of(peer);
        let card = &self.areas[slot].card;
        self.reading.read(slot, card, from, into)
    }

    fn begin(&mut self, peer: Peer, into: Span) -> Option<u64> {
        let slot = self.packets.slots().of(peer);
        // Waking a sleeper takes longer than the half that it would do.
        if !self.roomy || into.len() < JOINT_MIN || self.packets.is_armed(slot) {
            return None;
        }
        let begin = |(index, joint): (usize, &Joint)| {
            let generation = joint.begin(into.address() as u64, into.len())?;
            Some((index as u64) << 32 | u64::from(generation))
        };
        self.areas[self.packets.own_slot()].joints.iter().enumerate().find_map(begin)
    }

    fn read_jointly(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> JointEnd {
        let slot = self.packets.slots().of(peer);
        let card = &self.areas[slot].card;
        let joint = &self.areas[self.packets.own_slot()].joints[(ticket >> 32) as usize];
        self.reading.read_jointly(slot, card, joint, from, into)
    }

    fn write_jointly(&mut self, peer: Peer, ticket: u64, from: Span) -> JointEnd {
        let area = &self.areas[self.packets.slots().of(peer)];
        match area.joints.get((ticket >> 32) as usize) {
            Some(joint) => reading::write_jointly(&area.card, joint, ticket as u32, from),
            None => JointEnd::Others,
        }
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
