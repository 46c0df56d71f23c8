//! The process: MPI as a value, with settings, launcher, devices, a lock and waiting calls around
//! it.
//!
//! ```text
//!   Uninitialized ──> Early ── first user ──> Running ── last user leaves ──> Dormant
//!                     objects                 objects, engine,                the same, without
//!                     only                    launcher       <── next user ── threads
//! ```
//!
//! Users are the world model, at most once, and sessions.
//!
//! | module | content |
//! |---|---|
//! | `initialization`, `connection` | `MPI_Init`: connect, reach, attach, agree, build |
//! | `finalization`, `abort` | `MPI_Finalize`; the end of a job by an error |
//! | `failure_watch`, `launcher_watch` | threads that sleep until another rank or the launcher ends |
//! | `world` | stage and thread level of the world model |
//! | `lock` | one thread at a time in MPI |
//! | `waiting` | what a call does until it completes: poll, yield, park, sleep |
//! | `progress_thread` | moves messages while the application computes |
//! | `settings` | `SUIRO_*`, the log, explanations of decisions |
//! | `other_jobs`, `spawning` | connections with other jobs; processes that this one has started |
//! | `files` | files of the system, and threads for accesses that do not wait |
//! | `global_memory` | accesses to global memory that wait |
//! | `devices` | the devices in use, as one device |
//! | `fabric` | the endpoint of libfabric, and the addresses of those of all ranks |
//! | `carrier_end` | the end of another library that carries messages |
//! | `hardware`, `info_env` | facts about the host and this process |
//!
//! Every call enters by one of these functions: [`Process::visit`] for what any thread may call at
//! any time, [`Process::early`] for what also works before initialization, [`Process::with_mpi`]
//! for what needs MPI, [`Process::until`] for what waits. No function of the application runs while
//! the lock is held.

mod abort;
mod carrier_end;
mod clients;
mod connection;
pub(crate) mod contention;
mod devices;
mod fabric;
mod failure_watch;
pub(crate) mod files;
mod finalization;
mod global_memory;
pub(crate) mod hardware;
pub(crate) mod info_env;
mod initialization;
mod launcher_watch;
mod lock;
pub(crate) mod other_jobs;
mod progress_thread;
pub(crate) mod published_names;
pub mod settings;
pub(crate) mod spawning;
mod waiting;
pub(crate) mod window_end;
mod world;

use std::sync::atomic::{AtomicPtr, AtomicU8};
use std::sync::{Arc, OnceLock};

use crate::global_memory::front::GlobalFront;
use crate::mpi::attribute::Attributes;
use crate::mpi::communicator::COMM_NULL;
use crate::mpi::handle::Handle;
use crate::mpi::objects::Objects;
use crate::mpi::partitioned::table::PartitionedTable;
use crate::mpi::request::{Activity, Outcome};
use platform::base::{ErrorClass, MpiError, Result};
use platform::bootstrap::{Client, JobHosts};
use platform::diagnosis::ended_ranks::EndedRanks;
use platform::diagnosis::wait_monitor::WaitMonitor;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::vendor::VendorLibrary;

use clients::WorldOfJob;
use contention::Contention;
pub(crate) use devices::Devices;
pub(crate) use hardware::{host_name, locality_id};
use lock::{Guard, ProcessLock};
use progress_thread::{CallCounters, ProgressThread};
use published_names::PublishedNames;
use settings::{Config, ProgressMode};
use spawning::ChildJob;
use waiting::CallWaiters;
use waiting::wait_policy::{SpinHistory, WaitPolicy};
use waiting::wait_state::WaitState;
pub use world::ThreadLevel;
use world::WorldModel;
pub(crate) use world::WorldStage;

/// MPI over the devices in use.
pub(crate) type ProcessMpi = crate::mpi::Mpi<Devices>;
/// Its message engine.
pub(crate) type ProcessEngine = crate::engine::Engine<Devices>;

