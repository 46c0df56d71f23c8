//! Groups from groups: lists, ranges and set operations (MPI 5.0 §7.3.2).
//!
//! This module checks the ranks of the application. An evenly spaced subset of an evenly spaced
//! group takes constant memory, and a range of ranks is never expanded.

use crate::engine::schedules::plan::Members;
use crate::mpi::group::{Group, RankMap};
use crate::mpi::request::status::PROC_NULL;
use platform::base::{ErrorClass, MpiError, Peer, Result};

/// `MPI_UNDEFINED` of the standard ABI.
pub(crate) const UNDEFINED: i32 = -32766;

/// Result of `MPI_Group_compare`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GroupComparison {
    /// The same processes in the same order.
    Ident,
    /// The same processes in another order.
    Similar,
    /// Neither.
    Unequal,
}

/// A range of ranks: first, last, stride.
pub(crate) type Triplet = [i32; 3];

impl Group {
    /// The listed ranks, in the order of the list.
    ///
    /// # Errors
    /// `Rank` for a rank that is not there or comes twice.
    pub(crate) fn include(&self, ranks: &[i32], me: Peer) -> Result<Self> {
        self.check_distinct(ranks)?;
        Ok(Self::collect(ranks.iter().map(|rank| self.peer(*rank as u32)), me))
    }

    /// All but the listed ranks.
    ///
    /// # Errors
    /// `Rank` for a rank that is not there or comes twice.
    pub(crate) fn exclude(&self, ranks: &[i32], me: Peer) -> Result<Self> {
        let sorted = self.check_distinct(ranks)?;
        let mut left_out = sorted.into_iter().peekable();
        let kept = (0..self.size()).filter(|rank| left_out.next_if_eq(&(*rank as i32)).is_none());
        Ok(Self::collect(kept.map(|rank| self.peer(rank)), me))
    }

    /// The ranks of the ranges, in their order.
    ///
    /// # Errors
    /// `Rank` for an invalid or repeated rank, `Arg` for an infinite range.
    pub(crate) fn include_ranges(&self, ranges: &[Triplet], me: Peer) -> Result<Self> {
        if let ([range], RankMap::Range { first, stride, .. }) = (ranges, self.ranks()) {
            let RankRange { start, step, count } = self.checked_range(range)?;
            let first = (i64::from(*first) + i64::from(start) * stride) as Peer;
            let stride = stride * i64::from(step);
            return Ok(Self::with(RankMap::Range { first, stride, count }, me));
        }
        self.include(&self.ranks_in(ranges)?, me)
    }

    /// All but the ranks of the ranges.
    ///
    /// # Errors
    /// As [`Group::include_ranges`].
    pub(crate) fn exclude_ranges(&self, ranges: &[Triplet], me: Peer) -> Result<Self> {
        if let [range] = ranges {
            let stretch = self.checked_range(range)?;
            let kept = (0..self.size()).filter(|rank| !stretch.contains(*rank));
            return Ok(Self::collect(kept.map(|rank| self.peer(rank)), me));
        }
        self.exclude(&self.ranks_in(ranges)?, me)
    }

    /// The processes of this group, then the others of the other group.
    pub(crate) fn union(&self, other: &Self, me: Peer) -> Self {
        let more = other.peers().filter(|peer| self.rank_of(*peer).is_none());
        Self::collect(self.peers().chain(more), me)
    }

    /// The processes of this group that are also in the other.
    pub(crate) fn intersection(&self, other: &Self, me: Peer) -> Self {
        self.filtered(other, true, me)
    }

    /// The processes of this group that are not in the other.
    pub(crate) fn difference(&self, other: &Self, me: Peer) -> Self {
        self.filtered(other, false, me)
    }

    /// Compares with another group.
    pub(crate) fn compare(&self, other: &Self) -> GroupComparison {
        if self.size() != other.size() {
            return GroupComparison::Unequal;
        }
        if self.peers().eq(other.peers()) {
            return GroupComparison::Ident;
        }
        match self.is_within(other) {
            true => GroupComparison::Similar,
            false => GroupComparison::Unequal,
        }
    }

