//! The progress thread: moves messages while the application computes, by the same functions as
//! waiting calls.
//!
//! ```text
//!           no call for a while               no arrival
//!   away ──────────────────────────> polls ──────────────> armed: asleep on the device
//!    ▲ ▲                              │ ▲                          │        │
//!    │ └────── a call waits ──────────┘ └──── a packet, woken ─────┘        │
//!    └── end of a slice, or woken ── disarmed <── a call polls ─────────────┘
//! ```
//!
//! **A waiting call polls**, so the thread stays away from the call and adds no cost: a wait begins
//! and ends without a system call, and other ranks need not wake a rank in which only this thread
//! sleeps. A call that polls *disarms* the device; the thread notices at the end of its slice. Slices
//! begin with [`SLEEP_SLICE`] and double while nothing happens.
//!
//! **While away**, the thread checks whether calls were made since its last check, at growing
//! intervals. A call that starts an operation that continues without it (a long message, a
//! collective of several rounds) notifies the thread. That takes a system call only if the thread's
//! next check is more than [`UNNOTIFIED_PAUSE_MAX`] away, so a program that starts such operations
//! and waits at once rarely pays for one.
//!
//! The thread enters the lock as a visitor (`lock`), which costs calls something only when they
//! meet it. It runs no function of the application and handles no signal of the process.
//!
//! **In the mode `delegate`** only the thread polls: it is never away, and waiting calls sleep
//! until it wakes them, as in the thread mode of GridMPI. This mode is for experiments.

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

/// The first pause of a thread that is away.
const FIRST_PAUSE: Duration = Duration::from_micros(100);
/// The longest pause in which the thread cannot be notified.
const UNNOTIFIED_PAUSE_MAX: Duration = Duration::from_micros(800);
/// The longest pause: a thread that is away uses a ten-thousandth of a processor.
const PAUSE_MAX: Duration = Duration::from_millis(10);
/// The same while one call waits all the time. It is no longer than twice that wait.
const WAITING_PAUSE_MAX: Duration = Duration::from_millis(320);
/// How long the thread sleeps on the device before it first checks whether the device was disarmed.
pub(super) const SLEEP_SLICE: Duration = PAUSE_MAX;

/// A running progress thread.
pub(crate) struct ProgressThread {
    thread: JoinHandle<()>,
    shared: Arc<ProgressControl>,
}

/// State that the thread shares with calls.
struct ProgressControl {
    parker: Arc<Parker>,
    stopping: AtomicBool,
    /// Whether only the thread polls.
    delegated: bool,
}

/// Counters of calls: written with the lock held, read by the thread without the lock.
#[derive(Debug, Default)]
pub(crate) struct CallCounters {
    /// Threads that wait.
    waiting: AtomicU32,
    /// Calls so far that polled.
    calls: AtomicU32,
}

impl CallCounters {
    pub(crate) const fn new() -> Self {
        Self { waiting: AtomicU32::new(0), calls: AtomicU32::new(0) }
    }

    /// Records a call that polls. The lock is held.
    #[inline]
    pub(crate) fn note_call(&self) {
        add_unshared(&self.calls, 1);
    }

    /// Records that a thread begins to wait. The lock is held.
    #[inline]
    pub(crate) fn begin_wait(&self) {
        self.note_call();
        add_unshared(&self.waiting, 1);
    }

    /// Records that a thread has stopped waiting. The lock is held.
    #[inline]
    pub(crate) fn end_wait(&self) {
        add_unshared(&self.waiting, u32::MAX);
    }

    fn has_waiting(&self) -> bool {
        self.waiting.load(Ordering::Relaxed) > 0
    }
}

/// Adds to a number that is written only with the lock held.
#[inline]
fn add_unshared(number: &AtomicU32, more: u32) {
    number.store(number.load(Ordering::Relaxed).wrapping_add(more), Ordering::Relaxed);
}

impl ProgressThread {
    /// # Errors
    /// `NoMem` if the system cannot start a thread.
    fn start(process: &'static Process, delegated: bool) -> Result<Self> {
        let (parker, stopping) = (Arc::new(Parker::new()), AtomicBool::new(false));
        let shared = Arc::new(ProgressControl { parker, stopping, delegated });
        let own = Arc::clone(&shared);
        let thread = std::thread::Builder::new().name(format!("{THREAD_NAME}progress"));
        let thread = signals::without(|| thread.spawn(move || process.run_progress_thread(&own)));
        let thread = thread.map_err(|error| {
            ErrorClass::NoMem.error(format!("cannot start the progress thread: {error}"))
        })?;
        Ok(Self { thread, shared })
    }

    /// Waits for the end of a thread that was asked to stop. The caller holds no lock.
    pub(crate) fn join(self) {
        // The thread has printed its own panic.
        drop(self.thread.join());
    }
}

impl RunningMpi {
    /// Whether an operation was started that continues without the call. `before` is the earlier
    /// value of [`Engine::long_starts`](crate::engine::Engine::long_starts).
    #[inline]
    pub(super) fn has_started_work(&self, before: u32) -> bool {
        self.may_have_thread()
            && (self.mpi.engine.long_starts() != before
                || self.wait_state.is_armed() && self.mpi.needs_poll())
    }

