//! Work spaces: memory in blocks on several ranks, read and written by offsets as a file is.
//!
//! ```text
//!   offset   0            block        2 block ...        size
//!            | rank start | rank start+1 | ... the last may be shorter |
//! ```

use crate::hooks;
use crate::messages::CommHandle;
use crate::space::{AccessRefused, GlobalSpace, SpaceAddress};

/// The length of a block unless another one is set, in bytes.
pub(crate) const BLOCK_BYTES: usize = 1 << 20;

/// A work space, at one rank.
#[derive(Debug)]
pub(crate) struct WorkSpace {
    pub(crate) bytes: usize,
    pub(crate) block_bytes: usize,
    pub(crate) blocks: Vec<SpaceBlock>,
    /// The memory of the block of this rank.
    pub(crate) own: Option<OwnBlock>,
}

/// A block, of some rank.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct SpaceBlock {
    pub(crate) rank: u32,
    pub(crate) bytes: usize,
    pub(crate) address: SpaceAddress,
}

/// The memory of a block, which is registered.
#[derive(Debug)]
pub(crate) struct OwnBlock {
    pub(crate) index: usize,
    pub(crate) memory: Box<[u8]>,
    pub(crate) key: u64,
}

/// The blocks of so many bytes, from a rank on; `None` if there are more blocks than ranks.
fn blocks(
    bytes: usize, block_bytes: usize, first_rank: u32, ranks: u32,
) -> Option<Vec<SpaceBlock>> {
    let count = u32::try_from(bytes.div_ceil(block_bytes)).ok().filter(|count| *count <= ranks)?;
    let block = |index: u32| SpaceBlock {
        rank: (first_rank + index) % ranks,
        bytes: (bytes - index as usize * block_bytes).min(block_bytes),
        address: SpaceAddress::NULL,
    };
    Some((0..count).map(block).collect())
}

impl WorkSpace {
    /// Makes a work space; collective. `None` on all ranks if it needs more ranks than there are, or if a rank
    /// has no memory for its block.
    #[allow(unsafe_code)]
    pub(crate) fn create(
        comm: CommHandle, bytes: usize, block_bytes: usize, first_rank: u32,
    ) -> Option<Self> {
        let (me, ranks) = comm.place();
        let mut blocks = blocks(bytes, block_bytes, first_rank, ranks)?;
        let own = blocks.iter().position(|block| block.rank == me).map(|index| {
            let mut memory = vec![0; blocks[index].bytes].into_boxed_slice();
            // SAFETY: the box lives until the registration has ended (`WorkSpace::destroy`), and does not move.
            let key = unsafe { hooks::register(memory.as_mut_ptr().cast(), memory.len(), 0) };
            OwnBlock { index, memory, key }
        });
        let keys = comm.gather(&[own.as_ref().map_or(0, |own| own.key)]);
        for block in &mut blocks {
            block.address = SpaceAddress(keys[block.rank as usize]);
        }
        let is_whole = blocks.iter().all(|block| !block.address.is_null());
        let space = Self { bytes, block_bytes, blocks, own };
        if !is_whole {
            space.destroy(comm);
            return None;
        }
        Some(space)
    }

    /// The parts of a range: each an address, the place in the range, and the length.
    fn parts(
        &self, offset: usize, len: usize,
    ) -> Result<impl Iterator<Item = (SpaceAddress, usize, usize)>, AccessRefused> {
        let end = offset.checked_add(len).filter(|end| *end <= self.bytes).ok_or(AccessRefused)?;
        let each = self.block_bytes;
        let part = move |(index, block): (usize, &SpaceBlock)| {
            let start = (index * each).max(offset);
            let len = (index * each + block.bytes).min(end).checked_sub(start)?;
            let address = block.address.plus((start - index * each) as u64);
            (len > 0).then_some((address, start - offset, len))
        };
        Ok(self.blocks.iter().enumerate().filter_map(part))
    }

    /// Copies a range to memory of this rank.
    pub(crate) fn read(
        &self, space: &impl GlobalSpace, into: SpaceAddress, offset: usize, len: usize,
    ) -> Result<(), AccessRefused> {
        for (address, at, len) in self.parts(offset, len)? {
            space.copy(into.plus(at as u64), address, len as u64)?;
        }
        Ok(())
    }

    /// Copies memory of this rank to a range.
    pub(crate) fn write(
        &self, space: &impl GlobalSpace, from: SpaceAddress, offset: usize, len: usize,
    ) -> Result<(), AccessRefused> {
        for (address, at, len) in self.parts(offset, len)? {
            space.copy(address, from.plus(at as u64), len as u64)?;
        }
        Ok(())
    }

    /// Gives the memory up; collective.
    pub(crate) fn destroy(self, comm: CommHandle) {
        hooks::complete(hooks::HANDLE_ALL);
        comm.barrier();
        if let Some(own) = self.own.filter(|own| own.key != 0) {
            hooks::unregister(own.key);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn space(bytes: usize, block_bytes: usize, first_rank: u32, ranks: u32) -> WorkSpace {
        let mut blocks = blocks(bytes, block_bytes, first_rank, ranks).unwrap();
        for (index, block) in blocks.iter_mut().enumerate() {
            block.address = SpaceAddress(1000 * (index as u64 + 1));
        }
        WorkSpace { bytes, block_bytes, blocks, own: None }
    }

    #[test]
    fn blocks_are_on_ranks_in_turn_and_the_last_may_be_shorter() {
        let space = space(25, 10, 2, 4);
        let found: Vec<_> = space.blocks.iter().map(|block| (block.rank, block.bytes)).collect();
        assert_eq!(found, [(2, 10), (3, 10), (0, 5)]);
        assert_eq!(blocks(41, 10, 0, 4), None);
        assert_eq!(blocks(0, 10, 0, 4).unwrap(), []);
    }

    #[test]
    fn a_range_has_exactly_its_parts() {
        let space = space(25, 10, 0, 4);
        let parts = |offset, len| {
            let parts = space.parts(offset, len).ok()?;
            Some(parts.map(|(at, place, len)| (at.0, place, len)).collect::<Vec<_>>())
        };
        assert_eq!(parts(3, 4), Some(vec![(1003, 0, 4)]));
        assert_eq!(parts(3, 22), Some(vec![(1003, 0, 7), (2000, 7, 10), (3000, 17, 5)]));
        assert_eq!(parts(10, 10), Some(vec![(2000, 0, 10)]));
        assert_eq!(parts(25, 0), Some(vec![]));
        assert_eq!((parts(3, 23), parts(26, 0), parts(1, usize::MAX)), (None, None, None));
    }
}
