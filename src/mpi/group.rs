//! Groups: ordered sets of processes (MPI 5.0 §7.3).
//!
//! A group maps its ranks to peers. The world and whatever is evenly spaced in it take constant
//! memory. Knows no communicators.

use std::sync::Arc;

use crate::base::Peer;
use crate::core::run::Members;

/// Which peer each rank of a group is.
#[derive(Clone, Debug)]
pub enum Ranks {
    /// Rank `r` is peer `first + r * stride`.
    Range {
        /// The peer of rank 0.
        first: Peer,
        /// The distance between neighbours.
        stride: i64,
        /// How many ranks.
        count: u32,
    },
    /// One peer for each rank.
    List(Arc<[Peer]>),
}

/// An ordered set of processes, and this process's place in it.
#[derive(Clone, Debug)]
pub struct Group {
    ranks: Ranks,
    rank: Option<u32>,
}

impl Group {
    /// The peers in order of their ranks, as seen by process `me`.
    pub fn new(peers: &[Peer], me: Peer) -> Self {
        Self::with(Ranks::of(peers), me)
    }

    /// `count` peers from `first` on.
    pub fn range(first: Peer, count: u32, me: Peer) -> Self {
        Self::with(Ranks::Range { first, stride: 1, count }, me)
    }

    /// These ranks, as seen by process `me`.
    pub(super) fn with(ranks: Ranks, me: Peer) -> Self {
        let rank = ranks.rank_of(me);
        Self { ranks, rank }
    }

    /// The map itself.
    pub(super) fn ranks(&self) -> &Ranks {
        &self.ranks
    }

    /// How many processes.
    #[inline]
    pub fn size(&self) -> u32 {
        match &self.ranks {
            Ranks::Range { count, .. } => *count,
            Ranks::List(peers) => peers.len() as u32,
        }
    }

    /// This process's rank, if it is in the group.
    #[inline]
    pub fn rank(&self) -> Option<u32> {
        self.rank
    }

    /// The rank of a peer.
    pub fn rank_of(&self, peer: Peer) -> Option<u32> {
        self.ranks.rank_of(peer)
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
            Ranks::Range { first, stride, count } => {
                assert!(rank < *count);
                (i64::from(*first) + i64::from(rank) * stride) as Peer
            }
            Ranks::List(peers) => peers[rank as usize],
        }
    }
}

impl Ranks {
    /// The shortest form of a list of peers.
    fn of(peers: &[Peer]) -> Self {
        let stride = match peers {
            [first, second, ..] => i64::from(*second) - i64::from(*first),
            [_] | [] => 1,
        };
        let even = peers.windows(2).all(|pair| i64::from(pair[1]) - i64::from(pair[0]) == stride);
        if even && stride != 0 {
            let first = peers.first().copied().unwrap_or(0);
            return Self::Range { first, stride, count: peers.len() as u32 };
        }
        Self::List(peers.into())
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
        let lists: [&[Peer]; 6] = [&[], &[7], &[0, 1, 2, 3], &[9, 6, 3, 0], &[4, 4], &[1, 2, 4, 8]];
        for peers in lists {
            let group = Group::new(peers, 4);
            assert_eq!(group.peers().collect::<Vec<_>>(), peers);
            for peer in 0..12 {
                let expected = peers.iter().position(|p| *p == peer).map(|rank| rank as u32);
                assert_eq!(group.rank_of(peer), expected, "{peers:?} {peer}");
            }
        }
        assert!(matches!(Group::new(&[9, 6, 3, 0], 6).ranks, Ranks::Range { .. }));
        assert_eq!(Group::new(&[9, 6, 3, 0], 6).rank(), Some(1));
    }
}
