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
//! thread finds out at the end of its slice ([`SLEEP_SLICE`]).
//!
//! **Away**, it looks now and then whether somebody has called since, at first soon, then more and
//! more seldom. A call that begins what goes on without it (a long message, a collective of
//! several rounds) rings the thread, by a system call only if it would not look anyway within
//! [`UNNOTIFIED_PAUSE_MAX`]; so a program that begins such a thing and waits at once pays for it once in a while.
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

use super::lock::Guard;
use super::settings::ProgressMode;
use super::waiting::parker::{ParkOutcome, Parker};
use super::waiting::wait_policy::{SpinHistory, WaitBackoff, WaitStep};
use super::waiting::wait_state::WaitState;
use super::waiting::waiters::Wakeups;
use super::waiting::{notify_unlocked, print_and_abort, sleep};
use super::{Process, ProcessState, RunningMpi, running_mpi};
use platform::base::{ErrorClass, Result};
use platform::sys::process::THREAD_NAME;
use platform::sys::{clock, signals};

/// The first look of a thread that is away.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
/// So long the thread is away without listening, at most.
const UNNOTIFIED_PAUSE_MAX: Duration = Duration::from_micros(800);
/// The longest that it is away, for a ten-thousandth of a processor.
const PAUSE_MAX: Duration = Duration::from_millis(10);
/// How long the thread sleeps on the device before it looks whether it has been relieved.
pub(super) const SLEEP_SLICE: Duration = PAUSE_MAX;

/// A progress thread that runs.
pub(crate) struct ProgressThread {
    thread: JoinHandle<()>,
    shared: Arc<ProgressControl>,
}

/// What the thread and calls know of each other.
struct ProgressControl {
    parker: Arc<Parker>,
    stopping: AtomicBool,
    /// Whether all transport is the thread's.
    delegated: bool,
}

/// Who is inside MPI: written with the lock held, and read by the thread without.
#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    /// Threads that wait.
    waiting: AtomicU32,
    /// Calls so far that polled.
    calls: AtomicU32,
}

impl CallCounters {
    /// Nobody, ever.
    pub(crate) const fn new() -> Self {
        Self { waiting: AtomicU32::new(0), calls: AtomicU32::new(0) }
    }

    /// A call polls. The lock is held.
    #[inline]
    pub(crate) fn note_call(&self) {
        add_unshared(&self.calls, 1);
    }

    /// A thread begins to wait. The lock is held.
    #[inline]
    pub(crate) fn begin_wait(&self) {
        self.note_call();
        add_unshared(&self.waiting, 1);
    }

    /// It has ended to. The lock is held.
    #[inline]
    pub(crate) fn end_wait(&self) {
        add_unshared(&self.waiting, u32::MAX);
    }

    fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Adds to a number that is only written with the lock held.
#[inline]
fn add_unshared(number: &AtomicU32, more: u32) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl ProgressThread {
    /// Starts the thread.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    fn start(process: &'static Process, delegated: bool) -> Result<Self> {
        let (bell, stopping) = (Arc::new(Parker::new()), AtomicBool::new(false));
        let shared = Arc::new(ProgressControl { parker: bell, stopping, delegated });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}progress"));
        let thread = signals::without(|| thread.spawn(move || process.run_progress_thread(&own)));
        let thread = thread.map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the progress thread: {error}"))
        })?;
        Ok(Self { thread, shared })
    }

    /// Ends the thread, which has been told to. Nothing may be locked.
    pub(crate) fn join(self) {
        // A panic of the thread has been printed by itself.
        drop(self.thread.join());
    }
}

impl RunningMpi {
    /// Whether something began that a progress thread should hear of: `before` is
    /// [`Engine::long_starts`](crate::engine::Engine::long_starts) of before.
    #[inline]
    pub(super) fn has_started_work(&self, before: u32) -> bool {
        self.progress_mode != ProgressMode::Polling
            && (self.mpi.engine.long_starts() != before
                || self.wait_state.is_armed() && self.mpi.engine.needs_poll())
    }

    /// Calls the progress thread, if there is one: something goes on without this call.
    pub(super) fn wake_progress_thread(&mut self, rings: &mut Wakeups) {
        let Some(thread) = &self.progress_thread else { return };
        match self.wait_state {
            WaitState::Away => rings.add(Arc::clone(&thread.shared.parker)),
            // What arrives wakes it.
            WaitState::Armed if !self.mpi.engine.needs_poll() => {}
            WaitState::Armed | WaitState::Disarmed => self.wake_thread_on_device(),
        }
    }

