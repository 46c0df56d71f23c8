//! Processes of other jobs that a call waits for.
//!
//! The launcher tells nothing of them, so their failures are found by connections only. A connection is
//! made when the first message is sent, which may be never if its process has ended: so a process that is
//! about to sleep connects to those that it waits for.

use std::collections::BTreeSet;

use crate::device::Device;
use crate::engine::point_to_point::matching::MatchPattern;
use crate::mpi::Mpi;
use platform::base::Peer;

impl<D: Device> Mpi<D> {
    /// Connects to the processes of other jobs that posted receives may get messages from.
    #[cold]
    pub(in crate::mpi) fn connect_to_awaited(&mut self) {
        let (posted, _) = self.engine.receives_and_closings();
        if std::mem::replace(&mut self.resilience.connected_for, posted) == posted {
            return;
        }
        let awaited = self.engine.awaited();
        let peers: BTreeSet<_> = awaited.flat_map(|pattern| self.comms.senders(pattern)).collect();
        self.connect_to_other_jobs(peers);
    }

    /// Connects to the processes of other jobs that a probe waits for.
    #[cold]
    pub(in crate::mpi) fn connect_to_probed(&mut self, pattern: MatchPattern) {
        if self.resilience.probed.replace(pattern) != Some(pattern) {
            self.connect_to_other_jobs(self.comms.senders(pattern));
        }
    }

    /// Connects to those of `peers` that are processes of other jobs.
    pub(in crate::mpi) fn connect_to_other_jobs(&mut self, peers: impl IntoIterator<Item = Peer>) {
        let Some(reach) = self.engine.reach() else { return };
        let processes = &self.comms.processes;
        let others = peers.into_iter().filter(|peer| processes.is_guest(*peer));
        others.for_each(|peer| reach.connect(peer));
    }
}
