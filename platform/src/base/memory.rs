//! Application memory, as an address and never as a Rust reference.
//!
//! C code, other threads or (in one-sided communication) other processes may access the buffers of
//! MPI calls, so no reference may cover them. [`Span`] is the only type of the library that accesses
//! memory at such an address. It knows no datatypes; `engine::memory` builds on spans.
#![allow(unsafe_code)]

use std::ptr;
use std::sync::atomic::{AtomicU32, AtomicU64, Ordering};

/// `len` bytes of memory at an address that the caller of MPI guarantees.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Span {
    address: usize,
    len: usize,
}

impl Span {
    /// A span of no bytes.
    pub const EMPTY: Self = Self { address: 0, len: 0 };

    /// Takes over the guarantee of an MPI call for its buffer.
    ///
    /// # Safety
    /// Until the operation has completed, `address .. address + len` must be readable, and also
    /// writable if the operation receives. Nothing else may write it at the same time, and nothing
    /// else may read it if the operation receives. MPI 5.0 §3.2 and §3.7 require that of a caller.
    #[inline]
    pub unsafe fn new(address: *const u8, len: usize) -> Self {
        Self { address: address as usize, len }
    }

    /// The span over a slice that the library owns.
    ///
    /// # Safety
    /// The slice must not move, and nothing else may use it while the span is in use.
    pub unsafe fn of(slice: &mut [u8]) -> Self {
        Self { address: slice.as_mut_ptr() as usize, len: slice.len() }
    }

    /// The number of bytes.
    #[inline]
    pub fn len(self) -> usize {
        self.len
    }

    /// Whether there are no bytes.
    #[inline]
    pub fn is_empty(self) -> bool {
        self.len == 0
    }

    /// The address of the first byte, for a peer or a system call.
    #[inline]
    pub fn address(self) -> usize {
        self.address
    }

    /// Whether some byte is in both spans.
    #[inline]
    pub fn overlaps(self, other: Self) -> bool {
        let gap = other.address.wrapping_sub(self.address);
        let back = self.address.wrapping_sub(other.address);
        gap < self.len && other.len > 0 || back < other.len && self.len > 0
    }

    /// The `len` bytes from `start` on.
    ///
    /// # Panics
    /// If they are not inside the span.
    #[inline]
    pub fn part(self, start: usize, len: usize) -> Self {
        assert!(start <= self.len && len <= self.len - start);
        Self { address: self.address + start, len }
    }

    /// Both spans as one, if `next` begins where this one ends.
    pub fn joined(self, next: Self) -> Option<Self> {
        (self.address.checked_add(self.len) == Some(next.address))
            .then(|| Self { address: self.address, len: self.len + next.len })
    }

    /// Fills `out` with the bytes from `start` on.
    ///
    /// # Panics
    /// If the span is shorter.
    #[inline]
    pub fn read(self, start: usize, out: &mut [u8]) {
        let part = self.part(start, out.len());
        // SAFETY: `part` is inside the span, which is readable (`Span::new`); `out` is a Rust
        // slice, borrowed exclusively.
        unsafe { copy(part.address as *const u8, out.as_mut_ptr(), part.len) }
    }

    /// Appends all bytes to `out`.
    pub fn append_to(self, out: &mut Vec<u8>) {
        out.reserve(self.len);
        // SAFETY: the span is readable (`Span::new`), and `out` has room for its bytes, which are all
        // written before they count.
        unsafe {
            copy(self.address as *const u8, out.as_mut_ptr().add(out.len()), self.len);
            out.set_len(out.len() + self.len);
        }
    }

    /// Copies `data` over the bytes from `start` on.
    ///
    /// # Panics
    /// If the span is shorter.
    #[inline]
    pub fn write(self, start: usize, data: &[u8]) {
        let part = self.part(start, data.len());
        // SAFETY: as in `read`; a span that is written to was made for a receive (`Span::new`).
        unsafe { copy(data.as_ptr(), part.address as *mut u8, part.len) }
    }

