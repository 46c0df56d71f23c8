//! Memory of a window that the ranks of a node share: one segment for each node and window.
//!
//! ```text
//!   segment:  words of the window | memory of the node's first rank | ... of its last rank
//!   made by the first rank of the node (its leader), mapped by the others
//! ```
//!
//! Puts and gets are copies, accumulates loops under a lock for each target, and locks are words of the
//! segment: no call of the target is needed. One lock for accumulates of all kinds and lengths makes them
//! atomic to each other, and long ones as fast as memory.

use std::hint::spin_loop;

use super::channel::WindowChannel;
use crate::device::Device;
use crate::device::rma::{MemoryKey, RemoteAccess, Rma};
use crate::engine::Engine;
pub(super) use crate::shared_memory::call_words::WindowCall;
use crate::shared_memory::turn_lock::{LockKind, LockTurn};
use crate::shared_memory::window_control::{WakeFence, WindowControl};
use platform::base::{ErrorClass, Peer, Result, Span};

/// The alignment of the memory of a rank that is long enough for pages of its own, in bytes.
const PAGE: usize = 4096;

/// How the memories of a node's ranks lie in a segment.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(super) struct SegmentLayout {
    /// The ranks of the window on this node, ascending.
    ranks: Vec<u32>,
    /// The offset of the memory of each, and its length.
    parts: Vec<(usize, usize)>,
    has_memory: bool,
    len: usize,
}

/// The segment of this node.
#[derive(Debug)]
pub(super) struct MappedMemory {
    layout: SegmentLayout,
    leader: Peer,
    key: MemoryKey,
    is_leader: bool,
    segment: Span,
    control: WindowControl,
    /// Locks of targets that this process holds.
    held: Vec<(u32, LockTurn)>,
    /// Locks of targets that it waits for.
    queued: Vec<(u32, LockTurn)>,
}

/// How the memories of a segment are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum SegmentPlacement {
    /// Each begins where the one before ends (`MPI_Win_allocate_shared`).
    Contiguous,
    /// Each is aligned to so many bytes at least.
    Aligned(usize),
    /// The memories are elsewhere: the segment has words only.
    Words,
}

impl SegmentLayout {
    /// The layout for ranks with memories of these lengths, in a window of `window_ranks`; `None` if they are
    /// too long.
    pub(super) fn new(
        ranks: &[(u32, u64)], window_ranks: u32, placement: SegmentPlacement,
    ) -> Option<Self> {
        let words = WindowControl::bytes(ranks.len(), window_ranks as usize);
        let mut end = words.next_multiple_of(PAGE);
        let mut parts = Vec::with_capacity(ranks.len());
        let has_memory = placement != SegmentPlacement::Words;
        for (_, len) in ranks {
            let len = if has_memory { usize::try_from(*len).ok()? } else { 0 };
            let alignment = match placement {
                SegmentPlacement::Contiguous | SegmentPlacement::Words => 1,
                SegmentPlacement::Aligned(least) if len >= PAGE => least.max(PAGE),
                SegmentPlacement::Aligned(least) => least,
            };
            let start = end.checked_next_multiple_of(alignment)?;
            end = start.checked_add(len).filter(|end| *end <= isize::MAX as usize)?;
            parts.push((start, len));
        }
        let ranks = ranks.iter().map(|(rank, _)| *rank).collect();
        Some(Self { ranks, parts, has_memory, len: end })
    }

    /// The first rank, which makes the segment.
    pub(super) fn leader(&self) -> u32 {
        self.ranks[0]
    }

    /// The index of a rank among those of the node.
    #[inline]
    fn index(&self, rank: u32) -> Option<usize> {
        // Most windows have all ranks on one node.
        let guess = rank as usize;
        match self.ranks.get(guess) {
            Some(found) if *found == rank => Some(guess),
            _ => self.ranks.binary_search(&rank).ok(),
        }
    }
}

impl MappedMemory {
    /// Makes the segment, at the leader.
    ///
    /// # Errors
    /// `NoMem` without memory or where the device maps none.
    pub(super) fn allocate(rma: &mut dyn Rma, layout: &SegmentLayout) -> Result<MemoryKey> {
        let made = rma.allocate(layout.len, RemoteAccess::ReadWrite)?;
        made.map(|(key, _)| key)
            .ok_or_else(|| ErrorClass::NoMem.error("the device has no memory that others can map"))
    }

