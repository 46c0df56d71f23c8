//! Which node a rank is on.

use std::fmt;

use platform::base::Random;

/// The order in which ranks fill nodes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NodeOrder {
    /// Adjacent ranks on a node, nodes by number.
    Block,
    /// Adjacent ranks on adjacent nodes.
    Cyclic,
    /// As blocks, on nodes in a random order.
    Random,
}

impl NodeOrder {
    /// The orders with their names on the command line.
    pub const NAMES: [(&str, Self); 3] =
        [("block", Self::Block), ("cyclic", Self::Cyclic), ("random", Self::Random)];

    /// The order with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::NAMES.into_iter().find(|(known, _)| *known == name).map(|(_, order)| order)
    }
}

impl fmt::Display for NodeOrder {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (name, _) = Self::NAMES[*self as usize];
        f.write_str(name)
    }
}

/// The nodes of ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RankNodes {
    per_node: u32,
    order: NodeOrder,
    /// By rank.
    nodes: Vec<u32>,
}

impl RankNodes {
    /// Places `ranks` ranks, `per_node` on a node, on some of `nodes` nodes.
    ///
    /// # Errors
    /// There are too few nodes.
    pub fn new(
        ranks: u32, per_node: u32, nodes: u32, order: NodeOrder, seed: u64,
    ) -> Result<Self, String> {
        let used = ranks.div_ceil(per_node);
        if used > nodes {
            return Err(format!(
                "{ranks} ranks, {per_node} on a node, need {used} nodes: the topology has {nodes}"
            ));
        }
        let nodes = match order {
            NodeOrder::Block => (0..ranks).map(|rank| rank / per_node).collect(),
            NodeOrder::Cyclic => (0..ranks).map(|rank| rank % used).collect(),
            NodeOrder::Random => {
                let order = shuffled(nodes, seed);
                (0..ranks).map(|rank| order[(rank / per_node) as usize]).collect()
            }
        };
        Ok(Self { per_node, order, nodes })
    }

    /// The node of a rank.
    pub fn node(&self, rank: u32) -> u32 {
        self.nodes[rank as usize]
    }
}

impl fmt::Display for RankNodes {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        match self.per_node {
            1 => write!(f, "a rank on a node, {}", self.order),
            per_node => write!(f, "{per_node} ranks on a node, {}", self.order),
        }
    }
}

fn shuffled(count: u32, seed: u64) -> Vec<u32> {
    let mut random = Random::new(seed);
    let mut all: Vec<u32> = (0..count).collect();
    for left in (2..=all.len()).rev() {
        all.swap(left - 1, random.below(left as u64) as usize);
    }
    all
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn ranks_fill_nodes_in_order() {
        let placed = |order| RankNodes::new(5, 2, 7, order, 1).unwrap().nodes;
        assert_eq!(placed(NodeOrder::Block), [0, 0, 1, 1, 2]);
        assert_eq!(placed(NodeOrder::Cyclic), [0, 1, 2, 0, 1]);
        let random = placed(NodeOrder::Random);
        assert_eq!(random[0], random[1]);
        assert_eq!(random[2], random[3]);
        assert!(
            random[1] != random[2] && random[3] != random[4] && random.iter().all(|it| *it < 7)
        );
        let few = RankNodes::new(9, 2, 4, NodeOrder::Block, 1).unwrap_err();
        assert_eq!(few, "9 ranks, 2 on a node, need 5 nodes: the topology has 4");
    }
}
