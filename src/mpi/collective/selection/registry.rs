//! All algorithms, by operation.
//!
//! Among algorithms of equal cost, the first in a list is selected.

use crate::mpi::collective::algorithms::algorithm::{Algorithm, Arguments};
use crate::mpi::collective::algorithms::allreduce::extra_rounds::ExtraRounds;
use crate::mpi::collective::algorithms::hierarchical::costs::{self, TwoLevel};
use crate::mpi::collective::algorithms::{
    Allreduce, Bcast, BlockPairs, Operands, RankBlocks, Reduce, ReduceScatter, Rooted,
    RootedBlocks, Scan, Shape, UniformBlocks, allgather, allreduce, alltoall, barrier, bcast,
    gather, reduce, reduce_scatter, scan, scatter,
};

/// The operations that have algorithms.
///
/// `MPI_Alltoallw` uses the algorithms of alltoallv, `MPI_Reduce_scatter_block` those of
/// reduce_scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum CollectiveOperation {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Alltoallv` and `MPI_Alltoallw`.
    Alltoallv,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce_scatter` and `MPI_Reduce_scatter_block`.
    ReduceScatter,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
}

impl CollectiveOperation {
    /// For a reduction, the names of the algorithms with one association, which depends only on the
    /// order and the number of operands (see `algorithms`, "Association").
    pub fn reproducible(self) -> Option<&'static [&'static str]> {
        match self {
            Self::Reduce => Some(&["in_order", "rabenseifner"]),
            Self::Allreduce => Some(&["doubling", "rabenseifner", "redundant"]),
            Self::ReduceScatter => Some(&["in_order"]),
            Self::Scan | Self::Exscan => Some(&["doubling"]),
            _ => None,
        }
    }

    /// All operations.
    pub const ALL: [Self; 15] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Gatherv,
        Self::Scatter,
        Self::Scatterv,
        Self::Allgather,
        Self::Allgatherv,
        Self::Alltoall,
        Self::Alltoallv,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatter,
        Self::Scan,
        Self::Exscan,
    ];

    /// Name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Barrier => "BARRIER",
            Self::Bcast => "BCAST",
            Self::Gather => "GATHER",
            Self::Gatherv => "GATHERV",
            Self::Scatter => "SCATTER",
            Self::Scatterv => "SCATTERV",
            Self::Allgather => "ALLGATHER",
            Self::Allgatherv => "ALLGATHERV",
            Self::Alltoall => "ALLTOALL",
            Self::Alltoallv => "ALLTOALLV",
            Self::Reduce => "REDUCE",
            Self::Allreduce => "ALLREDUCE",
            Self::ReduceScatter => "REDUCE_SCATTER",
            Self::Scan => "SCAN",
            Self::Exscan => "EXSCAN",
        }
    }

    /// The operation with this name; case is ignored.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|operation| operation.name().eq_ignore_ascii_case(name))
    }

    /// Whether all ranks of a call know the bytes that it moves: in a barrier there are none, and elsewhere
    /// only two ranks or the root know the length of a block.
    pub fn has_agreed_bytes(self) -> bool {
        !matches!(self, Self::Barrier | Self::Gatherv | Self::Scatterv | Self::Alltoallv)
    }

    /// The names of its algorithms.
    pub(crate) fn algorithms(self) -> Vec<&'static str> {
        self.visit(Shape { ranks: 1 }, 0, AlgorithmNames)
    }

    /// The name of its algorithm that has extra rounds, if one has.
    pub(crate) fn with_extra_rounds(self) -> Option<&'static str> {
        self.visit(Shape { ranks: 1 }, 0, ExtraRoundsName)
    }

    /// The settings of its algorithm that has extra rounds: its name with parameters.
    pub fn forms_with_extra_rounds(self) -> impl Iterator<Item = String> {
        let forms = |name| ExtraRounds::FORMS.map(|form| format!("{name}:{form}"));
        self.with_extra_rounds().into_iter().flat_map(forms)
    }

    /// Calls `visitor` with the algorithms, and with the arguments of a typical call: `bytes` bytes
    /// are a message, one block or one operand; rank 0 is the root, and the operation commutes.
    pub fn visit<V: Visitor>(self, shape: Shape, bytes: usize, visitor: V) -> V::Output {
        let (root, in_place, commutative) = (0, false, true);
        let operands = Operands { bytes, element: 1, commutative };
        let rooted = Rooted { block: bytes, root, in_place };
        let unlike = RootedBlocks { own: 0, blocks: &[], root, in_place };
        let exchange = UniformBlocks { block: bytes, in_place };
        let scan = Scan { operands, in_place };
        let blocks = || vec![bytes; shape.ranks as usize];
        match self {
            Self::Barrier => visitor.visit(&BARRIER, ()),
            Self::Bcast => visitor.visit(&BCAST, Bcast { bytes, root }),
            Self::Gather => visitor.visit(&GATHER, rooted),
            Self::Gatherv => visitor.visit(&GATHERV, unlike),
            Self::Scatter => visitor.visit(&SCATTER, rooted),
            Self::Scatterv => visitor.visit(&SCATTERV, unlike),
            Self::Allgather => visitor.visit(&ALLGATHER, exchange),
            Self::Allgatherv => {
                visitor.visit(&ALLGATHERV, RankBlocks { blocks: &blocks(), in_place })
            }
            Self::Alltoall => visitor.visit(&ALLTOALL, exchange),
            Self::Alltoallv => {
                visitor.visit(&ALLTOALLV, BlockPairs { send: &[], receive: &[], in_place })
            }
            Self::Reduce => visitor.visit(&REDUCE, Reduce { operands, root, in_place }),
            Self::Allreduce => visitor.visit(&ALLREDUCE, Allreduce { operands, in_place }),
            Self::ReduceScatter => visitor
                .visit(&REDUCE_SCATTER, ReduceScatter { blocks: &blocks(), commutative, in_place }),
            Self::Scan => visitor.visit(&SCAN, scan),
            Self::Exscan => visitor.visit(&EXSCAN, scan),
        }
    }
}

/// A visitor for the algorithms of any operation.
pub trait Visitor {
    /// Result of a visit.
    type Output;

    /// Visits a family, with the arguments of a call.
    fn visit<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Self::Output;
}

struct AlgorithmNames;

impl Visitor for AlgorithmNames {
    type Output = Vec<&'static str>;

    fn visit<A: Arguments>(self, family: &AlgorithmFamily<A>, _: A::Borrowed<'_>) -> Self::Output {
        let names = family.algorithms.iter().map(|algorithm| algorithm.name);
        names.chain(family.two_level.map(|_| costs::NAME)).collect()
    }
}

struct ExtraRoundsName;

impl Visitor for ExtraRoundsName {
    type Output = Option<&'static str>;

    fn visit<A: Arguments>(self, _: &AlgorithmFamily<A>, _: A::Borrowed<'_>) -> Self::Output {
        A::WITH_EXTRA_ROUNDS.map(|form| form.name)
    }
}

/// The algorithms of an operation.
pub struct AlgorithmFamily<A: Arguments + 'static> {
    /// The operation.
    pub operation: CollectiveOperation,
    /// Its form on several nodes in two levels. There is none if no leader would know the lengths.
    pub two_level: Option<&'static TwoLevel<A>>,
    /// Its algorithms; for any call at least one fits.
    pub algorithms: &'static [Algorithm<A>],
}

impl<A: Arguments + 'static> AlgorithmFamily<A> {
    /// The setting for the form in two levels, for ranks on several hosts, if there is one.
    pub fn two_level_name(&self) -> Option<&'static str> {
        self.two_level.map(|_| costs::NAME)
    }
}

/// Barrier.
pub const BARRIER: AlgorithmFamily<()> = AlgorithmFamily {
    operation: CollectiveOperation::Barrier,
    two_level: Some(&costs::BARRIER),
    algorithms: &[
        barrier::dissemination::ALGORITHM,
        barrier::tree::ALGORITHM,
        barrier::linear::ALGORITHM,
    ],
};

/// Broadcast.
pub const BCAST: AlgorithmFamily<Bcast> = AlgorithmFamily {
    operation: CollectiveOperation::Bcast,
    two_level: Some(&costs::BCAST),
    algorithms: &[
        bcast::binomial::ALGORITHM,
        bcast::knomial::FOUR,
        bcast::knomial::EIGHT,
        bcast::linear::ALGORITHM,
        bcast::chain::ALGORITHM,
        bcast::binary::ALGORITHM,
        bcast::scatter_doubling::ALGORITHM,
        bcast::scatter_ring::ALGORITHM,
        bcast::trinaryx3::ALGORITHM,
    ],
};

/// Gather.
pub const GATHER: AlgorithmFamily<Rooted> = AlgorithmFamily {
    operation: CollectiveOperation::Gather,
    two_level: Some(&costs::GATHER),
    algorithms: &[gather::linear::GATHER, gather::binomial::ALGORITHM],
};

/// Gather of blocks with different lengths.
pub const GATHERV: AlgorithmFamily<RootedBlocks> = AlgorithmFamily {
    operation: CollectiveOperation::Gatherv,
    two_level: None,
    algorithms: &[gather::linear::GATHERV],
};

/// Scatter.
pub const SCATTER: AlgorithmFamily<Rooted> = AlgorithmFamily {
    operation: CollectiveOperation::Scatter,
    two_level: Some(&costs::SCATTER),
    algorithms: &[scatter::linear::SCATTER, scatter::binomial::ALGORITHM],
};

/// Scatter of blocks with different lengths.
pub const SCATTERV: AlgorithmFamily<RootedBlocks> = AlgorithmFamily {
    operation: CollectiveOperation::Scatterv,
    two_level: None,
    algorithms: &[scatter::linear::SCATTERV],
};

/// Allgather.
pub const ALLGATHER: AlgorithmFamily<UniformBlocks> = AlgorithmFamily {
    operation: CollectiveOperation::Allgather,
    two_level: Some(&costs::ALLGATHER),
    algorithms: &[
        // Among equal costs the first is selected: in this algorithm the own copy overlaps with
        // messages.
        allgather::linear::ALLGATHER,
        allgather::doubling::ALGORITHM,
        allgather::bruck::ALLGATHER,
        allgather::neighbor::ALGORITHM,
        allgather::ring::ALLGATHER,
    ],
};

/// Allgather of blocks with different lengths.
pub const ALLGATHERV: AlgorithmFamily<RankBlocks> = AlgorithmFamily {
    operation: CollectiveOperation::Allgatherv,
    two_level: Some(&costs::ALLGATHERV),
    algorithms: &[
        allgather::bruck::ALLGATHERV,
        allgather::linear::ALLGATHERV,
        allgather::ring::ALLGATHERV,
    ],
};

/// Alltoall.
pub const ALLTOALL: AlgorithmFamily<UniformBlocks> = AlgorithmFamily {
    operation: CollectiveOperation::Alltoall,
    two_level: Some(&costs::ALLTOALL),
    algorithms: &[
        alltoall::pairwise::ALLTOALL,
        alltoall::spread::ALLTOALL,
        alltoall::bruck::ALGORITHM,
    ],
};

/// Alltoall of blocks with different lengths.
pub const ALLTOALLV: AlgorithmFamily<BlockPairs> = AlgorithmFamily {
    operation: CollectiveOperation::Alltoallv,
    two_level: None,
    algorithms: &[alltoall::pairwise::ALLTOALLV, alltoall::spread::ALLTOALLV],
};

/// Reduce.
pub const REDUCE: AlgorithmFamily<Reduce> = AlgorithmFamily {
    operation: CollectiveOperation::Reduce,
    two_level: Some(&costs::REDUCE),
    algorithms: &[
        reduce::binomial::ALGORITHM,
        reduce::in_order::ALGORITHM,
        reduce::rabenseifner::ALGORITHM,
        reduce::chain::ALGORITHM,
        reduce::linear::ALGORITHM,
    ],
};

/// Allreduce.
pub const ALLREDUCE: AlgorithmFamily<Allreduce> = AlgorithmFamily {
    operation: CollectiveOperation::Allreduce,
    two_level: Some(&costs::ALLREDUCE),
    algorithms: &[
        allreduce::doubling::ALGORITHM,
        allreduce::halving::ALGORITHM,
        allreduce::ring::ALGORITHM,
        allreduce::linear::ALGORITHM,
        allreduce::redundant::ALGORITHM,
    ],
};

/// Reduce-scatter.
pub const REDUCE_SCATTER: AlgorithmFamily<ReduceScatter> = AlgorithmFamily {
    operation: CollectiveOperation::ReduceScatter,
    two_level: Some(&costs::REDUCE_SCATTER),
    algorithms: &[
        reduce_scatter::halving::ALGORITHM,
        reduce_scatter::pairwise::ALGORITHM,
        reduce_scatter::in_order::ALGORITHM,
        reduce_scatter::ring::ALGORITHM,
        reduce_scatter::linear::ALGORITHM,
    ],
};

/// Scan: the operands of the ranks up to the own.
pub const SCAN: AlgorithmFamily<Scan> = AlgorithmFamily {
    operation: CollectiveOperation::Scan,
    two_level: Some(&costs::SCAN),
    algorithms: &[scan::doubling::SCAN, scan::chain::SCAN, scan::linear::SCAN],
};

/// Exscan: the operands of the ranks before the own.
pub const EXSCAN: AlgorithmFamily<Scan> = AlgorithmFamily {
    operation: CollectiveOperation::Exscan,
    two_level: Some(&costs::EXSCAN),
    algorithms: &[scan::doubling::EXSCAN, scan::chain::EXSCAN, scan::linear::EXSCAN],
};

#[cfg(test)]
mod tests {
    use super::*;
    use crate::mpi::collective::algorithms::algorithm::AgreedArguments;

    #[test]
    fn rules_have_bytes_where_arguments_do() {
        struct HasBytes;
        impl Visitor for HasBytes {
            type Output = bool;

            fn visit<A: Arguments>(
                self, _: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
            ) -> Self::Output {
                args.rule_bytes().is_some()
            }
        }
        for operation in CollectiveOperation::ALL {
            let has_bytes = operation.visit(Shape { ranks: 3 }, 8, HasBytes);
            assert_eq!(operation.has_agreed_bytes(), has_bytes, "{operation:?}");
        }
    }

    #[test]
    fn names_are_unlike_and_lower_case() {
        for (number, operation) in CollectiveOperation::ALL.into_iter().enumerate() {
            assert_eq!(operation as usize, number);
            assert_eq!(
                CollectiveOperation::from_name(&operation.name().to_lowercase()),
                Some(operation)
            );
            let mut names = operation.algorithms();
            let plain = |name: &&str| {
                name.bytes().all(|byte| matches!(byte, b'a'..=b'z' | b'0'..=b'9' | b'_'))
            };
            assert!(names.iter().all(plain), "{names:?}");
            assert!(!names.contains(&"auto") && !names.contains(&"shared"), "{names:?}");
            names.sort_unstable();
            assert!(names.windows(2).all(|pair| pair[0] != pair[1]), "{names:?}");
        }
    }
}
