//! Programs of all ranks at once, for tests and tools: the exchanges take place in memory.

use super::super::{Program, Schedule};
use super::{Draft, Rules};

/// The programs of ranks `0..schedules.len()`.
///
/// # Errors
/// A sentence that names the rank whose schedule counters cannot run.
pub fn link_all(schedules: &[Schedule], rules: &Rules) -> Result<Vec<Program>, String> {
    let draft =
        |(rank, schedule)| Draft::new(schedule, rules).map_err(|why| format!("rank {rank}: {why}"));
    let mut drafts: Vec<Draft> =
        schedules.iter().enumerate().map(draft).collect::<Result<_, _>>()?;
    for rank in 0..drafts.len() {
        for peer in drafts[rank].sources().collect::<Vec<_>>() {
            let grants = drafts[rank].grants_to(peer);
            at(&mut drafts, peer)?.take_grants(rank as u32, &grants)?;
        }
    }
    for rank in 0..drafts.len() {
        for peer in drafts[rank].peers() {
            let places = drafts[rank].places_to(peer);
            at(&mut drafts, peer)?.take_places(rank as u32, places)?;
        }
    }
    drafts.into_iter().map(Draft::finish).collect()
}

fn at(drafts: &mut [Draft], rank: u32) -> Result<&mut Draft, String> {
    let ranks = drafts.len();
    drafts.get_mut(rank as usize).ok_or(format!("rank {rank} is none of {ranks}"))
}
