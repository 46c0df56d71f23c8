//! Reading long messages straight from the memory of the sender: whether to, and doing it.
//!
//! Per peer: unknown --first question: read what its card says it has--> readable | not.
//!
//! [`CopyMethod::Auto`] starts from packets, which are copied twice but by two processors at once, and
//! tries reading on the first [`TRIALS`] long messages. It stays with reading if the fastest of them
//! got at least [`WORTH_READING`] of the speed at which this processor copies as much in its
//! caches. Reading takes one processor, packets take two: where messages cross in both
//! directions, packets are only half as fast. Where the sender has nothing else to do it does half
//! of the work (`split_copy`), and the message takes half of that time.
//!
//! Measured, as parts of that speed, on two kinds of machine: reading alone 0.4 to 0.85 and packets
//! 0.4 to 0.95, in both directions 2.7 times more by reading (Xeon); reading 0.25 and packets 0.85
//! (EPYC). On the Xeon, one way, in microseconds: of 256 KiB 17 by reading alone, 10 by both ends,
//! 24 in packets; of 1 MiB 85, 53 and 130.
#![allow(unsafe_code)]

use std::time::Instant;

use super::split_copy::{SplitCopy, SplitPiece};
use crate::device::SplitEnd;
use crate::devices::rings::peer_address::{PeerAddress, PublishedAddress};
use platform::base::{Result, Span};
use platform::sys::cma;

/// How long messages travel.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyMethod {
    /// As measured on the first long messages.
    #[default]
    Auto,
    /// Always in packets through the segment.
    Pipe,
    /// Read from the sender's memory, where that works.
    Cma,
}

/// Below this many bytes [`CopyMethod::Auto`] always sends packets: the system call is not worth it.
const READ_MIN: usize = 16 << 10;

/// The system call takes as long as so many bytes.
const CALL_BYTES: f64 = 8192.0;

/// Messages on which [`CopyMethod::Auto`] tries reading; the first of them also pay for page faults and
/// caches that have none of it.
const TRIALS: u32 = 8;

/// See above.
const WORTH_READING: f64 = 1.0 / 3.0;

/// As many bytes as were read are copied to find out how fast that is, but not fewer than the first
/// number, for no packet travels inside one processor's nearest caches, nor more than the second.
const TIMED_COPY_BYTES: (usize, usize) = (1 << 20, 4 << 20);

/// What this rank knows about reading from its peers.
pub(crate) struct DirectRead {
    copy: CopyMethod,
    /// What peers read to find out whether they can.
    _published: PublishedAddress,
    /// By slot.
    peers: Vec<Readability>,
    trial: ReadTrial,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Readability {
    Unknown,
    Readable,
    Unreadable,
}

/// Of [`CopyMethod::Auto`]. Speeds are bytes per second.
#[derive(Clone, Copy)]
enum ReadTrial {
    /// The next `left` long messages are read and timed; `best` is the highest speed so far, of a
    /// message of `len` bytes.
    Trying { left: u32, best: f64, len: usize },
    /// Reading is fast enough.
    Read,
    /// It is not.
    Pipe,
}

impl DirectRead {
    /// Nothing is known about any of the `peers`. Fills in this rank's card.
    ///
    /// # Errors
    /// `Other` if another process has done so before.
    pub(crate) fn new(copy: CopyMethod, peers: usize, card: &PeerAddress) -> Result<Self> {
        let peers = vec![Readability::Unknown; peers];
        let verdict = ReadTrial::Trying { left: TRIALS, best: 0.0, len: 0 };
        Ok(Self { copy, _published: card.publish()?, peers, trial: verdict })
    }

    /// Whether reading may be preferred to packets at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.copy != CopyMethod::Pipe
    }

    /// Whether to read a message of `len` bytes from the peer in `slot`.
    pub(crate) fn prefers(&mut self, slot: usize, card: &PeerAddress, len: usize) -> bool {
        let wanted = match (self.copy, self.trial) {
            (CopyMethod::Pipe, _) => false,
            (CopyMethod::Cma, _) => true,
            (CopyMethod::Auto, ReadTrial::Trying { .. } | ReadTrial::Read) => len >= READ_MIN,
            (CopyMethod::Auto, ReadTrial::Pipe) => false,
        };
        wanted && self.is_readable(slot, card)
    }

    fn is_readable(&mut self, slot: usize, card: &PeerAddress) -> bool {
        if self.peers[slot] == Readability::Unknown {
            self.peers[slot] = match card.is_readable() {
                true => Readability::Readable,
                false => Readability::Unreadable,
            };
        }
        self.peers[slot] == Readability::Readable
    }

