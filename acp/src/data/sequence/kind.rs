//! What distinguishes vector and deque: the words of the header, and the capacity for a size.

use super::ring::Ring;
use crate::failure::Failure;
use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};
use crate::words;

/// A kind of sequence.
pub(crate) trait SequenceKind {
    const HEADER_BYTES: u64;

    /// The header at `at`, as it stands there.
    fn load(space: &impl GlobalSpace, at: SpaceAddress) -> Result<Ring, AccessRefused>;

    /// Writes a header.
    fn store(space: &impl GlobalSpace, at: SpaceAddress, ring: Ring) -> Result<(), AccessRefused>;

    /// The size of a sequence that is made for `size` bytes.
    fn created_size(size: u64) -> u64;

    /// The capacity when a sequence grows to `size` bytes.
    ///
    /// # Errors
    /// `NoRoom` if there is no such number.
    fn capacity_for(size: u64) -> Result<u64, Failure>;

    /// Offset, size and capacity of a sequence that receives the bytes of `other` in a swap.
    fn swapped(other: Ring) -> Ring;
}

#[derive(Debug)]
pub(crate) enum VectorKind {}

#[derive(Debug)]
pub(crate) enum DequeKind {}

impl SequenceKind for VectorKind {
    const HEADER_BYTES: u64 = 24;

    fn load(space: &impl GlobalSpace, at: SpaceAddress) -> Result<Ring, AccessRefused> {
        let [buffer, size, capacity] = words::read(space, at)?;
        Ok(Ring { buffer: SpaceAddress(buffer), offset: 0, size, capacity })
    }

    fn store(space: &impl GlobalSpace, at: SpaceAddress, ring: Ring) -> Result<(), AccessRefused> {
        words::write(space, at, &[ring.buffer.0, ring.size, ring.capacity])
    }

    fn created_size(size: u64) -> u64 {
        size
    }

    fn capacity_for(size: u64) -> Result<u64, Failure> {
        size.checked_next_multiple_of(8).ok_or(Failure::NoRoom)
    }

    fn swapped(other: Ring) -> Ring {
        other
    }
}

impl SequenceKind for DequeKind {
    const HEADER_BYTES: u64 = 32;

    fn load(space: &impl GlobalSpace, at: SpaceAddress) -> Result<Ring, AccessRefused> {
        let [buffer, offset, size, capacity] = words::read(space, at)?;
        Ok(Ring { buffer: SpaceAddress(buffer), offset, size, capacity })
    }

    fn store(space: &impl GlobalSpace, at: SpaceAddress, ring: Ring) -> Result<(), AccessRefused> {
        words::write(space, at, &[ring.buffer.0, ring.offset, ring.size, ring.capacity])
    }

    fn created_size(_: u64) -> u64 {
        0
    }

    fn capacity_for(size: u64) -> Result<u64, Failure> {
        Ok(size)
    }

    fn swapped(other: Ring) -> Ring {
        Ring { offset: 0, capacity: other.size, ..other }
    }
}
