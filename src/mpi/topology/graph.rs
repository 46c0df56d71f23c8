//! Graphs that are replicated on all ranks (MPI 5.0 §8.5.3, §8.5.5).

use super::count;
use platform::base::{ErrorClass, Result};

/// A graph: the neighbors of each rank, one after the other.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Graph {
    /// End index of the neighbors of each rank.
    ends: Vec<u32>,
    neighbors: Vec<u32>,
}

impl Graph {
    /// The graph of `ends.len()` ranks, from the arguments of `MPI_Graph_create`. Edges may be
    /// asymmetric, repeated or from a rank to itself.
    ///
    /// # Errors
    /// `Arg` for ends that are negative or decrease, or for an invalid neighbor.
    pub fn new(ends: &[i32], neighbors: &[i32]) -> Result<Self> {
        let mut before = 0;
        let checked = ends.iter().enumerate().map(|(rank, end)| {
            let least = std::mem::replace(&mut before, *end);
            u32::try_from(*end).ok().filter(|_| *end >= least).ok_or_else(|| {
                let why = format!("entry {rank} of index is {end}: expected at least {least}");
                ErrorClass::Arg.error(why)
            })
        });
        let ends: Vec<u32> = checked.collect::<Result<_>>()?;
        let nodes = ends.len();
        let checked = neighbors.iter().enumerate().map(|(index, rank)| {
            u32::try_from(*rank).ok().filter(|rank| (*rank as usize) < nodes).ok_or_else(|| {
                let why = format!("edge {index} is {rank}: expected 0..{nodes}");
                ErrorClass::Arg.error(why)
            })
        });
        let neighbors = checked.collect::<Result<_>>()?;
        Ok(Self { ends, neighbors })
    }

    /// The number of neighbors of an index of `MPI_Graph_create`.
    ///
    /// # Errors
    /// `Arg` if the number is negative.
    pub(crate) fn neighbor_count(ends: &[i32]) -> Result<usize> {
        ends.last().map_or(Ok(0), |end| count("edges", *end))
    }

    /// Number of ranks.
    pub(crate) fn size(&self) -> u32 {
        self.ends.len() as u32
    }

    /// Where the neighbors of each rank end.
    pub(crate) fn ends(&self) -> &[u32] {
        &self.ends
    }

    /// The neighbors of all ranks, one after the other.
    pub(crate) fn all_neighbors(&self) -> &[u32] {
        &self.neighbors
    }

    /// The neighbors of a rank.
    ///
    /// # Errors
    /// `Rank` if there is no such rank.
    pub(crate) fn neighbors(&self, rank: i32) -> Result<&[u32]> {
        let index = usize::try_from(rank).ok().filter(|index| *index < self.ends.len());
        let index = index.ok_or_else(|| {
            let nodes = self.ends.len();
            ErrorClass::Rank.error(format!("rank {rank} is not in 0..{nodes} of the graph"))
        })?;
        let start = if index == 0 { 0 } else { self.ends[index - 1] };
        Ok(&self.neighbors[start as usize..self.ends[index] as usize])
    }

    /// All edges, from each rank to its neighbors.
    pub(crate) fn edges(&self) -> impl Iterator<Item = (u32, u32)> {
        (0..self.size()).flat_map(|rank| {
            let neighbors = self.neighbors(rank as i32).unwrap_or(&[]);
            neighbors.iter().map(move |neighbor| (rank, *neighbor))
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_example_of_the_standard() {
        let graph = Graph::new(&[2, 3, 4, 6], &[1, 3, 0, 3, 0, 2]).unwrap();
        let neighbors: Vec<_> = (0..4).map(|rank| graph.neighbors(rank).unwrap()).collect();
        assert_eq!(neighbors, [&[1, 3][..], &[0], &[3], &[0, 2]]);
        let edges: Vec<_> = graph.edges().collect();
        assert_eq!(edges, [(0, 1), (0, 3), (1, 0), (2, 3), (3, 0), (3, 2)]);
        assert!(graph.neighbors(4).is_err() && graph.neighbors(-1).is_err());
    }

    #[test]
    fn ranks_may_be_alone_or_their_own_neighbors() {
        let graph = Graph::new(&[0, 2, 2], &[1, 1]).unwrap();
        assert_eq!(graph.neighbors(0).unwrap(), &[] as &[u32]);
        assert_eq!(graph.neighbors(1).unwrap(), [1, 1]);
        assert_eq!(Graph::new(&[], &[]).unwrap().size(), 0);
    }

    #[test]
    fn bad_arguments_are_named() {
        let why = |ends: &[i32], edges: &[i32]| Graph::new(ends, edges).unwrap_err().why;
        assert_eq!(why(&[1, 0], &[0]), "entry 1 of index is 0: expected at least 1");
        assert_eq!(why(&[-1], &[]), "entry 0 of index is -1: expected at least 0");
        assert_eq!(why(&[1, 1], &[2]), "edge 0 is 2: expected 0..2");
        assert_eq!(why(&[1, 1], &[-1]), "edge 0 is -1: expected 0..2");
        assert!(Graph::neighbor_count(&[3, -1]).is_err());
        assert_eq!(Graph::neighbor_count(&[]).unwrap(), 0);
    }
}
