//! What all clients have said with the COLL commands of a start-up, checked label by label.
//!
//! ```text
//!   C_VERSION   versions, ascending; 0.0 is one of them    H_IPV6      16 bytes per host
//!   C_NHOSTS    hosts                                      H_PORT      port
//!   C_NPROCS    processes, the sum of all H_NPROCS         H_NPROCS    processes
//!   C_DATALEN   the lowest holds                           H_ACKMARK   1 <= H_ACKMARK
//!   C_TAGUB     the lowest holds                           H_HIWATER   H_ACKMARK <= H_HIWATER
//!   C_COLL_XSIZE, C_COLL_MAXLINEAR                         P_IPV6      16 bytes per process
//!               equal for all; -1: the default             P_PID       8 bytes per process
//! ```
//!
//! The server checks what each client sends; a client checks what the server sends, which it trusts no
//! more. It knows no connections and no commands.

use std::ops::RangeInclusive;

use super::agreed_settings::AgreedSettings;
use super::commands::{Label, push_word, split_word};
use super::packet::ProcessId;
use super::world::{
    ClientOffer, HostOffer, Objection, World, WorldClient, check_ack_mark, check_data_len,
    check_host_address, check_host_count, check_host_processes, check_marks, check_port,
    check_process_count, check_tag_bound,
};
use crate::base::Representation;

/// The major number of a version that only clients of Suiro have ("SUIR"): the minor number is how they
/// represent data. Two clients with an equal one have data that is alike.
const REPRESENTATION: u32 = 0x5355_4952;

/// Versions that a client may offer.
const VERSIONS_MAX: usize = 64;
const VERSION_BYTES: usize = 8;

/// The defaults of the protocol.
const XSIZE: u32 = 1024;
const MAX_LINEAR: u32 = 4;

/// What the clients have said so far.
#[derive(Debug)]
pub(super) struct WorldAgreement {
    clients: Vec<ClientValues>,
    /// The position of the next label.
    next: usize,
}

/// What a client has said so far.
#[derive(Debug, Default)]
struct ClientValues {
    host_count: usize,
    process_count: usize,
    data_len: u32,
    tag_ub: u32,
    xsize: u32,
    max_linear: u32,
    hosts: Vec<HostOffer>,
    representation: Option<Representation>,
    settings: AgreedSettings,
}

impl WorldAgreement {
    /// Nothing has been said by this number of clients.
    pub(super) fn new(clients: usize) -> Self {
        let clients = (0..clients).map(|_| ClientValues::default()).collect();
        Self { clients, next: 0 }
    }

    pub(super) fn client_count(&self) -> usize {
        self.clients.len()
    }

    /// What the clients say next; `None` when they have said all.
    pub(super) fn label(&self) -> Option<Label> {
        Label::ALL.get(self.next).copied()
    }

    /// The possible lengths of a client's next value, in bytes.
    pub(super) fn lengths(&self, client: usize) -> RangeInclusive<usize> {
        let values = &self.clients[client];
        let all = |count: usize, bytes: usize| count * bytes..=count * bytes;
        match self.label() {
            None => 0..=0,
            Some(Label::Version) => VERSION_BYTES..=VERSIONS_MAX * VERSION_BYTES,
            Some(label) => match label.scope() {
                ValueScope::Client => all(1, label.bytes()),
                ValueScope::Host => all(values.host_count, label.bytes()),
                ValueScope::Process => all(values.process_count, label.bytes()),
            },
        }
    }

    /// Checks a client's next value by itself.
    ///
    /// # Errors
    /// What is wrong, beginning with the name of the value.
    pub(super) fn check(&self, client: usize, value: &[u8]) -> Result<(), String> {
        let Some(label) = self.label() else { return Ok(()) };
        let (lengths, len) = (self.lengths(client), value.len());
        if !lengths.contains(&len) {
            let (least, most) = lengths.into_inner();
            let wanted = match least == most {
                true => most.to_string(),
                false => format!("{least} to {most}"),
            };
            return Err(format!("{} has {len} bytes; expected {wanted}", label.name()));
        }
        self.clients[client].check(label, value)
    }

