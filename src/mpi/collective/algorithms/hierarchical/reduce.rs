//! Reductions on several nodes: first inside each node, then with one operand per node.
//!
//! The operation must commute, or the nodes must be in the order of their ranks.

use super::HierarchyView;
use super::blocks::NodeParts;
use crate::mpi::collective::algorithms::building_blocks::phases::Phases;
use crate::mpi::collective::algorithms::scatter;
use crate::mpi::collective::algorithms::{
    Allreduce, Bcast, Operands, RECEIVE, Reduce, ReduceScatter, RootedBlocks, Scan, block_offsets,
    input_buffer,
};
use crate::mpi::collective::selection::registry;
use crate::offload::{Region, Schedule};

/// Schedule of a rank in a reduce.
pub fn reduce(view: HierarchyView<'_>, args: Reduce) -> Schedule {
    let view = view.rooted(args.root);
    let mut phases = Phases::default();
    let Reduce { operands, root, in_place } = args;
    if operands.bytes == 0 {
        return phases.finish();
    }
    let result = RECEIVE.region(0, operands.bytes);
    let own = input_buffer(in_place && view.rank == root).region(0, operands.bytes);
    let sum = to_leader(&mut phases, view, args, own, view.rank == root);
    let to_node = Reduce { operands, root: view.nodes.node_of(root), in_place: sum == result };
    let buffers = [sum, result];
    view.inter_node(&mut phases, &registry::REDUCE, to_node, &|entry| buffers[entry as usize]);
    phases.finish()
}

/// Schedule of a rank in an allreduce.
pub fn allreduce(view: HierarchyView<'_>, args: Allreduce) -> Schedule {
    // The association of three or more operands depends on the leader. Equal calls have equal results.
    let view = if view.nodes.largest() > 2 { view.in_turn(0) } else { view };
    let mut phases = Phases::default();
    let Allreduce { operands, in_place } = args;
    if operands.bytes == 0 {
        return phases.finish();
    }
    let result = RECEIVE.region(0, operands.bytes);
    let own = input_buffer(in_place).region(0, operands.bytes);
    let to_first = Reduce { operands, root: 0, in_place };
    let sum = to_leader(&mut phases, view, to_first, own, true);
    let buffers = [sum, result];
    let among_leaders = Allreduce { operands, in_place: sum == result };
    let buffer = |entry: u32| buffers[entry as usize];
    view.inter_node(&mut phases, &registry::ALLREDUCE, among_leaders, &buffer);
    let from_leader = |node| Bcast { bytes: operands.bytes, root: view.leader_place(node) };
    view.intra_node(&mut phases, &registry::BCAST, &from_leader, &|_| result);
    phases.finish()
}

/// The leader of each node combines the operands there. Returns the result's location on a leader:
/// the receive buffer if the leader `has_result`, otherwise scratch memory; a single operand stays
/// where it is.
pub(super) fn to_leader(
    phases: &mut Phases, view: HierarchyView<'_>, args: Reduce, own: Region, has_result: bool,
) -> Region {
    let alone = view.is_alone();
    let bytes = args.operands.bytes;
    let sum = match (view.is_leader(), alone) {
        (false, _) => Region::EMPTY,
        (true, true) => own,
        (true, false) if has_result => RECEIVE.region(0, bytes),
        (true, false) => phases.scratch(bytes),
    };
    let in_place = args.in_place && view.is_leader() && has_result;
    let part = |node| Reduce { root: view.leader_place(node), in_place, ..args };
    let buffers = [own, sum];
    if alone {
        phases.skip_rounds(view.intra_node_cost(&registry::REDUCE, &part).rounds as u32);
    } else {
        view.intra_node(phases, &registry::REDUCE, &part, &|entry| buffers[entry as usize]);
    }
    sum
}

/// The operands of a reduce-scatter as those of one reduction: elements of any length that divides all
/// blocks.
pub(super) fn whole_operands(args: ReduceScatter<'_>) -> Operands {
    let divisor = |mut one: usize, mut other: usize| {
        while other > 0 {
            (one, other) = (other, one % other);
        }
        one
    };
    Operands {
        bytes: args.blocks.iter().sum(),
        element: args.blocks.iter().copied().fold(0, divisor).max(1),
        commutative: args.commutative,
    }
}

