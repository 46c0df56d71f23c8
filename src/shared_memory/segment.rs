//! Rooms: memory that the ranks of a communicator on one node share, and the rounds in it.
//!
//! A room has a *seat* for each rank. In round `s`, counted from 1 and alike on all ranks, each seat
//! may publish one *entry*, and every other seat may read it. A seat has a ring of [`RING_ENTRIES`] entries;
//! round `s` is in the one of number `s % RING_ENTRIES`:
//!
//! ```text
//!  seat    | done up to | entry 0 | entry 1 | ... | entry 7 |     one line each: a small call of a
//!                          │                                      collective is one line per rank
//!                          └ sequence, head, up to 40 bytes
//!  store   | 32 KiB of entry 0 | 32 KiB of entry 1 | ...          data that is longer than that
//! ```
//!
//! ```text
//!  publisher   entry(s) ── fill ── publish(s): sequence = s, release
//!                 ^                                  │
//!                 │ all others are done with s - 8   │ acquire
//!                 │                                  v
//!  reader      done(s): now and then  <── use ── read(s): sequence == s?
//! ```
//!
//! Nothing else is shared: no atomic read-modify-write, no fence, no system call. A reader tells
//! every four rounds how far it is, in a line of its own; each entry tells it too, to those who
//! read it. Rounds are 64 bits wide and never come again; a sequence of 0 is an entry that was
//! never used. Whoever publishes then rings the seats that sleep ([`Device::notify`]).
//!
//! # Who stops whom
//! A seat that has published [`RING_ENTRIES`] rounds waits until the others are done with the first of
//! them. Nobody waits for ever if each seat is done with a round at most four rounds ([`SizedSegment::AHEAD`])
//! after it has published in it, and comes to be done with it without waiting for a later round of others.
//!
//! # Leaving
//! All seats enter a room and all leave it, at any time. The last to leave clears it, and it is
//! free; what a seat has published stays until then. `SegmentPool` has a word for each room:
//!
//! ```text
//!  free 0 ──claim──> 1 ──leave──> 2 ── ... ──the last leaves──> cleared, 0
//! ```
//!
//! What is read from a room is masked or compared and never leads anywhere: damage by another
//! process can damage data, no more.
//!
//! [`Device::notify`]: crate::device::Device::notify
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::primitive::{AccessMode, AtomicU32, AtomicU64, Ordering, SharedBytes};
use platform::base::Span;

/// Entries of a seat.
pub(crate) const RING_ENTRIES: usize = 8;

/// Bytes of data that travel in the line of an entry.
pub(crate) const INLINE: usize = 40;

/// Bytes of data in an entry.
const DATA_MAX: usize = 32 << 10;

/// The least number of rooms, as long as they fit into [`BYTES_MAX`].
const SEGMENTS_MIN: usize = 64;

/// Addresses that rooms may take: more would not fit into those of a process with many ranks.
const BYTES_MAX: usize = 64 << 30;

/// A room, as one of its seats sees it.
pub type SharedSegment = SizedSegment<RING_ENTRIES, DATA_MAX>;

/// What goes with the data of an entry, so that readers find out that ranks disagree.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotHeader {
    /// The collective operation, as the user of the room numbers them.
    pub kind: u8,
    /// Its root.
    pub root: u32,
    /// Bytes of the whole call, of which this entry may have a part.
    pub bytes: u64,
}

/// What all see of a seat, but for long data.
#[repr(C, align(128))]
pub(crate) struct SegmentSlot<const ENTRIES: usize> {
    /// It will not read entries of this round or earlier ones again.
    done: PaddedWord,
    entries: [SlotEntry; ENTRIES],
}

/// A word with a line of its own, and its neighbour that processors fetch with it.
#[repr(C, align(128))]
struct PaddedWord(AtomicU64);

#[repr(C, align(64))]
struct SlotEntry {
    /// The round that it is of; 0 before the first.
    sequence: AtomicU64,
    /// [`SlotHeader::bytes`].
    bytes: AtomicU64,
    /// [`PackedHeader`].
    packed_header: AtomicU64,
    data: SharedBytes<INLINE>,
}