    /// Copies the bytes to `to`, a span of the same length without any of them.
    ///
    /// # Panics
    /// If the lengths differ, or the two overlap.
    #[inline]
    pub fn copy_nonoverlapping(self, to: Self) {
        assert!(self.len == to.len && !self.overlaps(to));
        // SAFETY: both were made by `Span::new`, `to` for writing.
        unsafe { copy(self.address as *const u8, to.address as *mut u8, self.len) }
    }

    /// Copies each first span to the second one of a pair, of the same length without any of its bytes, past the caches
    /// where the processor can: for more data than they keep.
    ///
    /// # Panics
    /// If the lengths of a pair differ, or the two overlap.
    pub fn copy_past_caches(pairs: impl Iterator<Item = (Self, Self)>) {
        for (from, to) in pairs {
            assert!(from.len == to.len && !from.overlaps(to));
            // SAFETY: both were made by `Span::new`, `to` for writing.
            unsafe { copy_past_caches(from.address as *const u8, to.address as *mut u8, from.len) }
        }
        fence_past_caches();
    }

    /// Replaces a number of 4 or 8 bytes atomically, and returns the old number.
    ///
    /// # Panics
    /// As [`Span::atomically`].
    pub fn fetch_update(self, new: impl Fn(u64) -> u64) -> u64 {
        let order = Ordering::SeqCst;
        self.atomically(
            |number| {
                let new = |old: u32| Some(new(u64::from(old)) as u32);
                number.fetch_update(order, order, new).unwrap_or_default()
            },
            |number| number.fetch_update(order, order, |old| Some(new(old))).unwrap_or_default(),
        )
    }

    /// Changes a number of 4 or 8 bytes by one of the two, and returns what that returns.
    ///
    /// # Panics
    /// If the span has another length or is not aligned.
    #[inline]
    pub fn atomically(
        self, four: impl FnOnce(&AtomicU32) -> u32, eight: impl FnOnce(&AtomicU64) -> u64,
    ) -> u64 {
        assert!(self.is_number());
        // SAFETY: the span is memory of that size (`Span::new`), aligned as just checked; others
        // change it only atomically.
        unsafe {
            if self.len == 8 {
                eight(AtomicU64::from_ptr(self.address as *mut u64))
            } else {
                four(AtomicU32::from_ptr(self.address as *mut u32)).into()
            }
        }
    }

    /// Whether it is an aligned number of 4 or 8 bytes.
    #[inline]
    fn is_number(self) -> bool {
        matches!(self.len, 4 | 8) && self.address & (self.len - 1) == 0
    }

    /// The same as [`Span::copy_to`], but an aligned number of 4 or 8 bytes is read and written as a
    /// whole, also if others change it atomically meanwhile.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn copy_untorn(self, to: Self) {
        match self.number() {
            Some(number) if self.len == to.len && to.is_number() => to.set_number(number),
            _ => self.copy_to(to),
        }
    }

    /// The aligned number of 4 or 8 bytes, read as a whole; `None` if the span is none.
    #[inline]
    pub fn number(self) -> Option<u64> {
        let order = Ordering::Relaxed;
        self.is_number()
            .then(|| self.atomically(|number| number.load(order), |number| number.load(order)))
    }

    /// Writes a number of 4 or 8 bytes as a whole.
    ///
    /// # Panics
    /// As [`Span::atomically`].
    #[inline]
    pub fn set_number(self, number: u64) {
        let order = Ordering::Relaxed;
        let store_four = |place: &AtomicU32| {
            place.store(number as u32, order);
            0
        };
        let store_eight = |place: &AtomicU64| {
            place.store(number, order);
            0
        };
        self.atomically(store_four, store_eight);
    }

    /// Copies `data`, of the same length, over the bytes: an aligned number of 4 or 8 bytes as a whole.
    ///
    /// # Panics
    /// If the lengths differ.
    #[inline]
    pub fn write_untorn(self, data: &[u8]) {
        assert_eq!(self.len, data.len());
        if !self.is_number() {
            return self.write(0, data);
        }
        let order = Ordering::Relaxed;
        let store_four = |place: &AtomicU32| {
            place.store(data.try_into().map_or(0, u32::from_ne_bytes), order);
            0
        };
        let store_eight = |place: &AtomicU64| {
            place.store(data.try_into().map_or(0, u64::from_ne_bytes), order);
            0
        };
        self.atomically(store_four, store_eight);
    }

    /// Copies the bytes to `to`, a span of the same length. The two may overlap.
    ///
    /// # Panics
    /// If the lengths differ.
    pub fn copy_to(self, to: Self) {
        assert_eq!(self.len, to.len);
        // SAFETY: both were made by `Span::new`, `to` for writing.
        unsafe { ptr::copy(self.address as *const u8, to.address as *mut u8, self.len) }
    }
}

