//! Which ranks wait for a lock or hold it, known also after the end of their processes.
//!
//! A [`TurnLock`] has no word for each holder: a rank that ends inside, or in the queue, stops it. Here each
//! rank has a word for each lock, and whoever waits finds in these words the ranks that it waits for:
//!
//! ```text
//!  word    0 ───> asking ─────> number and kind ─────────> 0
//!  lock           │ request │                │ leave │
//! ```
//!
//! The word is written before the request has a number and until the lock is left, so every request belongs
//! to a word with its number or to a rank that is asking. A rank whose process ended near an arrow may be
//! named although it is not in the way: a caller therefore tries to enter once more when it knows of the
//! end, and only then looks here.
//!
//! The words need no order of their own. The end of a process comes after all its writes for those that
//! know of it, and what they read of living ranks may be out of date at any time.
//!
//! A rank has a row of words with cache lines of its own, for no other rank writes them. Requests on behalf of
//! others, which a rank makes for its own lock, have no words: a waiting rank gives up when the target ends.
//! How processes end, and how ranks wait, is not in this module.

use super::primitive::{AtomicU64, Ordering};
use super::turn_lock::{LockTurn, TurnLock};

/// The length of a row is a multiple of this: two cache lines, which processors fetch in pairs.
const ROW_WORDS: usize = 128 / size_of::<u64>();

/// The word of a rank whose request has no number yet.
const ASKING: u64 = u64::MAX;

/// The words of the ranks of a node for the locks of a window, one for each of the ranks.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LockClaims<'a> {
    words: &'a [AtomicU64],
    ranks: usize,
}

impl<'a> LockClaims<'a> {
    /// The number of words for so many ranks.
    pub(crate) fn words(ranks: usize) -> usize {
        ranks * row_words(ranks)
    }

    /// The claims in `words`, which are 0 at first.
    ///
    /// # Panics
    /// If their number is another than [`LockClaims::words`].
    pub(crate) fn new(words: &'a [AtomicU64], ranks: usize) -> Self {
        assert_eq!(words.len(), Self::words(ranks));
        Self { words, ranks }
    }

    /// `rank` is about to ask for the lock of `target`.
    ///
    /// # Panics
    /// If there is no such rank or target; the same holds for the other functions.
    #[inline]
    pub(crate) fn ask(self, rank: usize, target: usize) {
        self.word(rank, target).store(ASKING, Ordering::Relaxed);
    }

    /// `rank` has asked for the lock of `target`.
    #[inline]
    pub(crate) fn claim(self, rank: usize, target: usize, turn: LockTurn) {
        self.word(rank, target).store(turn.word(), Ordering::Relaxed);
    }

    /// `rank` has left the lock of `target`.
    #[inline]
    pub(crate) fn forget(self, rank: usize, target: usize) {
        self.word(rank, target).store(0, Ordering::Relaxed);
    }

    /// The ranks for which `turn`, a request for the lock of `target` that has not entered, waits now.
    #[cold]
    pub(crate) fn awaited(
        self, lock: TurnLock<'a>, target: usize, turn: LockTurn,
    ) -> impl Iterator<Item = usize> + 'a {
        let is_awaited = move |rank: &usize| match self.word(*rank, target).load(Ordering::Relaxed)
        {
            ASKING => true,
            word => LockTurn::of_word(word).is_some_and(|other| lock.is_behind(turn, other)),
        };
        (0..self.ranks).filter(is_awaited)
    }

    #[inline]
    fn word(self, rank: usize, target: usize) -> &'a AtomicU64 {
        assert!(target < self.ranks);
        &self.words[rank * row_words(self.ranks) + target]
    }
}

/// The length of a row.
fn row_words(ranks: usize) -> usize {
    ranks.next_multiple_of(ROW_WORDS)
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::super::turn_lock::LockKind::{self, Exclusive, Shared};
    use super::super::turn_lock::{TurnLockWords, WakeFence};
    use super::*;

    const TARGET: usize = 1;

    /// The lock of one target, for four ranks; its first number is `first`.
    struct Node {
        lock: TurnLockWords,
        places: Vec<AtomicU64>,
        claims: Vec<AtomicU64>,
    }

    impl Node {
        fn new(first: u32) -> Self {
            let words = |count| (0..count).map(|_| AtomicU64::new(0)).collect();
            Self {
                lock: TurnLockWords::from(first),
                places: words(4),
                claims: words(LockClaims::words(4)),
            }
        }

        fn lock(&self) -> TurnLock<'_> {
            TurnLock::new(&self.lock, &self.places, WakeFence::Both)
        }

        fn claims(&self) -> LockClaims<'_> {
            LockClaims::new(&self.claims, 4)
        }

        fn request(&self, rank: usize, kind: LockKind) -> LockTurn {
            self.claims().ask(rank, TARGET);
            let turn = self.lock().request(kind);
            self.claims().claim(rank, TARGET, turn);
            turn
        }

        fn leave(&self, rank: usize, turn: LockTurn) {
            self.lock().leave(turn);
            self.claims().forget(rank, TARGET);
        }

        fn awaited(&self, turn: LockTurn) -> Vec<usize> {
            self.claims().awaited(self.lock(), TARGET, turn).collect()
        }
    }

    #[test]
    fn a_request_waits_for_those_before_it() {
        for first in [0, u32::MAX - 1] {
            let node = Node::new(first);
            let writer = node.request(3, Exclusive);
            let reader = node.request(0, Shared);
            let last = node.request(2, Exclusive);
            assert!(node.lock().try_enter(writer).is_some());
            assert_eq!((node.awaited(reader), node.awaited(last)), (vec![3], vec![0, 3]));
            node.leave(3, writer);
            assert_eq!((node.awaited(reader), node.awaited(last)), (vec![], vec![0]));
            assert!(node.lock().try_enter(reader).is_some());
            assert_eq!(node.awaited(last), [0]);
            node.leave(0, reader);
            assert_eq!(node.awaited(last), [0; 0]);
            assert!(node.lock().try_enter(last).is_some());
        }
    }

    #[test]
    fn a_reader_waits_for_no_reader_that_is_inside_and_for_all_others() {
        let node = Node::new(0);
        let inside = node.request(0, Shared);
        assert!(node.lock().try_enter(inside).is_some());
        // Others come and leave.
        for _ in 0..9 {
            let passing = node.request(1, Shared);
            assert!(node.lock().try_enter(passing).is_some());
            node.leave(1, passing);
        }
        let next = node.request(1, Shared);
        let reader = node.request(2, Shared);
        assert_eq!(node.awaited(reader), [1]);
        let writer = node.request(3, Exclusive);
        assert_eq!(node.awaited(writer), [0, 1, 2]);
        assert!(node.lock().try_enter(next).is_some());
        assert_eq!(node.awaited(reader), [0; 0]);
    }

    #[test]
    fn a_rank_that_is_asking_may_be_before_each_request_for_that_lock() {
        let node = Node::new(0);
        node.claims().ask(3, TARGET);
        node.claims().ask(2, TARGET + 1);
        let reader = node.request(0, Shared);
        assert_eq!(node.awaited(reader), [3]);
    }
}
