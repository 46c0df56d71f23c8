//! What a process tells its peers before they connect, and what both ends say when they do.
//!
//! A card is text for the launcher's key-value space: `port/address,address,...`. The addresses are
//! those that the settings choose, the best first. In a card for processes of other jobs, `/name` follows:
//! the socket for processes of the same host. A connection also begins with names: a port may
//! belong to another process by now, and two hosts may have an address in common.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};

use platform::base::Peer;
use platform::network::SharedSecret;
use platform::sys::local_socket::LocalName;

/// Addresses of one card.
const ADDRESSES_MAX: usize = 8;

/// The port and the addresses of a process.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TcpCard {
    pub(crate) port: u16,
    pub(crate) addresses: Vec<IpAddr>,
    /// The socket for processes of its host.
    pub(crate) local: Option<LocalName>,
}

/// Where a process listens.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum ListeningPlace {
    /// In its host.
    Local(LocalName),
    /// In its networks.
    Network(SocketAddr),
}

impl TcpCard {
    /// The card as text, with at most 400 printable ASCII characters and no spaces.
    pub(crate) fn emit(&self) -> String {
        let addresses = self.addresses.iter().take(ADDRESSES_MAX);
        let addresses: Vec<_> = addresses.map(ToString::to_string).collect();
        let local = self.local.map_or_else(String::new, |local| format!("/{local}"));
        format!("{}/{}{local}", self.port, addresses.join(","))
    }

    /// The card in a text, if it is one.
    pub(crate) fn parse(text: &str) -> Option<Self> {
        let (port, rest) = text.split_once('/')?;
        let (addresses, local) = match rest.split_once('/') {
            Some((addresses, local)) => (addresses, Some(LocalName::parse(local)?)),
            None => (rest, None),
        };
        let addresses = addresses.split(',').map(str::parse).collect::<Result<Vec<_>, _>>();
        let addresses = addresses.ok().filter(|list| list.len() <= ADDRESSES_MAX)?;
        Some(Self { port: port.parse().ok()?, addresses, local })
    }

    /// The process on `host` that listens there: the beginning of a sentence.
    pub(crate) fn process_on(&self, host: &str) -> String {
        let address = |place| match place {
            ListeningPlace::Local(_) => None,
            ListeningPlace::Network(address) => Some(address.to_string()),
        };
        let addresses: Vec<_> = self.places().filter_map(address).collect();
        format!("its process on host {host} ({})", addresses.join(", "))
    }

    /// Where to connect: first in the host, where a name that it does not have is refused at once.
    pub(crate) fn places(&self) -> impl Iterator<Item = ListeningPlace> {
        let addresses = self.addresses.iter().map(|address| SocketAddr::new(*address, self.port));
        let local = self.local.into_iter().map(ListeningPlace::Local);
        local.chain(addresses.map(ListeningPlace::Network))
    }
}

/// A peer to which this process may connect.
#[derive(Clone, Debug)]
pub(crate) struct KnownPeer {
    pub(crate) card: TcpCard,
    /// The name of its host.
    pub(crate) host: Box<str>,
    /// Its job, and its rank there.
    pub(crate) job: [u8; 16],
    pub(crate) rank: u32,
    /// The key of connections to it: that of the own job has the identity of the job.
    pub(crate) key: KeyId,
}

/// The public name of a secret that both ends of a connection know.
pub(crate) type KeyId = [u8; 16];

/// The secrets of this process: that of its job, of its ports, and of groups in other jobs. Clones share
/// nothing.
#[derive(Clone, Default)]
pub(crate) struct Keyring(HashMap<KeyId, SharedSecret>);

impl Keyring {
    pub(crate) fn insert(&mut self, id: KeyId, secret: SharedSecret) {
        self.0.insert(id, secret);
    }

    pub(crate) fn remove(&mut self, id: KeyId) {
        self.0.remove(&id);
    }

    pub(crate) fn get(&self, id: KeyId) -> Option<&SharedSecret> {
        self.0.get(&id)
    }
}

/// What an end of a connection says of itself.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Hello {
    /// The identity of the job.
    pub(crate) job: [u8; 16],
    /// The rank of the process in its job.
    pub(crate) rank: Peer,
    /// The rank that it wants to reach, in the job of that; its own at the end that accepts.
    pub(crate) wanted: Peer,
    /// The number of packets that it has received from there.
    pub(crate) received: u64,
    /// Whether it wants every byte to be encrypted: so it is if one end wants it.
    pub(crate) encrypts: bool,
    /// Whether the connection is for the interfaces of both, and not for packets.
    pub(crate) is_for_programs: bool,
}

