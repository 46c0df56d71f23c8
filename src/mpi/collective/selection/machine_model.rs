//! Time of communication and reduction on a kind of machine.
//!
//! The model is that of Hockney, "The communication challenge for MPP: Intel Paragon and Meiko
//! CS-2", Parallel Computing 20(3), 1994, with a term for the work per message (the `o` of LogP)
//! and two terms for work on bytes in memory. Times are integers in picoseconds, so that all ranks
//! compute equal results.

use crate::mpi::collective::algorithms::algorithm::Cost;
use crate::mpi::collective::selection::registry::CollectiveOperation;

/// A kind of machine.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct MachineModel {
    /// Name of the kind of machine.
    pub name: &'static str,
    /// Time from the start of a send to the end of its receive, without bytes.
    pub round_ps: u64,
    /// What a round takes longer if its messages are long ([`LONG_MESSAGE_BYTES`]): they wait for their
    /// receives.
    pub long_round_ps: u64,
    /// Time of each further message that overlaps with others.
    pub message_ps: u64,
    /// Time of each further byte of a message.
    pub byte_ps: u64,
    /// Time of one byte of a reduction.
    pub reduced_ps: u64,
    /// Time of one byte of a copy inside a rank.
    pub copied_ps: u64,
    /// Calls that are faster by messages although the ranks share memory, by operation.
    pub long_calls: &'static LongCalls,
    /// The longest block of a gatherv, scatterv or alltoallv that goes through shared memory, in bytes.
    pub entry_block_max: usize,
    /// Number of polls of the shared segment at the start of a call, before the call waits like any
    /// other.
    pub spins_max: u32,
}

/// The calls of an operation that are faster by messages than through shared memory: those with so many
/// bytes ([`CallSize::bytes`](super::rules::CallSize)) or more, on so many ranks or fewer.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash)]
pub struct LongCall {
    /// The fewest bytes.
    pub bytes: usize,
    /// The most ranks.
    pub ranks: u32,
}

impl LongCall {
    /// Whether it has this size.
    #[inline]
    pub fn has(self, bytes: usize, ranks: u32) -> bool {
        bytes >= self.bytes && ranks <= self.ranks
    }
}

/// By operation.
pub type LongCalls = [LongCall; CollectiveOperation::ALL.len()];

/// A message with more bytes than this, in the mean of a call, is long.
const LONG_MESSAGE_BYTES: u64 = 12 << 10;

/// No call of the operation is long.
const NEVER: LongCall = LongCall { bytes: usize::MAX, ranks: 0 };

/// The long calls of some operations: from so many bytes, up to so many ranks.
const fn long_calls(known: &[(CollectiveOperation, usize, u32)]) -> LongCalls {
    let mut all = [NEVER; CollectiveOperation::ALL.len()];
    let mut index = 0;
    while index < known.len() {
        let (operation, bytes, ranks) = known[index];
        all[operation as usize] = LongCall { bytes, ranks };
        index += 1;
    }
    all
}

/// Two copies through shared memory take longer than one message that is read in place, where each rank has a
/// processor. Of reductions, this is known of two ranks only: in shared memory, each of more ranks reduces a part.
const LONG_CALLS: LongCalls = {
    use CollectiveOperation::*;
    const ANY: u32 = u32::MAX;
    long_calls(&[
        (Bcast, 64 << 10, ANY),
        (Gather, 16 << 10, ANY),
        (Scatter, 16 << 10, ANY),
        (Allgather, 32 << 10, ANY),
        (Allgatherv, 32 << 10, ANY),
        (Alltoall, 32 << 10, ANY),
        (Allreduce, 16 << 10, 2),
        (ReduceScatter, 64 << 10, 2),
        (Scan, 256 << 10, 2),
        (Exscan, 32 << 10, 2),
    ])
};

/// Each message needs a time slice of its receiver, and the collectives through shared memory need fewer of them.
/// But they copy each block twice that only one rank reads.
const LONG_CALLS_OVERSUBSCRIBED: LongCalls = {
    use CollectiveOperation::*;
    const ANY: u32 = u32::MAX;
    long_calls(&[(Gather, 128 << 10, ANY), (Scatter, 8 << 10, ANY), (Alltoall, 32 << 10, ANY)])
};

// The figures are from `scripts/bench-machine` on a virtual machine with 2 processors, the best of
// many short runs. For oversubscribed ranks they exclude the sharing of processors, which slows all
// algorithms.

/// Shared memory, with a processor for each rank.
pub const SHARED: MachineModel = MachineModel {
    name: "shared memory, a processor for each rank",
    round_ps: 200_000,
    long_round_ps: 2_000_000,
    message_ps: 110_000,
    byte_ps: 53,
    reduced_ps: 22,
    copied_ps: 18,
    long_calls: &LONG_CALLS,
    entry_block_max: 8 << 10,
    // Less than half a microsecond: simultaneous ranks arrive within less, and for a longer wait
    // the polls do not matter.
    spins_max: 200,
};

/// Shared memory, with more ranks than processors: a waiting rank must first get a processor.
pub const OVERSUBSCRIBED: MachineModel = MachineModel {
    name: "shared memory, more ranks than processors",
    round_ps: 1_400_000,
    long_round_ps: 2_000_000,
    message_ps: 190_000,
    byte_ps: 67,
    reduced_ps: 23,
    copied_ps: 20,
    long_calls: &LONG_CALLS_OVERSUBSCRIBED,
    entry_block_max: usize::MAX,
    // A missing rank has no processor.
    spins_max: 0,
};

/// TCP between two ranks of a host (`SUIRO_DEVICE=tcp`): no wire, so the least that a network costs. A
/// message takes a system call on both sides, whatever overlaps with it.
pub const NETWORK: MachineModel = MachineModel {
    name: "a network",
    round_ps: 4_500_000,
    long_round_ps: 0,
    message_ps: 4_500_000,
    byte_ps: 160,
    ..SHARED
};

/// A link between clusters, of 100 Mbit/s and a few milliseconds: what IMPI's clients are joined by. Where
/// it is faster, fewer crossings are right all the same, if they are not the only cost.
pub const WIDE_AREA: MachineModel = MachineModel {
    name: "a link between clusters",
    round_ps: 5_000_000_000,
    long_round_ps: 0,
    message_ps: 100_000_000,
    byte_ps: 80_000,
    ..SHARED
};

/// Another MPI library between two ranks of a host (`SUIRO_DEVICE=vendor`), which copies short messages through
/// shared memory: some calls of the library for each message.
pub const LIBRARY: MachineModel = MachineModel {
    name: "another MPI library",
    round_ps: 700_000,
    long_round_ps: 0,
    message_ps: 500_000,
    byte_ps: 160,
    ..SHARED
};

/// The models of one node.
pub const MACHINES: [MachineModel; 2] = [SHARED, OVERSUBSCRIBED];

/// Whether long calls of `operation` are faster by messages on some node although the ranks share memory.
pub fn has_long_calls(operation: CollectiveOperation) -> bool {
    MACHINES.iter().any(|machine| machine.long_calls[operation as usize] != NEVER)
}

impl MachineModel {
    /// Estimated time of a call with this cost.
    pub fn time_ps(&self, cost: Cost) -> u64 {
        let is_long = cost.bytes > cost.messages.saturating_mul(LONG_MESSAGE_BYTES);
        let terms = [
            (cost.rounds, self.round_ps + if is_long { self.long_round_ps } else { 0 }),
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
