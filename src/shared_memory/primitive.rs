//! The atomics and cells of rings and shared segments. The crate `models` replaces this module by the
//! same names over the atomics of the model checker.
//!
//! Zero bytes are a valid value of each type, and each type has the layout of its content.
#![allow(unsafe_code)]

use std::cell::UnsafeCell;
use std::sync::atomic::compiler_fence;
#[cfg(not(target_arch = "x86_64"))]
use std::sync::atomic::fence;

pub use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use platform::base::Span;
use platform::sys::membarrier;

/// Orders a store before a later load: a full fence of the processor.
#[inline]
pub(crate) fn full_fence() {
    // A locked instruction on x86: it orders as much as `mfence`, in less time.
    // SAFETY: the instruction does not change the memory, and the assembly is a fence for the compiler.
    #[cfg(target_arch = "x86_64")]
    unsafe {
        std::arch::asm!("lock or dword ptr [rsp], 0", options(nostack));
    }
    #[cfg(not(target_arch = "x86_64"))]
    fence(Ordering::SeqCst);
}

/// The same right after an atomic read-modify-write of this thread, which orders all on x86.
#[inline]
pub(crate) fn fence_after_update() {
    match cfg!(target_arch = "x86_64") {
        true => compiler_fence(Ordering::SeqCst),
        false => full_fence(),
    }
}

/// [`full_fence`] if the other side of the pair calls [`heavy_fence`] or membarrier(2) by itself: a fence for
/// the compiler only.
#[inline]
pub(crate) fn light_fence() {
    compiler_fence(Ordering::SeqCst);
}

/// Whether [`heavy_fence`] works from now on, and reaches this process.
pub(crate) fn has_heavy_fence() -> bool {
    membarrier::register() && membarrier::barrier()
}

/// A full fence here and in every process for which [`has_heavy_fence`] is true.
///
/// # Panics
/// If the system does it no longer.
#[cold]
pub(crate) fn heavy_fence() {
    assert!(membarrier::barrier(), "membarrier(2) has stopped working");
}

/// Prefetches the cache line of `place` for writing; a hint.
#[inline]
pub(crate) fn fetch_for_writing<T>(place: &T) {
    // SAFETY: a prefetch has no effect on memory or registers, at any address. (The intrinsic is a
    // plain read prefetch unless the whole program is compiled for newer processors.)
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

/// A value that one side at a time may access, by the protocol of a ring.
#[repr(transparent)]
pub(crate) struct SharedCell<T>(UnsafeCell<T>);

/// Kind of access to lent bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessMode {
    /// Read.
    Read,
    /// Write and read.
    Write,
}

/// `N` bytes; the two sides access disjoint parts, by the protocol of a ring.
#[repr(transparent)]
pub(crate) struct SharedBytes<const N: usize>(UnsafeCell<[u8; N]>);

// SAFETY: all access is by unsafe functions, whose callers guarantee exclusive access.
unsafe impl<T: Send> Sync for SharedCell<T> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for SharedBytes<N> {}

impl<T: Copy> SharedCell<T> {
    /// The value.
    ///
    /// # Safety
    /// There is no concurrent write, and the last write happened before.
    #[inline]
    pub(crate) unsafe fn load(&self) -> T {
        // SAFETY: the caller's contract. Any bit pattern is valid for the integers in here.
        unsafe { *self.0.get() }
    }

    /// Replaces the value.
    ///
    /// # Safety
    /// There is no concurrent access.
    #[inline]
    pub(crate) unsafe fn store(&self, value: T) {
        // SAFETY: the caller's contract.
        unsafe { *self.0.get() = value }
    }
}

impl<const N: usize> SharedBytes<N> {
    /// Calls `fill` with the `len` bytes from `at` on.
    ///
    /// # Safety
    /// There is no concurrent access to them.
    ///
    /// # Panics
    /// If they are not all inside.
    #[inline]
    pub(crate) unsafe fn write(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(at <= N && len <= N - at);
        // SAFETY: inside the array (checked above), and not shared now by the caller's contract.
        fill(unsafe { std::slice::from_raw_parts_mut(self.0.get().cast::<u8>().add(at), len) });
    }

    /// Calls `read` with the `len` bytes from `at` on.
    ///
    /// # Safety
    /// There is no concurrent write to them, and the last write happened before.
    ///
    /// # Panics
    /// If they are not all inside.
    #[inline]
    pub(crate) unsafe fn read<R>(&self, at: usize, len: usize, read: impl FnOnce(&[u8]) -> R) -> R {
        assert!(at <= N && len <= N - at);
        // SAFETY: inside the array (checked above), and not written now by the caller's contract.
        read(unsafe { std::slice::from_raw_parts(self.0.get().cast::<u8>().add(at), len) })
    }

    /// The first `len` bytes, for this kind of access.
    ///
    /// # Safety
    /// While the span is in use, the bytes stay valid, no other thread or process writes them, and for
    /// [`AccessMode::Write`] none reads them; the last such access happened before.
    ///
    /// # Panics
    /// If there are fewer.
    #[inline]
    pub unsafe fn lend(&self, len: usize, _access: AccessMode) -> Span {
        assert!(len <= N);
        // SAFETY: inside the array (checked above); the rest is the caller's contract.
        unsafe { Span::new(self.0.get().cast(), len) }
    }
}
