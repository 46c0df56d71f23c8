//! Operations between two groups, for all pairs of small sizes and every root: the resulting bytes
//! of each rank, and the number of messages between the groups.

use mpi_abi::mpi::collective::algorithms::inter;
use mpi_abi::mpi::collective::algorithms::inter::{InterCollective, InterRoute};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, InterShape, Operands, Reduce, ReduceScatter, Rooted, RootedBlocks,
};
use mpi_abi::mpi::collective::selection::Selection;
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::offload::check::check;
use mpi_abi::offload::{Schedule, StepAction};

use super::reductions::assert_combined;
use super::symbolic::{Algebra, Byte};
use super::{Case, Shape};

type Buffers = Vec<Vec<Byte>>;

const ELEMENT: usize = 2;
const WAYS: [InterRoute; 2] = [InterRoute::ViaLeader, InterRoute::Direct];

fn pairs() -> impl Iterator<Item = InterShape> {
    (1..=8).flat_map(|low| (1..=8).map(move |high| InterShape { sizes: [low, high] }))
}

/// A member's side, its group and the remote group, as ranges of members.
struct Seat {
    side: usize,
    own: u32,
    near: std::ops::Range<u32>,
    far: std::ops::Range<u32>,
}

fn seat(shape: InterShape, member: u32) -> Seat {
    let [low, high] = shape.sizes;
    let (first, second) = (0..low, low..low + high);
    match member < low {
        true => Seat { side: 0, own: member, near: first, far: second },
        false => Seat { side: 1, own: member - low, near: second, far: first },
    }
}

/// Runs an operation; buffers that `after` leaves out are not compared.
fn expect(
    name: &str, shape: InterShape, schedule: &dyn Fn(u32) -> Schedule,
    before: &dyn Fn(u32, &mut Algebra) -> Buffers, after: &dyn Fn(u32, &mut Algebra) -> Buffers,
) {
    let ranks = Shape { ranks: shape.sizes.iter().sum() };
    let name = format!("{name}, {shape:?}");
    Case { name, shape: ranks, element: 1, schedule, before }.expect(after);
}

fn all(of: std::ops::Range<u32>, start: usize, len: usize, algebra: &mut Algebra) -> Vec<Byte> {
    of.flat_map(|member| algebra.leaves(member, start, len)).collect()
}

#[test]
fn a_barrier_hears_of_the_whole_other_group_by_two_messages() {
    for shape in pairs() {
        let ranks: u32 = shape.sizes.iter().sum();
        let schedules: Vec<Schedule> = (0..ranks)
            .map(|rank| InterCollective::Barrier.schedule(&Selection::default(), shape, rank))
            .collect();
        check(&schedules).unwrap();
        // Round by round: the set of ranks whose entry each rank depends on.
        let mut heard: Vec<Vec<bool>> =
            (0..ranks).map(|rank| (0..ranks).map(|of| of == rank).collect()).collect();
        let rounds = schedules.iter().map(Schedule::rounds).max().unwrap_or(0);
        let mut crossed = 0;
        for round in 1..=rounds {
            let known = heard.clone();
            for (rank, schedule) in (0..).zip(&schedules) {
                for step in schedule.steps().iter().filter(|step| step.round == round) {
                    let StepAction::Receive { peer, .. } = step.action else { continue };
                    crossed += u32::from(!seat(shape, rank).near.contains(&peer));
                    let news = &known[peer as usize];
                    heard[rank as usize].iter_mut().zip(news).for_each(|(own, of)| *own |= of);
                }
            }
        }
        assert_eq!(crossed, 2);
        for rank in 0..ranks {
            let far = seat(shape, rank).far;
            assert!(far.into_iter().all(|of| heard[rank as usize][of as usize]), "{shape:?}");
        }
    }
}

/// A broadcast inside a group.
fn inside(shape: Shape, rank: u32, args: Bcast) -> Schedule {
    Selection::default().schedule(&registry::BCAST, shape, rank, args)
}

/// All shapes and roots.
fn rooted(run: impl Fn(InterShape, u32)) {
    for shape in pairs() {
        for root in 0..shape.sizes.iter().sum() {
            run(shape, root);
        }
    }
}

