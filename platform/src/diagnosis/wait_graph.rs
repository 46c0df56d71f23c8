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
//! rank waits for, it is taken for one that can act, so no deadlock is reported that is none. Where it
//! is known by other means that nobody can act, a circle is only looked for ([`diagnose_deadlock`]).

use std::collections::BTreeMap;
use std::time::Duration;

use super::wait_report::{WaitCondition, WaitReport, ranges};

/// How much of the words of one call is repeated here, in characters, and of how many ranks.
const WORDS_MAX: usize = 120;
const RANKS_MAX: usize = 8;

/// What one rank can do.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankState<'a> {
    /// It waits for others.
    Waiting(&'a WaitReport),
    /// Others may hope for it; what to say of it after "which".
    Active(String),
    /// It has ended.
    Ended,
}

/// What there is to say about who waits for whom, a sentence each.
pub fn diagnose(fates: &[RankState<'_>]) -> Vec<String> {
    let able = able_ranks(fates);
    let mut sentences = mismatches(fates);
    sentences.extend(deadlock(fates, &able));
    sentences.extend(waits_for_active(fates, &able));
    sentences
}

/// The same where it is known that nobody can act, whatever ranks say that they wait for: at least
/// what they wait for in a circle, if they say enough.
pub fn diagnose_deadlock(fates: &[RankState<'_>]) -> Vec<String> {
    let mut sentences = mismatches(fates);
    sentences.extend(mismatched_arguments(fates));
    sentences.extend(deadlock(fates, &vec![false; fates.len()]));
    sentences
}

/// `rank 3`, `ranks 0,2-7`.
pub fn ranks_named(ranks: &[u32]) -> String {
    let many = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{many} {}", ranges(ranks))
}

/// Equal things of ranks, with the ranks that have them, in the order of their first ranks.
pub fn groups<T: PartialEq>(of_ranks: impl Iterator<Item = Option<T>>) -> Vec<(T, Vec<u32>)> {
    let mut groups: Vec<(T, Vec<u32>)> = Vec::new();
    for (rank, thing) in (0..).zip(of_ranks) {
        let Some(thing) = thing else { continue };
        match groups.iter_mut().find(|(other, _)| *other == thing) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((thing, vec![rank])),
        }
    }
    groups
}

/// `4.9 s`, or `0.2 to 4.9 s`.
pub fn time_range(times: impl Iterator<Item = Duration>) -> Option<String> {
    let mut times: Vec<_> = times.map(|time| format!("{:.1}", time.as_secs_f64())).collect();
    times.sort_by(|a, b| a.len().cmp(&b.len()).then_with(|| a.cmp(b)));
    let (first, last) = (times.first()?, times.last()?);
    Some(if first == last { format!("{last} s") } else { format!("{first} to {last} s") })
}

/// Which ranks can act, or will be able to once others have.
fn able_ranks(fates: &[RankState<'_>]) -> Vec<bool> {
    let mut able: Vec<_> = fates.iter().map(|fate| matches!(fate, RankState::Active(_))).collect();
    loop {
        let mut changed = false;
        for (rank, fate) in fates.iter().enumerate() {
            let RankState::Waiting(blocked) = fate else { continue };
            if !able[rank] && can_be_met(blocked, &able) {
                able[rank] = true;
                changed = true;
            }
        }
        if !changed {
            return able;
        }
    }
}

fn can_be_met(blocked: &WaitReport, able: &[bool]) -> bool {
    let can = |peer: &u32| able.get(*peer as usize).copied().unwrap_or(true);
    let met = |need: &WaitCondition| match (&need.peers[..], need.any) {
        ([], _) => true,
        (peers, true) => peers.iter().any(can),
        (peers, false) => peers.iter().all(can),
    };
    match (&blocked.conditions[..], blocked.any) {
        ([], _) => true,
        (needs, true) => needs.iter().any(met),
        (needs, false) => needs.iter().all(met),
    }
}

/// The first circle of ranks that wait for each other, or the first wait for an ended rank.
fn deadlock(fates: &[RankState<'_>], able: &[bool]) -> Option<String> {
    let is_stuck = |rank: &u32| able.get(*rank as usize) == Some(&false);
    let waits = |rank: &u32| matches!(fates[*rank as usize], RankState::Waiting(_));
    let mut first = (0..fates.len() as u32).filter(|rank| is_stuck(rank) && waits(rank));
    first.find_map(|first| {
        let mut way = vec![first];
        loop {
            let last = *way.last()?;
            let RankState::Waiting(blocked) = &fates[last as usize] else {
                return Some(wait_for_ended(fates, &way));
            };
            let mut peers = blocked.conditions.iter().flat_map(|need| &need.peers);
            let next = *peers.find(|peer| is_stuck(peer))?;
            if let Some(start) = way.iter().position(|rank| *rank == next) {
                return Some(cycle(fates, &way[start..]));
            }
            way.push(next);
        }
    })
}

fn cycle(fates: &[RankState<'_>], way: &[u32]) -> String {
    let told = way.iter().take(RANKS_MAX).map(|rank| rank_in_call(fates, *rank));
    let told: Vec<_> = told.collect();
    let more = if way.len() > RANKS_MAX { " <- ..." } else { "" };
    format!("deadlock: {}{more} <- rank {}", told.join(" <- "), way[0])
}

fn wait_for_ended(fates: &[RankState<'_>], way: &[u32]) -> String {
    let [.., waiting, ended] = *way else { return String::new() };
    format!("{} waits for rank {ended}, which has ended", rank_in_call(fates, waiting))
}

/// `rank 3 in MPI_Recv(...)`
fn rank_in_call(fates: &[RankState<'_>], rank: u32) -> String {
    match &fates[rank as usize] {
        RankState::Waiting(WaitReport { function, details: words, .. }) => {
            // What follows is no argument.
            let words = words.split(';').next().unwrap_or_default();
            let end = words.char_indices().nth(WORDS_MAX).map_or(words.len(), |(end, _)| end);
            let cut = if end < words.len() { "..." } else { "" };
            format!("rank {rank} in {function}{}{cut}", &words[..end])
        }
        RankState::Active(_) | RankState::Ended => format!("rank {rank}"),
    }
}

/// Ranks that wait, by the ranks that they wait for in the end, which do not.
fn waits_for_active(fates: &[RankState<'_>], able: &[bool]) -> Vec<String> {
    let mut waiting: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (rank, fate) in (0..).zip(fates) {
        if matches!(fate, RankState::Waiting(_)) && able[rank as usize] {
            waiting.entry(roots(fates, rank)).or_default().push(rank);
        }
    }
    let told = waiting.into_iter().filter(|(roots, _)| !roots.is_empty()).map(|(roots, ranks)| {
        let verb = if ranks.len() == 1 { "waits" } else { "wait" };
        let sentence = format!("{} {verb} for {}", ranks_named(&ranks), ranks_named(&roots));
        let mut words = roots.iter().filter_map(|root| match &fates[*root as usize] {
            RankState::Active(words) => Some(words),
            RankState::Waiting(_) | RankState::Ended => None,
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
fn roots(fates: &[RankState<'_>], rank: u32) -> Vec<u32> {
    /// Enough for any job of one host; more would take long.
    const STEPS_MAX: usize = 100_000;
    let mut seen = vec![false; fates.len()];
    let mut pending = vec![rank];
    let mut roots = Vec::new();
    let mut steps = 0;
    while let Some(RankState::Waiting(blocked)) = pending.pop().map(|rank| &fates[rank as usize]) {
        for peer in blocked.conditions.iter().flat_map(|need| &need.peers) {
            steps += 1;
            let Some(seen) = seen.get_mut(*peer as usize) else { continue };
            if std::mem::replace(seen, true) || steps > STEPS_MAX {
                continue;
            }
            match &fates[*peer as usize] {
                RankState::Waiting(_) => pending.push(*peer),
                RankState::Active(_) => roots.push(*peer),
                RankState::Ended => {}
            }
        }
    }
    roots.sort_unstable();
    roots
}

/// Collective calls that are another function on some ranks.
fn mismatches(fates: &[RankState<'_>]) -> Vec<String> {
    let mut calls: BTreeMap<_, BTreeMap<&str, Vec<u32>>> = BTreeMap::new();
    for (rank, fate) in (0..).zip(fates) {
        // A request does not say what it was made by.
        if let RankState::Waiting(WaitReport { function, conditions: needs, .. }) = fate
            && let [WaitCondition { collective: Some(call), .. }] = &needs[..]
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

/// Nobody can act, and all who wait are in the same collective call.
fn mismatched_arguments(fates: &[RankState<'_>]) -> Option<String> {
    let mut calls = fates.iter().filter_map(|fate| match fate {
        RankState::Waiting(WaitReport { function, conditions: needs, .. }) => {
            Some((function, &needs[..]))
        }
        RankState::Active(_) | RankState::Ended => None,
    });
    let (function, first) = calls.next()?;
    let call_of = |needs: &[WaitCondition]| {
        if let [WaitCondition { collective: call, .. }] = needs { *call } else { None }
    };
    let (call, mut count) = (call_of(first)?, 1);
    for (other, needs) in calls {
        if other != function || call_of(needs) != Some(call) {
            return None;
        }
        count += 1;
    }
    (count > 1).then(|| {
        format!(
            "all are in the same {function}, so their arguments do not match: the root, or the \
             amounts of data (SUIRO_CHECK=1 compares them)"
        )
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::diagnosis::wait_report::CollectiveId;

    fn receive(source: u32, tag: i32) -> WaitReport {
        WaitReport {
            details: format!("(source {source}, tag {tag})"),
            conditions: vec![WaitCondition { peers: vec![source], ..WaitCondition::default() }],
            ..WaitReport::new("MPI_Recv")
        }
    }

    fn receive_any(peers: &[u32]) -> WaitReport {
        let need = WaitCondition { peers: peers.to_vec(), any: true, collective: None };
        WaitReport { conditions: vec![need], ..WaitReport::new("MPI_Recv") }
    }

    fn collective(function: &str, peers: &[u32]) -> WaitReport {
        let call = Some(CollectiveId { context: 1, sequence: 7 });
        let need = WaitCondition { peers: peers.to_vec(), any: false, collective: call };
        WaitReport { conditions: vec![need], ..WaitReport::new(function) }
    }

    fn free() -> RankState<'static> {
        RankState::Active("computes".to_owned())
    }

    #[test]
    fn two_receives_from_each_other_are_a_deadlock() {
        let (one, other) = (receive(1, 5), receive(0, 6));
        let sentences = diagnose(&[RankState::Waiting(&one), RankState::Waiting(&other), free()]);
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
        let fates: Vec<_> = blocked.iter().map(RankState::Waiting).collect();
        let told = diagnose(&fates);
        assert_eq!(told.len(), 1);
        assert!(told[0].starts_with("deadlock: rank 2 in") && told[0].ends_with("<- rank 2"));
    }

    #[test]
    fn one_that_may_come_from_anybody_is_no_deadlock_while_somebody_can_act() {
        let (any, exact) = (receive_any(&[1, 2]), receive(0, 1));
        let told = diagnose(&[RankState::Waiting(&any), RankState::Waiting(&exact), free()]);
        assert_eq!(told, ["ranks 0,1 wait for rank 2, which computes"]);
        let told = diagnose(&[
            RankState::Waiting(&any),
            RankState::Waiting(&exact),
            RankState::Waiting(&exact),
        ]);
        assert!(told[0].starts_with("deadlock: rank 0 in"), "{told:?}");
    }

    #[test]
    fn one_of_several_requests_is_enough_if_any_is_waited_for() {
        let needs = |any| {
            let need = |peer| WaitCondition { peers: vec![peer], ..WaitCondition::default() };
            WaitReport { conditions: vec![need(1), need(2)], any, ..WaitReport::new("MPI_Wait") }
        };
        let (all, any, back) = (needs(false), needs(true), receive(0, 1));
        assert!(
            diagnose(&[RankState::Waiting(&all), RankState::Waiting(&back), free()])[0]
                .contains("dead")
        );
        assert!(
            !diagnose(&[RankState::Waiting(&any), RankState::Waiting(&back), free()])[0]
                .contains("dead")
        );
    }

    #[test]
    fn who_is_missing_in_a_collective_is_named_through_others() {
        let (one, two) = (collective("MPI_Barrier", &[1]), collective("MPI_Barrier", &[0]));
        let fates =
            [RankState::Waiting(&one), free(), RankState::Waiting(&two), RankState::Waiting(&two)];
        assert_eq!(diagnose(&fates), ["ranks 0,2,3 wait for rank 1, which computes"]);
    }

    #[test]
    fn what_an_ended_rank_owes_never_comes() {
        let blocked = receive(1, 5);
        let told = diagnose(&[RankState::Waiting(&blocked), RankState::Ended]);
        assert_eq!(told, ["rank 0 in MPI_Recv(source 1, tag 5) waits for rank 1, which has ended"]);
    }

    #[test]
    fn other_collectives_in_the_same_call_are_told() {
        let (one, other) = (collective("MPI_Bcast", &[1]), collective("MPI_Barrier", &[0]));
        let told = diagnose(&[
            RankState::Waiting(&one),
            RankState::Waiting(&other),
            RankState::Waiting(&other),
        ]);
        assert!(told[0].contains("ranks 1,2 in MPI_Barrier, rank 0 in MPI_Bcast"), "{told:?}");
        assert!(told[1].starts_with("deadlock"));
    }

    #[test]
    fn where_nobody_can_act_a_circle_is_told_whatever_else_might_help() {
        let (any, back, unknown) =
            (receive_any(&[1, 2]), receive(0, 1), WaitReport::new("MPI_Init"));
        let fates =
            [RankState::Waiting(&any), RankState::Waiting(&back), RankState::Waiting(&unknown)];
        assert_eq!(diagnose(&fates), [""; 0]);
        let told = diagnose_deadlock(&fates);
        assert!(told.len() == 1 && told[0].starts_with("deadlock: rank 0 in"), "{told:?}");
        assert_eq!(diagnose_deadlock(&[RankState::Waiting(&unknown)]), [""; 0]);
        let told = diagnose_deadlock(&[
            RankState::Waiting(&unknown),
            RankState::Waiting(&receive(2, 1)),
            RankState::Ended,
        ]);
        assert!(told[0].ends_with("waits for rank 2, which has ended"), "{told:?}");
    }

    #[test]
    fn where_all_are_in_one_collective_the_arguments_are_to_blame() {
        let (one, two) = (collective("MPI_Bcast", &[1]), collective("MPI_Bcast", &[0]));
        let told = diagnose_deadlock(&[RankState::Waiting(&one), RankState::Waiting(&two)]);
        assert!(told[0].starts_with("all are in the same MPI_Bcast"), "{told:?}");
        let told =
            diagnose_deadlock(&[RankState::Waiting(&one), RankState::Waiting(&receive(0, 1))]);
        assert!(told[0].starts_with("deadlock"), "{told:?}");
    }

    #[test]
    fn nothing_is_said_where_nothing_is_known() {
        let unknown = WaitReport::new("MPI_Init");
        let strange = receive(77, 0);
        assert_eq!(
            diagnose(&[RankState::Waiting(&unknown), RankState::Waiting(&strange)]),
            [""; 0]
        );
        assert_eq!(diagnose(&[]), [""; 0]);
    }
}
