//! Operations on several nodes, for placements of ranks drawn from a seed: the resulting bytes of
//! each rank, and the messages between nodes.

use mpi_abi::mpi::collective::algorithms::Collective;
use mpi_abi::mpi::collective::algorithms::algorithm::Arguments;
use mpi_abi::mpi::collective::algorithms::hierarchical;
use mpi_abi::mpi::collective::algorithms::hierarchical::costs;
use mpi_abi::mpi::collective::algorithms::hierarchical::costs::TwoLevel;
use mpi_abi::mpi::collective::algorithms::hierarchical::{HierarchyView, Nodes};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, Operands, RankBlocks, Reduce, ReduceScatter, Rooted, Scan, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::mpi::collective::selection::{AlgorithmChoice, Selection};
use mpi_abi::offload::{Schedule, StepAction};
use platform::base::Random;

use super::reductions::assert_combined;
use super::symbolic::{Algebra, Byte};
use super::{Case, Shape};

const ELEMENT: usize = 2;

/// A placement of ranks on nodes.
#[derive(Clone)]
pub struct Placement {
    seed: u64,
    pub nodes: Nodes,
    pub by: Selection,
}

/// Distributions of ranks over `nodes` nodes.
fn place(rank: u32, ranks: u32, nodes: u32, kind: u64, random: &mut Random) -> u32 {
    match kind {
        // By block, cyclic, and random.
        0 => rank * nodes / ranks,
        1 => rank % nodes,
        _ => random.below(nodes.into()) as u32,
    }
}

/// For each number of ranks some placements on several nodes, one of them with a node per rank.
pub fn placements() -> impl Iterator<Item = Placement> {
    let seeds = (2..=24).flat_map(|ranks| {
        let seeds = if ranks <= 8 { 6 } else { 4 };
        (0..seeds).map(move |seed| (ranks, seed))
    });
    seeds.filter_map(|(ranks, number)| {
        let seed = u64::from(ranks) << 8 | number;
        let mut random = Random::new(seed);
        let count = if number == 3 { ranks } else { 2 + random.below(ranks.into()) as u32 / 2 };
        let places: Vec<u32> =
            (0..ranks).map(|rank| place(rank, ranks, count, number % 3, &mut random)).collect();
        Some(Placement { seed, nodes: Nodes::new(places)?, by: Selection::default() })
    })
}

impl Placement {
    pub fn shape(&self) -> Shape {
        Shape { ranks: self.nodes.size() }
    }