/// Schedule of a rank in a reduce-scatter: the leaders have the operands of their nodes, exchange them
/// for the blocks of their nodes, and give each rank its block.
pub fn reduce_scatter(view: HierarchyView<'_>, args: ReduceScatter<'_>) -> Schedule {
    let mut phases = Phases::default();
    let operands = whole_operands(args);
    if operands.bytes == 0 {
        return phases.finish();
    }
    let parts = NodeParts::new(view, args.blocks);
    let to_first = Reduce { operands, root: 0, in_place: false };
    let mut sum = to_leader(&mut phases, view, to_first, args.input(0, operands.bytes), false);
    if view.is_leader() && !view.nodes.are_in_order() {
        let ordered = phases.scratch(operands.bytes);
        let homes = (0..).zip(block_offsets(args.blocks).zip(args.blocks));
        phases.copy(homes.map(|(rank, (start, len))| {
            (sum.buffer.region(sum.start + start, *len), parts.rank_part(ordered, rank))
        }));
        sum = ordered;
    }
    let result = RECEIVE.region(0, args.blocks[view.rank as usize]);
    let in_place = sum.buffer == RECEIVE;
    let of_node = match (view.is_leader(), view.is_alone()) {
        (false, _) => Region::EMPTY,
        (true, true) if in_place => sum,
        (true, true) => result,
        (true, false) => phases.scratch(parts.lens[view.node() as usize]),
    };
    let among = ReduceScatter { blocks: &parts.lens, commutative: operands.commutative, in_place };
    let buffers = [sum, of_node];
    let buffer = |entry: u32| buffers[entry as usize];
    view.inter_node(&mut phases, &registry::REDUCE_SCATTER, among, &buffer);
    if !view.is_alone() {
        let lens = parts.rank_lengths(view.node());
        let from_leader = RootedBlocks { own: result.len, blocks: &lens, root: 0, in_place: false };
        let part = scatter::linear::scatterv(view.shape(view.node()), view.place(), from_leader);
        view.intra_node_round(&mut phases, &part, &|entry| match entry.checked_sub(1) {
            None => result,
            Some(place) => parts.local_part(of_node, view.ranks()[place as usize]),
        });
    }
    phases.finish()
}

/// Schedule of a rank in a scan; the nodes must be in the order of their ranks.
///
/// The last rank of a node has the combined operands of the node, and receives those of the
/// previous nodes.
pub fn scan(view: HierarchyView<'_>, args: Scan) -> Schedule {
    let view = view.with_last_leader();
    let mut phases = Phases::default();
    let Scan { operands, in_place } = args;
    if operands.bytes == 0 {
        return phases.finish();
    }
    let result = RECEIVE.region(0, operands.bytes);
    let buffers = [input_buffer(in_place).region(0, operands.bytes), result];
    view.intra_node(&mut phases, &registry::SCAN, &|_| args, &|entry| buffers[entry as usize]);
    let before = phases.scratch(operands.bytes);
    let buffers = [result, before];
    let of_nodes = Scan { operands, in_place: false };
    view.inter_node(&mut phases, &registry::EXSCAN, of_nodes, &|entry| buffers[entry as usize]);
    if view.node() > 0 {
        let from_last = |node| Bcast { bytes: operands.bytes, root: view.leader_place(node) };
        view.intra_node(&mut phases, &registry::BCAST, &from_last, &|_| before);
        phases.reduce(before, result);
    }
    phases.finish()
}

/// Schedule of a rank in an exscan; the nodes must be in the order of their ranks. As in a [`scan`],
/// the last rank of a node has the combined operands of the node.
pub fn exscan(view: HierarchyView<'_>, args: Scan) -> Schedule {
    let view = view.with_last_leader();
    let mut phases = Phases::default();
    let Scan { operands, .. } = args;
    if operands.bytes == 0 {
        return phases.finish();
    }
    let (own, result) = (args.input(), RECEIVE.region(0, operands.bytes));
    let combines = view.is_leader() && !view.is_alone();
    let of_node = if combines { phases.scratch(operands.bytes) } else { own };
    phases.copy([(own, of_node)]);
    let buffers = [own, result];
    view.intra_node(&mut phases, &registry::EXSCAN, &|_| args, &|entry| buffers[entry as usize]);
    if combines {
        phases.reduce(result, of_node);
    }
    let before = phases.scratch(operands.bytes);
    let buffers = [of_node, before];
    let of_nodes = Scan { operands, in_place: false };
    view.inter_node(&mut phases, &registry::EXSCAN, of_nodes, &|entry| buffers[entry as usize]);
    if view.node() > 0 {
        let from_last = |node| Bcast { bytes: operands.bytes, root: view.leader_place(node) };
        view.intra_node(&mut phases, &registry::BCAST, &from_last, &|_| before);
        if view.place() == 0 {
            phases.copy([(before, result)]);
        } else {
            phases.reduce(before, result);
        }
    }
    phases.finish()
}
