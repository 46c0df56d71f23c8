//! The bytes that a program puts to each rank.

use crate::offload::{Program, ProgramOp, Schedule};
use platform::base::Peer;

/// All bytes that an operation puts to one rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct PeerTraffic {
    /// The rank in the program.
    pub(crate) rank: u32,
    /// The peer of that rank.
    pub(crate) peer: Peer,
    pub(crate) bytes: u64,
}

/// The bytes that a program puts to each rank, if the schedule has one round, so that all puts
/// start at the same time; else nothing.
pub(crate) fn peer_traffic(
    schedule: &Schedule, program: &Program, peer: impl Fn(u32) -> Peer,
) -> Vec<PeerTraffic> {
    let mut traffic: Vec<PeerTraffic> = Vec::new();
    let work = program.work().iter().filter(|_| schedule.rounds() == 1);
    for (rank, bytes) in work.filter_map(|work| match work.op {
        ProgramOp::Put { to, from, .. } => Some((to, from.len as u64)),
        _ => None,
    }) {
        match traffic.iter_mut().find(|other| other.rank == rank) {
            Some(known) => known.bytes += bytes,
            None => traffic.push(PeerTraffic { rank, peer: peer(rank), bytes }),
        }
    }
    traffic
}
