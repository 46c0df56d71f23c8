//! Initialization: `MPI_Init` and `MPI_Session_init` (MPI 5.0 §11.2, §11.3).
//!
//! ```text
//!   initialize, open_session ──> join ── first user ──> start:
//!     connect   find the launcher, learn this rank's place in the job
//!     reach     exchange hosts and addresses, if there are several hosts  (`connection`)
//!     attach    map the memory that the ranks of this host share
//!     agree     compare settings with all ranks, choose how to wait; attach the network
//!     build     the MPI of this process
//! ```
//!
//! *Users* are the world model, at most once, and sessions. Only the first user starts MPI; the
//! last one leaves ([`finalization`](super::finalization)), and a later user joins the job again.
//! Only `mpirun` of this library learns that a process joins again: with other launchers a process
//! joins once, and later users do so unnoticed.

use std::hash::{DefaultHasher, Hash, Hasher};
use std::sync::Arc;
use std::sync::atomic::Ordering;

use super::clients::JoinedWorld;
use super::connection::{Connection, ReachedPeers, settings_mismatch};
use super::contention::Contention;
use super::devices::{CarrierReach, Devices, Listening};
use super::failure_watch;
use super::info_env;
use super::published_names::PublishedNames;
use super::settings::explain::Decisions;
use super::settings::{Config, DeviceKind, ProgressMode, log};
use super::waiting::CallWaiters;
use super::waiting::wait_policy::{PollCost, SpinHistory, WaitPolicy};
use super::waiting::wait_state::WaitState;
use super::world::{ThreadLevel, WorldModel, WorldStage};
use super::{Process, ProcessMpi, ProcessState, RunningMpi, first_objects, running_mpi};
use crate::devices::carrier::library::CarrierLibrary;
use crate::devices::carrier::settings::{CarrierScope, VendorMode, fabric_short_max};
use crate::devices::tcp::JobKey;
use crate::devices::tcp::LossPace;
use crate::mpi::collective::selection::machine_model;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::memory_kinds;
use crate::mpi::processes::JobId;
use crate::mpi::{Presence, WorldAttributes};
use platform::base::{ErrorClass, Result, settings};
use platform::bootstrap::{Client, HostFile, JobView, RequiredRanks};
use platform::diagnosis::wait_monitor::{MonitorSettings, WaitMonitor};
use platform::impi::AgreedSettings;
use platform::sys::cma;
use platform::sys::secret::JobCredentials;

/// A kind of user.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum ProcessModel {
    World,
    Session,
}

impl ProcessModel {
    /// The ranks that must use MPI too: in the world model all ranks (§11.2.1).
    fn required_ranks(self) -> RequiredRanks {
        match self {
            Self::World => RequiredRanks::All,
            Self::Session => RequiredRanks::Any,
        }
    }
}

impl RunningMpi {
    /// `MPI_INFO_ENV`.
    fn described(&self) -> Info {
        let handler = &self.mpi.objects.initial_handler;
        info_env::of_rank(self.mpi.comms.world_size(), &self.memory_kinds, handler)
    }
}

impl Process {
    /// Starts the world model with a level of thread support.
    ///
    /// # Errors
    /// `Other` if the world model was started before; as [`Process::join`].
    pub(crate) fn initialize(&'static self, level: ThreadLevel) -> Result {
        self.join(ProcessModel::World, level, |running| {
            running.mpi.begin_world()?;
            running.world = WorldModel::Running { level, main: std::thread::current().id() };
            running.mpi.objects.infos.environment = running.described();
            self.stage.store(WorldStage::Running as u8, Ordering::Release);
            Ok(())
        })?;
        self.connect_with_parents()
    }

    /// Opens a session with a level of thread support, and the kinds of memory if the application
    /// requests any. This call waits for other ranks only if the launcher's protocol does.
    ///
    /// # Errors
    /// `NoMem` without a free handle; as [`Process::join`].
    pub(crate) fn open_session(
        &'static self, handler: Handler, level: ThreadLevel, kinds: Option<&str>,
    ) -> Result<Handle> {
        self.join(ProcessModel::Session, level, |running| {
            if running.mpi.objects.infos.environment == Info::default() {
                running.mpi.objects.infos.environment = running.described();
            }
            let kinds = memory_kinds::provided(kinds.unwrap_or(&running.memory_kinds));
            let mut hints = Info::default();
            hints.set(b"thread_level", level.name().as_bytes())?;
            hints.set(MEMORY_KINDS.as_bytes(), kinds.as_bytes())?;
            running.mpi.sessions.insert(handler, hints)
        })
    }

