//! Entries of gatherv, scatterv and alltoallv: only the two ranks of a block know its length.
//!
//! The publisher decides which blocks its entry holds. The others are *long*: they travel as messages
//! after the round, which has told the receivers ([`LongBlocks`]). So no rank has to know the lengths
//! of other ranks, and there is one round.
//!
//! ```text
//! gatherv               | block |                                     empty if the block is long
//! scatterv, alltoallv   | end of each block, 16 bits each | blocks |  highest bit: the block is long
//! ```

use std::ops::Range;

use super::execution::slot_header;
use super::transfer::{TransferView, pack, unpack};
use crate::engine::memory::Memory;
use crate::mpi::collective::algorithms::alltoall::pairwise::exchange_regions;
use crate::mpi::collective::algorithms::{SEND, Shape, block_buffer};
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::offload::{Buffer, Schedule};
use crate::shared_memory::segment::{SharedSegment, SlotHeader};
use platform::base::Span;

/// A long block, in the table of an entry.
const LONG: u16 = 1 << 15;

/// The longest entry: ends in its table leave the bit of [`LONG`] free.
const ENTRY_MAX: usize = LONG as usize - 1;

const _: () = assert!(ENTRY_MAX <= SharedSegment::DATA_MAX);

/// The blocks of a call that are not in entries, by rank.
#[derive(Debug, Default)]
pub(super) struct LongBlocks {
    to: Vec<u32>,
    from: Vec<u32>,
}

/// Where the block for one rank is.
enum BlockPlace {
    /// In these bytes of the entry.
    Entry(Range<usize>),
    Message,
}

impl LongBlocks {
    pub(super) fn is_empty(&self) -> bool {
        self.to.is_empty() && self.from.is_empty()
    }

    /// The schedule of their messages at `rank`.
    pub(super) fn schedule(&self, call: &Call, shape: Shape, rank: u32) -> Schedule {
        let whole = |buffer: Buffer, memory: &Memory| buffer.region(0, memory.len());
        let none = SEND.region(0, 0);
        let send = |to: u32| match call.function {
            _ if !self.to.contains(&to) => none,
            CollectiveFunction::Gatherv => whole(SEND, &call.send),
            CollectiveFunction::Scatterv => whole(block_buffer(to), call.outgoing(to)),
            _ => whole(Buffer::User(to), call.outgoing(to)),
        };
        let receive = |from: u32| match call.function {
            _ if !self.from.contains(&from) => none,
            CollectiveFunction::Gatherv => whole(block_buffer(from), &call.blocks[from as usize]),
            CollectiveFunction::Scatterv => whole(Buffer::User(0), &call.receive),
            _ => {
                let index = shape.ranks + from;
                whole(Buffer::User(index), &call.blocks[index as usize])
            }
        };
        exchange_regions(shape, rank, send, receive)
    }
}

impl Call {
    /// Whether each block is known to its two ranks only.
    #[inline]
    pub(super) fn has_pairwise_blocks(&self) -> bool {
        matches!(
            self.function,
            CollectiveFunction::Gatherv
                | CollectiveFunction::Scatterv
                | CollectiveFunction::Alltoallv
        )
    }

    /// The block for `rank`.
    fn outgoing(&self, rank: u32) -> &Memory {
        match self.function {
            CollectiveFunction::Gatherv => &self.send,
            _ => &self.blocks[rank as usize],
        }
    }
}

