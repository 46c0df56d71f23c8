//! The processes that this process may send to, apart from communicators: what a peer number means.
//!
//! ```text
//! peer 0 .. size      the ranks of the own job, without an entry each
//! peer size ..        processes of other jobs, and later ones of the own, in the order of their entry
//! ```
//!
//! A peer number is an index into the table of one process, and differs between processes. The identity
//! of a process is equal everywhere: its job, its rank there, and its epoch, which distinguishes a process
//! from one that it replaces. A number is used again after its process is [forgotten](Processes::forget).
//! This module knows no routes: which device reaches a peer is the device's matter.

use std::collections::HashMap;

use platform::base::{Peer, Representation};

/// The identity of a job: 128 random bits, which its processes have agreed on.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct JobId(pub u128);

/// What distinguishes a process from all others, of any job.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct ProcessIdentity {
    /// The job.
    pub job: JobId,
    /// The rank in the job.
    pub rank: u32,
    /// The number of processes that had this rank before.
    pub epoch: u32,
}

impl ProcessIdentity {
    /// Bytes of [`ProcessIdentity::emit`].
    pub(crate) const BYTES: usize = 24;

    pub(crate) fn emit(self) -> [u8; Self::BYTES] {
        let mut bytes = [0; Self::BYTES];
        bytes[..16].copy_from_slice(&self.job.0.to_le_bytes());
        bytes[16..20].copy_from_slice(&self.rank.to_le_bytes());
        bytes[20..].copy_from_slice(&self.epoch.to_le_bytes());
        bytes
    }

    pub(crate) fn parse(bytes: &[u8; Self::BYTES]) -> Self {
        let (job, rest) = bytes.split_first_chunk::<16>().expect("24 bytes begin with 16");
        let (words, _) = rest.as_chunks::<4>();
        let [rank, epoch] = [words[0], words[1]].map(u32::from_le_bytes);
        Self { job: JobId(u128::from_le_bytes(*job)), rank, epoch }
    }
}

/// A process of another job, or a later one of the own.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct AppendedProcess {
    identity: ProcessIdentity,
    /// Its node, by the numbers of its job.
    node: u32,
    /// How it represents data; `None` is unlike all others.
    representation: Option<Representation>,
}

/// The lowest number that [`Processes::node`] gives: above those of nodes of the own job.
const FIRST_NODE: u32 = 1 << 31;

/// The table of processes.
#[derive(Debug)]
pub struct Processes {
    /// `None` if the processes of this job have not agreed on an identity.
    job: Option<JobId>,
    size: u32,
    /// How the own job represents data, as it says to others; `None`: unlike all others.
    representation: Option<Representation>,
    /// The number of processes of other jobs that belong to the world, the first that were appended.
    kept: u32,
    /// `None`: the number is free.
    appended: Vec<Option<AppendedProcess>>,
    by_identity: HashMap<ProcessIdentity, Peer>,
}

