//! The device for the ranks of a node: one segment of shared memory.
//!
//! Packets go through the queues and rings of [`rings`](super::rings). Long messages may be read from
//! the sender's memory instead ([`Bulk`], `direct_read`), or copied by both ends (`split_copy`).
//! Communicators get [shared segments](crate::shared_memory::segment). Memory of peers is mapped, or
//! read and written by system calls (`one_sided`). With [`Shm::run_programs`], an interface of software
//! (`local_interface`) runs programs on the same registered memory.
//!
//! It knows peers of this node only. Lengths and positions read from the segment are checked or
//! masked; an impossible value is a panic with a message.
#![allow(unsafe_code)]

mod direct_read;
mod one_sided;
mod segment;
mod settings_agreement;
mod split_copy;

use std::os::fd::OwnedFd;
use std::sync::Arc;

use crate::device::rma::Rma;
use crate::device::trigger::Trigger;
use crate::device::{
    Bulk, Busy, Caps, Device, Header, MemoryDescriptor, PacketSink, SharedMemory, SplitCopies,
    SplitEnd, WakeSource,
};
use crate::devices::local_interface::{HostFabric, InterfaceHost, SOFTWARE_LIMITS};
use crate::devices::put_links::InterfaceLinks;
use crate::devices::rings::memory::Mapped;
pub use crate::devices::rings::read_trial::CopyMethod;
use crate::devices::rings::{OwnWaker, Packets};
use crate::shared_memory::primitive;
use crate::shared_memory::segment::{SegmentPool, SharedSegment};
use direct_read::DirectRead;
use one_sided::OneSidedAccess;
use platform::base::{MpiError, Peer, Result, Span};
use platform::diagnosis::status_table::StatusTable;
use platform::sys::cma;
use platform::sys::doorbell::Doorbell;
use segment::{NodeSegment, RankArea};
use settings_agreement::SettingsAgreement;
pub(crate) use settings_agreement::SettingsMismatch;
use split_copy::SplitCopy;

/// The receiver alone reads shorter messages: half of the copy is not worth the packet and the system
/// call of the sender.
const SPLIT_MIN: usize = 32 << 10;

/// The device of one rank.
pub struct Shm {
    packets: Packets,
    /// By slot.
    areas: Vec<Mapped<RankArea>>,
    direct_read: DirectRead,
    one_sided: Box<OneSidedAccess>,
    /// What runs programs, if anything does.
    programs: Option<Box<InterfaceHost>>,
    /// Whether each rank has a processor of its own, so that a waiting sender can copy a part.
    can_split: bool,
    segment: NodeSegment,
    segments: SegmentPool,
    settings: Mapped<SettingsAgreement>,
}

