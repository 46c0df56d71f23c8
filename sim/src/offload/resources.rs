//! What programs of an operation take of an interface, by scheme: as table 6 of the paper on
//! offloading persistent collectives (Morie et al., RIKEN).

use super::SimulatedCollective;
use mpi_abi::offload::Scheme;
use mpi_abi::offload::resources::Resources;

/// The most that a rank takes, of those at the beginning, in the middle and at the end: algorithms
/// give other parts to roots, to those with a partner beyond a power of two, and to these.
///
/// # Errors
/// A sentence if the operation cannot be compiled so.
pub fn largest(collective: &SimulatedCollective, scheme: Scheme) -> Result<Resources, String> {
    let ranks = collective.ranks;
    let mut looked_at = vec![0, 1, 2, 3, ranks / 2, ranks - ranks.min(2), ranks - 1];
    looked_at.extend([collective.root, (1 << ranks.ilog2()) - 1]);
    looked_at.retain(|rank| *rank < ranks);
    looked_at.sort_unstable();
    looked_at.dedup();
    let programs = collective.programs(&looked_at, scheme)?;
    Ok(programs.iter().map(Resources::of).fold(Resources::default(), Resources::max))
}

/// The rounds of messages of an operation.
///
/// # Errors
/// As [`largest`].
pub fn rounds(collective: &SimulatedCollective) -> Result<u32, String> {
    collective.with_schedules(|_, schedule| Ok(schedule(0).rounds()))
}
