//! What the clients of a world offer, and the world on which they agree.
//!
//! Ranks follow the order of clients, then hosts, then processes. Hosts are numbered over all clients in
//! the same order.

use std::collections::HashMap;
use std::collections::hash_map::Entry;
use std::net::{IpAddr, Ipv6Addr};
use std::ops::Range;

use super::CLIENTS_MAX;
use super::agreed_settings::AgreedSettings;
use super::commands::{push_word, split_word};
use super::packet::ProcessId;
use crate::base::Representation;

/// The highest number of processes of a client, and so of its hosts: it bounds what a client can make
/// others keep.
pub const PROCESSES_MAX: u32 = 1 << 16;

/// The lowest upper bound of tags (MPI).
const TAG_BOUND_MIN: u32 = 32767;

/// The highest value of a signed word.
const WORD_MAX: u32 = i32::MAX as u32;

/// The first bytes of [`World::emit`].
const MAGIC: [u8; 4] = *b"iw02";

/// A host of a client: what others connect to.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HostOffer {
    /// Its address; one of IPv4 is in the last four bytes behind zeros.
    pub address: [u8; 16],
    /// The port at which it accepts connections of other hosts.
    pub port: u32,
    /// The number of packets from a process to a process after which the receiver acknowledges.
    pub ack_mark: u32,
    /// The number of packets from a process to a process without acknowledgement, at most.
    pub high_water: u32,
    /// Its processes, in the order of their ranks.
    pub processes: Vec<ProcessId>,
}

/// What a client says of itself.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct ClientOffer {
    /// Its hosts, in the order of their ranks.
    pub hosts: Vec<HostOffer>,
    /// Bytes of data in a packet, at most.
    pub data_len: u32,
    /// The highest tag.
    pub tag_ub: u32,
    /// Bytes from which collective operations use protocols for long messages; -1: the default.
    pub collective_xsize: i32,
    /// The highest number of clients with which collective operations are linear; -1: the default.
    pub collective_max_linear: i32,
    /// How it represents data, which only clients of Suiro say.
    pub representation: Option<Representation>,
    /// Its settings that must be equal in all clients of Suiro, which only those that say how they
    /// represent data say.
    pub settings: AgreedSettings,
}

/// The world on which all clients agree.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct World {
    /// Tells the world from others with the same key; zero in cleartext.
    pub id: [u8; 16],
    /// Bytes of data in a packet, at most: the lowest that a client offers.
    pub data_len: u32,
    /// The highest tag: the lowest that a client offers.
    pub tag_ub: u32,
    /// Bytes from which collective operations use protocols for long messages.
    pub collective_xsize: u32,
    /// The highest number of clients with which collective operations are linear.
    pub collective_max_linear: u32,
    /// The clients in the order of their numbers.
    pub clients: Vec<WorldClient>,
}

/// A client of a world.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct WorldClient {
    /// Its hosts, in the order of their ranks.
    pub hosts: Vec<HostOffer>,
    /// How it represents data, if it says so.
    pub representation: Option<Representation>,
}

/// Where a process of a world is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct WorldProcess {
    /// The number of its client.
    pub client: u32,
    /// The number of its host in the world.
    pub host: u32,
    /// Its name on the wire.
    pub id: ProcessId,
}

/// What is wrong with what a client says.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct Objection {
    pub client: u32,
    /// A sentence that names the client and the value.
    pub why: String,
}

impl WorldClient {
    /// The number of its processes.
    pub fn process_count(&self) -> usize {
        self.hosts.iter().map(|host| host.processes.len()).sum()
    }
}

impl World {
    /// The number of processes: the size of the world.
    pub fn process_count(&self) -> usize {
        self.clients.iter().map(WorldClient::process_count).sum()
    }

    /// The number of hosts of all clients.
    pub fn host_count(&self) -> usize {
        self.clients.iter().map(|client| client.hosts.len()).sum()
    }

