//! Between the ranks of a node: lock-free rings in one shared segment.
//!
//! Packets go through the rings of [`rings`](super::rings). Long messages may be read from the
//! sender's memory instead ([`Bulk`], `direct_read`), and ranks share [rooms](crate::shared_memory::segment).
//!
//! It knows peers of this node only. Lengths and positions from the segment are checked or masked;
//! what cannot be right is a panic that says so.
#![allow(unsafe_code)]

mod direct_read;
mod segment;
mod settings_agreement;
mod split_copy;
mod wait_table;

use std::os::fd::OwnedFd;

use crate::device::{
    Bulk, Busy, Caps, Device, Header, PacketSink, SharedMemory, SplitCopies, SplitEnd, WakeSource,
};
use crate::devices::rings::Packets;
use crate::devices::rings::memory::Mapped;
use crate::shared_memory::primitive;
use crate::shared_memory::segment::{SegmentPool, SharedSegment};
use direct_read::DirectRead;
use platform::base::{Peer, Result, Span};
use platform::sys::cma;
use segment::{NodeSegment, RankArea};
use settings_agreement::SettingsAgreement;
pub(crate) use settings_agreement::SettingsMismatch;
use split_copy::SplitCopy;
pub(crate) use wait_table::{PeerState, WaitTable};

pub use direct_read::CopyMethod;

/// Shorter messages are read by their receivers alone: a half is not worth the packet and the
/// system call of the other.
const SPLIT_MIN: usize = 32 << 10;

/// One rank's end of the segment of its node.
pub struct Shm {
    packets: Packets,
    /// By slot.
    areas: Vec<Mapped<RankArea>>,
    direct_read: DirectRead,
    /// Whether a peer that waits has a processor to do a part of the work.
    can_split: bool,
    segment: NodeSegment,
    segments: SegmentPool,
    settings: Mapped<SettingsAgreement>,
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
    pub fn attach(segment: OwnedFd, me: usize, ranks: &[Peer], copy: CopyMethod) -> Result<Self> {
        assert!(me < ranks.len());
        let segment = NodeSegment::open(segment, ranks.len())?;
        let areas: Vec<_> = (0..ranks.len()).map(|slot| segment.area(slot)).collect();
        cma::admit_siblings();
        let reading = DirectRead::new(copy, ranks.len(), &areas[me].address)?;
        let inlets = areas.iter().map(|area| area.part(|area| &area.receive_queues)).collect();
        // SAFETY: the only one: the slot is ours (`DirectRead::new`), and this is called once.
        let packets = unsafe { Packets::attach(me, ranks, inlets) };
        let (rooms, terms, alarm) = (segment.segment_pool(), segment.settings(), segment.alarm());
        Ok(Self {
            packets,
            areas,
            direct_read: reading,
            can_split: false,
            segment,
            segments: rooms,
            settings: terms,
            alarm,
        })
    }

    /// Each rank has a processor of its own: long messages are copied by both of their ends.
    pub(crate) fn enable_split_copies(&mut self) {
        self.can_split = true;
    }

    /// The ranks of the job share processors. Either all ranks say so or none, before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        self.packets.share_processors();
    }

    /// Compares a text with that of the first rank that came, where `rank` is what others are told
    /// about this one; returns what the first proposed.
    ///
    /// # Errors
    /// Whose text is another.
    pub(crate) fn agree(
        &self, rank: Peer, text: &str, proposal: bool,
    ) -> Result<bool, SettingsMismatch> {
        self.settings.agree(rank, text, proposal)
    }

    /// What the ranks tell each other about calls that wait for long.
    pub(crate) fn wait_table(&self) -> WaitTable {
        let (me, ranks) = (self.packets.own_slot(), self.packets.node_ranks().ranks().to_vec());
        WaitTable::new(me, ranks, self.areas.clone(), self.alarm.clone())
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
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        self.packets.poll(sink)
    }

    fn arm(&mut self) -> WakeSource {
        self.packets.arm()
    }

    fn disarm(&mut self) {
        self.packets.disarm();
    }

    fn wake_self(&mut self) {
        self.packets.wake_self();
    }

    fn quiescence(&self) -> Option<u64> {
        Some(self.packets.arrivals())
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        if self.direct_read.is_possible() { Some(self) } else { None }
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        Some(self)
    }

    #[inline]
    fn notify(&mut self, peer: Peer) {
        self.packets.wake(self.packets.node_ranks().slot_of(peer));
    }
}

impl SharedMemory for Shm {
    fn claim(&mut self) -> Option<u32> {
        self.segments.claim()
    }

    fn claim_spare(&mut self) -> Option<u32> {
        self.segments.claim_spare()
    }

    fn release(&mut self, number: u32) {
        self.segments.release(number);
    }

    fn enter(&mut self, number: u32, seats: &[Peer]) -> Option<SharedSegment> {
        if !seats.iter().all(|peer| self.packets.node_ranks().find_slot(*peer).is_some()) {
            return None;
        }
        let own = self.packets.node_ranks().ranks()[self.packets.own_slot()];
        let seat = seats.iter().position(|peer| *peer == own)?;
        if self.packets.prefaults() && number == 0 {
            self.segment.prefault_first_segment();
        }
        self.segments.enter(number, seat, seats.len())
    }

    fn leave(&mut self, room: SharedSegment) {
        self.segments.leave(room);
    }
}

impl Bulk for Shm {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        let slot = self.packets.node_ranks().slot_of(peer);
        let card = &self.areas[slot].address;
        self.direct_read.prefers(slot, card, len)
    }

    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String> {
        let slot = self.packets.node_ranks().slot_of(peer);
        let card = &self.areas[slot].address;
        self.direct_read.read(slot, card, from, into)
    }

    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        Some(self)
    }
}

impl SplitCopies for Shm {
    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64> {
        let slot = self.packets.node_ranks().slot_of(peer);
        // Waking a sleeper takes longer than the half that it would do.
        if !self.can_split || into.len() < SPLIT_MIN || self.packets.is_armed(slot) {
            return None;
        }
        let begin = |(index, joint): (usize, &SplitCopy)| {
            let generation = joint.begin(into.address() as u64, into.len())?;
            Some((index as u64) << 32 | u64::from(generation))
        };
        self.areas[self.packets.own_slot()].split_copies.iter().enumerate().find_map(begin)
    }

    fn read_split(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> SplitEnd {
        let slot = self.packets.node_ranks().slot_of(peer);
        let card = &self.areas[slot].address;
        let joint = &self.areas[self.packets.own_slot()].split_copies[(ticket >> 32) as usize];
        self.direct_read.read_split(slot, card, joint, from, into)
    }

    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd {
        let area = &self.areas[self.packets.node_ranks().slot_of(peer)];
        match area.split_copies.get((ticket >> 32) as usize) {
            Some(joint) => direct_read::write_split(&area.address, joint, ticket as u32, from),
            None => SplitEnd::PeerPending,
        }
    }
}

#[cfg(test)]
mod tests;
