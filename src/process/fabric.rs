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

/// What other ranks need to reach an endpoint.
pub(super) fn card(endpoint: &FabricEndpoint) -> String {
    hex::text(endpoint.address())
}

/// Takes the addresses of all ranks.
///
/// # Errors
/// `Other` for an address that the provider does not take: another provider's, for instance.
pub(super) fn meet(
    endpoint: &FabricEndpoint, records: &[PeerRecord], secret: &JobCredentials,
) -> Result {
    let addresses = records.iter().zip(0_u32..).map(|(record, rank)| {
        hex::bytes(&record.card).ok_or_else(|| {
            unusable(format!("rank {rank} has no endpoint of libfabric: \"{}\"", record.card))
        })
    });
    let addresses: Vec<_> = addresses.collect::<Result<_>>()?;
    endpoint.meet(&addresses, tag_bits(&SharedSecret(secret.key))).map_err(unusable)
}

fn unusable(why: String) -> Box<MpiError> {
    ErrorClass::Other.error(format!("SUIRO_DEVICE=ofi cannot be used: {why}"))
}