/// MPI in this process.
pub(crate) struct Process {
    state: ProcessLock<ProcessState>,
    /// A [`WorldStage`]. Any thread may read it at any time, without the lock.
    stage: AtomicU8,
    call_counters: CallCounters,
    /// The partitioned operations, from the first initialization on, without the lock.
    partitioned: OnceLock<Arc<PartitionedTable>>,
    /// Global memory in use, without the lock; null if none is. It is never freed: a thread may be about to
    /// use it.
    global_front: AtomicPtr<GlobalFront>,
}

enum ProcessState {
    Uninitialized,
    Early(Box<Objects>),
    Running(Box<RunningMpi>),
    Dormant(Box<RunningMpi>),
}

/// MPI after the first user has joined. It exists until the process exits: most launchers let a
/// process join once, and other ranks keep pointers into the memory that they share with this one.
struct RunningMpi {
    mpi: ProcessMpi,
    world: WorldModel,
    launcher: Option<Client>,
    /// The ranks that have ended, until the watch starts, if the job survives failures.
    ended_ranks: Option<EndedRanks>,
    /// The hosts of all ranks.
    hosts: JobHosts,
    /// Publishes and reports calls that wait for long.
    wait_monitor: WaitMonitor,
    /// When the process of a peer whose message is on its way was first seen to have ended, in
    /// nanoseconds of the host's clock.
    sender_end_ns: Option<u64>,
    /// Accumulates of other hosts that a rank of this host keeps out.
    served_contention: Contention,
    /// The MPI library that carries messages, if another one does, until it is finalized.
    vendor: Option<Arc<VendorLibrary>>,
    /// Threads of this process that never call MPI: those of the launcher's library.
    helper_threads: Vec<u32>,
    /// Calls that wait while other threads hold the lock.
    waiters: CallWaiters,
    /// [`Engine::events`](crate::engine::Engine::events) when they were last looked after.
    served_events: u64,
    wait_policy: WaitPolicy,
    spin_history: SpinHistory,
    /// The requested kinds of memory (`SUIRO_MEMORY_KINDS`).
    memory_kinds: String,
    /// Whether calls of several threads may overlap.
    may_overlap: bool,
    /// Whether a user has requested `MPI_THREAD_MULTIPLE`.
    has_thread_multiple: bool,
    progress_mode: ProgressMode,
    /// `None` while no progress thread runs.
    progress_thread: Option<ProgressThread>,
    wait_state: WaitState,
    /// Jobs that this process has started, while they are connected.
    children: Vec<ChildJob>,
    /// Where the processes that have started this one accept it, until it has connected.
    parent_port: Option<String>,
    /// The intercommunicator with the processes that have started this one.
    parent: Option<Handle>,
    /// Published names that the launcher does not serve.
    names: PublishedNames,
    /// What rank 0 has for all ranks of the job in a world of several clients.
    world_of_job: Option<WorldOfJob>,
    /// Whether this process leaves its world of clients when it ends.
    parts_at_exit: bool,
}

impl Process {
    /// A process that has not called MPI.
    pub(crate) const fn new() -> Self {
        Self {
            state: ProcessLock::new(ProcessState::Uninitialized),
            stage: AtomicU8::new(WorldStage::Before as u8),
            call_counters: CallCounters::new(),
            partitioned: OnceLock::new(),
            global_front: AtomicPtr::new(std::ptr::null_mut()),
        }
    }

    /// The partitioned operations, for calls without the lock; `None` before the first initialization.
    #[inline]
    pub(crate) fn partitioned(&self) -> Option<&PartitionedTable> {
        self.partitioned.get().map(|table| &**table)
    }

    /// The name of the host of this rank, if MPI runs and the job has several hosts.
    pub(crate) fn own_host(&self) -> Option<String> {
        let mut state = self.state.visit();
        let running = running_mpi(&mut state).ok()?;
        let me = running.mpi.engine.me();
        let hosts = Some(&running.hosts).filter(|hosts| !hosts.is_one());
        hosts.map(|hosts| hosts.name_of(me).to_owned())
    }

