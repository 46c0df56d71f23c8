//! Collective operations between the two groups of an intercommunicator (MPI 5.0 §6.2.3).
//!
//! Each group receives the other group's data. An operation consists of algorithms for one group: a
//! phase inside the groups, each led by its rank 0, a round between them, and another phase inside.
//!
//! ```text
//!   side 0     0   1   2                 3   4     side 1
//!              ◄───┘   │      leaders    ◄───┘     1: reduce, gather
//!              ◄───────┘ ◄─────────────► │         2: exchange
//!              └───►───►                 └───►     3: broadcast, scatter
//! ```
//!
//! Ranks are ranks among the members of both groups, as [`InterShape`] numbers them; this includes
//! roots. The other processes of the root's group take no part in its operation. Buffers are those
//! of the operations inside a group, with a block for each rank of the *other* group in gather,
//! scatter, allgather and alltoall. No operation is in place.

mod allgather;
mod alltoall;
mod barrier;
mod bcast;
mod gather;
mod reduce;
mod scatter;

pub use allgather::{allgather, allgatherv};
pub use alltoall::{alltoall, alltoallv};
pub(crate) use barrier::barrier;
pub use bcast::bcast;
pub use gather::{gather, gatherv};
pub use reduce::{allreduce, reduce, reduce_scatter};
pub use scatter::{scatter, scatterv};

use super::{Allreduce, Bcast, Collective, InterShape, Reduce, Rooted, Shape};
use crate::mpi::collective::selection::Selection;
use crate::mpi::collective::selection::registry::BCAST;
use crate::offload::Schedule;

/// Maximum number of bytes sent between two groups in one message; an estimate.
const VIA_LEADER_MAX_BYTES: usize = 32 * 1024;

/// Path of bytes from one group to the other.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum InterRoute {
    /// In one message from leader to leader, or from a root to the leader.
    ViaLeader,
    /// Directly: each block in its own message, or as if a root were a member of the other group.
    Direct,
}

impl InterRoute {
    /// The path for `bytes` bytes of all ranks.
    pub(crate) fn of(bytes: usize) -> Self {
        if bytes <= VIA_LEADER_MAX_BYTES { Self::ViaLeader } else { Self::Direct }
    }
}

/// A collective operation between two groups. Roots are members.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub enum InterCollective {
    /// `MPI_Barrier`.
    Barrier,
    /// `MPI_Bcast`.
    Bcast(Bcast),
    /// `MPI_Gather`.
    Gather(Rooted),
    /// `MPI_Scatter`.
    Scatter(Rooted),
    /// `MPI_Allgather`, with the block length that each process of a side sends.
    Allgather([usize; 2]),
    /// `MPI_Alltoall`, with the block length that each process of a side sends.
    Alltoall([usize; 2]),
    /// `MPI_Reduce`.
    Reduce(Reduce),
    /// `MPI_Allreduce`.
    Allreduce(Allreduce),
}

impl InterCollective {
    /// The operation with these arguments, if it is defined between groups with the same arguments.
    pub(crate) fn of(collective: Collective) -> Option<Self> {
        Some(match collective {
            Collective::Barrier => Self::Barrier,
            Collective::Bcast(args) => Self::Bcast(args),
            Collective::Gather(args) => Self::Gather(args),
            Collective::Scatter(args) => Self::Scatter(args),
            Collective::Reduce(args) => Self::Reduce(args),
            Collective::Allreduce(args) => Self::Allreduce(args),
            Collective::Allgather(_)
            | Collective::Alltoall(_)
            | Collective::ReduceScatterBlock(_)
            | Collective::Scan(_)
            | Collective::Exscan(_) => return None,
        })
    }

    /// Schedule of `rank` in this operation, by the selected algorithms.
    pub fn schedule(self, by: &Selection, shape: InterShape, rank: u32) -> Schedule {
        let view = InterView::new(shape, rank);
        let across = |root| view.direct_group(root).shape;
        let led = |args: Rooted| {
            let blocks = across(args.root).ranks - 1;
            InterRoute::of(args.block.saturating_mul(blocks as usize))
        };
        let inside = |shape, rank, args| by.schedule_in_group(&BCAST, shape, rank, args);
        match self {
            Self::Barrier => barrier(shape, rank),
            Self::Bcast(args) => bcast(shape, rank, args, InterRoute::of(args.bytes), &inside),
            Self::Gather(args) => gather(shape, rank, args, led(args)),
            Self::Scatter(args) => scatter(shape, rank, args, led(args)),
            Self::Allgather(blocks) => {
                let all = |side: usize| blocks[side].saturating_mul(shape.sizes[side] as usize);
                allgather(
                    shape,
                    rank,
                    blocks,
                    [InterRoute::of(all(0)), InterRoute::of(all(1))],
                    &inside,
                )
            }
            Self::Alltoall(blocks) => alltoall(shape, rank, blocks),
            Self::Reduce(args) => reduce(shape, rank, args),
            Self::Allreduce(args) => allreduce(shape, rank, args, &inside),
        }
    }
}

/// An intercommunicator from the point of view of one member.
#[derive(Clone, Copy, Debug)]
struct InterView {
    shape: InterShape,
    /// This process's rank among the members.
    rank: u32,
}

impl InterView {
    fn new(shape: InterShape, rank: u32) -> Self {
        Self { shape, rank }
    }

    /// The side of a member.
    fn side_of(self, member: u32) -> usize {
        usize::from(member >= self.shape.sizes[0])
    }

    fn side(self) -> usize {
        self.side_of(self.rank)
    }

    /// Whether a member is in the other group.
    fn is_remote(self, member: u32) -> bool {
        self.side_of(member) != self.side()
    }

    fn local(self) -> Shape {
        Shape { ranks: self.shape.sizes[self.side()] }
    }

    fn remote(self) -> Shape {
        Shape { ranks: self.shape.sizes[1 - self.side()] }
    }

    /// This process's rank in its group.
    fn local_rank(self) -> u32 {
        self.rank - self.member(self.side(), 0)
    }

    /// The member with this rank in the own group.
    fn local_member(self, rank: u32) -> u32 {
        self.member(self.side(), rank)
    }

    /// The member with this rank in the other group.
    fn remote_member(self, rank: u32) -> u32 {
        self.member(1 - self.side(), rank)
    }

    /// Whether this is rank 0 of its group.
    fn is_leader(self) -> bool {
        self.local_rank() == 0
    }

    /// The larger group.
    fn larger(self) -> Shape {
        Shape { ranks: self.shape.sizes[0].max(self.shape.sizes[1]) }
    }

    fn member(self, side: usize, rank: u32) -> u32 {
        if side == 0 { rank } else { self.shape.sizes[0] + rank }
    }

    /// Ranks of a direct operation with a root: rank 0 is `root`, the others are the group opposite
    /// to it.
    fn direct_group(self, root: u32) -> DirectGroup {
        let side = 1 - self.side_of(root);
        let first = self.member(side, 0);
        let rank = if self.rank == root { 0 } else { 1 + self.local_rank() };
        DirectGroup { root, first, rank, shape: Shape { ranks: 1 + self.shape.sizes[side] } }
    }
}

/// A root and the group opposite to it, as one group.
#[derive(Clone, Copy, Debug)]
struct DirectGroup {
    root: u32,
    /// The member that is rank 1.
    first: u32,
    /// The rank of this process.
    rank: u32,
    shape: Shape,
}

impl DirectGroup {
    fn member(self, rank: u32) -> u32 {
        if rank == 0 { self.root } else { self.first + rank - 1 }
    }
}
