//! The operations that only move data.

use mpi_abi::mpi::collective::algorithms::{
    Bcast, BlockPairs, Collective, RankBlocks, Rooted, RootedBlocks, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::Selection;
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;
use mpi_abi::offload::Schedule;
use mpi_abi::offload::check::check;

use super::by::{By, each};
use super::levels::heard;
use super::symbolic::{Algebra, Byte};
use super::{Case, Shape, roots};

/// Lengths of a block: 0, and an odd one.
const BLOCKS: [usize; 2] = [0, 3];

/// Length of a segment.
const SEGMENT: usize = 4;

/// The contributed blocks of all ranks, in rank order.
fn all_blocks(shape: Shape, block: usize, algebra: &mut Algebra) -> Vec<Byte> {
    (0..shape.ranks).flat_map(|rank| algebra.leaves(rank, 0, block)).collect()
}

/// Block `index` of the contribution of `rank`.
fn block_of(rank: u32, index: u32, block: usize, algebra: &mut Algebra) -> Vec<Byte> {
    algebra.leaves(rank, index as usize * block, block)
}

/// A case of an operation without elements.
fn case<'a>(
    name: String, shape: Shape, schedule: &'a dyn Fn(u32) -> Schedule,
    before: &'a dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>,
) -> Case<'a> {
    Case { name, shape, element: 1, schedule, before }
}

#[test]
fn barriers_hear_of_everybody() {
    each(&registry::BARRIER, SEGMENT, |by| {
        let shape = by.shape;
        if !by.fits(()) {
            return;
        }
        let schedules: Vec<Schedule> = (0..shape.ranks).map(|rank| by.part(rank, ())).collect();
        check(&schedules).unwrap();
        // When a rank completes, it depends on the entry of all ranks.
        for heard in heard(&schedules) {
            assert_eq!(heard, u64::MAX >> (64 - shape.ranks), "{}, {shape:?}", by.name);
        }
    });
}

#[test]
fn broadcasts_reach_all() {
    each(&registry::BCAST, SEGMENT, |by| {
        let (name, shape) = (&by.name, by.shape);
        for root in roots(shape) {
            for bytes in [0, 3, 17] {
                let args = Bcast { bytes, root };
                if !by.fits(args) {
                    continue;
                }
                case(
                    format!("{name}, {bytes} bytes from {root}"),
                    shape,
                    &|rank| by.part(rank, args),
                    &|rank, algebra| match rank == root {
                        true => vec![algebra.leaves(root, 0, bytes)],
                        false => vec![algebra.junk(bytes)],
                    },
                )
                .expect(&|_, algebra| vec![algebra.leaves(root, 0, bytes)]);
            }
        }
    });
}

/// All cases of operations with a root and one length of block.
fn rooted(family: &AlgorithmFamily<Rooted>, run: impl Fn(&By<Rooted>, Rooted)) {
    each(family, SEGMENT, |by| {
        for root in roots(by.shape) {
            for block in BLOCKS {
                for in_place in [false, true] {
                    let args = Rooted { block, root, in_place };
                    if by.fits(args) {
                        run(by, args);
                    }
                }
            }
        }
    });
}

/// The root's receive buffer before a gather: in place, its own block only.
fn before_gather(shape: Shape, args: Rooted, algebra: &mut Algebra) -> Vec<Byte> {
    let mut receive = algebra.junk(shape.ranks as usize * args.block);
    if args.in_place {
        let own = algebra.leaves(args.root, 0, args.block);
        receive.splice(args.root as usize * args.block..(args.root as usize + 1) * args.block, own);
    }
    receive
}

#[test]
fn gathers_collect_all() {
    rooted(&registry::GATHER, |by, args| {
        let (name, shape) = (&by.name, by.shape);
        let send = |rank, algebra: &mut Algebra| match rank == args.root && args.in_place {
            true => Vec::new(),
            false => algebra.leaves(rank, 0, args.block),
        };
        case(format!("{name} {args:?}"), shape, &|rank| by.part(rank, args), &|rank, algebra| {
            match rank == args.root {
                true => vec![send(rank, algebra), before_gather(shape, args, algebra)],
                false => vec![send(rank, algebra)],
            }
        })
        .expect(&|rank, algebra| match rank == args.root {
            true => vec![send(rank, algebra), all_blocks(shape, args.block, algebra)],
            false => vec![send(rank, algebra)],
        });
    });
}

#[test]
fn scatters_deal_all() {
    rooted(&registry::SCATTER, |by, args| {
        let (name, shape) = (&by.name, by.shape);
        let send = |rank, algebra: &mut Algebra| match rank == args.root {
            true => algebra.leaves(rank, 0, shape.ranks as usize * args.block),
            false => Vec::new(),
        };
        let nothing = |rank| rank == args.root && args.in_place;
        case(format!("{name} {args:?}"), shape, &|rank| by.part(rank, args), &|rank, algebra| {
            let len = if nothing(rank) { 0 } else { args.block };
            vec![send(rank, algebra), algebra.junk(len)]
        })
        .expect(&|rank, algebra| match nothing(rank) {
            true => vec![send(rank, algebra), Vec::new()],
            false => vec![send(rank, algebra), block_of(args.root, rank, args.block, algebra)],
        });
    });
}

