//! Scattered memory of the application: an address with the run that describes all data there.
#![allow(unsafe_code)]

use std::sync::Arc;

use crate::engine::memory::copier::Copier;
use crate::engine::memory::layout::{Layout, StridedRun};
use platform::base::Span;

/// An address with the run that describes all data there.
#[derive(Clone, Debug)]
pub struct TypedMemory {
    base: usize,
    run: StridedRun,
}

impl TypedMemory {
    /// The bytes of `run`, whose offsets count from `base`.
    ///
    /// # Safety
    /// The promise of [`Span::new`] for every byte of the run.
    pub(crate) unsafe fn new(base: *const u8, run: StridedRun) -> Self {
        Self { base: base as usize, run }
    }

    /// The address that the application gave.
    pub(crate) fn address(&self) -> usize {
        self.base
    }

    /// The adjacent bytes that come first in packed order.
    pub(crate) fn first_piece(&self) -> Span {
        let (mut address, mut run) = (self.base, &self.run);
        loop {
            address = address.wrapping_add_signed(run.offset);
            match run.nested.as_ref().map(|layout| layout.runs()) {
                Some([first, ..]) => run = first,
                // SAFETY: `TypedMemory::new` was promised every byte of the run.
                Some([]) | None => return unsafe { Span::new(address as *const u8, run.len) },
            }
        }
    }

    /// The number of elements of `layout`, if the memory is two or more of them and nothing else.
    pub(crate) fn count_of(&self, layout: &Arc<Layout>) -> Option<usize> {
        self.run.repeats(layout).then_some(self.run.count)
    }

    /// Packed bytes.
    pub(crate) fn len(&self) -> usize {
        self.run.len.saturating_mul(self.run.count)
    }

    /// Fills `out` with the packed bytes from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub(crate) fn pack(&self, from: usize, out: &mut [u8]) {
        self.walk::<true>(from, out.as_mut_ptr(), out.len());
    }

    /// Copies `data` over the packed bytes from `from` on.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub(crate) fn unpack(&self, from: usize, data: &[u8]) {
        self.walk::<false>(from, data.as_ptr().cast_mut(), data.len());
    }

    /// [`TypedMemory::pack`] into a span that has none of these bytes.
    pub(crate) fn pack_to(&self, from: usize, out: Span) {
        self.walk::<true>(from, out.address() as *mut u8, out.len());
    }

    /// [`TypedMemory::unpack`] from a span that has none of these bytes.
    pub(crate) fn unpack_from(&self, from: usize, data: Span) {
        self.walk::<false>(from, data.address() as *mut u8, data.len());
    }

    /// Moves `len` packed bytes from `from` on to (`PACK`) or from `packed`.
    ///
    /// # Panics
    /// If there are fewer.
    fn walk<const PACK: bool>(&self, from: usize, packed: *mut u8, len: usize) {
        assert!(from <= self.len() && len <= self.len() - from);
        let mut copier = Copier::<PACK> { packed, left: len };
        // SAFETY: `TypedMemory::new` was promised the bytes of the run at `base`, and `from` and
        // `len` are inside them. All callers pass a slice or a span of `len` bytes as `packed`,
        // which is good for this direction by the borrow or by the promise of `Span::new`.
        unsafe { copier.run(&self.run, self.base, from) }
    }
}
