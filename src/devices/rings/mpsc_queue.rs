//! A queue with many senders and one receiver: the way of packets from peers without a ring.
//!
//! ```text
//! stamp of the cell for position p (cell p % CELLS, lap p - p % CELLS):
//!    lap ── a sender takes p from `tail` and writes ──> lap + 1 ── read ──> lap + CELLS
//! ```
//!
//! A sender that finds `lap` in the cell of the tail takes the position with a compare-and-swap;
//! an earlier stamp means that the queue is full: [`Busy`]. Packets that do not fit into the cell lie
//! in the slot with the cell's index, and their length in the cell. Cells and slots are apart in memory:
//! the cells of all queues of a node share few page tables. All zero is the empty queue. The order of
//! one sender's packets is the order of their positions.
//!
//! A sender that loses its processor between the two steps holds up no other sender: the receiver
//! looks past an unfilled cell once in a while, at most to the tail that it has seen before. A cell
//! up to there was taken after its sender had filled all its earlier cells, and the receiver sees them
//! filled, so the order of each sender's packets holds. The queue is full `CELLS` packets after the
//! unfilled cell. If the sender has died there, it remains so.
//!
//! D. Vyukov, "Bounded MPMC queue" (1024cores.net), with the cell's index subtracted from stamps so
//! that zero is the initial state.
#![allow(unsafe_code)]

use std::ops::Deref;

use super::primitive::{AtomicU32, Ordering, SharedBytes, SharedCell};
use crate::device::{Busy, Header};

/// Bytes that travel inside a cell.
pub(crate) const INLINE: usize = 40;

/// A queue, as references to its memory.
#[derive(Clone)]
pub(crate) struct MpscQueue<C, S> {
    cells: C,
    slots: S,
}

/// `CELLS` packets at most, a power of two.
#[repr(C, align(128))]
pub(crate) struct QueueCells<const CELLS: usize> {
    /// The next position to be taken.
    tail: AtomicU32,
    cells: [QueueCell; CELLS],
}

/// Packets outside of their cells, each of `PACKET` bytes at most.
#[repr(C, align(128))]
pub(crate) struct QueueSlots<const CELLS: usize, const PACKET: usize>([SharedBytes<PACKET>; CELLS]);

#[repr(C, align(64))]
struct QueueCell {
    stamp: AtomicU32,
    /// [`CellShape`].
    shape: SharedCell<u32>,
    words: SharedCell<[u64; 2]>,
    data: SharedBytes<INLINE>,
}

/// The kind of a packet (8 bits), its length or [`CellShape::IN_SLOT`] (8 bits), [`CellShape::SWITCH`]
/// (1 bit) and the slot of the sender (15 bits).
#[derive(Clone, Copy)]
struct CellShape(u32);

impl CellShape {
    /// The packet is in the slot, and its length in the data of the cell.
    const IN_SLOT: usize = 0xff;

    /// Not a packet but a switch marker: the sender continues in the ring that the first word names.
    const SWITCH: u32 = 1 << 15;

    fn new(kind: u8, len: usize, from: u32) -> Self {
        let len = if len <= INLINE { len } else { Self::IN_SLOT };
        Self(u32::from(kind) << 24 | (len as u32) << 16 | from)
    }

    fn kind(self) -> u8 {
        (self.0 >> 24) as u8
    }

    fn len(self) -> usize {
        (self.0 >> 16) as usize & 0xff
    }

    fn is_switch(self) -> bool {
        self.0 & Self::SWITCH != 0
    }

    fn from(self) -> u32 {
        self.0 & (Self::SWITCH - 1)
    }
}

/// An entry of the queue.
pub(crate) enum QueueArrival<'a> {
    /// A packet.
    Packet {
        /// The slot of the sender, not checked.
        from: u32,
        header: Header,
        data: &'a [u8],
    },
    /// All later packets of a sender are in a ring.
    Switch {
        /// The slot of the sender, not checked.
        from: u32,
        /// The index of the ring, not checked.
        ring: u64,
    },
}

/// The receiving side.
pub(crate) struct QueueReader<C, S> {
    queue: MpscQueue<C, S>,
    /// The next position to read in order.
    position: u32,
    /// The cells of later positions that have been read, by index.
    read_ahead: u64,
    /// Polls that found the cell at `position` unfilled.
    misses: u32,
}

