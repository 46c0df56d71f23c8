//! A long message that both of its ends copy at the same time: the receiver reads pieces from the
//! front, the sender writes pieces from the back, until they meet.
//!
//! ```text
//! message  |  0  |  1  |  2  |  3  |  4  |  5  |     pieces; who takes one adds to the word, so
//!           read by the receiver ─>  <─ written      that no piece is taken twice
//!
//! word     | generation 32 | flags 8 | back 12 | front 12 |
//!
//! free ──begin──> receiver ──a first piece──> both ──either leaves──> receiver, or sender
//!  ^                  └────────────leave────────────────────────────────┐        │
//!  └───────────────────────────────────────────<────────────────────────┴────────┘
//! ```
//!
//! The receiver begins and tells the sender, which may come late or never: it takes part only while
//! the generation is the one that it was told and the receiver has not left. So the place is free
//! for the next message as soon as nobody is in it, and who leaves last knows how all of it went
//! and tells the other. Nobody waits for anybody in here.
//!
//! It knows no addresses but the one that it carries, and copies nothing (`reading` does). What is
//! read from it is checked before it is used: damage can make a message fail, no more.

use std::ops::Range;

use super::primitive::{AtomicU64, Ordering};
use crate::device::SplitEnd;

/// A piece of a long message. Measured for 1 MiB: shorter ones pay for more system calls, longer
/// ones let the faster side wait.
const PIECE: usize = 128 << 10;

/// Pieces end where pages of a buffer that begins with one do: a page is pinned by one side only.
const PAGE: usize = 4096;

const COUNT_BITS: u32 = 12;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The most pieces: each of the counts may reach it.
const PIECES_MAX: usize = COUNT as usize;
const BACK: u64 = 1 << COUNT_BITS;
/// Who has not left.
const RECEIVER: u64 = 1 << (2 * COUNT_BITS);
const SENDER: u64 = RECEIVER << 1;
/// A piece could not be copied.
const FAILED: u64 = RECEIVER << 2;
const GENERATION_SHIFT: u32 = 32;

/// A place for one message at a time. All zero: free.
#[repr(C, align(128))]
pub(crate) struct SplitCopy {
    word: AtomicU64,
    /// Where the receiver keeps the message, in its own memory.
    into: AtomicU64,
    /// Bytes of the message.
    len: AtomicU64,
}

/// A piece that the sender has to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPiece {
    /// Which bytes of the message.
    pub(crate) range: Range<usize>,
    /// The address of the first of them in the receiver's memory.
    pub(crate) to: u64,
}

impl SplitCopy {
    /// The receiver begins with a message of `len` bytes that it keeps at address `into`: the
    /// generation to tell the sender. `None` if another message is still in here.
    pub(crate) fn begin(&self, into: u64, len: usize) -> Option<u32> {
        let before = self.word.load(Ordering::Acquire);
        if before & (RECEIVER | SENDER) != 0 {
            return None;
        }
        let generation = generation(before).wrapping_add(1);
        self.into.store(into, Ordering::Relaxed);
        self.len.store(len as u64, Ordering::Relaxed);
        self.word.store(u64::from(generation) << GENERATION_SHIFT | RECEIVER, Ordering::Release);
        Some(generation)
    }

    /// The receiver takes a piece; `None` if there is no more to do for it.
    pub(crate) fn take_front(&self) -> Option<Range<usize>> {
        // Its own values: nobody else changes them.
        let len = self.len.load(Ordering::Relaxed) as usize;
        let before = self.update(|word| (taken(word) < pieces(len)).then_some(word + 1))?;
        Some(piece(len, (before & COUNT) as usize))
    }

    /// The sender takes a piece of a message for which it has `available` bytes; `None` if there is
    /// no more to do for it, or not of this message.
    pub(crate) fn take_back(&self, told: u32, available: usize) -> Option<SplitPiece> {
        let mut len = 0;
        let before = self.update(|word| {
            len = self.len.load(Ordering::Relaxed) as usize;
            let open = generation(word) == told && word & RECEIVER != 0 && len <= available;
            (open && taken(word) < pieces(len)).then_some((word + BACK) | SENDER)
        })?;
        let back = (before >> COUNT_BITS & COUNT) as usize;
        // The receiver changes neither this nor the length before the sender has left.
        let into = self.into.load(Ordering::Relaxed);
        let range = piece(len, pieces(len).checked_sub(back + 1)?);
        Some(SplitPiece { to: into.wrapping_add(range.start as u64), range })
    }

    /// A piece could not be copied: nobody takes another one.
    pub(crate) fn fail(&self) {
        self.word.fetch_or(FAILED, Ordering::AcqRel);
    }

    /// The receiver's part is over.
    pub(crate) fn leave_front(&self) -> SplitEnd {
        end(self.word.fetch_and(!RECEIVER, Ordering::AcqRel), SENDER)
    }

    /// The sender's part is over, which has taken a piece.
    pub(crate) fn leave_back(&self) -> SplitEnd {
        end(self.word.fetch_and(!SENDER, Ordering::AcqRel), RECEIVER)
    }

    /// Replaces the word by what `next` says, unless that is `None`; what it was before.
    fn update(&self, mut next: impl FnMut(u64) -> Option<u64>) -> Option<u64> {
        let mut seen = self.word.load(Ordering::Acquire);
        loop {
            let wanted = next(seen)?;
            let order = (Ordering::AcqRel, Ordering::Acquire);
            match self.word.compare_exchange_weak(seen, wanted, order.0, order.1) {
                Ok(before) => return Some(before),
                Err(now) => seen = now,
            }
        }
    }
}

