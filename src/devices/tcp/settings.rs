//! Settings of the TCP device.

use std::ops::RangeInclusive;
use std::time::Duration;

use platform::network::InterfaceChoice;

/// Settings of the TCP device.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct TcpSettings {
    /// The addresses that peers are told of (`SUIRO_TCP_IF`).
    pub(crate) interfaces: InterfaceChoice,
    /// The ports to listen on; any if `None` (`SUIRO_TCP_PORTS`).
    pub(crate) ports: Option<RangeInclusive<u16>>,
    /// What is encrypted (`SUIRO_TCP_CRYPT`).
    pub(crate) crypt: CryptMode,
    /// The time of silence after which a peer has failed (`SUIRO_TCP_TIMEOUT`).
    pub(crate) timeout: Duration,
    /// How soon a lost connection is tried again.
    pub(crate) pace: LossPace,
}

/// Times after a loss, in nanoseconds. If the process of the peer has ended, its kernel refuses all attempts,
/// which reports the failure.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct LossPace {
    /// How long the end with the higher rank leaves it to the other one to connect.
    pub(crate) courtesy_ns: u64,
    /// The time before all addresses are tried again, the first time.
    pub(crate) pause_ns: u64,
}

impl LossPace {
    /// The launcher, which knows why a process has ended, ends the job before its ranks notice.
    pub(crate) const PATIENT: Self = Self { courtesy_ns: 200_000_000, pause_ns: 50_000_000 };
    /// The job survives failures, and waits for the report.
    pub(crate) const PROMPT: Self = Self { courtesy_ns: 5_000_000, pause_ns: 2_000_000 };
}

/// The part of the traffic that is encrypted.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum CryptMode {
    /// Both ends of a connection prove the job's secret; the packets travel in the clear.
    #[default]
    Auth,
    /// Every byte is encrypted and authenticated.
    Full,
}

impl Default for TcpSettings {
    fn default() -> Self {
        Self {
            interfaces: InterfaceChoice::default(),
            ports: None,
            crypt: CryptMode::default(),
            timeout: Duration::from_secs(60),
            pace: LossPace::PATIENT,
        }
    }
}
