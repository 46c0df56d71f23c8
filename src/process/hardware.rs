//! The hardware that this process runs on.

use std::path::Path;

use crate::mpi::communicator::hardware::{Resource, ResourceLocation, ResourceLocations};
use platform::sys::topology::{HardwareLevel, Residence};
use platform::sys::{cpu, host, topology};

/// The name of this host, for `MPI_Get_processor_name`.
pub(crate) fn host_name() -> String {
    host::name()
}

/// A number for the smallest hardware object of this host that contains all processors of this
/// process: for the order of ranks in a topology.
pub(crate) fn locality_id() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let allowed = cpu::affinity().unwrap_or_default();
    let (level, number) = topology::common_object(&allowed, &read);
    (level as u64) << 32 | number as u64
}

/// The hardware to which the calling thread is bound at present.
pub(crate) fn resource_locations() -> ResourceLocations {
    let residences = topology::own_residences().ok();
    ResourceLocations::new(|resource| {
        let level = match resource {
            Resource::Machine => return ResourceLocation::One(0),
            Resource::Package => HardwareLevel::Package,
            Resource::Numa => HardwareLevel::Numa,
            Resource::L3 => HardwareLevel::L3,
            Resource::L2 => HardwareLevel::L2,
            Resource::L1 => HardwareLevel::L1,
            Resource::Core => HardwareLevel::Core,
            Resource::Thread => HardwareLevel::Thread,
        };
        match residences.map(|residences| residences[level as usize]) {
            None | Some(Residence::Unknown) => ResourceLocation::Unknown,
            Some(Residence::Spread) => ResourceLocation::Several,
            Some(Residence::In(first)) => ResourceLocation::One(first as u32),
        }
    })
}
