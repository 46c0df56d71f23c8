//! The way of this job into a world of several clients, by IMPI.
//!
//! ```text
//!   each rank   open the mesh, tell rank 0 where it is ─┐
//!   rank 0      join at the start-up server ◄───────────┘ wait for all clients
//!   each rank   learn the world from rank 0, connect to the processes of other clients
//! ```
//!
//! With a gateway (`SUIRO_IMPI_GATEWAY=1`) the job is one host of IMPI: rank 0 has a thread that forwards
//! the packets of all ranks, which connect to it.
//!
//! Ranks of the job talk through the key-value space of their launcher, so any launcher will do. What
//! rank 0 cannot do, all ranks say.

use std::collections::HashMap;
use std::net::SocketAddr;
use std::time::Instant;

use super::connection::Connection;
use super::initialization::hash_of;
use super::settings::impi::ImpiSettings;
use crate::bridge::places::WorldPlaces;
use crate::bridge::translator::{DATA_LEN_MIN, Translator};
use crate::devices::impi::{
    Gateway, GatewayListener, Mesh, MeshListener, MeshSecurity, MeshSettings, process_id,
};
use crate::mpi::communicator::clients::{ClientJob, ClientProcess};
use crate::mpi::processes::JobId;
use platform::base::{ErrorClass, MpiError, Peer, Representation, Result, hex};
use platform::bootstrap::Client;
use platform::impi::{
    AgreedSettings, ClientOffer, HostOffer, ImpiSecurity, ProcessId, ServerConnection, World,
    WorldClient, WorldProcess, ip_address, join,
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
    /// The clients in the order of their numbers.
    pub(super) jobs: Vec<ClientJob>,
    /// What rank 0 of the job has for all.
    pub(super) of_job: Option<WorldOfJob>,
    /// What carries messages to other clients, until it is attached.
    pub(super) translator: Option<Translator>,
    /// Whether other implementations may take part.
    pub(super) is_in_the_clear: bool,
    /// What was decided, a sentence each.
    pub(super) explanations: Vec<String>,
}

/// What rank 0 of a job has, as long as it belongs to the world.
pub(super) struct WorldOfJob {
    server: ServerConnection,
    gateway: Option<Gateway>,
}

impl WorldOfJob {
    /// All ranks have left the world. The server hears of it; the gateway has until `deadline` to forward
    /// the last packets.
    pub(super) fn leave(self, deadline: Instant) {
        if let Some(gateway) = self.gateway {
            gateway.wait(deadline);
        }
        self.server.fini();
    }
}

/// The socket of a rank, before there is a world.
enum ClientListener {
    /// Of each rank.
    Mesh(MeshListener),
    /// Of rank 0, if the job has a gateway.
    Gateway(GatewayListener),
    /// Of the others then.
    Nothing,
}

/// Where a process is, and how others reach it.
struct OwnPlace {
    id: ProcessId,
    port: u32,
}

/// What rank 0 tells the others.
struct ToldWorld {
    world: World,
    security: MeshSecurity,
    /// The card of the gateway, if there is one.
    gateway: Option<String>,
}

impl JoinedWorld {
    /// Joins the world. All ranks of the job call this, with the settings that must be equal in all jobs.
    /// The job has the identity of its client from now on.
    ///
    /// # Errors
    /// `Other` if the server or a client cannot be reached, refuses, or does not appear in time.
    pub(super) fn join(
        settings: &ImpiSettings, agreed: &AgreedSettings, connection: &mut Connection,
    ) -> Result<Self> {
        let deadline = Instant::now() + settings.timeout;
        let listener = ClientListener::open(settings, connection.job.rank == 0)?;
        let own = listener.place(settings)?;
        let (told, server) = match connection.launcher.is_some() {
            true => agree(settings, agreed, connection, &listener, &own, deadline)?,
            false => {
                let (told, server) = join_for(settings, agreed, &listener, &[own], deadline)?;
                (told, Some(server))
            }
        };
        let ToldWorld { world, security, gateway } = told.assumed(settings);
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
        let job = |(number, client): (u32, &WorldClient)| ClientJob {
            id: identity(&world, number),
            representation: client.representation,
        };
        let jobs = (0..).zip(&world.clients).map(job).collect();
        let me = places.rank(connection.job.rank);
        let explanations = explain(settings, &world, &security);
        let is_in_the_clear = matches!(security, MeshSecurity::Cleartext);
        let mut own_gateway = None;
        let mesh = match (listener, gateway) {
            (ClientListener::Mesh(listener), _) => {
                Mesh::connect(listener, &world, me, security, deadline)?
            }
            (listener, Some(card)) => {
                if let ClientListener::Gateway(at) = listener {
                    own_gateway = Some(Gateway::start(at, &world, me, security.clone(), deadline)?);
                }
                let silence = MeshSettings::default().silence;
                Mesh::connect_gateway(&card, &world, me, security, silence, deadline)?
            }
            (_, None) => return Err(failed("rank 0 has no gateway".to_owned())),
        };
        let mut joined = Self {
            places,
            processes: processes(&world, places),
            jobs,
            of_job: server.map(|server| WorldOfJob { server, gateway: own_gateway }),
            translator: Some(Translator::new(mesh, places, world.data_len as usize)),
            is_in_the_clear,
            explanations,
        };
        joined.identify(settings.client, connection)?;
        Ok(joined)
    }

