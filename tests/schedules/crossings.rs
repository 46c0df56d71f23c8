//! Messages and bytes between nodes, in the schedules that the selection chooses: with uneven nodes and
//! with ranks in turn, for nodes with a processor for each rank and without.

use mpi_abi::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments};
use mpi_abi::mpi::collective::algorithms::hierarchical::{HierarchyView, Nodes};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Collective, Operands, RankBlocks, Reduce, ReduceScatter,
    ReduceScatterBlock, Rooted, RootedBlocks, Scan, UniformBlocks, allgatherv, alltoallv, gatherv,
    reduce_scatter, scatterv,
};
use mpi_abi::mpi::collective::selection::chosen::ChosenAlgorithm;
use mpi_abi::mpi::collective::selection::registry::{
    AlgorithmFamily, CollectiveOperation, Visitor,
};
use mpi_abi::mpi::collective::selection::{Selection, machine_model};
use mpi_abi::offload::{Schedule, StepAction};

use super::Shape;

const ELEMENT: usize = 8;

const PLACES: [&[u32]; 10] = [
    &[0, 0, 1, 1],
    &[0, 1, 0, 1],
    &[0, 0, 0, 1],
    &[0, 1, 1, 1, 2],
    &[0, 0, 0, 0, 1, 1, 1, 1],
    &[0, 1, 2, 0, 1, 2, 0, 1],
    &[0, 0, 0, 0, 0, 1, 1, 2],
    &[0, 0, 1, 1, 2, 2, 3, 3],
    &[0, 1, 0, 0, 1, 0, 1, 2, 2, 0, 0],
    &[0, 0, 0, 0, 0, 0, 0, 0, 1, 1, 1, 1, 1, 1, 1, 1],
];

/// What crosses in a call.
#[derive(Default)]
struct Crossing {
    messages: usize,
    bytes: usize,
    /// The most messages and bytes that leave a node, or that enter one.
    of_link: (usize, usize),
    /// Ranks that send or receive.
    ranks: Vec<u32>,
}

impl Crossing {
    fn of(nodes: &Nodes, schedule: impl Fn(u32) -> Schedule) -> Self {
        let mut crossing = Self::default();
        let mut links = vec![[(0, 0); 2]; nodes.count() as usize];
        for rank in 0..nodes.size() {
            for step in schedule(rank).steps() {
                let StepAction::Send { peer, region, .. } = step.action else { continue };
                let ends = [nodes.node_of(rank), nodes.node_of(peer)];
                if ends[0] == ends[1] {
                    continue;
                }
                crossing.messages += 1;
                crossing.bytes += region.len;
                crossing.ranks.extend([rank, peer]);
                for (side, node) in ends.into_iter().enumerate() {
                    let (messages, bytes) = &mut links[node as usize][side];
                    (*messages, *bytes) = (*messages + 1, *bytes + region.len);
                }
            }
        }
        for (messages, bytes) in links.into_iter().flatten() {
            let (most, longest) = crossing.of_link;
            crossing.of_link = (most.max(messages), longest.max(bytes));
        }
        crossing.ranks.sort_unstable();
        crossing.ranks.dedup();
        crossing
    }
}

/// A call on some nodes, and the most that may cross.
struct Case<'a> {
    name: &'static str,
    schedule: Box<dyn Fn(u32) -> Schedule + 'a>,
    messages: usize,
    bytes: usize,
    /// Whether one rank of each node alone has messages to other nodes, if the data are short.
    by_leaders: bool,
}

