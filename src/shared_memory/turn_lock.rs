//! A fair lock in shared memory for readers and writers, which are granted in the order of their requests.
//!
//! ```text
//!            request           try_enter                  leave
//!  reader    number = next++   read_turn == number:       write_turn += 1
//!                              read_turn += 1
//!  writer    number = next++   write_turn == number       read_turn = write_turn = number + 1
//! ```
//!
//! The two turns are halves of one word. Only the writer that holds the lock changes this word, so a plain
//! store releases the lock.
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
//! With [`WakeFence::ByWaiter`] the fence of the side that waits is one for all processes (membarrier(2)), and
//! that of the side that leaves, which is in every use of a lock, costs nothing.
//!
//! Numbers are compared for equality only, and wrap. A rank that dies in the queue stops it: the end of
//! processes is not in this module. Damaged memory can stop the lock and wake ranks without need.

use super::primitive::{AtomicU32, AtomicU64, Ordering, full_fence, heavy_fence, light_fence};

/// What others may do while a lock is held.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum LockKind {
    /// Read: they may hold it for reading too.
    Shared,
    /// Nothing.
    Exclusive,
}

/// Which side has the fence between the turn and the place of a rank that sleeps. The same for all ranks.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum WakeFence {
    /// Both.
    Both,
    /// The rank that waits, for all: all have registered ([`primitive::has_heavy_fence`]).
    ///
    /// [`primitive::has_heavy_fence`]: super::primitive::has_heavy_fence
    ByWaiter,
}

/// The words of a lock. Zero is a free lock.
#[derive(Debug)]
#[repr(C, align(64))]
pub(crate) struct TurnLockWords {
    next: AtomicU32,
    /// The read turn in the upper half, the write turn in the lower one.
    turns: AtomicU64,
}

/// Both turns.
#[derive(Clone, Copy)]
struct Turns {
    read: u32,
    write: u32,
}

impl Turns {
    #[inline]
    fn of(word: u64) -> Self {
        Self { read: (word >> 32) as u32, write: word as u32 }
    }

    #[inline]
    fn word(self) -> u64 {
        u64::from(self.read) << 32 | u64::from(self.write)
    }
}