    /// Maps the segment of the leader.
    ///
    /// # Errors
    /// `Other` if the system refuses; `NoMem` where the device maps no memory.
    pub(super) fn open(
        rma: &mut dyn Rma, layout: SegmentLayout, channel: &WindowChannel, key: MemoryKey,
    ) -> Result<Self> {
        let leader = channel.peer(layout.leader());
        let Some(segment) = rma.open(leader, key)?.mapped else {
            return Err(ErrorClass::NoMem.error("the device does not map memory of others"));
        };
        let is_leader = layout.leader() == channel.rank;
        let control = WindowControl::new(segment, layout.ranks.len(), channel.size() as usize);
        let (held, queued) = (Vec::new(), Vec::new());
        Ok(Self { layout, leader, key, is_leader, segment, control, held, queued })
    }

    /// Ends the use of the segment, after all ranks have stopped accessing it.
    pub(super) fn close(self, rma: &mut dyn Rma) {
        match self.is_leader {
            true => rma.deregister(self.key),
            false => rma.close(self.leader, self.key),
        }
    }

    /// The memory of a rank of this node, if it is in the segment.
    #[inline]
    pub(super) fn memory(&self, rank: u32) -> Option<Span> {
        if !self.layout.has_memory {
            return None;
        }
        let (start, len) = self.layout.parts[self.layout.index(rank)?];
        Some(self.segment.part(start, len))
    }

    /// Whether the memory of ranks is in the segment, and not its words only.
    #[inline]
    pub(super) fn has_memory(&self) -> bool {
        self.layout.has_memory
    }

    /// Whether a rank is on this node.
    #[inline]
    pub(super) fn reaches(&self, rank: u32) -> bool {
        self.layout.index(rank).is_some()
    }