impl Shm {
    /// Attaches the rank `ranks[me]` to the segment of its node (made by `sys::shm::create`).
    ///
    /// `ranks` are the world ranks on this node. Each of them calls this, at any time, with the same
    /// list and a descriptor of the same file.
    ///
    /// # Errors
    /// `NoMem` if the segment cannot have the required size; `Arg` if it has another size; `Other` if
    /// a process of another build is attached, or another process in the slot of this rank.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub fn attach(segment: OwnedFd, me: usize, ranks: &[Peer], copy: CopyMethod) -> Result<Self> {
        assert!(me < ranks.len());
        let segment = NodeSegment::open(segment, ranks.len())?;
        let areas: Vec<_> = (0..ranks.len()).map(|slot| segment.area(slot)).collect();
        cma::admit_siblings();
        let direct_read = DirectRead::new(copy, ranks.len(), &areas[me].address)?;
        let tables = (0..ranks.len()).map(|slot| segment.registrations(slot)).collect();
        let one_sided = Box::new(OneSidedAccess::new(tables));
        let queues = (0..ranks.len()).map(|slot| segment.receive_queues(slot));
        // SAFETY: the only value: this process owns the slot (`DirectRead::new`), and calls this once.
        let packets = unsafe { Packets::attach(me, ranks, queues) };
        let (segments, settings) = (segment.segment_pool(), segment.settings());
        Ok(Self {
            packets,
            areas,
            direct_read,
            one_sided,
            programs: None,
            can_split: false,
            segment,
            segments,
            settings,
        })
    }

    /// Runs programs from now on, on a thread that may use the processors of the caller; with `links`, also
    /// those with ranks to which they lead. The peers of a program call this, too.
    ///
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    pub(crate) fn run_programs(&mut self, links: Option<Box<dyn InterfaceLinks>>) -> Result {
        let copies = links.as_ref().is_none_or(|links| !links.are_everywhere());
        if self.programs.is_some() || copies && self.direct_read.copy() == CopyMethod::Pipe {
            return Ok(());
        }
        let (me, ranks) = (self.packets.own_slot(), self.packets.node_ranks().ranks());
        let parts = (0..ranks.len()).map(|slot| self.segment.interface(slot)).collect();
        let fabric = HostFabric::new(me, ranks, parts);
        let fabric = match links {
            Some(links) => fabric.linked(links),
            None => fabric,
        };
        // SAFETY: the only one: this process owns the slot (`Shm::attach`), and has no other yet.
        let mut interface =
            unsafe { InterfaceHost::new(fabric, SOFTWARE_LIMITS, None, Vec::new()) };
        interface.start_engine()?;
        self.programs = Some(Box::new(interface));
        Ok(())
    }

    /// The process of `peer` has failed: programs that name it end with this error.
    pub(crate) fn programs_lose(&self, peer: Peer, error: &MpiError) {
        self.programs.iter().for_each(|programs| programs.peer_failed(peer, error));
    }

    /// How long messages are copied.
    pub(crate) fn copy_method(&self) -> CopyMethod {
        self.direct_read.copy()
    }

    /// Enables split copies: each rank has a processor of its own.
    pub(crate) fn enable_split_copies(&mut self) {
        self.can_split = true;
    }

    /// The ranks of the job share processors. All ranks call this or none does, before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        self.packets.share_processors();
    }

    /// One sleep covers shared memory and descriptors from now on: [`Device::arm`] returns `descriptor`,
    /// an epoll instance that watches `doorbell` beside sockets. Called before the first packet.
    pub(crate) fn wait_for_descriptor(&mut self, doorbell: Doorbell, descriptor: Arc<OwnedFd>) {
        self.packets.wait_for_descriptor(doorbell, descriptor);
    }

    /// What wakes this rank from any thread; for a rank without a doorbell.
    pub(crate) fn own_waker(&self) -> OwnWaker {
        self.packets.own_waker()
    }

    /// Compares the settings of `rank`, this rank, with those of the first rank that attached; returns
    /// the proposal of the first rank.
    ///
    /// # Errors
    /// The first rank and its settings, if they differ.
    pub(crate) fn agree(
        &self, rank: Peer, text: &str, proposal: bool,
    ) -> Result<bool, SettingsMismatch> {
        self.settings.agree(rank, text, proposal)
    }

    /// The status table of this node. The entry of a rank has the number of its slot.
    pub(crate) fn status_table(&self) -> StatusTable {
        self.segment.status_table()
    }

    /// Whether `rank` is on this node.
    #[inline]
    pub(crate) fn reaches(&self, rank: Peer) -> bool {
        self.packets.node_ranks().find_slot(rank).is_some()
    }

    /// Whether the process of `rank` has attached and has ended, as far as this process can tell.
    ///
    /// # Panics
    /// If the rank is not on this node.
    pub(crate) fn has_ended(&self, rank: Peer) -> bool {
        let address = |slot: usize| &self.areas[slot].address;
        let slot = self.packets.node_ranks().slot_of(rank);
        address(slot).has_ended(address(self.packets.own_slot()))
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
        if let Some(programs) = &mut self.programs {
            programs.poll_programs();
        }
        self.packets.poll(sink)
    }

    fn arm(&mut self) -> WakeSource {
        self.programs.iter_mut().for_each(|programs| programs.arm());
        self.packets.arm()
    }

    fn disarm(&mut self) {
        self.programs.iter_mut().for_each(|programs| programs.disarm());
        self.packets.disarm();
    }

    fn wake_self(&mut self) {
        self.packets.wake_self();
    }

    fn leave(&mut self) {
        self.programs.iter().for_each(|programs| programs.leave());
    }

    fn quiescence(&self) -> Option<u64> {
        let changes = self.programs.as_ref().map_or(Some(0), |programs| programs.quiescence());
        Some(self.packets.arrivals().wrapping_add(changes?))
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        if self.direct_read.is_possible() { Some(self) } else { None }
    }

    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        Some(self)
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        Some(self)
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        let programs = self.programs.as_deref_mut()?;
        if programs.refusal().is_none() { Some(programs) } else { None }
    }

    #[inline]
    fn notify(&mut self, peer: Peer) {
        self.packets.wake(self.packets.node_ranks().slot_of(peer));
    }

    #[inline]
    fn notify_if(&mut self, peer: Peer, is_awaited: impl FnOnce() -> bool) {
        self.packets.wake_if(self.packets.node_ranks().slot_of(peer), is_awaited);
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

    fn enter(&mut self, number: u32, ranks: &[Peer]) -> Option<SharedSegment> {
        if !ranks.iter().all(|peer| self.packets.node_ranks().find_slot(*peer).is_some()) {
            return None;
        }
        let own = self.packets.node_ranks().ranks()[self.packets.own_slot()];
        let local_rank = ranks.iter().position(|peer| *peer == own)?;
        if self.packets.prefaults() && number == 0 {
            self.segment.prefault_first_segment();
        }
        self.segments.enter(number, local_rank, ranks.len())
    }

    fn leave(&mut self, segment: SharedSegment) {
        self.segments.leave(segment);
    }
}

