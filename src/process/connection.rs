//! The way of this process into its job: the launcher, the hosts of all ranks, and the sockets by which
//! ranks of other hosts are reached.
//!
//! ```text
//!   connect   find the launcher, learn this rank's place in the job
//!   reach     agree on a secret, listen, exchange records (host, settings, address) with all ranks
//! ```
//!
//! A job on one host skips the second step, unless TCP or libfabric carries its messages (`SUIRO_DEVICE=tcp`,
//! `SUIRO_OFI_BETWEEN=ranks`). With `SUIRO_DEVICE=auto`, a rank has an end of both, and the records of all ranks tell
//! which one the job uses.
//!
//! If another MPI library carries the messages (`SUIRO_DEVICE=vendor`), it has the connection to the launcher,
//! and takes its place here. No sockets are opened then.

use std::sync::Arc;

use super::fabric::{AutoChoice, FabricTrial, OwnWork};
use super::settings::{Config, DeviceKind};
use super::{fabric, launcher_watch};
use crate::devices::carrier::settings::CarrierScope;
use crate::devices::tcp::{JobKey, Tcp};
use platform::base::{ErrorClass, MpiError, Peer, Result, settings};
use platform::bootstrap::{Client, Environment, JobView, PeerOffer, PeerRecord, RequiredRanks};
use platform::diagnosis::ended_ranks::EndedRanks;
use platform::diagnosis::rank_status::RankStatus;
use platform::diagnosis::status_table::StatusTable;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::fabric::FabricEndpoint;
use platform::sys::secret::JobCredentials;
use platform::sys::vendor::VendorLibrary;
use platform::sys::{clock, cpu, process as system};

/// In place of the address of a rank that has no sockets.
const NO_CARD: &str = "-";

/// What the version of this library contains.
const OWN_NAME: &str = "Suiro";

/// This process in its job.
pub(super) struct Connection {
    pub(super) launcher: Option<Client>,
    pub(super) job: JobView,
    /// The number of processors that the ranks of this host have together.
    pub(super) processors: usize,
    /// The status table that the launcher reads.
    /// The status table that the launcher reads, and the number of the entry of this rank.
    pub(super) status_table: Option<(StatusTable, u32)>,
    /// The ranks that have ended, if this job survives failures.
    pub(super) ended_ranks: Option<EndedRanks>,
    /// Where the processes that have started this one accept it, if it was spawned.
    pub(super) parent_port: Option<String>,
    /// The MPI library that carries messages, if another one does.
    pub(super) vendor: Option<Arc<VendorLibrary>>,
    /// Threads that the launcher's library has started, or another MPI library. They never call MPI.
    pub(super) helper_threads: Vec<u32>,
}

/// What this rank has learned from the records of all ranks.
pub(super) struct ReachedPeers {
    /// The sockets, if TCP carries messages.
    pub(super) tcp: Option<Tcp>,
    /// The endpoint, if libfabric does.
    pub(super) fabric: Option<FabricEndpoint>,
    /// What runs programs beside it, if the settings ask for that.
    pub(super) work: Option<OwnWork>,
    /// What `SUIRO_DEVICE=auto` has come to.
    pub(super) choice: Option<AutoChoice>,
    /// Whether the ranks of this host share processors.
    pub(super) is_crowded_here: bool,
    /// Whether the ranks of any host do.
    pub(super) is_crowded_somewhere: bool,
}

impl Connection {
    /// Joins the job of the launcher, if there is one.
    ///
    /// # Errors
    /// `Other` for a launcher that cannot be reached, or another MPI library that cannot be used.
    pub(super) fn open(config: &Config, required: RequiredRanks) -> Result<Self> {
        let environment = Environment::read();
        let by_vendor = config.device == DeviceKind::Vendor;
        let starts_threads = environment.pmix_rank.is_some() || by_vendor;
        let threads_before = starts_threads.then(system::threads);
        let (mut launcher, vendor) = match by_vendor {
            true => {
                let path = config.vendor.library.as_deref();
                let (client, library) =
                    Client::by_vendor(&environment, path, |version| version.contains(OWN_NAME))?;
                (Some(client), Some(library))
            }
            false => (Client::connect(&environment, required)?, None),
        };
        let mut helper_threads =
            threads_before.as_ref().map_or_else(Vec::new, |_| system::threads());
        helper_threads
            .retain(|thread| !threads_before.iter().flatten().any(|before| before == thread));
        launcher.iter().for_each(launcher_watch::start);
        let status_table = launcher_table(&environment, launcher.as_ref());
        let own = launcher.as_ref().filter(|launcher| launcher.attributes().is_own_launcher);
        let ended_ranks = own.and(environment.ended_fd).map(EndedRanks::inherit);
        let ended_ranks = ended_ranks.and_then(std::io::Result::ok);
        let job = JobView::assemble(&environment, launcher.as_mut())?;
        let processors = processors(&environment);
        // A program that a rank has started by itself inherits the variable without a launcher.
        let parent_port = environment.parent_port.filter(|_| launcher.is_some());
        Ok(Self {
            launcher,
            job,
            processors,
            status_table,
            ended_ranks,
            vendor,
            helper_threads,
            parent_port,
        })
    }

