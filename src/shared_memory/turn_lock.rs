//! A fair lock in shared memory for readers and writers, which are granted in the order of their requests.
//!
//! ```text
//!            request           try_enter                       leave
//!  reader    number = next++   read_turn == number:            write_turn += 1
//!                              read_turn = number + 1
//!  writer    number = next++   write_turn == number            read_turn = number + 1,
//!                                                              write_turn += 1
//! ```
//!
//! Numbers below `read_turn` are readers that have entered, or have left; `write_turn` counts who has left.
//! A writer enters when all before it have left, a reader when no writer is before it.
//!
//! # Sleep
//! A rank that sleeps until its turn announces that in the place of its number. Who moves a turn looks
//! into the place of the number whose turn it is, and wakes that rank:
//!
//! ```text
//!  waits       place[number] = rank, fence, is it my turn?       at least one side sees the other
//!  leaves      turn = number, fence, who is in place[number]?
//! ```
//!
//! Numbers are compared for equality only, and wrap. A rank that dies in the queue stops it: the end of
//! processes is not in this module. Damaged memory can stop the lock and wake ranks without need.

use super::primitive::{AtomicU32, AtomicU64, Ordering, fence_after_update, full_fence};

/// What others may do while a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum LockKind {
    /// Read: they may hold it for reading too.
    Shared,
    /// Nothing.
    Exclusive,
}

/// The words of a lock. Zero is a free lock.
#[repr(C, align(64))]
pub(crate) struct TurnLockWords {
    next: AtomicU32,
    read_turn: AtomicU32,
    write_turn: AtomicU32,
}

/// A lock.
#[derive(Clone, Copy)]
pub(crate) struct TurnLock<'a> {
    words: &'a TurnLockWords,
    places: &'a [AtomicU64],
}

/// A request for a lock, or a lock that is held.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockTurn {
    number: u32,
    kind: LockKind,
}

impl<'a> TurnLock<'a> {
    /// The lock in `words`, with places for the ranks that wait.
    ///
    /// # Panics
    /// If the number of places is no power of two. It is at least the number of concurrent requests.
    pub(crate) fn new(words: &'a TurnLockWords, places: &'a [AtomicU64]) -> Self {
        assert!(places.len().is_power_of_two());
        Self { words, places }
    }

    /// Asks for the lock. The caller then tries until it enters.
    #[inline]
    pub(crate) fn request(self, kind: LockKind) -> LockTurn {
        LockTurn { number: self.words.next.fetch_add(1, Ordering::Relaxed), kind }
    }

    /// Enters, if it is the caller's turn: then inside, a rank that the caller must wake.
    #[inline]
    pub(crate) fn try_enter(self, turn: LockTurn) -> Option<Option<u32>> {
        let LockTurn { number, kind } = turn;
        if kind == LockKind::Exclusive {
            // Acquire: what all before have read and written happened before.
            let now = self.words.write_turn.load(Ordering::Acquire);
            return (now == number).then_some(None);
        }
        if self.words.read_turn.load(Ordering::Acquire) != number {
            return None;
        }
        let next = number.wrapping_add(1);
        // Release: the next reader sees what the last writer has written.
        self.words.read_turn.store(next, Ordering::Release);
        full_fence();
        Some(self.waiting(next, LockKind::Shared))
    }

    /// `rank` will sleep until it is woken, if [`TurnLock::try_enter`] fails once more.
    #[cold]
    pub(crate) fn announce(self, turn: LockTurn, rank: u32) {
        let LockTurn { number, kind } = turn;
        self.place(number).store(announced(number, rank, kind), Ordering::Relaxed);
        full_fence();
    }

    /// Leaves; a rank that the caller must wake.
    #[inline]
    pub(crate) fn leave(self, turn: LockTurn) -> Option<u32> {
        if turn.kind == LockKind::Exclusive {
            // First: the next writer changes this word, too.
            self.words.read_turn.store(turn.number.wrapping_add(1), Ordering::Release);
        }
        let now = self.words.write_turn.fetch_add(1, Ordering::Release).wrapping_add(1);
        fence_after_update();
        // A reader may have entered since, and left: then it is the turn of a later writer.
        self.waiting(now, LockKind::Exclusive).or_else(|| match turn.kind {
            LockKind::Exclusive => self.waiting(turn.number.wrapping_add(1), LockKind::Shared),
            LockKind::Shared => None,
        })
    }

