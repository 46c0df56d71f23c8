//! Which addresses of this host peers are told, and in which order the addresses of a peer are tried.
//!
//! ```text
//!   excluded by the settings, down, or link-local IPv6        never
//!   the settings include something                            what they include
//!   they do not, and the job spans hosts                      the first of these that is not empty:
//!                                                             networks, bridges of containers, loopback
//!   they do not, and the job is on one host                   loopback, if it is up; else as above
//! ```
//!
//! It resolves no name: that of the own host often means 127.0.1.1, or nothing. It does not know which
//! address a peer reaches; the connection shows that, and proves that the right process was reached.

use std::fmt;
use std::net::IpAddr;
use std::ops::RangeInclusive;

use crate::sys::network_interfaces::InterfaceAddress;

/// Beginnings of the names of interfaces that connect containers and virtual machines of this host only.
const CONTAINER_INTERFACES: &[&str] = &[
    "docker", "br-", "virbr", "veth", "cni", "flannel", "cali", "podman", "lxcbr", "lxdbr", "vnet",
];

/// The interfaces that the settings include or exclude (`SUIRO_TCP_IF`).
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct InterfaceChoice {
    included: Vec<InterfacePattern>,
    excluded: Vec<InterfacePattern>,
}

#[derive(Clone, Debug, PartialEq, Eq)]
enum InterfacePattern {
    /// An interface, or with a `*` at the end all whose names begin so.
    Name(String),
    /// All addresses that have this number of leading bits in common with this one.
    Subnet(IpAddr, u8),
}

/// An address of this host, and why peers are told of it or not.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct AddressDecision {
    /// The address.
    pub address: InterfaceAddress,
    /// Whether peers are told of it.
    pub is_chosen: bool,
    why: String,
}

/// What an address is good for, the best first.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum AddressKind {
    Network,
    LinkLocal,
    Containers,
    Loopback,
}

impl InterfaceChoice {
    /// A list of names like `eth0` or `ib*`, subnets like `10.0.0.0/8` and addresses; each may have a
    /// `^` in front, which excludes it.
    pub fn parse(text: &str) -> Option<Self> {
        let mut choice = Self::default();
        for item in text.split(',').map(str::trim) {
            match item.strip_prefix('^') {
                Some(item) => choice.excluded.push(InterfacePattern::parse(item)?),
                None => choice.included.push(InterfacePattern::parse(item)?),
            }
        }
        Some(choice)
    }

    /// Decides on all addresses of this host, in their order.
    pub fn decide(
        &self, addresses: &[InterfaceAddress], spans_hosts: bool,
    ) -> Vec<AddressDecision> {
        let possible = addresses.iter().filter(|address| self.refusal(address).is_none());
        let kinds: Vec<_> = possible.map(AddressKind::of).collect();
        let wanted = match !spans_hosts && kinds.contains(&AddressKind::Loopback) {
            true => Some(AddressKind::Loopback),
            false => kinds.into_iter().min(),
        };
        let decide = |address: &InterfaceAddress| {
            let kind = AddressKind::of(address);
            let (is_chosen, why) = match self.refusal(address) {
                Some(why) => (false, why),
                None if !self.included.is_empty() => (true, "SUIRO_TCP_IF includes it".to_owned()),
                None if wanted == Some(kind) => (true, kind.why_chosen(spans_hosts).to_owned()),
                None => (false, kind.why_skipped(spans_hosts).to_owned()),
            };
            AddressDecision { address: address.clone(), is_chosen, why }
        };
        addresses.iter().map(decide).collect()
    }

    /// Why an address is not used, whatever the others are.
    fn refusal(&self, address: &InterfaceAddress) -> Option<String> {
        let matches = |patterns: &[InterfacePattern]| patterns.iter().any(|it| it.matches(address));
        if !address.is_up {
            Some("the interface is down".to_owned())
        } else if is_link_local_ipv6(address.address) {
            Some("link-local addresses of IPv6 have a meaning on one host only".to_owned())
        } else if matches(&self.excluded) {
            Some("SUIRO_TCP_IF excludes it".to_owned())
        } else if !self.included.is_empty() && !matches(&self.included) {
            Some("SUIRO_TCP_IF does not include it".to_owned())
        } else {
            None
        }
    }
}

