//! Where the packets of all peers arrive at one rank, and the sizes of that.
#![allow(unsafe_code)]

use std::mem::offset_of;

use super::primitive::{AtomicU32, Ordering};
use super::wake_word::WakeWord;
use super::{mpsc_queue, spsc_ring};

/// The longest packet, in bytes. Larger ones pipeline less of a message, smaller ones cost more
/// per byte: 32 KiB is the knee of the measured curve.
pub(crate) const PACKET_MAX: usize = 32 << 10;

/// Lanes into a rank; the other senders share its queue.
pub(crate) const RING_COUNT: usize = 16;

/// Packets in a lane: 16 KiB of cells, a third of a first-level cache.
const RING_CELLS: usize = 256;

/// Bytes of longer packets in a lane. Measured for streams of 64 KiB to 4 MiB: 10 to 17 % faster
/// than 256 KiB, which both ends fill and drain faster than they see each other do it.
pub(crate) const RING_BYTES: usize = 1024 << 10;

/// The same where ranks share processors. Messages of 1 KiB went through all of the larger ring,
/// and the lanes of four ranks are more than a second-level cache: they took twice as long.
pub(crate) const OVERSUBSCRIBED_RING_BYTES: usize = 128 << 10;

/// Packets in a queue.
const QUEUE_CELLS: usize = 64;

/// A lane of the size used here.
pub(crate) type PacketRing = spsc_ring::SpscRing<RING_CELLS, RING_BYTES>;

/// A queue of the size used here.
pub(crate) type PacketQueue = mpsc_queue::MpscQueue<QUEUE_CELLS, PACKET_MAX>;

const _: () = assert!(PACKET_MAX <= spsc_ring::packet_max(OVERSUBSCRIBED_RING_BYTES));

/// A rank's place for packets: 6.2 MiB of addresses. Zero is the beginning of everything, so a rank
/// may write to that of a peer that has not yet come; pages that nobody has used take no memory.
#[repr(C, align(4096))]
pub(crate) struct ReceiveQueues {
    /// Whether the rank sleeps.
    pub(super) wake_word: WakeWord,
    /// For each lane 1 + the slot of its sender, or 0.
    pub(super) ring_owners: RingOwners,
    /// Packets of senders without a lane.
    pub(super) queue: PacketQueue,
    /// Packets of one sender each.
    pub(super) rings: [PacketRing; RING_COUNT],
}

impl ReceiveQueues {
    /// Whether the rank sleeps, for who has something other than a packet for it.
    pub(crate) fn wake_word(&self) -> &WakeWord {
        &self.wake_word
    }
}

/// What differs where the layout of an inlet does, for [`memory::digest`](super::memory::digest).
pub(crate) const LAYOUT: [usize; 10] = [
    size_of::<ReceiveQueues>(),
    offset_of!(ReceiveQueues, ring_owners),
    offset_of!(ReceiveQueues, queue),
    offset_of!(ReceiveQueues, rings),
    size_of::<PacketRing>(),
    size_of::<PacketQueue>(),
    RING_COUNT,
    RING_CELLS,
    OVERSUBSCRIBED_RING_BYTES,
    QUEUE_CELLS,
];

/// Who has which lane.
#[repr(C, align(128))]
pub(super) struct RingOwners([AtomicU32; RING_COUNT]);

impl RingOwners {
    /// Takes a lane that nobody has for the rank in `slot`; `None` if there is none left.
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
    fn a_lane_has_one_owner() {
        let owners = RingOwners(Default::default());
        let lanes: Vec<_> = (0..RING_COUNT).map(|slot| owners.claim(slot)).collect();
        assert_eq!(lanes, (0..RING_COUNT).map(Some).collect::<Vec<_>>());
        assert_eq!(owners.claim(99), None);
    }

    #[test]
    fn cells_are_lines_and_inlets_are_pages() {
        assert_eq!(size_of::<ReceiveQueues>() % 4096, 0);
        assert!(size_of::<PacketRing>() < RING_CELLS * 64 + RING_BYTES + 256);
    }
}
