//! The short way of an access: both places are memory that this process can read and write, and no access is
//! in progress. No lock is taken, and no queue is asked.
//!
//! ```text
//!   access ──> nothing in progress? both places here? ──yes──> copy or atomic change, next number
//!                                                     \─no──> nothing has happened: the queue
//! ```
//!
//! Memory is here if it is registered by this rank, or system memory of a rank that the device maps. Any
//! thread may come here at any time. The number that an access takes is an atomic addition after its last
//! store, which also is the fence between the store and later loads of this process.
#![allow(unsafe_code)]

use std::sync::atomic::{AtomicBool, AtomicU32, AtomicU64, AtomicUsize, Ordering};

use super::address::{AddressFields, AddressLayout, GlobalAddress, SYSTEM_REGIONS};
use super::directory::DirectoryEntry;
use super::refusal::{not_registered, outside, outside_system};
use crate::device::rma::{NumberKind, Update};
use crate::shared_memory::primitive::fence_after_update;
use platform::base::{MpiError, Span};

/// The alignment of regions of system memory, in bytes.
const PAGE: usize = 4096;

/// Short accesses for each poll: a loop of them may wait for what another rank does, which may need this one.
const ACCESSES_PER_POLL: u32 = 64;

/// The regions of system memory, one behind the other; the same on all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SystemLayout {
    /// The first byte of each and its length, by region.
    regions: [(usize, usize); SYSTEM_REGIONS as usize],
}

impl SystemLayout {
    /// Regions of these lengths, in bytes; `None` if they are too long.
    pub(crate) fn new(bytes: [usize; SYSTEM_REGIONS as usize]) -> Option<Self> {
        let mut end = 0_usize;
        let mut regions = [(0, 0); SYSTEM_REGIONS as usize];
        for (region, len) in regions.iter_mut().zip(bytes) {
            let start = end.checked_next_multiple_of(PAGE)?;
            *region = (start, len);
            end = start.checked_add(len).filter(|end| *end <= isize::MAX as usize)?;
        }
        Some(Self { regions })
    }

    /// The length of all system memory, in bytes.
    pub(crate) fn bytes(&self) -> usize {
        self.regions.last().map_or(0, |(start, len)| start + len)
    }

    /// The length of a region.
    pub(crate) fn len_of(&self, region: u32) -> usize {
        self.regions[region as usize].1
    }
}

/// What accesses share that take the short way.
#[derive(Debug)]
pub(crate) struct GlobalFront {
    layout: AddressLayout,
    rank: u32,
    directory: &'static [DirectoryEntry],
    /// Where the system memory of each rank is mapped; 0 if it is not.
    bases: Box<[AtomicUsize]>,
    layout_of_system: SystemLayout,
    /// The number of the last access.
    last: AtomicU64,
    /// Whether accesses are in progress.
    is_busy: AtomicBool,
    /// Whether callers carry out accesses.
    bypasses: bool,
    /// Accesses by the short way, for the polls.
    count: AtomicU32,
}

impl GlobalFront {
    /// At a rank with this directory and system memory.
    pub(crate) fn new(
        layout: AddressLayout, rank: u32, directory: &'static [DirectoryEntry],
        (layout_of_system, system): (SystemLayout, Span), bypasses: bool,
    ) -> Self {
        let bases: Box<[AtomicUsize]> = (0..layout.ranks()).map(|_| AtomicUsize::new(0)).collect();
        bases[rank as usize].store(system.address(), Ordering::Relaxed);
        Self {
            layout,
            rank,
            directory,
            bases,
            layout_of_system,
            last: AtomicU64::new(0),
            is_busy: AtomicBool::new(false),
            bypasses,
            count: AtomicU32::new(0),
        }
    }

    pub(crate) fn layout(&self) -> AddressLayout {
        self.layout
    }

    pub(crate) fn rank(&self) -> u32 {
        self.rank
    }

    /// The system memory of a rank is mapped here.
    pub(crate) fn map(&self, rank: u32, system: Span) {
        self.bases[rank as usize].store(system.address(), Ordering::Release);
    }

    /// The number of the last access.
    pub(crate) fn last_number(&self) -> u64 {
        self.last.load(Ordering::Relaxed)
    }

    /// The number of a new access.
    pub(crate) fn next_number(&self) -> u64 {
        self.last.fetch_add(1, Ordering::Relaxed) + 1
    }

    /// Records whether accesses are in progress; by the thread that holds the process lock.
    pub(crate) fn set_busy(&self, is_busy: bool) {
        self.is_busy.store(is_busy, Ordering::Release);
    }