    /// All hosts with the number of their client, in the order of their numbers.
    pub fn hosts(&self) -> impl Iterator<Item = (u32, &HostOffer)> {
        let clients = (0..).zip(&self.clients);
        clients.flat_map(|(number, client)| client.hosts.iter().map(move |host| (number, host)))
    }

    /// All processes in the order of their ranks.
    pub fn processes(&self) -> impl Iterator<Item = WorldProcess> {
        (0..).zip(self.hosts()).flat_map(|(host, (client, offer))| {
            offer.processes.iter().map(move |id| WorldProcess { client, host, id: *id })
        })
    }

    /// The process with this rank. It takes time in proportion to the rank: for all, use
    /// [`World::processes`].
    pub fn process(&self, rank: usize) -> Option<WorldProcess> {
        self.processes().nth(rank)
    }

    /// The ranks of a client; empty if there is no such client.
    pub fn ranks_of(&self, client: u32) -> Range<usize> {
        self.range_of(client, WorldClient::process_count)
    }

    /// The numbers of the hosts of a client; empty if there is no such client.
    pub fn hosts_of(&self, client: u32) -> Range<usize> {
        self.range_of(client, |client| client.hosts.len())
    }

    fn range_of(&self, client: u32, count: impl Fn(&WorldClient) -> usize) -> Range<usize> {
        let index = (client as usize).min(self.clients.len());
        let start = self.clients[..index].iter().map(&count).sum();
        start..start + self.clients.get(index).map_or(0, count)
    }

    /// The world as bytes, for processes of a client.
    pub fn emit(&self) -> Vec<u8> {
        let mut out = [&MAGIC[..], &self.id].concat();
        let words = [self.data_len, self.tag_ub, self.collective_xsize, self.collective_max_linear];
        words.into_iter().for_each(|word| push_word(&mut out, word));
        push_word(&mut out, self.clients.len() as u32);
        for WorldClient { hosts, representation } in &self.clients {
            push_word(&mut out, representation.map_or(0, Representation::word));
            push_word(&mut out, hosts.len() as u32);
            for host in hosts {
                out.extend_from_slice(&host.address);
                let count = host.processes.len() as u32;
                let words = [host.port, host.ack_mark, host.high_water, count];
                words.into_iter().for_each(|word| push_word(&mut out, word));
                for ProcessId { address, pid } in &host.processes {
                    out.extend_from_slice(address);
                    out.extend_from_slice(&pid.to_be_bytes());
                }
            }
        }
        out
    }

    /// Reads the bytes of [`World::emit`].
    ///
    /// # Errors
    /// A sentence: they are no world, or one with impossible values.
    pub fn parse(bytes: &[u8]) -> Result<Self, String> {
        let world = WorldReader(bytes).world();
        let world =
            world.ok_or_else(|| format!("{} bytes that are no world of IMPI", bytes.len()))?;
        world.validate().map_err(|objection| objection.why)?;
        Ok(world)
    }

    /// Checks all values.
    pub(super) fn validate(&self) -> Result<(), Objection> {
        let count = self.clients.len();
        if !(1..=CLIENTS_MAX as usize).contains(&count) {
            let why = format!("there are {count} clients; expected 1 to {CLIENTS_MAX}");
            return Err(Objection { client: 0, why });
        }
        check_data_len(self.data_len)
            .and_then(|()| check_tag_bound(self.tag_ub))
            .map_err(|why| Objection { client: 0, why })?;
        for (number, client) in (0..).zip(&self.clients) {
            client.validate().map_err(|why| Objection::of(number, &why))?;
        }
        self.check_process_ids()
    }

