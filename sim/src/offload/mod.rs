//! Collective operations as programs of deferred work: tables, resources, and runs.
//!
//! This module selects an operation and its algorithm; [`offload`](mpi_abi::offload) defines programs
//! and compiles schedules to them.

pub mod generations;
pub mod law;
pub mod levels;
pub mod resources;
pub mod table;

use crate::collective::CollectiveCall;
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
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
        if !OPERATIONS.contains(&self.operation) {
            return Err(format!(
                "{}: operations with blocks of different lengths are not supported",
                self.operation.name()
            ));
        }
        let call = CollectiveCall {
            operation: self.operation,
            algorithm: Some(self.algorithm_name().to_owned()),
            ranks: self.ranks,
            bytes: self.bytes,
            root: self.root,
            in_place: self.in_place,
        };
        call.with_schedules_of(1, |name, schedule| then(name, &|rank| schedule(rank)))
    }

    /// The algorithm; without one, the first that was published for offloading, or the first of all.
    fn algorithm_name(&self) -> &str {
        if let Some(name) = &self.algorithm {
            return name;
        }
        let all = CollectiveCall::algorithms(self.operation);
        let published = ["doubling", "dissemination", "binomial"];
        published.into_iter().find(|name| all.contains(name)).unwrap_or(all[0])
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
