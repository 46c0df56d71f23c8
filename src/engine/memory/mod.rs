//! The memory of one operation: application memory of any datatype, or the library's own.
//!
//! The layers above count packed bytes: `pack` and `unpack` move any range of them, wherever the
//! pieces lie. This module knows layouts and addresses. It knows no messages and no datatypes.
//!
//! | file | content |
//! |---|---|
//! | `layout` | where the bytes of an element lie: nested strided runs |
//! | `typed` | scattered memory: an address with a run |
//! | `copier` | walks the runs and moves bytes between them and a packed buffer |
//! | `strided_copy` | the inner loops: rows of equal pieces at equal distances |
//! | `owned` | bytes of the library |
//! | `pieces` | where each of the adjacent bytes are, one piece after the other |
//! | `converted` | bytes that are converted on their way, by a layer above |
#![allow(unsafe_code)]

mod converted;
mod copier;
pub mod layout;
mod owned;
pub(crate) mod pieces;
mod strided_copy;
#[cfg(test)]
mod tests;
mod typed;

use std::sync::Arc;

pub use crate::engine::memory::converted::ConvertedMemory;
use crate::engine::memory::layout::{Layout, StridedRun};
pub use crate::engine::memory::owned::OwnedBytes;
pub use crate::engine::memory::typed::TypedMemory;
use platform::base::Span;

/// Packed bytes that a copy between two scattered memories moves at a time.
const BOUNCE_BYTES: usize = 4096;

/// Where an operation reads or writes its data.
#[derive(Debug)]
pub enum Memory {
    /// Adjacent bytes of the application.
    Span(Span),
    /// Scattered bytes of the application. Behind a pointer because the other kinds are small and
    /// are moved often.
    Typed(Arc<TypedMemory>),
    /// Bytes of the library: buffered sends, unexpected messages, scratch space.
    Owned(OwnedBytes),
    /// Bytes of the application that messages have in another representation; packed bytes are
    /// converted ones. One value for all uses of a buffer: it has the parts of numbers that arrive.
    Converted(Arc<dyn ConvertedMemory>),
}

impl Memory {
    /// Memory of no bytes.
    pub const EMPTY: Self = Self::Span(Span::EMPTY);

    /// `count` elements of `layout` at `base`.
    ///
    /// # Safety
    /// The promise of [`Span::new`] for every byte that the elements cover, counted from `base`.
    #[inline(always)]
    pub unsafe fn new(base: *const u8, count: usize, layout: &Arc<Layout>) -> Self {
        if layout.is_dense() {
            // SAFETY: the caller's promise; a dense layout covers exactly these bytes.
            return Self::Span(unsafe { Span::new(base, layout.size().saturating_mul(count)) });
        }
        // SAFETY: the caller's promise.
        match unsafe { Self::scattered(base, count, layout) } {
            (_, Some(typed)) => Self::Typed(typed),
            (span, None) => Self::Span(span),
        }
    }

    /// `count` elements of `layout`, counted from `offset` bytes after the start of `region`; `None`
    /// unless all their bytes are in it.
    pub(crate) fn within(
        region: Span, offset: i64, count: usize, layout: &Arc<Layout>,
    ) -> Option<Self> {
        let (first, end) = layout.covered(count)?;
        if first == end {
            return Some(Self::EMPTY);
        }
        let first = i64::try_from(first).ok()?.checked_add(offset)?;
        let end = i64::try_from(end).ok()?.checked_add(offset)?;
        if first < 0 || usize::try_from(end).ok()? > region.len() {
            return None;
        }
        let base = (region.address() as *const u8).wrapping_offset(offset as isize);
        // SAFETY: the region has all bytes of the elements, so its promise holds for them.
        Some(unsafe { Self::new(base, count, layout) })
    }

    /// [`Memory::new`] for a layout that may have gaps, with the same promise: a span if the bytes
    /// are adjacent nevertheless.
    #[inline(never)]
    unsafe fn scattered(
        base: *const u8, count: usize, layout: &Arc<Layout>,
    ) -> (Span, Option<Arc<TypedMemory>>) {
        if layout.size() == 0 || count == 0 {
            return (Span::EMPTY, None);
        }
        let run = StridedRun::repeated(layout, count);
        if run.count == 1 && run.nested.is_none() {
            // SAFETY: the caller's promise; the only run covers exactly these bytes.
            return (unsafe { Span::new(base.wrapping_offset(run.offset), run.len) }, None);
        }
        // SAFETY: the caller's promise; the run covers the bytes of the elements.
        (Span::EMPTY, Some(Arc::new(unsafe { TypedMemory::new(base, run) })))
    }

