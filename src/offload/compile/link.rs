//! Programs of several ranks at once, for tests and tools: the exchanges take place in memory.

use std::collections::BTreeMap;

use super::super::{Program, Schedule};
use super::{Draft, Rules, SingleSource};

/// The programs of ranks `0..schedules.len()`.
///
/// # Errors
/// A sentence that names the rank whose schedule counters cannot run.
pub fn link_all(schedules: &[Schedule], rules: &Rules) -> Result<Vec<Program>, String> {
    let ranks = 0..schedules.len() as u32;
    let mut drafts = BTreeMap::new();
    for rank in ranks.clone() {
        drafts.insert(rank, draft(&schedules[rank as usize], rank, rules)?);
    }
    ranks.clone().try_for_each(|rank| exchange_grants(&mut drafts, rank))?;
    ranks.clone().try_for_each(|rank| exchange_targets(&mut drafts, rank))?;
    drafts.into_values().map(Draft::finish).collect()
}

/// The programs of some ranks, each named once, in that order: from the schedules of these, of their
/// peers, and of theirs.
///
/// # Errors
/// As [`link_all`].
pub fn link_some(
    schedule: impl Fn(u32) -> Schedule, ranks: &[u32], rules: &Rules,
) -> Result<Vec<Program>, String> {
    let mut drafts = BTreeMap::new();
    // Peers can tell their places once they have the grants of all that they send to.
    let mut near = ranks.to_vec();
    for distance in 0..3 {
        let mut next = Vec::new();
        for rank in std::mem::take(&mut near) {
            if drafts.contains_key(&rank) {
                continue;
            }
            let draft = draft(&schedule(rank), rank, rules)?;
            next.extend(if distance == 0 { draft.peers() } else { draft.destinations().collect() });
            drafts.insert(rank, draft);
        }
        near = next;
    }
    let near: Vec<u32> = drafts.keys().copied().collect();
    near.iter().try_for_each(|&rank| exchange_grants(&mut drafts, rank))?;
    for &rank in ranks {
        for peer in drafts[&rank].peers() {
            let places = drafts[&peer].targets_to(rank);
            draft_of(&mut drafts, rank)?.take_targets(peer, places)?;
        }
    }
    let take = |rank| drafts.remove(rank).ok_or_else(|| format!("rank {rank} is named twice"));
    ranks.iter().map(take).map(|draft| draft?.finish()).collect()
}

/// The program of one rank, from the schedules of it, of its peers, and of theirs.
///
/// # Errors
/// As [`link_all`].
pub fn link_one(
    schedule: impl Fn(u32) -> Schedule, rank: u32, rules: &Rules,
) -> Result<Program, String> {
    let mut programs = link_some(schedule, &[rank], rules)?;
    programs.pop().ok_or_else(|| format!("rank {rank} has no program"))
}

fn draft(schedule: &Schedule, rank: u32, rules: &Rules) -> Result<Draft, String> {
    let single = rules.single.map(|single| SingleSource { rank, ..single });
    Draft::new(schedule, &Rules { single, ..*rules }).map_err(|why| format!("rank {rank}: {why}"))
}

/// Gives the grants of a rank to those that send to it, as far as they are there.
fn exchange_grants(drafts: &mut BTreeMap<u32, Draft>, rank: u32) -> Result<(), String> {
    let own = &drafts[&rank];
    let grants: Vec<_> = own.sources().map(|peer| (peer, own.grants_to(peer))).collect();
    for (peer, grants) in grants {
        if let Some(peer) = drafts.get_mut(&peer) {
            peer.take_grants(rank, &grants)?;
        }
    }
    Ok(())
}

/// Tells the places of a rank to its peers.
fn exchange_targets(drafts: &mut BTreeMap<u32, Draft>, rank: u32) -> Result<(), String> {
    let own = &drafts[&rank];
    let places: Vec<_> = own.peers().into_iter().map(|peer| (peer, own.targets_to(peer))).collect();
    for (peer, places) in places {
        draft_of(drafts, peer)?.take_targets(rank, places)?;
    }
    Ok(())
}

fn draft_of(drafts: &mut BTreeMap<u32, Draft>, rank: u32) -> Result<&mut Draft, String> {
    let ranks = drafts.len();
    drafts.get_mut(&rank).ok_or(format!("rank {rank} is none of {ranks}"))
}