    /// Whether this group is a subset of the other.
    pub(crate) fn is_within(&self, other: &Self) -> bool {
        self.peers().all(|peer| other.rank_of(peer).is_some())
    }

    /// The ranks in the other group of those processes of this group that are in both.
    pub(crate) fn ranks_within(&self, other: &Self) -> Vec<u32> {
        self.peers().filter_map(|peer| other.rank_of(peer)).collect()
    }

    /// The rank in `other` of each of `ranks`: [`UNDEFINED`] for a process that is not in `other`;
    /// `MPI_PROC_NULL` stays.
    ///
    /// # Errors
    /// `Rank` for a rank that is not in this group.
    pub(crate) fn translate(&self, ranks: &[i32], other: &Self) -> Result<Vec<i32>> {
        let translated = ranks.iter().map(|&rank| match rank {
            PROC_NULL => Ok(PROC_NULL),
            _ => {
                let peer = self.peer(self.check(rank)?);
                Ok(other.rank_of(peer).map_or(UNDEFINED, |rank| rank as i32))
            }
        });
        translated.collect()
    }

    fn filtered(&self, other: &Self, common: bool, me: Peer) -> Self {
        Self::collect(self.peers().filter(|peer| other.rank_of(*peer).is_some() == common), me)
    }

    /// # Errors
    /// `Rank` if there is no such rank.
    pub(crate) fn check(&self, rank: i32) -> Result<u32> {
        let found = u32::try_from(rank).ok().filter(|rank| *rank < self.size());
        found.ok_or_else(|| self.no_such_rank(rank.into()))
    }

    /// The ranks in ascending order.
    fn check_distinct(&self, ranks: &[i32]) -> Result<Vec<i32>> {
        ranks.iter().try_for_each(|rank| self.check(*rank).map(drop))?;
        let mut sorted = ranks.to_vec();
        sorted.sort_unstable();
        match sorted.windows(2).find(|pair| pair[0] == pair[1]) {
            None => Ok(sorted),
            Some(pair) => Err(ErrorClass::Rank
                .error(format!("rank {} is repeated: expected distinct ranks", pair[0]))),
        }
    }

    fn ranks_in(&self, ranges: &[Triplet]) -> Result<Vec<i32>> {
        let mut ranks = Vec::new();
        for range in ranges {
            let RankRange { start, step, count } = self.checked_range(range)?;
            // Each range has at most as many ranks as the group; a repeated range fails at once.
            if ranks.len() + count as usize > self.size() as usize {
                let why = format!(
                    "the ranges have more ranks than the group, which has {}: expected distinct ranks",
                    self.size()
                );
                return Err(ErrorClass::Rank.error(why));
            }
            ranks.extend((0..count as i32).map(|place| start + place * step));
        }
        Ok(ranks)
    }

    fn checked_range(&self, range: &Triplet) -> Result<RankRange> {
        let [first, last, stride] = *range;
        let (start, step) = (i64::from(first), i64::from(stride));
        let distance = i64::from(last) - start;
        if step == 0 || distance.signum() * step.signum() < 0 {
            let why = format!(
                "the range (first {first}, last {last}, stride {stride}) is infinite: the stride must \
                 lead from first to last"
            );
            return Err(ErrorClass::Arg.error(why));
        }
        let steps = distance / step;
        let end = start + steps * step;
        for rank in [start, end] {
            if rank < 0 || rank >= i64::from(self.size()) {
                return Err(self.no_such_rank(rank));
            }
        }
        // The stride of a single rank may exceed all ranks.
        let step = if steps == 0 { 1 } else { stride };
        Ok(RankRange { start: first, step, count: steps as u32 + 1 })
    }

    #[cold]
    fn no_such_rank(&self, rank: i64) -> Box<MpiError> {
        ErrorClass::Rank.error(format!("rank {rank} is not in 0..{} of the group", self.size()))
    }
}

struct RankRange {
    start: i32,
    step: i32,
    count: u32,
}