#[cfg(loom)]
impl SplitCopy {
    /// Free, for the model checker.
    pub(crate) fn new() -> Self {
        Self { word: AtomicU64::new(0), into: AtomicU64::new(0), len: AtomicU64::new(0) }
    }
}

fn generation(word: u64) -> u32 {
    (word >> GENERATION_SHIFT) as u32
}

/// Pieces that nobody may take any more.
fn taken(word: u64) -> usize {
    if word & FAILED != 0 {
        return PIECES_MAX;
    }
    ((word & COUNT) + (word >> COUNT_BITS & COUNT)) as usize
}

/// What it means for one side to leave when the word was `before`.
fn end(before: u64, other: u64) -> SplitEnd {
    match before {
        _ if before & other != 0 => SplitEnd::PeerPending,
        _ if before & FAILED != 0 => SplitEnd::Failed,
        _ => SplitEnd::Completed,
    }
}

/// The length of a piece: half of a message that is not much longer.
fn piece_len(len: usize) -> usize {
    let half = len.div_ceil(2).min(PIECE);
    half.max(len / (PIECES_MAX / 2)).max(1).next_multiple_of(PAGE)
}

/// How many pieces there are of a message of `len` bytes.
fn pieces(len: usize) -> usize {
    len.div_ceil(piece_len(len))
}

fn piece(len: usize, index: usize) -> Range<usize> {
    let start = (index * piece_len(len)).min(len);
    start..len.min(start + piece_len(len))
}

#[cfg(all(test, not(loom)))]
mod tests {
    use super::*;

    fn free() -> SplitCopy {
        SplitCopy { word: AtomicU64::new(0), into: AtomicU64::new(0), len: AtomicU64::new(0) }
    }

    #[test]
    fn pieces_are_the_message() {
        for len in [0, 1, 4096, 4097, 65_536, 100_000, 1 << 20, (1 << 20) + 1, 5 << 30] {
            let all: Vec<_> = (0..pieces(len)).map(|index| piece(len, index)).collect();
            assert!(all.len() <= PIECES_MAX / 2 + 1, "{len}");
            let ends = all.iter().fold(0, |end, next| {
                assert!(next.start == end && next.end > end, "{len}: {next:?}");
                next.end
            });
            assert_eq!(ends, len);
        }
        assert_eq!((pieces(64 << 10), pieces(1 << 20)), (2, 8));
    }

    #[test]
    fn the_ends_meet_and_the_last_one_knows() {
        for order in 0..1 << 10 {
            let (joint, len) = (free(), (1 << 20) - 5);
            let told = joint.begin(1000, len).unwrap();
            assert_eq!(joint.begin(1000, len), None);
            let mut copied = vec![0_u8; pieces(len)];
            let (mut fronts, mut backs) = (Some(()), Some(()));
            let mut turns = (0..10).map(|bit| order >> bit & 1 == 1).chain([true, false]).cycle();
            while fronts.or(backs).is_some() {
                let start = if turns.next() == Some(true) {
                    let range = joint.take_front();
                    fronts = range.as_ref().map(|_| ());
                    range.map(|range| range.start)
                } else {
                    let piece = joint.take_back(told, len);
                    backs = piece.as_ref().map(|_| ());
                    piece.map(|piece| {
                        assert_eq!(piece.to, 1000 + piece.range.start as u64);
                        piece.range.start
                    })
                };
                if let Some(start) = start {
                    copied[start / piece_len(len)] += 1;
                }
            }
            assert!(copied.iter().all(|times| *times == 1), "{order:b}: {copied:?}");
            let helped = joint.word.load(Ordering::Relaxed) & SENDER != 0;
            if helped {
                assert_eq!(joint.leave_front(), SplitEnd::PeerPending);
                assert_eq!(joint.begin(0, 1), None, "the sender is still in it");
                assert_eq!(joint.leave_back(), SplitEnd::Completed);
            } else {
                assert_eq!(joint.leave_front(), SplitEnd::Completed);
            }
            assert_eq!(joint.begin(0, 1), Some(told + 1));
        }
    }

    #[test]
    fn who_is_late_or_wrong_takes_nothing() {
        let joint = free();
        let first = joint.begin(0, 1 << 20).unwrap();
        assert_eq!(joint.take_back(first + 1, usize::MAX), None, "another message");
        assert_eq!(joint.take_back(first, 5), None, "a message that is not as long");
        assert_eq!(joint.leave_front(), SplitEnd::Completed);
        assert_eq!(joint.take_back(first, usize::MAX), None, "over");
        joint.begin(0, 1 << 20).unwrap();
        assert_eq!(joint.take_back(first, usize::MAX), None, "the next one");
    }

    #[test]
    fn after_a_failure_nobody_goes_on_and_both_know() {
        for receiver_first in [true, false] {
            let joint = free();
            let told = joint.begin(0, 1 << 20).unwrap();
            assert!(joint.take_front().is_some() && joint.take_back(told, 1 << 20).is_some());
            joint.fail();
            assert!(joint.take_front().is_none() && joint.take_back(told, 1 << 20).is_none());
            let ends = match receiver_first {
                true => [joint.leave_front(), joint.leave_back()],
                false => [joint.leave_back(), joint.leave_front()],
            };
            assert_eq!(ends, [SplitEnd::PeerPending, SplitEnd::Failed]);
        }
    }
}
