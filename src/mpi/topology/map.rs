//! Mapping of processes to the ranks of a topology: `reorder` (MPI 5.0 §8.2).
//!
//! Communication within a node is faster, so a good order has few edges between nodes. The functions
//! here are pure: from a topology and the node of each process to an order. The old order stays
//! unless the new one is better.
//!
//! * A grid on nodes with equal numbers of processes is divided into equal blocks, of the shape with
//!   the fewest edges between blocks: Gropp, "Using Node Information to Implement MPI Cartesian
//!   Topologies", EuroMPI 2018. Nodes always get whole blocks.
//! * For any topology, nodes also grow greedily: the next rank of a node is the rank with the largest
//!   weight to the ranks of the node.
//!
//! Cost: O(edges × log ranks), and for grids the number of blocks with as many ranks as a node.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use super::{Cart, Graph};

/// The node of a process.
pub(crate) type NodeNumber = u64;

/// The old rank of each new rank, for as many processes as the grid has ranks.
pub(crate) fn of_cart(cart: &Cart, nodes: &[NodeNumber]) -> Vec<u32> {
    let edges: Vec<_> = cart.edges().map(|(one, other)| (one, other, 1)).collect();
    let crews = RanksByNode::new(nodes);
    let mut best = BestOrder::new(&crews, &edges);
    if crews.can_improve() {
        let ranks: Vec<u32> = (0..cart.size()).collect();
        best.keep_better(&crews.assign(&ranks));
        best.keep_better(&crews.assign(&in_blocks(cart, &block(cart, crews.share()))));
        best.keep_better(&crews.grown(&edges));
    }
    best.order
}

/// [`of_cart`] for a graph.
pub(crate) fn of_graph(graph: &Graph, nodes: &[NodeNumber]) -> Vec<u32> {
    let edges: Vec<_> = graph.edges().map(|(one, other)| (one, other, 1)).collect();
    of_edges(&edges, nodes)
}

/// [`of_cart`] for weighted edges.
pub(crate) fn of_edges(edges: &[(u32, u32, u64)], nodes: &[NodeNumber]) -> Vec<u32> {
    let crews = RanksByNode::new(nodes);
    let mut best = BestOrder::new(&crews, edges);
    if crews.can_improve() {
        best.keep_better(&crews.grown(edges));
    }
    best.order
}

/// The processes of each node.
struct RanksByNode {
    /// The old ranks on each node, both in order of appearance.
    ranks: Vec<Vec<u32>>,
    /// The node of each old rank, as an index.
    node_of_rank: Vec<usize>,
}

impl RanksByNode {
    fn new(nodes: &[NodeNumber]) -> Self {
        let mut numbers = std::collections::HashMap::new();
        let mut crews = Self { ranks: Vec::new(), node_of_rank: Vec::with_capacity(nodes.len()) };
        for (rank, node) in (0..).zip(nodes) {
            let number = *numbers.entry(*node).or_insert(crews.ranks.len());
            if number == crews.ranks.len() {
                crews.ranks.push(Vec::new());
            }
            crews.ranks[number].push(rank);
            crews.node_of_rank.push(number);
        }
        crews
    }

    /// Whether there are several nodes, one with several processes.
    fn can_improve(&self) -> bool {
        (2..self.node_of_rank.len()).contains(&self.ranks.len())
    }

    /// The largest number of processes of which every node has a multiple.
    fn share(&self) -> u32 {
        self.ranks.iter().fold(0, |share, old_ranks| common_divisor(old_ranks.len() as u32, share))
    }

    /// The order in which the processes, node by node, get the new ranks `new_ranks`.
    fn assign(&self, new_ranks: &[u32]) -> Vec<u32> {
        let mut order = vec![0; new_ranks.len()];
        for (new_rank, rank) in new_ranks.iter().zip(self.ranks.iter().flatten()) {
            order[*new_rank as usize] = *rank;
        }
        order
    }

    /// The order of greedy growth: each node gets ranks with large weights between them.
    fn grown(&self, edges: &[(u32, u32, u64)]) -> Vec<u32> {
        let around = Adjacency::new(self.node_of_rank.len(), edges);
        let mut assigned = vec![false; self.node_of_rank.len()];
        let mut order = vec![0; self.node_of_rank.len()];
        let mut first_free = 0;
        for old_ranks in &self.ranks {
            let mut growth = NodeGrowth::new(&around);
            let mut new_ranks = Vec::with_capacity(old_ranks.len());
            while new_ranks.len() < old_ranks.len() {
                let next = growth.next(&assigned).unwrap_or_else(|| {
                    while assigned[first_free as usize] {
                        first_free += 1;
                    }
                    first_free
                });
                assigned[next as usize] = true;
                growth.add(next);
                new_ranks.push(next);
            }
            new_ranks.sort_unstable();
            for (new_rank, rank) in new_ranks.into_iter().zip(old_ranks) {
                order[new_rank as usize] = *rank;
            }
        }
        order
    }
}

/// The best order until now.
struct BestOrder<'a> {
    ranks_by_node: &'a RanksByNode,
    edges: &'a [(u32, u32, u64)],
    order: Vec<u32>,
    cost: u64,
}