impl Processes {
    /// The ranks of a job of `size` processes.
    pub fn of_job(job: Option<JobId>, size: u32) -> Self {
        let representation = Some(Representation::NATIVE);
        let (appended, by_identity) = (Vec::new(), HashMap::new());
        Self { job, size, representation, kept: 0, appended, by_identity }
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
            Some(index) => Some(self.appended.get(index as usize)?.as_ref()?.identity),
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

    /// The identity of a peer of which messages tell: job 0 if the own job has none.
    ///
    /// # Panics
    /// If there is no such peer.
    pub(crate) fn identity_or_local(&self, peer: Peer) -> ProcessIdentity {
        let local = ProcessIdentity { job: JobId(0), rank: peer, epoch: 0 };
        let is_own = peer < self.size;
        self.identity(peer)
            .or(is_own.then_some(local))
            .expect("groups have peers of the table only")
    }

    /// The peer that [`Processes::identity_or_local`] describes, here or at another process.
    pub(crate) fn peer_or_local(&self, identity: ProcessIdentity) -> Option<Peer> {
        let is_local = self.job.is_none() && identity.job == JobId(0) && identity.rank < self.size;
        if is_local { Some(identity.rank) } else { self.peer(identity) }
    }

    /// The peer with this identity, a new one if there is none; `node` is the number of its node in
    /// its job. What the world says of the representation of a process of it holds.
    pub fn admit(
        &mut self, identity: ProcessIdentity, node: u32, representation: Option<Representation>,
    ) -> Peer {
        let process = AppendedProcess { identity, node, representation };
        if let Some(peer) = self.peer(identity) {
            if self.is_guest(peer) {
                self.appended[(peer - self.size) as usize] = Some(process);
            }
            return peer;
        }
        let free = self.appended.iter().position(Option::is_none);
        let index = free.unwrap_or(self.appended.len());
        match free {
            Some(index) => self.appended[index] = Some(process),
            None => self.appended.push(Some(process)),
        }
        let peer = self.size + index as u32;
        self.by_identity.insert(identity, peer);
        peer
    }

    /// [`Processes::admit`] for a process of which only the identity is known.
    pub(crate) fn admit_unless_known(&mut self, identity: ProcessIdentity) -> Peer {
        self.peer_or_local(identity).unwrap_or_else(|| self.admit(identity, 0, None))
    }

    /// How the own job represents data, as it says to others from now on; `None`: unlike all others.
    pub(crate) fn set_representation(&mut self, representation: Option<Representation>) {
        self.representation = representation;
    }

    /// How a peer represents data; `None` is unlike all others.
    pub(crate) fn representation(&self, peer: Peer) -> Option<Representation> {
        match peer.checked_sub(self.size) {
            None => self.representation,
            Some(index) => self.appended.get(index as usize)?.as_ref()?.representation,
        }
    }

    /// Frees the number of a process that is no rank of the own job.
    pub(crate) fn forget(&mut self, peer: Peer) {
        let Some(index) = peer.checked_sub(self.size) else { return };
        let entry = self.appended.get_mut(index as usize).and_then(Option::take);
        if let Some(process) = entry {
            self.by_identity.remove(&process.identity);
        }
        while self.appended.last().is_some_and(Option::is_none) {
            self.appended.pop();
        }
    }

    /// Whether a peer is no rank of the own job.
    #[inline]
    pub(crate) fn is_appended(&self, peer: Peer) -> bool {
        peer >= self.size
    }

    /// Whether there are processes that are no ranks of the own job.
    #[inline]
    pub(crate) fn has_appended(&self) -> bool {
        !self.appended.is_empty()
    }

    /// Makes all processes so far those of the world, which stay.
    pub(crate) fn keep_all(&mut self) {
        self.kept = self.appended.len() as u32;
    }

    /// Whether a peer belongs neither to the own job nor to its world: it was connected later.
    #[inline]
    pub(crate) fn is_guest(&self, peer: Peer) -> bool {
        peer >= self.size + self.kept
    }

    /// Whether processes were connected later.
    #[inline]
    pub(crate) fn has_guests(&self) -> bool {
        self.appended.len() > self.kept as usize
    }

    /// The processes that were connected later.
    pub(crate) fn guests(&self) -> impl Iterator<Item = Peer> {
        let entries = (self.size..).zip(&self.appended).skip(self.kept as usize);
        entries.filter(|(_, entry)| entry.is_some()).map(|(peer, _)| peer)
    }

    /// A number for the node of an appended process: equal for two of them if and only if they are
    /// ranks of one job on one node. Another process may use another number.
    pub(crate) fn node(&self, peer: Peer) -> u32 {
        let entry = |index: usize| self.appended.get(index).copied().flatten();
        let place = |it: AppendedProcess| (it.identity.job, it.node);
        let own = entry((peer - self.size) as usize).map(place);
        let first = (0..self.appended.len()).find(|index| entry(*index).map(place) == own);
        FIRST_NODE + first.unwrap_or_default() as u32
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
        assert_eq!((processes.admit(last, 0, None), processes.len()), (999_999, 1_000_000));
        assert_eq!(processes.identity(1_000_000), None);
    }

    #[test]
    fn others_are_appended_once_and_told_apart() {
        let mut processes = Processes::of_job(Some(OWN), 2);
        let others = [(OTHER, 0, 0), (OTHER, 0, 1), (OWN, 0, 1), (OWN, 2, 0), (OTHER, 1, 0)]
            .map(|(job, rank, epoch)| ProcessIdentity { job, rank, epoch });
        for _ in 0..2 {
            for (peer, identity) in (2..).zip(others) {
                assert_eq!(processes.admit(identity, 3, None), peer);
                assert_eq!(processes.identity(peer), Some(identity));
                assert_eq!(processes.peer(identity), Some(peer));
            }
        }
        assert_eq!((processes.len(), processes.job_size()), (7, 2));
    }

    #[test]
    fn numbers_of_forgotten_processes_are_used_again() {
        let mut processes = Processes::of_job(Some(OWN), 2);
        let of = |rank| ProcessIdentity { job: OTHER, rank, epoch: 0 };
        assert_eq!([0, 1, 2].map(|rank| processes.admit(of(rank), rank / 2, None)), [2, 3, 4]);
        assert_eq!([2, 3, 4].map(|peer| processes.node(peer) - FIRST_NODE), [0, 0, 2]);
        processes.forget(3);
        processes.forget(0);
        assert_eq!((processes.peer(of(1)), processes.identity(3)), (None, None));
        assert!(processes.guests().eq([2, 4]) && processes.peer(of(2)) == Some(4));
        assert_eq!((processes.admit(of(9), 5, None), processes.node(3)), (3, FIRST_NODE + 1));
        [2, 3, 4].into_iter().for_each(|peer| processes.forget(peer));
        assert_eq!((processes.len(), processes.admit(of(7), 0, None)), (2, 2));
    }

    #[test]
    fn identities_read_back() {
        let identity = ProcessIdentity { job: JobId(u128::MAX / 3), rank: 7, epoch: 1 << 31 };
        assert_eq!(ProcessIdentity::parse(&identity.emit()), identity);
    }

    #[test]
    fn a_job_without_an_identity_has_peers_without_one() {
        let mut processes = Processes::of_job(None, 2);
        assert_eq!(processes.identity(1), None);
        let other = ProcessIdentity { job: OTHER, rank: 1, epoch: 0 };
        assert_eq!((processes.peer(other), processes.admit(other, 0, None)), (None, 2));
    }

    #[test]
    fn what_the_world_says_of_a_representation_holds() {
        let mut processes = Processes::of_job(Some(OWN), 2);
        let native = Some(Representation::NATIVE);
        let of = |rank| ProcessIdentity { job: OTHER, rank, epoch: 0 };
        processes.set_representation(None);
        assert_eq!([processes.admit(of(0), 0, None), processes.admit(of(0), 0, native)], [2, 2]);
        assert_eq!([1, 2, 3].map(|peer| processes.representation(peer)), [None, native, None]);
        processes.keep_all();
        processes.admit(of(0), 0, None);
        assert_eq!(processes.representation(2), native);
    }
}
