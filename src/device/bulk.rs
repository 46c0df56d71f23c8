//! Direct copies between the address spaces of two ranks, instead of packets.

use platform::base::{Peer, Span};

/// Copies from a peer's address space, by the receiver alone.
pub trait Bulk {
    /// Whether a message of `len` bytes from `peer` should be read instead of sent in packets.
    ///
    /// False for a peer whose memory cannot be read. The first call for a peer may try a real read.
    fn prefers(&mut self, peer: Peer, len: usize) -> bool;

    /// Copies `into.len()` bytes from address `from` in `peer`'s memory.
    ///
    /// # Errors
    /// A sentence with the cause. Part of `into` may have been written; the caller requests packets
    /// instead.
    fn read(&mut self, peer: Peer, from: u64, into: Span) -> Result<(), String>;

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
