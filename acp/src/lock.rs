//! A lock word in the memory of a rank, which any rank takes and releases.
//!
//! ```text
//!   0 ── compare_swap ──> HELD + rank ── write of 8 bytes ──> 0
//! ```
//!
//! A word with any other value is no lock: its memory is damaged, or has been freed and used for
//! something else. Such a lock is refused at once, so that no rank waits for a holder that does not
//! exist. A rank that ends while it holds a lock keeps it: the end of ranks is not known here.

use crate::failure::Failure;
use crate::space::{GlobalSpace, SpaceAddress};
use crate::words;

/// The word of a free lock.
const FREE: u64 = 0;

/// The upper half of the word of a lock that is held; the lower one is the rank. Memory that is no
/// lock rarely has this value.
const HELD: u64 = 0x9d3a_71c5 << 32;

/// A lock that this rank holds until the value is dropped.
#[derive(Debug)]
pub(crate) struct Lock<'s, S: GlobalSpace> {
    space: &'s S,
    at: SpaceAddress,
}

impl<'s, S: GlobalSpace> Lock<'s, S> {
    /// Takes the lock at `at`, and waits while another rank or thread holds it.
    ///
    /// # Errors
    /// `Damaged` if the word is not the word of a lock; `Refused`.
    pub(crate) fn take(space: &'s S, at: SpaceAddress) -> Result<Self, Failure> {
        let held = HELD | u64::from(space.rank());
        let mut attempts = 0_u32;
        loop {
            match space.compare_swap(at, FREE, held)? {
                FREE => return Ok(Self { space, at }),
                word if is_held(word, space.ranks()) => space.pause(attempts),
                _ => return Err(Failure::Damaged),
            }
            attempts = attempts.saturating_add(1);
        }
    }
}

impl<S: GlobalSpace> Drop for Lock<'_, S> {
    fn drop(&mut self) {
        // The word was accessible when the lock was taken. If its memory is gone, so is the lock.
        let _ = words::write(self.space, self.at, &[FREE]);
    }
}

fn is_held(word: u64, ranks: u32) -> bool {
    word & HELD == HELD && word ^ HELD < u64::from(ranks)
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::test_space::TestSpace;

    #[test]
    fn a_lock_is_held_until_it_is_dropped() {
        let space = &TestSpace::ranks(2, 256)[1];
        let at = space.user(0);
        let lock = Lock::take(space, at).unwrap();
        assert_eq!(words::read(space, at), Ok([HELD | 1]));
        drop(lock);
        assert_eq!(words::read(space, at), Ok([FREE]));
    }

    #[test]
    fn a_word_that_is_no_lock_is_refused_at_once() {
        let space = &TestSpace::ranks(2, 256)[0];
        let at = space.user(0);
        for word in [1, 2, HELD - 1, HELD | 2, u64::MAX] {
            words::write(space, at, &[word]).unwrap();
            assert_eq!(Lock::take(space, at).unwrap_err(), Failure::Damaged);
            assert_eq!(words::read(space, at), Ok([word]));
        }
    }

    #[test]
    fn one_rank_at_a_time_holds_a_lock() {
        let spaces = TestSpace::ranks(4, 256);
        let (at, counter) = (spaces[0].user(0), spaces[0].user(1));
        TestSpace::run_all(&spaces, |space| {
            for _ in 0..200 {
                let _lock = Lock::take(space, at).unwrap();
                let [count] = words::read(space, counter).unwrap();
                words::write(space, counter, &[count + 1]).unwrap();
            }
        });
        assert_eq!(words::read(&spaces[0], counter), Ok([800]));
    }
}
