//! Actions: the operations that an interface returns to its owner.

use crate::device::rma::{NumberKind, RemoteAddress, RmaAccess, Update};
use crate::device::trigger::CounterKey;
use crate::offload::Arithmetic;
use platform::base::{Peer, Span};

/// Names an action until its owner has reported its completion.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord)]
pub(crate) struct ActionId(pub(crate) u32);

/// An addition to a counter of the target rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Signal {
    /// The counter.
    pub(crate) counter: CounterKey,
    /// The value to add, wrapping.
    pub(crate) value: u64,
}

/// An operation of an interface on memory and counters of this rank and others.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum InterfaceAction {
    /// Copies `from` to memory of a peer, then adds to its counter.
    Put {
        /// The source.
        from: Span,
        /// The target, of the same length.
        to: RemoteAddress,
        /// Added after the last byte: visible only after every byte.
        signal: Option<Signal>,
    },
    /// Copies memory of a peer to `into`.
    Get {
        /// The source, as long as `into`.
        from: RemoteAddress,
        /// The target.
        into: Span,
    },
    /// Changes a number of a peer atomically; its old value goes to `old`.
    Update {
        /// The number.
        at: RemoteAddress,
        /// The kind of the number.
        kind: NumberKind,
        /// The change.
        update: Update,
        /// Buffer of the old value, of the same length or empty.
        old: Span,
    },
    /// Adds to a counter of a peer.
    Signal {
        /// The owner of the counter.
        peer: Peer,
        /// The addition.
        signal: Signal,
    },
    /// Copies bytes within this rank.
    Copy {
        /// The source.
        from: Span,
        /// The target, of the same length.
        into: Span,
    },
    /// Computes `into = from op into` by the kernel of a program
    /// ([`NetworkInterface::kernel`](super::NetworkInterface::kernel)).
    Reduce {
        /// The left operands.
        from: Span,
        /// The right operands and the results, of the same length.
        into: Span,
    },
    /// Computes `into = from with into` on numbers of 8 bytes of this rank ([`combine`]).
    Combine {
        /// The left operands.
        from: Span,
        /// The right operands and the results.
        into: Span,
        /// The operation.
        with: Arithmetic,
    },
}

/// An action that is due.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct DueAction {
    /// The name for reports of the owner.
    pub(crate) id: ActionId,
    /// The operation.
    pub(crate) action: InterfaceAction,
    /// Its engine.
    pub(crate) engine: u8,
}

impl From<RmaAccess> for InterfaceAction {
    fn from(access: RmaAccess) -> Self {
        match access {
            RmaAccess::Put { from, to } => Self::Put { from, to, signal: None },
            RmaAccess::Get { from, into } => Self::Get { from, into },
            RmaAccess::Update { at, kind, update, old } => Self::Update { at, kind, update, old },
        }
    }
}

impl InterfaceAction {
    /// The other rank of the action.
    pub(crate) fn peer(&self) -> Option<Peer> {
        match *self {
            Self::Put { to, .. } => Some(to.peer),
            Self::Get { from, .. } => Some(from.peer),
            Self::Update { at, .. } => Some(at.peer),
            Self::Signal { peer, .. } => Some(peer),
            Self::Copy { .. } | Self::Reduce { .. } | Self::Combine { .. } => None,
        }
    }

    /// Divides a longer transfer: its first `most` bytes, and the rest of it, which signals.
    pub(super) fn divide(self, most: usize) -> (Self, Option<Self>) {
        let two = |span: Span| (span.part(0, most), span.part(most, span.len() - most));
        let after = |at: RemoteAddress| RemoteAddress { offset: at.offset + most as u64, ..at };
        match self {
            Self::Put { from, to, signal } if from.len() > most => {
                let (from, rest) = two(from);
                let first = Self::Put { from, to, signal: None };
                (first, Some(Self::Put { from: rest, to: after(to), signal }))
            }
            Self::Get { from, into } if into.len() > most => {
                let (into, rest) = two(into);
                let first = Self::Get { from, into };
                (first, Some(Self::Get { from: after(from), into: rest }))
            }
            Self::Copy { from, into } if from.len() > most => {
                let ((from, from_rest), (into, into_rest)) = (two(from), two(into));
                let first = Self::Copy { from, into };
                (first, Some(Self::Copy { from: from_rest, into: into_rest }))
            }
            action => (action, None),
        }
    }

    /// Bytes that the action moves.
    pub fn bytes(&self) -> usize {
        match *self {
            Self::Put { from, .. } | Self::Copy { from, .. } => from.len(),
            Self::Reduce { from, .. } | Self::Combine { from, .. } => from.len(),
            Self::Get { into, .. } => into.len(),
            Self::Update { kind, .. } => kind.bytes(),
            Self::Signal { .. } => 0,
        }
    }
}

/// Performs [`InterfaceAction::Combine`].
///
/// # Panics
/// If the lengths differ or are not whole numbers.
pub fn combine(from: Span, into: Span, with: Arithmetic) {
    assert!(from.len() == into.len() && from.len().is_multiple_of(8));
    let number = |span: Span, at| {
        let mut bytes = [0; 8];
        span.read(at, &mut bytes);
        u64::from_ne_bytes(bytes)
    };
    for at in (0..from.len()).step_by(8) {
        let result = with.apply(number(from, at), number(into, at));
        into.write(at, &result.to_ne_bytes());
    }
}
