//! The slots of a segment: the slot of a rank is its index on its node.

use platform::base::Peer;

/// The ranks of a node, both ways.
pub struct NodeRanks {
    ranks: Vec<Peer>,
    /// Indexed by rank minus the smallest rank: 1 + the slot, or 0.
    table: Vec<u16>,
    smallest: Peer,
}

impl NodeRanks {
    /// A table for these ranks, by slot.
    ///
    /// # Panics
    /// If a rank is there twice, or there are more than 32,767.
    pub(crate) fn new(ranks: &[Peer]) -> Self {
        assert!(ranks.len() <= i16::MAX as usize);
        let smallest = ranks.iter().copied().min().unwrap_or(0);
        let largest = ranks.iter().copied().max().unwrap_or(0);
        let mut table = vec![0; (largest - smallest) as usize + 1];
        for (slot, rank) in ranks.iter().enumerate() {
            let entry = &mut table[(rank - smallest) as usize];
            assert_eq!(*entry, 0, "rank {rank} is there twice");
            *entry = slot as u16 + 1;
        }
        Self { ranks: ranks.to_vec(), table, smallest }
    }

    /// By slot.
    #[inline]
    pub(crate) fn ranks(&self) -> &[Peer] {
        &self.ranks
    }

    /// The slot of `peer`.
    ///
    /// # Panics
    /// If `peer` is not on this node: a mistake of `process`.
    #[inline]
    pub(crate) fn slot_of(&self, peer: Peer) -> usize {
        self.find_slot(peer).unwrap_or_else(|| panic!("rank {peer} is not on this node"))
    }

    /// The slot of `peer`, if it is on this node.
    #[inline]
    pub(crate) fn find_slot(&self, peer: Peer) -> Option<usize> {
        let entry = *self.table.get(peer.wrapping_sub(self.smallest) as usize)?;
        usize::from(entry).checked_sub(1)
    }
}
