//! Collective operations as programs of deferred work: tables and resources.
//!
//! [`collective`](crate::collective) selects an operation and its algorithm; [`offload`](mpi_abi::offload) defines
//! programs and compiles schedules to them. [`executor`](crate::executor) runs them in virtual time.

pub mod generations;
pub mod law;
pub mod resources;
pub mod table;

use mpi_abi::device::trigger::{InterfaceLimits, TriggerClass};
use mpi_abi::mpi::collective::selection::registry::CollectiveOperation;
use mpi_abi::offload::compile::{Rules, SingleSource, link_all, link_some};
use mpi_abi::offload::{Program, Schedule, Scheme};

use crate::collective::CollectiveCall;
use crate::network::LoggpRates;

/// A collective operation as programs of interfaces.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct OffloadedCall {
    /// The operation.
    pub call: CollectiveCall,
    /// How its schedules are compiled.
    pub rules: Rules,
}

/// Limit of the steps of a rank; with as many on all ranks, compilation takes seconds.
const STEPS_MAX: usize = 2_000;

/// Limit of the steps of all ranks whose programs run.
const ALL_STEPS_MAX: usize = 1_000_000;

/// An interface without limits, with one engine, which keeps the order of transfers.
pub const UNLIMITED: InterfaceLimits = InterfaceLimits {
    counters: u32::MAX,
    slots: u32::MAX,
    engines: 1,
    ordered: true,
    arithmetic: 0,
    class: TriggerClass::Thresholds,
    counter_bits: u64::BITS,
    transfer_max: usize::MAX,
};

/// The algorithm of an operation that was published for offloading, or its first one.
pub fn published_algorithm(operation: CollectiveOperation) -> &'static str {
    let known = CollectiveCall::algorithms(operation);
    let published = ["doubling", "dissemination", "binomial"];
    published.into_iter().find(|name| known.contains(name)).unwrap_or(known[0])
}

impl OffloadedCall {
    /// A call by the rules of a scheme. `ordered`: messages between two ranks arrive in order, as on Tofu.
    pub fn new(call: CollectiveCall, scheme: Scheme, ordered: bool) -> Self {
        let rules = Rules { ordered, ..Rules::of(scheme) };
        Self { call, rules }.synchronized()
    }

    /// A call for interfaces with these limits, on this network: messages keep their order if they wait for ports.
    pub fn on(
        call: CollectiveCall, scheme: Scheme, limits: &InterfaceLimits, network: &LoggpRates,
    ) -> Self {
        let mut offloaded = Self::new(call, scheme, true);
        offloaded.rules = limits.rules(offloaded.rules);
        offloaded.rules.ordered &= network.contends;
        offloaded
    }

    /// As [`OffloadedCall::new`], but [`Scheme::Tank1`] gives the published programs.
    pub fn published(call: CollectiveCall, scheme: Scheme, ordered: bool) -> Self {
        if scheme != Scheme::Tank1 {
            return Self::new(call, scheme, ordered);
        }
        let mut rules = Rules { ordered, ..Rules::PAPER };
        if call.operation == CollectiveOperation::Bcast {
            rules.single = Some(SingleSource { source: call.root, ranks: call.ranks, rank: 0 });
            rules.branches = true;
        }
        Self { call, rules }.synchronized()
    }

    fn synchronized(mut self) -> Self {
        self.rules.synchronizes = self.call.operation == CollectiveOperation::Barrier;
        self
    }

    /// The program of one rank.
    ///
    /// # Errors
    /// As [`OffloadedCall::programs`].
    pub fn program(&self, rank: u32) -> Result<Program, String> {
        let mut programs = self.programs(&[rank])?;
        programs.pop().ok_or_else(|| format!("rank {rank} has no program"))
    }

    /// The programs of these ranks, which are distinct.
    ///
    /// # Errors
    /// The operation cannot be compiled, or a rank has too many steps.
    pub fn programs(&self, ranks: &[u32]) -> Result<Vec<Program>, String> {
        self.check_steps()?;
        self.call.with_schedules(|_, schedule| link_some(schedule, ranks, &self.rules))
    }

    /// The programs of all ranks.
    ///
    /// # Errors
    /// As [`OffloadedCall::programs`].
    pub fn all_programs(&self) -> Result<Vec<Program>, String> {
        self.check_steps()?;
        let ranks = self.call.ranks;
        self.call.with_schedules(|name, schedule| {
            let mut steps = 0;
            let within = |schedule: Schedule| {
                steps += schedule.steps().len();
                (steps <= ALL_STEPS_MAX).then_some(schedule)
            };
            let schedules: Option<Vec<_>> = (0..ranks).map(schedule).map(within).collect();
            let schedules = schedules.ok_or_else(|| {
                format!(
                    "{name} on {ranks} ranks: expected at most {ALL_STEPS_MAX} steps of all ranks"
                )
            })?;
            link_all(&schedules, &self.rules)
        })
    }

    fn check_steps(&self) -> Result<(), String> {
        if self.is_short()? {
            return Ok(());
        }
        let why = format!("too many steps on a rank of {}", self.call.ranks);
        self.call.with_schedules(|name, _| Err(format!("{name} has {why}")))
    }

    /// Whether the ranks have few enough steps to compile them.
    ///
    /// # Errors
    /// As [`CollectiveCall::with_schedules`].
    pub(crate) fn is_short(&self) -> Result<bool, String> {
        let CollectiveCall { ranks, root, .. } = self.call;
        // The first and the last rank have the most steps in some algorithms.
        let ends = [0, ranks - 1, root];
        self.call.with_schedules(|_, schedule| {
            Ok(ends.iter().all(|rank| schedule(*rank).steps().len() <= STEPS_MAX))
        })
    }
}
