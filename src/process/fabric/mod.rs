//! An endpoint of libfabric, and the addresses of those of all ranks; with `SUIRO_DEVICE=auto`, whether there is one.

mod choice;
mod work;

use std::path::Path;

use crate::devices::carrier::settings::FabricSettings;
use choice::{FabricPlan, JobVerdict, Standing, WantedProvider};
use platform::base::{ErrorClass, MpiError, Result, hex};
use platform::bootstrap::{JobHosts, PeerRecord};
use platform::network::{SharedSecret, tag_bits};
use platform::sys::fabric::FabricEndpoint;
use platform::sys::fabric::interfaces::FoundInterfaces;
use platform::sys::secret::JobCredentials;
pub(super) use work::OwnWork;

/// Parts the cards of libfabric and of TCP.
const CARDS: char = '|';
/// In place of the card of a rank that has no endpoint: as it looked for none, or as it could not open one.
const NO_ENDPOINT: &str = "-";
const NO_USABLE_ENDPOINT: &str = "!";

/// Loads libfabric and opens the endpoint of the rank `me`.
///
/// # Errors
/// `Other` without the library, or without a provider that can be used.
pub(super) fn open(settings: &FabricSettings, me: u32) -> Result<FabricEndpoint> {
    let path = settings.library.as_deref().map(Path::new);
    FabricEndpoint::open(path, settings.provider.as_deref(), settings.access, me).map_err(|why| {
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
    match read(card) {
        Some((provider, address)) if provider == endpoint.provider() => Ok(address),
        Some((provider, _)) => Err(unusable(format!(
            "rank {rank} has the provider {provider}, this rank {}; SUIRO_OFI_PROVIDER chooses one",
            endpoint.provider()
        ))),
        None => Err(unusable(format!("rank {rank} has no endpoint of libfabric: \"{card}\""))),
    }
}

/// The provider and the address in a card.
fn read(card: &str) -> Option<(String, Vec<u8>)> {
    let mut parts = card.split('.');
    let (provider, address) = (parts.next()?, parts.next()?);
    Some((String::from_utf8(hex::bytes(provider)?).ok()?, hex::bytes(address)?))
}

/// The parts of a card that has [`FabricTrial::card`] made: that of libfabric, and that of TCP. Of another card, both
/// are the card.
pub(super) fn parts(card: &str) -> (&str, &str) {
    card.split_once(CARDS).unwrap_or((card, card))
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
        .map(|(record, rank)| address_in(parts(&record.card).0, rank, endpoint))
        .collect::<Result<_>>()?;
    endpoint.meet(&addresses, tag_bits(&SharedSecret(secret.key))).map_err(unusable)
}

fn unusable(why: String) -> Box<MpiError> {
    ErrorClass::Other.error(format!("SUIRO_DEVICE=ofi cannot be used: {why}"))
}

/// What `SUIRO_DEVICE=auto` has come to at this rank, before the ranks know of each other.
pub(super) struct FabricTrial {
    endpoint: Option<FabricEndpoint>,
    standing: Standing,
    /// A reason for that.
    why: String,
}

/// What `SUIRO_DEVICE=auto` has come to for the job.
pub(super) struct AutoChoice {
    /// The endpoint, if all ranks use theirs.
    pub(super) endpoint: Option<FabricEndpoint>,
    /// A sentence for `SUIRO_EXPLAIN`.
    pub(super) why: String,
    /// What this rank has to tell the user; at most one rank has it.
    pub(super) notice: Option<String>,
}

impl FabricTrial {
    /// Opens an endpoint, if there is a fabric. Where there is none, libfabric is not loaded.
    pub(super) fn begin(settings: &FabricSettings, me: u32) -> Self {
        let found = FoundInterfaces::below(Path::new(&settings.root));
        let wanted = WantedProvider {
            named: settings.provider.as_deref(),
            admitted: settings.admitted.as_deref(),
        };
        let without = |standing, why| Self { endpoint: None, standing, why };
        let (providers, why) = match choice::plan(&found, wanted) {
            FabricPlan::Open { providers, why } => (providers, why),
            FabricPlan::Sockets(why) => return without(Standing::Sockets, why),
            FabricPlan::Unusable(why) => return without(Standing::Unusable, why),
        };
        let path = settings.library.as_deref().map(Path::new);
        let mut failures: Vec<String> = Vec::new();
        for provider in providers {
            match FabricEndpoint::open(path, Some(&provider), settings.access, me) {
                Ok(endpoint) => {
                    let standing = Standing::Open(endpoint.provider().to_owned());
                    return Self { endpoint: Some(endpoint), standing, why };
                }
                // Without the library, all providers fail alike.
                Err(failure) if failures.contains(&failure) => {}
                Err(failure) => failures.push(failure),
            }
        }
        let failures = failures.join("; ");
        let why = format!(
            "{why}, but {failures}; the package libfabric1 or that of the vendor of the network brings the library \
             and its providers, and SUIRO_OFI_LIBRARY is the path of libfabric.so.1"
        );
        without(Standing::Unusable, why)
    }

    /// What this rank tells all others, with its card of TCP.
    pub(super) fn card(&self, tcp: &str) -> String {
        let own = match (&self.endpoint, &self.standing) {
            (Some(endpoint), _) => card(endpoint),
            (None, Standing::Unusable) => NO_USABLE_ENDPOINT.to_owned(),
            (None, Standing::Open(_) | Standing::Sockets) => NO_ENDPOINT.to_owned(),
        };
        format!("{own}{CARDS}{tcp}")
    }

    /// Chooses as all ranks do, the rank `me` among them, by what they have told.
    pub(super) fn end(self, records: &[PeerRecord], hosts: &JobHosts, me: u32) -> AutoChoice {
        let all: Vec<_> = records.iter().map(|record| standing(parts(&record.card).0)).collect();
        let Self { endpoint, standing, why } = self;
        let name = |rank: u32| format!("rank {rank} on host {}", hosts.name_of(rank));
        let (chosen, why, teller) = match choice::verdict(&all) {
            JobVerdict::Fabric => ("ofi", format!("{why}, and all ranks have its provider"), None),
            JobVerdict::NoFabric => ("shm", why, None),
            JobVerdict::Unusable(rank) if rank == me => {
                ("shm", format!("{}: {why}", name(rank)), Some(rank))
            }
            JobVerdict::Unusable(rank) => {
                ("shm", format!("{} cannot use its fabric, and says why", name(rank)), None)
            }
            JobVerdict::Unlike { rank, other } => {
                let lacks = match &standing {
                    Standing::Open(provider) if rank == me => {
                        format!("has the provider {provider}")
                    }
                    _ if rank == me => format!("has none: {why}"),
                    _ => "has another one or none".to_owned(),
                };
                let why = format!(
                    "{} has a provider of libfabric, but {} {lacks}; SUIRO_OFI_PROVIDER chooses one for all",
                    name(other),
                    name(rank)
                );
                ("shm", why, Some(rank).filter(|rank| *rank == me))
            }
        };
        let notice = teller
            .map(|_| format!("SUIRO_DEVICE=auto uses TCP between hosts, not libfabric: {why}"));
        let endpoint = endpoint.filter(|_| chosen == "ofi");
        AutoChoice { endpoint, why: format!("device auto is {chosen}: {why}"), notice }
    }
}

/// What a rank has told by its card.
fn standing(card: &str) -> Standing {
    match card {
        NO_ENDPOINT => Standing::Sockets,
        NO_USABLE_ENDPOINT => Standing::Unusable,
        other => read(other).map_or(Standing::Sockets, |(provider, _)| Standing::Open(provider)),
    }
}
