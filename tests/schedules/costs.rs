//! Claimed costs of algorithms against the schedules of all ranks: upper bounds that are reached.

use mpi_abi::mpi::collective::algorithms::algorithm::{AgreedArguments, Arguments, Cost};
use mpi_abi::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Operands, RankBlocks, Reduce, ReduceScatter, Rooted,
    RootedBlocks, Scan, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::chosen::ChosenAlgorithm;
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;
use mpi_abi::offload::{Schedule, StepAction};

use super::Shape;
use super::by::{By, each};

/// The cost of the schedules of all ranks; see [`Cost`].
fn measured(schedules: &[Schedule]) -> Cost {
    let rounds = schedules.iter().map(Schedule::rounds).max().unwrap_or(0);
    let mut cost = Cost { rounds: rounds.into(), ..Cost::ZERO };
    // The longest message and the longest reduction of each round.
    let mut longest = vec![[0, 0]; rounds as usize + 1];
    for schedule in schedules {
        let (mut sends, mut receives, mut reduced, mut copied) = ([0, 0], [0, 0], 0, 0);
        for step in schedule.steps() {
            let [message, reduction] = &mut longest[step.round as usize];
            let (read, written) = step.action.regions();
            let len = read.or(written).map_or(0, |region| region.len as u64);
            match step.action {
                StepAction::Send { .. } => sends = [sends[0] + 1, sends[1] + len],
                StepAction::Receive { .. } => receives = [receives[0] + 1, receives[1] + len],
                StepAction::Copy { .. } => copied += len,
                StepAction::Reduce { .. } => reduced += len,
            }
            match step.action {
                StepAction::Send { .. } | StepAction::Receive { .. } => {
                    *message = len.max(*message)
                }
                StepAction::Reduce { .. } => *reduction = len.max(*reduction),
                StepAction::Copy { .. } => {}
            }
        }
        cost.messages = cost.messages.max(sends[0]).max(receives[0]);
        cost.bytes = cost.bytes.max(sends[1]).max(receives[1]);
        cost.reduced = cost.reduced.max(reduced);
        cost.copied = cost.copied.max(copied);
    }
    cost.bytes = cost.bytes.max(longest.iter().map(|round| round[0]).sum());
    cost.reduced = cost.reduced.max(longest.iter().map(|round| round[1]).sum());
    cost
}

/// The compared parts of a cost.
type Fields = fn(Cost) -> Vec<u64>;

/// All parts.
const ALL: Fields = |cost| vec![cost.rounds, cost.messages, cost.bytes, cost.reduced, cost.copied];

/// The parts that do not depend on lengths known to one rank only.
const WITHOUT_LENGTHS: Fields = |cost| vec![cost.rounds, cost.messages];

/// The claimed and the actual cost of a call.
type Compared = Option<[Cost; 2]>;

/// A call with the same arguments on all ranks.
fn alike<A: Arguments>(by: &By<A>, args: A::Borrowed<'_>) -> Compared {
    call(by, args, |_| args)
}

/// A call of ranks that agree on `agreed` only; `None` if the algorithm does not support it.
fn call<'a, A: Arguments>(
    by: &By<A>, agreed: A::Borrowed<'a>, args: impl Fn(u32) -> A::Borrowed<'a>,
) -> Compared {
    by.fits(agreed).then(|| {
        let part = |rank| by.part(rank, args(rank));
        let schedules: Vec<Schedule> = (0..by.shape.ranks).map(part).collect();
        [by.claim(agreed), measured(&schedules)]
    })
}

/// Compares the claims of every algorithm of a family in all `calls`, at every size.
fn compare<A: Arguments>(
    family: &AlgorithmFamily<A>, fields: Fields, calls: impl Fn(&By<A>) -> Vec<Compared>,
) {
    each(family, 3 * ELEMENT, |by| {
        let name = format!("{}, {:?}, segment {:?}", by.name, by.shape, by.segment);
        reached(&name, fields, calls(by).into_iter().flatten().collect());
    });
}

/// No call costs more than claimed, and some call reaches each part of the claim.
fn reached(name: &str, fields: Fields, calls: Vec<[Cost; 2]>) {
    let mut least: Option<Vec<u64>> = None;
    for [claimed, measured] in calls {
        let parts = fields(claimed).into_iter().zip(fields(measured));
        let over: Option<Vec<u64>> =
            parts.map(|(claimed, measured)| claimed.checked_sub(measured)).collect();
        let over = over.unwrap_or_else(|| {
            panic!("{name}: a call costs more than is claimed\n {measured:?}\n {claimed:?}")
        });
        let least = least.get_or_insert_with(|| over.clone());
        least.iter_mut().zip(over).for_each(|(least, over)| *least = over.min(*least));
    }
    let least = least.unwrap_or_default();
    assert!(
        least.iter().all(|over| *over == 0),
        "{name}: no call costs what is claimed: {least:?}"
    );
}

const ELEMENT: usize = 8;

/// Lengths: 0, fewer elements than ranks, multiples of powers of two, others; and, for algorithms
/// that choose their segment length, more than a segment.
const LENGTHS: [usize; 5] = [0, 3 * ELEMENT, 64 * ELEMENT, 83 * ELEMENT, 300 << 10];

fn lengths<A: Arguments>(by: &By<A>) -> impl Iterator<Item = usize> {
    LENGTHS.into_iter().take(if by.segment.is_some() { 4 } else { 5 })
}

fn operands(bytes: usize, commutative: bool) -> Operands {
    Operands { bytes, element: ELEMENT, commutative }
}

#[test]
fn barriers_cost_what_they_claim() {
    compare(&registry::BARRIER, ALL, |by| vec![alike(by, ())]);
}

