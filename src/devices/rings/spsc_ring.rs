//! A ring with one sender and one receiver. A small message is one cache line.
//!
//! ```text
//! cells   | 3: stamp 4 | 4: stamp 5 | 5: stamp 2 | 6: stamp 3 |     position p lies in cell
//!                head ─┘ (next to read)   └─ tail (next to write)   p % CELLS, stamped p + 1
//!
//! bytes   |..packet 3..|..packet 4..|......free......|pad|          packets over INLINE bytes,
//!                                                                   each in one piece
//! ```
//!
//! The sender writes a cell and then, with release, its stamp; the receiver waits for the stamp of its
//! position. So the hot path touches one line and no counter. The receiver publishes its position
//! (`credit`) once per quarter of the ring; the sender reads the credit only when the ring seems
//! full. A packet that does not fit before the end of `bytes` starts at its beginning again; both
//! sides compute that by themselves.
//!
//! Positions are counts modulo 2^32. All zero is the empty ring. Values read from the ring are masked
//! or checked before use: damage by another process can damage packets and nothing else.
//!
//! The stamps are those of D. Vyukov's bounded queue (1024cores.net), without its counters.
#![allow(unsafe_code)]

use std::ops::Deref;

use super::primitive::{
    AtomicU32, AtomicU64, Ordering, SharedBytes, SharedCell, fetch_for_writing,
};
use crate::device::{Busy, Header};

/// Bytes that travel inside a cell.
pub(crate) const INLINE: usize = 40;

/// Distance in cells between the next cell and the line that a sender prefetches: in a stream of small
/// messages each line comes back from the receiver first, and several transfers overlap.
const AHEAD: u32 = 4;

/// Packets start at multiples of this in `bytes`: each line belongs to one packet.
const LINE: usize = 64;

/// The len_max packet of a ring: a quarter of it. Then the published credit of an idle receiver always
/// has room for one (less than a quarter is not published, and less than another is padding).
pub(crate) const fn packet_max(ring: usize) -> usize {
    ring / 4
}

/// `CELLS` packets at most, `BYTES` of those that are longer than [`INLINE`]; powers of two.
#[repr(C, align(128))]
pub(crate) struct SpscRing<const CELLS: usize, const BYTES: usize> {
    /// The receiver's position in cells (high half) and bytes (low half), as last published.
    credit: AtomicU64,
    cells: [RingCell; CELLS],
    bytes: SharedBytes<BYTES>,
}

#[repr(C, align(64))]
struct RingCell {
    /// 1 + the position of the packet that it holds; 0 before the first.
    stamp: AtomicU32,
    /// The kind in the highest byte, the length in the others.
    shape: SharedCell<u32>,
    words: SharedCell<[u64; 2]>,
    data: SharedBytes<INLINE>,
}

/// The sending side.
pub(crate) struct RingWriter<L> {
    shared: L,
    /// Bytes in use, from the first; equal on both sides.
    ring_bytes: usize,
    /// Position of the next packet.
    cell: u32,
    byte: u32,
    /// The end of the free positions by the last credit: the receiver's position plus the ring.
    cell_limit: u32,
    byte_limit: u32,
}

/// The receiving side.
pub(crate) struct RingReader<L> {
    shared: L,
    /// Bytes in use, from the first; equal on both sides.
    ring_bytes: usize,
    /// The next packet to read.
    cell: u32,
    byte: u32,
    /// The last published credit.
    cell_published: u32,
    byte_published: u32,
}

impl<const CELLS: usize, const BYTES: usize> SpscRing<CELLS, BYTES> {
    const SOUND: () = assert!(
        CELLS.is_power_of_two() && BYTES.is_power_of_two() && BYTES / 4 >= LINE && CELLS >= 2
    );

    /// Bytes of memory that a ring with `ring` bytes for packets uses, from its beginning.
    pub(crate) const fn used_bytes(ring: usize) -> usize {
        std::mem::offset_of!(Self, bytes) + ring
    }

    fn cell(&self, position: u32) -> &RingCell {
        &self.cells[position as usize % CELLS]
    }

    /// Checks a number of bytes in use.
    ///
    /// # Panics
    /// If it is not a power of two, more than `BYTES`, or too small for four packets.
    fn checked_ring(ring: usize) -> usize {
        let () = Self::SOUND;
        assert!(ring.is_power_of_two() && ring <= BYTES && ring / 4 >= LINE);
        ring
    }

