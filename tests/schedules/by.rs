//! Each algorithm that is listed, to be tried at every size.

use mpi_abi::mpi::collective::algorithms::algorithm::{
    AgreedArguments, Algorithm, Arguments, Cost,
};
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;
use mpi_abi::offload::Schedule;

use super::{Shape, sizes};

/// An algorithm, a number of ranks and a segment length.
pub struct By<A: Arguments + 'static> {
    algorithm: &'static Algorithm<A>,
    /// Segment length in bytes, unless the algorithm chooses it.
    pub segment: Option<usize>,
    pub shape: Shape,
    /// Name of the case in failures.
    pub name: String,
}

/// Tries all algorithms of a family at every size; segmented algorithms also with segments of
/// `segment` bytes.
pub fn each<A: Arguments>(family: &AlgorithmFamily<A>, segment: usize, run: impl Fn(&By<A>)) {
    for algorithm in family.algorithms {
        for shape in sizes() {
            for segment in [None, Some(segment)] {
                if segment.is_some() && algorithm.segmented.is_none() {
                    continue;
                }
                let name = format!("{:?} by {}", family.operation, algorithm.name);
                run(&By { algorithm, segment, shape, name });
            }
        }
    }
}

impl<A: Arguments> By<A> {
    /// Whether the algorithm supports the call.
    pub fn fits(&self, args: A::Borrowed<'_>) -> bool {
        (self.algorithm.fits)(self.shape, args.agreed())
    }

    /// The schedule of `rank`.
    pub fn part(&self, rank: u32, args: A::Borrowed<'_>) -> Schedule {
        match self.segment.zip(self.algorithm.segmented.as_ref()) {
            Some((segment, cut)) => (cut.schedule)(self.shape, rank, args, segment),
            None => (self.algorithm.schedule)(self.shape, rank, args),
        }
    }

    /// The claimed cost.
    pub fn claim(&self, args: A::Borrowed<'_>) -> Cost {
        match self.segment.zip(self.algorithm.segmented.as_ref()) {
            Some((segment, cut)) => (cut.cost)(self.shape, args, segment),
            None => (self.algorithm.cost)(self.shape, args),
        }
    }
}
