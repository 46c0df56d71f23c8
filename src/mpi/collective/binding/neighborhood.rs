//! Schedules of neighborhood collectives (MPI 5.0 §8.6).
//!
//! A schedule follows from the topology of the communicator and the lengths of the buffers. A
//! communicator caches the schedules of its recent calls.

use std::sync::Arc;

use crate::engine::memory::Memory;
use crate::mpi::collective::algorithms::neighbor::{NeighborBlocks, Neighborhood, schedule};
use crate::mpi::collective::binding::messages::lengths;
use crate::mpi::collective::calls::blocks::check_equal;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::mpi::communicator::Comm;
use crate::offload::Schedule;
use platform::base::{ErrorClass, Result};

/// Cached schedules of a communicator: an exchange of the borders of a few fields, in both
/// directions, makes that many different calls in turn.
const SCHEDULES_MAX: usize = 8;

/// The neighborhood of a communicator and the schedules of its recent calls.
#[derive(Debug)]
pub(in crate::mpi) struct NeighborhoodCache {
    neighborhood: Arc<Neighborhood>,
    schedules: Vec<CachedSchedule>,
    oldest: usize,
}

#[derive(Debug)]
struct CachedSchedule {
    function: CollectiveFunction,
    /// Lengths of the buffers in bytes.
    lengths: Box<[usize]>,
    schedule: Arc<Schedule>,
}

impl Comm {
    /// The neighborhood of this rank in its topology.
    ///
    /// # Errors
    /// `Topology` if there is none, or one that is not for neighborhood collectives; `Comm` on an
    /// intercommunicator.
    pub(crate) fn neighborhood(&mut self) -> Result<&Arc<Neighborhood>> {
        Ok(&self.neighborhood_cache()?.neighborhood)
    }

    /// The schedule of a neighborhood collective with these buffers.
    ///
    /// # Errors
    /// As [`Comm::neighborhood`]; `Truncate` or `Count` if this rank sends another length to itself than
    /// it receives.
    pub(in crate::mpi) fn neighborhood_schedule(
        &mut self, function: CollectiveFunction, buffers: &[Memory],
    ) -> Result<Arc<Schedule>> {
        self.neighborhood_cache()?.schedule(function, buffers)
    }

    fn neighborhood_cache(&mut self) -> Result<&mut NeighborhoodCache> {
        if self.neighborhood_cache.is_none() {
            let neighborhood = match self.topology()? {
                Some(topology) => Arc::new(topology.neighborhood(self.rank)?),
                None => {
                    let why = format!("{} has no topology", self.title());
                    return Err(ErrorClass::Topology.error(why));
                }
            };
            let new = NeighborhoodCache { neighborhood, schedules: Vec::new(), oldest: 0 };
            self.neighborhood_cache = Some(Box::new(new));
        }
        Ok(self.neighborhood_cache.as_mut().expect("the cache was just created"))
    }
}

impl NeighborhoodCache {
    fn schedule(
        &mut self, function: CollectiveFunction, buffers: &[Memory],
    ) -> Result<Arc<Schedule>> {
        let is_same = |cached: &&CachedSchedule| {
            cached.function == function
                && buffers.iter().map(Memory::len).eq(cached.lengths.iter().copied())
        };
        if let Some(cached) = self.schedules.iter().find(is_same) {
            return Ok(Arc::clone(&cached.schedule));
        }
        let lengths: Box<[usize]> = lengths(buffers).into();
        let schedule = Arc::new(new_schedule(function, &self.neighborhood, &lengths)?);
        let new = CachedSchedule { function, lengths, schedule: Arc::clone(&schedule) };
        if self.schedules.len() < SCHEDULES_MAX {
            self.schedules.push(new);
        } else {
            self.schedules[self.oldest] = new;
            self.oldest = (self.oldest + 1) % SCHEDULES_MAX;
        }
        Ok(schedule)
    }
}

fn new_schedule(
    function: CollectiveFunction, neighborhood: &Neighborhood, lengths: &[usize],
) -> Result<Schedule> {
    let block = |bytes: usize, degree: usize| bytes.checked_div(degree).unwrap_or(0);
    let (indegree, outdegree) = (neighborhood.indegree(), neighborhood.outdegree());
    let (send, receive) = match function {
        CollectiveFunction::NeighborAllgather => (
            NeighborBlocks::Same(lengths[0]),
            NeighborBlocks::Contiguous(block(lengths[1], indegree)),
        ),
        CollectiveFunction::NeighborAllgatherv => {
            (NeighborBlocks::Same(lengths[0]), NeighborBlocks::Each(&lengths[1..]))
        }
        CollectiveFunction::NeighborAlltoall => (
            NeighborBlocks::Contiguous(block(lengths[0], outdegree)),
            NeighborBlocks::Contiguous(block(lengths[1], indegree)),
        ),
        CollectiveFunction::NeighborAlltoallv => {
            let (send, receive) = lengths.split_at(outdegree);
            (NeighborBlocks::Each(send), NeighborBlocks::Each(receive))
        }
        other => {
            let why = format!("{} is not a neighborhood collective", other.name());
            return Err(ErrorClass::Intern.error(why));
        }
    };
    for &(from, to) in neighborhood.loops() {
        check_equal(send.len(from), receive.len(to))?;
    }
    Ok(schedule(neighborhood, send, receive))
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::algorithms::neighbor::NeighborEdge;

    fn cache(peers: &[u32]) -> NeighborhoodCache {
        let edges: Vec<_> = (0..)
            .zip(peers)
            .map(|(number, peer)| Some(NeighborEdge { peer: *peer, number }))
            .collect();
        let neighborhood = Neighborhood::new(0, edges.clone(), edges).unwrap();
        NeighborhoodCache { neighborhood: Arc::new(neighborhood), schedules: Vec::new(), oldest: 0 }
    }

    fn memories(lens: &[usize]) -> Vec<Memory> {
        lens.iter().map(|len| Memory::owned(vec![0; *len])).collect()
    }

    #[test]
    fn recent_schedules_are_cached_and_the_oldest_is_evicted() {
        let mut cache = cache(&[1, 2]);
        let mut schedule =
            |function, lens: &[usize]| cache.schedule(function, &memories(lens)).unwrap();
        let first = schedule(CollectiveFunction::NeighborAlltoall, &[4, 4]);
        assert!(Arc::ptr_eq(&first, &schedule(CollectiveFunction::NeighborAlltoall, &[4, 4])));
        assert!(!Arc::ptr_eq(&first, &schedule(CollectiveFunction::NeighborAllgather, &[4, 4])));
        (0..SCHEDULES_MAX)
            .for_each(|len| drop(schedule(CollectiveFunction::NeighborAlltoallv, &[len, 1, 1, 1])));
        assert!(!Arc::ptr_eq(&first, &schedule(CollectiveFunction::NeighborAlltoall, &[4, 4])));
    }

    #[test]
    fn blocks_to_itself_must_fit() {
        let mut cache = cache(&[1, 0]);
        let mut class = |function, lens: &[usize]| {
            cache.schedule(function, &memories(lens)).unwrap_err().code.0
        };
        assert_eq!(
            class(CollectiveFunction::NeighborAlltoallv, &[9, 4, 9, 3]),
            ErrorClass::Truncate as i32
        );
        assert_eq!(class(CollectiveFunction::NeighborAlltoall, &[4, 6]), ErrorClass::Count as i32);
        assert_eq!(
            class(CollectiveFunction::NeighborAllgatherv, &[4, 4, 6]),
            ErrorClass::Count as i32
        );
    }
}
