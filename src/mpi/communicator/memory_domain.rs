//! Which members of a communicator share memory: those with the same *memory domain*.
//!
//! ```text
//!   communicator of one job        the node
//!   of several jobs                the host and the user, if the device shares memory with other jobs
//!                                  the job and the node, otherwise
//! ```
//!
//! Each process computes the number of its own domain and tells it to the others, so all members come to the
//! same partition.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::Comm;
use crate::mpi::processes::JobId;

/// A number for the domain of this process, equal for two members of a communicator if and only if they share
/// memory.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(crate) struct MemoryDomain(pub(crate) u64);

impl<D: Device> Mpi<D> {
    /// The domain of this process among the members of `comm`.
    pub(in crate::mpi) fn memory_domain(&self, comm: &Comm) -> MemoryDomain {
        let (me, processes) = (self.engine.me(), &self.comms.processes);
        let node = self.comms.node_of(me);
        if !comm.spans_jobs {
            return MemoryDomain(node.into());
        }
        // The world of several clients keeps them apart, and memory has one representation.
        let is_shared = self.comms.clients().is_none() && !comm.is_unlike;
        let shared = self.presence.memory.filter(|_| is_shared);
        between_jobs(shared, processes.identity_or_local(me).job, node)
    }
}

/// `shared` is a number for the processes of all jobs that share memory with this one, if some can.
fn between_jobs(shared: Option<u64>, job: JobId, node: u32) -> MemoryDomain {
    let mut hasher = DefaultHasher::new();
    match shared {
        Some(number) => (0_u8, number).hash(&mut hasher),
        None => (1_u8, job, node).hash(&mut hasher),
    }
    MemoryDomain(hasher.finish())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn jobs_share_a_domain_only_by_their_host() {
        let (one, other) = (JobId(1), JobId(2));
        assert_eq!(between_jobs(Some(7), one, 0), between_jobs(Some(7), other, 3));
        let apart = [
            between_jobs(Some(7), one, 0),
            between_jobs(Some(8), one, 0),
            between_jobs(None, one, 0),
            between_jobs(None, one, 1),
            between_jobs(None, other, 0),
        ];
        for (number, domain) in apart.iter().enumerate() {
            assert!(!apart[..number].contains(domain), "{number}");
        }
        assert_eq!(apart[2], between_jobs(None, one, 0));
    }
}