/// Copies without reading the lines of the target, which [`fence_past_caches`] puts before later writes.
///
/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[cfg(target_arch = "x86_64")]
unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len: usize) {
    use std::arch::x86_64::{_mm_loadu_si128, _mm_stream_si128};
    const STEP: usize = 16;
    let before = to.align_offset(STEP).min(len);
    let steps = (len - before) / STEP;
    let end = before + steps * STEP;
    // SAFETY: the caller's promise; each store is in the target, and aligned after `before`.
    unsafe {
        copy(from, to, before);
        for step in 0..steps {
            let start = before + step * STEP;
            _mm_stream_si128(to.add(start).cast(), _mm_loadu_si128(from.add(start).cast()));
        }
        copy(from.add(end), to.add(end), len - end);
    }
}

#[cfg(target_arch = "x86_64")]
fn fence_past_caches() {
    // SAFETY: every such processor has the instruction.
    unsafe { std::arch::x86_64::_mm_sfence() }
}

/// # Safety
/// As for [`ptr::copy_nonoverlapping`].
#[cfg(not(target_arch = "x86_64"))]
unsafe fn copy_past_caches(from: *const u8, to: *mut u8, len: usize) {
    // SAFETY: the caller's promise.
    unsafe { copy(from, to, len) }
}

#[cfg(not(target_arch = "x86_64"))]
fn fence_past_caches() {}

/// Copies without a call if the length is that of one number, as in small messages.
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
    fn numbers_and_other_bytes_are_copied() {
        let mut words = [0_u64; 8];
        let all = Span { address: words.as_mut_ptr() as usize, len: 64 };
        for len in 0..12 {
            for start in 0..9 {
                let data: Vec<_> = (0..len).map(|byte| (byte + start + 1) as u8).collect();
                all.write(0, &[0; 64]);
                let (one, other) = (all.part(start, len), all.part(40 - start, len));
                one.write_untorn(&data);
                one.copy_untorn(other);
                let mut bytes = [0; 64];
                all.read(0, &mut bytes);
                assert_eq!(bytes[start..][..len], data);
                assert_eq!(bytes[40 - start..][..len], data);
                let written = bytes.iter().filter(|byte| **byte != 0).count();
                assert_eq!(written, 2 * len, "{len} bytes at {start}");
            }
        }
    }

    #[test]
    fn copies_past_the_caches_are_copies() {
        let (mut from, mut to) = ([0_u8; 200], [0_u8; 200]);
        from.iter_mut().zip(1..).for_each(|(byte, number)| *byte = number);
        let span = |bytes: &mut [u8]| Span { address: bytes.as_mut_ptr() as usize, len: 200 };
        let (source, target) = (span(&mut from), span(&mut to));
        for len in [0, 1, 15, 16, 17, 64, 100] {
            for start in 0..17 {
                target.write(0, &[0; 200]);
                let pair = (source.part(1, len), target.part(start, len));
                Span::copy_past_caches(std::iter::once(pair));
                let mut found = [0; 200];
                target.read(0, &mut found);
                let mut expected = [0; 200];
                source.part(1, len).read(0, &mut expected[start..][..len]);
                assert_eq!(found, expected, "{len} bytes to {start}");
            }
        }
    }

    #[test]
    fn spans_overlap_if_they_share_a_byte() {
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
