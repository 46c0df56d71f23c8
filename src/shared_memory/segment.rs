//! The shared segment of a communicator: memory that its ranks on one node share, used in rounds.
//!
//! A segment has a *slot* for each local rank. In round `s`, counted from 1 and equal on all ranks, each
//! rank may publish one *entry*, and every other rank may read it. A slot is a ring of [`RING_ENTRIES`]
//! entries; round `s` uses entry `s % RING_ENTRIES`:
//!
//! ```text
//!  slot    | progress | entry 0 | entry 1 | ... | entry 31 |      one line each: a small call of a
//!                          │                                      collective is one line per rank
//!                          └ sequence, header, up to 40 bytes
//!  buffer  | 4 KiB of entry 0 | 4 KiB of entry 1 | ...            longer data
//!          | 32 KiB | 32 KiB | ...                                long data: of rounds 0, 8, 16, 24; of 1, 9, ...
//! ```
//!
//! The ring is long, so that a rank that only publishes, as the root of a broadcast does, is not stopped by
//! every few calls of ranks without a processor. Long data have fewer places: they stay in the cache.
//!
//! ```text
//!  publisher   entry(s) ── fill ── publish(s): sequence = s, release
//!                 ^                                  │
//!                 │ all others are done with s - 32, │ acquire
//!                 │ or the last in the same place    v
//!  reader      done(s): sometimes     <── use ── read(s): sequence == s?
//! ```
//!
//! There is no atomic read-modify-write, no fence and no system call. A reader publishes its progress
//! every 16 rounds, or four if there were long data, in a line of its own, and also in each entry that it
//! publishes. Round numbers
//! have 64 bits and never repeat; sequence 0 is an unused entry. After it has published, a rank wakes
//! the ranks that sleep ([`Device::notify`]).
//!
//! # Awaited entries
//! A rank reads the entries of a round in the order of ranks. Before it sleeps it may declare whose entry
//! it waits for ([`AwaitedEntry`]), so that other publishers do not wake it: the first arrivals of many
//! ranks at a barrier would wake each other with every further arrival.
//!
//! ```text
//!  reader      awaited = 3, fence, read(3): not published        at least one side sees the other
//!  publisher   publish, fence: does anyone who sleeps await 3?
//! ```
//!
//! # Flags
//! Beside the rounds, a rank publishes its *flag* of agreement `n` of the communicator, in a word of its own
//! that agreement `n + 2` uses again. An agreement goes on where a round could not, after a rank has left a
//! collective half-way.
//!
//! ```text
//!  publisher   flag, fence: the flags of all? then wake the others     at least one rank sees all
//! ```
//!
//! # No circular wait
//! A rank that has published [`RING_ENTRIES`] rounds waits until the others are done with the first of
//! them, and one with long data until they are done with the last that had the same place, [`LONG_ENTRIES`]
//! rounds ago or more. All ranks make progress if each rank is done with a round at most four rounds
//! ([`SizedSegment::AHEAD`]) after it has published in that round, without waiting for a later round: it has
//! told of a round with long data four rounds later, of every other one 16 rounds later.
//!
//! # Leaving
//! All ranks enter a segment and all leave it, at any time. Published entries stay until then. The last
//! rank to leave clears the segment, which is free then. `SegmentPool` has a word for each segment:
//!
//! ```text
//!  free 0 ──claim──> 1 ──leave──> 2 ── ... ──the last leaves──> cleared, 0
//! ```
//!
//! Values read from a segment are masked or compared, and none is an address: damage by another
//! process can damage data and nothing else.
//!
//! [`Device::notify`]: crate::device::Device::notify
#![allow(unsafe_code)]

use std::any::Any;
use std::fmt;
use std::ops::Range;
use std::ptr::NonNull;
use std::sync::Arc;

use super::primitive::{AccessMode, AtomicU32, AtomicU64, Ordering, SharedBytes, full_fence};
use platform::base::Span;

/// Entries of a slot.
pub(crate) const RING_ENTRIES: usize = 32;

/// Places for long data.
pub(crate) const LONG_ENTRIES: usize = 8;