/// A lock.
#[derive(Clone, Copy)]
pub(crate) struct TurnLock<'a> {
    words: &'a TurnLockWords,
    places: &'a [AtomicU64],
    fence: WakeFence,
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
    /// The number of places is a power of two, and at least the number of concurrent requests.
    #[inline]
    pub(crate) fn new(words: &'a TurnLockWords, places: &'a [AtomicU64], fence: WakeFence) -> Self {
        debug_assert!(places.len().is_power_of_two());
        Self { words, places, fence }
    }

    /// Asks for the lock and enters; then a rank that the caller must wake. `None`, and no request, if the lock
    /// is held or requested in a way that would delay this.
    #[inline]
    pub(crate) fn try_lock(self, kind: LockKind) -> Option<(LockTurn, Option<u32>)> {
        let order = Ordering::Relaxed;
        let number = self.words.next.load(order);
        let turn = LockTurn { number, kind };
        // Nobody else can have this number, so the turn stays what it is until the request has it.
        if !self.is_turn_of(turn) {
            return None;
        }
        let next = number.wrapping_add(1);
        self.words.next.compare_exchange(number, next, order, order).ok()?;
        Some((turn, self.enter(turn)))
    }

    /// Asks for the lock. The caller then tries until it enters.
    #[inline]
    pub(crate) fn request(self, kind: LockKind) -> LockTurn {
        LockTurn { number: self.words.next.fetch_add(1, Ordering::Relaxed), kind }
    }

    /// Enters, if it is the caller's turn: then inside, a rank that the caller must wake.
    #[inline]
    pub(crate) fn try_enter(self, turn: LockTurn) -> Option<Option<u32>> {
        self.is_turn_of(turn).then(|| self.enter(turn))
    }

    #[inline]
    fn is_turn_of(self, turn: LockTurn) -> bool {
        // Acquire: what all before have read and written happened before.
        let turns = self.turns(Ordering::Acquire);
        match turn.kind {
            LockKind::Shared => turns.read == turn.number,
            LockKind::Exclusive => turns.write == turn.number,
        }
    }

    /// Enters in one's turn; a rank that the caller must wake.
    #[inline]
    fn enter(self, turn: LockTurn) -> Option<u32> {
        if turn.kind == LockKind::Exclusive {
            return None;
        }
        // Relaxed: it continues the release sequence of the last writer, so the next reader sees what that has
        // written. The carry leaves the word.
        self.words.turns.fetch_add(1 << 32, Ordering::Relaxed);
        self.fence_of_passing();
        self.waiting(turn.number.wrapping_add(1), LockKind::Shared)
    }

    /// `rank` will sleep until it is woken, if [`TurnLock::try_enter`] fails once more.
    #[cold]
    pub(crate) fn announce(self, turn: LockTurn, rank: u32) {
        let LockTurn { number, kind } = turn;
        self.place(number).store(announced(number, rank, kind), Ordering::Relaxed);
        match self.fence {
            WakeFence::Both => full_fence(),
            WakeFence::ByWaiter => heavy_fence(),
        }
    }

    /// Leaves; a rank that the caller must wake.
    #[inline]
    pub(crate) fn leave(self, turn: LockTurn) -> Option<u32> {
        let next = turn.number.wrapping_add(1);
        let now = match turn.kind {
            LockKind::Exclusive => {
                let turns = Turns { read: next, write: next };
                self.words.turns.store(turns.word(), Ordering::Release);
                next
            }
            LockKind::Shared => self.leave_shared(),
        };
        self.fence_of_passing();
        // A reader may have entered since, and left: then it is the turn of a later writer.
        self.waiting(now, LockKind::Exclusive).or_else(|| match turn.kind {
            LockKind::Exclusive => self.waiting(next, LockKind::Shared),
            LockKind::Shared => None,
        })
    }

    /// Counts a reader that leaves; the write turn after it.
    #[inline]
    fn leave_shared(self) -> u32 {
        let mut word = self.words.turns.load(Ordering::Relaxed);
        loop {
            let Turns { read, write } = Turns::of(word);
            let write = write.wrapping_add(1);
            let new = Turns { read, write }.word();
            let (left, lost) = (Ordering::Release, Ordering::Relaxed);
            match self.words.turns.compare_exchange_weak(word, new, left, lost) {
                Ok(_) => return write,
                Err(found) => word = found,
            }
        }
    }

    #[inline]
    fn turns(self, order: Ordering) -> Turns {
        Turns::of(self.words.turns.load(order))
    }

    /// Whether `turn`, which has not entered, waits for `other`, which has not left: it was asked for before,
    /// and the two are not readers of which `other` is inside. They are less than 2^31 numbers apart.
    pub(crate) fn is_behind(self, turn: LockTurn, other: LockTurn) -> bool {
        let is_below = |number: u32, bound: u32| (number.wrapping_sub(bound) as i32) < 0;
        let readers = turn.kind == LockKind::Shared && other.kind == LockKind::Shared;
        let is_reader_inside =
            readers && is_below(other.number, self.turns(Ordering::Relaxed).read);
        is_below(other.number, turn.number) && !is_reader_inside
    }

    /// The fence after a turn has moved.
    #[inline]
    fn fence_of_passing(self) {
        match self.fence {
            WakeFence::Both => full_fence(),
            WakeFence::ByWaiter => light_fence(),
        }
    }

    /// The rank that waits with this number, if it has announced itself. A fence comes before.
    #[inline]
    fn waiting(self, number: u32, kind: LockKind) -> Option<u32> {
        let seen = self.place(number).load(Ordering::Relaxed);
        let rank = (seen as u32 >> 1).checked_sub(1)?;
        (seen == announced(number, rank, kind)).then_some(rank)
    }

    fn place(self, number: u32) -> &'a AtomicU64 {
        &self.places[number as usize & (self.places.len() - 1)]
    }
}

impl LockTurn {
    pub(crate) fn kind(self) -> LockKind {
        self.kind
    }

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
        let turns = Turns { read: first, write: first };
        Self { next: AtomicU32::new(first), turns: AtomicU64::new(turns.word()) }
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
        for first in [0, u32::MAX - 2, u32::MAX] {
            let (words, places) = lock_from(first);
            let lock = TurnLock::new(&words, &places, WakeFence::Both);
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
        let lock = TurnLock::new(&words, &places, WakeFence::Both);
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