/// Every collective with messages or blocks of `bytes` bytes, from `root`.
fn cases<'a>(by: &'a Selection, nodes: &'a Nodes, bytes: usize, root: u32) -> Vec<Case<'a>> {
    let (size, count) = (nodes.size() as usize, nodes.count() as usize);
    let operands = Operands { bytes, element: ELEMENT, commutative: true };
    let rooted = Rooted { block: bytes, root, in_place: false };
    let uniform = UniformBlocks { block: bytes, in_place: false };
    let scan = Scan { operands, in_place: false };
    let of_node = |node| nodes.ranks(node).len();
    let beyond_root = size - of_node(nodes.node_of(root));
    let pairs: usize = (0..nodes.count()).map(|node| of_node(node) * (size - of_node(node))).sum();
    // A message for each leader and round, of each doubling.
    let doublings =
        count * Shape { ranks: nodes.count() }.ranks.next_power_of_two().ilog2() as usize;
    let all_leaders = count * (count - 1);
    let collective = |name, collective: Collective, messages, blocks: usize| Case {
        name,
        schedule: Box::new(move |rank| collective.schedule(by, nodes, rank)),
        messages,
        bytes: blocks * bytes,
        by_leaders: true,
    };
    let blocks = vec![bytes; size];
    let (scattered, exchanged) = (blocks.clone(), blocks.clone());
    let at_root = move |rank| vec![bytes; if rank == root { size } else { 0 }];
    let each = |name, schedule: Box<dyn Fn(u32) -> Schedule + 'a>, messages| Case {
        name,
        schedule,
        messages,
        bytes: messages * bytes,
        by_leaders: false,
    };
    let mut cases = vec![
        collective("barrier", Collective::Barrier, doublings, 0),
        collective("bcast", Collective::Bcast(Bcast { bytes, root }), count - 1, count - 1),
        collective("gather", Collective::Gather(rooted), count - 1, beyond_root),
        collective("scatter", Collective::Scatter(rooted), count - 1, beyond_root),
        collective("allgather", Collective::Allgather(uniform), all_leaders, (count - 1) * size),
        collective("alltoall", Collective::Alltoall(uniform), all_leaders, pairs),
        collective(
            "reduce",
            Collective::Reduce(Reduce { operands, root, in_place: false }),
            count - 1,
            count - 1,
        ),
        collective(
            "allreduce",
            Collective::Allreduce(Allreduce { operands, in_place: false }),
            doublings,
            doublings,
        ),
        collective(
            "reduce_scatter_block",
            Collective::ReduceScatterBlock(ReduceScatterBlock { block: operands, in_place: false }),
            all_leaders,
            (count - 1) * size,
        ),
        Case {
            name: "allgatherv",
            schedule: Box::new(move |rank| {
                allgatherv(by, nodes, rank, RankBlocks { blocks: &blocks, in_place: false })
            }),
            messages: all_leaders,
            bytes: (count - 1) * size * bytes,
            by_leaders: true,
        },
        Case {
            name: "reduce_scatter",
            schedule: Box::new(move |rank| {
                let args = ReduceScatter { blocks: &scattered, commutative: true, in_place: false };
                reduce_scatter(by, nodes, rank, args)
            }),
            messages: all_leaders,
            bytes: (count - 1) * size * bytes,
            by_leaders: true,
        },
        each(
            "gatherv",
            Box::new(move |rank| {
                let blocks = at_root(rank);
                let args = RootedBlocks { own: bytes, blocks: &blocks, root, in_place: false };
                gatherv(by, nodes, rank, args)
            }),
            beyond_root,
        ),
        each(
            "scatterv",
            Box::new(move |rank| {
                let blocks = at_root(rank);
                let args = RootedBlocks { own: bytes, blocks: &blocks, root, in_place: false };
                scatterv(by, nodes, rank, args)
            }),
            beyond_root,
        ),
        each(
            "alltoallv",
            Box::new(move |rank| {
                let (send, receive) = (&exchanged[..], &exchanged[..]);
                let args = BlockPairs { send, receive, in_place: false };
                alltoallv(by, nodes, rank, args)
            }),
            pairs,
        ),
    ];
    if nodes.are_in_order() {
        cases.push(collective("scan", Collective::Scan(scan), doublings, doublings));
        cases.push(collective("exscan", Collective::Exscan(scan), doublings, doublings));
    }
    cases
}

