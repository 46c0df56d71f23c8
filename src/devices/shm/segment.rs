//! What lies in the segment of a node, and how a rank gets hold of it.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | rooms   a slot is a rank's place on its node
//!      inlet (packets)  card  joints            written by everybody, read by one
//!      notice                                   written by one, read by everybody
//! ```
//!
//! Zero is the beginning of everything, so a rank may write to the area of a peer that has not yet
//! come, and there is nothing to agree upon first. An area takes 6.4 MiB of addresses and a room
//! ([`SegmentPool`]) a quarter of one for each rank; pages that nobody has used take no memory.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::os::fd::OwnedFd;

use super::primitive::{AtomicU32, AtomicU64};
use super::settings_agreement::SettingsAgreement;
use super::split_copy::SplitCopy;
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::{self, ReceiveQueues};
use crate::shared_memory::segment;
use crate::shared_memory::segment::SegmentPool;
use platform::base::Result;
use platform::diagnosis::status_table::StatusEntry;

/// Messages to one rank that are copied by both ends at once. The receiver is at work on one of
/// them; of others it waits for a last piece of the sender.
pub(crate) const SPLIT_COPIES: usize = 4;

/// Counts changes of the meaning (not the sizes) of what is in the segment.
const REVISION: u64 = 7;

#[repr(C, align(4096))]
struct NodePreamble {
    /// The [`layout`] of whoever came first; 0 before that.
    layout: AtomicU64,
    /// What all ranks have in common.
    settings: SettingsAgreement,
    /// Whether a rank has said that none can go on (`board`).
    alarm: AtomicU32,
}

/// The place of one rank.
#[repr(C, align(4096))]
pub(crate) struct RankArea {
    /// Where its packets arrive.
    pub(crate) receive_queues: ReceiveQueues,
    /// Who it is.
    pub(crate) address: PeerAddress,
    /// Messages to this rank that both ends copy.
    pub(crate) split_copies: [SplitCopy; SPLIT_COPIES],
    /// What it says of a call that waits for long (`board`).
    pub(crate) wait_entry: StatusEntry,
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for RankArea {}
// SAFETY: atomics.
unsafe impl Shareable for SettingsAgreement {}

/// The segment in this process.
#[derive(Clone)]
pub(crate) struct NodeSegment {
    memory: SegmentMemory,
    ranks: usize,
}

impl NodeSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks.
    ///
    /// # Errors
    /// `NoMem` without room; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<RankArea>())
            .and_then(|areas| areas.checked_add(size_of::<NodePreamble>()))
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

    /// What all ranks have in common.
    pub(crate) fn settings(&self) -> Mapped<SettingsAgreement> {
        self.memory.part(offset_of!(NodePreamble, settings))
    }

    /// Whether a rank has said that none can go on.
    pub(crate) fn alarm(&self) -> Mapped<AtomicU32> {
        self.memory.part(offset_of!(NodePreamble, alarm))
    }

    /// The rooms behind the areas.
    pub(crate) fn segment_pool(&self) -> SegmentPool {
        let bytes = SegmentPool::bytes(self.ranks).unwrap_or(usize::MAX);
        let (start, memory) = self.memory.bytes(self.pool_offset(), bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and is used for nothing else; all processes have the same layout (`SegmentMemory::open`).
        unsafe { SegmentPool::new(start, self.ranks, memory) }
    }

    /// Makes the pages of long data present in the room that all ranks enter first.
    pub(crate) fn prefault_first_segment(&self) {
        let (offset, stores) = (self.pool_offset(), SegmentPool::first_segment_buffers(self.ranks));
        self.memory.prefault(offset + stores.start..offset + stores.end);
    }

    fn pool_offset(&self) -> usize {
        size_of::<NodePreamble>() + self.ranks * size_of::<RankArea>()
    }
}

/// A number that differs where the layout of the segment or the meaning of its contents does.
fn layout(ranks: usize) -> u64 {
    let sizes = [
        ranks,
        size_of::<RankArea>(),
        offset_of!(RankArea, address),
        offset_of!(RankArea, split_copies),
        offset_of!(RankArea, wait_entry),
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
