//! Collective operations as programs of deferred work: tables, resources, and runs.
//!
//! This module selects an operation and its algorithm; [`offload`](mpi_abi::offload) defines programs
//! and compiles schedules to them.

pub mod generations;
pub mod law;
pub mod levels;
pub mod resources;
pub mod table;

use mpi_abi::mpi::collective::algorithms::algorithm::{Algorithm, Arguments};
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, Operands, Reduce, ReduceScatter, Rooted, Scan, Shape, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::{AlgorithmFamily, CollectiveOperation};
use mpi_abi::offload::compile::{Rules, SingleSource, link_some};
use mpi_abi::offload::{Program, Schedule, Scheme};

/// A collective operation of some ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct SimulatedCollective {
    /// One of [`OPERATIONS`].
    pub operation: CollectiveOperation,
    /// The name of its algorithm; `None`: one that was published for offloading.
    pub algorithm: Option<String>,
    /// Number of ranks, at least 1.
    pub ranks: u32,
    /// Length of the message, of a block or of an operand.
    pub bytes: usize,
    /// The root, if the operation has one.
    pub root: u32,
    /// Whether a rank's own block is already in the receive buffer.
    pub in_place: bool,
    /// Whether messages between two ranks arrive in order, as on Tofu.
    pub ordered: bool,
}

/// Limit of the steps of a rank; with as many on all ranks, compilation takes seconds.
const STEPS_MAX: usize = 2_000;

/// Operations that need only one length.
pub const OPERATIONS: [CollectiveOperation; 11] = [
    CollectiveOperation::Barrier,
    CollectiveOperation::Bcast,
    CollectiveOperation::Gather,
    CollectiveOperation::Scatter,
    CollectiveOperation::Allgather,
    CollectiveOperation::Alltoall,
    CollectiveOperation::Reduce,
    CollectiveOperation::Allreduce,
    CollectiveOperation::ReduceScatter,
    CollectiveOperation::Scan,
    CollectiveOperation::Exscan,
];

impl SimulatedCollective {
    /// Calls `then` with the name of the algorithm and a function from rank to schedule.
    ///
    /// # Errors
    /// The algorithm does not exist or does not fit; or an error of `then`.
    pub fn with_schedules<T>(
        &self, then: impl FnOnce(&str, &dyn Fn(u32) -> Schedule) -> Result<T, String>,
    ) -> Result<T, String> {
        let Self { ranks, bytes, root, in_place, .. } = *self;
        if ranks == 0 || root >= ranks {
            return Err(format!("rank {root} as root: expected a rank below {ranks}"));
        }
        let operands = Operands { bytes, element: 1, commutative: true };
        let rooted = Rooted { block: bytes, root, in_place };
        let exchange = UniformBlocks { block: bytes, in_place };
        let scan = Scan { operands, in_place };
        match self.operation {
            CollectiveOperation::Barrier => self.with_family(&registry::BARRIER, (), then),
            CollectiveOperation::Bcast => {
                self.with_family(&registry::BCAST, Bcast { bytes, root }, then)
            }
            CollectiveOperation::Gather => self.with_family(&registry::GATHER, rooted, then),
            CollectiveOperation::Scatter => self.with_family(&registry::SCATTER, rooted, then),
            CollectiveOperation::Allgather => {
                self.with_family(&registry::ALLGATHER, exchange, then)
            }
            CollectiveOperation::Alltoall => self.with_family(&registry::ALLTOALL, exchange, then),
            CollectiveOperation::Reduce => {
                self.with_family(&registry::REDUCE, Reduce { operands, root, in_place }, then)
            }
            CollectiveOperation::Allreduce => {
                self.with_family(&registry::ALLREDUCE, Allreduce { operands, in_place }, then)
            }
            CollectiveOperation::ReduceScatter => {
                let blocks = &vec![bytes; ranks as usize];
                let args = ReduceScatter { blocks, commutative: true, in_place };
                self.with_family(&registry::REDUCE_SCATTER, args, then)
            }
            CollectiveOperation::Scan => self.with_family(&registry::SCAN, scan, then),
            CollectiveOperation::Exscan => self.with_family(&registry::EXSCAN, scan, then),
            operation => Err(format!(
                "{}: operations with blocks of different lengths are not supported",
                operation.name()
            )),
        }
    }

