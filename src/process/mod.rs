//! Assembly: settings, wire-up and devices become a running [`Mpi`], and calls wait here.
//!
//! ```text
//!   Untouched ──> Early ──first user──> Running ──last user leaves──> Dormant
//!                objects                objects,                        the same, at
//!                only                   engine, launcher <──next user── rest
//! ```
//!
//! Users are the world model, at most once, and sessions (`users`).
//!
//! A call enters through one of these doors: [`Process::visit`] for what any thread may call at any
//! time, [`Process::early`] for what works at any time, [`Process::look`] for what needs MPI to run,
//! [`Process::until`] for what waits (`waiting`). Functions of the application never run with the
//! lock held.

mod bell;
pub mod config;
pub mod description;
mod devices;
mod explain;
mod gate;
mod gate_primitive;
mod interface;
mod lock;
mod log;
mod patience;
mod primitive;
mod progress;
mod users;
mod vigil;
mod waiters;
mod waiting;
mod watch;
mod world;

#[cfg(all(test, loom))]
mod model;
#[cfg(all(test, loom))]
mod model_gate;

use std::sync::atomic::{AtomicU8, Ordering};

use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, MpiError, Result};
use crate::bootstrap::{Client, Status};
use crate::mpi::objects::Objects;

use config::{Config, Progress};
pub use devices::Devices;
use lock::{Guard, Lock};
use patience::{Habit, Policy};
use progress::Presence;
pub use progress::Progressing;
use vigil::Vigil;
use waiting::Waiters;
use watch::Watch;
pub use world::{Level, host_name, node};

/// MPI over the devices in use.
pub type Mpi = crate::mpi::Mpi<Devices>;

/// This process, as far as MPI goes.
pub struct Process {
    state: Lock<State>,
    /// A [`Stage`], to be read at any time.
    stage: AtomicU8,
    presence: Presence,
}

enum State {
    Untouched,
    Early(Box<Objects>),
    Running(Box<Running>),
    Dormant(Box<Running>),
}

/// What there is since the first user came. It stays until the process ends: a launcher lets a
/// process join once, and peers know this one by what it shares with them.
struct Running {
    mpi: Mpi,
    world: World,
    launcher: Option<Client>,
    /// Where the launcher reads what a call waits for, and which one it was told of.
    status: Option<Status>,
    told: Option<waiting::Ticket>,
    /// Watches over calls that wait for long.
    vigil: Vigil,
    /// Calls that wait while others have the lock.
    waiters: Waiters,
    /// [`Engine::events`](crate::core::engine::Engine::events) when they were last looked after.
    served: u64,
    policy: Policy,
    habit: Habit,
    /// The kinds of memory that were asked for.
    memory_kinds: String,
    /// Whether calls may overlap.
    met: bool,
    /// Whether any user has asked for `MPI_THREAD_MULTIPLE`.
    multiple: bool,
    /// How messages move, the progress thread if one runs, and what it does.
    progress: Progress,
    progressing: Option<Progressing>,
    watch: Watch,
}

/// The world model in this process.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum World {
    Before,
    Running { level: Level, main: std::thread::ThreadId },
    After,
}

impl World {
    fn stage(self) -> Stage {
        match self {
            Self::Before => Stage::Before,
            Self::Running { .. } => Stage::Running,
            Self::After => Stage::After,
        }
    }
}

/// What `MPI_Initialized` and `MPI_Finalized` tell: how far the world model is.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
#[repr(u8)]
pub enum Stage {
    /// Before `MPI_Init`.
    Before,
    /// It runs.
    Running,
    /// After `MPI_Finalize`.
    After,
}

impl Process {
    /// A process that has not called MPI.
    pub const fn new() -> Self {
        Self {
            state: Lock::new(State::Untouched),
            stage: AtomicU8::new(Stage::Before as u8),
            presence: Presence::new(),
        }
    }

    /// How far the world model is, whatever sessions there are. Any thread may ask at any time,
    /// also while another initializes.
    pub fn stage(&self) -> Stage {
        match self.stage.load(Ordering::Acquire) {
            stage if stage == Stage::Before as u8 => Stage::Before,
            stage if stage == Stage::Running as u8 => Stage::Running,
            _ => Stage::After,
        }
    }

    /// Whether the world model or a session uses MPI.
    pub fn is_running(&self) -> bool {
        matches!(*self.state.visit(), State::Running(_))
    }

