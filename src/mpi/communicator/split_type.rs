//! Splits by shared hardware resources (`MPI_Comm_split_type`, MPI 5.0 §7.4.2).
//!
//! All ranks exchange their criterion and their locations among the resources. From these records,
//! each rank computes its color; an ordinary split follows.
//!
//! ```text
//! criterion ──allgather of (criterion, locations)──> color, or none ──> split
//! ```
//!
//! Instances are numbered on each host, so only ranks of one host may use the same one. Ranks are on one host
//! here if they share memory ([`MemoryDomain`]). The color is the first rank that uses the resource.
//!
//! On an intercommunicator, the ranks of both groups take part, in the numbering of its members.
//! The exchange is the same for all criteria, because a rank with `MPI_UNDEFINED` does not know the
//! criterion of the other ranks. All ranks see all records, so all detect different criteria.

use super::hardware::{Resource, ResourceLocation, ResourceLocations};
use super::memory_domain::MemoryDomain;
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::plan::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Collective, UniformBlocks};
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::{ErrorClass, Result};
use platform::diagnosis::wait_report::WaitReport;

/// Criterion of a split, one for all ranks that take part.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitCriterion {
    /// This rank gets no communicator.
    Undefined,
    /// The ranks that use the same resource of a type.
    Resource(Resource),
    /// The widest resources that separate some of the ranks.
    Unguided,
    /// The process set `mpi://WORLD`: one communicator of all ranks.
    World,
    /// The process set `mpi://SELF`: a communicator for each rank.
    Alone,
    /// A resource type that this library does not know: no rank gets a communicator.
    Unrecognized,
}

impl SplitCriterion {
    /// The number in a [`CriterionRecord`].
    fn code(self) -> u32 {
        match self {
            Self::Undefined => 0,
            Self::Unguided => 1,
            Self::World => 2,
            Self::Alone => 3,
            Self::Unrecognized => 4,
            Self::Resource(resource) => 5 + resource as u32,
        }
    }
}

/// Four bytes for the criterion, eight for the memory domain, and four for each location.
const CRITERION_RECORD_BYTES: usize = 12 + 4 * Resource::ALL.len();
const UNKNOWN: u32 = u32::MAX;
const SEVERAL: u32 = u32::MAX - 1;

/// The contribution of a rank to the allgather.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CriterionRecord {
    code: u32,
    memory: MemoryDomain,
    locations: ResourceLocations,
}

impl CriterionRecord {
    fn emit(self) -> [u8; CRITERION_RECORD_BYTES] {
        let locations = Resource::ALL.map(|resource| match self.locations.of(resource) {
            ResourceLocation::Unknown => UNKNOWN,
            ResourceLocation::Several => SEVERAL,
            ResourceLocation::One(instance) => instance,
        });
        let mut bytes = [0; CRITERION_RECORD_BYTES];
        let (words, _) = bytes.as_chunks_mut();
        let MemoryDomain(memory) = self.memory;
        let before = [self.code, memory as u32, (memory >> 32) as u32];
        for (word, value) in words.iter_mut().zip(before.into_iter().chain(locations)) {
            *word = value.to_le_bytes();
        }
        bytes
    }

    fn parse(bytes: &[u8; CRITERION_RECORD_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let memory = MemoryDomain(u64::from(word(2)) << 32 | u64::from(word(1)));
        let locations = ResourceLocations::new(|resource| match word(3 + resource as usize) {
            UNKNOWN => ResourceLocation::Unknown,
            SEVERAL => ResourceLocation::Several,
            instance => ResourceLocation::One(instance),
        });
        Self { code: word(0), memory, locations }
    }

    fn takes_part(&self) -> bool {
        self.code != SplitCriterion::Undefined.code()
    }

    /// The host and the number of the instance of a resource of which the rank uses one, if it takes
    /// part.
    fn instance(&self, resource: Resource) -> Option<(MemoryDomain, u32)> {
        match (resource, self.locations.of(resource)) {
            _ if !self.takes_part() => None,
            (Resource::Machine, _) => Some((self.memory, 0)),
            (_, ResourceLocation::One(instance)) => Some((self.memory, instance)),
            (_, ResourceLocation::Several | ResourceLocation::Unknown) => None,
        }
    }
}

/// An exchange of criteria in progress.
#[derive(Debug)]
pub(crate) struct SplitTypeExchange {
    run: RunId,
    rank: usize,
    criterion: SplitCriterion,
}

/// Result of an exchange of criteria, for this rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitAssignment {
    /// The color of this rank, if it gets a communicator.
    pub(crate) color: Option<i32>,
    /// The type of hardware that the ranks of the color share.
    pub(crate) resource: Option<Resource>,
}

