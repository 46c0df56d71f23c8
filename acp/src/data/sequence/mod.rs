//! Sequences of bytes that grow: vector and deque.
//!
//! ```text
//!   vector   | buffer | size | capacity |               buffer: `capacity` bytes, index 0 first
//!   deque    | buffer | offset | size | capacity |      buffer: a ring, index 0 at `offset`
//! ```
//!
//! Both are one [`Sequence`]; a [`SequenceKind`] says where the words of the header are and how
//! much memory a size takes. The buffer is on the rank of the header. Indices and sizes count
//! bytes, from the front.
//!
//! A sequence does not know what its bytes mean, and has no lock.

mod kind;
mod ring;
#[cfg(test)]
mod tests;

use std::marker::PhantomData;
use std::ops::Range;

pub(crate) use self::kind::{DequeKind, SequenceKind, VectorKind};
use self::ring::Ring;
use super::Element;
use crate::failure::Failure;
use crate::heap;
use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

/// A vector or deque, known by the address of its header.
#[derive(Debug)]
pub(crate) struct Sequence<K> {
    pub(crate) at: SpaceAddress,
    kind: PhantomData<K>,
}

impl<K> Clone for Sequence<K> {
    fn clone(&self) -> Self {
        *self
    }
}

impl<K> Copy for Sequence<K> {}

impl<K: SequenceKind> Sequence<K> {
    pub(crate) fn new(at: SpaceAddress) -> Self {
        Self { at, kind: PhantomData }
    }

    /// Makes a sequence for `size` bytes on `rank`. A vector has them, with any content; a deque is
    /// empty.
    ///
    /// # Errors
    /// `NoRoom`; `Argument` if there is no such rank.
    pub(crate) fn create(space: &impl GlobalSpace, size: u64, rank: u32) -> Result<Self, Failure> {
        let capacity = size.checked_next_multiple_of(8).ok_or(Failure::NoRoom)?;
        let header = Self::new(heap::allocate(space, rank, K::HEADER_BYTES)?);
        let ring = header.buffer(space, capacity);
        let ring = ring.map(|ring| Ring { size: K::created_size(size), ..ring });
        let made = ring.and_then(|ring| header.store(space, ring));
        if made.is_err() {
            heap::free_all(space, &[header.at]);
        }
        made.map(|()| header)
    }

    pub(crate) fn destroy(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let ring = self.load(space)?;
        self.store(space, Ring::DESTROYED)?;
        heap::free_all(space, &[ring.buffer, self.at]);
        Ok(())
    }

    pub(crate) fn size(self, space: &impl GlobalSpace) -> Result<u64, Failure> {
        self.load(space).map(|ring| ring.size)
    }

    pub(crate) fn capacity(self, space: &impl GlobalSpace) -> Result<u64, Failure> {
        self.load(space).map(|ring| ring.capacity)
    }

    /// The bytes from `index` on, at most `len`, in one piece or two.
    ///
    /// # Errors
    /// `Argument` if there is no byte with this index.
    pub(crate) fn pieces(
        self, space: &impl GlobalSpace, index: u64, len: u64,
    ) -> Result<[Element; 2], Failure> {
        let ring = self.load(space)?;
        if index >= ring.size {
            return Err(Failure::Argument);
        }
        Ok(ring.pieces(index, len.min(ring.size - index)))
    }

    pub(crate) fn clear(self, space: &impl GlobalSpace) -> Result<(), Failure> {
        let ring = self.load(space)?;
        self.store(space, Ring { offset: 0, size: 0, ..ring })
    }

    /// Makes room for `capacity` bytes.
    pub(crate) fn reserve(self, space: &impl GlobalSpace, capacity: u64) -> Result<(), Failure> {
        let ring = self.load(space)?;
        if capacity <= ring.capacity {
            return Ok(());
        }
        let target = self.buffer(space, K::capacity_for(capacity)?)?;
        let target = Ring { size: ring.size, ..target };
        let filled = target.fill(space, 0, ring.pieces(0, ring.size));
        self.replace(space, ring, target, filled)
    }

    /// Replaces the bytes by those of `other`.
    pub(crate) fn assign(self, space: &impl GlobalSpace, other: Self) -> Result<(), Failure> {
        let size = other.size(space)?;
        self.assign_range(space, other, 0..size)
    }

