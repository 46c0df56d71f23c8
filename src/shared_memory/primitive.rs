//! The atomics and cells that rings and rooms are made of. The crate `models`
//! compiles them against the model checker's flavour of the same names.
//!
//! All of them are valid when all their bytes are zero, and have the layout of what they hold.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::{compiler_fence, fence};

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use platform::base::Span;

/// Keeps the order of a store before a load, for which the processor needs a full fence.
#[inline]
pub(crate) fn full_fence() {
    fence(Ordering::SeqCst);
}

/// The same where the other side of the pair calls membarrier(2): only the compiler is told.
#[inline]
pub(crate) fn light_fence() {
    compiler_fence(Ordering::SeqCst);
}

/// Fetches the cache line of `place` for writing, without waiting for it; a hint.
#[inline]
pub(crate) fn fetch_for_writing<T>(place: &T) {
    // SAFETY: prefetching has no effect on memory or registers, at whatever address. (The intrinsic
    // is a plain read prefetch unless the whole program is compiled for newer processors.)
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("prefetchw [{}]", in(reg) place, options(nostack, preserves_flags, readonly));
    }
    // SAFETY: as above.
    #[cfg(target_arch = "aarch64")]
    unsafe {
        std::arch::asm!("prfm pstl1keep, [{}]", in(reg) place, options(nostack, readonly));
    }
    #[cfg(not(any(target_arch = "x86_64", target_arch = "aarch64")))]
    let _ = place;
}

/// A value that the protocol of a ring gives to one side at a time.
#[repr(transparent)]
pub(crate) struct SharedCell<T>(UnsafeCell<T>);

/// What lent bytes are for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessMode {
    /// They are only read.
    Read,
    /// They are written and read.
    Write,
}

/// `N` bytes, of which the protocol of a ring gives disjoint parts to either side.
#[repr(transparent)]
pub(crate) struct SharedBytes<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: all access is through unsafe functions, whose callers promise that nobody else has it.
unsafe impl<T: Send> Sync for SharedCell<T> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for SharedBytes<N> {}

impl<T: Copy> SharedCell<T> {
    /// The value.
    ///
    /// # Safety
    /// Nobody writes it at the same time, and the last write happened before.
    #[inline]
    pub(crate) unsafe fn load(&self) -> T {
        // SAFETY: the caller's promise. Any bit pattern is valid for the integers held here.
        unsafe { *self.0.get() }
    }

    /// Replaces the value.
    ///
    /// # Safety
    /// Nobody reads or writes it at the same time.
    #[inline]
    pub(crate) unsafe fn store(&self, value: T) {
        // SAFETY: the caller's promise.
        unsafe { *self.0.get() = value }
    }
}

impl<const N: usize> SharedBytes<N> {
    /// Lets `fill` write `len` bytes from `at` on.
    ///
    /// # Safety
    /// Nobody reads or writes them at the same time.
    ///
    /// # Panics
    /// If they are not all inside.
    #[inline]
    pub(crate) unsafe fn write(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(at <= N && len <= N - at);
        // SAFETY: inside the array (above), and the caller promises that it is not shared now.
        fill(unsafe { std::slice::from_raw_parts_mut(self.0.get().cast::<u8>().add(at), len) });
    }

    /// Lets `look` read `len` bytes from `at` on.
    ///
    /// # Safety
    /// Nobody writes them at the same time, and the last write happened before.
    ///
    /// # Panics
    /// If they are not all inside.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        assert!(at <= N && len <= N - at);
        // SAFETY: inside the array (above), and the caller promises that nobody writes now.
        look(unsafe { std::slice::from_raw_parts(self.0.get().cast::<u8>().add(at), len) })
    }

    /// The first `len` bytes, for that access.
    ///
    /// # Safety
    /// As long as the span is in use they stay, nobody else writes them, and if this is for writing
    /// nobody reads them; the last access that this forbids happened before.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub unsafe fn lend(&self, len: usize, _access: AccessMode) -> Span {
        assert!(len <= N);
        // SAFETY: inside the array (above); the rest is the caller's promise.
        unsafe { Span::new(self.0.get().cast(), len) }
    }
}
