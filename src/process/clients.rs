//! The way of this job into a world of several clients, by IMPI.
//!
//! ```text
//!   each rank   open the mesh, tell rank 0 where it is ─┐
//!   rank 0      join at the start-up server ◄───────────┘ wait for all clients
//!   each rank   learn the world from rank 0, connect to the processes of other clients
//! ```
//!
//! Ranks of the job talk through the key-value space of their launcher, so any launcher will do. What
//! rank 0 cannot do, all ranks say.

use std::net::SocketAddr;
use std::time::Instant;

use super::connection::Connection;
use super::initialization::hash_of;
use super::settings::impi::ImpiSettings;
use crate::bridge::places::WorldPlaces;
use crate::bridge::translator::{DATA_LEN_MIN, Translator};
use crate::devices::impi::{Mesh, MeshListener, MeshSecurity, MeshSettings};
use crate::mpi::communicator::clients::ClientProcess;
use crate::mpi::processes::JobId;
use platform::base::{ErrorClass, MpiError, Peer, Result, hex};
use platform::bootstrap::Client;
use platform::impi::{
    ClientOffer, HostOffer, ImpiSecurity, ProcessId, ServerConnection, World, ip_address, join,
};
use platform::network::{SharedSecret, key_wrap};
use platform::sys::process as system;
use platform::sys::secret::JobCredentials;

/// The keys of the launcher's space.
const PROCESS_KEY: &str = "suiro-impi-process";
const WORLD_KEY: &str = "suiro-impi-world";

/// The highest tag that clients agree on, and no limits of collective operations of our own.
const TAG_BOUND: u32 = i32::MAX as u32;
const DEFAULT_LIMIT: i32 = -1;

/// This job in its world.
pub(super) struct JoinedWorld {
    pub(super) places: WorldPlaces,
    /// Each process in the order of the world, with its number as a peer.
    pub(super) processes: Vec<(Peer, ClientProcess)>,
    /// The identities of the clients.
    pub(super) jobs: Vec<JobId>,
    /// The connection of rank 0 to the start-up server.
    pub(super) server: Option<ServerConnection>,
    /// What carries messages to other clients, until it is attached.
    pub(super) translator: Option<Translator<Mesh>>,
    /// What was decided, a sentence each.
    pub(super) explanations: Vec<String>,
}

/// Where a process is, and how others reach it.
struct OwnPlace {
    id: ProcessId,
    port: u32,
}

impl JoinedWorld {
    /// Joins the world. All ranks of the job call this. The job has the identity of its client from now
    /// on.
    ///
    /// # Errors
    /// `Other` if the server or a client cannot be reached, refuses, or does not appear in time.
    pub(super) fn join(settings: &ImpiSettings, connection: &mut Connection) -> Result<Self> {
        let deadline = Instant::now() + settings.timeout;
        let listener = MeshListener::open(&mesh_settings(settings))?;
        let own = listener.offer(i64::from(system::own_pid()));
        let own = OwnPlace { id: own.processes[0], port: own.port };
        let (world, security, server) = match connection.launcher.is_some() {
            true => agree(settings, connection, &own, deadline)?,
            false => {
                let joined = join_alone(settings, &[own], deadline).map_err(failed)?;
                let (world, security, server) = joined;
                (world, security, Some(server))
            }
        };
        let own_ranks = world.ranks_of(settings.client);
        let places = WorldPlaces {
            first: own_ranks.start as u32,
            own: own_ranks.len() as u32,
            world: world.process_count() as u32,
        };
        if places.own != connection.job.size {
            let (told, size) = (places.own, connection.job.size);
            let why =
                format!("the server says that client {} has {told} processes", settings.client);
            return Err(failed(format!("{why}, but this job has {size}")));
        }
        if world.data_len < DATA_LEN_MIN {
            let len = world.data_len;
            let why = format!("the clients have agreed on packets of {len} bytes");
            return Err(failed(format!("{why}: at least {DATA_LEN_MIN} are needed")));
        }
        let jobs = (0..).zip(&world.clients).map(|(client, _)| identity(&world, client)).collect();
        let me = places.rank(connection.job.rank);
        let explanations = explain(settings, &world, &security);
        let mesh = Mesh::connect(listener, &world, me, security, deadline)?;
        let mut joined = Self {
            places,
            processes: processes(&world, places),
            jobs,
            server,
            translator: Some(Translator::new(mesh, places, world.data_len as usize)),
            explanations,
        };
        joined.identify(settings.client, connection)?;
        Ok(joined)
    }

