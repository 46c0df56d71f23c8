//! Assembly: settings, wire-up and devices become a running [`Mpi`], and calls wait here.
//!
//! ```text
//!   Untouched ──> Early ──initialize──> Running ──finalize──> Late
//!                objects                objects,               objects
//!                only                   engine, launcher       only
//! ```
//!
//! A call enters through one of three doors: [`Process::early`] for what works at any time,
//! [`Process::look`] for what needs MPI to run, [`Process::until`] for what waits. Functions of the
//! application never run with the lock held.

pub mod config;
pub mod description;
mod explain;
mod lock;
mod log;
mod patience;
mod progress;
mod world;

use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::time::Duration;

use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, MpiError, Result};
use crate::bootstrap::{Client, Status};
use crate::device::Wake;
use crate::devices::shm::Shm;
use crate::mpi::objects::Objects;
use crate::sys::{clock, futex};

use config::Config;
use lock::{Guard, Lock};
use patience::{Patience, Policy, Step};
pub use progress::Progressing;
pub use world::{Level, host_name, node};

/// The devices in use, as one device.
pub type Devices = Shm;
/// MPI over the devices in use.
pub type Mpi = crate::mpi::Mpi<Devices>;

/// How long a sleeper sleeps before it looks again although nobody woke it.
const NAP: Duration = Duration::from_millis(100);
/// The same while packets wait for room, which wakes nobody.
const CONGESTED_NAP: Duration = Duration::from_millis(1);

/// This process, as far as MPI goes.
pub struct Process {
    state: Lock<State>,
    /// Threads that wait in MPI: the progress thread lets them poll.
    waiting: AtomicU32,
    /// Whether the progress thread is to end.
    stopping: AtomicBool,
}

enum State {
    Untouched,
    Early(Box<Objects>),
    Running(Box<Running>),
    Late(Box<Objects>),
}

/// What there is between initialization and finalization.
struct Running {
    mpi: Mpi,
    launcher: Option<Client>,
    /// Where the launcher reads what a call waits for.
    status: Option<Status>,
    policy: Policy,
    level: Level,
    main: std::thread::ThreadId,
    progressing: Option<Progressing>,
    /// Threads that have armed the device.
    armed: u32,
}

/// What `MPI_Initialized` and `MPI_Finalized` tell.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Stage {
    /// Before initialization.
    Before,
    /// MPI runs.
    Running,
    /// After finalization.
    After,
}

impl Process {
    /// A process that has not called MPI.
    pub const fn new() -> Self {
        Self {
            state: Lock::new(State::Untouched),
            waiting: AtomicU32::new(0),
            stopping: AtomicBool::new(false),
        }
    }

    /// How far this process is.
    pub fn stage(&self) -> Stage {
        match *self.state.lock() {
            State::Untouched | State::Early(_) => Stage::Before,
            State::Running(_) => Stage::Running,
            State::Late(_) => Stage::After,
        }
    }

    /// Does what works at any time, also before initialization and after finalization.
    pub fn early<T>(&self, body: impl FnOnce(&mut Objects) -> T) -> T {
        match &mut *self.state.lock() {
            State::Early(objects) | State::Late(objects) => body(objects),
            State::Running(running) => body(&mut running.mpi.objects),
            untouched @ State::Untouched => {
                let mut objects = Box::new(first_objects());
                let result = body(&mut objects);
                *untouched = State::Early(objects);
                result
            }
        }
    }

    /// Looks at or changes MPI, here and now. Reductions that the application must do are done
    /// afterwards, as it may only ever test what they belong to.
    ///
    /// # Errors
    /// `Other` unless MPI runs; what `body` says.
    #[inline]
    pub fn look<T>(&self, body: impl FnOnce(&mut Mpi) -> Result<T>) -> Result<T> {
        let mut state = self.state.lock();
        let mpi = &mut running(&mut state)?.mpi;
        let result = body(mpi);
        if mpi.engine.has_work() {
            self.reduce(state);
        }
        result
    }

    /// Does all reductions that wait for the application.
    #[cold]
    fn reduce<'a>(&'a self, mut state: Guard<'a, State>) {
        while let State::Running(now) = &mut *state
            && let Some(work) = now.mpi.engine.take_work()
        {
            drop(state);
            work.execute();
            state = self.state.lock();
            if let State::Running(now) = &mut *state {
                now.mpi.engine.work_done(&work);
            }
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
        let arrived = now.mpi.engine.poll();
        let result = body(&mut now.mpi)?;
        if now.mpi.engine.has_work() {
            self.reduce(state);
        } else if arrived == 0 && now.policy.is_shared() && !found(&result) {
            drop(state);
            std::thread::yield_now();
        }
        Ok(result)
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
        let mut started = start(&mut now.mpi)?;
        for _ in 0..4 {
            if let Some(result) = done(&mut now.mpi, &mut started)? {
                return Ok(result);
            }
            now.mpi.engine.poll();
        }
        self.wait(state, &mut started, done, blocked)
    }