impl Bulk for Shm {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        // A rank of another node may have announced the message.
        let Some(slot) = self.packets.node_ranks().find_slot(peer) else { return false };
        let address = &self.areas[slot].address;
        self.direct_read.prefers(slot, address, len)
    }

    fn read(
        &mut self, peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String> {
        let slot = self.packets.node_ranks().slot_of(peer);
        let address = &self.areas[slot].address;
        self.direct_read.read(slot, address, from.address(), into, done)
    }

    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        Some(self)
    }
}

impl SplitCopies for Shm {
    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64> {
        // The memory of a process of another job is read by its receiver alone.
        let slot = self.packets.node_ranks().find_slot(peer)?;
        // A wake-up takes longer than half of the copy.
        if !self.can_split || into.len() < SPLIT_MIN || self.packets.is_armed(slot) {
            return None;
        }
        let begin = |(index, split): (usize, &SplitCopy)| {
            let generation = split.begin(into.address() as u64, into.len())?;
            Some((index as u64) << 32 | u64::from(generation))
        };
        self.areas[self.packets.own_slot()].split_copies.iter().enumerate().find_map(begin)
    }

    fn read_split(
        &mut self, peer: Peer, ticket: u64, from: MemoryDescriptor, into: Span,
    ) -> SplitEnd {
        let slot = self.packets.node_ranks().slot_of(peer);
        let address = &self.areas[slot].address;
        let split = &self.areas[self.packets.own_slot()].split_copies[(ticket >> 32) as usize];
        self.direct_read.read_split(slot, address, split, from.address(), into)
    }

    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd {
        let area = self.packets.node_ranks().find_slot(peer).map(|slot| &self.areas[slot]);
        let split = area.and_then(|area| {
            let split = area.split_copies.get((ticket >> 32) as usize)?;
            Some((&area.address, split))
        });
        match split {
            Some((address, split)) => direct_read::write_split(address, split, ticket as u32, from),
            None => SplitEnd::PeerPending,
        }
    }
}

#[cfg(test)]
mod tests;