/// Different lengths of blocks, some of them 0.
fn lengths(shape: Shape, of: u32) -> Vec<usize> {
    (0..shape.ranks).map(|rank| ((rank * 7 + of * 5) % 4) as usize).collect()
}

/// All cases of operations with a root and a length per block.
fn rooted_blocks(
    family: &AlgorithmFamily<RootedBlocks>, run: impl Fn(&By<RootedBlocks>, u32, &[usize], bool),
) {
    each(family, SEGMENT, |by| {
        for root in roots(by.shape) {
            if by.fits(arguments(0, root, &[0], false)) {
                run(by, root, &lengths(by.shape, root), false);
                run(by, root, &lengths(by.shape, root), true);
            }
        }
    });
}

/// The arguments of one rank: only the root knows all lengths.
fn arguments(rank: u32, root: u32, blocks: &[usize], in_place: bool) -> RootedBlocks<'_> {
    match rank == root {
        true => RootedBlocks { own: usize::MAX, blocks, root, in_place },
        false => RootedBlocks { own: blocks[rank as usize], blocks: &[], root, in_place: false },
    }
}

#[test]
fn gatherv_collects_all() {
    rooted_blocks(&registry::GATHERV, |by, root, blocks, in_place| {
        let (name, shape) = (&by.name, by.shape);
        let send = |rank: u32, algebra: &mut Algebra| match rank == root && in_place {
            true => Vec::new(),
            false => algebra.leaves(rank, 0, blocks[rank as usize]),
        };
        let at_root = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let mut buffers = vec![send(rank, algebra)];
            for (of, &len) in (0..).zip(blocks).filter(|_| rank == root) {
                let there = filled || in_place && of == root;
                buffers.push(if there { algebra.leaves(of, 0, len) } else { algebra.junk(len) });
            }
            buffers
        };
        case(
            format!("{name} to {root}, in place {in_place}"),
            shape,
            &|rank| by.part(rank, arguments(rank, root, blocks, in_place)),
            &|rank, algebra| at_root(rank, algebra, false),
        )
        .expect(&|rank, algebra| at_root(rank, algebra, true));
    });
}

#[test]
fn scatterv_deals_all() {
    rooted_blocks(&registry::SCATTERV, |by, root, blocks, in_place| {
        let (name, shape) = (&by.name, by.shape);
        let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let len = blocks[rank as usize];
            let mut buffers = vec![match (rank == root && in_place, filled) {
                (true, _) => Vec::new(),
                (false, true) => algebra.leaves(root, rank as usize * 8, len),
                (false, false) => algebra.junk(len),
            }];
            for (of, &len) in blocks.iter().enumerate().filter(|_| rank == root) {
                buffers.push(algebra.leaves(root, of * 8, len));
            }
            buffers
        };
        case(
            format!("{name} from {root}, in place {in_place}"),
            shape,
            &|rank| by.part(rank, arguments(rank, root, blocks, in_place)),
            &|rank, algebra| buffers(rank, algebra, false),
        )
        .expect(&|rank, algebra| buffers(rank, algebra, true));
    });
}

/// All cases of operations without root and with one length of block.
fn exchanges(
    family: &AlgorithmFamily<UniformBlocks>, run: impl Fn(&By<UniformBlocks>, UniformBlocks),
) {
    each(family, SEGMENT, |by| {
        for block in BLOCKS {
            for in_place in [false, true] {
                let args = UniformBlocks { block, in_place };
                if by.fits(args) {
                    run(by, args);
                }
            }
        }
    });
}

#[test]
fn allgathers_collect_all() {
    exchanges(&registry::ALLGATHER, |by, args| {
        let (name, shape) = (&by.name, by.shape);
        let rooted = |root| Rooted { block: args.block, root, in_place: args.in_place };
        let send = |rank, algebra: &mut Algebra| match args.in_place {
            true => Vec::new(),
            false => algebra.leaves(rank, 0, args.block),
        };
        case(format!("{name} {args:?}"), shape, &|rank| by.part(rank, args), &|rank, algebra| {
            vec![send(rank, algebra), before_gather(shape, rooted(rank), algebra)]
        })
        .expect(&|rank, algebra| vec![send(rank, algebra), all_blocks(shape, args.block, algebra)]);
    });
}

#[test]
fn allgatherv_collects_all() {
    let run = |by: &By<RankBlocks>, in_place: bool| {
        let (name, shape) = (&by.name, by.shape);
        let blocks = &lengths(shape, 1);
        if !by.fits(RankBlocks { blocks, in_place }) {
            return;
        }
        let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| {
            let len = if in_place { 0 } else { blocks[rank as usize] };
            let mut buffers = vec![algebra.leaves(rank, 0, len)];
            for (of, &len) in (0..).zip(blocks) {
                let there = filled || in_place && of == rank;
                buffers.push(if there { algebra.leaves(of, 0, len) } else { algebra.junk(len) });
            }
            buffers
        };
        case(
            format!("{name}, in place {in_place}"),
            shape,
            &|rank| by.part(rank, RankBlocks { blocks, in_place }),
            &|rank, algebra| buffers(rank, algebra, false),
        )
        .expect(&|rank, algebra| buffers(rank, algebra, true));
    };
    each(&registry::ALLGATHERV, SEGMENT, |by| {
        [false, true].into_iter().for_each(|place| run(by, place))
    });
}

