//! Which algorithm runs: decided from what the standard makes equal on all ranks, and nothing else.
//!
//! Equal are the packed bytes of a message or block, the shape of the communicator, and whether the
//! operation commutes. Counts and datatypes are not, nor is `MPI_IN_PLACE` in rooted operations.

use super::*;

/// Up to this many bytes an allgather is a matter of rounds, above of bytes and copies.
///
/// Total over all ranks; a guess until the collectives are measured.
const ALLGATHER_BRUCK_MAX_BYTES: usize = 32 * 1024;

/// Up to this many bytes an allreduce is a matter of rounds; a guess as above.
const ALLREDUCE_DOUBLING_MAX_BYTES: usize = 8 * 1024;

/// Up to this many bytes a broadcast is sent in one piece; a guess as above.
const BCAST_WHOLE_MAX_BYTES: usize = 64 * 1024;

/// Length of a segment of a long broadcast: long enough to outweigh what a message costs, short
/// enough to stay in a second-level cache while it is passed on.
const BCAST_SEGMENT_BYTES: usize = 128 * 1024;

/// A message is cut into no more segments than this, as their numbers have 16 bits.
const BCAST_SEGMENTS_MAX: usize = 32 * 1024;

/// Up to this many ranks a chain is not too long a way.
const BCAST_CHAIN_MAX_RANKS: u32 = 16;

/// Up to so many bytes for each rank, reduce-scatter is a matter of rounds; a guess as above.
const REDUCE_SCATTER_HALVING_MAX_BYTES: usize = 4 * 1024;

/// Up to this many ranks, all pairs take no more rounds than halving, or one.
const REDUCE_SCATTER_PAIRWISE_RANKS: u32 = 4;

/// Length of a segment of a long scan; a guess as above.
const SCAN_SEGMENT_BYTES: usize = 32 * 1024;

/// A scan is cut into no more segments than this.
const SCAN_SEGMENTS_MAX: usize = 32 * 1024;

/// The numbers of rounds have 16 bits.
const SCAN_ROUNDS_MAX: usize = 64 * 1024;

/// Up to this many bytes cross between two groups in one message; a guess as above.
const LED_MAX_BYTES: usize = 32 * 1024;

/// How blocks get from one group to another.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Way {
    /// In one message, from leader to leader.
    Led,
    /// Each on its own.
    Straight,
}

impl Way {
    /// How `bytes` bytes of all ranks get to the other group.
    pub fn of(bytes: usize) -> Self {
        if bytes <= LED_MAX_BYTES { Self::Led } else { Self::Straight }
    }
}

/// How to broadcast.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum BcastBy {
    /// `bcast_binomial`, with segments of so many bytes.
    Binomial(usize),
    /// `bcast_chain`, with segments of so many bytes.
    Chain(usize),
}

/// How to broadcast `args.bytes` bytes.
pub fn bcast(shape: Shape, args: Bcast) -> BcastBy {
    let segment = BCAST_SEGMENT_BYTES.max(args.bytes.div_ceil(BCAST_SEGMENTS_MAX));
    if args.bytes <= BCAST_WHOLE_MAX_BYTES {
        BcastBy::Binomial(BCAST_WHOLE_MAX_BYTES)
    } else if shape.ranks <= BCAST_CHAIN_MAX_RANKS {
        BcastBy::Chain(segment)
    } else {
        BcastBy::Binomial(segment)
    }
}

impl BcastBy {
    /// The part of `rank`.
    pub fn schedule(self, shape: Shape, rank: u32, args: Bcast) -> Schedule {
        match self {
            Self::Binomial(segment) => bcast_binomial::schedule(shape, rank, args, segment),
            Self::Chain(segment) => bcast_chain::schedule(shape, rank, args, segment),
        }
    }
}

/// How to gather everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllgatherBy {
    /// `allgather_bruck`.
    Bruck,
    /// `allgather_ring`.
    Ring,
}

/// How to gather blocks of `args.block` bytes everywhere.
pub fn allgather(shape: Shape, args: Exchange) -> AllgatherBy {
    if args.block.saturating_mul(shape.ranks as usize) <= ALLGATHER_BRUCK_MAX_BYTES {
        AllgatherBy::Bruck
    } else {
        AllgatherBy::Ring
    }
}

impl AllgatherBy {
    /// The part of `rank`.
    pub fn schedule(self, shape: Shape, rank: u32, args: Exchange) -> Schedule {
        match self {
            Self::Bruck => allgather_bruck::schedule(shape, rank, args),
            Self::Ring => allgather_ring::schedule(shape, rank, args),
        }
    }
}

/// How to reduce everywhere.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum AllreduceBy {
    /// `allreduce_doubling`.
    Doubling,
    /// `allreduce_halving`.
    Halving,
}

