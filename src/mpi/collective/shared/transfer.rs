//! What goes into the entries of a round, and what comes out of them.

use super::segmentation::Segmentation;
use super::{SharedArguments, SharedOperation};
use crate::engine::memory::Memory;
use crate::shared_memory::segment::SharedSegment;
use platform::base::Span;

/// Bytes of operands that are combined at a time: a result stays in a first-level cache until all
/// operands are in it.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// One rank's view of a call.
pub(super) struct TransferView<'a> {
    pub(crate) arguments: &'a mut SharedArguments,
    pub(crate) segmentation: Segmentation,
    pub(crate) rank: u32,
    pub(crate) ranks: u32,
    /// Place for an operand that is in the way of the result, [`BLOCK_BYTES`] long.
    pub(crate) scratch: Span,
}

impl TransferView<'_> {
    /// Whether this rank publishes.
    #[inline]
    pub(crate) fn publishes(&self) -> bool {
        match self.arguments.kind {
            SharedOperation::Bcast | SharedOperation::Scatter => self.rank == self.arguments.root,
            SharedOperation::Gather | SharedOperation::Reduce => self.rank != self.arguments.root,
            _ => true,
        }
    }

    /// Which ranks' entries this rank reads.
    #[inline]
    pub(crate) fn sources(&self) -> std::ops::Range<u32> {
        let SharedArguments { kind, root, .. } = *self.arguments;
        match kind {
            SharedOperation::Bcast | SharedOperation::Scatter if self.rank == root => 0..0,
            SharedOperation::Bcast | SharedOperation::Scatter => root..root + 1,
            SharedOperation::Gather | SharedOperation::Reduce if self.rank != root => 0..0,
            SharedOperation::Scan | SharedOperation::Exscan => 0..self.rank,
            _ => 0..self.ranks,
        }
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank;
        (0..self.ranks).filter(move |other| *other != rank)
    }

    /// Bytes of the entry of `rank` in `round`.
    #[inline]
    pub(crate) fn len(&self, rank: u32, round: u32) -> usize {
        let (task, cut) = (&*self.arguments, self.segmentation);
        match task.kind {
            SharedOperation::Barrier => 0,
            SharedOperation::Scatter
            | SharedOperation::Alltoall
            | SharedOperation::ReduceScatterBlock
            | SharedOperation::ReduceScatter => {
                cut.segment_bytes * (self.ranks as usize - 1)
                    + cut.range(round, task.longest_block()).1
            }
            SharedOperation::Allreduce if cut.parts.is_some() => cut.segment_bytes,
            SharedOperation::Allgatherv => cut.range(round, task.block(rank)).1,
            _ => cut.range(round, task.bytes).1,
        }
    }

    /// Writes this rank's entry of `round`.
    #[inline]
    pub(crate) fn fill_slot(&mut self, round: u32, entry: Span) {
        let cut = self.segmentation;
        match self.arguments.kind {
            SharedOperation::Barrier => {}
            SharedOperation::Bcast => {
                let (start, len) = cut.range(round, self.arguments.bytes);
                pack(&self.arguments.receive, start, entry.part(0, len));
            }
            SharedOperation::Allreduce if cut.parts.is_some() => self.fill_slot_parts(round, entry),
            SharedOperation::Scatter
            | SharedOperation::Alltoall
            | SharedOperation::ReduceScatterBlock
            | SharedOperation::ReduceScatter => {
                for other in self.others() {
                    let (start, len) = cut.range(round, self.arguments.block(other));
                    let slot = entry.part(other as usize * cut.segment_bytes, len);
                    pack(&self.arguments.send, self.arguments.start(other) + start, slot);
                }
            }
            SharedOperation::Gather
            | SharedOperation::Allgather
            | SharedOperation::Allgatherv
            | SharedOperation::Reduce
            | SharedOperation::Allreduce
            | SharedOperation::Scan
            | SharedOperation::Exscan => {
                let (start, _) = cut.range(round, self.arguments.block(self.rank));
                pack(&self.arguments.send, self.arguments.send_offset + start, entry);
            }
        }
    }

    /// Uses the entries of all [`TransferView::sources`] in `round`, which are there.
    #[inline]
    pub(crate) fn read_round(&mut self, room: &mut SharedSegment, first: u64, round: u32) {
        let (cut, task) = (self.segmentation, &mut *self.arguments);
        let at = first + u64::from(round);
        match task.kind {
            SharedOperation::Barrier => {}
            SharedOperation::Bcast => {
                let (start, len) = cut.range(round, task.bytes);
                unpack(&mut task.receive, start, room, (task.root, at, 0, len));
            }
            SharedOperation::Scatter if self.rank == task.root => self.copy_own_block(round),
            SharedOperation::Scatter => {
                let (start, len) = cut.range(round, task.bytes);
                let slot = self.rank as usize * cut.segment_bytes;
                unpack(&mut task.receive, start, room, (task.root, at, slot, len));
            }
            SharedOperation::Gather if self.rank != task.root => {}
            SharedOperation::Gather | SharedOperation::Allgather | SharedOperation::Alltoall => {
                let (start, len) = cut.range(round, task.bytes);
                let is_alltoall = task.kind == SharedOperation::Alltoall;
                let slot = if is_alltoall { self.rank as usize * cut.segment_bytes } else { 0 };
                for other in self.others() {
                    let place = other as usize * self.arguments.bytes + start;
                    unpack(&mut self.arguments.receive, place, room, (other, at, slot, len));
                }
                self.copy_own_block(round);
            }
            SharedOperation::Allgatherv => {
                for other in self.others() {
                    let (start, len) = cut.range(round, self.arguments.block(other));
                    let place = &mut self.arguments.receive_blocks[other as usize];
                    unpack(place, start, room, (other, at, 0, len));
                }
                self.copy_own_block(round);
            }
            SharedOperation::Reduce if self.rank != task.root => {}
            SharedOperation::Allreduce if cut.parts.is_some() => self.read_parts(room, at, round),
            SharedOperation::Reduce | SharedOperation::Allreduce => {
                let (start, len) = cut.range(round, task.bytes);
                self.combine(room, at, (start, start, 0, len), self.ranks);
            }
            SharedOperation::ReduceScatterBlock | SharedOperation::ReduceScatter => {
                let (start, len) = cut.range(round, task.block(self.rank));
                let slot = self.rank as usize * cut.segment_bytes;
                let own = task.send_offset + start;
                self.combine(room, at, (own, start, slot, len), self.ranks);
            }
            SharedOperation::Scan => {
                let (start, len) = cut.range(round, task.bytes);
                self.combine(room, at, (start, start, 0, len), self.rank + 1);
            }
            SharedOperation::Exscan => {
                let (start, len) = cut.range(round, task.bytes);
                if self.rank > 0 {
                    self.combine(room, at, (start, start, 0, len), self.rank);
                }
            }
        }
    }

    /// Copies what this rank gives to itself.
    fn copy_own_block(&mut self, round: u32) {
        let (rank, cut) = (self.rank, self.segmentation);
        let task = &mut *self.arguments;
        if task.in_place {
            return;
        }
        let (start, len) = cut.range(round, task.block(rank));
        let own = rank as usize * task.bytes + start;
        match task.kind {
            SharedOperation::Scatter => task.send.copy(own, &mut task.receive, start, len),
            SharedOperation::Alltoall => task.send.copy(own, &mut task.receive, own, len),
            SharedOperation::Allgatherv => {
                task.send.copy(start, &mut task.receive_blocks[rank as usize], start, len)
            }
            _ => task.send.copy(start, &mut task.receive, own, len),
        }
    }

    /// An entry of an allreduce by parts: what the others combine of piece `round`, and of an
    /// earlier piece what this rank has combined.
    fn fill_slot_parts(&mut self, round: u32, entry: Span) {
        let Some((part, lag)) = self.segmentation.parts else { return };
        for other in self.others() {
            let (start, len) = self.part(round, other, part);
            pack(&self.arguments.send, start, entry.part(other as usize * part, len));
        }
        if let Some(earlier) = round.checked_sub(lag) {
            let (start, len) = self.part(earlier, self.rank, part);
            pack(&self.arguments.receive, start, entry.part(self.rank as usize * part, len));
        }
    }

    fn read_parts(&mut self, room: &mut SharedSegment, at: u64, round: u32) {
        let Some((part, lag)) = self.segmentation.parts else { return };
        let (start, len) = self.part(round, self.rank, part);
        let slot = self.rank as usize * part;
        self.combine(room, at, (start, start, slot, len), self.ranks);
        if let Some(earlier) = round.checked_sub(lag) {
            for other in self.others() {
                let (start, len) = self.part(earlier, other, part);
                let slot = other as usize * part;
                unpack(&mut self.arguments.receive, start, room, (other, at, slot, len));
            }
        }
    }

    /// The bytes of piece `round` that `rank` combines.
    fn part(&self, round: u32, rank: u32, part: usize) -> (usize, usize) {
        let (start, len) = self.segmentation.range(round, self.arguments.bytes);
        let skipped = (rank as usize * part).min(len);
        (start + skipped, part.min(len - skipped))
    }

    /// Combines `len` bytes: those from `own` on in what this rank gives, unless it is not below
    /// `end`, with those from `slot` on in the entries of the other ranks below `end`; the result
    /// goes to `to`.
    fn combine(
        &mut self, room: &mut SharedSegment, at: u64,
        (own, to, slot, len): (usize, usize, usize, usize), end: u32,
    ) {
        if len == 0 {
            return;
        }
        let (Some(give), Some(take)) = (self.arguments.send.span(), self.arguments.receive.span())
        else {
            return;
        };
        let Some(combine) = &self.arguments.combination else { return };
        let unit = self.arguments.element_bytes;
        let block = if len <= BLOCK_BYTES { len } else { (BLOCK_BYTES / unit).max(1) * unit };
        let mut done = 0;
        while done < len {
            let step = block.min(len - done);
            let into = take.part(to + done, step);
            let mut mine = give.part(own + done, step);
            if mine.overlaps(into) && self.rank + 1 != end {
                mine.copy_to(self.scratch.part(0, step));
                mine = self.scratch.part(0, step);
            }
            let mut operands = (0..end).rev().filter_map(|rank| {
                if rank == self.rank {
                    return Some(mine);
                }
                room.read(rank as usize, at).map(|(_, entry)| entry.part(slot + done, step))
            });
            if let Some(last) = operands.next() {
                match operands.next() {
                    Some(before) => combine.apply_to(before, last, into),
                    None => last.copy_to(into),
                }
                operands.for_each(|before| combine.apply(before, into));
            }
            done += step;
        }
    }
}

/// Copies the bytes of `from` from `start` on into an entry.
#[inline]
fn pack(from: &Memory, start: usize, to: Span) {
    match from.span() {
        Some(span) => span.part(start, to.len()).copy_nonoverlapping(to),
        None => from.copy(start, &mut Memory::Span(to), 0, to.len()),
    }
}

/// Copies from the entry of a rank in a round, from a place on so many bytes, to `to` from `start`
/// on.
#[inline]
fn unpack(
    to: &mut Memory, start: usize, room: &mut SharedSegment,
    (rank, at, place, len): (u32, u64, usize, usize),
) {
    let Some((_, entry)) = room.read(rank as usize, at) else { return };
    let from = entry.part(place, len);
    match to.span() {
        Some(span) => from.copy_nonoverlapping(span.part(start, len)),
        None => Memory::Span(from).copy(0, to, start, len),
    }
}
