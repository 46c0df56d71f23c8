//! Settings of the mesh between clients.

use std::ops::RangeInclusive;
use std::time::Duration;

use platform::network::InterfaceChoice;

/// Settings of the mesh between clients.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct MeshSettings {
    /// The addresses that may be announced.
    pub(crate) interfaces: InterfaceChoice,
    /// The ports to listen on; any if `None`.
    pub(crate) ports: Option<RangeInclusive<u16>>,
    /// Whether clients run on other hosts; else the loopback address is announced.
    pub(crate) spans_hosts: bool,
    /// The time without an answer of the other kernel after which a link has failed: at least 2 s.
    pub(crate) silence: Duration,
    /// The number of packets that this process acknowledges at once.
    pub(crate) ack_mark: u32,
    /// The number of packets of one process that it has not acknowledged, at most; at least `ack_mark`.
    pub(crate) high_water: u32,
}

impl Default for MeshSettings {
    fn default() -> Self {
        Self {
            interfaces: InterfaceChoice::default(),
            ports: None,
            spans_hosts: true,
            silence: Duration::from_secs(4),
            ack_mark: 10,
            high_water: 20,
        }
    }
}