/// Nodes of each kind of machine, and clusters.
fn each_case(bytes: usize, check: impl Fn(&Nodes, &Case<'_>, Crossing, &str)) {
    let machines = machine_model::MACHINES.map(|m| Selection::default().with_machine(m));
    each_case_by(&machines, bytes, &check);
    each_case_by(&[between_clusters()], bytes, &check);
}

/// The selection for a communicator of several clusters.
fn between_clusters() -> Selection {
    Selection::default().with_clusters().across_jobs(true).into_owned()
}

fn each_case_by(
    selections: &[Selection], bytes: usize, check: &impl Fn(&Nodes, &Case<'_>, Crossing, &str),
) {
    for (by, places) in selections.iter().flat_map(|by| PLACES.map(|p| (by, p))) {
        let nodes = Nodes::new(places.iter().copied()).unwrap();
        for root in [0, 1, nodes.size() - 1] {
            for case in cases(by, &nodes, bytes, root) {
                let name = format!("{} from {root} on {places:?}, {by:?}", case.name);
                let crossing = Crossing::of(&nodes, &case.schedule);
                check(&nodes, &case, crossing, &name);
            }
        }
    }
}

/// One rank of a node speaks for it, and each round of a pair of leaders is one message in each
/// direction.
#[test]
fn short_data_cross_between_leaders_in_the_fewest_messages() {
    each_case(ELEMENT, |nodes, case, crossing, name| {
        let Crossing { messages, bytes, ranks, .. } = crossing;
        assert!(messages <= case.messages, "{name}: {messages} messages, not {}", case.messages);
        assert!(bytes <= case.bytes, "{name}: {bytes} bytes, not {}", case.bytes);
        if case.by_leaders {
            assert_eq!(ranks.len(), nodes.count() as usize, "{name}: {ranks:?}");
        }
    });
}

/// Long data may cross in more messages. A form of one level is chosen where the work inside the nodes
/// would take longer than the bytes that it saves, which happens up to three times the least.
#[test]
fn long_data_cross_at_most_three_times_as_often_as_at_best() {
    for bytes in [4096, 64 << 10, 1 << 20] {
        each_case(bytes, |_, case, crossing, name| {
            let (bytes, least) = (crossing.bytes, case.bytes);
            assert!(bytes <= 3 * least, "{name}: {bytes} bytes, at best {least}");
        });
    }
}

/// Between clusters a crossing costs more than all else: of long data, nearly the least bytes cross.
#[test]
fn long_data_cross_between_clusters_hardly_more_often_than_at_best() {
    for bytes in [4096, 64 << 10, 1 << 20] {
        each_case_by(&[between_clusters()], bytes, &|_, case, crossing, name| {
            let (bytes, least) = (crossing.bytes, case.bytes);
            assert!(2 * bytes <= 3 * least, "{name}: {bytes} bytes, at best {least}");
        });
    }
}

/// The costs of a form of one level cover what crosses the busiest link, so the comparison with two
/// levels is fair to both.
struct LinkCosts<'a> {
    nodes: &'a Nodes,
    by: &'a Selection,
    operation: CollectiveOperation,
}

impl Visitor for LinkCosts<'_> {
    type Output = ();

    fn visit<A: Arguments>(self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>) {
        let shape = Shape { ranks: self.nodes.size() };
        let view = HierarchyView::new(self.nodes, self.by, 0);
        for algorithm in family.algorithms {
            if !(algorithm.fits)(shape, args.agreed()) {
                continue;
            }
            let chosen = ChosenAlgorithm::new(algorithm, None);
            let cost = view.cost_in_one(self.operation, &chosen, args);
            let crossing = Crossing::of(self.nodes, |rank| (algorithm.schedule)(shape, rank, args));
            let (messages, bytes) = crossing.of_link;
            let name = format!("{:?} by {} on {:?}", self.operation, algorithm.name, self.nodes);
            assert!(messages as u64 <= cost.messages, "{name}: {messages} messages, {cost:?}");
            assert!(bytes as u64 <= cost.bytes, "{name}: {bytes} bytes, {cost:?}");
        }
    }
}

#[test]
fn costs_of_one_level_cover_the_busiest_link() {
    let by = Selection::default();
    // The costs of the others do not know the lengths.
    let others = [
        CollectiveOperation::Gatherv,
        CollectiveOperation::Scatterv,
        CollectiveOperation::Alltoallv,
    ];
    for places in PLACES {
        let nodes = Nodes::new(places.iter().copied()).unwrap();
        let shape = Shape { ranks: nodes.size() };
        for operation in CollectiveOperation::ALL.into_iter().filter(|one| !others.contains(one)) {
            for bytes in [ELEMENT, 64 << 10] {
                operation.visit(shape, bytes, LinkCosts { nodes: &nodes, by: &by, operation });
            }
        }
    }
}
