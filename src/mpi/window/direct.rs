//! The short way of the most frequent calls: one access of adjacent elements of a predefined datatype,
//! alike on both sides, in a segment of this node, the flush after it, and a lock that is free.
//!
//! ```text
//!   call ──> segment, range, epoch as they should be? ──yes──> copy, or change under the target's lock
//!                                                    \─no──> nothing has happened: the long way
//! ```
//!
//! Here is no error and no message: whatever is wrong, or not as usual, takes the way of `operation` and
//! `synchronization`, which finds it again.
//!
//! # Order
//! A put is in the memory of its target for every load of other processes as soon as the processor has
//! carried out the store. Only later loads of this process could overtake it, so the fence between the two
//! belongs before the load, not after the store: puts and flushes in a row need none
//! ([`Windows::settle`]).

use super::accumulate::Accumulation;
use super::{Window, Windows};
use crate::device::Device;
use crate::engine::Engine;
use crate::mpi::handle::Handle;
use crate::mpi::op::Operator;
use crate::shared_memory::accumulate_lock::AccumulateLock;
use crate::shared_memory::primitive::{fence_after_update, full_fence};
use crate::shared_memory::turn_lock::LockKind;
use platform::base::Span;

/// How many calls that wait for nothing there are for each poll, on a window without messages.
const IDLE_CALLS_PER_POLL: u32 = 64;

/// What the short way knows of a window.
#[derive(Debug, Default)]
pub(super) struct DirectTargets {
    /// The memory of each rank of the window; empty if it is elsewhere.
    targets: Box<[DirectTarget]>,
    /// Whether the memory of all ranks is in the segment.
    is_complete: bool,
    /// The last accumulate: many programs use one operation.
    last: Option<LastAccumulate>,
    /// Whether locks are words of the segment.
    has_locks: bool,
    /// Calls so far that waited for nothing.
    idle_calls: u32,
}

#[derive(Clone, Copy, Debug)]
struct DirectTarget {
    memory: Span,
    /// The displacement unit in bytes.
    unit: usize,
    /// For this memory.
    accumulates: Option<AccumulateLock<'static>>,
}

/// An operation on elements of a datatype.
#[derive(Debug)]
struct LastAccumulate {
    operator: Operator,
    datatype: Handle,
    accumulation: Accumulation,
}

/// Where an access of this process begins.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectPlace {
    pub(crate) rank: i32,
    /// In units of the target.
    pub(crate) displacement: isize,
}

/// An accumulate of elements of a predefined datatype.
#[derive(Clone, Copy, Debug)]
pub(crate) struct DirectAccumulate {
    pub(crate) operator: Handle,
    pub(crate) datatype: Handle,
    pub(crate) operand: Span,
    /// Where the old values go; empty if nowhere.
    pub(crate) old_values: Span,
}

/// A window, for one access.
pub(crate) struct DirectWindow<'a> {
    window: &'a mut Window,
    /// [`Windows::is_unsettled`]
    is_unsettled: &'a mut bool,
}

impl DirectTargets {
    /// Accesses of a rank that has failed take the long way, and so do all calls that may have to tell of the
    /// failure.
    pub(super) fn member_failed(&mut self, rank: u32) {
        if let Some(target) = self.targets.get_mut(rank as usize) {
            (target.memory, target.accumulates) = (Span::EMPTY, None);
        }
        self.is_complete = false;
    }

    /// Locks are no words of the segment any more.
    pub(super) fn close_locks(&mut self) {
        self.has_locks = false;
    }

    /// Whether the rank is one of the window, whose locks are in the segment.
    #[inline(always)]
    fn is_lockable(&self, rank: i32) -> bool {
        self.has_locks && (rank as usize) < self.targets.len()
    }

    /// Whether a call that waits for nothing polls all the same: a loop of such calls may wait for what
    /// another rank does, which needs this one.
    #[inline(always)]
    pub(super) fn is_poll_due(&mut self) -> bool {
        !self.is_complete || self.is_turn_of_poll()
    }

    #[inline(always)]
    fn is_turn_of_poll(&mut self) -> bool {
        self.idle_calls = self.idle_calls.wrapping_add(1);
        self.idle_calls.is_multiple_of(IDLE_CALLS_PER_POLL)
    }
}

impl Windows {
    /// The window of a handle, if there is one.
    #[inline(always)]
    pub(crate) fn direct(&mut self, handle: Handle) -> Option<DirectWindow<'_>> {
        let window = self.table.get_mut(handle)?;
        Some(DirectWindow { window, is_unsettled: &mut self.is_unsettled })
    }

    /// Orders the puts of the short way before later loads of this process.
    #[inline(always)]
    pub(super) fn settle(&mut self) {
        settle(&mut self.is_unsettled);
    }
}

#[inline(always)]
fn settle(is_unsettled: &mut bool) {
    if std::mem::take(is_unsettled) {
        full_fence();
    }
}

