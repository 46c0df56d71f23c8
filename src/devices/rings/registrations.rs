//! Registered memory: what the peers of a rank on its node may read and write.
//!
//! ```text
//! entry   generation (odd: in use)   access   address   length   file
//! key     generation << 32 | index + 1
//! ```
//!
//! The table of a rank lies in a segment; the rank writes to it, and its peers look keys up. A key is
//! invalid after the end of its registration, also if its entry is in use again. (On a Tofu the entry is
//! a steering tag: the receiving interface looks it up. The tag has 18 bits and the offset 40, in one
//! word beside six bits for the queue.)
//!
//! A *file* stands for memory that peers can map: an unnamed file of the owner, by the number of its
//! descriptor and the low half of its inode.

use std::collections::VecDeque;

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::device::rma::{MemoryKey, RemoteAccess};
use platform::base::{ErrorClass, Result, Span};

/// The largest number of registrations of a rank.
pub(crate) const REGISTRATIONS: usize = 1 << 16;

/// The table of one rank. All zero is empty.
#[repr(C, align(128))]
pub(crate) struct RegistrationTable([RegistrationEntry; REGISTRATIONS]);

#[repr(C, align(32))]
struct RegistrationEntry {
    /// Odd while it is in use.
    generation: AtomicU32,
    /// Not 0 if peers may write.
    writable: AtomicU32,
    address: AtomicU64,
    len_bytes: AtomicU64,
    /// [`MemoryFileNumber`]; 0 without a file.
    file: AtomicU64,
}

/// Free entries of a table, at its owner.
#[derive(Debug, Default)]
pub(crate) struct RegistrationPool {
    /// Released entries, reused in this order.
    released: VecDeque<u32>,
    /// The first entry that was never used.
    next_unused: u32,
}

/// An unnamed file of the owner of a table.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct MemoryFileNumber {
    /// The descriptor there.
    pub(crate) descriptor: u32,
    /// The low half of the inode.
    pub(crate) inode: u32,
}

/// Registered memory as its peers see it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Registration {
    /// In the process of the owner.
    address: u64,
    pub(crate) len_bytes: u64,
    pub(crate) access: RemoteAccess,
    /// What peers can map.
    pub(crate) file: Option<MemoryFileNumber>,
}

impl RegistrationTable {
    /// Registers `memory`. Only the owner of the table calls this.
    ///
    /// # Errors
    /// `NoMem` if all entries are in use.
    pub(crate) fn register(
        &self, pool: &mut RegistrationPool, memory: Span, access: RemoteAccess,
        file: Option<MemoryFileNumber>,
    ) -> Result<MemoryKey> {
        let fresh = (pool.next_unused < REGISTRATIONS as u32).then_some(pool.next_unused);
        let Some(index) = fresh.or_else(|| pool.released.pop_front()) else {
            let why = format!("this rank has registered memory {REGISTRATIONS} times, the maximum");
            return Err(ErrorClass::NoMem.error(why));
        };
        if fresh.is_some() {
            pool.next_unused += 1;
        }
        let entry = &self.0[index as usize];
        let writable = u32::from(access == RemoteAccess::ReadWrite);
        // A peer that sees one of them with a key of the last registration sees its end, too.
        entry.writable.store(writable, Ordering::Release);
        entry.address.store(memory.address() as u64, Ordering::Release);
        entry.len_bytes.store(memory.len() as u64, Ordering::Release);
        entry.file.store(MemoryFileNumber::pack(file), Ordering::Release);
        let generation = entry.generation.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        Ok(MemoryKey(u64::from(generation) << 32 | u64::from(index + 1)))
    }

    /// Ends a registration. Only the owner of the table calls this. Ignores an invalid key.
    pub(crate) fn deregister(&self, pool: &mut RegistrationPool, key: MemoryKey) {
        if let Some((index, entry)) = self.entry(key) {
            entry.generation.fetch_add(1, Ordering::AcqRel);
            pool.released.push_back(index as u32);
        }
    }

    /// The memory of `key`.
    ///
    /// # Errors
    /// `RmaRange` if the key is invalid.
    pub(crate) fn find(&self, key: MemoryKey) -> Result<Registration> {
        let find = || {
            let (_, entry) = self.entry(key)?;
            let found = Registration {
                address: entry.address.load(Ordering::Acquire),
                len_bytes: entry.len_bytes.load(Ordering::Acquire),
                access: match entry.writable.load(Ordering::Acquire) {
                    0 => RemoteAccess::Read,
                    _ => RemoteAccess::ReadWrite,
                },
                file: MemoryFileNumber::unpack(entry.file.load(Ordering::Acquire)),
            };
            // The entry may have been reused meanwhile.
            self.entry(key).map(|_| found)
        };
        find().ok_or_else(|| {
            let why = format!("the peer has registered no memory under key {:x}", key.0);
            ErrorClass::RmaRange.error(why)
        })
    }