    /// Adds a user. `enter` registers it.
    ///
    /// # Errors
    /// `Other` for a second world model, for a bad setting, for a launcher or ranks that cannot be
    /// reached; `NoMem` without shared memory or a thread; the errors of `enter`.
    fn join<T>(
        &'static self, user: ProcessModel, level: ThreadLevel,
        enter: impl FnOnce(&mut RunningMpi) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.visit();
        let is_first = !matches!(*state, ProcessState::Running(_));
        let was_started = is_started(&state);
        let running = ensure_running(&mut state, user, level)?;
        self.partitioned.get_or_init(|| Arc::clone(running.mpi.partitioned.table()));
        let entered = enter(running);
        running.has_thread_multiple |= level == ThreadLevel::Multiple;
        let needs_thread =
            matches!(running.progress_mode, ProgressMode::Thread | ProgressMode::Delegate);
        running.may_overlap = !is_first && running.may_overlap || level == ThreadLevel::Multiple;
        let (may_overlap, me) = (running.may_overlap, running.mpi.engine.me());
        let ended_ranks = running.ended_ranks.take();
        let needs_exit_call = !was_started && running.mpi.engine.device_mut().has_carrier();
        state.set_overlapping(may_overlap);
        drop(state);
        if needs_exit_call {
            self.close_carrier_at_exit();
        }
        if let Some(table) = ended_ranks {
            failure_watch::start(self, table, me);
        }
        if entered.is_err() {
            self.leave()?;
        } else if needs_thread {
            self.start_progress_thread()?;
        }
        entered
    }
}

impl RunningMpi {
    /// Whether the world model or a session uses MPI.
    pub(super) fn is_used(&self) -> bool {
        self.world.stage() == WorldStage::Running || !self.mpi.sessions.is_empty()
    }
}

/// Whether MPI has been started in this process.
fn is_started(state: &ProcessState) -> bool {
    matches!(state, ProcessState::Running(_) | ProcessState::Dormant(_))
}

/// Starts MPI, or joins the job again, for a user that is not registered yet. An error leaves the
/// state unchanged.
///
/// # Errors
/// As [`Process::join`].
fn ensure_running(
    state: &mut ProcessState, user: ProcessModel, level: ThreadLevel,
) -> Result<&mut RunningMpi> {
    let required = user.required_ranks();
    if let ProcessState::Dormant(left) = state
        && left.mpi.comms.clients().is_some()
        && left.world.stage() == WorldStage::After
    {
        let why = "this process has left the world of its client, which it can join only once";
        return Err(ErrorClass::Other.error(why));
    }
    if let ProcessState::Running(running) | ProcessState::Dormant(running) = state {
        if user == ProcessModel::World && running.world.stage() != WorldStage::Before {
            let why = "MPI has been initialized already, which it can be only once";
            return Err(ErrorClass::Other.error(why));
        }
        let launcher = running.launcher.as_mut();
        if let Some(launcher) = launcher.filter(|it| it.attributes().is_own_launcher) {
            launcher.rejoin(required)?;
        }
    } else {
        let config = Config::read()?;
        log::start(&config)?;
        let mut dormant = Box::new(start(config, required, level)?);
        if let ProcessState::Early(objects) = state {
            dormant.mpi.objects = std::mem::take(&mut **objects);
        }
        *state = ProcessState::Dormant(dormant);
    }
    *state = match std::mem::replace(state, ProcessState::Uninitialized) {
        ProcessState::Dormant(dormant) => ProcessState::Running(dormant),
        other => other,
    };
    running_mpi(state)
}

/// Starts MPI in this process, without a user.
///
/// # Errors
/// `Other` for a launcher or ranks that cannot be reached; `NoMem` without shared memory.
fn start(mut config: Config, required: RequiredRanks, level: ThreadLevel) -> Result<RunningMpi> {
    let mut connection = Connection::open(&config, required)?;
    if connection.ended_ranks.is_some() {
        config.tcp.pace = LossPace::PROMPT;
    }
    let inherits_memory = connection.inherits_memory();
    let mut others =
        if inherits_memory { None } else { Some(Others::meet(&config, &mut connection)?) };
    let mut devices = attach(&config, &mut connection)?;
    let reached = others.as_ref().and_then(|others| others.reached.as_ref());
    let is_crowded = compare(&config, &connection, &devices, reached)?;
    // Ranks wait for each other from here on, so only after all are known to want the same device.
    let mut others = match others.take() {
        Some(others) => others,
        None => Others::meet(&config, &mut connection)?,
    };
    settle_device(&mut config, &others);
    let config = &config;
    attach_network(config, &mut connection, &mut devices, &mut others)?;
    if let Some(noise) = config.noise {
        devices.inject(noise, connection.job.rank);
    }
    let agreement = agree(config, &connection, &mut devices, is_crowded, &others);
    if config.vendor.mode == VendorMode::Thread {
        let threads = 2 * connection.job.local_ranks.len();
        devices.start_carrier_thread(threads > connection.processors)?;
    }
    if config.explain && connection.job.rank == 0 {
        explain(config, level, &connection, &agreement, &devices, &others);
    }
    Ok(build(config, connection, devices, agreement, others.world))
}

