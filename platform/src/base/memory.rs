//! Application memory, as an address and never as a Rust reference.
//!
//! MPI is handed buffers that C code, other threads or (in one-sided communication) other
//! processes may touch, so no reference may cover them. [`Span`] is the only thing in the library
//! that follows such an address. It knows no datatypes: `core::memory` builds those from spans.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `len` bytes of memory at an address that the caller of MPI vouched for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    address: usize,
    len: usize,
}

impl Span {
    /// A span of no bytes.
    pub const EMPTY: Self = Self { address: 0, len: 0 };

    /// Takes over the promise that an MPI call makes of its buffer.
    ///
    /// # Safety
    /// Until the operation that it is for has completed, `address .. address + len` must be
    /// readable, and writable too if the operation receives; and nobody may write it (receive: nor
    /// read it) at the same time. That is what MPI 5.0 §3.2 and §3.7 demand of a caller.
    #[inline]
    pub unsafe fn new(address: *const u8, len: usize) -> Self {
        Self { address: address as usize, len }
    }

    /// The span over a slice that the library owns.
    ///
    /// # Safety
    /// The slice must stay where it is, and unused by others, as long as the span is in use.
    pub unsafe fn of(slice: &mut [u8]) -> Self {
        Self { address: slice.as_mut_ptr() as usize, len: slice.len() }
    }

    /// How many bytes it covers.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether it covers nothing.
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The first byte's address, for a peer or a system call.
    pub fn address(self) -> usize {
        self.address
    }

    /// Whether some byte is in both.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        let gap = other.address.wrapping_sub(self.address);
        let back = self.address.wrapping_sub(other.address);
        gap < self.len && other.len > 0 || back < other.len && self.len > 0
    }

    /// The part from `start` on, `len` bytes long.
    ///
    /// # Panics
    /// If that is not inside the span.
    #[inline]
    pub fn part(self, start: usize, len: usize) -> Self {
        assert!(start <= self.len && len <= self.len - start);
        Self { address: self.address + start, len }
    }

    /// Copies its bytes from `start` on into `out`, filling it.
    ///
    /// # Panics
    /// If the span is shorter than that.
    #[inline]
    pub fn read(self, start: usize, out: &mut [u8]) {
        let part = self.part(start, out.len());
        // SAFETY: `part` is inside the span, which is readable (`Span::new`); `out` is a Rust
        // slice that nobody else covers.
        unsafe { copy(part.address as *const u8, out.as_mut_ptr(), part.len) }
    }

    /// Copies `data` over its bytes from `start` on.
    ///
    /// # Panics
    /// If the span is shorter than that.
    #[inline]
    pub fn write(self, start: usize, data: &[u8]) {
        let part = self.part(start, data.len());
        // SAFETY: as in `read`; a span that is written to was made for a receive (`Span::new`).
        unsafe { copy(data.as_ptr(), part.address as *mut u8, part.len) }
    }

    /// Copies its bytes to `to`, of the same length, which has none of them.
    ///
    /// # Panics
    /// If the lengths differ, or the two overlap.
    #[inline]
    pub fn copy_nonoverlapping(self, to: Self) {
        assert!(self.len == to.len && !self.overlaps(to));
        // SAFETY: both were made by `Span::new`, `to` for writing.
        unsafe { copy(self.address as *const u8, to.address as *mut u8, self.len) }
    }

    /// Changes the number of 4 or 8 bytes that it is, atomically, and returns what it was.
    ///
    /// # Panics
    /// If it has another length or is not aligned.
    pub fn fetch_update(self, new: impl Fn(u64) -> u64) -> u64 {
        assert!(matches!(self.len, 4 | 8) && self.address.is_multiple_of(self.len));
        let order = Ordering::SeqCst;
        // SAFETY: the span is memory of that size (`Span::new`), aligned as just checked; it is
        // changed by others, if at all, in the same way.
        unsafe {
            if self.len == 8 {
                let number = AtomicU64::from_ptr(self.address as *mut u64);
                number.fetch_update(order, order, |old| Some(new(old))).unwrap_or_default()
            } else {
                let number = AtomicU32::from_ptr(self.address as *mut u32);
                let new = |old: u32| Some(new(u64::from(old)) as u32);
                number.fetch_update(order, order, new).unwrap_or_default().into()
            }
        }
    }

    /// Copies its bytes to `to`, of the same length; the two may overlap.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_to(self, to: Self) {
        assert_eq!(self.len, to.len);
        // SAFETY: both were made by `Span::new`, `to` for writing.
        unsafe { ptr::copy(self.address as *const u8, to.address as *mut u8, self.len) }
    }
}

/// Copies without a call where the length is that of one number, as it is in small messages.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[inline]
unsafe fn copy(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise; an array of bytes has no alignment.
    unsafe {
        match len {
            8 => *to.cast::<[u8; 8]>() = *from.cast::<[u8; 8]>(),
            4 => *to.cast::<[u8; 4]>() = *from.cast::<[u8; 4]>(),
            _ => ptr::copy_nonoverlapping(from, to, len),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn spans_meet_where_they_share_a_byte() {
        let span = |address, len| Span { address, len };
        for (one, other, expected) in [
            (span(100, 10), span(100, 10), true),
            (span(100, 10), span(109, 1), true),
            (span(100, 10), span(110, 5), false),
            (span(100, 10), span(90, 10), false),
            (span(100, 10), span(90, 11), true),
            (span(100, 10), span(105, 0), false),
            (span(100, 0), span(100, 0), false),
            (span(0, 1), span(usize::MAX, 1), false),
        ] {
            assert_eq!(one.overlaps(other), expected, "{one:?} {other:?}");
            assert_eq!(other.overlaps(one), expected, "{other:?} {one:?}");
        }
    }
}