/// The rest of a head, the length of the data, and how many rounds the publisher is behind with
/// reading: root, length (16 bits), kind (8), behind (8).
#[derive(Clone, Copy)]
struct PackedHeader(u64);

/// Long data of a seat.
#[repr(C, align(4096))]
pub(crate) struct SlotBuffer<const ENTRIES: usize, const DATA: usize>([SharedBytes<DATA>; ENTRIES]);

/// The rounds of a room with rings of `ENTRIES` entries of up to `DATA` bytes ([`SharedSegment`]).
pub struct SizedSegment<const ENTRIES: usize, const DATA: usize> {
    // Both slices have an element for each seat. They live as long as `_memory`.
    slots: NonNull<[SegmentSlot<ENTRIES>]>,
    buffers: NonNull<[SlotBuffer<ENTRIES, DATA>]>,
    number: u32,
    local_rank: usize,
    /// Rounds begun.
    round: u64,
    /// Bytes of the entry that is being filled.
    len: usize,
    /// The round that was last published in each entry.
    used: [u64; ENTRIES],
    /// What this seat is done with, and what it has told of that.
    done: u64,
    published_done: u64,
    /// What each seat is known to be done with, and what all others are.
    known: Box<[u64]>,
    known_of_all: u64,
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: what the pointers lead to is shared between threads and processes anyway, and the memory
// that they keep may be kept by any thread.
unsafe impl<const ENTRIES: usize, const DATA: usize> Send for SizedSegment<ENTRIES, DATA> {}

impl PackedHeader {
    /// Rounds behind that no entry tells: this many or more.
    const FAR_BEHIND: u64 = 255;

    #[inline]
    fn new(head: SlotHeader, len: usize, behind: u64) -> Self {
        let low = (len as u64) << 16 | u64::from(head.kind) << 8 | behind.min(Self::FAR_BEHIND);
        Self(u64::from(head.root) << 32 | low)
    }

    #[inline]
    fn header(self, bytes: u64) -> SlotHeader {
        SlotHeader { kind: (self.0 >> 8) as u8, root: (self.0 >> 32) as u32, bytes }
    }

    #[inline]
    fn len(self) -> usize {
        (self.0 >> 16) as u16 as usize
    }

    #[inline]
    fn behind(self) -> u64 {
        self.0 & 0xff
    }
}

impl<const ENTRIES: usize, const DATA: usize> SizedSegment<ENTRIES, DATA> {
    /// The longest data of an entry, in bytes.
    pub(crate) const DATA_MAX: usize = DATA;

    /// A seat may publish so many rounds that it is not done with.
    pub(crate) const AHEAD: u64 = (ENTRIES - Self::DONE_INTERVAL as usize) as u64;

    /// A seat tells that it is done after so many rounds.
    const DONE_INTERVAL: u64 = (ENTRIES / 2) as u64;

    const SOUND: () = assert!(ENTRIES.is_power_of_two() && ENTRIES >= 2 && DATA < 1 << 16);

    /// The place `local_rank` of room `number`, before the first round.
    ///
    /// # Safety
    /// `slots` and `buffers` are as many, lead to what they say for as long as `memory` lives, were
    /// all zero (or cleared) when the first seat entered, and are used through these functions only.
    /// This is the only value for `local_rank` from then until all have left.
    ///
    /// # Panics
    /// If there is no such seat.
    pub(crate) unsafe fn new(
        number: u32, local_rank: usize, slots: NonNull<[SegmentSlot<ENTRIES>]>,
        buffers: NonNull<[SlotBuffer<ENTRIES, DATA>]>, memory: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        let () = Self::SOUND;
        assert!(local_rank < slots.len() && slots.len() == buffers.len());
        let known_of_all = if slots.len() == 1 { u64::MAX } else { 0 };
        Self {
            slots,
            buffers,
            number,
            local_rank,
            round: 0,
            len: 0,
            used: [0; ENTRIES],
            done: 0,
            published_done: 0,
            known: vec![0; slots.len()].into_boxed_slice(),
            known_of_all,
            _memory: memory,
        }
    }

