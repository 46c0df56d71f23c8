//! The nodes of a communicator.

/// The nodes of a communicator whose ranks are on more than one node; equal on all its ranks.
/// A node is a set of ranks with low-cost messages between them: a host, or a cluster behind a slow
/// link. Nodes are numbered in the order of their lowest ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Nodes {
    /// The node of each rank.
    node_of_rank: Box<[u32]>,
    /// The ranks of each node, ascending.
    ranks: Box<[Box<[u32]>]>,
    in_order: bool,
}

impl Nodes {
    /// Ranks with equal numbers in `places` share a node. `None` if all ranks share one node.
    pub fn new(places: impl IntoIterator<Item = u32>) -> Option<Self> {
        let mut numbers = std::collections::HashMap::new();
        let mut ranks: Vec<Vec<u32>> = Vec::new();
        let mut of = Vec::new();
        for (rank, place) in (0..).zip(places) {
            let node = *numbers.entry(place).or_insert(ranks.len());
            if node == ranks.len() {
                ranks.push(Vec::new());
            }
            ranks[node].push(rank);
            of.push(node as u32);
        }
        if ranks.len() < 2 {
            return None;
        }
        let in_order = of.is_sorted();
        let ranks = ranks.into_iter().map(Vec::into_boxed_slice).collect();
        Some(Self { node_of_rank: of.into(), ranks, in_order })
    }

    /// Number of nodes, at least 2.
    pub fn count(&self) -> u32 {
        self.ranks.len() as u32
    }

    /// Number of ranks on all nodes.
    pub fn size(&self) -> u32 {
        self.node_of_rank.len() as u32
    }

    /// The node of a rank.
    ///
    /// # Panics
    /// If `rank` is out of range.
    pub fn node_of(&self, rank: u32) -> u32 {
        self.node_of_rank[rank as usize]
    }

    /// The ranks of a node, ascending.
    ///
    /// # Panics
    /// If `node` is out of range.
    pub fn ranks(&self, node: u32) -> &[u32] {
        &self.ranks[node as usize]
    }

    /// Whether all ranks of each node precede all ranks of the next node.
    pub fn are_in_order(&self) -> bool {
        self.in_order
    }

    /// Number of ranks of the largest node.
    pub fn largest(&self) -> u32 {
        self.ranks.iter().map(|ranks| ranks.len() as u32).max().unwrap_or(1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nodes_are_numbered_by_their_lowest_ranks() {
        let nodes = Nodes::new([7, 3, 7, 9, 3]).unwrap();
        assert_eq!((nodes.count(), nodes.size(), nodes.largest()), (3, 5, 2));
        assert_eq!(
            (nodes.ranks(0), nodes.ranks(1), nodes.ranks(2)),
            (&[0, 2][..], &[1, 4][..], &[3][..])
        );
        assert_eq!((0..5).map(|rank| nodes.node_of(rank)).collect::<Vec<_>>(), [0, 1, 0, 2, 1]);
        assert!(!nodes.are_in_order());
        assert!(Nodes::new([5, 5, 2, 8]).unwrap().are_in_order());
    }

    #[test]
    fn one_node_is_none() {
        assert_eq!(Nodes::new([4; 6]), None);
        assert_eq!(Nodes::new([]), None);
    }
}
