//! The world model: initialization, finalization, abort (MPI 5.0 §11.2).

use std::convert::Infallible;
use std::os::fd::{AsRawFd, OwnedFd};
use std::path::Path;
use std::sync::atomic::Ordering;
use std::time::Duration;

use super::config::{Config, DeviceKind};
use super::deadlock_detector::DeadlockDetector;
use super::explain::Decisions;
use super::initialization::ProcessModel;
use super::lock::Guard;
use super::wait_policy::{SpinHistory, WaitPolicy};
use super::wait_state::WaitState;
use super::waiting::CallWaiters;
use super::{
    Devices, Process, ProcessMpi, ProcessState, RunningMpi, WorldModel, WorldStage, running,
};
use crate::devices::shm::SettingsMismatch;
use crate::mpi::WorldAttributes;
use crate::mpi::collective::selection::machine_model;
use crate::mpi::collective::selection::machine_model::MachineModel;
use crate::mpi::communicator::COMM_WORLD;
use crate::mpi::point_to_point::buffer::BufferOwner;
use platform::base::{ErrorClass, Result, settings};
use platform::bootstrap::{Client, Environment, JobView, RequiredRanks};
use platform::diagnosis::status::StatusWriter;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{clock, cma, cpu, descriptor, host, process as system, shm, topology};

/// For how long a launcher may take to read what this process has said before it is told to end it.
const LAUNCHER_READ_TIMEOUT: Duration = Duration::from_millis(200);

/// Levels of thread support (§11.6).
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum ThreadLevel {
    /// One thread only.
    Single,
    /// Many, of which one calls MPI.
    Funneled,
    /// Many, of which one at a time calls MPI.
    Serialized,
    /// Many that call MPI at any time.
    Multiple,
}

impl ThreadLevel {
    /// What the standard calls it.
    pub fn name(self) -> &'static str {
        match self {
            Self::Single => "MPI_THREAD_SINGLE",
            Self::Funneled => "MPI_THREAD_FUNNELED",
            Self::Serialized => "MPI_THREAD_SERIALIZED",
            Self::Multiple => "MPI_THREAD_MULTIPLE",
        }
    }
}

impl Process {
    /// Starts the world model with a level of thread support.
    ///
    /// # Errors
    /// `Other` if it has been started before; as [`Process::join`].
    pub(crate) fn initialize(&'static self, level: ThreadLevel) -> Result {
        self.join(ProcessModel::World, level, |now| {
            now.mpi.begin_world()?;
            now.world = WorldModel::Running { level, main: std::thread::current().id() };
            let size = now.mpi.comms.processes();
            now.mpi.objects.infos.environment =
                super::description::of_rank(size, &now.memory_kinds);
            self.stage.store(WorldStage::Running as u8, Ordering::Release);
            Ok(())
        })
    }

    /// The level of thread support of the world model, and whether the caller is the thread that
    /// initialized it.
    ///
    /// # Errors
    /// `Other` outside the world model.
    pub(crate) fn threads(&self) -> Result<(ThreadLevel, bool)> {
        let mut state = self.state.visit();
        match running(&mut state)?.world {
            WorldModel::Running { level, main } => Ok((level, main == std::thread::current().id())),
            WorldModel::Before | WorldModel::After => Err(no_world()),
        }
    }

    /// Ends the world model: waits until every send has left, also the buffered and freed ones,
    /// and all ranks are here; then leaves. The attributes of `MPI_COMM_SELF` are gone already.
    /// Messages of sessions that live on may take longer.
    ///
    /// # Errors
    /// `Other` outside the world model, or if the launcher is gone.
    pub(crate) fn finalize(&self) -> Result {
        self.until(
            |mpi| if mpi.comms.has_world() { Ok(()) } else { Err(no_world()) },
            |mpi, ()| Ok(has_left(mpi).then_some(())),
            |_, ()| WaitReport::new("MPI_Finalize"),
        )?;
        // Nobody sends anything new from here on, so whoever has passed the barrier may leave.
        self.until(
            |mpi| mpi.start_barrier(COMM_WORLD),
            |mpi, activity| Ok((mpi.is_complete(activity) && has_left(mpi)).then_some(())),
            |mpi, activity| mpi.blocked("MPI_Finalize", [activity]),
        )?;
        let mut state = self.state.lock();
        let now = running(&mut state)?;
        now.mpi.end_world();
        now.world = WorldModel::After;
        self.stage.store(WorldStage::After as u8, Ordering::Release);
        drop(state);
        self.leave()
    }

    /// Says why, ends the job with this exit code, and never returns. The lock is free for what
    /// the application registered with atexit(3).
    pub(crate) fn abort(&self, code: i32, why: &str) -> ! {
        abort(&mut self.state.lock(), code, why)
    }
}

