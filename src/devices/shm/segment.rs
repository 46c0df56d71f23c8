//! What lies in the segment of a node, and how a rank gets hold of it.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | rooms   a slot is a rank's place on its node
//!      doze  card  owners  joints  queue  lane 0 .. lane 15   written by everybody, read by one
//!      notice                                             written by one, read by everybody
//! ```
//!
//! Zero is the beginning of everything, so a rank may write to the area of a peer that has not yet
//! come, and there is nothing to agree upon first. An area takes 6.4 MiB of addresses and a room
//! ([`Rooms`]) a quarter of one for each rank; pages that nobody has used take no memory.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::mem::offset_of;
use std::ops::Deref;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::doze::Doze;
use super::joint::Joint;
use super::primitive::{AtomicU32, AtomicU64, Ordering};
use super::terms::Terms;
use super::{lane, queue};
use crate::base::{ErrorClass, Result};
use crate::device::room::{self, Rooms};
use crate::sys::notices::Notice;
use crate::sys::shm;

/// The longest packet, in bytes. Larger ones pipeline less of a message, smaller ones cost more
/// per byte: 32 KiB is the knee of the measured curve.
pub const PACKET_MAX: usize = 32 << 10;

/// Lanes into a rank; the other senders share its queue.
pub const LANES: usize = 16;

/// Packets in a lane: 16 KiB of cells, a third of a first-level cache.
pub const LANE_CELLS: usize = 256;

/// Bytes of longer packets in a lane. Measured for streams of 64 KiB to 4 MiB: 10 to 17 % faster
/// than 256 KiB, which both ends fill and drain faster than they see each other do it.
pub const LANE_BYTES: usize = 1024 << 10;

/// The same where ranks share processors. Messages of 1 KiB went through all of the larger ring,
/// and the lanes of four ranks are more than a second-level cache: they took twice as long.
pub const CROWDED_LANE_BYTES: usize = 128 << 10;

/// Messages to one rank that are copied by both ends at once. The receiver is at work on one of
/// them; of others it waits for a last piece of the sender.
pub const JOINTS: usize = 4;

/// Packets in a queue.
pub const QUEUE_CELLS: usize = 64;

/// A lane of the size used here.
pub type Lane = lane::Lane<LANE_CELLS, LANE_BYTES>;

/// A queue of the size used here.
pub type Queue = queue::Queue<QUEUE_CELLS, PACKET_MAX>;

const _: () = assert!(PACKET_MAX <= lane::packet_max(CROWDED_LANE_BYTES));

/// Counts changes of the meaning (not the sizes) of what is in the segment.
const REVISION: u64 = 6;

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
    /// Whether the rank sleeps.
    pub doze: Doze,
    /// Who it is.
    pub card: Card,
    /// For each lane 1 + the slot of its sender, or 0.
    pub owners: Owners,
    /// Messages to this rank that both ends copy.
    pub joints: [Joint; JOINTS],
    /// Packets of senders without a lane.
    pub queue: Queue,
    /// Packets of one sender each.
    pub lanes: [Lane; LANES],
    /// What it says of a call that waits for long (`board`).
    pub notice: Notice,
}

/// What a rank tells about itself, written once, the process number last.
#[repr(C, align(128))]
pub struct Card {
    /// The process that took this slot, or 0.
    pub owner: AtomicU32,
    /// Its process number; 0 before it has come.
    pub pid: AtomicU32,
    /// Where in its own memory it keeps `probe`, as a test for readers.
    pub probe_address: AtomicU64,
    /// A number that no other process has.
    pub probe: AtomicU64,
    /// The namespace in which the process has that number; 0 if it does not know.
    pub namespace: AtomicU64,
}

/// Who has which lane.
#[repr(C, align(128))]
pub struct Owners([AtomicU32; LANES]);

impl Owners {
    /// Takes a lane that nobody has for the rank in `slot`; `None` if there is none left.
    pub fn claim(&self, slot: usize) -> Option<usize> {
        let owner = slot as u32 + 1;
        let free = |word: &AtomicU32| {
            word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.0.iter().position(free)
    }
}

/// The segment in this process.
#[derive(Clone)]
pub struct Segment {
    memory: Arc<MmapRaw>,
    ranks: usize,
}

/// A part of the segment, which stays mapped as long as this exists.
pub struct Mapped<T> {
    part: NonNull<T>,
    memory: Arc<MmapRaw>,
    _shared: PhantomData<T>,
}

// SAFETY: it is a reference with a reference count; the parts are shared between processes anyway.
unsafe impl<T: Sync> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapped<T> {}

impl Segment {
    /// Sizes and maps the segment of a node with `ranks` ranks.
    ///
    /// # Errors
    /// `NoMem` without room; `Other` if a process of another build of this library shares it.
    pub fn open(file: OwnedFd, ranks: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<Area>())
            .and_then(|areas| areas.checked_add(size_of::<Preamble>()))
            .and_then(|bytes| bytes.checked_add(Rooms::bytes(ranks)?))
            .filter(|bytes| *bytes <= isize::MAX as usize)
            .ok_or_else(|| ErrorClass::NoMem.error(format!("no memory for {ranks} ranks")))?;
        let memory = Arc::new(shm::map(file, bytes)?);
        let segment = Self { memory, ranks };
        segment.compare_layouts()?;
        Ok(segment)
    }