    /// Gives the job the identity by which other clients know it.
    fn identify(&mut self, client: u32, connection: &mut Connection) -> Result {
        let id = self.jobs[client as usize].0.to_le_bytes();
        let key = match &connection.job.secret {
            Some(secret) => secret.key,
            None => JobCredentials::draw().map_err(|error| failed(error.to_string()))?.key,
        };
        connection.job.secret = Some(JobCredentials { id, key });
        Ok(())
    }
}

fn mesh_settings(settings: &ImpiSettings) -> MeshSettings {
    MeshSettings {
        ack_mark: settings.ack_mark,
        high_water: settings.high_water,
        ..MeshSettings::default()
    }
}

/// The world, by rank 0 of the job.
///
/// # Errors
/// The error of rank 0, or without the launcher.
fn agree(
    settings: &ImpiSettings, connection: &mut Connection, own: &OwnPlace, deadline: Instant,
) -> Result<(World, MeshSecurity, Option<ServerConnection>)> {
    let Connection { launcher: Some(launcher), job, .. } = connection else {
        return Err(failed("there is no launcher".to_owned()));
    };
    let secret = SharedSecret(job.agree_secret(launcher)?.key);
    launcher.put_text(&format!("{PROCESS_KEY}-{}", job.rank), &own.emit())?;
    launcher.barrier()?;
    if job.rank > 0 {
        launcher.barrier()?;
        let text = launcher.get_text(0, WORLD_KEY)?.unwrap_or_default();
        let (world, security) = told_world(&text, &secret)?;
        return Ok((world, security, None));
    }
    let joined = all_places(launcher, job.size)
        .and_then(|places| join_alone(settings, &places, deadline).map_err(failed));
    let text = match &joined {
        Ok((world, security, _)) => tell_world(world, security, &secret),
        Err(error) => format!("error:{}", hex::text(error.why.as_bytes())),
    };
    launcher.put_text(WORLD_KEY, &text)?;
    launcher.barrier()?;
    joined.map(|(world, security, server)| (world, security, Some(server)))
}

fn all_places(launcher: &mut Client, size: u32) -> Result<Vec<OwnPlace>> {
    let place = |rank| {
        let text = launcher.get_text(rank, &format!("{PROCESS_KEY}-{rank}"))?;
        let text = text.as_deref().and_then(OwnPlace::parse);
        text.ok_or_else(|| {
            failed(format!(
                "rank {rank} has published nothing; SUIRO_IMPI_SERVER must be the same in \
                            all ranks of a job"
            ))
        })
    };
    (0..size).map(place).collect()
}

/// Joins for all processes of this client.
///
/// # Errors
/// A sentence.
fn join_alone(
    settings: &ImpiSettings, processes: &[OwnPlace], deadline: Instant,
) -> Result<(World, MeshSecurity, ServerConnection), String> {
    let security = settings.protection.security()?;
    let offer = ClientOffer {
        hosts: processes.iter().map(|place| place.host(settings)).collect(),
        data_len: settings.data_bytes,
        tag_ub: TAG_BOUND,
        collective_xsize: DEFAULT_LIMIT,
        collective_max_linear: DEFAULT_LIMIT,
    };
    let (world, server) = join(&settings.server, settings.client, &offer, &security, deadline)?;
    let security = match security {
        ImpiSecurity::Sealed(secret) => MeshSecurity::Sealed(secret, world.id),
        ImpiSecurity::Cleartext(_) => MeshSecurity::Cleartext,
    };
    Ok((world, security, server))
}

/// The world and what protects its connections, for the other ranks of the job: `clear:WORLD` or
/// `sealed:KEY:WORLD` in hexadecimal digits, the key encrypted under the secret of the job.
fn tell_world(world: &World, security: &MeshSecurity, secret: &SharedSecret) -> String {
    let world = hex::text(&world.emit());
    match security {
        MeshSecurity::Cleartext => format!("clear:{world}"),
        MeshSecurity::Sealed(key, _) => {
            format!("sealed:{}:{world}", hex::text(&key_wrap::wrap(secret, key)))
        }
    }
}

