//! Direct reads: long messages read from the memory of the sender by process_vm_readv(2), and the
//! choice between reads and packets.
//!
//! State of each peer: unknown --first question: read the probe--> readable | unreadable.
//!
//! [`CopyMethod::Auto`] reads the first long messages, until the reads have taken [`TRIAL_TIME`]. It
//! keeps reading if the fastest read reached [`WORTH_READING`] of the speed at which this processor
//! copies the same length in its caches; otherwise it sends packets. Packets are copied twice, but by
//! two processors at once, so they are only half as fast if messages cross in both directions. A sender
//! without other work copies half of the message (`split_copy`), in half of the time.
//!
//! A short job never leaves the trial: the timed copy takes 1 ms, and so do the page faults of a first
//! way through the ring.
//!
//! Measured, as fractions of that speed, on two kinds of machine: reads 0.4 to 0.85 and packets 0.4 to
//! 0.95, in both directions 2.7 times more by reads (Xeon); reads 0.25 and packets 0.85 (EPYC). On the
//! Xeon, one way, in microseconds: 256 KiB take 17 by reads, 10 by split copies, 24 in packets; 1 MiB
//! takes 85, 53 and 130.
#![allow(unsafe_code)]

use std::time::{Duration, Instant};

use super::split_copy::{SplitCopy, SplitPiece};
use crate::device::{COPY_STEP, SplitEnd};
use crate::devices::rings::peer_address::{PeerAddress, PublishedAddress};
use platform::base::{Result, Span};
use platform::sys::cma;

/// The transport of long messages.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum CopyMethod {
    /// Reads or packets, as measured on the first long messages.
    #[default]
    Auto,
    /// Packets through the segment.
    Pipe,
    /// Reads from the sender's memory, where the system allows them.
    Cma,
}

/// Shorter messages are always packets with [`CopyMethod::Auto`]: a system call takes longer. In bytes.
const READ_MIN: usize = 16 << 10;

/// The number of bytes whose copy takes as long as the system call.
const CALL_BYTES: f64 = 8192.0;

/// Time that [`CopyMethod::Auto`] spends in reads before it decides: ten times what the decision costs.
const TRIAL_TIME: Duration = Duration::from_millis(10);

/// The least speed of useful reads, as a fraction of the speed of a copy in the caches.
const WORTH_READING: f64 = 1.0 / 3.0;

/// Limits of the timed copy, which has the length of the fastest trial. The lower limit keeps it out of
/// the first-level caches, as packets between two processors are.
const TIMED_COPY_BYTES: (usize, usize) = (1 << 20, 4 << 20);

/// The state of direct reads at one rank.
pub(crate) struct DirectRead {
    copy: CopyMethod,
    /// The probe for peers.
    _published: PublishedAddress,
    /// By slot.
    peers: Vec<Readability>,
    trial: ReadTrial,
    /// What was read of the message in progress during the trial, and for how long.
    timed: (usize, Duration),
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Readability {
    Unknown,
    Readable,
    Unreadable,
}

/// Trial of [`CopyMethod::Auto`]. Speeds are bytes per second.
#[derive(Clone, Copy)]
enum ReadTrial {
    /// Long messages are read and timed. They have taken `spent`; `best` is the highest speed, of a
    /// message of `len` bytes.
    Trying { spent: Duration, best: f64, len: usize },
    /// Reads are fast enough.
    Read,
    /// Packets are faster.
    Pipe,
}

impl DirectRead {
    /// Publishes the address of this rank. Every peer is unknown.
    ///
    /// # Errors
    /// `Other` if another process has published one in this slot.
    pub(crate) fn new(copy: CopyMethod, peers: usize, address: &PeerAddress) -> Result<Self> {
        let peers = vec![Readability::Unknown; peers];
        let trial = ReadTrial::Trying { spent: Duration::ZERO, best: 0.0, len: 0 };
        let timed = (0, Duration::ZERO);
        Ok(Self { copy, _published: address.publish()?, peers, trial, timed })
    }