    /// Two processes with one name would receive each other's messages.
    fn check_process_ids(&self) -> Result<(), Objection> {
        let mut owners = HashMap::with_capacity(self.process_count());
        for WorldProcess { client, id, .. } in self.processes() {
            match owners.entry(id) {
                Entry::Vacant(entry) => drop(entry.insert(client)),
                Entry::Occupied(entry) => {
                    let address =
                        ip_address(id.address).map_or("0".to_owned(), |it| it.to_string());
                    let (pid, other) = (id.pid, *entry.get());
                    let which = match other == client {
                        true => format!("client {client} has two processes"),
                        false => format!("clients {other} and {client} both have a process"),
                    };
                    let why = format!("{which} with P_IPV6 {address} and P_PID {pid}");
                    return Err(Objection { client, why });
                }
            }
        }
        Ok(())
    }
}

impl WorldClient {
    fn validate(&self) -> Result<(), String> {
        check_host_count(self.hosts.len() as u32)?;
        check_process_count(self.process_count() as u32)?;
        for host in &self.hosts {
            check_host_address(host.address)?;
            check_port(host.port)?;
            check_host_processes(host.processes.len() as u32)?;
            check_marks(host.ack_mark, host.high_water)?;
        }
        Ok(())
    }
}

impl Objection {
    /// `why` begins with the value.
    pub(super) fn of(client: u32, why: &str) -> Self {
        Self { client, why: format!("client {client}: {why}") }
    }
}

/// A number in a range.
fn check(name: &str, value: u32, range: std::ops::RangeInclusive<u32>) -> Result<(), String> {
    match range.contains(&value) {
        true => Ok(()),
        false => {
            let (low, high) = range.into_inner();
            Err(format!("{name} is {value}; expected {low} to {high}"))
        }
    }
}

pub(super) fn check_host_count(value: u32) -> Result<(), String> {
    check("C_NHOSTS", value, 1..=PROCESSES_MAX)
}

pub(super) fn check_process_count(value: u32) -> Result<(), String> {
    check("C_NPROCS", value, 1..=PROCESSES_MAX)
}

pub(super) fn check_data_len(value: u32) -> Result<(), String> {
    check("C_DATALEN", value, 1..=WORD_MAX)
}

pub(super) fn check_tag_bound(value: u32) -> Result<(), String> {
    check("C_TAGUB", value, TAG_BOUND_MIN..=WORD_MAX)
}

pub(super) fn check_port(value: u32) -> Result<(), String> {
    check("H_PORT", value, 1..=u32::from(u16::MAX))
}

pub(super) fn check_host_processes(value: u32) -> Result<(), String> {
    check("H_NPROCS", value, 1..=PROCESSES_MAX)
}

pub(super) fn check_ack_mark(value: u32) -> Result<(), String> {
    check("H_ACKMARK", value, 1..=WORD_MAX)
}

pub(super) fn check_marks(ack_mark: u32, high_water: u32) -> Result<(), String> {
    check_ack_mark(ack_mark)?;
    match (ack_mark..=WORD_MAX).contains(&high_water) {
        true => Ok(()),
        false => Err(format!(
            "H_HIWATER is {high_water}; expected H_ACKMARK, which is {ack_mark}, to {WORD_MAX}"
        )),
    }
}

pub(super) fn check_host_address(value: [u8; 16]) -> Result<(), String> {
    match ip_address(value) {
        Some(_) => Ok(()),
        None => Err("H_IPV6 is 0; expected an address".to_owned()),
    }
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

/// The rest of the bytes of a world.
struct WorldReader<'a>(&'a [u8]);

