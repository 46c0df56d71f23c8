//! Resources of an interface that the programs of an operation need, by scheme: table 6 of Y. Morie
//! et al., "Design and evaluation of persistent collective communication with the offload API of
//! Open Fabrics Interfaces" (RIKEN).

use mpi_abi::offload::Program;
use mpi_abi::offload::resources::Resources;

use super::law::Laws;
use super::{OffloadedCall, law};
use crate::collective::CollectiveCall;

/// Broadcasts on more ranks are not compiled for a single source, which needs the programs of all ranks.
const SINGLE_SOURCE_MAX: u32 = 10_000;

/// The resources of an operation. If it is too large to compile, or its algorithm does not support so
/// many ranks, they are those of a law.
///
/// # Errors
/// The operation cannot be compiled, or a resource has no law.
pub fn largest(offloaded: &OffloadedCall) -> Result<(Resources, Option<Laws>), String> {
    let (is_single, ranks) = (offloaded.rules.single.is_some(), offloaded.call.ranks);
    match offloaded.is_short() {
        Ok(true) if !is_single || ranks <= SINGLE_SOURCE_MAX => {
            let programs = offloaded.programs(&examined(&offloaded.call))?;
            return Ok((of_all(&programs), None));
        }
        // Of a few ranks, the error is the answer.
        Err(why) if ranks <= SINGLE_SOURCE_MAX => return Err(why),
        _ => (),
    }
    let laws = law::of(offloaded)?;
    Ok((laws.at(ranks), Some(laws)))
}

/// The maximum over these programs.
pub fn of_all(programs: &[Program]) -> Resources {
    programs.iter().map(Resources::of).fold(Resources::default(), Resources::max)
}

/// Ranks with different roles in the algorithms: at the beginning, in the middle and at the end, the root, and the last
/// one of the power of two.
pub(super) fn examined(call: &CollectiveCall) -> Vec<u32> {
    let ranks = call.ranks;
    let mut examined = vec![0, 1, 2, 3, ranks / 2, ranks - ranks.min(2), ranks - 1];
    examined.extend([call.root, (1 << ranks.ilog2()) - 1]);
    examined.retain(|rank| *rank < ranks);
    examined.sort_unstable();
    examined.dedup();
    examined
}

/// The number of rounds of messages of an operation.
///
/// # Errors
/// As [`largest`].
pub fn rounds(call: &CollectiveCall) -> Result<u32, String> {
    let ranks = examined(call);
    call.with_schedules(|_, schedule| {
        Ok(ranks.iter().map(|rank| schedule(*rank).rounds()).max().unwrap_or(0))
    })
}
