//! Distributed graphs (MPI 5.0 §8.5.4): each rank knows only its own neighbors.
//!
//! Any rank may pass an edge (`MPI_Dist_graph_create`), or both of its ends pass it
//! (`MPI_Dist_graph_create_adjacent`); the [`EdgeRole`] is the end for which the edge is. Neighbors
//! are in the order of the ranks that passed them, and then in the order of each rank's arguments,
//! so equal calls have equal results.

use super::count;
use platform::base::{ErrorClass, Result};

/// Bytes of an encoded [`GraphEdge`].
pub(crate) const EDGE_BYTES: usize = 16;

/// The ends for which an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeRole {
    /// Both ends.
    Both,
    /// The destination.
    Incoming,
    /// The source.
    Outgoing,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// Rank at the start of the edge.
    pub source: u32,
    /// Rank at the end of the edge.
    pub destination: u32,
    /// Weight; 1 in a graph without weights.
    pub weight: i32,
    /// The ends for which the edge is.
    pub role: EdgeRole,
}

impl GraphEdge {
    /// Whether the edge is for `rank`.
    #[cfg(test)]
    pub(crate) fn is_known_to(&self, rank: u32) -> bool {
        self.enters(rank) || self.leaves(rank)
    }

    fn enters(&self, rank: u32) -> bool {
        self.destination == rank && self.role != EdgeRole::Outgoing
    }

    fn leaves(&self, rank: u32) -> bool {
        self.source == rank && self.role != EdgeRole::Incoming
    }

    /// The ranks for which the edge is; one rank may be repeated.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> + use<> {
        let destination = (self.role != EdgeRole::Outgoing).then_some(self.destination);
        let source = (self.role != EdgeRole::Incoming).then_some(self.source);
        source.into_iter().chain(destination)
    }

    pub(crate) fn emit(&self) -> [u8; EDGE_BYTES] {
        let mut bytes = [0; EDGE_BYTES];
        let words = [self.source, self.destination, self.weight as u32, self.role as u32];
        for (target, word) in bytes.chunks_exact_mut(4).zip(words) {
            target.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; EDGE_BYTES]) -> Self {
        let [source, destination, weight, role] = [0, 4, 8, 12].map(|at| {
            let word: &[u8; 4] = bytes[at..].first_chunk().expect("16 bytes are four words");
            u32::from_le_bytes(*word)
        });
        let role = match role {
            0 => EdgeRole::Both,
            1 => EdgeRole::Incoming,
            _ => EdgeRole::Outgoing,
        };
        Self { source, destination, weight: weight as i32, role }
    }
}

/// Ranks at the other ends of edges, with their weights; `None` if the edges have none.
#[derive(Clone, Copy, Debug)]
pub(crate) struct NeighborList<'a> {
    pub(crate) ranks: &'a [i32],
    /// One for each rank.
    pub(crate) weights: Option<&'a [i32]>,
}

impl NeighborList<'_> {
    fn checked(self, size: u32) -> impl Iterator<Item = Result<(u32, i32)>> {
        self.ranks.iter().enumerate().map(move |(index, rank)| {
            let weight = self.weights.map_or(1, |weights| weights[index]);
            if weight < 0 {
                let why = format!("the weight of edge {index} is {weight}: expected 0 or more");
                return Err(ErrorClass::Arg.error(why));
            }
            Ok((end(*rank, size)?, weight))
        })
    }
}

/// The edges of `MPI_Dist_graph_create`: `degrees[i]` of them from `sources[i]`, one after the
/// other, in a communicator of `size` ranks.
///
/// # Errors
/// `Arg` for an invalid rank, or a negative weight or degree.
pub(crate) fn edges_by_source(
    size: u32, sources: &[i32], degrees: &[i32], ends: NeighborList<'_>,
) -> Result<Vec<GraphEdge>> {
    let mut edges = Vec::with_capacity(ends.ranks.len());
    let mut rest = ends.checked(size);
    for (source, degree) in sources.iter().zip(degrees) {
        let source = end(*source, size)?;
        for given in rest.by_ref().take(count("edges", *degree)?) {
            let (destination, weight) = given?;
            edges.push(GraphEdge { source, destination, weight, role: EdgeRole::Both });
        }
    }
    Ok(edges)
}

/// The number of edges of these degrees of `MPI_Dist_graph_create`.
///
/// # Errors
/// `Arg` for a negative degree, or if the number exceeds an `int`.
pub(crate) fn total_degree(degrees: &[i32]) -> Result<usize> {
    let mut total = 0_usize;
    for degree in degrees {
        total += count("edges", *degree)?;
    }
    match total <= i32::MAX as usize {
        true => Ok(total),
        false => Err(ErrorClass::Arg
            .error(format!("the degrees have a sum of {total}: expected at most {}", i32::MAX))),
    }
}

