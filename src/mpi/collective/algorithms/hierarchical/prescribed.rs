//! The operations whose messages between clients IMPI prescribes (NIST 2000, chapter 4; as LAM/MPI 7.1.4 has them), so
//! that clients of several libraries can take part: barrier, bcast, reduce, allreduce.
//!
//! ```text
//!   local phase, any messages ──> global phase: masters, prescribed ──> local phase
//! ```
//!
//! The *master* of a client is its lowest rank in the communicator; the root stands in for that of its own
//! client. Up to four masters talk to the first one, or to the root, directly; more along a tree:
//!
//! | | parent of place p, counted from the first or the root |
//! |---|---|
//! | barrier, bcast | p without its highest bit |
//! | reduce | p without its lowest bit |
//!
//! An allreduce is a reduce to rank 0 and a bcast from it. An operation that does not commute has no local
//! phase: all send to the root. Each operation has a tag. Not here: gather and scatter in all their forms, alltoall and scan.
//! LAM/MPI has tags for them (130 to 200) and no messages, and the chapter of the document was not found; they use
//! the algorithms of this library.

use super::reduce::to_leader;
use super::{HierarchyView, barrier_around};
use crate::mpi::collective::algorithms::building_blocks::phases::{PhasePlacement, Phases};
use crate::mpi::collective::algorithms::reduce as reductions;
use crate::mpi::collective::algorithms::{
    Allreduce, BUFFER, Bcast, Collective, RECEIVE, RankLayout, Reduce, Shape, input_buffer,
};
use crate::mpi::collective::selection::Selection;
use crate::mpi::collective::selection::registry;
use crate::offload::{Region, Schedule, ScheduleBuilder, StepId};

const BARRIER_TAG: u8 = 110;
const BCAST_TAG: u8 = 120;
const REDUCE_TAG: u8 = 190;

/// The number of masters up to which they talk directly: the default of `C_COLL_MAXLINEAR`.
const DIRECT_MAX: u32 = 4;

impl Collective {
    /// Schedule of `rank` with the messages that IMPI prescribes between nodes; `None` if there are no
    /// nodes, or it prescribes none for this operation.
    pub fn prescribed_schedule(
        self, by: &Selection, on: RankLayout<'_>, rank: u32,
    ) -> Option<Schedule> {
        let view = HierarchyView::new(on.nodes?, by, rank);
        Some(match self {
            Self::Barrier => barrier(view),
            Self::Bcast(args) => bcast(view, args),
            Self::Reduce(args) => reduce(view, on.shape, args),
            Self::Allreduce(args) => allreduce(view, on.shape, args),
            _ => return None,
        })
    }
}

fn barrier(view: HierarchyView<'_>) -> Schedule {
    let rounds = 2 * depth(view.leaders());
    barrier_around(view, rounds, |phases| {
        let part = barrier_of_masters(view.leaders(), view.node());
        phases.with_tag(BARRIER_TAG, |phases| {
            phases.then_synchronized(&part, rounds, &|node| view.leader(node));
        });
    })
}

fn bcast(view: HierarchyView<'_>, args: Bcast) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let buffer = BUFFER.region(0, args.bytes);
    bcast_across(&mut phases, view, Bcast { root: view.nodes.node_of(args.root), ..args }, buffer);
    let from_leader = |node| Bcast { root: view.leader_place(node), ..args };
    view.intra_node(&mut phases, &registry::BCAST, &from_leader, &|_| buffer);
    phases.finish()
}

fn reduce(view: HierarchyView<'_>, shape: Shape, args: Reduce) -> Schedule {
    let mut phases = Phases::default();
    let is_root = view.rank == args.root;
    let own = input_buffer(args.in_place && is_root).region(0, args.operands.bytes);
    reduce_across(&mut phases, view.rooted(args.root), shape, args, own);
    phases.finish()
}

fn allreduce(view: HierarchyView<'_>, shape: Shape, args: Allreduce) -> Schedule {
    let view = view.rooted(0);
    let mut phases = Phases::default();
    let Allreduce { operands, in_place } = args;
    let own = input_buffer(in_place).region(0, operands.bytes);
    reduce_across(&mut phases, view, shape, Reduce { operands, root: 0, in_place }, own);
    let result = RECEIVE.region(0, operands.bytes);
    let from_first = Bcast { bytes: operands.bytes, root: 0 };
    bcast_across(&mut phases, view, from_first, result);
    let from_leader = |node| Bcast { root: view.leader_place(node), ..from_first };
    view.intra_node(&mut phases, &registry::BCAST, &from_leader, &|_| result);
    phases.finish()
}