    fn with_family<A: Arguments, T>(
        &self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
        then: impl FnOnce(&str, &dyn Fn(u32) -> Schedule) -> Result<T, String>,
    ) -> Result<T, String> {
        let shape = Shape { ranks: self.ranks };
        let find = |name: &str| family.algorithms.iter().find(|algorithm| algorithm.name == name);
        let algorithm: &Algorithm<A> = match &self.algorithm {
            Some(name) => find(name).ok_or_else(|| {
                let names: Vec<_> = family.algorithms.iter().map(|it| it.name).collect();
                format!("algorithm {name}: expected one of {}", names.join("|"))
            })?,
            // Algorithms that were published for offloading.
            None => ["doubling", "dissemination", "binomial"]
                .into_iter()
                .find_map(find)
                .unwrap_or(&family.algorithms[0]),
        };
        if !(algorithm.fits)(shape, args) {
            return Err(format!("{} does not fit {} ranks", algorithm.name, self.ranks));
        }
        then(algorithm.name, &|rank| (algorithm.schedule)(shape, rank, args))
    }

    /// The program of one rank.
    ///
    /// # Errors
    /// As [`SimulatedCollective::programs`].
    pub fn program(&self, rank: u32, scheme: Scheme) -> Result<Program, String> {
        let mut programs = self.programs(&[rank], scheme)?;
        programs.pop().ok_or_else(|| format!("rank {rank} has no program"))
    }

    /// The programs of these ranks, which are distinct.
    ///
    /// # Errors
    /// The operation cannot be compiled, or a rank has too many steps.
    pub fn programs(&self, ranks: &[u32], scheme: Scheme) -> Result<Vec<Program>, String> {
        let rules = self.rules(scheme);
        if !self.is_short()? {
            let why = format!("too many steps on a rank of {}", self.ranks);
            return self.with_schedules(|name, _| Err(format!("{name} has {why}")));
        }
        self.with_schedules(|_, schedule| link_some(schedule, ranks, &rules))
    }

    /// Whether the ranks have few enough steps to compile them.
    ///
    /// # Errors
    /// As [`SimulatedCollective::with_schedules`].
    pub(crate) fn is_short(&self) -> Result<bool, String> {
        // The first and the last rank have the most steps in some algorithms.
        let ends = [0, self.ranks - 1, self.root];
        self.with_schedules(|_, schedule| {
            Ok(ends.iter().all(|rank| schedule(*rank).steps().len() <= STEPS_MAX))
        })
    }

    /// Whether the algorithm supports these ranks and bytes.
    ///
    /// # Errors
    /// As [`SimulatedCollective::with_schedules`].
    pub fn fits(&self) -> Result<(), String> {
        self.with_schedules(|_, _| Ok(()))
    }

    /// The rules of a scheme; [`Scheme::Tank1`] gives the published programs.
    pub fn rules(&self, scheme: Scheme) -> Rules {
        let rules = match scheme {
            Scheme::Tank1 => Rules::PAPER,
            Scheme::Tank | Scheme::Prematched => Rules::of(scheme),
        };
        let synchronizes = self.operation == CollectiveOperation::Barrier;
        let rules = Rules { synchronizes, ordered: self.ordered, ..rules };
        if scheme == Scheme::Tank1 && self.operation == CollectiveOperation::Bcast {
            let single = Some(SingleSource { source: self.root, ranks: self.ranks, rank: 0 });
            return Rules { single, branches: true, ..rules };
        }
        rules
    }
}
