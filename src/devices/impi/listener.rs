//! The socket to which other hosts connect, before there is a world.

use std::net::IpAddr;

use super::settings::MeshSettings;
use platform::base::{ErrorClass, Result};
use platform::impi::{HostOffer, ProcessId, host_address};
use platform::sys::network_interfaces;
use platform::sys::tcp::TcpAcceptor;

/// The socket of an IMPI host: that of a process, or of a gateway.
pub(crate) struct MeshListener {
    pub(super) acceptor: TcpAcceptor,
    pub(super) settings: MeshSettings,
    /// The addresses that the settings allow; the first is announced.
    addresses: Vec<IpAddr>,
}

impl MeshListener {
    /// Opens the socket.
    ///
    /// # Errors
    /// `Other` if the host has no address that the settings allow, or no port is free.
    pub(crate) fn open(settings: &MeshSettings) -> Result<Self> {
        let addresses = addresses(settings)?;
        let acceptor = TcpAcceptor::listen(settings.ports.clone()).map_err(|error| {
            let ports = settings.ports.as_ref().map_or_else(String::new, |ports| {
                format!(" of SUIRO_TCP_PORTS={}-{}", ports.start(), ports.end())
            });
            ErrorClass::Other.error(format!(
                "cannot listen for other IMPI clients on a TCP port{ports}: {error}"
            ))
        })?;
        Ok(Self { acceptor, settings: settings.clone(), addresses })
    }

    /// The addresses of the host that the settings allow; the first is announced.
    pub(crate) fn addresses(&self) -> &[IpAddr] {
        &self.addresses
    }

    /// What a process without a gateway announces: itself, behind this socket.
    pub(crate) fn offer(&self, pid: i64) -> HostOffer {
        self.offer_of(vec![ProcessId { address: host_address(self.addresses[0]), pid }])
    }

    /// What a gateway announces: all `processes` of its client, in the order of their ranks.
    pub(crate) fn offer_of(&self, processes: Vec<ProcessId>) -> HostOffer {
        HostOffer {
            address: host_address(self.addresses[0]),
            port: self.acceptor.port().into(),
            ack_mark: self.settings.ack_mark,
            high_water: self.settings.high_water,
            processes,
        }
    }
}

/// The name of a process behind a gateway, which has no socket of its own.
///
/// # Errors
/// As [`MeshListener::open`].
pub(crate) fn process_id(settings: &MeshSettings, pid: i64) -> Result<ProcessId> {
    Ok(ProcessId { address: host_address(addresses(settings)?[0]), pid })
}

/// The addresses of this host that the settings allow, those of IPv4 first: foreign peers may not know
/// IPv6. There is at least one.
fn addresses(settings: &MeshSettings) -> Result<Vec<IpAddr>> {
    let all = network_interfaces::interface_addresses().unwrap_or_default();
    let decisions = settings.interfaces.decide(&all, settings.spans_hosts);
    let chosen = decisions.iter().filter(|it| it.is_chosen).map(|it| it.address.address);
    let mut addresses: Vec<_> = chosen.collect();
    addresses.sort_by_key(IpAddr::is_ipv6);
    if !addresses.is_empty() {
        return Ok(addresses);
    }
    let skipped: Vec<_> = decisions.iter().map(ToString::to_string).collect();
    let skipped = match &*skipped {
        [] => "there are none".to_owned(),
        some => some.join("; "),
    };
    Err(ErrorClass::Other.error(format!(
        "no address to announce to other IMPI clients; change SUIRO_TCP_IF or the interfaces: {skipped}"
    )))
}