    /// Takes the next values of all clients.
    ///
    /// # Errors
    /// A value is impossible, or does not fit those of other clients.
    pub(super) fn take(&mut self, values: &[Vec<u8>]) -> Result<(), Objection> {
        let Some(label) = self.label() else { return Ok(()) };
        for (client, value) in values.iter().enumerate() {
            let checked = self.check(client, value);
            checked.map_err(|why| Objection::of(client as u32, &why))?;
        }
        for (client, value) in self.clients.iter_mut().zip(values) {
            client.store(label, value);
        }
        match label {
            Label::Version => self.check_settings()?,
            Label::CollectiveXsize => self.check_equal(label, |it| it.xsize)?,
            Label::CollectiveMaxLinear => self.check_equal(label, |it| it.max_linear)?,
            _ => {}
        }
        self.next += 1;
        Ok(())
    }

    fn check_equal(
        &self, label: Label, value: impl Fn(&ClientValues) -> u32,
    ) -> Result<(), Objection> {
        let first = value(&self.clients[0]);
        let other = (0..).zip(&self.clients).find(|(_, client)| value(client) != first);
        let Some((client, values)) = other else { return Ok(()) };
        let (name, value) = (label.name(), value(values));
        let why = format!(
            "client {client}: {name} is {value} and that of client 0 is {first}; they must be equal"
        );
        Err(Objection { client, why })
    }

    /// Clients of Suiro must have equal settings of collective operations.
    fn check_settings(&self) -> Result<(), Objection> {
        let mut of_suiro = (0..).zip(&self.clients).filter(|(_, it)| it.representation.is_some());
        let Some((first, values)) = of_suiro.next() else { return Ok(()) };
        let differs = |(client, it): (u32, &ClientValues)| {
            values.settings.difference(&it.settings).map(|name| (client, name))
        };
        let Some((client, name)) = of_suiro.find_map(differs) else { return Ok(()) };
        let why = format!(
            "client {client}: {name} differs from that of client {first}; it must be equal in all jobs"
        );
        Err(Objection { client, why })
    }

    /// Splits the joined next values of all clients.
    ///
    /// # Errors
    /// They have another length than the clients have announced.
    pub(super) fn split(&self, mut joined: &[u8]) -> Result<Vec<Vec<u8>>, String> {
        let Some(label) = self.label() else { return Ok(Vec::new()) };
        let (name, len) = (label.name(), joined.len());
        if label == Label::Version {
            return split_versions(joined, self.clients.len()).ok_or_else(|| {
                format!("C_VERSION has {len} bytes that are no versions of all clients")
            });
        }
        let lengths: Vec<_> = (0..self.clients.len()).map(|it| *self.lengths(it).end()).collect();
        let total: usize = lengths.iter().sum();
        if len != total {
            return Err(format!("{name} has {len} bytes; expected {total}"));
        }
        let split = |len: usize| {
            let (value, rest) = joined.split_at(len);
            joined = rest;
            value.to_vec()
        };
        Ok(lengths.into_iter().map(split).collect())
    }

    /// The possible lengths of the joined next values.
    pub(super) fn joined_lengths(&self) -> RangeInclusive<usize> {
        let lengths = || (0..self.clients.len()).map(|client| self.lengths(client));
        lengths().map(|it| *it.start()).sum()..=lengths().map(|it| *it.end()).sum()
    }

    /// The world, after all labels.
    ///
    /// # Errors
    /// Values do not fit each other.
    pub(super) fn world(self, id: [u8; 16]) -> Result<World, Objection> {
        let lowest = |value: fn(&ClientValues) -> u32| self.clients.iter().map(value).min();
        let first = self.clients.first();
        let client =
            |it: ClientValues| WorldClient { hosts: it.hosts, representation: it.representation };
        let world = World {
            id,
            data_len: lowest(|it| it.data_len).unwrap_or(0),
            tag_ub: lowest(|it| it.tag_ub).unwrap_or(0),
            collective_xsize: first.map_or(0, |it| it.xsize),
            collective_max_linear: first.map_or(0, |it| it.max_linear),
            clients: self.clients.into_iter().map(client).collect(),
        };
        world.validate()?;
        Ok(world)
    }
}

/// What a value belongs to.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum ValueScope {
    Client,
    Host,
    Process,
}

