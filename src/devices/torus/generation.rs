//! Generations of interfaces: resources and rates.
//!
//! Sources, by the letters of the tables:
//! * **a** Ajima, Inoue, Hiramoto, Takagi and Shimizu, "The Tofu interconnect", IEEE Micro 32(1), 2012.
//! * **b** Ajima et al., "Tofu interconnect 2", Hot Interconnects 2014; its session mode also in a
//!   public driver's header (`tof_icc.h` of McKernel).
//! * **c** Ajima et al., "The Tofu interconnect D", CLUSTER 2018: latencies of a put of 8 bytes to
//!   the nearest node, and rates of injection by all engines, of three generations.
//! * **d** Measured transfers of a scheduled halo exchange on the K computer: Hatanaka, Hori and
//!   Ishikawa, "RDMA scheduling", IPSJ SIG Technical Report 2013-HPC-140 No. 17; the rates of one
//!   transfer, one link and one node are those of [`InterfaceModel::TOFU1`].
//! * **e** Measured puts on Fugaku, and the capabilities of its interface, in the comments of a public
//!   transport layer (utf).
//! * **f** Derradji et al., "The BXI interconnect architecture", Hot Interconnects 2015, and what
//!   its maker publishes: links of 100 Gb/s, 1024 triggered operations at a time.
//! * **s** Chosen here, where nothing is published.

use std::str::FromStr;

use crate::device::trigger::{InterfaceLimits, TriggerClass};
use crate::offload::packing::InterfaceModel;
use crate::offload::session::POSITION_BITS;

/// A kind of interface, with its network.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Hash)]
pub enum Generation {
    /// Of the K computer, with counters, which the real one lacks.
    Tofu1WithCounters,
    /// Of the PRIMEHPC FX100: session mode.
    Tofu2,
    /// Of Fugaku: session mode.
    #[default]
    TofuD,
    /// The Bull eXascale Interconnect: counters with thresholds.
    Bxi,
}

/// Rates of an interface and its network.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct NetworkRates {
    /// Bytes a microsecond through one link.
    pub(crate) link: u64,
    /// Bytes a microsecond of one transfer from one engine to one engine.
    pub(crate) flow: u64,
    /// Bytes a microsecond of all sending engines of a node together.
    pub(crate) node: u64,
    /// Nanoseconds from a command of 8 bytes to its arrival at the nearest node.
    pub(crate) latency_ns: u64,
    /// Nanoseconds for each further link.
    pub(crate) hop_ns: u64,
    /// Nanoseconds of an engine for a command without bytes.
    pub(crate) command_ns: u64,
}

impl Generation {
    /// All.
    pub const ALL: [Self; 4] = [Self::TofuD, Self::Tofu2, Self::Bxi, Self::Tofu1WithCounters];

    /// The name in settings.
    pub fn name(self) -> &'static str {
        match self {
            Self::Tofu1WithCounters => "tofu1-counters",
            Self::Tofu2 => "tofu2",
            Self::TofuD => "tofud",
            Self::Bxi => "bxi",
        }
    }

    /// Resources of one interface.
    pub fn limits(self) -> InterfaceLimits {
        // Tofu delivers in order along a path (a). Queues in session mode: 12 for each engine (b), one
        // of them for everything else. Numbers that a barrier gate combines: 1, on TofuD 6 (c).
        // Operations posted at a time, if unpublished: 1024, as BXI (f). Counters of Tofu1: the same
        // number (s), as a counter without an operation is useless.
        // The level of a queue is a position in it; other levels have the 64 bits of Portals 4 (f).
        let tofu = |engines, class, counters, arithmetic| InterfaceLimits {
            counters,
            slots: 1024,
            engines,
            ordered: true,
            arithmetic,
            class,
            transfer_max: 16_777_215, // e
            counter_bits: match class {
                TriggerClass::Thresholds => 64,
                TriggerClass::Sessions => POSITION_BITS,
            },
        };
        match self {
            Self::Tofu1WithCounters => tofu(4, TriggerClass::Thresholds, 1024, 1), // a, s
            Self::Tofu2 => tofu(4, TriggerClass::Sessions, 44, 1),                 // b
            Self::TofuD => tofu(6, TriggerClass::Sessions, 66, 6),                 // c
            // One engine that sends, and adaptive routes (f); Portals 4 combines 8 bytes and more, and
            // has long messages (s).
            Self::Bxi => InterfaceLimits {
                ordered: false,
                transfer_max: 1 << 30,
                ..tofu(1, TriggerClass::Thresholds, 1024, 8)
            },
        }
    }

    /// Rates of the interface and its network.
    pub(crate) fn rates(self) -> NetworkRates {
        match self {
            // Links of 5000 by name (a); measured rates (d).
            Self::Tofu1WithCounters => NetworkRates {
                link: bytes_per_us(InterfaceModel::TOFU1.link_rate),
                flow: bytes_per_us(InterfaceModel::TOFU1.put_rate),
                node: bytes_per_us(InterfaceModel::TOFU1.rank_rate),
                latency_ns: 910, // c
                hop_ns: 100,     // s
                command_ns: 200, // s
            },
            // Links of 12,500 (b); a flow has the same fraction as on TofuD (s).
            Self::Tofu2 => NetworkRates {
                link: 12_500,
                flow: 11_670,
                node: 45_800,    // c
                latency_ns: 710, // c
                hop_ns: 100,     // s
                command_ns: 100, // s
            },
            Self::TofuD => NetworkRates {
                link: 6800,      // c
                flow: 6350,      // e
                node: 38_100,    // c
                latency_ns: 490, // c
                hop_ns: 100,     // s
                command_ns: 60,  // s
            },
            Self::Bxi => NetworkRates {
                link: 12_500,     // f
                flow: 12_500,     // f
                node: 12_500,     // f
                latency_ns: 1000, // s
                hop_ns: 130,      // s
                command_ns: 10,   // f: more than 100 million messages a second
            },
        }
    }
}

fn bytes_per_us(bytes_per_ns: f64) -> u64 {
    (bytes_per_ns * 1000.0).round() as u64
}

impl FromStr for Generation {
    type Err = String;

    fn from_str(text: &str) -> Result<Self, String> {
        let found = Self::ALL.into_iter().find(|generation| generation.name() == text);
        let names = Self::ALL.map(Self::name).join(", ");
        found.ok_or_else(|| format!("{text:?} is not one of {names}"))
    }
}