#[test]
fn broadcasts_cost_what_they_claim() {
    compare(&registry::BCAST, ALL, |by| {
        let root = by.shape.ranks / 2;
        lengths(by).map(|bytes| alike(by, Bcast { bytes, root })).collect()
    });
}

/// The calls of an operation with a root and one length of block.
fn rooted(by: &By<Rooted>) -> Vec<Compared> {
    let root = by.shape.ranks / 2;
    let places = [false, true];
    let args = places
        .into_iter()
        .flat_map(|in_place| [0, ELEMENT, 1 << 10].map(|block| Rooted { block, root, in_place }));
    args.map(|args| alike(by, args)).collect()
}

#[test]
fn gathers_and_scatters_cost_what_they_claim() {
    compare(&registry::GATHER, ALL, rooted);
    compare(&registry::SCATTER, ALL, rooted);
}

/// A call of an operation with a root and a length per block, known to the root only.
fn rooted_blocks(by: &By<RootedBlocks>) -> Vec<Compared> {
    let root = by.shape.ranks / 2;
    let blocks = &vec![ELEMENT; by.shape.ranks as usize];
    let args = RootedBlocks { own: ELEMENT, blocks, root, in_place: false };
    vec![call(by, args.agreed(), |rank| match rank == root {
        true => args,
        false => RootedBlocks { blocks: &[], ..args },
    })]
}

#[test]
fn gatherv_and_scatterv_cost_what_they_claim() {
    compare(&registry::GATHERV, WITHOUT_LENGTHS, rooted_blocks);
    compare(&registry::SCATTERV, WITHOUT_LENGTHS, rooted_blocks);
}

/// The calls of an operation without root and with one length of block.
fn exchanges(by: &By<UniformBlocks>) -> Vec<Compared> {
    let places = [false, true];
    let args = places
        .into_iter()
        .flat_map(|in_place| [0, ELEMENT, 1 << 10].map(|block| UniformBlocks { block, in_place }));
    args.map(|args| alike(by, args)).collect()
}

#[test]
fn allgathers_and_alltoalls_cost_what_they_claim() {
    compare(&registry::ALLGATHER, ALL, exchanges);
    compare(&registry::ALLTOALL, ALL, exchanges);
}

/// Blocks of one length, and of different lengths, some 0.
fn blocks(shape: Shape) -> [Vec<usize>; 2] {
    let unlike = |rank| (rank * 7 + shape.ranks) as usize % 3 * ELEMENT;
    [vec![ELEMENT; shape.ranks as usize], (0..shape.ranks).map(unlike).collect()]
}

#[test]
fn extra_rounds_cost_what_they_claim() {
    let mut algorithms = registry::ALLREDUCE.algorithms.iter();
    let redundant = algorithms.find(|algorithm| algorithm.name == "redundant").unwrap();
    let args = Allreduce { operands: operands(3 * ELEMENT, false), in_place: false };
    for shape in super::sizes() {
        for text in ["0,0", "2,3", "0,7,descending", "middle-bits=0,0/final-bits=1..3"] {
            let chosen = ChosenAlgorithm::new(redundant, ExtraRounds::from_text(text));
            let part = |rank| chosen.schedule(shape, rank, args);
            let schedules: Vec<Schedule> = (0..shape.ranks).map(part).collect();
            let name = format!("redundant:{text}, {shape:?}");
            reached(&name, ALL, vec![[chosen.cost(shape, args), measured(&schedules)]]);
        }
    }
}

#[test]
fn allgatherv_costs_what_it_claims() {
    compare(&registry::ALLGATHERV, ALL, |by| {
        let call = |blocks: &Vec<usize>| alike(by, RankBlocks { blocks, in_place: false });
        blocks(by.shape).iter().map(call).collect()
    });
}

#[test]
fn alltoallv_costs_what_it_claims() {
    compare(&registry::ALLTOALLV, WITHOUT_LENGTHS, |by| {
        let [blocks, _] = &blocks(by.shape);
        let args = BlockPairs { send: blocks, receive: blocks, in_place: false };
        vec![call(by, args.agreed(), |_| args)]
    });
}

#[test]
fn reductions_to_a_root_cost_what_they_claim() {
    compare(&registry::REDUCE, ALL, |by| {
        let root = by.shape.ranks / 2;
        let calls = lengths(by).map(|bytes| {
            [(false, true), (true, true), (false, false)].map(|(in_place, commutative)| {
                alike(by, Reduce { operands: operands(bytes, commutative), root, in_place })
            })
        });
        calls.flatten().collect()
    });
}

#[test]
fn allreduces_cost_what_they_claim() {
    compare(&registry::ALLREDUCE, ALL, |by| {
        let calls = lengths(by).map(|bytes| {
            [false, true]
                .map(|in_place| alike(by, Allreduce { operands: operands(bytes, true), in_place }))
        });
        calls.flatten().collect()
    });
}

#[test]
fn reduce_scatters_cost_what_they_claim() {
    compare(&registry::REDUCE_SCATTER, ALL, |by| {
        let blocks = blocks(by.shape);
        let call = |blocks: &Vec<usize>| {
            [false, true]
                .map(|in_place| alike(by, ReduceScatter { blocks, commutative: true, in_place }))
        };
        blocks.iter().flat_map(call).collect()
    });
}

#[test]
fn scans_cost_what_they_claim() {
    for family in [&registry::SCAN, &registry::EXSCAN] {
        compare(family, ALL, |by| {
            let calls = lengths(by).map(|bytes| {
                [false, true]
                    .map(|in_place| alike(by, Scan { operands: operands(bytes, true), in_place }))
            });
            calls.flatten().collect()
        });
    }
}