    /// The index of a packet of `len` bytes in a ring of `ring` bytes at byte position `byte`, and the
    /// byte position after it.
    fn place(ring: usize, byte: u32, len: usize) -> (usize, u32) {
        let at = byte as usize & (ring - 1);
        let padding = if len > ring - at { ring - at } else { 0 };
        let end = byte.wrapping_add((padding + len.next_multiple_of(LINE)) as u32);
        ((at + padding) & (ring - 1), end)
    }
}

#[cfg(loom)]
impl<const CELLS: usize, const BYTES: usize> SpscRing<CELLS, BYTES> {
    /// An empty ring for the model checker.
    pub(crate) fn new() -> Self {
        let cell = |_| RingCell {
            stamp: AtomicU32::new(0),
            shape: SharedCell::new(0),
            words: SharedCell::new([0; 2]),
            data: SharedBytes::new(),
        };
        Self {
            credit: AtomicU64::new(0),
            cells: std::array::from_fn(cell),
            bytes: SharedBytes::new(),
        }
    }
}

impl<const CELLS: usize, const BYTES: usize, L> RingWriter<L>
where
    L: Deref<Target = SpscRing<CELLS, BYTES>>,
{
    /// The sending side of an unused ring, with packets over [`INLINE`] in the first `ring` bytes.
    ///
    /// # Safety
    /// It is the only writer that the ring ever has, and the reader has the same `ring`.
    ///
    /// # Panics
    /// If `ring` is no valid size.
    pub(crate) unsafe fn new(shared: L, ring: usize) -> Self {
        let ring_bytes = SpscRing::<CELLS, BYTES>::checked_ring(ring);
        let (cell_limit, byte_limit) = (CELLS as u32, ring_bytes as u32);
        Self { shared, ring_bytes, cell: 0, byte: 0, cell_limit, byte_limit }
    }

    /// Sends at most [`INLINE`] bytes in a cell, written by `fill`.
    ///
    /// # Errors
    /// [`Busy`] if every cell is in use.
    ///
    /// # Panics
    /// If `len` is too long.
    #[inline]
    pub(crate) fn send_inline(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if self.cell == self.cell_limit {
            self.refresh_cells()?;
        }
        let cell = self.shared.cell(self.cell);
        // SAFETY: by its credit (`cell_limit`), the receiver has read the cell, and it reads the cell
        // again only after the stamp below; this is the only sender (`new`).
        unsafe { cell.data.write(0, len, fill) };
        self.publish(header, len);
        Ok(())
    }

    /// Sends at most [`packet_max`] bytes, written by `fill`.
    ///
    /// # Errors
    /// [`Busy`] if every cell is in use or `len` bytes are not free; `fill` is not called.
    ///
    /// # Panics
    /// If `len` is too long.
    #[inline(always)]
    pub(crate) fn send(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        if len <= INLINE {
            return self.send_inline(header, len, fill);
        }
        self.send_long(header, len, fill)
    }

    #[inline(never)]
    fn send_long(
        &mut self, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(len <= packet_max(self.ring_bytes));
        if self.cell == self.cell_limit {
            self.refresh_cells()?;
        }
        let (at, end) = SpscRing::<CELLS, BYTES>::place(self.ring_bytes, self.byte, len);
        if self.bytes_left(end) < 0 {
            self.read_credit();
            if self.bytes_left(end) < 0 {
                return Err(Busy);
            }
        }
        // SAFETY: by its credit (`byte_limit`), the receiver has read these bytes, and it reads them
        // again only after the stamp below; this is the only sender (`new`).
        unsafe { self.shared.bytes.write(at, len, fill) };
        self.byte = end;
        self.publish(header, len);
        Ok(())
    }

    /// How many packets have been sent, modulo 2^32.
    #[inline]
    pub(crate) fn position(&self) -> u32 {
        self.cell
    }

    /// Prefetches the line of the next packet, if one will probably be sent soon. The receiver polls
    /// that line, so the transfer of the line overlaps with other work.
    #[inline]
    pub(crate) fn prefetch(&self) {
        fetch_for_writing(self.shared.cell(self.cell));
    }

    /// Bytes between `end` and the limit; negative if `end` is after the limit.
    fn bytes_left(&self, end: u32) -> i32 {
        self.byte_limit.wrapping_sub(end) as i32
    }

    #[inline]
    fn publish(&mut self, header: &Header, len: usize) {
        let cell = self.shared.cell(self.cell);
        // SAFETY: as for the data in `send_inline`.
        unsafe {
            cell.shape.store(u32::from(header.kind) << 24 | len as u32);
            cell.words.store(header.words);
        }
        self.cell = self.cell.wrapping_add(1);
        cell.stamp.store(self.cell, Ordering::Release);
        fetch_for_writing(self.shared.cell(self.cell.wrapping_add(AHEAD)));
    }

    #[cold]
    fn refresh_cells(&mut self) -> Result<(), Busy> {
        self.read_credit();
        if self.cell == self.cell_limit { Err(Busy) } else { Ok(()) }
    }

    /// Reads the receiver's credit. A damaged credit can cause overwritten packets in this ring only.
    #[cold]
    fn read_credit(&mut self) {
        let credit = self.shared.credit.load(Ordering::Acquire);
        self.cell_limit = ((credit >> 32) as u32).wrapping_add(CELLS as u32);
        self.byte_limit = (credit as u32).wrapping_add(self.ring_bytes as u32);
    }
}

