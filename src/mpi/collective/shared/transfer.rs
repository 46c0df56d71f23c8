//! The data of a round: filling the own entry, reading the entries of other ranks.

use super::blocks::LongBlocks;
use super::execution::slot_header;
use super::segmentation::Segmentation;
use crate::engine::memory::Memory;
use crate::mpi::collective::calls::Call;
use crate::mpi::collective::calls::function::CollectiveFunction;
use crate::shared_memory::segment::{SharedSegment, SlotHeader};
use platform::base::Span;

/// Bytes of operands that are combined at a time: a result stays in the first-level cache until it
/// includes all operands.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// A call as one rank sees it.
pub(super) struct TransferView<'a> {
    pub(super) call: &'a mut Call,
    pub(super) segmentation: Segmentation,
    pub(super) rank: u32,
    pub(super) ranks: u32,
    /// [`BLOCK_BYTES`] bytes, for an operand that the result would overwrite.
    pub(super) scratch: Span,
    /// The longest block in an entry of `blocks`.
    pub(super) block_max: usize,
    pub(super) long: &'a mut LongBlocks,
}

impl Call {
    /// Length of the block for or of `rank`, in operations with blocks.
    fn block(&self, rank: u32) -> usize {
        let rank = rank as usize;
        match self.function {
            CollectiveFunction::Allgatherv => self.blocks[rank].len(),
            CollectiveFunction::ReduceScatter => {
                self.block_offsets[rank + 1] - self.block_offsets[rank]
            }
            _ => self.bytes,
        }
    }

    /// Start of the block for or of `rank` in the buffer that holds all blocks.
    fn block_start(&self, rank: u32) -> usize {
        match self.function {
            CollectiveFunction::ReduceScatter => self.block_offsets[rank as usize],
            _ => rank as usize * self.bytes,
        }
    }

    /// Length of the longest block, or of the message.
    pub(super) fn longest_block(&self) -> usize {
        match self.function {
            CollectiveFunction::Allgatherv => {
                self.blocks.iter().map(Memory::len).max().unwrap_or(0)
            }
            CollectiveFunction::ReduceScatter => {
                self.block_offsets.windows(2).map(|pair| pair[1] - pair[0]).max().unwrap_or(0)
            }
            _ => self.bytes,
        }
    }
}

