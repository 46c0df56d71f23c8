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

use super::causes::EventMark;
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

/// A message between two ranks.
#[derive(Clone, Copy, Debug)]
pub(super) struct LinkMessage {
    pub(super) from: u32,
    pub(super) to: u32,
    /// What receives it there.
    pub(super) receive: u32,
    pub(super) bytes: u64,
}

/// Links of a route that a flight has at hand: those of a fat tree of three levels.
const HELD: usize = 6;

/// A message on its way. Thousands wait on busy links, so each is in one line of the cache.
#[derive(Debug)]
#[repr(align(64))]
pub(super) struct Flight {
    pub(super) message: LinkMessage,
    /// When its last byte is through the links, at the earliest.
    pub(super) through_ps: u64,
    /// The cause of the time at which its last byte has left the port of the sender.
    pub(super) left: u32,
    /// Links that it has taken, and all.
    taken: u16,
    length: u16,
    /// The next links, each at its number in the route modulo [`HELD`].
    links: [u32; HELD],
}

const _: () = assert!(size_of::<Flight>() == 64);

impl Flight {
    pub(super) fn is_through(&self) -> bool {
        self.taken == self.length
    }

    /// Holds the next links of its route.
    fn hold(&mut self, route: &[u32]) {
        let next = &route[usize::from(self.taken)..];
        self.links.iter_mut().zip(next).for_each(|(held, link)| *held = *link);
    }
}

#[derive(Clone, Copy, Debug, Default)]
struct BusyLink {
    free_ps: u64,
    used: LinkUse,
}

/// The links in use, and the messages on them.
#[derive(Debug)]
pub(super) struct LinkStates<'a> {
    network: &'a LinkNetwork,
    links: Vec<BusyLink>,
    flights: Vec<Flight>,
    /// Numbers of messages that have come.
    free: Vec<u32>,
    route: Vec<u32>,
}

impl<'a> LinkStates<'a> {
    pub(super) fn new(network: &'a LinkNetwork) -> Self {
        let count: u32 = network.topology.classes().iter().map(|class| class.links).sum();
        let links = vec![BusyLink::default(); count as usize];
        Self { network, links, flights: Vec::new(), free: Vec::new(), route: Vec::new() }
    }

    pub(super) fn node_latency_ps(&self) -> u64 {
        self.network.node_latency_ps
    }

    /// What each link has carried.
    pub(super) fn uses(&self) -> Vec<LinkUse> {
        self.links.iter().map(|link| link.used).collect()
    }

    /// Writes the links between two ranks to `self.route`; none if they are on one node.
    fn find_route(&mut self, from: u32, to: u32) {
        let [from, to] = [from, to].map(|rank| self.network.placement.node(rank));
        self.route.clear();
        self.network.topology.route(from, to, &mut self.route);
    }

    /// A message leaves the port of its sender: the number of its flight; `None` if it takes no link.
    pub(super) fn depart(&mut self, message: LinkMessage, left: EventMark) -> Option<u32> {
        self.find_route(message.from, message.to);
        if self.route.is_empty() {
            return None;
        }
        let through_ps = left.time_ps + self.route.len() as u64 * self.network.hop_ps;
        let (left, length) = (left.cause, self.route.len() as u16);
        let mut flight = Flight { message, through_ps, left, taken: 0, length, links: [0; HELD] };
        flight.hold(&self.route);
        let number = self.free.pop().unwrap_or(self.flights.len() as u32);
        match self.flights.get_mut(number as usize) {
            Some(free) => *free = flight,
            None => self.flights.push(flight),
        }
        Some(number)
    }

    /// The first byte of a message reaches its next link at `now_ps`; returns when it reaches the one after it, or the
    /// end of the links.
    pub(super) fn take(&mut self, now_ps: u64, number: u32) -> (u64, &Flight) {
        let LinkNetwork { hop_ps, byte_ps, .. } = *self.network;
        let flight = &mut self.flights[number as usize];
        let link = flight.links[usize::from(flight.taken) % HELD];
        let hops_left = u64::from(flight.length - flight.taken);
        flight.taken += 1;
        let BusyLink { free_ps, used } = &mut self.links[link as usize];
        let bytes = flight.message.bytes;
        let (start_ps, busy_ps) = (now_ps.max(*free_ps), bytes * byte_ps);
        *free_ps = start_ps + busy_ps;
        used.messages += 1;
        used.bytes += bytes;
        used.busy_ps += busy_ps;
        used.waited_ps += start_ps - now_ps;
        flight.through_ps = flight.through_ps.max(*free_ps + hops_left * hop_ps);
        if flight.is_through() {
            self.free.push(number);
        } else if usize::from(flight.taken) % HELD == 0 {
            let LinkMessage { from, to, .. } = flight.message;
            self.find_route(from, to);
            self.flights[number as usize].hold(&self.route);
        }
        (start_ps + hop_ps, &self.flights[number as usize])
    }
}
