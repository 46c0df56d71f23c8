//! The engine for each put of offloaded operations that start together.
//!
//! Operations with one round, such as neighborhood collectives, have all of their puts ready at the
//! same time; several of them may start as one (`MPI_Startall`). The puts of all of them are packed
//! on the engines (`offload::packing`). All puts of an operation to one rank have one engine, which
//! keeps the order of the network. When a put leaves depends on its receiver, which signals that it
//! is ready: a packing decides which puts share an engine, not when they leave.

use std::hash::{DefaultHasher, Hash, Hasher};

use crate::device::Device;
use crate::device::trigger::ProgramKey;
use crate::engine::programs::offloaded::{OffloadedId, Offloads};
use crate::engine::programs::traffic::PeerTraffic;
use crate::offload::packing::{InterfaceModel, Packing, PackingPolicy, Put};

impl Offloads {
    /// Assigns engines to the puts of operations that are about to start together. None of them is
    /// in progress. Does nothing if the same operations had the last assignment.
    ///
    /// # Panics
    /// If there is no such operation.
    pub(crate) fn assign_engines<D: Device>(
        &mut self, together: &[OffloadedId], policy: PackingPolicy, device: &mut D,
    ) {
        let mut hasher = DefaultHasher::new();
        (together, policy).hash(&mut hasher);
        let assignment = hasher.finish();
        let mut puts: Vec<(ProgramKey, PeerTraffic)> = Vec::new();
        let mut is_new = false;
        for id in together {
            let (program, traffic, known) = self.assignment_of(*id, assignment);
            puts.extend(traffic.iter().map(|traffic| (program, *traffic)));
            is_new |= !known;
        }
        let Some(trigger) = device.trigger().filter(|_| is_new && !puts.is_empty()) else {
            return;
        };
        let mut directions: Vec<Vec<u16>> = Vec::new();
        let mut put = |traffic: &PeerTraffic| {
            let links = trigger.link_classes(traffic.peer);
            let direction =
                directions.iter().position(|known| *known == links).unwrap_or_else(|| {
                    directions.push(links.clone());
                    directions.len() - 1
                });
            Put { bytes: traffic.bytes, direction: direction as u16, links }
        };
        let all: Vec<Put> = puts.iter().map(|(_, traffic)| put(traffic)).collect();
        let machine = InterfaceModel { engines: trigger.limits().engines, ..InterfaceModel::TOFU1 };
        let placements = Packing::new(policy, &all, &machine).placements;
        for ((program, traffic), placement) in puts.iter().zip(placements) {
            trigger.assign_engines(*program, &[(traffic.rank, placement.engine)]);
        }
    }
}
