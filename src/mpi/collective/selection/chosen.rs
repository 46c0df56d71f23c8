//! The result of the selection: an algorithm with the parameters of its setting.

use crate::mpi::collective::algorithms::Shape;
use crate::mpi::collective::algorithms::algorithm::{Algorithm, Arguments, Cost};
use crate::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use crate::offload::Schedule;

/// An algorithm for a call.
pub struct ChosenAlgorithm<A: Arguments + 'static> {
    /// Its name in settings.
    pub name: &'static str,
    algorithm: &'static Algorithm<A>,
    extras: Option<ExtraRounds>,
}

impl<A: Arguments + 'static> ChosenAlgorithm<A> {
    /// An algorithm with the extra rounds of a setting; `None`: its own.
    pub fn new(algorithm: &'static Algorithm<A>, extras: Option<ExtraRounds>) -> Self {
        Self { name: algorithm.name, algorithm, extras }
    }

    /// Whether it supports this call.
    pub fn fits(&self, shape: Shape, agreed: A::Borrowed<'_>) -> bool {
        (self.algorithm.fits)(shape, agreed)
    }

    /// Cost of a call.
    pub fn cost(&self, shape: Shape, agreed: A::Borrowed<'_>) -> Cost {
        match self.extras.zip(A::WITH_EXTRA_ROUNDS) {
            Some((extras, form)) => (form.cost)(shape, agreed, extras),
            None => (self.algorithm.cost)(shape, agreed),
        }
    }

    /// Schedule of a rank.
    pub fn schedule(&self, shape: Shape, rank: u32, args: A::Borrowed<'_>) -> Schedule {
        match self.extras.zip(A::WITH_EXTRA_ROUNDS) {
            Some((extras, form)) => (form.schedule)(shape, rank, args, extras),
            None => (self.algorithm.schedule)(shape, rank, args),
        }
    }
}
