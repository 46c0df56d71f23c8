//! A time, with what led to it.

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
    /// Reductions and copies.
    pub arithmetic_ps: u64,
    /// Interruptions.
    pub noise_ps: u64,
}

impl CriticalPath {
    /// The parts with their names, in picoseconds.
    pub fn parts(&self) -> [(&'static str, u64); 6] {
        [
            ("latency", self.latency_ps),
            ("overhead", self.overhead_ps),
            ("bytes", self.bytes_ps),
            ("gap", self.gap_ps),
            ("arithmetic", self.arithmetic_ps),
            ("noise", self.noise_ps),
        ]
    }
}

/// A time and its path.
#[derive(Clone, Copy, Debug, Default)]
pub(crate) struct Mark {
    pub time_ps: u64,
    pub path: CriticalPath,
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
        self.path.latency_ps += latency_ps;
        self.path.messages += 1;
        self
    }

    #[inline]
    pub fn after_bytes(mut self, bytes_ps: u64) -> Self {
        self.time_ps += bytes_ps;
        self.path.bytes_ps += bytes_ps;
        self
    }

    #[inline]
    pub fn after_gap(mut self, gap_ps: u64) -> Self {
        self.time_ps += gap_ps;
        self.path.gap_ps += gap_ps;
        self
    }

    /// After work of a processor that ended at `end_ps`.
    #[inline]
    pub fn after_work(mut self, end_ps: u64, work: Work) -> Self {
        let work_ps = match work {
            Work::Overhead(work_ps) => {
                self.path.overhead_ps += work_ps;
                work_ps
            }
            Work::Arithmetic(work_ps) => {
                self.path.arithmetic_ps += work_ps;
                work_ps
            }
        };
        self.path.noise_ps += end_ps - self.time_ps - work_ps;
        self.time_ps = end_ps;
        self
    }
}

/// Work of a processor, in picoseconds.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Work {
    Overhead(u64),
    Arithmetic(u64),
}

impl Work {
    #[inline]
    pub fn work_ps(self) -> u64 {
        match self {
            Self::Overhead(work_ps) | Self::Arithmetic(work_ps) => work_ps,
        }
    }
}