    fn compare_layouts(&self) -> Result {
        let (ours, preamble) = (layout(self.ranks), self.part::<Preamble>(0));
        let order = Ordering::SeqCst;
        match preamble.layout.compare_exchange(0, ours, order, order) {
            Err(theirs) if theirs != ours => Err(ErrorClass::Other.error(format!(
                "a process of this job uses another build of the library \
                 (its shared memory has layout {theirs:016x}, ours {ours:016x})"
            ))),
            _ => Ok(()),
        }
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub fn area(&self, slot: usize) -> Mapped<Area> {
        assert!(slot < self.ranks);
        self.part(size_of::<Preamble>() + slot * size_of::<Area>())
    }

    /// What all ranks have in common.
    pub fn terms(&self) -> Mapped<Terms> {
        self.part(offset_of!(Preamble, terms))
    }

    /// Whether a rank has said that none can go on.
    pub fn alarm(&self) -> Mapped<AtomicU32> {
        self.part(offset_of!(Preamble, alarm))
    }

    /// The rooms behind the areas.
    pub fn rooms(&self) -> Rooms {
        let offset = size_of::<Preamble>() + self.ranks * size_of::<Area>();
        assert!(offset + Rooms::bytes(self.ranks).unwrap_or(usize::MAX) <= self.memory.len());
        // SAFETY: inside the mapping (above), at the beginning of a page. The memory begins as zero
        // and is used for nothing else; all processes have the same layout (`compare_layouts`).
        unsafe {
            let start = NonNull::new_unchecked(self.memory.as_mut_ptr().add(offset));
            Rooms::new(start, self.ranks, self.memory.clone())
        }
    }

    /// Makes the pages of long data present in the room that all ranks enter first.
    pub fn make_first_room_present(&self) {
        let offset = size_of::<Preamble>() + self.ranks * size_of::<Area>();
        let stores = Rooms::first_stores(self.ranks);
        shm::make_present(&self.memory, offset + stores.start..offset + stores.end);
    }

    fn part<T>(&self, offset: usize) -> Mapped<T> {
        let end = offset + size_of::<T>();
        assert!(end <= self.memory.len() && offset.is_multiple_of(align_of::<T>()));
        // SAFETY: inside the mapping, so neither null nor past its end (above).
        let part = unsafe { NonNull::new_unchecked(self.memory.as_mut_ptr().add(offset).cast()) };
        Mapped { part, memory: self.memory.clone(), _shared: PhantomData }
    }
}

impl<T> Mapped<T> {
    /// Makes the pages of its first `bytes` present.
    ///
    /// # Panics
    /// If it has less.
    pub fn make_present(&self, bytes: usize) {
        assert!(bytes <= size_of::<T>());
        let start = self.part.addr().get() - self.memory.as_ptr().addr();
        shm::make_present(&self.memory, start..start + bytes);
    }

    /// A part of this part.
    pub fn part<U>(&self, choose: impl FnOnce(&T) -> &U) -> Mapped<U> {
        let part = NonNull::from(choose(self));
        Mapped { part, memory: self.memory.clone(), _shared: PhantomData }
    }
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped, aligned and inside (`Segment::part`), for as long as `memory` lives, and
        // never smaller (sealed). Every `T` made here consists of atomics and cells that are valid
        // whatever their bits, all zero included, and may change at any time.
        unsafe { self.part.as_ref() }
    }
}

/// A number that differs where the layout of the segment or the meaning of its contents does.
fn layout(ranks: usize) -> u64 {
    let sizes = [
        ranks,
        size_of::<Area>(),
        offset_of!(Area, card),
        offset_of!(Area, owners),
        offset_of!(Area, joints),
        offset_of!(Area, queue),
        offset_of!(Area, lanes),
        offset_of!(Area, notice),
        size_of::<Lane>(),
        size_of::<Queue>(),
        LANES,
        LANE_CELLS,
        CROWDED_LANE_BYTES,
        QUEUE_CELLS,
        Rooms::bytes(ranks).unwrap_or(0),
        room::RING,
    ];
    let version = env!("CARGO_PKG_VERSION").bytes().map(u64::from);
    let parts = sizes.iter().map(|size| *size as u64).chain(version).chain([REVISION]);
    // FNV-1a over words.
    let mix = |hash: u64, part: u64| (hash ^ part).wrapping_mul(0x0000_0100_0000_01b3);
    parts.fold(0xcbf2_9ce4_8422_2325, mix).max(1)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_one_owner() {
        let segment = Segment::open(shm::create().unwrap(), 2).unwrap();
        let owners = segment.area(1).part(|area| &area.owners);
        let lanes: Vec<_> = (0..LANES).map(|slot| owners.claim(slot)).collect();
        assert_eq!(lanes, (0..LANES).map(Some).collect::<Vec<_>>());
        assert_eq!(owners.claim(99), None);
    }

    #[test]
    fn another_layout_is_an_error() {
        let file = shm::create().unwrap();
        let segment = Segment::open(file.try_clone().unwrap(), 1).unwrap();
        assert!(Segment::open(file.try_clone().unwrap(), 1).is_ok());
        segment.part::<Preamble>(0).layout.store(77, Ordering::SeqCst);
        let error = Segment::open(file, 1).err().unwrap();
        assert!(error.why.contains("another build"), "{error}");
    }

    #[test]
    fn cells_are_lines_and_areas_are_pages() {
        assert_eq!(size_of::<Area>() % 4096, 0);
        assert_eq!(size_of::<Preamble>(), 4096);
        assert!(size_of::<Lane>() < LANE_CELLS * 64 + LANE_BYTES + 256);
    }
}
