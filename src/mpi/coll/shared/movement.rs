//! What goes into the entries of a round, and what comes out of them.

use super::cut::Cut;
use super::{Kind, Task};
use crate::base::Span;
use crate::core::memory::Memory;
use crate::device::room::Room;

/// Bytes of operands that are combined at a time: a result stays in a first-level cache until all
/// operands are in it.
pub(super) const BLOCK_BYTES: usize = 4 << 10;

/// One rank's view of a call.
pub(super) struct View<'a> {
    pub task: &'a mut Task,
    pub cut: Cut,
    pub rank: u32,
    pub ranks: u32,
    /// Place for an operand that is in the way of the result, [`BLOCK_BYTES`] long.
    pub scratch: Span,
}

impl View<'_> {
    /// Whether this rank publishes.
    #[inline]
    pub fn publishes(&self) -> bool {
        match self.task.kind {
            Kind::Bcast | Kind::Scatter => self.rank == self.task.root,
            Kind::Gather | Kind::Reduce => self.rank != self.task.root,
            _ => true,
        }
    }

    /// Which ranks' entries this rank reads.
    #[inline]
    pub fn sources(&self) -> std::ops::Range<u32> {
        let Task { kind, root, .. } = *self.task;
        match kind {
            Kind::Bcast | Kind::Scatter if self.rank == root => 0..0,
            Kind::Bcast | Kind::Scatter => root..root + 1,
            Kind::Gather | Kind::Reduce if self.rank != root => 0..0,
            Kind::Scan | Kind::Exscan => 0..self.rank,
            _ => 0..self.ranks,
        }
    }

    fn others(&self) -> impl Iterator<Item = u32> + use<> {
        let rank = self.rank;
        (0..self.ranks).filter(move |other| *other != rank)
    }

    /// Bytes of the entry of `rank` in `round`.
    #[inline]
    pub fn len(&self, rank: u32, round: u32) -> usize {
        let (task, cut) = (&*self.task, self.cut);
        match task.kind {
            Kind::Barrier => 0,
            Kind::Scatter | Kind::Alltoall | Kind::ReduceScatterBlock | Kind::ReduceScatter => {
                cut.piece * (self.ranks as usize - 1) + cut.range(round, task.longest()).1
            }
            Kind::Allreduce if cut.parts.is_some() => cut.piece,
            Kind::Allgatherv => cut.range(round, task.block(rank)).1,
            _ => cut.range(round, task.bytes).1,
        }
    }

    /// Writes this rank's entry of `round`.
    #[inline]
    pub fn fill(&mut self, round: u32, entry: Span) {
        let cut = self.cut;
        match self.task.kind {
            Kind::Barrier => {}
            Kind::Bcast => {
                let (start, len) = cut.range(round, self.task.bytes);
                pack(&self.task.take, start, entry.part(0, len));
            }
            Kind::Allreduce if cut.parts.is_some() => self.fill_parts(round, entry),
            Kind::Scatter | Kind::Alltoall | Kind::ReduceScatterBlock | Kind::ReduceScatter => {
                for other in self.others() {
                    let (start, len) = cut.range(round, self.task.block(other));
                    let slot = entry.part(other as usize * cut.piece, len);
                    pack(&self.task.give, self.task.start(other) + start, slot);
                }
            }
            Kind::Gather
            | Kind::Allgather
            | Kind::Allgatherv
            | Kind::Reduce
            | Kind::Allreduce
            | Kind::Scan
            | Kind::Exscan => {
                let (start, _) = cut.range(round, self.task.block(self.rank));
                pack(&self.task.give, self.task.give_at + start, entry);
            }
        }
    }

    /// Uses the entries of all [`View::sources`] in `round`, which are there.
    #[inline]
    pub fn take(&mut self, room: &mut Room, first: u64, round: u32) {
        let (cut, task) = (self.cut, &mut *self.task);
        let at = first + u64::from(round);
        match task.kind {
            Kind::Barrier => {}
            Kind::Bcast => {
                let (start, len) = cut.range(round, task.bytes);
                unpack(&mut task.take, start, room, (task.root, at, 0, len));
            }
            Kind::Scatter if self.rank == task.root => self.keep(round),
            Kind::Scatter => {
                let (start, len) = cut.range(round, task.bytes);
                let slot = self.rank as usize * cut.piece;
                unpack(&mut task.take, start, room, (task.root, at, slot, len));
            }
            Kind::Gather if self.rank != task.root => {}
            Kind::Gather | Kind::Allgather | Kind::Alltoall => {
                let (start, len) = cut.range(round, task.bytes);
                let is_alltoall = task.kind == Kind::Alltoall;
                let slot = if is_alltoall { self.rank as usize * cut.piece } else { 0 };
                for other in self.others() {
                    let place = other as usize * self.task.bytes + start;
                    unpack(&mut self.task.take, place, room, (other, at, slot, len));
                }
                self.keep(round);
            }
            Kind::Allgatherv => {
                for other in self.others() {
                    let (start, len) = cut.range(round, self.task.block(other));
                    let place = &mut self.task.places[other as usize];
                    unpack(place, start, room, (other, at, 0, len));
                }
                self.keep(round);
            }
            Kind::Reduce if self.rank != task.root => {}
            Kind::Allreduce if cut.parts.is_some() => self.take_parts(room, at, round),
            Kind::Reduce | Kind::Allreduce => {
                let (start, len) = cut.range(round, task.bytes);
                self.combine(room, at, (start, start, 0, len), self.ranks);
            }
            Kind::ReduceScatterBlock | Kind::ReduceScatter => {
                let (start, len) = cut.range(round, task.block(self.rank));
                let slot = self.rank as usize * cut.piece;
                let own = task.give_at + start;
                self.combine(room, at, (own, start, slot, len), self.ranks);
            }
            Kind::Scan => {
                let (start, len) = cut.range(round, task.bytes);
                self.combine(room, at, (start, start, 0, len), self.rank + 1);
            }
            Kind::Exscan => {
                let (start, len) = cut.range(round, task.bytes);
                if self.rank > 0 {
                    self.combine(room, at, (start, start, 0, len), self.rank);
                }
            }
        }
    }

    /// Copies what this rank gives to itself.
    fn keep(&mut self, round: u32) {
        let (rank, cut) = (self.rank, self.cut);
        let task = &mut *self.task;
        if task.in_place {
            return;
        }
        let (start, len) = cut.range(round, task.block(rank));
        let own = rank as usize * task.bytes + start;
        match task.kind {
            Kind::Scatter => task.give.copy(own, &mut task.take, start, len),
            Kind::Alltoall => task.give.copy(own, &mut task.take, own, len),
            Kind::Allgatherv => task.give.copy(start, &mut task.places[rank as usize], start, len),
            _ => task.give.copy(start, &mut task.take, own, len),
        }
    }

    /// An entry of an allreduce by parts: what the others combine of piece `round`, and of an
    /// earlier piece what this rank has combined.
    fn fill_parts(&mut self, round: u32, entry: Span) {
        let Some((part, lag)) = self.cut.parts else { return };
        for other in self.others() {
            let (start, len) = self.part(round, other, part);
            pack(&self.task.give, start, entry.part(other as usize * part, len));
        }
        if let Some(earlier) = round.checked_sub(lag) {
            let (start, len) = self.part(earlier, self.rank, part);
            pack(&self.task.take, start, entry.part(self.rank as usize * part, len));
        }
    }

    fn take_parts(&mut self, room: &mut Room, at: u64, round: u32) {
        let Some((part, lag)) = self.cut.parts else { return };
        let (start, len) = self.part(round, self.rank, part);
        let slot = self.rank as usize * part;
        self.combine(room, at, (start, start, slot, len), self.ranks);
        if let Some(earlier) = round.checked_sub(lag) {
            for other in self.others() {
                let (start, len) = self.part(earlier, other, part);
                let slot = other as usize * part;
                unpack(&mut self.task.take, start, room, (other, at, slot, len));
            }
        }
    }

    /// The bytes of piece `round` that `rank` combines.
    fn part(&self, round: u32, rank: u32, part: usize) -> (usize, usize) {
        let (start, len) = self.cut.range(round, self.task.bytes);
        let skipped = (rank as usize * part).min(len);
        (start + skipped, part.min(len - skipped))
    }

    /// Combines `len` bytes: those from `own` on in what this rank gives, unless it is not below
    /// `end`, with those from `slot` on in the entries of the other ranks below `end`; the result
    /// goes to `to`.
    fn combine(
        &mut self, room: &mut Room, at: u64, (own, to, slot, len): (usize, usize, usize, usize),
        end: u32,
    ) {
        if len == 0 {
            return;
        }
        let (Some(give), Some(take)) = (self.task.give.span(), self.task.take.span()) else {
            return;
        };
        let Some(combine) = &self.task.combine else { return };
        let unit = self.task.unit;
        let block = if len <= BLOCK_BYTES { len } else { (BLOCK_BYTES / unit).max(1) * unit };
        let mut done = 0;
        while done < len {
            let step = block.min(len - done);
            let into = take.part(to + done, step);
            let mut mine = give.part(own + done, step);
            if mine.meets(into) && self.rank + 1 != end {
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
        Some(span) => span.part(start, to.len()).copy_apart(to),
        None => from.copy(start, &mut Memory::Span(to), 0, to.len()),
    }
}

/// Copies from the entry of a rank in a round, from a place on so many bytes, to `to` from `start`
/// on.
#[inline]
fn unpack(
    to: &mut Memory, start: usize, room: &mut Room,
    (rank, at, place, len): (u32, u64, usize, usize),
) {
    let Some((_, entry)) = room.read(rank as usize, at) else { return };
    let from = entry.part(place, len);
    match to.span() {
        Some(span) => from.copy_apart(span.part(start, len)),
        None => Memory::Span(from).copy(0, to, start, len),
    }
}
