//! Who waits for whom: deadlocks, ranks that others wait for, collective calls that do not match.
//!
//! ```text
//!   rank 0 ──needs all of──> 1, 2        can go on if all of them can
//!   rank 1 ──needs one of──> 0, 2        can go on if one of them can
//! ```
//!
//! Ranks that wait for nothing can act, those that have ended cannot. What cannot act by these
//! rules, whatever the others do, is deadlocked: Knapp, "Deadlock detection in distributed
//! databases", ACM Computing Surveys 19(4), 1987, the AND-OR model. Where it is not known whom a
//! rank waits for, it is taken for one that can act, so no deadlock is reported that is none.

use std::collections::BTreeMap;

use super::blocked::{Blocked, Need, ranges};

/// How much of the words of one call is repeated here, in characters, and of how many ranks.
const WORDS_MAX: usize = 120;
const RANKS_MAX: usize = 8;

/// What one rank can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Fate<'a> {
    /// It waits for others.
    Waits(&'a Blocked),
    /// Others may hope for it; what to say of it after "which".
    Free(String),
    /// It has ended.
    Ended,
}

/// What there is to say about who waits for whom, a sentence each.
pub fn sentences(fates: &[Fate<'_>]) -> Vec<String> {
    let able = able(fates);
    let mut sentences = mismatches(fates);
    sentences.extend(deadlock(fates, &able));
    sentences.extend(awaited(fates, &able));
    sentences
}

/// `rank 3`, `ranks 0,2-7`.
pub fn ranks_named(ranks: &[u32]) -> String {
    let many = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{many} {}", ranges(ranks))
}

/// Which ranks can act, or will be able to once others have.
fn able(fates: &[Fate<'_>]) -> Vec<bool> {
    let mut able: Vec<_> = fates.iter().map(|fate| matches!(fate, Fate::Free(_))).collect();
    loop {
        let mut changed = false;
        for (rank, fate) in fates.iter().enumerate() {
            let Fate::Waits(blocked) = fate else { continue };
            if !able[rank] && is_hopeful(blocked, &able) {
                able[rank] = true;
                changed = true;
            }
        }
        if !changed {
            return able;
        }
    }
}

fn is_hopeful(blocked: &Blocked, able: &[bool]) -> bool {
    let can = |peer: &u32| able.get(*peer as usize).copied().unwrap_or(true);
    let met = |need: &Need| match (&need.peers[..], need.any) {
        ([], _) => true,
        (peers, true) => peers.iter().any(can),
        (peers, false) => peers.iter().all(can),
    };
    match (&blocked.needs[..], blocked.any) {
        ([], _) => true,
        (needs, true) => needs.iter().any(met),
        (needs, false) => needs.iter().all(met),
    }
}

/// The first circle of ranks that wait for each other, or the first wait for an ended rank.
fn deadlock(fates: &[Fate<'_>], able: &[bool]) -> Option<String> {
    let is_stuck = |rank: &u32| able.get(*rank as usize) == Some(&false);
    let first = (0..fates.len() as u32)
        .find(|rank| is_stuck(rank) && matches!(fates[*rank as usize], Fate::Waits(_)))?;
    let mut way = vec![first];
    loop {
        let last = *way.last()?;
        let Fate::Waits(blocked) = &fates[last as usize] else {
            return Some(hopeless(fates, &way));
        };
        let mut peers = blocked.needs.iter().flat_map(|need| &need.peers);
        let next = *peers.find(|peer| is_stuck(peer))?;
        if let Some(start) = way.iter().position(|rank| *rank == next) {
            return Some(circle(fates, &way[start..]));
        }
        way.push(next);
    }
}

fn circle(fates: &[Fate<'_>], way: &[u32]) -> String {
    let told = way.iter().take(RANKS_MAX).map(|rank| placed(fates, *rank));
    let told: Vec<_> = told.collect();
    let more = if way.len() > RANKS_MAX { " <- ..." } else { "" };
    format!("deadlock: {}{more} <- rank {}", told.join(" <- "), way[0])
}

fn hopeless(fates: &[Fate<'_>], way: &[u32]) -> String {
    let [.., waiting, ended] = *way else { return String::new() };
    format!("{} waits for rank {ended}, which has ended", placed(fates, waiting))
}

/// `rank 3 in MPI_Recv(...)`
fn placed(fates: &[Fate<'_>], rank: u32) -> String {
    match &fates[rank as usize] {
        Fate::Waits(Blocked { function, words, .. }) => {
            // What follows is no argument.
            let words = words.split(';').next().unwrap_or_default();
            let end = words.char_indices().nth(WORDS_MAX).map_or(words.len(), |(end, _)| end);
            let cut = if end < words.len() { "..." } else { "" };
            format!("rank {rank} in {function}{}{cut}", &words[..end])
        }
        Fate::Free(_) | Fate::Ended => format!("rank {rank}"),
    }
}

/// Ranks that wait, by the ranks that they wait for in the end, which do not.
fn awaited(fates: &[Fate<'_>], able: &[bool]) -> Vec<String> {
    let mut waiting: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (rank, fate) in (0..).zip(fates) {
        if matches!(fate, Fate::Waits(_)) && able[rank as usize] {
            waiting.entry(roots(fates, rank)).or_default().push(rank);
        }
    }
    let told = waiting.into_iter().filter(|(roots, _)| !roots.is_empty()).map(|(roots, ranks)| {
        let verb = if ranks.len() == 1 { "waits" } else { "wait" };
        let sentence = format!("{} {verb} for {}", ranks_named(&ranks), ranks_named(&roots));
        let mut words = roots.iter().filter_map(|root| match &fates[*root as usize] {
            Fate::Free(words) => Some(words),
            Fate::Waits(_) | Fate::Ended => None,
        });
        match words.next() {
            Some(first) if words.all(|other| other == first) => {
                format!("{sentence}, which {first}")
            }
            Some(_) | None => sentence,
        }
    });
    told.take(RANKS_MAX).collect()
}

/// The ranks that wait for nothing and that `rank` waits for, directly or through others.
fn roots(fates: &[Fate<'_>], rank: u32) -> Vec<u32> {
    /// Enough for any job of one host; more would take long.
    const STEPS_MAX: usize = 100_000;
    let mut seen = vec![false; fates.len()];
    let mut pending = vec![rank];
    let mut roots = Vec::new();
    let mut steps = 0;
    while let Some(Fate::Waits(blocked)) = pending.pop().map(|rank| &fates[rank as usize]) {
        for peer in blocked.needs.iter().flat_map(|need| &need.peers) {
            steps += 1;
            let Some(seen) = seen.get_mut(*peer as usize) else { continue };
            if std::mem::replace(seen, true) || steps > STEPS_MAX {
                continue;
            }
            match &fates[*peer as usize] {
                Fate::Waits(_) => pending.push(*peer),
                Fate::Free(_) => roots.push(*peer),
                Fate::Ended => {}
            }
        }
    }
    roots.sort_unstable();
    roots
}

/// Collective calls that are another function on some ranks.
fn mismatches(fates: &[Fate<'_>]) -> Vec<String> {
    let mut calls: BTreeMap<_, BTreeMap<&str, Vec<u32>>> = BTreeMap::new();
    for (rank, fate) in (0..).zip(fates) {
        // A request does not say what it was made by.
        if let Fate::Waits(Blocked { function, needs, .. }) = fate
            && let [Need { call: Some(call), .. }] = &needs[..]
            && !function.starts_with("MPI_Wait")
        {
            calls.entry(*call).or_default().entry(function).or_default().push(rank);
        }
    }
    let different = calls.into_values().filter(|functions| functions.len() > 1);
    let sentence = |functions: BTreeMap<&str, Vec<u32>>| {
        let places =
            functions.iter().map(|(name, ranks)| format!("{} in {name}", ranks_named(ranks)));
        let places: Vec<_> = places.collect();
        format!(
            "in the same call there are {}: all ranks of a communicator must call the same \
             collective operations in the same order",
            places.join(", ")
        )
    };
    different.map(sentence).take(RANKS_MAX).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::base::blocked::Call;

    fn receive(source: u32, tag: i32) -> Blocked {
        Blocked {
            words: format!("(source {source}, tag {tag})"),
            needs: vec![Need { peers: vec![source], ..Need::default() }],
            ..Blocked::new("MPI_Recv")
        }
    }

    fn receive_any(peers: &[u32]) -> Blocked {
        let need = Need { peers: peers.to_vec(), any: true, call: None };
        Blocked { needs: vec![need], ..Blocked::new("MPI_Recv") }
    }

    fn collective(function: &str, peers: &[u32]) -> Blocked {
        let call = Some(Call { context: 1, sequence: 7 });
        let need = Need { peers: peers.to_vec(), any: false, call };
        Blocked { needs: vec![need], ..Blocked::new(function) }
    }

    fn free() -> Fate<'static> {
        Fate::Free("computes".to_owned())
    }

    #[test]
    fn two_receives_from_each_other_are_a_deadlock() {
        let (one, other) = (receive(1, 5), receive(0, 6));
        let sentences = sentences(&[Fate::Waits(&one), Fate::Waits(&other), free()]);
        assert_eq!(
            sentences,
            [
                "deadlock: rank 0 in MPI_Recv(source 1, tag 5) <- rank 1 in MPI_Recv(source 0, tag 6) \
              <- rank 0"
            ]
        );
    }

    #[test]
    fn a_circle_is_told_without_those_who_wait_for_it() {
        let blocked = [receive(2, 1), receive(2, 1), receive(3, 1), receive(2, 2)];
        let fates: Vec<_> = blocked.iter().map(Fate::Waits).collect();
        let told = sentences(&fates);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("deadlock: rank 2 in") && told[0].ends_with("<- rank 2"));
    }

    #[test]
    fn one_that_may_come_from_anybody_is_no_deadlock_while_somebody_can_act() {
        let (any, exact) = (receive_any(&[1, 2]), receive(0, 1));
        let told = sentences(&[Fate::Waits(&any), Fate::Waits(&exact), free()]);
        assert_eq!(told, ["ranks 0,1 wait for rank 2, which computes"]);
        let told = sentences(&[Fate::Waits(&any), Fate::Waits(&exact), Fate::Waits(&exact)]);
        assert!(told[0].starts_with("deadlock: rank 0 in"), "{told:?}");
    }

    #[test]
    fn one_of_several_requests_is_enough_if_any_is_waited_for() {
        let needs = |any| {
            let need = |peer| Need { peers: vec![peer], ..Need::default() };
            Blocked { needs: vec![need(1), need(2)], any, ..Blocked::new("MPI_Wait") }
        };
        let (all, any, back) = (needs(false), needs(true), receive(0, 1));
        assert!(sentences(&[Fate::Waits(&all), Fate::Waits(&back), free()])[0].contains("dead"));
        assert!(!sentences(&[Fate::Waits(&any), Fate::Waits(&back), free()])[0].contains("dead"));
    }

    #[test]
    fn who_is_missing_in_a_collective_is_named_through_others() {
        let (one, two) = (collective("MPI_Barrier", &[1]), collective("MPI_Barrier", &[0]));
        let fates = [Fate::Waits(&one), free(), Fate::Waits(&two), Fate::Waits(&two)];
        assert_eq!(sentences(&fates), ["ranks 0,2,3 wait for rank 1, which computes"]);
    }

    #[test]
    fn what_an_ended_rank_owes_never_comes() {
        let blocked = receive(1, 5);
        let told = sentences(&[Fate::Waits(&blocked), Fate::Ended]);
        assert_eq!(told, ["rank 0 in MPI_Recv(source 1, tag 5) waits for rank 1, which has ended"]);
    }

    #[test]
    fn other_collectives_in_the_same_call_are_told() {
        let (one, other) = (collective("MPI_Bcast", &[1]), collective("MPI_Barrier", &[0]));
        let told = sentences(&[Fate::Waits(&one), Fate::Waits(&other), Fate::Waits(&other)]);
        assert!(told[0].contains("ranks 1,2 in MPI_Barrier, rank 0 in MPI_Bcast"), "{told:?}");
        assert!(told[1].starts_with("deadlock"));
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        let unknown = Blocked::new("MPI_Init");
        let strange = receive(77, 0);
        assert_eq!(sentences(&[Fate::Waits(&unknown), Fate::Waits(&strange)]), [""; 0]);
        assert_eq!(sentences(&[]), [""; 0]);
    }
}
