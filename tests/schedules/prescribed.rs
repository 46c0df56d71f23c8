//! What IMPI prescribes between clients: the result, which ranks send across, and with which tags.

use mpi_abi::mpi::collective::algorithms::hierarchical::HierarchyView;
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, Collective, Reduce, Rooted, UniformBlocks,
};
use mpi_abi::offload::{Schedule, StepAction, tag_of_label};

use super::levels::{Placement, heard, operands, placements, reduction};
use super::symbolic::Algebra;

fn schedule(placement: &Placement, collective: Collective, rank: u32) -> Schedule {
    let schedule = collective.prescribed_schedule(&placement.by, (&placement.nodes).into(), rank);
    schedule.expect("it is prescribed")
}

/// The messages between clients with their tags, as many as expected and between masters only.
fn assert_crossing(
    placement: &Placement, part: &dyn Fn(u32) -> Schedule, root: u32, expected: &[(i32, usize)],
) {
    let name = placement.name("prescribed");
    let mut counts = std::collections::BTreeMap::new();
    let is_master = |rank| match placement.nodes.node_of(rank) == placement.nodes.node_of(root) {
        true => rank == root,
        false => placement.leads(rank),
    };
    for rank in 0..placement.nodes.size() {
        for step in part(rank).steps() {
            let (StepAction::Send { peer, label, .. } | StepAction::Receive { peer, label, .. }) =
                step.action
            else {
                continue;
            };
            let crosses = placement.nodes.node_of(peer) != placement.nodes.node_of(rank);
            assert_eq!(tag_of_label(label).is_some(), crosses, "{name}: {rank} and {peer}");
            if crosses {
                assert!(is_master(rank) && is_master(peer), "{name}: {rank} and {peer}");
                *counts.entry(tag_of_label(label).unwrap()).or_insert(0) += 1;
            }
        }
    }
    let expected = expected.iter().map(|(tag, messages)| (*tag, 2 * messages));
    assert!(counts.iter().map(|(tag, count)| (*tag, *count)).eq(expected), "{name}: {counts:?}");
}

#[test]
fn a_barrier_hears_of_all() {
    for placement in placements() {
        let part = |rank| schedule(&placement, Collective::Barrier, rank);
        let schedules: Vec<_> = (0..placement.nodes.size()).map(part).collect();
        mpi_abi::offload::check::check(&schedules).unwrap();
        let all = (1 << placement.nodes.size()) - 1;
        assert!(heard(&schedules).iter().all(|known| *known == all), "{}", placement.name(""));
        let others = placement.nodes.count() as usize - 1;
        assert_crossing(&placement, &part, 0, &[(110, 2 * others)]);
    }
}

#[test]
fn a_broadcast_enters_each_other_client_once_also_without_data() {
    for placement in placements() {
        for (root, bytes) in placement.roots().into_iter().zip([7, 0]) {
            let args = Bcast { bytes, root };
            let of = |rank| schedule(&placement, Collective::Bcast(args), rank);
            let part = |view: HierarchyView<'_>| of(view.rank());
            let full = |algebra: &mut Algebra| vec![algebra.leaves(root, 0, bytes)];
            placement.expect(
                &format!("{args:?}"),
                &part,
                &|rank, algebra| match rank == root {
                    true => full(algebra),
                    false => vec![algebra.junk(bytes)],
                },
                &|_, algebra| full(algebra),
            );
            let others = placement.nodes.count() as usize - 1;
            assert_crossing(&placement, &of, root, &[(120, others)]);
        }
    }
}

#[test]
fn a_reduction_leaves_each_other_client_once() {
    for placement in placements() {
        let ranks = placement.nodes.size();
        for (root, kept) in placement.roots().into_iter().zip([false, true]) {
            let operands = operands(&placement, 2);
            let args = Reduce { operands, root, in_place: kept };
            let of = |rank| schedule(&placement, Collective::Reduce(args), rank);
            let part = |view: HierarchyView<'_>| of(view.rank());
            let in_place = |rank| rank == root && kept;
            let result = |rank| (rank == root).then_some(ranks);
            reduction(&placement, &format!("{args:?}"), operands, &part, &in_place, &result);
            if operands.commutative {
                let others = placement.nodes.count() as usize - 1;
                assert_crossing(&placement, &of, root, &[(190, others)]);
            }
        }
    }
}

#[test]
fn an_allreduce_is_a_reduce_and_a_broadcast() {
    for placement in placements() {
        let ranks = placement.nodes.size();
        for kept in [false, true] {
            let operands = operands(&placement, 2);
            let args = Allreduce { operands, in_place: kept };
            let of = |rank| schedule(&placement, Collective::Allreduce(args), rank);
            let part = |view: HierarchyView<'_>| of(view.rank());
            reduction(&placement, "allreduce", operands, &part, &|_| kept, &|_| Some(ranks));
            if operands.commutative {
                let others = placement.nodes.count() as usize - 1;
                assert_crossing(&placement, &of, 0, &[(120, others), (190, others)]);
            }
        }
    }
}

#[test]
fn other_operations_are_not_prescribed() {
    let placement = placements().next().unwrap();
    let rooted = Rooted { block: 1, root: 0, in_place: false };
    let blocks = UniformBlocks { block: 1, in_place: false };
    for collective in
        [Collective::Gather(rooted), Collective::Allgather(blocks), Collective::Alltoall(blocks)]
    {
        let on = (&placement.nodes).into();
        assert!(collective.prescribed_schedule(&placement.by, on, 0).is_none());
    }
}
