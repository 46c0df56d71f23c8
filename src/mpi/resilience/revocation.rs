//! Revocation: a communicator ends at all of its members that live, by the word of any of them.
//!
//! ```text
//!   revoke, or the first Revoke that arrives ──► contexts closed, operations end ──► Revoke to the others
//! ```
//!
//! A process passes the word on when it first hears of it. Without failures it tells the members at
//! distances that are powers of two, both ways: the binomial graph of Angskun, Bosilca and Dongarra,
//! "Binomial Graph: A Scalable and Fault-Tolerant Logical Network Topology", ISPA 2007. If a member has
//! failed or fails later, it tells all members. So the word reaches each of them if any process that
//! has heard it lives: the paths that a failure cuts are replaced by those that know of the failure.

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::{Comm, Traffic};
use crate::mpi::handle::Handle;
use crate::mpi::resilience::notice::Notice;
use platform::base::{ErrorClass, MpiError, Result};

/// The kinds of traffic that end with a communicator.
const TRAFFIC: [Traffic; 7] = [
    Traffic::PointToPoint,
    Traffic::Collective,
    Traffic::Creation,
    Traffic::Leaders,
    Traffic::Persistent,
    Traffic::PartitionedSetup,
    Traffic::Partitioned,
];

impl Comm {
    /// # Errors
    /// `Revoked` if the communicator was revoked.
    #[inline(always)]
    pub(crate) fn check_usable(&self) -> Result {
        if self.resilience.is_revoked { Err(self.revoked()) } else { Ok(()) }
    }

    /// # Errors
    /// `Revoked` if the communicator was revoked, `ProcFailed` if a member has failed.
    #[inline(always)]
    pub(crate) fn check_collective(&self) -> Result {
        if self.resilience.is_impaired { Err(self.impairment()) } else { Ok(()) }
    }

    #[cold]
    pub(super) fn revoked(&self) -> Box<MpiError> {
        ErrorClass::Revoked.error(format!("{} has been revoked", self.title()))
    }

    /// Why collectives cannot complete.
    #[cold]
    pub(super) fn impairment(&self) -> Box<MpiError> {
        if self.resilience.is_revoked {
            return self.revoked();
        }
        let first = self.resilience.failed.first().copied().unwrap_or(0);
        let title = self.title();
        ErrorClass::ProcFailed.error(match &self.resilience.why {
            Some(failure) => format!("{} (rank {first} of {title})", failure.why),
            None => {
                let peer = self.members().peer(first);
                format!("rank {first} of {title} (rank {peer} of the world) has failed")
            }
        })
    }
}

impl<D: Device> Mpi<D> {
    /// Revokes a communicator, at all of its members (`MPIX_Comm_revoke`).
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn revoke(&mut self, comm: Handle) -> Result {
        self.comms.get(comm)?;
        self.mark_revoked(comm);
        self.end_lost_receives();
        Ok(())
    }

    /// A communicator was revoked: ends its operations and passes the word on, the first time.
    pub(super) fn mark_revoked(&mut self, comm: Handle) {
        let Ok(found) = self.comms.get_mut(comm) else { return };
        if found.resilience.is_revoked {
            return;
        }
        (found.resilience.is_revoked, found.resilience.is_impaired) = (true, true);
        let (error, context) = (found.revoked(), found.context);
        for traffic in TRAFFIC {
            self.engine.close_context(context.for_traffic(traffic), &error);
        }
        self.fail_shared(comm, &error);
        self.window_comm_revoked(comm);
        self.pass_revocation_on(comm);
    }

    /// Tells other members that a communicator was revoked.
    pub(super) fn pass_revocation_on(&mut self, comm: Handle) {
        let Ok(found) = self.comms.get(comm) else { return };
        let (me, size, members) = (found.member(), found.members_shape().ranks, found.members());
        let notice = Notice::Revoke { context: found.context.bits() };
        let ranks: Vec<u32> = match found.resilience.failed.is_empty() {
            true => neighbors(me, size),
            false => (0..size).filter(|rank| *rank != me).collect(),
        };
        ranks.into_iter().for_each(|rank| self.send_notice(me, members.peer(rank), &notice));
    }
}

/// The ranks at distances that are powers of two.
fn neighbors(me: u32, size: u32) -> Vec<u32> {
    let distances = (0..32).map(|power| 1_u32 << power).take_while(|distance| *distance < size);
    let both = |distance| [(me + distance) % size, (me + size - distance) % size];
    let mut ranks: Vec<_> = distances.flat_map(both).filter(|rank| *rank != me).collect();
    ranks.sort_unstable();
    ranks.dedup();
    ranks
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn neighbors_are_at_powers_of_two() {
        assert!(neighbors(0, 1).is_empty());
        assert_eq!(neighbors(1, 2), [0]);
        assert_eq!(neighbors(0, 9), [1, 2, 4, 5, 7, 8]);
    }
}
