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
//! ([`Rooms`]) a quarter of one for each rank; pages that nobody has used take no memory.
#![allow(unsafe_code)]

use std::mem::offset_of;
use std::os::fd::OwnedFd;

use super::joint::Joint;
use super::primitive::{AtomicU32, AtomicU64};
use super::terms::Terms;
use crate::base::Result;
use crate::device::room::{self, Rooms};
use crate::devices::rings::card::Card;
use crate::devices::rings::memory::{Mapped, Memory, Shareable, digest};
use crate::devices::rings::{self, Inlet};
use crate::sys::notices::Notice;

/// Messages to one rank that are copied by both ends at once. The receiver is at work on one of
/// them; of others it waits for a last piece of the sender.
pub const JOINTS: usize = 4;

/// Counts changes of the meaning (not the sizes) of what is in the segment.
const REVISION: u64 = 7;

#[repr(C, align(4096))]
struct Preamble {
    /// The [`layout`] of whoever came first; 0 before that.
    layout: AtomicU64,
    /// What all ranks have in common.
    terms: Terms,
    /// Whether a rank has said that none can go on (`board`).
    alarm: AtomicU32,
}

/// The place of one rank.
#[repr(C, align(4096))]
pub struct Area {
    /// Where its packets arrive.
    pub inlet: Inlet,
    /// Who it is.
    pub card: Card,
    /// Messages to this rank that both ends copy.
    pub joints: [Joint; JOINTS],
    /// What it says of a call that waits for long (`board`).
    pub notice: Notice,
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for Area {}
// SAFETY: atomics.
unsafe impl Shareable for Terms {}

/// The segment in this process.
#[derive(Clone)]
pub struct Segment {
    memory: Memory,
    ranks: usize,
}

impl Segment {
    /// Sizes and maps the segment of a node with `ranks` ranks.
    ///
    /// # Errors
    /// `NoMem` without room; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub fn open(file: OwnedFd, ranks: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<Area>())
            .and_then(|areas| areas.checked_add(size_of::<Preamble>()))
            .and_then(|bytes| bytes.checked_add(Rooms::bytes(ranks)?));
        Ok(Self { memory: Memory::open(file, bytes, ranks, layout(ranks))?, ranks })
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn area(&self, slot: usize) -> Mapped<Area> {
        assert!(slot < self.ranks);
        self.memory.part(size_of::<Preamble>() + slot * size_of::<Area>())
    }

    /// What all ranks have in common.
    pub fn terms(&self) -> Mapped<Terms> {
        self.memory.part(offset_of!(Preamble, terms))
    }

    /// Whether a rank has said that none can go on.
    pub fn alarm(&self) -> Mapped<AtomicU32> {
        self.memory.part(offset_of!(Preamble, alarm))
    }

    /// The rooms behind the areas.
    pub fn rooms(&self) -> Rooms {
        let bytes = Rooms::bytes(self.ranks).unwrap_or(usize::MAX);
        let (start, memory) = self.memory.bytes(self.rooms_offset(), bytes);
        // SAFETY: inside the mapping (`bytes`), at the beginning of a page. The memory begins as
        // zero and is used for nothing else; all processes have the same layout (`Memory::open`).
        unsafe { Rooms::new(start, self.ranks, memory) }
    }

    /// Makes the pages of long data present in the room that all ranks enter first.
    pub fn make_first_room_present(&self) {
        let (offset, stores) = (self.rooms_offset(), Rooms::first_stores(self.ranks));
        self.memory.make_present(offset + stores.start..offset + stores.end);
    }

    fn rooms_offset(&self) -> usize {
        size_of::<Preamble>() + self.ranks * size_of::<Area>()
    }
}

/// A number that differs where the layout of the segment or the meaning of its contents does.
fn layout(ranks: usize) -> u64 {
    let sizes = [
        ranks,
        size_of::<Area>(),
        offset_of!(Area, card),
        offset_of!(Area, joints),
        offset_of!(Area, notice),
        Rooms::bytes(ranks).unwrap_or(0),
        room::RING,
    ];
    digest(sizes.into_iter().chain(rings::LAYOUT).map(|size| size as u64).chain([REVISION]))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn areas_are_pages() {
        assert_eq!(size_of::<Area>() % 4096, 0);
        assert_eq!(size_of::<Preamble>(), 4096);
    }
}