/// Every so many polls without an entry, the reader looks past the next cell. A power of two: a poll of
/// an empty queue is to read one cell only. The model checker looks each time.
const LOOK_PAST_EVERY: u32 = if cfg!(loom) { 1 } else { 16 };

impl<const CELLS: usize, const PACKET: usize, C, S> MpscQueue<C, S>
where
    C: Deref<Target = QueueCells<CELLS>>,
    S: Deref<Target = QueueSlots<CELLS, PACKET>>,
{
    /// The queue in this memory.
    ///
    /// # Safety
    /// All queues with these cells have these slots, and no other queue has them.
    pub(crate) unsafe fn new(cells: C, slots: S) -> Self {
        Self { cells, slots }
    }

    /// Sends at most `PACKET` bytes, written by `fill`.
    ///
    /// # Errors
    /// [`Busy`] if the queue is full; `fill` is not called then.
    ///
    /// # Panics
    /// If `len` is too long, or `from` more than 32,767.
    pub(crate) fn send(
        &self, from: u32, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(from < CellShape::SWITCH);
        self.put(from, header, len, fill)
    }

    fn put(
        &self, from: u32, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(len <= PACKET);
        let (index, lap) = self.cells.take()?;
        let cell = &self.cells.cells[index];
        // SAFETY: the stamp was `lap`, so the receiver has read cell and slot, and no other sender
        // has this position (`take`); the receiver reads them again after the stamp below.
        unsafe {
            if len <= INLINE {
                cell.data.write(0, len, fill);
            } else {
                let len_bytes = (len as u32).to_ne_bytes();
                cell.data.write(0, len_bytes.len(), |data| data.copy_from_slice(&len_bytes));
                self.slots.0[index].write(0, len, fill);
            }
            cell.shape.store(CellShape::new(header.kind, len, from).0);
            cell.words.store(header.words);
        }
        cell.stamp.store(lap.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Writes a switch marker: all later packets of `from` are in `ring`.
    ///
    /// # Errors
    /// [`Busy`] if the queue is full.
    pub(crate) fn switch(&self, from: u32, ring: usize) -> Result<(), Busy> {
        assert!(from < CellShape::SWITCH);
        let header = Header { words: [ring as u64, 0], kind: 0 };
        self.put(from | CellShape::SWITCH, &header, 0, |_| ())
    }
}

impl<const CELLS: usize> QueueCells<CELLS> {
    const SOUND: () = assert!(CELLS.is_power_of_two() && CELLS >= 2 && CELLS <= u64::BITS as usize);

    /// Takes the next position for the caller: its cell and its lap.
    fn take(&self) -> Result<(usize, u32), Busy> {
        let () = Self::SOUND;
        let mut tail = self.tail.load(Ordering::Relaxed);
        loop {
            let index = tail as usize % CELLS;
            let lap = tail.wrapping_sub(index as u32);
            let stamp = self.cells[index].stamp.load(Ordering::Acquire);
            if stamp == lap {
                let (before, after) = (tail, tail.wrapping_add(1));
                // Release: a reader of the tail sees that this sender has filled its earlier cells.
                let (done, failed) = (Ordering::Release, Ordering::Relaxed);
                match self.tail.compare_exchange_weak(before, after, done, failed) {
                    Ok(_) => return Ok((index, lap)),
                    Err(moved) => tail = moved,
                }
            } else if (stamp.wrapping_sub(lap) as i32) < 0 {
                return Err(Busy);
            } else {
                tail = self.tail.load(Ordering::Relaxed);
            }
        }
    }
}

#[cfg(loom)]
impl<const CELLS: usize> QueueCells<CELLS> {
    /// Empty cells for the model checker.
    pub(crate) fn new() -> Self {
        let cell = |_| QueueCell {
            stamp: AtomicU32::new(0),
            shape: SharedCell::new(0),
            words: SharedCell::new([0; 2]),
            data: SharedBytes::new(),
        };
        Self { tail: AtomicU32::new(0), cells: std::array::from_fn(cell) }
    }
}

#[cfg(loom)]
impl<const CELLS: usize, const PACKET: usize> QueueSlots<CELLS, PACKET> {
    /// Slots for the model checker.
    pub(crate) fn new() -> Self {
        Self(std::array::from_fn(|_| SharedBytes::new()))
    }
}

impl<const CELLS: usize, const PACKET: usize, C, S> QueueReader<C, S>
where
    C: Deref<Target = QueueCells<CELLS>>,
    S: Deref<Target = QueueSlots<CELLS, PACKET>>,
{
    /// The receiving side of an unread queue.
    ///
    /// # Safety
    /// It is the only reader that the queue ever has.
    pub(crate) unsafe fn new(queue: MpscQueue<C, S>) -> Self {
        Self { queue, position: 0, read_ahead: 0, misses: 0 }
    }

    /// How many packets and switches have been read, modulo 2^32.
    pub(crate) fn count(&self) -> u32 {
        self.position.wrapping_add(self.read_ahead.count_ones())
    }

    /// The next poll looks past an unfilled cell. The caller will not poll for long.
    pub(crate) fn look_past_soon(&mut self) {
        self.misses = LOOK_PAST_EVERY - 1;
    }

    /// Passes the next entry to `deliver` and returns its result; `None` if there is none, or only
    /// behind an unfilled cell.
    ///
    /// # Panics
    /// If the length is one that no sender writes: the segment is damaged.
    #[inline]
    pub(crate) fn next<R>(&mut self, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> Option<R> {
        if !self.is_filled(self.position) {
            self.misses = self.misses.wrapping_add(1);
            if !self.misses.is_multiple_of(LOOK_PAST_EVERY) {
                return None;
            }
            return self.look_past(deliver);
        }
        let result = self.take(self.position, deliver);
        self.position = self.position.wrapping_add(1);
        if self.read_ahead != 0 {
            self.skip_read();
        }
        Some(result)
    }

    /// Passes the first entry behind unfilled cells to `deliver`.
    #[cold]
    fn look_past<R>(&mut self, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> Option<R> {
        // Acquire: with a taken cell, the earlier cells of its sender are seen filled.
        let tail = self.queue.cells.tail.load(Ordering::Acquire);
        // A larger difference is the mistake of a peer.
        let taken = tail.wrapping_sub(self.position).min(CELLS as u32);
        let later = (0..taken).map(|offset| self.position.wrapping_add(offset));
        let found = later
            .filter(|position| self.read_ahead & Self::bit(*position) == 0)
            .find(|position| self.is_filled(*position))?;
        let result = self.take(found, deliver);
        self.read_ahead |= Self::bit(found);
        self.skip_read();
        self.look_past_soon();
        Some(result)
    }

    /// Advances over cells that have been read.
    fn skip_read(&mut self) {
        while self.read_ahead & Self::bit(self.position) != 0 {
            self.read_ahead &= !Self::bit(self.position);
            self.position = self.position.wrapping_add(1);
        }
    }

    fn bit(position: u32) -> u64 {
        1 << (position as usize % CELLS)
    }

    /// Whether the sender with this position has filled the cell, and the reader has not read it.
    #[inline]
    fn is_filled(&self, position: u32) -> bool {
        let index = position as usize % CELLS;
        let filled = position.wrapping_sub(index as u32).wrapping_add(1);
        self.queue.cells.cells[index].stamp.load(Ordering::Acquire) == filled
    }

    /// Reads the filled cell with this position and frees it.
    #[inline]
    fn take<R>(&self, position: u32, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> R {
        let index = position as usize % CELLS;
        let lap = position.wrapping_sub(index as u32);
        let result = self.read(index, deliver);
        let cell = &self.queue.cells.cells[index];
        cell.stamp.store(lap.wrapping_add(CELLS as u32), Ordering::Release);
        result
    }

    fn read<R>(&self, index: usize, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> R {
        let cell = &self.queue.cells.cells[index];
        // SAFETY: by the stamp, the sender has written cell and slot, and no sender writes them
        // before `take` changes the stamp; this is the only receiver (`new`).
        unsafe {
            let (shape, words) = (CellShape(cell.shape.load()), cell.words.load());
            let (from, kind, len) = (shape.from(), shape.kind(), shape.len());
            if shape.is_switch() {
                return deliver(QueueArrival::Switch { from, ring: words[0] });
            }
            let deliver = |data: &[u8]| {
                deliver(QueueArrival::Packet { from, header: Header { words, kind }, data })
            };
            if len <= INLINE {
                return cell.data.read(0, len, deliver);
            }
            let mut len_bytes = [0; 4];
            cell.data.read(0, len_bytes.len(), |data| len_bytes.copy_from_slice(data));
            let len = u32::from_ne_bytes(len_bytes) as usize;
            assert!(len <= PACKET, "shared segment damaged: a packet of {len} bytes queued");
            self.queue.slots.0[index].read(0, len, deliver)
        }
    }
}