    /// Reads from the peer in `slot`; after a failure never again.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read(
        &mut self, slot: usize, card: &PeerAddress, from: u64, into: Span,
    ) -> Result<(), String> {
        let begin = Instant::now();
        let pid = card.pid();
        if let Err(error) = cma::read(pid, from, into) {
            self.peers[slot] = Readability::Unreadable;
            let len = into.len();
            return Err(format!("cannot read {len} bytes of process {pid}: {error}"));
        }
        if self.copy == CopyMethod::Auto && into.len() >= READ_MIN {
            self.record_speed(into.len(), into.len() as f64 / begin.elapsed().as_secs_f64());
        }
        Ok(())
    }

    /// Reads pieces of a message from the peer in `slot`, until none is left; after a failure it is
    /// never read again.
    pub(crate) fn read_split(
        &mut self, slot: usize, card: &PeerAddress, joint: &SplitCopy, from: u64, into: Span,
    ) -> SplitEnd {
        let begin = Instant::now();
        let pid = card.pid();
        let mut bytes = 0;
        while let Some(range) = joint.take_front() {
            let piece = into.part(range.start, range.len());
            if cma::read(pid, from.wrapping_add(range.start as u64), piece).is_err() {
                self.peers[slot] = Readability::Unreadable;
                joint.fail();
                break;
            }
            bytes += range.len();
        }
        if self.copy == CopyMethod::Auto && bytes >= READ_MIN {
            self.record_speed(bytes, bytes as f64 / begin.elapsed().as_secs_f64());
        }
        joint.leave_front()
    }

    /// A message of `bytes` bytes was read at this speed.
    fn record_speed(&mut self, bytes: usize, speed: f64) {
        let ReadTrial::Trying { left, mut best, mut len } = self.trial else { return };
        if speed > best {
            (best, len) = (speed, bytes);
        }
        self.trial = match left {
            2.. => ReadTrial::Trying { left: left - 1, best, len },
            _ if best
                >= worth_reading(len)
                    * copy_speed(len.clamp(TIMED_COPY_BYTES.0, TIMED_COPY_BYTES.1)) =>
            {
                ReadTrial::Read
            }
            _ => ReadTrial::Pipe,
        };
    }
}

/// Writes pieces of the message `from` into the memory of its receiver, until none is left or if
/// this is no longer the message that has the generation `told`.
pub fn write_split(card: &PeerAddress, joint: &SplitCopy, told: u32, from: Span) -> SplitEnd {
    let pid = card.pid();
    let mut took = false;
    while let Some(SplitPiece { range, to }) = joint.take_back(told, from.len()) {
        took = true;
        // SAFETY: the receiver of a message keeps its room for it, and completes the receive only
        // when this side has left, or else is told so; no piece is taken twice.
        if unsafe { cma::write(pid, from.part(range.start, range.len()), to) }.is_err() {
            joint.fail();
        }
    }
    if took { joint.leave_back() } else { SplitEnd::PeerPending }
}

/// The part of the speed of a copy that a message of `len` bytes must have been read at.
fn worth_reading(len: usize) -> f64 {
    WORTH_READING * len as f64 / (len as f64 + CALL_BYTES)
}

/// How fast this processor copies `len` bytes that it has copied before, in bytes per second.
fn copy_speed(len: usize) -> f64 {
    let (from, mut to) = (vec![1_u8; len], vec![2_u8; len]);
    let time = |_| {
        let begin = Instant::now();
        to.copy_from_slice(std::hint::black_box(&from));
        std::hint::black_box(&mut to);
        begin.elapsed().as_secs_f64()
    };
    len as f64 / (0..4).map(time).fold(f64::INFINITY, f64::min)
}

#[cfg(test)]
mod tests {
    use std::sync::atomic::Ordering;

    use super::*;
    use crate::devices::rings::memory::Mapped;
    use crate::devices::shm::segment::NodeSegment;
    use platform::sys::shm;

    fn card() -> Mapped<PeerAddress> {
        let segment = NodeSegment::open(shm::create().unwrap(), 1).unwrap();
        segment.area(0).part(|area| &area.address)
    }

    #[test]
    fn a_slot_is_taken_once() {
        let card = card();
        let _first = DirectRead::new(CopyMethod::Auto, 1, &card).unwrap();
        let error = DirectRead::new(CopyMethod::Auto, 1, &card).err().unwrap();
        assert!(error.why.contains(&std::process::id().to_string()), "{error}");
    }

    #[test]
    fn nobody_and_strangers_are_not_read() {
        let (nobody, card) = (card(), card());
        let mut reading = DirectRead::new(CopyMethod::Cma, 1, &card).unwrap();
        assert!(!reading.prefers(0, &nobody, 1 << 20), "nobody there");

        let mut reading = DirectRead::new(CopyMethod::Cma, 1, &nobody).unwrap();
        let card = nobody;
        card.probe.fetch_add(1, Ordering::Relaxed);
        assert!(!reading.prefers(0, &card, 1 << 20), "not the process of the card");
    }

    #[test]
    fn auto_learns_from_the_first_long_messages() {
        for (speed, reads) in [(1.0, false), (1e15, true)] {
            let card = card();
            let mut reading = DirectRead::new(CopyMethod::Auto, 1, &card).unwrap();
            if !card.is_readable() {
                eprintln!("skipped: processes cannot be read here");
                return;
            }
            assert!(!reading.prefers(0, &card, READ_MIN - 1));
            for _ in 0..TRIALS {
                assert!(reading.prefers(0, &card, READ_MIN));
                reading.record_speed(READ_MIN, speed);
            }
            assert_eq!(reading.prefers(0, &card, READ_MIN), reads);
        }
    }

    #[test]
    fn a_failed_read_is_the_last() {
        let card = card();
        let mut reading = DirectRead::new(CopyMethod::Cma, 1, &card).unwrap();
        let mut bytes = [0; 8];
        // SAFETY: `bytes` outlives the call and nobody else uses it.
        let into = unsafe { Span::of(&mut bytes) };
        let why = reading.read(0, &card, 8, into).unwrap_err();
        assert!(why.contains("cannot read 8 bytes"), "{why}");
        assert!(!reading.prefers(0, &card, 1 << 20));
    }
}
