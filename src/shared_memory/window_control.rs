//! The words of a window that ranks of one node share, at the beginning of its segment.
//!
//! ```text
//!   target 0: lock | accumulate lock       each on lines of its own
//!   target 1: ...
//!   places of target 0's lock, for ranks that sleep until their turn
//!   places of target 1's lock ...
//!   calls of each rank that rank 0 waits for, in lines of their own; those for rank 1 ...
//!   the lock of each target that rank 0 holds or has asked for; those of rank 1 ...
//! ```
//!
//! Zeros are the initial state. The memory of the window follows; it is not in this module, nor is
//! waiting.
#![allow(unsafe_code)]

use super::accumulate_lock::{AccumulateLock, AccumulateWord};
use super::call_words::CallWords;
use super::lock_claims::LockClaims;
use super::primitive::AtomicU64;
pub(crate) use super::turn_lock::WakeFence;
use super::turn_lock::{LockKind, LockTurn, TurnLock, TurnLockWords};
use platform::base::Span;

/// The words of one target.
#[derive(Debug)]
#[repr(C, align(128))]
struct TargetWords {
    lock: TurnLockWords,
    accumulating: AccumulateWord,
}

/// The words of a window, at one of its ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowControl {
    targets: &'static [TargetWords],
    /// Of all locks.
    places: &'static [AtomicU64],
    /// The places of a lock.
    places_each: usize,
    calls: &'static [CallWords],
    claims: LockClaims<'static>,
    fence: WakeFence,
}

impl WindowControl {
    /// The length of the words of so many ranks, in bytes. Up to `requests` ranks ask for a lock at a
    /// time: the target asks for those of other nodes.
    pub(crate) fn bytes(ranks: usize, requests: usize) -> usize {
        claims_at(ranks, places(requests)) + LockClaims::words(ranks) * size_of::<AtomicU64>()
    }

    /// The words at the beginning of `memory`, which is mapped as long as this value is used, and what it
    /// returns.
    ///
    /// # Panics
    /// If the memory is too short or not aligned.
    pub(crate) fn new(memory: Span, ranks: usize, requests: usize) -> Self {
        let places_each = places(requests);
        let places_at = ranks * size_of::<TargetWords>();
        let calls_count = ranks * calls_stride(ranks) / size_of::<CallWords>();
        let claims_count = LockClaims::words(ranks);
        // SAFETY: the memory is mapped (the promise above), and all processes use these parts, which do not
        // overlap, as words of these types only. Atomics have no invalid values.
        unsafe {
            let claims = list(memory, claims_at(ranks, places_each), claims_count);
            Self {
                targets: list(memory, 0, ranks),
                places: list(memory, places_at, ranks * places_each),
                places_each,
                calls: list(memory, calls_at(ranks, places_each), calls_count),
                claims: LockClaims::new(claims, ranks),
                fence: WakeFence::Both,
            }
        }
    }

    /// All ranks have the same from now on, before the first lock.
    pub(crate) fn set_fence(&mut self, fence: WakeFence) {
        self.fence = fence;
    }

    /// The lock of a target.
    ///
    /// # Panics
    /// If there is no such target.
    #[inline]
    pub(crate) fn lock(&self, target: usize) -> TurnLock<'static> {
        let first = target * self.places_each;
        let places = &self.places[first..first + self.places_each];
        TurnLock::new(&self.targets[target].lock, places, self.fence)
    }

    /// Asks for the lock of a target: so that ranks behind know of `me`, which is the target itself for
    /// requests on behalf of others. Without a lock, it has no other request for it.
    #[inline]
    pub(crate) fn request(&self, target: usize, kind: LockKind, me: usize) -> LockTurn {
        // Who waits for the lock of a rank gives up when that rank ends.
        if me == target {
            return self.lock(target).request(kind);
        }
        self.claims.ask(me, target);
        let turn = self.lock(target).request(kind);
        self.claims.claim(me, target, turn);
        turn
    }

    /// [`TurnLock::try_lock`] for `me`, as of [`WindowControl::request`].
    #[inline]
    pub(crate) fn try_lock(
        &self, target: usize, kind: LockKind, me: usize,
    ) -> Option<(LockTurn, Option<u32>)> {
        let lock = self.lock(target);
        if me == target {
            return lock.try_lock(kind);
        }
        self.claims.ask(me, target);
        let entered = lock.try_lock(kind);
        match &entered {
            Some((turn, _)) => self.claims.claim(me, target, *turn),
            None => self.claims.forget(me, target),
        }
        entered
    }

    /// Leaves the lock of a target; a rank that the caller must wake.
    #[inline]
    pub(crate) fn leave(&self, target: usize, turn: LockTurn, me: usize) -> Option<u32> {
        let next = self.lock(target).leave(turn);
        if me != target {
            self.claims.forget(me, target);
        }
        next
    }

    /// The ranks for which a request waits, besides the target: those that have the lock or have asked for it
    /// before ([`LockClaims`]).
    pub(crate) fn awaited(
        &self, target: usize, turn: LockTurn,
    ) -> impl Iterator<Item = usize> + '_ {
        self.claims.awaited(self.lock(target), target, turn)
    }

    /// The lock of accumulates on a target, for `me`.
    ///
    /// # Panics
    /// If there is no such target.
    pub(crate) fn accumulates(&self, target: usize, me: usize) -> AccumulateLock<'static> {
        AccumulateLock::new(&self.targets[target].accumulating, me as u32)
    }

    /// The calls of `from` for `to`. Only `from` records some.
    #[inline]
    pub(crate) fn calls(&self, from: usize, to: usize) -> &CallWords {
        let ranks = self.targets.len();
        assert!(from < ranks);
        &self.calls[to * (calls_stride(ranks) / size_of::<CallWords>()) + from]
    }
}

