//! A [`Mark`] that also knows the time on links.

use crate::executor::mark::{CriticalPath, Mark};
use crate::network::LoggpRates;

/// A time, and what led to it.
#[derive(Clone, Copy, Debug, Default)]
pub(super) struct EventMark {
    mark: Mark,
    links_ps: u64,
    /// Latency of messages inside nodes.
    inside_ps: u64,
    inside: u32,
}

impl EventMark {
    #[inline]
    pub(super) fn time_ps(self) -> u64 {
        self.mark.time_ps
    }

    /// The later of both; among equal times the first.
    pub(super) fn later(self, other: Self) -> Self {
        if other.time_ps() > self.time_ps() { other } else { self }
    }

    /// The mark after a part that is no time on links.
    pub(super) fn then(self, part: impl FnOnce(Mark) -> Mark) -> Self {
        Self { mark: part(self.mark), ..self }
    }

    /// The mark after links, which end at `end_ps`.
    pub(super) fn after_links(mut self, end_ps: u64) -> Self {
        self.links_ps += end_ps - self.mark.time_ps;
        self.mark.time_ps = end_ps;
        self
    }

    /// The mark after the latency of a message inside a node.
    pub(super) fn after_inside(mut self, latency_ps: u64) -> Self {
        self.inside_ps += latency_ps;
        self.mark.time_ps += latency_ps;
        self.inside += 1;
        self
    }

    /// What led to this time.
    pub(super) fn path(&self, network: &LoggpRates) -> CriticalPath {
        let path = self.mark.path(network);
        CriticalPath {
            messages: path.messages + u64::from(self.inside),
            latency_ps: path.latency_ps + self.inside_ps,
            links_ps: self.links_ps,
            noise_ps: path.noise_ps - self.links_ps - self.inside_ps,
            ..path
        }
    }
}
