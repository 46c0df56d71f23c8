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

use super::Mpi;
use super::coll::{Collective, Exchange};
use super::hardware::{Place, Places, Resource};
use super::request::Activity;
use super::table::Handle;
use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, Result};
use crate::core::memory::Memory;
use crate::core::run::RunId;
use crate::device::Device;

/// What a rank asks for.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum By {
    /// No communicator.
    Nothing,
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

impl By {
    /// As it is told to others.
    fn code(self) -> u32 {
        match self {
            Self::Nothing => 0,
            Self::Unguided => 1,
            Self::World => 2,
            Self::Alone => 3,
            Self::Unrecognized => 4,
            Self::Resource(resource) => 5 + resource as u32,
        }
    }
}

/// Four bytes for what is asked, and four for each place.
const ASK_BYTES: usize = 4 + 4 * Resource::ALL.len();
const UNKNOWN: u32 = u32::MAX;
const SPREAD: u32 = u32::MAX - 1;

/// What a rank tells the others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
struct Ask {
    code: u32,
    places: Places,
}

impl Ask {
    fn emit(self) -> [u8; ASK_BYTES] {
        let places = Resource::ALL.map(|resource| match self.places.of(resource) {
            Place::Unknown => UNKNOWN,
            Place::Spread => SPREAD,
            Place::In(instance) => instance,
        });
        let mut bytes = [0; ASK_BYTES];
        let (words, _) = bytes.as_chunks_mut();
        for (word, value) in words.iter_mut().zip([self.code].into_iter().chain(places)) {
            *word = value.to_le_bytes();
        }
        bytes
    }

    fn parse(bytes: &[u8; ASK_BYTES]) -> Self {
        let (words, _) = bytes.as_chunks();
        let word = |index: usize| u32::from_le_bytes(words[index]);
        let places = Places::new(|resource| match word(1 + resource as usize) {
            UNKNOWN => Place::Unknown,
            SPREAD => Place::Spread,
            instance => Place::In(instance),
        });
        Self { code: word(0), places }
    }
}

/// A question to all ranks of a communicator under way.
#[derive(Debug)]
pub struct Asked {
    run: RunId,
    rank: usize,
    by: By,
}

/// What came of a question.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Answer {
    /// The color of this rank, if it gets a communicator.
    pub color: Option<i32>,
    /// What those of the color share, if it is hardware.
    pub resource: Option<Resource>,
}

impl<D: Device> Mpi<D> {
    /// Starts to ask all members of `comm` what they want, telling that this one splits `by`
    /// something and where it is.
    ///
    /// # Errors
    /// `Comm` if there is no such communicator.
    pub fn ask(&mut self, comm: Handle, by: By, places: Places) -> Result<Asked> {
        let asking = self.comms.get(comm)?;
        let (rank, size) = (asking.member() as usize, asking.members_shape().ranks as usize);
        let allgather = Collective::Allgather(Exchange { block: ASK_BYTES, in_place: false });
        let own = Memory::owned(Ask { code: by.code(), places }.emit());
        let all = Memory::owned(vec![0; ASK_BYTES * size]);
        let run = self.launch_on(comm, allgather, vec![own, all])?;
        Ok(Asked { run, rank, by })
    }

    /// The answer once all have told.
    ///
    /// # Errors
    /// What went wrong with a message; `Arg` if ranks ask for different things.
    pub fn answer(&mut self, asked: &Asked) -> Result<Option<Answer>> {
        let Some(end) = self.engine.take_end(asked.run) else { return Ok(None) };
        if let Some(error) = end.error {
            return Err(error);
        }
        let mut bytes = vec![0; end.buffers[1].len()];
        end.buffers[1].pack(0, &mut bytes);
        let (asks, _) = bytes.as_chunks();
        let asks: Vec<Ask> = asks.iter().map(Ask::parse).collect();
        check_agreed(&asks)?;
        Ok(Some(answer(&asks, asked.rank, asked.by)))
    }

    /// The call `function`, which waits for an answer.
    pub fn blocked_ask(&self, function: &str, asked: &Asked) -> Blocked {
        self.blocked(function, [&Activity::Run(asked.run)])
    }
}

