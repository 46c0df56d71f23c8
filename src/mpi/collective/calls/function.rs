//! The collective functions of MPI, as far as their arguments differ.

use crate::mpi::collective::selection::registry::CollectiveOperation;

/// The function of a call, whatever its form: `MPI_Ibcast` and `MPI_Bcast_init` are `Bcast`.
///
/// Entries of a shared segment carry the value, so that ranks notice different calls.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum CollectiveFunction {
    /// `MPI_Barrier`.
    Barrier = 1,
    /// `MPI_Bcast`.
    Bcast,
    /// `MPI_Gather`.
    Gather,
    /// `MPI_Scatter`.
    Scatter,
    /// `MPI_Allgather`.
    Allgather,
    /// `MPI_Allgatherv`.
    Allgatherv,
    /// `MPI_Alltoall`.
    Alltoall,
    /// `MPI_Reduce`.
    Reduce,
    /// `MPI_Allreduce`.
    Allreduce,
    /// `MPI_Reduce_scatter_block`.
    ReduceScatterBlock,
    /// `MPI_Reduce_scatter`.
    ReduceScatter,
    /// `MPI_Scan`.
    Scan,
    /// `MPI_Exscan`.
    Exscan,
    /// `MPI_Gatherv`.
    Gatherv,
    /// `MPI_Scatterv`.
    Scatterv,
    /// `MPI_Alltoallv` and `MPI_Alltoallw`.
    Alltoallv,
    /// `MPI_Neighbor_allgather`.
    NeighborAllgather,
    /// `MPI_Neighbor_allgatherv`.
    NeighborAllgatherv,
    /// `MPI_Neighbor_alltoall`.
    NeighborAlltoall,
    /// `MPI_Neighbor_alltoallv` and `MPI_Neighbor_alltoallw`.
    NeighborAlltoallv,
    /// Any function with a root, called with `MPI_PROC_NULL` as the root: no data.
    ProcNull,
}

impl CollectiveFunction {
    /// The functions that have a form in shared memory.
    pub(crate) const SHARED: [Self; 16] = [
        Self::Barrier,
        Self::Bcast,
        Self::Gather,
        Self::Scatter,
        Self::Allgather,
        Self::Allgatherv,
        Self::Alltoall,
        Self::Reduce,
        Self::Allreduce,
        Self::ReduceScatterBlock,
        Self::ReduceScatter,
        Self::Scan,
        Self::Exscan,
        Self::Gatherv,
        Self::Scatterv,
        Self::Alltoallv,
    ];

    /// The function with this value in an entry of a shared segment.
    pub(crate) fn from_value(value: u8) -> Option<Self> {
        Self::SHARED.into_iter().find(|function| *function as u8 == value)
    }

    /// The name in `mpi.h` of the blocking form.
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Barrier => "MPI_Barrier",
            Self::Bcast => "MPI_Bcast",
            Self::Gather => "MPI_Gather",
            Self::Scatter => "MPI_Scatter",
            Self::Allgather => "MPI_Allgather",
            Self::Allgatherv => "MPI_Allgatherv",
            Self::Alltoall => "MPI_Alltoall",
            Self::Reduce => "MPI_Reduce",
            Self::Allreduce => "MPI_Allreduce",
            Self::ReduceScatterBlock => "MPI_Reduce_scatter_block",
            Self::ReduceScatter => "MPI_Reduce_scatter",
            Self::Scan => "MPI_Scan",
            Self::Exscan => "MPI_Exscan",
            Self::Gatherv => "MPI_Gatherv",
            Self::Scatterv => "MPI_Scatterv",
            Self::Alltoallv => "MPI_Alltoallv",
            Self::NeighborAllgather => "MPI_Neighbor_allgather",
            Self::NeighborAllgatherv => "MPI_Neighbor_allgatherv",
            Self::NeighborAlltoall => "MPI_Neighbor_alltoall",
            Self::NeighborAlltoallv => "MPI_Neighbor_alltoallv",
            Self::ProcNull => "a collective function with the root MPI_PROC_NULL",
        }
    }

    /// The operation in settings, if the function has a form in shared memory.
    #[inline]
    pub(crate) fn shared_operation(self) -> Option<CollectiveOperation> {
        Some(match self {
            Self::Barrier => CollectiveOperation::Barrier,
            Self::Bcast => CollectiveOperation::Bcast,
            Self::Gather => CollectiveOperation::Gather,
            Self::Scatter => CollectiveOperation::Scatter,
            Self::Allgather => CollectiveOperation::Allgather,
            Self::Allgatherv => CollectiveOperation::Allgatherv,
            Self::Alltoall => CollectiveOperation::Alltoall,
            Self::Reduce => CollectiveOperation::Reduce,
            Self::Allreduce => CollectiveOperation::Allreduce,
            Self::ReduceScatterBlock | Self::ReduceScatter => CollectiveOperation::ReduceScatter,
            Self::Scan => CollectiveOperation::Scan,
            Self::Exscan => CollectiveOperation::Exscan,
            Self::Gatherv => CollectiveOperation::Gatherv,
            Self::Scatterv => CollectiveOperation::Scatterv,
            Self::Alltoallv => CollectiveOperation::Alltoallv,
            Self::NeighborAllgather
            | Self::NeighborAllgatherv
            | Self::NeighborAlltoall
            | Self::NeighborAlltoallv
            | Self::ProcNull => return None,
        })
    }

    /// Whether one rank is the root.
    pub(crate) fn is_rooted(self) -> bool {
        matches!(
            self,
            Self::Bcast
                | Self::Gather
                | Self::Gatherv
                | Self::Scatter
                | Self::Scatterv
                | Self::Reduce
        )
    }
}
