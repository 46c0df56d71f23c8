//! Collectives of ranks that share memory: through a room, without messages.
//!
//! The one primitive is the *round*: each rank may publish one entry in a room of the device, and
//! read what the others published. A collective is a number of rounds, cut from its bytes (`segmentation`),
//! and what goes into and comes out of the entries of each (`transfer`). [`SharedCollective`] drives it: it
//! never blocks and allocates nothing, is asked again until it is over, and publishes ahead of what
//! it reads, so that ranks work at the same time.
//!
//! ```text
//!            round 0       round 1       round 2
//! rank 0     publish ────> publish ────> publish          as far ahead as the room and the
//!               \             \                           operation allow
//! rank 1         read  ──────> read ───────> read         in order
//! ```
//!
//! | operation | publishes | reads | an entry has |
//! |---|---|---|---|
//! | barrier | all | all | nothing |
//! | bcast | root | the others | a piece |
//! | gather, reduce | the others | root | a piece |
//! | allgather(v), scan, exscan, short allreduce | all | all | a piece |
//! | scatter | root | the others | a piece of each block |
//! | alltoall, reduce-scatter | all | all | a piece of each block |
//! | long allreduce | all | all | a part of a piece for each rank, of which the own one is the result of an earlier piece |
//!
//! Operands are combined in the order of ranks, the last one first, whoever comes when; so results
//! are equal on all ranks to the last bit. Functions of the application are never called here:
//! their reductions are schedules.
//!
//! **Agreement.** How a call is cut depends on its kind, the ranks, the bytes that are equal on all
//! of them, and the element of a reduction. Each entry says what call it belongs to: who finds
//! another one than its own fails, and both leave the room as far as the longer call would have.

pub(crate) mod running;
mod segmentation;
mod shared_collective;
mod transfer;

pub use shared_collective::SharedCollective;

use crate::engine::memory::Memory;
use crate::mpi::op::Combination;

/// A collective operation that a room can carry.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
#[repr(u8)]
pub enum SharedOperation {
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
}

impl SharedOperation {
    const ALL: [Self; 13] = [
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
    ];

    /// What an entry calls it.
    fn from_value(value: u8) -> Option<Self> {
        Self::ALL.into_iter().find(|kind| *kind as u8 == value)
    }

    /// The function of MPI.
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
        }
    }

    /// Whether one rank is the root.
    fn is_rooted(self) -> bool {
        matches!(self, Self::Bcast | Self::Gather | Self::Scatter | Self::Reduce)
    }
}

/// The arguments of an operation on this rank, as packed streams of bytes.
#[derive(Debug)]
pub struct SharedArguments {
    kind: SharedOperation,
    /// 0 where there is none.
    root: u32,
    /// Of a message or one rank's block; with a block length for each rank, of all blocks.
    bytes: usize,
    /// What this rank gives; where it is in place, an alias of where the result goes.
    send: Memory,
    /// Where what this rank gives begins in that.
    send_offset: usize,
    /// Where the result goes, or what is received.
    receive: Memory,
    /// The same block by block, where each is memory of its own.
    receive_blocks: Vec<Memory>,
    /// Where the block for each rank begins, and the end of the last, where their lengths differ.
    block_offsets: Vec<usize>,
    /// Whether the own block stays where it is.
    in_place: bool,
    /// How operands are combined.
    combination: Option<Combination>,
    /// Length of one element of a reduction.
    element_bytes: usize,
}

impl SharedArguments {
    /// Nothing to give and nothing to take.
    pub(crate) const EMPTY: Self = Self {
        kind: SharedOperation::Barrier,
        root: 0,
        bytes: 0,
        send: Memory::EMPTY,
        send_offset: 0,
        receive: Memory::EMPTY,
        receive_blocks: Vec::new(),
        block_offsets: Vec::new(),
        in_place: false,
        combination: None,
        element_bytes: 1,
    };

    /// `MPI_Barrier`.
    pub fn barrier() -> Self {
        Self::EMPTY
    }

    /// `MPI_Bcast` of this buffer.
    pub fn bcast(root: u32, buffer: Memory) -> Self {
        Self {
            kind: SharedOperation::Bcast,
            root,
            bytes: buffer.len(),
            receive: buffer,
            ..Self::EMPTY
        }
    }

    /// `MPI_Gather` of blocks of `block` bytes. Memory that is `None` stays, or is not significant.
    pub fn gather(root: u32, block: usize, send: Option<Memory>, receive: Option<Memory>) -> Self {
        let in_place = send.is_none();
        let (send, receive) = (or_empty(send), or_empty(receive));
        Self {
            kind: SharedOperation::Gather,
            root,
            bytes: block,
            send,
            receive,
            in_place,
            ..Self::EMPTY
        }
    }

    /// `MPI_Scatter` of blocks of `block` bytes. Memory that is `None` stays, or is not
    /// significant.
    pub fn scatter(root: u32, block: usize, send: Option<Memory>, receive: Option<Memory>) -> Self {
        let in_place = receive.is_none();
        let (send, receive) = (or_empty(send), or_empty(receive));
        Self {
            kind: SharedOperation::Scatter,
            root,
            bytes: block,
            send,
            receive,
            in_place,
            ..Self::EMPTY
        }
    }