#[test]
fn bcast_reaches_the_other_group() {
    let tree = registry::BCAST.algorithms[0].segmented.as_ref().unwrap().schedule;
    rooted(|shape, root| {
        for (bytes, way) in
            [(0, InterRoute::ViaLeader), (9, InterRoute::ViaLeader), (9, InterRoute::Direct)]
        {
            let by = |shape, rank, args| tree(shape, rank, args, 4);
            expect(
                &format!("{way:?} from {root}"),
                shape,
                &|rank| inter::bcast(shape, rank, Bcast { bytes, root }, way, &by),
                &|rank, algebra| match rank == root {
                    true => vec![algebra.leaves(root, 0, bytes)],
                    false => vec![algebra.junk(bytes)],
                },
                &|rank, algebra| match rank == root || seat(shape, root).far.contains(&rank) {
                    true => vec![algebra.leaves(root, 0, bytes)],
                    false => vec![algebra.junk(bytes)],
                },
            );
        }
    });
}

#[test]
fn gather_collects_the_other_group() {
    rooted(|shape, root| {
        for (block, way) in
            [(0, InterRoute::ViaLeader), (3, InterRoute::ViaLeader), (3, InterRoute::Direct)]
        {
            let far = seat(shape, root).far;
            let args = Rooted { block, root, in_place: false };
            let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
                let receive = match (rank == root, filled) {
                    (false, _) => Vec::new(),
                    (true, true) => all(far.clone(), 0, block, algebra),
                    (true, false) => algebra.junk(block * far.len()),
                };
                vec![algebra.leaves(rank, 0, block), receive]
            };
            expect(
                &format!("gather to {root}, {way:?}"),
                shape,
                &|rank| inter::gather(shape, rank, args, way),
                &|rank, algebra| buffers(rank, algebra, false),
                &|rank, algebra| buffers(rank, algebra, true),
            );
        }
    });
}

#[test]
fn scatter_deals_to_the_other_group() {
    rooted(|shape, root| {
        for (block, way) in
            [(0, InterRoute::ViaLeader), (3, InterRoute::ViaLeader), (3, InterRoute::Direct)]
        {
            let far = seat(shape, root).far;
            let args = Rooted { block, root, in_place: false };
            let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
                let send = if rank == root { block * far.len() } else { 0 };
                let start = seat(shape, rank).own as usize * block;
                let receive = match filled && far.contains(&rank) {
                    true => algebra.leaves(root, start, block),
                    false => algebra.junk(block),
                };
                vec![algebra.leaves(rank, 0, send), receive]
            };
            expect(
                &format!("scatter from {root}, {way:?}"),
                shape,
                &|rank| inter::scatter(shape, rank, args, way),
                &|rank, algebra| buffers(rank, algebra, false),
                &|rank, algebra| buffers(rank, algebra, true),
            );
        }
    });
}

/// Different lengths, some of them 0.
fn len(from: u32, to: u32) -> usize {
    ((from * 7 + to * 5) % 4) as usize
}

#[test]
fn gatherv_and_scatterv_know_lengths_at_the_root_only() {
    rooted(|shape, root| {
        let far = seat(shape, root).far;
        let blocks: Vec<usize> = far.clone().map(|of| len(of, root)).collect();
        let own = |rank: u32| if far.contains(&rank) { len(rank, root) } else { 0 };
        let args = |rank: u32| RootedBlocks {
            own: if rank == root { usize::MAX } else { own(rank) },
            blocks: if rank == root { &blocks } else { &[] },
            root,
            in_place: false,
        };
        let gathered = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let mut buffers = vec![algebra.leaves(rank, 0, own(rank))];
            for of in far.clone().filter(|_| rank == root) {
                let block = algebra.leaves(of, 0, own(of));
                buffers.push(if filled { block } else { algebra.junk(own(of)) });
            }
            buffers
        };
        expect(
            &format!("gatherv to {root}"),
            shape,
            &|rank| inter::gatherv(shape, rank, args(rank)),
            &|rank, algebra| gathered(rank, algebra, false),
            &|rank, algebra| gathered(rank, algebra, true),
        );
        let dealt = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let filled = filled && far.contains(&rank);
            let block = algebra.leaves(root, rank as usize * 8, own(rank));
            let mut buffers = vec![if filled { block } else { algebra.junk(own(rank)) }];
            for to in far.clone().filter(|_| rank == root) {
                buffers.push(algebra.leaves(root, to as usize * 8, own(to)));
            }
            buffers
        };
        expect(
            &format!("scatterv from {root}"),
            shape,
            &|rank| inter::scatterv(shape, rank, args(rank)),
            &|rank, algebra| dealt(rank, algebra, false),
            &|rank, algebra| dealt(rank, algebra, true),
        );
    });
}

