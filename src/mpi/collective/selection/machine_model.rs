//! What moving and reducing bytes takes on a kind of machine.
//!
//! The model is that of Hockney, "The communication challenge for MPP: Intel Paragon and Meiko
//! CS-2", Parallel Computing 20(3), 1994, with a term for the work of each message (the `o` of
//! LogP) and two for work on bytes in memory. Times are picoseconds in whole numbers, so that all
//! ranks come to the same result.

use crate::mpi::collective::algorithms::algorithm::Cost;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MachineModel {
    /// What it is.
    pub name: &'static str,
    /// From the start of a send to the end of its receive, without bytes.
    pub round_ps: u64,
    /// The work of one more message that overlaps with others.
    pub message_ps: u64,
    /// One more byte of a message.
    pub byte_ps: u64,
    /// One byte of a reduction.
    pub reduced_ps: u64,
    /// One byte of a copy inside a rank.
    pub copied_ps: u64,
    /// From so many bytes for a rank on, a message that is read where it lies is faster than data
    /// that are copied into shared memory and out again.
    pub long_bytes: usize,
    /// How often a call in a room that has just begun looks for what it lacks before it waits like
    /// any other.
    pub spins_max: u32,
}

// The figures are those of `scripts/bench-machine` on a virtual machine with 2 processors, the best
// of many short runs. In a crowd they leave out that ranks share processors, which any algorithm
// suffers from.

/// Shared memory, and a processor for each rank.
pub const SHARED: MachineModel = MachineModel {
    name: "shared memory, a processor for each rank",
    round_ps: 200_000,
    message_ps: 110_000,
    byte_ps: 53,
    reduced_ps: 22,
    copied_ps: 18,
    long_bytes: 64 << 10,
    // Less than half a microsecond. Ranks that come at the same time miss each other by less, and
    // one that must wait for longer does not notice.
    spins_max: 200,
};

/// Shared memory, and more ranks than processors: who waits must get a processor first.
pub const OVERSUBSCRIBED: MachineModel = MachineModel {
    name: "shared memory, more ranks than processors",
    round_ps: 1_400_000,
    message_ps: 190_000,
    byte_ps: 67,
    reduced_ps: 23,
    copied_ps: 20,
    // Each message wants a turn of its receiver: rooms, with few turns, stay ahead.
    long_bytes: usize::MAX,
    // Who is missing has no processor.
    spins_max: 0,
};

/// A network of the usual kind: 2 µs, 10 GB/s. A guess until there is a device for one.
pub const NETWORK: MachineModel =
    MachineModel { name: "a network", round_ps: 2_000_000, message_ps: 400_000, ..SHARED };

/// Those of one node.
pub const MACHINES: [MachineModel; 2] = [SHARED, OVERSUBSCRIBED];

impl MachineModel {
    /// How long a call takes that costs so much.
    pub fn time_ps(&self, cost: Cost) -> u64 {
        let terms = [
            (cost.rounds, self.round_ps),
            (cost.messages, self.message_ps),
            (cost.bytes, self.byte_ps),
            (cost.reduced, self.reduced_ps),
            (cost.copied, self.copied_ps),
        ];
        terms
            .into_iter()
            .fold(0, |sum, (amount, each)| sum.saturating_add(amount.saturating_mul(each)))
    }
}