    /// Whether there is no progress thread, and windows or global memory need one.
    pub(super) fn needs_progress_thread(&self) -> bool {
        let is_needed = self.mpi.windows.need_progress() || self.mpi.global_memory.needs_progress();
        is_needed && self.progress_thread.is_none() && self.may_have_thread()
    }

    #[inline]
    fn may_have_thread(&self) -> bool {
        match self.progress_mode {
            ProgressMode::Polling => false,
            ProgressMode::Windows => {
                self.mpi.windows.need_progress() || self.mpi.global_memory.needs_progress()
            }
            ProgressMode::Thread | ProgressMode::Auto | ProgressMode::Delegate => true,
        }
    }

    /// Wakes the progress thread, if there is one: an operation continues without this call.
    pub(super) fn wake_progress_thread(&mut self, wakeups: &mut Wakeups) {
        let Some(thread) = &self.progress_thread else { return };
        match self.wait_state {
            WaitState::Away => wakeups.add(Arc::clone(&thread.shared.parker)),
            // An arrival wakes the thread.
            WaitState::Armed if !self.mpi.needs_poll() => {}
            WaitState::Armed | WaitState::Disarmed => self.wake_thread_on_device(),
        }
    }

    /// Wakes the progress thread if it sleeps on the device.
    pub(super) fn wake_thread_on_device(&mut self) {
        if self.wait_state.wake() {
            self.mpi.engine.wake_self();
        }
    }

    /// The caller polls from now on: other ranks need not wake the progress thread.
    #[inline]
    pub(super) fn take_over_polling(&mut self) {
        if !self.waiters.is_delegated() && self.wait_state.disarm() {
            self.disarm();
        }
    }

    /// Disarms the device, unless a thread sleeps on it.
    pub(super) fn disarm(&mut self) {
        if !self.wait_state.is_armed() && !self.waiters.has_device_sleeper() {
            self.mpi.engine.disarm();
        }
    }

    /// Asks the thread to stop, if there is one. The caller joins it without the lock.
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
    /// `NoMem` if the system cannot start a thread.
    pub(super) fn start_progress_thread(&'static self) -> Result {
        let mut state = self.state.visit();
        let running = running_mpi(&mut state)?;
        if running.progress_thread.is_none() {
            let delegated = running.progress_mode == ProgressMode::Delegate;
            running.progress_thread = Some(ProgressThread::start(self, delegated)?);
            running.waiters.set_delegated(delegated);
        }
        Ok(())
    }

    fn run_progress_thread(&self, shared: &ProgressControl) {
        while self.wait_until_quiet(shared) {
            let mut state = self.state.visit();
            if self.drive_progress(&mut state, shared).is_err() {
                return;
            }
        }
    }

    /// Pauses until there were no calls for a while; false if the thread must stop.
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
                ParkOutcome::TimedOut if has_calls => (2 * pause).min(PAUSE_MAX),
                ParkOutcome::TimedOut if self.call_counters.has_waiting() => {
                    (2 * pause).min(WAITING_PAUSE_MAX)
                }
                ParkOutcome::TimedOut => return true,
            };
        }
    }

    /// Polls, and sleeps on the device, until a call waits or the thread must stop.
    ///
    /// # Errors
    /// `Other` once MPI no longer runs.
    fn drive_progress(
        &self, state: &mut Guard<'_, ProcessState>, shared: &ProgressControl,
    ) -> Result {
        let mut history = SpinHistory::new(running_mpi(state)?.wait_policy.for_progress_thread());
        let mut backoff = WaitBackoff::new(&mut history);
        loop {
            if state.is_contended() {
                state.hand_off();
            }
            let running = running_mpi(state)?;
            let arrived = running.mpi.poll();
            let wakeups = running.serve_waiters();
            notify_unlocked(state, wakeups);
            // A caller that stops the thread, or begins to wait, holds the lock. So the lock
            // remains held from here until the thread sleeps.
            let stops = shared.stopping.load(Ordering::SeqCst);
            if stops || !shared.delegated && self.call_counters.has_waiting() {
                return Ok(());
            }
            if arrived > 0 {
                if running_mpi(state)?.end_lost_accumulates() {
                    state.unlocked(std::thread::yield_now);
                }
                backoff.reset();
                continue;
            }
            match backoff.next(&mut history, clock::monotonic_ns) {
                WaitStep::Spin => std::hint::spin_loop(),
                WaitStep::Yield => state.unlocked(std::thread::yield_now),
                WaitStep::Sleep => {
                    // No other thread sleeps on the device: waiting calls are parked.
                    let running = running_mpi(state)?;
                    let diagnostic =
                        shared.delegated.then(|| running.check_other_waits()).flatten();
                    match diagnostic {
                        Some(diagnostic) => print_and_abort(&diagnostic, state),
                        None => drop(sleep(state, None)?),
                    }
                }
            }
        }
    }
}
