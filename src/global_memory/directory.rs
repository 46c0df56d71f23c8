//! The registered regions of a rank, in memory that its peers read.
//!
//! ```text
//!   by region number   state: generation, first offset, in use │ key │ address │ end
//! ```
//!
//! The owner writes an entry before its first address is used, and clears it when the region ends. It looks
//! up its own regions here without a lock; a peer reads an entry, by the memory itself or with a get, and
//! then accesses the region by its key. The first offset of a region is its address modulo 64, so a global
//! address is aligned as its memory is.
//!
//! Zeros are an empty directory. Numbers are given out in turn, so one that has ended is used again last.
#![allow(unsafe_code)]

use std::collections::BTreeMap;
use std::sync::atomic::{AtomicU64, Ordering};

use super::address::{AddressFields, AddressLayout, SYSTEM_REGIONS};
use crate::device::rma::MemoryKey;
use platform::base::{ErrorClass, MpiError, Result, Span};

/// What a global address and its memory agree in, in bytes.
pub(crate) const ALIGNMENT: u64 = 64;

/// In use.
const LIVE: u64 = 1;
const FIRST_SHIFT: u32 = 1;
const GENERATION_SHIFT: u32 = 8;

/// An entry in memory.
#[derive(Debug, Default)]
#[repr(C)]
pub(crate) struct DirectoryEntry {
    state: AtomicU64,
    key: AtomicU64,
    address: AtomicU64,
    end: AtomicU64,
}

/// The content of an entry that is in use.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DirectoryRegion {
    pub(crate) generation: u32,
    /// The offset of the first byte.
    pub(crate) first: u64,
    /// The key of the region at the device.
    pub(crate) key: MemoryKey,
    /// The address of offset 0 in the process of the owner.
    address: u64,
    /// The offset behind the last byte.
    pub(crate) end: u64,
}

/// The length of an entry, in bytes.
pub(crate) const ENTRY_BYTES: usize = size_of::<DirectoryEntry>();

impl DirectoryEntry {
    /// The region; `None` if the entry is not in use or changes at this time.
    #[inline]
    pub(crate) fn region(&self) -> Option<DirectoryRegion> {
        let state = self.state.load(Ordering::Acquire);
        let words = [&self.key, &self.address, &self.end].map(|word| word.load(Ordering::Acquire));
        let is_same = self.state.load(Ordering::Relaxed) == state;
        DirectoryRegion::of_words([state, words[0], words[1], words[2]]).filter(|_| is_same)
    }

    fn set(&self, region: DirectoryRegion) {
        self.key.store(region.key.0, Ordering::Release);
        self.address.store(region.address, Ordering::Release);
        self.end.store(region.end, Ordering::Release);
        self.state.store(region.state(), Ordering::Release);
    }

    fn clear(&self) {
        self.state.store(0, Ordering::Release);
    }
}

impl DirectoryRegion {
    /// The region of an entry that a get has brought.
    pub(crate) fn parse(bytes: &[u8; ENTRY_BYTES]) -> Option<Self> {
        let word = |at: usize| bytes[8 * at..].first_chunk().copied().map_or(0, u64::from_ne_bytes);
        Self::of_words([0, 1, 2, 3].map(word))
    }

    #[inline]
    fn of_words([state, key, address, end]: [u64; 4]) -> Option<Self> {
        (state & LIVE != 0).then_some(Self {
            generation: (state >> GENERATION_SHIFT) as u32,
            first: state >> FIRST_SHIFT & (ALIGNMENT - 1),
            key: MemoryKey(key),
            address,
            end,
        })
    }

    fn state(&self) -> u64 {
        u64::from(self.generation) << GENERATION_SHIFT | self.first << FIRST_SHIFT | LIVE
    }

    /// Whether `len` bytes from an offset on are in the region of this generation.
    #[inline]
    pub(crate) fn has(&self, fields: AddressFields, len: usize) -> bool {
        let behind = fields.offset.wrapping_add(len as u64);
        fields.generation == self.generation
            && fields.offset >= self.first
            && behind >= fields.offset
            && behind <= self.end
    }

    /// The memory of `len` bytes, for the owner.
    #[inline]
    pub(crate) fn memory(&self, fields: AddressFields, len: usize) -> Option<Span> {
        let address = self.address.wrapping_add(fields.offset) as *const u8;
        // SAFETY: these bytes are in the region, which the application has registered and whose registration
        // has not ended; the promise of an access is the application's.
        self.has(fields, len).then(|| unsafe { Span::new(address, len) })
    }
}