    /// `MPI_Allgather` of blocks of `block` bytes by this rank.
    pub fn allgather(rank: u32, block: usize, send: Option<Memory>, receive: Memory) -> Self {
        let in_place = send.is_none();
        let send_offset = if in_place { rank as usize * block } else { 0 };
        let send = send.unwrap_or_else(|| receive.alias());
        Self {
            kind: SharedOperation::Allgather,
            bytes: block,
            send,
            send_offset,
            receive,
            in_place,
            ..Self::EMPTY
        }
    }

    /// `MPI_Allgatherv` by this rank.
    pub fn allgatherv(rank: u32, send: Option<Memory>, receive_blocks: Vec<Memory>) -> Self {
        let in_place = send.is_none();
        let send = send.unwrap_or_else(|| receive_blocks[rank as usize].alias());
        let bytes = receive_blocks.iter().map(Memory::len).sum();
        Self {
            kind: SharedOperation::Allgatherv,
            bytes,
            send,
            receive_blocks,
            in_place,
            ..Self::EMPTY
        }
    }

    /// `MPI_Alltoall` of blocks of `block` bytes.
    pub fn alltoall(block: usize, send: Option<Memory>, receive: Memory) -> Self {
        let in_place = send.is_none();
        let send = send.unwrap_or_else(|| receive.alias());
        Self {
            kind: SharedOperation::Alltoall,
            bytes: block,
            send,
            receive,
            in_place,
            ..Self::EMPTY
        }
    }

    /// `MPI_Reduce`. Adjacent memory; `None` stays, or is not significant.
    pub fn reduce(
        root: u32, send: Option<Memory>, receive: Option<Memory>, combine: Combination, unit: usize,
    ) -> Self {
        let take = or_empty(receive);
        let give = send.unwrap_or_else(|| take.alias());
        let bytes = give.len();
        Self { root, ..Self::reduction(SharedOperation::Reduce, bytes, give, take, combine, unit) }
    }

    /// `MPI_Allreduce`, `MPI_Scan` or `MPI_Exscan` of adjacent memory.
    pub fn reduction_of_all(
        kind: SharedOperation, send: Option<Memory>, take: Memory, combine: Combination,
        unit: usize,
    ) -> Self {
        let give = send.unwrap_or_else(|| take.alias());
        Self::reduction(kind, give.len(), give, take, combine, unit)
    }

    /// `MPI_Reduce_scatter_block` of `block` bytes of adjacent memory for each rank.
    pub fn reduce_scatter_block(
        rank: u32, block: usize, send: Option<Memory>, take: Memory, combine: Combination,
        unit: usize,
    ) -> Self {
        let give = send.unwrap_or_else(|| take.alias());
        let send_offset = rank as usize * block;
        let kind = SharedOperation::ReduceScatterBlock;
        Self { send_offset, ..Self::reduction(kind, block, give, take, combine, unit) }
    }

    /// `MPI_Reduce_scatter` of adjacent memory with `blocks[rank]` bytes for each rank.
    pub fn reduce_scatter(
        rank: u32, blocks: &[usize], send: Option<Memory>, take: Memory, combine: Combination,
        unit: usize,
    ) -> Self {
        let give = send.unwrap_or_else(|| take.alias());
        let mut block_offsets = vec![0];
        block_offsets.extend(blocks.iter().scan(0, |end, block| {
            *end += block;
            Some(*end)
        }));
        let (bytes, send_offset) = (block_offsets[blocks.len()], block_offsets[rank as usize]);
        let kind = SharedOperation::ReduceScatter;
        Self {
            block_offsets,
            send_offset,
            ..Self::reduction(kind, bytes, give, take, combine, unit)
        }
    }

    fn reduction(
        kind: SharedOperation, bytes: usize, send: Memory, receive: Memory, combine: Combination,
        element_bytes: usize,
    ) -> Self {
        Self {
            kind,
            bytes,
            send,
            receive,
            combination: Some(combine),
            element_bytes,
            ..Self::EMPTY
        }
    }

    /// Length of the block for or of `rank`, in operations with blocks.
    fn block(&self, rank: u32) -> usize {
        let rank = rank as usize;
        match self.kind {
            SharedOperation::Allgatherv => self.receive_blocks[rank].len(),
            SharedOperation::ReduceScatter => {
                self.block_offsets[rank + 1] - self.block_offsets[rank]
            }
            _ => self.bytes,
        }
    }

    /// Where the block for or of `rank` begins.
    fn start(&self, rank: u32) -> usize {
        match self.kind {
            SharedOperation::ReduceScatter => self.block_offsets[rank as usize],
            _ => rank as usize * self.bytes,
        }
    }

    /// The longest block, or the message.
    fn longest_block(&self) -> usize {
        match self.kind {
            SharedOperation::Allgatherv => {
                self.receive_blocks.iter().map(Memory::len).max().unwrap_or(0)
            }
            SharedOperation::ReduceScatter => {
                self.block_offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
            }
            _ => self.bytes,
        }
    }
}

fn or_empty(memory: Option<Memory>) -> Memory {
    memory.unwrap_or(Memory::EMPTY)
}