impl<'a> BestOrder<'a> {
    fn new(ranks_by_node: &'a RanksByNode, edges: &'a [(u32, u32, u64)]) -> Self {
        let order: Vec<u32> = (0..ranks_by_node.node_of_rank.len() as u32).collect();
        let cost = off_node(&order, &ranks_by_node.node_of_rank, edges);
        Self { ranks_by_node, edges, order, cost }
    }

    fn keep_better(&mut self, order: &[u32]) {
        let cost = off_node(order, &self.ranks_by_node.node_of_rank, self.edges);
        if cost < self.cost {
            self.cost = cost;
            self.order = order.to_vec();
        }
    }
}

/// The weight of the edges between nodes, if new rank `r` is process `order[r]`.
fn off_node<N: PartialEq>(order: &[u32], nodes: &[N], edges: &[(u32, u32, u64)]) -> u64 {
    let node = |rank: u32| &nodes[order[rank as usize] as usize];
    let crossing = edges.iter().filter(|(one, other, _)| node(*one) != node(*other));
    crossing.fold(0, |sum, (_, _, weight)| sum.saturating_add(*weight))
}

/// The edges at each rank, in both directions.
struct Adjacency {
    starts: Vec<usize>,
    ends: Vec<(u32, u64)>,
}

impl Adjacency {
    fn new(ranks: usize, edges: &[(u32, u32, u64)]) -> Self {
        let both = || {
            edges
                .iter()
                .flat_map(|(one, other, weight)| [(*one, *other, *weight), (*other, *one, *weight)])
        };
        let mut starts = vec![0; ranks + 1];
        both().for_each(|(one, _, _)| starts[one as usize + 1] += 1);
        for rank in 0..ranks {
            starts[rank + 1] += starts[rank];
        }
        let mut ends = vec![(0, 0); edges.len() * 2];
        let mut free = starts.clone();
        for (one, other, weight) in both() {
            ends[free[one as usize]] = (other, weight);
            free[one as usize] += 1;
        }
        Self { starts, ends }
    }

    fn edges_of(&self, rank: u32) -> &[(u32, u64)] {
        let rank = rank as usize;
        &self.ends[self.starts[rank]..self.starts[rank + 1]]
    }
}

/// The ranks of one node while it grows.
struct NodeGrowth<'a> {
    adjacency: &'a Adjacency,
    /// The weight from the node to ranks beside it.
    gains: std::collections::HashMap<u32, u64>,
    /// The gains in order; entries with an outdated gain are skipped.
    heap: BinaryHeap<(u64, Reverse<u32>)>,
}

impl<'a> NodeGrowth<'a> {
    fn new(adjacency: &'a Adjacency) -> Self {
        Self { adjacency, gains: Default::default(), heap: BinaryHeap::new() }
    }

    fn add(&mut self, rank: u32) {
        for (neighbor, weight) in self.adjacency.edges_of(rank) {
            let gain = self.gains.entry(*neighbor).or_insert(0);
            *gain = gain.saturating_add(*weight);
            self.heap.push((*gain, Reverse(*neighbor)));
        }
    }

    /// The unassigned rank with the largest weight to the node; of equal ones the first.
    fn next(&mut self, assigned: &[bool]) -> Option<u32> {
        while let Some((gain, Reverse(rank))) = self.heap.pop() {
            if !assigned[rank as usize] && self.gains[&rank] == gain {
                return Some(rank);
            }
        }
        None
    }
}

/// The lengths of the blocks of `share` ranks with the fewest edges between blocks, if equal blocks
/// fill the grid; otherwise a block of one rank.
fn block(cart: &Cart, share: u32) -> Vec<u32> {
    let dimensions = cart.dimensions();
    let mut best = (u64::MAX, vec![1; dimensions.len()]);
    let mut chosen = Vec::with_capacity(dimensions.len());
    blocks(cart, share, &mut chosen, &mut |lens| {
        let cut = dimensions.iter().zip(lens).map(|(dimension, len)| {
            let blocks = dimension.len / len;
            let borders = if dimension.periodic && blocks > 1 { blocks } else { blocks - 1 };
            u64::from(cart.size() / dimension.len) * u64::from(borders)
        });
        let cut = cut.sum();
        if cut < best.0 {
            best = (cut, lens.to_vec());
        }
    });
    best.1
}

/// Calls `visit` with the lengths of each block of `rest` ranks, after the lengths `chosen`.
fn blocks(cart: &Cart, rest: u32, chosen: &mut Vec<u32>, visit: &mut impl FnMut(&[u32])) {
    let Some(dimension) = cart.dimensions().get(chosen.len()) else {
        if rest == 1 {
            visit(chosen);
        }
        return;
    };
    let most = common_divisor(dimension.len, rest);
    for len in (1..=most).filter(|len| most.is_multiple_of(*len)) {
        chosen.push(len);
        blocks(cart, rest / len, chosen, visit);
        chosen.pop();
    }
}

