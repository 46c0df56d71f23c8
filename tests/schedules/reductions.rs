//! Reduce and allreduce: every rank's operand once, in the order of ranks where that matters, and
//! the same expression on all ranks.

use mpi_abi::mpi::coll::{
    Allreduce, Operands, Reduce, allreduce_doubling, allreduce_halving, reduce_binomial,
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
fn assert_complete(result: &[Byte], ranks: u32, ordered: bool, algebra: &Algebra, name: &str) {
    for (index, &byte) in (0..).zip(result) {
        let mut operands = algebra.operands(byte);
        if !ordered {
            operands.sort_unstable();
        }
        let due: Vec<(u32, u32)> = (0..ranks).map(|rank| (rank, index)).collect();
        assert_eq!(operands, due, "{name}, {ranks} ranks, byte {index}");
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
