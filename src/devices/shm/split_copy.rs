//! A long message that both of its ends copy at the same time: the receiver reads pieces from the
//! front, the sender writes pieces from the back, until they meet.
//!
//! ```text
//! message  |  0  |  1  |  2  |  3  |  4  |  5  |     pieces; taking one adds to the word, so that
//!           read by the receiver ─>  <─ written      no piece is taken twice
//!
//! word     | generation 24 | flags 8 | back 16 | front 16 |
//!
//! free ──begin──> receiver ──a first piece──> both ──either leaves──> receiver, or sender
//!  ^                  └────────────leave────────────────────────────────┐        │
//!  └───────────────────────────────────────────<────────────────────────┴────────┘
//! ```
//!
//! The receiver begins and sends the generation to the sender, which may come late or never: the
//! sender takes part only while the generation is current and the receiver has not left. It may leave
//! and return. The entry is free for the next message when both have left. The end that leaves last
//! knows the result and sends it to the other end. No end waits for the other here.
//!
//! It knows one address, that of the message, and copies nothing (`direct_read` does). Values read from
//! the word are checked before use: damage can make a message fail and nothing else.

use std::ops::Range;

use super::primitive::{AtomicU64, Ordering};
use crate::device::SplitEnd;

/// Bytes of a piece. Measured for 1 MiB: shorter pieces cost more system calls, with longer ones the
/// faster side waits.
const PIECE: usize = 128 << 10;

/// Pieces end at page boundaries if the buffer begins at one: only one side pins a page.
const PAGE: usize = 4096;

const COUNT_BITS: u32 = 16;
const COUNT: u64 = (1 << COUNT_BITS) - 1;
/// The largest number of pieces: each count may reach it.
const PIECES_MAX: usize = COUNT as usize;
const BACK: u64 = 1 << COUNT_BITS;
/// The receiver has not left.
const RECEIVER: u64 = 1 << (2 * COUNT_BITS);
/// The sender has taken a piece and not left.
const SENDER: u64 = RECEIVER << 1;
/// A piece could not be copied.
const FAILED: u64 = RECEIVER << 2;
const GENERATION_SHIFT: u32 = 40;
const GENERATION_MAX: u32 = (1 << (64 - GENERATION_SHIFT)) - 1;

/// The state of one split copy at a time. All zero: free.
#[repr(C, align(128))]
pub(crate) struct SplitCopy {
    word: AtomicU64,
    /// Address of the receive buffer in the receiver's memory.
    into: AtomicU64,
    /// Bytes of the message.
    len: AtomicU64,
}

/// A piece for the sender to write.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct SplitPiece {
    /// Bytes of the message.
    pub(crate) range: Range<usize>,
    /// Address of the first byte in the receiver's memory.
    pub(crate) to: u64,
}

impl SplitCopy {
    /// The receiver begins a copy of `len` bytes to its address `into`; returns the generation for the
    /// sender. `None` if another copy is in progress.
    pub(crate) fn begin(&self, into: u64, len: usize) -> Option<u32> {
        let before = self.word.load(Ordering::Acquire);
        if before & (RECEIVER | SENDER) != 0 {
            return None;
        }
        let generation = (generation(before) + 1) & GENERATION_MAX;
        self.into.store(into, Ordering::Relaxed);
        self.len.store(len as u64, Ordering::Relaxed);
        self.word.store(u64::from(generation) << GENERATION_SHIFT | RECEIVER, Ordering::Release);
        Some(generation)
    }

    /// The receiver takes a piece; `None` if none is left.
    pub(crate) fn take_front(&self) -> Option<Range<usize>> {
        // Only the receiver changes the length.
        let len = self.len.load(Ordering::Relaxed) as usize;
        let before = self.update(|word| (taken(word) < pieces(len)).then_some(word + 1))?;
        Some(piece(len, (before & COUNT) as usize))
    }

    /// The sender takes a piece of its message of `available` bytes; `None` if none is left or the
    /// generation is not current.
    pub(crate) fn take_back(&self, ticket: u32, available: usize) -> Option<SplitPiece> {
        let mut len = 0;
        let before = self.update(|word| {
            len = self.len.load(Ordering::Relaxed) as usize;
            let open = generation(word) == ticket && word & RECEIVER != 0 && len <= available;
            (open && taken(word) < pieces(len)).then_some((word + BACK) | SENDER)
        })?;
        let back = (before >> COUNT_BITS & COUNT) as usize;
        // The receiver changes neither address nor length before the sender has left.
        let into = self.into.load(Ordering::Relaxed);
        let range = piece(len, pieces(len).checked_sub(back + 1)?);
        Some(SplitPiece { to: into.wrapping_add(range.start as u64), range })
    }

