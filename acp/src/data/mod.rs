//! Distributed containers in the heaps of all ranks, which any rank reads and changes by one-sided
//! accesses.
//!
//! ```text
//!     sequence          list            hashed           vector, deque │ list │ set, multiset, map
//!        │                └───► chain ◄───┘
//!        │                        │
//!        └────────► heap ◄────────┴────► lock            all of them: words, space
//! ```
//!
//! A container is known by the address of its header; addresses and shapes of containers may be
//! sent to other ranks. No operation is collective, and each returns when it has completed. What a
//! container is in memory is part of the interface: programs read it. Each module has the drawing.
//!
//! A vector, deque or list has no lock: at any time one rank changes it, or several read it. The
//! operations on one key of a set, multiset or map are atomic; those on all keys and iteration are
//! not.
//!
//! A failure has no effect, except where the operation says otherwise. Words of a container are
//! checked before use, and loops end after the recorded number of elements, or when all heaps
//! together could not have more.

mod chain;
pub(crate) mod hashed;
pub(crate) mod list;
pub(crate) mod sequence;

use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};

/// Values up to this size that are in the memory of the caller are written together with the header
/// of their element, through a copy at the caller. Larger ones are copied to their place.
const STAGED_MAX: u64 = 4096;

/// Bytes in the memory of a rank.
#[derive(Clone, Copy, Debug, Default, Eq, PartialEq)]
pub(crate) struct Element {
    pub(crate) at: SpaceAddress,
    pub(crate) len_bytes: u64,
}

impl Element {
    pub(crate) fn new(at: SpaceAddress, len_bytes: u64) -> Self {
        Self { at, len_bytes }
    }

    /// These bytes, if they are few and in the memory of the caller, or none.
    fn staged(self, space: &impl GlobalSpace) -> Result<Option<Vec<u8>>, Failure> {
        let is_near = self.len_bytes == 0 || space.owner(self.at) == Some(space.rank());
        if is_near && self.len_bytes <= STAGED_MAX { self.read(space).map(Some) } else { Ok(None) }
    }

    /// These bytes.
    ///
    /// # Errors
    /// `NoRoom` if a heap could not have as many: the caller's memory might not either. `Refused`.
    fn read(self, space: &impl GlobalSpace) -> Result<Vec<u8>, Failure> {
        let (_, heap_bytes) = space.heap(space.rank()).ok_or(Failure::Argument)?;
        if self.len_bytes > heap_bytes {
            return Err(Failure::NoRoom);
        }
        let mut data = vec![0; self.len_bytes as usize];
        if !data.is_empty() {
            space.read(self.at, &mut data)?;
        }
        Ok(data)
    }
}

#[cfg(test)]
impl Element {
    /// `data` in the user memory of a rank, from its word `index` on.
    fn placed(space: &crate::test_space::TestSpace, index: u64, data: &[u8]) -> Self {
        Self::new(space.place(index, data), data.len() as u64)
    }
}