/// `count` values at an offset of `memory`.
///
/// # Safety
/// The memory stays mapped as long as they are used, and is used as values of this type only, which are
/// atomics: all processes may change them at any time.
///
/// # Panics
/// If the memory is too short or not aligned for them.
unsafe fn list<T>(memory: Span, at: usize, count: usize) -> &'static [T] {
    let part = memory.part(at, count * size_of::<T>());
    assert!(part.address().is_multiple_of(align_of::<T>()));
    // SAFETY: the caller's promise; alignment and length are checked.
    unsafe { std::slice::from_raw_parts(part.address() as *const T, count) }
}

/// Places of a lock: a power of two, at least the number of requests.
fn places(requests: usize) -> usize {
    requests.next_power_of_two()
}

/// The offset of the words of calls.
fn calls_at(ranks: usize, places: usize) -> usize {
    (ranks * (size_of::<TargetWords>() + places * size_of::<AtomicU64>()))
        .next_multiple_of(align_of::<TargetWords>())
}

/// The offset of the claims.
fn claims_at(ranks: usize, places: usize) -> usize {
    calls_at(ranks, places) + ranks * calls_stride(ranks)
}

/// The bytes of the calls for one rank: whole lines, which other ranks write.
fn calls_stride(ranks: usize) -> usize {
    (ranks * size_of::<CallWords>()).next_multiple_of(align_of::<TargetWords>())
}

#[cfg(test)]
mod tests {
    use super::super::call_words::WindowCall;
    use super::*;

    #[test]
    fn words_of_different_ranks_are_apart() {
        let ranks = 3;
        let memory = vec![0u128; WindowControl::bytes(ranks, 5) / 16 + 8];
        let start = memory.as_ptr().align_offset(align_of::<TargetWords>());
        let at = memory[start..].as_ptr().cast();
        // SAFETY: the vector lives until the end of the test, and nothing else uses it.
        let span = unsafe { Span::new(at, WindowControl::bytes(ranks, 5)) };
        let control = WindowControl::new(span, ranks, 5);
        for (from, to) in [(0, 1), (1, 0), (2, 1), (1, 2), (2, 2)] {
            (0..=from + to).for_each(|_| control.calls(from, to).call(WindowCall::Post));
            control.calls(to, from).call(WindowCall::Complete);
        }
        let posts = |from, to| control.calls(from, to).calls(WindowCall::Post);
        assert_eq!([posts(2, 1), posts(0, 1), posts(0, 2)], [4, 2, 0]);
        assert_eq!(control.calls(1, 2).calls(WindowCall::Complete), 1);
        let [one, other] = [2, 0].map(|me| control.accumulates(1, me));
        assert!(one.try_take() && !other.try_take());
        assert_eq!((one.holder(), control.accumulates(0, 1).holder()), (Some(2), None));
        assert!(control.accumulates(0, 2).try_take());
        one.give_back();
        assert!(other.try_take());
        // From rank 0, as if its process had ended.
        assert!(!one.take_over(1) && one.take_over(0));
        assert!(!other.try_take() && one.holder() == Some(2));
        let writer = control.request(1, LockKind::Exclusive, 0);
        assert!(control.lock(1).try_enter(writer).is_some());
        let own = control.request(1, LockKind::Shared, 1);
        let other = control.request(1, LockKind::Exclusive, 2);
        assert!(control.awaited(1, own).eq([0]) && control.awaited(1, other).eq([0]));
        control.leave(1, writer, 0);
        assert_eq!((control.awaited(1, own).count(), control.awaited(1, other).count()), (0, 0));
        assert_eq!(posts(2, 2), 5);
    }
}