/// What this process has learned from ranks of other hosts, and from other clients of its world.
struct Others {
    reached: Option<ReachedPeers>,
    world: Option<JoinedWorld>,
}

impl Others {
    /// # Errors
    /// As [`JoinedWorld::join`] and [`Connection::reach`].
    fn meet(config: &Config, connection: &mut Connection) -> Result<Self> {
        // The processes that a client has started inherit its variables, and belong to no world themselves.
        let client = config.impi.as_ref().filter(|_| connection.parent_port.is_none());
        let agreed = || settings::agreed_across_jobs(&config.agreed);
        let world = client.map(|impi| {
            JoinedWorld::join(impi, &AgreedSettings::from_lines(&agreed()), connection)
        });
        let world = world.transpose()?;
        Ok(Self { reached: connection.reach(config)?, world })
    }
}

/// What follows from the settings and the hardware, the same on all ranks except how they wait.
struct Agreement {
    wait_policy: WaitPolicy,
    progress_mode: ProgressMode,
    machine: MachineModel,
}

/// Maps the segment that the ranks of this host share.
///
/// # Errors
/// `NoMem` without shared memory; as [`Devices::attach`].
fn attach(config: &Config, connection: &mut Connection) -> Result<Devices> {
    let Connection { launcher, job, .. } = connection;
    let segment = job.open_host_file(HostFile::Segment, launcher.as_mut())?;
    Devices::attach(segment, job.local_index(), &job.local_ranks, config.copy)
}

/// Makes sure that all ranks of this host have equal settings; whether they share processors, the same
/// on all of them.
///
/// # Errors
/// `Other` if a setting differs.
fn compare(
    config: &Config, connection: &Connection, devices: &Devices, reached: Option<&ReachedPeers>,
) -> Result<bool> {
    let Connection { job, processors, .. } = connection;
    let is_crowded = job.local_ranks.len() > *processors;
    let is_crowded = reached.map_or(is_crowded, |reached| reached.is_crowded_here);
    devices
        .agree(job.rank, &config.agreed, is_crowded)
        .map_err(|first| settings_mismatch(job, &config.agreed, first.rank, &first.text))
}

/// Makes the device that `SUIRO_DEVICE=auto` has chosen that of the settings, and tells what keeps this rank from a
/// fabric.
fn settle_device(config: &mut Config, others: &Others) {
    let Some(reached) = &others.reached else { return };
    if config.is_device_auto && reached.fabric.is_some() {
        config.device = DeviceKind::Ofi;
    }
    if let Some(notice) = reached.choice.as_ref().and_then(|choice| choice.notice.as_ref()) {
        eprintln!("Suiro: {notice}");
    }
}

/// Attaches what carries messages beside shared memory, if anything does.
///
/// # Errors
/// As [`Devices::attach_interface`].
fn attach_network(
    config: &Config, connection: &mut Connection, devices: &mut Devices, others: &mut Others,
) -> Result {
    let Connection { launcher, job, vendor, ended_ranks, .. } = connection;
    if config.device == DeviceKind::Tofu {
        let file = job.open_host_file(HostFile::Interface, launcher.as_mut())?;
        devices.attach_interface(file, job.local_index(), &job.local_ranks, &config.tofu)?;
    }
    let (me, size, is_one_host) = (job.rank, job.size, job.hosts.is_one());
    let survives_failures = ended_ranks.is_some();
    let reach = |scope| CarrierReach { me, size, scope, is_one_host, survives_failures };
    if let Some(library) = vendor.clone().filter(|_| size > 1) {
        let (short_max, reach) = (config.vendor.short_max, reach(config.vendor.between));
        devices.attach_carrier(CarrierLibrary::Vendor(library), short_max, reach)?;
    }
    if let Some(endpoint) = others.reached.as_mut().and_then(|reached| reached.fabric.take()) {
        let short_max = fabric_short_max(endpoint.provider());
        let library = CarrierLibrary::Fabric(Box::new(endpoint));
        devices.attach_carrier(library, short_max, reach(config.fabric.between))?;
    }
    if let Some(tcp) = others.reached.as_mut().and_then(|reached| reached.tcp.take()) {
        devices.attach_sockets(tcp, job.rank, config.device == DeviceKind::Tcp)?;
    }
    let work = others.reached.as_mut().and_then(|reached| reached.work.as_mut());
    let work = work.and_then(|work| Some((work.endpoint.take()?, work.secret.clone())));
    let has_threads = matches!(config.device, DeviceKind::Shm | DeviceKind::Tcp | DeviceKind::Ofi);
    if has_threads && config.offload.scheme(config.device).is_some() {
        devices.run_programs(me, size, work)?;
    }
    match others.world.as_mut().and_then(|world| world.translator.take()) {
        Some(translator) => devices.attach_bridge(translator),
        None => Ok(()),
    }
}

