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

use super::call_words::CallWords;
use super::lock_claims::LockClaims;
use super::primitive::{AtomicU32, AtomicU64, Ordering};
pub(crate) use super::turn_lock::WakeFence;
use super::turn_lock::{LockKind, LockTurn, TurnLock, TurnLockWords};
use platform::base::Span;

/// The words of one target.
#[repr(C, align(128))]
struct TargetWords {
    lock: TurnLockWords,
    /// The index of the rank that accumulates, plus 1; 0 for none.
    accumulating: AtomicU32,
}

/// The words of a window, at one of its ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct WindowControl {
    memory: Span,
    ranks: usize,
    /// The places of a lock.
    places: usize,
    fence: WakeFence,
}

impl WindowControl {
    /// The length of the words of so many ranks, in bytes. Up to `requests` ranks ask for a lock at a
    /// time: the target asks for those of other nodes.
    pub(crate) fn bytes(ranks: usize, requests: usize) -> usize {
        claims_at(ranks, places(requests)) + LockClaims::words(ranks) * size_of::<AtomicU64>()
    }

    /// The words at the beginning of `memory`, which is mapped as long as this value is used.
    ///
    /// # Panics
    /// If the memory is too short or not aligned.
    pub(crate) fn new(memory: Span, ranks: usize, requests: usize) -> Self {
        assert!(memory.len() >= Self::bytes(ranks, requests));
        assert!(memory.address().is_multiple_of(align_of::<TargetWords>()));
        Self { memory, ranks, places: places(requests), fence: WakeFence::Both }
    }

    /// All ranks have the same from now on, before the first lock.
    pub(crate) fn set_fence(&mut self, fence: WakeFence) {
        self.fence = fence;
    }

    /// The lock of a target.
    ///
    /// # Panics
    /// If there is no such target.
    pub(crate) fn lock(&self, target: usize) -> TurnLock<'_> {
        let count = self.places;
        let first = self.ranks * size_of::<TargetWords>() + target * count * size_of::<AtomicU64>();
        TurnLock::new(&self.words(target).lock, self.list(first, count), self.fence)
    }

    /// Asks for the lock of a target: so that ranks behind know of `me`, which is the target itself for
    /// requests on behalf of others. Without a lock, it has no other request for it.
    #[inline]
    pub(crate) fn request(&self, target: usize, kind: LockKind, me: usize) -> LockTurn {
        // Who waits for the lock of a rank gives up when that rank ends.
        if me == target {
            return self.lock(target).request(kind);
        }
        self.claims().ask(me, target);
        let turn = self.lock(target).request(kind);
        self.claims().claim(me, target, turn);
        turn
    }

    /// [`WindowControl::request`] of a lock that `me` would enter at once.
    #[inline]
    pub(crate) fn try_request(&self, target: usize, kind: LockKind, me: usize) -> Option<LockTurn> {
        let (lock, claims) = (self.lock(target), self.claims());
        if me == target {
            return lock.try_request(kind);
        }
        claims.ask(me, target);
        let turn = lock.try_request(kind);
        match turn {
            Some(turn) => claims.claim(me, target, turn),
            None => claims.forget(me, target),
        }
        turn
    }

    /// Leaves the lock of a target; a rank that the caller must wake.
    #[inline]
    pub(crate) fn leave(&self, target: usize, turn: LockTurn, me: usize) -> Option<u32> {
        let next = self.lock(target).leave(turn);
        if me != target {
            self.claims().forget(me, target);
        }
        next
    }

    /// The ranks for which a request waits, besides the target: those that have the lock or have asked for it
    /// before ([`LockClaims`]).
    pub(crate) fn awaited(
        &self, target: usize, turn: LockTurn,
    ) -> impl Iterator<Item = usize> + '_ {
        self.claims().awaited(self.lock(target), target, turn)
    }

    fn claims(&self) -> LockClaims<'_> {
        let words = self.list(claims_at(self.ranks, self.places), LockClaims::words(self.ranks));
        LockClaims::new(words, self.ranks)
    }

    /// `count` words of 8 bytes at an offset.
    #[inline]
    fn list(&self, at: usize, count: usize) -> &[AtomicU64] {
        let list = self.memory.part(at, count * size_of::<AtomicU64>());
        // SAFETY: the part is mapped memory (the promise of `new`), aligned as all offsets are multiples
        // of 8, and all processes use it as these atomic words only.
        unsafe { std::slice::from_raw_parts(list.address() as *const AtomicU64, count) }
    }

    /// Takes the lock of accumulates on a target, unless another rank has it.
    #[inline]
    pub(crate) fn try_accumulate(&self, target: usize, me: usize) -> bool {
        let word = &self.words(target).accumulating;
        // Acquire: what the last rank has written comes before.
        word.load(Ordering::Relaxed) == 0
            && word.compare_exchange(0, me as u32 + 1, Ordering::Acquire, Ordering::Relaxed).is_ok()
    }

    /// The rank that has the lock of accumulates on a target.
    pub(crate) fn accumulating(&self, target: usize) -> Option<usize> {
        (self.words(target).accumulating.load(Ordering::Relaxed) as usize).checked_sub(1)
    }

    /// Gives the lock of [`WindowControl::try_accumulate`] back.
    #[inline]
    pub(crate) fn end_accumulate(&self, target: usize) {
        self.words(target).accumulating.store(0, Ordering::Release);
    }

    /// The calls of `from` for `to`. Only `from` records some.
    #[inline]
    pub(crate) fn calls(&self, from: usize, to: usize) -> &CallWords {
        assert!(from < self.ranks && to < self.ranks);
        let at = calls_at(self.ranks, self.places)
            + to * calls_stride(self.ranks)
            + from * size_of::<CallWords>();
        let part = self.memory.part(at, size_of::<CallWords>());
        // SAFETY: as of `list`.
        unsafe { &*(part.address() as *const CallWords) }
    }

    #[inline]
    fn words(&self, target: usize) -> &TargetWords {
        assert!(target < self.ranks);
        let at = self.memory.part(target * size_of::<TargetWords>(), size_of::<TargetWords>());
        // SAFETY: as of `list`; `new` has checked the alignment of the first.
        unsafe { &*(at.address() as *const TargetWords) }
    }
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
        assert!(control.try_accumulate(1, 2) && !control.try_accumulate(1, 0));
        assert!(control.try_accumulate(0, 2));
        control.end_accumulate(1);
        assert!(control.try_accumulate(1, 0));
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
