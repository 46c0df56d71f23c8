//! Assembly: settings, wire-up and devices become a running [`ProcessMpi`], and calls wait here.
//!
//! ```text
//!   Untouched ──> Early ──first user──> Running ──last user leaves──> Dormant
//!                objects                objects,                        the same, at
//!                only                   engine, launcher <──next user── rest
//! ```
//!
//! Users are the world model, at most once, and sessions (`initialization`).
//!
//! A call enters through one of these doors: [`Process::visit`] for what any thread may call at any
//! time, [`Process::early`] for what works at any time, [`Process::with_mpi`] for what needs MPI to run,
//! [`Process::until`] for what waits (`waiting`). Functions of the application never run with the
//! lock held.

mod abort;
mod devices;
mod finalization;
pub(crate) mod hardware;
pub(crate) mod info_env;
mod initialization;
mod lock;
mod progress_thread;
pub mod settings;
mod waiting;
mod world;

use std::sync::atomic::AtomicU8;

use crate::mpi::objects::Objects;
use platform::base::{ErrorClass, MpiError, Result};
use platform::bootstrap::Client;
use platform::diagnosis::wait_monitor::WaitMonitor;
use platform::diagnosis::wait_report::WaitReport;

pub(crate) use devices::Devices;
pub(crate) use hardware::{host_name, locality_id};
use lock::{Guard, ProcessLock};
use progress_thread::{CallCounters, ProgressThread};
use settings::{Config, ProgressMode};
use waiting::CallWaiters;
use waiting::wait_policy::{SpinHistory, WaitPolicy};
use waiting::wait_state::WaitState;
pub use world::ThreadLevel;
use world::WorldModel;
pub(crate) use world::WorldStage;

/// MPI over the devices in use.
pub(crate) type ProcessMpi = crate::mpi::Mpi<Devices>;

/// This process, as far as MPI goes.
pub(crate) struct Process {
    state: ProcessLock<ProcessState>,
    /// A [`WorldStage`], to be read at any time.
    stage: AtomicU8,
    call_counters: CallCounters,
}

enum ProcessState {
    Uninitialized,
    Early(Box<Objects>),
    Running(Box<RunningMpi>),
    Dormant(Box<RunningMpi>),
}

/// What there is since the first user came. It stays until the process ends: a launcher lets a
/// process join once, and peers know this one by what it shares with them.
struct RunningMpi {
    mpi: ProcessMpi,
    world: WorldModel,
    launcher: Option<Client>,
    /// Publishes and reports calls that wait for long.
    wait_monitor: WaitMonitor,
    /// Threads of this process that never call MPI: those of the launcher's library.
    helper_threads: usize,
    /// Calls that wait while others have the lock.
    waiters: CallWaiters,
    /// [`Engine::events`](crate::engine::Engine::events) when they were last looked after.
    served_events: u64,
    wait_policy: WaitPolicy,
    spin_history: SpinHistory,
    /// The kinds of memory that were asked for.
    memory_kinds: String,
    /// Whether calls may overlap.
    may_overlap: bool,
    /// Whether any user has asked for `MPI_THREAD_MULTIPLE`.
    has_thread_multiple: bool,
    /// How messages move, the progress thread if one runs, and what it does.
    progress_mode: ProgressMode,
    progress_thread: Option<ProgressThread>,
    wait_state: WaitState,
}

impl Process {
    /// A process that has not called MPI.
    pub(crate) const fn new() -> Self {
        Self {
            state: ProcessLock::new(ProcessState::Uninitialized),
            stage: AtomicU8::new(WorldStage::Before as u8),
            call_counters: CallCounters::new(),
        }
    }

    /// Whether the world model or a session uses MPI.
    pub(crate) fn is_running(&self) -> bool {
        matches!(*self.state.visit(), ProcessState::Running(_))
    }

