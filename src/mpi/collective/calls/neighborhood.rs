//! Neighborhood collectives: from the arguments of a call to an operation that may start
//! (MPI 5.0 §8.6).
//!
//! The schedule of a call follows from the topology of its communicator and the lengths of its
//! buffers, so a communicator keeps those of its recent calls.

use std::sync::Arc;

use crate::device::Device;
use crate::engine::memory::Memory;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::neighbor::{NeighborBlocks, Neighborhood, schedule};
use crate::mpi::collective::calls::{check_equal, lengths};
use crate::mpi::collective::{Bound, Call};
use crate::mpi::communicator::Comm;
use crate::offload::Schedule;
use platform::base::{ErrorClass, Result};

/// How many schedules a communicator keeps: a program that exchanges borders of a few fields, in
/// both directions, calls that many in turn.
const SCHEDULES_MAX: usize = 8;

/// What a communicator knows for its neighborhood collectives.
#[derive(Debug)]
pub(in crate::mpi) struct NeighborhoodCache {
    neighborhood: Arc<Neighborhood>,
    schedules: Vec<CachedSchedule>,
    oldest: usize,
}

/// The schedule for buffers of these lengths.
#[derive(Debug)]
struct CachedSchedule {
    collective: NeighborCollective,
    lens: Box<[usize]>,
    schedule: Arc<Schedule>,
}

/// Who gets which blocks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum NeighborCollective {
    Allgather,
    Allgatherv,
    Alltoall,
    Alltoallv,
}

impl Comm {
    /// The neighborhood of this rank in its topology.
    ///
    /// # Errors
    /// `Topology` if it has none, or one that is not for neighborhood collectives; `Comm` if it is
    /// an intercommunicator.
    pub(crate) fn neighborhood(&mut self) -> Result<&Arc<Neighborhood>> {
        Ok(&self.neighborhood_cache()?.neighborhood)
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
        Ok(self.neighborhood_cache.as_mut().expect("it is there by now"))
    }
}

impl NeighborhoodCache {
    /// The schedule for these buffers.
    ///
    /// # Errors
    /// `Truncate` or `Count` if a block to this rank itself has not the length of its place.
    fn schedule(&mut self, form: NeighborCollective, buffers: &[Memory]) -> Result<Arc<Schedule>> {
        let known = |kept: &&CachedSchedule| {
            kept.collective == form && buffers.iter().map(Memory::len).eq(kept.lens.iter().copied())
        };
        if let Some(kept) = self.schedules.iter().find(known) {
            return Ok(Arc::clone(&kept.schedule));
        }
        let lens: Box<[usize]> = lengths(buffers).into();
        let schedule = Arc::new(form.schedule(&self.neighborhood, &lens)?);
        let new = CachedSchedule { collective: form, lens, schedule: Arc::clone(&schedule) };
        if self.schedules.len() < SCHEDULES_MAX {
            self.schedules.push(new);
        } else {
            self.schedules[self.oldest] = new;
            self.oldest = (self.oldest + 1) % SCHEDULES_MAX;
        }
        Ok(schedule)
    }
}

impl NeighborCollective {
    /// The schedule for buffers of these lengths.
    fn schedule(self, of: &Neighborhood, lens: &[usize]) -> Result<Schedule> {
        let share = |len: usize, degree: usize| len.checked_div(degree).unwrap_or(0);
        let (send, receive) = match self {
            Self::Allgather => (
                NeighborBlocks::Same(lens[0]),
                NeighborBlocks::Contiguous(share(lens[1], of.indegree())),
            ),
            Self::Allgatherv => (NeighborBlocks::Same(lens[0]), NeighborBlocks::Each(&lens[1..])),
            Self::Alltoall => {
                let send = share(lens[0], of.outdegree());
                (
                    NeighborBlocks::Contiguous(send),
                    NeighborBlocks::Contiguous(share(lens[1], of.indegree())),
                )
            }
            Self::Alltoallv => {
                let (send, receive) = lens.split_at(of.outdegree());
                (NeighborBlocks::Each(send), NeighborBlocks::Each(receive))
            }
        };
        for &(from, to) in of.loops() {
            check_equal(send.len(from), receive.len(to))?;
        }
        Ok(schedule(of, send, receive))
    }
}

