//! Many ranks, in orders of steps and deliveries drawn from seeds: a broadcast and a scan by every
//! suitable algorithm, and both on several nodes.
//!
//! A proof for each schedule says that one order represents all orders; these tests support it.

use mpi_abi::mpi::collective::algorithms::hierarchical;
use mpi_abi::mpi::collective::algorithms::hierarchical::{HierarchyView, Nodes};
use mpi_abi::mpi::collective::algorithms::{Bcast, Operands, Scan};
use mpi_abi::mpi::collective::selection::Selection;
use mpi_abi::mpi::collective::selection::registry::{BCAST, SCAN};
use mpi_abi::offload::Schedule;
use platform::base::Random;

use super::Shape;
use super::reductions::assert_combined;
use super::symbolic::{Algebra, Byte, Machine, Rank};

const SEEDS: u64 = 12;
const RANKS_MAX: u64 = 200;

/// Runs the schedules in the order of `seed` and returns the user buffers.
fn run(
    algebra: &mut Algebra, schedules: Vec<Schedule>, seed: u64,
    before: &dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>,
) -> Vec<Vec<Vec<Byte>>> {
    let ranks = (0..)
        .zip(schedules)
        .map(|(rank, schedule)| Rank::new(schedule, before(rank, algebra), algebra))
        .collect();
    Machine::new(algebra, ranks, 1, seed).run()
}

#[test]
fn any_order_gives_the_result() {
    for seed in 0..SEEDS {
        let mut random = Random::new(seed);
        let shape = Shape { ranks: 65 + random.below(RANKS_MAX - 64) as u32 };
        let count = 2 + random.below(9);
        let places = (0..shape.ranks).map(|rank| u64::from(rank) * count / u64::from(shape.ranks));
        let nodes = Nodes::new(places.map(|place| place as u32)).unwrap();
        let by = Selection::default();
        // A failure shows the case and the seed of its order.
        eprintln!("seed {seed}: {shape:?} on {count} nodes");

        let args = Bcast { bytes: 3, root: random.below(shape.ranks.into()) as u32 };
        let fitting = BCAST.algorithms.iter().filter(|one| (one.fits)(shape, args));
        let flat = fitting
            .map(|one| (0..shape.ranks).map(|rank| (one.schedule)(shape, rank, args)).collect());
        let two = (0..shape.ranks)
            .map(|rank| hierarchical::bcast(HierarchyView::new(&nodes, &by, rank), args));
        for schedules in flat.chain([two.collect()]) {
            let mut algebra = Algebra::default();
            let after =
                run(&mut algebra, schedules, seed, &|rank, algebra| match rank == args.root {
                    true => vec![algebra.leaves(rank, 0, 3)],
                    false => vec![algebra.junk(3)],
                });
            let due = algebra.leaves(args.root, 0, 3);
            assert!(after.iter().all(|buffers| buffers[0] == due), "bcast, seed {seed}");
        }

        let operands = Operands { bytes: 2, element: 1, commutative: false };
        let args = Scan { operands, in_place: random.one_in(2) };
        let fitting = SCAN.algorithms.iter().filter(|one| (one.fits)(shape, args));
        let flat = fitting
            .map(|one| (0..shape.ranks).map(|rank| (one.schedule)(shape, rank, args)).collect());
        let two = (0..shape.ranks)
            .map(|rank| hierarchical::scan(HierarchyView::new(&nodes, &by, rank), args));
        for schedules in flat.chain([two.collect()]) {
            let mut algebra = Algebra::default();
            let after = run(&mut algebra, schedules, seed, &|rank, algebra| {
                let own = algebra.leaves(rank, 0, 2);
                if args.in_place { vec![Vec::new(), own] } else { vec![own, algebra.junk(2)] }
            });
            for (rank, buffers) in (0..).zip(after) {
                let name = format!("scan, seed {seed}, rank {rank}");
                assert_combined(&buffers[1], 0..rank + 1, 0, true, &algebra, &name);
            }
        }
    }
}
