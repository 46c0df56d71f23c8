//! The device with simulated network interfaces: each rank of a node has an interface with engines,
//! counters and deferred work, as a Tofu has. It moves real data.
//!
//! The interface itself is [`local_interface`](super::local_interface), which moves the bytes and runs
//! programs. The sender writes packets to rings of the receiver, and the receiver reads long messages
//! from the sender's memory ([`Bulk`]).
//!
//! With paced settings, transfers and packets take the times of `devices::torus`, on links whose busy
//! times the ranks share in the segment (`pace`).
//!
//! Ranks are processes, so memory of a peer is read and written by system calls. If the system forbids
//! them, the device carries packets only.
//!
//! It knows peers of this node only. Values read from the segment are checked before use.
#![allow(unsafe_code)]

mod pace;
mod segment;

use std::os::fd::OwnedFd;

use crate::device::rma::{
    AccessEngines, AccessProgress, MemoryKey, NumberKind, PutSignal, RemoteAccess, RemoteAddress,
    Rma, RmaAccess, RmaCaps, RmaError, Update,
};
use crate::device::trigger::{InterfaceLimits, Trigger};
use crate::device::{
    Bulk, Busy, COPY_STEP, Caps, Device, Header, MemoryDescriptor, PacketSink, WakeSource,
};
use crate::devices::interface::NetworkModel;
use crate::devices::local_interface::{HostFabric, InterfaceHost};
use crate::devices::rings::Packets;
use crate::devices::rings::peer_address::PublishedAddress;
use crate::devices::torus;
use crate::devices::torus::{Generation, TorusShape};
use crate::shared_memory::primitive;
use pace::{PacedNetwork, PacedPackets, STAMP_BYTES};
use platform::base::{ErrorClass, Peer, Result, Span};
use platform::sys::{clock, cma};
use segment::TofuSegment;

/// Shorter messages are packets: a system call takes longer. In bytes.
const GET_MIN: usize = 32 << 10;

/// Settings of the simulated interfaces; the same on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TofuSettings {
    /// Determines the rates of the interfaces and the network.
    pub(crate) generation: Generation,
    /// Resources of each interface: those of the generation, or other ones.
    pub(crate) limits: InterfaceLimits,
    /// Whether transfers take the time of the generation, instead of no extra time.
    pub(crate) is_paced: bool,
    /// The size of the torus, with a rank on each node; the smallest that fits if `None`.
    pub(crate) torus: Option<TorusShape>,
    /// Processors for engine threads; if empty, all processors of the rank.
    pub(crate) cpus: Vec<usize>,
}

/// The device of one rank.
pub(crate) struct Tofu {
    packets: Packets,
    interface: InterfaceHost,
    /// Packets that take time, with paced settings.
    paced: Option<Box<PacedPackets>>,
    /// By slot: whether the memory of that rank can be read, once known.
    readable: Vec<Option<bool>>,
    _published: PublishedAddress,
}

impl Default for TofuSettings {
    fn default() -> Self {
        let generation = Generation::default();
        let limits = generation.limits();
        Self { generation, limits, is_paced: false, torus: None, cpus: Vec::new() }
    }
}

