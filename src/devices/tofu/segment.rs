//! Layout of the segment of the simulated interfaces of a node.
//!
//! ```text
//! | preamble | area of slot 0 | area of slot 1 | ... | busy times   slot: index of a rank on its node
//!      receive queues    packets from peers
//!      address           process of the rank
//!      interface         counters and requests (`local_interface`)
//!      registrations     memory that peers may read and write
//! busy times             of links and engines of the simulated network (`torus`)
//! ```
//!
//! All zero is the initial state, so a peer that has not attached yet has an interface already. An area
//! takes 8.8 MiB of addresses; unused pages take no memory.
#![allow(unsafe_code)]

use std::fmt;
use std::mem::offset_of;
use std::os::fd::OwnedFd;
use std::ptr::NonNull;
use std::sync::Arc;

use memmap2::MmapRaw;

use super::primitive::AtomicU64;
use crate::devices::local_interface::{self, InterfaceArea, InterfaceParts};
use crate::devices::rings::memory::{Mapped, SegmentMemory, Shareable, digest};
use crate::devices::rings::peer_address::PeerAddress;
use crate::devices::rings::registrations::RegistrationTable;
use crate::devices::rings::wake_word::WakeWord;
use crate::devices::rings::{self, QueueBuffers, QueueHead, ReceiveQueues};
use platform::base::Result;

/// Incremented with each change of meaning (not of sizes) in the segment.
const REVISION: u64 = 5;

#[repr(C, align(4096))]
struct TofuPreamble {
    /// The [`layout`] of the first process; 0 before.
    layout: AtomicU64,
}

/// The area of one rank.
#[repr(C, align(4096))]
struct TofuArea {
    host_wake_word: WakeWord,
    queue_head: QueueHead,
    queue_buffers: QueueBuffers,
    address: PeerAddress,
    interface: InterfaceArea,
    /// Registered memory.
    registrations: RegistrationTable,
}

// SAFETY: atomics, and parts that are themselves shareable.
unsafe impl Shareable for TofuArea {}

/// The mapped segment.
#[derive(Clone)]
pub(crate) struct TofuSegment {
    memory: SegmentMemory,
    ranks: usize,
    /// Words of [`BusyTimes`].
    words: usize,
}

/// Busy times of the network between the interfaces.
pub(crate) struct BusyTimes {
    start: NonNull<AtomicU64>,
    words: usize,
    _memory: Arc<MmapRaw>,
}

// SAFETY: atomics that stay mapped as long as this value exists, and that processes share anyway.
unsafe impl Send for BusyTimes {}

impl AsRef<[AtomicU64]> for BusyTimes {
    fn as_ref(&self) -> &[AtomicU64] {
        // SAFETY: `words` of them are mapped there (`TofuSegment::busy`) as long as `_memory` lives.
        unsafe { std::slice::from_raw_parts(self.start.as_ptr(), self.words) }
    }
}

impl fmt::Debug for BusyTimes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{} shared words", self.words)
    }
}

impl TofuSegment {
    /// Sizes and maps the segment of a node with `ranks` ranks and `words` words of busy times.
    ///
    /// # Errors
    /// `NoMem` without memory; `Arg` if it has another size; `Other` if a process of another build of
    /// this library shares it.
    pub(crate) fn open(file: OwnedFd, ranks: usize, words: usize) -> Result<Self> {
        let bytes = ranks
            .checked_mul(size_of::<TofuArea>())
            .and_then(|areas| areas.checked_add(size_of::<TofuPreamble>()))
            .and_then(|bytes| bytes.checked_add(words.checked_mul(size_of::<AtomicU64>())?));
        let memory = SegmentMemory::open(file, bytes, ranks, layout(ranks, words))?;
        Ok(Self { memory, ranks, words })
    }

    /// The busy times of the network, after the areas.
    pub(crate) fn busy(&self) -> BusyTimes {
        let offset = size_of::<TofuPreamble>() + self.ranks * size_of::<TofuArea>();
        let (start, memory) = self.memory.bytes(offset, self.words * size_of::<AtomicU64>());
        // The areas end at a page boundary, which is aligned for the words.
        BusyTimes { start: start.cast(), words: self.words, _memory: memory }
    }

    /// The area of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    fn area(&self, slot: usize) -> Mapped<TofuArea> {
        assert!(slot < self.ranks);
        self.memory.part(size_of::<TofuPreamble>() + slot * size_of::<TofuArea>())
    }

    /// What peers use of the interface in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn interface(&self, slot: usize) -> InterfaceParts {
        let area = self.area(slot);
        InterfaceParts {
            area: area.part(|area| &area.interface),
            address: area.part(|area| &area.address),
            host_wake_word: area.part(|area| &area.host_wake_word),
            registrations: area.part(|area| &area.registrations),
        }
    }

    /// The receive queues of the rank in `slot`.
    ///
    /// # Panics
    /// If there is no such slot.
    pub(crate) fn receive_queues(&self, slot: usize) -> ReceiveQueues {
        let area = self.area(slot);
        let (head, buffers) =
            (area.part(|area| &area.queue_head), area.part(|area| &area.queue_buffers));
        // SAFETY: parts of one area, used here only.
        unsafe { ReceiveQueues::new(area.part(|area| &area.host_wake_word), head, buffers) }
    }
}

/// A number that depends on the layout of the segment and the meaning of its contents.
fn layout(ranks: usize, words: usize) -> u64 {
    let sizes = [
        ranks,
        words,
        size_of::<TofuArea>(),
        offset_of!(TofuArea, address),
        offset_of!(TofuArea, interface),
        offset_of!(TofuArea, registrations),
    ];
    // Distinguishes the segments of the devices.
    let name = u64::from_le_bytes(*b"tofu\0\0\0\0");
    digest(
        sizes
            .into_iter()
            .chain(local_interface::LAYOUT)
            .chain(rings::LAYOUT)
            .map(|size| size as u64)
            .chain([REVISION, name]),
    )
}
