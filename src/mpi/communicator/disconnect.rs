//! The end of connections between jobs (MPI 5.0 §11.10.4).
//!
//! ```text
//! disconnect ──barrier──> all have ended their communication ──packets have arrived──> freed
//!     last communicator with a process of another job freed ──> its connection ends, at both ends alike
//!     last group with it, too ──> its number is free
//! ```

use std::collections::BTreeSet;

use crate::device::Device;
use crate::mpi::Mpi;
use crate::mpi::communicator::Comm;
use crate::mpi::communicator::connect::reach;
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::{Peer, Result};

/// A disconnect in progress.
pub(crate) struct Disconnect {
    /// All processes are ready, if some are of other jobs.
    barrier: Option<Activity>,
    others: Vec<Peer>,
}

impl<D: Device> Mpi<D> {
    /// Starts to wait until a communicator may be freed. This is collective if processes of other
    /// jobs belong to it.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator, or it cannot be freed.
    pub(crate) fn start_disconnect(&mut self, comm: Handle) -> Result<Disconnect> {
        let others = self.peers_of_other_jobs(self.comms.freeable(comm)?);
        let barrier = match others.is_empty() {
            true => None,
            false => Some(self.start_barrier(comm)?),
        };
        Ok(Disconnect { barrier, others })
    }

    /// Whether all communication on a communicator has ended, here and at its processes of other jobs.
    ///
    /// # Errors
    /// The error of the barrier.
    pub(crate) fn may_disconnect(
        &mut self, comm: Handle, disconnect: &mut Disconnect,
    ) -> Result<bool> {
        if let Some(barrier) = &mut disconnect.barrier {
            let Some(outcome) = self.end_if_complete(barrier) else { return Ok(false) };
            disconnect.barrier = None;
            outcome.error.map_or(Ok(()), Err)?;
        }
        if !self.is_quiescent(comm) {
            return Ok(false);
        }
        let Some(reach) = self.engine.reach() else { return Ok(true) };
        Ok(disconnect.others.iter().all(|peer| reach.is_settled_with(*peer)))
    }

    fn peers_of_other_jobs(&self, comm: &Comm) -> Vec<Peer> {
        let groups = [Some(&comm.group), comm.remote.as_ref()];
        let peers = groups.into_iter().flatten().flat_map(|group| group.peers());
        peers.filter(|peer| self.comms.processes.is_guest(*peer)).collect()
    }

    /// Ends the connections to processes of other jobs that no communicator names any longer; the numbers of
    /// those that are in no group are free. A group does not connect (§11.10.4), and only one end may have
    /// it: if it held a connection, the ends would differ in what they know of it when they meet again.
    pub(crate) fn forget_unused(&mut self, is_orderly: bool) {
        if !self.comms.processes.has_guests() || self.comms.meetings > 0 {
            return;
        }
        let of_comms = self.comms.iter().flat_map(|comm| self.peers_of_other_jobs(comm));
        let connected: BTreeSet<Peer> = of_comms.collect();
        let of_groups = self.objects.groups.iter().flat_map(|group| group.peers());
        let named: BTreeSet<Peer> = of_groups.collect();
        let guests: Vec<_> = self.comms.processes.guests().collect();
        for peer in guests.into_iter().filter(|peer| !connected.contains(peer)) {
            let Ok(reach) = reach(&mut self.engine) else { return };
            if is_orderly && !reach.is_settled_with(peer) {
                // What a freed communicator has sent is on its way.
                continue;
            }
            reach.forget(peer, is_orderly);
            self.engine.renew_peer(peer);
            if !named.contains(&peer) {
                self.comms.processes.forget(peer);
            }
        }
    }
}