/// # Errors
/// `Other` with the error of rank 0, or if its text is none.
fn told_world(text: &str, secret: &SharedSecret) -> Result<(World, MeshSecurity)> {
    let none = || failed("rank 0 has told nothing of the world".to_owned());
    let world = |text: &str| {
        let bytes = hex::bytes(text).ok_or_else(none)?;
        World::parse(&bytes).map_err(failed)
    };
    if let Some(why) = text.strip_prefix("error:").and_then(hex::bytes) {
        return Err(ErrorClass::Other.error(String::from_utf8_lossy(&why).into_owned()));
    }
    if let Some(clear) = text.strip_prefix("clear:") {
        return Ok((world(clear)?, MeshSecurity::Cleartext));
    }
    let sealed = text.strip_prefix("sealed:").and_then(|rest| rest.split_once(':'));
    let (key, rest) = sealed.ok_or_else(none)?;
    let key = hex::parse(key).and_then(|wrapped| key_wrap::unwrap(secret, &wrapped));
    let (world, key) = (world(rest)?, key.ok_or_else(none)?);
    let id = world.id;
    Ok((world, MeshSecurity::Sealed(key, id)))
}

impl OwnPlace {
    fn emit(&self) -> String {
        format!("{}:{}:{}", hex::text(&self.id.address), self.id.pid, self.port)
    }

    fn parse(text: &str) -> Option<Self> {
        let (address, rest) = text.split_once(':')?;
        let (pid, port) = rest.split_once(':')?;
        let id = ProcessId { address: hex::parse(address)?, pid: pid.parse().ok()? };
        Some(Self { id, port: port.parse().ok()? })
    }

    /// The process as a host of IMPI, which others connect to.
    fn host(&self, settings: &ImpiSettings) -> HostOffer {
        HostOffer {
            address: self.id.address,
            port: self.port,
            ack_mark: settings.ack_mark,
            high_water: settings.high_water,
            processes: vec![self.id],
        }
    }
}

/// The identity of a client, which all processes of the world compute alike.
fn identity(world: &World, client: u32) -> JobId {
    let first = world.process(world.ranks_of(client).start).map(|process| process.id);
    let half = |number: u8| u128::from(hash_of(&(number, world.id, client, first)));
    JobId(half(0) << 64 | half(1))
}

/// All processes, each with its number as a peer. Processes of a client at one address are on one host.
fn processes(world: &World, places: WorldPlaces) -> Vec<(Peer, ClientProcess)> {
    let all: Vec<_> = world.processes().collect();
    let host = |client, address| {
        let same = |other: &&platform::impi::WorldProcess| {
            (other.client, other.id.address) == (client, address)
        };
        all.iter().position(|other| same(&other)).unwrap_or_default() as u32
    };
    let process = |(rank, process): (u32, &platform::impi::WorldProcess)| {
        let first = world.ranks_of(process.client).start as u32;
        let (client, host) = (process.client, host(process.client, process.id.address));
        (places.peer(rank), ClientProcess { client, host, rank: rank - first })
    };
    (0..).zip(&all).map(process).collect()
}

fn explain(settings: &ImpiSettings, world: &World, security: &MeshSecurity) -> Vec<String> {
    let protection = match security {
        MeshSecurity::Sealed(..) => "proves the key of the server and is encrypted",
        MeshSecurity::Cleartext => "is in the clear (SUIRO_IMPI_CLEARTEXT=1)",
    };
    let (clients, own) = (world.clients.len(), settings.client);
    let mut lines = vec![format!(
        "a world of {clients} clients, joined at {}: this job is client {own}; each connection \
         {protection}; packets of at most {} bytes",
        settings.server, world.data_len
    )];
    for (number, client) in (0..).zip(&world.clients) {
        let ranks = world.ranks_of(number);
        let (first, last) = (ranks.start, ranks.end.saturating_sub(1));
        let way = match client.hosts.len() == client.process_count() {
            true => "each process directly".to_owned(),
            false => {
                let place = |host: &HostOffer| {
                    ip_address(host.address)
                        .map(|it| SocketAddr::new(it, host.port as u16).to_string())
                };
                let places: Vec<_> = client.hosts.iter().filter_map(place).collect();
                format!("through the gateway {}", places.join(", "))
            }
        };
        lines.push(format!("client {number}: ranks {first} to {last}, {way}"));
    }
    lines
}

#[cold]
fn failed(why: String) -> Box<MpiError> {
    ErrorClass::Other.error(why)
}