impl Label {
    fn scope(self) -> ValueScope {
        match self.code() >> 12 {
            1 => ValueScope::Client,
            2 => ValueScope::Host,
            _ => ValueScope::Process,
        }
    }

    /// Bytes of a value for one client, host or process.
    fn bytes(self) -> usize {
        match self {
            Self::HostAddress | Self::ProcessAddress => 16,
            Self::Version | Self::ProcessPid => 8,
            Self::HostCount
            | Self::ProcessCount
            | Self::DataLen
            | Self::TagBound
            | Self::CollectiveXsize
            | Self::CollectiveMaxLinear
            | Self::HostPort
            | Self::HostProcesses
            | Self::AckMark
            | Self::HighWater => 4,
        }
    }
}

impl ClientValues {
    /// Checks a value of the right length.
    fn check(&self, label: Label, value: &[u8]) -> Result<(), String> {
        let each = |check: fn(u32) -> Result<(), String>| words(value).try_for_each(check);
        match label {
            Label::Version => check_versions(value),
            Label::HostCount => each(check_host_count),
            Label::ProcessCount => each(check_process_count),
            Label::DataLen => each(check_data_len),
            Label::TagBound => each(check_tag_bound),
            Label::CollectiveXsize | Label::CollectiveMaxLinear => {
                words(value).try_for_each(|word| check_default(label, word))
            }
            Label::HostAddress => {
                value.as_chunks().0.iter().copied().try_for_each(check_host_address)
            }
            Label::HostPort => each(check_port),
            Label::HostProcesses => {
                each(check_host_processes)?;
                self.check_sum(value)
            }
            Label::AckMark => each(check_ack_mark),
            Label::HighWater => {
                let marks = self.hosts.iter().map(|host| host.ack_mark).zip(words(value));
                marks.into_iter().try_for_each(|(ack_mark, word)| check_marks(ack_mark, word))
            }
            Label::ProcessAddress | Label::ProcessPid => Ok(()),
        }
    }

    fn check_sum(&self, value: &[u8]) -> Result<(), String> {
        let (sum, count) = (words(value).map(u64::from).sum::<u64>(), self.process_count);
        match sum == count as u64 {
            true => Ok(()),
            false => {
                Err(format!("the sum of H_NPROCS is {sum}; expected C_NPROCS, which is {count}"))
            }
        }
    }

    /// Stores a value that has been checked.
    fn store(&mut self, label: Label, value: &[u8]) {
        let first = words(value).next().unwrap_or(0);
        match label {
            Label::Version => {
                let found = versions(value).find(|version| version.0 == REPRESENTATION);
                self.representation = found.and_then(|it| Representation::from_word(it.1));
                self.settings = AgreedSettings::from_versions(versions(value));
            }
            Label::HostCount => self.set_host_count(first as usize),
            Label::ProcessCount => self.process_count = first as usize,
            Label::DataLen => self.data_len = first,
            Label::TagBound => self.tag_ub = first,
            Label::CollectiveXsize => self.xsize = or_default(first, XSIZE),
            Label::CollectiveMaxLinear => self.max_linear = or_default(first, MAX_LINEAR),
            Label::HostAddress => {
                let addresses = value.as_chunks().0;
                self.hosts.iter_mut().zip(addresses).for_each(|(host, it)| host.address = *it);
            }
            Label::HostPort => self.store_words(value, |host, word| host.port = word),
            Label::HostProcesses => self.store_words(value, |host, word| {
                host.processes = vec![ProcessId { address: [0; 16], pid: 0 }; word as usize];
            }),
            Label::AckMark => self.store_words(value, |host, word| host.ack_mark = word),
            Label::HighWater => self.store_words(value, |host, word| host.high_water = word),
            Label::ProcessAddress => {
                let addresses = value.as_chunks().0;
                self.processes().zip(addresses).for_each(|(process, it)| process.address = *it);
            }
            Label::ProcessPid => {
                let pids = value.as_chunks().0.iter().map(|bytes| i64::from_be_bytes(*bytes));
                self.processes().zip(pids).for_each(|(process, pid)| process.pid = pid);
            }
        }
    }

    fn set_host_count(&mut self, count: usize) {
        let (address, processes) = ([0; 16], Vec::new());
        let host = HostOffer { address, port: 0, ack_mark: 0, high_water: 0, processes };
        (self.host_count, self.hosts) = (count, vec![host; count]);
    }

