//! A queue with many senders and one receiver: the way of packets from peers without a ring.
//!
//! ```text
//! stamp of the cell for position p (cell p % CELLS, lap p - p % CELLS):
//!    lap ── a sender takes p from `tail` and writes ──> lap + 1 ── read ──> lap + CELLS
//! ```
//!
//! A sender that finds `lap` in the cell of the tail takes the position with a compare-and-swap;
//! an earlier stamp means that the queue is full: [`Busy`]. Packets that do not fit into the cell lie
//! in the slot with the cell's index. All zero is the empty queue. The order of one sender's packets is
//! the order of their positions.
//!
//! D. Vyukov, "Bounded MPMC queue" (1024cores.net), with the cell's index subtracted from stamps so
//! that zero is the initial state.
#![allow(unsafe_code)]

use std::ops::Deref;

use super::primitive::{AtomicU32, Ordering, SharedBytes, SharedCell};
use crate::device::{Busy, Header};

/// Bytes that travel inside a cell.
const INLINE: usize = 36;

/// `CELLS` packets at most (a power of two), each of `PACKET` bytes at most.
#[repr(C, align(128))]
pub(crate) struct MpscQueue<const CELLS: usize, const PACKET: usize> {
    /// The next position to be taken.
    tail: AtomicU32,
    cells: [QueueCell; CELLS],
    slots: [SharedBytes<PACKET>; CELLS],
}

#[repr(C, align(64))]
struct QueueCell {
    stamp: AtomicU32,
    /// The kind in the highest byte, the length in the others.
    shape: SharedCell<u32>,
    words: SharedCell<[u64; 2]>,
    /// The slot of the sender, and [`SWITCH`] in the highest bit.
    from: SharedCell<u32>,
    data: SharedBytes<INLINE>,
}

/// Not a packet but a switch marker: the sender continues in the ring that the first word names.
const SWITCH: u32 = 1 << 31;

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
pub(crate) struct QueueReader<Q> {
    queue: Q,
    /// The next position to read.
    position: u32,
}

impl<const CELLS: usize, const PACKET: usize> MpscQueue<CELLS, PACKET> {
    const SOUND: () = assert!(CELLS.is_power_of_two() && CELLS >= 2 && PACKET < 1 << 24);

    /// Sends at most `PACKET` bytes, written by `fill`.
    ///
    /// # Errors
    /// [`Busy`] if the queue is full; `fill` is not called then.
    ///
    /// # Panics
    /// If `len` is too long.
    pub(crate) fn send(
        &self, from: u32, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        assert!(len <= PACKET);
        let (index, lap) = self.take()?;
        let cell = &self.cells[index];
        // SAFETY: the stamp was `lap`, so the receiver has read cell and slot, and no other sender
        // has this position (`take`); the receiver reads them again after the stamp below.
        unsafe {
            if len <= INLINE {
                cell.data.write(0, len, fill);
            } else {
                self.slots[index].write(0, len, fill);
            }
            cell.shape.store(u32::from(header.kind) << 24 | len as u32);
            cell.words.store(header.words);
            cell.from.store(from);
        }
        cell.stamp.store(lap.wrapping_add(1), Ordering::Release);
        Ok(())
    }

    /// Writes a switch marker: all later packets of `from` are in `ring`.
    ///
    /// # Errors
    /// [`Busy`] if the queue is full.
    pub(crate) fn switch(&self, from: u32, ring: usize) -> Result<(), Busy> {
        let header = Header { words: [ring as u64, 0], kind: 0 };
        self.send(from | SWITCH, &header, 0, |_| ())
    }

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
                let relaxed = Ordering::Relaxed;
                match self.tail.compare_exchange_weak(before, after, relaxed, relaxed) {
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
impl<const CELLS: usize, const PACKET: usize> MpscQueue<CELLS, PACKET> {
    /// An empty queue for the model checker.
    pub(crate) fn new() -> Self {
        let cell = |_| QueueCell {
            stamp: AtomicU32::new(0),
            shape: SharedCell::new(0),
            words: SharedCell::new([0; 2]),
            from: SharedCell::new(0),
            data: SharedBytes::new(),
        };
        let slots = std::array::from_fn(|_| SharedBytes::new());
        Self { tail: AtomicU32::new(0), cells: std::array::from_fn(cell), slots }
    }
}

impl<const CELLS: usize, const PACKET: usize, Q> QueueReader<Q>
where
    Q: Deref<Target = MpscQueue<CELLS, PACKET>>,
{
    /// The receiving side of an unread queue.
    ///
    /// # Safety
    /// It is the only reader that the queue ever has.
    pub(crate) unsafe fn new(queue: Q) -> Self {
        let () = MpscQueue::<CELLS, PACKET>::SOUND;
        Self { queue, position: 0 }
    }

    /// How many packets and switches have been read, modulo 2^32.
    pub(crate) fn position(&self) -> u32 {
        self.position
    }

    /// Passes the next entry to `deliver` and returns its result; `None` if the queue is empty.
    ///
    /// # Panics
    /// If the length is one that no sender writes: the segment is damaged.
    #[inline]
    pub(crate) fn next<R>(&mut self, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> Option<R> {
        let index = self.position as usize % CELLS;
        let lap = self.position.wrapping_sub(index as u32);
        let cell = &self.queue.cells[index];
        if cell.stamp.load(Ordering::Acquire) != lap.wrapping_add(1) {
            return None;
        }
        let result = self.read(index, deliver);
        self.position = self.position.wrapping_add(1);
        let cell = &self.queue.cells[index];
        cell.stamp.store(lap.wrapping_add(CELLS as u32), Ordering::Release);
        Some(result)
    }

    fn read<R>(&self, index: usize, deliver: impl FnOnce(QueueArrival<'_>) -> R) -> R {
        let cell = &self.queue.cells[index];
        // SAFETY: by the stamp, the sender has written cell and slot, and no sender writes them
        // before `next` changes the stamp; this is the only receiver (`new`).
        unsafe {
            let (shape, words, from) = (cell.shape.load(), cell.words.load(), cell.from.load());
            if from & SWITCH != 0 {
                return deliver(QueueArrival::Switch { from: from & !SWITCH, ring: words[0] });
            }
            let (len, kind) = (shape as usize & 0xff_ffff, (shape >> 24) as u8);
            let deliver = |data: &[u8]| {
                deliver(QueueArrival::Packet { from, header: Header { words, kind }, data })
            };
            if len <= INLINE {
                cell.data.read(0, len, deliver)
            } else {
                assert!(len <= PACKET, "shared segment damaged: a packet of {len} bytes queued");
                self.queue.slots[index].read(0, len, deliver)
            }
        }
    }
}