    /// The ranks of this node.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.layout.ranks
    }

    /// Agrees on the fence of locks: all ranks of the window have this one.
    pub(super) fn set_fence(&mut self, fence: WakeFence) {
        self.control.set_fence(fence);
    }

    /// Takes the lock of a target on this node if it is free.
    #[inline]
    pub(super) fn try_lock<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, kind: LockKind,
    ) -> bool {
        let (Some(index), Some(me)) = (self.layout.index(target), self.layout.index(channel.rank))
        else {
            return false;
        };
        let Some(turn) = self.control.try_request(index, kind, me) else { return false };
        let has_entered = self.try_enter(engine, channel, target, turn);
        debug_assert!(has_entered, "a lock that was free is not entered");
        self.held.push((target, turn));
        true
    }

    /// Asks for the lock of a target on this node; whether this process has it at once. If not, it waits
    /// ([`MappedMemory::advance`]).
    pub(super) fn enter_or_queue<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, kind: LockKind,
    ) -> bool {
        let Some(index) = self.layout.index(target) else { return true };
        let me = self.layout.index(channel.rank).unwrap_or(index);
        let turn = self.control.request(index, kind, me);
        if self.try_enter(engine, channel, target, turn) {
            self.held.push((target, turn));
            return true;
        }
        self.announce(index, turn, channel.rank);
        self.queued.push((target, turn));
        false
    }

    fn announce(&self, index: usize, turn: LockTurn, me: u32) {
        let me = self.layout.index(me).unwrap_or_default();
        self.control.lock(index).announce(turn, me as u32);
    }

    /// Takes the locks whose turn it is, a part of every poll; whether there was one.
    pub(super) fn advance<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel,
    ) -> bool {
        let before = self.held.len();
        let queued = std::mem::take(&mut self.queued);
        for (target, turn) in queued {
            let list = match self.try_enter(engine, channel, target, turn) {
                true => &mut self.held,
                false => &mut self.queued,
            };
            list.push((target, turn));
        }
        self.held.len() > before
    }

    /// Whether this process waits for a lock.
    pub(super) fn is_queued(&self) -> bool {
        !self.queued.is_empty()
    }

    /// Whether this process has the lock of a target.
    pub(super) fn holds(&self, target: u32) -> bool {
        self.held.iter().any(|(held, _)| *held == target)
    }

    /// The ranks that have the lock of a target, or have asked for it before this process, which waits for it;
    /// besides the target itself.
    pub(super) fn awaited(&self, target: u32) -> Vec<u32> {
        let queued = self.queued.iter().find(|(queued, _)| *queued == target);
        let Some((index, (_, turn))) = self.layout.index(target).zip(queued) else {
            return Vec::new();
        };
        let awaited = self.control.awaited(index, *turn);
        awaited.map(|index| self.layout.ranks[index]).collect()
    }

    /// Whether it is the turn of a request, which then has the lock.
    pub(super) fn try_enter<D: Device>(
        &self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, turn: LockTurn,
    ) -> bool {
        let Some(index) = self.layout.index(target) else { return true };
        match self.control.lock(index).try_enter(turn) {
            None => false,
            Some(next) => {
                self.wake(engine, channel, next);
                true
            }
        }
    }

    /// Ends a lock.
    pub(super) fn leave<D: Device>(
        &self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, turn: LockTurn,
    ) {
        let Some(index) = self.layout.index(target) else { return };
        let me = self.layout.index(channel.rank).unwrap_or(index);
        let next = self.control.leave(index, turn, me);
        self.wake(engine, channel, next);
    }

    fn wake<D: Device>(&self, engine: &mut Engine<D>, channel: &WindowChannel, index: Option<u32>) {
        // A damaged word wakes nobody.
        if let Some(rank) = index.and_then(|index| self.layout.ranks.get(index as usize)) {
            engine.notify(channel.peer(*rank));
        }
    }

    /// Records a call for `to`, a rank of this node, and wakes it.
    pub(super) fn call<D: Device>(
        &self, engine: &mut Engine<D>, channel: &WindowChannel, call: WindowCall, to: u32,
    ) {
        let (from, index) = (self.layout.index(channel.rank), self.layout.index(to));
        if let (Some(from), Some(index)) = (from, index) {
            self.control.calls(from, index).call(call);
            engine.notify(channel.peer(to));
        }
    }

    /// The number of calls of `from` for `me`, modulo 2^32; 0 unless it is on this node.
    pub(super) fn calls(&self, call: WindowCall, from: u32, me: u32) -> u32 {
        match (self.layout.index(from), self.layout.index(me)) {
            (Some(from), Some(me)) => self.control.calls(from, me).calls(call),
            _ => 0,
        }
    }

    /// Takes the lock of accumulates on a target of this node, unless another rank has it for long.
    #[inline]
    pub(super) fn try_accumulate(&self, target: u32, me: u32) -> bool {
        // An accumulate of one number takes less time than this.
        const TRIES: usize = 64;
        let (Some(target), Some(me)) = (self.layout.index(target), self.layout.index(me)) else {
            return false;
        };
        self.control.try_accumulate(target, me)
            || (1..TRIES).any(|_| {
                spin_loop();
                self.control.try_accumulate(target, me)
            })
    }

    /// The rank that has this lock.
    pub(super) fn accumulating(&self, target: u32) -> Option<u32> {
        let holder = self.control.accumulating(self.layout.index(target)?)?;
        self.layout.ranks.get(holder).copied()
    }

    /// Gives the lock back.
    #[inline]
    pub(super) fn end_accumulate(&self, target: u32) {
        if let Some(target) = self.layout.index(target) {
            self.control.end_accumulate(target);
        }
    }

    /// The lock of a target that this process holds, which it gives up.
    pub(super) fn give_up(&mut self, target: u32) -> Option<LockTurn> {
        let place = self.held.iter().position(|(held, _)| *held == target)?;
        Some(self.held.swap_remove(place).1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn memories_follow_each_other() {
        let ranks = [(3, 10), (5, 0), (6, 7)];
        let shared = SegmentLayout::new(&ranks, 9, SegmentPlacement::Contiguous).unwrap();
        let first = shared.parts[0].0;
        assert_eq!(shared.parts, [(first, 10), (first + 10, 0), (first + 10, 7)]);
        assert_eq!((shared.len, shared.leader()), (first + 17, 3));
        assert_eq!([3, 5, 6, 4].map(|rank| shared.index(rank)), [Some(0), Some(1), Some(2), None]);
        let apart = SegmentLayout::new(&ranks, 9, SegmentPlacement::Aligned(64)).unwrap();
        assert_eq!(apart.parts, [(first, 10), (first + 64, 0), (first + 64, 7)]);
        let pages =
            SegmentLayout::new(&[(0, 1), (1, 5000)], 2, SegmentPlacement::Aligned(64)).unwrap();
        assert!(pages.parts[1].0.is_multiple_of(PAGE));
    }

    #[test]
    fn what_is_too_long_has_no_layout() {
        assert!(
            SegmentLayout::new(&[(0, 1 << 62), (1, 1 << 62)], 2, SegmentPlacement::Contiguous)
                .is_none()
        );
        assert!(SegmentLayout::new(&[(0, u64::MAX)], 1, SegmentPlacement::Aligned(64)).is_none());
    }
}
