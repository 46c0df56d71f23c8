//! The model of the network of a paced interface: times of transfers.

use std::fmt::Debug;

use platform::base::Peer;

/// The ends of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferPath {
    /// Within this rank.
    Local,
    /// From this rank to a peer.
    ToPeer(Peer),
    /// From a peer to this rank, after a request of this rank.
    FromPeer(Peer),
}

/// Times of a transfer.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTimes {
    /// The sending engine is free again, in nanoseconds.
    pub sent_ns: u64,
    /// Every byte has arrived, in nanoseconds.
    pub arrived_ns: u64,
}

/// A model of the network of an interface.
pub trait NetworkModel: Debug + Send {
    /// Sends `bytes` through `engine` at `at_ns`, or later if the path is busy.
    fn send(&mut self, path: TransferPath, engine: u8, bytes: u64, at_ns: u64) -> TransferTimes;

    /// The time to post an operation to a slot of the interface, in nanoseconds.
    fn post_ns(&self) -> u64;
}
