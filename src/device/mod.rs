//! The device contract: what the engine asks of anything that carries packets between ranks.
//!
//! A device knows peers and packets. It knows no communicators, tags, requests, datatypes or
//! protocols; a [`Header`] is opaque to it. It never blocks, never queues on behalf of the caller
//! and never retries: [`Busy`] hands the packet back, and the engine keeps it.
//!
//! # What every device guarantees
//! * Packets from one peer arrive in the order they were sent, whole, exactly once. Short packets
//!   and long ones share that order.
//! * A packet that was accepted is delivered without further calls on the sending side.
//! * `poll` delivers a bounded batch, so that no peer can keep a rank in it for ever.
//! * After [`Device::arm`], whoever sends a packet to this rank makes the [`WakeSource`] fire. A packet
//!   sent before is found by the `poll` that follows `arm`.
//! * After [`Device::notify`], the [`WakeSource`] of an armed peer fires as for a packet. What was written
//!   into a [`SharedSegment`] before `notify` is seen by a peer that looks after it was woken, or after `arm`.
//! * A rank that is refused with [`Busy`] is not woken when room appears: it polls again.
//!
//! `conformance` is this list as a test suite. It runs on each device, bare and inside the
//! middleware devices that inject faults, delay packets and trace them.

#[cfg(test)]
pub(crate) mod conformance;
pub mod middleware;
pub mod rma;
pub mod trigger;

use std::sync::Arc;
use std::sync::atomic::AtomicU32;

use crate::shared_memory::segment::SharedSegment;
use platform::base::{Peer, Span};
use rma::Rma;
use trigger::Trigger;

/// What travels beside the data of a packet. The device carries it and does not look inside.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
#[repr(C)]
pub struct Header {
    /// Two words of the engine's choice.
    pub words: [u64; 2],
    /// The engine's packet kind.
    pub kind: u8,
}

/// What a device can do, in bytes of data beside the header.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Caps {
    /// The longest data that [`Device::send_short`] takes.
    pub(crate) short_max: usize,
    /// The longest data that [`Device::send`] takes; at least `short_max`.
    pub packet_max: usize,
}

/// No room now: try again after a `poll`. Nothing was sent, nothing was written.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Busy;

/// A transport between the ranks of a job, as seen by one of them.
pub trait Device: Send {
    /// What this device can do; the same for its whole life and for every peer.
    fn caps(&self) -> Caps;

    /// Sends at most `caps().short_max` bytes, copied at once: the path of the small message.
    ///
    /// # Errors
    /// [`Busy`] without room.
    fn send_short(&mut self, peer: Peer, header: &Header, data: &[u8]) -> Result<(), Busy>;

    /// Sends one packet of `len <= caps().packet_max` bytes, which `fill` writes in place.
    ///
    /// # Errors
    /// [`Busy`] without room; `fill` has not been called then.
    fn send(
        &mut self, peer: Peer, header: &Header, len: usize, fill: impl FnOnce(&mut [u8]),
    ) -> Result<(), Busy>;

    /// Delivers what has arrived to `sink`, a bounded batch, and returns how many packets that was.
    ///
    /// The sink queues its replies; the engine sends them after `poll`.
    fn poll(&mut self, sink: &mut impl PacketSink) -> usize;

    /// Announces that this rank is about to sleep and says on what (with a full fence).
    ///
    /// The caller polls once more, sleeps on the [`WakeSource`] if nothing came, then calls `disarm`.
    fn arm(&mut self) -> WakeSource;

    /// Takes the announcement back.
    fn disarm(&mut self);

    /// Makes the [`WakeSource`] of this rank fire, as a packet would, also for who sleeps on it after
    /// `disarm`: for threads of this process.
    fn wake_self(&mut self);

    /// A number that changes with every packet delivered and every change of a counter of this rank;
    /// `None` while work of this rank is due or in progress at the device, or if the device does not
    /// know. The deadlock detector compares two of these numbers.
    fn quiescence(&self) -> Option<u64> {
        None
    }

    /// Direct copies from the memory of a peer, where the device can do that.
    fn bulk(&mut self) -> Option<&mut dyn Bulk> {
        None
    }

    /// Memory that this rank shares with peers, where the device can do that.
    fn shared_memory(&mut self) -> Option<&mut dyn SharedMemory> {
        None
    }