impl WorldReader<'_> {
    fn world(mut self) -> Option<World> {
        (self.bytes()? == MAGIC).then_some(())?;
        let id = self.bytes()?;
        let mut word = || self.word();
        let (data_len, tag_ub) = (word()?, word()?);
        let (collective_xsize, collective_max_linear) = (word()?, word()?);
        let count = word()?;
        // Each client takes bytes, so a count without them ends at once.
        let clients: Option<_> = (0..count).map(|_| self.client()).collect();
        let clients = clients.filter(|_| self.0.is_empty())?;
        Some(World { id, data_len, tag_ub, collective_xsize, collective_max_linear, clients })
    }

    fn client(&mut self) -> Option<WorldClient> {
        let representation = match self.word()? {
            0 => None,
            word => Some(Representation::from_word(word)?),
        };
        let count = self.word()?;
        let hosts: Option<_> = (0..count).map(|_| self.host()).collect();
        Some(WorldClient { hosts: hosts?, representation })
    }

    fn host(&mut self) -> Option<HostOffer> {
        let address = self.bytes()?;
        let (port, ack_mark, high_water) = (self.word()?, self.word()?, self.word()?);
        let count = self.word()?;
        let process = |_| {
            let (address, pid) = (self.bytes()?, i64::from_be_bytes(self.bytes()?));
            Some(ProcessId { address, pid })
        };
        let processes: Option<_> = (0..count).map(process).collect();
        Some(HostOffer { address, port, ack_mark, high_water, processes: processes? })
    }

    fn word(&mut self) -> Option<u32> {
        let (word, rest) = split_word(self.0)?;
        self.0 = rest;
        Some(word)
    }

    fn bytes<const N: usize>(&mut self) -> Option<[u8; N]> {
        let (bytes, rest) = self.0.split_first_chunk()?;
        self.0 = rest;
        Some(*bytes)
    }
}

#[cfg(test)]
pub(super) mod tests {
    use super::*;
    use crate::network::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// A host at 10.0.0.`last` with processes of these ids.
    pub(in crate::impi) fn host(last: u8, pids: &[i64]) -> HostOffer {
        let address = host_address(IpAddr::from([10, 0, 0, last]));
        let processes = pids.iter().map(|pid| ProcessId { address, pid: *pid }).collect();
        let port = 40_000 + u32::from(last);
        HostOffer { address, port, ack_mark: 10, high_water: 20, processes }
    }

    /// A client with these hosts.
    pub(in crate::impi) fn offer(hosts: &[HostOffer]) -> ClientOffer {
        ClientOffer {
            hosts: hosts.to_vec(),
            data_len: 65536,
            tag_ub: i32::MAX as u32,
            collective_xsize: -1,
            collective_max_linear: -1,
            representation: Some(Representation::NATIVE),
            settings: AgreedSettings::default(),
        }
    }

    /// Clients of 1, 3 and 2 processes on 1, 2 and 2 hosts.
    pub(in crate::impi) fn offers() -> [ClientOffer; 3] {
        [
            offer(&[host(1, &[11])]),
            offer(&[host(2, &[21, 22]), host(3, &[31])]),
            offer(&[host(4, &[41]), host(5, &[51])]),
        ]
    }

    pub(in crate::impi) fn world() -> World {
        let representation = Some(Representation::NATIVE);
        let clients =
            offers().map(|offer| WorldClient { hosts: offer.hosts, representation }).to_vec();
        World {
            id: [7; 16],
            data_len: 65536,
            tag_ub: i32::MAX as u32,
            collective_xsize: 1024,
            collective_max_linear: 4,
            clients,
        }
    }

    #[test]
    fn ranks_and_hosts_are_in_the_order_of_clients() {
        let world = world();
        assert_eq!((world.process_count(), world.host_count()), (6, 5));
        let places: Vec<_> = world.processes().map(|it| (it.client, it.host, it.id.pid)).collect();
        let expected = [(0, 0, 11), (1, 1, 21), (1, 1, 22), (1, 2, 31), (2, 3, 41), (2, 4, 51)];
        assert_eq!(places, expected);
        assert_eq!(world.process(3), world.processes().nth(3));
        assert_eq!(world.process(6), None);
        assert_eq!([0, 1, 2, 3].map(|client| world.ranks_of(client)), [0..1, 1..4, 4..6, 6..6]);
        assert_eq!([0, 1, 2, 3].map(|client| world.hosts_of(client)), [0..1, 1..3, 3..5, 5..5]);
    }