impl<D: Device> Mpi<D> {
    /// Starts the exchange of criteria among all members of `comm`.
    ///
    /// # Errors
    /// `Comm` if `comm` is not a communicator.
    pub(crate) fn start_split_type(
        &mut self, comm: Handle, by: SplitCriterion, locations: ResourceLocations,
    ) -> Result<SplitTypeExchange> {
        let old = self.comms.get(comm)?;
        let (rank, size) = (old.member() as usize, old.members_shape().ranks as usize);
        let allgather =
            Collective::Allgather(UniformBlocks { block: CRITERION_RECORD_BYTES, in_place: false });
        let memory = self.memory_domain(old);
        let own = Memory::owned(CriterionRecord { code: by.code(), memory, locations }.emit());
        let all = Memory::owned(vec![0; CRITERION_RECORD_BYTES * size]);
        let run = self.launch_on(comm, allgather, vec![own, all])?;
        Ok(SplitTypeExchange { run, rank, criterion: by })
    }

    /// The assignment once the exchange has completed.
    ///
    /// # Errors
    /// Errors of messages; `Arg` if the criteria differ.
    pub(crate) fn end_split_type(
        &mut self, exchange: &SplitTypeExchange,
    ) -> Result<Option<SplitAssignment>> {
        let Some(end) = self.engine.take_run_end(exchange.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let bytes = end.buffers[1].packed();
        let (records, _) = bytes.as_chunks();
        let records: Vec<CriterionRecord> = records.iter().map(CriterionRecord::parse).collect();
        check_agreed(&records)?;
        Ok(Some(assign(&records, exchange.rank, exchange.criterion)))
    }

    /// Report on the call `function`, which waits for the exchange.
    pub(crate) fn blocked_split_type(
        &self, function: &str, exchange: &SplitTypeExchange,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(exchange.run)])
    }
}

/// # Errors
/// `Arg` if the criteria differ.
fn check_agreed(records: &[CriterionRecord]) -> Result {
    let undefined = SplitCriterion::Undefined.code();
    let mut taking_part = (0..).zip(records).filter(|(_, record)| record.code != undefined);
    let Some((first, one)) = taking_part.next() else { return Ok(()) };
    match taking_part.find(|(_, record)| record.code != one.code) {
        None => Ok(()),
        Some((other, _)) => {
            let why = format!(
                "rank {other} passed another split_type or resource type than rank {first}: expected \
                 the same, or MPI_UNDEFINED"
            );
            Err(ErrorClass::Arg.error(why))
        }
    }
}

/// The assignment of `rank` in a split with equal criteria.
fn assign(records: &[CriterionRecord], rank: usize, by: SplitCriterion) -> SplitAssignment {
    let hardware = |found: Option<(Resource, usize)>| SplitAssignment {
        color: found.map(|(_, first)| first as i32),
        resource: found.map(|(resource, _)| resource),
    };
    match by {
        SplitCriterion::Undefined | SplitCriterion::Unrecognized => {
            SplitAssignment { color: None, resource: None }
        }
        SplitCriterion::World => SplitAssignment { color: Some(0), resource: None },
        SplitCriterion::Alone => SplitAssignment { color: Some(rank as i32), resource: None },
        SplitCriterion::Resource(resource) => {
            let own = records[rank].instance(resource);
            let first = own.and_then(|own| {
                records.iter().position(|record| record.instance(resource) == Some(own))
            });
            hardware(first.map(|first| (resource, first)))
        }
        SplitCriterion::Unguided => hardware(unguided(records)[rank]),
    }
}

