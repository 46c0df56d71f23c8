//! Reproducible reductions: the same expression for every element, independent of the algorithm,
//! the root, the length and the position of the operand.

use std::cell::RefCell;
use std::collections::HashMap;

use mpi_abi::mpi::collective::algorithms::algorithm::Arguments;
use mpi_abi::mpi::collective::algorithms::{Allreduce, Operands, Reduce, ReduceScatter, Scan};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;

use super::by::{By, each};
use super::symbolic::{Algebra, Byte};
use super::{Case, Shape};

const RANKS_MAX: u32 = 17;

/// Tries the reproducible algorithms of a family at sizes up to [`RANKS_MAX`].
fn reproducible<A: Arguments>(family: &AlgorithmFamily<A>, run: impl Fn(&By<A>)) {
    let names = family.operation.reproducible().unwrap();
    each(family, 2, |by| {
        let is_named = names.iter().any(|name| by.name.ends_with(&format!(" by {name}")));
        if is_named && by.shape.ranks <= RANKS_MAX {
            run(by);
        }
    });
}

/// Byte `index` of all ranks: pairs of adjacent ranks first, until a power of two is left; then
/// neighbours, and so on.
fn sum(algebra: &mut Algebra, shape: Shape, index: usize) -> Byte {
    let mut operands: Vec<Byte> = (0..shape.ranks).map(|rank| algebra.leaf(rank, index)).collect();
    for pair in 0..(shape.ranks - (1 << shape.ranks.ilog2())) as usize {
        let right = operands.remove(pair + 1);
        operands[pair] = algebra.pair(operands[pair], right);
    }
    while operands.len() > 1 {
        operands = operands.chunks(2).map(|two| algebra.pair(two[0], two[1])).collect();
    }
    operands[0]
}

fn buffers(rank: u32, bytes: usize, in_place: bool, algebra: &mut Algebra) -> Vec<Vec<Byte>> {
    let own = algebra.leaves(rank, 0, bytes);
    if in_place { vec![Vec::new(), own] } else { vec![own, algebra.junk(bytes)] }
}

fn operands(bytes: usize, commutative: bool) -> Operands {
    Operands { bytes, element: 1, commutative }
}

/// One element, few elements, and more elements than pieces.
const LENGTHS: [usize; 3] = [1, 3, 2 * RANKS_MAX as usize + 1];

fn check(result: &[Byte], start: usize, shape: Shape, algebra: &mut Algebra, name: &str) {
    for (index, byte) in (start..).zip(result) {
        assert_eq!(*byte, sum(algebra, shape, index), "{name}, {shape:?}, byte {index}");
    }
}

#[test]
fn reductions_to_any_root_are_reproducible() {
    reproducible(&registry::REDUCE, |by| {
        for (root, bytes) in (0..by.shape.ranks).flat_map(|root| LENGTHS.map(|len| (root, len))) {
            let (in_place, commutative) = (root % 2 == 0, root % 3 == 0);
            let args = Reduce { operands: operands(bytes, commutative), root, in_place };
            if !by.fits(args) {
                continue;
            }
            let case = Case {
                name: format!("{} {args:?}", by.name),
                shape: by.shape,
                element: 1,
                schedule: &|rank| by.part(rank, args),
                before: &|rank, algebra| buffers(rank, bytes, in_place && rank == root, algebra),
            };
            let mut algebra = Algebra::default();
            let after = case.run(&mut algebra);
            check(&after[root as usize][1], 0, by.shape, &mut algebra, &case.name);
        }
    });
}

#[test]
fn allreduces_are_reproducible() {
    reproducible(&registry::ALLREDUCE, |by| {
        for (bytes, in_place) in LENGTHS.into_iter().flat_map(|len| [(len, false), (len, true)]) {
            let args = Allreduce { operands: operands(bytes, true), in_place };
            if !by.fits(args) {
                continue;
            }
            let case = Case {
                name: format!("{} {args:?}", by.name),
                shape: by.shape,
                element: 1,
                schedule: &|rank| by.part(rank, args),
                before: &|rank, algebra| buffers(rank, bytes, in_place, algebra),
            };
            let mut algebra = Algebra::default();
            for buffers in case.run(&mut algebra) {
                check(&buffers[1], 0, by.shape, &mut algebra, &case.name);
            }
        }
    });
}

#[test]
fn reduce_scatters_are_reproducible() {
    reproducible(&registry::REDUCE_SCATTER, |by| {
        let blocks: Vec<usize> = (0..by.shape.ranks as usize).map(|rank| rank * 5 % 4).collect();
        let total: usize = blocks.iter().sum();
        for in_place in [false, true] {
            let args = ReduceScatter { blocks: &blocks, commutative: true, in_place };
            let case = Case {
                name: by.name.clone(),
                shape: by.shape,
                element: 1,
                schedule: &|rank| by.part(rank, args),
                before: &|rank, algebra| buffers(rank, total, in_place, algebra),
            };
            let mut algebra = Algebra::default();
            for (rank, after) in case.run(&mut algebra).into_iter().enumerate() {
                let start = blocks[..rank].iter().sum();
                check(&after[1][..blocks[rank]], start, by.shape, &mut algebra, &case.name);
            }
        }
    });
}

/// The expression for a rank does not depend on the number of ranks or elements.
#[test]
fn scans_are_reproducible() {
    for family in [&registry::SCAN, &registry::EXSCAN] {
        let known = RefCell::new((Algebra::default(), HashMap::new()));
        reproducible(family, |by| {
            let (algebra, expressions) = &mut *known.borrow_mut();
            for (bytes, in_place) in LENGTHS.into_iter().flat_map(|len| [(len, false), (len, true)])
            {
                let args = Scan { operands: operands(bytes, true), in_place };
                let case = Case {
                    name: by.name.clone(),
                    shape: by.shape,
                    element: 1,
                    schedule: &|rank| by.part(rank, args),
                    before: &|rank, algebra| buffers(rank, bytes, in_place, algebra),
                };
                // Rank 0 has no result in an exscan.
                for (rank, after) in case.run(algebra).into_iter().enumerate().skip(1) {
                    for (index, byte) in after[1].iter().enumerate() {
                        let before = *expressions.entry((rank, index)).or_insert(*byte);
                        assert_eq!(*byte, before, "{}, {:?}, rank {rank}", by.name, by.shape);
                    }
                }
            }
        });
    }
}