    /// Does what any thread may do at any time, whatever the level of thread support (§11.4.1).
    pub(crate) fn visit<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.visit(), body)
    }

    /// Looks at a running MPI from any thread at any time.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    pub(crate) fn visit_running<T>(
        &self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>,
    ) -> Result<T> {
        body(&mut running_mpi(&mut self.state.visit())?.mpi)
    }

    /// Does what works at any time, also before initialization and after finalization.
    pub(crate) fn early<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.lock(), body)
    }

    /// Looks at or changes MPI, here and now. Reductions that the application must do are done
    /// afterwards, as it may only ever test what they belong to. What goes on without this call,
    /// the progress thread hears of.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    #[inline]
    pub(crate) fn with_mpi<T>(
        &'static self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let now = running_mpi(&mut state)?;
        let long_starts = now.mpi.engine.long_starts();
        let result = body(&mut now.mpi);
        let begun = now.has_started_work(long_starts);
        if now.mpi.engine.has_work() || !now.waiters.is_empty() || begun {
            let starts = begun && now.progress_thread.is_none();
            self.finish_call(state, begun);
            if starts {
                // Without the thread, messages move by calls, as they do anyway.
                drop(self.start_progress_thread());
            }
        }
        result
    }

    /// Does all reductions that wait for the application, and rings those whose wait is over, and
    /// the progress thread if something has begun.
    #[cold]
    fn finish_call<'a>(&'a self, mut state: Guard<'a, ProcessState>, begun: bool) {
        while let ProcessState::Running(now) = &mut *state {
            if let Some(work) = now.mpi.engine.take_work() {
                state.unlocked(|| work.execute());
                if let ProcessState::Running(now) = &mut *state {
                    now.mpi.engine.work_done(&work);
                }
                continue;
            }
            let mut rings = now.serve_waiters();
            if begun {
                now.wake_progress_thread(&mut rings);
            }
            drop(state);
            return rings.notify_all();
        }
    }

    /// Polls once, then looks: for calls that test and come back at once. Where ranks share
    /// processors, one that polled and looked in vain lets others run, who may be those that it
    /// asks for.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    #[inline]
    pub(crate) fn test<T>(
        &self, body: impl FnOnce(&mut ProcessMpi) -> Result<T>, found: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let now = running_mpi(&mut state)?;
        self.call_counters.note_call();
        now.take_over_polling();
        let arrived = if now.waiters.is_delegated() { 0 } else { now.mpi.poll() };
        let result = body(&mut now.mpi);
        let waits = arrived == 0
            && now.wait_policy.is_shared()
            && result.as_ref().is_ok_and(|result| !found(result));
        if now.mpi.engine.has_work() || !now.waiters.is_empty() {
            self.finish_call(state, false);
        } else {
            drop(state);
        }
        if waits {
            std::thread::yield_now();
        }
        result
    }

    /// Starts something and waits until `done` gives a result. `done` is called after each poll,
    /// always with the lock held. What the call waits for, `wait_report` says if that takes long.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `start` and `done` say; a peer that broke the protocol.
    #[inline]
    pub(crate) fn until<S, T>(
        &self, start: impl FnOnce(&mut ProcessMpi) -> Result<S>,
        mut done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
        blocked: impl Fn(&ProcessMpi, &S) -> WaitReport,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let now = running_mpi(&mut state)?;
        let quick = match start(&mut now.mpi) {
            Ok(mut started) => match poll_briefly(now, &mut started, &mut done) {
                Ok(None) => return self.wait(state, &mut started, done, blocked),
                Ok(Some(result)) => Ok(result),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        if !now.waiters.is_empty() {
            self.finish_call(state, false);
        }
        quick
    }
}

/// Polls a few times for what is over at once; where ranks share processors, once.
#[inline(always)]
fn poll_briefly<S, T>(
    now: &mut RunningMpi, started: &mut S,
    mut done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
) -> Result<Option<T>> {
    for look in 0..4 {
        if let Some(result) = done(&mut now.mpi, started)? {
            return Ok(Some(result));
        }
        if now.waiters.is_delegated() || look == 1 && now.wait_policy.is_shared() {
            break;
        }
        now.mpi.poll();
    }
    Ok(None)
}

impl Default for Process {
    fn default() -> Self {
        Self::new()
    }
}

/// The objects of a process that calls MPI for the first time. What is wrong with its settings,
/// initialization says.
fn first_objects() -> Objects {
    let initial_handler = Config::read().map(|config| config.initial_errhandler);
    Objects { initial_handler: initial_handler.unwrap_or_default(), ..Objects::default() }
}

fn with_objects<T>(state: &mut ProcessState, body: impl FnOnce(&mut Objects) -> T) -> T {
    match state {
        ProcessState::Early(objects) => body(objects),
        ProcessState::Running(now) | ProcessState::Dormant(now) => body(&mut now.mpi.objects),
        untouched @ ProcessState::Uninitialized => {
            let mut objects = Box::new(first_objects());
            let result = body(&mut objects);
            *untouched = ProcessState::Early(objects);
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
