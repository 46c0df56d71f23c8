//! The words of an interface that peers of its node use.
//!
//! ```text
//!   engine wake word  futex word of the engine thread
//!   atomic requests   updates of numbers, from interfaces of peers
//!   counters          levels; peers add to them, and mark the counters that they have changed
//!   places            short memory of programs, to which peers copy without a system call
//! ```
//!
//! All zero is the initial state, so a peer that has not attached yet has an interface already. An area
//! takes 1.5 MiB of addresses; unused pages take no memory.

use std::mem::offset_of;

use super::atomic_request;
use super::primitive::{AtomicU64, Ordering, SharedBytes};
use crate::devices::interface::Signal;
use crate::devices::rings::memory::{Mapped, Shareable};
use crate::devices::rings::mpsc_queue::{MpscQueue, QueueCells, QueueSlots};
use crate::devices::rings::wake_word::WakeWord;
use platform::base::Span;

/// Counters of a rank, including those that trigger nothing.
pub(crate) const WORDS: usize = 1 << 16;

/// Places of a rank.
const PLACES: usize = 256;

/// The length of a place, in bytes: longer data takes as long by a system call.
const PLACE_BYTES: usize = 4096;

/// Requests that wait at a rank. Each fits into a cell of the queue.
const ATOMIC_REQUESTS: usize = 64;

/// The memory of the queue of requests to one rank.
pub(crate) type RequestCells = QueueCells<ATOMIC_REQUESTS>;
pub(crate) type RequestSlots = QueueSlots<ATOMIC_REQUESTS, { atomic_request::REQUEST_BYTES }>;

/// The queue of requests to one rank.
type RequestQueue = MpscQueue<Mapped<RequestCells>, Mapped<RequestSlots>>;

/// What the layout of a segment with areas depends on.
pub(crate) const LAYOUT: [usize; 6] = [
    size_of::<InterfaceArea>(),
    offset_of!(InterfaceArea, request_cells),
    offset_of!(InterfaceArea, request_slots),
    offset_of!(InterfaceArea, counter_activity),
    offset_of!(InterfaceArea, counters),
    offset_of!(InterfaceArea, places),
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
    /// The address of the places in the process of the rank; 0 before it has attached.
    places_at: AtomicU64,
    places: PlaceBytes,
}

/// Memory of programs that peers have mapped.
#[repr(C, align(4096))]
struct PlaceBytes([SharedBytes<PLACE_BYTES>; PLACES]);

/// The free places of an area, at its owner; the last one is taken first, so that a page that is present is used again.
#[derive(Debug)]
pub(crate) struct FreePlaces(Vec<usize>);

impl Default for FreePlaces {
    fn default() -> Self {
        Self((0..PLACES).rev().collect())
    }
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

    /// Tells peers where the places are in this process, whose area this is.
    pub(crate) fn publish_places(&self) {
        let address = std::ptr::from_ref(&self.places).addr();
        self.places_at.store(address as u64, Ordering::Release);
    }

    /// Memory at `address` in the process of the owner, if it is in the places.
    pub(crate) fn find_in_places(&self, address: u64, len: usize) -> Option<Span> {
        let start = Some(self.places_at.load(Ordering::Acquire)).filter(|start| *start > 0)?;
        let offset = usize::try_from(address.checked_sub(start)?).ok()?;
        let end = offset.checked_add(len)?;
        (end <= size_of::<PlaceBytes>()).then(|| self.part_of_places(offset, len))
    }

    /// A free place, cut to `len` bytes, at the owner.
    pub(crate) fn take_place(&self, free: &mut FreePlaces, len: usize) -> Option<Span> {
        let place = if len <= PLACE_BYTES { free.0.pop() } else { None }?;
        Some(self.part_of_places(place * PLACE_BYTES, len))
    }

    /// Takes a place back.
    pub(crate) fn return_place(&self, free: &mut FreePlaces, place: Span) {
        let offset = place.address() - std::ptr::from_ref(&self.places).addr();
        free.0.push(offset / PLACE_BYTES);
    }

    /// The caller has checked that these bytes are inside.
    fn part_of_places(&self, offset: usize, len: usize) -> Span {
        let start = std::ptr::from_ref(&self.places).cast::<u8>().wrapping_add(offset);
        // SAFETY: inside the places, which may change at any time and stay mapped as long as the interface exists.
        unsafe { Span::new(start, len) }
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

#[cfg(test)]
mod tests {
    use super::*;
    use crate::devices::rings::memory::SegmentMemory;
    use platform::sys::shm;

    #[test]
    fn peers_find_places_by_their_addresses_at_the_owner() {
        let file = shm::create().unwrap();
        let area = || {
            let bytes = Some(4096 + size_of::<InterfaceArea>());
            let memory = SegmentMemory::open(file.try_clone().unwrap(), bytes, 1, 1).unwrap();
            memory.part::<InterfaceArea>(4096)
        };
        let (own, of_peer, mut free) = (area(), area(), FreePlaces::default());
        assert!(of_peer.find_in_places(4096, 8).is_none());
        own.publish_places();
        let places: Vec<Span> =
            (0..PLACES).map(|_| own.take_place(&mut free, 100).unwrap()).collect();
        assert!(own.take_place(&mut free, 1).is_none());
        for (byte, place) in (0..=255).zip(&places) {
            let at = of_peer.find_in_places(place.address() as u64 + 90, 10).unwrap();
            at.write(0, &[byte; 10]);
        }
        for (byte, place) in (0_u8..=255).zip(&places) {
            let mut bytes = [0; 10];
            place.read(90, &mut bytes);
            assert_eq!(bytes, [byte; 10]);
        }
        let start = places[0].address() as u64;
        for (address, len) in
            [(start - 1, 2), (start + (PLACES * PLACE_BYTES) as u64 - 1, 2), (start, usize::MAX)]
        {
            assert!(of_peer.find_in_places(address, len).is_none());
        }
        own.return_place(&mut free, places[7]);
        assert!(own.take_place(&mut free, PLACE_BYTES + 1).is_none());
        assert_eq!(own.take_place(&mut free, PLACE_BYTES).unwrap().address(), places[7].address());
    }
}