/// Bits of the last byte of a hello.
const ENCRYPTS: u8 = 1;
const FOR_PROGRAMS: u8 = 2;

impl Hello {
    pub(crate) const LEN: usize = 33;

    pub(crate) fn emit(self) -> [u8; Self::LEN] {
        let mut bytes = [0; Self::LEN];
        bytes[..16].copy_from_slice(&self.job);
        bytes[16..20].copy_from_slice(&self.rank.to_le_bytes());
        bytes[20..24].copy_from_slice(&self.wanted.to_le_bytes());
        bytes[24..32].copy_from_slice(&self.received.to_le_bytes());
        let flag = |is_set, flag| if is_set { flag } else { 0 };
        bytes[32] = flag(self.encrypts, ENCRYPTS) | flag(self.is_for_programs, FOR_PROGRAMS);
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let bytes: &[u8; Self::LEN] = bytes.try_into().ok()?;
        Some(Self {
            job: *bytes.first_chunk()?,
            rank: Peer::from_le_bytes(*bytes[16..].first_chunk()?),
            wanted: Peer::from_le_bytes(*bytes[20..].first_chunk()?),
            received: u64::from_le_bytes(*bytes[24..].first_chunk()?),
            encrypts: bytes[32] & ENCRYPTS != 0,
            is_for_programs: bytes[32] & FOR_PROGRAMS != 0,
        })
    }
}

/// The answer of the end that accepts.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Verdict {
    /// The connection is the one between the two. That end has received this number of packets.
    Accepted { received: u64 },
    /// The other end connects at the same time, and its connection is preferred.
    Crossed,
    /// Another process was meant, or the other end has given this one up.
    Refused,
}

impl Verdict {
    pub(crate) const LEN: usize = 9;

    pub(crate) fn emit(self) -> [u8; Self::LEN] {
        let (code, received) = match self {
            Self::Accepted { received } => (1, received),
            Self::Crossed => (2, 0),
            Self::Refused => (3, 0),
        };
        let mut bytes = [code; 9];
        bytes[1..].copy_from_slice(&received.to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8]) -> Option<Self> {
        let (code, received) = bytes.split_first()?;
        let received = u64::from_le_bytes(received.try_into().ok()?);
        match code {
            1 => Some(Self::Accepted { received }),
            2 => Some(Self::Crossed),
            3 => Some(Self::Refused),
            _ => None,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn cards_are_text() {
        let addresses = ["10.77.0.1", "fd00::1"].map(|text| text.parse().unwrap()).to_vec();
        let local = LocalName::parse("000102030405060708090a0b0c0d0e0f");
        let mut card = TcpCard { port: 4711, addresses, local };
        assert_eq!(card.emit(), "4711/10.77.0.1,fd00::1/000102030405060708090a0b0c0d0e0f");
        assert_eq!(TcpCard::parse(&card.emit()), Some(card.clone()));
        card.local = None;
        assert_eq!(card.emit(), "4711/10.77.0.1,fd00::1");
        assert_eq!(TcpCard::parse(&card.emit()), Some(card));
        for bad in ["", "1", "x/::1", "70000/::1", "1/", "1/host", "1/::1,", "1/::1/", "1/::1/name"]
        {
            assert_eq!(TcpCard::parse(bad), None, "{bad}");
        }
        let full = TcpCard {
            port: u16::MAX,
            addresses: vec!["ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff".parse().unwrap(); 20],
            local,
        };
        assert!(full.emit().len() <= 400 && TcpCard::parse(&full.emit()).is_some());
    }

    #[test]
    fn hellos_and_verdicts_read_back() {
        for (encrypts, is_for_programs) in [(true, false), (false, true), (true, true)] {
            let (job, rank, wanted, received) = ([7; 16], 1, u32::MAX, 1 << 40);
            let hello = Hello { job, rank, wanted, received, encrypts, is_for_programs };
            assert_eq!(Hello::parse(&hello.emit()), Some(hello));
        }
        assert_eq!(Hello::parse(&[0; 32]), None);
        for verdict in [Verdict::Accepted { received: 9 }, Verdict::Crossed, Verdict::Refused] {
            assert_eq!(Verdict::parse(&verdict.emit()), Some(verdict));
        }
        assert_eq!(Verdict::parse(&[0; 9]), None);
    }
}