    /// Gives the job the identity by which other clients know it.
    fn identify(&mut self, client: u32, connection: &mut Connection) -> Result {
        let id = self.jobs[client as usize].id.0.to_le_bytes();
        let key = match &connection.job.secret {
            Some(secret) => secret.key,
            None => JobCredentials::draw().map_err(|error| failed(error.to_string()))?.key,
        };
        connection.job.secret = Some(JobCredentials { id, key });
        Ok(())
    }
}

impl ClientListener {
    /// # Errors
    /// As [`MeshListener::open`].
    fn open(settings: &ImpiSettings, is_first: bool) -> Result<Self> {
        let of_mesh = mesh_settings(settings);
        Ok(match (settings.has_gateway, is_first) {
            (false, _) => Self::Mesh(MeshListener::open(&of_mesh)?),
            (true, true) => Self::Gateway(GatewayListener::open(&of_mesh)?),
            (true, false) => Self::Nothing,
        })
    }

    /// Where this process is.
    ///
    /// # Errors
    /// As [`MeshListener::open`].
    fn place(&self, settings: &ImpiSettings) -> Result<OwnPlace> {
        let pid = i64::from(system::own_pid());
        if let Self::Mesh(listener) = self {
            let offer = listener.offer(pid);
            return Ok(OwnPlace { id: offer.processes[0], port: offer.port });
        }
        Ok(OwnPlace { id: process_id(&mesh_settings(settings), pid)?, port: 0 })
    }

    fn gateway(&self) -> Option<&GatewayListener> {
        match self {
            Self::Gateway(gateway) => Some(gateway),
            Self::Mesh(_) | Self::Nothing => None,
        }
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
    settings: &ImpiSettings, agreed: &AgreedSettings, connection: &mut Connection,
    listener: &ClientListener, own: &OwnPlace, deadline: Instant,
) -> Result<(ToldWorld, Option<ServerConnection>)> {
    let Connection { launcher: Some(launcher), job, .. } = connection else {
        return Err(failed("there is no launcher".to_owned()));
    };
    let secret = SharedSecret(job.agree_secret(launcher)?.key);
    launcher.put_text(&format!("{PROCESS_KEY}-{}", job.rank), &own.emit())?;
    launcher.barrier()?;
    if job.rank > 0 {
        launcher.barrier()?;
        let text = launcher.get_text(0, WORLD_KEY)?.unwrap_or_default();
        return Ok((ToldWorld::parse(&text, &secret)?, None));
    }
    let joined = all_places(launcher, job.size)
        .and_then(|places| join_for(settings, agreed, listener, &places, deadline));
    let text = match &joined {
        Ok((told, _)) => told.emit(&secret),
        Err(error) => format!("error:{}", hex::text(error.why.as_bytes())),
    };
    launcher.put_text(WORLD_KEY, &text)?;
    launcher.barrier()?;
    joined.map(|(told, server)| (told, Some(server)))
}

fn all_places(launcher: &mut Client, size: u32) -> Result<Vec<OwnPlace>> {
    let place = |rank| {
        let text = launcher.get_text(rank, &format!("{PROCESS_KEY}-{rank}"))?;
        let text = text.as_deref().and_then(OwnPlace::parse);
        text.ok_or_else(|| {
            failed(format!(
                "rank {rank} has published nothing; SUIRO_IMPI_SERVER must be the same in all ranks of \
                 a job"
            ))
        })
    };
    (0..size).map(place).collect()
}

/// Joins for all processes of this client.
///
/// # Errors
/// `Other`: the server cannot be reached, refuses, or a client does not appear in time.
fn join_for(
    settings: &ImpiSettings, agreed: &AgreedSettings, listener: &ClientListener,
    processes: &[OwnPlace], deadline: Instant,
) -> Result<(ToldWorld, ServerConnection)> {
    let security = settings.protection.security().map_err(failed)?;
    let gateway = listener.gateway();
    let hosts = match gateway {
        None => processes.iter().map(|place| place.host(settings)).collect(),
        Some(gateway) => vec![gateway.offer(processes.iter().map(|place| place.id).collect())],
    };
    let offer = ClientOffer {
        hosts,
        data_len: settings.data_bytes,
        tag_ub: TAG_BOUND,
        collective_xsize: DEFAULT_LIMIT,
        collective_max_linear: DEFAULT_LIMIT,
        // IMPI has one representation for all, and other implementations may expect one version.
        representation: match security {
            ImpiSecurity::Sealed(_) => Some(settings.representation),
            ImpiSecurity::Cleartext(_) => None,
        },
        settings: agreed.clone(),
    };
    let joined = join(&settings.server, settings.client, &offer, &security, deadline);
    let (world, server) = joined.map_err(failed)?;
    let security = match security {
        ImpiSecurity::Sealed(secret) => MeshSecurity::Sealed(secret, world.id),
        ImpiSecurity::Cleartext(_) => MeshSecurity::Cleartext,
    };
    let gateway = gateway.map(GatewayListener::card);
    Ok((ToldWorld { world, security, gateway }, server))
}

impl ToldWorld {
    /// The world with what this process assumes of clients in the clear.
    fn assumed(mut self, settings: &ImpiSettings) -> Self {
        if settings.are_alike && matches!(self.security, MeshSecurity::Cleartext) {
            let all = Some(settings.representation);
            self.world.clients.iter_mut().for_each(|client| client.representation = all);
        }
        self
    }

