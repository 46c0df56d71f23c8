//! Compiles the programs of several ranks in one process, for tests and tools.

use std::collections::BTreeMap;

use super::draft::Draft;
use super::rules::{Rules, SingleSource};
use crate::offload::program::Program;
use crate::offload::schedule::Schedule;

/// The programs of ranks `0..schedules.len()`.
///
/// # Errors
/// The rank whose schedule counters cannot run, and the reason.
pub fn link_all(schedules: &[Schedule], rules: &Rules) -> Result<Vec<Program>, String> {
    let ranks = 0..schedules.len() as u32;
    let mut drafts = BTreeMap::new();
    for rank in ranks.clone() {
        drafts.insert(rank, draft(&schedules[rank as usize], rank, rules)?);
    }
    ranks.clone().try_for_each(|rank| exchange_grants(&mut drafts, rank))?;
    ranks.clone().try_for_each(|rank| exchange_targets(&mut drafts, rank))?;
    drafts.into_values().map(finish).collect()
}

/// The programs of some ranks, each named once, in that order. Needs the schedules of these ranks, of
/// their peers, and of the peers of those.
///
/// # Errors
/// As [`link_all`].
pub fn link_some(
    schedule: impl Fn(u32) -> Schedule, ranks: &[u32], rules: &Rules,
) -> Result<Vec<Program>, String> {
    let mut drafts = BTreeMap::new();
    // Peers know their targets when they have the grants of all their destinations.
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
            let targets = drafts[&peer].targets_to(rank);
            draft_of(&mut drafts, rank)?.take_targets(peer, targets)?;
        }
    }
    let take = |rank| drafts.remove(rank).ok_or_else(|| format!("rank {rank} is named twice"));
    ranks.iter().map(take).map(|draft| finish(draft?)).collect()
}

/// The program of one rank, like [`link_some`].
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

/// The program, if counters of the interface can count its arrivals.
fn finish(draft: Draft) -> Result<Program, String> {
    draft.misfit().map_or(Ok(()), |why| Err(why.to_owned()))?;
    draft.finish()
}

/// Passes the grants of a rank to its sources that are in `drafts`.
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

/// Passes the targets of a rank to its peers.
fn exchange_targets(drafts: &mut BTreeMap<u32, Draft>, rank: u32) -> Result<(), String> {
    let own = &drafts[&rank];
    let targets: Vec<_> =
        own.peers().into_iter().map(|peer| (peer, own.targets_to(peer))).collect();
    for (peer, targets) in targets {
        draft_of(drafts, peer)?.take_targets(rank, targets)?;
    }
    Ok(())
}

fn draft_of(drafts: &mut BTreeMap<u32, Draft>, rank: u32) -> Result<&mut Draft, String> {
    let ranks = drafts.len();
    drafts.get_mut(&rank).ok_or(format!("rank {rank} is none of the {ranks} ranks"))
}
