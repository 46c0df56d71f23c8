//! Statuses of completed operations (MPI 5.0 §3.2.5).

use crate::engine::point_to_point::operation::Completion;

/// `MPI_ANY_SOURCE` of the standard ABI.
pub const ANY_SOURCE: i32 = -1;
/// `MPI_ANY_TAG` of the standard ABI.
pub const ANY_TAG: i32 = -2;
/// `MPI_PROC_NULL` of the standard ABI.
pub const PROC_NULL: i32 = -3;

/// A status, in a layout of the library.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Status {
    /// Rank of the sender.
    pub source: i32,
    /// The tag.
    pub tag: i32,
    /// Bytes of the packed message.
    pub bytes: u64,
    /// Whether these are bytes of "external32".
    pub(crate) is_external: bool,
    /// Whether the operation was cancelled.
    pub cancelled: bool,
}

impl Status {
    /// The empty status (§3.7.3): of sends, null requests and inactive ones.
    pub(crate) const EMPTY: Self =
        Self { source: ANY_SOURCE, tag: ANY_TAG, bytes: 0, is_external: false, cancelled: false };

    /// The status of a receive from `MPI_PROC_NULL` (§3.10).
    pub(crate) const PROC_NULL: Self = Self { source: PROC_NULL, ..Self::EMPTY };
}

impl From<&Completion> for Status {
    fn from(end: &Completion) -> Self {
        if end.cancelled {
            return Self { cancelled: true, ..Self::EMPTY };
        }
        Self {
            source: end.source as i32,
            tag: end.tag,
            bytes: end.bytes as u64,
            is_external: end.is_converted,
            cancelled: false,
        }
    }
}
