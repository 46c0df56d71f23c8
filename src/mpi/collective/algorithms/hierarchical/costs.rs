//! Costs of hierarchical operations in two levels, and the choice between one level and two.
//!
//! Costs of phases are added. Messages between nodes have the cost of the machine model for the
//! network; in an operation in one level, all messages count as messages between nodes, and the ranks
//! of a node that send at the same time share its link.

use std::ops::Add;

use super::blocks::NodeParts;
use super::reduce::whole_operands;
use super::{HierarchyView, Nodes};
use crate::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments, Cost};
use crate::mpi::collective::algorithms::alltoall;
use crate::mpi::collective::algorithms::gather;
use crate::mpi::collective::algorithms::scatter;
use crate::mpi::collective::algorithms::{
    Allreduce, Bcast, RankBlocks, RankLayout, Reduce, ReduceScatter, Rooted, RootedBlocks, Scan,
    Shape, UniformBlocks,
};
use crate::mpi::collective::selection::chosen::ChosenAlgorithm;
use crate::mpi::collective::selection::registry;
use crate::mpi::collective::selection::registry::{AlgorithmFamily, CollectiveOperation};
use crate::mpi::collective::selection::rules::CallSize;
use crate::mpi::collective::selection::{AlgorithmChoice, Selection};
use crate::offload::Schedule;

/// Name of two-level operations in settings.
pub const NAME: &str = "two_level";

/// An operation in two levels.
pub struct TwoLevel<A: Arguments> {
    /// The operation.
    pub operation: CollectiveOperation,
    /// Whether the two-level form supports this call.
    pub fits: fn(&Nodes, A::Borrowed<'_>) -> bool,
    /// Cost of a call.
    pub cost: fn(HierarchyView<'_>, A::Borrowed<'_>) -> HierarchicalCost,
    /// Schedule of a rank.
    pub schedule: fn(HierarchyView<'_>, A::Borrowed<'_>) -> Schedule,
}

/// A cost with the messages between nodes counted separately.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct HierarchicalCost {
    /// Cost inside the nodes, the maximum over the nodes.
    pub intra_node: Cost,
    /// Cost between the nodes.
    pub inter_node: Cost,
}

/// Barrier.
pub const BARRIER: TwoLevel<()> = TwoLevel {
    operation: CollectiveOperation::Barrier,
    fits: |nodes, ()| has_local_peers(nodes),
    cost: |view, ()| {
        let largest = Shape { ranks: view.nodes.largest() };
        let (up, down) = (largest.doublings().into(), u64::from(largest.ranks.ilog2()));
        HierarchicalCost {
            intra_node: Cost { rounds: up + down, messages: up, ..Cost::ZERO },
            inter_node: view.inter_node_cost(&registry::BARRIER, ()),
        }
    },
    schedule: |view, ()| super::barrier(view),
};

/// Broadcast.
pub const BCAST: TwoLevel<Bcast> = TwoLevel {
    operation: CollectiveOperation::Bcast,
    fits: |nodes, _| has_local_peers(nodes),
    cost: |view, args| {
        let root = view.nodes.node_of(args.root);
        HierarchicalCost {
            intra_node: intra_node_bcast(view.rooted(args.root), args.bytes),
            inter_node: view.inter_node_cost(&registry::BCAST, Bcast { root, ..args }),
        }
    },
    schedule: super::bcast,
};

/// Gather.
pub const GATHER: TwoLevel<Rooted> = TwoLevel {
    operation: CollectiveOperation::Gather,
    fits: |nodes, _| has_local_peers(nodes),
    cost: |view, args| HierarchicalCost {
        intra_node: intra_node_gather(view.rooted(args.root), args.block)
            + reorder_cost(view, args.block),
        inter_node: (gather::linear::GATHERV.cost)(
            view.leaders(),
            inter_node_arguments(view, args, &inter_node_lengths(view, args)),
        ),
    },
    schedule: super::gather,
};

