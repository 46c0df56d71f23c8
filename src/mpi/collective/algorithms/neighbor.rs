//! Neighborhood collectives (MPI 5.0 §8.6): one message for each edge of the topology, all in one
//! round.
//!
//! Cost: 1 round; a rank sends the blocks of all its destinations except itself. A rank with edges
//! to itself copies their blocks. Empty messages are sent too, so that ranks with mismatched
//! amounts detect the mismatch, and no rank waits for a message that is never sent.
//!
//! **Places.** The sources and the destinations of a rank are two lists, in the order of the
//! blocks. A place without a neighbor, at the border of a grid, has a block that is neither sent
//! nor written (§8.6).
//!
//! **Buffers.** The send buffers are first in the table, then the receive buffers: one buffer with
//! a block for each place ([`NeighborBlocks::Contiguous`]), or one buffer for each place
//! ([`NeighborBlocks::Each`]).

use std::collections::HashMap;

use crate::offload::{Buffer, Region, Schedule, ScheduleBuilder, StepAction, Wait};

/// An edge of the topology, from the point of view of one of its ends.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub(crate) struct NeighborEdge {
    /// The rank at the other end.
    pub(crate) peer: u32,
    /// Distinguishes the edge from others with the same source and destination; equal at both ends.
    pub(crate) number: u32,
}

impl NeighborEdge {
    /// With more than 65,536 edges from one rank to another, labels repeat, and messages with the
    /// same label keep their order.
    fn label(self) -> u16 {
        self.number as u16
    }
}

/// The edges of one rank; `None` for a place without a neighbor.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub struct Neighborhood {
    rank: u32,
    sources: Vec<Option<NeighborEdge>>,
    destinations: Vec<Option<NeighborEdge>>,
    /// The edges from this rank to itself: their indices among destinations and sources.
    loops: Vec<(usize, usize)>,
}

impl Neighborhood {
    /// The neighborhood of `rank`; `None` if an edge to itself has only one end in the lists.
    pub(crate) fn new(
        rank: u32, sources: Vec<Option<NeighborEdge>>, destinations: Vec<Option<NeighborEdge>>,
    ) -> Option<Self> {
        let own = |edge: &Option<NeighborEdge>| edge.filter(|edge| edge.peer == rank);
        let numbered =
            |(place, edge): (usize, &Option<NeighborEdge>)| Some((own(edge)?.number, place));
        let mut starts: HashMap<u32, usize> =
            destinations.iter().enumerate().filter_map(numbered).collect();
        let ends = sources.iter().enumerate().filter_map(numbered);
        let loops: Vec<_> = ends
            .map(|(number, end)| Some((starts.remove(&number)?, end)))
            .collect::<Option<_>>()?;
        starts.is_empty().then_some(Self { rank, sources, destinations, loops })
    }

    /// Number of places to receive from.
    pub(crate) fn indegree(&self) -> usize {
        self.sources.len()
    }

    /// Number of places to send to.
    pub fn outdegree(&self) -> usize {
        self.destinations.len()
    }

    /// The edges from this rank to itself: their indices among destinations and sources.
    pub(crate) fn loops(&self) -> &[(usize, usize)] {
        &self.loops
    }

    /// The places of edges to other ranks.
    fn remote_edges(
        &self, places: &[Option<NeighborEdge>],
    ) -> impl Iterator<Item = (usize, NeighborEdge)> {
        let edges = places.iter().enumerate();
        let edges = edges.filter_map(|(place, edge)| Some((place, (*edge)?)));
        edges.filter(|(_, edge)| edge.peer != self.rank)
    }
}

/// Lengths of the blocks of all places, in bytes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum NeighborBlocks<'a> {
    /// All places use the same block, of this length.
    Same(usize),
    /// Contiguous blocks of one length.
    Contiguous(usize),
    /// Each block has its own buffer.
    Each(&'a [usize]),
}

impl NeighborBlocks<'_> {
    /// The length of the block at `place`.
    pub(crate) fn len(&self, place: usize) -> usize {
        match self {
            Self::Same(len) | Self::Contiguous(len) => *len,
            Self::Each(lens) => lens[place],
        }
    }

    /// Number of buffers.
    fn buffers(&self) -> usize {
        match self {
            Self::Same(_) | Self::Contiguous(_) => 1,
            Self::Each(lens) => lens.len(),
        }
    }

    /// The block at `place`, where `first` is the index of the first of these buffers.
    fn block(&self, first: usize, place: usize) -> Region {
        let (buffer, start) = match self {
            Self::Same(_) => (first, 0),
            Self::Contiguous(len) => (first, place * len),
            Self::Each(_) => (first + place, 0),
        };
        Buffer::User(buffer as u32).region(start, self.len(place))
    }
}

/// Schedule of a rank in an operation that sends and receives these blocks. The two blocks of an
/// edge to itself have equal lengths.
pub fn schedule(
    of: &Neighborhood, send: NeighborBlocks<'_>, receive: NeighborBlocks<'_>,
) -> Schedule {
    let sent = |place| send.block(0, place);
    let received = |place| receive.block(send.buffers(), place);
    let mut plan = ScheduleBuilder::new();
    for (place, edge) in of.remote_edges(&of.sources) {
        let (peer, label) = (edge.peer, edge.label());
        let action = StepAction::Receive { peer, region: received(place), label };
        plan.push(action, 1, Wait::All, &[]);
    }
    for (place, edge) in of.remote_edges(&of.destinations) {
        let (peer, label) = (edge.peer, edge.label());
        plan.push(StepAction::Send { peer, region: sent(place), label }, 1, Wait::All, &[]);
    }
    for &(from, to) in of.loops() {
        plan.copy(sent(from), received(to), &[]);
    }
    plan.finish()
}

#[cfg(test)]
mod tests {
    use super::*;

    fn edge(peer: u32, number: u32) -> Option<NeighborEdge> {
        Some(NeighborEdge { peer, number })
    }

    #[test]
    fn loops_pair_by_number() {
        let sources = vec![edge(3, 1), edge(2, 0), edge(3, 0), None];
        let destinations = vec![edge(3, 0), edge(3, 1), edge(4, 0)];
        let own = Neighborhood::new(3, sources.clone(), destinations).unwrap();
        assert_eq!(own.loops(), [(1, 0), (0, 2)]);
        assert_eq!((own.indegree(), own.outdegree()), (4, 3));
        assert_eq!(Neighborhood::new(3, sources, vec![edge(3, 0)]), None);
        assert_eq!(Neighborhood::new(3, vec![], vec![edge(3, 0)]), None);
    }

    #[test]
    fn receives_come_first_and_nothing_waits() {
        let own = Neighborhood::new(0, vec![edge(0, 0), edge(1, 7)], vec![edge(1, 2), edge(0, 0)]);
        let plan =
            schedule(&own.unwrap(), NeighborBlocks::Contiguous(4), NeighborBlocks::Each(&[4, 9]));
        let actions: Vec<_> = plan.steps().iter().map(|step| step.action).collect();
        let at = |buffer, start, len| Buffer::User(buffer).region(start, len);
        assert_eq!(
            actions,
            [
                StepAction::Receive { peer: 1, region: at(2, 0, 9), label: 7 },
                StepAction::Send { peer: 1, region: at(0, 0, 4), label: 2 },
                StepAction::Copy { from: at(0, 4, 4), to: at(1, 0, 4) },
            ]
        );
        assert_eq!(plan.waits(), [0, 0, 0]);
    }
}
