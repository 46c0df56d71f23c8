//! Which algorithm runs: the cheapest that fits, by costs that algorithms state and what the
//! machine takes for them.
//!
//! The choice depends on what the standard makes equal on all ranks ([`Agreed::agreed`]) and
//! nothing else: the packed bytes of a message or block, the shape of the communicator, whether the
//! operation commutes. Counts and datatypes are not equal, nor is `MPI_IN_PLACE` in rooted
//! operations.

use super::Shape;
use super::algorithm::{Agreed, Algorithm, Arguments};
use super::machine::{self, Machine};
use super::registry::Family;
use crate::offload::Schedule;

/// What steers the choice; equal on all ranks.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Selection {
    machine: Machine,
}

impl Default for Selection {
    fn default() -> Self {
        Self { machine: machine::SHARED }
    }
}

impl Selection {
    /// The algorithm for a call.
    ///
    /// # Panics
    /// If none fits, which no family allows.
    pub fn choose<A: Arguments>(
        &self, family: &Family<A>, shape: Shape, args: A::In<'_>,
    ) -> &'static Algorithm<A> {
        let agreed = args.agreed();
        let fitting = family.algorithms.iter().filter(|algorithm| (algorithm.fits)(shape, agreed));
        let cheapest =
            fitting.min_by_key(|algorithm| self.machine.time_ps((algorithm.cost)(shape, agreed)));
        cheapest.expect("one algorithm of a family fits any call")
    }

    /// The part of `rank` in a call.
    pub fn schedule<A: Arguments>(
        &self, family: &Family<A>, shape: Shape, rank: u32, args: A::In<'_>,
    ) -> Schedule {
        (self.choose(family, shape, args).schedule)(shape, rank, args)
    }
}