    fn store_words(&mut self, value: &[u8], store: impl Fn(&mut HostOffer, u32)) {
        self.hosts.iter_mut().zip(words(value)).for_each(|(host, word)| store(host, word));
    }

    fn processes(&mut self) -> impl Iterator<Item = &mut ProcessId> {
        self.hosts.iter_mut().flat_map(|host| &mut host.processes)
    }
}

/// The value of a client for a label.
pub(super) fn value(offer: &ClientOffer, label: Label) -> Vec<u8> {
    let ClientOffer { hosts, data_len, tag_ub, collective_xsize, collective_max_linear, .. } =
        offer;
    let processes = || hosts.iter().flat_map(|host| &host.processes);
    let each =
        |word: fn(&HostOffer) -> u32| hosts.iter().flat_map(|it| word(it).to_be_bytes()).collect();
    match label {
        Label::Version => {
            // The first is version 0.0.
            let mut all = vec![(0, 0)];
            if let Some(representation) = offer.representation {
                all.extend(offer.settings.versions());
                all.push((REPRESENTATION, representation.word()));
            }
            let words = all.into_iter().flat_map(|(major, minor)| [major, minor]);
            words.flat_map(u32::to_be_bytes).collect()
        }
        Label::HostCount => word(hosts.len() as u32),
        Label::ProcessCount => word(processes().count() as u32),
        Label::DataLen => word(*data_len),
        Label::TagBound => word(*tag_ub),
        Label::CollectiveXsize => word(collective_xsize.cast_unsigned()),
        Label::CollectiveMaxLinear => word(collective_max_linear.cast_unsigned()),
        Label::HostAddress => hosts.iter().flat_map(|host| host.address).collect(),
        Label::HostPort => each(|host| host.port),
        Label::HostProcesses => each(|host| host.processes.len() as u32),
        Label::AckMark => each(|host| host.ack_mark),
        Label::HighWater => each(|host| host.high_water),
        Label::ProcessAddress => processes().flat_map(|process| process.address).collect(),
        Label::ProcessPid => processes().flat_map(|process| process.pid.to_be_bytes()).collect(),
    }
}

fn word(value: u32) -> Vec<u8> {
    let mut bytes = Vec::new();
    push_word(&mut bytes, value);
    bytes
}

fn words(mut bytes: &[u8]) -> impl Iterator<Item = u32> {
    std::iter::from_fn(move || {
        let (word, rest) = split_word(bytes)?;
        bytes = rest;
        Some(word)
    })
}

fn versions(bytes: &[u8]) -> impl Iterator<Item = (u32, u32)> {
    let (pairs, _) = bytes.as_chunks::<VERSION_BYTES>();
    pairs.iter().map(|pair| {
        let pair = u64::from_be_bytes(*pair);
        ((pair >> 32) as u32, pair as u32)
    })
}

/// Ascending pairs; all clients have the first, 0.0.
fn check_versions(value: &[u8]) -> Result<(), String> {
    let is_ascending = versions(value).is_sorted_by(|one, other| one < other);
    if !value.len().is_multiple_of(VERSION_BYTES) || !is_ascending {
        return Err(format!("C_VERSION is {}; expected ascending versions", version_text(value)));
    }
    match versions(value).next() {
        Some((0, 0)) => Ok(()),
        _ => Err(format!("C_VERSION is {}; expected 0.0 and others", version_text(value))),
    }
}

fn version_text(value: &[u8]) -> String {
    let texts = versions(value).take(8).map(|(major, minor)| format!("{major}.{minor}"));
    texts.collect::<Vec<_>>().join(", ")
}

/// Each client's versions begin with 0.0.
fn split_versions(joined: &[u8], clients: usize) -> Option<Vec<Vec<u8>>> {
    let (pairs, rest) = joined.as_chunks::<VERSION_BYTES>();
    let mut values: Vec<Vec<u8>> = Vec::new();
    for pair in pairs {
        match (pair, values.last_mut()) {
            ([0, 0, 0, 0, 0, 0, 0, 0], _) => values.push(pair.to_vec()),
            (_, Some(value)) => value.extend_from_slice(pair),
            (_, None) => return None,
        }
    }
    (rest.is_empty() && values.len() == clients).then_some(values)
}

