//! Which engine puts what, where operations that the device runs start together.
//!
//! Operations of one round, such as neighborhood collectives, have all their puts ready at the same
//! time; several of them start as one (`MPI_Startall`). Their whole set of puts is packed on the
//! engines (`offload::packing`), and each engine gets its own. All puts of an operation to one rank
//! have one engine, so what the network keeps in order stays so. When a put leaves is up to its
//! receiver, which says when it is ready: a packing decides who goes with whom, not when.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::device::Device;
use crate::device::trigger::ProgramKey;
use crate::engine::point_to_point::Engine;
use crate::engine::programs::offloaded::OffloadedId;
use crate::offload::packing::{InterfaceModel, Packing, PackingPolicy, Put};
use crate::offload::{Program, ProgramOp, Schedule};
use platform::base::Peer;

/// All that an operation puts to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(in crate::engine) struct PeerTraffic {
    /// The rank as the program calls it, and as the device does.
    pub(crate) rank: u32,
    pub(crate) peer: Peer,
    /// How much that is.
    pub(crate) bytes: u64,
}

/// What is put to each rank, if all of it starts at the same time; else nothing.
pub(in crate::engine) fn peer_traffic(
    schedule: &Schedule, program: &Program, peer: impl Fn(u32) -> Peer,
) -> Vec<PeerTraffic> {
    let mut shares: Vec<PeerTraffic> = Vec::new();
    let work = program.work().iter().filter(|_| schedule.rounds() == 1);
    for (rank, bytes) in work.filter_map(|work| match work.op {
        ProgramOp::Put { to, from, .. } => Some((to, from.len as u64)),
        _ => None,
    }) {
        match shares.iter_mut().find(|share| share.rank == rank) {
            Some(share) => share.bytes += bytes,
            None => shares.push(PeerTraffic { rank, peer: peer(rank), bytes }),
        }
    }
    shares
}

impl<D: Device> Engine<D> {
    /// Arranges the puts of operations that are about to start together, none of which is under way.
    /// Nothing is done for those that have been arranged like that before.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn assign_engines(&mut self, together: &[OffloadedId], policy: PackingPolicy) {
        let mut hasher = DefaultHasher::new();
        (together, policy).hash(&mut hasher);
        let arrangement = hasher.finish();
        let mut puts: Vec<(ProgramKey, PeerTraffic)> = Vec::new();
        let mut is_new = false;
        for id in together {
            let (program, shares, known) = self.assignment_of(*id, arrangement);
            puts.extend(shares.iter().map(|share| (program, *share)));
            is_new |= !known;
        }
        let Some(trigger) = self.device.trigger().filter(|_| is_new && !puts.is_empty()) else {
            return;
        };
        let mut ways: Vec<Vec<u16>> = Vec::new();
        let mut put = |share: &PeerTraffic| {
            let links = trigger.link_classes(share.peer);
            let direction = ways.iter().position(|way| *way == links).unwrap_or_else(|| {
                ways.push(links.clone());
                ways.len() - 1
            });
            Put { bytes: share.bytes, direction: direction as u16, links }
        };
        let all: Vec<Put> = puts.iter().map(|(_, share)| put(share)).collect();
        let machine = InterfaceModel { engines: trigger.limits().engines, ..InterfaceModel::TOFU1 };
        let places = Packing::new(policy, &all, &machine).placements;
        for ((program, share), place) in puts.iter().zip(places) {
            trigger.assign_engines(*program, &[(share.rank, place.engine)]);
        }
    }
}
