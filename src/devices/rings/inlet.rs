//! Where the packets of all peers arrive at one rank, and the sizes of that.
#![allow(unsafe_code)]

use std::mem::offset_of;

use super::doze::Doze;
use super::primitive::{AtomicU32, Ordering};
use super::{lane, queue};

/// The longest packet, in bytes. Larger ones pipeline less of a message, smaller ones cost more
/// per byte: 32 KiB is the knee of the measured curve.
pub const PACKET_MAX: usize = 32 << 10;

/// Lanes into a rank; the other senders share its queue.
pub const LANES: usize = 16;

/// Packets in a lane: 16 KiB of cells, a third of a first-level cache.
const LANE_CELLS: usize = 256;

/// Bytes of longer packets in a lane. Measured for streams of 64 KiB to 4 MiB: 10 to 17 % faster
/// than 256 KiB, which both ends fill and drain faster than they see each other do it.
pub const LANE_BYTES: usize = 1024 << 10;

/// The same where ranks share processors. Messages of 1 KiB went through all of the larger ring,
/// and the lanes of four ranks are more than a second-level cache: they took twice as long.
pub const CROWDED_LANE_BYTES: usize = 128 << 10;

/// Packets in a queue.
const QUEUE_CELLS: usize = 64;

/// A lane of the size used here.
pub type Lane = lane::Lane<LANE_CELLS, LANE_BYTES>;

/// A queue of the size used here.
pub type Queue = queue::Queue<QUEUE_CELLS, PACKET_MAX>;

const _: () = assert!(PACKET_MAX <= lane::packet_max(CROWDED_LANE_BYTES));

/// A rank's place for packets: 6.2 MiB of addresses. Zero is the beginning of everything, so a rank
/// may write to that of a peer that has not yet come; pages that nobody has used take no memory.
#[repr(C, align(4096))]
pub struct Inlet {
    /// Whether the rank sleeps.
    pub(super) doze: Doze,
    /// For each lane 1 + the slot of its sender, or 0.
    pub(super) owners: Owners,
    /// Packets of senders without a lane.
    pub(super) queue: Queue,
    /// Packets of one sender each.
    pub(super) lanes: [Lane; LANES],
}

impl Inlet {
    /// Whether the rank sleeps, for who has something other than a packet for it.
    pub fn doze(&self) -> &Doze {
        &self.doze
    }
}

/// What differs where the layout of an inlet does, for [`memory::digest`](super::memory::digest).
pub const LAYOUT: [usize; 10] = [
    size_of::<Inlet>(),
    offset_of!(Inlet, owners),
    offset_of!(Inlet, queue),
    offset_of!(Inlet, lanes),
    size_of::<Lane>(),
    size_of::<Queue>(),
    LANES,
    LANE_CELLS,
    CROWDED_LANE_BYTES,
    QUEUE_CELLS,
];

/// Who has which lane.
#[repr(C, align(128))]
pub(super) struct Owners([AtomicU32; LANES]);

impl Owners {
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

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    #[test]
    fn a_lane_has_one_owner() {
        let owners = Owners(Default::default());
        let lanes: Vec<_> = (0..LANES).map(|slot| owners.claim(slot)).collect();
        assert_eq!(lanes, (0..LANES).map(Some).collect::<Vec<_>>());
        assert_eq!(owners.claim(99), None);
    }

    #[test]
    fn cells_are_lines_and_inlets_are_pages() {
        assert_eq!(size_of::<Inlet>() % 4096, 0);
        assert!(size_of::<Lane>() < LANE_CELLS * 64 + LANE_BYTES + 256);
    }
}