/// [`Process::abort`] by who has the lock, which is free while the process ends.
pub(super) fn abort(state: &mut Guard<'_, ProcessState>, code: i32, why: &str) -> ! {
    let say = || eprintln!("Suiro: {why}");
    let mut said = false;
    if let ProcessState::Running(now) | ProcessState::Dormant(now) = &mut **state
        && let Some(launcher) = &mut now.launcher
    {
        if !launcher.prints_aborts() {
            say();
            said = true;
            // Some launchers drop what they have not read of a job that they end.
            descriptor::wait_until_read(std::io::stderr(), LAUNCHER_READ_TIMEOUT);
        }
        // A launcher that is gone tells nobody.
        said |= launcher.abort(code, why).is_ok();
    }
    match state.unlocked(|| -> Infallible {
        if !said {
            say();
        }
        // An exit status has 8 bits, and an abort must not look like success.
        std::process::exit(if code & 0xff == 0 { 255 } else { code })
    }) {}
}

/// What the host calls itself: `MPI_Get_processor_name`.
pub fn host_name() -> String {
    host::name()
}

/// Where this process runs, for the order of ranks in a topology: equal for processes that are
/// bound to processors near each other. All processes of a job are on one host.
pub fn locality_id() -> u64 {
    let read = |path: &Path| std::fs::read_to_string(path).ok();
    let allowed = cpu::affinity().unwrap_or_default();
    let (level, number) = topology::common_object(&allowed, &read);
    (level as u64) << 32 | number as u64
}

/// Whether the messages of the world model have left.
fn has_left(mpi: &ProcessMpi) -> bool {
    let is_alone = mpi.sessions.is_empty();
    if is_alone { mpi.is_drained() } else { mpi.has_flushed(BufferOwner::Process) }
}

#[cold]
fn no_world() -> Box<platform::base::MpiError> {
    ErrorClass::Other.error("this works between MPI_Init and MPI_Finalize only")
}

/// Joins the job and the segment of this host. Nobody uses MPI yet.
///
/// # Errors
/// `Other` for a launcher or peers that cannot be reached; `NoMem` without shared memory.
pub(super) fn assemble(
    config: &Config, company: RequiredRanks, level: ThreadLevel,
) -> Result<RunningMpi> {
    let environment = Environment::read();
    let threads = environment.pmix_rank.map(|_| system::threads());
    let mut launcher = Client::connect(&environment, company)?;
    // Those that libpmix has started never call MPI.
    let helpers = threads.map_or(0, |before| system::threads().saturating_sub(before));
    let place = launcher.as_ref().map(Client::attributes).filter(|place| place.is_own_launcher);
    let status = place.and_then(|place| StatusWriter::open(&environment, place.rank));
    if let Some(status) = &status {
        status.report(clock::monotonic_ns(), &WaitReport::new("MPI_Init"));
    }
    let mut job = JobView::assemble(&environment, launcher.as_mut())?;
    if job.local_ranks.len() != job.size as usize {
        return Err(ErrorClass::Other.error(format!(
            "only {} of the {} ranks run on this host; several hosts are not supported yet",
            job.local_ranks.len(),
            job.size
        )));
    }
    let given = job.segment.take();
    let segment = shared_segment(given, "suiro-segment", &job, launcher.as_mut())?;
    let me = job.local_ranks.iter().position(|rank| *rank == job.rank).unwrap_or(0);
    let mut device = Devices::attach(segment, me, &job.local_ranks, config.copy)?;
    let processors = processors(&environment);
    let policy = WaitPolicy::new(config.waiting, job.local_ranks.len(), processors);
    let crowded = job.local_ranks.len() > processors;
    let progress = config.progress.resolve(job.local_ranks.len(), processors);
    let crowded = device
        .agree(job.rank, &config.agreed, crowded)
        .map_err(|first| settings_mismatch(job.rank, &config.agreed, &first))?;
    // Not before all are known to want one: each of them waits for the others here.
    if config.device == DeviceKind::Tofu {
        let given = job.interface.take();
        let segment = shared_segment(given, "suiro-interface", &job, launcher.as_mut())?;
        device.attach_interface(segment, me, &job.local_ranks, &config.tofu)?;
    }
    let machine = if crowded {
        device.share_processors();
        machine_model::OVERSUBSCRIBED
    } else {
        device.have_processors();
        machine_model::SHARED
    };
    if config.explain && job.rank == 0 {
        explain(config, level, &job, launcher.as_ref(), processors, policy, machine);
    }
    tracing::info!(rank = job.rank, size = job.size, processors, "initialized");
    let number = |value: Option<u32>| value.and_then(|value| i32::try_from(value).ok());
    let facts = WorldAttributes {
        app_number: number(job.app_number),
        universe_size: number(job.universe_size),
    };
    let vigil = DeadlockDetector::new(config, job.rank, job.size, helpers, || device.wait_table());
    let mut mpi =
        ProcessMpi::without_world(device, job.rank, job.size, super::first_objects(), facts);
    mpi.selection = config.selection.clone().with_machine(machine);
    mpi.offload = config.offload.0.filter(|_| config.device == DeviceKind::Tofu);
    mpi.rdma_schedule = config.rdma_schedule;
    mpi.checked_mode.set(config.check);
    mpi.engine.set_eager_max(config.eager_max.0);
    if let Some(status) = &status {
        status.clear();
    }
    Ok(RunningMpi {
        mpi,
        world: WorldModel::Before,
        launcher,
        status,
        reported_wait: None,
        deadlock_detector: vigil,
        waiters: CallWaiters::new(),
        served_events: 0,
        wait_policy: policy,
        spin_history: SpinHistory::new(policy),
        may_overlap: true,
        has_thread_multiple: false,
        memory_kinds: config.memory_kinds.clone(),
        progress_mode: progress,
        progress_thread: None,
        wait_state: WaitState::Away,
    })
}