/// From the master of the client `args.root` to those of the others.
fn bcast_across(phases: &mut Phases, view: HierarchyView<'_>, args: Bcast, buffer: Region) {
    let rounds = depth(view.leaders());
    if !view.is_leader() {
        return phases.skip_rounds(rounds);
    }
    let part = bcast_of_masters(view.leaders(), view.node(), args);
    let place = PhasePlacement { member: &|node| view.leader(node), buffer: &|_| buffer };
    phases.with_tag(BCAST_TAG, |phases| phases.then(&part, rounds, &place));
}

/// To the root: first inside each client, then from the masters; without order, directly.
fn reduce_across(
    phases: &mut Phases, view: HierarchyView<'_>, shape: Shape, args: Reduce, own: Region,
) {
    let Reduce { operands, root, .. } = args;
    if !operands.commutative {
        return to_root(phases, shape, view.rank, args, own);
    }
    let sum = to_leader(phases, view, args, own, view.rank == root);
    let masters = view.leaders();
    let rounds = masters.doublings().max(reductions::linear::rounds(masters));
    if !view.is_leader() {
        return phases.skip_rounds(rounds);
    }
    let result = RECEIVE.region(0, operands.bytes);
    let among = Reduce { operands, root: view.nodes.node_of(root), in_place: sum == result };
    let part = match masters.ranks <= DIRECT_MAX {
        true => reductions::linear::schedule(masters, view.node(), among),
        false => reductions::binomial::schedule(masters, view.node(), among),
    };
    let buffers = [sum, result];
    let buffer = |entry: u32| buffers[entry as usize];
    let place = PhasePlacement { member: &|node| view.leader(node), buffer: &buffer };
    phases.with_tag(REDUCE_TAG, |phases| phases.then(&part, rounds, &place));
}

/// All ranks send their operands, at `own`, to the root, which combines them in order.
fn to_root(phases: &mut Phases, shape: Shape, rank: u32, args: Reduce, own: Region) {
    let result = RECEIVE.region(0, args.operands.bytes);
    let in_place = rank == args.root && own == result;
    let part = reductions::linear::schedule(shape, rank, Reduce { in_place, ..args });
    let buffers = [own, result];
    let buffer = |entry: u32| buffers[entry as usize];
    let place = PhasePlacement { member: &|rank| rank, buffer: &buffer };
    let rounds = reductions::linear::rounds(shape);
    phases.with_tag(REDUCE_TAG, |phases| phases.then(&part, rounds, &place));
}

fn barrier_of_masters(shape: Shape, rank: u32) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let up = |child| depth(shape) + 1 - level(shape, child);
    let down = |child| depth(shape) + level(shape, child);
    let heard: Vec<StepId> = children(shape, rank)
        .map(|child| plan.receive(child, Region::EMPTY, up(child), &[]))
        .collect();
    let released = match parent(shape, rank) {
        None => heard,
        Some(parent) => {
            plan.send(parent, Region::EMPTY, up(rank), &heard);
            vec![plan.receive(parent, Region::EMPTY, down(rank), &[])]
        }
    };
    for child in children(shape, rank) {
        plan.send(child, Region::EMPTY, down(child), &released);
    }
    plan.finish()
}

fn bcast_of_masters(shape: Shape, rank: u32, Bcast { bytes, root }: Bcast) -> Schedule {
    let mut plan = ScheduleBuilder::new();
    let (region, place) = (BUFFER.region(0, bytes), shape.before(rank, root));
    let master = |place| shape.after(root, place);
    let heard = parent(shape, place)
        .map(|parent| plan.receive(master(parent), region, level(shape, place), &[]));
    for child in children(shape, place) {
        plan.send(master(child), region, level(shape, child), heard.as_slice());
    }
    plan.finish()
}

/// The parent of a place in a barrier or bcast.
fn parent(shape: Shape, place: u32) -> Option<u32> {
    let highest = place.checked_ilog2()?;
    Some(if shape.ranks <= DIRECT_MAX { 0 } else { place & !(1 << highest) })
}

/// The places whose parent is this one, in the order in which they are served.
fn children(shape: Shape, place: u32) -> impl Iterator<Item = u32> {
    (place + 1..shape.ranks).filter(move |child| parent(shape, *child) == Some(place))
}

/// Messages from place 0 to this one.
fn level(shape: Shape, place: u32) -> u32 {
    if shape.ranks <= DIRECT_MAX { 1 } else { place.count_ones() }
}

/// Rounds of messages from place 0 to all.
fn depth(shape: Shape) -> u32 {
    if shape.ranks <= DIRECT_MAX { 1 } else { shape.ranks.ilog2() }
}
