//! Memory of a window that the ranks of a node share: one segment for each node and window.
//!
//! ```text
//!   segment:  words of the window | memory of the node's first rank | ... of its last rank
//!   made by the first rank of the node (its leader), mapped by the others
//! ```
//!
//! A node is here what shares memory ([`MemoryDomain`](crate::mpi::communicator::memory_domain::MemoryDomain)):
//! it may have ranks of several jobs, which have the segment by [`NearMemory`] and wake each other by doorbells.
//!
//! Puts and gets are copies, accumulates loops under a lock for each target, and locks are words of the
//! segment: no call of the target is needed. One lock for accumulates of all kinds and lengths makes them
//! atomic to each other, and long ones as fast as memory.

use std::sync::Arc;

use super::channel::WindowChannel;
use crate::device::Device;
use crate::device::near_memory::{NearDoorbell, NearMemory, NearPlace, NearSegment};
use crate::device::rma::{MemoryKey, RemoteAccess, Rma};
use crate::engine::Engine;
use crate::shared_memory::accumulate_lock::AccumulateLock;
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
    source: SegmentSource,
    /// The index of this rank among those of the node.
    me: usize,
    segment: Span,
    control: WindowControl,
    /// Locks of targets that this process holds.
    held: Vec<(u32, LockTurn)>,
    /// Locks of targets that it waits for.
    queued: Vec<(u32, LockTurn)>,
    /// Locks that it has waited for, and must ask for by messages.
    withdrawn: Vec<(u32, LockKind)>,
}

/// Where a segment comes from.
#[derive(Debug)]
enum SegmentSource {
    /// From the device, at the leader.
    Device { leader: Peer, key: MemoryKey },
    /// From a process of this host; its ranks are of several jobs.
    Host {
        _segment: Box<dyn NearSegment>,
        /// What wakes the ranks that the device does not wake, by index.
        doorbells: Vec<Option<Arc<dyn NearDoorbell>>>,
    },
}

