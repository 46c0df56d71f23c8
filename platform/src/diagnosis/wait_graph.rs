//! Which ranks wait for which: deadlocks, ranks that others wait for, collective calls that do not
//! match.
//!
//! ```text
//!   rank 0 ──needs all of──> 1, 2        can continue if all of them can
//!   rank 1 ──needs one of──> 0, 2        can continue if one of them can
//! ```
//!
//! A rank that does not wait can act; a rank that has ended cannot. Ranks that cannot act by these
//! rules, whatever the others do, are deadlocked: the AND-OR model of Knapp, "Deadlock detection in
//! distributed databases", ACM Computing Surveys 19(4), 1987. A rank counts as one that can act if
//! it is not known for which ranks it waits, so every reported deadlock is one. If other means have
//! shown that no rank can act, only a cycle is searched for ([`diagnose_deadlock`]).

use std::collections::BTreeMap;
use std::time::Duration;

use super::wait_report::{WaitCondition, WaitReport, ranges};

/// The most characters of the details of one call in a sentence.
const DETAILS_MAX: usize = 120;
/// The most ranks in a sentence about a cycle, and the most sentences of one kind.
const RANKS_MAX: usize = 8;

/// Whether one rank can act.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum RankState<'a> {
    /// The rank waits for others.
    Waiting(&'a WaitReport),
    /// The rank can act. The text follows "which" in a sentence.
    Active(String),
    /// The process of the rank has ended.
    Ended,
}

