//! Initialization: `MPI_Init` and `MPI_Session_init` (MPI 5.0 §11.2, §11.3).
//!
//! ```text
//!   initialize, open_session ──> join ── first user ──> start:
//!     connect   find the launcher, learn this rank's place in the job
//!     attach    map the memory that the ranks of this host share
//!     agree     compare settings with all ranks, choose how to wait; attach the network interface
//!     build     the MPI of this process
//! ```
//!
//! *Users* are the world model, at most once, and sessions. Only the first user starts MPI; the
//! last one leaves ([`finalization`](super::finalization)), and a later user joins the job again.
//! Only `mpirun` of this library learns that a process joins again: with other launchers a process
//! joins once, and later users do so unnoticed.

use std::sync::atomic::Ordering;

use super::devices::Devices;
use super::info_env;
use super::launcher_watch;
use super::settings::explain::Decisions;
use super::settings::{Config, DeviceKind, ProgressMode, log};
use super::waiting::CallWaiters;
use super::waiting::wait_policy::{SpinHistory, WaitPolicy};
use super::waiting::wait_state::WaitState;
use super::world::{ThreadLevel, WorldModel, WorldStage};
use super::{Process, ProcessMpi, ProcessState, RunningMpi, first_objects, running_mpi};
use crate::devices::shm::SettingsMismatch;
use crate::mpi::WorldAttributes;
use crate::mpi::collective::selection::machine_model;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::communicator::hints::MEMORY_KINDS;
use crate::mpi::errhandler::Handler;
use crate::mpi::handle::Handle;
use crate::mpi::info::Info;
use crate::mpi::memory_kinds;
use platform::base::{ErrorClass, MpiError, Result, settings};
use platform::bootstrap::{Client, Environment, HostFile, JobView, RequiredRanks};
use platform::diagnosis::rank_status::RankStatus;
use platform::diagnosis::status_table::StatusTable;
use platform::diagnosis::wait_monitor::{MonitorSettings, WaitMonitor};
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{clock, cma, cpu, host, process as system};

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

