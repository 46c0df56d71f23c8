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
        }
    }
}
