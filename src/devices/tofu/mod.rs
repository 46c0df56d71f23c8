//! Between the ranks of a node as if each had a network interface with engines, counters and
//! deferred work: a simulated Tofu that moves real data.
//!
//! Packets are put into rings at the receiver ([`rings`](super::rings)). Long messages are got from
//! the sender's memory ([`Bulk`]).
//!
//! It knows peers of this node only. What it reads from the segment is checked before it is used.
#![allow(unsafe_code)]

mod segment;

use std::os::fd::OwnedFd;

use crate::base::{Peer, Result, Span};
use crate::device::{Bulk, Busy, Caps, Device, Header, JointEnd, Sink, Wake, primitive};
use crate::devices::rings::Packets;
use crate::devices::rings::card::Introduced;
use crate::devices::rings::memory::Mapped;
use crate::sys::cma;
use segment::{Area, Segment};

/// Shorter messages come in packets: a read is not worth the system call.
const GET_MIN: usize = 32 << 10;

/// What is simulated, and how.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Settings {}

/// One rank's interface.
pub struct Tofu {
    packets: Packets,
    /// By slot.
    areas: Vec<Mapped<Area>>,
    /// By slot: whether its memory can be read, once that is known.
    readable: Vec<Option<bool>>,
    _introduced: Introduced,
}

impl Tofu {
    /// Joins a segment of its own (made by `sys::shm::create`) as the rank `ranks[me]`.
    ///
    /// `ranks` are the world ranks on this node; every one of them calls this, at any time, with
    /// the same list and settings and a descriptor of the same file.
    ///
    /// # Errors
    /// `NoMem` if the segment cannot have the size that it needs; `Arg` if it has another;
    /// `Other` if a process of another build is in it, or somebody in our slot.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub fn attach(
        segment: OwnedFd, me: usize, ranks: &[Peer], _settings: &Settings,
    ) -> Result<Self> {
        assert!(me < ranks.len());
        let segment = Segment::open(segment, ranks.len())?;
        let areas: Vec<_> = (0..ranks.len()).map(|slot| segment.area(slot)).collect();
        cma::admit_siblings();
        let introduced = areas[me].card.introduce()?;
        let inlets = areas.iter().map(|area| area.part(|area| &area.inlet)).collect();
        // SAFETY: the only one: the slot is ours (`introduce`), and this is called once.
        let packets = unsafe { Packets::attach(me, ranks, inlets) };
        Ok(Self { packets, areas, readable: vec![None; ranks.len()], _introduced: introduced })
    }

    /// The ranks of the job share processors. Either all ranks say so or none, before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub fn share_processors(&mut self) {
        self.packets.share_processors();
    }

    /// A number that changes whenever a packet arrives.
    pub fn arrivals(&self) -> u64 {
        self.packets.arrivals()
    }
}

impl Device for Tofu {
    fn caps(&self) -> Caps {
        self.packets.caps()
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        self.packets.send_short(peer, header, data)
    }

    #[inline]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        self.packets.send(peer, header, len, fill)
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl Sink) -> usize {
        self.packets.poll(sink)
    }

    fn arm(&mut self) -> Wake {
        self.packets.arm()
    }

    fn disarm(&mut self) {
        self.packets.disarm();
    }

    fn rouse(&mut self) {
        self.packets.rouse();
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        Some(self)
    }

    fn ring(&mut self, peer: Peer) {
        self.packets.wake(self.packets.slots().of(peer));
    }
}

impl Bulk for Tofu {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        let slot = self.packets.slots().of(peer);
        len >= GET_MIN
            && *self.readable[slot].get_or_insert_with(|| self.areas[slot].card.is_readable())
    }

    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String> {
        let slot = self.packets.slots().of(peer);
        let pid = self.areas[slot].card.pid();
        cma::read(pid, from, into).map_err(|error| {
            self.readable[slot] = Some(false);
            format!("cannot read {} bytes of process {pid}: {error}", into.len())
        })
    }

    fn begin(&mut self, _peer: Peer, _into: Span) -> Option<u64> {
        None
    }

    fn read_jointly(&mut self, _peer: Peer, _ticket: u64, _from: u64, _into: Span) -> JointEnd {
        JointEnd::Broken
    }

    fn write_jointly(&mut self, _peer: Peer, _ticket: u64, _from: Span) -> JointEnd {
        JointEnd::Others
    }
}

#[cfg(all(test, not(loom)))]
mod tests;
