//! Every collective algorithm, at every size, on symbolic bytes: the resulting bytes of each rank,
//! and the order in which a reduction combined them.
//!
//! The static checks of `offload::check` prove each case free of races and deadlock, so one run,
//! in an order drawn from a seed, has the result of all runs.

mod by;
mod copies;
mod costs;
mod crossings;
mod data;
mod inter;
mod interleavings;
mod levels;
mod neighbor;
mod prescribed;
mod programs;
mod reductions;
mod reproducible;
mod symbolic;
mod tables;

use mpi_abi::mpi::collective::algorithms::Shape;
use mpi_abi::offload::Schedule;
use mpi_abi::offload::check::check;
use symbolic::{Algebra, Byte, Machine, Rank};

/// Whether to run the long cases (`SUIRO_TEST_LONG=1`).
pub fn is_long() -> bool {
    std::env::var_os("SUIRO_TEST_LONG").is_some_and(|value| value == "1")
}

/// Numbers of ranks for every algorithm: all up to 33 and some up to 64, which take longest; with
/// `SUIRO_TEST_LONG=1` all up to 64.
pub fn sizes() -> impl Iterator<Item = Shape> {
    let is_long = is_long();
    let is_wanted = move |ranks: &u32| *ranks <= 33 || is_long || [48, 63, 64].contains(ranks);
    (1..=64).filter(is_wanted).map(|ranks| Shape { ranks })
}

/// All roots of small communicators; of larger ones, roots around the edges.
pub fn roots(shape: Shape) -> Vec<u32> {
    let ranks = shape.ranks;
    if ranks <= 9 {
        return (0..ranks).collect();
    }
    vec![0, 1, ranks / 2, ranks - 1]
}

/// Up to this number of ranks the compiled programs are tested too.
const PROGRAM_RANKS: u32 = 16;

/// One operation under test.
pub struct Case<'a> {
    /// Name of the case in failures.
    pub name: String,
    /// Number of ranks.
    pub shape: Shape,
    /// The length of an element of a reduction.
    pub element: usize,
    /// The schedule of each rank.
    pub schedule: &'a dyn Fn(u32) -> Schedule,
    /// The user buffers of each rank before the operation.
    pub before: &'a dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>,
}

impl Case<'_> {
    /// Checks the schedules, runs them and returns the user buffers of each rank.
    pub fn run(&self, algebra: &mut Algebra) -> Vec<Vec<Vec<Byte>>> {
        let schedules: Vec<Schedule> = (0..self.shape.ranks).map(self.schedule).collect();
        if let Err(why) = check(&schedules) {
            panic!("{}, {:?}: {why}", self.name, self.shape);
        }
        let before: Vec<_> =
            (0..self.shape.ranks).map(|rank| (self.before)(rank, algebra)).collect();
        if self.shape.ranks <= PROGRAM_RANKS {
            programs::compare(&self.name, &schedules, &before, self.element, algebra);
        }
        let ranks = schedules
            .into_iter()
            .zip(before)
            .map(|(schedule, user)| Rank::new(schedule, user, algebra))
            .collect();
        let seed = u64::from(self.shape.ranks) + self.name.len() as u64;
        Machine::new(algebra, ranks, self.element, seed).run()
    }

    /// Runs the operation and compares the user buffers of each rank with `after`.
    pub fn expect(&self, after: &dyn Fn(u32, &mut Algebra) -> Vec<Vec<Byte>>) {
        let mut algebra = Algebra::default();
        for (rank, buffers) in (0..).zip(self.run(&mut algebra)) {
            let due = after(rank, &mut algebra);
            for (number, (buffer, due)) in buffers.iter().zip(&due).enumerate() {
                if buffer != due {
                    let show = |bytes: &[Byte]| -> Vec<_> {
                        bytes.iter().map(|&byte| algebra.operands(byte)).collect()
                    };
                    panic!(
                        "{}, {:?}, rank {rank}, buffer {number}:\n has {:?}\n due {:?}",
                        self.name,
                        self.shape,
                        show(buffer),
                        show(due)
                    );
                }
            }
            assert_eq!(buffers.len(), due.len());
        }
    }
}