impl InterfacePattern {
    fn parse(text: &str) -> Option<Self> {
        let (address, bits) = match text.split_once('/') {
            Some((address, bits)) => (address, Some(bits.parse::<u8>().ok()?)),
            None => (text, None),
        };
        let Ok(address) = address.parse::<IpAddr>() else {
            let name = text.strip_suffix('*').unwrap_or(text);
            let is_name = !text.is_empty() && !name.contains(['/', '*', '^', ' ']);
            return is_name.then(|| Self::Name(text.to_owned()));
        };
        let all = bits_of(address);
        let bits = bits.unwrap_or(all);
        (bits <= all).then_some(Self::Subnet(address, bits))
    }

    fn matches(&self, address: &InterfaceAddress) -> bool {
        match self {
            Self::Name(name) => match name.strip_suffix('*') {
                Some(start) => address.interface.starts_with(start),
                None => address.interface == *name,
            },
            Self::Subnet(subnet, bits) => common_bits(*subnet, address.address) >= Some(*bits),
        }
    }
}

impl AddressKind {
    fn of(address: &InterfaceAddress) -> Self {
        let is_link_local = match address.address {
            IpAddr::V4(address) => address.is_link_local(),
            IpAddr::V6(_) => is_link_local_ipv6(address.address),
        };
        if address.address.is_loopback() {
            Self::Loopback
        } else if CONTAINER_INTERFACES.iter().any(|start| address.interface.starts_with(start)) {
            Self::Containers
        } else if is_link_local {
            Self::LinkLocal
        } else {
            Self::Network
        }
    }

    fn why_chosen(self, spans_hosts: bool) -> &'static str {
        match self {
            Self::Network => "it is an address of a network",
            Self::LinkLocal => "it is link-local, but there is no better one",
            Self::Containers => "it is that of containers, but there is no better one",
            Self::Loopback if spans_hosts => "it is loopback, but there is no other",
            Self::Loopback => "all ranks run on this host",
        }
    }

    fn why_skipped(self, spans_hosts: bool) -> &'static str {
        match self {
            Self::Network | Self::LinkLocal | Self::Containers if !spans_hosts => {
                "all ranks run on this host"
            }
            Self::Network => "there is a better one",
            Self::LinkLocal => "it is link-local",
            Self::Containers => "it connects containers of this host only",
            Self::Loopback => "it is loopback",
        }
    }
}

/// The addresses of a peer in the order in which to try them: those in a network of this host first,
/// the smallest network first; then those of a kind (IPv4, IPv6) that this host has. `own` are the
/// chosen addresses of this host. Equally good ones, such as all of loopback, keep their order.
pub fn order<'a>(
    own: impl Iterator<Item = &'a InterfaceAddress> + Clone, mut peer: Vec<IpAddr>,
) -> Vec<IpAddr> {
    let size = |own: &InterfaceAddress| match own.address.is_loopback() {
        true => 0,
        false => bits_of(own.address) - own.prefix,
    };
    let smallest_network = |address: &IpAddr| {
        let networks = own.clone().filter(|own| {
            let common = common_bits(own.address, *address);
            own.prefix > 0 && common >= Some(own.prefix)
        });
        networks.map(size).min()
    };
    let has_kind =
        |address: &IpAddr| own.clone().any(|own| own.address.is_ipv4() == address.is_ipv4());
    peer.sort_by_key(|address| (smallest_network(address).unwrap_or(u8::MAX), !has_kind(address)));
    peer
}

/// A port, or the first and the last port of a range (`SUIRO_TCP_PORTS`).
pub fn parse_ports(text: &str) -> Option<RangeInclusive<u16>> {
    let (first, last) = text.split_once('-').unwrap_or((text, text));
    let ports: RangeInclusive<u16> = first.parse().ok()?..=last.parse().ok()?;
    (*ports.start() > 0 && !ports.is_empty()).then_some(ports)
}

