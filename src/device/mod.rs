//! The device contract: what the engine needs from anything that carries packets between ranks.
//!
//! A device knows peers and packets. It knows no communicators, tags, requests, datatypes or
//! protocols, and does not read a [`Header`]. It never blocks, queues or retries for the caller:
//! [`Busy`] refuses a packet, and the engine keeps the packet.
//!
//! A driver implements the seven required methods of [`Device`]; `example.rs` is a complete one.
//! Further capabilities are sub-traits that a method of [`Device`] returns: [`Bulk`], [`SplitCopies`],
//! [`SharedMemory`], [`Rma`], [`Trigger`]. [`middleware`] has devices around devices.
//!
//! # Guarantees
//! * Packets from one peer arrive complete, exactly once, in the order in which they were sent, short
//!   and long ones alike.
//! * An accepted packet is delivered without further calls at the sender.
//! * `poll` delivers a bounded number of packets, whatever peers send meanwhile.
//! * After [`Device::arm`], a packet for this rank makes the [`WakeSource`] fire. The `poll` that follows
//!   `arm` delivers the packets sent before.
//! * After [`Device::notify`], the [`WakeSource`] of an armed peer fires as for a packet. The peer then
//!   sees what was written to a shared segment before `notify`, and so does a peer that arms later.
//! * A rank that got [`Busy`] is not woken when the device has room again: it polls.
//!
//! `conformance` tests these guarantees on every device, alone and inside each middleware.

mod bulk;
#[cfg(test)]
pub(crate) mod conformance;
#[cfg(test)]
mod example;
pub mod middleware;
pub mod rma;
mod shared_memory;
pub mod trigger;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use platform::base::Peer;
use rma::Rma;
use trigger::Trigger;

pub use bulk::{Bulk, COPY_STEP, SplitCopies, SplitEnd};
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

    /// A number that changes with every packet delivered and every change of a counter of this rank;
    /// `None` while the device has work for this rank, or if the device does not know. The deadlock
    /// detector compares two of these numbers.
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

    /// Programs that run without the host.
    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        None
    }
}

/// The receiver of packets from a device.
pub trait PacketSink {
    /// A packet from `from`. `data` is the device's buffer, valid during this call.
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]);
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
}
