//! Rates of a network and of the ranks on it: LogGP, with prices for reductions and copies.
//!
//! ```text
//!   sender    ├ o ┤├── G · bytes ──┤◄ g ►┤ next message
//!   network                        └────── L ──────┐
//!   receiver                    ├── G · bytes ──┤  ▼ ├ o ┤
//! ```
//!
//! A message occupies the processor of its sender for `o`, then the port of the sender for `G` per
//! byte; the last byte arrives `L` after it has left. At the receiver it occupies the port as it
//! arrives, then the processor for `o`. A port rests for `g` after each message. Alexandrov, Ionescu,
//! Schauser and Scheiman, "LogGP: incorporating long messages into the LogP model", SPAA 1995; there
//! `G` is counted for all bytes except the first, here for all.
//!
//! There is no rendezvous: a message leaves without asking its receiver. Links between the ports are those of a
//! [`LinkNetwork`](crate::executor::event_driven::LinkNetwork), or have no limit.
//!
//! Units: picoseconds, and picoseconds per byte. All are integers, so that equal runs have equal times
//! on every machine and with any number of threads.

use mpi_abi::mpi::collective::selection::machine_model::SHARED;

/// Rates of a network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct LoggpRates {
    /// Its name on the command line.
    pub name: &'static str,
    /// `L`: from the end of a send to the arrival of its last byte; at least 1.
    pub latency_ps: u64,
    /// `o`: of a processor, for each send and for each receive.
    pub overhead_ps: u64,
    /// `g`: rest of a port after a message.
    pub gap_ps: u64,
    /// `G`: for each byte of a message.
    pub byte_ps: u64,
    /// For each byte of a reduction.
    pub reduced_ps: u64,
    /// For each byte of a copy inside a rank.
    pub copied_ps: u64,
    /// Whether the messages of a rank wait for its ports, and its steps for its processor. Otherwise
    /// each step takes its time whatever else the rank does.
    pub contends: bool,
}

impl LoggpRates {
    /// Round figures of an interface of 100 Gbit/s, which nobody has measured here. Reductions and
    /// copies are as fast as in the library's model of a host.
    pub const LOGGP: Self = Self {
        name: "loggp",
        latency_ps: 1_000_000,
        overhead_ps: 200_000,
        gap_ps: 100_000,
        byte_ps: 80,
        reduced_ps: SHARED.reduced_ps,
        copied_ps: SHARED.copied_ps,
        contends: true,
    };

    /// The network of the simulation of Matsumoto and Suda ([`jitter`](crate::jitter)): latency
    /// 10^-7 s, bandwidth 10^-9 s/B, memory 10^-10 s/B.
    pub const PAPER: Self = Self {
        name: "paper",
        latency_ps: 100_000,
        overhead_ps: 0,
        gap_ps: 0,
        byte_ps: 1_000,
        reduced_ps: 100,
        copied_ps: 0,
        contends: false,
    };

    /// All named networks.
    pub const ALL: [Self; 2] = [Self::LOGGP, Self::PAPER];

    /// The network with this name.
    pub fn from_name(name: &str) -> Option<Self> {
        Self::ALL.into_iter().find(|network| network.name == name)
    }
}
