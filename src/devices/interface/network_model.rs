//! How long transfers take, for interfaces that keep to the pace of real ones.

use std::fmt::Debug;

use platform::base::Peer;

/// Between whom a transfer is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum TransferPath {
    /// Within this rank.
    Local,
    /// From this rank to a peer.
    ToPeer(Peer),
    /// From a peer to this rank, which asks for it first.
    FromPeer(Peer),
}

/// When a transfer is where.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TransferTimes {
    /// The engine that sends is free again, in nanoseconds.
    pub sent_ns: u64,
    /// Every byte has arrived, in nanoseconds.
    pub arrived_ns: u64,
}

/// The network of an interface, as far as time goes.
pub trait NetworkModel: Debug + Send {
    /// Sends `bytes` through `engine` at `at_ns`, or as soon as there is room.
    fn send(&mut self, way: TransferPath, engine: u8, bytes: u64, at_ns: u64) -> TransferTimes;
}
