//! The progress thread: moves messages while the application computes, by the same functions as
//! calls that wait.
//!
//! ```text
//!           nobody has called for a while              nothing comes
//!   away ────────────────────────────────────> polls ─────────────────> armed: asleep on the device
//!    ▲ ▲                                        │ ▲                           │        │
//!    │ └──────────── somebody waits ────────────┘ └──────── a packet, roused ─┘        │
//!    └── at the end of a slice, or roused ── relieved <── a call polls, and disarms ───┘
//! ```
//!
//! **Whoever waits polls**, so the thread keeps away from calls that wait, and that costs them
//! nothing: to begin and to end a wait is no system call, and peers need not wake a rank of which
//! only this thread sleeps, for a call that polls *relieves* it: the device is disarmed, and the
//! thread finds out at the end of its slice ([`SLICE`]).
//!
//! **Away**, it looks now and then whether somebody has called since, at first soon, then more and
//! more seldom. A call that begins what goes on without it (a long message, a collective of
//! several rounds) rings the thread, by a system call only if it would not look anyway within
//! [`DEAF`]; so a program that begins such a thing and waits at once pays for it once in a while.
//!
//! It enters the lock as a visitor (`lock`), for which calls pay only when they meet it, never
//! runs a function of the application, and handles no signals of it.
//!
//! **Delegated**, all of that is the thread's: it is never away, and calls that wait sleep until
//! it rings them, as in the thread mode of GridMPI (one thread per transport blocks in it, and the
//! application's sleeps until there is progress). It is there for experiments.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering};
use std::thread::JoinHandle;
use std::time::Duration;

use super::bell::{Bell, Slept};
use super::config::Progress;
use super::lock::Guard;
use super::patience::{Habit, Patience, Step};
use super::waiters::Rings;
use super::waiting::{sleep, unlocked_ring};
use super::watch::Watch;
use super::{Process, Running, State, running};
use crate::base::{ErrorClass, Result};
use crate::sys::process::THREAD_NAME;
use crate::sys::{clock, signals};

/// The first look of a thread that is away.
const FIRST: Duration = Duration::from_micros(100);
/// So long the thread is away without listening, at most.
const DEAF: Duration = Duration::from_micros(800);
/// The longest that it is away, for a ten-thousandth of a processor.
const LONGEST: Duration = Duration::from_millis(10);
/// How long the thread sleeps on the device before it looks whether it has been relieved.
pub(super) const SLICE: Duration = LONGEST;

/// A progress thread that runs.
pub struct Progressing {
    thread: JoinHandle<()>,
    shared: Arc<Shared>,
}

/// What the thread and calls know of each other.
struct Shared {
    bell: Arc<Bell>,
    stopping: AtomicBool,
    /// Whether all transport is the thread's.
    delegated: bool,
}

/// Who is inside MPI: written with the lock held, and read by the thread without.
#[derive(Debug, Default)]
pub struct Presence {
    /// Threads that wait.
    waiting: AtomicU32,
    /// Calls so far that polled.
    calls: AtomicU32,
}

impl Presence {
    /// Nobody, ever.
    pub const fn new() -> Self {
        Self { waiting: AtomicU32::new(0), calls: AtomicU32::new(0) }
    }

    /// A call polls. The lock is held.
    #[inline]
    pub fn note_call(&self) {
        add(&self.calls, 1);
    }

    /// A thread begins to wait. The lock is held.
    #[inline]
    pub fn begin_wait(&self) {
        self.note_call();
        add(&self.waiting, 1);
    }

    /// It has ended to. The lock is held.
    #[inline]
    pub fn end_wait(&self) {
        add(&self.waiting, u32::MAX);
    }

    fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Adds to a number that is only written with the lock held.
#[inline]
fn add(number: &AtomicU32, more: u32) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl Progressing {
    /// Starts the thread.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    fn start(process: &'static Process, delegated: bool) -> Result<Self> {
        let (bell, stopping) = (Arc::new(Bell::new()), AtomicBool::new(false));
        let shared = Arc::new(Shared { bell, stopping, delegated });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}progress"));
        let thread = signals::without(|| thread.spawn(move || process.progress(&own)));
        let thread = thread.map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the progress thread: {error}"))
        })?;
        Ok(Self { thread, shared })
    }

    /// Ends the thread, which has been told to. Nothing may be locked.
    pub fn join(self) {
        // A panic of the thread has been printed by itself.
        drop(self.thread.join());
    }
}

impl Running {
    /// Whether something began that a progress thread should hear of: `before` is
    /// [`Engine::long_starts`](crate::core::engine::Engine::long_starts) of before.
    #[inline]
    pub(super) fn has_begun(&self, before: u32) -> bool {
        self.progress != Progress::Polling
            && (self.mpi.engine.long_starts() != before
                || self.watch.is_armed() && self.mpi.engine.has_news())
    }