/// Scatter.
pub const SCATTER: TwoLevel<Rooted> = TwoLevel {
    operation: CollectiveOperation::Scatter,
    fits: |nodes, _| has_local_peers(nodes),
    cost: |view, args| {
        let root = view.rooted(args.root);
        let from_leader = |node| Rooted { root: root.leader_place(node), ..args };
        HierarchicalCost {
            intra_node: root.intra_node_cost(&registry::SCATTER, &from_leader)
                + reorder_cost(view, args.block),
            inter_node: (scatter::linear::SCATTERV.cost)(
                view.leaders(),
                inter_node_arguments(view, args, &inter_node_lengths(view, args)),
            ),
        }
    },
    schedule: super::scatter,
};

/// Allgather.
pub const ALLGATHER: TwoLevel<UniformBlocks> = TwoLevel {
    operation: CollectiveOperation::Allgather,
    fits: |nodes, _| has_local_peers(nodes),
    cost: |view, args| {
        let all = args.block * view.nodes.size() as usize;
        let lens = view.node_lengths(args.block);
        let among = RankBlocks { blocks: &lens, in_place: true };
        let uniform = UniformBlocks { block: lens[0], in_place: true };
        let between = match lens.iter().all(|len| *len == lens[0]) {
            true => view.inter_node_cost(&registry::ALLGATHER, uniform),
            false => view.inter_node_cost(&registry::ALLGATHERV, among),
        };
        let inside = intra_node_gather(view, args.block) + intra_node_bcast(view, all);
        HierarchicalCost {
            intra_node: inside + reorder_cost(view, args.block),
            inter_node: between,
        }
    },
    schedule: super::allgather,
};

/// Allgather of blocks with different lengths.
pub const ALLGATHERV: TwoLevel<RankBlocks> = TwoLevel {
    operation: CollectiveOperation::Allgatherv,
    fits: |nodes, _| has_local_peers(nodes),
    cost: |view, args| {
        let all = args.blocks.iter().sum();
        let parts = NodeParts::new(view, args.blocks);
        let among = RankBlocks { blocks: &parts.lens, in_place: true };
        let gather = parts_cost(view, &parts, gather::linear::GATHERV.cost);
        HierarchicalCost {
            intra_node: gather + intra_node_bcast(view, all) + Cost::of_copy(all as u64),
            inter_node: view.inter_node_cost(&registry::ALLGATHERV, among),
        }
    },
    schedule: super::allgatherv,
};

/// Alltoall.
pub const ALLTOALL: TwoLevel<UniformBlocks> = TwoLevel {
    operation: CollectiveOperation::Alltoall,
    fits: |nodes, _| has_local_peers(nodes) && nodes.largest() * nodes.size() <= LEADER_COPIES_MAX,
    cost: |view, args| {
        let (size, largest) = (u64::from(view.nodes.size()), u64::from(view.nodes.largest()));
        let row = args.block * view.nodes.size() as usize;
        let with_leader = Rooted { block: row, root: 0, in_place: false };
        let none = UniformBlocks { block: 0, ..args };
        let meeting = match args.block {
            0 => (alltoall::pairwise::ALLTOALL.cost)(view.leaders(), none),
            _ => alltoall::pairwise::windowed_cost(view.leaders(), alltoall::pairwise::WINDOW),
        };
        let packed = Cost::of_copy(2 * largest * row as u64);
        let scatter = view.intra_node_cost(&registry::SCATTER, &|_| with_leader);
        HierarchicalCost {
            intra_node: intra_node_gather(view, row) + scatter + packed,
            inter_node: Cost {
                // The maximum is at half of the ranks, if a node has that many.
                bytes: largest.min(size / 2) * (size - largest.min(size / 2)) * args.block as u64,
                ..meeting
            },
        }
    },
    schedule: super::alltoall,
};

/// Reduce.
pub const REDUCE: TwoLevel<Reduce> = TwoLevel {
    operation: CollectiveOperation::Reduce,
    fits: |nodes, args| {
        has_local_peers(nodes) && (args.operands.commutative || nodes.are_in_order())
    },
    cost: |view, args| {
        let root = view.nodes.node_of(args.root);
        HierarchicalCost {
            intra_node: intra_node_reduce(view.rooted(args.root), args),
            inter_node: view.inter_node_cost(&registry::REDUCE, Reduce { root, ..args }),
        }
    },
    schedule: super::reduce,
};