/// How to reduce `args.operands` everywhere.
pub fn allreduce(shape: Shape, args: Allreduce) -> AllreduceBy {
    let Operands { bytes, element, .. } = args.operands;
    let elements = bytes / element;
    if bytes <= ALLREDUCE_DOUBLING_MAX_BYTES || elements < shape.ranks as usize {
        AllreduceBy::Doubling
    } else {
        AllreduceBy::Halving
    }
}

impl AllreduceBy {
    /// The part of `rank`.
    pub fn schedule(self, shape: Shape, rank: u32, args: Allreduce) -> Schedule {
        match self {
            Self::Doubling => allreduce_doubling::schedule(shape, rank, args),
            Self::Halving => allreduce_halving::schedule(shape, rank, args),
        }
    }
}

/// How to reduce and scatter.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ReduceScatterBy {
    /// `reduce_scatter_halving`.
    Halving,
    /// `reduce_scatter_pairwise`.
    Pairwise,
}

/// How to reduce and scatter `args.blocks`.
pub fn reduce_scatter(shape: Shape, args: ReduceScatter<'_>) -> ReduceScatterBy {
    let total = args.blocks.iter().fold(0usize, |total, block| total.saturating_add(*block));
    let is_short = total / args.blocks.len().max(1) <= REDUCE_SCATTER_HALVING_MAX_BYTES;
    if args.commutative && is_short && shape.ranks > REDUCE_SCATTER_PAIRWISE_RANKS {
        ReduceScatterBy::Halving
    } else {
        ReduceScatterBy::Pairwise
    }
}

impl ReduceScatterBy {
    /// The part of `rank`.
    pub fn schedule(self, shape: Shape, rank: u32, args: ReduceScatter<'_>) -> Schedule {
        match self {
            Self::Halving => reduce_scatter_halving::schedule(shape, rank, args),
            Self::Pairwise => reduce_scatter_pairwise::schedule(shape, rank, args),
        }
    }
}

/// How to scan.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ScanBy {
    /// `scan_doubling`.
    Doubling,
    /// `scan_chain`, with segments of so many bytes.
    Chain(usize),
}

/// How to scan `operands`, with or without the own one.
///
/// What counts is how many bytes pass one after the other: the operand in each round of a doubling,
/// a segment in each round of a chain.
pub fn scan(shape: Shape, operands: Operands) -> ScanBy {
    let Operands { bytes, element, .. } = operands;
    let segment = SCAN_SEGMENT_BYTES.max(bytes.div_ceil(SCAN_SEGMENTS_MAX));
    let segment = segment.next_multiple_of(element);
    let rounds = shape.ranks as usize + bytes.div_ceil(segment);
    let doubled = bytes.saturating_mul(shape.doublings() as usize);
    if rounds.saturating_mul(segment) < doubled && rounds < SCAN_ROUNDS_MAX {
        ScanBy::Chain(segment)
    } else {
        ScanBy::Doubling
    }
}

impl ScanBy {
    /// The part of `rank` in a scan.
    pub fn scan(self, shape: Shape, rank: u32, args: Scan) -> Schedule {
        match self {
            Self::Doubling => scan_doubling::scan(shape, rank, args),
            Self::Chain(segment) => scan_chain::scan(shape, rank, args, segment),
        }
    }

    /// The part of `rank` in an exscan.
    pub fn exscan(self, shape: Shape, rank: u32, args: Scan) -> Schedule {
        match self {
            Self::Doubling => scan_doubling::exscan(shape, rank, args),
            Self::Chain(segment) => scan_chain::exscan(shape, rank, args, segment),
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_fit_in_a_label() {
        let shape = Shape { ranks: 2 };
        let BcastBy::Chain(segment) = bcast(shape, Bcast { bytes: 1 << 40, root: 0 }) else {
            panic!("a chain was expected");
        };
        assert!((1_usize << 40) / segment <= BCAST_SEGMENTS_MAX);
    }

    #[test]
    fn long_elements_are_not_cut() {
        let operands = Operands { bytes: 1 << 20, element: 1 << 18, commutative: true };
        let args = Allreduce { operands, in_place: false };
        assert_eq!(allreduce(Shape { ranks: 8 }, args), AllreduceBy::Doubling);
        assert_eq!(allreduce(Shape { ranks: 4 }, args), AllreduceBy::Halving);
    }

    #[test]
    fn a_long_scan_is_a_chain_of_whole_elements() {
        let operands = |bytes, element| Operands { bytes, element, commutative: true };
        let by = |ranks, bytes, element| scan(Shape { ranks }, operands(bytes, element));
        assert_eq!(by(4, 64, 8), ScanBy::Doubling);
        assert_eq!(by(4, 1 << 20, 24), ScanBy::Chain(32784));
        assert_eq!(by(1 << 16, 1 << 40, 8), ScanBy::Doubling);
        let ScanBy::Chain(segment) = by(4, 1 << 40, 8) else { panic!("a chain was expected") };
        assert!((1_usize << 40).div_ceil(segment) <= SCAN_SEGMENTS_MAX);
    }
}