    /// Wakes the progress thread if it sleeps on the device.
    pub(super) fn wake_thread_on_device(&mut self) {
        if self.wait_state.wake() {
            self.mpi.engine.wake_self();
        }
    }

    /// The caller polls from here on: peers need not wake the progress thread.
    #[inline]
    pub(super) fn take_over_polling(&mut self) {
        if !self.waiters.is_delegated() && self.wait_state.disarm() {
            self.disarm();
        }
    }

    /// Disarms the device, unless somebody sleeps on it.
    pub(super) fn disarm(&mut self) {
        if !self.wait_state.is_armed() && !self.waiters.has_device_sleeper() {
            self.mpi.engine.disarm();
        }
    }

    /// Tells the thread to end, if there is one; it is to be joined without the lock.
    pub(super) fn stop_thread(&mut self) -> Option<ProgressThread> {
        let thread = self.progress_thread.take()?;
        thread.shared.stopping.store(true, Ordering::SeqCst);
        thread.shared.parker.notify();
        self.wake_thread_on_device();
        self.waiters.set_delegated(false);
        Some(thread)
    }
}

impl Process {
    /// Starts the progress thread, unless there is one.
    ///
    /// # Errors
    /// `NoMem` if the system gives no thread.
    pub(super) fn start_progress_thread(&'static self) -> Result {
        let mut state = self.state.visit();
        let now = running_mpi(&mut state)?;
        if now.progress_thread.is_none() {
            let delegated = now.progress_mode == ProgressMode::Delegate;
            now.progress_thread = Some(ProgressThread::start(self, delegated)?);
            now.waiters.set_delegated(delegated);
        }
        Ok(())
    }

    /// The thread's whole life.
    fn run_progress_thread(&self, shared: &ProgressControl) {
        while self.wait_until_quiet(shared) {
            let mut state = self.state.visit();
            if self.drive_progress(&mut state, shared).is_err() {
                return;
            }
        }
    }

    /// Keeps away from calls until there have been none for a while; false if the thread is to end.
    fn wait_until_quiet(&self, shared: &ProgressControl) -> bool {
        if shared.delegated {
            return !shared.stopping.load(Ordering::SeqCst);
        }
        let mut pause = FIRST_PAUSE;
        loop {
            let calls = self.call_counters.calls.load(Ordering::Relaxed);
            let slept = if pause <= UNNOTIFIED_PAUSE_MAX {
                std::thread::sleep(pause);
                ParkOutcome::TimedOut
            } else {
                shared.parker.park_timeout(pause)
            };
            if shared.stopping.load(Ordering::SeqCst) {
                return false;
            }
            let has_calls = calls != self.call_counters.calls.load(Ordering::Relaxed);
            pause = match slept {
                ParkOutcome::Notified => FIRST_PAUSE,
                ParkOutcome::AlreadyNotified => UNNOTIFIED_PAUSE_MAX,
                ParkOutcome::TimedOut if has_calls || self.call_counters.has_waiting() => {
                    (2 * pause).min(PAUSE_MAX)
                }
                ParkOutcome::TimedOut => return true,
            };
        }
    }

    /// Polls, and sleeps on the device, until a call waits or the thread is to end.
    ///
    /// # Errors
    /// `Other` once MPI does not run any more.
    fn drive_progress(
        &self, state: &mut Guard<'_, ProcessState>, shared: &ProgressControl,
    ) -> Result {
        let mut habit = SpinHistory::new(running_mpi(state)?.wait_policy.for_progress_thread());
        let mut patience = WaitBackoff::new(&mut habit);
        loop {
            if state.is_contended() {
                state.hand_off();
            }
            let now = running_mpi(state)?;
            let arrived = now.mpi.poll();
            let rings = now.serve_waiters();
            notify_unlocked(state, rings);
            // Who stops the thread has the lock then, and so has who begins to wait: the lock stays
            // held from here on until the thread sleeps.
            let stops = shared.stopping.load(Ordering::SeqCst);
            if stops || !shared.delegated && self.call_counters.has_waiting() {
                return Ok(());
            }
            if arrived > 0 {
                patience.reset();
                continue;
            }
            match patience.next(&mut habit, clock::monotonic_ns) {
                WaitStep::Spin => std::hint::spin_loop(),
                WaitStep::Yield => state.unlocked(std::thread::yield_now),
                WaitStep::Sleep => {
                    // Nobody else does: those who wait listen to bells.
                    let now = running_mpi(state)?;
                    let diagnostic = shared.delegated.then(|| now.check_other_waits()).flatten();
                    match diagnostic {
                        Some(diagnostic) => print_and_abort(&diagnostic, state),
                        None => drop(sleep(state, None)?),
                    }
                }
            }
        }
    }
}