/// Allreduce.
pub const ALLREDUCE: TwoLevel<Allreduce> = TwoLevel {
    operation: CollectiveOperation::Allreduce,
    fits: |nodes, args| {
        has_local_peers(nodes) && (args.operands.commutative || nodes.are_in_order())
    },
    cost: |view, args| {
        let Allreduce { operands, in_place } = args;
        let to_leader = Reduce { operands, root: 0, in_place };
        HierarchicalCost {
            intra_node: intra_node_reduce(view, to_leader) + intra_node_bcast(view, operands.bytes),
            inter_node: view.inter_node_cost(&registry::ALLREDUCE, args),
        }
    },
    schedule: super::allreduce,
};

/// Reduce-scatter.
pub const REDUCE_SCATTER: TwoLevel<ReduceScatter> = TwoLevel {
    operation: CollectiveOperation::ReduceScatter,
    fits: |nodes, args| has_local_peers(nodes) && (args.commutative || nodes.are_in_order()),
    cost: |view, args| {
        let operands = whole_operands(args);
        let parts = NodeParts::new(view, args.blocks);
        let to_leader = Reduce { operands, root: 0, in_place: false };
        let among = ReduceScatter { blocks: &parts.lens, ..args };
        let reordered = if view.nodes.are_in_order() { 0 } else { operands.bytes as u64 };
        HierarchicalCost {
            intra_node: intra_node_reduce(view, to_leader)
                + Cost::of_copy(reordered)
                + parts_cost(view, &parts, scatter::linear::SCATTERV.cost),
            inter_node: view.inter_node_cost(&registry::REDUCE_SCATTER, among),
        }
    },
    schedule: super::reduce_scatter,
};

/// Scan.
pub const SCAN: TwoLevel<Scan> = TwoLevel {
    operation: CollectiveOperation::Scan,
    fits: |nodes, _| has_local_peers(nodes) && nodes.are_in_order(),
    cost: |view, args| {
        let bytes = args.operands.bytes;
        let combined = Cost { reduced: bytes as u64, ..Cost::ZERO };
        let scan = view.intra_node_cost(&registry::SCAN, &|_| args);
        HierarchicalCost {
            intra_node: scan + intra_node_bcast(view.with_last_leader(), bytes) + combined,
            inter_node: view.inter_node_cost(&registry::EXSCAN, args),
        }
    },
    schedule: super::scan,
};

/// Exscan.
pub const EXSCAN: TwoLevel<Scan> = TwoLevel {
    operation: CollectiveOperation::Exscan,
    fits: SCAN.fits,
    cost: |view, args| {
        let bytes = args.operands.bytes;
        let combined = Cost { reduced: 2 * bytes as u64, copied: bytes as u64, ..Cost::ZERO };
        let exscan = view.intra_node_cost(&registry::EXSCAN, &|_| args);
        HierarchicalCost {
            intra_node: exscan + intra_node_bcast(view.with_last_leader(), bytes) + combined,
            inter_node: view.inter_node_cost(&registry::EXSCAN, args),
        }
    },
    schedule: super::exscan,
};

/// Maximum number of blocks that a leader copies, each in its own step, twice.
const LEADER_COPIES_MAX: u32 = 16 * 1024;

/// Whether any rank has another rank on its node; otherwise only one level is possible.
fn has_local_peers(nodes: &Nodes) -> bool {
    nodes.largest() > 1
}

fn intra_node_bcast(view: HierarchyView<'_>, bytes: usize) -> Cost {
    view.intra_node_cost(&registry::BCAST, &|node| Bcast { bytes, root: view.leader_place(node) })
}

fn intra_node_gather(view: HierarchyView<'_>, block: usize) -> Cost {
    let to_leader = |node| Rooted { block, root: view.leader_place(node), in_place: false };
    view.intra_node_cost(&registry::GATHER, &to_leader)
}

fn intra_node_reduce(view: HierarchyView<'_>, args: Reduce) -> Cost {
    let to_leader = |node| Reduce { root: view.leader_place(node), ..args };
    view.intra_node_cost(&registry::REDUCE, &to_leader)
}

