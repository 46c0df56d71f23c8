//! Resources of an interface that the programs of an operation need, by scheme: table 6 of Y. Morie
//! et al., "Design and evaluation of persistent collective communication with the offload API of
//! Open Fabrics Interfaces" (RIKEN).

use super::law::Laws;
use super::{SimulatedCollective, law};
use mpi_abi::offload::Scheme;
use mpi_abi::offload::resources::Resources;

/// Broadcasts on more ranks are not compiled for a single source, which needs the programs of all ranks.
const SINGLE_SOURCE_MAX: u32 = 10_000;

/// The resources of an operation. If it is too large to compile, or its algorithm does not support so
/// many ranks, they are those of a law.
///
/// # Errors
/// The operation cannot be compiled, or a resource has no law.
pub fn largest(
    collective: &SimulatedCollective, scheme: Scheme,
) -> Result<(Resources, Option<Laws>), String> {
    let is_single = collective.rules(scheme).single.is_some();
    match collective.is_short() {
        Ok(true) if !is_single || collective.ranks <= SINGLE_SOURCE_MAX => {
            return Ok((compiled(collective, scheme)?, None));
        }
        // Of a few ranks, the error is the answer.
        Err(why) if collective.ranks <= SINGLE_SOURCE_MAX => return Err(why),
        _ => (),
    }
    let laws = law::of(collective, scheme)?;
    Ok((laws.at(collective.ranks), Some(laws)))
}

/// The maximum over ranks at the beginning, in the middle and at the end, the root, and the last rank
/// of the power of two: these have different roles in the algorithms.
///
/// # Errors
/// The operation cannot be compiled.
fn compiled(collective: &SimulatedCollective, scheme: Scheme) -> Result<Resources, String> {
    let programs = collective.programs(&examined(collective), scheme)?;
    Ok(programs.iter().map(Resources::of).fold(Resources::default(), Resources::max))
}

/// Ranks with different roles.
pub(super) fn examined(collective: &SimulatedCollective) -> Vec<u32> {
    let ranks = collective.ranks;
    let mut examined = vec![0, 1, 2, 3, ranks / 2, ranks - ranks.min(2), ranks - 1];
    examined.extend([collective.root, (1 << ranks.ilog2()) - 1]);
    examined.retain(|rank| *rank < ranks);
    examined.sort_unstable();
    examined.dedup();
    examined
}

/// The number of rounds of messages of an operation.
///
/// # Errors
/// As [`largest`].
pub fn rounds(collective: &SimulatedCollective) -> Result<u32, String> {
    let ranks = examined(collective);
    collective.with_schedules(|_, schedule| {
        Ok(ranks.iter().map(|rank| schedule(*rank).rounds()).max().unwrap_or(0))
    })
}
