//! The processes that this process may send to, apart from communicators: what a peer number means.
//!
//! ```text
//! peer 0 .. size      the ranks of the own job, without an entry each
//! peer size ..        processes of other jobs, and later ones of the own, in the order of their entry
//! ```
//!
//! A peer number is an index into the table of one process, and differs between processes. The identity
//! of a process is equal everywhere: its job, its rank there, and its epoch, which distinguishes a process
//! from one that it replaces. This module knows no routes: which device reaches a peer is the device's
//! matter.

use std::collections::HashMap;

use platform::base::Peer;

/// The identity of a job: 128 random bits, which its processes have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct JobId(pub u128);

/// What distinguishes a process from all others, of any job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct ProcessIdentity {
    /// The job.
    pub job: JobId,
    /// The rank in the job.
    pub rank: u32,
    /// The number of processes that had this rank before.
    pub epoch: u32,
}

/// The table of processes.
#[derive(Debug)]
pub struct Processes {
    /// `None` if the processes of this job have not agreed on an identity.
    job: Option<JobId>,
    size: u32,
    appended: Vec<ProcessIdentity>,
    by_identity: HashMap<ProcessIdentity, Peer>,
}

impl Processes {
    /// The ranks of a job of `size` processes.
    pub fn of_job(job: Option<JobId>, size: u32) -> Self {
        Self { job, size, appended: Vec::new(), by_identity: HashMap::new() }
    }

    /// The number of ranks of the own job.
    pub fn job_size(&self) -> u32 {
        self.size
    }

    /// The number of peers.
    pub fn len(&self) -> u32 {
        self.size + self.appended.len() as u32
    }

    /// The identity of a peer; `None` if there is no such peer or its job has no identity.
    pub fn identity(&self, peer: Peer) -> Option<ProcessIdentity> {
        match peer.checked_sub(self.size) {
            None => Some(ProcessIdentity { job: self.job?, rank: peer, epoch: 0 }),
            Some(index) => self.appended.get(index as usize).copied(),
        }
    }

    /// The peer with this identity.
    pub fn peer(&self, identity: ProcessIdentity) -> Option<Peer> {
        let ProcessIdentity { job, rank, epoch } = identity;
        if Some(job) == self.job && epoch == 0 && rank < self.size {
            return Some(rank);
        }
        self.by_identity.get(&identity).copied()
    }

    /// The peer with this identity, a new one if there is none.
    pub fn admit(&mut self, identity: ProcessIdentity) -> Peer {
        self.peer(identity).unwrap_or_else(|| {
            let peer = self.len();
            self.appended.push(identity);
            self.by_identity.insert(identity, peer);
            peer
        })
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    const OWN: JobId = JobId(1 << 100);
    const OTHER: JobId = JobId(7);

    #[test]
    fn the_ranks_of_the_job_are_the_first_peers() {
        let mut processes = Processes::of_job(Some(OWN), 1_000_000);
        let last = ProcessIdentity { job: OWN, rank: 999_999, epoch: 0 };
        assert_eq!(
            (processes.identity(999_999), processes.peer(last)),
            (Some(last), Some(999_999))
        );
        assert_eq!((processes.admit(last), processes.len()), (999_999, 1_000_000));
        assert_eq!(processes.identity(1_000_000), None);
    }

    #[test]
    fn others_are_appended_once_and_told_apart() {
        let mut processes = Processes::of_job(Some(OWN), 2);
        let others = [(OTHER, 0, 0), (OTHER, 0, 1), (OWN, 0, 1), (OWN, 2, 0), (OTHER, 1, 0)]
            .map(|(job, rank, epoch)| ProcessIdentity { job, rank, epoch });
        for _ in 0..2 {
            for (peer, identity) in (2..).zip(others) {
                assert_eq!(processes.admit(identity), peer);
                assert_eq!(processes.identity(peer), Some(identity));
                assert_eq!(processes.peer(identity), Some(peer));
            }
        }
        assert_eq!((processes.len(), processes.job_size()), (7, 2));
    }

    #[test]
    fn a_job_without_an_identity_has_peers_without_one() {
        let mut processes = Processes::of_job(None, 2);
        assert_eq!(processes.identity(1), None);
        let other = ProcessIdentity { job: OTHER, rank: 1, epoch: 0 };
        assert_eq!((processes.peer(other), processes.admit(other)), (None, 2));
    }
}
