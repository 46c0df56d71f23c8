//! A segment of shared memory mapped into this process, and references to parts of it.
//!
//! Every part begins as zero bytes, so no process has to initialize it. The first word of a segment
//! is a number for its layout: processes of two builds cannot share a segment.
#![allow(unsafe_code)]

use std::marker::PhantomData;
use std::ops::{Deref, Range};
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::primitive::{AtomicU64, Ordering};
use platform::base::{ErrorClass, Result, fnv1a};
use platform::sys::shm;

/// A mapped segment.
#[derive(Clone)]
pub(crate) struct SegmentMemory(Arc<MmapRaw>);

/// A part of a segment. The segment stays mapped as long as this value exists.
pub(crate) struct Mapped<T> {
    part: NonNull<T>,
    memory: Arc<MmapRaw>,
    _shared: PhantomData<T>,
}

// SAFETY: a reference with a reference count, to memory that processes share anyway.
unsafe impl<T: Sync> Send for Mapped<T> {}
// SAFETY: as above.
unsafe impl<T: Sync> Sync for Mapped<T> {}

/// Types that may lie in a segment.
///
/// # Safety
/// The type consists of atomics and cells for which every bit pattern is valid, zero included, and
/// which may change at any time.
pub(crate) unsafe trait Shareable: Sync {}

impl SegmentMemory {
    /// Sizes and maps `file`, whose first word becomes `layout` (not 0).
    ///
    /// # Errors
    /// `NoMem` without memory, or if `bytes` is `None`: too many for `ranks` ranks; `Arg` if the file
    /// has another size; `Other` if a process of another build of this library shares it.
    pub fn open(file: OwnedFd, bytes: Option<usize>, ranks: usize, layout: u64) -> Result<Self> {
        let bytes = bytes
            .filter(|bytes| *bytes <= isize::MAX as usize)
            .ok_or_else(|| ErrorClass::NoMem.error(format!("no memory for {ranks} ranks")))?;
        Self::over(shm::map(file, bytes)?, layout)
    }

    /// A segment that is mapped, whose first word becomes `layout` (not 0).
    ///
    /// # Errors
    /// `Other` if a process of another build of this library shares it.
    pub(crate) fn over(memory: MmapRaw, layout: u64) -> Result<Self> {
        let memory = Self(Arc::new(memory));
        let (order, first) = (Ordering::SeqCst, memory.part::<AtomicU64>(0));
        match first.compare_exchange(0, layout, order, order) {
            Err(other) if other != layout => Err(ErrorClass::Other.error(format!(
                "a process of this job uses another build of the library \
                 (its shared memory has layout {other:016x}, ours {layout:016x})"
            ))),
            _ => Ok(memory),
        }
    }

    /// The part `offset` bytes from the beginning.
    ///
    /// # Panics
    /// If it is not aligned or not inside the segment.
    pub(crate) fn part<T: Shareable>(&self, offset: usize) -> Mapped<T> {
        let part = self.start_of(offset, size_of::<T>()).cast::<T>();
        assert!(offset.is_multiple_of(align_of::<T>()));
        Mapped { part, memory: self.0.clone(), _shared: PhantomData }
    }

    /// The address of `len` bytes that begin `offset` bytes from the beginning, and the mapping that
    /// keeps them.
    ///
    /// # Panics
    /// If they are not inside the segment.
    pub(crate) fn bytes(&self, offset: usize, len: usize) -> (NonNull<u8>, Arc<MmapRaw>) {
        (self.start_of(offset, len), self.0.clone())
    }

    /// Makes the pages of `range` present.
    pub fn prefault(&self, range: Range<usize>) {
        shm::make_present(&self.0, range);
    }

    fn start_of(&self, offset: usize, len: usize) -> NonNull<u8> {
        let end = offset.checked_add(len);
        assert!(end.is_some_and(|end| end <= self.0.len()));
        // SAFETY: inside the mapping (checked above), so neither null nor past its end.
        unsafe { NonNull::new_unchecked(self.0.as_mut_ptr().add(offset)) }
    }
}

impl<T> Mapped<T> {
    /// Makes the pages of the first `bytes` bytes present.
    ///
    /// # Panics
    /// If the part is shorter.
    pub fn prefault(&self, bytes: usize) {
        assert!(bytes <= size_of::<T>());
        let start = self.part.addr().get() - self.memory.as_ptr().addr();
        shm::make_present(&self.memory, start..start + bytes);
    }

    /// A part of this part.
    pub(crate) fn part<U>(&self, choose: impl FnOnce(&T) -> &U) -> Mapped<U> {
        let part = NonNull::from(choose(self));
        Mapped { part, memory: self.memory.clone(), _shared: PhantomData }
    }
}

impl<T> Clone for Mapped<T> {
    fn clone(&self) -> Self {
        Self { part: self.part, memory: self.memory.clone(), _shared: PhantomData }
    }
}

impl<T> Deref for Mapped<T> {
    type Target = T;

    #[inline]
    fn deref(&self) -> &T {
        // SAFETY: mapped, aligned and inside (`SegmentMemory::part`) as long as `memory` lives; the file
        // cannot shrink (sealed). Every `T` is `Shareable` or a part of a `Shareable` type.
        unsafe { self.part.as_ref() }
    }
}

// SAFETY: atomics.
unsafe impl Shareable for AtomicU64 {}
// SAFETY: atomics.
unsafe impl Shareable for super::primitive::AtomicU32 {}
// SAFETY: atomics.
unsafe impl Shareable for super::wake_word::WakeWord {}
// SAFETY: atomics.
unsafe impl Shareable for super::registrations::RegistrationTable {}
// SAFETY: cells of integers and bytes; readers check every value.
unsafe impl Shareable for super::QueueBuffers {}

/// A number that depends on each of `parts` and on the version of the library; never 0.
pub(crate) fn digest(parts: impl Iterator<Item = u64>) -> u64 {
    let version = env!("CARGO_PKG_VERSION").bytes().map(u64::from);
    fnv1a(parts.chain(version)).max(1)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn another_layout_is_an_error() {
        let file = shm::create().unwrap();
        let open = |layout| SegmentMemory::open(file.try_clone().unwrap(), Some(4096), 1, layout);
        assert!(open(76).is_ok() && open(76).is_ok());
        let error = open(77).err().unwrap();
        assert!(error.why.contains("another build"), "{error}");
        let error = SegmentMemory::open(file.try_clone().unwrap(), None, 9, 76).err().unwrap();
        assert!(error.why.contains("9 ranks"), "{error}");
    }
}