    /// Whether ranks compare their settings in the memory that they share before they wait for each
    /// other: the launcher of this library has passed that memory.
    pub(super) fn inherits_memory(&self) -> bool {
        self.launcher.as_ref().is_none_or(|launcher| launcher.attributes().is_own_launcher)
    }

    /// Exchanges records with all ranks, which call this too, and takes their addresses. `None` if this
    /// job needs no records: it runs on one host, and sockets do not carry its messages.
    ///
    /// # Errors
    /// `Other` for a setting that differs, for a device that does not reach other hosts, if no socket
    /// can be opened, or without the launcher.
    pub(super) fn reach(&mut self, config: &Config) -> Result<Option<ReachedPeers>> {
        let Self { launcher: Some(launcher), job, processors, ended_ranks, .. } = self else {
            return Ok(None);
        };
        let everywhere = job.size > 1 && carries_all(config, config.is_device_auto);
        if !everywhere && !job.has_remote_ranks() {
            return Ok(None);
        }
        let secret = job.agree_secret(launcher)?;
        // Another launcher may count containers with networks of their own as one host.
        let is_sure = launcher.attributes().is_own_launcher;
        let spans_hosts = job.has_remote_ranks() || !is_sure;
        let OwnEnds { mut tcp, mut fabric, trial } =
            OwnEnds::open(config, job, &secret, spans_hosts)?;
        let tcp_card = tcp.as_ref().map_or(NO_CARD, Tcp::card);
        let wants_work = config.offload.scheme(DeviceKind::Ofi).is_some();
        let messages = fabric.as_ref().filter(|_| wants_work);
        let mut work = messages.map(|messages| {
            OwnWork::open(&config.fabric, messages, &secret, ended_ranks.is_some())
        });
        let card = match (&fabric, &trial) {
            (Some(endpoint), _) => {
                let work = work.as_ref().map_or_else(String::new, OwnWork::card);
                fabric::card(endpoint) + &work
            }
            (None, Some(trial)) => trial.card(tcp_card),
            (None, None) => tcp_card.to_owned(),
        };
        let offer = PeerOffer { settings: &config.agreed, processors: *processors, card: &card };
        let records = job.exchange(launcher, offer)?;
        check_settings(job, &config.agreed, &records)?;
        let mut choice = trial.map(|trial| trial.end(&records, &job.hosts, job.rank));
        if let Some(endpoint) = choice.as_mut().and_then(|choice| choice.endpoint.take()) {
            (fabric, tcp) = (Some(endpoint), None);
        }
        let crowded = crowded_hosts(job, &records);
        let own_host = job.hosts.number_of(job.rank);
        let everywhere = everywhere && carries_all(config, fabric.is_some());
        let needs_network = everywhere || !job.hosts.is_one();
        if needs_network && config.device == DeviceKind::Tofu {
            return Err(tofu_on_several_hosts(job));
        }
        for (peer, record) in (0..).zip(&records) {
            let is_remote = job.hosts.number_of(peer) != own_host;
            if let Some(tcp) = &mut tcp
                && peer != job.rank
                && (everywhere || is_remote)
            {
                tcp.set_card(peer, fabric::parts(&record.card).1, &record.host)?;
            }
        }
        if let Some(endpoint) = &fabric {
            fabric::meet(endpoint, &records, &secret)?;
            work.iter_mut().for_each(|work| work.meet(&records));
        }
        Ok(Some(ReachedPeers {
            tcp: tcp.filter(|_| needs_network),
            fabric: fabric.filter(|_| needs_network),
            work: work.filter(|_| needs_network),
            choice,
            is_crowded_here: crowded[own_host as usize],
            is_crowded_somewhere: crowded.contains(&true),
        }))
    }
}

/// Whether messages inside a host go by the network as well, which is libfabric or may be.
fn carries_all(config: &Config, by_fabric: bool) -> bool {
    match config.device {
        DeviceKind::Tcp => true,
        DeviceKind::Ofi => config.fabric.between == CarrierScope::Ranks,
        DeviceKind::Shm if by_fabric => config.fabric.between == CarrierScope::Ranks,
        DeviceKind::Shm | DeviceKind::Tofu | DeviceKind::Vendor => false,
    }
}