    /// Whether `key` was valid before.
    pub(crate) fn has_ended(&self, key: MemoryKey) -> bool {
        let index = (key.0 as u32).checked_sub(1);
        let Some(entry) = index.and_then(|index| self.0.get(index as usize)) else { return false };
        let (was, now) = ((key.0 >> 32) as u32, entry.generation.load(Ordering::Acquire));
        was & 1 == 1 && was < now
    }

    /// The entry of `key` and its index, if the key is valid.
    fn entry(&self, key: MemoryKey) -> Option<(usize, &RegistrationEntry)> {
        let index = (key.0 as u32).checked_sub(1)? as usize;
        let (entry, wanted) = (self.0.get(index)?, (key.0 >> 32) as u32);
        let generation = entry.generation.load(Ordering::Acquire);
        (generation == wanted && generation & 1 == 1).then_some((index, entry))
    }
}

impl Registration {
    /// The address of `len` bytes from `offset` on, for this kind of access.
    ///
    /// # Errors
    /// `RmaRange` if the memory is shorter; `Access` if it is read-only.
    pub(crate) fn locate(self, offset: u64, len: usize, access: RemoteAccess) -> Result<u64> {
        if access == RemoteAccess::ReadWrite && self.access == RemoteAccess::Read {
            return Err(ErrorClass::Access.error("this memory of the peer is read-only"));
        }
        match offset.checked_add(len as u64) {
            Some(last) if last <= self.len_bytes => Ok(self.address.wrapping_add(offset)),
            _ => Err(ErrorClass::RmaRange.error(format!(
                "{len} bytes at offset {offset} are outside the {} registered bytes",
                self.len_bytes
            ))),
        }
    }
}

impl MemoryFileNumber {
    fn pack(file: Option<Self>) -> u64 {
        file.map_or(0, |file| u64::from(file.inode) << 32 | u64::from(file.descriptor + 1))
    }

    fn unpack(word: u64) -> Option<Self> {
        let descriptor = (word as u32).checked_sub(1)?;
        Some(Self { descriptor, inode: (word >> 32) as u32 })
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteAccess::{Read, ReadWrite};
    use super::*;
    use crate::devices::rings::memory::SegmentMemory;
    use platform::sys::shm;

    #[test]
    fn a_key_is_valid_while_its_memory_is_registered() {
        let bytes = 4096 + size_of::<RegistrationTable>();
        let segment = SegmentMemory::open(shm::create().unwrap(), Some(bytes), 1, 1).unwrap();
        let table = segment.part::<RegistrationTable>(4096);
        let mut pool = RegistrationPool::default();
        let find = |key, offset, len, access| table.find(key)?.locate(offset, len, access);
        let mut bytes = [0; 100];
        // SAFETY: only its address is used.
        let memory = unsafe { Span::of(&mut bytes) };
        let key = table.register(&mut pool, memory, ReadWrite, None).unwrap();
        let file = MemoryFileNumber { descriptor: 0, inode: u32::MAX };
        let other = table.register(&mut pool, memory.part(10, 5), Read, Some(file)).unwrap();
        let address = memory.address() as u64;
        assert_eq!(find(key, 0, 100, ReadWrite).unwrap(), address);
        assert_eq!(find(key, 100, 0, ReadWrite).unwrap(), address + 100);
        assert_eq!(find(other, 1, 4, Read).unwrap(), address + 11);
        assert_eq!(
            (table.find(key).unwrap().file, table.find(other).unwrap().file),
            (None, Some(file))
        );
        let error = find(other, 1, 4, ReadWrite).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Access as i32, "{error}");
        let range = |key, offset, len| {
            let error = find(key, offset, len, Read).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
        };
        range(key, 1, 100);
        range(key, u64::MAX, 2);
        range(other, 0, 6);
        range(MemoryKey(0), 0, 0);
        range(MemoryKey(key.0 + 7), 0, 0);
        assert!(!table.has_ended(key));
        table.deregister(&mut pool, key);
        range(key, 0, 0);
        assert!(table.has_ended(key) && !table.has_ended(MemoryKey(key.0 + (2 << 32))));
        assert!(![0, 7, 1 << 32].into_iter().any(|key| table.has_ended(MemoryKey(key))));
        table.deregister(&mut pool, key);
        pool.next_unused = REGISTRATIONS as u32;
        let again = table.register(&mut pool, memory, ReadWrite, None).unwrap();
        assert_ne!(again, key);
        range(key, 0, 0);
        assert_eq!(find(again, 0, 1, Read).unwrap(), address);
        let error = table.register(&mut pool, memory, ReadWrite, None).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::NoMem as i32, "{error}");
    }
}
