//! The plan of a collective access in two phases: which ranks read and write which parts of the file for
//! all (Thakur, Gropp, Lusk: Data Sieving and Collective I/O in ROMIO, 1999).
//!
//! ```text
//!   file      ├── domain of aggregator 0 ──┬── domain of aggregator 1 ──┤
//!   rounds    │ 0 │ 1 │ 2 │                │ 0 │ 1 │ 2 │
//!   ranks     exchange what they have in the window of each aggregator; the aggregators access the file
//! ```
//!
//! A pure function of what all ranks say of their accesses, so all have the same plan. Offsets of the file
//! ascend with positions of a view, so what a rank has in a window is one range of its data.

use std::ops::Range;

/// What a rank says of its access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct RankAccess {
    /// The first and the last byte of the file, as a range; empty without data.
    pub(crate) start: u64,
    pub(crate) end: u64,
    /// The range of positions in its view.
    pub(crate) position: u64,
    pub(crate) len: u64,
    /// Whether offsets ascend with positions.
    pub(crate) ascends: bool,
    /// Whether the rank has its data in few pieces for the system.
    pub(crate) is_coarse: bool,
}

/// How collective accesses are made.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct PlanRules {
    /// The ranks that access the file for others, ascending.
    pub(crate) aggregators: Vec<u32>,
    /// Multiples of it are the bounds of domains.
    pub(crate) alignment: u64,
    /// The most bytes of the file that an aggregator accesses in one round.
    pub(crate) round_bytes: u64,
    /// Whether all ranks share the system's copy of the file: then only pieces that are too many for it are
    /// worth an exchange.
    pub(crate) is_one_node: bool,
    /// `None`: where it pays.
    pub(crate) is_two_phase: Option<bool>,
}

/// A plan in two phases.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct TwoPhasePlan {
    aggregators: Vec<u32>,
    /// The domain of each aggregator; empty ones at the end.
    domains: Vec<Range<u64>>,
    round_bytes: u64,
}

impl TwoPhasePlan {
    /// The plan for these accesses, by rank; `None` if each rank accesses the file alone.
    pub(crate) fn new(accesses: &[RankAccess], rules: &PlanRules) -> Option<Self> {
        let with_data = || accesses.iter().filter(|access| access.len > 0);
        let can = with_data().all(|access| access.ascends);
        let wanted = rules.is_two_phase.unwrap_or_else(|| {
            let is_easy = rules.is_one_node && with_data().all(|access| access.is_coarse);
            !is_easy && interleaves(with_data().copied())
        });
        if !can || !wanted {
            return None;
        }
        let start = with_data().map(|access| access.start).min()?;
        let end = with_data().map(|access| access.end).max()?;
        let count = rules.aggregators.len() as u64;
        let share = (end - start).div_ceil(count).max(1);
        let bound = |index: u64| {
            let at = start.saturating_add(share.saturating_mul(index));
            let aligned = at.checked_next_multiple_of(rules.alignment).unwrap_or(at);
            if index == 0 { start } else { aligned.min(end) }
        };
        let domains = (0..count).map(|index| bound(index)..bound(index + 1)).collect();
        let aggregators = rules.aggregators.clone();
        Some(Self { aggregators, domains, round_bytes: rules.round_bytes })
    }

    /// The number of rounds.
    pub(crate) fn rounds(&self) -> u64 {
        let rounds = self
            .domains
            .iter()
            .map(|domain| (domain.end - domain.start).div_ceil(self.round_bytes));
        rounds.max().unwrap_or(0)
    }

    /// The aggregators with the part of the file that each of them accesses in a round, which may be
    /// empty.
    pub(crate) fn windows(&self, round: u64) -> impl Iterator<Item = (u32, Range<u64>)> {
        let ranks = self.aggregators.iter().zip(&self.domains);
        ranks.map(move |(rank, domain)| (*rank, self.window(domain, round)))
    }

    /// The part that a rank accesses in a round.
    pub(crate) fn window_of(&self, rank: u32, round: u64) -> Range<u64> {
        let found = self.aggregators.iter().position(|aggregator| *aggregator == rank);
        found.map_or(0..0, |index| self.window(&self.domains[index], round))
    }

    fn window(&self, domain: &Range<u64>, round: u64) -> Range<u64> {
        let at = |round: u64| {
            domain.start.saturating_add(round.saturating_mul(self.round_bytes)).min(domain.end)
        };
        at(round)..at(round + 1)
    }
}

/// Whether the ranges of some ranks overlap.
fn interleaves(accesses: impl Iterator<Item = RankAccess>) -> bool {
    let mut ranges: Vec<_> = accesses.map(|access| (access.start, access.end)).collect();
    ranges.sort_unstable();
    ranges.windows(2).any(|pair| pair[1].0 < pair[0].1)
}