/// Cost of an exchange of blocks between each leader and its node, the maximum over the nodes.
fn parts_cost(
    view: HierarchyView<'_>, parts: &NodeParts<'_>, cost: fn(Shape, RootedBlocks<'_>) -> Cost,
) -> Cost {
    let cost = |node| {
        let lens = parts.rank_lengths(node);
        let args = RootedBlocks { own: 0, blocks: &lens, root: 0, in_place: false };
        cost(view.shape(node), args)
    };
    view.all().map(cost).fold(Cost::ZERO, Cost::maximum)
}

/// Cost of reordering blocks from node order to rank order.
fn reorder_cost(view: HierarchyView<'_>, block: usize) -> Cost {
    let blocks = if view.nodes.are_in_order() { 0 } else { view.nodes.size() };
    Cost::of_copy(u64::from(blocks) * block as u64)
}

/// Bytes of each node that are sent to, or received from, the root's node.
fn inter_node_lengths(view: HierarchyView<'_>, args: Rooted) -> Vec<usize> {
    let mut lens = view.node_lengths(args.block);
    lens[view.nodes.node_of(args.root) as usize] = 0;
    lens
}

fn inter_node_arguments<'a>(
    view: HierarchyView<'_>, args: Rooted, blocks: &'a [usize],
) -> RootedBlocks<'a> {
    RootedBlocks { own: 0, blocks, root: view.nodes.node_of(args.root), in_place: true }
}

impl HierarchyView<'_> {
    /// Cost of a phase inside each node, the maximum over the nodes.
    pub(super) fn intra_node_cost<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: &dyn Fn(u32) -> A::Borrowed<'static>,
    ) -> Cost {
        let cost = |node| {
            let (shape, args) = (self.shape(node), args(node));
            self.selection.choose(family, shape, args).cost(shape, args.agreed())
        };
        self.all().map(cost).fold(Cost::ZERO, Cost::maximum)
    }

    /// Cost of a phase between the leaders.
    pub(super) fn inter_node_cost<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Cost {
        let shape = self.leaders();
        self.selection.choose_across_nodes(family, shape, args).cost(shape, args.agreed())
    }
}

impl Cost {
    /// The maximum of each number.
    fn maximum(self, other: Self) -> Self {
        Self {
            rounds: self.rounds.max(other.rounds),
            messages: self.messages.max(other.messages),
            bytes: self.bytes.max(other.bytes),
            reduced: self.reduced.max(other.reduced),
            copied: self.copied.max(other.copied),
        }
    }
}

/// Costs in sequence.
impl Add for Cost {
    type Output = Self;

    fn add(self, other: Self) -> Self {
        Self {
            rounds: self.rounds + other.rounds,
            messages: self.messages + other.messages,
            bytes: self.bytes + other.bytes,
            reduced: self.reduced + other.reduced,
            copied: self.copied + other.copied,
        }
    }
}

impl Selection {
    /// Schedule of a rank, on one node, or on several in one level or two, whichever is cheaper or
    /// selected by a setting or a rule.
    pub(crate) fn schedule_on<A: Arguments>(
        &self, family: &AlgorithmFamily<A>, on: RankLayout<'_>, rank: u32, args: A::Borrowed<'_>,
    ) -> Schedule {
        match self.choose_on(family, on, args) {
            Levels::One(algorithm) => algorithm.schedule(on.shape, rank, args),
            Levels::Two(two, nodes) => {
                (two.schedule)(HierarchyView::new(nodes, self, rank).in_turn(on.turn), args)
            }
        }
    }

    /// Name of the selected algorithm, or of the form in two levels.
    pub fn name_on<'a, A: Arguments>(
        &self, family: &AlgorithmFamily<A>, on: impl Into<RankLayout<'a>>, args: A::Borrowed<'_>,
    ) -> &'static str {
        self.choose_on(family, on.into(), args).name()
    }

    fn choose_on<'a, A: Arguments>(
        &self, family: &AlgorithmFamily<A>, on: RankLayout<'a>, args: A::Borrowed<'_>,
    ) -> Levels<'a, A> {
        let requested = self.requested(family.operation, || CallSize {
            ranks: on.shape.ranks,
            ranks_per_host: self.ranks_per_host(on.shape, on.nodes),
            bytes: args.rule_bytes(),
        });
        let choose = |machine| self.choose_by(machine, requested, family, on.shape, args);
        let levels = match (on.nodes, family.two_level) {
            (None, _) => Levels::One(choose(self.machine())),
            (Some(_), None) => Levels::One(choose(self.network())),
            (Some(nodes), Some(two)) => {
                let one = choose(self.network());
                let view = HierarchyView::new(nodes, self, 0);
                match view.is_cheaper(requested.choice, &one, two, args) {
                    true => Levels::Two(two, nodes),
                    false => Levels::One(one),
                }
            }
        };
        if requested.rule.is_some() {
            requested.log(family.operation, on.shape, levels.name());
        }
        levels
    }
}