    /// Replaces the bytes by those of `other` in `range`, cut at its end.
    pub(crate) fn assign_range(
        self, space: &impl GlobalSpace, other: Self, range: Range<u64>,
    ) -> Result<(), Failure> {
        let source = other.load(space)?;
        let end = range.end.min(source.size);
        let size = end.saturating_sub(range.start);
        if self.at == other.at {
            source.shift(space, range.start, 0, size)?;
            return self.store(space, Ring { size, ..source });
        }
        let old = self.load(space)?;
        let pieces = source.pieces(range.start, size);
        if size <= old.capacity {
            let target = Ring { offset: 0, size, ..old };
            target.fill(space, 0, pieces)?;
            return self.store(space, target);
        }
        let target = Ring { size, ..self.buffer(space, K::capacity_for(size)?)? };
        let filled = target.fill(space, 0, pieces);
        self.replace(space, old, target, filled)
    }

    /// Inserts the bytes of `source` before `index`, which is cut at the end; the index of the
    /// first.
    ///
    /// The bytes may be in the buffer of this sequence.
    ///
    /// # Errors
    /// `NoRoom`; `Refused` if the bytes of `source` are not accessible.
    pub(crate) fn insert(
        self, space: &impl GlobalSpace, index: u64, source: [Element; 2],
    ) -> Result<u64, Failure> {
        let ring = self.load(space)?;
        let index = index.min(ring.size);
        let [first, second] = source;
        let len = first.len_bytes.checked_add(second.len_bytes).ok_or(Failure::NoRoom)?;
        let size = ring.size.checked_add(len).ok_or(Failure::NoRoom)?;
        if len == 0 {
            return Ok(index);
        }
        if size <= ring.capacity {
            self.insert_in_place(space, ring, index, source)?;
            return Ok(index);
        }
        let target = Ring { size, ..self.buffer(space, K::capacity_for(size)?)? };
        let fill = || {
            target.fill(space, 0, ring.pieces(0, index))?;
            target.fill(space, index, source)?;
            target.fill(space, index + len, ring.pieces(index, ring.size - index))
        };
        let filled = fill();
        self.replace(space, ring, target, filled)?;
        Ok(index)
    }

    /// Inserts the bytes of `source`, for which the buffer has room.
    fn insert_in_place(
        self, space: &impl GlobalSpace, ring: Ring, index: u64, source: [Element; 2],
    ) -> Result<(), Failure> {
        let [first, second] = source;
        let len = first.len_bytes + second.len_bytes;
        let behind = ring.size - index;
        // The shift would move bytes of the source that are in the buffer.
        let staged = if behind > 0 && ring.overlaps(source) {
            Some([first.read(space)?, second.read(space)?].concat())
        } else {
            None
        };
        ring.shift(space, index, index + len, behind)?;
        let filled = match staged {
            Some(data) => ring.write(space, index, &data),
            None => ring.fill(space, index, source),
        };
        if filled.is_err() {
            ring.shift(space, index + len, index, behind)?;
        }
        filled?;
        self.store(space, Ring { size: ring.size + len, ..ring })
    }

    /// Inserts the bytes of `other` in `range`, cut at its end; otherwise as [`Sequence::insert`].
    ///
    /// # Errors
    /// `Argument` if there are no bytes in `range`; otherwise as [`Sequence::insert`].
    pub(crate) fn insert_range(
        self, space: &impl GlobalSpace, index: u64, other: Self, range: Range<u64>,
    ) -> Result<u64, Failure> {
        let source = other.pieces(space, range.start, range.end.saturating_sub(range.start))?;
        self.insert(space, index, source)
    }

    pub(crate) fn push_back(
        self, space: &impl GlobalSpace, source: Element,
    ) -> Result<(), Failure> {
        self.insert(space, u64::MAX, [source, Element::default()]).map(|_| ())
    }

    /// Inserts the bytes of `source` at the front, in their order.
    pub(crate) fn push_front(
        self, space: &impl GlobalSpace, source: Element,
    ) -> Result<(), Failure> {
        let ring = self.load(space)?;
        let len = source.len_bytes;
        if len == 0 || len > ring.capacity - ring.size {
            return self.insert(space, 0, [source, Element::default()]).map(|_| ());
        }
        let offset = if len <= ring.offset { 0 } else { ring.capacity } + ring.offset - len;
        let target = Ring { offset, size: ring.size + len, ..ring };
        target.fill(space, 0, [source, Element::default()])?;
        self.store(space, target)
    }