    #[test]
    fn a_world_crosses_as_bytes() {
        let world = world();
        let bytes = world.emit();
        assert_eq!(World::parse(&bytes), Ok(world));
        for len in 0..bytes.len() {
            assert!(World::parse(&bytes[..len]).is_err(), "{len}");
        }
        let longer = [&bytes[..], &[0]].concat();
        assert!(World::parse(&longer).unwrap_err().contains("no world of IMPI"));
    }

    /// The world after a change, and what is said of it.
    fn objection(change: impl Fn(&mut World)) -> String {
        let mut world = world();
        change(&mut world);
        let why = world.validate().unwrap_err().why;
        assert_eq!(World::parse(&world.emit()), Err(why.clone()));
        why
    }

    #[test]
    fn impossible_values_are_named_with_their_client() {
        let host = |change: fn(&mut HostOffer)| objection(|it| change(&mut it.clients[1].hosts[1]));
        let top = i32::MAX;
        assert_eq!(
            host(|it| it.ack_mark = 0),
            format!("client 1: H_ACKMARK is 0; expected 1 to {top}")
        );
        assert_eq!(
            host(|it| it.high_water = 9),
            format!("client 1: H_HIWATER is 9; expected H_ACKMARK, which is 10, to {top}")
        );
        assert_eq!(host(|it| it.port = 0), "client 1: H_PORT is 0; expected 1 to 65535");
        assert_eq!(host(|it| it.port = 70_000), "client 1: H_PORT is 70000; expected 1 to 65535");
        assert_eq!(host(|it| it.address = [0; 16]), "client 1: H_IPV6 is 0; expected an address");
        let why = host(|it| it.processes.clear());
        assert_eq!(why, "client 1: H_NPROCS is 0; expected 1 to 65536");
        let why = objection(|it| it.clients[2].hosts.clear());
        assert_eq!(why, "client 2: C_NHOSTS is 0; expected 1 to 65536");
        assert_eq!(objection(|it| it.clients.clear()), "there are 0 clients; expected 1 to 32");
        let why = objection(|it| it.tag_ub = 5);
        assert_eq!(why, format!("C_TAGUB is 5; expected 32767 to {top}"));
    }

    #[test]
    fn processes_with_one_name_are_named_with_both_clients() {
        let why = objection(|it| {
            let id = it.clients[0].hosts[0].processes[0];
            it.clients[2].hosts[1].processes[0] = id;
        });
        let expected = "clients 0 and 2 both have a process with P_IPV6 10.0.0.1 and P_PID 11";
        assert_eq!(why, expected);
        let why = objection(|it| it.clients[1].hosts[0].processes[1].pid = 21);
        assert_eq!(why, "client 1 has two processes with P_IPV6 10.0.0.2 and P_PID 21");
    }

    #[test]
    fn addresses_of_both_kinds_cross() {
        for text in ["10.0.0.1", "127.0.0.1", "::1", "fd00::1", "2001:db8::5"] {
            let address: IpAddr = text.parse().unwrap();
            assert_eq!(ip_address(host_address(address)), Some(address), "{text}");
        }
        let four = host_address("10.1.2.3".parse().unwrap());
        assert_eq!(four, [0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 10, 1, 2, 3]);
        assert_eq!(host_address("::ffff:10.1.2.3".parse().unwrap()), four);
        assert_eq!(ip_address([0; 16]), None);
    }

    #[test]
    fn changed_bytes_are_a_world_or_an_error() {
        let bytes = world().emit();
        let changes = vec((0..bytes.len(), any::<u8>()), 1..4);
        fuzz::for_each((changes, 0..=bytes.len()), |(changes, len)| {
            let mut bytes = bytes.clone();
            changes.into_iter().for_each(|(at, byte)| bytes[at] = byte);
            bytes.truncate(len);
            if let Ok(world) = World::parse(&bytes) {
                prop_assert_eq!(world.emit(), bytes);
            }
            Ok(())
        });
        fuzz::for_each(vec(any::<u8>(), 0..200), |bytes| {
            prop_assert!(World::parse(&[&MAGIC[..], &bytes].concat()).is_err());
            Ok(())
        });
    }
}