/// The entries in the memory of a directory, which is mapped as long as they are used, and which all
/// processes use as entries only.
///
/// # Panics
/// If it is not aligned.
pub(crate) fn entries(memory: Span) -> &'static [DirectoryEntry] {
    assert!(memory.address().is_multiple_of(align_of::<DirectoryEntry>()));
    let count = memory.len() / ENTRY_BYTES;
    // SAFETY: mapped for long enough (the promise above); atomics have no invalid values.
    unsafe { std::slice::from_raw_parts(memory.address() as *const DirectoryEntry, count) }
}

/// The regions of this rank.
#[derive(Debug)]
pub(crate) struct RegionTable {
    layout: AddressLayout,
    entries: &'static [DirectoryEntry],
    /// By the first number of a region.
    regions: BTreeMap<u32, RegisteredRegion>,
    /// The number at which the search for a free one begins.
    next: u32,
    generation: u32,
}

#[derive(Clone, Copy, Debug)]
struct RegisteredRegion {
    numbers: u32,
    generation: u32,
    key: MemoryKey,
}

/// The place of a region in global addresses.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RegionPlace {
    pub(crate) region: u32,
    pub(crate) generation: u32,
    /// The offset of the first byte.
    pub(crate) first: u64,
}

impl RegionTable {
    /// A table over an empty directory.
    ///
    /// # Panics
    /// If the directory has another number of entries than the layout.
    pub(crate) fn new(layout: AddressLayout, entries: &'static [DirectoryEntry]) -> Self {
        assert_eq!(entries.len(), layout.regions() as usize);
        Self { layout, entries, regions: BTreeMap::new(), next: SYSTEM_REGIONS, generation: 0 }
    }

    /// Adds memory that is registered at the device under `key`.
    ///
    /// # Errors
    /// `NoMem` if no number is free.
    pub(crate) fn insert(&mut self, memory: Span, key: MemoryKey) -> Result<RegionPlace> {
        let first = memory.address() as u64 % ALIGNMENT;
        let end = first + memory.len() as u64;
        let numbers = end.div_ceil(self.layout.offsets()).max(1);
        let count = self.regions.len();
        let full = || no_number(count);
        let numbers = u32::try_from(numbers).map_err(|_| full())?;
        let region = self.find_free(numbers).ok_or_else(full)?;
        let generation = self.generation;
        for (index, number) in (0..).zip(region..region + numbers) {
            let before = index * self.layout.offsets();
            self.entries[number as usize].set(DirectoryRegion {
                generation,
                first: if index == 0 { first } else { 0 },
                key,
                address: memory.address() as u64 - first + before,
                end: end - before,
            });
        }
        self.regions.insert(region, RegisteredRegion { numbers, generation, key });
        self.next = region + numbers;
        Ok(RegionPlace { region, generation, first })
    }

    /// The first of `numbers` free ones in a row; the generation is that of a region there.
    fn find_free(&mut self, numbers: u32) -> Option<u32> {
        let last = self.layout.regions();
        for _ in 0..2 {
            let mut start = self.next;
            // Behind each region that begins in the way.
            while let Some(end) = start.checked_add(numbers).filter(|end| *end <= last) {
                let before = self.regions.range(..end).next_back();
                match before.map(|(at, region)| at + region.numbers) {
                    Some(behind) if behind > start => start = behind,
                    _ => return Some(start),
                }
            }
            self.next = SYSTEM_REGIONS;
            self.generation = (self.generation + 1) % self.layout.generations();
        }
        None
    }

    /// Ends a region; its key at the device. `None` if there is no such region.
    pub(crate) fn remove(&mut self, region: u32, generation: u32) -> Option<MemoryKey> {
        self.regions.get(&region).filter(|found| found.generation == generation)?;
        let RegisteredRegion { numbers, key, .. } = self.regions.remove(&region)?;
        for number in region..region + numbers {
            self.entries[number as usize].clear();
        }
        Some(key)
    }

    /// Ends all regions; their keys.
    pub(crate) fn clear(&mut self) -> Vec<MemoryKey> {
        let all: Vec<_> = self.regions.iter().map(|(at, it)| (*at, it.generation)).collect();
        all.into_iter().filter_map(|(region, generation)| self.remove(region, generation)).collect()
    }

    /// The number of the region that a number belongs to, if it is this rank's and of this generation.
    pub(crate) fn start_of(&self, number: u32, generation: u32) -> Option<u32> {
        let (start, region) = self.regions.range(..=number).next_back()?;
        (number - start < region.numbers && region.generation == generation).then_some(*start)
    }
}

