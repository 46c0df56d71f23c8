//! What operations in two levels cost, and whether they are worth it.
//!
//! Phases are counted one after the other. What crosses between nodes costs what it does on the
//! machine between them; of an operation in one level, all messages are taken to cross.

use std::ops::Add;

use super::{Nodes, View};
use crate::mpi::coll::algorithm::{Agreed, Algorithm, Arguments, Cost};
use crate::mpi::coll::registry::{self, Family, Operation};
use crate::mpi::coll::select::{Choice, Selection};
use crate::mpi::coll::{
    Allreduce, Bcast, Blocks, Exchange, Reduce, Rooted, RootedBlocks, Scan, Shape,
    alltoall_pairwise, gather_linear, scatter_linear,
};
use crate::offload::Schedule;

/// What this way is called in settings.
pub const NAME: &str = "two_level";

/// The operations that can be done this way.
pub const OPERATIONS: [Operation; 9] = [
    BARRIER.operation,
    BCAST.operation,
    GATHER.operation,
    SCATTER.operation,
    ALLGATHER.operation,
    ALLTOALL.operation,
    REDUCE.operation,
    ALLREDUCE.operation,
    SCAN.operation,
];

/// An operation in two levels.
pub struct TwoLevel<A: Arguments> {
    /// The operation.
    pub operation: Operation,
    /// Whether it can be done this way.
    pub fits: fn(&Nodes, A::In<'_>) -> bool,
    /// What it costs.
    pub cost: fn(View<'_>, A::In<'_>) -> Apart,
    /// The part of a rank.
    pub schedule: fn(View<'_>, A::In<'_>) -> Schedule,
}

/// A cost with the messages between nodes counted apart.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Apart {
    /// Inside the nodes, on the one for which that is most.
    pub inside: Cost,
    /// Between them.
    pub between: Cost,
}

/// Barrier.
pub const BARRIER: TwoLevel<()> = TwoLevel {
    operation: Operation::Barrier,
    fits: |nodes, ()| has_neighbors(nodes),
    cost: |view, ()| {
        let largest = Shape { ranks: view.nodes.largest() };
        let (up, down) = (largest.doublings().into(), u64::from(largest.ranks.ilog2()));
        Apart {
            inside: Cost { rounds: up + down, messages: up, ..Cost::NOTHING },
            between: view.cost_between(&registry::BARRIER, ()),
        }
    },
    schedule: |view, ()| super::barrier(view),
};

/// Broadcast.
pub const BCAST: TwoLevel<Bcast> = TwoLevel {
    operation: Operation::Bcast,
    fits: |nodes, _| has_neighbors(nodes),
    cost: |view, args| {
        let root = view.nodes.of(args.root);
        Apart {
            inside: bcast_inside(view.rooted(args.root), args.bytes),
            between: view.cost_between(&registry::BCAST, Bcast { root, ..args }),
        }
    },
    schedule: super::bcast,
};

/// Gather.
pub const GATHER: TwoLevel<Rooted> = TwoLevel {
    operation: Operation::Gather,
    fits: |nodes, _| has_neighbors(nodes),
    cost: |view, args| Apart {
        inside: gather_inside(view.rooted(args.root), args.block) + moved(view, args.block),
        between: (gather_linear::GATHERV.cost)(
            view.leaders(),
            across(view, args, &crossing(view, args)),
        ),
    },
    schedule: super::gather,
};

/// Scatter.
pub const SCATTER: TwoLevel<Rooted> = TwoLevel {
    operation: Operation::Scatter,
    fits: |nodes, _| has_neighbors(nodes),
    cost: |view, args| {
        let root = view.rooted(args.root);
        let from_leader = |node| Rooted { root: root.leader_place(node), ..args };
        Apart {
            inside: root.cost_inside(&registry::SCATTER, &from_leader) + moved(view, args.block),
            between: (scatter_linear::SCATTERV.cost)(
                view.leaders(),
                across(view, args, &crossing(view, args)),
            ),
        }
    },
    schedule: super::scatter,
};