/// The edges of `MPI_Dist_graph_create_adjacent` on `rank`.
///
/// # Errors
/// As [`edges_by_source`].
pub(crate) fn adjacent(
    size: u32, rank: u32, sources: NeighborList<'_>, destinations: NeighborList<'_>,
) -> Result<Vec<GraphEdge>> {
    let incoming = sources.checked(size).map(|given| {
        let (source, weight) = given?;
        Ok(GraphEdge { source, destination: rank, weight, role: EdgeRole::Incoming })
    });
    let outgoing = destinations.checked(size).map(|given| {
        let (destination, weight) = given?;
        Ok(GraphEdge { source: rank, destination, weight, role: EdgeRole::Outgoing })
    });
    incoming.chain(outgoing).collect()
}

fn end(rank: i32, size: u32) -> Result<u32> {
    u32::try_from(rank).ok().filter(|rank| *rank < size).ok_or_else(|| {
        let why = format!("an edge has rank {rank} as an end: expected 0..{size}");
        ErrorClass::Arg.error(why)
    })
}

/// A rank and the weight of the edge to or from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Rank of the neighbor.
    pub rank: u32,
    /// The weight; 1 in a graph without weights.
    pub weight: i32,
}

/// The edges of one rank in a distributed graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistGraph {
    /// Sources of its incoming edges.
    pub sources: Vec<Neighbor>,
    /// Destinations of its outgoing edges.
    pub destinations: Vec<Neighbor>,
    /// Whether the graph has weights.
    pub(crate) weighted: bool,
}

impl DistGraph {
    /// The edges of `rank` in a graph of `edges`, in order.
    pub fn new(rank: u32, edges: &[GraphEdge], weighted: bool) -> Self {
        let neighbor = |rank, edge: &GraphEdge| Neighbor { rank, weight: edge.weight };
        let incoming = edges.iter().filter(|edge| edge.enters(rank));
        let outgoing = edges.iter().filter(|edge| edge.leaves(rank));
        Self {
            sources: incoming.map(|edge| neighbor(edge.source, edge)).collect(),
            destinations: outgoing.map(|edge| neighbor(edge.destination, edge)).collect(),
            weighted,
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn unweighted(ranks: &[i32]) -> NeighborList<'_> {
        NeighborList { ranks, weights: None }
    }

    #[test]
    fn edges_read_back() {
        for role in [EdgeRole::Both, EdgeRole::Incoming, EdgeRole::Outgoing] {
            let edge = GraphEdge { source: 7, destination: u32::MAX, weight: i32::MIN, role };
            assert_eq!(GraphEdge::parse(&edge.emit()), edge);
        }
    }

    #[test]
    fn edges_from_anywhere_reach_both_ends() {
        let weights = [10, 20, 30];
        let ends = NeighborList { ranks: &[1, 2, 2], weights: Some(&weights) };
        let edges = edges_by_source(3, &[0, 1, 2], &[1, 0, 2], ends).unwrap();
        let neighbors = |rank| {
            let DistGraph { sources, destinations, .. } = DistGraph::new(rank, &edges, true);
            let pairs = |list: Vec<Neighbor>| -> Vec<_> {
                list.into_iter().map(|one| (one.rank, one.weight)).collect()
            };
            (pairs(sources), pairs(destinations))
        };
        assert_eq!(neighbors(0), (vec![], vec![(1, 10)]));
        assert_eq!(neighbors(1), (vec![(0, 10)], vec![]));
        assert_eq!(neighbors(2), (vec![(2, 20), (2, 30)], vec![(2, 20), (2, 30)]));
    }

    #[test]
    fn adjacent_edges_stay_with_their_rank() {
        let edges = adjacent(3, 1, unweighted(&[0, 1, 0]), unweighted(&[2])).unwrap();
        assert!(edges.iter().all(|edge| edge.ends().eq([1])));
        assert!(edges.iter().all(|edge| edge.is_known_to(1) && !edge.is_known_to(2)));
        let own = DistGraph::new(1, &edges, false);
        assert_eq!(own.sources.iter().map(|one| one.rank).collect::<Vec<_>>(), [0, 1, 0]);
        assert_eq!(own.destinations, [Neighbor { rank: 2, weight: 1 }]);
    }

    #[test]
    fn bad_edges_are_named() {
        let why = |ends, degrees: &[i32]| edges_by_source(2, &[0], degrees, ends).unwrap_err().why;
        let rank = "an edge has rank 2 as an end: expected 0..2";
        assert_eq!(why(unweighted(&[2]), &[1]), rank);
        assert_eq!(why(unweighted(&[]), &[-1]), "the number of edges is -1: expected 0 or more");
        let weighted = NeighborList { ranks: &[0], weights: Some(&[-3]) };
        assert_eq!(why(weighted, &[1]), "the weight of edge 0 is -3: expected 0 or more");
        assert!(edges_by_source(2, &[-2], &[0], unweighted(&[])).is_err());
        assert!(adjacent(2, 0, unweighted(&[-1]), unweighted(&[])).is_err());
        assert_eq!(total_degree(&[2, 0, 3]).unwrap(), 5);
        assert!(total_degree(&[2, -1]).is_err() && total_degree(&[i32::MAX, 1]).is_err());
    }
}