fn bits_of(address: IpAddr) -> u8 {
    if address.is_ipv4() { 32 } else { 128 }
}

/// The number of leading bits that two addresses of one kind have in common.
fn common_bits(one: IpAddr, other: IpAddr) -> Option<u8> {
    let bits = match (one, other) {
        (IpAddr::V4(one), IpAddr::V4(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V6(one), IpAddr::V6(other)) => (one.to_bits() ^ other.to_bits()).leading_zeros(),
        (IpAddr::V4(_), IpAddr::V6(_)) | (IpAddr::V6(_), IpAddr::V4(_)) => return None,
    };
    Some(bits as u8)
}

fn is_link_local_ipv6(address: IpAddr) -> bool {
    matches!(address, IpAddr::V6(address) if address.is_unicast_link_local())
}

impl fmt::Display for AddressDecision {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let InterfaceAddress { interface, address, .. } = &self.address;
        let how = if self.is_chosen { "used" } else { "skipped" };
        write!(f, "address {address} of {interface} is {how}: {}", self.why)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// `name address/prefix`, with `!` in front of the name if the interface is down.
    fn interface(text: &str) -> InterfaceAddress {
        let (name, address) = text.split_once(' ').unwrap();
        let (address, prefix) = address.split_once('/').unwrap();
        InterfaceAddress {
            interface: name.trim_start_matches('!').to_owned(),
            address: address.parse().unwrap(),
            prefix: prefix.parse().unwrap(),
            is_up: !name.starts_with('!'),
        }
    }

    const HOST: &[&str] = &[
        "lo 127.0.0.1/8",
        "lo ::1/128",
        "eth0 10.1.2.3/16",
        "eth0 fe80::1/64",
        "eth0 fd00::3/64",
        "!eth1 192.168.7.1/24",
        "ib0 172.20.0.3/24",
        "usb0 169.254.3.4/16",
        "docker0 172.17.0.1/16",
        "br-0a1b 172.18.0.1/16",
        "br0 10.9.0.1/24",
    ];

    fn chosen(setting: &str, host: &[&str], spans_hosts: bool) -> Vec<String> {
        let choice = match setting {
            "auto" => InterfaceChoice::default(),
            text => InterfaceChoice::parse(text).unwrap(),
        };
        let all: Vec<_> = host.iter().map(|text| interface(text)).collect();
        let decisions = choice.decide(&all, spans_hosts);
        assert_eq!(decisions.len(), host.len());
        let chosen = decisions.iter().filter(|it| it.is_chosen);
        chosen.map(|it| it.address.address.to_string()).collect()
    }

    #[test]
    fn addresses_are_chosen_by_the_settings_or_by_what_they_are() {
        let networks = ["10.1.2.3", "fd00::3", "172.20.0.3", "10.9.0.1"];
        let table: &[(&str, &[&str])] = &[
            ("auto", &networks),
            ("eth0", &["10.1.2.3", "fd00::3"]),
            ("eth*", &["10.1.2.3", "fd00::3"]),
            ("eth1", &[]),
            ("eth", &[]),
            ("10.0.0.0/8", &["10.1.2.3", "10.9.0.1"]),
            ("10.0.0.0/8,^br*", &["10.1.2.3"]),
            ("10.9.77.77/16", &["10.9.0.1"]),
            ("fd00::/16", &["fd00::3"]),
            ("172.20.0.3, fd00::3", &["fd00::3", "172.20.0.3"]),
            ("^ib0", &["10.1.2.3", "fd00::3", "10.9.0.1"]),
            ("^10.0.0.0/8,^fd00::3", &["172.20.0.3"]),
            ("docker0,lo", &["127.0.0.1", "::1", "172.17.0.1"]),
            ("usb0", &["169.254.3.4"]),
            ("0.0.0.0/0,^127.0.0.0/8,^docker*,^br*,^usb0", &["10.1.2.3", "172.20.0.3"]),
            ("nosuch0", &[]),
        ];
        for (setting, expected) in table {
            assert_eq!(chosen(setting, HOST, true), *expected, "SUIRO_TCP_IF={setting}");
        }
    }

    #[test]
    fn the_worst_are_used_if_there_are_no_others() {
        assert_eq!(chosen("auto", &HOST[..2], true), ["127.0.0.1", "::1"]);
        assert_eq!(
            chosen("auto", &["lo 127.0.0.1/8", "docker0 172.17.0.1/16"], true),
            ["172.17.0.1"]
        );
        let direct = ["lo 127.0.0.1/8", "eth0 169.254.1.1/16", "docker0 172.17.0.1/16"];
        assert_eq!(chosen("auto", &direct, true), ["169.254.1.1"]);
        assert_eq!(chosen("^10.0.0.0/8", &HOST[..3], true), ["127.0.0.1", "::1"]);
        assert_eq!(chosen("auto", &["eth0 fe80::1/64"], true), [""; 0]);
    }

    #[test]
    fn ranks_of_one_host_meet_at_loopback() {
        assert_eq!(chosen("auto", HOST, false), ["127.0.0.1", "::1"]);
        assert_eq!(chosen("ib0", HOST, false), ["172.20.0.3"]);
        assert_eq!(chosen("^lo", &HOST[..3], false), ["10.1.2.3"]);
    }

    #[test]
    fn each_decision_has_its_reason() {
        let all: Vec<_> = HOST.iter().map(|text| interface(text)).collect();
        let lines = |choice: &InterfaceChoice| {
            let decisions = choice.decide(&all, true);
            decisions.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        let text = lines(&InterfaceChoice::default());
        for line in [
            "address 127.0.0.1 of lo is skipped: it is loopback",
            "address 10.1.2.3 of eth0 is used: it is an address of a network",
            "address 192.168.7.1 of eth1 is skipped: the interface is down",
            "address 172.17.0.1 of docker0 is skipped: it connects containers of this host only",
            "address 169.254.3.4 of usb0 is skipped: it is link-local",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
        let text = lines(&InterfaceChoice::parse("eth0,^fd00::/8").unwrap());
        for line in [
            "address 10.1.2.3 of eth0 is used: SUIRO_TCP_IF includes it",
            "address fd00::3 of eth0 is skipped: SUIRO_TCP_IF excludes it",
            "address 172.20.0.3 of ib0 is skipped: SUIRO_TCP_IF does not include it",
        ] {
            assert!(text.lines().any(|other| other == line), "{line}: {text}");
        }
    }

    #[test]
    fn a_bad_list_is_none() {
        for bad in
            ["", "eth0,", "^", "10.0.0.0/33", "::/129", "10.0.0.0/x", "eth0/8", "a*b", "^^eth0"]
        {
            assert_eq!(InterfaceChoice::parse(bad), None, "{bad}");
        }
    }

    #[test]
    fn addresses_in_a_network_of_this_host_are_tried_first() {
        let ordered = |own: &[&str], peer: &[&str]| {
            let own: Vec<_> = own.iter().map(|text| interface(text)).collect();
            let peer = peer.iter().map(|text| text.parse().unwrap()).collect();
            let ordered = order(own.iter(), peer);
            ordered.iter().map(ToString::to_string).collect::<Vec<_>>()
        };
        let peer = ["fd00::4", "192.168.1.4", "10.1.7.4", "10.1.9.4", "192.168.0.4"];
        let expected = ["10.1.9.4", "10.1.7.4", "192.168.1.4", "192.168.0.4", "fd00::4"];
        let own = ["eth0 10.1.2.3/16", "ib0 10.1.9.3/24"];
        assert_eq!(ordered(&own, &peer), expected);
        assert_eq!(ordered(&own, &[]), [""; 0]);
        let loopback = ["127.0.0.1", "::1"];
        assert_eq!(ordered(&["lo 127.0.0.1/8", "lo ::1/128"], &loopback), loopback);
    }
}