/// Gather to all.
pub const ALLGATHER: TwoLevel<Exchange> = TwoLevel {
    operation: Operation::Allgather,
    fits: |nodes, _| has_neighbors(nodes),
    cost: |view, args| {
        let all = args.block * view.nodes.size() as usize;
        let lens = view.lens(args.block);
        let among = Blocks { blocks: &lens, in_place: true };
        let uniform = Exchange { block: lens[0], in_place: true };
        let between = match lens.iter().all(|len| *len == lens[0]) {
            true => view.cost_between(&registry::ALLGATHER, uniform),
            false => view.cost_between(&registry::ALLGATHERV, among),
        };
        let inside = gather_inside(view, args.block) + bcast_inside(view, all);
        Apart { inside: inside + moved(view, args.block), between }
    },
    schedule: super::allgather,
};

/// Exchange of all with all.
pub const ALLTOALL: TwoLevel<Exchange> = TwoLevel {
    operation: Operation::Alltoall,
    fits: |nodes, _| has_neighbors(nodes) && nodes.largest() * nodes.size() <= CELLS_MAX,
    cost: |view, args| {
        let (size, largest) = (u64::from(view.nodes.size()), u64::from(view.nodes.largest()));
        let row = args.block * view.nodes.size() as usize;
        let with_leader = Rooted { block: row, root: 0, in_place: false };
        let none = Exchange { block: 0, ..args };
        let meeting = match args.block {
            0 => (alltoall_pairwise::ALLTOALL.cost)(view.leaders(), none),
            _ => alltoall_pairwise::meeting_in_windows(view.leaders(), alltoall_pairwise::WINDOW),
        };
        let packed = Cost::of_copy(2 * largest * row as u64);
        let scatter = view.cost_inside(&registry::SCATTER, &|_| with_leader);
        Apart {
            inside: gather_inside(view, row) + scatter + packed,
            between: Cost {
                // That of half of the ranks, if a node has so many, is most.
                bytes: largest.min(size / 2) * (size - largest.min(size / 2)) * args.block as u64,
                ..meeting
            },
        }
    },
    schedule: super::alltoall,
};

/// Reduction to a root.
pub const REDUCE: TwoLevel<Reduce> = TwoLevel {
    operation: Operation::Reduce,
    fits: |nodes, args| has_neighbors(nodes) && (args.operands.commutative || nodes.are_in_order()),
    cost: |view, args| {
        let root = view.nodes.of(args.root);
        Apart {
            inside: reduce_inside(view.rooted(args.root), args),
            between: view.cost_between(&registry::REDUCE, Reduce { root, ..args }),
        }
    },
    schedule: super::reduce,
};

/// Reduction to all.
pub const ALLREDUCE: TwoLevel<Allreduce> = TwoLevel {
    operation: Operation::Allreduce,
    fits: |nodes, args| has_neighbors(nodes) && (args.operands.commutative || nodes.are_in_order()),
    cost: |view, args| {
        let Allreduce { operands, in_place } = args;
        let to_leader = Reduce { operands, root: 0, in_place };
        Apart {
            inside: reduce_inside(view, to_leader) + bcast_inside(view, operands.bytes),
            between: view.cost_between(&registry::ALLREDUCE, args),
        }
    },
    schedule: super::allreduce,
};

/// Reduction over the ranks up to oneself.
pub const SCAN: TwoLevel<Scan> = TwoLevel {
    operation: Operation::Scan,
    fits: |nodes, _| has_neighbors(nodes) && nodes.are_in_order(),
    cost: |view, args| {
        let bytes = args.operands.bytes;
        let combined = Cost { reduced: bytes as u64, ..Cost::NOTHING };
        let scan = view.cost_inside(&registry::SCAN, &|_| args);
        Apart {
            inside: scan + bcast_inside(view.led_by_last(), bytes) + combined,
            between: view.cost_between(&registry::EXSCAN, args),
        }
    },
    schedule: super::scan,
};

/// A leader copies so many blocks at most, each in a step of its own, twice.
const CELLS_MAX: u32 = 16 * 1024;

/// Whether any rank has another one near it; otherwise one level is all there is.
fn has_neighbors(nodes: &Nodes) -> bool {
    nodes.largest() > 1
}

