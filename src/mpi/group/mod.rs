//! Groups: ordered sets of processes (MPI 5.0 §7.3).
//!
//! A group maps its ranks to peers. Evenly spaced peers take constant memory, also during creation.
//! Other groups are a list, with an index of the list after many lookups of peers. The module does
//! not know communicators.

pub(crate) mod sets;

use std::sync::{Arc, OnceLock};

use crate::engine::schedules::plan::Members;
use crate::mpi::handle::Handle;
use platform::base::Peer;

/// Map from the ranks of a group to peers.
#[derive(Clone, Debug)]
pub(crate) enum RankMap {
    /// Rank `r` is peer `first + r * stride`.
    Range {
        /// The peer of rank 0.
        first: Peer,
        /// Difference between the peers of neighboring ranks.
        stride: i64,
        count: u32,
    },
    /// One peer for each rank.
    List(Arc<[Peer]>),
}

/// Maximum length of a list for linear search.
const SEARCHED_MAX: usize = 32;

/// An ordered set of processes, and the rank of this process in it.
#[derive(Clone, Debug)]
pub struct Group {
    ranks: RankMap,
    rank: Option<u32>,
    /// The peers of a list in ascending order, each with its rank.
    index: OnceLock<Box<[(Peer, u32)]>>,
    session: Option<Handle>,
}

impl Group {
    /// The peers in order of their ranks, at process `me`.
    pub fn new(peers: &[Peer], me: Peer) -> Self {
        Self::collect(peers.iter().copied(), me)
    }

    /// [`Group::new`], without a list for evenly spaced peers.
    pub(crate) fn collect(peers: impl Iterator<Item = Peer>, me: Peer) -> Self {
        Self::with(RankMap::collect(peers), me)
    }

    /// `count` consecutive peers from `first`.
    pub(crate) fn range(first: Peer, count: u32, me: Peer) -> Self {
        Self::with(RankMap::Range { first, stride: 1, count }, me)
    }

    pub(crate) fn with(ranks: RankMap, me: Peer) -> Self {
        let rank = ranks.rank_of(me);
        Self { ranks, rank, index: OnceLock::new(), session: None }
    }

    /// The same group as one that was derived from this session.
    pub(crate) fn in_session(self, session: Option<Handle>) -> Self {
        Self { session, ..self }
    }

    /// The session from which the group was derived, directly or indirectly; `None`: the world model.
    pub(crate) fn session(&self) -> Option<Handle> {
        self.session
    }

    pub(crate) fn ranks(&self) -> &RankMap {
        &self.ranks
    }

    #[inline]
    pub(crate) fn size(&self) -> u32 {
        match &self.ranks {
            RankMap::Range { count, .. } => *count,
            RankMap::List(peers) => peers.len() as u32,
        }
    }

    /// This process's rank, if it is in the group.
    #[inline]
    pub fn rank(&self) -> Option<u32> {
        self.rank
    }

    pub(crate) fn rank_of(&self, peer: Peer) -> Option<u32> {
        match &self.ranks {
            RankMap::List(peers) if peers.len() > SEARCHED_MAX => {
                let index = self.index.get_or_init(|| {
                    let mut pairs: Box<[_]> = peers.iter().copied().zip(0..).collect();
                    pairs.sort_unstable();
                    pairs
                });
                let (found, rank) = *index.get(index.partition_point(|pair| pair.0 < peer))?;
                (found == peer).then_some(rank)
            }
            short => short.rank_of(peer),
        }
    }

    /// The peers, in order of their ranks.
    pub fn peers(&self) -> impl Iterator<Item = Peer> {
        (0..self.size()).map(|rank| self.peer(rank))
    }
}

impl Members for Group {
    /// # Panics
    /// If there is no such rank.
    #[inline]
    fn peer(&self, rank: u32) -> Peer {
        match &self.ranks {
            RankMap::Range { first, stride, count } => {
                assert!(rank < *count);
                (i64::from(*first) + i64::from(rank) * stride) as Peer
            }
            RankMap::List(peers) => peers[rank as usize],
        }
    }
}

impl RankMap {
    /// The shortest form of these peers.
    fn collect(mut peers: impl Iterator<Item = Peer>) -> Self {
        let first = peers.next();
        let second = peers.next();
        let Some(first) = first else { return Self::Range { first: 0, stride: 1, count: 0 } };
        let Some(second) = second else { return Self::Range { first, stride: 1, count: 1 } };
        let stride = i64::from(second) - i64::from(first);
        let at = |place: i64| i64::from(first) + place * stride;
        let mut count: i64 = 2;
        let odd = peers.find(|peer| {
            let even = stride != 0 && i64::from(*peer) == at(count);
            count += i64::from(even);
            !even
        });
        match odd {
            None if stride != 0 => Self::Range { first, stride, count: count as u32 },
            odd => Self::List(
                (0..count).map(|place| at(place) as Peer).chain(odd).chain(peers).collect(),
            ),
        }
    }

    fn rank_of(&self, peer: Peer) -> Option<u32> {
        match self {
            Self::Range { first, stride, count } => {
                let distance = i64::from(peer) - i64::from(*first);
                let rank = u32::try_from(distance / stride).ok()?;
                (distance % stride == 0 && rank < *count).then_some(rank)
            }
            Self::List(peers) => peers.iter().position(|p| *p == peer).map(|rank| rank as u32),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn even_lists_become_ranges_and_all_forms_agree() {
        let long: Vec<Peer> = (0..100).map(|place| place * place % 101).collect();
        let lists: [&[Peer]; 8] =
            [&[], &[7], &[0, 1, 2, 3], &[9, 6, 3, 0], &[4, 4], &[4, 4, 5], &[1, 2, 4, 8], &long];
        for peers in lists {
            let group = Group::new(peers, 4);
            assert_eq!(group.peers().collect::<Vec<_>>(), peers);
            for peer in 0..110 {
                let expected = peers.iter().position(|p| *p == peer).map(|rank| rank as u32);
                assert_eq!(group.rank_of(peer), expected, "{peers:?} {peer}");
            }
        }
        assert!(matches!(Group::new(&[9, 6, 3, 0], 6).ranks, RankMap::Range { .. }));
        assert_eq!(Group::new(&[9, 6, 3, 0], 6).rank(), Some(1));
    }
}
