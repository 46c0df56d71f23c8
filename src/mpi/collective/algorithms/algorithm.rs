//! Description of an algorithm for the selection: name, cost and schedule.
//!
//! The file of each algorithm has a constant of type [`Algorithm`], named after its operation if
//! the file serves several operations. [`registry`](crate::mpi::collective::selection::registry)
//! lists the constants. The file's documentation states the same cost in words.
//! `tests/schedules/costs.rs` compares the stated costs with the schedules of all ranks, for every
//! listed algorithm.

use super::allreduce::extra_rounds::ExtraRounds;
use super::allreduce::redundant;
use super::{
    Allreduce, Bcast, BlockPairs, RankBlocks, Reduce, ReduceScatter, Rooted, RootedBlocks, Scan,
    Shape, UniformBlocks,
};
use crate::offload::Schedule;

/// An algorithm for a collective operation with arguments of type `A`.
pub struct Algorithm<A: Arguments> {
    /// Name in settings: lower-case words joined by `_`.
    pub name: &'static str,
    /// Short description, without a full stop.
    pub about: &'static str,
    /// Whether the algorithm supports this call.
    pub fits: fn(Shape, A::Borrowed<'_>) -> bool,
    /// Cost of a call.
    pub cost: fn(Shape, A::Borrowed<'_>) -> Cost,
    /// Schedule of a rank.
    pub schedule: fn(Shape, u32, A::Borrowed<'_>) -> Schedule,
    /// The segmented form, if the algorithm divides messages into segments.
    pub segmented: Option<Segmented<A>>,
}

/// The segmented form of an algorithm. The last argument is the segment length in bytes: whole
/// elements, at least 1.
pub struct Segmented<A: Arguments> {
    /// Cost of a call.
    pub cost: fn(Shape, A::Borrowed<'_>, usize) -> Cost,
    /// Schedule of a rank.
    pub schedule: fn(Shape, u32, A::Borrowed<'_>, usize) -> Schedule,
}

/// The form of an algorithm with extra rounds, which a setting names (`NAME:PARAMETERS`).
pub struct WithExtraRounds<A: Arguments> {
    /// Name of the algorithm.
    pub(crate) name: &'static str,
    /// Cost of a call.
    pub(crate) cost: fn(Shape, A::Borrowed<'_>, ExtraRounds) -> Cost,
    /// Schedule of a rank.
    pub(crate) schedule: fn(Shape, u32, A::Borrowed<'_>, ExtraRounds) -> Schedule,
}

/// Cost of a call. Each number is the maximum over the ranks.
///
/// *Bytes* and *reduced* are the larger of two sums: over all steps of the busiest rank, and over
/// all rounds of the longest step of the round. The first is larger where one rank communicates
/// with many (a root that receives from all), the second where bytes pass through many ranks (a
/// chain).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds of messages ([`Schedule::rounds`]).
    pub rounds: u64,
    /// Messages that a rank sends, or messages that it receives.
    pub messages: u64,
    /// Bytes that a rank sends or receives, or bytes that pass one after the other.
    pub bytes: u64,
    /// Bytes that a rank reduces, or bytes that are reduced one after the other.
    pub reduced: u64,
    /// Bytes that a rank copies.
    pub copied: u64,
}

impl Cost {
    /// Cost of an empty schedule.
    pub const ZERO: Self = Self { rounds: 0, messages: 0, bytes: 0, reduced: 0, copied: 0 };

    /// Cost of a call in which each rank copies at most `bytes` bytes.
    pub(crate) fn of_copy(bytes: u64) -> Self {
        Self { copied: bytes, ..Self::ZERO }
    }
}

/// Segments of a message: all segments except the last have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// Number of segments.
    pub(crate) count: u64,
    len: u64,
    last: u64,
}

impl Segments {
    /// Segments of length `segment` for `bytes` bytes.
    pub(crate) fn of(bytes: usize, segment: usize) -> Self {
        let count = bytes.div_ceil(segment);
        let last = bytes - count.saturating_sub(1) * segment;
        Self { count: count as u64, len: segment.min(bytes) as u64, last: last as u64 }
    }

    /// Rounds of a pipeline in which each segment makes `hops` hops.
    pub(crate) fn rounds(self, hops: u64) -> u64 {
        if self.count == 0 || hops == 0 { 0 } else { self.count - 1 + hops }
    }

    /// Bytes that pass one after the other in that pipeline.
    pub(crate) fn bytes(self, hops: u64) -> u64 {
        match self.rounds(hops) {
            0 => 0,
            rounds => (rounds - 1) * self.len + self.last,
        }
    }
}

/// Arguments that the selection may depend on.
pub trait AgreedArguments: Copy {
    /// These arguments without values that may differ between ranks: the in-place flag where ranks
    /// may differ in it, and lengths that only one rank knows.
    fn agreed(self) -> Self;

    /// Bytes by which rules select: of the message, of an operand, or of a block. Where blocks differ, it is
    /// their mean; where not all ranks know the lengths, and in a barrier, there is none.
    fn rule_bytes(self) -> Option<usize>;
}

/// Arguments of a collective operation, independent of the lifetime of borrowed data.
pub trait Arguments: Sized {
    /// These arguments with lifetime `'a`.
    type Borrowed<'a>: AgreedArguments;

    /// The algorithm of the operation that has extra rounds, if one has.
    const WITH_EXTRA_ROUNDS: Option<WithExtraRounds<Self>> = None;
}

/// A barrier has no arguments.
impl AgreedArguments for () {
    fn agreed(self) -> Self {}

    fn rule_bytes(self) -> Option<usize> {
        None
    }
}

impl AgreedArguments for Bcast {
    fn agreed(self) -> Self {
        self
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.bytes)
    }
}

impl AgreedArguments for Rooted {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.block)
    }
}

impl AgreedArguments for RootedBlocks<'_> {
    fn agreed(self) -> Self {
        Self { own: 0, blocks: &[], root: self.root, in_place: false }
    }

    fn rule_bytes(self) -> Option<usize> {
        None
    }
}

impl AgreedArguments for UniformBlocks {
    fn agreed(self) -> Self {
        self
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.block)
    }
}

