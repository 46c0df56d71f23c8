//! Layout of the segment of a node.
//!
//! ```text
//! | preamble | wake words | areas | status table | buffers of the receive queues | registrations | interfaces | shared segments
//!
//!   area                             queue head, address, split copies
//!   receive queues, split copies     written by peers, read by the owner
//!   address                          written by the owner, read by peers
//! ```
//!
//! Wake words, areas, buffers, registrations (memory that peers may use) and interfaces (counters of
//! programs) are arrays with an element for each *slot*, the index of a rank on its
//! node. All zero is the initial state, so a rank may write to the area of a peer that has not attached
//! yet, and no rank initializes anything. A rank has 18.3 MiB of addresses for buffers, 2 MiB for registrations and 0.5 MiB for its interface, and a shared
//! segment ([`SegmentPool`]) 384 KiB for each rank; unused pages take no memory.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::os::fd::OwnedFd;

use super::primitive::AtomicU64;
use super::settings_agreement::SettingsAgreement;
use super::split_copy::SplitCopy;
use crate::devices::local_interface::{self, InterfaceArea, InterfaceParts};
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::registrations::RegistrationTable;
use crate::devices::rings::wake_word::WakeWord;
use crate::devices::rings::{self, QueueBuffers, QueueHead, ReceiveQueues};
use crate::shared_memory::segment;
use crate::shared_memory::segment::SegmentPool;
use platform::base::Result;
use platform::diagnosis::status_table::StatusTable;

/// Split copies to one rank at a time. The receiver copies one of them; the others wait for the last
/// piece of the sender.
pub(crate) const SPLIT_COPIES: usize = 4;

/// Incremented with each change of meaning (not of sizes) in the segment.
const REVISION: u64 = 13;

/// The parts of the segment begin at multiples of this.
const PAGE: usize = 4096;

#[repr(C, align(4096))]
struct NodePreamble {
    /// The [`layout`] of the first process; 0 before.
    layout: AtomicU64,
    settings: SettingsAgreement,
}

/// The area of one rank.
#[repr(C, align(128))]
pub(crate) struct RankArea {
    queue_head: QueueHead,
    pub(crate) address: PeerAddress,
    /// Copies of messages to this rank.
    pub(crate) split_copies: [SplitCopy; SPLIT_COPIES],
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for RankArea {}
// SAFETY: atomics.
unsafe impl Shareable for SettingsAgreement {}

/// The mapped segment.
#[derive(Clone)]
pub(crate) struct NodeSegment {
    memory: SegmentMemory,
    ranks: usize,
    offsets: Offsets,
}

/// Where the parts of the segment begin.
#[derive(Clone, Copy)]
struct Offsets {
    wake_words: usize,
    areas: usize,
    table: usize,
    buffers: usize,
    registrations: usize,
    interfaces: usize,
    pool: usize,
    end: usize,
}

impl Offsets {
    /// For this number of ranks; `None` if no memory is that large.
    fn new(ranks: usize) -> Option<Self> {
        let after = |offset: usize, bytes: Option<usize>| {
            offset.checked_add(bytes?)?.checked_next_multiple_of(PAGE)
        };
        let array = |element_bytes: usize| ranks.checked_mul(element_bytes);
        let wake_words = size_of::<NodePreamble>();
        let areas = after(wake_words, array(size_of::<WakeWord>()))?;
        let table = after(areas, array(size_of::<RankArea>()))?;
        let buffers = after(table, StatusTable::bytes(ranks))?;
        let registrations = after(buffers, array(size_of::<QueueBuffers>()))?;
        let interfaces = after(registrations, array(size_of::<RegistrationTable>()))?;
        let pool = after(interfaces, array(size_of::<InterfaceArea>()))?;
        let end = after(pool, SegmentPool::bytes(ranks))?;
        Some(Self { wake_words, areas, table, buffers, registrations, interfaces, pool, end })
    }
}

impl NodeSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks.
    ///
    /// # Errors
    /// `NoMem` without memory; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize) -> Result<Self> {
        let offsets = Offsets::new(ranks);
        let bytes = offsets.map(|offsets| offsets.end);
        let memory = SegmentMemory::open(file, bytes, ranks, layout(ranks))?;
        let offsets = offsets.expect("the segment has been mapped");
        Ok(Self { memory, ranks, offsets })
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn area(&self, slot: usize) -> Mapped<RankArea> {
        self.element(self.offsets.areas, slot)
    }

