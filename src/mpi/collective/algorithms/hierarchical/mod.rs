//! Hierarchical collectives on several nodes: inside each node, and between one leader per node.
//!
//! ```text
//!   nodes       0        1      2
//!   ranks    0  2  3    1  4    5
//!            ◄──┴──┘    ◄──┘             1: inside the nodes, to their leaders
//!            ◄──────────►───────►        2: between the leaders
//!            └──►──►    └──►             3: inside the nodes, from their leaders
//! ```
//!
//! The leader of a node is its lowest rank; on the root's node it is the root. In barriers and
//! allreduces, two ranks of each node lead in turn, from call to call: the messages of a leader between
//! nodes take most of its time, and a scheduler that divides a processor fairly does not run it before
//! the other ranks of the processor have had as much, even if they only yield. (Two hosts with a
//! processor and two ranks each: a barrier in 11.5 instead of 20 µs.) Each phase uses the
//! algorithm selected for its number of ranks, and segments pass through the phases in a pipeline
//! ([`Phases`]). The traffic between nodes is minimal: a message once to each node except the
//! root's, one operand per node, the blocks of a node in one message.
//!
//! Karonis et al., "Exploiting hierarchy in parallel computer networks to optimize collective
//! operation performance", IPDPS 2000; Träff and Rougier, "MPI collectives and datatypes for
//! hierarchical all-to-all communication", EuroMPI 2014.

mod alltoall;
mod blocks;
pub mod costs;
mod nodes;
mod prescribed;
mod reduce;

pub use alltoall::alltoall;
pub use blocks::{allgather, allgatherv, gather, scatter};
pub use nodes::Nodes;
pub use reduce::{allreduce, exscan, reduce, reduce_scatter, scan};

use super::algorithm::Arguments;
use super::{BUFFER, Bcast, Shape};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::building_blocks::signal;
use crate::mpi::collective::selection::Selection;
use crate::mpi::collective::selection::registry;
use crate::mpi::collective::selection::registry::AlgorithmFamily;
use crate::offload::{Region, Schedule};

/// The nodes from the point of view of one rank, and the selection for the phases.
#[derive(Clone, Copy)]
pub struct HierarchyView<'a> {
    nodes: &'a Nodes,
    selection: &'a Selection,
    rank: u32,
    leader_rule: LeaderRule,
}

/// Choice of the leader of a node.
#[derive(Clone, Copy)]
enum LeaderRule {
    /// One of the two lowest ranks of the node: the lowest in even turns.
    Turn(u32),
    /// The highest rank of the node.
    Last,
    /// This rank on its own node, the lowest rank on other nodes.
    Root(u32),
}

impl<'a> HierarchyView<'a> {
    /// The view of `rank`, with the lowest ranks as leaders.
    pub fn new(nodes: &'a Nodes, selection: &'a Selection, rank: u32) -> Self {
        Self { nodes, selection, rank, leader_rule: LeaderRule::Turn(0) }
    }

    /// This view in a call with this turn.
    pub fn in_turn(self, turn: u32) -> Self {
        Self { leader_rule: LeaderRule::Turn(turn), ..self }
    }

    /// The rank of this view.
    pub fn rank(self) -> u32 {
        self.rank
    }

    /// This view for an operation with a root.
    fn rooted(self, root: u32) -> Self {
        Self { leader_rule: LeaderRule::Root(root), ..self }
    }

    /// This view with the last rank of each node as its leader.
    fn with_last_leader(self) -> Self {
        Self { leader_rule: LeaderRule::Last, ..self }
    }

    /// The own node.
    fn node(self) -> u32 {
        self.nodes.node_of(self.rank)
    }