    /// Whether accesses are in progress.
    #[inline(always)]
    pub(crate) fn is_busy(&self) -> bool {
        // Acquire: what has been carried out by the thread that found them completed.
        self.is_busy.load(Ordering::Acquire)
    }

    /// The memory of `len` bytes if it is here.
    #[inline(always)]
    pub(crate) fn find(&self, address: GlobalAddress, len: usize) -> Option<Span> {
        self.find_fields(self.layout.split(address)?, len)
    }

    /// The same for memory of this rank only.
    #[inline(always)]
    pub(crate) fn find_own(&self, address: GlobalAddress, len: usize) -> Option<Span> {
        let fields = self.layout.split(address).filter(|fields| fields.rank == self.rank)?;
        self.find_fields(fields, len)
    }

    #[inline(always)]
    pub(crate) fn find_fields(&self, fields: AddressFields, len: usize) -> Option<Span> {
        if fields.region < SYSTEM_REGIONS {
            let base = self.bases[fields.rank as usize].load(Ordering::Acquire);
            let place = self.in_system(fields, len).filter(|_| base != 0)?;
            // SAFETY: system memory of this length is mapped at the base until all ranks have ended its use;
            // an access is the application's, with its promise.
            return Some(unsafe { Span::new((base + place) as *const u8, len) });
        }
        if fields.rank != self.rank {
            return None;
        }
        self.directory[fields.region as usize].region()?.memory(fields, len)
    }

    /// The offset of `len` bytes in system memory, if they are inside.
    #[inline(always)]
    pub(crate) fn in_system(&self, fields: AddressFields, len: usize) -> Option<usize> {
        let (start, bytes) = *self.layout_of_system.regions.get(fields.region as usize)?;
        let offset = fields.offset as usize;
        let is_inside = offset <= bytes && len <= bytes - offset;
        (is_inside && fields.generation == 0 && fields.colour == 0).then_some(start + offset)
    }

    /// Why `len` bytes of this rank are not there.
    #[cold]
    pub(crate) fn refusal(&self, fields: AddressFields, len: usize) -> Box<MpiError> {
        if fields.region < SYSTEM_REGIONS {
            let bytes = self.layout_of_system.len_of(fields.region);
            return outside_system(bytes, fields, len);
        }
        match self.directory[fields.region as usize].region() {
            Some(region) => outside(region, fields, len),
            None => not_registered(fields),
        }
    }

    /// Whether the short way is open.
    #[inline(always)]
    fn is_open(&self) -> bool {
        self.bypasses && !self.is_busy()
    }

    /// Copies by the short way; the number of the access. `None`, without effect, if there is no such way.
    #[inline(always)]
    pub(crate) fn copy(&self, to: GlobalAddress, from: GlobalAddress, len: usize) -> Option<u64> {
        if !self.is_open() {
            return None;
        }
        if len > 0 {
            let (to, from) = (self.find(to, len)?, self.find(from, len)?);
            from.copy_untorn(to);
        }
        Some(self.end())
    }

    /// Copies to memory of this process by the short way; false, without effect, if there is none.
    #[inline]
    pub(crate) fn read(&self, from: GlobalAddress, into: Span) -> bool {
        let found = if self.is_open() { self.find(from, into.len()) } else { None };
        found.inspect(|from| from.copy_untorn(into)).is_some()
    }

    /// Copies memory of this process by the short way; false, without effect, if there is none.
    #[inline]
    pub(crate) fn write(&self, to: GlobalAddress, from: Span) -> bool {
        let found = if self.is_open() { self.find(to, from.len()) } else { None };
        let is_here = found.inspect(|to| from.copy_untorn(*to)).is_some();
        if is_here {
            self.end();
        }
        is_here
    }

    /// Changes a number by the short way; the old number. `None`, without effect, if there is none, or if the
    /// number is not aligned.
    #[inline(always)]
    pub(crate) fn update(
        &self, at: GlobalAddress, kind: NumberKind, update: Update,
    ) -> Option<u64> {
        let number = if self.is_open() { self.find(at, kind.bytes())? } else { return None };
        number.address().is_multiple_of(kind.bytes()).then(|| update.perform(number, kind))
    }

    /// Counts an access that is complete.
    #[inline(always)]
    pub(crate) fn end(&self) -> u64 {
        let number = self.next_number();
        fence_after_update();
        number
    }

    /// Whether it is time to poll.
    #[inline(always)]
    pub(crate) fn is_poll_due(&self) -> bool {
        // Threads may lose a count to each other.
        let count = self.count.load(Ordering::Relaxed).wrapping_add(1);
        self.count.store(count, Ordering::Relaxed);
        count.is_multiple_of(ACCESSES_PER_POLL)
    }
}