    /// Calls the progress thread, if there is one: something goes on without this call.
    pub(super) fn summon(&mut self, rings: &mut Rings) {
        let Some(thread) = &self.progressing else { return };
        match self.watch {
            Watch::Away => rings.add(Arc::clone(&thread.shared.bell)),
            // What arrives wakes it.
            Watch::Armed if !self.mpi.engine.has_news() => {}
            Watch::Armed | Watch::Relieved => self.rouse_thread(),
        }
    }

    /// Wakes the progress thread if it sleeps on the device.
    pub(super) fn rouse_thread(&mut self) {
        if self.watch.rouse() {
            self.mpi.engine.rouse();
        }
    }

    /// The caller polls from here on: peers need not wake the progress thread.
    #[inline]
    pub(super) fn relieve(&mut self) {
        if !self.waiters.is_delegated() && self.watch.relieve() {
            self.disarm();
        }
    }

    /// Disarms the device, unless somebody sleeps on it.
    pub(super) fn disarm(&mut self) {
        if !self.watch.is_armed() && !self.waiters.has_dozer() {
            self.mpi.engine.disarm();
        }
    }

    /// Tells the thread to end, if there is one; it is to be joined without the lock.
    pub(super) fn stop_thread(&mut self) -> Option<Progressing> {
        let thread = self.progressing.take()?;
        thread.shared.stopping.store(true, Ordering::SeqCst);
        thread.shared.bell.ring();
        self.rouse_thread();
        self.waiters.set_delegated(false);
        Some(thread)
    }
}

impl Process {
    /// Starts the progress thread, unless there is one.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    pub(super) fn start_progress(&'static self) -> Result {
        let mut state = self.state.visit();
        let now = running(&mut state)?;
        if now.progressing.is_none() {
            let delegated = now.progress == Progress::Delegate;
            now.progressing = Some(Progressing::start(self, delegated)?);
            now.waiters.set_delegated(delegated);
        }
        Ok(())
    }

    /// The thread's whole life.
    fn progress(&self, shared: &Shared) {
        while self.keep_away(shared) {
            let mut state = self.state.visit();
            if self.attend(&mut state, shared).is_err() {
                return;
            }
        }
    }

    /// Keeps away from calls until there have been none for a while; false if the thread is to end.
    fn keep_away(&self, shared: &Shared) -> bool {
        if shared.delegated {
            return !shared.stopping.load(Ordering::SeqCst);
        }
        let mut pause = FIRST;
        loop {
            let calls = self.presence.calls.load(Ordering::Relaxed);
            let slept = if pause <= DEAF {
                std::thread::sleep(pause);
                Slept::Long
            } else {
                shared.bell.sleep_for(pause)
            };
            if shared.stopping.load(Ordering::SeqCst) {
                return false;
            }
            let has_calls = calls != self.presence.calls.load(Ordering::Relaxed);
            pause = match slept {
                Slept::Woken => FIRST,
                Slept::Not => DEAF,
                Slept::Long if has_calls || self.presence.has_waiting() => (2 * pause).min(LONGEST),
                Slept::Long => return true,
            };
        }
    }

    /// Polls, and sleeps on the device, until a call waits or the thread is to end.
    ///
    /// # Errors
    /// `Other` once MPI does not run any more.
    fn attend(&self, state: &mut Guard<'_, State>, shared: &Shared) -> Result {
        let mut habit = Habit::new(running(state)?.policy.of_helper());
        let mut patience = Patience::new(&mut habit);
        loop {
            if state.is_wanted() {
                state.give_way();
            }
            let now = running(state)?;
            let arrived = now.mpi.poll();
            let rings = now.serve();
            unlocked_ring(state, rings);
            // Who stops the thread has the lock then, and so has who begins to wait: the lock stays
            // held from here on until the thread sleeps.
            let stops = shared.stopping.load(Ordering::SeqCst);
            if stops || !shared.delegated && self.presence.has_waiting() {
                return Ok(());
            }
            if arrived > 0 {
                patience.renew();
                continue;
            }
            match patience.next(&mut habit, clock::monotonic_ns) {
                Step::Spin => std::hint::spin_loop(),
                Step::Yield => state.unlocked(std::thread::yield_now),
                Step::Sleep => {
                    // Nobody else does: those who wait listen to bells.
                    let now = running(state)?;
                    let words = shared.delegated.then(|| now.tell_of_others()).flatten();
                    match words {
                        Some(words) => words.say(state),
                        None => drop(sleep(state, None)?),
                    }
                }
            }
        }
    }
}