/// How the memories of a segment are aligned.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum SegmentPlacement {
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

    /// The ranks of the window on this node, ascending.
    pub(super) fn ranks(&self) -> &[u32] {
        &self.ranks
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
        Self::over(segment, layout, channel, SegmentSource::Device { leader, key })
    }

    /// Makes a segment for ranks of several jobs, at the leader.
    ///
    /// # Errors
    /// As [`NearMemory::allocate`].
    pub(super) fn allocate_near(
        near: &mut dyn NearMemory, layout: &SegmentLayout,
    ) -> Result<Box<dyn NearSegment>> {
        near.allocate(layout.len)
    }

    /// Maps such a segment, which is at `place`. `doorbells` are those of the ranks that the device does not
    /// wake, by index. The leader has made the segment `own`.
    ///
    /// # Errors
    /// As [`NearMemory::open`] and [`NearMemory::doorbell`].
    pub(super) fn open_near(
        near: &mut dyn NearMemory, own: Option<Box<dyn NearSegment>>, place: NearPlace,
        layout: SegmentLayout, channel: &WindowChannel, doorbells: &[Option<NearPlace>],
    ) -> Result<Self> {
        let segment = own.map_or_else(|| near.open(place, layout.len), Ok)?;
        let doorbells =
            doorbells.iter().map(|place| place.map(|place| near.doorbell(place)).transpose());
        let doorbells = doorbells.collect::<Result<_>>()?;
        let memory = segment.memory();
        let source = SegmentSource::Host { _segment: segment, doorbells };
        Self::over(memory, layout, channel, source)
    }

    fn over(
        segment: Span, layout: SegmentLayout, channel: &WindowChannel, source: SegmentSource,
    ) -> Result<Self> {
        let Some(me) = layout.index(channel.rank()) else {
            return Err(ErrorClass::Other.error("this rank is not one of the segment"));
        };
        let control = WindowControl::new(segment, layout.ranks.len(), channel.size() as usize);
        let (held, queued, withdrawn) = (Vec::new(), Vec::new(), Vec::new());
        Ok(Self { layout, source, me, segment, control, held, queued, withdrawn })
    }

    /// Ends the use of the segment, after all ranks have stopped accessing it.
    pub(super) fn close(self, rma: Option<&mut dyn Rma>) {
        match (self.source, rma) {
            (SegmentSource::Device { key, .. }, Some(rma)) if self.me == 0 => rma.deregister(key),
            (SegmentSource::Device { leader, key }, Some(rma)) => rma.close(leader, key),
            (SegmentSource::Device { .. }, None) | (SegmentSource::Host { .. }, _) => (),
        }
    }

    /// Whether its ranks are of several jobs.
    pub(super) fn spans_jobs(&self) -> bool {
        matches!(self.source, SegmentSource::Host { .. })
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
        let Some(index) = self.layout.index(target) else { return false };
        let Some((turn, next)) = self.control.try_lock(index, kind, self.me) else { return false };
        self.wake(engine, channel, next);
        self.held.push((target, turn));
        true
    }

    /// Asks for the lock of a target on this node; whether this process has it at once. If not, it waits
    /// ([`MappedMemory::advance`]).
    pub(super) fn enter_or_queue<D: Device>(
        &mut self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, kind: LockKind,
    ) -> bool {
        let Some(index) = self.layout.index(target) else { return true };
        let turn = self.control.request(index, kind, self.me);
        if self.try_enter(engine, channel, target, turn) {
            self.held.push((target, turn));
            return true;
        }
        self.control.lock(index).announce(turn, self.me as u32);
        self.queued.push((target, turn));
        false
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
    #[inline]
    pub(super) fn leave<D: Device>(
        &self, engine: &mut Engine<D>, channel: &WindowChannel, target: u32, turn: LockTurn,
    ) {
        let Some(index) = self.layout.index(target) else { return };
        let next = self.control.leave(index, turn, self.me);
        self.wake(engine, channel, next);
    }

    #[inline]
    fn wake<D: Device>(&self, engine: &mut Engine<D>, channel: &WindowChannel, index: Option<u32>) {
        if let Some(index) = index {
            self.notify(engine, channel, index as usize);
        }
    }

    /// Makes the rank with this index look at the segment.
    fn notify<D: Device>(&self, engine: &mut Engine<D>, channel: &WindowChannel, index: usize) {
        // A damaged word wakes nobody.
        let Some(rank) = self.layout.ranks.get(index) else { return };
        let doorbell = match &self.source {
            SegmentSource::Device { .. } => None,
            SegmentSource::Host { doorbells, .. } => doorbells[index].as_ref(),
        };
        match doorbell {
            Some(doorbell) => doorbell.ring(),
            None => engine.notify(channel.peer(*rank)),
        }
    }

    /// Records a call for `to`, a rank of this node, and wakes it.
    pub(super) fn call<D: Device>(
        &self, engine: &mut Engine<D>, channel: &WindowChannel, call: WindowCall, to: u32,
    ) {
        if let Some(index) = self.layout.index(to) {
            self.control.calls(self.me, index).call(call);
            self.notify(engine, channel, index);
        }
    }

    /// The number of calls of `from` for this rank, modulo 2^32; 0 unless it is on this node.
    pub(super) fn calls(&self, call: WindowCall, from: u32) -> u32 {
        self.layout.index(from).map_or(0, |from| self.control.calls(from, self.me).calls(call))
    }

    /// The lock of accumulates on the memory of a rank, if that is in the segment.
    #[inline]
    pub(super) fn accumulates(&self, target: u32) -> Option<AccumulateLock<'static>> {
        let index = self.layout.index(target).filter(|_| self.layout.has_memory)?;
        Some(self.control.accumulates(index, self.me))
    }

    /// The rank that has this lock.
    pub(super) fn accumulating(&self, target: u32) -> Option<u32> {
        let holder = self.accumulates(target)?.holder()?;
        self.layout.ranks.get(holder).copied()
    }

    /// Gives up waiting for locks.
    pub(super) fn withdraw(&mut self) {
        let queued = std::mem::take(&mut self.queued);
        self.withdrawn.extend(queued.into_iter().map(|(target, turn)| (target, turn.kind())));
    }

    /// A lock that this process has given up to wait for.
    pub(super) fn take_withdrawn(&mut self, target: u32) -> Option<LockKind> {
        let place = self.withdrawn.iter().position(|(of, _)| *of == target)?;
        Some(self.withdrawn.swap_remove(place).1)
    }

    /// The lock of accumulates on the memory of a rank, from one that has failed and holds it.
    #[cold]
    pub(super) fn take_accumulates_over(
        &self, target: u32, has_failed: impl Fn(u32) -> bool,
    ) -> bool {
        let Some(lock) = self.accumulates(target) else { return false };
        let holder = lock.holder().and_then(|index| Some((index, self.layout.ranks.get(index)?)));
        holder.is_some_and(|(index, rank)| has_failed(*rank) && lock.take_over(index))
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