    /// A piece could not be copied: no further piece is taken.
    pub(crate) fn fail(&self) {
        self.word.fetch_or(FAILED, Ordering::AcqRel);
    }

    /// The receiver leaves.
    pub(crate) fn leave_front(&self) -> SplitEnd {
        end(self.word.fetch_and(!RECEIVER, Ordering::AcqRel), SENDER)
    }

    /// The sender leaves, after it has taken a piece.
    pub(crate) fn leave_back(&self) -> SplitEnd {
        end(self.word.fetch_and(!SENDER, Ordering::AcqRel), RECEIVER)
    }

    /// Replaces the word by the result of `next`, unless that is `None`; returns the word before.
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

/// Pieces that are taken; all of them after a failure.
fn taken(word: u64) -> usize {
    if word & FAILED != 0 {
        return PIECES_MAX;
    }
    ((word & COUNT) + (word >> COUNT_BITS & COUNT)) as usize
}

/// The result for an end that leaves, if the word was `before` and `other` is the flag of the other end.
fn end(before: u64, other: u64) -> SplitEnd {
    match before {
        _ if before & other != 0 => SplitEnd::PeerPending,
        _ if before & FAILED != 0 => SplitEnd::Failed,
        _ => SplitEnd::Completed,
    }
}

/// The length of a piece: half of a short message, [`PIECE`] of a longer one.
fn piece_len(len: usize) -> usize {
    let half = len.div_ceil(2).min(PIECE);
    half.max(len / (PIECES_MAX / 2)).max(1).next_multiple_of(PAGE)
}

/// The number of pieces of a message of `len` bytes.
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
    fn the_ends_meet_and_the_last_one_gets_the_result() {
        for order in 0..1 << 10 {
            let (split, len) = (free(), (1 << 20) - 5);
            let generation = split.begin(1000, len).unwrap();
            assert_eq!(split.begin(1000, len), None);
            let mut copied = vec![0_u8; pieces(len)];
            let (mut fronts, mut backs) = (Some(()), Some(()));
            let mut turns = (0..10).map(|bit| order >> bit & 1 == 1).chain([true, false]).cycle();
            while fronts.or(backs).is_some() {
                let start = if turns.next() == Some(true) {
                    let range = split.take_front();
                    fronts = range.as_ref().map(|_| ());
                    range.map(|range| range.start)
                } else {
                    let piece = split.take_back(generation, len);
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
            let helped = split.word.load(Ordering::Relaxed) & SENDER != 0;
            if helped {
                assert_eq!(split.leave_front(), SplitEnd::PeerPending);
                assert_eq!(split.begin(0, 1), None, "the sender is still in it");
                assert_eq!(split.leave_back(), SplitEnd::Completed);
            } else {
                assert_eq!(split.leave_front(), SplitEnd::Completed);
            }
            assert_eq!(split.begin(0, 1), Some(generation + 1));
        }
    }

    #[test]
    fn a_late_or_wrong_sender_takes_nothing() {
        let split = free();
        let first = split.begin(0, 1 << 20).unwrap();
        assert_eq!(split.take_back(first + 1, usize::MAX), None, "another message");
        assert_eq!(split.take_back(first, 5), None, "a message that is not as long");
        assert_eq!(split.leave_front(), SplitEnd::Completed);
        assert_eq!(split.take_back(first, usize::MAX), None, "over");
        split.begin(0, 1 << 20).unwrap();
        assert_eq!(split.take_back(first, usize::MAX), None, "the next one");
    }

    #[test]
    fn a_failure_stops_both_ends() {
        for receiver_first in [true, false] {
            let split = free();
            let generation = split.begin(0, 1 << 20).unwrap();
            assert!(split.take_front().is_some() && split.take_back(generation, 1 << 20).is_some());
            split.fail();
            assert!(split.take_front().is_none() && split.take_back(generation, 1 << 20).is_none());
            let ends = match receiver_first {
                true => [split.leave_front(), split.leave_back()],
                false => [split.leave_back(), split.leave_front()],
            };
            assert_eq!(ends, [SplitEnd::PeerPending, SplitEnd::Failed]);
        }
    }
}