#[test]
fn allgather_has_a_length_for_each_direction() {
    for shape in pairs() {
        for blocks in [[0, 0], [0, 3], [2, 0], [2, 3]] {
            for ways in WAYS.into_iter().flat_map(|low| WAYS.map(|high| [low, high])) {
                let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
                    let Seat { side, far, .. } = seat(shape, rank);
                    let receive = match filled {
                        true => all(far, 0, blocks[1 - side], algebra),
                        false => algebra.junk(far.len() * blocks[1 - side]),
                    };
                    vec![algebra.leaves(rank, 0, blocks[side]), receive]
                };
                expect(
                    &format!("allgather of {blocks:?}, {ways:?}"),
                    shape,
                    &|rank| inter::allgather(shape, rank, blocks, ways, &inside),
                    &|rank, algebra| buffers(rank, algebra, false),
                    &|rank, algebra| buffers(rank, algebra, true),
                );
            }
        }
    }
}

#[test]
fn allgatherv_knows_the_lengths_of_the_other_group_only() {
    for shape in pairs() {
        let own = |rank: u32| len(rank, 1);
        let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let mut buffers = vec![algebra.leaves(rank, 0, own(rank))];
            for of in seat(shape, rank).far {
                let block = algebra.leaves(of, 0, own(of));
                buffers.push(if filled { block } else { algebra.junk(own(of)) });
            }
            buffers
        };
        let schedule = |rank: u32| {
            let blocks: Vec<usize> = seat(shape, rank).far.map(own).collect();
            inter::allgatherv(shape, rank, own(rank), &blocks)
        };
        expect(
            "allgatherv",
            shape,
            &schedule,
            &|rank, algebra| buffers(rank, algebra, false),
            &|rank, algebra| buffers(rank, algebra, true),
        );
    }
}

#[test]
fn alltoall_transposes_between_the_groups() {
    for shape in pairs() {
        for blocks in [[0, 0], [0, 3], [2, 3]] {
            let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
                let Seat { side, own, far, .. } = seat(shape, rank);
                let (out, into) = (blocks[side], blocks[1 - side]);
                let receive = match filled {
                    true => all(far.clone(), own as usize * into, into, algebra),
                    false => algebra.junk(far.len() * into),
                };
                vec![algebra.leaves(rank, 0, far.len() * out), receive]
            };
            expect(
                &format!("alltoall of {blocks:?}"),
                shape,
                &|rank| inter::alltoall(shape, rank, blocks),
                &|rank, algebra| buffers(rank, algebra, false),
                &|rank, algebra| buffers(rank, algebra, true),
            );
        }
    }
}

#[test]
fn alltoallv_transposes_between_the_groups() {
    for shape in pairs() {
        let sent = |from: u32, to: u32, algebra: &mut Algebra| {
            algebra.leaves(from, to as usize * 8, len(from, to))
        };
        let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let far = seat(shape, rank).far;
            let mut buffers: Buffers = Vec::new();
            buffers.extend(far.clone().map(|to| sent(rank, to, algebra)));
            for from in far {
                let block = sent(from, rank, algebra);
                buffers.push(if filled { block } else { algebra.junk(len(from, rank)) });
            }
            buffers
        };
        let schedule = |rank: u32| {
            let far = seat(shape, rank).far;
            let send: Vec<usize> = far.clone().map(|to| len(rank, to)).collect();
            let receive: Vec<usize> = far.map(|from| len(from, rank)).collect();
            let args = BlockPairs { send: &send, receive: &receive, in_place: false };
            inter::alltoallv(shape, rank, args)
        };
        expect(
            "alltoallv",
            shape,
            &schedule,
            &|rank, algebra| buffers(rank, algebra, false),
            &|rank, algebra| buffers(rank, algebra, true),
        );
    }
}