    /// Whether `turn`, which has not entered, waits for `other`, which has not left: it was asked for before,
    /// and the two are not readers of which `other` is inside. They are less than 2^31 numbers apart.
    pub(crate) fn is_behind(self, turn: LockTurn, other: LockTurn) -> bool {
        let is_below = |number: u32, bound: u32| (number.wrapping_sub(bound) as i32) < 0;
        let readers = turn.kind == LockKind::Shared && other.kind == LockKind::Shared;
        let is_reader_inside =
            readers && is_below(other.number, self.words.read_turn.load(Ordering::Relaxed));
        is_below(other.number, turn.number) && !is_reader_inside
    }

    /// The rank that waits with this number, if it has announced itself. A fence comes before.
    #[inline]
    fn waiting(self, number: u32, kind: LockKind) -> Option<u32> {
        let seen = self.place(number).load(Ordering::Relaxed);
        let rank = (seen as u32 >> 1).checked_sub(1)?;
        (seen == announced(number, rank, kind)).then_some(rank)
    }

    fn place(self, number: u32) -> &'a AtomicU64 {
        &self.places[number as usize % self.places.len()]
    }
}

impl LockTurn {
    /// It as a word, neither 0 nor the greatest.
    pub(crate) fn word(self) -> u64 {
        let is_writer = u64::from(self.kind == LockKind::Exclusive);
        1 << 33 | is_writer << 32 | u64::from(self.number)
    }

    /// The request of [`LockTurn::word`]; `None` for 0.
    pub(crate) fn of_word(word: u64) -> Option<Self> {
        let kind = if word >> 32 & 1 == 1 { LockKind::Exclusive } else { LockKind::Shared };
        (word != 0).then_some(Self { number: word as u32, kind })
    }
}

/// The content of a place; never 0.
fn announced(number: u32, rank: u32, kind: LockKind) -> u64 {
    let is_writer = u32::from(kind == LockKind::Exclusive);
    u64::from(number) << 32 | u64::from((rank + 1) << 1 | is_writer)
}

#[cfg(any(test, loom))]
impl TurnLockWords {
    /// Free, with this next number.
    pub(crate) fn from(first: u32) -> Self {
        let word = || AtomicU32::new(first);
        Self { next: word(), read_turn: word(), write_turn: word() }
    }
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::LockKind::{Exclusive, Shared};
    use super::*;

    /// A lock whose next number is `first`, with two places.
    fn lock_from(first: u32) -> (TurnLockWords, [AtomicU64; 2]) {
        (TurnLockWords::from(first), [AtomicU64::new(0), AtomicU64::new(0)])
    }

    #[test]
    fn requests_are_granted_in_their_order_and_numbers_wrap() {
        for first in [0, u32::MAX - 2] {
            let (words, places) = lock_from(first);
            let lock = TurnLock::new(&words, &places);
            let [one, two, writer, three] =
                [Shared, Shared, Exclusive, Shared].map(|kind| lock.request(kind));
            assert_eq!(lock.try_enter(two), None);
            assert_eq!(lock.try_enter(one), Some(None));
            assert_eq!(lock.try_enter(two), Some(None));
            // A writer waits for readers, and stops readers behind it.
            assert_eq!((lock.try_enter(three), lock.try_enter(writer)), (None, None));
            assert_eq!(lock.leave(two), None);
            assert_eq!(lock.try_enter(writer), None);
            assert_eq!(lock.leave(one), None);
            assert_eq!((lock.try_enter(three), lock.try_enter(writer)), (None, Some(None)));
            assert_eq!(lock.leave(writer), None);
            assert_eq!(lock.try_enter(three), Some(None));
        }
    }

    #[test]
    fn who_announced_itself_is_woken_and_nobody_else() {
        let (words, places) = lock_from(0);
        let lock = TurnLock::new(&words, &places);
        let writer = lock.request(Exclusive);
        assert_eq!(lock.try_enter(writer), Some(None));
        let readers = [5, 6].map(|rank| {
            let turn = lock.request(Shared);
            lock.announce(turn, rank);
            turn
        });
        assert_eq!(lock.leave(writer), Some(5));
        assert_eq!(lock.try_enter(readers[0]), Some(Some(6)));
        let last = lock.request(Exclusive);
        lock.announce(last, 7);
        // The writer is woken by the last of the readers, not by those that enter.
        assert_eq!(lock.try_enter(readers[1]), Some(None));
        assert_eq!(lock.leave(readers[0]), None);
        assert_eq!(lock.leave(readers[1]), Some(7));
    }
}