impl RankRange {
    fn contains(&self, rank: u32) -> bool {
        let (distance, step) = (i64::from(rank) - i64::from(self.start), i64::from(self.step));
        distance % step == 0 && (0..i64::from(self.count)).contains(&(distance / step))
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    const ME: Peer = 3;

    fn group(peers: &[Peer]) -> Group {
        Group::new(peers, ME)
    }

    fn peers(group: &Group) -> Vec<Peer> {
        group.peers().collect()
    }

    #[test]
    fn lists_pick_and_leave_out() {
        let all = group(&[10, 11, 3, 13]);
        assert_eq!(peers(&all.include(&[3, 2, 0], ME).unwrap()), [13, 3, 10]);
        assert_eq!(all.include(&[3, 2, 0], ME).unwrap().rank(), Some(1));
        assert_eq!(peers(&all.exclude(&[3, 0], ME).unwrap()), [11, 3]);
        for wrong in [&[4][..], &[-1], &[1, 0, 1]] {
            let code = ErrorClass::Rank as i32;
            assert_eq!(all.include(wrong, ME).unwrap_err().code.0, code);
            assert_eq!(all.exclude(wrong, ME).unwrap_err().code.0, code);
        }
    }

    #[test]
    fn a_range_of_a_range_is_not_written_out() {
        let world = Group::range(0, u32::MAX / 2, ME);
        let thirds = world.include_ranges(&[[0, 1_000_000_000, 3]], ME).unwrap();
        assert!(matches!(thirds.ranks(), RankMap::Range { stride: 3, .. }));
        assert_eq!((thirds.size(), thirds.rank()), (333_333_334, Some(1)));
        let back = thirds.include_ranges(&[[9, 0, -4]], ME).unwrap();
        assert_eq!(peers(&back), [27, 15, 3]);
        let one = world.include_ranges(&[[3, 3, i32::MIN]], ME).unwrap();
        assert_eq!((one.size(), one.rank()), (1, Some(0)));
    }

    #[test]
    fn ranges_join_and_are_checked() {
        let all = Group::range(0, 10, ME);
        let both = [[9, 6, -2], [0, 4, 3]];
        assert_eq!(peers(&all.include_ranges(&both, ME).unwrap()), [9, 7, 0, 3]);
        assert_eq!(peers(&all.exclude_ranges(&both, ME).unwrap()), [1, 2, 4, 5, 6, 8]);
        assert_eq!(all.include_ranges(&[], ME).unwrap().size(), 0);
        let (rank, arg) = (ErrorClass::Rank as i32, ErrorClass::Arg as i32);
        let cases = [
            (vec![[0, 10, 1]], rank),
            (vec![[-1, 3, 1]], rank),
            (vec![[0, 3, 0]], arg),
            (vec![[3, 0, 1]], arg),
            (vec![[0, 3, -1]], arg),
            (vec![[0, 9, 1], [5, 5, 1]], rank),
            (vec![[0, 3, 1], [3, 4, 1]], rank),
        ];
        for (ranges, class) in cases {
            assert_eq!(all.include_ranges(&ranges, ME).unwrap_err().code.0, class, "{ranges:?}");
            assert_eq!(all.exclude_ranges(&ranges, ME).unwrap_err().code.0, class, "{ranges:?}");
        }
    }

    #[test]
    fn set_operations_keep_the_order_of_the_first() {
        for (one, two) in [([1, 3, 5, 7], [7, 3, 2, 9]), ([8, 3, 1, 7], [3, 4, 5, 6])] {
            let (first, second) = (group(&one), group(&two));
            let only_two = two.iter().filter(|peer| !one.contains(peer));
            let union: Vec<Peer> = one.iter().chain(only_two).copied().collect();
            let (both, only_one): (Vec<Peer>, Vec<Peer>) =
                one.iter().partition(|peer| two.contains(peer));
            assert_eq!(peers(&first.union(&second, ME)), union);
            assert_eq!(peers(&first.intersection(&second, ME)), both);
            assert_eq!(peers(&first.difference(&second, ME)), only_one);
        }
    }

    #[test]
    fn groups_compare_and_translate() {
        let even = group(&[0, 2, 4]);
        assert_eq!(even.compare(&group(&[0, 2, 4])), GroupComparison::Ident);
        assert_eq!(even.compare(&group(&[4, 0, 2])), GroupComparison::Similar);
        assert_eq!(even.compare(&group(&[0, 2, 5])), GroupComparison::Unequal);
        assert_eq!(even.compare(&group(&[0, 2])), GroupComparison::Unequal);
        let other = group(&[4, 1, 0]);
        let ranks = even.translate(&[0, 1, PROC_NULL, 2], &other).unwrap();
        assert_eq!(ranks, [2, UNDEFINED, PROC_NULL, 0]);
        assert!(even.translate(&[3], &other).is_err());
        assert_eq!(group(&[4, 0]).ranks_within(&other), [0, 2]);
        assert!(group(&[4, 0]).is_within(&other) && !even.is_within(&other));
    }

    #[test]
    fn what_stays_evenly_spaced_is_not_written_out() {
        let world = Group::range(0, 100_000, ME);
        let even = world.include_ranges(&[[0, 99_999, 2]], ME).unwrap();
        let ranks: Vec<i32> = (1..100_000).step_by(3).collect();
        let made = [
            world.include(&ranks, ME).unwrap(),
            world.exclude(&[0], ME).unwrap(),
            world.exclude_ranges(&[[99_999, 1, -2]], ME).unwrap(),
            world.exclude_ranges(&[[0, 9, 1], [10, 99, 1]], ME).unwrap(),
            world.union(&even, ME),
            even.intersection(&world, ME),
            world.difference(&even, ME),
        ];
        for group in made {
            assert!(matches!(group.ranks(), RankMap::Range { .. }), "{group:?}");
        }
    }

    #[test]
    fn large_groups_in_no_order_take_no_quadratic_time() {
        const SIZE: i32 = 100_003; // A prime: the multiples of a number are all ranks.
        let world = Group::range(0, SIZE as u32, ME);
        let shuffled = |factor: i64| {
            let place = |rank: i32| (i64::from(rank) * factor % i64::from(SIZE)) as i32;
            world.include(&(0..SIZE).map(place).collect::<Vec<_>>(), ME).unwrap()
        };
        let (one, two) = (shuffled(7_919), shuffled(104_729));
        assert_eq!(one.compare(&two), GroupComparison::Similar);
        assert_eq!(one.union(&two, ME).compare(&one), GroupComparison::Ident);
        assert_eq!(one.difference(&two, ME).size(), 0);
        for rank in 0..SIZE {
            let found = one.translate(&[rank], &two).unwrap();
            assert_eq!(two.translate(&found, &one).unwrap(), [rank]);
        }
    }

    /// One operation on a group, with numbers that determine its arguments.
    #[derive(Clone, Copy, Debug)]
    enum Step {
        Include,
        Exclude,
        IncludeRanges,
        ExcludeRanges,
        Union,
        Intersection,
        Difference,
    }

    /// The ranks of the ranges by the definition of the standard; `None` if they are invalid.
    fn named(ranges: &[Triplet], size: usize) -> Option<Vec<usize>> {
        let mut ranks = Vec::new();
        for &[first, last, stride] in ranges {
            let mut rank = first;
            if stride == 0 || (last - first) * stride < 0 {
                return None;
            }
            while (last - rank) * stride >= 0 {
                ranks.push(usize::try_from(rank).ok().filter(|rank| *rank < size)?);
                rank += stride;
            }
        }
        let mut distinct = ranks.clone();
        distinct.sort_unstable();
        distinct.dedup();
        (distinct.len() == ranks.len()).then_some(ranks)
    }

    fn keep(all: &[Peer], which: impl Fn(usize, &Peer) -> bool) -> Vec<Peer> {
        let kept = all.iter().enumerate().filter(|(rank, peer)| which(*rank, peer));
        kept.map(|(_, peer)| *peer).collect()
    }

    /// The result of an operation on plain lists; `None` if its arguments are invalid.
    fn plain(step: Step, all: &[Peer], other: &[Peer], ranges: &[Triplet]) -> Option<Vec<Peer>> {
        let ranks = || named(ranges, all.len());
        Some(match step {
            Step::Include | Step::IncludeRanges => {
                ranks()?.into_iter().map(|rank| all[rank]).collect()
            }
            Step::Exclude | Step::ExcludeRanges => {
                let out = ranks()?;
                keep(all, |rank, _| !out.contains(&rank))
            }
            Step::Union => [all, &keep(other, |_, peer| !all.contains(peer))].concat(),
            Step::Intersection => keep(all, |_, peer| other.contains(peer)),
            Step::Difference => keep(all, |_, peer| !other.contains(peer)),
        })
    }

    /// The result on groups.
    fn done(step: Step, all: &Group, other: &Group, ranges: &[Triplet]) -> Option<Group> {
        let ranks = || {
            let ranks = named(ranges, all.size() as usize)?;
            Some(ranks.into_iter().map(|rank| rank as i32).collect::<Vec<_>>())
        };
        match step {
            Step::Include => all.include(&ranks()?, ME).ok(),
            Step::Exclude => all.exclude(&ranks()?, ME).ok(),
            Step::IncludeRanges => all.include_ranges(ranges, ME).ok(),
            Step::ExcludeRanges => all.exclude_ranges(ranges, ME).ok(),
            Step::Union => Some(all.union(other, ME)),
            Step::Intersection => Some(all.intersection(other, ME)),
            Step::Difference => Some(all.difference(other, ME)),
        }
    }

    fn steps() -> impl Strategy<Value = Vec<(Step, usize, Vec<Triplet>)>> {
        let step = prop_oneof![
            Just(Step::Include),
            Just(Step::Exclude),
            Just(Step::IncludeRanges),
            Just(Step::ExcludeRanges),
            Just(Step::Union),
            Just(Step::Intersection),
            Just(Step::Difference),
        ];
        // Often ranges within the group, sometimes invalid strides.
        let range = (-1i32..48, -1i32..48, -1i32..5).prop_map(|(first, last, stride)| {
            [first, last, if last < first { -stride } else { stride }]
        });
        let ranges = proptest::collection::vec(range, 0..3);
        proptest::collection::vec((step, 0usize..100, ranges), 0..12)
    }

    proptest! {
        #[test]
        fn the_algebra_of_groups_is_that_of_lists(
            size in 0u32..48, steps in steps(), asked in proptest::collection::vec(-2i32..50, 6),
        ) {
            let world = Group::range(0, size, ME);
            let mut known = vec![(peers(&world), world)];
            for (step, other, ranges) in steps {
                let (all, group) = known.last().unwrap();
                let (others, other) = &known[other % known.len()];
                let expected = plain(step, all, others, &ranges);
                let made = done(step, group, other, &ranges);
                prop_assert_eq!(made.as_ref().map(peers), expected.clone(), "{:?}", step);
                known.extend(expected.zip(made));
            }
            for (all, group) in &known {
                prop_assert_eq!(group.rank(), group.rank_of(ME));
                let (others, other) = &known[all.len() % known.len()];
                let mut sorted = [all.clone(), others.clone()];
                sorted.iter_mut().for_each(|list| list.sort_unstable());
                let likeness = match (all == others, sorted[0] == sorted[1]) {
                    (true, _) => GroupComparison::Ident,
                    (false, true) => GroupComparison::Similar,
                    (false, false) => GroupComparison::Unequal,
                };
                prop_assert_eq!(group.compare(other), likeness);
                for rank in &asked {
                    let expected = match usize::try_from(*rank).ok().and_then(|r| all.get(r)) {
                        Some(peer) => {
                            let found = others.iter().position(|other| other == peer);
                            Some(vec![found.map_or(UNDEFINED, |rank| rank as i32)])
                        }
                        None if *rank == PROC_NULL => Some(vec![PROC_NULL]),
                        None => None,
                    };
                    prop_assert_eq!(group.translate(&[*rank], other).ok(), expected);
                }
            }
        }
    }
}