fn bcast_inside(view: View<'_>, bytes: usize) -> Cost {
    view.cost_inside(&registry::BCAST, &|node| Bcast { bytes, root: view.leader_place(node) })
}

fn gather_inside(view: View<'_>, block: usize) -> Cost {
    let to_leader = |node| Rooted { block, root: view.leader_place(node), in_place: false };
    view.cost_inside(&registry::GATHER, &to_leader)
}

fn reduce_inside(view: View<'_>, args: Reduce) -> Cost {
    let to_leader = |node| Reduce { root: view.leader_place(node), ..args };
    view.cost_inside(&registry::REDUCE, &to_leader)
}

/// What it costs to bring blocks from the order of nodes to that of ranks.
fn moved(view: View<'_>, block: usize) -> Cost {
    let blocks = if view.nodes.are_in_order() { 0 } else { view.nodes.size() };
    Cost::of_copy(u64::from(blocks) * block as u64)
}

/// The bytes of each node that cross to or from the root's.
fn crossing(view: View<'_>, args: Rooted) -> Vec<usize> {
    let mut lens = view.lens(args.block);
    lens[view.nodes.of(args.root) as usize] = 0;
    lens
}

fn across<'a>(view: View<'_>, args: Rooted, blocks: &'a [usize]) -> RootedBlocks<'a> {
    RootedBlocks { own: 0, blocks, root: view.nodes.of(args.root), in_place: true }
}

impl View<'_> {
    /// What a phase inside each node costs on the one for which it is most.
    pub(super) fn cost_inside<A: Arguments>(
        self, family: &Family<A>, args: &dyn Fn(u32) -> A::In<'static>,
    ) -> Cost {
        let cost = |node| {
            let (shape, args) = (self.shape(node), args(node));
            (self.by.choose(family, shape, args).cost)(shape, args.agreed())
        };
        self.all().map(cost).fold(Cost::NOTHING, Cost::most)
    }

    /// What a phase between the leaders costs.
    pub(super) fn cost_between<A: Arguments>(self, family: &Family<A>, args: A::In<'_>) -> Cost {
        let shape = self.leaders();
        (self.by.choose_between(family, shape, args).cost)(shape, args.agreed())
    }
}

impl Cost {
    /// The larger of each number.
    fn most(self, other: Self) -> Self {
        Self {
            rounds: self.rounds.max(other.rounds),
            messages: self.messages.max(other.messages),
            bytes: self.bytes.max(other.bytes),
            reduced: self.reduced.max(other.reduced),
            copied: self.copied.max(other.copied),
        }
    }
}

/// One after the other.
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
    /// The part of a rank on several nodes: in one level or two, whichever is cheaper, or as a
    /// setting says.
    pub fn schedule_on<A: Arguments>(
        &self, family: &Family<A>, two: &TwoLevel<A>, nodes: &Nodes, rank: u32, args: A::In<'_>,
    ) -> Schedule {
        let shape = Shape { ranks: nodes.size() };
        let one = self.choose_between(family, shape, args);
        let view = View::new(nodes, self, rank);
        if (two.fits)(nodes, args.agreed()) && view.saves(one, two, args) {
            (two.schedule)(view, args)
        } else {
            (one.schedule)(shape, rank, args)
        }
    }
}

impl View<'_> {
    /// Whether two levels are cheaper than one, or wanted; one may be wanted too.
    fn saves<A: Arguments>(self, one: &Algorithm<A>, two: &TwoLevel<A>, args: A::In<'_>) -> bool {
        if !self.by.admits(two.operation, NAME) {
            return false;
        }
        if let Choice::Algorithm(name) = self.by.choice(two.operation) {
            return name == NAME;
        }
        let agreed = args.agreed();
        let (near, far) = (self.by.machine(), self.by.machine_between());
        let apart = (two.cost)(self, agreed);
        let two = near.time_ps(apart.inside).saturating_add(far.time_ps(apart.between));
        two < far.time_ps((one.cost)(Shape { ranks: self.nodes.size() }, agreed))
    }
}