impl Tofu {
    /// Attaches the rank `ranks[me]` to a segment of the interfaces (made by `sys::shm::create`).
    ///
    /// `ranks` are the world ranks on this node. Each of them calls this, at any time, with the same
    /// list and settings and a descriptor of the same file.
    ///
    /// # Errors
    /// `NoMem` if the segment cannot have the required size; `Arg` if it has another size; `Other` if
    /// a process of another build is attached, another process in the slot of this rank, or the torus
    /// has too few nodes.
    ///
    /// # Panics
    /// If `ranks` has no entry `me`, names a rank twice, or has more than 32,767 entries.
    pub(crate) fn attach(
        segment: OwnedFd, me: usize, ranks: &[Peer], settings: &TofuSettings,
    ) -> Result<Self> {
        assert!(me < ranks.len());
        let shape = shape(settings.torus, ranks.len())?;
        let segment = TofuSegment::open(segment, ranks.len(), torus::busy_words(shape))?;
        let parts: Vec<_> = (0..ranks.len()).map(|slot| segment.interface(slot)).collect();
        cma::admit_siblings();
        let published = parts[me].address.publish()?;
        let queues = (0..ranks.len()).map(|slot| segment.receive_queues(slot));
        // SAFETY: the only value: this process owns the slot (`publish`), and calls this once.
        let packets = unsafe { Packets::attach(me, ranks, queues) };
        let fabric = HostFabric::new(me, ranks, parts);
        let rates = settings.generation.rates();
        let network = || PacedNetwork::new(shape, rates, segment.busy(), me, ranks);
        let links = settings.is_paced.then(|| Box::new(network()) as Box<dyn NetworkModel>);
        let cpus = settings.cpus.clone();
        // SAFETY: as above.
        let interface = unsafe { InterfaceHost::new(fabric, settings.limits, links, cpus) };
        let mut tofu = Self {
            packets,
            interface,
            paced: settings.is_paced.then(|| Box::new(PacedPackets::new(network()))),
            readable: vec![None; ranks.len()],
            _published: published,
        };
        if settings.is_paced {
            // The engine thread wakes this rank when packets arrive.
            tofu.interface.start_engine()?;
        }
        Ok(tofu)
    }

    fn access(&mut self, access: RmaAccess) -> Result<(), RmaError> {
        self.interface.start_engine()?;
        self.interface.interface().access(access, None)
    }

    /// The ranks of the job share processors. All ranks call this or none does, before their first
    /// packet.
    ///
    /// # Panics
    /// After the first packet.
    pub(crate) fn share_processors(&mut self) {
        self.packets.share_processors();
    }

    /// Takes packets from the rings, and delivers those whose arrival time has passed.
    #[cold]
    fn poll_paced(&mut self, sink: &mut impl PacketSink) -> usize {
        let Some(paced) = &mut self.paced else { return 0 };
        if let Some(held) = paced.packet_sink() {
            self.packets.poll(held);
        }
        let (count, next_ns) = paced.deliver(clock::monotonic_ns(), sink);
        if let Some(next_ns) = next_ns {
            self.interface.interface().wake_host_at(next_ns);
        }
        count
    }
}

/// The torus for this number of ranks.
fn shape(wanted: Option<TorusShape>, ranks: usize) -> Result<TorusShape> {
    let shape = match wanted {
        Some(shape) => shape,
        None => TorusShape::fitting(ranks).map_err(|why| ErrorClass::Other.error(why))?,
    };
    if shape.nodes() < ranks {
        let why = format!("{ranks} ranks are more than the {} nodes of {shape}", shape.nodes());
        return Err(ErrorClass::Other.error(why));
    }
    Ok(shape)
}

impl Device for Tofu {
    fn caps(&self) -> Caps {
        let caps = self.packets.caps();
        let stamp = if self.paced.is_some() { STAMP_BYTES } else { 0 };
        Caps { short_max: caps.short_max - stamp, packet_max: caps.packet_max - stamp }
    }

    #[inline]
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy> {
        if self.paced.is_some() {
            return self.send(peer, header, data.len(), |packet| packet.copy_from_slice(data));
        }
        self.packets.send_short(peer, header, data)
    }

    #[inline]
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy> {
        let Some(paced) = &mut self.paced else {
            return self.packets.send(peer, header, len, fill);
        };
        self.packets.send(peer, header, len + STAMP_BYTES, |packet| {
            let (data, stamp) = packet.split_at_mut(len);
            fill(data);
            stamp.copy_from_slice(&paced.stamp(peer, len, clock::monotonic_ns()));
        })
    }

    #[inline]
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize {
        self.interface.poll();
        if self.paced.is_some() {
            return self.poll_paced(sink);
        }
        self.packets.poll(sink)
    }

