//! The processes of the world by their numbers as peers, and back.
//!
//! ```text
//!   world    0 .. first   first .. first + own   first + own .. world
//!   peers    own ..       0 .. own               .. world
//! ```
//!
//! The own ranks are the first peers, as in every job; those of other clients follow in their order.

use platform::base::Peer;

/// The numbers of one process for all processes of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct WorldPlaces {
    /// The rank in the world of the first process of the own client.
    pub(crate) first: u32,
    /// The number of processes of the own client.
    pub(crate) own: u32,
    /// The number of processes of the world.
    pub(crate) world: u32,
}

impl WorldPlaces {
    /// The peer with this rank in the world.
    pub(crate) fn peer(self, rank: u32) -> Peer {
        let after_own = self.first + self.own;
        match rank {
            rank if rank < self.first => self.own + rank,
            rank if rank < after_own => rank - self.first,
            rank => rank,
        }
    }

    /// The rank in the world of a peer.
    pub(crate) fn rank(self, peer: Peer) -> u32 {
        let after_first = self.own + self.first;
        match peer {
            peer if peer < self.own => self.first + peer,
            peer if peer < after_first => peer - self.own,
            peer => peer,
        }
    }

    /// Whether a peer is a process of another client.
    #[inline]
    pub(crate) fn is_of_other_client(self, peer: Peer) -> bool {
        (self.own..self.world).contains(&peer)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_process_has_one_number_and_the_own_ones_come_first() {
        for (first, own, world) in [(0, 2, 5), (2, 3, 9), (4, 1, 5), (0, 3, 3)] {
            let places = WorldPlaces { first, own, world };
            let mut peers: Vec<_> = (0..world).map(|rank| places.peer(rank)).collect();
            assert!((0..world).all(|rank| places.rank(places.peer(rank)) == rank));
            assert!((0..own).all(|peer| places.rank(peer) == first + peer));
            let others = |peer: &&Peer| places.is_of_other_client(**peer);
            assert_eq!(peers.iter().filter(others).count() as u32, world - own);
            assert!(peers.iter().filter(others).is_sorted());
            peers.sort_unstable();
            assert!(peers.into_iter().eq(0..world));
        }
    }
}
