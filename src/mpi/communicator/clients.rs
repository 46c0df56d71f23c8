//! Jobs that were started independently and are one world: the *clients* of IMPI (Interoperable Message
//! Passing Interface).
//!
//! ```text
//!   client          0         1       2
//!   world       0  1  2  │  3  4  │  5           MPI_COMM_WORLD: the processes in order of their clients
//!   peers       2  3  4  │  0  1  │  5           at client 1, whose own ranks are the first
//! ```
//!
//! The world is made before the first communicator and never changes. Communicators of several clients
//! regard each client as one node, so that their collective operations cross between clients as seldom
//! as possible.

use std::collections::BTreeSet;

use platform::base::{Peer, Representation, Result};

use crate::mpi::communicator::Comms;
use crate::mpi::handle::Handle;
use crate::mpi::processes::{JobId, ProcessIdentity};

/// A process of the world.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientProcess {
    /// The number of its client.
    pub(crate) client: u32,
    /// The number of its host, unique in the world.
    pub(crate) host: u32,
    /// Its rank in its client.
    pub(crate) rank: u32,
}

/// A client, equal on all processes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct ClientJob {
    /// Its identity.
    pub(crate) id: JobId,
    /// How it says that it represents data; `None` is unlike all others.
    pub(crate) representation: Option<Representation>,
}

/// The world of several clients, at one process.
#[derive(Debug)]
pub(crate) struct Clients {
    /// The peers in the order of `MPI_COMM_WORLD`.
    ranks: Box<[Peer]>,
    /// By peer.
    processes: Box<[ClientProcess]>,
}

impl Clients {
    /// The peers in the order of `MPI_COMM_WORLD`.
    pub(crate) fn ranks(&self) -> &[Peer] {
        &self.ranks
    }

    /// A peer of this world; `None` for one that has joined later.
    pub(crate) fn process(&self, peer: Peer) -> Option<ClientProcess> {
        self.processes.get(peer as usize).copied()
    }
}

/// The clients and the hosts of a communicator: its attributes of IMPI (draft of March 1999, "Client and
/// Host Attributes"). A color is a number below the size, equal for processes of one client or host.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ClusterAttributes {
    /// `IMPI_CLIENT_SIZE`.
    pub(crate) client_size: i32,
    /// `IMPI_CLIENT_COLOR` of this process.
    pub(crate) client_color: i32,
    /// `IMPI_HOST_SIZE`.
    pub(crate) host_size: i32,
    /// `IMPI_HOST_COLOR` of this process.
    pub(crate) host_color: i32,
}

