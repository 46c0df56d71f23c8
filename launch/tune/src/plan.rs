//! What is measured: points (an operation and its bytes), and the algorithms that fit each of them.

use std::fmt;

use mpi_abi::mpi::collective::algorithms::Shape;
use mpi_abi::mpi::collective::algorithms::algorithm::Arguments;
use mpi_abi::mpi::collective::selection::machine_model;
use mpi_abi::mpi::collective::selection::registry::{
    AlgorithmFamily, CollectiveOperation, Visitor,
};

/// The setting for shared memory.
const SHARED: &str = "shared";

/// The form for several hosts, which is no algorithm of a family.
/// The longest buffer of a rank; points that need more are left out.
const BUFFER_BYTES_MAX: usize = 64 << 20;

/// Operations that are measured if none is named: those whose bytes all ranks know, and the barrier.
pub fn operations() -> Vec<CollectiveOperation> {
    let is_measured = |operation: &CollectiveOperation| {
        operation.has_agreed_bytes() || *operation == CollectiveOperation::Barrier
    };
    CollectiveOperation::ALL.into_iter().filter(is_measured).collect()
}

/// One call that is measured.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct TunedCall {
    /// The operation.
    pub operation: CollectiveOperation,
    /// Bytes of the message, the operand or the block, as in rules: whole doubles. 0 in a barrier.
    pub bytes: usize,
}

impl TunedCall {
    /// The calls of these operations with these lengths that `ranks` ranks have room for.
    pub fn all(operations: &[CollectiveOperation], bytes: &[usize], ranks: u32) -> Vec<Self> {
        let calls = operations.iter().flat_map(|operation| {
            let lengths: &[usize] = if operation.has_agreed_bytes() { bytes } else { &[0] };
            lengths.iter().map(|bytes| Self { operation: *operation, bytes: *bytes })
        });
        calls.filter(|call| call.buffer_bytes(ranks) <= BUFFER_BYTES_MAX).collect()
    }

    /// Bytes of the longest buffer of a rank.
    pub fn buffer_bytes(self, ranks: u32) -> usize {
        let blocks = match self.operation {
            CollectiveOperation::Gather
            | CollectiveOperation::Scatter
            | CollectiveOperation::Allgather
            | CollectiveOperation::Allgatherv
            | CollectiveOperation::Alltoall
            | CollectiveOperation::ReduceScatter => ranks as usize,
            _ => 1,
        };
        self.bytes.saturating_mul(blocks)
    }

    /// The call that [`TunedCall`] prints as `text`.
    pub fn parse(text: &str) -> Option<Self> {
        let (operation, bytes) = text.split_once(':')?;
        let operation = CollectiveOperation::from_name(operation)?;
        Some(Self { operation, bytes: bytes.parse().ok()? })
    }

    /// The settings that the call may have on this communicator beside `auto`, each if it fits.
    pub fn algorithms(self, on: JobLayout, reproducible: bool) -> Vec<&'static str> {
        let shape = Shape { ranks: on.ranks };
        let mut names = self.operation.visit(shape, self.bytes, FittingNames(on));
        if on.is_one_host() {
            // Elsewhere it is the default.
            names.extend(machine_model::has_long_calls(self.operation).then_some(SHARED));
        }
        let admitted = self.operation.reproducible().filter(|_| reproducible);
        names.retain(|name| admitted.is_none_or(|admitted| admitted.contains(name)));
        names
    }
}

/// `allreduce:64`.
impl fmt::Display for TunedCall {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "{}:{}", self.operation.name().to_lowercase(), self.bytes)
    }
}

/// Where the ranks of a job are, as its ranks have found.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct JobLayout {
    /// Size of the job.
    pub ranks: u32,
    /// Ranks on the host that has most of them.
    pub ranks_per_host: u32,
}

impl JobLayout {
    fn is_one_host(self) -> bool {
        self.ranks == self.ranks_per_host
    }
}

/// The names of the algorithms that fit a call, and on several hosts of the form in two levels.
struct FittingNames(JobLayout);

impl Visitor for FittingNames {
    type Output = Vec<&'static str>;

    fn visit<A: Arguments>(
        self, family: &AlgorithmFamily<A>, args: A::Borrowed<'_>,
    ) -> Self::Output {
        let shape = Shape { ranks: self.0.ranks };
        let fitting = family.algorithms.iter().filter(|one| (one.fits)(shape, args));
        let two_level = family.two_level_name().filter(|_| !self.0.is_one_host());
        fitting.map(|one| one.name).chain(two_level).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use mpi_abi::mpi::collective::selection::AlgorithmChoice;

    const ONE_HOST: JobLayout = JobLayout { ranks: 8, ranks_per_host: 8 };

    #[test]
    fn a_call_has_a_text() {
        let call = TunedCall { operation: CollectiveOperation::ReduceScatter, bytes: 64 };
        assert_eq!(call.to_string(), "reduce_scatter:64");
        assert_eq!(TunedCall::parse("reduce_scatter:64"), Some(call));
        for text in ["reduce_scatter", "foo:8", "bcast:x", "bcast:-8"] {
            assert_eq!(TunedCall::parse(text), None, "{text}");
        }
    }

    #[test]
    fn each_algorithm_is_a_setting_and_two_levels_need_two_hosts() {
        let two_hosts = JobLayout { ranks_per_host: 4, ..ONE_HOST };
        for call in TunedCall::all(&operations(), &[8, 4096], 8) {
            for on in [ONE_HOST, two_hosts] {
                let names = call.algorithms(on, false);
                assert!(!names.is_empty());
                for name in &names {
                    assert!(AlgorithmChoice::from_text(call.operation, name).is_some(), "{name}");
                }
                let may_be_shared = machine_model::has_long_calls(call.operation) && on == ONE_HOST;
                assert_eq!(names.contains(&SHARED), may_be_shared);
                assert!(on != ONE_HOST || !names.contains(&"two_level"));
            }
        }
        let bcast = TunedCall { operation: CollectiveOperation::Bcast, bytes: 8 };
        assert!(bcast.algorithms(two_hosts, false).contains(&"two_level"));
    }

    #[test]
    fn reproducible_reductions_have_few_algorithms() {
        let reduce = TunedCall { operation: CollectiveOperation::ReduceScatter, bytes: 8 };
        assert_eq!(reduce.algorithms(ONE_HOST, true), ["in_order"]);
        let bcast = TunedCall { operation: CollectiveOperation::Bcast, bytes: 8 };
        assert_eq!(bcast.algorithms(ONE_HOST, true), bcast.algorithms(ONE_HOST, false));
    }

    #[test]
    fn calls_have_the_bytes_that_rules_may_ask_for_and_room() {
        let left_out = |operation: &CollectiveOperation| !operations().contains(operation);
        let unlike_blocks: Vec<_> = CollectiveOperation::ALL.into_iter().filter(left_out).collect();
        let [gatherv, scatterv, alltoallv] = unlike_blocks[..] else { panic!("{unlike_blocks:?}") };
        assert_eq!(gatherv, CollectiveOperation::Gatherv);
        assert_eq!(scatterv, CollectiveOperation::Scatterv);
        assert_eq!(alltoallv, CollectiveOperation::Alltoallv);
        let calls = TunedCall::all(
            &[CollectiveOperation::Barrier, CollectiveOperation::Alltoall],
            &[8, 16 << 20],
            8,
        );
        let texts: Vec<String> = calls.iter().map(TunedCall::to_string).collect();
        assert_eq!(texts, ["barrier:0", "alltoall:8"]);
    }
}