    /// Which room it is.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The own seat.
    #[inline]
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// How many seats there are.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Takes the next `rounds` rounds, which must be as many on all ranks, and gives the first.
    #[inline]
    pub fn begin(&mut self, rounds: u64) -> u64 {
        let first = self.round + 1;
        self.round += rounds;
        first
    }

    /// Room for `len` bytes of data in the own entry of `round`, to be filled before
    /// [`SizedSegment::publish`]; `None` while a reader may still need what is in it. Ask again later
    /// then: who is done rings.
    ///
    /// # Panics
    /// If that is more than [`SizedSegment::DATA_MAX`].
    #[inline]
    pub fn entry(&mut self, round: u64, len: usize) -> Option<Span> {
        assert!(len <= DATA);
        let used = self.used[round as usize % ENTRIES];
        if used > self.known_of_all && !self.all_are_done_with(used) {
            return None;
        }
        self.len = len;
        // SAFETY: all others are done with what the entry had, and look at it again only once it
        // is published; the span is in use until then.
        Some(unsafe { self.lend(self.local_rank, round, len, AccessMode::Write) })
    }

    /// Lets the others read the entry that [`SizedSegment::entry`] gave last, which was of this round.
    /// The device has to ring those who wait for it.
    #[inline]
    pub fn publish(&mut self, round: u64, head: SlotHeader) {
        self.used[round as usize % ENTRIES] = round;
        let shape = PackedHeader::new(head, self.len, round.saturating_sub(self.done));
        let entry = &self.slots()[self.local_rank].entries[round as usize % ENTRIES];
        entry.bytes.store(head.bytes, Ordering::Relaxed);
        entry.packed_header.store(shape.0, Ordering::Relaxed);
        entry.sequence.store(round, Ordering::Release);
    }

    /// The entry of `local_rank` in `round`, of which this seat must not be done yet; `None` until it is
    /// published. The span may be read until [`SizedSegment::done`].
    ///
    /// # Panics
    /// If there is no such seat.
    #[inline]
    pub fn read(&mut self, seat: usize, round: u64) -> Option<(SlotHeader, Span)> {
        let entry = &self.slots()[seat].entries[round as usize % ENTRIES];
        if entry.sequence.load(Ordering::Acquire) != round {
            return None;
        }
        let shape = PackedHeader(entry.packed_header.load(Ordering::Relaxed));
        let head = shape.header(entry.bytes.load(Ordering::Relaxed));
        let len = shape.len().min(DATA);
        // SAFETY: the sequence says that its publisher is done with this entry, and it does not
        // write to it again before we have told to be done; until then the span is in use.
        let span = unsafe { self.lend(seat, round, len, AccessMode::Read) };
        if shape.behind() < PackedHeader::FAR_BEHIND {
            let known = &mut self.known[seat];
            *known = (*known).max(round.saturating_sub(shape.behind()));
        }
        Some((head, span))
    }

    /// Whether `local_rank` has published its entry of `round`, of which this seat is not done yet.
    ///
    /// # Panics
    /// If there is no such seat.
    #[inline]
    pub(crate) fn is_published(&self, seat: usize, round: u64) -> bool {
        let entry = &self.slots()[seat].entries[round as usize % ENTRIES];
        entry.sequence.load(Ordering::Relaxed) == round
    }

    /// This seat will not look at entries of `round` and earlier ones again. If that is true the
    /// others were told, and the device has to ring those who may wait for it.
    #[inline]
    #[must_use]
    pub fn done(&mut self, round: u64) -> bool {
        self.done = round;
        if round.saturating_sub(self.published_done) < Self::DONE_INTERVAL {
            return false;
        }
        self.published_done = round;
        self.slots()[self.local_rank].done.0.store(round, Ordering::Release);
        true
    }

    /// Looks how far the others are.
    #[cold]
    fn all_are_done_with(&mut self, round: u64) -> bool {
        let mut all = u64::MAX;
        for seat in (0..self.len()).filter(|seat| *seat != self.local_rank) {
            if self.known[seat] < round {
                let done = self.slots()[seat].done.0.load(Ordering::Acquire);
                self.known[seat] = done.max(self.known[seat]);
            }
            all = all.min(self.known[seat]);
            if all < round {
                return false;
            }
        }
        self.known_of_all = all;
        true
    }