impl AgreedArguments for RankBlocks<'_> {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(mean(self.blocks))
    }
}

impl AgreedArguments for BlockPairs<'_> {
    fn agreed(self) -> Self {
        Self { send: &[], receive: &[], in_place: self.in_place }
    }

    fn rule_bytes(self) -> Option<usize> {
        None
    }
}

impl AgreedArguments for Reduce {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.operands.bytes)
    }
}

impl AgreedArguments for Allreduce {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.operands.bytes)
    }
}

impl AgreedArguments for ReduceScatter<'_> {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(mean(self.blocks))
    }
}

impl AgreedArguments for Scan {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }

    fn rule_bytes(self) -> Option<usize> {
        Some(self.operands.bytes)
    }
}

/// The mean length of blocks, rounded down.
fn mean(blocks: &[usize]) -> usize {
    blocks.iter().sum::<usize>() / blocks.len().max(1)
}

impl Arguments for () {
    type Borrowed<'a> = ();
}

impl Arguments for Bcast {
    type Borrowed<'a> = Self;
}

impl Arguments for Rooted {
    type Borrowed<'a> = Self;
}

impl Arguments for RootedBlocks<'_> {
    type Borrowed<'a> = RootedBlocks<'a>;
}

impl Arguments for UniformBlocks {
    type Borrowed<'a> = Self;
}

impl Arguments for RankBlocks<'_> {
    type Borrowed<'a> = RankBlocks<'a>;
}

impl Arguments for BlockPairs<'_> {
    type Borrowed<'a> = BlockPairs<'a>;
}

impl Arguments for Reduce {
    type Borrowed<'a> = Self;
}

impl Arguments for Allreduce {
    type Borrowed<'a> = Self;

    const WITH_EXTRA_ROUNDS: Option<WithExtraRounds<Self>> = Some(redundant::WITH_EXTRA_ROUNDS);
}

impl Arguments for ReduceScatter<'_> {
    type Borrowed<'a> = ReduceScatter<'a>;
}

impl Arguments for Scan {
    type Borrowed<'a> = Self;
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn segments_pass_one_after_the_other() {
        let segments = Segments::of(10, 4);
        assert_eq!(segments, Segments { count: 3, len: 4, last: 2 });
        assert_eq!((segments.rounds(1), segments.bytes(1)), (3, 10));
        assert_eq!((segments.rounds(3), segments.bytes(3)), (5, 18));
        assert_eq!((segments.rounds(0), segments.bytes(0)), (0, 0));
        assert_eq!((Segments::of(3, 4).rounds(2), Segments::of(3, 4).bytes(2)), (2, 6));
        assert_eq!((Segments::of(0, 4).rounds(2), Segments::of(0, 4).bytes(2)), (0, 0));
    }

    #[test]
    fn what_one_rank_alone_knows_is_not_agreed() {
        let blocks = &[1, 2];
        let args = RootedBlocks { own: 1, blocks, root: 1, in_place: true };
        let agreed = args.agreed();
        assert_eq!(agreed, RootedBlocks { own: 0, blocks: &[], root: 1, in_place: false });
        assert_eq!(args.rule_bytes(), None);
    }

    #[test]
    fn rules_see_the_mean_of_blocks() {
        assert_eq!(RankBlocks { blocks: &[1, 2, 5], in_place: false }.rule_bytes(), Some(2));
        assert_eq!(RankBlocks { blocks: &[], in_place: false }.rule_bytes(), Some(0));
    }
}