#[test]
fn alltoalls_transpose() {
    exchanges(&registry::ALLTOALL, |by, args| {
        let (name, shape) = (&by.name, by.shape);
        let UniformBlocks { block, in_place } = args;
        let all = shape.ranks as usize * block;
        let send =
            |rank, algebra: &mut Algebra| algebra.leaves(rank, 0, if in_place { 0 } else { all });
        case(format!("{name} {args:?}"), shape, &|rank| by.part(rank, args), &|rank, algebra| {
            match in_place {
                true => vec![Vec::new(), algebra.leaves(rank, 0, all)],
                false => vec![send(rank, algebra), algebra.junk(all)],
            }
        })
        .expect(&|rank, algebra| {
            let column = |from| block_of(from, rank, block, algebra);
            let receive = (0..shape.ranks).flat_map(column).collect();
            vec![send(rank, algebra), receive]
        });
    });
}

#[test]
fn alltoallv_transposes() {
    let run = |by: &By<BlockPairs>, in_place: bool| {
        let (name, shape) = (&by.name, by.shape);
        if !by.fits(BlockPairs { send: &[], receive: &[], in_place }) {
            return;
        }
        // In place, the block received from a rank has the length of the block sent to it.
        let len = |from: u32, to: u32| match in_place {
            true => ((from + to) * 7 % 4) as usize,
            false => ((from * 3 + to * 7) % 4) as usize,
        };
        let sent = |from: u32, to: u32, algebra: &mut Algebra| {
            algebra.leaves(from, to as usize * 8, len(from, to))
        };
        let buffers = |rank: u32, algebra: &mut Algebra, filled: bool| -> Vec<Vec<Byte>> {
            let ranks = 0..shape.ranks;
            let send: Vec<_> = ranks
                .clone()
                .map(|to| if in_place { Vec::new() } else { sent(rank, to, algebra) })
                .collect();
            let receive = ranks.map(|from| match (filled, in_place) {
                (true, _) => sent(from, rank, algebra),
                (false, true) => sent(rank, from, algebra),
                (false, false) => algebra.junk(len(from, rank)),
            });
            send.into_iter().chain(receive).collect()
        };
        let schedule = |rank: u32| {
            let send: Vec<usize> = (0..shape.ranks).map(|to| len(rank, to)).collect();
            let receive: Vec<usize> = (0..shape.ranks).map(|from| len(from, rank)).collect();
            let send = if in_place { &[] } else { send.as_slice() };
            by.part(rank, BlockPairs { send, receive: &receive, in_place })
        };
        case(format!("{name}, in place {in_place}"), shape, &schedule, &|rank, algebra| {
            buffers(rank, algebra, false)
        })
        .expect(&|rank, algebra| buffers(rank, algebra, true));
    };
    each(&registry::ALLTOALLV, SEGMENT, |by| {
        [false, true].into_iter().for_each(|place| run(by, place))
    });
}

/// Lengths around each threshold of the selection.
const LENGTHS: [usize; 6] = [0, 8, 8 << 10, 64 << 10, (64 << 10) + 8, 5 << 20];

#[test]
fn what_is_selected_passes_the_checks() {
    use mpi_abi::mpi::collective::algorithms::{
        Allreduce, Operands, Reduce, ReduceScatterBlock, Scan,
    };
    for shape in [1, 2, 3, 4, 7, 8, 16, 17, 33].map(|ranks| Shape { ranks }) {
        for bytes in LENGTHS {
            let operands = Operands { bytes, element: 8, commutative: true };
            let (root, in_place, block) = (shape.ranks / 2, false, bytes);
            for collective in [
                Collective::Barrier,
                Collective::Bcast(Bcast { bytes, root }),
                Collective::Gather(Rooted { block, root, in_place }),
                Collective::Scatter(Rooted { block, root, in_place }),
                Collective::Allgather(UniformBlocks { block, in_place }),
                Collective::Alltoall(UniformBlocks { block, in_place }),
                Collective::Reduce(Reduce { operands, root, in_place }),
                Collective::Allreduce(Allreduce { operands, in_place }),
                Collective::ReduceScatterBlock(ReduceScatterBlock { block: operands, in_place }),
                Collective::Scan(Scan { operands, in_place }),
                Collective::Exscan(Scan { operands, in_place }),
            ] {
                let part = |rank| collective.schedule(&Selection::default(), shape, rank);
                let schedules: Vec<Schedule> = (0..shape.ranks).map(part).collect();
                check(&schedules).unwrap_or_else(|why| panic!("{collective:?} {shape:?}: {why}"));
            }
        }
    }
}
