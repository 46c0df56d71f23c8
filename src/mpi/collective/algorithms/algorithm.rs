//! What an algorithm is to those who choose among several: a name, what it costs, and the schedule
//! that it makes.
//!
//! Each file of an algorithm has a constant of type [`Algorithm`], named after its operation if it
//! serves several; [`registry`](crate::mpi::collective::selection::registry) lists them. The text of the file states the same
//! cost in words. `tests/schedules/costs.rs` compares what is claimed with the schedules of all
//! ranks, for every algorithm that is listed.

use super::{
    Allreduce, Bcast, BlockPairs, RankBlocks, Reduce, ReduceScatter, Rooted, RootedBlocks, Scan,
    Shape, UniformBlocks,
};
use crate::offload::Schedule;

/// One way to do a collective operation with arguments of type `A`.
pub struct Algorithm<A: Arguments> {
    /// What it is called in settings: lower-case words joined by `_`.
    pub name: &'static str,
    /// What it does, in a few words without a full stop.
    pub about: &'static str,
    /// Whether it can do this at all.
    pub fits: fn(Shape, A::Borrowed<'_>) -> bool,
    /// What it costs.
    pub cost: fn(Shape, A::Borrowed<'_>) -> Cost,
    /// The part of a rank.
    pub schedule: fn(Shape, u32, A::Borrowed<'_>) -> Schedule,
    /// The same with segments of a given length, if it cuts what it moves.
    pub segmented: Option<Segmented<A>>,
}

/// An algorithm that cuts what it moves into segments, with their length as last argument: bytes,
/// whole elements, at least 1.
pub struct Segmented<A: Arguments> {
    /// What it costs.
    pub cost: fn(Shape, A::Borrowed<'_>, usize) -> Cost,
    /// The part of a rank.
    pub schedule: fn(Shape, u32, A::Borrowed<'_>, usize) -> Schedule,
}

/// What a call costs on the rank for which that is most, each number on its own.
///
/// *Bytes* and *reduced* are the larger of two sums: over all steps of the busiest rank, and over
/// all rounds of the longest step of the round. The first is most where a rank meets many others
/// (a root that receives from all), the second where bytes travel on through many ranks (a chain).
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct Cost {
    /// Rounds of messages ([`Schedule::rounds`]).
    pub rounds: u64,
    /// Messages that a rank sends, or that it receives.
    pub messages: u64,
    /// Bytes that a rank sends, or that it receives; or that pass one after the other.
    pub bytes: u64,
    /// Bytes that a rank reduces; or that are reduced one after the other.
    pub reduced: u64,
    /// Bytes that a rank copies.
    pub copied: u64,
}

impl Cost {
    /// Of a call in which nobody has anything to do.
    pub const ZERO: Self = Self { rounds: 0, messages: 0, bytes: 0, reduced: 0, copied: 0 };

    /// Of a call in which each rank copies `bytes` bytes at most.
    pub(crate) fn of_copy(bytes: u64) -> Self {
        Self { copied: bytes, ..Self::ZERO }
    }
}

/// How a message is cut: all segments but the last have one length.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Segments {
    /// How many there are.
    pub(crate) count: u64,
    len: u64,
    last: u64,
}

impl Segments {
    /// `bytes` bytes in segments of `segment`.
    pub(crate) fn of(bytes: usize, segment: usize) -> Self {
        let count = bytes.div_ceil(segment);
        let last = bytes - count.saturating_sub(1) * segment;
        Self { count: count as u64, len: segment.min(bytes) as u64, last: last as u64 }
    }

    /// The rounds of a pipeline in which each segment makes `hops` hops.
    pub(crate) fn rounds(self, hops: u64) -> u64 {
        if self.count == 0 || hops == 0 { 0 } else { self.count - 1 + hops }
    }

    /// The bytes that pass one after the other in that pipeline.
    pub(crate) fn bytes(self, hops: u64) -> u64 {
        match self.rounds(hops) {
            0 => 0,
            rounds => (rounds - 1) * self.len + self.last,
        }
    }
}

/// What a choice may depend on.
pub trait AgreedArguments: Copy {
    /// These arguments without what may differ between ranks: not in place, where ranks may differ
    /// in that; no lengths, where one rank alone knows them.
    fn agreed(self) -> Self;
}

/// Arguments of a collective operation, apart from how long what they borrow lives.
pub trait Arguments {
    /// These arguments, borrowed for so long.
    type Borrowed<'a>: AgreedArguments;
}

/// A barrier has no arguments.
impl AgreedArguments for () {
    fn agreed(self) -> Self {}
}

impl AgreedArguments for Bcast {
    fn agreed(self) -> Self {
        self
    }
}

impl AgreedArguments for Rooted {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
}

impl AgreedArguments for RootedBlocks<'_> {
    fn agreed(self) -> Self {
        Self { own: 0, blocks: &[], root: self.root, in_place: false }
    }
}

impl AgreedArguments for UniformBlocks {
    fn agreed(self) -> Self {
        self
    }
}

impl AgreedArguments for RankBlocks<'_> {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
}

impl AgreedArguments for BlockPairs<'_> {
    fn agreed(self) -> Self {
        Self { send: &[], receive: &[], in_place: self.in_place }
    }
}

impl AgreedArguments for Reduce {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
}

impl AgreedArguments for Allreduce {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
}

impl AgreedArguments for ReduceScatter<'_> {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
}

impl AgreedArguments for Scan {
    fn agreed(self) -> Self {
        Self { in_place: false, ..self }
    }
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
    }
}