    /// The receive queues of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn receive_queues(&self, slot: usize) -> ReceiveQueues {
        let head = self.area(slot).part(|area| &area.queue_head);
        let wake_word = self.element(self.offsets.wake_words, slot);
        // SAFETY: the parts of one slot are used here only.
        unsafe { ReceiveQueues::new(wake_word, head, self.element(self.offsets.buffers, slot)) }
    }

    /// The registered memory of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn registrations(&self, slot: usize) -> Mapped<RegistrationTable> {
        self.element(self.offsets.registrations, slot)
    }

    /// What peers use of the interface of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn interface(&self, slot: usize) -> InterfaceParts {
        InterfaceParts {
            area: self.element(self.offsets.interfaces, slot),
            address: self.area(slot).part(|area| &area.address),
            host_wake_word: self.element(self.offsets.wake_words, slot),
            registrations: self.registrations(slot),
        }
    }

    /// The element of `slot` in the array at `offset`.
    fn element<T: Shareable>(&self, offset: usize, slot: usize) -> Mapped<T> {
        assert!(slot < self.ranks);
        self.memory.part(offset + slot * size_of::<T>())
    }

    /// The settings that all ranks must have in common.
    pub(crate) fn settings(&self) -> Mapped<SettingsAgreement> {
        self.memory.part(offset_of!(NodePreamble, settings))
    }

    /// The shared segments of communicators, after the status table.
    pub(crate) fn segment_pool(&self) -> SegmentPool {
        let bytes = SegmentPool::bytes(self.ranks).unwrap_or(usize::MAX);
        let (start, memory) = self.memory.bytes(self.offsets.pool, bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and has no other use; all processes have the same layout (`SegmentMemory::open`).
        unsafe { SegmentPool::new(start, self.ranks, memory) }
    }

    /// Makes the data pages of shared segment 0 present.
    pub(crate) fn prefault_first_segment(&self) {
        let (offset, buffers) = (self.offsets.pool, SegmentPool::first_segment_buffers(self.ranks));
        self.memory.prefault(offset + buffers.start..offset + buffers.end);
    }

    /// The status table, after the areas.
    pub(crate) fn status_table(&self) -> StatusTable {
        let bytes = StatusTable::bytes(self.ranks).unwrap_or(usize::MAX);
        let (_, memory) = self.memory.bytes(self.offsets.table, bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and is used for nothing else; all processes have the same layout (`SegmentMemory::open`).
        unsafe { StatusTable::within(memory, self.offsets.table, self.ranks) }
    }
}

/// A number that depends on the layout of the segment and the meaning of its contents.
fn layout(ranks: usize) -> u64 {
    let sizes = [
        ranks,
        size_of::<RankArea>(),
        offset_of!(RankArea, address),
        offset_of!(RankArea, split_copies),
        size_of::<RegistrationTable>(),
        StatusTable::bytes(ranks).unwrap_or(0),
        SegmentPool::bytes(ranks).unwrap_or(0),
        segment::RING_ENTRIES,
        segment::LONG_ENTRIES,
    ];
    let shared = local_interface::LAYOUT.into_iter().chain(rings::LAYOUT);
    digest(sizes.into_iter().chain(shared).map(|size| size as u64).chain([REVISION]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_areas_of_all_ranks_share_page_tables() {
        assert_eq!(size_of::<NodePreamble>(), PAGE);
        let offsets = Offsets::new(512).unwrap();
        // A page table of 4 KiB maps 2 MiB.
        assert!(offsets.table <= 2 * (2 << 20));
        assert!(Offsets::new(usize::MAX / 4096).is_none());
    }
}