/// Runs a reduction; `result` gives the first byte and the number of bytes of each rank with a
/// result.
fn reduction(
    name: &str, shape: InterShape, bytes: usize, schedule: &dyn Fn(u32) -> Schedule,
    result: &dyn Fn(u32) -> Option<(usize, usize)>,
) {
    let case = Case {
        name: format!("{name}, {shape:?}"),
        shape: Shape { ranks: shape.sizes.iter().sum() },
        element: ELEMENT,
        schedule,
        before: &|rank, algebra| {
            let receive = result(rank).map_or(0, |(_, len)| len);
            vec![algebra.leaves(rank, 0, bytes), algebra.junk(receive)]
        },
    };
    let mut algebra = Algebra::default();
    for (rank, buffers) in (0..).zip(case.run(&mut algebra)) {
        assert_eq!(buffers[0], algebra.leaves(rank, 0, bytes), "{name}: a send buffer changed");
        let Some((start, len)) = result(rank) else { continue };
        assert_eq!(buffers[1].len(), len);
        let far = seat(shape, rank).far;
        assert_combined(&buffers[1], far, start as u32, true, &algebra, name);
    }
}

fn operands(elements: usize) -> Operands {
    Operands { bytes: elements * ELEMENT, element: ELEMENT, commutative: false }
}

#[test]
fn reduce_combines_the_other_group_in_order() {
    rooted(|shape, root| {
        for elements in [0, 2] {
            let operands = operands(elements);
            let args = Reduce { operands, root, in_place: false };
            reduction(
                &format!("reduce to {root}"),
                shape,
                operands.bytes,
                &|rank| inter::reduce(shape, rank, args),
                &|rank| (rank == root).then_some((0, operands.bytes)),
            );
        }
    });
}

#[test]
fn allreduce_combines_the_other_group_in_order() {
    for shape in pairs() {
        for elements in [0, 2] {
            let operands = operands(elements);
            let args = Allreduce { operands, in_place: false };
            reduction(
                "allreduce",
                shape,
                operands.bytes,
                &|rank| inter::allreduce(shape, rank, args, &inside),
                &|_| Some((0, operands.bytes)),
            );
        }
    }
}

#[test]
fn reduce_scatter_deals_what_the_other_group_combined() {
    for shape in pairs() {
        // Equal totals on both sides, unevenly distributed; the last rank gets the rest.
        let bytes = 23 * ELEMENT;
        let blocks = |rank: u32| {
            let size = seat(shape, rank).near.len();
            let mut blocks: Vec<usize> = (0..size).map(|of| of % 3 * ELEMENT).collect();
            blocks[size - 1] += bytes - blocks.iter().sum::<usize>();
            blocks
        };
        reduction(
            "reduce-scatter",
            shape,
            bytes,
            &|rank| {
                let (blocks, commutative, in_place) = (&blocks(rank)[..], false, false);
                let args = ReduceScatter { blocks, commutative, in_place };
                inter::reduce_scatter(shape, rank, args, ELEMENT)
            },
            &|rank| {
                let (blocks, own) = (blocks(rank), seat(shape, rank).own as usize);
                Some((blocks[..own].iter().sum(), blocks[own]))
            },
        );
    }
}

#[test]
fn what_is_selected_between_groups_passes_the_checks() {
    for (sizes, bytes) in [[1, 1], [1, 20], [3, 5], [17, 2]]
        .into_iter()
        .flat_map(|sizes| [0, 8, 8 << 10, 64 << 10, 5 << 20].map(|bytes| (sizes, bytes)))
    {
        let shape = InterShape { sizes };
        let (root, in_place, block) = (sizes[0], false, bytes);
        let operands = Operands { bytes, element: 8, commutative: true };
        for operation in [
            InterCollective::Bcast(Bcast { bytes, root }),
            InterCollective::Gather(Rooted { block, root, in_place }),
            InterCollective::Scatter(Rooted { block, root, in_place }),
            InterCollective::Allgather([bytes, 8]),
            InterCollective::Alltoall([bytes, 8]),
            InterCollective::Reduce(Reduce { operands, root, in_place }),
            InterCollective::Allreduce(Allreduce { operands, in_place }),
        ] {
            let part = |rank| operation.schedule(&Selection::default(), shape, rank);
            let schedules: Vec<Schedule> = (0..sizes[0] + sizes[1]).map(part).collect();
            check(&schedules).unwrap_or_else(|why| panic!("{operation:?} {shape:?}: {why}"));
        }
    }
}