/// Bytes of data in the line of an entry.
pub(crate) const INLINE: usize = 40;

/// Bytes of data that are not long.
const SHORT_MAX: usize = 4 << 10;

/// Bytes of data in an entry.
const DATA_MAX: usize = 32 << 10;

/// The least number of segments, if they fit into [`BYTES_MAX`].
const SEGMENTS_MIN: usize = 64;

/// Address space for all segments, in bytes: more would not fit into a process with many ranks.
const BYTES_MAX: usize = 64 << 30;

/// A shared segment, at one of its ranks.
pub type SharedSegment = SizedSegment<RING_ENTRIES, SHORT_MAX, LONG_ENTRIES, DATA_MAX>;

/// Header of an entry, by which readers detect ranks in different calls.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct SlotHeader {
    /// Number of the collective operation, chosen by the user of the segment.
    pub kind: u8,
    /// The root.
    pub root: u32,
    /// Bytes of the whole call; the entry may hold a part of them.
    pub bytes: u64,
}

/// What the publishers of entries wake a rank for. The progress of readers wakes it in any case.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AwaitedEntry {
    Any,
    /// The entry of this local rank comes first.
    Of(u32),
    None,
}

impl AwaitedEntry {
    fn word(self) -> u32 {
        match self {
            Self::Any => 0,
            Self::Of(rank) => rank + 1,
            Self::None => u32::MAX,
        }
    }
}

/// The slot of one rank, without long data.
#[repr(C, align(128))]
pub(crate) struct SegmentSlot<const ENTRIES: usize> {
    progress: SlotProgress,
    flags: SlotFlags,
    entries: [SlotEntry; ENTRIES],
}

/// It has two lines of its own: processors fetch lines in pairs.
#[repr(C, align(128))]
struct SlotProgress {
    /// The rank has read all entries up to this round.
    done: AtomicU64,
    /// [`AwaitedEntry::word`].
    awaited: AtomicU32,
}

/// The flags of the last two agreements: each word is the number of the agreement, above, and the flag.
#[repr(C, align(128))]
struct SlotFlags([AtomicU64; 2]);

impl SlotFlags {
    fn of(&self, agreement: u32) -> &AtomicU64 {
        &self.0[agreement as usize % 2]
    }
}

/// What a rank has published of an agreement.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum PublishedFlag {
    Nothing,
    Flag(u32),
    /// A later agreement has the word.
    Overwritten,
}

#[repr(C, align(64))]
struct SlotEntry {
    /// The round of the entry; 0 before the first.
    sequence: AtomicU64,
    /// [`SlotHeader::bytes`].
    bytes: AtomicU64,
    /// [`PackedHeader`].
    packed_header: AtomicU64,
    data: SharedBytes<INLINE>,
}

/// The rest of a header, the length of the data, and the rounds that the publisher has not read yet:
/// root, length (16 bits), kind (8), rounds behind (8).
#[derive(Clone, Copy)]
struct PackedHeader(u64);

/// The data of a slot that are outside its lines.
#[repr(C, align(4096))]
pub(crate) struct SlotBuffer<
    const ENTRIES: usize,
    const SHORT: usize,
    const LONGS: usize,
    const DATA: usize,
> {
    short: [SharedBytes<SHORT>; ENTRIES],
    long: [SharedBytes<DATA>; LONGS],
}

/// A segment with slots of `ENTRIES` entries of up to `SHORT` bytes, or `DATA` bytes in one of `LONGS` places
/// ([`SharedSegment`]).
pub struct SizedSegment<
    const ENTRIES: usize,
    const SHORT: usize,
    const LONGS: usize,
    const DATA: usize,
