//! Times, and what led to them.
//!
//! ```text
//!   start ◄── overhead ◄── bytes ◄── message ◄── overhead        of a receive
//!                  ▲
//!                  └────── gap ◄── bytes ◄── ...                 of the next send
//! ```
//!
//! Each time is a node of a tree, and points to the one before it. So a time is as short as two numbers wherever steps
//! and messages keep it, nodes are written one after the other, and only the critical path is ever read again.

use crate::executor::mark::{CriticalPath, ProcessorWork};
use crate::network::LoggpRates;

/// A time.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(super) struct EventMark {
    pub(super) time_ps: u64,
    /// Its node, which says what led to it.
    pub(super) cause: u32,
}

impl EventMark {
    /// The later of both; among equal times the first.
    #[inline]
    pub(super) fn later(self, other: Self) -> Self {
        if other.time_ps > self.time_ps { other } else { self }
    }
}

/// What took the time since the node before.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathPart {
    /// Latency of a message, and its links.
    Message,
    /// Latency of a message inside a node.
    Inside,
    /// Overhead, with interruptions.
    Overhead,
    Bytes,
    Gap,
    Arithmetic,
    Noise,
}

#[derive(Clone, Copy, Debug)]
struct Cause {
    time_ps: u64,
    before: u32,
    part: PathPart,
}

/// What led to all times.
#[derive(Debug)]
pub(super) struct Causes {
    /// The first one is the start.
    nodes: Vec<Cause>,
}

impl Default for Causes {
    fn default() -> Self {
        Self { nodes: vec![Cause { time_ps: 0, before: 0, part: PathPart::Noise }] }
    }
}

impl Causes {
    /// The mark of a node.
    #[inline]
    pub(super) fn mark(&self, cause: u32) -> EventMark {
        EventMark { time_ps: self.nodes[cause as usize].time_ps, cause }
    }

    /// The mark at `end_ps`, after a part of the path that begins at `start`.
    #[inline]
    pub(super) fn after(&mut self, start: EventMark, part: PathPart, end_ps: u64) -> EventMark {
        if end_ps == start.time_ps {
            return start;
        }
        let cause = u32::try_from(self.nodes.len()).expect("fewer than 2^32 parts of paths");
        self.nodes.push(Cause { time_ps: end_ps, before: start.cause, part });
        EventMark { time_ps: end_ps, cause }
    }

    /// The mark after this work, which with interruptions ended at `end_ps`.
    #[inline]
    pub(super) fn after_work(
        &mut self, start: EventMark, work: ProcessorWork, end_ps: u64,
    ) -> EventMark {
        match work {
            ProcessorWork::Overhead(_) => self.after(start, PathPart::Overhead, end_ps),
            ProcessorWork::Arithmetic(work_ps) => {
                let interrupted = self.after(start, PathPart::Noise, end_ps - work_ps);
                self.after(interrupted, PathPart::Arithmetic, end_ps)
            }
        }
    }

    /// What led to a time.
    pub(super) fn path(&self, end: EventMark, network: &LoggpRates) -> CriticalPath {
        let mut path = CriticalPath::default();
        let mut at = end.cause;
        while at != 0 {
            let Cause { time_ps, before, part } = self.nodes[at as usize];
            let took_ps = time_ps - self.nodes[before as usize].time_ps;
            match part {
                PathPart::Message => {
                    path.messages += 1;
                    path.latency_ps += network.latency_ps;
                    path.links_ps += took_ps - network.latency_ps;
                }
                PathPart::Inside => {
                    path.messages += 1;
                    path.latency_ps += took_ps;
                }
                PathPart::Overhead => {
                    path.overhead_ps += network.overhead_ps;
                    path.noise_ps += took_ps - network.overhead_ps;
                }
                PathPart::Bytes => path.bytes_ps += took_ps,
                PathPart::Gap => path.gap_ps += took_ps,
                PathPart::Arithmetic => path.arithmetic_ps += took_ps,
                PathPart::Noise => path.noise_ps += took_ps,
            }
            at = before;
        }
        path
    }
}
