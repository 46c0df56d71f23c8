//! A lane: a ring with one sender and one receiver. A small message is one cache line.
//!
//! ```text
//! cells   | 3: stamp 4 | 4: stamp 5 | 5: stamp 2 | 6: stamp 3 |     position p lies in cell
//!                head ─┘ (next to read)   └─ tail (next to write)   p % CELLS, stamped p + 1
//!
//! bytes   |..packet 3..|..packet 4..|......free......|pad|          packets over INLINE bytes,
//!                                                                   each in one piece
//! ```
//!
//! The sender writes a cell and then, with release, its stamp; the receiver waits for the stamp that
//! its position must have. So the hot path touches one line, and no counter. The receiver
//! publishes how far it is (`credit`) once per quarter of the ring; the sender looks at that only
//! when it believes that the ring is full. A packet that does not fit before the end of `bytes`
//! starts at its beginning again; both sides do that sum for themselves.
//!
//! Positions are counts modulo 2^32. All zero is the empty lane. What is read from the lane is
//! masked or checked before it is used: damage by another process can damage packets, no more.
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

/// How far ahead of the next cell a sender fetches the line that it will write: in a stream of small
/// messages each line has to come back from the receiver first, and several are on the way at once.
const AHEAD: u32 = 4;

/// Packets start at multiples of this in `bytes`: no line is written by two packets.
const LINE: usize = 64;

/// The longest packet of a ring: a quarter of it, so that an idle receiver always has told of room
/// for one (less than a quarter is untold, and less than another is padding).
pub(crate) const fn packet_max(ring: usize) -> usize {
    ring / 4
}

/// `CELLS` packets at most, `BYTES` of those that are longer than [`INLINE`]; powers of two.
#[repr(C, align(128))]
pub(crate) struct SpscRing<const CELLS: usize, const BYTES: usize> {
    /// The receiver's position in cells (high half) and bytes (low half), now and then.
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
    /// How many of the bytes are used: the first ones. Both sides have the same number.
    ring_bytes: usize,
    /// Where the next packet goes.
    cell: u32,
    byte: u32,
    /// Where it must not go yet: the receiver was one ring before this when last looked at.
    cell_limit: u32,
    byte_limit: u32,
}

/// The receiving side.
pub(crate) struct RingReader<L> {
    shared: L,
    /// As the sender has it.
    ring_bytes: usize,
    /// The next packet to read.
    cell: u32,
    byte: u32,
    /// What the sender has been told.
    cell_published: u32,
    byte_published: u32,
}

impl<const CELLS: usize, const BYTES: usize> SpscRing<CELLS, BYTES> {
    const SOUND: () = assert!(
        CELLS.is_power_of_two() && BYTES.is_power_of_two() && BYTES / 4 >= LINE && CELLS >= 2
    );

    /// How many of its first bytes are ever used.
    pub(crate) const fn used_bytes(ring: usize) -> usize {
        std::mem::offset_of!(Self, bytes) + ring
    }

    fn cell(&self, position: u32) -> &RingCell {
        &self.cells[position as usize % CELLS]
    }

    /// Checks how many of the bytes are to be used.
    ///
    /// # Panics
    /// Unless that is a power of two, no more than there are, and room for four packets.
    fn checked_ring(ring: usize) -> usize {
        let () = Self::SOUND;
        assert!(ring.is_power_of_two() && ring <= BYTES && ring / 4 >= LINE);
        ring
    }

    /// Where a packet of `len` bytes goes when a ring of `ring_bytes` bytes has been used up to `byte`,
    /// and up to where it is used then.
    fn place(ring: usize, byte: u32, len: usize) -> (usize, u32) {
        let at = byte as usize & (ring - 1);
        let padding = if len > ring - at { ring - at } else { 0 };
        let end = byte.wrapping_add((padding + len.next_multiple_of(LINE)) as u32);
        ((at + padding) & (ring - 1), end)
    }
}

#[cfg(loom)]
impl<const CELLS: usize, const BYTES: usize> SpscRing<CELLS, BYTES> {
    /// An empty lane for the model checker.
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
    /// The sending side of `shared`, from its beginning, with packets over [`INLINE`] in the first
    /// `ring_bytes` bytes.
    ///
    /// # Safety
    /// It is the only one that the lane ever has, and the receiving side has the same `ring_bytes`.
    ///
    /// # Panics
    /// If there is no such ring.
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
        // SAFETY: the receiver has told that it is past what the cell held (`cell_limit`), and
        // reads it again only after the stamp below; we are the only sender (`new`).
        unsafe { cell.data.write(0, len, fill) };
        self.publish(header, len);
        Ok(())
    }

    /// Sends at most [`packet_max`] bytes, written by `fill`.
    ///
    /// # Errors
    /// [`Busy`] if every cell is in use or there is no piece of that length; `fill` is not called.
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
        if self.room_for(end) < 0 {
            self.read_credit();
            if self.room_for(end) < 0 {
                return Err(Busy);
            }
        }
        // SAFETY: the receiver has told that it is past these bytes (`byte_limit`), and reads them
        // again only after the stamp below; we are the only sender (`new`).
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

    /// A packet is probably sent soon: gets the line that it will need. The receiver polls that line,
    /// so taking it from there costs a transfer, which now overlaps with what comes in between.
    #[inline]
    pub(crate) fn prefetch(&self) {
        fetch_for_writing(self.shared.cell(self.cell));
    }

    /// How far `end` is before the limit; negative: behind it.
    fn room_for(&self, end: u32) -> i32 {
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

    /// Reads the receiver's credit. A damaged one may let us overwrite packets of this lane.
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
    /// The receiving side of `shared`, from its beginning.
    ///
    /// # Safety
    /// It is the only one that the lane ever has, and the sending side has the same `ring_bytes`.
    ///
    /// # Panics
    /// If there is no such ring.
    pub(crate) unsafe fn new(shared: L, ring: usize) -> Self {
        let ring_bytes = SpscRing::<CELLS, BYTES>::checked_ring(ring);
        Self { shared, ring_bytes, cell: 0, byte: 0, cell_published: 0, byte_published: 0 }
    }

    /// How many packets have been read, modulo 2^32.
    pub(crate) fn position(&self) -> u32 {
        self.cell
    }

    /// Gives the next packet to `deliver`; false if none has arrived.
    ///
    /// # Panics
    /// If the packet has a length that no sender writes: the segment is damaged.
    #[inline]
    pub(crate) fn next(&mut self, deliver: impl FnOnce(&Header, &[u8])) -> bool {
        let cell = self.shared.cell(self.cell);
        let after = self.cell.wrapping_add(1);
        if cell.stamp.load(Ordering::Acquire) != after {
            return false;
        }
        // SAFETY: the stamp says that the sender is done with this cell, and the credit does not
        // yet say that we are; we are the only receiver (`new`).
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
        let longest = packet_max(self.ring_bytes);
        assert!(len <= longest, "shared segment damaged: a packet of {len} bytes in a lane");
        let (at, end) = SpscRing::<CELLS, BYTES>::place(self.ring_bytes, self.byte, len);
        // SAFETY: as in `next`: the bytes belong to the cell.
        unsafe { self.shared.bytes.read(at, len, deliver) };
        end
    }

    /// Publishes the credit when a quarter of the ring has become free since the last time.
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
