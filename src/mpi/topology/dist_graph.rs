//! Distributed graphs (MPI 5.0 §8.5.4): of which each rank knows its own neighbors.
//!
//! An edge is given by any rank (`MPI_Dist_graph_create`), or by both of its ends
//! (`MPI_Dist_graph_create_adjacent`); its [`EdgeRole`] says which end is to know of it. Neighbors are
//! in the order of the ranks that gave them, and then in the order in which each gave them, so two
//! equal calls give equal answers.

use super::count;
use platform::base::{ErrorClass, Result};

/// Bytes of an [`GraphEdge`] on its way.
pub(crate) const EDGE_BYTES: usize = 16;

/// For whom an edge is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum EdgeRole {
    /// For both ends.
    Both,
    /// For its destination, whose source it names.
    Incoming,
    /// For its source, whose destination it names.
    Outgoing,
}

/// An edge of the graph.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct GraphEdge {
    /// From this rank.
    pub source: u32,
    /// To this one.
    pub destination: u32,
    /// Its weight; 1 in a graph without weights.
    pub weight: i32,
    /// For whom it is.
    pub role: EdgeRole,
}

impl GraphEdge {
    /// Whether `rank` is to know of it.
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

    /// The ranks that are to know of it; one rank may come twice.
    pub(crate) fn ends(&self) -> impl Iterator<Item = u32> + use<> {
        let destination = (self.role != EdgeRole::Outgoing).then_some(self.destination);
        let source = (self.role != EdgeRole::Incoming).then_some(self.source);
        source.into_iter().chain(destination)
    }

    /// As sent.
    pub(crate) fn emit(&self) -> [u8; EDGE_BYTES] {
        let mut bytes = [0; EDGE_BYTES];
        let words = [self.source, self.destination, self.weight as u32, self.role as u32];
        for (place, word) in bytes.chunks_exact_mut(4).zip(words) {
            place.copy_from_slice(&word.to_le_bytes());
        }
        bytes
    }

    /// As received.
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
        self.ranks.iter().enumerate().map(move |(place, rank)| {
            let weight = self.weights.map_or(1, |weights| weights[place]);
            if weight < 0 {
                let why = format!("the weight of edge {place} is {weight}");
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
/// `Arg` for a rank that is not there, or a negative weight or degree.
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

/// How many edges these degrees of `MPI_Dist_graph_create` announce.
///
/// # Errors
/// `Arg` for a negative degree, or if they are more than an `int` can count.
pub(crate) fn total_degree(degrees: &[i32]) -> Result<usize> {
    let mut total = 0_usize;
    for degree in degrees {
        total += count("edges", *degree)?;
    }
    match total <= i32::MAX as usize {
        true => Ok(total),
        false => Err(ErrorClass::Arg.error(format!("one rank gives {total} edges"))),
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
        let why = format!("an edge has an end at rank {rank}, which is not in 0..{size}");
        ErrorClass::Arg.error(why)
    })
}

/// A rank and the weight of the edge to or from it.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Neighbor {
    /// Its rank.
    pub rank: u32,
    /// The weight; 1 in a graph without weights.
    pub weight: i32,
}

/// What a rank knows of a distributed graph.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct DistGraph {
    /// Where its incoming edges come from.
    pub sources: Vec<Neighbor>,
    /// Where its outgoing edges go to.
    pub destinations: Vec<Neighbor>,
    /// Whether the graph was made with weights.
    pub(crate) weighted: bool,
}

impl DistGraph {
    /// Those of `rank` in a graph that has all of `edges`, given in order.
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
        let rank = "an edge has an end at rank 2, which is not in 0..2";
        assert_eq!(why(unweighted(&[2]), &[1]), rank);
        assert_eq!(why(unweighted(&[]), &[-1]), "the number of edges is -1");
        let weighted = NeighborList { ranks: &[0], weights: Some(&[-3]) };
        assert_eq!(why(weighted, &[1]), "the weight of edge 0 is -3");
        assert!(edges_by_source(2, &[-2], &[0], unweighted(&[])).is_err());
        assert!(adjacent(2, 0, unweighted(&[-1]), unweighted(&[])).is_err());
        assert_eq!(total_degree(&[2, 0, 3]).unwrap(), 5);
        assert!(total_degree(&[2, -1]).is_err() && total_degree(&[i32::MAX, 1]).is_err());
    }
}
