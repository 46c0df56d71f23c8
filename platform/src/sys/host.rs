//! The name of this host and its aliases.

use std::net::{IpAddr, ToSocketAddrs};

use nix::ifaddrs::getifaddrs;
use nix::unistd::gethostname;

/// The host's own name; no name server is asked.
pub fn name() -> String {
    match gethostname() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => "localhost".to_owned(),
    }
}

/// Whether `name` means this host. Asks a name server only for a name that is not known locally.
pub fn is_this_host(name: &str) -> bool {
    let own = name_and_label(&self::name());
    let asked = name_and_label(name);
    if own.0 == asked.0 || own.1 == asked.1 && (own.0 == own.1 || asked.0 == asked.1) {
        return true;
    }
    if matches!(&*asked.0, "localhost" | "localhost.localdomain" | "ip6-localhost" | "localhost4") {
        return true;
    }
    match name.parse() {
        Ok(address) => is_own(address),
        Err(_) => {
            let found = (name, 0).to_socket_addrs();
            found.is_ok_and(|mut found| found.any(|address| is_own(address.ip())))
        }
    }
}

/// A name in lower case, and the part before its first dot.
fn name_and_label(name: &str) -> (String, String) {
    let name = name.to_ascii_lowercase();
    let label = name.split('.').next().unwrap_or_default().to_owned();
    (name, label)
}

/// Whether `address` belongs to an interface of this host.
fn is_own(address: IpAddr) -> bool {
    if address.is_loopback() {
        return true;
    }
    let own = getifaddrs().into_iter().flatten().filter_map(|interface| interface.address);
    let mut own = own.filter_map(|own| {
        let v4 = own.as_sockaddr_in().map(|own| IpAddr::V4(own.ip()));
        v4.or_else(|| own.as_sockaddr_in6().map(|own| IpAddr::V6(own.ip())))
    });
    own.any(|own| own == address)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_host_are_known() {
        for here in ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", &name()] {
            assert!(is_this_host(here), "{here}");
        }
        assert!(is_this_host(&format!("{}.some.domain", name_and_label(&name()).1)));
        for there in ["192.0.2.1", "2001:db8::1"] {
            assert!(!is_this_host(there), "{there}");
        }
    }
}