/// All ranks of the grid, block after block.
fn in_blocks(cart: &Cart, block: &[u32]) -> Vec<u32> {
    let mut ranks: Vec<u32> = (0..cart.size()).collect();
    ranks.sort_by_cached_key(|rank| {
        let coordinates = cart.coordinates(*rank);
        let places = coordinates.iter().zip(block);
        places.map(|(coordinate, len)| coordinate / len).collect::<Vec<_>>()
    });
    ranks
}

fn common_divisor(one: u32, other: u32) -> u32 {
    if other == 0 { one } else { common_divisor(other, one % other) }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::base::Random;

    fn cost(cart: &Cart, order: &[u32], nodes: &[NodeNumber]) -> u64 {
        let edges: Vec<_> = cart.edges().map(|(one, other)| (one, other, 1)).collect();
        off_node(order, nodes, &edges)
    }

    fn is_an_order(order: &[u32]) -> bool {
        let mut sorted = order.to_vec();
        sorted.sort_unstable();
        sorted.into_iter().eq(0..order.len() as u32)
    }

    #[test]
    fn nodes_become_blocks() {
        // Ranks assigned to four nodes round robin, on a 4 x 4 grid: quarters have 8 edges between.
        let grid = Cart::new(&[4, 4], &[0, 0]).unwrap();
        let nodes: Vec<NodeNumber> = (0..16).map(|rank| rank % 4).collect();
        let order = of_cart(&grid, &nodes);
        assert!(is_an_order(&order));
        assert_eq!(cost(&grid, &order, &nodes), 8);
        assert_eq!(order[..2], [0, 4]);
        // Nodes filled one after the other have rows: 12 edges. Quarters are better.
        let nodes: Vec<NodeNumber> = (0..16).map(|rank| 100 + rank / 4).collect();
        assert_eq!(cost(&grid, &of_cart(&grid, &nodes), &nodes), 8);
        let cube = Cart::new(&[4, 4, 4], &[1, 1, 1]).unwrap();
        let nodes: Vec<NodeNumber> = (0..64).map(|rank| rank % 8).collect();
        assert_eq!(cost(&cube, &of_cart(&cube, &nodes), &nodes), 96);
    }

    #[test]
    fn what_is_best_already_stays() {
        let grid = Cart::new(&[4, 4], &[0, 1]).unwrap();
        let identity: Vec<u32> = (0..16).collect();
        let rows: Vec<NodeNumber> = (0..16).map(|rank| rank / 4).collect();
        for nodes in [vec![3; 16], (0..16).collect(), rows] {
            assert_eq!(of_cart(&grid, &nodes), identity);
        }
        assert_eq!(of_cart(&Cart::new(&[], &[]).unwrap(), &[9]), [0]);
        assert_eq!(of_edges(&[], &[]), [0; 0]);
    }

    #[test]
    fn uneven_nodes_are_filled_too() {
        let grid = Cart::new(&[6], &[0]).unwrap();
        let nodes = [1, 2, 1, 2, 2, 2];
        let order = of_cart(&grid, &nodes);
        assert!(is_an_order(&order));
        assert_eq!(cost(&grid, &order, &nodes), 1);
    }

    #[test]
    fn weights_hold_ranks_together() {
        // A ring whose heavy edges join 0 with 3 and 1 with 2.
        let edges = [(0, 1, 1), (1, 2, 9), (2, 3, 1), (3, 0, 9)];
        let nodes = [0, 0, 1, 1];
        let order = of_edges(&edges, &nodes);
        assert_eq!(off_node(&order, &nodes, &edges), 2);
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
        assert!(is_an_order(&of_graph(&graph, &[5, 6, 6, 5])));
    }

    #[test]
    fn no_order_has_more_edges_between_nodes_than_the_old_one() {
        let mut random = Random::new(7);
        let mut improved = 0;
        for _ in 0..400 {
            let lens: Vec<i32> = (0..random.below(4)).map(|_| 1 + random.below(6) as i32).collect();
            let periods: Vec<i32> = lens.iter().map(|_| random.below(2) as i32).collect();
            let grid = Cart::new(&lens, &periods).unwrap();
            let count = 1 + random.below(9);
            let nodes: Vec<NodeNumber> = (0..grid.size()).map(|_| random.below(count)).collect();
            let order = of_cart(&grid, &nodes);
            assert!(is_an_order(&order), "{grid:?} {nodes:?}");
            let identity: Vec<u32> = (0..grid.size()).collect();
            let (old, new) = (cost(&grid, &identity, &nodes), cost(&grid, &order, &nodes));
            assert!(new <= old, "{grid:?} {nodes:?}");
            improved += u32::from(new < old);

            let edges: Vec<_> = (0..random.below(60))
                .map(|_| {
                    let mut rank = || random.below(u64::from(grid.size())) as u32;
                    (rank(), rank(), random.below(5))
                })
                .collect();
            let order = of_edges(&edges, &nodes);
            assert!(is_an_order(&order));
            assert!(off_node(&order, &nodes, &edges) <= off_node(&identity, &nodes, &edges));
        }
        assert!(improved > 100, "{improved}");
    }
}