> {
    // Both slices have an element for each rank. They live as long as `_memory`.
    slots: NonNull<[SegmentSlot<ENTRIES>]>,
    buffers: NonNull<[SlotBuffer<ENTRIES, SHORT, LONGS, DATA>]>,
    number: u32,
    local_rank: usize,
    /// Rounds begun.
    round: u64,
    /// Bytes of the entry that is being filled.
    len: usize,
    /// For each entry, and each place of long data, the round last published in it.
    used: [u64; ENTRIES],
    used_long: [u64; LONGS],
    /// Whether one of the rounds after `published_done` has long data, or may have.
    has_long: bool,
    /// The last round that this rank has read, and the last that it has published of that.
    done: u64,
    published_done: u64,
    /// Known progress of each rank, and of the slowest other rank.
    known: Box<[u64]>,
    known_of_all: u64,
    /// What this rank has declared.
    awaited: AwaitedEntry,
    _memory: Arc<dyn Any + Send + Sync>,
}

// SAFETY: the pointers lead to memory that threads and processes share anyway, and any thread may own
// `_memory`.
unsafe impl<const ENTRIES: usize, const SHORT: usize, const LONGS: usize, const DATA: usize> Send
    for SizedSegment<ENTRIES, SHORT, LONGS, DATA>
{
}

impl PackedHeader {
    /// This number of rounds behind, or more: unknown to readers.
    const FAR_BEHIND: u64 = 255;