/// The settings of this rank are not those of the first that came.
#[cold]
fn settings_mismatch(
    rank: u32, ours: &str, first: &SettingsMismatch,
) -> Box<platform::base::MpiError> {
    let what = match settings::difference(ours, &first.text) {
        Some((name, ours, theirs)) => {
            format!("{name} is {ours} in rank {rank} but {theirs} in rank {}", first.rank)
        }
        None => format!("settings of rank {rank} are not those of rank {}", first.rank),
    };
    ErrorClass::Other.error(format!("{what}; it must be the same in all ranks of a job"))
}

/// How many processors the ranks of this host have together. Where the launcher bound each to its
/// own, which the mask of one does not show, it told; unless something else bound this one since.
fn processors(environment: &Environment) -> usize {
    match (&environment.bound, cpu::affinity()) {
        (Some(bound), Ok(own)) if bound.own == own => cpu::within_quota(bound.host_total),
        _ => cpu::allowed(),
    }
}

/// Tells what was decided, and why.
fn explain(
    config: &Config, level: ThreadLevel, job: &JobView, launcher: Option<&Client>,
    processors: usize, policy: WaitPolicy, machine: MachineModel,
) {
    let launcher = match launcher {
        None => "nobody: a job of one",
        Some(launcher) if launcher.prints_aborts() => "the mpirun of this library",
        Some(_) => "another launcher, by PMI",
    };
    let host = host_name();
    let reads_memory = cma::is_allowed();
    let ranks = job.size;
    let decisions = Decisions {
        config,
        level,
        ranks,
        launcher,
        host: &host,
        processors,
        policy,
        machine,
        reads_memory,
    };
    for line in decisions.lines() {
        eprintln!("Suiro: {line}");
    }
}

/// A segment that the ranks of this host share: the one that the launcher has given, else one of
/// the first rank. All ranks of the job call this then.
fn shared_segment(
    given: Option<OwnedFd>, name: &str, job: &JobView, launcher: Option<&mut Client>,
) -> Result<OwnedFd> {
    if let Some(segment) = given {
        return Ok(segment);
    }
    let create = || shm::create().map_err(|error| segment_error(&error.to_string()));
    let Some(launcher) = launcher else { return create() };
    let leader = job.local_ranks.first().copied().unwrap_or(job.rank);
    let key = format!("{name}-{leader}");
    if leader == job.rank {
        let segment = create()?;
        let place = format!("{}:{}", system::own_pid(), segment.as_raw_fd());
        launcher.put(&key, &place)?;
        launcher.barrier()?;
        // The others have opened it when they pass the second barrier.
        launcher.barrier()?;
        return Ok(segment);
    }
    launcher.barrier()?;
    let place = launcher.get(leader, &key)?.unwrap_or_default();
    let opened = open_segment(&place);
    launcher.barrier()?;
    opened
}

fn open_segment(place: &str) -> Result<OwnedFd> {
    let numbers = place.split_once(':');
    let numbers = numbers.and_then(|(pid, fd)| Some((pid.parse().ok()?, fd.parse().ok()?)));
    let (pid, fd) = numbers.ok_or_else(|| segment_error(&format!("{place:?} is no place")))?;
    shm::open_of(pid, fd).map_err(|error| segment_error(&format!("process {pid}: {error}")))
}

fn segment_error(why: &str) -> Box<platform::base::MpiError> {
    ErrorClass::NoMem.error(format!("cannot share memory with the ranks of this host: {why}"))
}
