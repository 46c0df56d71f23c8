//! What the clients of an IMPI world have agreed on at start-up.

use super::packet::ProcessId;

/// An IMPI host of a client: one socket for connections, and the processes behind it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOffer {
    /// Its address, as in [`ProcessId`].
    pub address: [u8; 16],
    /// The port at which it listens.
    pub port: u32,
    /// The number of packets that one of its processes acknowledges at once.
    pub ack_mark: u32,
    /// The number of packets to one of its processes that are not acknowledged, at most.
    pub high_water: u32,
    /// Its processes.
    pub processes: Vec<ProcessId>,
}

/// The processes of all clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Drawn by the server; zeros in the clear.
    pub id: [u8; 16],
    /// The longest data of a packet, in bytes.
    pub data_len: u32,
    /// The largest tag.
    pub tag_ub: u32,
    /// The length from which on some collective operations use another algorithm, in bytes.
    pub collective_xsize: u32,
    /// The number of clients up to which collective operations are linear.
    pub collective_max_linear: u32,
    /// The clients, by number.
    pub clients: Vec<WorldClient>,
}

/// A client of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldClient {
    /// Its hosts.
    pub hosts: Vec<HostOffer>,
}
