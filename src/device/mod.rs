//! The device contract: what the engine needs from anything that carries packets between ranks.
//!
//! A device knows peers and packets. It knows no communicators, tags, requests, datatypes or
//! protocols, and does not read a [`Header`]. It never blocks, queues or retries for the caller:
//! [`Busy`] refuses a packet, and the engine keeps the packet.
//!
//! A driver implements the seven required methods of [`Device`]; `example.rs` is a complete one.
//! Further capabilities are sub-traits that a method of [`Device`] returns: [`Bulk`], [`SplitCopies`],
//! [`SharedMemory`], [`Rma`], [`NearMemory`], [`Reach`], [`Trigger`]. [`middleware`] has devices around devices.
//!
//! # Guarantees
//! * Packets from one peer arrive complete, exactly once, in the order in which they were sent, short
//!   and long ones alike.
//! * An accepted packet is delivered, or its peer [fails](PacketSink::failed). It needs no further calls
//!   at the sender if [`PeerCaps::delivers_alone`]; else the sender polls until
//!   [`Device::is_drained`].
//! * `poll` delivers a bounded number of packets, whatever peers send meanwhile.
//! * After [`Device::arm`], a packet for this rank makes the [`WakeSource`] fire. The `poll` that follows
//!   `arm` delivers the packets sent before.
//! * After [`Device::notify`], the [`WakeSource`] of an armed peer fires as for a packet. The peer then
//!   sees what was written to a shared segment before `notify`, and so does a peer that arms later.
//! * A rank that got [`Busy`] is woken when there is room again, and hears of it by
//!   [`PacketSink::room`], if [`PeerCaps::announces_room`]; else it polls. A device that connects at
//!   the first packet may be busy until then.
//! * A peer that has failed gets no more packets: [`Device::send`] accepts them and drops them.
//! * A datagram arrives at most once, in no order with packets, or it is lost. None makes a peer fail or
//!   changes [`Device::quiescence`].
//!
//! `conformance` tests these guarantees on every device, alone and inside each middleware.

pub(crate) mod access_ledger;
mod bulk;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod example;
pub mod middleware;
pub mod near_memory;
pub mod reach;
pub mod rma;
mod shared_memory;
pub mod trigger;

use std::os::fd::OwnedFd;
use std::sync::Arc;
use std::sync::atomic::AtomicU32;
use std::time::Duration;

use near_memory::NearMemory;
use platform::base::{Peer, Span};
use reach::Reach;
use rma::Rma;
use trigger::Trigger;

pub use bulk::{Bulk, COPY_STEP, MemoryDescriptor, SplitCopies, SplitEnd};
pub use shared_memory::SharedMemory;

/// Words that travel beside the data of a packet, for the engine only.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Two words of the engine's choice.
    pub words: [u64; 2],
    /// The engine's packet kind.
    pub kind: u8,
}

/// Limits of a device, in bytes of data beside the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The longest data of [`Device::send_short`].
    pub(crate) short_max: usize,
    /// The longest data of [`Device::send`]; at least `short_max`.
    pub packet_max: usize,
}

/// What a device does for one peer, constant from its first packet on, with one exception: a device that
/// finds a shorter way to a peer may have a smaller `long_max`, and lend no more, from then on. It takes what
/// it has allowed before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct PeerCaps {
    /// The longest data of [`Device::send_contiguous`] and [`Device::send_lent`], in bytes; at least
    /// [`Caps::packet_max`].
    pub long_max: usize,
    /// The longest message that should be sent eagerly, in bytes, if the device knows: at most
    /// `long_max`.
    pub eager_max: Option<usize>,
    /// Whether [`Device::send_lent`] may be called.
    pub lends: bool,
    /// Whether accepted packets arrive without further calls at the sender.
    pub delivers_alone: bool,
    /// Whether [`PacketSink::room`] follows [`Busy`].
    pub announces_room: bool,
    /// Bytes of a message that are sent beside its envelope if its data follows on request, in one
    /// packet that may be longer than [`Caps::packet_max`]. A device that wants them takes them off:
    /// they are no part of what arrives.
    pub announced_max: usize,
}

