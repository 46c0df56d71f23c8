//! Reduce and allreduce: every rank's operand once, in the order of ranks where that matters, and
//! the same expression on all ranks.

use std::ops::Range;

use mpi_abi::mpi::coll::{
    Allreduce, Operands, Reduce, ReduceScatter, Scan, allreduce_doubling, allreduce_halving,
    reduce_binomial, reduce_scatter_halving, reduce_scatter_pairwise, scan_chain, scan_doubling,
};
use mpi_abi::offload::Schedule;

use super::symbolic::{Algebra, Byte};
use super::{Case, Shape, roots, sizes};

const ELEMENT: usize = 2;

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

fn reduce(shape: Shape, args: Reduce) {
    let bytes = args.operands.bytes;
    let name = format!("reduce {args:?}");
    let case = Case {
        name: name.clone(),
        shape,
        element: ELEMENT,
        schedule: &|rank| reduce_binomial::schedule(shape, rank, args),
        before: &|rank, algebra| match rank == args.root {
            true => buffers(rank, bytes, args.in_place, algebra),
            // The others have no receive buffer at all.
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
fn reduce_binomial_combines_all() {
    for shape in sizes() {
        for root in roots(shape) {
            for (commutative, in_place) in
                [(true, true), (true, false), (false, true), (false, false)]
            {
                reduce(shape, Reduce { operands: operands(1, commutative), root, in_place });
            }
        }
        let operands = operands(0, true);
        reduce(shape, Reduce { operands, root: shape.ranks - 1, in_place: false });
    }
}

type Algorithm = fn(Shape, u32, Allreduce) -> Schedule;

fn allreduce(algorithm: Algorithm, shape: Shape, args: Allreduce) {
    let bytes = args.operands.bytes;
    let name = format!("allreduce {args:?}");
    let case = Case {
        name: name.clone(),
        shape,
        element: ELEMENT,
        schedule: &|rank| algorithm(shape, rank, args),
        before: &|rank, algebra| buffers(rank, bytes, args.in_place, algebra),
    };
    let mut algebra = Algebra::default();
    let after = case.run(&mut algebra);
    let result = &after[0][1];
    assert_eq!(result.len(), bytes);
    assert_complete(result, shape.ranks, true, &algebra, &name);
    for (rank, buffers) in (0..).zip(&after) {
        // Equal expressions, not only equal operands: floating-point results agree to the bit.
        assert_eq!(&buffers[1], result, "{name}, {shape:?}: rank {rank} differs");
        let due = if args.in_place { Vec::new() } else { algebra.leaves(rank, 0, bytes) };
        assert_eq!(buffers[0], due, "{name}: the send buffer of rank {rank} changed");
    }
}

fn every_allreduce(algorithm: Algorithm, elements: &[usize]) {
    for shape in sizes() {
        for &elements in elements {
            for in_place in [true, false] {
                let operands = operands(elements, false);
                allreduce(algorithm, shape, Allreduce { operands, in_place });
            }
        }
    }
}

#[test]
fn allreduce_doubling_combines_all() {
    every_allreduce(allreduce_doubling::schedule, &[0, 1]);
}

#[test]
fn allreduce_halving_combines_all() {
    // Fewer elements than pieces, and a number that pieces do not divide.
    every_allreduce(allreduce_halving::schedule, &[0, 3, 67]);
}

/// The part of a rank in a scan or an exscan.
type Prefix = dyn Fn(Shape, u32, Scan) -> Schedule;

fn prefix(algorithm: &Prefix, name: &str, inclusive: bool, elements: usize) {
    for shape in sizes() {
        // Ranks need not agree on it.
        for in_place in [|_| false, |_| true, |rank: u32| rank % 3 == 1] {
            let args =
                |rank| Scan { operands: operands(elements, false), in_place: in_place(rank) };
            let bytes = elements * ELEMENT;
            let case = Case {
                name: name.to_owned(),
                shape,
                element: ELEMENT,
                schedule: &|rank| algorithm(shape, rank, args(rank)),
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
    }
}

#[test]
fn scan_doubling_combines_all_up_to_oneself() {
    for elements in [0, 2] {
        prefix(&scan_doubling::scan, "scan by doubling", true, elements);
    }
}

#[test]
fn exscan_doubling_combines_all_before_oneself() {
    for elements in [0, 2] {
        prefix(&scan_doubling::exscan, "exscan by doubling", false, elements);
    }
}

#[test]
fn scan_chain_combines_all_up_to_oneself() {
    // More segments than the window, the last of them short; and one.
    for (elements, segment) in [(0, 4), (1, 4), (13, 4)] {
        let scan = move |shape, rank, args| scan_chain::scan(shape, rank, args, segment);
        prefix(&scan, "scan along a chain", true, elements);
    }
}

#[test]
fn exscan_chain_combines_all_before_oneself() {
    for (elements, segment) in [(0, 4), (1, 4), (13, 4)] {
        let exscan = move |shape, rank, args| scan_chain::exscan(shape, rank, args, segment);
        prefix(&exscan, "exscan along a chain", false, elements);
    }
}

type ReduceScatterBy = fn(Shape, u32, ReduceScatter<'_>) -> Schedule;

fn reduce_scatter(algorithm: ReduceScatterBy, shape: Shape, blocks: &[usize], ordered: bool) {
    let total: usize = blocks.iter().sum();
    // Ranks need not agree on it; with many, both at once will do.
    let places: [fn(u32) -> bool; 3] = [|rank| rank % 3 == 1, |_| false, |_| true];
    for in_place in places.into_iter().take(if shape.ranks <= 20 { 3 } else { 1 }) {
        let name = format!("reduce-scatter of {blocks:?}");
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
            schedule: &|rank| algorithm(shape, rank, args(rank)),
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

/// Blocks of one length, of none, and unlike ones.
fn every_reduce_scatter(algorithm: ReduceScatterBy, ordered: bool) {
    for shape in sizes() {
        let unlike = |rank: u32| (rank * 7 + shape.ranks) as usize % 3 * ELEMENT;
        let blocks: Vec<usize> = (0..shape.ranks).map(unlike).collect();
        reduce_scatter(algorithm, shape, &blocks, ordered);
        if shape.ranks <= 20 {
            reduce_scatter(algorithm, shape, &vec![ELEMENT; shape.ranks as usize], ordered);
        }
    }
    let shape = Shape { ranks: 7 };
    reduce_scatter(algorithm, shape, &[0; 7], ordered);
    reduce_scatter(algorithm, shape, &[0, 0, 0, 0, 0, 8, 0], ordered);
}

#[test]
fn reduce_scatter_pairwise_combines_in_order() {
    every_reduce_scatter(reduce_scatter_pairwise::schedule, true);
}

#[test]
fn reduce_scatter_halving_combines_all() {
    every_reduce_scatter(reduce_scatter_halving::schedule, false);
}
