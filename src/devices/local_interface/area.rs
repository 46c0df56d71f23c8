//! The words of an interface that peers of its node use.
//!
//! ```text
//!   engine wake word  futex word of the engine thread
//!   atomic requests   updates of numbers, from interfaces of peers
//!   counters          levels; peers add to them, and mark the counters that they have changed
//! ```
//!
//! All zero is the initial state, so a peer that has not attached yet has an interface already. An area
//! takes 540 KiB of addresses; unused pages take no memory.

use std::mem::offset_of;

use super::atomic_request;
use super::primitive::{AtomicU64, Ordering};
use crate::devices::interface::Signal;
use crate::devices::rings::memory::{Mapped, Shareable};
use crate::devices::rings::mpsc_queue::{MpscQueue, QueueCells, QueueSlots};
use crate::devices::rings::wake_word::WakeWord;

/// Counters of a rank, including those that trigger nothing.
pub(crate) const WORDS: usize = 1 << 16;

/// Requests that wait at a rank. Each fits into a cell of the queue.
const ATOMIC_REQUESTS: usize = 64;

/// The memory of the queue of requests to one rank.
pub(crate) type RequestCells = QueueCells<ATOMIC_REQUESTS>;
pub(crate) type RequestSlots = QueueSlots<ATOMIC_REQUESTS, { atomic_request::REQUEST_BYTES }>;

/// The queue of requests to one rank.
type RequestQueue = MpscQueue<Mapped<RequestCells>, Mapped<RequestSlots>>;

/// What the layout of a segment with areas depends on.
pub(crate) const LAYOUT: [usize; 5] = [
    size_of::<InterfaceArea>(),
    offset_of!(InterfaceArea, request_cells),
    offset_of!(InterfaceArea, request_slots),
    offset_of!(InterfaceArea, counter_activity),
    offset_of!(InterfaceArea, counters),
];

/// The area of one interface.
#[repr(C, align(4096))]
pub(crate) struct InterfaceArea {
    pub(crate) engine_wake_word: WakeWord,
    request_cells: RequestCells,
    request_slots: RequestSlots,
    pub(crate) counter_activity: CounterActivity,
    /// Levels of the counters.
    pub(crate) counters: [AtomicU64; WORDS],
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for InterfaceArea {}

impl InterfaceArea {
    /// The queue of requests to the rank.
    pub(crate) fn requests(&self) -> MpscQueue<&RequestCells, &RequestSlots> {
        // SAFETY: the same pair in both functions.
        unsafe { MpscQueue::new(&self.request_cells, &self.request_slots) }
    }

    /// Adds to a counter and marks it; false for an unknown one. That comes from a wrong program, and changes
    /// nothing.
    pub(crate) fn add(&self, signal: Signal) -> bool {
        let index = (signal.counter.0 as usize).wrapping_sub(1);
        let Some(level) = self.counters.get(index) else { return false };
        // After every byte written before, also by the kernel.
        level.fetch_add(signal.value, Ordering::SeqCst);
        self.counter_activity.mark(index);
        true
    }

    /// The queue of requests to the rank, for its reader.
    pub(crate) fn own_requests(area: &Mapped<Self>) -> RequestQueue {
        let (cells, slots) =
            (area.part(|area| &area.request_cells), area.part(|area| &area.request_slots));
        // SAFETY: as above.
        unsafe { MpscQueue::new(cells, slots) }
    }
}

/// A word with a cache line of its own.
#[repr(C, align(128))]
pub(crate) struct LoneWord(pub(crate) AtomicU64);

/// Words that an addition to a counter of the rank also reads or writes.
#[repr(C, align(128))]
pub(crate) struct CounterActivity {
    /// The number of additions of peers, incremented after each.
    pub(crate) additions: LoneWord,
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