    /// `GATEWAY:clear:WORLD` or `GATEWAY:KEY:WORLD` in hexadecimal digits, the key encrypted under the
    /// secret of the job; without a gateway nothing is in its place.
    fn emit(&self, secret: &SharedSecret) -> String {
        let gateway =
            self.gateway.as_ref().map_or(String::new(), |card| hex::text(card.as_bytes()));
        let key = match &self.security {
            MeshSecurity::Cleartext => "clear".to_owned(),
            MeshSecurity::Sealed(key, _) => hex::text(&key_wrap::wrap(secret, key)),
        };
        format!("{gateway}:{key}:{}", hex::text(&self.world.emit()))
    }

    /// # Errors
    /// `Other` with the error of rank 0, or if its text is none.
    fn parse(text: &str, secret: &SharedSecret) -> Result<Self> {
        let none = || failed("rank 0 has told nothing of the world".to_owned());
        if let Some(why) = text.strip_prefix("error:").and_then(hex::bytes) {
            return Err(failed(String::from_utf8_lossy(&why).into_owned()));
        }
        let [gateway, key, world] = text.split(':').collect::<Vec<_>>()[..] else {
            return Err(none());
        };
        let gateway = String::from_utf8(hex::bytes(gateway).ok_or_else(none)?);
        let gateway = gateway.map_err(|_| none())?;
        let world = World::parse(&hex::bytes(world).ok_or_else(none)?).map_err(failed)?;
        let security = match key {
            "clear" => MeshSecurity::Cleartext,
            wrapped => {
                let wrapped = hex::parse(wrapped).ok_or_else(none)?;
                let key = key_wrap::unwrap(secret, &wrapped).ok_or_else(none)?;
                MeshSecurity::Sealed(key, world.id)
            }
        };
        Ok(Self { world, security, gateway: Some(gateway).filter(|card| !card.is_empty()) })
    }
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
    let (mut hosts, mut firsts) = (HashMap::new(), HashMap::new());
    let process = |(rank, process): (u32, WorldProcess)| {
        let WorldProcess { client, id, .. } = process;
        // The first rank of a host is its number.
        let host = *hosts.entry((client, id.address)).or_insert(rank);
        let first = *firsts.entry(client).or_insert(rank);
        (places.peer(rank), ClientProcess { client, host, rank: rank - first })
    };
    (0..).zip(world.processes()).map(process).collect()
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
        let represents = match client.representation {
            Some(representation) => format!(", its data {representation}"),
            None => String::new(),
        };
        lines.push(format!("client {number}: ranks {first} to {last}, {way}{represents}"));
    }
    let first = world.clients.first().and_then(|client| client.representation);
    let is_alike = |client: &WorldClient| Representation::are_alike(client.representation, first);
    lines.push(match world.clients.iter().all(is_alike) {
        true => "data between clients travels as it is in memory".to_owned(),
        false => "data between unlike clients travels as external32".to_owned(),
    });
    lines
}

#[cold]
fn failed(why: String) -> Box<MpiError> {
    ErrorClass::Other.error(why)
}