    #[inline]
    fn new(header: SlotHeader, len: usize, behind: u64) -> Self {
        let low = (len as u64) << 16 | u64::from(header.kind) << 8 | behind.min(Self::FAR_BEHIND);
        Self(u64::from(header.root) << 32 | low)
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

impl<const ENTRIES: usize, const SHORT: usize, const LONGS: usize, const DATA: usize>
    SizedSegment<ENTRIES, SHORT, LONGS, DATA>
{
    /// The longest data of an entry, in bytes.
    pub(crate) const DATA_MAX: usize = DATA;

    /// A rank may publish this number of rounds before it is done with the first of them.
    pub(crate) const AHEAD: u64 = LONGS as u64 - Self::LONG_INTERVAL;

    /// A rank publishes its progress after this number of rounds, and after fewer with long data.
    const DONE_INTERVAL: u64 = (ENTRIES / 2) as u64;
    const LONG_INTERVAL: u64 = (LONGS / 2) as u64;

    const SOUND: () = assert!(
        ENTRIES.is_power_of_two()
            && LONGS.is_power_of_two()
            && ENTRIES >= LONGS
            && LONGS >= 2
            && SHORT <= DATA
            && DATA < 1 << 16
    );

    /// Segment `number` at `local_rank`, before the first round.
    ///
    /// # Safety
    /// `slots` and `buffers` have one element for each rank, are valid as long as `memory` lives, were
    /// zero (or cleared) when the first rank entered, and are accessed by these functions only. This is
    /// the only value for `local_rank` until all ranks have left.
    ///
    /// # Panics
    /// If there is no such local rank.
    pub(crate) unsafe fn new(
        number: u32, local_rank: usize, slots: NonNull<[SegmentSlot<ENTRIES>]>,
        buffers: NonNull<[SlotBuffer<ENTRIES, SHORT, LONGS, DATA>]>,
        memory: Arc<dyn Any + Send + Sync>,
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
            used_long: [0; LONGS],
            has_long: false,
            done: 0,
            published_done: 0,
            known: vec![0; slots.len()].into_boxed_slice(),
            known_of_all,
            awaited: AwaitedEntry::Any,
            _memory: memory,
        }
    }

    /// The number of the segment.
    pub fn number(&self) -> u32 {
        self.number
    }

    /// The local rank of this rank.
    #[inline]
    pub fn local_rank(&self) -> usize {
        self.local_rank
    }

    /// The number of ranks.
    #[inline]
    pub fn len(&self) -> usize {
        self.slots.len()
    }

    /// Begins `rounds` rounds, the same number on all ranks, and returns the first.
    #[inline]
    pub fn begin(&mut self, rounds: u64) -> u64 {
        let first = self.round + 1;
        self.round += rounds;
        first
    }

    /// Space for `len` bytes of data in the own entry of `round`, to be filled before
    /// [`SizedSegment::publish`]; `None` while a reader may still need the entry. Call it again after a
    /// wake-up.
    ///
    /// # Panics
    /// If `len` is more than [`SizedSegment::DATA_MAX`].
    #[inline]
    pub fn entry(&mut self, round: u64, len: usize) -> Option<Span> {
        assert!(len <= DATA);
        let mut used = self.used[round as usize % ENTRIES];
        if len > SHORT {
            used = used.max(self.used_long[round as usize % LONGS]);
        }
        if used > self.known_of_all && !self.all_are_done_with(used) {
            return None;
        }
        self.len = len;
        // SAFETY: all other ranks are done with the old entry, and read it again only after it is
        // published; the span is in use until then.
        Some(unsafe { self.lend(self.local_rank, round, len, AccessMode::Write) })
    }

    /// Publishes the last entry of [`SizedSegment::entry`], which must be of this round. The caller must
    /// notify the ranks that wait for it.
    #[inline]
    pub fn publish(&mut self, round: u64, header: SlotHeader) {
        self.used[round as usize % ENTRIES] = round;
        if self.len > SHORT {
            self.used_long[round as usize % LONGS] = round;
            self.has_long = true;
        }
        let shape = PackedHeader::new(header, self.len, round.saturating_sub(self.done));
        let entry = &self.slots()[self.local_rank].entries[round as usize % ENTRIES];
        entry.bytes.store(header.bytes, Ordering::Relaxed);
        entry.packed_header.store(shape.0, Ordering::Relaxed);
        entry.sequence.store(round, Ordering::Release);
    }

    /// The entry of another rank in `round`, with which this rank must not be done; `None` until it is
    /// published. The span may be read until [`SizedSegment::done`].
    ///
    /// # Panics
    /// If there is no such local rank.
    #[inline]
    pub fn read(&mut self, rank: usize, round: u64) -> Option<(SlotHeader, Span)> {
        let entry = &self.slots()[rank].entries[round as usize % ENTRIES];
        if entry.sequence.load(Ordering::Acquire) != round {
            return None;
        }
        let shape = PackedHeader(entry.packed_header.load(Ordering::Relaxed));
        let header = shape.header(entry.bytes.load(Ordering::Relaxed));
        let len = shape.len().min(DATA);
        self.has_long |= len > SHORT;
        // SAFETY: by the sequence, the publisher has written this entry, and it does not write it again
        // before this rank has published that it is done; the span is in use until then.
        let span = unsafe { self.lend(rank, round, len, AccessMode::Read) };
        if shape.behind() < PackedHeader::FAR_BEHIND {
            let known = &mut self.known[rank];
            *known = (*known).max(round.saturating_sub(shape.behind()));
        }
        Some((header, span))
    }

    /// Whether another rank has published its entry of `round`, with which this rank is not done.
    ///
    /// # Panics
    /// If there is no such local rank.
    #[inline]
    pub(crate) fn is_published(&self, rank: usize, round: u64) -> bool {
        let entry = &self.slots()[rank].entries[round as usize % ENTRIES];
        entry.sequence.load(Ordering::Relaxed) == round
    }

    /// This rank will not read entries of `round` or earlier again. One that it has not read `may_be_long`:
    /// longer than its own. True if that was published: the caller must notify the ranks that may wait for it.
    #[inline]
    #[must_use]
    pub fn done(&mut self, round: u64, may_be_long: bool) -> bool {
        self.done = round;
        self.has_long |= may_be_long;
        let interval = if self.has_long { Self::LONG_INTERVAL } else { Self::DONE_INTERVAL };
        if round.saturating_sub(self.published_done) < interval {
            return false;
        }
        self.published_done = round;
        self.has_long = false;
        self.slots()[self.local_rank].progress.done.store(round, Ordering::Release);
        true
    }

    /// What this rank has declared.
    #[inline]
    pub(crate) fn awaited(&self) -> AwaitedEntry {
        self.awaited
    }

    /// Declares what this rank waits for. The caller then looks for all entries that the publishers may
    /// have withheld a wake-up for: those that `awaited` names.
    pub(crate) fn declare_awaited(&mut self, awaited: AwaitedEntry) {
        if self.awaited != awaited {
            self.awaited = awaited;
            let word = &self.slots()[self.local_rank].progress.awaited;
            word.store(awaited.word(), Ordering::SeqCst);
            full_fence();
        }
    }

    /// Whether the rank, which sleeps, may wait for the entry that this rank has published.
    ///
    /// # Panics
    /// If there is no such local rank.
    pub(crate) fn is_awaited_by(&self, rank: usize) -> bool {
        full_fence();
        let seen = self.slots()[rank].progress.awaited.load(Ordering::SeqCst);
        let own = AwaitedEntry::Of(self.local_rank as u32);
        seen == AwaitedEntry::Any.word() || seen == own.word()
    }

    /// Publishes the flag of this rank in an agreement; they are counted from 1. The caller then looks for
    /// the flags of all, and notifies all others if it finds them.
    pub(crate) fn publish_flag(&self, agreement: u32, flag: u32) {
        let word = self.slots()[self.local_rank].flags.of(agreement);
        word.store(u64::from(agreement) << 32 | u64::from(flag), Ordering::SeqCst);
        full_fence();
    }

    /// What a rank has published in an agreement.
    ///
    /// # Panics
    /// If there is no such local rank.
    #[inline]
    pub(crate) fn flag(&self, rank: usize, agreement: u32) -> PublishedFlag {
        let word = self.slots()[rank].flags.of(agreement).load(Ordering::Acquire);
        let (published, flag) = ((word >> 32) as u32, word as u32);
        match published.cmp(&agreement) {
            std::cmp::Ordering::Less => PublishedFlag::Nothing,
            std::cmp::Ordering::Equal => PublishedFlag::Flag(flag),
            std::cmp::Ordering::Greater => PublishedFlag::Overwritten,
        }
    }

    /// Whether all other ranks are done with `round`.
    #[cold]
    fn all_are_done_with(&mut self, round: u64) -> bool {
        let mut all = u64::MAX;
        for rank in (0..self.len()).filter(|rank| *rank != self.local_rank) {
            if self.known[rank] < round {
                let done = self.slots()[rank].progress.done.load(Ordering::Acquire);
                self.known[rank] = done.max(self.known[rank]);
            }
            all = all.min(self.known[rank]);
            if all < round {
                return false;
            }
        }
        self.known_of_all = all;
        true
    }

    /// The bytes of an entry, in its line or in the buffer.
    ///
    /// # Safety
    /// As for [`SharedBytes::lend`]; the segment is not left while the span is in use.
    #[inline]
    unsafe fn lend(&self, rank: usize, round: u64, len: usize, access: AccessMode) -> Span {
        let entry = round as usize % ENTRIES;
        if len <= INLINE {
            // SAFETY: the caller's contract.
            return unsafe { self.slots()[rank].entries[entry].data.lend(len, access) };
        }
        // SAFETY: the slice is valid (`new`) and consists of cells.
        let buffer = unsafe { &self.buffers.as_ref()[rank] };
        if len <= SHORT {
            // SAFETY: the caller's contract.
            return unsafe { buffer.short[entry].lend(len, access) };
        }
        // SAFETY: the caller's contract.
        unsafe { buffer.long[round as usize % LONGS].lend(len, access) }
    }

    #[inline]
    fn slots(&self) -> &[SegmentSlot<ENTRIES>] {
        // SAFETY: the slice is valid (`new`) and consists of atomics and cells, for which every bit
        // pattern is valid and which may change at any time.
        unsafe { self.slots.as_ref() }
    }

    /// Leaves the segment; the last rank clears and frees it. `word` is the word of the segment.
    pub(crate) fn leave(self, word: &AtomicU32) {
        // Acquire: all accesses of other ranks happened before the segment is cleared.
        if word.fetch_add(1, Ordering::AcqRel) as usize != self.len() {
            return;
        }
        for slot in self.slots() {
            slot.clear();
        }
        word.store(0, Ordering::Release);
    }
}

impl<const ENTRIES: usize> SegmentSlot<ENTRIES> {
    /// Resets to zero; does not write to unused entries.
    fn clear(&self) {
        let sequences = self.entries.iter().map(|entry| &entry.sequence);
        for word in sequences.chain([&self.progress.done]).chain(&self.flags.0) {
            if word.load(Ordering::Relaxed) != 0 {
                word.store(0, Ordering::Relaxed);
            }
        }
        let awaited = &self.progress.awaited;
        if awaited.load(Ordering::Relaxed) != 0 {
            awaited.store(0, Ordering::Relaxed);
        }
    }
}

#[cfg(loom)]
impl<const ENTRIES: usize> SegmentSlot<ENTRIES> {
    /// Unused, for the model checker.
    pub(crate) fn new() -> Self {
        let entry = |_| SlotEntry {
            sequence: AtomicU64::new(0),
            bytes: AtomicU64::new(0),
            packed_header: AtomicU64::new(0),
            data: SharedBytes::new(),
        };
        let progress = SlotProgress { done: AtomicU64::new(0), awaited: AtomicU32::new(0) };
        let flags = SlotFlags(std::array::from_fn(|_| AtomicU64::new(0)));
        Self { progress, flags, entries: std::array::from_fn(entry) }
    }
}

#[cfg(loom)]
impl<const ENTRIES: usize, const SHORT: usize, const LONGS: usize, const DATA: usize>
    SlotBuffer<ENTRIES, SHORT, LONGS, DATA>
{
    /// Unused, for the model checker.
    pub(crate) fn new() -> Self {
        Self {
            short: std::array::from_fn(|_| SharedBytes::new()),
            long: std::array::from_fn(|_| SharedBytes::new()),
        }
    }
}

impl<const ENTRIES: usize, const SHORT: usize, const LONGS: usize, const DATA: usize> fmt::Debug
    for SizedSegment<ENTRIES, SHORT, LONGS, DATA>
{
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (number, local_rank) = (self.number, self.local_rank);
        write!(
            f,
            "segment {number}, local rank {local_rank} of {}, round {}",
            self.len(),
            self.round
        )
    }
}

