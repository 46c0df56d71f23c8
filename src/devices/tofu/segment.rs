//! What lies in the segment of the simulated interfaces of a node.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | busy   a slot is a rank's place on its node
//!      inlet     where packets are put by peers
//!      card      who the rank is, and how its memory is found
//!      bell      what the engine thread of the rank sleeps on
//!      mail      what interfaces of peers ask of this one: changes of numbers
//!      counters  levels, added to by peers
//!      tags      memory that peers may read and write, by steering tag
//! busy           until when links and engines of the simulated network are (`torus`)
//! ```
//!
//! Zero is the beginning of everything, so a peer that has not yet come has an interface already.
//! An area takes 8.8 MiB of addresses; pages that nobody has used take no memory.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::atomic_request;
use super::primitive::{AtomicU32, AtomicU64};
use super::tags::TagTable;
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::mpsc_queue::MpscQueue;
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::wake_word::WakeWord;
use crate::devices::rings::{self, ReceiveQueues};
use platform::base::Result;

/// Counters of a rank in all, those that trigger nothing included.
pub(crate) const WORDS: usize = 1 << 16;

/// Letters that wait at a rank (`atomic_requests`). They fit into the cells of the queue.
const ATOMIC_REQUESTS: usize = 64;

/// What interfaces of peers ask of one.
pub(crate) type AtomicRequestQueue = MpscQueue<ATOMIC_REQUESTS, { atomic_request::REQUEST_BYTES }>;

/// Counts changes of the meaning (not the sizes) of what is in the segment.
const REVISION: u64 = 1;

#[repr(C, align(4096))]
struct TofuPreamble {
    /// The [`layout`] of whoever came first; 0 before that.
    layout: AtomicU64,
}

/// The place of one rank.
#[repr(C, align(4096))]
pub(crate) struct TofuArea {
    /// Where its packets arrive.
    pub(crate) receive_queues: ReceiveQueues,
    /// Who it is.
    pub(crate) address: PeerAddress,
    /// What its engine thread sleeps on.
    pub(crate) engine_wake_word: WakeWord,
    /// What interfaces of peers ask of this one.
    pub(crate) atomic_requests: AtomicRequestQueue,
    /// What changes with its counters.
    pub(crate) counter_activity: CounterActivity,
    /// Levels.
    pub(crate) counters: [AtomicU64; WORDS],
    /// What peers may read and write.
    pub(crate) tags: TagTable,
}

/// What whoever adds to a counter of a rank reads and writes beside it.
#[repr(C, align(128))]
pub(crate) struct CounterActivity {
    /// Counts additions to counters, after each of them.
    pub(crate) additions: AtomicU64,
    /// Programs that the host of the rank runs: additions wake it too.
    pub(crate) host_programs: AtomicU32,
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for TofuArea {}

/// The segment in this process.
#[derive(Clone)]
pub(crate) struct TofuSegment {
    memory: SegmentMemory,
    ranks: usize,
    /// Of [`BusyTimes`].
    words: usize,
}

/// Words of the network between the interfaces.
pub(crate) struct BusyTimes {
    start: NonNull<AtomicU64>,
    words: usize,
    _memory: Arc<MmapRaw>,
}

// SAFETY: atomics that stay mapped as long as this exists, and that processes share anyway.
unsafe impl Send for BusyTimes {}

impl AsRef<[AtomicU64]> for BusyTimes {
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: so many are mapped there (`TofuSegment::busy`), for as long as `_memory` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl fmt::Debug for BusyTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared words", self.words)
    }
}

impl TofuSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks, and `words` words of their network.
    ///
    /// # Errors
    /// `NoMem` without room; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize, words: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<TofuArea>())
            .and_then(|areas| areas.checked_add(size_of::<TofuPreamble>()))
            .and_then(|bytes| bytes.checked_add(words.checked_mul(size_of::<AtomicU64>())?));
        let memory = SegmentMemory::open(file, bytes, ranks, layout(ranks, words))?;
        Ok(Self { memory, ranks, words })
    }

    /// The words of the network, behind the areas.
    pub(crate) fn busy(&self) -> BusyTimes {
        let offset = size_of::<TofuPreamble>() + self.ranks * size_of::<TofuArea>();
        let (start, memory) = self.memory.bytes(offset, self.words * size_of::<AtomicU64>());
        // Pages are aligned for them.
        BusyTimes { start: start.cast(), words: self.words, _memory: memory }
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn area(&self, slot: usize) -> Mapped<TofuArea> {
        assert!(slot < self.ranks);
        self.memory.part(size_of::<TofuPreamble>() + slot * size_of::<TofuArea>())
    }
}

/// A number that differs where the layout of the segment or the meaning of its contents does.
fn layout(ranks: usize, words: usize) -> u64 {
    let sizes = [
        ranks,
        words,
        size_of::<TofuArea>(),
        offset_of!(TofuArea, address),
        offset_of!(TofuArea, engine_wake_word),
        offset_of!(TofuArea, atomic_requests),
        size_of::<AtomicRequestQueue>(),
        offset_of!(TofuArea, counter_activity),
        offset_of!(TofuArea, counters),
        offset_of!(TofuArea, tags),
    ];
    // Not that of another device.
    let name = u64::from_le_bytes(*b"tofu\0\0\0\0");
    digest(sizes.into_iter().chain(rings::LAYOUT).map(|size| size as u64).chain([REVISION, name]))
}