    /// Removes the last `len` bytes, or all.
    pub(crate) fn pop_back(self, space: &impl GlobalSpace, len: u64) -> Result<(), Failure> {
        let ring = self.load(space)?;
        self.store(space, Ring { size: ring.size.saturating_sub(len), ..ring })
    }

    /// Removes the first `len` bytes, or all.
    pub(crate) fn pop_front(self, space: &impl GlobalSpace, len: u64) -> Result<(), Failure> {
        let ring = self.load(space)?;
        let len = len.min(ring.size);
        let behind = ring.offset + len;
        let offset = if behind < ring.capacity { behind } else { behind - ring.capacity };
        self.store(space, Ring { offset, size: ring.size - len, ..ring })
    }

    /// Removes `len` bytes from `index` on, cut at the end.
    pub(crate) fn erase(
        self, space: &impl GlobalSpace, index: u64, len: u64,
    ) -> Result<(), Failure> {
        let ring = self.load(space)?;
        let len = len.min(ring.size.saturating_sub(index));
        if len == 0 {
            return Ok(());
        }
        let behind = index + len;
        ring.shift(space, behind, index, ring.size - behind)?;
        self.store(space, Ring { size: ring.size - len, ..ring })
    }

    /// Exchanges the bytes with those of `other`. Each keeps its rank: bytes are copied where the
    /// ranks differ.
    pub(crate) fn swap(self, space: &impl GlobalSpace, other: Self) -> Result<(), Failure> {
        if self.at == other.at {
            return Ok(());
        }
        let (left, right) = (self.load(space)?, other.load(space)?);
        let new_left = self.received(space, right)?;
        let new_right = match other.received(space, left) {
            Ok(ring) => ring,
            Err(failure) => {
                free_unless(space, new_left, right);
                return Err(failure);
            }
        };
        self.store(space, new_left)?;
        other.store(space, new_right)?;
        free_unless(space, left, new_right);
        free_unless(space, right, new_left);
        Ok(())
    }

    /// The bytes of `other`, which another sequence gives away, in a buffer for this one.
    fn received(self, space: &impl GlobalSpace, other: Ring) -> Result<Ring, Failure> {
        let target = K::swapped(other);
        let is_on_own_rank = space.owner(other.buffer) == space.owner(self.at);
        if target == other && (is_on_own_rank || other.capacity == 0) {
            return Ok(other);
        }
        let target = Ring { size: target.size, ..self.buffer(space, target.capacity)? };
        if let Err(refused) = target.fill(space, 0, other.pieces(0, other.size)) {
            heap::free_all(space, &[target.buffer]);
            return Err(refused.into());
        }
        Ok(target)
    }

    /// An empty ring with a new buffer on the rank of the header.
    fn buffer(self, space: &impl GlobalSpace, capacity: u64) -> Result<Ring, Failure> {
        let rank = space.owner(self.at).ok_or(Failure::Argument)?;
        let buffer = match capacity {
            0 => SpaceAddress::NULL,
            _ => heap::allocate(space, rank, capacity)?,
        };
        Ok(Ring { buffer, offset: 0, size: 0, capacity })
    }

    /// Puts `new` in the place of `old`, if it could be filled.
    fn replace(
        self, space: &impl GlobalSpace, old: Ring, new: Ring, filled: Result<(), AccessRefused>,
    ) -> Result<(), Failure> {
        let stored = filled.map_err(Failure::from).and_then(|()| self.store(space, new));
        let unused = if stored.is_ok() { old } else { new };
        heap::free_all(space, &[unused.buffer]);
        stored
    }

    fn load(self, space: &impl GlobalSpace) -> Result<Ring, Failure> {
        K::load(space, self.at)?.checked(space)
    }

    fn store(self, space: &impl GlobalSpace, ring: Ring) -> Result<(), Failure> {
        Ok(K::store(space, self.at, ring)?)
    }
}

/// Frees the buffer of `ring`, unless `user` has it.
fn free_unless(space: &impl GlobalSpace, ring: Ring, user: Ring) {
    if ring.buffer != user.buffer {
        heap::free_all(space, &[ring.buffer]);
    }
}
