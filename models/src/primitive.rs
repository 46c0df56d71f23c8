//! `src/shared_memory/primitive.rs` for the model checker: loom checks every access.
#![allow(unsafe_code)]

use loom::cell::UnsafeCell;
use loom::sync::atomic::fence;

pub use loom::sync::atomic::{AtomicU32, AtomicU64, Ordering};

use platform::base::Span;

pub fn fence_after_update() {
    full_fence();
}

/// A full fence.
pub fn full_fence() {
    fence(Ordering::SeqCst);
}

/// membarrier(2) cannot be modelled; it is defined as this fence on both sides.
pub fn light_fence() {
    fence(Ordering::SeqCst);
}

pub fn heavy_fence() {
    fence(Ordering::SeqCst);
}

pub fn fetch_for_writing<T>(_place: &T) {}

pub struct SharedCell<T>(UnsafeCell<T>);

/// Tracked by the cache line: no two packets share one.
pub struct SharedBytes<const N: usize>(Vec<UnsafeCell<[u8; LINE]>>);

const LINE: usize = 64;

#[derive(Clone, Copy)]
pub enum AccessMode {
    Read,
    Write,
}

// SAFETY: loom reports every access that is not ordered.
unsafe impl<T: Send> Sync for SharedCell<T> {}
// SAFETY: as above.
unsafe impl<const N: usize> Sync for SharedBytes<N> {}

impl<T: Copy> SharedCell<T> {
    pub fn new(value: T) -> Self {
        Self(UnsafeCell::new(value))
    }

    pub unsafe fn load(&self) -> T {
        // SAFETY: loom has checked the access.
        self.0.with(|value| unsafe { *value })
    }

    pub unsafe fn store(&self, value: T) {
        // SAFETY: as above.
        self.0.with_mut(|place| unsafe { *place = value });
    }
}

impl<const N: usize> SharedBytes<N> {
    pub fn new() -> Self {
        Self((0..N.div_ceil(LINE)).map(|_| UnsafeCell::new([0; LINE])).collect())
    }

    pub unsafe fn write(&self, at: usize, len: usize, fill: impl FnOnce(&mut [u8])) {
        assert!(at <= N && len <= N - at && at.is_multiple_of(LINE));
        let mut data = vec![0; len];
        fill(&mut data);
        for (line, part) in self.0[at / LINE..].iter().zip(data.chunks(LINE)) {
            // SAFETY: as above.
            line.with_mut(|line| unsafe { (&mut *line)[..part.len()].copy_from_slice(part) });
        }
    }

    pub unsafe fn read<R>(&self, at: usize, len: usize, look: impl FnOnce(&[u8]) -> R) -> R {
        assert!(at <= N && len <= N - at && at.is_multiple_of(LINE));
        let mut data = vec![0; len];
        for (line, part) in self.0[at / LINE..].iter().zip(data.chunks_mut(LINE)) {
            // SAFETY: as above.
            line.with(|line| unsafe { part.copy_from_slice(&(&*line)[..part.len()]) });
        }
        look(&data)
    }

    /// Counts as that access now.
    pub unsafe fn lend(&self, len: usize, access: AccessMode) -> Span {
        assert!(len <= N.min(LINE));
        // SAFETY: as above.
        let span = |line: *const [u8; LINE]| unsafe { Span::new(line.cast(), len) };
        match access {
            AccessMode::Read => self.0[0].with(span),
            AccessMode::Write => self.0[0].with_mut(|line| span(line)),
        }
    }
}