    /// The ranks of the own node.
    fn ranks(self) -> &'a [u32] {
        self.nodes.ranks(self.node())
    }

    /// Whether no other rank is on the own node.
    fn is_alone(self) -> bool {
        self.ranks().len() == 1
    }

    /// The index of this rank on its node.
    fn place(self) -> u32 {
        place(self.ranks(), self.rank)
    }

    fn leader(self, node: u32) -> u32 {
        let ranks = self.nodes.ranks(node);
        match self.leader_rule {
            LeaderRule::Root(root) if self.nodes.node_of(root) == node => root,
            LeaderRule::Turn(turn) => ranks[(turn % 2) as usize % ranks.len()],
            LeaderRule::Root(_) => ranks[0],
            LeaderRule::Last => ranks[ranks.len() - 1],
        }
    }

    /// The index of the leader on its node.
    fn leader_place(self, node: u32) -> u32 {
        place(self.nodes.ranks(node), self.leader(node))
    }

    fn is_leader(self) -> bool {
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

    /// An operation inside each node, with the arguments that this rank would have on that node.
    /// For other nodes, only arguments that all ranks agree on are used.
    fn intra_node<A: Arguments>(
        self, phases: &mut Phases, family: &AlgorithmFamily<A>,
        args: &dyn Fn(u32) -> A::Borrowed<'static>, buffer: &dyn Fn(u32) -> Region,
    ) {
        let rounds = self.intra_node_cost(family, args).rounds as u32;
        let node = self.node();
        let part = self.selection.schedule(family, self.shape(node), self.place(), args(node));
        let member = |place: u32| self.ranks()[place as usize];
        phases.then(&part, rounds, &PhasePlacement { member: &member, buffer });
    }

    /// A phase of one round inside each node, with the schedule of this rank there.
    fn intra_node_round(
        self, phases: &mut Phases, part: &Schedule, buffer: &dyn Fn(u32) -> Region,
    ) {
        let member = |place: u32| self.ranks()[place as usize];
        phases.then(part, 1, &PhasePlacement { member: &member, buffer });
    }

    /// An operation between the leaders.
    fn inter_node<A: Arguments>(
        self, phases: &mut Phases, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
        buffer: &dyn Fn(u32) -> Region,
    ) {
        let rounds = self.inter_node_cost(family, args).rounds as u32;
        if !self.is_leader() {
            return phases.skip_rounds(rounds);
        }
        let by = self.selection.choose_across_nodes(family, self.leaders(), args);
        let part = by.schedule(self.leaders(), self.node(), args);
        phases.then(&part, rounds, &PhasePlacement { member: &|node| self.leader(node), buffer });
    }
}

/// The index of `rank` in `ranks`, which ascend.
fn place(ranks: &[u32], rank: u32) -> u32 {
    ranks.binary_search(&rank).expect("a rank is on its node") as u32
}

/// Schedule of a rank in a barrier.
pub fn barrier(view: HierarchyView<'_>) -> Schedule {
    let across = view.inter_node_cost(&registry::BARRIER, ()).rounds as u32;
    barrier_around(view, across, |phases| {
        let by = view.selection.choose_across_nodes(&registry::BARRIER, view.leaders(), ());
        let part = by.schedule(view.leaders(), view.node(), ());
        phases.then_synchronized(&part, across, &|node| view.leader(node));
    })
}

/// A barrier inside each node before and after one between the leaders, which has `rounds` rounds and which
/// a leader appends.
fn barrier_around(
    view: HierarchyView<'_>, rounds: u32, between_leaders: impl FnOnce(&mut Phases),
) -> Schedule {
    // The leader first.
    let (shape, leader) = (view.shape(view.node()), view.leader_place(view.node()));
    let member = |place: u32| view.ranks()[shape.after(place, leader) as usize];
    let place = shape.before(view.place(), leader);
    let inside = Shape { ranks: view.nodes.largest() }.doublings();
    let mut phases = Phases::default();
    phases.then_synchronized(&signal::fan_in(shape, place), inside, &member);
    if view.is_leader() {
        between_leaders(&mut phases);
    } else {
        phases.skip_rounds(rounds);
    }
    phases.then_synchronized(&signal::fan_out(shape, place), inside, &member);
    phases.finish()
}

/// Schedule of a rank in a broadcast.
pub fn bcast(view: HierarchyView<'_>, args: Bcast) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    if args.bytes == 0 {
        return phases.finish();
    }
    let buffer = |_| BUFFER.region(0, args.bytes);
    let from_node = Bcast { root: view.nodes.node_of(args.root), ..args };
    view.inter_node(&mut phases, &registry::BCAST, from_node, &buffer);
    let from_leader = |node| Bcast { root: view.leader_place(node), ..args };
    view.intra_node(&mut phases, &registry::BCAST, &from_leader, &buffer);
    phases.finish()
}
