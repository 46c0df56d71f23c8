//! The names and addresses of this host.

use std::fs;
use std::net::IpAddr;

use nix::ifaddrs::getifaddrs;
use nix::unistd::gethostname;

/// Names of this host on every host.
const LOCAL_NAMES: &[&str] =
    &["localhost", "localhost.localdomain", "ip6-localhost", "ip6-loopback", "localhost4"];

/// The host's own name; no name server is asked.
pub fn name() -> String {
    match gethostname() {
        Ok(name) => name.to_string_lossy().into_owned(),
        Err(_) => "localhost".to_owned(),
    }
}

/// What tells whether a name means this host. No name server is asked: one that does not answer would
/// take seconds for each name.
#[derive(Debug)]
pub struct OwnNames {
    /// In lower case, as all names here.
    name: String,
    addresses: Vec<IpAddr>,
    /// The lines of `/etc/hosts`.
    lines: Vec<(IpAddr, Vec<String>)>,
    /// The domains that `/etc/resolv.conf` appends to names.
    domains: Vec<String>,
}

impl OwnNames {
    /// Those of this host.
    pub fn here() -> Self {
        let interfaces = getifaddrs().into_iter().flatten();
        let addresses = interfaces.filter_map(|interface| {
            let address = interface.address?;
            let v4 = address.as_sockaddr_in().map(|address| IpAddr::V4(address.ip()));
            v4.or_else(|| address.as_sockaddr_in6().map(|address| IpAddr::V6(address.ip())))
        });
        let read = |file| fs::read_to_string(file).unwrap_or_default();
        let (hosts, resolver) = (read("/etc/hosts"), read("/etc/resolv.conf"));
        Self::new(&name(), addresses.collect(), &hosts, &resolver)
    }

    fn new(name: &str, addresses: Vec<IpAddr>, hosts: &str, resolver: &str) -> Self {
        let line = |line: &str| {
            let text = line.split('#').next().unwrap_or_default().to_ascii_lowercase();
            let mut words = text.split_whitespace().map(str::to_owned);
            Some((words.next()?.parse().ok()?, words.collect()))
        };
        let domains = resolver.lines().filter_map(|line| {
            let mut words = line.split_whitespace();
            matches!(words.next(), Some("search" | "domain")).then_some(words)
        });
        let domain = |domain: &str| domain.trim_matches('.').to_ascii_lowercase();
        Self {
            name: name.to_ascii_lowercase(),
            addresses,
            lines: hosts.lines().filter_map(line).collect(),
            domains: domains.flatten().map(domain).collect(),
        }
    }

    /// Whether `name` is an address of this host, its own name, with or without the domain of this
    /// host, or one that `/etc/hosts` gives an address of this host.
    pub fn include(&self, name: &str) -> bool {
        if let Ok(address) = name.parse() {
            return self.has(address);
        }
        let asked = name.trim_end_matches('.').to_ascii_lowercase();
        if LOCAL_NAMES.contains(&&*asked) {
            return true;
        }
        let full = self.domains.iter().map(|domain| format!("{asked}.{domain}"));
        std::iter::once(asked.clone()).chain(full).any(|asked| self.is_named(&asked))
    }

    fn is_named(&self, asked: &str) -> bool {
        if asked == self.name {
            return true;
        }
        // With a domain, the name is that of this host only in its own domain.
        let in_domain =
            |(label, domain)| label == self.name && self.domains.iter().any(|own| own == domain);
        let is_label = self.name.split_once('.').is_some_and(|(label, _)| label == asked);
        is_label
            || asked.split_once('.').is_some_and(in_domain)
            || self.lines.iter().any(|(address, names)| {
                self.has(*address) && names.iter().any(|name| name == asked)
            })
    }

    fn has(&self, address: IpAddr) -> bool {
        address.is_loopback() || self.addresses.contains(&address)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn names_and_addresses_of_this_host_are_known() {
        let here = OwnNames::here();
        for own in ["localhost", "LOCALHOST", "127.0.0.1", "127.1.2.3", "::1", &name()] {
            assert!(here.include(own), "{own}");
        }
        for other in ["192.0.2.1", "2001:db8::1", "no-such-host"] {
            assert!(!here.include(other), "{other}");
        }
    }

    fn own_names(name: &str, hosts: &str, resolver: &str) -> OwnNames {
        OwnNames::new(name, vec!["192.0.2.7".parse().unwrap()], hosts, resolver)
    }

    #[test]
    fn a_domain_tells_hosts_of_one_short_name_apart() {
        let resolver = "nameserver 192.0.2.1\nsearch lab.example example.org\n";
        let short = own_names("Node1", "", resolver);
        for own in ["node1", "NODE1.lab.example", "node1.lab.example.", "node1.example.org"] {
            assert!(short.include(own), "{own}");
        }
        for other in ["node1.far.example", "node10", "node", "node2.lab.example", "lab.example"] {
            assert!(!short.include(other), "{other}");
        }
        let full = own_names("node1.lab.example", "", resolver);
        assert!(full.include("node1") && full.include("node1.lab.example"));
        assert!(!full.include("node1.far.example"));
    }

    #[test]
    fn the_hosts_file_names_addresses_of_this_host() {
        let hosts = "127.0.1.1 box.home box # this\n192.0.2.7\tnode1-ib.lab.example n1\n\
                     192.0.2.8 node2\nnonsense here\n";
        let some = own_names("node1", hosts, "search lab.example");
        for own in ["box", "box.home", "n1", "node1-ib", "Node1-IB.lab.example", "192.0.2.7"] {
            assert!(some.include(own), "{own}");
        }
        for other in ["node2", "192.0.2.8", "here", "this", "home"] {
            assert!(!some.include(other), "{other}");
        }
    }
}
