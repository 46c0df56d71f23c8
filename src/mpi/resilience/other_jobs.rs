//! Processes of other jobs that a call waits for.
//!
//! The launcher tells nothing of them, so their failures are found by connections only. A connection is
//! made when the first message is sent, which may be never if its process has ended: so a process that is
//! about to sleep connects to those that it waits for.

use std::collections::BTreeSet;

use crate::device::Device;
use crate::engine::schedules::plan::Members;
use crate::mpi::Mpi;
use crate::mpi::communicator::Traffic;
use crate::mpi::handle::Handle;
use platform::base::Peer;

impl<D: Device> Mpi<D> {
    /// Connects to the processes of other jobs that posted receives may get messages from.
    #[cold]
    pub(in crate::mpi) fn connect_to_awaited(&mut self) {
        let (posted, _) = self.engine.receives_and_closings();
        if std::mem::replace(&mut self.resilience.connected_for, posted) == posted {
            return;
        }
        let mut peers = BTreeSet::new();
        for pattern in self.engine.awaited() {
            let Some(comm) = self.comms.of_context(pattern.context) else {
                peers.extend(self.comms.linked_peer(pattern.context));
                continue;
            };
            let is_collective = [Traffic::Collective, Traffic::Persistent]
                .map(|traffic| comm.context.for_traffic(traffic))
                .contains(&pattern.context);
            match pattern.source {
                Some(source) if is_collective => peers.extend([comm.members().peer(source)]),
                Some(source) => peers.extend([comm.targets().peer(source)]),
                None => peers.extend(comm.targets().peers()),
            }
        }
        self.connect_to_other_jobs(peers.into_iter());
    }

    /// Connects to the processes of other jobs that a probe of `source`, or of any source, waits for.
    #[cold]
    pub(in crate::mpi) fn connect_to_probed(&mut self, source: Option<u32>, comm: Handle) {
        if self.resilience.probed.replace((comm, source)) == Some((comm, source)) {
            return;
        }
        let Ok(probed) = self.comms.get(comm) else { return };
        let peers: Vec<_> = match source {
            Some(source) => vec![probed.targets().peer(source)],
            None => probed.targets().peers().collect(),
        };
        self.connect_to_other_jobs(peers.into_iter());
    }

    /// Connects to those of `peers` that are processes of other jobs.
    pub(super) fn connect_to_other_jobs(&mut self, peers: impl Iterator<Item = Peer>) {
        let Some(reach) = self.engine.reach() else { return };
        let first = self.comms.processes.job_size();
        peers.filter(|peer| *peer >= first).for_each(|peer| reach.connect(peer));
    }
}