/// Derives from the settings and the hardware how this job runs.
fn agree(
    config: &Config, connection: &Connection, devices: &mut Devices, is_crowded: bool,
    others: &Others,
) -> Agreement {
    let Connection { job, processors, .. } = connection;
    let ranks = job.local_ranks.len();
    match is_crowded {
        true => devices.share_processors(),
        false => devices.have_processors(),
    }
    // Equal on all hosts: ranks that choose different algorithms would not understand each other.
    let reached = others.reached.as_ref();
    let is_any_crowded = reached.map_or(is_crowded, |reached| reached.is_crowded_somewhere);
    let poll_cost = match (config.device, reached.is_some() || others.world.is_some()) {
        (DeviceKind::Vendor, _) | (DeviceKind::Ofi, true) => PollCost::Library,
        (_, true) => PollCost::Sockets,
        (_, false) => PollCost::Memory,
    };
    let size = others.world.as_ref().map_or(job.size, |world| world.places.world);
    Agreement {
        wait_policy: WaitPolicy::new(config.waiting, ranks, *processors, poll_cost),
        progress_mode: config.progress.resolve(size as usize, ranks, *processors),
        machine: match (config.device, is_any_crowded) {
            (DeviceKind::Tcp, _) => machine_model::NETWORK,
            (DeviceKind::Vendor, false) => machine_model::LIBRARY,
            (DeviceKind::Ofi, _) if config.fabric.between == CarrierScope::Ranks => {
                machine_model::NETWORK
            }
            (DeviceKind::Shm | DeviceKind::Tofu | DeviceKind::Ofi | DeviceKind::Vendor, true) => {
                machine_model::OVERSUBSCRIBED
            }
            (DeviceKind::Shm | DeviceKind::Tofu | DeviceKind::Ofi, false) => machine_model::SHARED,
        },
    }
}

/// Puts everything together.
fn build(
    config: &Config, connection: Connection, devices: Devices, agreement: Agreement,
    world: Option<JoinedWorld>,
) -> RunningMpi {
    let Connection {
        launcher,
        job,
        processors,
        status_table,
        ended_ranks,
        vendor,
        helper_threads,
        parent_port,
    } = connection;
    let Agreement { wait_policy, progress_mode, machine } = agreement;
    let JobView { rank, size, .. } = job;
    tracing::info!(rank, size, processors, "initialized");
    let number = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
    let attributes = WorldAttributes {
        app_number: number(job.app_number),
        universe_size: number(job.universe_size),
    };
    let status_table = status_table.map(|(table, entry)| {
        table.clear(entry);
        table
    });
    let settings = MonitorSettings { deadlock: config.deadlock, hang_report: config.hang_report };
    let wait_monitor =
        WaitMonitor::new(settings, (rank, size, job.hosts.clone()), status_table, || {
            devices.status_table()
        });
    let credentials = credentials(&job, launcher.as_ref());
    let mut devices = devices;
    devices.listen_when_needed(Listening {
        rank,
        size,
        job: JobKey { id: credentials.job.0.to_le_bytes(), secret: credentials.secret },
        shares_secret: credentials.is_shared,
        settings: config.tcp.clone(),
    });
    let mut mpi = ProcessMpi::without_world(devices, rank, size, first_objects(), attributes);
    mpi.comms.set_job(Some(credentials.job), credentials.random);
    mpi.presence = Presence {
        host: job.hosts.name_of(rank).to_owned(),
        settings: hash_of(&settings::agreed_across_jobs(&config.agreed)),
        memory: None,
    };
    if ended_ranks.is_some() {
        mpi.engine.survive_failures();
    }
    if !job.hosts.is_one() {
        mpi.comms.set_nodes(job.hosts.numbers());
    }
    mpi.selection = config.selection.clone().with_machine(machine);
    if let Some(world) = &world {
        mpi.comms.join_clients(&world.processes, &world.jobs);
        mpi.engine.set_world_size(world.places.world);
        mpi.selection = mpi.selection.with_clusters();
        mpi.selection.follows_impi = world.is_in_the_clear;
    }
    mpi.offload = config.offload.scheme(config.device);
    mpi.rdma_schedule = config.rdma_schedule;
    mpi.access_policy = config.acp.policy;
    mpi.checked_mode.set(config.check);
    let has_thread = progress_mode == ProgressMode::Thread;
    mpi.files.reads_ahead = has_thread || !wait_policy.is_crowded();
    config.eager_max.iter().for_each(|limit| mpi.engine.set_eager_max(*limit));
    RunningMpi {
        mpi,
        world: WorldModel::Before,
        launcher,
        ended_ranks,
        hosts: job.hosts,
        wait_monitor,
        sender_end_ns: None,
        served_contention: Contention::default(),
        vendor,
        helper_threads,
        waiters: CallWaiters::new(),
        served_events: 0,
        wait_policy,
        spin_history: SpinHistory::new(wait_policy),
        may_overlap: true,
        has_thread_multiple: false,
        memory_kinds: config.memory_kinds.clone(),
        progress_mode,
        progress_thread: None,
        wait_state: WaitState::Away,
        children: Vec::new(),
        parent_port,
        parent: None,
        names: PublishedNames::default(),
        world_of_job: world.and_then(|world| world.of_job),
        parts_at_exit: false,
    }
}