/// The resource of each rank in an unguided split, and the first rank that uses it: the widest one
/// whose ranks are a strict subset of all ranks that take part, and none of whose ranks has a wider
/// one.
fn unguided(records: &[CriterionRecord]) -> Vec<Option<(Resource, usize)>> {
    let all = records.iter().filter(|record| record.takes_part()).count();
    let mut found = vec![None; records.len()];
    for resource in Resource::ALL {
        let mut users: Vec<_> = (0..)
            .zip(records)
            .filter_map(|(rank, record): (usize, _)| Some((record.instance(resource)?, rank)))
            .collect();
        users.sort_unstable();
        for users in users.chunk_by(|one, two| one.0 == two.0) {
            if users.len() < all && users.iter().all(|(_, rank)| found[*rank].is_none()) {
                for (_, rank) in users {
                    found[*rank] = Some((resource, users[0].1));
                }
            }
        }
    }
    found
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    /// A rank in an unguided split, on this core of a machine with two cores in each package.
    fn on_core(core: u32) -> CriterionRecord {
        let locations = ResourceLocations::new(|resource| match resource {
            Resource::Machine => ResourceLocation::Unknown,
            Resource::Package | Resource::Numa => ResourceLocation::One(core / 2),
            Resource::L3 => ResourceLocation::Unknown,
            _ => ResourceLocation::One(core),
        });
        CriterionRecord {
            code: SplitCriterion::Unguided.code(),
            memory: MemoryDomain(0),
            locations,
        }
    }

    fn several() -> CriterionRecord {
        let locations = ResourceLocations::new(|_| ResourceLocation::Several);
        CriterionRecord {
            code: SplitCriterion::Unguided.code(),
            memory: MemoryDomain(0),
            locations,
        }
    }

    fn out() -> CriterionRecord {
        CriterionRecord {
            code: SplitCriterion::Undefined.code(),
            memory: MemoryDomain(u64::MAX - 1),
            locations: ResourceLocations::default(),
        }
    }

    #[test]
    fn a_record_reads_back() {
        for record in [on_core(65_535), several(), out()] {
            assert_eq!(CriterionRecord::parse(&record.emit()), record);
        }
    }

    #[test]
    fn an_unguided_split_uses_the_widest_resource_that_separates_ranks() {
        let (package, l2) = (Resource::Package, Resource::L2);
        let ranks = [on_core(0), on_core(3), on_core(1), out(), on_core(2)];
        let parts = [Some((package, 0)), Some((package, 1)), Some((package, 0)), None];
        assert_eq!(unguided(&ranks)[..4], parts);
        assert_eq!(unguided(&ranks)[4], Some((package, 1)));
        let one_package = [on_core(2), on_core(3), on_core(2)];
        assert_eq!(unguided(&one_package), [Some((l2, 0)), Some((l2, 1)), Some((l2, 0))]);
        assert_eq!(unguided(&[on_core(2), on_core(2), out()]), [None; 3]);
        assert_eq!(unguided(&[on_core(2)]), [None]);
        let mixed = [on_core(0), several(), on_core(1)];
        assert_eq!(unguided(&mixed), [Some((package, 0)), None, Some((package, 0))]);
    }

    #[test]
    fn the_color_is_the_instance_and_none_without_one() {
        let records = [on_core(5), several()];
        let by = SplitCriterion::Resource(Resource::Core);
        assert!(assign(&records, 0, by).color.is_some());
        assert_eq!(assign(&records, 1, by), SplitAssignment { color: None, resource: None });
        let machine = SplitCriterion::Resource(Resource::Machine);
        assert_eq!(assign(&records, 0, machine), assign(&records, 1, machine));
        assert_eq!(assign(&records, 0, SplitCriterion::Resource(Resource::L3)).color, None);
        assert_eq!(assign(&records, 1, SplitCriterion::Alone).color, Some(1));
        assert_eq!(assign(&records, 1, SplitCriterion::World).color, Some(0));
        assert_eq!(assign(&records, 1, SplitCriterion::Unrecognized).color, None);
    }

    #[test]
    fn resources_with_one_number_on_two_hosts_are_two() {
        let ranks = [(0, 0), (1, 0), (0, 1), (1, 1), (1, 0)];
        let records = ranks.map(|(host, core)| CriterionRecord {
            code: SplitCriterion::Unguided.code(),
            memory: MemoryDomain(host),
            locations: on_core(core).locations,
        });
        let colors = |by| [0, 1, 2, 3, 4].map(|rank| assign(&records, rank, by).color.unwrap());
        assert_eq!(colors(SplitCriterion::Resource(Resource::Core)), [0, 1, 2, 3, 1]);
        assert_eq!(colors(SplitCriterion::Resource(Resource::Package)), [0, 1, 0, 1, 1]);
        assert_eq!(colors(SplitCriterion::Resource(Resource::Machine)), [0, 1, 0, 1, 1]);
        assert_eq!(colors(SplitCriterion::Unguided), [0, 1, 0, 1, 1]);
        assert_eq!(assign(&records, 4, SplitCriterion::Unguided).resource, Some(Resource::Machine));
    }

    #[test]
    fn criteria_must_be_equal_except_undefined_ones() {
        assert!(check_agreed(&[out(), on_core(1), out(), several()]).is_ok());
        assert!(check_agreed(&[out(), out()]).is_ok());
        let other = CriterionRecord { code: SplitCriterion::World.code(), ..several() };
        let error = check_agreed(&[out(), several(), other]).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
        assert_eq!(
            error.why,
            "rank 2 passed another split_type or resource type than rank 1: expected the same, or \
             MPI_UNDEFINED"
        );
    }

    proptest! {
        /// On any machine, with nested resources or not: strict subsets, each of all ranks that use
        /// one instance.
        #[test]
        fn unguided_groups_are_all_users_of_an_instance_and_not_all_ranks(
            ranks in proptest::collection::vec(proptest::collection::vec(0u32..6, 8), 1..12),
        ) {
            let records: Vec<CriterionRecord> = ranks.iter().map(|numbers| {
                let locations = ResourceLocations::new(|resource| match numbers[resource as usize] {
                    4 => ResourceLocation::Several,
                    5 => ResourceLocation::Unknown,
                    instance => ResourceLocation::One(instance),
                });
                let (code, memory) = (SplitCriterion::Unguided.code(), MemoryDomain(numbers[0].into()));
                CriterionRecord { code, memory, locations }
            }).collect();
            let found = unguided(&records);
            for (resource, first) in found.iter().flatten() {
                let instance = records[*first].instance(*resource);
                prop_assert!(instance.is_some());
                let users = |record: &CriterionRecord| record.instance(*resource) == instance;
                let together = Some((*resource, *first));
                for (record, found) in records.iter().zip(&found) {
                    prop_assert_eq!(users(record), *found == together);
                }
                prop_assert!(!records.iter().all(users));
            }
        }
    }
}