    fn arm(&mut self) -> WakeSource {
        self.interface.arm();
        self.packets.arm()
    }

    fn disarm(&mut self) {
        self.interface.disarm();
        self.packets.disarm();
    }

    fn wake_self(&mut self) {
        self.packets.wake_self();
    }

    fn quiescence(&self) -> Option<u64> {
        if self.paced.as_ref().is_some_and(|paced| !paced.is_empty()) {
            return None;
        }
        Some(self.packets.arrivals().wrapping_add(self.interface.quiescence()?))
    }

    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        // A copy by this thread would take no time on any link.
        if self.paced.is_none() { Some(self) } else { None }
    }

    fn rma(&mut self) -> Option<&mut dyn Rma> {
        if self.interface.refusal().is_none() { Some(self) } else { None }
    }

    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        if self.interface.refusal().is_none() { Some(&mut self.interface) } else { None }
    }

    fn notify(&mut self, peer: Peer) {
        self.packets.wake(self.packets.node_ranks().slot_of(peer));
    }
}

impl Bulk for Tofu {
    fn prefers(&mut self, peer: Peer, len: usize) -> bool {
        let slot = self.packets.node_ranks().slot_of(peer);
        len >= GET_MIN
            && *self.readable[slot].get_or_insert_with(|| {
                self.interface.interface().fabric.parts()[slot].address.is_readable()
            })
    }

    fn read(
        &mut self, peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String> {
        let slot = self.packets.node_ranks().slot_of(peer);
        let pid = self.interface.interface().fabric.parts()[slot].address.pid();
        let len = (into.len() - done).min(COPY_STEP);
        let read = cma::read(pid, from.address().wrapping_add(done as u64), into.part(done, len));
        read.map(|()| done + len).map_err(|error| {
            self.readable[slot] = Some(false);
            format!("cannot read {len} bytes of process {pid}: {error}")
        })
    }
}

impl Rma for Tofu {
    fn register(&mut self, memory: Span, access: RemoteAccess) -> Result<MemoryKey> {
        self.interface.start_engine()?;
        self.interface.interface().register(memory, access)
    }

    fn deregister(&mut self, key: MemoryKey) {
        self.interface.interface().deregister(key);
    }

    fn open(&mut self, peer: Peer, key: MemoryKey) -> Result<RmaCaps> {
        self.interface.interface().open(peer, key)
    }

    fn put(&mut self, from: Span, to: RemoteAddress) -> Result<(), RmaError> {
        self.access(RmaAccess::Put { from, to })
    }

    fn put_signalled(
        &mut self, from: Span, to: RemoteAddress, signal: PutSignal,
    ) -> Result<(), RmaError> {
        self.interface.start_engine()?;
        self.interface.interface().put_signalled(from, to, signal)
    }

    fn get(&mut self, from: RemoteAddress, into: Span) -> Result<(), RmaError> {
        self.access(RmaAccess::Get { from, into })
    }

    fn update(
        &mut self, at: RemoteAddress, kind: NumberKind, update: Update, old: Span,
    ) -> Result<(), RmaError> {
        self.access(RmaAccess::Update { at, kind, update, old })
    }

    fn progress(&mut self, peer: Peer) -> AccessProgress {
        self.interface.interface().progress(peer)
    }

    fn flush(&mut self, peer: Peer) -> Option<Result> {
        self.interface.interface().flush(peer)
    }

    fn engines(&mut self) -> Option<&mut dyn AccessEngines> {
        Some(self)
    }
}

impl AccessEngines for Tofu {
    fn count(&mut self) -> u8 {
        self.interface.interface().limits().engines
    }

    fn start(&mut self, access: RmaAccess, engine: u8, is_deferred: bool) -> Result<(), RmaError> {
        self.interface.start_engine()?;
        match is_deferred {
            true => self.interface.interface().defer(access, engine),
            false => self.interface.interface().access(access, Some(engine)),
        }
    }
}

#[cfg(test)]
mod tests;
