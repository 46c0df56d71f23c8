//! Collective operations in memory that the ranks share, without messages.
//!
//! The one primitive is the *round*: each rank may publish one entry in the shared segment
//! ([`SharedSegment`](crate::shared_memory::segment::SharedSegment)) and read the entries of the others.
//! A call takes a number of rounds (`segmentation`); `transfer` fills and reads the entries of a round.
//! [`SharedCollective`] executes a call: it never blocks and allocates nothing, is polled until the call
//! has completed, and publishes ahead of the round that it reads, so that ranks work at the same time.
//!
//! ```text
//!            round 0       round 1       round 2
//! rank 0     publish ────► publish ────► publish          as far ahead as the segment and the
//!               \             \                           operation allow
//! rank 1         read  ──────► read ───────► read         in order
//! ```
//!
//! | operation | publishes | reads | an entry holds |
//! |---|---|---|---|
//! | barrier | all | all | nothing |
//! | bcast | root | the others | a piece of the message |
//! | gather, reduce | the others | root | a piece |
//! | gatherv | the others | root | the block, unless it is long (`blocks`) |
//! | scatterv | root | the others | each block, unless it is long |
//! | alltoallv | all | all | each block, unless it is long |
//! | allgather(v), scan, exscan, short allreduce | all | all | a piece |
//! | scatter | root | the others | a piece of each block |
//! | alltoall, reduce-scatter | all | all | a piece of each block |
//! | long allreduce | all | all | a part of a piece for each rank; in the place of the own part, the result of an earlier piece |
//!
//! Operands are combined in the order of ranks, the last one first, whatever the order of arrival; so
//! results are equal on all ranks to the last bit. Functions of the application are never called here:
//! their reductions run as schedules.
//!
//! **Agreement.** The segmentation of a call depends on its function, the number of ranks, the bytes
//! that are equal on all of them, and the element of a reduction. Each entry names its call. A rank that
//! finds another call than its own fails, and both ranks leave the segment as far as the longer call
//! would have.

mod blocks;
mod execution;
pub(crate) mod polling;
mod segmentation;
mod transfer;

pub use execution::SharedCollective;