impl Comms {
    /// The clients and the hosts of a communicator, at an address that stays until it is freed.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn cluster_attributes(&self, comm: Handle) -> Result<&ClusterAttributes> {
        let comm = self.get(comm)?;
        Ok(comm.cluster_attributes.get_or_init(|| {
            let count = |part: &dyn Fn(Peer) -> u32| {
                let all: BTreeSet<_> = comm.group.peers().map(part).collect();
                let own = part(self.me);
                (all.len() as i32, all.range(..own).count() as i32)
            };
            let place = |peer| self.clients().and_then(|clients| clients.process(peer));
            let client = |peer| place(peer).map_or(0, |process| process.client);
            let host = |peer| place(peer).map_or_else(|| self.node_of(peer), |it| it.host);
            let ((client_size, client_color), (host_size, host_color)) =
                (count(&client), count(&host));
            Box::new(ClusterAttributes { client_size, client_color, host_size, host_color })
        }))
    }

    /// Makes the processes of several clients one world: `world` in its order, each with its number as a
    /// peer, which is its rank for those of the own client. `jobs` are the clients. Called before the
    /// first communicator.
    ///
    /// # Panics
    /// If the numbers are not those of all processes.
    pub(crate) fn join_clients(&mut self, world: &[(Peer, ClientProcess)], jobs: &[ClientJob]) {
        let mut by_peer = world.to_vec();
        by_peer.sort_unstable_by_key(|(peer, _)| *peer);
        for (number, (peer, process)) in (0..).zip(&by_peer) {
            assert_eq!(number, *peer);
            let ClientJob { id: job, representation } = jobs[process.client as usize];
            if *peer < self.processes.job_size() {
                self.processes.set_representation(representation);
                continue;
            }
            let identity = ProcessIdentity { job, rank: process.rank, epoch: 0 };
            let admitted = self.processes.admit(identity, process.host, representation);
            assert_eq!(admitted, *peer);
        }
        self.processes.keep_all();
        self.clients = Some(Box::new(Clients {
            ranks: world.iter().map(|(peer, _)| *peer).collect(),
            processes: by_peer.into_iter().map(|(_, process)| process).collect(),
        }));
    }

    /// The clients of the world, if there are several.
    pub(crate) fn clients(&self) -> Option<&Clients> {
        self.clients.as_deref()
    }

    /// The number of the part of a communicator that is slow to leave: a client if it `spans_jobs` and
    /// the world has clients, else a node.
    pub(super) fn part_of(&self, peer: Peer, spans_jobs: bool) -> u32 {
        let clients = self.clients().filter(|_| spans_jobs);
        let process = clients.and_then(|clients| clients.process(peer));
        process.map_or_else(|| self.node_of(peer), |process| process.client)
    }
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use super::*;
    use crate::mpi::communicator::{COMM_SELF, COMM_WORLD, Comm};
    use crate::mpi::errhandler::Handler;
    use crate::mpi::group::Group;

    /// Clients of 2, 1 and 3 processes, at rank 0 of client 1.
    fn of_representations(representations: [Option<Representation>; 3]) -> Comms {
        let of = |(client, rank)| ClientProcess { client, host: client, rank };
        let processes = [(0, 0), (0, 1), (1, 0), (2, 0), (2, 1), (2, 2)].map(of);
        let world: Vec<_> = [1, 2, 0, 3, 4, 5].into_iter().zip(processes).collect();
        let mut comms = Comms::without_world(0, 1);
        comms.set_job(Some(JobId(8)), 5);
        let jobs = [7, 8, 9].map(JobId).into_iter().zip(representations);
        let jobs: Vec<_> =
            jobs.map(|(id, representation)| ClientJob { id, representation }).collect();
        comms.join_clients(&world, &jobs);
        comms.open_world(&Handler::Fatal).unwrap();
        comms
    }

    fn world() -> Comms {
        of_representations([Some(Representation::NATIVE); 3])
    }

    #[test]
    fn communicators_of_unlike_clients_are_unlike() {
        let (native, other) = (Some(Representation::NATIVE), Representation::parse("big-endian"));
        let is_unlike = |of: [Option<Representation>; 3], comm| {
            of_representations(of).get(comm).unwrap().is_unlike
        };
        for alike in [native, other] {
            assert!(!is_unlike([alike; 3], COMM_WORLD));
        }
        for unlike in [[native, native, other], [other, native, native], [None; 3]] {
            assert!(is_unlike(unlike, COMM_WORLD) && !is_unlike(unlike, COMM_SELF), "{unlike:?}");
        }
        // A communicator of two of the three, which are alike.
        let mut comms = of_representations([other, native, native]);
        let group = Arc::new(Group::new(&[0, 3, 4, 5], 0));
        let some = Comm::new(comms.choose_context(), group, Handler::Fatal).unwrap();
        let some = comms.insert(some).unwrap();
        assert!(!comms.get(some).unwrap().is_unlike && comms.get(some).unwrap().spans_jobs);
    }

    #[test]
    fn the_world_has_the_order_of_the_clients() {
        let comms = world();
        let world = comms.get(COMM_WORLD).unwrap();
        assert_eq!((world.rank, world.size(), world.spans_jobs), (2, 6, true));
        assert!(world.group.peers().eq([1, 2, 0, 3, 4, 5]));
        let nodes = world.nodes.as_ref().unwrap();
        assert_eq!(
            [0, 1, 2].map(|node| nodes.ranks(node).to_vec()),
            [vec![0, 1], vec![2], vec![3, 4, 5]]
        );
        assert_eq!(comms.world_size(), 6);
        let colors = comms.cluster_attributes(COMM_WORLD).unwrap();
        assert_eq!((colors.client_size, colors.client_color), (3, 1));
        assert_eq!((colors.host_size, colors.host_color), (3, 1));
        let own = comms.cluster_attributes(COMM_SELF).unwrap();
        assert_eq!(*own, ClusterAttributes { client_size: 1, host_size: 1, ..Default::default() });
    }

    #[test]
    fn processes_of_the_world_are_never_forgotten() {
        let mut comms = world();
        assert_eq!(comms.processes.guests().count(), 0);
        let guest = ProcessIdentity { job: JobId(1), rank: 0, epoch: 0 };
        assert_eq!(comms.processes.admit(guest, 0, None), 6);
        assert!(comms.processes.guests().eq([6]));
        assert!(comms.processes.is_guest(6) && !comms.processes.is_guest(5));
        assert!(comms.part_of(6, true) > comms.part_of(5, true));
    }
}
