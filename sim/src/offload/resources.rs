//! Resources of an interface that the programs of an operation need, by scheme: table 6 of Y. Morie
//! et al., "Design and evaluation of persistent collective communication with the offload API of
//! Open Fabrics Interfaces" (RIKEN).

use super::SimulatedCollective;
use mpi_abi::offload::Scheme;
use mpi_abi::offload::resources::Resources;

/// The maximum over ranks at the beginning, in the middle and at the end, the root, and the last rank
/// of the power of two: these have different roles in the algorithms.
///
/// # Errors
/// The operation cannot be compiled.
pub fn largest(collective: &SimulatedCollective, scheme: Scheme) -> Result<Resources, String> {
    let ranks = collective.ranks;
    let mut examined = vec![0, 1, 2, 3, ranks / 2, ranks - ranks.min(2), ranks - 1];
    examined.extend([collective.root, (1 << ranks.ilog2()) - 1]);
    examined.retain(|rank| *rank < ranks);
    examined.sort_unstable();
    examined.dedup();
    let programs = collective.programs(&examined, scheme)?;
    Ok(programs.iter().map(Resources::of).fold(Resources::default(), Resources::max))
}

/// The number of rounds of messages of an operation.
///
/// # Errors
/// As [`largest`].
pub fn rounds(collective: &SimulatedCollective) -> Result<u32, String> {
    collective.with_schedules(|_, schedule| Ok(schedule(0).rounds()))
}