    /// The bytes of an entry, which are in its line or in the store.
    ///
    /// # Safety
    /// As for [`SharedBytes::lend`]; the room is kept as long as the span is in use.
    #[inline]
    unsafe fn lend(&self, seat: usize, round: u64, len: usize, access: AccessMode) -> Span {
        let entry = round as usize % ENTRIES;
        if len <= INLINE {
            // SAFETY: the caller's promise.
            return unsafe { self.slots()[seat].entries[entry].data.lend(len, access) };
        }
        // SAFETY: the slice is alive (`new`) and consists of cells; the rest is as above.
        unsafe { self.buffers.as_ref()[seat].0[entry].lend(len, access) }
    }

    #[inline]
    fn slots(&self) -> &[SegmentSlot<ENTRIES>] {
        // SAFETY: the slice is alive (`new`); all of it is atomics and cells, valid whatever their
        // bits, which may change at any time.
        unsafe { self.slots.as_ref() }
    }

    /// The own seat is left; the last one clears the room and frees it. `word` is the room's.
    pub(crate) fn leave(self, word: &AtomicU32) {
        // Acquire: what the others have read and written happened before it is cleared.
        if word.fetch_add(1, Ordering::AcqRel) as usize != self.len() {
            return;
        }
        for seat in self.slots() {
            seat.clear();
        }
        word.store(0, Ordering::Release);
    }
}

impl<const ENTRIES: usize> SegmentSlot<ENTRIES> {
    /// As if never used. What was not used is not written to.
    fn clear(&self) {
        let sequences = self.entries.iter().map(|entry| &entry.sequence);
        for word in sequences.chain([&self.done.0]) {
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
    }
}

#[cfg(loom)]
impl<const ENTRIES: usize> SegmentSlot<ENTRIES> {
    /// Never used, for the model checker.
    pub(crate) fn new() -> Self {
        let entry = |_| SlotEntry {
            sequence: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            packed_header: AtomicU64::new(0),
            data: SharedBytes::new(),
        };
        Self { done: PaddedWord(AtomicU64::new(0)), entries: std::array::from_fn(entry) }
    }
}

#[cfg(loom)]
impl<const ENTRIES: usize, const DATA: usize> SlotBuffer<ENTRIES, DATA> {
    /// Never used, for the model checker.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| SharedBytes::new()))
    }
}

impl<const ENTRIES: usize, const DATA: usize> fmt::Debug for SizedSegment<ENTRIES, DATA> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, seat) = (self.number, self.local_rank);
        write!(f, "room {number}, seat {seat} of {}, round {}", self.len(), self.round)
    }
}