impl<const CELLS: usize, const BYTES: usize, L> RingReader<L>
where
    L: Deref<Target = SpscRing<CELLS, BYTES>>,
{
    /// The receiving side of an unread ring.
    ///
    /// # Safety
    /// It is the only reader that the ring ever has, and the writer has the same `ring`.
    ///
    /// # Panics
    /// If `ring` is no valid size.
    pub(crate) unsafe fn new(shared: L, ring: usize) -> Self {
        let ring_bytes = SpscRing::<CELLS, BYTES>::checked_ring(ring);
        Self { shared, ring_bytes, cell: 0, byte: 0, cell_published: 0, byte_published: 0 }
    }

    /// How many packets have been read, modulo 2^32.
    pub(crate) fn position(&self) -> u32 {
        self.cell
    }

    /// The last published credit, in cells and bytes.
    pub(crate) fn credit(&self) -> (u32, u32) {
        (self.cell_published, self.byte_published)
    }

    /// Passes the next packet to `deliver`; false if none has arrived.
    ///
    /// # Panics
    /// If the length is one that no sender writes: the segment is damaged.
    #[inline]
    pub(crate) fn next(&mut self, deliver: impl FnOnce(&Header, &[u8])) -> bool {
        let cell = self.shared.cell(self.cell);
        let after = self.cell.wrapping_add(1);
        if cell.stamp.load(Ordering::Acquire) != after {
            return false;
        }
        // SAFETY: by the stamp, the sender has written this cell, and the credit does not release the
        // cell yet; this is the only receiver (`new`).
        let (shape, words) = unsafe { (cell.shape.load(), cell.words.load()) };
        let (len, kind) = (shape as usize & 0xff_ffff, (shape >> 24) as u8);
        let header = Header { words, kind };
        if len <= INLINE {
            // SAFETY: as above.
            unsafe { cell.data.read(0, len, |data| deliver(&header, data)) };
        } else {
            let end = self.read_long(len, |data| deliver(&header, data));
            self.byte = end;
        }
        self.cell = after;
        self.publish_credit();
        true
    }

    fn read_long(&self, len: usize, deliver: impl FnOnce(&[u8])) -> u32 {
        let len_max = packet_max(self.ring_bytes);
        assert!(len <= len_max, "shared segment damaged: a packet of {len} bytes in a ring");
        let (at, end) = SpscRing::<CELLS, BYTES>::place(self.ring_bytes, self.byte, len);
        // SAFETY: as in `next`: the bytes belong to the cell.
        unsafe { self.shared.bytes.read(at, len, deliver) };
        end
    }

    /// Publishes the credit if a quarter of the ring has become free since the last time.
    #[inline]
    fn publish_credit(&mut self) {
        let cells = self.cell.wrapping_sub(self.cell_published) as usize;
        let bytes = self.byte.wrapping_sub(self.byte_published) as usize;
        if cells >= CELLS.div_ceil(4) || bytes >= self.ring_bytes / 4 {
            (self.cell_published, self.byte_published) = (self.cell, self.byte);
            let credit = u64::from(self.cell) << 32 | u64::from(self.byte);
            self.shared.credit.store(credit, Ordering::Release);
        }
    }
}
