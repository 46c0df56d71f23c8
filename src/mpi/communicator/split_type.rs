//! Which processes stay together in a split by what they share (`MPI_Comm_split_type`, MPI 5.0
//! §7.4.2).
//!
//! Every rank tells all others what it asks for and where it is; from that each works out its
//! color, and an ordinary split follows.
//!
//! ```text
//! ask ──allgather of (ask, places)──> color, or none ──> split
//! ```
//!
//! Those of both groups of an intercommunicator tell one another, in the numbering of its members.
//! The exchange is the same for all kinds of split, since a rank that stays out does not know what
//! the others ask for. As all see all, ranks that ask for different things all get an error.

use super::hardware::{Resource, ResourceLocation, ResourceLocations};
use crate::device::Device;
use crate::engine::memory::Memory;
use crate::engine::schedules::run::RunId;
use crate::mpi::Mpi;
use crate::mpi::collective::algorithms::{Collective, UniformBlocks};
use crate::mpi::handle::Handle;
use crate::mpi::request::Activity;
use platform::base::{ErrorClass, Result};
use platform::diagnosis::wait_report::WaitReport;

/// What a rank asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SplitCriterion {
    /// No communicator.
    Undefined,
    /// Those who use the same resource of a type.
    Resource(Resource),
    /// The widest resources that tell some of the ranks apart.
    Unguided,
    /// All of the world: the process set `mpi://WORLD`.
    World,
    /// Each alone: the process set `mpi://SELF`.
    Alone,
    /// Something that this library does not know: nobody gets a communicator.
    Unrecognized,
}

impl SplitCriterion {
    /// As it is told to others.
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

/// Four bytes for what is asked, and four for each place.
const CRITERION_RECORD_BYTES: usize = 4 + 4 * Resource::ALL.len();
const UNKNOWN: u32 = u32::MAX;
const SPREAD: u32 = u32::MAX - 1;

/// What a rank tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct CriterionRecord {
    code: u32,
    places: ResourceLocations,
}

impl CriterionRecord {
    fn emit(self) -> [u8; CRITERION_RECORD_BYTES] {
        let places = Resource::ALL.map(|resource| match self.places.of(resource) {
            ResourceLocation::Unknown => UNKNOWN,
            ResourceLocation::Several => SPREAD,
            ResourceLocation::One(instance) => instance,
        });
        let mut bytes = [0; CRITERION_RECORD_BYTES];
        let (words, _) = bytes.as_chunks_mut();
        for (word, value) in words.iter_mut().zip([self.code].into_iter().chain(places)) {
            *word = value.to_le_bytes();
        }
        bytes
    }

    fn parse(bytes: &[u8; CRITERION_RECORD_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let places = ResourceLocations::new(|resource| match word(1 + resource as usize) {
            UNKNOWN => ResourceLocation::Unknown,
            SPREAD => ResourceLocation::Several,
            instance => ResourceLocation::One(instance),
        });
        Self { code: word(0), places }
    }
}

/// A question to all ranks of a communicator under way.
#[derive(Debug)]
pub(crate) struct SplitTypeExchange {
    run: RunId,
    rank: usize,
    criterion: SplitCriterion,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SplitAssignment {
    /// The color of this rank, if it gets a communicator.
    pub(crate) color: Option<i32>,
    /// What those of the color share, if it is hardware.
    pub(crate) resource: Option<Resource>,
}

impl<D: Device> Mpi<D> {
    /// Starts to ask all members of `comm` what they want, telling that this one splits `criterion`
    /// something and where it is.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub(crate) fn start_split_type(
        &mut self, comm: Handle, by: SplitCriterion, places: ResourceLocations,
    ) -> Result<SplitTypeExchange> {
        let asking = self.comms.get(comm)?;
        let (rank, size) = (asking.member() as usize, asking.members_shape().ranks as usize);
        let allgather =
            Collective::Allgather(UniformBlocks { block: CRITERION_RECORD_BYTES, in_place: false });
        let own = Memory::owned(CriterionRecord { code: by.code(), places }.emit());
        let all = Memory::owned(vec![0; CRITERION_RECORD_BYTES * size]);
        let run = self.launch_on(comm, allgather, vec![own, all])?;
        Ok(SplitTypeExchange { run, rank, criterion: by })
    }