/// The ranks that access files for others: `count` of them, or one of each node.
///
/// `nodes` are those of the ranks, by rank.
pub(crate) fn aggregators(nodes: &[u32], count: Option<u32>) -> Vec<u32> {
    let mut first: Vec<u32> = Vec::new();
    let mut others: Vec<u32> = Vec::new();
    let mut seen = std::collections::BTreeSet::new();
    for (rank, node) in nodes.iter().enumerate() {
        if seen.insert(*node) { &mut first } else { &mut others }.push(rank as u32);
    }
    let wanted = count.map_or(first.len(), |count| count.max(1) as usize);
    let mut chosen: Vec<u32> = first.into_iter().chain(others).take(wanted).collect();
    chosen.sort_unstable();
    chosen
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn rules(aggregators: &[u32], alignment: u64, round_bytes: u64) -> PlanRules {
        let aggregators = aggregators.to_vec();
        let (is_one_node, is_two_phase) = (false, None);
        PlanRules { aggregators, alignment, round_bytes, is_one_node, is_two_phase }
    }

    fn access(start: u64, end: u64) -> RankAccess {
        let (position, len) = (0, end - start);
        RankAccess { start, end, position, len, ascends: true, is_coarse: true }
    }

    #[test]
    fn ranks_that_do_not_interleave_access_the_file_alone() {
        let rules = rules(&[0], 1, 100);
        let apart = [access(10, 20), access(0, 10), access(40, 40)];
        assert_eq!(TwoPhasePlan::new(&apart, &rules), None);
        let across = [access(0, 11), access(10, 20)];
        assert!(TwoPhasePlan::new(&across, &rules).is_some());
        let near = PlanRules { is_one_node: true, ..rules.clone() };
        assert_eq!(TwoPhasePlan::new(&across, &near), None);
        let fine = across.map(|access| RankAccess { is_coarse: false, ..access });
        assert!(TwoPhasePlan::new(&fine, &near).is_some());
        let always = PlanRules { is_two_phase: Some(true), ..rules.clone() };
        assert!(TwoPhasePlan::new(&apart, &always).is_some());
        let unordered = [access(0, 11), RankAccess { ascends: false, ..access(10, 20) }];
        assert_eq!(TwoPhasePlan::new(&unordered, &always), None);
        let nothing = [access(3, 3), access(3, 3)];
        assert_eq!(TwoPhasePlan::new(&nothing, &always), None);
    }

    #[test]
    fn each_node_has_an_aggregator_unless_a_hint_says_another_number() {
        let nodes = [5, 5, 7, 7, 9];
        assert_eq!(aggregators(&nodes, None), [0, 2, 4]);
        assert_eq!(aggregators(&nodes, Some(2)), [0, 2]);
        assert_eq!(aggregators(&nodes, Some(4)), [0, 1, 2, 4]);
        assert_eq!(aggregators(&nodes, Some(9)), [0, 1, 2, 3, 4]);
        assert_eq!(aggregators(&[1], Some(0)), [0]);
    }

    proptest! {
        #[test]
        fn each_byte_is_in_one_window(
            ends in proptest::collection::vec((0_u64..2000, 0_u64..500), 1..6),
            count in 1_u32..5, alignment in 1_u64..200, round_bytes in 1_u64..300,
        ) {
            let accesses: Vec<_> =
                ends.iter().map(|(start, len)| access(*start, start + len)).collect();
            let ranks: Vec<u32> = (0..count).collect();
            let always = PlanRules { is_two_phase: Some(true), ..rules(&ranks, alignment, round_bytes) };
            let Some(plan) = TwoPhasePlan::new(&accesses, &always) else {
                prop_assert!(accesses.iter().all(|access| access.len == 0));
                return Ok(());
            };
            let mut covered: Vec<u64> = (0..plan.rounds())
                .flat_map(|round| plan.windows(round).map(|(_, window)| window).collect::<Vec<_>>())
                .flatten()
                .collect();
            covered.sort_unstable();
            let with_data = || accesses.iter().filter(|access| access.len > 0);
            let start = with_data().map(|access| access.start).min().unwrap();
            let end = with_data().map(|access| access.end).max().unwrap();
            prop_assert_eq!(covered, (start..end).collect::<Vec<_>>());
            for (rank, window) in plan.windows(0).collect::<Vec<_>>() {
                prop_assert!(window.end - window.start <= round_bytes);
                prop_assert_eq!(plan.window_of(rank, 0), window);
            }
        }
    }
}