    /// Whether the world model or a session uses MPI.
    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.state.visit(), ProcessState::Running(_))
    }

    /// Uses objects that any thread may use at any time, whatever the level of thread support
    /// (§11.4.1).
    pub(crate) fn visit<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.visit(), body)
    }

    /// Uses a running MPI from any thread at any time.
    ///
    /// # Errors
    /// `Other` unless MPI runs; the errors of `body`.
    pub(crate) fn visit_running<T>(
        &self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>,
    ) -> Result<T> {
        body(&mut running_mpi(&mut self.state.visit())?.mpi)
    }

    /// Uses objects that exist before initialization and after finalization too.
    pub(crate) fn early<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.lock(), body)
    }

    /// Uses MPI without waiting. Pending work of the application is executed afterwards, as
    /// the application may never wait for the operations that they belong to. The progress thread
    /// is woken if an operation has started that continues without this call.
    ///
    /// # Errors
    /// `Other` unless MPI runs; the errors of `body`.
    #[inline]
    pub(crate) fn with_mpi<T>(
        &'static self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        let long_starts = running.mpi.engine.long_starts();
        let result = body(&mut running.mpi);
        let has_started = running.has_started_work(long_starts);
        if running.mpi.has_user_work() || !running.waiters.is_empty() || has_started {
            let needs_thread = has_started && running.progress_thread.is_none();
            self.finish_call(state, has_started);
            if needs_thread {
                // Without the thread, messages move inside calls only.
                drop(self.start_progress_thread());
            }
        }
        result
    }

    /// Uses MPI for what neither starts nor completes an operation. False, without effect, unless MPI runs
    /// and this thread needs no mutex.
    #[inline(always)]
    pub(crate) fn briefly(&self, body: impl FnOnce(&mut ProcessMpi) -> bool) -> bool {
        match self.state.lock_by_bias().as_deref_mut() {
            Some(ProcessState::Running(running)) => body(&mut running.mpi),
            _ => false,
        }
    }

    /// Executes all pending work of the application; then wakes threads whose waits are
    /// complete, and the progress thread if an operation has started.
    #[cold]
    fn finish_call<'a>(&'a self, mut state: Guard<'a, ProcessState>, has_started: bool) {
        while let ProcessState::Running(running) = &mut *state {
            if let Some(work) = running.mpi.take_user_work() {
                let end = state.unlocked(|| work.execute());
                if let ProcessState::Running(running) = &mut *state {
                    running.mpi.end_user_work(end);
                }
                continue;
            }
            let mut wakeups = running.serve_waiters();
            if has_started {
                running.wake_progress_thread(&mut wakeups);
            }
            drop(state);
            return wakeups.notify_all();
        }
    }

    /// Polls once, then tests. An unsuccessful test gives the lock to a thread that waits for it. If
    /// ranks share processors, it yields: the rank that the test depends on may need this processor.
    ///
    /// # Errors
    /// `Other` unless MPI runs; the errors of `body`.
    #[inline]
    pub(crate) fn test<T>(
        &self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>, found: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        self.test_locked(self.state.lock(), body, found)
    }

    /// [`Process::test`] unless another thread has the lock: then `None`, and the thread yields, as the
    /// other thread may need this processor.
    ///
    /// # Errors
    /// As [`Process::test`].
    pub(crate) fn try_test<T>(
        &self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>, found: impl FnOnce(&T) -> bool,
    ) -> Result<Option<T>> {
        let Some(state) = self.state.try_lock() else {
            std::thread::yield_now();
            return Ok(None);
        };
        self.test_locked(state, body, found).map(Some)
    }

    #[inline(always)]
    fn test_locked<'a, T>(
        &'a self, mut state: Guard<'a, ProcessState>,
        body: impl FnOnce(&mut ProcessMpi) -> Result<T>, found: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        let running = running_mpi(&mut state)?;
        self.call_counters.note_call();
        running.take_over_polling();
        let arrived = if running.waiters.is_delegated() { 0 } else { running.mpi.poll() };
        let are_kept_out = arrived > 0 && running.end_lost_accumulates();
        let result = body(&mut running.mpi);
        let has_news = arrived > 0 && !are_kept_out;
        let is_idle = !has_news && result.as_ref().is_ok_and(|result| !found(result));
        let yields = is_idle && running.wait_policy.is_shared();
        let has_more = running.mpi.has_user_work() || !running.waiters.is_empty();
        let passes_on = is_idle && state.is_contended();
        if has_more {
            if passes_on {
                state.hand_off();
            }
            self.finish_call(state, false);
        } else if passes_on {
            state.pass_on();
        } else {
            drop(state);
        }
        if yields {
            std::thread::yield_now();
        }
        result
    }

    /// Starts an operation and waits until `done` returns a result. `done` is called after each
    /// poll with the lock held. `report` describes the operation if the wait takes long.
    ///
    /// # Errors
    /// `Other` unless MPI runs; the errors of `start` and `done`, which leave no operation in
    /// progress.
    #[inline]
    pub(crate) fn until<S, T>(
        &self, start: impl FnOnce(&mut ProcessMpi) -> Result<S>,
        mut done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
        report: impl Fn(&ProcessMpi, &S) -> WaitReport,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let running = running_mpi(&mut state)?;
        let quick = match start(&mut running.mpi) {
            Ok(mut started) => match poll_briefly(running, &mut started, &mut done) {
                Ok(None) => return self.wait(state, &mut started, done, report),
                Ok(Some(result)) => Ok(result),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        if !running.waiters.is_empty() {
            self.finish_call(state, false);
        }
        quick
    }
}

/// Waits for activities.
impl Process {
    /// Starts an activity for the function `name` and waits for its end.
    ///
    /// # Errors
    /// `Other` unless MPI runs; the errors of `start`.
    #[inline]
    pub(crate) fn wait_for(
        &self, name: &str, start: impl FnOnce(&mut ProcessMpi) -> Result<Activity>,
    ) -> Result<Outcome> {
        self.until(
            start,
            |mpi, activity| Ok(mpi.end_if_complete(activity)),
            |mpi, activity| mpi.blocked(name, [activity]),
        )
    }

    /// A duplicate of a communicator, for an object of the library.
    ///
    /// # Errors
    /// `Comm`; errors of messages.
    pub(crate) fn private_comm(&self, name: &str, comm: Handle) -> Result<Handle> {
        let mut private = COMM_NULL;
        let outcome = self.wait_for(name, |mpi| {
            let (own, activity) = mpi.duplicate(comm, Attributes::default())?;
            private = own;
            Ok(activity)
        })?;
        outcome.error.map_or(Ok(private), Err)
    }
}

/// Polls a few times for an operation that completes at once; one time if ranks share processors.
#[inline(always)]
fn poll_briefly<S, T>(
    running: &mut RunningMpi, started: &mut S,
    mut done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
) -> Result<Option<T>> {
    for look in 0..4 {
        if let Some(result) = done(&mut running.mpi, started)? {
            return Ok(Some(result));
        }
        if running.waiters.is_delegated() || look == 1 && running.wait_policy.is_shared() {
            break;
        }
        running.mpi.poll();
    }
    Ok(None)
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

/// The objects of a process that calls MPI for the first time. Initialization reports bad settings.
fn first_objects() -> Objects {
    let initial_handler = Config::read().map(|config| config.initial_errhandler);
    Objects { initial_handler: initial_handler.unwrap_or_default(), ..Objects::default() }
}

fn with_objects<T>(state: &mut ProcessState, body: impl FnOnce(&mut Objects) -> T) -> T {
    match state {
        ProcessState::Early(objects) => body(objects),
        ProcessState::Running(running) | ProcessState::Dormant(running) => {
            body(&mut running.mpi.objects)
        }
        uninitialized @ ProcessState::Uninitialized => {
            let mut objects = Box::new(first_objects());
            let result = body(&mut objects);
            *uninitialized = ProcessState::Early(objects);
            result
        }
    }
}

/// # Errors
/// `Other` unless MPI runs.
#[inline(always)]
fn running_mpi(state: &mut ProcessState) -> Result<&mut RunningMpi> {
    match state {
        ProcessState::Running(running) => Ok(running),
        ProcessState::Uninitialized | ProcessState::Early(_) => {
            Err(not_running("MPI has not been initialized (MPI_Init comes first)"))
        }
        ProcessState::Dormant(_) => Err(not_running("MPI has been finalized already")),
    }
}

#[cold]
fn not_running(why: &'static str) -> Box<MpiError> {
    ErrorClass::Other.error(why)
}