    /// The transport that was asked for.
    pub(crate) fn copy(&self) -> CopyMethod {
        self.copy
    }

    /// Whether messages may be read at all.
    pub(crate) fn is_possible(&self) -> bool {
        self.copy != CopyMethod::Pipe
    }

    /// Whether to read a message of `len` bytes from the peer in `slot`.
    pub(crate) fn prefers(&mut self, slot: usize, address: &PeerAddress, len: usize) -> bool {
        let wanted = match (self.copy, self.trial) {
            (CopyMethod::Pipe, _) => false,
            (CopyMethod::Cma, _) => true,
            (CopyMethod::Auto, ReadTrial::Trying { .. } | ReadTrial::Read) => len >= READ_MIN,
            (CopyMethod::Auto, ReadTrial::Pipe) => false,
        };
        wanted && self.is_readable(slot, address)
    }

    fn is_readable(&mut self, slot: usize, address: &PeerAddress) -> bool {
        if self.peers[slot] == Readability::Unknown {
            self.peers[slot] = match address.is_readable() {
                true => Readability::Readable,
                false => Readability::Unreadable,
            };
        }
        self.peers[slot] == Readability::Readable
    }

    /// Reads the next bytes of a message from the peer in `slot`, and returns how many have been
    /// read. A failure is final: the peer is unreadable after it.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read(
        &mut self, slot: usize, address: &PeerAddress, from: u64, into: Span, done: usize,
    ) -> Result<usize, String> {
        let begin = self.trial_time();
        let pid = address.pid();
        let len = (into.len() - done).min(COPY_STEP);
        if let Err(error) = cma::read(pid, from.wrapping_add(done as u64), into.part(done, len)) {
            self.peers[slot] = Readability::Unreadable;
            self.timed = Default::default();
            return Err(format!("cannot read {len} bytes of process {pid}: {error}"));
        }
        let done = done + len;
        self.record_step(begin, len, done == into.len());
        Ok(done)
    }

    /// Reads pieces of a message from the peer in `slot` until none is left, or enough for one call.
    /// A failure is final.
    pub(crate) fn read_split(
        &mut self, slot: usize, address: &PeerAddress, split: &SplitCopy, from: u64, into: Span,
    ) -> SplitEnd {
        let begin = self.trial_time();
        let pid = address.pid();
        let mut bytes = 0;
        while let Some(range) = split.take_front() {
            let piece = into.part(range.start, range.len());
            if cma::read(pid, from.wrapping_add(range.start as u64), piece).is_err() {
                self.peers[slot] = Readability::Unreadable;
                split.fail();
                break;
            }
            bytes += range.len();
            if bytes >= COPY_STEP {
                self.record_step(begin, bytes, false);
                return SplitEnd::Paused;
            }
        }
        self.record_step(begin, bytes, true);
        split.leave_front()
    }

    /// The time, during the trial.
    fn trial_time(&self) -> Option<Instant> {
        let is_trial = matches!(self.trial, ReadTrial::Trying { .. });
        (self.copy == CopyMethod::Auto && is_trial).then(Instant::now)
    }

    /// Counts `bytes` of a message that have been read since `begin`; the `last` ones complete it.
    fn record_step(&mut self, begin: Option<Instant>, bytes: usize, last: bool) {
        let Some(begin) = begin else { return };
        self.timed.0 += bytes;
        self.timed.1 += begin.elapsed();
        if last {
            let (bytes, time) = std::mem::take(&mut self.timed);
            if bytes >= READ_MIN {
                self.record_read(bytes, time);
            }
        }
    }

    /// Records that a message of `bytes` bytes was read in this time.
    fn record_read(&mut self, bytes: usize, elapsed: Duration) {
        let ReadTrial::Trying { mut spent, mut best, mut len } = self.trial else { return };
        spent += elapsed;
        let speed = bytes as f64 / elapsed.as_secs_f64();
        if speed > best {
            (best, len) = (speed, bytes);
        }
        self.trial = match spent {
            _ if spent < TRIAL_TIME => ReadTrial::Trying { spent, best, len },
            _ if best >= worth_reading(len) * timed_copy_speed(len) => ReadTrial::Read,
            _ => ReadTrial::Pipe,
        };
    }
}