/// Sentences about the waits between these ranks.
pub fn diagnose(states: &[RankState<'_>]) -> Vec<String> {
    let able = able_ranks(states);
    let mut sentences = mismatches(states);
    sentences.extend(deadlock(states, &able));
    sentences.extend(waits_for_active(states, &able));
    sentences
}

/// Sentences about the waits between ranks of which none can act, whatever their reports say: at
/// least a cycle, if the reports name enough ranks.
pub fn diagnose_deadlock(states: &[RankState<'_>]) -> Vec<String> {
    let mut sentences = mismatches(states);
    sentences.extend(mismatched_arguments(states));
    sentences.extend(deadlock(states, &vec![false; states.len()]));
    sentences
}

/// `rank 3`, `ranks 0,2-7`.
pub fn ranks_named(ranks: &[u32]) -> String {
    let many = if ranks.len() == 1 { "" } else { "s" };
    format!("rank{many} {}", ranges(ranks))
}

/// The different values of all ranks, each with its ranks, in the order of their first ranks.
pub fn groups<T: PartialEq>(of_ranks: impl Iterator<Item = Option<T>>) -> Vec<(T, Vec<u32>)> {
    let mut groups: Vec<(T, Vec<u32>)> = Vec::new();
    for (rank, value) in (0..).zip(of_ranks) {
        let Some(value) = value else { continue };
        match groups.iter_mut().find(|(other, _)| *other == value) {
            Some((_, ranks)) => ranks.push(rank),
            None => groups.push((value, vec![rank])),
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

/// Which ranks can act, now or after others have acted.
fn able_ranks(states: &[RankState<'_>]) -> Vec<bool> {
    let mut able: Vec<_> =
        states.iter().map(|state| matches!(state, RankState::Active(_))).collect();
    loop {
        let mut changed = false;
        for (rank, state) in states.iter().enumerate() {
            let RankState::Waiting(blocked) = state else { continue };
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
    let met = |condition: &WaitCondition| match (&condition.peers[..], condition.any) {
        ([], _) => true,
        (peers, true) => peers.iter().any(can),
        (peers, false) => peers.iter().all(can),
    };
    match (&blocked.conditions[..], blocked.any) {
        ([], _) => true,
        (conditions, true) => conditions.iter().any(met),
        (conditions, false) => conditions.iter().all(met),
    }
}

/// The first cycle of ranks that wait for each other, or the first wait for a rank that has ended.
fn deadlock(states: &[RankState<'_>], able: &[bool]) -> Option<String> {
    let is_stuck = |rank: &u32| able.get(*rank as usize) == Some(&false);
    let waits = |rank: &u32| matches!(states[*rank as usize], RankState::Waiting(_));
    let mut first = (0..states.len() as u32).filter(|rank| is_stuck(rank) && waits(rank));
    first.find_map(|first| {
        let mut path = vec![first];
        loop {
            let last = *path.last()?;
            let RankState::Waiting(blocked) = &states[last as usize] else {
                return Some(wait_for_ended(states, &path));
            };
            let mut peers = blocked.conditions.iter().flat_map(|condition| &condition.peers);
            let next = *peers.find(|peer| is_stuck(peer))?;
            if let Some(start) = path.iter().position(|rank| *rank == next) {
                return Some(cycle(states, &path[start..]));
            }
            path.push(next);
        }
    })
}

fn cycle(states: &[RankState<'_>], path: &[u32]) -> String {
    let ranks = path.iter().take(RANKS_MAX).map(|rank| rank_in_call(states, *rank));
    let ranks: Vec<_> = ranks.collect();
    let more = if path.len() > RANKS_MAX { " <- ..." } else { "" };
    format!("deadlock: {}{more} <- rank {}", ranks.join(" <- "), path[0])
}

fn wait_for_ended(states: &[RankState<'_>], path: &[u32]) -> String {
    let [.., waiting, ended] = *path else { return String::new() };
    format!("{} waits for rank {ended}, which has ended", rank_in_call(states, waiting))
}

/// `rank 3 in MPI_Recv(...)`
fn rank_in_call(states: &[RankState<'_>], rank: u32) -> String {
    match &states[rank as usize] {
        RankState::Waiting(WaitReport { function, details, .. }) => {
            // The arguments end at the semicolon.
            let details = details.split(';').next().unwrap_or_default();
            let end = details.char_indices().nth(DETAILS_MAX).map_or(details.len(), |(end, _)| end);
            let cut = if end < details.len() { "..." } else { "" };
            format!("rank {rank} in {function}{}{cut}", &details[..end])
        }
        RankState::Active(_) | RankState::Ended => format!("rank {rank}"),
    }
}

/// Ranks that wait, grouped by the ranks at the ends of their chains of waits, which can act.
fn waits_for_active(states: &[RankState<'_>], able: &[bool]) -> Vec<String> {
    let mut waiting: BTreeMap<Vec<u32>, Vec<u32>> = BTreeMap::new();
    for (rank, state) in (0..).zip(states) {
        if matches!(state, RankState::Waiting(_)) && able[rank as usize] {
            waiting.entry(roots(states, rank)).or_default().push(rank);
        }
    }
    let waiting = waiting.into_iter().filter(|(roots, _)| !roots.is_empty());
    let sentences = waiting.map(|(roots, ranks)| {
        let verb = if ranks.len() == 1 { "waits" } else { "wait" };
        let sentence = format!("{} {verb} for {}", ranks_named(&ranks), ranks_named(&roots));
        let mut activities = roots.iter().filter_map(|root| match &states[*root as usize] {
            RankState::Active(activity) => Some(activity),
            RankState::Waiting(_) | RankState::Ended => None,
        });
        match activities.next() {
            Some(first) if activities.all(|other| other == first) => {
                format!("{sentence}, which {first}")
            }
            Some(_) | None => sentence,
        }
    });
    sentences.take(RANKS_MAX).collect()
}

/// The ranks that do not wait and for which `rank` waits, directly or through others.
fn roots(states: &[RankState<'_>], rank: u32) -> Vec<u32> {
    /// Enough for any job of one host; a longer search would take too long.
    const STEPS_MAX: usize = 100_000;
    let mut seen = vec![false; states.len()];
    let mut pending = vec![rank];
    let mut roots = Vec::new();
    let mut steps = 0;
    while let Some(RankState::Waiting(blocked)) = pending.pop().map(|rank| &states[rank as usize]) {
        for peer in blocked.conditions.iter().flat_map(|condition| &condition.peers) {
            steps += 1;
            let Some(seen) = seen.get_mut(*peer as usize) else { continue };
            if std::mem::replace(seen, true) || steps > STEPS_MAX {
                continue;
            }
            match &states[*peer as usize] {
                RankState::Waiting(_) => pending.push(*peer),
                RankState::Active(_) => roots.push(*peer),
                RankState::Ended => {}
            }
        }
    }
    roots.sort_unstable();
    roots
}

/// Collective calls in which ranks called different functions.
fn mismatches(states: &[RankState<'_>]) -> Vec<String> {
    let mut calls: BTreeMap<_, BTreeMap<&str, Vec<u32>>> = BTreeMap::new();
    for (rank, state) in (0..).zip(states) {
        // A request does not name the function that created it.
        if let RankState::Waiting(WaitReport { function, conditions, .. }) = state
            && let [WaitCondition { collective: Some(call), .. }] = &conditions[..]
            && !function.starts_with("MPI_Wait")
        {
            calls.entry(*call).or_default().entry(function).or_default().push(rank);
        }
    }
    let different = calls.into_values().filter(|functions| functions.len() > 1);
    let sentence = |functions: BTreeMap<&str, Vec<u32>>| {
        let groups =
            functions.iter().map(|(name, ranks)| format!("{} in {name}", ranks_named(ranks)));
        let groups: Vec<_> = groups.collect();
        format!(
            "in the same call there are {}: all ranks of a communicator must call the same \
             collective operations in the same order",
            groups.join(", ")
        )
    };
    different.map(sentence).take(RANKS_MAX).collect()
}

/// No rank can act, and all ranks that wait are in the same collective call, in which none waits for a rank
/// that has ended.
fn mismatched_arguments(states: &[RankState<'_>]) -> Option<String> {
    let mut calls = states.iter().filter_map(|state| match state {
        RankState::Waiting(WaitReport { function, conditions, .. }) => {
            Some((function, &conditions[..]))
        }
        RankState::Active(_) | RankState::Ended => None,
    });
    let (function, first) = calls.next()?;
    let call_of = |conditions: &[WaitCondition]| {
        if let [WaitCondition { collective: call, .. }] = conditions { *call } else { None }
    };
    let awaits_end = |conditions: &[WaitCondition]| {
        let mut peers = conditions.iter().flat_map(|condition| &condition.peers);
        peers.any(|peer| matches!(states.get(*peer as usize), Some(RankState::Ended)))
    };
    let (call, mut count) = (call_of(first).filter(|_| !awaits_end(first))?, 1);
    for (other, conditions) in calls {
        if other != function || call_of(conditions) != Some(call) || awaits_end(conditions) {
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
        let condition = WaitCondition { peers: peers.to_vec(), any: true, collective: None };
        WaitReport { conditions: vec![condition], ..WaitReport::new("MPI_Recv") }
    }

    fn collective(function: &str, peers: &[u32]) -> WaitReport {
        let call = Some(CollectiveId { context: 1, sequence: 7 });
        let condition = WaitCondition { peers: peers.to_vec(), any: false, collective: call };
        WaitReport { conditions: vec![condition], ..WaitReport::new(function) }
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
    fn a_cycle_is_reported_without_the_ranks_that_wait_for_it() {
        let blocked = [receive(2, 1), receive(2, 1), receive(3, 1), receive(2, 2)];
        let states: Vec<_> = blocked.iter().map(RankState::Waiting).collect();
        let sentences = diagnose(&states);
        assert_eq!(sentences.len(), 1);
        assert!(
            sentences[0].starts_with("deadlock: rank 2 in") && sentences[0].ends_with("<- rank 2")
        );
    }

    #[test]
    fn a_receive_from_any_source_is_no_deadlock_while_one_source_can_act() {
        let (any, exact) = (receive_any(&[1, 2]), receive(0, 1));
        let sentences = diagnose(&[RankState::Waiting(&any), RankState::Waiting(&exact), free()]);
        assert_eq!(sentences, ["ranks 0,1 wait for rank 2, which computes"]);
        let sentences = diagnose(&[
            RankState::Waiting(&any),
            RankState::Waiting(&exact),
            RankState::Waiting(&exact),
        ]);
        assert!(sentences[0].starts_with("deadlock: rank 0 in"), "{sentences:?}");
    }

    #[test]
    fn one_of_several_requests_is_enough_if_any_is_waited_for() {
        let report = |any| {
            let condition = |peer| WaitCondition { peers: vec![peer], ..WaitCondition::default() };
            WaitReport {
                conditions: vec![condition(1), condition(2)],
                any,
                ..WaitReport::new("MPI_Wait")
            }
        };
        let (all, any, back) = (report(false), report(true), receive(0, 1));
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
    fn a_rank_missing_in_a_collective_is_named_through_others() {
        let (one, two) = (collective("MPI_Barrier", &[1]), collective("MPI_Barrier", &[0]));
        let states =
            [RankState::Waiting(&one), free(), RankState::Waiting(&two), RankState::Waiting(&two)];
        assert_eq!(diagnose(&states), ["ranks 0,2,3 wait for rank 1, which computes"]);
    }

    #[test]
    fn a_wait_for_an_ended_rank_is_reported() {
        let blocked = receive(1, 5);
        let sentences = diagnose(&[RankState::Waiting(&blocked), RankState::Ended]);
        assert_eq!(
            sentences,
            ["rank 0 in MPI_Recv(source 1, tag 5) waits for rank 1, which has ended"]
        );
    }

    #[test]
    fn different_collectives_in_the_same_call_are_reported() {
        let (one, other) = (collective("MPI_Bcast", &[1]), collective("MPI_Barrier", &[0]));
        let sentences = diagnose(&[
            RankState::Waiting(&one),
            RankState::Waiting(&other),
            RankState::Waiting(&other),
        ]);
        assert!(
            sentences[0].contains("ranks 1,2 in MPI_Barrier, rank 0 in MPI_Bcast"),
            "{sentences:?}"
        );
        assert!(sentences[1].starts_with("deadlock"));
    }

    #[test]
    fn a_cycle_is_reported_if_no_rank_can_act() {
        let (any, back, unknown) =
            (receive_any(&[1, 2]), receive(0, 1), WaitReport::new("MPI_Init"));
        let states =
            [RankState::Waiting(&any), RankState::Waiting(&back), RankState::Waiting(&unknown)];
        assert_eq!(diagnose(&states), [""; 0]);
        let sentences = diagnose_deadlock(&states);
        assert!(
            sentences.len() == 1 && sentences[0].starts_with("deadlock: rank 0 in"),
            "{sentences:?}"
        );
        assert_eq!(diagnose_deadlock(&[RankState::Waiting(&unknown)]), [""; 0]);
        let sentences = diagnose_deadlock(&[
            RankState::Waiting(&unknown),
            RankState::Waiting(&receive(2, 1)),
            RankState::Ended,
        ]);
        assert!(sentences[0].ends_with("waits for rank 2, which has ended"), "{sentences:?}");
    }

    #[test]
    fn mismatched_arguments_are_reported_if_all_are_in_one_collective() {
        let (one, two) = (collective("MPI_Bcast", &[1]), collective("MPI_Bcast", &[0]));
        let sentences = diagnose_deadlock(&[RankState::Waiting(&one), RankState::Waiting(&two)]);
        assert!(sentences[0].starts_with("all are in the same MPI_Bcast"), "{sentences:?}");
        let sentences =
            diagnose_deadlock(&[RankState::Waiting(&one), RankState::Waiting(&receive(0, 1))]);
        assert!(sentences[0].starts_with("deadlock"), "{sentences:?}");
        let states = [RankState::Ended, RankState::Waiting(&two), RankState::Waiting(&one)];
        let sentences = diagnose_deadlock(&states);
        assert!(sentences[0].contains("waits for rank 0, which has ended"), "{sentences:?}");
    }

    #[test]
    fn unknown_waits_give_no_sentences() {
        let unknown = WaitReport::new("MPI_Init");
        let strange = receive(77, 0);
        assert_eq!(
            diagnose(&[RankState::Waiting(&unknown), RankState::Waiting(&strange)]),
            [""; 0]
        );
        assert_eq!(diagnose(&[]), [""; 0]);
    }
}