/// # Errors
/// `Arg` if ranks ask for different things.
fn check_agreed(asks: &[Ask]) -> Result {
    let out = By::Nothing.code();
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
fn answer(asks: &[Ask], rank: usize, by: By) -> Answer {
    let hardware = |found: Option<(Resource, u32)>| Answer {
        // Numbers of instances have 16 bits, as those of processors.
        color: found.map(|(resource, instance)| (resource as i32) << 16 | instance as i32 & 0xffff),
        resource: found.map(|(resource, _)| resource),
    };
    match by {
        By::Nothing | By::Unrecognized => Answer { color: None, resource: None },
        By::World => Answer { color: Some(0), resource: None },
        By::Alone => Answer { color: Some(rank as i32), resource: None },
        By::Resource(resource) => hardware(match asks[rank].places.of(resource) {
            Place::In(instance) => Some((resource, instance)),
            Place::Spread | Place::Unknown => None,
        }),
        By::Unguided => hardware(unguided(asks)[rank]),
    }
}

/// The resource by which each rank is told apart: the widest that holds a strict subset of those
/// who take part, and all of its users have nothing wider.
fn unguided(asks: &[Ask]) -> Vec<Option<(Resource, u32)>> {
    let parting = |ask: &Ask| ask.code != By::Nothing.code();
    let all = asks.iter().filter(|ask| parting(ask)).count();
    let mut found = vec![None; asks.len()];
    for resource in Resource::ALL {
        let mut users: Vec<(u32, usize)> = Vec::new();
        for (rank, ask) in asks.iter().enumerate().filter(|(_, ask)| parting(ask)) {
            if let Place::In(instance) = ask.places.of(resource) {
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
    fn on_core(core: u32) -> Ask {
        let places = Places::new(|resource| match resource {
            Resource::Machine => Place::In(0),
            Resource::Package | Resource::Numa => Place::In(core / 2),
            Resource::L3 => Place::Unknown,
            _ => Place::In(core),
        });
        Ask { code: By::Unguided.code(), places }
    }

    fn spread() -> Ask {
        let places = Places::new(|resource| match resource {
            Resource::Machine => Place::In(0),
            _ => Place::Spread,
        });
        Ask { code: By::Unguided.code(), places }
    }

    fn out() -> Ask {
        Ask { code: By::Nothing.code(), places: Places::default() }
    }

    #[test]
    fn an_ask_reads_back() {
        for ask in [on_core(65_535), spread(), out()] {
            assert_eq!(Ask::parse(&ask.emit()), ask);
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
        let by = By::Resource(Resource::Core);
        assert!(answer(&asks, 0, by).color.is_some());
        assert_eq!(answer(&asks, 1, by), Answer { color: None, resource: None });
        let machine = By::Resource(Resource::Machine);
        assert_eq!(answer(&asks, 0, machine), answer(&asks, 1, machine));
        assert_eq!(answer(&asks, 0, By::Resource(Resource::L3)).color, None);
        assert_eq!(answer(&asks, 1, By::Alone).color, Some(1));
        assert_eq!(answer(&asks, 1, By::World).color, Some(0));
        assert_eq!(answer(&asks, 1, By::Unrecognized).color, None);
    }

    #[test]
    fn ranks_must_agree_but_for_those_who_stay_out() {
        assert!(check_agreed(&[out(), on_core(1), out(), spread()]).is_ok());
        assert!(check_agreed(&[out(), out()]).is_ok());
        let other = Ask { code: By::World.code(), ..spread() };
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
            let asks: Vec<Ask> = ranks.iter().map(|numbers| {
                let places = Places::new(|resource| match numbers[resource as usize] {
                    4 => Place::Spread,
                    5 => Place::Unknown,
                    instance => Place::In(instance),
                });
                Ask { code: By::Unguided.code(), places }
            }).collect();
            let found = unguided(&asks);
            for (resource, instance) in found.iter().flatten() {
                let users = |ask: &Ask| ask.places.of(*resource) == Place::In(*instance);
                let together = Some((*resource, *instance));
                for (ask, found) in asks.iter().zip(&found) {
                    prop_assert_eq!(users(ask), *found == together);
                }
                prop_assert!(!asks.iter().all(users));
            }
        }
    }
}