/// The form of a call.
enum Levels<'a, A: Arguments + 'static> {
    One(ChosenAlgorithm<A>),
    Two(&'static TwoLevel<A>, &'a Nodes),
}

impl<A: Arguments + 'static> Levels<'_, A> {
    /// Name of the algorithm, or of the form in two levels.
    fn name(&self) -> &'static str {
        match self {
            Self::One(algorithm) => algorithm.name,
            Self::Two(..) => NAME,
        }
    }
}

/// Algorithms in which each rank sends to the next one only, as far as the bytes matter.
const BETWEEN_NEIGHBORS: [&str; 3] = ["chain", "ring", "scatter_ring"];

/// Algorithms with a root along trees of adjacent ranks: the busiest link is that of the root.
const ALONG_TREES: [&str; 5] = ["binomial", "in_order", "knomial", "knomial_4", "knomial_8"];

impl HierarchyView<'_> {
    /// Whether two levels fit, and are cheaper than one or requested; a request may also be for one
    /// level.
    fn is_cheaper<A: Arguments>(
        self, choice: AlgorithmChoice, one: &ChosenAlgorithm<A>, two: &TwoLevel<A>,
        args: A::Borrowed<'_>,
    ) -> bool {
        let agreed = args.agreed();
        if !(two.fits)(self.nodes, agreed) || !self.selection.allows(two.operation, NAME) {
            return false;
        }
        if let AlgorithmChoice::Algorithm(named) = choice {
            return named.name == NAME;
        }
        self.time_in_two_ps(two, agreed) < self.time_in_one_ps(two.operation, one, agreed)
    }

    /// Estimated time in two levels.
    fn time_in_two_ps<A: Arguments>(self, two: &TwoLevel<A>, agreed: A::Borrowed<'_>) -> u64 {
        let (near, far) = (self.selection.machine(), self.selection.network());
        let apart = (two.cost)(self, agreed);
        near.time_ps(apart.intra_node).saturating_add(far.time_ps(apart.inter_node))
    }

    /// Estimated time in one level, in which several ranks of a node may share its link.
    fn time_in_one_ps<A: Arguments>(
        self, operation: CollectiveOperation, one: &ChosenAlgorithm<A>, agreed: A::Borrowed<'_>,
    ) -> u64 {
        self.selection.network().time_ps(self.cost_in_one(operation, one, agreed))
    }

    /// Cost in one level, with the messages of all ranks that share the link of a node.
    pub fn cost_in_one<A: Arguments>(
        self, operation: CollectiveOperation, one: &ChosenAlgorithm<A>, agreed: A::Borrowed<'_>,
    ) -> Cost {
        let cost = one.cost(Shape { ranks: self.nodes.size() }, agreed);
        let sharers = self.sharers(operation, one.name);
        let (messages, bytes) = (cost.messages, cost.bytes);
        Cost {
            messages: messages.saturating_mul(sharers),
            bytes: bytes.saturating_mul(sharers),
            ..cost
        }
    }

    /// How many ranks of a node send to other nodes at the same time.
    fn sharers(self, operation: CollectiveOperation, algorithm: &str) -> u64 {
        let is_rooted = matches!(
            operation,
            CollectiveOperation::Bcast
                | CollectiveOperation::Gather
                | CollectiveOperation::Scatter
                | CollectiveOperation::Reduce
        );
        let is_alone = is_rooted && algorithm == "linear"
            || self.nodes.are_in_order()
                && (is_rooted && ALONG_TREES.contains(&algorithm)
                    || BETWEEN_NEIGHBORS.contains(&algorithm));
        if is_alone { 1 } else { self.nodes.largest().into() }
    }
}