/// The identity of this job, and the proof that a process belongs to it.
struct OwnCredentials {
    job: JobId,
    /// Random bits, equal on all processes if they have agreed on any.
    random: u64,
    secret: [u8; 32],
    /// Whether all processes of the job know `secret`.
    is_shared: bool,
}

/// Without an agreed secret, the processes of a job share its memory, which only they can, and the name
/// that the launcher has given to it.
fn credentials(job: &JobView, launcher: Option<&Client>) -> OwnCredentials {
    if let Some(JobCredentials { id, key }) = &job.secret {
        let id = u128::from_le_bytes(*id);
        return OwnCredentials { job: JobId(id), random: id as u64, secret: *key, is_shared: true };
    }
    // Without random numbers contexts are unique in this job all the same.
    let drawn = JobCredentials::draw().map_or(([0; 16], [0; 32]), |drawn| (drawn.id, drawn.key));
    let (random, secret) = (u128::from_le_bytes(drawn.0), drawn.1);
    let named = launcher.filter(|_| job.size > 1).map(|launcher| {
        let name = (launcher.job_name(), job.hosts.name_of(job.rank));
        u128::from(hash_of(&(0, name))) << 64 | u128::from(hash_of(&(1, name)))
    });
    let job = JobId(named.unwrap_or(random));
    OwnCredentials { job, random: random as u64, secret, is_shared: false }
}

/// Equal in all processes with this library.
pub(super) fn hash_of(value: &impl Hash) -> u64 {
    let mut hasher = DefaultHasher::new();
    value.hash(&mut hasher);
    hasher.finish()
}

/// Prints the decisions and their reasons.
fn explain(
    config: &Config, level: ThreadLevel, connection: &Connection, agreement: &Agreement,
    devices: &Devices, others: &Others,
) {
    let choice = others.reached.as_ref().and_then(|reached| reached.choice.as_ref());
    let Connection { launcher, job, processors, .. } = connection;
    let passes_secret = connection.inherits_memory();
    let launcher = match launcher {
        None => "nobody: a job of one",
        Some(launcher) if launcher.prints_aborts() => "the mpirun of this library",
        Some(_) if connection.vendor.is_some() => "the launcher of another MPI library",
        Some(_) => "another launcher, by PMI",
    };
    let decisions = Decisions {
        config,
        level,
        ranks: job.size,
        local_ranks: job.local_ranks.len(),
        launcher,
        passes_secret,
        hosts: &job.hosts,
        vendor_name: connection.vendor.as_ref().map_or("", |library| library.version()),
        vendor_thread: config.vendor.mode == VendorMode::Thread,
        fabric: &devices.fabric_description(),
        work: others.reached.as_ref().and_then(|reached| reached.work.as_ref()).map(|it| &it.found),
        choice: choice.map_or("", |choice| &choice.why),
        sockets: &devices.sockets(),
        processors: *processors,
        policy: agreement.wait_policy,
        machine: agreement.machine,
        reads_memory: cma::is_allowed(),
    };
    let of_world = others.world.iter().flat_map(|world| world.explanations.iter().cloned());
    for line in decisions.lines().into_iter().chain(of_world) {
        eprintln!("Suiro: {line}");
    }
}
