//! The receive queues of a rank: one queue for all peers, and rings for one peer each; their sizes.
//!
//! They have three parts in a segment. A rank writes to the rings of few peers, but reads the wake words
//! of all, and with 512 ranks it may send a message to each. So the wake words of all ranks lie
//! together, and so do the heads: a page table of 4 KiB maps 2 MiB, and each rank has its own tables.
//!
//! ```text
//! | wake word | wake word | ... | head | head | ... | buffers | buffers | ...
//! ```
#![allow(unsafe_code)]

use std::mem::offset_of;

use super::memory::Mapped;
use super::primitive::{AtomicU32, Ordering};
use super::wake_word::WakeWord;
use super::{mpsc_queue, spsc_ring};

/// The longest packet, in bytes. Larger ones pipeline less of a message, smaller ones cost more
/// per byte: 32 KiB is the knee of the measured curve.
pub(crate) const PACKET_MAX: usize = 32 << 10;

/// Rings of a rank; senders without a ring share its queue.
pub(crate) const RING_COUNT: usize = 16;

/// Packets in a ring: 16 KiB of cells, a third of a first-level cache.
const RING_CELLS: usize = 256;

/// Bytes of longer packets in a ring. Measured for streams of 64 KiB to 4 MiB: 10 to 17 % faster
/// than 256 KiB, which both ends fill and drain faster than they see each other's progress.
pub(crate) const RING_BYTES: usize = 1024 << 10;

/// The same if ranks share processors. Messages of 1 KiB cycle through the whole ring, and the larger
/// rings of four ranks exceed a second-level cache: messages took twice as long.
pub(crate) const OVERSUBSCRIBED_RING_BYTES: usize = 128 << 10;

/// Packets in a queue.
const QUEUE_CELLS: usize = 64;

/// A ring of the size used here.
pub(crate) type PacketRing = spsc_ring::SpscRing<RING_CELLS, RING_BYTES>;

/// The memory of a queue of the size used here.
pub(super) type PacketCells = mpsc_queue::QueueCells<QUEUE_CELLS>;
pub(super) type PacketSlots = mpsc_queue::QueueSlots<QUEUE_CELLS, PACKET_MAX>;

/// A queue of the size used here.
pub(super) type PacketQueue = mpsc_queue::MpscQueue<Mapped<PacketCells>, Mapped<PacketSlots>>;

const _: () = assert!(mpsc_queue::INLINE == spsc_ring::INLINE, "one limit of short packets");
const _: () = assert!(PACKET_MAX <= spsc_ring::packet_max(OVERSUBSCRIBED_RING_BYTES));

/// The receive queues of one rank. All zero is empty, so a rank may send to a peer that has not attached
/// yet; unused pages take no memory.
pub(crate) struct ReceiveQueues {
    pub(super) wake_word: Mapped<WakeWord>,
    head: Mapped<QueueHead>,
    buffers: Mapped<QueueBuffers>,
}

/// What every sender uses: 4.3 KiB.
#[repr(C, align(128))]
pub(crate) struct QueueHead {
    /// For each ring 1 + the slot of its sender, or 0.
    ring_owners: RingOwners,
    cells: PacketCells,
}

/// Long packets of the queue, and packets of one sender each: 18.3 MiB of addresses.
#[repr(C, align(4096))]
pub(crate) struct QueueBuffers {
    slots: PacketSlots,
    rings: [PacketRing; RING_COUNT],
}

impl ReceiveQueues {
    /// The receive queues with these parts.
    ///
    /// # Safety
    /// Wherever one of the parts is used, the others are used with it.
    pub(crate) unsafe fn new(
        wake_word: Mapped<WakeWord>, head: Mapped<QueueHead>, buffers: Mapped<QueueBuffers>,
    ) -> Self {
        Self { wake_word, head, buffers }
    }

    pub(super) fn ring_owners(&self) -> &RingOwners {
        &self.head.ring_owners
    }

    /// The queue of packets from senders without a ring.
    pub(super) fn queue(&self) -> mpsc_queue::MpscQueue<&PacketCells, &PacketSlots> {
        // SAFETY: by the contract of `new`, cells and slots belong together.
        unsafe { mpsc_queue::MpscQueue::new(&self.head.cells, &self.buffers.slots) }
    }

    /// The same for the reader.
    pub(super) fn own_queue(&self) -> PacketQueue {
        let cells = self.head.part(|head| &head.cells);
        let slots = self.buffers.part(|buffers| &buffers.slots);
        // SAFETY: as above.
        unsafe { PacketQueue::new(cells, slots) }
    }

    /// The ring with this index.
    pub(super) fn ring(&self, index: usize) -> Mapped<PacketRing> {
        self.buffers.part(|buffers| &buffers.rings[index])
    }
}

/// Numbers that depend on the layout of receive queues, for [`memory::digest`](super::memory::digest).
pub(crate) const LAYOUT: [usize; 10] = [
    size_of::<WakeWord>(),
    size_of::<QueueHead>(),
    offset_of!(QueueHead, cells),
    size_of::<QueueBuffers>(),
    offset_of!(QueueBuffers, rings),
    size_of::<PacketRing>(),
    RING_COUNT,
    RING_CELLS,
    OVERSUBSCRIBED_RING_BYTES,
    QUEUE_CELLS,
];

/// The owners of the rings: 1 + the slot, or 0.
#[repr(C, align(128))]
pub(super) struct RingOwners([AtomicU32; RING_COUNT]);

impl RingOwners {
    /// Claims a free ring for the rank in `slot`; `None` if there is none.
    pub(super) fn claim(&self, slot: usize) -> Option<usize> {
        let owner = slot as u32 + 1;
        let free = |word: &AtomicU32| {
            word.load(Ordering::Relaxed) == 0
                && word.compare_exchange(0, owner, Ordering::AcqRel, Ordering::Relaxed).is_ok()
        };
        self.0.iter().position(free)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_ring_has_one_owner() {
        let owners = RingOwners(Default::default());
        let rings: Vec<_> = (0..RING_COUNT).map(|slot| owners.claim(slot)).collect();
        assert_eq!(rings, (0..RING_COUNT).map(Some).collect::<Vec<_>>());
        assert_eq!(owners.claim(99), None);
    }

    #[test]
    fn cells_are_lines_and_buffers_are_pages() {
        assert_eq!(size_of::<QueueBuffers>() % 4096, 0);
        assert!(size_of::<QueueHead>() <= 4608);
        assert!(size_of::<PacketRing>() < RING_CELLS * 64 + RING_BYTES + 256);
    }
}