impl PeerCaps {
    /// A peer that takes packets of at most `long_max` bytes as they are sent, and nothing more.
    pub(crate) const fn reliable(long_max: usize) -> Self {
        let (eager_max, lends) = (None, false);
        let (delivers_alone, announces_room) = (true, false);
        Self { long_max, eager_max, lends, delivers_alone, announces_room, announced_max: 0 }
    }
}

/// The longest data of [`Device::send_datagram`], in bytes.
pub(crate) const DATAGRAM_MAX: usize = 1536;

/// The device has no room: try again after a `poll`. Nothing was sent or written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// A transport between the ranks of a job, at one of them.
pub trait Device: Send {
    /// The limits, constant and equal for all peers.
    fn caps(&self) -> Caps;

    /// Sends at most `caps().short_max` bytes, copied at once: the path of small messages.
    ///
    /// # Errors
    /// [`Busy`] without room.
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy>;

    /// Sends one packet of `len <= caps().packet_max` bytes, which `fill` writes in place.
    ///
    /// # Errors
    /// [`Busy`] without room; `fill` is not called then.
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy>;

    /// What the device does for `peer`.
    fn peer_caps(&self, peer: Peer) -> PeerCaps {
        let _ = peer;
        PeerCaps::reliable(self.caps().packet_max)
    }

    /// Sends one packet of at most [`PeerCaps::long_max`] bytes, which are adjacent in memory. The
    /// memory is free afterwards, as with [`Device::send`].
    ///
    /// # Errors
    /// [`Busy`] without room.
    fn send_contiguous(&mut self, peer: Peer, header: &Header, data: Span) -> Result<(), Busy> {
        self.send(peer, header, data.len(), |packet| data.read(0, packet))
    }

    /// Sends one packet of at most [`PeerCaps::long_max`] bytes without a copy. `data` stays readable
    /// and unchanged until [`PacketSink::sent`] with `token`, or [`PacketSink::failed`] of the peer.
    ///
    /// # Errors
    /// [`Busy`] without room.
    ///
    /// # Panics
    /// Unless [`PeerCaps::lends`].
    fn send_lent(
        &mut self, peer: Peer, header: &Header, data: Span, token: u32,
    ) -> Result<(), Busy> {
        let _ = (header, data, token);
        panic!("the device for rank {peer} copies what it sends");
    }

    /// Sends at most [`DATAGRAM_MAX`] bytes, or drops them: if `peer` is not connected yet, if there is
    /// no room, or if the device has no datagrams. The first one makes it connect.
    fn send_datagram(&mut self, peer: Peer, data: &[u8]) {
        let _ = (peer, data);
    }

    /// Whether all accepted packets have arrived at their peers' devices or need no further calls. A
    /// peer that polls or leaves says what has arrived.
    fn is_drained(&self) -> bool {
        true
    }

    /// Tells peers that this rank may exit, until it sends again: they do not take its end for a
    /// failure, and what they have sent so far has arrived if `poll` has delivered it.
    fn leave(&mut self) {}

    /// Delivers packets to `sink`, a bounded number, and returns how many.
    ///
    /// The sink queues its replies; the engine sends them after `poll`.
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize;

    /// Prepares to sleep, with a full fence. The caller polls once more, sleeps on the [`WakeSource`]
    /// if nothing came, then calls `disarm`.
    fn arm(&mut self) -> WakeSource;

    /// Ends the state that `arm` began.
    fn disarm(&mut self);

    /// Makes the [`WakeSource`] of this rank fire, as a packet would. It also wakes other threads of
    /// this process that still sleep on it after `disarm`.
    fn wake_self(&mut self);

    /// Makes the [`WakeSource`] of `peer` fire if it is armed: call this after
    /// [`SizedSegment::publish`] and after [`SizedSegment::done`] returned true. Without a fence or a
    /// system call if the peer is not armed.
    ///
    /// # Panics
    /// If `peer` shares no memory with this rank.
    ///
    /// [`SizedSegment::publish`]: crate::shared_memory::segment::SizedSegment::publish
    /// [`SizedSegment::done`]: crate::shared_memory::segment::SizedSegment::done
    fn notify(&mut self, peer: Peer) {
        panic!("rank {peer} shares no memory with this rank");
    }

