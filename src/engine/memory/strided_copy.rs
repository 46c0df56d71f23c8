//! Copies of rows of equal pieces at equal distances, as the rows and planes of arrays have them.
#![allow(unsafe_code)]

use std::ptr;

/// Pieces of up to this many bytes are copied in place, longer ones by a call.
const SHORT_BYTES: usize = 1024;

/// `rows` rows of `count` pieces of `len` adjacent bytes.
#[derive(Clone, Copy)]
pub(crate) struct StridedGrid {
    /// Bytes of a piece.
    pub(crate) len: usize,
    /// Bytes from one piece to the next in the packed buffer.
    pub(crate) step: usize,
    /// Bytes from one piece to the next in memory.
    pub(crate) stride: isize,
    /// Pieces of a row.
    pub(crate) count: usize,
    /// The number of rows. They follow each other in the packed buffer.
    pub(crate) rows: usize,
    /// Bytes from one row to the next in memory.
    pub(crate) row_stride: isize,
}

impl StridedGrid {
    /// Copies all pieces.
    ///
    /// The lengths of C's arithmetic types and of their small arrays are constants here, so the
    /// copy of a piece is a few loads and stores instead of a call.
    ///
    /// # Safety
    /// `packed` is valid for each piece at its step and `address` for each at its stride, and the
    /// two do not overlap.
    #[inline]
    pub(crate) unsafe fn copy<const PACK: bool>(self, packed: *mut u8, address: usize) {
        // SAFETY: the caller's promise, for each piece.
        unsafe {
            match self.len {
                4 => self.copy_fixed::<PACK, 4>(packed, address),
                8 => self.copy_fixed::<PACK, 8>(packed, address),
                16 => self.copy_fixed::<PACK, 16>(packed, address),
                1 => self.copy_fixed::<PACK, 1>(packed, address),
                2 => self.copy_fixed::<PACK, 2>(packed, address),
                12 => self.copy_fixed::<PACK, 12>(packed, address),
                24 => self.copy_fixed::<PACK, 24>(packed, address),
                32 => self.copy_fixed::<PACK, 32>(packed, address),
                40 => self.copy_fixed::<PACK, 40>(packed, address),
                48 => self.copy_fixed::<PACK, 48>(packed, address),
                64 => self.copy_fixed::<PACK, 64>(packed, address),
                len if len <= SHORT_BYTES => {
                    self.for_each_piece(packed, address, self.step, |packed, address| {
                        copy_short::<PACK>(packed, address, len)
                    })
                }
                len => self.for_each_piece(packed, address, self.step, |packed, address| {
                    transfer::<PACK>(packed, address, len)
                }),
            }
        }
    }

    /// Copies all pieces, which have `LEN` bytes.
    ///
    /// # Safety
    /// That of [`StridedGrid::copy`].
    #[inline]
    unsafe fn copy_fixed<const PACK: bool, const LEN: usize>(
        self, packed: *mut u8, address: usize,
    ) {
        // SAFETY: the caller's promise for each piece.
        let piece = |packed, address| unsafe { copy_short::<PACK>(packed, address, LEN) };
        if self.step == LEN {
            // The usual case, with the step as a constant.
            self.for_each_piece(packed, address, LEN, piece);
        } else {
            self.for_each_piece(packed, address, self.step, piece);
        }
    }

    /// Calls `piece` with the two addresses of each piece.
    #[inline(always)]
    fn for_each_piece(
        self, mut packed: *mut u8, mut address: usize, step: usize, piece: impl Fn(*mut u8, usize),
    ) {
        for _ in 0..self.rows {
            let mut at = address;
            for _ in 0..self.count {
                piece(packed, at);
                packed = packed.wrapping_add(step);
                at = at.wrapping_add_signed(self.stride);
            }
            address = address.wrapping_add_signed(self.row_stride);
        }
    }
}

/// [`transfer`] without a call: 16 bytes at a time, then the rest, in the order of addresses.
///
/// A general copy of such lengths writes some bytes twice, which is slow if the memory is not in a
/// cache. Compilers store the parts of a longer copy from the last to the first, which was half as
/// fast on the measured processors.
///
/// # Safety
/// That of [`transfer`].
#[inline(always)]
unsafe fn copy_short<const PACK: bool>(packed: *mut u8, address: usize, len: usize) {
    let mut done = 0;
    // SAFETY: every part is inside the `len` bytes.
    unsafe {
        while len - done >= 16 {
            transfer::<PACK>(packed.wrapping_add(done), address.wrapping_add(done), 16);
            done += 16;
        }
        for part in [8, 4, 2, 1] {
            if len & part != 0 {
                transfer::<PACK>(packed.wrapping_add(done), address.wrapping_add(done), part);
                done += part;
            }
        }
    }
}

/// Copies `len` bytes from `address` to `packed`, or back.
///
/// # Safety
/// Both are valid for `len` bytes in this direction and do not overlap.
#[inline(always)]
pub(crate) unsafe fn transfer<const PACK: bool>(packed: *mut u8, address: usize, len: usize) {
    // SAFETY: the caller's promise.
    unsafe {
        if PACK {
            ptr::copy_nonoverlapping(address as *const u8, packed, len);
        } else {
            ptr::copy_nonoverlapping(packed, address as *mut u8, len);
        }
    }
}
