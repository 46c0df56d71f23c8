//! Direct copies between the address spaces of two ranks, instead of packets.

use platform::base::{Peer, Span};

/// Bytes that one call copies at most. It takes some ten microseconds, while other threads wait for the
/// lock of the process.
pub const COPY_STEP: usize = 256 << 10;

/// What a device needs to read memory of a peer, made by the device of that peer, and opaque to all
/// others. Not zero.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct MemoryDescriptor(pub [u8; Self::LEN]);

impl MemoryDescriptor {
    /// Its length in bytes: an address and a key of memory.
    pub const LEN: usize = 16;

    /// The address of memory, for a device that needs nothing else.
    pub fn of_address(address: u64) -> Self {
        Self(u128::from(address).to_le_bytes())
    }

    /// The address in [`MemoryDescriptor::of_address`].
    pub fn address(self) -> u64 {
        u128::from_le_bytes(self.0) as u64
    }
}

/// Copies from a peer's address space, by the receiver alone.
pub trait Bulk {
    /// Whether a message of `len` bytes from `peer` should be read instead of sent in packets.
    ///
    /// False for a peer whose memory cannot be read. The first call for a peer may try a real read.
    fn prefers(&mut self, peer: Peer, len: usize) -> bool;

    /// What `peer` needs to read `memory` of this rank, which is not empty, until the message ends.
    fn describe(&mut self, peer: Peer, memory: Span) -> MemoryDescriptor {
        let _ = peer;
        MemoryDescriptor::of_address(memory.address() as u64)
    }

    /// Copies the next bytes, at most [`COPY_STEP`], of a message of `into.len()` bytes, which `peer`
    /// described as `from`, of which `done` bytes have been copied; returns how many have then.
    ///
    /// # Errors
    /// A sentence with the cause. Part of `into` may have been written; the caller requests packets
    /// instead.
    fn read(
        &mut self, peer: Peer, from: MemoryDescriptor, into: Span, done: usize,
    ) -> Result<usize, String>;

    /// Copies that both ends of a message share.
    fn split(&mut self) -> Option<&mut dyn SplitCopies> {
        None
    }
}

/// Copies of one message by both of its ends at the same time: each takes pieces until none is left.
/// Neither waits for the other.
pub trait SplitCopies {
    /// Begins a copy of a message from `peer` into `into`, and returns the ticket with which `peer`
    /// takes part; `None` if the receiver is faster alone ([`Bulk::read`]).
    ///
    /// Nothing else may use `into` until one of the two ends has got another result than
    /// [`SplitEnd::PeerPending`].
    fn begin_split(&mut self, peer: Peer, into: Span) -> Option<u64>;

    /// The receiver's part: reads pieces of the message that `peer` described as `from` until none is
    /// left, or about [`COPY_STEP`] bytes. `peer` may take part late, or not at all.
    fn read_split(
        &mut self, peer: Peer, ticket: u64, from: MemoryDescriptor, into: Span,
    ) -> SplitEnd;

    /// The sender's part: writes pieces of the message `from` to the receiver `peer`, which gave
    /// `ticket`, about [`COPY_STEP`] bytes. [`SplitEnd::PeerPending`] if no piece was left.
    fn write_split(&mut self, peer: Peer, ticket: u64, from: Span) -> SplitEnd;
}

/// State of a split copy for one end, after its part of the copy or a step of it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SplitEnd {
    /// Every byte has arrived. The other end got [`PeerPending`](Self::PeerPending).
    Completed,
    /// A piece could not be copied. The other end got [`PeerPending`](Self::PeerPending).
    Failed,
    /// The other end still copies, and its result is one of the above.
    PeerPending,
    /// Pieces may be left: call again. The other end need not wait for that.
    Paused,
}
