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

use super::EventMark;
use crate::topology::{Placement, Topology};

/// A network of links.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LinkNetwork {
    /// Nodes and links.
    pub topology: Topology,
    /// The nodes of ranks. Messages inside a node take no link.
    pub placement: Placement,
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
    /// When its last byte has left the port of the sender.
    pub(super) left: EventMark,
    pub(super) bytes: u64,
    /// The links that it has not taken, the next one last.
    route: Vec<u32>,
    /// When its last byte is through the links, at the earliest.
    through_ps: u64,
}

/// The links in use.
#[derive(Debug)]
pub(super) struct Links<'a> {
    network: &'a LinkNetwork,
    free_ps: Vec<u64>,
    pub(super) uses: Vec<LinkUse>,
}

impl<'a> Links<'a> {
    pub(super) fn new(network: &'a LinkNetwork) -> Self {
        let count: u32 = network.topology.classes().iter().map(|class| class.links).sum();
        let uses = vec![LinkUse::default(); count as usize];
        Self { network, free_ps: vec![0; count as usize], uses }
    }

    /// A message that leaves the port of a rank; `None` if it takes no link.
    pub(super) fn flight(&self, from: u32, to: u32, left: EventMark, bytes: u64) -> Option<Flight> {
        let LinkNetwork { topology, placement, hop_ps, .. } = self.network;
        let mut route = Vec::new();
        topology.route(placement.node(from), placement.node(to), &mut route);
        route.reverse();
        let through_ps = left.time_ps() + route.len() as u64 * hop_ps;
        (!route.is_empty()).then_some(Flight { left, bytes, route, through_ps })
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
