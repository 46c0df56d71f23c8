//! Types of hardware resources, and the locations of a process among them (MPI 5.0 §7.4.2, §9.1.2).
//!
//! Types have the names of hwloc, as URIs, which the standard recommends. The layer `process` reads
//! the locations from the system; all processes of a host number the instances alike.

/// A type of hardware resource.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Resource {
    /// A host: its processes share memory.
    Machine,
    /// A socket.
    Package,
    /// A NUMA node.
    Numa,
    /// A cache of the third level.
    L3,
    /// A cache of the second level.
    L2,
    /// A data cache of the first level.
    L1,
    Core,
    /// A hardware thread.
    Thread,
}

impl Resource {
    /// The widest first.
    pub(crate) const ALL: [Self; 8] = [
        Self::Machine,
        Self::Package,
        Self::Numa,
        Self::L3,
        Self::L2,
        Self::L1,
        Self::Core,
        Self::Thread,
    ];

    /// The value of `mpi_hw_resource_type`.
    pub(crate) fn uri(self) -> &'static str {
        match self {
            Self::Machine => "hwloc://Machine",
            Self::Package => "hwloc://Package",
            Self::Numa => "hwloc://NUMANode",
            Self::L3 => "hwloc://L3Cache",
            Self::L2 => "hwloc://L2Cache",
            Self::L1 => "hwloc://L1Cache",
            Self::Core => "hwloc://Core",
            Self::Thread => "hwloc://PU",
        }
    }

    /// The resource of a value of `mpi_hw_resource_type`: the standard's name for shared memory, a
    /// URI, or the last part of a URI in upper or lower case. Other libraries accept `socket`,
    /// `numanode`, `hwthread` and `node`.
    pub(crate) fn named(value: &str) -> Option<Self> {
        let value = value.trim();
        if value == "mpi_shared_memory" {
            return Some(Self::Machine);
        }
        let name = value.strip_prefix("hwloc://").unwrap_or(value).to_ascii_lowercase();
        let last = |resource: Self| resource.uri()["hwloc://".len()..].to_ascii_lowercase();
        match &*name {
            "socket" => Some(Self::Package),
            "hwthread" => Some(Self::Thread),
            "node" => Some(Self::Machine),
            _ => Self::ALL.into_iter().find(|resource| last(*resource) == name),
        }
    }
}

/// The location of a process among the resources of one type.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum ResourceLocation {
    /// The system does not report such resources.
    #[default]
    Unknown,
    /// The process may use more than one of them.
    Several,
    /// The process may use only this one.
    One(u32),
}

/// The locations of a process, by [`Resource`].
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) struct ResourceLocations([ResourceLocation; Resource::ALL.len()]);

impl ResourceLocations {
    /// The locations that `find` knows.
    pub(crate) fn new(find: impl Fn(Resource) -> ResourceLocation) -> Self {
        Self(Resource::ALL.map(find))
    }

    pub(crate) fn of(&self, resource: Resource) -> ResourceLocation {
        self.0[resource as usize]
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn resources_are_found_by_all_their_names() {
        for resource in Resource::ALL {
            assert_eq!(Resource::named(resource.uri()), Some(resource));
        }
        for (name, resource) in [
            ("mpi_shared_memory", Resource::Machine),
            ("numanode", Resource::Numa),
            (" l3cache ", Resource::L3),
            ("socket", Resource::Package),
            ("hwthread", Resource::Thread),
            ("Core", Resource::Core),
        ] {
            assert_eq!(Resource::named(name), Some(resource), "{name}");
        }
        for wrong in ["", "hwloc://", "hwloc://GPU", "nvml://Core", "cores"] {
            assert_eq!(Resource::named(wrong), None, "{wrong}");
        }
    }

    #[test]
    fn a_location_is_found_by_its_resource() {
        let locations = ResourceLocations::new(|resource| match resource {
            Resource::Machine => ResourceLocation::One(0),
            Resource::Core => ResourceLocation::One(7),
            _ => ResourceLocation::Several,
        });
        assert_eq!(locations.of(Resource::Core), ResourceLocation::One(7));
        assert_eq!(locations.of(Resource::L2), ResourceLocation::Several);
        assert_eq!(ResourceLocations::default().of(Resource::Machine), ResourceLocation::Unknown);
    }
}
