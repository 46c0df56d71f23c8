//! An endpoint of libfabric, and the addresses of those of all ranks.

use std::path::Path;

use crate::devices::carrier::settings::FabricSettings;
use platform::base::{ErrorClass, MpiError, Result, hex};
use platform::bootstrap::PeerRecord;
use platform::network::{SharedSecret, tag_bits};
use platform::sys::fabric::FabricEndpoint;
use platform::sys::secret::JobCredentials;

/// Loads libfabric and opens the endpoint of the rank `me`.
///
/// # Errors
/// `Other` without the library, or without a provider that can be used.
pub(super) fn open(settings: &FabricSettings, me: u32) -> Result<FabricEndpoint> {
    let path = settings.library.as_deref().map(Path::new);
    FabricEndpoint::open(path, settings.provider.as_deref(), me).map_err(|why| {
        unusable(format!(
            "{why}; SUIRO_OFI_LIBRARY is the path of libfabric.so.1, SUIRO_OFI_PROVIDER or FI_PROVIDER a \
             provider, and SUIRO_DEVICE=shm does without"
        ))
    })
}

/// What other ranks need to reach an endpoint: the provider and the address, in hexadecimal digits.
pub(super) fn card(endpoint: &FabricEndpoint) -> String {
    format!("{}.{}", hex::text(endpoint.provider().as_bytes()), hex::text(endpoint.address()))
}

/// The address in a card of the rank `rank`.
///
/// # Errors
/// `Other` for a card of another provider, or none.
fn address_in(card: &str, rank: u32, endpoint: &FabricEndpoint) -> Result<Vec<u8>> {
    let read = || {
        let (provider, address) = card.split_once('.')?;
        Some((String::from_utf8(hex::bytes(provider)?).ok()?, hex::bytes(address)?))
    };
    match read() {
        Some((provider, address)) if provider == endpoint.provider() => Ok(address),
        Some((provider, _)) => Err(unusable(format!(
            "rank {rank} has the provider {provider}, this rank {}; SUIRO_OFI_PROVIDER chooses one",
            endpoint.provider()
        ))),
        None => Err(unusable(format!("rank {rank} has no endpoint of libfabric: \"{card}\""))),
    }
}

/// Takes the addresses of all ranks.
///
/// # Errors
/// `Other` for an address of another provider, or one that the provider does not take.
pub(super) fn meet(
    endpoint: &FabricEndpoint, records: &[PeerRecord], secret: &JobCredentials,
) -> Result {
    let addresses = records.iter().zip(0..);
    let addresses: Vec<_> = addresses
        .map(|(record, rank)| address_in(&record.card, rank, endpoint))
        .collect::<Result<_>>()?;
    endpoint.meet(&addresses, tag_bits(&SharedSecret(secret.key))).map_err(unusable)
}

fn unusable(why: String) -> Box<MpiError> {
    ErrorClass::Other.error(format!("SUIRO_DEVICE=ofi cannot be used: {why}"))
}