/// -1 is the default.
fn check_default(label: Label, word: u32) -> Result<(), String> {
    let value = word.cast_signed();
    match value >= -1 {
        true => Ok(()),
        false => Err(format!("{} is {value}; expected -1 or more", label.name())),
    }
}

fn or_default(word: u32, default: u32) -> u32 {
    if word == u32::MAX { default } else { word }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::impi::world::tests::{offers, world};
    use crate::network::fuzz;
    use proptest::collection::vec;
    use proptest::prelude::*;

    /// All labels of these clients; `change` may change the values of a label.
    fn agreed(
        offers: &[ClientOffer], change: impl Fn(Label, &mut Vec<Vec<u8>>),
    ) -> Result<World, Objection> {
        let mut agreement = WorldAgreement::new(offers.len());
        while let Some(label) = agreement.label() {
            let mut values: Vec<_> = offers.iter().map(|offer| value(offer, label)).collect();
            change(label, &mut values);
            agreement.take(&values)?;
        }
        agreement.world([7; 16])
    }

    #[test]
    fn offers_become_a_world() {
        assert_eq!(agreed(&offers(), |_, _| {}), Ok(world()));
        let mut offers = offers();
        (offers[1].data_len, offers[2].tag_ub) = (1000, 32767);
        // The default, said in two ways.
        offers[1].collective_xsize = 1024;
        let world = agreed(&offers, |_, _| {}).unwrap();
        assert_eq!((world.data_len, world.tag_ub), (1000, 32767));
        assert_eq!((world.collective_xsize, world.collective_max_linear), (1024, 4));
    }

    #[test]
    fn a_setting_that_differs_is_named_with_both_clients() {
        let mut offers = offers();
        let chain = || AgreedSettings::from_lines("SUIRO_COLL_BCAST=chain\n");
        offers[1].settings = chain();
        let expected = "client 1: SUIRO_COLL_BCAST differs from that of client 0; it must be equal in all \
                        jobs";
        assert_eq!(agreed(&offers, |_, _| {}).unwrap_err().why, expected);
        offers[0].settings = chain();
        let objection = agreed(&offers, |_, _| {}).unwrap_err();
        assert_eq!(objection.client, 2);
        // Other implementations have no settings of ours.
        offers[2].representation = None;
        assert!(agreed(&offers, |_, _| {}).is_ok());
        offers[2] = ClientOffer { representation: offers[0].representation, ..offers[2].clone() };
        offers[2].settings = chain();
        assert!(agreed(&offers, |_, _| {}).is_ok());
    }

    #[test]
    fn joined_values_are_split_by_what_the_clients_have_announced() {
        let offers = offers();
        let mut agreement = WorldAgreement::new(offers.len());
        while let Some(label) = agreement.label() {
            let values: Vec<_> = offers.iter().map(|offer| value(offer, label)).collect();
            let joined = values.concat();
            assert!(agreement.joined_lengths().contains(&joined.len()));
            assert_eq!(agreement.split(&joined), Ok(values.clone()));
            let longer = [&joined[..], &[0; 4]].concat();
            assert!(agreement.split(&longer).unwrap_err().starts_with(label.name()));
            agreement.take(&values).unwrap();
        }
    }

    #[test]
    fn versions_of_several_clients_are_told_apart() {
        let pair = |major: u32, minor: u32| [major.to_be_bytes(), minor.to_be_bytes()].concat();
        let one = [pair(0, 0), pair(0, 1), pair(2, 0)].concat();
        let two = pair(0, 0);
        assert_eq!(split_versions(&[&one[..], &two].concat(), 2), Some(vec![one.clone(), two]));
        assert_eq!(split_versions(&one, 2), None);
        assert_eq!(split_versions(&pair(0, 1), 1), None);
        assert_eq!(check_versions(&one), Ok(()));
        let why = |value: Vec<u8>| check_versions(&value).unwrap_err();
        assert_eq!(why(pair(0, 1)), "C_VERSION is 0.1; expected 0.0 and others");
        let why = why([pair(0, 0), pair(2, 0), pair(1, 0)].concat());
        assert_eq!(why, "C_VERSION is 0.0, 2.0, 1.0; expected ascending versions");
    }

    /// What is said when client 1 says this.
    fn objection(changed: Label, value: &[u32]) -> String {
        let bytes: Vec<u8> = value.iter().flat_map(|word| word.to_be_bytes()).collect();
        let result = agreed(&offers(), |label, values| {
            if label == changed {
                values[1] = bytes.clone();
            }
        });
        let objection = result.unwrap_err();
        assert_eq!(objection.client, 1);
        objection.why
    }

    #[test]
    fn impossible_values_are_named_with_their_client() {
        let top = i32::MAX;
        for (label, value, expected) in [
            (Label::Version, &[1, 0][..], "C_VERSION is 1.0; expected 0.0 and others".to_owned()),
            (Label::Version, &[0], "C_VERSION has 4 bytes; expected 8 to 512".to_owned()),
            (Label::HostCount, &[0], "C_NHOSTS is 0; expected 1 to 65536".to_owned()),
            (
                Label::HostCount,
                &[1 << 31],
                "C_NHOSTS is 2147483648; expected 1 to 65536".to_owned(),
            ),
            (Label::ProcessCount, &[0], "C_NPROCS is 0; expected 1 to 65536".to_owned()),
            (Label::DataLen, &[0], format!("C_DATALEN is 0; expected 1 to {top}")),
            (Label::DataLen, &[1, 2], "C_DATALEN has 8 bytes; expected 4".to_owned()),
            (Label::TagBound, &[32766], format!("C_TAGUB is 32766; expected 32767 to {top}")),
            (
                Label::CollectiveXsize,
                &[512],
                "C_COLL_XSIZE is 512 and that of client 0 is 1024; they must be equal".to_owned(),
            ),
            (
                Label::CollectiveMaxLinear,
                &[0xffff_fffe],
                "C_COLL_MAXLINEAR is -2; expected -1 or more".to_owned(),
            ),
            (Label::HostAddress, &[1], "H_IPV6 has 4 bytes; expected 32".to_owned()),
            (Label::HostPort, &[1, 65536], "H_PORT is 65536; expected 1 to 65535".to_owned()),
            (
                Label::HostProcesses,
                &[2, 2],
                "the sum of H_NPROCS is 4; expected C_NPROCS, which is 3".to_owned(),
            ),
            (
                Label::HostProcesses,
                &[u32::MAX, 4],
                format!("H_NPROCS is {}; expected 1 to 65536", u32::MAX),
            ),
            (Label::AckMark, &[1, 0], format!("H_ACKMARK is 0; expected 1 to {top}")),
            (
                Label::HighWater,
                &[10, 9],
                format!("H_HIWATER is 9; expected H_ACKMARK, which is 10, to {top}"),
            ),
            (Label::ProcessAddress, &[0; 8], "P_IPV6 has 32 bytes; expected 48".to_owned()),
            (Label::ProcessPid, &[0; 8], "P_PID has 32 bytes; expected 24".to_owned()),
        ] {
            assert_eq!(objection(label, value), format!("client 1: {expected}"));
        }
    }

    #[test]
    fn a_process_id_of_another_client_is_named_with_both() {
        let mut offers = offers();
        offers[2].hosts[0].processes[0] = offers[1].hosts[0].processes[1];
        let objection = agreed(&offers, |_, _| {}).unwrap_err();
        let expected = "clients 1 and 2 both have a process with P_IPV6 10.0.0.2 and P_PID 22";
        assert_eq!((objection.client, &*objection.why), (2, expected));
    }

    #[test]
    fn random_values_are_agreed_on_or_objected_to() {
        let random = (0..14_usize, 0..3_usize, vec(any::<u8>(), 0..40), any::<bool>());
        fuzz::for_each(random, |(at, client, bytes, keeps_length)| {
            let result = agreed(&offers(), |label, values| {
                if label == Label::ALL[at] {
                    let value = &mut values[client];
                    match keeps_length {
                        true => value.iter_mut().zip(&bytes).for_each(|(old, new)| *old = *new),
                        false => *value = bytes.clone(),
                    }
                }
            });
            if let Ok(world) = result {
                prop_assert_eq!(world.validate(), Ok(()));
            }
            Ok(())
        });
    }
}