impl<D: Device> Mpi<D> {
    /// `MPI_Neighbor_allgather` (§8.6.1), with memory to receive all blocks.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, `Topology` if it has none; `Truncate` or `Count`
    /// if a block to this rank itself has not the length of its place.
    pub(crate) fn neighbor_allgather(
        &mut self, call: Call, send: Memory, receive: Memory,
    ) -> Result<Bound> {
        self.bind_neighbor(call, NeighborCollective::Allgather, vec![send, receive])
    }

    /// `MPI_Neighbor_allgatherv` (§8.6.1), with memory for each block.
    ///
    /// # Errors
    /// As [`Mpi::neighbor_allgather`].
    pub(crate) fn neighbor_allgatherv(
        &mut self, call: Call, send: Memory, receive: Vec<Memory>,
    ) -> Result<Bound> {
        let buffers = std::iter::once(send).chain(receive).collect();
        self.bind_neighbor(call, NeighborCollective::Allgatherv, buffers)
    }

    /// `MPI_Neighbor_alltoall` (§8.6.2), with all blocks to send and to receive.
    ///
    /// # Errors
    /// As [`Mpi::neighbor_allgather`].
    pub(crate) fn neighbor_alltoall(
        &mut self, call: Call, send: Memory, receive: Memory,
    ) -> Result<Bound> {
        self.bind_neighbor(call, NeighborCollective::Alltoall, vec![send, receive])
    }

    /// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw` (§8.6.2), with each block to send
    /// and each to receive.
    ///
    /// # Errors
    /// As [`Mpi::neighbor_allgather`].
    pub fn neighbor_alltoallv(
        &mut self, call: Call, mut send: Vec<Memory>, receive: Vec<Memory>,
    ) -> Result<Bound> {
        send.extend(receive);
        self.bind_neighbor(call, NeighborCollective::Alltoallv, send)
    }

    fn bind_neighbor(
        &mut self, call: Call, form: NeighborCollective, buffers: Vec<Memory>,
    ) -> Result<Bound> {
        let schedule =
            self.comms.get_mut(call.comm)?.neighborhood_cache()?.schedule(form, &buffers)?;
        Ok(Bound::moving(schedule, buffers))
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::algorithms::neighbor::NeighborEdge;

    fn neighborly(peers: &[u32]) -> NeighborhoodCache {
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
    fn a_recent_schedule_is_given_again_and_an_old_one_forgotten() {
        let mut of = neighborly(&[1, 2]);
        let mut schedule = |form, lens: &[usize]| of.schedule(form, &memories(lens)).unwrap();
        let first = schedule(NeighborCollective::Alltoall, &[4, 4]);
        assert!(Arc::ptr_eq(&first, &schedule(NeighborCollective::Alltoall, &[4, 4])));
        assert!(!Arc::ptr_eq(&first, &schedule(NeighborCollective::Allgather, &[4, 4])));
        (0..SCHEDULES_MAX)
            .for_each(|len| drop(schedule(NeighborCollective::Alltoallv, &[len, 1, 1, 1])));
        assert!(!Arc::ptr_eq(&first, &schedule(NeighborCollective::Alltoall, &[4, 4])));
    }

    #[test]
    fn blocks_to_itself_must_fit() {
        let mut of = neighborly(&[1, 0]);
        let mut class =
            |form, lens: &[usize]| of.schedule(form, &memories(lens)).unwrap_err().code.0;
        assert_eq!(
            class(NeighborCollective::Alltoallv, &[9, 4, 9, 3]),
            ErrorClass::Truncate as i32
        );
        assert_eq!(class(NeighborCollective::Alltoall, &[4, 6]), ErrorClass::Count as i32);
        assert_eq!(class(NeighborCollective::Allgatherv, &[4, 4, 6]), ErrorClass::Count as i32);
    }
}
