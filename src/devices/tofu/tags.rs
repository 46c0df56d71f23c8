//! Steering tags: the memory of a rank that its peers may read and write.
//!
//! ```text
//! tag   generation (odd: in use)   access   address   length    key = generation << 32 | tag + 1
//! ```
//!
//! The table lies in the segment. The interface that reads or writes looks up the key in the table of
//! the peer; on a Tofu, the receiving interface makes this check. A key is invalid after the end of its
//! registration, also if its tag is in use again.
//!
//! On a Tofu the tag has 18 bits and the offset 40, in one word beside six bits for the queue
//! (STADD). Here the offset is a number of its own.

use super::primitive::{AtomicU32, AtomicU64, Ordering};
use crate::device::rma::{MemoryKey, RemoteAccess};
use platform::base::{ErrorClass, Result, Span};

/// The largest number of registrations of a rank.
pub(crate) const TAGS: usize = 1 << 16;

/// The table of one rank.
#[repr(C, align(128))]
pub(crate) struct TagTable([TagEntry; TAGS]);

#[repr(C, align(32))]
struct TagEntry {
    /// Odd while it is in use.
    generation: AtomicU32,
    /// Not 0 if peers may write.
    writable: AtomicU32,
    address: AtomicU64,
    len_bytes: AtomicU64,
}

/// Free tags of a table, at its owner.
#[derive(Debug, Default)]
pub(crate) struct TagPool {
    /// Released tags, reused in this order.
    released: std::collections::VecDeque<u32>,
    /// The first tag that was never used.
    next_unused: u32,
}

impl TagTable {
    /// Registers `memory`. Only the owner of the table calls this.
    ///
    /// # Errors
    /// `NoMem` if all tags are in use.
    pub(crate) fn register(
        &self, pool: &mut TagPool, memory: Span, access: RemoteAccess,
    ) -> Result<MemoryKey> {
        let fresh = (pool.next_unused < TAGS as u32).then_some(pool.next_unused);
        let Some(tag) = fresh.or_else(|| pool.released.pop_front()) else {
            return Err(ErrorClass::NoMem.error(format!("all {TAGS} steering tags are in use")));
        };
        if fresh.is_some() {
            pool.next_unused += 1;
        }
        let entry = &self.0[tag as usize];
        let writable = u32::from(access == RemoteAccess::ReadWrite);
        entry.writable.store(writable, Ordering::Relaxed);
        entry.address.store(memory.address() as u64, Ordering::Relaxed);
        entry.len_bytes.store(memory.len() as u64, Ordering::Relaxed);
        let generation = entry.generation.fetch_add(1, Ordering::AcqRel).wrapping_add(1);
        Ok(MemoryKey(u64::from(generation) << 32 | u64::from(tag + 1)))
    }

    /// Ends a registration. Only the owner of the table calls this. Ignores an invalid key.
    pub(crate) fn deregister(&self, pool: &mut TagPool, key: MemoryKey) {
        if let Some((tag, entry)) = self.entry(key) {
            entry.generation.fetch_add(1, Ordering::AcqRel);
            pool.released.push_back(tag as u32);
        }
    }

    /// The address of `len` bytes from `offset` on in the memory of `key`, for this kind of access.
    ///
    /// # Errors
    /// `RmaRange` if the key is invalid or the memory is shorter; `Access` if the memory is read-only.
    pub(crate) fn find(
        &self, key: MemoryKey, offset: u64, len: usize, access: RemoteAccess,
    ) -> Result<u64> {
        let bounds = || {
            let (_, entry) = self.entry(key)?;
            let address = entry.address.load(Ordering::Acquire);
            let end = entry.len_bytes.load(Ordering::Acquire);
            let writable = entry.writable.load(Ordering::Acquire) != 0;
            // The tag may have been reused meanwhile.
            self.entry(key).map(|_| (address, end, writable))
        };
        let Some((address, end, writable)) = bounds() else {
            let why = format!("the peer has registered no memory under key {:x}", key.0);
            return Err(ErrorClass::RmaRange.error(why));
        };
        if access == RemoteAccess::ReadWrite && !writable {
            let why = format!("memory of the peer under key {:x} is read-only", key.0);
            return Err(ErrorClass::Access.error(why));
        }
        match offset.checked_add(len as u64) {
            Some(last) if last <= end => Ok(address.wrapping_add(offset)),
            _ => Err(ErrorClass::RmaRange.error(format!(
                "{len} bytes at offset {offset} are outside the {end} registered bytes"
            ))),
        }
    }

    /// The tag of `key`, if the key is valid.
    fn entry(&self, key: MemoryKey) -> Option<(usize, &TagEntry)> {
        let tag = (key.0 as u32).checked_sub(1)? as usize;
        let (entry, wanted) = (self.0.get(tag)?, (key.0 >> 32) as u32);
        let generation = entry.generation.load(Ordering::Acquire);
        (generation == wanted && generation & 1 == 1).then_some((tag, entry))
    }
}

#[cfg(test)]
mod tests {
    use super::RemoteAccess::{Read, ReadWrite};
    use super::*;
    use crate::devices::tofu::segment::TofuSegment;
    use platform::sys::shm;

    #[test]
    fn a_key_is_valid_while_its_memory_is_registered() {
        let segment = TofuSegment::open(shm::create().unwrap(), 1, 0).unwrap();
        let area = segment.area(0);
        let (tags, mut pool) = (&area.tags, TagPool::default());
        let mut bytes = [0; 100];
        // SAFETY: only its address is used.
        let memory = unsafe { Span::of(&mut bytes) };
        let key = tags.register(&mut pool, memory, ReadWrite).unwrap();
        let other = tags.register(&mut pool, memory.part(10, 5), Read).unwrap();
        let address = memory.address() as u64;
        assert_eq!(tags.find(key, 0, 100, ReadWrite).unwrap(), address);
        assert_eq!(tags.find(key, 100, 0, ReadWrite).unwrap(), address + 100);
        assert_eq!(tags.find(other, 1, 4, Read).unwrap(), address + 11);
        let error = tags.find(other, 1, 4, ReadWrite).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Access as i32, "{error}");
        let range = |key, offset, len| {
            let error = tags.find(key, offset, len, Read).unwrap_err();
            assert_eq!(error.code.0, ErrorClass::RmaRange as i32, "{error}");
        };
        range(key, 1, 100);
        range(key, u64::MAX, 2);
        range(other, 0, 6);
        range(MemoryKey(0), 0, 0);
        range(MemoryKey(key.0 + 7), 0, 0);
        tags.deregister(&mut pool, key);
        range(key, 0, 0);
        tags.deregister(&mut pool, key);
        pool.next_unused = TAGS as u32;
        let again = tags.register(&mut pool, memory, ReadWrite).unwrap();
        assert_ne!(again, key);
        range(key, 0, 0);
        assert_eq!(tags.find(again, 0, 1, Read).unwrap(), address);
        let error = tags.register(&mut pool, memory, ReadWrite).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::NoMem as i32, "{error}");
    }
}