impl Process {
    /// Starts the world model with a level of thread support.
    ///
    /// # Errors
    /// `Other` if the world model was started before; as [`Process::join`].
    pub(crate) fn initialize(&'static self, level: ThreadLevel) -> Result {
        self.join(ProcessModel::World, level, |running| {
            running.mpi.begin_world()?;
            running.world = WorldModel::Running { level, main: std::thread::current().id() };
            let size = running.mpi.comms.processes();
            running.mpi.objects.infos.environment = info_env::of_rank(size, &running.memory_kinds);
            self.stage.store(WorldStage::Running as u8, Ordering::Release);
            Ok(())
        })
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
            let infos = &mut running.mpi.objects.infos;
            if infos.environment == Info::default() {
                let size = running.mpi.comms.processes();
                infos.environment = info_env::of_rank(size, &running.memory_kinds);
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
        let running = ensure_running(&mut state, user, level)?;
        let entered = enter(running);
        running.has_thread_multiple |= level == ThreadLevel::Multiple;
        let needs_thread =
            matches!(running.progress_mode, ProgressMode::Thread | ProgressMode::Delegate);
        running.may_overlap = !is_first && running.may_overlap || level == ThreadLevel::Multiple;
        let may_overlap = running.may_overlap;
        state.set_overlapping(may_overlap);
        drop(state);
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

/// Starts MPI, or joins the job again, for a user that is not registered yet. An error leaves the
/// state unchanged.
///
/// # Errors
/// As [`Process::join`].
fn ensure_running(
    state: &mut ProcessState, user: ProcessModel, level: ThreadLevel,
) -> Result<&mut RunningMpi> {
    let required = user.required_ranks();
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
        let mut dormant = Box::new(start(&config, required, level)?);
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
fn start(config: &Config, required: RequiredRanks, level: ThreadLevel) -> Result<RunningMpi> {
    let mut connection = connect(required)?;
    let mut devices = attach(config, &mut connection)?;
    let agreement = agree(config, &mut connection, &mut devices)?;
    if config.explain && connection.job.rank == 0 {
        explain(config, level, &connection, &agreement);
    }
    Ok(build(config, connection, devices, agreement))
}

/// This process in its job.
struct Connection {
    environment: Environment,
    launcher: Option<Client>,
    job: JobView,
    /// The status table that the launcher reads.
    status_table: Option<StatusTable>,
    /// Threads that the launcher's library has started. They never call MPI.
    helper_threads: Vec<u32>,
}

/// What follows from the settings and the hardware, the same on all ranks.
struct Agreement {
    processors: usize,
    wait_policy: WaitPolicy,
    progress_mode: ProgressMode,
    machine: MachineModel,
}

/// Step 1: joins the job of the launcher, if there is one.
///
/// # Errors
/// `Other` for a launcher that cannot be reached, or ranks on other hosts.
fn connect(required: RequiredRanks) -> Result<Connection> {
    let environment = Environment::read();
    let threads_before = environment.pmix_rank.map(|_| system::threads());
    let mut launcher = Client::connect(&environment, required)?;
    let mut helper_threads = threads_before.as_ref().map_or_else(Vec::new, |_| system::threads());
    helper_threads.retain(|thread| !threads_before.iter().flatten().any(|before| before == thread));
    launcher.iter().for_each(launcher_watch::start);
    let status_table = launcher_table(&environment, launcher.as_ref());
    let job = JobView::assemble(&environment, launcher.as_mut())?;
    if job.local_ranks.len() != job.size as usize {
        return Err(ErrorClass::Other.error(format!(
            "only {} of the {} ranks run on this host; several hosts are not supported yet",
            job.local_ranks.len(),
            job.size
        )));
    }
    Ok(Connection { environment, launcher, job, status_table, helper_threads })
}

/// The status table that the launcher reads, with the entry of this rank. Without it the launcher
/// reports less.
fn launcher_table(environment: &Environment, launcher: Option<&Client>) -> Option<StatusTable> {
    let attributes = launcher?.attributes();
    let number = environment.status_fd.filter(|_| attributes.is_own_launcher)?;
    let table = StatusTable::inherit(number).ok()?;
    let (since_ns, report) = (clock::monotonic_ns(), WaitReport::new("MPI_Init"));
    table.write(attributes.rank, &RankStatus { since_ns, report, steady: None });
    Some(table)
}

/// Step 2: maps the segment that the ranks of this host share.
///
/// # Errors
/// `NoMem` without shared memory; as [`Devices::attach`].
fn attach(config: &Config, connection: &mut Connection) -> Result<Devices> {
    let Connection { launcher, job, .. } = connection;
    let segment = job.open_host_file(HostFile::Segment, launcher.as_mut())?;
    Devices::attach(segment, job.local_index(), &job.local_ranks, config.copy)
}

/// Step 3: makes sure that all ranks have equal settings, and derives from them how this job runs.
///
/// # Errors
/// `Other` if a setting differs; as [`Devices::attach_interface`].
fn agree(config: &Config, connection: &mut Connection, devices: &mut Devices) -> Result<Agreement> {
    let Connection { environment, launcher, job, .. } = connection;
    let ranks = job.local_ranks.len();
    let processors = processors(environment);
    let is_oversubscribed = devices
        .agree(job.rank, &config.agreed, ranks > processors)
        .map_err(|first| settings_mismatch(job.rank, &config.agreed, &first))?;
    // Ranks wait for each other here, so only after all ranks are known to want an interface.
    if config.device == DeviceKind::Tofu {
        let file = job.open_host_file(HostFile::Interface, launcher.as_mut())?;
        devices.attach_interface(file, job.local_index(), &job.local_ranks, &config.tofu)?;
    }
    let machine = if is_oversubscribed {
        devices.share_processors();
        machine_model::OVERSUBSCRIBED
    } else {
        devices.have_processors();
        machine_model::SHARED
    };
    Ok(Agreement {
        processors,
        wait_policy: WaitPolicy::new(config.waiting, ranks, processors),
        progress_mode: config.progress.resolve(ranks, processors),
        machine,
    })
}

/// Step 4: puts everything together.
fn build(
    config: &Config, connection: Connection, devices: Devices, agreement: Agreement,
) -> RunningMpi {
    let Connection { launcher, job, status_table, helper_threads, .. } = connection;
    let Agreement { processors, wait_policy, progress_mode, machine } = agreement;
    let JobView { rank, size, .. } = job;
    tracing::info!(rank, size, processors, "initialized");
    let number = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
    let attributes = WorldAttributes {
        app_number: number(job.app_number),
        universe_size: number(job.universe_size),
    };
    if let Some(table) = &status_table {
        table.clear(rank);
    }
    let settings = MonitorSettings { deadlock: config.deadlock, hang_report: config.hang_report };
    let wait_monitor =
        WaitMonitor::new(settings, rank, size, status_table, || devices.status_table());
    let mut mpi = ProcessMpi::without_world(devices, rank, size, first_objects(), attributes);
    mpi.selection = config.selection.clone().with_machine(machine);
    mpi.offload = config.offload.0.filter(|_| config.device == DeviceKind::Tofu);
    mpi.rdma_schedule = config.rdma_schedule;
    mpi.checked_mode.set(config.check);
    mpi.engine.set_eager_max(config.eager_max.0);
    RunningMpi {
        mpi,
        world: WorldModel::Before,
        launcher,
        wait_monitor,
        sender_end_ns: None,
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
    }
}

/// The settings of this rank differ from those of the first rank that attached.
#[cold]
fn settings_mismatch(rank: u32, ours: &str, first: &SettingsMismatch) -> Box<MpiError> {
    let what = match settings::difference(ours, &first.text) {
        Some((name, ours, theirs)) => {
            format!("{name} is {ours} in rank {rank} but {theirs} in rank {}", first.rank)
        }
        None => format!("settings of rank {rank} are not those of rank {}", first.rank),
    };
    ErrorClass::Other.error(format!("{what}; it must be the same in all ranks of a job"))
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

/// Prints the decisions and their reasons.
fn explain(config: &Config, level: ThreadLevel, connection: &Connection, agreement: &Agreement) {
    let launcher = match &connection.launcher {
        None => "nobody: a job of one",
        Some(launcher) if launcher.prints_aborts() => "the mpirun of this library",
        Some(_) => "another launcher, by PMI",
    };
    let decisions = Decisions {
        config,
        level,
        ranks: connection.job.size,
        launcher,
        host: &host::name(),
        processors: agreement.processors,
        policy: agreement.wait_policy,
        machine: agreement.machine,
        reads_memory: cma::is_allowed(),
    };
    for line in decisions.lines() {
        eprintln!("Suiro: {line}");
    }
}