    /// The answer once all have told.
    ///
    /// # Errors
    /// What went wrong with a message; `Arg` if ranks ask for different things.
    pub(crate) fn end_split_type(
        &mut self, asked: &SplitTypeExchange,
    ) -> Result<Option<SplitAssignment>> {
        let Some(end) = self.engine.take_run_end(asked.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let mut bytes = vec![0; end.buffers[1].len()];
        end.buffers[1].pack(0, &mut bytes);
        let (asks, _) = bytes.as_chunks();
        let asks: Vec<CriterionRecord> = asks.iter().map(CriterionRecord::parse).collect();
        check_agreed(&asks)?;
        Ok(Some(assign(&asks, asked.rank, asked.criterion)))
    }

    /// The call `function`, which waits for an answer.
    pub(crate) fn blocked_split_type(
        &self, function: &str, asked: &SplitTypeExchange,
    ) -> WaitReport {
        self.blocked(function, [&Activity::Run(asked.run)])
    }
}

/// # Errors
/// `Arg` if ranks ask for different things.
fn check_agreed(asks: &[CriterionRecord]) -> Result {
    let out = SplitCriterion::Undefined.code();
    let mut asking = (0..).zip(asks).filter(|(_, ask)| ask.code != out);
    let Some((first, one)) = asking.next() else { return Ok(()) };
    match asking.find(|(_, ask)| ask.code != one.code) {
        None => Ok(()),
        Some((other, _)) => {
            let why = format!("rank {other} asks for another kind of split than rank {first}");
            Err(ErrorClass::Arg.error(why))
        }
    }
}

/// What `rank` gets of a split on which all have agreed.
fn assign(asks: &[CriterionRecord], rank: usize, by: SplitCriterion) -> SplitAssignment {
    let hardware = |found: Option<(Resource, u32)>| SplitAssignment {
        // Numbers of instances have 16 bits, as those of processors.
        color: found.map(|(resource, instance)| (resource as i32) << 16 | instance as i32 & 0xffff),
        resource: found.map(|(resource, _)| resource),
    };
    match by {
        SplitCriterion::Undefined | SplitCriterion::Unrecognized => {
            SplitAssignment { color: None, resource: None }
        }
        SplitCriterion::World => SplitAssignment { color: Some(0), resource: None },
        SplitCriterion::Alone => SplitAssignment { color: Some(rank as i32), resource: None },
        SplitCriterion::Resource(resource) => hardware(match asks[rank].places.of(resource) {
            ResourceLocation::One(instance) => Some((resource, instance)),
            ResourceLocation::Several | ResourceLocation::Unknown => None,
        }),
        SplitCriterion::Unguided => hardware(unguided(asks)[rank]),
    }
}

/// The resource by which each rank is told apart: the widest that holds a strict subset of those
/// who take part, and all of its users have nothing wider.
fn unguided(asks: &[CriterionRecord]) -> Vec<Option<(Resource, u32)>> {
    let parting = |ask: &CriterionRecord| ask.code != SplitCriterion::Undefined.code();
    let all = asks.iter().filter(|ask| parting(ask)).count();
    let mut found = vec![None; asks.len()];
    for resource in Resource::ALL {
        let mut users: Vec<(u32, usize)> = Vec::new();
        for (rank, ask) in asks.iter().enumerate().filter(|(_, ask)| parting(ask)) {
            if let ResourceLocation::One(instance) = ask.places.of(resource) {
                users.push((instance, rank));
            }
        }
        users.sort_unstable();
        for users in users.chunk_by(|one, two| one.0 == two.0) {
            if users.len() < all && users.iter().all(|(_, rank)| found[*rank].is_none()) {
                for (instance, rank) in users {
                    found[*rank] = Some((resource, *instance));
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

    /// A rank that asks for an unguided split, on this core of machines with two cores a package.
    fn on_core(core: u32) -> CriterionRecord {
        let places = ResourceLocations::new(|resource| match resource {
            Resource::Machine => ResourceLocation::One(0),
            Resource::Package | Resource::Numa => ResourceLocation::One(core / 2),
            Resource::L3 => ResourceLocation::Unknown,
            _ => ResourceLocation::One(core),
        });
        CriterionRecord { code: SplitCriterion::Unguided.code(), places }
    }

    fn spread() -> CriterionRecord {
        let places = ResourceLocations::new(|resource| match resource {
            Resource::Machine => ResourceLocation::One(0),
            _ => ResourceLocation::Several,
        });
        CriterionRecord { code: SplitCriterion::Unguided.code(), places }
    }

    fn out() -> CriterionRecord {
        CriterionRecord {
            code: SplitCriterion::Undefined.code(),
            places: ResourceLocations::default(),
        }
    }

    #[test]
    fn an_ask_reads_back() {
        for ask in [on_core(65_535), spread(), out()] {
            assert_eq!(CriterionRecord::parse(&ask.emit()), ask);
        }
    }

    #[test]
    fn the_widest_resource_that_parts_the_ranks_is_taken() {
        let (package, l2) = (Resource::Package, Resource::L2);
        let ranks = [on_core(0), on_core(3), on_core(1), out(), on_core(2)];
        let parts = [Some((package, 0)), Some((package, 1)), Some((package, 0)), None];
        assert_eq!(unguided(&ranks)[..4], parts);
        assert_eq!(unguided(&ranks)[4], Some((package, 1)));
        let one_package = [on_core(2), on_core(3), on_core(2)];
        assert_eq!(unguided(&one_package), [Some((l2, 2)), Some((l2, 3)), Some((l2, 2))]);
        assert_eq!(unguided(&[on_core(2), on_core(2), out()]), [None; 3]);
        assert_eq!(unguided(&[on_core(2)]), [None]);
        let mixed = [on_core(0), spread(), on_core(1)];
        assert_eq!(unguided(&mixed), [Some((package, 0)), None, Some((package, 0))]);
    }

    #[test]
    fn the_color_is_the_instance_and_none_without_one() {
        let asks = [on_core(5), spread()];
        let by = SplitCriterion::Resource(Resource::Core);
        assert!(assign(&asks, 0, by).color.is_some());
        assert_eq!(assign(&asks, 1, by), SplitAssignment { color: None, resource: None });
        let machine = SplitCriterion::Resource(Resource::Machine);
        assert_eq!(assign(&asks, 0, machine), assign(&asks, 1, machine));
        assert_eq!(assign(&asks, 0, SplitCriterion::Resource(Resource::L3)).color, None);
        assert_eq!(assign(&asks, 1, SplitCriterion::Alone).color, Some(1));
        assert_eq!(assign(&asks, 1, SplitCriterion::World).color, Some(0));
        assert_eq!(assign(&asks, 1, SplitCriterion::Unrecognized).color, None);
    }

    #[test]
    fn ranks_must_agree_but_for_those_who_stay_out() {
        assert!(check_agreed(&[out(), on_core(1), out(), spread()]).is_ok());
        assert!(check_agreed(&[out(), out()]).is_ok());
        let other = CriterionRecord { code: SplitCriterion::World.code(), ..spread() };
        let error = check_agreed(&[out(), spread(), other]).unwrap_err();
        assert_eq!(error.code.0, ErrorClass::Arg as i32);
        assert_eq!(error.why, "rank 2 asks for another kind of split than rank 1");
    }

    proptest! {
        /// Whatever machines look like, nested or not: strict subsets, each of all the users of one
        /// instance.
        #[test]
        fn unguided_parts_are_all_users_of_an_instance_and_not_everybody(
            ranks in proptest::collection::vec(proptest::collection::vec(0u32..6, 8), 1..12),
        ) {
            let asks: Vec<CriterionRecord> = ranks.iter().map(|numbers| {
                let places = ResourceLocations::new(|resource| match numbers[resource as usize] {
                    4 => ResourceLocation::Several,
                    5 => ResourceLocation::Unknown,
                    instance => ResourceLocation::One(instance),
                });
                CriterionRecord { code: SplitCriterion::Unguided.code(), places }
            }).collect();
            let found = unguided(&asks);
            for (resource, instance) in found.iter().flatten() {
                let users = |ask: &CriterionRecord| ask.places.of(*resource) == ResourceLocation::One(*instance);
                let together = Some((*resource, *instance));
                for (ask, found) in asks.iter().zip(&found) {
                    prop_assert_eq!(users(ask), *found == together);
                }
                prop_assert!(!asks.iter().all(users));
            }
        }
    }
}