/// Takes a room that is free, the first one first: its pages have memory already.
pub(crate) fn claim(words: &[AtomicU32]) -> Option<usize> {
    let free = |word: &AtomicU32| {
        word.load(Ordering::Relaxed) == 0
            && word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    words.iter().position(free)
}

/// The rooms of a node, in memory that all its ranks share:
///
/// ```text
/// | a word for each room | its seats, room by room | its stores, room by room |
/// ```
#[derive(Clone)]
pub(crate) struct SegmentPool {
    start: NonNull<u8>,
    ranks: usize,
    memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: as for `SizedSegment`; all access is by atomics.
unsafe impl Send for SegmentPool {}
// SAFETY: as above.
unsafe impl Sync for SegmentPool {}

type PoolSlot = SegmentSlot<RING_ENTRIES>;
type PoolBuffer = SlotBuffer<RING_ENTRIES, DATA_MAX>;

impl SegmentPool {
    /// How much memory rooms for so many ranks take, in bytes; `None` if no address is as high.
    pub(crate) fn bytes(ranks: usize) -> Option<usize> {
        let count = Self::count(ranks);
        let stores = count.checked_mul(ranks)?.checked_mul(size_of::<PoolBuffer>())?;
        Self::offset_of_buffers(ranks).checked_add(stores)
    }

    /// How many there are: two for each rank, but not so many that they take too many addresses.
    pub(crate) fn count(ranks: usize) -> usize {
        let fitting = BYTES_MAX / size_of::<PoolBuffer>() / ranks.max(1);
        SEGMENTS_MIN.max(2 * ranks).min(fitting.max(1))
    }

    fn offset_of_slots(ranks: usize) -> usize {
        (Self::count(ranks) * size_of::<AtomicU32>()).next_multiple_of(align_of::<PoolSlot>())
    }

    fn offset_of_buffers(ranks: usize) -> usize {
        let seats = Self::count(ranks) * ranks * size_of::<PoolSlot>();
        (Self::offset_of_slots(ranks) + seats).next_multiple_of(align_of::<PoolBuffer>())
    }

    /// The rooms for `ranks` ranks.
    ///
    /// # Safety
    /// From `start` on, the beginning of a page, there are [`SegmentPool::bytes`] bytes as long as `memory`
    /// lives. They were zero when the first rank came, and are used through this only, by all ranks
    /// with the same number of `ranks`.
    pub(crate) unsafe fn new(
        start: NonNull<u8>, ranks: usize, memory: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert!(start.cast::<PoolBuffer>().is_aligned());
        Self { start, ranks, memory }
    }

    /// [`SharedMemory::claim`](crate::device::SharedMemory::claim).
    pub(crate) fn claim(&self) -> Option<u32> {
        claim(&self.words()[1..]).map(|index| index as u32 + 1)
    }

    /// [`SharedMemory::claim_spare`](crate::device::SharedMemory::claim_spare).
    pub(crate) fn claim_spare(&self) -> Option<u32> {
        let rooms = &self.words()[1..];
        let free = rooms.iter().filter(|word| word.load(Ordering::Relaxed) == 0).count();
        if 2 * free >= rooms.len() { self.claim() } else { None }
    }

    /// [`SharedMemory::release`](crate::device::SharedMemory::release).
    pub(crate) fn release(&self, number: u32) {
        if let Some(word) = self.words().get(number as usize) {
            word.store(0, Ordering::Release);
        }
    }

    /// Where the long data of room 0 lies, in bytes, if all of `ranks` are in it.
    pub(crate) fn first_segment_buffers(ranks: usize) -> Range<usize> {
        let start = Self::offset_of_buffers(ranks);
        start..start + ranks * size_of::<PoolBuffer>()
    }

    /// Enters room `number` in this seat of `slots`; `None` if there is no such room or none of
    /// that size.
    pub(crate) fn enter(&self, number: u32, seat: usize, seats: usize) -> Option<SharedSegment> {
        let room = number as usize;
        if room >= Self::count(self.ranks) || seats > self.ranks {
            return None;
        }
        let first = room * self.ranks;
        let own_seats = self.part::<PoolSlot>(Self::offset_of_slots(self.ranks), first, seats);
        let stores = self.part::<PoolBuffer>(Self::offset_of_buffers(self.ranks), first, seats);
        // SAFETY: both are inside the memory (`part`), zero at first and cleared by whoever left
        // last; a rank enters once between a claim and its leaving (`Shared::enter`).
        Some(unsafe { SharedSegment::new(number, seat, own_seats, stores, self.memory.clone()) })
    }

    /// [`SharedMemory::leave`](crate::device::SharedMemory::leave).
    pub(crate) fn leave(&self, room: SharedSegment) {
        if room.number > 0
            && let Some(word) = self.words().get(room.number as usize)
        {
            room.leave(word);
        }
    }

    fn words(&self) -> &[AtomicU32] {
        let words = self.part::<AtomicU32>(0, 0, Self::count(self.ranks));
        // SAFETY: alive and inside (`part`), and nothing but atomics.
        unsafe { words.as_ref() }
    }

    /// `count` elements from number `first` on of the array at `offset`.
    fn part<T>(&self, offset: usize, first: usize, count: usize) -> NonNull<[T]> {
        let at = offset + first * size_of::<T>();
        let bytes = Self::bytes(self.ranks).unwrap_or(0);
        assert!(at <= bytes && count * size_of::<T>() <= bytes - at);
        // SAFETY: inside the memory (above).
        let part = unsafe { self.start.add(at) }.cast::<T>();
        assert!(part.is_aligned());
        NonNull::slice_from_raw_parts(part, count)
    }
}