    /// Bytes of the library.
    pub fn owned(bytes: impl Into<Box<[u8]>>) -> Self {
        Self::Owned(OwnedBytes::from(bytes.into()))
    }

    /// The number of packed bytes.
    #[inline]
    pub fn len(&self) -> usize {
        match self {
            Self::Span(span) => span.len(),
            Self::Typed(typed) => typed.len(),
            Self::Owned(bytes) => bytes.len(),
            Self::Converted(converted) => converted.len(),
        }
    }

    /// Whether the packed bytes are in another representation than the memory.
    #[inline]
    pub(crate) fn is_converted(&self) -> bool {
        matches!(self, Self::Converted(_))
    }

    /// Whether there is no data.
    pub(crate) fn is_empty(&self) -> bool {
        self.len() == 0
    }

    /// The memory as one span, if its bytes are adjacent. The span of owned bytes is valid while
    /// the memory lives and nothing else touches the bytes.
    #[inline]
    pub fn span(&self) -> Option<Span> {
        match self {
            Self::Span(span) => Some(*span),
            Self::Typed(_) | Self::Converted(_) => None,
            Self::Owned(bytes) => Some(bytes.span()),
        }
    }

    /// Whether some byte is known to be in both memories. Only the first adjacent bytes of
    /// scattered memory are compared: the sections of a halo exchange have one address, but no byte
    /// in common, and all their pieces would take too long.
    #[inline]
    pub(crate) fn overlaps(&self, other: &Self) -> bool {
        self.first_piece().overlaps(other.first_piece())
    }

    /// The adjacent bytes that come first in packed order.
    #[inline]
    pub(crate) fn first_piece(&self) -> Span {
        match self {
            Self::Span(span) => *span,
            Self::Owned(bytes) => bytes.span(),
            Self::Typed(typed) => typed.first_piece(),
            Self::Converted(converted) => converted.first_piece(),
        }
    }

    /// The same memory for another operation. Owned bytes become a span, and their owner must
    /// outlive it.
    #[inline]
    pub fn alias(&self) -> Self {
        match self {
            Self::Span(span) => Self::Span(*span),
            Self::Typed(typed) => Self::Typed(Arc::clone(typed)),
            Self::Owned(bytes) => Self::Span(bytes.span()),
            Self::Converted(converted) => Self::Converted(Arc::clone(converted)),
        }
    }

    /// A copy of all packed bytes.
    pub fn packed(&self) -> Vec<u8> {
        let mut bytes = vec![0; self.len()];
        self.pack(0, &mut bytes);
        bytes
    }

    /// Fills `out` with the packed bytes from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn pack(&self, from: usize, out: &mut [u8]) {
        match self {
            Self::Span(span) => span.read(from, out),
            Self::Owned(bytes) => bytes.span().read(from, out),
            Self::Typed(typed) => typed.pack(from, out),
            Self::Converted(converted) => converted.pack(from, out),
        }
    }

    /// Copies `data` over the packed bytes from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub fn unpack(&mut self, from: usize, data: &[u8]) {
        match self {
            Self::Span(span) => span.write(from, data),
            Self::Owned(bytes) => bytes.span().write(from, data),
            Self::Typed(typed) => typed.unpack(from, data),
            Self::Converted(converted) => converted.unpack(from, data),
        }
    }

    /// Copies `len` packed bytes from `from` on to the packed bytes of `to` from `at` on. Bytes are
    /// copied twice only if both memories are scattered. Two memories of adjacent bytes may
    /// overlap.
    ///
    /// # Panics
    /// If either has fewer.
    pub fn copy(&self, from: usize, to: &mut Self, at: usize, len: usize) {
        match (self, &*to, self.span(), to.span()) {
            (_, _, Some(source), Some(target)) => {
                source.part(from, len).copy_to(target.part(at, len))
            }
            (Self::Typed(typed), _, _, Some(target)) => typed.pack_to(from, target.part(at, len)),
            (_, Self::Typed(typed), Some(source), _) => {
                typed.unpack_from(at, source.part(from, len))
            }
            (_, _, None, _) | (_, _, _, None) => self.copy_scattered(from, to, at, len),
        }
    }

    /// Copies between scattered or converted memory through a buffer.
    fn copy_scattered(&self, from: usize, to: &mut Self, at: usize, len: usize) {
        let mut bounce = [0; BOUNCE_BYTES];
        let mut done = 0;
        while done < len {
            let step = (len - done).min(BOUNCE_BYTES);
            self.pack(from + done, &mut bounce[..step]);
            to.unpack(at + done, &bounce[..step]);
            done += step;
        }
    }
}