    /// Reads and writes of peers' memory without their help, where the device can do that.
    fn rma(&mut self) -> Option<&mut dyn Rma> {
        None
    }

    /// Programs that run by themselves, where the device can do that.
    fn trigger(&mut self) -> Option<&mut dyn Trigger> {
        None
    }

    /// Makes the [`WakeSource`] of `peer` fire if it is armed: to be called after something was published
    /// in a [`SharedSegment`] for it, or after [`SharedSegment::done`](crate::shared_memory::segment::SizedSegment::done) said so. Without a fence
    /// or a system call if the peer does not sleep.
    ///
    /// # Panics
    /// If it shares no memory with this rank.
    fn notify(&mut self, peer: Peer) {
        panic!("rank {peer} shares no memory with this one");
    }
}

/// Where a device delivers packets.
pub trait PacketSink {
    /// A packet from `from`. `data` is only lent: it is the device's buffer.
    fn packet(&mut self, from: Peer, header: &Header, data: &[u8]);
}

/// What wakes an armed rank.
#[derive(Clone)]
pub enum WakeSource {
    /// Nothing will: the caller must keep polling, yielding in between.
    Never,
    /// The word changes away from `expected`, followed by a futex wake of every waiter.
    Word {
        /// The futex word; it may lie in memory shared with the peers.
        word: Arc<dyn AsRef<AtomicU32> + Send + Sync>,
        /// Its value while nothing has arrived.
        expected: u32,
    },
}

/// Copies from a peer's address space without its help.
pub trait Bulk {
    /// Whether a message of `len` bytes from `peer` should be read rather than sent in packets.
    ///
    /// False for a peer whose memory cannot be read, as found by a real read. That may be made
    /// here, at the first question about a peer.
    fn prefers(&mut self, peer: Peer, len: usize) -> bool;

    /// Copies `into.len()` bytes from address `from` in `peer`'s memory.
    ///
    /// # Errors
    /// A sentence with the cause. Part of `into` may have been written; the caller asks the peer
    /// to send packets instead.
    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String>;

    /// Copies that both ends of a message share, where the device can do that.
    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        None
    }
}

/// Copies of one message by both of its ends at the same time: each takes pieces until none is left.
/// Neither waits for the other.
pub trait SplitCopies {
    /// Begins a copy of a message from `peer` into `into`, and returns the ticket with which `peer`
    /// takes part; `None` if the receiver is faster alone, by [`Bulk::read`].
    ///
    /// Nothing else may use `into` until one of the two ends has got another result than
    /// [`SplitEnd::PeerPending`].
    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64>;

    /// The receiver's part: reads pieces from address `from` on in `peer`'s memory until none is
    /// left. `peer` may take part late, or not at all.
    fn read_split(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> SplitEnd;

    /// The sender's part: writes pieces of the message `from` to the receiver `peer`, which gave
    /// `ticket`. [`SplitEnd::PeerPending`] if no piece was left.
    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd;
}

/// State of a split copy for an end whose part has completed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitEnd {
    /// Every byte has arrived. The other end got [`PeerPending`](Self::PeerPending).
    Completed,
    /// A piece could not be copied. The other end got [`PeerPending`](Self::PeerPending).
    Failed,
    /// The other end still copies, and its result is one of the above.
    PeerPending,
}

/// Rooms: memory that the ranks of a communicator share.
///
/// A room that was claimed is entered by all of its seats or by none. It is free again when all of
/// them have left. Room 0 is claimed from the beginning, for all ranks that this device reaches,
/// and never free again.
pub trait SharedMemory {
    /// Takes a room that nobody has; `None` if there is none.
    fn claim(&mut self) -> Option<u32>;

    /// The same, while half of the rooms or more are free: for what can do without one.
    fn claim_spare(&mut self) -> Option<u32>;

    /// Gives back a room that this rank has claimed and nobody has entered or will enter.
    fn release(&mut self, number: u32);

    /// Enters a room that one of `seats` has claimed. All of them call this once, with the same
    /// list, at any time; this rank is one of them.
    ///
    /// `None`, on all of them alike, if there is no such room or a seat shares no memory with the
    /// others.
    fn enter(&mut self, number: u32, seats: &[Peer]) -> Option<SharedSegment>;

    /// Leaves a room; what this rank has published in it stays until the others have left too.
    fn leave(&mut self, room: SharedSegment);
}