/// Claims the first free segment: its pages are present already.
pub(crate) fn claim(words: &[AtomicU32]) -> Option<usize> {
    let free = |word: &AtomicU32| {
        word.load(Ordering::Relaxed) == 0
            && word.compare_exchange(0, 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    };
    words.iter().position(free)
}

/// The segments of a node, in memory that all its ranks share:
///
/// ```text
/// | a word for each segment | slots of all segments | buffers of all segments |
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
type PoolBuffer = SlotBuffer<RING_ENTRIES, SHORT_MAX, LONG_ENTRIES, DATA_MAX>;

impl SegmentPool {
    /// Memory for the segments of this number of ranks, in bytes; `None` if it exceeds the address space.
    pub(crate) fn bytes(ranks: usize) -> Option<usize> {
        let count = Self::count(ranks);
        let buffers = count.checked_mul(ranks)?.checked_mul(size_of::<PoolBuffer>())?;
        Self::offset_of_buffers(ranks).checked_add(buffers)
    }

    /// The number of segments: two for each rank, within the limit of the address space.
    pub(crate) fn count(ranks: usize) -> usize {
        let fitting = BYTES_MAX / size_of::<PoolBuffer>() / ranks.max(1);
        SEGMENTS_MIN.max(2 * ranks).min(fitting.max(1))
    }

    fn offset_of_slots(ranks: usize) -> usize {
        (Self::count(ranks) * size_of::<AtomicU32>()).next_multiple_of(align_of::<PoolSlot>())
    }

    fn offset_of_buffers(ranks: usize) -> usize {
        let slots = Self::count(ranks) * ranks * size_of::<PoolSlot>();
        (Self::offset_of_slots(ranks) + slots).next_multiple_of(align_of::<PoolBuffer>())
    }

    /// The pool for `ranks` ranks.
    ///
    /// # Safety
    /// `start` is the beginning of a page, followed by [`SegmentPool::bytes`] bytes as long as `memory`
    /// lives. They were zero when the first rank attached, and are accessed by this type only, on all
    /// ranks with the same number of `ranks`.
    pub(crate) unsafe fn new(
        start: NonNull<u8>, ranks: usize, memory: Arc<dyn Any + Send + Sync>,
    ) -> Self {
        assert!(start.cast::<PoolBuffer>().is_aligned());
        Self { start, ranks, memory }
    }

    /// The pool for `ranks` ranks in `memory`, which is mapped as long as `owner` lives, was zero when it was
    /// made, and is used by pools only; `None` if it is too short or does not begin at a page.
    pub(crate) fn over(
        memory: Span, ranks: usize, owner: Arc<dyn Any + Send + Sync>,
    ) -> Option<Self> {
        let start = NonNull::new(memory.address() as *mut u8)?;
        let fits = Self::bytes(ranks).is_some_and(|bytes| bytes <= memory.len());
        // SAFETY: as long as checked here; the rest is what the caller says of the memory, whose span
        // carries the promise that it may be accessed.
        (fits && start.cast::<PoolBuffer>().is_aligned())
            .then(|| unsafe { Self::new(start, ranks, owner) })
    }

    /// [`SharedMemory::claim`](crate::device::SharedMemory::claim).
    pub(crate) fn claim(&self) -> Option<u32> {
        claim(&self.words()[1..]).map(|index| index as u32 + 1)
    }

    /// [`SharedMemory::claim_spare`](crate::device::SharedMemory::claim_spare).
    pub(crate) fn claim_spare(&self) -> Option<u32> {
        let words = &self.words()[1..];
        let free = words.iter().filter(|word| word.load(Ordering::Relaxed) == 0).count();
        if 2 * free >= words.len() { self.claim() } else { None }
    }

    /// [`SharedMemory::release`](crate::device::SharedMemory::release).
    pub(crate) fn release(&self, number: u32) {
        if let Some(word) = self.words().get(number as usize) {
            word.store(0, Ordering::Release);
        }
    }

    /// Range of the buffers of segment 0 with all of `ranks` in it, in bytes.
    pub(crate) fn first_segment_buffers(ranks: usize) -> Range<usize> {
        let start = Self::offset_of_buffers(ranks);
        start..start + ranks * size_of::<PoolBuffer>()
    }

    /// Enters segment `number` as `local_rank` of `len` ranks; `None` if there is no such segment or it is
    /// too small.
    pub(crate) fn enter(
        &self, number: u32, local_rank: usize, len: usize,
    ) -> Option<SharedSegment> {
        let index = number as usize;
        if index >= Self::count(self.ranks) || len > self.ranks {
            return None;
        }
        let first = index * self.ranks;
        let slots = self.part::<PoolSlot>(Self::offset_of_slots(self.ranks), first, len);
        let buffers = self.part::<PoolBuffer>(Self::offset_of_buffers(self.ranks), first, len);
        // SAFETY: both are inside the memory (`part`), zero at first and cleared by the last rank that
        // left; a rank enters once between claim and leaving (`SharedMemory::enter`).
        Some(unsafe { SharedSegment::new(number, local_rank, slots, buffers, self.memory.clone()) })
    }

    /// [`SharedMemory::leave`](crate::device::SharedMemory::leave).
    pub(crate) fn leave(&self, segment: SharedSegment) {
        if segment.number > 0
            && let Some(word) = self.words().get(segment.number as usize)
        {
            segment.leave(word);
        }
    }

    fn words(&self) -> &[AtomicU32] {
        let words = self.part::<AtomicU32>(0, 0, Self::count(self.ranks));
        // SAFETY: valid and inside (`part`), and nothing but atomics.
        unsafe { words.as_ref() }
    }

    /// `count` elements of the array at `offset`, from index `first` on.
    fn part<T>(&self, offset: usize, first: usize, count: usize) -> NonNull<[T]> {
        let at = offset + first * size_of::<T>();
        let bytes = Self::bytes(self.ranks).unwrap_or(0);
        assert!(at <= bytes && count * size_of::<T>() <= bytes - at);
        // SAFETY: inside the memory (checked above).
        let part = unsafe { self.start.add(at) }.cast::<T>();
        assert!(part.is_aligned());
        NonNull::slice_from_raw_parts(part, count)
    }
}