    /// The slow half of `until`, which tells the launcher about waits that take long.
    #[inline(never)]
    fn wait<'a, S, T>(
        &'a self, state: Guard<'a, State>, started: &mut S,
        done: impl FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
        blocked: impl Fn(&Mpi, &S) -> Blocked,
    ) -> Result<T> {
        let _present = Present::new(&self.waiting);
        let mut told_ns = None;
        let result = self.wait_and_tell(state, started, done, |now, started| {
            if let Some(status) = &now.status {
                let since_ns = *told_ns.get_or_insert_with(clock::monotonic_ns);
                status.tell(since_ns, &blocked(&now.mpi, started));
            }
        });
        if told_ns.is_some() {
            self.returning();
        }
        result
    }

    /// The call that told the launcher about itself returns.
    #[cold]
    fn returning(&self) {
        if let State::Running(now) = &*self.state.lock()
            && let Some(status) = &now.status
        {
            status.clear();
        }
    }

    /// Polls, does the application's reductions, yields, tells and sleeps.
    fn wait_and_tell<'a, S, T>(
        &'a self, mut state: Guard<'a, State>, started: &mut S,
        mut done: impl FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
        mut tell: impl FnMut(&Running, &S),
    ) -> Result<T> {
        let mut patience = Patience::new(running(&mut state)?.policy);
        loop {
            let now = running(&mut state)?;
            let arrived = now.mpi.engine.poll();
            if let Some(work) = now.mpi.engine.take_work() {
                drop(state);
                work.execute();
                state = self.state.lock();
                running(&mut state)?.mpi.engine.work_done(&work);
                patience.renew();
                continue;
            }
            if let Some(result) = done(&mut now.mpi, started)? {
                return Ok(result);
            }
            if arrived > 0 {
                patience.renew();
                continue;
            }
            let step = patience.next(clock::monotonic_ns);
            if step == Step::Sleep || patience.is_worth_telling() {
                tell(now, started);
            }
            match step {
                Step::Spin => std::hint::spin_loop(),
                Step::Yield => {
                    now.mpi.engine.fault()?;
                    drop(state);
                    std::thread::yield_now();
                    state = self.state.lock();
                }
                Step::Sleep => state = self.sleep(state, |mpi| mpi.engine.has_work())?,
            }
        }
    }

    /// Arms the device, polls once more, and sleeps with the lock free if nothing came and the
    /// caller is not `wanted`.
    fn sleep<'a>(
        &'a self, mut state: Guard<'a, State>, wanted: impl FnOnce(&Mpi) -> bool,
    ) -> Result<Guard<'a, State>> {
        let now = running(&mut state)?;
        let wake = now.mpi.engine.arm();
        now.armed += 1;
        let quiet = now.mpi.engine.poll() == 0 && !wanted(&now.mpi);
        let nap = if now.mpi.engine.is_congested() { CONGESTED_NAP } else { NAP };
        drop(state);
        if quiet {
            match wake {
                Wake::Never => std::thread::yield_now(),
                Wake::Word { word, expected } => {
                    futex::wait(AsRef::as_ref(&*word), expected, Some(nap));
                }
            }
        }
        let mut state = self.state.lock();
        let now = running(&mut state)?;
        now.armed -= 1;
        if now.armed == 0 {
            now.mpi.engine.disarm();
        }
        Ok(state)
    }
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

/// # Errors
/// `Other` unless MPI runs.
#[inline(always)]
fn running(state: &mut State) -> Result<&mut Running> {
    match state {
        State::Running(running) => Ok(running),
        State::Untouched | State::Early(_) => {
            Err(not_running("MPI has not been initialized (MPI_Init comes first)"))
        }
        State::Late(_) => Err(not_running("MPI has been finalized already")),
    }
}

#[cold]
fn not_running(why: &'static str) -> Box<MpiError> {
    ErrorClass::Other.error(why)
}

/// Counts a thread among those that wait, as long as it lives.
struct Present<'a>(&'a AtomicU32);

impl<'a> Present<'a> {
    fn new(count: &'a AtomicU32) -> Self {
        count.fetch_add(1, Ordering::Relaxed);
        Self(count)
    }
}

impl Drop for Present<'_> {
    fn drop(&mut self) {
        self.0.fetch_sub(1, Ordering::Relaxed);
    }
}
