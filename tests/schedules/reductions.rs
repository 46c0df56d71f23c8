//! Reduce and allreduce: every rank's operand once, in rank order if required, and the same
//! expression on all ranks.

use std::ops::Range;

use mpi_abi::mpi::collective::algorithms::{Allreduce, Operands, Reduce, ReduceScatter, Scan};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;

use super::by::{By, each};
use super::symbolic::{Algebra, Byte};
use super::{Case, roots};

const ELEMENT: usize = 2;

/// Length of a segment.
const SEGMENT: usize = 2 * ELEMENT;

fn operands(elements: usize, commutative: bool) -> Operands {
    Operands { bytes: elements * ELEMENT, element: ELEMENT, commutative }
}

/// The send and the receive buffer of a rank that contributes.
fn buffers(rank: u32, bytes: usize, in_place: bool, algebra: &mut Algebra) -> Vec<Vec<Byte>> {
    let own = algebra.leaves(rank, 0, bytes);
    if in_place { vec![Vec::new(), own] } else { vec![own, algebra.junk(bytes)] }
}

/// Each byte is the combination of that byte of all ranks.
pub fn assert_complete(result: &[Byte], ranks: u32, ordered: bool, algebra: &Algebra, name: &str) {
    assert_combined(result, 0..ranks, 0, ordered, algebra, name);
}

/// Each byte is the combination of that byte of these ranks, counted from byte `start` on.
pub fn assert_combined(
    result: &[Byte], ranks: Range<u32>, start: u32, ordered: bool, algebra: &Algebra, name: &str,
) {
    for (index, &byte) in (start..).zip(result) {
        let mut operands = algebra.operands(byte);
        if !ordered {
            operands.sort_unstable();
        }
        let due: Vec<(u32, u32)> = ranks.clone().map(|rank| (rank, index)).collect();
        assert_eq!(operands, due, "{name}, ranks {ranks:?}, byte {index}");
    }
}

fn reduce(by: &By<Reduce>, args: Reduce) {
    let (shape, bytes) = (by.shape, args.operands.bytes);
    if !by.fits(args) {
        return;
    }
    let name = format!("{} {args:?}", by.name);
    let case = Case {
        name: name.clone(),
        shape,
        element: ELEMENT,
        schedule: &|rank| by.part(rank, args),
        before: &|rank, algebra| match rank == args.root {
            true => buffers(rank, bytes, args.in_place, algebra),
            // Other ranks have no receive buffer.
            false => vec![algebra.leaves(rank, 0, bytes), Vec::new()],
        },
    };
    let mut algebra = Algebra::default();
    let mut after = case.run(&mut algebra);
    for (rank, buffers) in (0..).zip(&after) {
        let kept = rank == args.root && args.in_place;
        let due = if kept { Vec::new() } else { algebra.leaves(rank, 0, bytes) };
        assert_eq!(buffers[0], due, "{name}: the send buffer of rank {rank} changed");
    }
    let result = after.swap_remove(args.root as usize).swap_remove(1);
    assert_eq!(result.len(), bytes);
    assert_complete(&result, shape.ranks, !args.operands.commutative, &algebra, &name);
}

#[test]
fn reductions_to_a_root_combine_all() {
    each(&registry::REDUCE, SEGMENT, |by| {
        for root in roots(by.shape) {
            for (commutative, in_place) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                reduce(by, Reduce { operands: operands(3, commutative), root, in_place });
            }
        }
        let root = by.shape.ranks - 1;
        reduce(by, Reduce { operands: operands(0, true), root, in_place: false });
        // More elements than pieces, and a number that is no multiple of the pieces.
        let operands = operands(by.shape.ranks as usize + 3, true);
        reduce(by, Reduce { operands, root, in_place: false });
    });
}

fn allreduce(by: &By<Allreduce>, mut args: Allreduce) {
    // In rank order, if the algorithm supports it.
    let ordered = by.fits(args);
    args.operands.commutative = !ordered;
    if !by.fits(args) {
        return;
    }
    let shape = by.shape;
    let bytes = args.operands.bytes;
    let name = format!("{} {args:?}", by.name);
    let case = Case {
        name: name.clone(),
        shape,
        element: ELEMENT,
        schedule: &|rank| by.part(rank, args),
        before: &|rank, algebra| buffers(rank, bytes, args.in_place, algebra),
    };
    let mut algebra = Algebra::default();
    let after = case.run(&mut algebra);
    let result = &after[0][1];
    assert_eq!(result.len(), bytes);
    assert_complete(result, shape.ranks, ordered, &algebra, &name);
    for (rank, buffers) in (0..).zip(&after) {
        // Equal expressions, not only equal operands: floating-point results agree to the bit.
        assert_eq!(&buffers[1], result, "{name}, {shape:?}: rank {rank} differs");
        let due = if args.in_place { Vec::new() } else { algebra.leaves(rank, 0, bytes) };
        assert_eq!(buffers[0], due, "{name}: the send buffer of rank {rank} changed");
    }
}

