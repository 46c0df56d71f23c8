//! Collective operations under test: the schedules of all ranks, with blocks of one byte.

use mpi_abi::mpi::collective::algorithms::algorithm::Arguments;
use mpi_abi::mpi::collective::algorithms::{
    Allreduce, Bcast, Operands, Rooted, Shape, UniformBlocks,
};
use mpi_abi::mpi::collective::selection::registry;
use mpi_abi::mpi::collective::selection::registry::AlgorithmFamily;
use mpi_abi::offload::{Buffer, Schedule, ScheduleBuilder};

/// Collective operations, as the schedules of all ranks.
#[derive(Clone, Copy, Debug)]
pub enum Collective {
    /// A barrier by this algorithm.
    Barrier(&'static str),
    /// A broadcast from rank 0 by this algorithm, in this number of segments.
    Bcast(&'static str, usize),
    /// A gather to rank 0.
    Gather(&'static str),
    /// A scatter from rank 0.
    Scatter(&'static str),
    /// An allgather.
    Allgather(&'static str),
    /// An allgather in place.
    AllgatherInPlace(&'static str),
    /// An all-to-all exchange.
    Alltoall(&'static str),
    /// An allreduce.
    Allreduce(&'static str),
    /// Each rank sends a byte to both neighbors on a ring.
    Halo,
}

/// Each kind, by most algorithms.
pub const EVERY: [Collective; 30] = [
    Collective::Barrier("dissemination"),
    Collective::Barrier("tree"),
    Collective::Barrier("linear"),
    Collective::Bcast("binomial", 1),
    Collective::Bcast("chain", 1),
    Collective::Bcast("chain", 2),
    Collective::Bcast("chain", 5),
    Collective::Bcast("binary", 1),
    Collective::Bcast("binary", 4),
    Collective::Bcast("linear", 1),
    Collective::Bcast("scatter_ring", 5),
    Collective::Bcast("trinaryx3", 9),
    Collective::Gather("linear"),
    Collective::Gather("binomial"),
    Collective::Scatter("linear"),
    Collective::Scatter("binomial"),
    Collective::Allgather("linear"),
    Collective::Allgather("doubling"),
    Collective::AllgatherInPlace("doubling"),
    Collective::Allgather("bruck"),
    Collective::Allgather("ring"),
    Collective::AllgatherInPlace("ring"),
    Collective::Alltoall("pairwise"),
    Collective::Alltoall("spread"),
    Collective::Alltoall("bruck"),
    Collective::Allreduce("doubling"),
    Collective::Allreduce("rabenseifner"),
    Collective::Allreduce("ring"),
    Collective::Allreduce("linear"),
    Collective::Halo,
];

impl Collective {
    /// The schedule of each rank.
    ///
    /// # Panics
    /// If the algorithm does not support this number of ranks.
    pub fn schedules(self, ranks: u32) -> Vec<Schedule> {
        self.fitting(ranks).unwrap_or_else(|| panic!("{self:?} does not support {ranks} ranks"))
    }

    /// The schedule of each rank, if the algorithm supports this number of ranks.
    pub fn fitting(self, ranks: u32) -> Option<Vec<Schedule>> {
        let rooted = Rooted { block: 1, root: 0, in_place: false };
        let exchange = UniformBlocks { block: 1, in_place: false };
        let operands = Operands { bytes: ranks as usize, element: 1, commutative: true };
        match self {
            Self::Barrier(name) => parts(&registry::BARRIER, name, ranks, 0, ()),
            Self::Bcast(name, segments) => {
                let segment = if segments > 1 { 1 } else { 0 };
                let args = Bcast { bytes: segments, root: 0 };
                parts(&registry::BCAST, name, ranks, segment, args)
            }
            Self::Gather(name) => parts(&registry::GATHER, name, ranks, 0, rooted),
            Self::Scatter(name) => parts(&registry::SCATTER, name, ranks, 0, rooted),
            Self::Allgather(name) => parts(&registry::ALLGATHER, name, ranks, 0, exchange),
            Self::AllgatherInPlace(name) => {
                let exchange = UniformBlocks { in_place: true, ..exchange };
                parts(&registry::ALLGATHER, name, ranks, 0, exchange)
            }
            Self::Alltoall(name) => parts(&registry::ALLTOALL, name, ranks, 0, exchange),
            Self::Allreduce(name) => {
                let args = Allreduce { operands, in_place: true };
                parts(&registry::ALLREDUCE, name, ranks, 0, args)
            }
            // On a ring of one rank, both neighbors are that rank, and schedules copy.
            Self::Halo if ranks == 1 => None,
            Self::Halo => Some((0..ranks).map(|rank| halo(ranks, rank)).collect()),
        }
    }
}

/// The schedule of each rank by the algorithm `name`, with segments of this many bytes unless 0.
fn parts<A: Arguments>(
    family: &AlgorithmFamily<A>, name: &str, ranks: u32, segment: usize, args: A::Borrowed<'_>,
) -> Option<Vec<Schedule>> {
    let shape = Shape { ranks };
    let algorithm = family.algorithms.iter().find(|algorithm| algorithm.name == name);
    let algorithm = algorithm.unwrap_or_else(|| panic!("{:?} by {name}", family.operation));
    let part = |rank| match &algorithm.segmented {
        Some(cut) if segment > 0 => (cut.schedule)(shape, rank, args, segment),
        _ => (algorithm.schedule)(shape, rank, args),
    };
    (algorithm.fits)(shape, args).then(|| (0..ranks).map(part).collect())
}

/// On a ring of 2 ranks both neighbors are the same rank; labels distinguish the messages.
fn halo(ranks: u32, rank: u32) -> Schedule {
    use mpi_abi::offload::{StepAction, Wait};
    let (send, receive) = (Buffer::User(0), Buffer::User(1));
    let mut plan = ScheduleBuilder::new();
    let sides = [(rank + ranks - 1) % ranks, (rank + 1) % ranks];
    for (side, peer) in sides.into_iter().enumerate() {
        let region = receive.region(side, 1);
        // A message from the left was sent to the right.
        plan.push(StepAction::Receive { peer, region, label: 1 - side as u16 }, 1, Wait::All, &[]);
    }
    for (side, peer) in sides.into_iter().enumerate() {
        let region = send.region(side, 1);
        plan.push(StepAction::Send { peer, region, label: side as u16 }, 1, Wait::All, &[]);
    }
    plan.finish()
}
