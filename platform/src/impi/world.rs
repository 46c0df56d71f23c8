//! What the clients of an IMPI world have agreed on at start-up.

use std::net::{IpAddr, Ipv6Addr};

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

/// An address on the wire: one of IPv4 is in the last four bytes behind zeros.
pub fn host_address(address: IpAddr) -> [u8; 16] {
    match address.to_canonical() {
        IpAddr::V4(address) => {
            let mut bytes = [0; 16];
            bytes[12..].copy_from_slice(&address.octets());
            bytes
        }
        IpAddr::V6(address) => address.octets(),
    }
}

/// The address that [`host_address`] wrote; `None` for zeros. The loopback address of IPv6 has the bytes
/// of 0.0.0.1, which is no address of a host.
pub fn ip_address(bytes: [u8; 16]) -> Option<IpAddr> {
    let address = Ipv6Addr::from(bytes);
    match bytes {
        [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, four @ ..] if !address.is_loopback() => {
            (four != [0; 4]).then(|| IpAddr::from(four))
        }
        _ => Some(IpAddr::V6(address).to_canonical()),
    }
}
