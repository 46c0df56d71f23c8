//! All algorithms, by operation.
//!
//! Of those that cost the same, the first in a list is taken.

use super::algorithm::{Algorithm, Arguments};
use super::{
    Allreduce, Bcast, BlockPairs, Blocks, Exchange, Reduce, ReduceScatter, Rooted, RootedBlocks,
    Scan, allgather_bruck, allgather_ring, allreduce_doubling, allreduce_halving,
    alltoall_pairwise, barrier_dissemination, bcast_binomial, bcast_chain, gather_linear,
    reduce_binomial, reduce_scatter_halving, reduce_scatter_pairwise, scan_chain, scan_doubling,
    scatter_linear,
};

/// The operations that have algorithms.
///
/// `MPI_Alltoallw` has those of alltoallv, `MPI_Reduce_scatter_block` those of reduce_scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum Operation {
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

/// The algorithms of an operation.
pub struct Family<A: Arguments + 'static> {
    /// The operation.
    pub operation: Operation,
    /// Its algorithms; at least one of them fits any call.
    pub algorithms: &'static [Algorithm<A>],
}

/// Barrier.
pub const BARRIER: Family<()> =
    Family { operation: Operation::Barrier, algorithms: &[barrier_dissemination::ALGORITHM] };

/// Broadcast.
pub const BCAST: Family<Bcast> = Family {
    operation: Operation::Bcast,
    algorithms: &[bcast_binomial::ALGORITHM, bcast_chain::ALGORITHM],
};

/// Gather.
pub const GATHER: Family<Rooted> =
    Family { operation: Operation::Gather, algorithms: &[gather_linear::GATHER] };

/// Gather of blocks of unlike lengths.
pub const GATHERV: Family<RootedBlocks> =
    Family { operation: Operation::Gatherv, algorithms: &[gather_linear::GATHERV] };

/// Scatter.
pub const SCATTER: Family<Rooted> =
    Family { operation: Operation::Scatter, algorithms: &[scatter_linear::SCATTER] };

/// Scatter of blocks of unlike lengths.
pub const SCATTERV: Family<RootedBlocks> =
    Family { operation: Operation::Scatterv, algorithms: &[scatter_linear::SCATTERV] };

/// Gather to all.
pub const ALLGATHER: Family<Exchange> = Family {
    operation: Operation::Allgather,
    algorithms: &[allgather_bruck::ALGORITHM, allgather_ring::ALLGATHER],
};

/// Gather of blocks of unlike lengths to all.
pub const ALLGATHERV: Family<Blocks> =
    Family { operation: Operation::Allgatherv, algorithms: &[allgather_ring::ALLGATHERV] };

/// Exchange of all with all.
pub const ALLTOALL: Family<Exchange> =
    Family { operation: Operation::Alltoall, algorithms: &[alltoall_pairwise::ALLTOALL] };

/// Exchange of blocks of unlike lengths of all with all.
pub const ALLTOALLV: Family<BlockPairs> =
    Family { operation: Operation::Alltoallv, algorithms: &[alltoall_pairwise::ALLTOALLV] };

/// Reduction to a root.
pub const REDUCE: Family<Reduce> =
    Family { operation: Operation::Reduce, algorithms: &[reduce_binomial::ALGORITHM] };

/// Reduction to all.
pub const ALLREDUCE: Family<Allreduce> = Family {
    operation: Operation::Allreduce,
    algorithms: &[allreduce_doubling::ALGORITHM, allreduce_halving::ALGORITHM],
};

/// Reduction of blocks, one to each rank.
pub const REDUCE_SCATTER: Family<ReduceScatter> = Family {
    operation: Operation::ReduceScatter,
    algorithms: &[reduce_scatter_halving::ALGORITHM, reduce_scatter_pairwise::ALGORITHM],
};

/// Reduction over the ranks up to oneself.
pub const SCAN: Family<Scan> =
    Family { operation: Operation::Scan, algorithms: &[scan_doubling::SCAN, scan_chain::SCAN] };

/// Reduction over the ranks before oneself.
pub const EXSCAN: Family<Scan> = Family {
    operation: Operation::Exscan,
    algorithms: &[scan_doubling::EXSCAN, scan_chain::EXSCAN],
};
