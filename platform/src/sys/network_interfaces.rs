//! The network interfaces of this host, with their addresses.

use std::io;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::net::if_::InterfaceFlags;
use nix::sys::socket::SockaddrStorage;

/// An address of an interface.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct InterfaceAddress {
    /// The name of the interface.
    pub interface: String,
    /// The address.
    pub address: IpAddr,
    /// The number of bits that are the same in the addresses of its network.
    pub prefix: u8,
    /// Whether the interface is up.
    pub is_up: bool,
}

/// The addresses of IPv4 and IPv6, in the order of the system.
///
/// # Errors
/// The system's error.
pub fn interface_addresses() -> io::Result<Vec<InterfaceAddress>> {
    let entries = getifaddrs()?;
    Ok(entries
        .filter_map(|entry| {
            let address = ip(entry.address.as_ref()?)?;
            let prefix = entry.netmask.as_ref().and_then(ip).map_or(0, ones);
            let is_up = entry.flags.contains(InterfaceFlags::IFF_UP);
            Some(InterfaceAddress { interface: entry.interface_name, address, prefix, is_up })
        })
        .collect())
}

fn ip(address: &SockaddrStorage) -> Option<IpAddr> {
    let four = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
    four.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
}

fn ones(mask: IpAddr) -> u8 {
    let ones = match mask {
        IpAddr::V4(mask) => mask.to_bits().leading_ones(),
        IpAddr::V6(mask) => mask.to_bits().leading_ones(),
    };
    ones as u8
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_loopback_interface_is_there() {
        let addresses = interface_addresses().unwrap();
        let loopback = addresses.iter().find(|it| it.address == IpAddr::from([127, 0, 0, 1]));
        assert_eq!(loopback.map(|it| (&*it.interface, it.prefix, it.is_up)), Some(("lo", 8, true)));
    }
}