#[test]
fn allreduces_combine_all() {
    each(&registry::ALLREDUCE, SEGMENT, |by| {
        let ranks = by.shape.ranks as usize;
        // The last: more elements than pieces, and no multiple of the pieces.
        for elements in [0, 1, 3, ranks + 3] {
            for in_place in [true, false] {
                if elements <= 3 || ranks <= 20 || in_place == ranks.is_multiple_of(2) {
                    allreduce(by, Allreduce { operands: operands(elements, false), in_place });
                }
            }
        }
    });
}

fn prefix(family: &AlgorithmFamily<Scan>, inclusive: bool, elements: usize) {
    each(family, SEGMENT, |by| {
        let (name, shape) = (&by.name, by.shape);
        // Many elements, for segmented algorithms.
        if elements > 1 && shape.ranks > 20 && by.segment.is_none() {
            return;
        }
        // Ranks need not agree on it.
        for in_place in [|_| false, |_| true, |rank: u32| rank % 3 == 1] {
            let args =
                |rank| Scan { operands: operands(elements, false), in_place: in_place(rank) };
            if !by.fits(args(0)) {
                continue;
            }
            let bytes = elements * ELEMENT;
            let case = Case {
                name: name.to_owned(),
                shape,
                element: ELEMENT,
                schedule: &|rank| by.part(rank, args(rank)),
                before: &|rank, algebra| buffers(rank, bytes, in_place(rank), algebra),
            };
            let mut algebra = Algebra::default();
            for (rank, after) in (0..).zip(case.run(&mut algebra)) {
                let before = buffers(rank, bytes, in_place(rank), &mut algebra);
                assert_eq!(after[0], before[0], "{name}: the send buffer of rank {rank} changed");
                if rank == 0 && !inclusive {
                    assert_eq!(after, before, "{name}: rank 0 has no result");
                    continue;
                }
                let name = format!("{name}, {shape:?}, rank {rank}");
                assert_combined(
                    &after[1],
                    0..rank + u32::from(inclusive),
                    0,
                    true,
                    &algebra,
                    &name,
                );
            }
        }
    });
}

#[test]
fn scans_combine_all_up_to_oneself() {
    for elements in [0, 13] {
        prefix(&registry::SCAN, true, elements);
    }
}

#[test]
fn exscans_combine_all_before_oneself() {
    for elements in [0, 13] {
        prefix(&registry::EXSCAN, false, elements);
    }
}

fn reduce_scatter(by: &By<ReduceScatter>, blocks: &[usize]) {
    let shape = by.shape;
    // In rank order, if the algorithm supports it.
    let ordered = by.fits(ReduceScatter { blocks, commutative: false, in_place: false });
    let total: usize = blocks.iter().sum();
    // Ranks need not agree on it; with many, both at once will do.
    let places: [fn(u32) -> bool; 3] = [|rank| rank % 3 == 1, |_| false, |_| true];
    for in_place in places.into_iter().take(if shape.ranks <= 20 { 3 } else { 1 }) {
        let name = format!("{} of {blocks:?}", by.name);
        let before = |rank: u32, algebra: &mut Algebra| {
            let own = algebra.leaves(rank, 0, total);
            match in_place(rank) {
                true => vec![Vec::new(), own],
                false => vec![own, algebra.junk(blocks[rank as usize])],
            }
        };
        let args = |rank| ReduceScatter { blocks, commutative: !ordered, in_place: in_place(rank) };
        let case = Case {
            name: name.clone(),
            shape,
            element: ELEMENT,
            schedule: &|rank| by.part(rank, args(rank)),
            before: &before,
        };
        let mut algebra = Algebra::default();
        for (rank, after) in (0..).zip(case.run(&mut algebra)) {
            let own = rank as usize;
            let due = &before(rank, &mut algebra)[0];
            assert_eq!(&after[0], due, "{name}: the send buffer of rank {rank} changed");
            let start = blocks[..own].iter().sum::<usize>() as u32;
            let result = &after[1][..blocks[own]];
            assert_combined(result, 0..shape.ranks, start, ordered, &algebra, &name);
        }
    }
}

/// Blocks of equal lengths, of length 0, and of different lengths.
#[test]
fn reduce_scatters_combine_all() {
    each(&registry::REDUCE_SCATTER, SEGMENT, |by| {
        let ranks = by.shape.ranks;
        let unlike = |rank: u32| (rank * 7 + ranks) as usize % 3 * ELEMENT;
        let blocks: Vec<usize> = (0..ranks).map(unlike).collect();
        reduce_scatter(by, &blocks);
        if ranks <= 20 {
            reduce_scatter(by, &vec![ELEMENT; ranks as usize]);
        }
        if ranks == 7 {
            reduce_scatter(by, &[0; 7]);
            reduce_scatter(by, &[0, 0, 0, 0, 0, 8, 0]);
        }
    });
}