impl DirectWindow<'_> {
    /// [`Window::put`]; false, without effect, if that is to be called.
    #[inline(always)]
    pub(crate) fn put(self, from: Span, to: DirectPlace) -> bool {
        let Some(place) = self.window.place(to, from.len()) else { return false };
        copy(from, place);
        *self.is_unsettled = true;
        true
    }

    /// [`Window::get`]; false, without effect, if that is to be called.
    #[inline(always)]
    pub(crate) fn get(self, into: Span, from: DirectPlace) -> bool {
        let Some(place) = self.window.place(from, into.len()) else { return false };
        settle(self.is_unsettled);
        copy(place, into);
        true
    }

    /// [`Window::accumulate`]; false, without effect, if that is to be called.
    #[inline(always)]
    pub(crate) fn accumulate(self, accumulate: DirectAccumulate, to: DirectPlace) -> bool {
        let DirectAccumulate { operator, datatype, operand, old_values } = accumulate;
        let is_last = |last: &LastAccumulate| {
            last.operator as Handle == operator && last.datatype == datatype
        };
        if !self.window.direct.last.as_ref().is_some_and(is_last) {
            return false;
        }
        let Some(place) = self.window.place(to, operand.len()) else { return false };
        self.change(to.rank as u32, |window| {
            if !old_values.is_empty() {
                copy(place, old_values);
            }
            if let Some(last) = &window.direct.last {
                last.accumulation.apply_to_span(operand, place);
            }
        })
    }

    /// [`Window::compare_and_swap`] of integers of 4 or 8 bytes; false, without effect, if that is to be
    /// called.
    #[inline(always)]
    pub(crate) fn compare_and_swap(
        self, [new, compared]: [Span; 2], old: Span, to: DirectPlace,
    ) -> bool {
        let (Some(new), Some(compared)) = (new.number(), compared.number()) else { return false };
        let Some(place) = self.window.place(to, old.len()) else { return false };
        place.number().is_some()
            && self.change(to.rank as u32, |_| {
                copy(place, old);
                if place.number() == Some(compared) {
                    place.set_number(new);
                }
            })
    }

    /// Changes memory of a target under the lock of its accumulates, if that is free.
    #[inline(always)]
    fn change(self, target: u32, change: impl FnOnce(&Window)) -> bool {
        let Some(lock) = self.window.direct.targets[target as usize].accumulates else {
            return false;
        };
        if !lock.try_take() {
            return false;
        }
        fence_after_update();
        change(self.window);
        lock.give_back();
        *self.is_unsettled = true;
        true
    }

    /// [`Mpi::lock_window`](crate::mpi::Mpi::lock_window) of a lock that is free; false, without effect, if that is to be called.
    #[inline(always)]
    pub(crate) fn lock<D: Device>(self, engine: &mut Engine<D>, rank: i32, kind: LockKind) -> bool {
        let window = self.window;
        if !window.direct.is_lockable(rank) || !window.epochs.may_lock(rank as u32) {
            return false;
        }
        let Some(mapped) = &mut window.mapped else { return false };
        if !mapped.try_lock(engine, &window.channel, rank as u32, kind) {
            return false;
        }
        fence_after_update();
        window.epochs.lock(rank as u32);
        true
    }

    /// [`Mpi::unlock_window`](crate::mpi::Mpi::unlock_window) of such a lock; false, without effect, if that is to be called: there is
    /// something to wait for, or it is time to poll.
    #[inline(always)]
    pub(crate) fn unlock<D: Device>(self, engine: &mut Engine<D>, rank: i32) -> bool {
        let window = self.window;
        let is_quick = window.direct.is_lockable(rank)
            && !window.direct.is_turn_of_poll()
            && window.origin.is_idle()
            && window.epochs.try_unlock(rank as u32);
        if is_quick {
            // There is none with `MPI_MODE_NOCHECK`.
            window.leave_lock(engine, rank as u32);
        }
        is_quick
    }

    /// A flush of one target, or of all; false if nothing has happened: there is something to wait for, or it
    /// is time to poll.
    #[inline(always)]
    pub(crate) fn flush(self, rank: Option<i32>) -> bool {
        let Window { direct, origin, epochs, .. } = self.window;
        let size = direct.targets.len();
        !direct.is_poll_due()
            && rank.is_none_or(|rank| (rank as usize) < size)
            && origin.is_idle()
            && epochs.is_passive(rank.map(|rank| rank as u32))
    }
}

impl Window {
    /// The memory of an access in the segment of this node. `None` for all others, also for those that are
    /// errors.
    #[inline(always)]
    fn place(&mut self, to: DirectPlace, bytes: usize) -> Option<Span> {
        // A negative rank or displacement is out of range, too.
        let target = self.direct.targets.get(to.rank as usize)?;
        let offset = (to.displacement as usize).checked_mul(target.unit)?;
        let is_inside = offset <= target.memory.len() && bytes <= target.memory.len() - offset;
        (is_inside && self.epochs.admit(to.rank as u32)).then(|| target.memory.part(offset, bytes))
    }

    /// Opens the short way, once the segment and the shape are known.
    pub(super) fn open_direct_way(&mut self) {
        let Some(mapped) = &self.mapped else { return };
        let target = |rank| DirectTarget {
            memory: mapped.memory(rank).unwrap_or(Span::EMPTY),
            unit: self.shape.of(rank).unit as usize,
            accumulates: mapped.accumulates(rank),
        };
        self.direct.targets = (0..self.channel.size()).map(target).collect();
        self.direct.is_complete = self.is_all_mapped();
        self.direct.has_locks = self.words().is_some() && self.may_be_locked();
    }

    /// Keeps the operation of an accumulate for the short way.
    pub(super) fn note_accumulate(
        &mut self, operator: Operator, datatype: Handle, accumulation: &Accumulation,
    ) {
        let accumulation = accumulation.clone();
        self.direct.last = Some(LastAccumulate { operator, datatype, accumulation });
    }

    /// The operation of the last accumulate, if it was this one.
    pub(super) fn last_accumulate(
        &self, operator: Operator, datatype: Handle,
    ) -> Option<&Accumulation> {
        let last = self.direct.last.as_ref();
        let same = last.filter(|last| (last.operator, last.datatype) == (operator, datatype));
        same.map(|last| &last.accumulation)
    }
}

/// Copies bytes; a number is written as a whole.
#[inline(always)]
fn copy(from: Span, to: Span) {
    match from.len() {
        4 | 8 => from.copy_untorn(to),
        _ if from.overlaps(to) => from.copy_to(to),
        _ => from.copy_nonoverlapping(to),
    }
}
