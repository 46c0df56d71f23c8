//! Layout of the segment of the simulated interfaces of a node.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | busy times   slot: index of a rank on its node
//!      receive queues    packets from peers
//!      address           process of the rank
//!      engine wake word  futex word of the engine thread
//!      atomic requests   updates of numbers, from interfaces of peers
//!      counters          levels; peers add to them, and mark the counters that they have changed
//!      registrations     memory that peers may read and write
//! busy times             of links and engines of the simulated network (`torus`)
//! ```
//!
//! All zero is the initial state, so a peer that has not attached yet has an interface already. An area
//! takes 8.8 MiB of addresses; unused pages take no memory.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::atomic_request;
use super::primitive::{AtomicU64, Ordering};
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::mpsc_queue::{MpscQueue, QueueCells, QueueSlots};
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::registrations::RegistrationTable;
use crate::devices::rings::wake_word::WakeWord;
use crate::devices::rings::{self, QueueBuffers, QueueHead, ReceiveQueues};
use platform::base::Result;

/// Counters of a rank, including those that trigger nothing.
pub(crate) const WORDS: usize = 1 << 16;

/// Requests that wait at a rank. Each fits into a cell of the queue.
const ATOMIC_REQUESTS: usize = 64;

/// The memory of the queue of requests to one rank.
pub(crate) type RequestCells = QueueCells<ATOMIC_REQUESTS>;
pub(crate) type RequestSlots = QueueSlots<ATOMIC_REQUESTS, { atomic_request::REQUEST_BYTES }>;

/// The queue of requests to one rank.
type RequestQueue = MpscQueue<Mapped<RequestCells>, Mapped<RequestSlots>>;

/// Incremented with each change of meaning (not of sizes) in the segment.
const REVISION: u64 = 4;

#[repr(C, align(4096))]
struct TofuPreamble {
    /// The [`layout`] of the first process; 0 before.
    layout: AtomicU64,
}

/// The area of one rank.
#[repr(C, align(4096))]
pub(crate) struct TofuArea {
    pub(crate) host_wake_word: WakeWord,
    queue_head: QueueHead,
    queue_buffers: QueueBuffers,
    pub(crate) address: PeerAddress,
    pub(crate) engine_wake_word: WakeWord,
    request_cells: RequestCells,
    request_slots: RequestSlots,
    pub(crate) counter_activity: CounterActivity,
    /// Levels of the counters.
    pub(crate) counters: [AtomicU64; WORDS],
    /// Registered memory.
    pub(crate) registrations: RegistrationTable,
}

impl TofuArea {
    /// The queue of requests to the rank.
    pub(crate) fn requests(&self) -> MpscQueue<&RequestCells, &RequestSlots> {
        // SAFETY: the same pair in both functions.
        unsafe { MpscQueue::new(&self.request_cells, &self.request_slots) }
    }

    /// The queue of requests to the rank, for its reader.
    pub(crate) fn own_requests(area: &Mapped<Self>) -> RequestQueue {
        let (cells, slots) =
            (area.part(|area| &area.request_cells), area.part(|area| &area.request_slots));
        // SAFETY: as above.
        unsafe { MpscQueue::new(cells, slots) }
    }
}

/// Words that an addition to a counter of the rank also reads or writes.
#[repr(C, align(128))]
pub(crate) struct CounterActivity {
    /// The number of additions, incremented after each.
    pub(crate) additions: AtomicU64,
    /// A bit for each word of `changed` that is not 0, set after it.
    changed_words: [AtomicU64; WORDS / 64 / 64],
    /// A bit for each counter that was added to, set after the addition.
    changed: [AtomicU64; WORDS / 64],
}

impl CounterActivity {
    /// Marks a counter after an addition to it.
    pub(crate) fn mark(&self, counter: usize) {
        let order = Ordering::SeqCst;
        let set = |words: &[AtomicU64], number: usize| {
            let (word, bit) = (&words[number / 64], 1 << (number % 64));
            // If the bit is set, the owner reads the level after it has cleared the bit, so after the
            // addition.
            if word.load(order) & bit == 0 {
                word.fetch_or(bit, order);
            }
        };
        set(&self.changed, counter);
        set(&self.changed_words, counter / 64);
    }

