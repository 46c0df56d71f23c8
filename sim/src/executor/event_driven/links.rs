//! Links between the ports of ranks: a message takes them one after the other, and waits where others are before it.
//!
//! ```text
//!   port of the sender   ├── G · bytes ──┤
//!   link                   └ hop ┐├── bytes of a link ──┤       free or not: the first byte goes on after a hop
//!   link                          └ hop ┐├── bytes of a link ──┤
//!   port of the receiver                 └────── L ──────┐├── G · bytes ──┤
//! ```
//!
//! A link takes messages in the order in which their first bytes come, and whole ones (virtual cut-through). Its queue has
//! no limit, so a message never holds a link while it waits for another one.

use mpi_abi::offload::StepId;

use super::EventMark;
use crate::topology::{RankNodes, Topology};

/// A network of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNetwork {
    /// Nodes and links.
    pub topology: Topology,
    /// The nodes of ranks. Messages inside a node take no link.
    pub placement: RankNodes,
    /// `L` of messages inside a node.
    pub node_latency_ps: u64,
    /// From one link to the next.
    pub hop_ps: u64,
    /// For each byte of a message on a link.
    pub byte_ps: u64,
}

/// What a link has carried.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct LinkUse {
    /// Messages.
    pub messages: u64,
    /// Their bytes.
    pub bytes: u64,
    /// Time with a message on it.
    pub busy_ps: u64,
    /// Time that messages have waited for it, together.
    pub waited_ps: u64,
}

/// A message on its way.
#[derive(Clone, Debug)]
pub(super) struct Flight {
    /// The rank and the step that receive it.
    pub(super) to: usize,
    pub(super) receive: StepId,
    /// When its last byte has left the port of the sender.
    left: EventMark,
    pub(super) bytes: u64,
    /// The links that it has not taken, the next one last.
    route: Vec<u32>,
    /// When its last byte is through the links, at the earliest.
    through_ps: u64,
}

/// Messages on their way, by number.
#[derive(Debug, Default)]
pub(super) struct Flights {
    all: Vec<Flight>,
    /// Numbers of messages that have come.
    free: Vec<u32>,
}

impl Flights {
    pub(super) fn get_mut(&mut self, number: u32) -> &mut Flight {
        &mut self.all[number as usize]
    }

    /// A message has come: its number and the memory of its route serve again.
    pub(super) fn end(&mut self, number: u32) {
        self.free.push(number);
    }
}

/// The links in use.
#[derive(Debug)]
pub(super) struct LinkStates<'a> {
    network: &'a LinkNetwork,
    free_ps: Vec<u64>,
    pub(super) uses: Vec<LinkUse>,
}

impl<'a> LinkStates<'a> {
    pub(super) fn new(network: &'a LinkNetwork) -> Self {
        let count: u32 = network.topology.classes().iter().map(|class| class.links).sum();
        let uses = vec![LinkUse::default(); count as usize];
        Self { network, free_ps: vec![0; count as usize], uses }
    }

    pub(super) fn node_latency_ps(&self) -> u64 {
        self.network.node_latency_ps
    }

    /// A message leaves the port of its sender: its number; `None` if it takes no link. `ends` are the ranks, and the
    /// step that receives it.
    pub(super) fn depart(
        &self, flights: &mut Flights, ends: ((u32, u32), StepId), left: EventMark, bytes: u64,
    ) -> Option<u32> {
        let LinkNetwork { topology, placement, hop_ps, .. } = self.network;
        let ((from, to), receive) = ends;
        let nodes = [from, to].map(|rank| placement.node(rank));
        if nodes[0] == nodes[1] {
            return None;
        }
        let number = flights.free.pop().unwrap_or(flights.all.len() as u32);
        let mut route = match flights.all.get_mut(number as usize) {
            Some(flight) => std::mem::take(&mut flight.route),
            None => Vec::new(),
        };
        topology.route(nodes[0], nodes[1], &mut route);
        route.reverse();
        let through_ps = left.time_ps() + route.len() as u64 * hop_ps;
        let flight = Flight { to: to as usize, receive, left, bytes, route, through_ps };
        match flights.all.get_mut(number as usize) {
            Some(free) => *free = flight,
            None => flights.all.push(flight),
        }
        Some(number)
    }

    /// The first byte of a message reaches its next link at `now_ps`; returns when it reaches the one after it, or the
    /// end of the links.
    pub(super) fn take(&mut self, now_ps: u64, flight: &mut Flight) -> u64 {
        let Some(link) = flight.route.pop() else { return now_ps };
        let LinkNetwork { hop_ps, byte_ps, .. } = *self.network;
        let (free_ps, used) = (&mut self.free_ps[link as usize], &mut self.uses[link as usize]);
        let (start_ps, busy_ps) = (now_ps.max(*free_ps), flight.bytes * byte_ps);
        *free_ps = start_ps + busy_ps;
        used.messages += 1;
        used.bytes += flight.bytes;
        used.busy_ps += busy_ps;
        used.waited_ps += start_ps - now_ps;
        let hops_left = flight.route.len() as u64 + 1;
        flight.through_ps = flight.through_ps.max(*free_ps + hops_left * hop_ps);
        start_ps + hop_ps
    }
}

impl Flight {
    pub(super) fn is_through(&self) -> bool {
        self.route.is_empty()
    }

    /// When the last byte is through the links; not before `least_ps`, as the port of the receiver takes its time.
    pub(super) fn through(&self, least_ps: u64) -> EventMark {
        self.left.after_links(self.through_ps.max(least_ps))
    }
}
