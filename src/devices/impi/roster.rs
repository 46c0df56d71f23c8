//! The hosts and processes of a world, by number.
//!
//! Hosts are numbered over the clients in order, processes over the hosts in order; so are the ranks in
//! the world of all clients.

use std::collections::HashMap;
use std::net::{IpAddr, SocketAddr};
use std::ops::Range;

use super::flow::FlowLimits;
use platform::impi::{ProcessId, World, ip_address};

/// What is known of all processes.
pub(crate) struct Roster {
    pub(crate) hosts: Vec<RosterHost>,
    /// The id and the host of each process.
    processes: Vec<(ProcessId, u32)>,
    ranks: HashMap<ProcessId, u32>,
    /// The longest data of a packet, in bytes.
    pub(crate) data_len: u32,
}

/// An IMPI host.
#[derive(Clone, Debug)]
pub(crate) struct RosterHost {
    pub(crate) client: u32,
    address: Option<IpAddr>,
    port: u32,
    pub(crate) limits: FlowLimits,
    /// The ranks of its processes.
    pub(crate) processes: Range<u32>,
}

impl Roster {
    /// The processes of a world that has been checked.
    pub(crate) fn new(world: &World) -> Self {
        let mut roster = Self {
            hosts: Vec::new(),
            processes: Vec::new(),
            ranks: HashMap::new(),
            data_len: world.data_len,
        };
        for (client, hosts) in (0..).zip(world.clients.iter().map(|client| &client.hosts)) {
            for offer in hosts {
                let number = roster.hosts.len() as u32;
                let first = roster.processes.len() as u32;
                for (rank, process) in (first..).zip(&offer.processes) {
                    roster.processes.push((*process, number));
                    roster.ranks.insert(*process, rank);
                }
                roster.hosts.push(RosterHost {
                    client,
                    address: ip_address(offer.address),
                    port: offer.port,
                    limits: FlowLimits { ack_mark: offer.ack_mark, high_water: offer.high_water },
                    processes: first..roster.processes.len() as u32,
                });
            }
        }
        roster
    }

    pub(crate) fn process_count(&self) -> u32 {
        self.processes.len() as u32
    }

    pub(crate) fn id(&self, process: u32) -> ProcessId {
        self.processes[process as usize].0
    }

    pub(crate) fn host_of(&self, process: u32) -> u32 {
        self.processes[process as usize].1
    }

    pub(crate) fn limits_of(&self, process: u32) -> FlowLimits {
        self.hosts[self.host_of(process) as usize].limits
    }

    /// The process with this id.
    #[inline]
    pub(crate) fn rank(&self, id: &ProcessId) -> Option<u32> {
        self.ranks.get(id).copied()
    }

    /// The numbers of the hosts of all clients but this one.
    pub(crate) fn hosts_beside(&self, client: u32) -> impl Iterator<Item = u32> {
        (0..).zip(&self.hosts).filter(move |(_, host)| host.client != client).map(|(it, _)| it)
    }

    /// A sentence on what is wrong with a process.
    pub(crate) fn sentence(&self, process: u32, why: &str) -> String {
        let (id, number) = self.processes[process as usize];
        let host = &self.hosts[number as usize];
        format!(
            "process {process} (process id {}) of client {} at host {number} ({}) {why}",
            id.pid,
            host.client,
            host.endpoint()
        )
    }

    /// The name of a host in a sentence.
    pub(crate) fn host_name(&self, number: u32) -> String {
        let host = &self.hosts[number as usize];
        let Range { start, end } = host.processes;
        let processes = match end - start {
            1 => format!("process {start}"),
            _ => format!("processes {start} to {}", end - 1),
        };
        format!("host {number} ({}) of client {}, with {processes}", host.endpoint(), host.client)
    }
}

impl RosterHost {
    /// Where to connect.
    ///
    /// # Errors
    /// The address or the port is none, as part of a sentence.
    pub(crate) fn socket_address(&self) -> Result<SocketAddr, String> {
        let port = u16::try_from(self.port).ok().filter(|port| *port > 0);
        match (self.address, port) {
            (Some(address), Some(port)) => Ok(SocketAddr::new(address, port)),
            (None, _) => Err("has no address".to_owned()),
            (_, None) => Err(format!("has no port: {}", self.port)),
        }
    }

    fn endpoint(&self) -> String {
        match self.address {
            Some(address @ IpAddr::V6(_)) => format!("[{address}]:{}", self.port),
            Some(address) => format!("{address}:{}", self.port),
            None => format!("no address, port {}", self.port),
        }
    }
}
