//! Puts, and the model of the interface that transfers them.

/// A put to another rank.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Put {
    /// The number of bytes.
    pub bytes: u64,
    /// The number of its route: equal routes have equal numbers.
    pub direction: u16,
    /// The links of its route, each as the class of links in the same direction from every rank. A
    /// class occurs as often as the route has such links.
    pub links: Vec<u16>,
}

impl Put {
    /// Whether its route turns, so that it shares links with puts in other directions.
    pub(crate) fn is_diagonal(&self) -> bool {
        self.links.iter().any(|link| *link != self.links[0])
    }
}

/// The rates and times of an interface.
#[derive(Clone, Copy, Debug, PartialEq)]
pub struct InterfaceModel {
    /// Sending engines. There are as many receiving engines.
    pub engines: u8,
    /// The rate of a single put.
    pub put_rate: f64,
    /// The rate of a link in one direction.
    pub link_rate: f64,
    /// The rate of all puts of a rank together.
    pub rank_rate: f64,
    /// The time to write the commands of one engine. The host writes one queue after another.
    pub access_ns: f64,
    /// The time between two puts of an engine.
    pub gap_ns: f64,
}

impl InterfaceModel {
    /// The Tofu interconnect of the K computer: 4 engines, and rates fitted to the times in figures 4,
    /// 6, 8 and 14 of the paper:
    /// 4.0 from 224,256 bytes in 56 µs (figure 4), 4.875 from two flows on a link of 5 GB/s by name
    /// (figure 6), 13.2 from 897,024 bytes in 68 µs (figure 8), 1 µs from figure 14.
    pub const TOFU1: Self = Self {
        engines: 4,
        put_rate: 4.0,
        link_rate: 4.875,
        rank_rate: 13.2,
        access_ns: 1_000.0,
        gap_ns: 300.0,
    };

    /// The time of a put without other traffic, rounded up; never 0.
    pub(crate) fn alone_ns(&self, put: &Put) -> u64 {
        ((put.bytes as f64 / self.put_rate + self.gap_ns).ceil() as u64).max(1)
    }
}