impl TransferView<'_> {
    /// Whether this rank publishes.
    #[inline]
    pub(super) fn publishes(&self) -> bool {
        match self.call.function {
            CollectiveFunction::Bcast
            | CollectiveFunction::Scatter
            | CollectiveFunction::Scatterv => self.rank == self.call.root,
            CollectiveFunction::Gather
            | CollectiveFunction::Gatherv
            | CollectiveFunction::Reduce => self.rank != self.call.root,
            _ => true,
        }
    }

    /// The ranks whose entries this rank reads.
    #[inline]
    pub(super) fn sources(&self) -> std::ops::Range<u32> {
        let Call { function, root, .. } = *self.call;
        match function {
            CollectiveFunction::Bcast
            | CollectiveFunction::Scatter
            | CollectiveFunction::Scatterv => match self.rank == root {
                true => 0..0,
                false => root..root + 1,
            },
            CollectiveFunction::Gather
            | CollectiveFunction::Gatherv
            | CollectiveFunction::Reduce
                if self.rank != root =>
            {
                0..0
            }
            CollectiveFunction::Scan | CollectiveFunction::Exscan => 0..self.rank,
            _ => 0..self.ranks,
        }
    }

    pub(super) fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank;
        (0..self.ranks).filter(move |other| *other != rank)
    }

    /// Bytes of the entry of `rank` in `round`; of this rank, if only it knows them.
    #[inline]
    pub(super) fn len(&self, rank: u32, round: u32) -> usize {
        let (call, segmentation) = (&*self.call, self.segmentation);
        match call.function {
            CollectiveFunction::Barrier => 0,
            CollectiveFunction::Scatter
            | CollectiveFunction::Alltoall
            | CollectiveFunction::ReduceScatterBlock
            | CollectiveFunction::ReduceScatter => {
                segmentation.piece_bytes * (self.ranks as usize - 1)
                    + segmentation.range(round, call.longest_block()).1
            }
            CollectiveFunction::Allreduce if segmentation.parts.is_some() => {
                segmentation.piece_bytes
            }
            CollectiveFunction::Allgatherv => segmentation.range(round, call.block(rank)).1,
            CollectiveFunction::Gatherv
            | CollectiveFunction::Scatterv
            | CollectiveFunction::Alltoallv => self.len_of_blocks(),
            _ => segmentation.range(round, call.bytes).1,
        }
    }

    /// Compares an entry of `source` in `round` with the own arguments.
    ///
    /// # Errors
    /// Two headers that differ: the own one, and that of `source`.
    #[inline]
    pub(super) fn check(
        &self, source: u32, round: u32, theirs: SlotHeader, entry: Span,
    ) -> Result<(), [SlotHeader; 2]> {
        if self.call.has_pairwise_blocks() {
            return self.check_block(source, theirs, entry);
        }
        let ours = slot_header(self.call);
        let is_expected = theirs == ours && entry.len() == self.len(source, round);
        if is_expected { Ok(()) } else { Err([ours, theirs]) }
    }

    /// Writes this rank's entry of `round`.
    #[inline]
    pub(super) fn fill_entry(&mut self, round: u32, entry: Span) {
        let segmentation = self.segmentation;
        match self.call.function {
            CollectiveFunction::Barrier => {}
            CollectiveFunction::Bcast => {
                let (start, len) = segmentation.range(round, self.call.bytes);
                pack(&self.call.receive, start, entry.part(0, len));
            }
            CollectiveFunction::Allreduce if segmentation.parts.is_some() => {
                self.fill_parts(round, entry);
            }
            CollectiveFunction::Scatter
            | CollectiveFunction::Alltoall
            | CollectiveFunction::ReduceScatterBlock
            | CollectiveFunction::ReduceScatter => {
                for other in self.others() {
                    let (start, len) = segmentation.range(round, self.call.block(other));
                    let part = entry.part(other as usize * segmentation.piece_bytes, len);
                    pack(&self.call.send, self.call.block_start(other) + start, part);
                }
            }
            CollectiveFunction::Gatherv
            | CollectiveFunction::Scatterv
            | CollectiveFunction::Alltoallv => self.fill_blocks(entry),
            // Gather, allgather, allgatherv, reduce, short allreduce, scan, exscan.
            _ => {
                let (start, _) = segmentation.range(round, self.call.block(self.rank));
                pack(&self.call.send, self.call.send_offset + start, entry);
            }
        }
    }

    /// Reads the published entries of all [`TransferView::sources`] in `round`.
    #[inline]
    pub(super) fn read_round(&mut self, segment: &mut SharedSegment, first: u64, round: u32) {
        let (segmentation, call) = (self.segmentation, &mut *self.call);
        let at = first + u64::from(round);
        let own_part = self.rank as usize * segmentation.piece_bytes;
        match call.function {
            CollectiveFunction::Bcast => {
                let (start, len) = segmentation.range(round, call.bytes);
                unpack(&mut call.receive, start, segment, (call.root, at, 0, len));
            }
            CollectiveFunction::Scatter if self.rank == call.root => self.copy_own_block(round),
            CollectiveFunction::Scatter => {
                let (start, len) = segmentation.range(round, call.bytes);
                unpack(&mut call.receive, start, segment, (call.root, at, own_part, len));
            }
            CollectiveFunction::Gather | CollectiveFunction::Reduce if self.rank != call.root => {}
            CollectiveFunction::Gather
            | CollectiveFunction::Allgather
            | CollectiveFunction::Alltoall => {
                let (start, len) = segmentation.range(round, call.bytes);
                let is_alltoall = call.function == CollectiveFunction::Alltoall;
                let part = if is_alltoall { own_part } else { 0 };
                for other in self.others() {
                    let to = other as usize * self.call.bytes + start;
                    unpack(&mut self.call.receive, to, segment, (other, at, part, len));
                }
                self.copy_own_block(round);
            }
            CollectiveFunction::Allgatherv => {
                for other in self.others() {
                    let (start, len) = segmentation.range(round, self.call.block(other));
                    let block = &mut self.call.blocks[other as usize];
                    unpack(block, start, segment, (other, at, 0, len));
                }
                self.copy_own_block(round);
            }
            CollectiveFunction::Allreduce if segmentation.parts.is_some() => {
                self.read_parts(segment, at, round);
            }
            CollectiveFunction::Reduce | CollectiveFunction::Allreduce => {
                let (start, len) = segmentation.range(round, call.bytes);
                self.combine(segment, at, (start, start, 0, len), self.ranks);
            }
            CollectiveFunction::ReduceScatterBlock | CollectiveFunction::ReduceScatter => {
                let (start, len) = segmentation.range(round, call.block(self.rank));
                let own = call.send_offset + start;
                self.combine(segment, at, (own, start, own_part, len), self.ranks);
            }
            CollectiveFunction::Scan => {
                let (start, len) = segmentation.range(round, call.bytes);
                self.combine(segment, at, (start, start, 0, len), self.rank + 1);
            }
            CollectiveFunction::Exscan if self.rank > 0 => {
                let (start, len) = segmentation.range(round, call.bytes);
                self.combine(segment, at, (start, start, 0, len), self.rank);
            }
            CollectiveFunction::Gatherv
            | CollectiveFunction::Scatterv
            | CollectiveFunction::Alltoallv => self.read_blocks(segment, at),
            // A barrier, rank 0 of an exscan.
            _ => {}
        }
    }

    /// Copies the block that this rank sends to itself.
    fn copy_own_block(&mut self, round: u32) {
        let (rank, segmentation) = (self.rank, self.segmentation);
        let call = &mut *self.call;
        if call.in_place {
            return;
        }
        let (start, len) = segmentation.range(round, call.block(rank));
        let own = rank as usize * call.bytes + start;
        match call.function {
            CollectiveFunction::Scatter => call.send.copy(own, &mut call.receive, start, len),
            CollectiveFunction::Alltoall => call.send.copy(own, &mut call.receive, own, len),
            CollectiveFunction::Allgatherv => {
                call.send.copy(start, &mut call.blocks[rank as usize], start, len)
            }
            _ => call.send.copy(start, &mut call.receive, own, len),
        }
    }

    /// An entry of an allreduce by parts: the parts of piece `round` for the other ranks, and this
    /// rank's result of an earlier piece.
    fn fill_parts(&mut self, round: u32, entry: Span) {
        let Some((part, delay)) = self.segmentation.parts else { return };
        for other in self.others() {
            let (start, len) = self.part(round, other, part);
            pack(&self.call.send, start, entry.part(other as usize * part, len));
        }
        if let Some(earlier) = round.checked_sub(delay) {
            let (start, len) = self.part(earlier, self.rank, part);
            pack(&self.call.receive, start, entry.part(self.rank as usize * part, len));
        }
    }

    fn read_parts(&mut self, segment: &mut SharedSegment, at: u64, round: u32) {
        let Some((part, delay)) = self.segmentation.parts else { return };
        let (start, len) = self.part(round, self.rank, part);
        let own_part = self.rank as usize * part;
        self.combine(segment, at, (start, start, own_part, len), self.ranks);
        if let Some(earlier) = round.checked_sub(delay) {
            for other in self.others() {
                let (start, len) = self.part(earlier, other, part);
                let from = other as usize * part;
                unpack(&mut self.call.receive, start, segment, (other, at, from, len));
            }
        }
    }

    /// Start and length of the part of piece `round` that `rank` combines.
    fn part(&self, round: u32, rank: u32, part: usize) -> (usize, usize) {
        let (start, len) = self.segmentation.range(round, self.call.bytes);
        let skipped = (rank as usize * part).min(len);
        (start + skipped, part.min(len - skipped))
    }

    /// Combines `len` bytes of the operands of all ranks below `end`, into the receive buffer at `to`.
    /// This rank's operand is in its send buffer at `own`, the others are in the entries of round `at`,
    /// at `part`.
    fn combine(
        &mut self, segment: &mut SharedSegment, at: u64,
        (own, to, part, len): (usize, usize, usize, usize), end: u32,
    ) {
        if len == 0 {
            return;
        }
        let (Some(send), Some(receive)) = (self.call.send.span(), self.call.receive.span()) else {
            return;
        };
        let Some(operator) = &self.call.operator else { return };
        let (kernel, element) = (operator.kernel(), operator.element_bytes());
        let block = if len <= BLOCK_BYTES { len } else { (BLOCK_BYTES / element).max(1) * element };
        let mut done = 0;
        while done < len {
            let step = block.min(len - done);
            let into = receive.part(to + done, step);
            let mut own_operand = send.part(own + done, step);
            if own_operand.overlaps(into) && self.rank + 1 != end {
                own_operand.copy_to(self.scratch.part(0, step));
                own_operand = self.scratch.part(0, step);
            }
            let mut operands = (0..end).rev().filter_map(|rank| {
                if rank == self.rank {
                    return Some(own_operand);
                }
                segment.read(rank as usize, at).map(|(_, entry)| entry.part(part + done, step))
            });
            if let Some(last) = operands.next() {
                match operands.next() {
                    Some(before) => kernel.apply_to(before, last, into),
                    None => last.copy_to(into),
                }
                operands.for_each(|before| kernel.apply(before, into));
            }
            done += step;
        }
    }
}

/// Copies the bytes of `from` at `start` into an entry.
#[inline]
pub(super) fn pack(from: &Memory, start: usize, to: Span) {
    match from.span() {
        Some(span) => span.part(start, to.len()).copy_nonoverlapping(to),
        None => from.copy(start, &mut Memory::Span(to), 0, to.len()),
    }
}

/// Copies `len` bytes at `offset` of the entry of `rank` in round `at` to `to` at `start`.
#[inline]
pub(super) fn unpack(
    to: &mut Memory, start: usize, segment: &mut SharedSegment,
    (rank, at, offset, len): (u32, u64, usize, usize),
) {
    let Some((_, entry)) = segment.read(rank as usize, at) else { return };
    let from = entry.part(offset, len);
    match to.span() {
        Some(span) => from.copy_nonoverlapping(span.part(start, len)),
        None => Memory::Span(from).copy(0, to, start, len),
    }
}
