//! The endpoints for deferred work, with which programs run beside messages of libfabric.
//!
//! ```text
//!   card   provider . address of messages . address of work
//! ```
//!
//! All ranks find the same in the cards: without the endpoint of one of them, no rank runs programs.

use std::path::Path;

use super::parts;
use crate::devices::carrier::settings::FabricSettings;
use platform::base::hex;
use platform::bootstrap::PeerRecord;
use platform::network::SharedSecret;
use platform::sys::fabric::{FabricEndpoint, WorkEndpoint};
use platform::sys::secret::JobCredentials;

/// What this rank has for programs.
pub(crate) struct OwnWork {
    /// Until it is taken.
    pub(crate) endpoint: Option<WorkEndpoint>,
    pub(crate) secret: SharedSecret,
    /// The description of the endpoint, or why there is none.
    pub(crate) found: Result<String, String>,
}

impl OwnWork {
    /// Opens an endpoint of the provider that carries the messages, unless ranks survive failures of others: it could
    /// write to memory that the application has back after a failure has been told.
    pub(crate) fn open(
        settings: &FabricSettings, messages: &FabricEndpoint, secret: &JobCredentials,
        survives_failures: bool,
    ) -> Self {
        let path = settings.library.as_deref().map(Path::new);
        let opened = match survives_failures {
            true => Err("the job survives failures of ranks (--with-ft)".to_owned()),
            false => WorkEndpoint::open(path, Some(messages.provider())),
        };
        let (endpoint, found) = match opened {
            Ok(endpoint) => {
                let description = endpoint.description().to_owned();
                (Some(endpoint), Ok(description))
            }
            Err(why) => (None, Err(why)),
        };
        Self { endpoint, secret: SharedSecret(secret.key), found }
    }

    /// What follows the card of the messages.
    pub(crate) fn card(&self) -> String {
        let address = self.endpoint.as_ref().map(|endpoint| hex::text(endpoint.address()));
        address.map_or_else(String::new, |address| format!(".{address}"))
    }

    /// Takes the addresses of all ranks.
    pub(crate) fn meet(&mut self, records: &[PeerRecord]) {
        let Some(endpoint) = &self.endpoint else { return };
        let address = |(record, rank): (&PeerRecord, u32)| {
            let card = parts(&record.card).0;
            let found = card.split('.').nth(2).and_then(hex::bytes);
            found.ok_or_else(|| format!("rank {rank} has no endpoint for deferred work"))
        };
        let addresses: Result<Vec<_>, String> = records.iter().zip(0..).map(address).collect();
        if let Err(why) = addresses.and_then(|addresses| endpoint.meet(&addresses)) {
            (self.endpoint, self.found) = (None, Err(why));
        }
    }
}