    fn view(&self, rank: u32) -> HierarchyView<'_> {
        HierarchyView::new(&self.nodes, &self.by, rank)
    }

    pub fn name(&self, what: &str) -> String {
        let ranks: Vec<&[u32]> =
            (0..self.nodes.count()).map(|node| self.nodes.ranks(node)).collect();
        format!("{what}, seed {:#x}, nodes {ranks:?}", self.seed)
    }

    /// Two roots.
    pub fn roots(&self) -> [u32; 2] {
        let mut random = Random::new(self.seed ^ 0xf00d);
        [0, 1].map(|_| random.below(self.nodes.size().into()) as u32)
    }

    pub fn schedules(&self, part: impl Fn(HierarchyView<'_>) -> Schedule) -> Vec<Schedule> {
        (0..self.nodes.size()).map(|rank| part(self.view(rank))).collect()
    }

    /// Messages between nodes: sender, receiver, bytes.
    pub fn crossing(&self, part: impl Fn(HierarchyView<'_>) -> Schedule) -> Vec<(u32, u32, usize)> {
        let schedules = self.schedules(part);
        let mut crossing = Vec::new();
        for (rank, schedule) in (0..).zip(&schedules) {
            for step in schedule.steps() {
                if let StepAction::Send { peer, region, .. } = step.action
                    && self.nodes.node_of(peer) != self.nodes.node_of(rank)
                {
                    crossing.push((rank, peer, region.len));
                }
            }
        }
        crossing
    }

    /// Runs an operation and compares all buffers.
    pub fn expect(
        &self, what: &str, part: &dyn Fn(HierarchyView<'_>) -> Schedule,
        before: &dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>,
        after: &dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>,
    ) {
        let schedule = |rank| part(self.view(rank));
        let name = self.name(what);
        Case { name, shape: self.shape(), element: 1, schedule: &schedule, before }.expect(after);
    }

    /// Whether a rank is the lowest of its node.
    pub fn leads(&self, rank: u32) -> bool {
        self.leads_in_turn(0, rank)
    }

    /// Whether a rank is one of the two lowest of its node: the one whose turn it is.
    fn leads_in_turn(&self, turn: usize, rank: u32) -> bool {
        let ranks = self.nodes.ranks(self.nodes.node_of(rank));
        ranks[turn % ranks.len()] == rank
    }
}

/// Set of ranks, one bit each.
pub type Known = u64;

/// The ranks on whose entry each rank depends when it completes.
pub fn heard(schedules: &[Schedule]) -> Vec<Known> {
    // In executable order: a local step has the round of its dependency.
    let turn = |action: StepAction| match action {
        StepAction::Send { .. } => 0,
        StepAction::Receive { .. } => 1,
        StepAction::Copy { .. } | StepAction::Reduce { .. } => 2,
    };
    let mut steps: Vec<(u32, u32, usize, u32)> = Vec::new();
    for (rank, schedule) in schedules.iter().enumerate() {
        let all = (0..).zip(schedule.steps());
        steps.extend(all.map(|(id, step)| (step.round, turn(step.action), rank, id)));
    }
    steps.sort_unstable();
    let mut known: Vec<Vec<Known>> =
        schedules.iter().map(|schedule| vec![0; schedule.steps().len()]).collect();
    let mut sent = std::collections::HashMap::new();
    for (_, _, rank, id) in steps {
        let schedule = &schedules[rank];
        let before = schedule.predecessors(id).iter().map(|earlier| known[rank][*earlier as usize]);
        let mut knows = before.fold(1 << rank, |all, one| all | one);
        match schedule.steps()[id as usize].action {
            StepAction::Send { peer, label, .. } => drop(sent.insert((rank, peer, label), knows)),
            StepAction::Receive { peer, label, .. } => {
                knows |= sent[&(peer as usize, rank as u32, label)];
            }
            StepAction::Copy { .. } | StepAction::Reduce { .. } => {}
        }
        known[rank][id as usize] = knows;
    }
    let own = (0..).map(|rank: usize| 1 << rank);
    known.iter().zip(own).map(|(steps, own)| steps.iter().fold(own, |all, one| all | one)).collect()
}

#[test]
fn a_barrier_hears_of_all_and_leaders_alone_cross() {
    for (placement, turn) in
        placements().flat_map(|placement| [0, 1].map(|turn| (placement.clone(), turn)))
    {
        let barrier = |view: HierarchyView<'_>| hierarchical::barrier(view.in_turn(turn));
        let schedules = placement.schedules(barrier);
        mpi_abi::offload::check::check(&schedules).unwrap();
        let all = (1 << placement.nodes.size()) - 1;
        let name = placement.name("barrier");
        assert!(heard(&schedules).iter().all(|known| *known == all), "{name}");
        for (from, to, _) in placement.crossing(barrier) {
            let leads = |rank| placement.leads_in_turn(turn as usize, rank);
            assert!(leads(from) && leads(to), "{name}, turn {turn}: {from} to {to}");
        }
    }
}

#[test]
fn a_broadcast_enters_each_other_node_once() {
    for placement in placements() {
        for (root, bytes) in placement.roots().into_iter().zip([7, 0]) {
            let args = Bcast { bytes, root };
            let part = |view: HierarchyView<'_>| hierarchical::bcast(view, args);
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
        }
        // A message of several segments is counted once per segment.
        for (root, bytes) in
            placement.roots().into_iter().flat_map(|root| [(root, 9), (root, 900_000)])
        {
            let mut entered = vec![0; placement.nodes.count() as usize];
            for (_, to, len) in
                placement.crossing(|view| hierarchical::bcast(view, Bcast { bytes, root }))
            {
                entered[placement.nodes.node_of(to) as usize] += len;
            }
            let due = |node: u32| if node == placement.nodes.node_of(root) { 0 } else { bytes };
            let due: Vec<usize> = (0..placement.nodes.count()).map(due).collect();
            assert_eq!(entered, due, "{} from {root}", placement.name("bcast"));
        }
    }
}

fn rooted(run: impl Fn(&Placement, Rooted)) {
    for placement in placements() {
        for (root, in_place) in placement.roots().into_iter().zip([false, true]) {
            run(&placement, Rooted { block: 3, root, in_place });
            run(&placement, Rooted { block: 0, root, in_place });
        }
    }
}

/// No message enters (or leaves) the root's node; one enters (or leaves) each other node.
fn assert_crosses_once(
    placement: &Placement, args: Rooted, part: impl Fn(HierarchyView<'_>) -> Schedule, leaves: bool,
) {
    let mut crossed = vec![0; placement.nodes.count() as usize];
    for (from, to, len) in placement.crossing(part) {
        let (away, at_root) = if leaves { (from, to) } else { (to, from) };
        let node = placement.nodes.node_of(away);
        assert_eq!(len, placement.nodes.ranks(node).len() * args.block);
        assert_eq!(at_root, args.root);
        crossed[node as usize] += 1;
    }
    let own = placement.nodes.node_of(args.root);
    let due = |node| u32::from(node != own && args.block > 0);
    let due: Vec<u32> = (0..placement.nodes.count()).map(due).collect();
    assert_eq!(crossed, due, "{}", placement.name("rooted"));
}

#[test]
fn a_gather_leaves_each_other_node_once() {
    rooted(|placement, args| {
        let Rooted { block, root, in_place } = args;
        let all = placement.nodes.size() as usize * block;
        let send = |rank, algebra: &mut Algebra| match rank == root && in_place {
            true => Vec::new(),
            false => algebra.leaves(rank, 0, block),
        };
        let part = |view: HierarchyView<'_>| hierarchical::gather(view, args);
        placement.expect(
            &format!("gather {args:?}"),
            &part,
            &|rank, algebra| {
                let mut receive = algebra.junk(if rank == root { all } else { 0 });
                if rank == root && in_place {
                    let own = algebra.leaves(root, 0, block);
                    receive[root as usize * block..][..block].copy_from_slice(&own);
                }
                vec![send(rank, algebra), receive]
            },
            &|rank, algebra| {
                let from = 0..if rank == root { placement.nodes.size() } else { 0 };
                let receive = from.flat_map(|rank| algebra.leaves(rank, 0, block)).collect();
                vec![send(rank, algebra), receive]
            },
        );
        assert_crosses_once(placement, args, part, true);
    });
}

#[test]
fn a_scatter_enters_each_other_node_once() {
    rooted(|placement, args| {
        let Rooted { block, root, in_place } = args;
        let all = placement.nodes.size() as usize * block;
        let send = |rank, algebra: &mut Algebra| {
            algebra.leaves(rank, 0, if rank == root { all } else { 0 })
        };
        let kept = |rank| rank == root && in_place;
        let part = |view: HierarchyView<'_>| hierarchical::scatter(view, args);
        placement.expect(
            &format!("scatter {args:?}"),
            &part,
            &|rank, algebra| {
                let receive = algebra.junk(if kept(rank) { 0 } else { block });
                vec![send(rank, algebra), receive]
            },
            &|rank, algebra| {
                let len = if kept(rank) { 0 } else { block };
                let receive = algebra.leaves(root, rank as usize * block, len);
                vec![send(rank, algebra), receive]
            },
        );
        assert_crosses_once(placement, args, part, false);
    });
}

#[test]
fn an_allgather_crosses_between_leaders() {
    for placement in placements() {
        for (block, in_place) in [(3, false), (3, true), (0, false)] {
            let args = UniformBlocks { block, in_place };
            let ranks = placement.nodes.size();
            let send = |rank, algebra: &mut Algebra| {
                algebra.leaves(rank, 0, if in_place { 0 } else { block })
            };
            let part = |view: HierarchyView<'_>| hierarchical::allgather(view, args);
            placement.expect(
                &format!("allgather {args:?}"),
                &part,
                &|rank, algebra| {
                    let mut receive = algebra.junk(ranks as usize * block);
                    if in_place {
                        let own = algebra.leaves(rank, 0, block);
                        receive[rank as usize * block..][..block].copy_from_slice(&own);
                    }
                    vec![send(rank, algebra), receive]
                },
                &|rank, algebra| {
                    let all = (0..ranks).flat_map(|of| algebra.leaves(of, 0, block)).collect();
                    vec![send(rank, algebra), all]
                },
            );
            for (from, to, _) in placement.crossing(part) {
                assert!(placement.leads(from) && placement.leads(to));
            }
        }
    }
}

/// A length for each rank, some of them 0.
fn lengths(placement: &Placement) -> Vec<usize> {
    let mut random = Random::new(placement.seed ^ 0xbeef);
    (0..placement.nodes.size()).map(|_| random.below(5) as usize * ELEMENT).collect()
}

#[test]
fn an_allgather_of_unlike_blocks_crosses_between_leaders() {
    for placement in placements() {
        let zero = vec![0; placement.nodes.size() as usize];
        for (blocks, in_place) in
            [(lengths(&placement), false), (lengths(&placement), true), (zero, false)]
        {
            let kept = |rank: u32| in_place && rank.is_multiple_of(2);
            let args = |rank| RankBlocks { blocks: &blocks, in_place: kept(rank) };
            let part = |view: HierarchyView<'_>| hierarchical::allgatherv(view, args(view.rank()));
            let block =
                |rank: u32, algebra: &mut Algebra| algebra.leaves(rank, 0, blocks[rank as usize]);
            let send = |rank, algebra: &mut Algebra| match kept(rank) {
                true => Vec::new(),
                false => block(rank, algebra),
            };
            let before = |rank, algebra: &mut Algebra| {
                let mut all = vec![send(rank, algebra)];
                for other in 0..placement.nodes.size() {
                    let is_here = kept(rank) && other == rank;
                    let len = blocks[other as usize];
                    all.push(if is_here { block(rank, algebra) } else { algebra.junk(len) });
                }
                all
            };
            placement.expect("allgatherv", &part, &before, &|rank, algebra| {
                let mut all = vec![send(rank, algebra)];
                all.extend((0..placement.nodes.size()).map(|other| block(other, algebra)));
                all
            });
            for (from, to, _) in placement.crossing(part) {
                assert!(placement.leads(from) && placement.leads(to));
            }
        }
    }
}

#[test]
fn an_alltoall_crosses_in_one_message_for_two_nodes() {
    for placement in placements() {
        for (block, in_place) in [(3, false), (3, true), (0, true)] {
            let args = UniformBlocks { block, in_place };
            let ranks = placement.nodes.size();
            let all = ranks as usize * block;
            let send = |rank, algebra: &mut Algebra| {
                algebra.leaves(rank, 0, if in_place { 0 } else { all })
            };
            let part = |view: HierarchyView<'_>| hierarchical::alltoall(view, args);
            placement.expect(
                &format!("alltoall {args:?}"),
                &part,
                &|rank, algebra| {
                    let receive =
                        if in_place { algebra.leaves(rank, 0, all) } else { algebra.junk(all) };
                    vec![send(rank, algebra), receive]
                },
                &|rank, algebra| {
                    let start = rank as usize * block;
                    let column = (0..ranks).flat_map(|of| algebra.leaves(of, start, block));
                    let column = column.collect();
                    vec![send(rank, algebra), column]
                },
            );
            let nodes = placement.nodes.count() as usize;
            let due = if block > 0 { nodes * (nodes - 1) } else { 0 };
            assert_eq!(placement.crossing(part).len(), due);
        }
    }
}

/// Operands of two elements; in order if they do not commute.
pub fn operands(placement: &Placement, elements: usize) -> Operands {
    let commutative = !placement.nodes.are_in_order();
    Operands { bytes: elements * ELEMENT, element: ELEMENT, commutative }
}

/// The send and the receive buffer of a rank that contributes.
fn buffers(rank: u32, bytes: usize, in_place: bool, algebra: &mut Algebra) -> Vec<Vec<Byte>> {
    let own = algebra.leaves(rank, 0, bytes);
    if in_place { vec![Vec::new(), own] } else { vec![own, algebra.junk(bytes)] }
}

/// Runs a reduction; `result` gives the ranks whose operands a rank's result contains.
pub fn reduction(
    placement: &Placement, what: &str, operands: Operands,
    part: &dyn Fn(HierarchyView<'_>) -> Schedule, in_place: &dyn Fn(u32) -> bool,
    result: &dyn Fn(u32) -> Option<u32>,
) {
    let name = placement.name(what);
    let case = Case {
        name: name.clone(),
        shape: placement.shape(),
        element: ELEMENT,
        schedule: &|rank| part(placement.view(rank)),
        before: &|rank, algebra| buffers(rank, operands.bytes, in_place(rank), algebra),
    };
    let mut algebra = Algebra::default();
    for (rank, after) in (0..).zip(case.run(&mut algebra)) {
        let before = buffers(rank, operands.bytes, in_place(rank), &mut algebra);
        assert_eq!(after[0], before[0], "{name}: the send buffer of rank {rank} changed");
        match result(rank) {
            None => assert_eq!(after[1], before[1], "{name}: rank {rank} has no result"),
            Some(end) => {
                assert_combined(&after[1], 0..end, 0, !operands.commutative, &algebra, &name);
            }
        }
    }
}

/// Ranks need not agree on it.
const IN_PLACE: [fn(u32) -> bool; 3] = [|_| false, |_| true, |rank| rank % 3 == 1];

#[test]
fn a_reduction_leaves_each_other_node_once() {
    for placement in placements() {
        let ranks = placement.nodes.size();
        for (root, kept) in placement.roots().into_iter().zip([false, true]) {
            for elements in [2, 0] {
                let operands = operands(&placement, elements);
                let args = Reduce { operands, root, in_place: kept };
                let part = |view: HierarchyView<'_>| hierarchical::reduce(view, args);
                let in_place = |rank| rank == root && kept;
                let result = |rank| (rank == root && elements > 0).then_some(ranks);
                reduction(&placement, &format!("{args:?}"), operands, &part, &in_place, &result);
                // Without a fixed order, every other node sends its operand once.
                if operands.commutative && elements > 0 {
                    let crossing = placement.crossing(part);
                    assert_eq!(crossing.len(), placement.nodes.count() as usize - 1);
                }
            }
        }
    }
}

#[test]
fn an_allreduce_crosses_between_leaders() {
    for placement in placements() {
        let ranks = placement.nodes.size();
        for (in_place, elements) in IN_PLACE.into_iter().zip([2, 1, 2]).chain([(IN_PLACE[0], 0)]) {
            let operands = operands(&placement, elements);
            let args = |rank| Allreduce { operands, in_place: in_place(rank) };
            let part = |view: HierarchyView<'_>| hierarchical::allreduce(view, args(view.rank()));
            let result = |_| (elements > 0).then_some(ranks);
            reduction(&placement, "allreduce", operands, &part, &in_place, &result);
            for (from, to, _) in placement.crossing(part) {
                assert!(placement.leads(from) && placement.leads(to));
            }
            let other = |view: HierarchyView<'_>| part(view.in_turn(1));
            reduction(&placement, "allreduce in turn 1", operands, &other, &in_place, &result);
            // Two operands have one association, so the leaders of small nodes take turns.
            let turn = usize::from(placement.nodes.largest() <= 2);
            for (from, to, _) in placement.crossing(other) {
                let leads = |rank| placement.leads_in_turn(turn, rank);
                assert!(leads(from) && leads(to), "{from} to {to}");
            }
        }
    }
}

#[test]
fn a_reduce_scatter_crosses_between_leaders() {
    for placement in placements() {
        let ranks = placement.nodes.size();
        let zero = vec![0; ranks as usize];
        let blocks =
            [lengths(&placement), vec![ELEMENT; ranks as usize], lengths(&placement), zero];
        for (in_place, blocks) in IN_PLACE.into_iter().chain([IN_PLACE[1]]).zip(blocks) {
            let total = blocks.iter().sum();
            let Operands { commutative, .. } = operands(&placement, 1);
            let args =
                |rank| ReduceScatter { blocks: &blocks, commutative, in_place: in_place(rank) };
            let part =
                |view: HierarchyView<'_>| hierarchical::reduce_scatter(view, args(view.rank()));
            let before = |rank: u32, algebra: &mut Algebra| {
                let all = algebra.leaves(rank, 0, total);
                match in_place(rank) {
                    true => vec![Vec::new(), all],
                    false => vec![all, algebra.junk(blocks[rank as usize])],
                }
            };
            let name = placement.name("reduce-scatter");
            let case = Case {
                name: name.clone(),
                shape: placement.shape(),
                element: ELEMENT,
                schedule: &|rank| part(placement.view(rank)),
                before: &before,
            };
            let mut algebra = Algebra::default();
            for (rank, after) in (0..).zip(case.run(&mut algebra)) {
                let (own, due) = (rank as usize, before(rank, &mut algebra));
                assert_eq!(after[0], due[0], "{name}: the send buffer of rank {rank} changed");
                let start = blocks[..own].iter().sum::<usize>() as u32;
                let result = &after[1][..blocks[own]];
                assert_combined(result, 0..ranks, start, !commutative, &algebra, &name);
            }
            for (from, to, _) in placement.crossing(part) {
                assert!(placement.leads(from) && placement.leads(to));
            }
        }
    }
}

#[test]
fn an_exscan_goes_from_node_to_node() {
    for placement in placements().filter(|placement| placement.nodes.are_in_order()) {
        for (in_place, elements) in IN_PLACE.into_iter().zip([2, 1, 2]).chain([(IN_PLACE[0], 0)]) {
            let operands = operands(&placement, elements);
            let args = |rank| Scan { operands, in_place: in_place(rank) };
            let part = |view: HierarchyView<'_>| hierarchical::exscan(view, args(view.rank()));
            let result = |rank: u32| (elements > 0 && rank > 0).then_some(rank);
            reduction(&placement, "exscan", operands, &part, &in_place, &result);
        }
    }
}

#[test]
fn a_scan_goes_from_node_to_node() {
    for placement in placements().filter(|placement| placement.nodes.are_in_order()) {
        for (in_place, elements) in IN_PLACE.into_iter().zip([2, 1, 2]).chain([(IN_PLACE[0], 0)]) {
            let operands = operands(&placement, elements);
            let args = |rank| Scan { operands, in_place: in_place(rank) };
            let part = |view: HierarchyView<'_>| hierarchical::scan(view, args(view.rank()));
            let result = |rank: u32| (elements > 0).then_some(rank + 1);
            reduction(&placement, "scan", operands, &part, &in_place, &result);
        }
    }
}

/// Messages and bytes between nodes are at most the claim; rounds are equal to it.
fn assert_cost<A: Arguments>(placement: &Placement, two: &TwoLevel<A>, args: A::Borrowed<'_>) {
    if !(two.fits)(&placement.nodes, args) {
        return;
    }
    let name = placement.name(&format!("{:?}", two.operation));
    let claimed = (two.cost)(placement.view(0), args);
    let schedules = placement.schedules(|view| (two.schedule)(view, args));
    let rounds = schedules.iter().map(Schedule::rounds).max().unwrap_or(0);
    let due = claimed.intra_node.rounds + claimed.inter_node.rounds;
    // The first node of a scan, which may be the largest, has no third phase; empty blocks are not sent.
    let is_exact = ![
        CollectiveOperation::Scan,
        CollectiveOperation::Exscan,
        CollectiveOperation::Allgatherv,
        CollectiveOperation::ReduceScatter,
    ]
    .contains(&two.operation);
    assert!(u64::from(rounds) <= due, "{name}: {rounds} rounds");
    assert!(u64::from(rounds) == due || !is_exact, "{name}: {rounds} rounds");
    let mut of_rank = vec![[(0, 0); 2]; schedules.len()];
    for (from, to, bytes) in placement.crossing(|view| (two.schedule)(view, args)) {
        for (rank, side) in [(from, 0), (to, 1)] {
            let (messages, sum) = &mut of_rank[rank as usize][side];
            (*messages, *sum) = (*messages + 1, *sum + bytes as u64);
        }
    }
    for (messages, bytes) in of_rank.into_iter().flatten() {
        assert!(messages <= claimed.inter_node.messages, "{name}: {messages} messages");
        assert!(bytes <= claimed.inter_node.bytes, "{name}: {bytes} bytes");
    }
}

#[test]
fn what_crosses_costs_what_is_claimed() {
    for placement in placements() {
        let [root, _] = placement.roots();
        let (block, in_place) = (3, false);
        let operands = operands(&placement, 2);
        assert_cost(&placement, &costs::BARRIER, ());
        for bytes in [9, 300_000] {
            assert_cost(&placement, &costs::BCAST, Bcast { bytes, root });
        }
        assert_cost(&placement, &costs::GATHER, Rooted { block, root, in_place });
        assert_cost(&placement, &costs::SCATTER, Rooted { block, root, in_place });
        assert_cost(&placement, &costs::ALLGATHER, UniformBlocks { block, in_place });
        assert_cost(&placement, &costs::ALLTOALL, UniformBlocks { block, in_place });
        assert_cost(&placement, &costs::REDUCE, Reduce { operands, root, in_place });
        assert_cost(&placement, &costs::ALLREDUCE, Allreduce { operands, in_place });
        assert_cost(&placement, &costs::SCAN, Scan { operands, in_place });
        assert_cost(&placement, &costs::EXSCAN, Scan { operands, in_place });
        for blocks in [lengths(&placement), vec![ELEMENT; placement.nodes.size() as usize]] {
            let commutative = operands.commutative;
            assert_cost(&placement, &costs::ALLGATHERV, RankBlocks { blocks: &blocks, in_place });
            let args = ReduceScatter { blocks: &blocks, commutative, in_place };
            assert_cost(&placement, &costs::REDUCE_SCATTER, args);
        }
    }
}

#[test]
fn two_levels_are_chosen_where_they_save_or_are_wanted() {
    let by = Selection::default();
    let is_in_two = |by: &Selection, nodes: &Nodes, args: Bcast| {
        let two = hierarchical::bcast(HierarchyView::new(nodes, by, 1), args);
        Collective::Bcast(args).schedule(by, nodes, 1) == two
    };
    let short = Bcast { bytes: 8, root: 0 };
    let turns = Nodes::new((0..64).map(|rank| rank % 4)).unwrap();
    assert!(is_in_two(&by, &turns, short));
    let wanted = |text| {
        let mut by = Selection::default();
        let choice = AlgorithmChoice::from_text(CollectiveOperation::Bcast, text).unwrap();
        by.choose_for(CollectiveOperation::Bcast, choice);
        is_in_two(&by, &turns, short)
    };
    assert!(wanted("two_level") && !wanted("binomial"));
    assert_eq!(AlgorithmChoice::from_text(CollectiveOperation::Gatherv, "two_level"), None);
    // With each rank on a node of its own there is only one level.
    let alone = Nodes::new(0..64).unwrap();
    assert!(!(costs::BCAST.fits)(&alone, short));
    let order = Operands { bytes: 8, element: 8, commutative: false };
    let args = Allreduce { operands: order, in_place: false };
    let blocks = Nodes::new((0..64).map(|rank| rank / 16)).unwrap();
    assert!(!(costs::ALLREDUCE.fits)(&turns, args) && (costs::ALLREDUCE.fits)(&blocks, args));
}
