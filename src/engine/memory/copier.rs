//! Walks the runs of a layout and moves bytes between them and a packed buffer.
//!
//! A range of packed bytes may begin and end inside a piece. Whole elements between its ends go to
//! the loops of `strided_copy`.
#![allow(unsafe_code)]

use crate::engine::memory::layout::{Layout, StridedRun};
use crate::engine::memory::strided_copy::{StridedGrid, transfer};

/// Packed bytes of the elements that `columns` copies at a time. With the gaps between their pieces
/// they fit in a first-level cache.
const COLUMN_BYTES: usize = 4096;

/// The state of a walk, which ends when `left` is 0.
///
/// All methods rely on one promise (made by `TypedMemory::walk`): the bytes of the runs from the
/// given address on are valid for the direction of the copy, `packed` is valid for `left` bytes,
/// and the two do not overlap.
pub(crate) struct Copier<const PACK: bool> {
    pub(crate) packed: *mut u8,
    pub(crate) left: usize,
}

impl<const PACK: bool> Copier<PACK> {
    /// Copies the bytes of `run` of the element at `base`, except the first `skip` packed bytes.
    ///
    /// # Safety
    /// See [`Copier`].
    #[inline]
    pub(crate) unsafe fn run(&mut self, run: &StridedRun, base: usize, skip: usize) {
        let mut address = base.wrapping_add_signed(run.offset);
        let (mut index, mut skip) = (0, skip);
        if skip >= run.len {
            index = skip / run.len;
            skip -= index * run.len;
            address = address.wrapping_add_signed((index as isize).wrapping_mul(run.stride));
        }
        // SAFETY: `address` is the address of piece `index`; the promise is passed on.
        unsafe {
            match &run.nested {
                None => self.pieces(run, address, index, skip),
                Some(inside) => {
                    if skip == 0 && (inside.is_flat() || inside.is_row()) {
                        let whole = (run.count - index).min(self.left / run.len);
                        match inside.runs() {
                            [row] => self.rows(row, address, whole, run.stride),
                            _ => self.columns(inside, address, whole, run.stride),
                        }
                        index += whole;
                        let offset = (whole as isize).wrapping_mul(run.stride);
                        address = address.wrapping_add_signed(offset);
                    }
                    while index < run.count && self.left > 0 {
                        self.element(inside, address, skip);
                        skip = 0;
                        index += 1;
                        address = address.wrapping_add_signed(run.stride);
                    }
                }
            }
        }
    }

    /// Copies the element at `base`, except its first `skip` packed bytes.
    ///
    /// # Safety
    /// See [`Copier`].
    unsafe fn element(&mut self, layout: &Layout, base: usize, skip: usize) {
        let (first, mut skip) = if skip == 0 { (0, 0) } else { layout.seek(skip) };
        for run in &layout.runs()[first..] {
            if self.left == 0 {
                return;
            }
            // SAFETY: the promise is passed on.
            unsafe { self.run(run, base, skip) };
            skip = 0;
        }
    }

    /// Copies the pieces of adjacent bytes from piece `index` at `address` on, except the first `skip`
    /// bytes of that piece.
    ///
    /// # Safety
    /// See [`Copier`].
    #[inline]
    unsafe fn pieces(
        &mut self, run: &StridedRun, mut address: usize, mut index: usize, skip: usize,
    ) {
        // SAFETY: every piece is inside the run, and no more than `left` bytes are moved.
        unsafe {
            if skip > 0 {
                self.copy_adjacent(address.wrapping_add(skip), (run.len - skip).min(self.left));
                index += 1;
                address = address.wrapping_add_signed(run.stride);
            }
            let mut whole = run.count - index;
            if self.left / run.len < whole {
                whole = self.left / run.len;
            }
            self.copy_pieces(address, run.len, whole, run.stride);
            if index + whole < run.count && self.left > 0 {
                let offset = (whole as isize).wrapping_mul(run.stride);
                self.copy_adjacent(address.wrapping_add_signed(offset), self.left);
            }
        }
    }

    /// Copies `len` adjacent bytes.
    ///
    /// # Safety
    /// See [`Copier`]; `len` is at most `left`.
    #[inline]
    unsafe fn copy_adjacent(&mut self, address: usize, len: usize) {
        // SAFETY: the promise.
        unsafe { transfer::<PACK>(self.packed, address, len) };
        self.packed = self.packed.wrapping_add(len);
        self.left -= len;
    }

    /// Copies `count` whole elements of a layout whose runs are single pieces: for a few elements at
    /// a time the first piece of each, then the second of each, and so on. Many short loops over the
    /// runs of an element become a few long ones.
    ///
    /// # Safety
    /// See [`Copier`]; `count` times the layout's size is at most `left`.
    unsafe fn columns(&mut self, layout: &Layout, mut address: usize, count: usize, stride: isize) {
        let size = layout.size();
        let step = (COLUMN_BYTES / size).max(1);
        let mut left = count;
        while left > 0 {
            let count = left.min(step);
            let mut packed = self.packed;
            for run in layout.runs() {
                let address = address.wrapping_add_signed(run.offset);
                let (len, rows, row_stride) = (run.len, 1, 0);
                let grid = StridedGrid { len, step: size, stride, count, rows, row_stride };
                // SAFETY: the promise, for one piece of each element.
                unsafe { grid.copy::<PACK>(packed, address) };
                packed = packed.wrapping_add(run.len);
            }
            self.packed = self.packed.wrapping_add(size * count);
            address = address.wrapping_add_signed((count as isize).wrapping_mul(stride));
            left -= count;
        }
        self.left -= size * count;
    }

    /// Copies `rows` whole rows like `row`, a run of adjacent bytes.
    ///
    /// # Safety
    /// See [`Copier`]; `rows` times the row's size is at most `left`.
    unsafe fn rows(&mut self, row: &StridedRun, address: usize, rows: usize, row_stride: isize) {
        let StridedRun { len, count, stride, .. } = *row;
        let grid = StridedGrid { len, step: len, stride, count, rows, row_stride };
        // SAFETY: the promise.
        unsafe { grid.copy::<PACK>(self.packed, address.wrapping_add_signed(row.offset)) };
        self.packed = self.packed.wrapping_add(row.size() * rows);
        self.left -= row.size() * rows;
    }

    /// Copies `count` whole pieces of `len` bytes.
    ///
    /// # Safety
    /// See [`Copier`]; `len * count` is at most `left`.
    #[inline]
    unsafe fn copy_pieces(&mut self, address: usize, len: usize, count: usize, stride: isize) {
        let grid = StridedGrid { len, step: len, stride, count, rows: 1, row_stride: 0 };
        // SAFETY: the promise.
        unsafe { grid.copy::<PACK>(self.packed, address) };
        self.packed = self.packed.wrapping_add(len * count);
        self.left -= len * count;
    }
}
