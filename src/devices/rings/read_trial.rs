//! How long messages are copied: read by process_vm_readv(2) from the memory of their sender, or packets.
//!
//! [`CopyMethod::Auto`] reads the first long messages, until the reads have taken [`TRIAL_TIME`]. It
//! keeps reading if the fastest read reached [`WORTH_READING`] of the speed at which this processor
//! copies the same length in its caches; otherwise it sends packets. Packets are copied twice, but by
//! two processors at once, so they are only half as fast if messages cross in both directions.
//!
//! A short job never leaves the trial: the timed copy takes 1 ms, and so do the page faults of a first
//! way through the ring.
//!
//! Measured, as fractions of that speed, on two kinds of machine: reads 0.4 to 0.85 and packets 0.4 to
//! 0.95, in both directions 2.7 times more by reads (Xeon); reads 0.25 and packets 0.85 (EPYC).

use std::time::{Duration, Instant};

use crate::device::COPY_STEP;
use platform::base::Span;
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

/// The decision, and the trial that leads to it.
pub(crate) struct ReadTrial {
    copy: CopyMethod,
    state: TrialState,
    /// What was read of the message in progress, and for how long.
    timed: (usize, Duration),
}

/// Speeds are bytes per second.
#[derive(Clone, Copy)]
enum TrialState {
    /// Long messages are read and timed. They have taken `spent`; `best` is the highest speed, of a
    /// message of `len` bytes.
    Trying { spent: Duration, best: f64, len: usize },
    /// Reads are fast enough.
    Read,
    /// Packets are faster.
    Pipe,
}

impl Default for ReadTrial {
    fn default() -> Self {
        Self::new(CopyMethod::default())
    }
}

impl ReadTrial {
    pub(crate) fn new(copy: CopyMethod) -> Self {
        let state = TrialState::Trying { spent: Duration::ZERO, best: 0.0, len: 0 };
        Self { copy, state, timed: (0, Duration::ZERO) }
    }

    /// The transport that was asked for.
    pub(crate) fn copy(&self) -> CopyMethod {
        self.copy
    }

    /// Whether to read a message of `len` bytes.
    pub(crate) fn prefers(&self, len: usize) -> bool {
        match (self.copy, self.state) {
            (CopyMethod::Pipe, _) => false,
            (CopyMethod::Cma, _) => true,
            (CopyMethod::Auto, TrialState::Trying { .. } | TrialState::Read) => len >= READ_MIN,
            (CopyMethod::Auto, TrialState::Pipe) => false,
        }
    }

    /// Reads the next bytes of a message from the memory of a process, at most [`COPY_STEP`]; how many have been read
    /// then.
    ///
    /// # Errors
    /// A sentence with the cause.
    pub(crate) fn read(
        &mut self, pid: u32, from: u64, into: Span, done: usize,
    ) -> Result<usize, String> {
        let begin = self.begin();
        let len = (into.len() - done).min(COPY_STEP);
        if let Err(error) = cma::read(pid, from.wrapping_add(done as u64), into.part(done, len)) {
            self.timed = Default::default();
            return Err(format!("cannot read {len} bytes of process {pid}: {error}"));
        }
        let done = done + len;
        self.record_step(begin, len, done == into.len());
        Ok(done)
    }

    /// The time before a read, during the trial.
    pub(crate) fn begin(&self) -> Option<Instant> {
        let is_trial = matches!(self.state, TrialState::Trying { .. });
        (self.copy == CopyMethod::Auto && is_trial).then(Instant::now)
    }

    /// Counts `bytes` of a message that have been read since `begin`; the `last` ones complete it.
    pub(crate) fn record_step(&mut self, begin: Option<Instant>, bytes: usize, last: bool) {
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
        let TrialState::Trying { mut spent, mut best, mut len } = self.state else { return };
        spent += elapsed;
        let speed = bytes as f64 / elapsed.as_secs_f64();
        if speed > best {
            (best, len) = (speed, bytes);
        }
        self.state = match spent {
            _ if spent < TRIAL_TIME => TrialState::Trying { spent, best, len },
            _ if best >= worth_reading(len) * timed_copy_speed(len) => TrialState::Read,
            _ => TrialState::Pipe,
        };
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
    use super::*;

    #[test]
    fn auto_learns_from_the_first_long_messages() {
        for (bytes, reads) in [(1, false), (1 << 50, true)] {
            let mut trial = ReadTrial::new(CopyMethod::Auto);
            assert!(!trial.prefers(READ_MIN - 1));
            for _ in 0..4 {
                assert!(trial.prefers(READ_MIN));
                trial.record_read(bytes, TRIAL_TIME / 4);
            }
            assert_eq!(trial.prefers(READ_MIN), reads);
        }
    }

    #[test]
    fn a_method_that_was_asked_for_is_not_tried() {
        assert!(ReadTrial::new(CopyMethod::Cma).prefers(1));
        assert!(!ReadTrial::new(CopyMethod::Pipe).prefers(1 << 30));
        assert!(ReadTrial::new(CopyMethod::Cma).begin().is_none());
    }
}