/// Writes pieces of the message `from` to the memory of its receiver, until none is left, enough for one
/// call, or the split copy has another generation.
pub fn write_split(
    address: &PeerAddress, split: &SplitCopy, generation: u32, from: Span,
) -> SplitEnd {
    let pid = address.pid();
    let (mut took, mut bytes) = (false, 0);
    while bytes < COPY_STEP
        && let Some(SplitPiece { range, to }) = split.take_back(generation, from.len())
    {
        took = true;
        bytes += range.len();
        // SAFETY: the receiver keeps the buffer and completes the receive only after this side has
        // left the copy; no piece is taken twice.
        if unsafe { cma::write(pid, from.part(range.start, range.len()), to) }.is_err() {
            split.fail();
        }
    }
    if !took {
        return SplitEnd::PeerPending;
    }
    // The receiver need not wait for the next call.
    match split.leave_back() {
        SplitEnd::PeerPending if bytes >= COPY_STEP => SplitEnd::Paused,
        end => end,
    }
}

/// The least useful speed for a message of `len` bytes, as a fraction of the speed of a copy.
fn worth_reading(len: usize) -> f64 {
    WORTH_READING * len as f64 / (len as f64 + CALL_BYTES)
}

/// Speed at which this processor copies about `len` bytes in its caches, in bytes per second.
fn timed_copy_speed(len: usize) -> f64 {
    let len = len.clamp(TIMED_COPY_BYTES.0, TIMED_COPY_BYTES.1);
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

    fn address() -> Mapped<PeerAddress> {
        let segment = NodeSegment::open(shm::create().unwrap(), 1).unwrap();
        segment.area(0).part(|area| &area.address)
    }

    #[test]
    fn a_slot_is_taken_once() {
        let address = address();
        let _first = DirectRead::new(CopyMethod::Auto, 1, &address).unwrap();
        let error = DirectRead::new(CopyMethod::Auto, 1, &address).err().unwrap();
        assert!(error.why.contains(&std::process::id().to_string()), "{error}");
    }

    #[test]
    fn an_empty_slot_and_another_process_are_not_read() {
        let (empty, address) = (address(), address());
        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &address).unwrap();
        assert!(!direct_read.prefers(0, &empty, 1 << 20), "empty slot");

        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &empty).unwrap();
        let address = empty;
        address.probe.fetch_add(1, Ordering::Relaxed);
        assert!(!direct_read.prefers(0, &address, 1 << 20), "another process");
    }

    #[test]
    fn auto_learns_from_the_first_long_messages() {
        for (bytes, reads) in [(1, false), (1 << 50, true)] {
            let address = address();
            let mut direct_read = DirectRead::new(CopyMethod::Auto, 1, &address).unwrap();
            if !address.is_readable() {
                eprintln!("skipped: processes cannot be read here");
                return;
            }
            assert!(!direct_read.prefers(0, &address, READ_MIN - 1));
            for _ in 0..4 {
                assert!(direct_read.prefers(0, &address, READ_MIN));
                direct_read.record_read(bytes, TRIAL_TIME / 4);
            }
            assert_eq!(direct_read.prefers(0, &address, READ_MIN), reads);
        }
    }

    #[test]
    fn a_failed_read_is_the_last() {
        let address = address();
        let mut direct_read = DirectRead::new(CopyMethod::Cma, 1, &address).unwrap();
        let mut bytes = [0; 8];
        // SAFETY: `bytes` outlives the call, and only this call uses it.
        let into = unsafe { Span::of(&mut bytes) };
        let why = direct_read.read(0, &address, 8, into, 0).unwrap_err();
        assert!(why.contains("cannot read 8 bytes"), "{why}");
        assert!(!direct_read.prefers(0, &address, 1 << 20));
    }
}
