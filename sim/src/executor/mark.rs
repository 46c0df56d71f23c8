//! A time, with what led to it.
//!
//! Runs of a million ranks read and write these values more than anything else, so a [`Mark`] has
//! numbers of parts of equal length instead of times, and no noise: that is what is left of the time.

use crate::network::LoggpRates;

/// What the steps before a time have spent, along the way that determined it. The parts add up to the
/// time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub struct CriticalPath {
    /// Messages on the way.
    pub messages: u64,
    /// Latency of messages.
    pub latency_ps: u64,
    /// Overhead of sends and receives.
    pub overhead_ps: u64,
    /// Bytes at ports.
    pub bytes_ps: u64,
    /// Rests of ports.
    pub gap_ps: u64,
    /// Links, and waits for them.
    pub links_ps: u64,
    /// Reductions and copies.
    pub arithmetic_ps: u64,
    /// Interruptions.
    pub noise_ps: u64,
}

impl CriticalPath {
    /// The parts with their names, in picoseconds.
    pub fn parts(&self) -> [(&'static str, u64); 7] {
        [
            ("latency", self.latency_ps),
            ("overhead", self.overhead_ps),
            ("bytes", self.bytes_ps),
            ("gap", self.gap_ps),
            ("links", self.links_ps),
            ("arithmetic", self.arithmetic_ps),
            ("noise", self.noise_ps),
        ]
    }
}

/// A time, and the numbers of the parts of its path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub time_ps: u64,
    bytes_ps: u64,
    arithmetic_ps: u64,
    messages: u32,
    overheads: u32,
    gaps: u32,
}

impl Mark {
    /// The later of both; among equal times the first.
    #[inline]
    pub fn later(self, other: Self) -> Self {
        if other.time_ps > self.time_ps { other } else { self }
    }

    #[inline]
    pub fn after_latency(mut self, latency_ps: u64) -> Self {
        self.time_ps += latency_ps;
        self.messages += 1;
        self
    }

    #[inline]
    pub fn after_bytes(mut self, bytes_ps: u64) -> Self {
        self.time_ps += bytes_ps;
        self.bytes_ps += bytes_ps;
        self
    }

    #[inline]
    pub fn after_gap(mut self, gap_ps: u64) -> Self {
        self.time_ps += gap_ps;
        self.gaps += 1;
        self
    }

    /// After an overhead, which with interruptions ended at `end_ps`.
    #[inline]
    pub fn after_overhead(mut self, end_ps: u64) -> Self {
        self.time_ps = end_ps;
        self.overheads += 1;
        self
    }

    /// After a reduction or a copy, which with interruptions ended at `end_ps`.
    #[inline]
    pub fn after_arithmetic(mut self, end_ps: u64, work_ps: u64) -> Self {
        self.time_ps = end_ps;
        self.arithmetic_ps += work_ps;
        self
    }

    /// What led to this time.
    pub fn path(&self, network: &LoggpRates) -> CriticalPath {
        let path = CriticalPath {
            messages: self.messages.into(),
            latency_ps: u64::from(self.messages) * network.latency_ps,
            overhead_ps: u64::from(self.overheads) * network.overhead_ps,
            bytes_ps: self.bytes_ps,
            gap_ps: u64::from(self.gaps) * network.gap_ps,
            links_ps: 0,
            arithmetic_ps: self.arithmetic_ps,
            noise_ps: 0,
        };
        let known_ps: u64 = path.parts().iter().map(|(_, ps)| ps).sum();
        CriticalPath { noise_ps: self.time_ps - known_ps, ..path }
    }
}

/// ProcessorWork of a processor, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum ProcessorWork {
    Overhead(u64),
    Arithmetic(u64),
}

impl ProcessorWork {
    #[inline]
    pub fn work_ps(self) -> u64 {
        match self {
            Self::Overhead(work_ps) | Self::Arithmetic(work_ps) => work_ps,
        }
    }

    /// The mark after this work, which began at `start` and ended at `end_ps`.
    #[inline]
    pub fn after(self, start: Mark, end_ps: u64) -> Mark {
        match self {
            Self::Overhead(_) => start.after_overhead(end_ps),
            Self::Arithmetic(work_ps) => start.after_arithmetic(end_ps, work_ps),
        }
    }
}
