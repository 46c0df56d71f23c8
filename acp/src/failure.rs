//! Why an operation of the heap or of a container failed. Programs in C see only `NULL`, 0 or no
//! effect.

use crate::space::AccessRefused;

/// The cause of a failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Failure {
    /// A rank, size, position or address is outside its domain.
    Argument,
    /// An address is not in registered memory.
    Refused,
    /// The heap of a rank has no block of that size.
    NoRoom,
    /// Words in memory contradict each other: they are damaged, or their block has been freed.
    Damaged,
}

impl From<AccessRefused> for Failure {
    fn from(_: AccessRefused) -> Self {
        Self::Refused
    }
}
