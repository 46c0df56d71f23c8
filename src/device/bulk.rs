//! Direct copies between the address spaces of two ranks, instead of packets.

use platform::base::{Peer, Span};

/// Bytes that one call copies at most. It takes some ten microseconds, while other threads wait for the
/// lock of the process.
pub const COPY_STEP: usize = 256 << 10;

/// Copies from a peer's address space, by the receiver alone.
pub trait Bulk {
    /// Whether a message of `len` bytes from `peer` should be read instead of sent in packets.
    ///
    /// False for a peer whose memory cannot be read. The first call for a peer may try a real read.
    fn prefers(&mut self, peer: Peer, len: usize) -> bool;

    /// Copies the next bytes, at most [`COPY_STEP`], of a message of `into.len()` bytes at address
    /// `from` in `peer`'s memory, of which `done` bytes have been copied; returns how many have then.
    ///
    /// # Errors
    /// A sentence with the cause. Part of `into` may have been written; the caller requests packets
    /// instead.
    fn read(&mut self, peer: Peer, from: u64, into: Span, done: usize) -> Result<usize, String>;

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

    /// The receiver's part: reads pieces from address `from` on in `peer`'s memory until none is
    /// left, or about [`COPY_STEP`] bytes. `peer` may take part late, or not at all.
    fn read_split(&mut self, peer: Peer, ticket: u64, from: u64, into: Span) -> SplitEnd;

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
