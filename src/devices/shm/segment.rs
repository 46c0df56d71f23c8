//! Layout of the segment of a node.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | status table | shared segments
//!
//!   slot                             index of a rank on its node
//!   receive queues, split copies     written by peers, read by the owner
//!   address                          written by the owner, read by peers
//! ```
//!
//! All zero is the initial state, so a rank may write to the area of a peer that has not attached yet,
//! and no rank initializes anything. An area takes 6.4 MiB of addresses, a shared segment
//! ([`SegmentPool`]) 256 KiB for each rank; unused pages take no memory.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::os::fd::OwnedFd;

use super::primitive::AtomicU64;
use super::settings_agreement::SettingsAgreement;
use super::split_copy::SplitCopy;
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::{self, ReceiveQueues};
use crate::shared_memory::segment;
use crate::shared_memory::segment::SegmentPool;
use platform::base::Result;
use platform::diagnosis::status_table::StatusTable;

/// Split copies to one rank at a time. The receiver copies one of them; the others wait for the last
/// piece of the sender.
pub(crate) const SPLIT_COPIES: usize = 4;

/// Incremented with each change of meaning (not of sizes) in the segment.
const REVISION: u64 = 8;

#[repr(C, align(4096))]
struct NodePreamble {
    /// The [`layout`] of the first process; 0 before.
    layout: AtomicU64,
    settings: SettingsAgreement,
}

/// The area of one rank.
#[repr(C, align(4096))]
pub(crate) struct RankArea {
    pub(crate) receive_queues: ReceiveQueues,
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
}

impl NodeSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks.
    ///
    /// # Errors
    /// `NoMem` without memory; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<RankArea>())
            .and_then(|areas| areas.checked_add(size_of::<NodePreamble>()))
            .and_then(|bytes| bytes.checked_add(status_table_bytes(ranks)?))
            .and_then(|bytes| bytes.checked_add(SegmentPool::bytes(ranks)?));
        Ok(Self { memory: SegmentMemory::open(file, bytes, ranks, layout(ranks))?, ranks })
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn area(&self, slot: usize) -> Mapped<RankArea> {
        assert!(slot < self.ranks);
        self.memory.part(size_of::<NodePreamble>() + slot * size_of::<RankArea>())
    }

    /// The settings that all ranks must have in common.
    pub(crate) fn settings(&self) -> Mapped<SettingsAgreement> {
        self.memory.part(offset_of!(NodePreamble, settings))
    }

    /// The shared segments of communicators, after the status table.
    pub(crate) fn segment_pool(&self) -> SegmentPool {
        let bytes = SegmentPool::bytes(self.ranks).unwrap_or(usize::MAX);
        let (start, memory) = self.memory.bytes(self.pool_offset(), bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and has no other use; all processes have the same layout (`SegmentMemory::open`).
        unsafe { SegmentPool::new(start, self.ranks, memory) }
    }

    /// Makes the data pages of shared segment 0 present.
    pub(crate) fn prefault_first_segment(&self) {
        let (offset, buffers) =
            (self.pool_offset(), SegmentPool::first_segment_buffers(self.ranks));
        self.memory.prefault(offset + buffers.start..offset + buffers.end);
    }

    /// The status table, after the areas.
    pub(crate) fn status_table(&self) -> StatusTable {
        let bytes = status_table_bytes(self.ranks).unwrap_or(usize::MAX);
        let (_, memory) = self.memory.bytes(self.table_offset(), bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and is used for nothing else; all processes have the same layout (`SegmentMemory::open`).
        unsafe { StatusTable::within(memory, self.table_offset(), self.ranks) }
    }

    fn table_offset(&self) -> usize {
        size_of::<NodePreamble>() + self.ranks * size_of::<RankArea>()
    }

    fn pool_offset(&self) -> usize {
        self.table_offset() + status_table_bytes(self.ranks).unwrap_or(usize::MAX)
    }
}

/// The size of the status table in whole pages.
fn status_table_bytes(ranks: usize) -> Option<usize> {
    StatusTable::bytes(ranks)?.checked_next_multiple_of(align_of::<RankArea>())
}

/// A number that depends on the layout of the segment and the meaning of its contents.
fn layout(ranks: usize) -> u64 {
    let sizes = [
        ranks,
        size_of::<RankArea>(),
        offset_of!(RankArea, address),
        offset_of!(RankArea, split_copies),
        status_table_bytes(ranks).unwrap_or(0),
        SegmentPool::bytes(ranks).unwrap_or(0),
        segment::RING_ENTRIES,
    ];
    digest(sizes.into_iter().chain(rings::LAYOUT).map(|size| size as u64).chain([REVISION]))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn areas_are_pages() {
        assert_eq!(size_of::<RankArea>() % 4096, 0);
        assert_eq!(size_of::<NodePreamble>(), 4096);
    }
}
