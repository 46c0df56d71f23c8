//! Collective operations on several nodes: inside each node, and between one rank of each.
//!
//! ```text
//!   nodes       0        1      2
//!   ranks    0  2  3    1  4    5
//!            ◄──┴──┘    ◄──┘             1: inside the nodes, to their leaders
//!            ◄──────────►───────►        2: between the leaders
//!            └──►──►    └──►             3: inside the nodes, from their leaders
//! ```
//!
//! The lowest rank of a node leads it, but a root leads its own. Each phase is an operation by the
//! algorithm that is chosen for so few ranks, so that what is known of fast algorithms holds here
//! too, and segments go through the phases in a pipeline ([`Phases`]). What crosses between nodes
//! is as little as can be: a message once to each node but the root's, one operand for each node,
//! the blocks of a node in one message.
//!
//! Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
//! operation performance", IPDPS 2000; Traff and Rougier, "MPI collectives and datatypes for
//! hierarchical all-to-all communication", EuroMPI 2014.

mod alltoall;
mod blocks;
pub mod costs;
mod nodes;
mod reduce;

pub use alltoall::alltoall;
pub use blocks::{allgather, gather, scatter};
pub use nodes::Nodes;
pub use reduce::{allreduce, reduce, scan};

use super::algorithm::Arguments;
use super::phases::{Phases, Place};
use super::registry::{self, Family};
use super::select::Selection;
use super::{BUFFER, Bcast, Shape, signal};
use crate::offload::{Region, Schedule};

/// The nodes as a rank sees them, and by which algorithms the phases go.
#[derive(Clone, Copy)]
pub struct View<'a> {
    nodes: &'a Nodes,
    by: &'a Selection,
    rank: u32,
    lead: Lead,
}

/// Who leads a node.
#[derive(Clone, Copy)]
enum Lead {
    /// Its lowest rank.
    First,
    /// Its highest rank.
    Last,
    /// Its lowest rank, but of its own node this one.
    Root(u32),
}

impl<'a> View<'a> {
    /// What `rank` sees.
    pub fn new(nodes: &'a Nodes, by: &'a Selection, rank: u32) -> Self {
        Self { nodes, by, rank, lead: Lead::First }
    }

    /// Who sees.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// The same in an operation with a root.
    fn rooted(self, root: u32) -> Self {
        Self { lead: Lead::Root(root), ..self }
    }

    /// The same in an operation that goes from rank to rank.
    fn led_by_last(self) -> Self {
        Self { lead: Lead::Last, ..self }
    }

    /// The own node.
    fn node(self) -> u32 {
        self.nodes.of(self.rank)
    }

    /// The ranks of the own node.
    fn ranks(self) -> &'a [u32] {
        self.nodes.ranks(self.node())
    }

    /// The place of this rank among those of its node.
    fn place(self) -> u32 {
        place(self.ranks(), self.rank)
    }

    fn leader(self, node: u32) -> u32 {
        let ranks = self.nodes.ranks(node);
        match self.lead {
            Lead::Root(root) if self.nodes.of(root) == node => root,
            Lead::First | Lead::Root(_) => ranks[0],
            Lead::Last => ranks[ranks.len() - 1],
        }
    }

    /// The place of the leader among the ranks of its node.
    fn leader_place(self, node: u32) -> u32 {
        place(self.nodes.ranks(node), self.leader(node))
    }

    fn leads(self) -> bool {
        self.leader(self.node()) == self.rank
    }

    /// The shape of a node.
    fn shape(self, node: u32) -> Shape {
        Shape { ranks: self.nodes.ranks(node).len() as u32 }
    }

    /// The shape of the leaders.
    fn leaders(self) -> Shape {
        Shape { ranks: self.nodes.count() }
    }

    /// All nodes.
    fn all(self) -> std::ops::Range<u32> {
        0..self.nodes.count()
    }

    /// An operation inside each node, with the arguments of this rank if it were on that node; on
    /// others than its own only what ranks agree about matters.
    fn inside<A: Arguments>(
        self, phases: &mut Phases, family: &Family<A>, args: &dyn Fn(u32) -> A::In<'static>,
        buffer: &dyn Fn(u32) -> Region,
    ) {
        let rounds = self.cost_inside(family, args).rounds as u32;
        let node = self.node();
        let part = self.by.schedule(family, self.shape(node), self.place(), args(node));
        let member = |place: u32| self.ranks()[place as usize];
        phases.then(&part, rounds, &Place { member: &member, buffer });
    }

    /// An operation between the leaders.
    fn between<A: Arguments>(
        self, phases: &mut Phases, family: &Family<A>, args: A::In<'_>,
        buffer: &dyn Fn(u32) -> Region,
    ) {
        let rounds = self.cost_between(family, args).rounds as u32;
        if !self.leads() {
            return phases.pass(rounds);
        }
        let by = self.by.choose_between(family, self.leaders(), args);
        let part = (by.schedule)(self.leaders(), self.node(), args);
        phases.then(&part, rounds, &Place { member: &|node| self.leader(node), buffer });
    }
}

/// The place of `rank` among `ranks`, which are ascending.
fn place(ranks: &[u32], rank: u32) -> u32 {
    ranks.binary_search(&rank).expect("a rank is on its node") as u32
}

/// The part of a rank in a barrier.
pub fn barrier(view: View<'_>) -> Schedule {
    let member = |place: u32| view.ranks()[place as usize];
    let (shape, place) = (view.shape(view.node()), view.place());
    let rounds = Shape { ranks: view.nodes.largest() }.doublings();
    let mut phases = Phases::default();
    phases.when_over(&signal::to_first(shape, place), rounds, &member);
    let across = view.cost_between(&registry::BARRIER, ()).rounds as u32;
    if view.leads() {
        let by = view.by.choose_between(&registry::BARRIER, view.leaders(), ());
        let part = (by.schedule)(view.leaders(), view.node(), ());
        phases.when_over(&part, across, &|node| view.leader(node));
    } else {
        phases.pass(across);
    }
    phases.when_over(&signal::from_first(shape, place), rounds, &member);
    phases.finish()
}

/// The part of a rank in a broadcast.
pub fn bcast(view: View<'_>, args: Bcast) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    if args.bytes == 0 {
        return phases.finish();
    }
    let buffer = |_| BUFFER.region(0, args.bytes);
    let from_node = Bcast { root: view.nodes.of(args.root), ..args };
    view.between(&mut phases, &registry::BCAST, from_node, &buffer);
    let from_leader = |node| Bcast { root: view.leader_place(node), ..args };
    view.inside(&mut phases, &registry::BCAST, &from_leader, &buffer);
    phases.finish()
}
