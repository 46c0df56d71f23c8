//! Accesses to the memory of all ranks, as arguments.

use super::address::GlobalAddress;
pub(crate) use crate::device::rma::{NumberKind, Update, write_number};
use platform::base::Span;

/// Where an access reads or writes.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobalPlace {
    /// Memory of any rank.
    Global(GlobalAddress),
    /// Memory of this process.
    Private(Span),
}

/// An access.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum GlobalAccess {
    /// Copies `len` bytes. Places of one rank may overlap.
    Copy { to: GlobalPlace, from: GlobalPlace, len: usize },
    /// Changes a number atomically; the old one goes to memory of this rank.
    Update { at: GlobalAddress, kind: NumberKind, update: Update, old: GlobalPlace },
}

/// When an access may start.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum AccessOrder {
    /// At once.
    Unordered,
    /// When the access of this number, and all before it, have completed.
    After(u64),
    /// As soon as the access before it, without overtaking that, if both are between the same ranks with the
    /// same colours; else as [`AccessOrder::AfterAll`].
    Continuation,
    /// When all accesses before it have completed.
    AfterAll,
}

impl GlobalAccess {
    /// The global addresses.
    pub(crate) fn addresses(&self) -> impl Iterator<Item = GlobalAddress> {
        let (one, other) = match *self {
            Self::Copy { to, from, .. } => (to, from),
            Self::Update { at, old, .. } => (old, GlobalPlace::Global(at)),
        };
        [one, other].into_iter().filter_map(|place| match place {
            GlobalPlace::Global(address) => Some(address),
            GlobalPlace::Private(_) => None,
        })
    }

    /// Whether it moves no byte.
    pub(crate) fn is_empty(&self) -> bool {
        matches!(self, Self::Copy { len: 0, .. })
    }
}