impl TransferView<'_> {
    /// Whether an entry that has `used` bytes takes this block.
    fn is_short(&self, block: &Memory, used: usize) -> bool {
        block.len() <= self.block_max && block.len() <= ENTRY_MAX - used
    }

    /// Bytes of the table of an entry.
    fn table_bytes(&self) -> usize {
        match self.call.function {
            CollectiveFunction::Gatherv => 0,
            _ => self.ranks as usize * size_of::<u16>(),
        }
    }

    /// Bytes of this rank's entry.
    pub(super) fn len_of_blocks(&self) -> usize {
        if self.call.function == CollectiveFunction::Gatherv {
            return if self.is_short(&self.call.send, 0) { self.call.send.len() } else { 0 };
        }
        self.others().fold(self.table_bytes(), |used, other| {
            let block = self.call.outgoing(other);
            if self.is_short(block, used) { used + block.len() } else { used }
        })
    }

    /// Writes this rank's entry, and notes the blocks that are not in it.
    pub(super) fn fill_blocks(&mut self, entry: Span) {
        if self.call.function == CollectiveFunction::Gatherv {
            match self.is_short(&self.call.send, 0) {
                true => pack(&self.call.send, 0, entry),
                false => self.long.to.push(self.call.root),
            }
            return;
        }
        let mut end = self.table_bytes();
        for rank in 0..self.ranks {
            let mut flag = 0;
            if rank != self.rank {
                let block = self.call.outgoing(rank);
                if self.is_short(block, end) {
                    pack(block, 0, entry.part(end, block.len()));
                    end += block.len();
                } else {
                    self.long.to.push(rank);
                    flag = LONG;
                }
            }
            entry.write(rank as usize * size_of::<u16>(), &(end as u16 | flag).to_ne_bytes());
        }
    }

    /// Compares the header and the length of the block that `source` has published for this rank with
    /// the own arguments.
    ///
    /// # Errors
    /// Two headers that differ: the own one, and that of `source`.
    pub(super) fn check_block(
        &self, source: u32, theirs: SlotHeader, entry: Span,
    ) -> Result<(), [SlotHeader; 2]> {
        let expected = self.incoming_bytes(source);
        let ours = SlotHeader { bytes: 0, ..slot_header(self.call) };
        if self.call.function == CollectiveFunction::Gatherv
            || (ours.kind, ours.root) != (theirs.kind, theirs.root)
        {
            let ours = SlotHeader { bytes: expected as u64, ..ours };
            return if ours == theirs { Ok(()) } else { Err([ours, theirs]) };
        }
        let sent = match self.place(entry) {
            // The message tells its length.
            Some(BlockPlace::Message) if expected > 0 => return Ok(()),
            // More than nothing, which is expected.
            Some(BlockPlace::Message) => 1,
            Some(BlockPlace::Entry(range)) if range.len() == expected => return Ok(()),
            Some(BlockPlace::Entry(range)) => range.len(),
            None => 0,
        };
        let with = |bytes: usize| SlotHeader { bytes: bytes as u64, ..ours };
        Err([with(expected), with(sent)])
    }

    /// Reads the blocks for this rank from the entries of round `at`, and notes the long ones.
    pub(super) fn read_blocks(&mut self, segment: &mut SharedSegment, at: u64) {
        for source in self.sources() {
            if source == self.rank {
                continue;
            }
            let Some((_, entry)) = segment.read(source as usize, at) else { continue };
            match self.place(entry) {
                // Also the empty entry of a gatherv, which is not a long block then.
                _ if self.incoming_bytes(source) == 0 => {}
                Some(BlockPlace::Entry(range)) if range.len() == self.incoming_bytes(source) => {
                    let (start, len) = (range.start, range.len());
                    unpack(self.incoming(source), 0, segment, (source, at, start, len));
                }
                _ => self.long.from.push(source),
            }
        }
        if self.call.in_place {
            return;
        }
        if self.is_own_long() {
            self.long.to.push(self.rank);
            self.long.from.push(self.rank);
        } else {
            self.copy_own();
        }
    }

    /// Whether the block that this rank sends to itself is better copied while messages to others are under way.
    fn is_own_long(&self) -> bool {
        let is_here =
            self.call.function == CollectiveFunction::Alltoallv || self.rank == self.call.root;
        if self.long.is_empty() || !is_here {
            return false;
        }
        let len = self.call.outgoing(self.rank).len();
        len > self.block_max && len == self.incoming_bytes(self.rank)
    }

    /// Where the block for this rank is in an entry; `None` if the entry is no table with blocks.
    fn place(&self, entry: Span) -> Option<BlockPlace> {
        if self.call.function == CollectiveFunction::Gatherv {
            return Some(match entry.len() {
                0 => BlockPlace::Message,
                len => BlockPlace::Entry(0..len),
            });
        }
        let table = self.table_bytes();
        if entry.len() < table {
            return None;
        }
        let word = |rank: u32| {
            let mut word = [0; size_of::<u16>()];
            entry.read(rank as usize * word.len(), &mut word);
            u16::from_ne_bytes(word)
        };
        let start = match self.rank.checked_sub(1) {
            Some(before) => (word(before) & !LONG) as usize,
            None => table,
        };
        match word(self.rank) {
            end if end & LONG != 0 => Some(BlockPlace::Message),
            end if start <= end as usize && end as usize <= entry.len() => {
                Some(BlockPlace::Entry(start..end as usize))
            }
            _ => None,
        }
    }

    fn incoming(&mut self, source: u32) -> &mut Memory {
        let source = source as usize;
        match self.call.function {
            CollectiveFunction::Gatherv => &mut self.call.blocks[source],
            CollectiveFunction::Scatterv => &mut self.call.receive,
            _ => &mut self.call.blocks[self.ranks as usize + source],
        }
    }

    fn incoming_bytes(&self, source: u32) -> usize {
        let source = source as usize;
        match self.call.function {
            CollectiveFunction::Gatherv => self.call.blocks[source].len(),
            CollectiveFunction::Scatterv => self.call.receive.len(),
            _ => self.call.blocks[self.ranks as usize + source].len(),
        }
    }

    /// Copies the block that this rank sends to itself.
    fn copy_own(&mut self) {
        let (rank, ranks) = (self.rank as usize, self.ranks as usize);
        let Call { function, root, send, receive, blocks, .. } = &mut *self.call;
        match function {
            CollectiveFunction::Alltoallv => {
                let (send, receive) = blocks.split_at_mut(ranks);
                send[rank].copy(0, &mut receive[rank], 0, send[rank].len());
            }
            _ if self.rank != *root => {}
            CollectiveFunction::Gatherv => send.copy(0, &mut blocks[rank], 0, send.len()),
            _ => blocks[rank].copy(0, receive, 0, blocks[rank].len()),
        }
    }
}