/// The ends of this rank by which others may reach it.
struct OwnEnds {
    tcp: Option<Tcp>,
    fabric: Option<FabricEndpoint>,
    /// Of `SUIRO_DEVICE=auto`, beside TCP.
    trial: Option<FabricTrial>,
}

impl OwnEnds {
    /// # Errors
    /// `Other` if no socket or no endpoint can be opened.
    fn open(
        config: &Config, job: &JobView, secret: &JobCredentials, spans_hosts: bool,
    ) -> Result<Self> {
        let listen = || -> Result<Option<Tcp>> {
            let (size, key) = (job.size as usize, JobKey { id: secret.id, secret: secret.key });
            let mut tcp = Tcp::listen(job.rank, size, spans_hosts, key, &config.tcp)?;
            tcp.share_secret();
            Ok(Some(tcp))
        };
        let (tcp, fabric) = match config.device {
            DeviceKind::Ofi => (None, Some(fabric::open(&config.fabric, job.rank)?)),
            DeviceKind::Shm | DeviceKind::Tofu | DeviceKind::Tcp => (listen()?, None),
            DeviceKind::Vendor => (None, None),
        };
        let trial = config.is_device_auto.then(|| FabricTrial::begin(&config.fabric, job.rank));
        Ok(Self { tcp, fabric, trial })
    }
}

/// The status table that the launcher reads, with the entry of this rank. Without it the launcher
/// reports less.
fn launcher_table(
    environment: &Environment, launcher: Option<&Client>,
) -> Option<(StatusTable, u32)> {
    let attributes = launcher?.attributes();
    let number = environment.status_fd.filter(|_| attributes.is_own_launcher)?;
    let table = StatusTable::inherit(number).ok()?;
    let entry = environment.status_entry.filter(|entry| (*entry as usize) < table.ranks())?;
    let (since_ns, report) = (clock::monotonic_ns(), WaitReport::new("MPI_Init"));
    table.write(entry, &RankStatus { since_ns, report, steady: None });
    Some((table, entry))
}

/// The number of processors that the ranks of this host have together. If the launcher bound each
/// rank to its own processors, it published the sum, which holds unless the affinity of this
/// process has changed since.
fn processors(environment: &Environment) -> usize {
    match (&environment.bound, cpu::affinity()) {
        (Some(bound), Ok(own)) if bound.own == own => cpu::within_quota(bound.host_total),
        _ => cpu::allowed(),
    }
}

/// Whether the ranks of each host share processors: the number of its first rank counts, so that all
/// ranks find the same.
fn crowded_hosts(job: &JobView, records: &[PeerRecord]) -> Vec<bool> {
    let mut hosts = vec![(0_u32, 0_u32); job.hosts.names().len()];
    for (rank, record) in (0..).zip(records) {
        let (ranks, processors) = &mut hosts[job.hosts.number_of(rank) as usize];
        *ranks += 1;
        if *ranks == 1 {
            *processors = record.processors;
        }
    }
    hosts.into_iter().map(|(ranks, processors)| ranks > processors).collect()
}

/// # Errors
/// `Other` if the settings of this rank are not those of rank 0.
fn check_settings(job: &JobView, ours: &str, records: &[PeerRecord]) -> Result {
    match records.first() {
        Some(first) if first.settings != ours => {
            Err(settings_mismatch(job, ours, 0, &first.settings))
        }
        _ => Ok(()),
    }
}

/// The settings of this rank differ from those of the rank `first`.
#[cold]
pub(super) fn settings_mismatch(
    job: &JobView, ours: &str, first: Peer, its: &str,
) -> Box<MpiError> {
    let rank = |rank: Peer| match job.hosts.is_one() {
        true => format!("rank {rank}"),
        false => format!("rank {rank} on host {}", job.hosts.name_of(rank)),
    };
    let (own, first) = (rank(job.rank), rank(first));
    let what = match settings::difference(ours, its) {
        Some((name, ours, theirs)) => format!("{name} is {ours} in {own} but {theirs} in {first}"),
        None => format!("settings of {own} are not those of {first}"),
    };
    ErrorClass::Other.error(format!("{what}; it must be the same in all ranks of a job"))
}

#[cold]
fn tofu_on_several_hosts(job: &JobView) -> Box<MpiError> {
    ErrorClass::Other.error(format!(
        "SUIRO_DEVICE=tofu simulates a network inside one host, but the ranks of this job run on {}; \
         shm reaches other hosts by TCP",
        job.hosts.names().join(", ")
    ))
}