    /// Does what any thread may do at any time, whatever the level of thread support (§11.4.1).
    pub fn visit<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.visit(), body)
    }

    /// Looks at a running MPI from any thread at any time.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    pub fn visit_running<T>(&self, body: impl FnOnce(&mut Mpi) -> Result<T>) -> Result<T> {
        body(&mut running(&mut self.state.visit())?.mpi)
    }

    /// Does what works at any time, also before initialization and after finalization.
    pub fn early<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        with_objects(&mut self.state.lock(), body)
    }

    /// Looks at or changes MPI, here and now. Reductions that the application must do are done
    /// afterwards, as it may only ever test what they belong to. What goes on without this call,
    /// the progress thread hears of.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    #[inline]
    pub fn look<T>(&'static self, body: impl FnOnce(&mut Mpi) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let now = running(&mut state)?;
        let long_starts = now.mpi.engine.long_starts();
        let result = body(&mut now.mpi);
        let begun = now.has_begun(long_starts);
        if now.mpi.engine.has_work() || !now.waiters.is_empty() || begun {
            let starts = begun && now.progressing.is_none();
            self.look_after(state, begun);
            if starts {
                // Without the thread, messages move by calls, as they do anyway.
                drop(self.start_progress());
            }
        }
        result
    }

    /// Does all reductions that wait for the application, and rings those whose wait is over, and
    /// the progress thread if something has begun.
    #[cold]
    fn look_after<'a>(&'a self, mut state: Guard<'a, State>, begun: bool) {
        while let State::Running(now) = &mut *state {
            if let Some(work) = now.mpi.engine.take_work() {
                state.unlocked(|| work.execute());
                if let State::Running(now) = &mut *state {
                    now.mpi.engine.work_done(&work);
                }
                continue;
            }
            let mut rings = now.serve();
            if begun {
                now.summon(&mut rings);
            }
            drop(state);
            return rings.ring();
        }
    }

    /// Polls once, then looks: for calls that test and come back at once. Where ranks share
    /// processors, one that polled and looked in vain lets others run, who may be those that it
    /// asks for.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    #[inline]
    pub fn test<T>(
        &self, body: impl FnOnce(&mut Mpi) -> Result<T>, found: impl FnOnce(&T) -> bool,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let now = running(&mut state)?;
        self.presence.note_call();
        now.relieve();
        let arrived = if now.waiters.is_delegated() { 0 } else { now.mpi.poll() };
        let result = body(&mut now.mpi);
        let waits = arrived == 0
            && now.policy.is_shared()
            && result.as_ref().is_ok_and(|result| !found(result));
        if now.mpi.engine.has_work() || !now.waiters.is_empty() {
            self.look_after(state, false);
        } else {
            drop(state);
        }
        if waits {
            std::thread::yield_now();
        }
        result
    }

    /// Starts something and waits until `done` gives a result. `done` is called after each poll,
    /// always with the lock held. What the call waits for, `blocked` says if that takes long.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `start` and `done` say; a peer that broke the protocol.
    #[inline]
    pub fn until<S, T>(
        &self, start: impl FnOnce(&mut Mpi) -> Result<S>,
        mut done: impl FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
        blocked: impl Fn(&Mpi, &S) -> Blocked,
    ) -> Result<T> {
        let mut state = self.state.lock();
        let now = running(&mut state)?;
        let quick = match start(&mut now.mpi) {
            Ok(mut started) => match look_quickly(now, &mut started, &mut done) {
                Ok(None) => return self.wait(state, &mut started, done, blocked),
                Ok(Some(result)) => Ok(result),
                Err(error) => Err(error),
            },
            Err(error) => Err(error),
        };
        if !now.waiters.is_empty() {
            self.look_after(state, false);
        }
        quick
    }
}

/// Polls a few times for what is over at once; where ranks share processors, once.
#[inline(always)]
fn look_quickly<S, T>(
    now: &mut Running, started: &mut S, mut done: impl FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
) -> Result<Option<T>> {
    for look in 0..4 {
        if let Some(result) = done(&mut now.mpi, started)? {
            return Ok(Some(result));
        }
        if now.waiters.is_delegated() || look == 1 && now.policy.is_shared() {
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

fn with_objects<T>(state: &mut State, body: impl FnOnce(&mut Objects) -> T) -> T {
    match state {
        State::Early(objects) => body(objects),
        State::Running(now) | State::Dormant(now) => body(&mut now.mpi.objects),
        untouched @ State::Untouched => {
            let mut objects = Box::new(first_objects());
            let result = body(&mut objects);
            *untouched = State::Early(objects);
            result
        }
    }
}

/// # Errors
/// `Other` unless MPI runs.
#[inline(always)]
fn running(state: &mut State) -> Result<&mut Running> {
    match state {
        State::Running(running) => Ok(running),
        State::Untouched | State::Early(_) => {
            Err(not_running("MPI has not been initialized (MPI_Init comes first)"))
        }
        State::Dormant(_) => Err(not_running("MPI has been finalized already")),
    }
}

#[cold]
fn not_running(why: &'static str) -> Box<MpiError> {
    ErrorClass::Other.error(why)
}