    /// Calls `each` with the marked counters and clears the marks; for the owner.
    pub(crate) fn take_marked(&self, mut each: impl FnMut(usize)) {
        let take = |words: &[AtomicU64], number: usize| match words[number].load(Ordering::SeqCst) {
            0 => 0,
            _ => words[number].swap(0, Ordering::SeqCst),
        };
        for number in 0..self.changed_words.len() {
            for word in bits(take(&self.changed_words, number)) {
                let word = 64 * number + word;
                bits(take(&self.changed, word)).for_each(|bit| each(64 * word + bit));
            }
        }
    }
}

/// The numbers of the bits that are set.
fn bits(mut word: u64) -> impl Iterator<Item = usize> {
    std::iter::from_fn(move || {
        let bit = word.trailing_zeros();
        word &= word.wrapping_sub(1);
        (bit < u64::BITS).then_some(bit as usize)
    })
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for TofuArea {}

/// The mapped segment.
#[derive(Clone)]
pub(crate) struct TofuSegment {
    memory: SegmentMemory,
    ranks: usize,
    /// Words of [`BusyTimes`].
    words: usize,
}

/// Busy times of the network between the interfaces.
pub(crate) struct BusyTimes {
    start: NonNull<AtomicU64>,
    words: usize,
    _memory: Arc<MmapRaw>,
}

// SAFETY: atomics that stay mapped as long as this value exists, and that processes share anyway.
unsafe impl Send for BusyTimes {}

impl AsRef<[AtomicU64]> for BusyTimes {
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: `words` of them are mapped there (`TofuSegment::busy`) as long as `_memory` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl fmt::Debug for BusyTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared words", self.words)
    }
}

impl TofuSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks and `words` words of busy times.
    ///
    /// # Errors
    /// `NoMem` without memory; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize, words: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<TofuArea>())
            .and_then(|areas| areas.checked_add(size_of::<TofuPreamble>()))
            .and_then(|bytes| bytes.checked_add(words.checked_mul(size_of::<AtomicU64>())?));
        let memory = SegmentMemory::open(file, bytes, ranks, layout(ranks, words))?;
        Ok(Self { memory, ranks, words })
    }

    /// The busy times of the network, after the areas.
    pub(crate) fn busy(&self) -> BusyTimes {
        let offset = size_of::<TofuPreamble>() + self.ranks * size_of::<TofuArea>();
        let (start, memory) = self.memory.bytes(offset, self.words * size_of::<AtomicU64>());
        // The areas end at a page boundary, which is aligned for the words.
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

    /// The receive queues of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn receive_queues(&self, slot: usize) -> ReceiveQueues {
        let area = self.area(slot);
        let (head, buffers) =
            (area.part(|area| &area.queue_head), area.part(|area| &area.queue_buffers));
        // SAFETY: parts of one area, used here only.
        unsafe { ReceiveQueues::new(area.part(|area| &area.host_wake_word), head, buffers) }
    }
}

/// A number that depends on the layout of the segment and the meaning of its contents.
fn layout(ranks: usize, words: usize) -> u64 {
    let sizes = [
        ranks,
        words,
        size_of::<TofuArea>(),
        offset_of!(TofuArea, address),
        offset_of!(TofuArea, engine_wake_word),
        offset_of!(TofuArea, request_cells),
        offset_of!(TofuArea, request_slots),
        offset_of!(TofuArea, counter_activity),
        offset_of!(TofuArea, counters),
        offset_of!(TofuArea, registrations),
    ];
    // Distinguishes the segments of the devices.
    let name = u64::from_le_bytes(*b"tofu\0\0\0\0");
    digest(sizes.into_iter().chain(rings::LAYOUT).map(|size| size as u64).chain([REVISION, name]))
}