#[cold]
fn no_number(regions: usize) -> Box<MpiError> {
    ErrorClass::NoMem
        .error(format!("this rank has {regions} regions, and no number is free for one more"))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn table(layout: AddressLayout) -> RegionTable {
        let words = vec![0_u64; layout.regions() as usize * ENTRY_BYTES / 8].leak();
        // SAFETY: leaked, and used for this only.
        let memory = unsafe { Span::new(words.as_ptr().cast(), size_of_val(words)) };
        RegionTable::new(layout, entries(memory))
    }

    fn span(address: usize, len: usize) -> Span {
        // SAFETY: nothing is read or written there.
        unsafe { Span::new(address as *const u8, len) }
    }

    fn fields(place: RegionPlace, more: u64) -> AddressFields {
        let RegionPlace { region, generation, first } = place;
        AddressFields { rank: 0, colour: 0, generation, region, offset: first + more }
    }

    fn find(table: &RegionTable, fields: AddressFields, len: usize) -> Option<usize> {
        let region = table.entries[fields.region as usize].region()?;
        Some(region.memory(fields, len)?.address())
    }

    #[test]
    fn a_region_has_its_bytes_and_no_others() {
        let layout = AddressLayout::new(4, 1);
        let mut table = table(layout);
        let place = table.insert(span(0x1_0007, 100), MemoryKey(5)).unwrap();
        assert_eq!(place.first, 7);
        let found = |more: u64, len| find(&table, fields(place, more), len);
        assert_eq!((found(0, 100), found(99, 1)), (Some(0x1_0007), Some(0x1_0007 + 99)));
        assert_eq!((found(100, 0), found(100, 1), found(0, 101)), (Some(0x1_006b), None, None));
        assert_eq!(found(0, usize::MAX), None);
        assert_eq!(find(&table, AddressFields { offset: 6, ..fields(place, 0) }, 1), None);
        let other = AddressFields { generation: 1, ..fields(place, 0) };
        assert_eq!(find(&table, other, 1), None);
        let entry = &table.entries[place.region as usize];
        let words = [&entry.state, &entry.key, &entry.address, &entry.end];
        let bytes: Vec<u8> =
            words.iter().flat_map(|word| word.load(Ordering::Relaxed).to_ne_bytes()).collect();
        assert_eq!(DirectoryRegion::parse(bytes[..].try_into().unwrap()), entry.region());
        assert_eq!(table.remove(place.region, 1), None);
        assert_eq!(table.remove(place.region, 0), Some(MemoryKey(5)));
        assert_eq!(
            (find(&table, fields(place, 0), 1), table.remove(place.region, 0)),
            (None, None)
        );
    }

    #[test]
    fn a_long_region_has_several_numbers() {
        let layout = AddressLayout::new(1 << 20, 1);
        let each = layout.offsets() as usize;
        let mut table = table(layout);
        let place = table.insert(span(0x4000_0040, 3 * each - 10), MemoryKey(1)).unwrap();
        for (index, offset) in [(0, 0), (1, 5), (2, each - 11)] {
            let at = AddressFields {
                region: place.region + index as u32,
                offset: offset as u64,
                ..fields(place, 0)
            };
            let address = 0x4000_0040 + index * each + offset;
            assert_eq!(find(&table, at, 1), Some(address));
        }
        let at = AddressFields { region: place.region + 1, ..fields(place, 0) };
        assert_eq!(find(&table, at, 2 * each - 10), Some(0x4000_0040 + each));
        assert_eq!(find(&table, at, 2 * each - 9), None);
        assert_eq!(table.start_of(place.region + 2, 0), Some(place.region));
        assert_eq!(table.start_of(place.region + 3, 0), None);
        table.remove(place.region, 0).unwrap();
        assert_eq!(find(&table, at, 1), None);
    }

    #[test]
    fn numbers_are_used_in_turn_and_generations_change() {
        let layout = AddressLayout::new(1 << 20, 1);
        let all = layout.regions() - 1;
        let mut table = table(layout);
        let insert = |table: &mut RegionTable, numbers: u64| {
            let len = (numbers * layout.offsets()) as usize;
            table.insert(span(0x4000, len), MemoryKey(1)).map(|at| (at.region, at.generation))
        };
        let kept = insert(&mut table, 1).unwrap();
        assert_eq!(kept, (2, 0));
        for number in 3..=all {
            assert_eq!(insert(&mut table, 1).unwrap(), (number, 0));
            table.remove(number, 0).unwrap();
        }
        assert_eq!(insert(&mut table, 2).unwrap(), (3, 1));
        assert_eq!(insert(&mut table, u64::from(all - 4)).unwrap(), (5, 1));
        let error = insert(&mut table, 1).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::NoMem as i32);
        table.remove(3, 1).unwrap();
        let (region, generation) = insert(&mut table, 1).unwrap();
        assert!(region == 3 && generation != 1);
        assert_eq!(table.clear().len(), 3);
        assert!(table.regions.is_empty());
    }
}