    /// The same, unless `is_awaited` returns false, which is called only if `peer` seems to be armed.
    ///
    /// # Panics
    /// As [`Device::notify`].
    fn notify_if(&mut self, peer: Peer, is_awaited: impl FnOnce() -> bool) {
        let _ = is_awaited;
        self.notify(peer);
    }

    /// A number that changes with every packet delivered, every change of a counter of this rank and every
    /// update that its interface makes;
    /// `None` while the device has work for this rank or a packet of this rank is not where the next
    /// poll of its peer finds it, or if the device does not know. The deadlock detector compares two of
    /// these numbers.
    fn quiescence(&self) -> Option<u64> {
        None
    }

    /// Direct copies from the memory of a peer.
    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        None
    }

    /// Memory that this rank shares with peers.
    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        None
    }

    /// One-sided access to the memory of peers.
    fn rma(&mut self) -> Option<&mut dyn Rma> {
        None
    }

    /// One-sided access to memory that ranks of this host can map, whatever carries messages.
    fn host_memory(&mut self) -> Option<&mut dyn Rma> {
        self.rma()
    }

    /// Memory that this process shares with others of its host, of any job.
    fn near_memory(&mut self) -> Option<&mut dyn NearMemory> {
        None
    }

    /// Connections with processes of other jobs.
    fn reach(&mut self) -> Option<&mut dyn Reach> {
        None
    }

    /// Programs that run without the host.
    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        None
    }
}

/// The receiver of packets from a device.
pub trait PacketSink {
    /// A packet from `from`. `data` is the device's buffer, valid during this call.
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]);

    /// The destination of the next packet from `from`, of which only the header has arrived: `len`
    /// bytes. The device asks once for a packet, and writes the data there as it arrives; then
    /// [`PacketSink::placed`] ends the packet. Without a destination the packet comes by
    /// [`PacketSink::packet`].
    fn place(&mut self, from: Peer, header: &Header, len: usize) -> Option<Span> {
        let _ = (from, header, len);
        None
    }

    /// All data of the packet whose destination was asked for last has arrived there.
    fn placed(&mut self, from: Peer, header: &Header, len: usize) {
        let _ = (from, header, len);
    }

    /// The memory of [`Device::send_lent`] with this token is free.
    fn sent(&mut self, to: Peer, token: u32) {
        let _ = (to, token);
    }

    /// There may be room for packets to `peer`, after [`Busy`].
    fn room(&mut self, peer: Peer) {
        let _ = peer;
    }

    /// Data of [`Device::send_datagram`] from `from`, valid during this call.
    fn datagram(&mut self, from: Peer, data: &[u8]) {
        let _ = (from, data);
    }

    /// `peer` has failed, for the reason `why`, a sentence that names its host: no packet comes from
    /// it or reaches it any more. Said once. Packets that arrived before were delivered; one whose
    /// destination was asked for never ends.
    fn failed(&mut self, peer: Peer, why: &str) {
        let _ = (peer, why);
    }
}

/// What wakes an armed rank.
#[derive(Clone)]
pub enum WakeSource {
    /// Nothing: the caller polls and yields.
    Never,
    /// The word changes from `expected` to another value, followed by a futex wake of every waiter.
    Word {
        /// The futex word; it may lie in memory shared with the peers.
        word: Arc<dyn AsRef<AtomicU32> + Send + Sync>,
        /// Its value before the first event.
        expected: u32,
    },
    /// Some events make the word change as above, and others are found by polls only: the caller polls
    /// after `longest`.
    Polled {
        /// The word; it may lie in memory shared with the peers.
        word: Arc<dyn AsRef<AtomicU32> + Send + Sync>,
        /// Its value before the first event.
        expected: u32,
        /// How long the caller may sleep.
        longest: Duration,
    },
    /// An event makes the word change as above, or the descriptor readable; what changes the word for
    /// a rank that is armed so makes the descriptor readable too, and readable for as long as a thread
    /// has this value: the thread may not have run since.
    Descriptor {
        /// What to wait for by poll(2): an epoll instance.
        descriptor: Arc<OwnedFd>,
        /// The word; it may lie in memory shared with the peers.
        word: Arc<dyn AsRef<AtomicU32> + Send + Sync>,
        /// Its value before the first event.
        expected: u32,
    },
}
