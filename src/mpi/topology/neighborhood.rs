//! Neighborhoods of collective operations on a topology (MPI 5.0 §8.6): the edge of a neighbor that
//! corresponds to each edge of a rank.
//!
//! | topology | order of the blocks | several edges between two ranks |
//! |---|---|---|
//! | Cartesian grid | for each dimension the rank before and the rank after | a block to the rank before is received there from the rank after |
//! | graph, distributed graph | as in queries | the k-th edge to a rank is its k-th edge from this one |
//!
//! The first row matters in a periodic dimension of one or two coordinates, where both neighbors
//! are one rank: block `p` of the sender is block `p ^ 1` of the receiver, as in longer dimensions.

use std::collections::HashMap;

use super::{Cart, DistGraph, Graph, VirtualTopology};
use crate::mpi::collective::algorithms::neighbor::{NeighborEdge, Neighborhood};
use platform::base::{ErrorClass, Result};

impl VirtualTopology {
    /// The neighborhood of `rank`.
    ///
    /// # Errors
    /// `Topology` for edges that only one end knows: of a graph that is not symmetric (§8.6), or from
    /// a rank to itself in a distributed graph.
    pub fn neighborhood(&self, rank: u32) -> Result<Neighborhood> {
        match self {
            Self::Cart(cart) => Ok(of_cart(cart, rank)),
            Self::Graph(graph) => of_graph(graph, rank),
            Self::DistGraph(neighbors) => of_dist_graph(neighbors, rank),
        }
    }
}

fn of_cart(cart: &Cart, rank: u32) -> Neighborhood {
    let directions = 0..cart.dimensions().len() as i32;
    let ranks: Vec<Option<u32>> = directions
        .flat_map(|direction| cart.shift(rank, direction, 1).unwrap_or([None; 2]))
        .collect();
    // The number of an edge is its index at its source.
    let edges = |index_at_source: fn(u32) -> u32| {
        let number = move |(place, peer): (u32, &Option<u32>)| {
            Some(NeighborEdge { peer: (*peer)?, number: index_at_source(place) })
        };
        (0..).zip(&ranks).map(number).collect()
    };
    Neighborhood::new(rank, edges(|place| place ^ 1), edges(|place| place))
        .expect("the rank before the next one is this one")
}

fn of_graph(graph: &Graph, rank: u32) -> Result<Neighborhood> {
    let neighbors = graph.neighbors(rank as i32)?;
    for other in neighbors {
        let edges = |of: &[u32], to: u32| of.iter().filter(|rank| **rank == to).count();
        let there = edges(neighbors, *other);
        let back = edges(graph.neighbors(*other as i32)?, rank);
        if there != back {
            return Err(ErrorClass::Topology.error(format!(
                "the graph is not symmetric, as neighborhood collectives need it: it has {there} \
                 edges from rank {rank} to rank {other} and {back} back"
            )));
        }
    }
    let edges = numbered(neighbors.iter().copied());
    Ok(Neighborhood::new(rank, edges.clone(), edges).expect("the two lists are one"))
}

fn of_dist_graph(neighbors: &DistGraph, rank: u32) -> Result<Neighborhood> {
    let [sources, destinations] = [&neighbors.sources, &neighbors.destinations]
        .map(|list| numbered(list.iter().map(|neighbor| neighbor.rank)));
    Neighborhood::new(rank, sources, destinations).ok_or_else(|| {
        let why = format!(
            "rank {rank} is a different number of times its own source and its own destination: \
             expected equal numbers"
        );
        ErrorClass::Topology.error(why)
    })
}

/// The edges between this rank and `ranks`, each numbered among the edges to the same rank.
fn numbered(ranks: impl Iterator<Item = u32>) -> Vec<Option<NeighborEdge>> {
    let mut before: HashMap<u32, u32> = HashMap::new();
    ranks
        .map(|peer| {
            let next = before.entry(peer).or_insert(0);
            *next += 1;
            Some(NeighborEdge { peer, number: *next - 1 })
        })
        .collect()
}

#[cfg(test)]
mod tests {
    use super::super::dist_graph::Neighbor;
    use super::*;

    fn edge(peer: u32, number: u32) -> Option<NeighborEdge> {
        Some(NeighborEdge { peer, number })
    }

    #[test]
    fn in_a_grid_each_edge_matches_the_opposite_one() {
        let cart = Cart::new(&[2, 3, 1], &[1, 0, 1]).unwrap();
        let own = VirtualTopology::Cart(cart).neighborhood(3).unwrap();
        let destinations = vec![edge(0, 0), edge(0, 1), None, edge(4, 3), edge(3, 4), edge(3, 5)];
        let sources = vec![edge(0, 1), edge(0, 0), None, edge(4, 2), edge(3, 5), edge(3, 4)];
        assert_eq!(own, Neighborhood::new(3, sources, destinations).unwrap());
        assert_eq!(own.loops(), [(5, 4), (4, 5)]);
    }

    #[test]
    fn a_graph_must_be_symmetric_around_the_rank() {
        let graph = Graph::new(&[3, 4, 6, 7], &[1, 0, 2, 0, 0, 3, 0]).unwrap();
        let topology = VirtualTopology::Graph(graph);
        let edges = vec![edge(1, 0), edge(0, 0), edge(2, 0)];
        let due = Neighborhood::new(0, edges.clone(), edges).unwrap();
        assert_eq!(topology.neighborhood(0).unwrap(), due);
        assert_eq!(due.loops(), [(1, 1)]);
        let error = topology.neighborhood(2).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Topology as i32);
        assert!(error.why.contains("1 edges from rank 2 to rank 3 and 0 back"), "{error}");
        assert!(topology.neighborhood(3).is_err());
    }

    #[test]
    fn edges_between_two_ranks_are_numbered_in_order() {
        let list = |ranks: &[u32]| -> Vec<Neighbor> {
            ranks.iter().map(|rank| Neighbor { rank: *rank, weight: 1 }).collect()
        };
        let graph = |sources, destinations| {
            let (sources, destinations) = (list(sources), list(destinations));
            VirtualTopology::DistGraph(DistGraph { sources, destinations, weighted: false })
        };
        let own = graph(&[2, 1, 2, 1], &[1, 3, 1, 2]).neighborhood(1).unwrap();
        let sources = vec![edge(2, 0), edge(1, 0), edge(2, 1), edge(1, 1)];
        let destinations = vec![edge(1, 0), edge(3, 0), edge(1, 1), edge(2, 0)];
        assert_eq!(own, Neighborhood::new(1, sources, destinations).unwrap());
        assert_eq!(own.loops(), [(0, 1), (2, 3)]);
        let error = graph(&[1], &[1, 1]).neighborhood(1).unwrap_err();
        assert!(error.why.starts_with("rank 1 is a different number of times its own source"));
    }
}
