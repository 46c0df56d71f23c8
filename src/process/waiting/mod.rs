//! Waiting calls: poll, execute work of the application (reductions, conversions), yield, and sleep with the lock free.
//!
//! All calls wait by one function. If several threads wait, one polls and the others park. A thread
//! that finds the wait of another thread complete, in a poll or in any call, ends that wait on
//! behalf of its owner and wakes the owner (`waiters` has the protocol). Calls that never overlap
//! use the same function and meet no other thread.
//!
//! The progress thread (`progress_thread`) polls and sleeps by the same functions. In the mode
//! `delegate` only that thread polls, and every call parks.
//!
//! ```text
//!   waiters   who polls, who is parked, who is woken      parker       one thread sleeps on a word
//!   wait_policy   spin, yield or sleep                    wait_state   the progress thread's sleep
//!   report        long waits, for the monitor of waits (`platform::diagnosis::wait_monitor`)
//! ```
#![allow(unsafe_code)]

pub(super) mod parker;
mod primitive;
mod report;
pub(super) mod wait_policy;
pub(super) mod wait_state;
pub(super) mod waiters;

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::abort::abort;
use super::lock::Guard;
use super::progress_thread::SLEEP_SLICE;
use super::{Process, ProcessMpi, ProcessState, RunningMpi, running_mpi};
use crate::device::WakeSource;
use parker::Parker;
use platform::base::{ErrorClass, Result};
use platform::diagnosis::deadlock::{EXIT_GRACE, age};
use platform::diagnosis::wait_monitor::WaitId;
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{clock, futex, poll};
pub(super) use report::print_and_abort;
use wait_policy::{SLEEP_MAX, SpinHistory, WaitBackoff, WaitPolicy, WaitStep, longest_sleep};
use wait_state::WaitState;
use waiters::Wakeups;

/// The longest sleep while packets wait for space in the device, which wakes no thread.
const CONGESTED_SLEEP_MAX: Duration = Duration::from_millis(1);
/// The same for the progress thread, while no other thread polls.
const CONGESTED_SLICE: Duration = Duration::from_micros(50);

/// Polls with arrivals after which the thread that polls hands the lock to a thread that waits for it.
/// A handover to a sleeping thread costs some 20 µs; this many polls take 1 µs with short messages, and
/// at most some hundred with long ones.
const BUSY_POLLS_MAX: u32 = 8;

/// Threads that wait with the lock free.
pub(crate) type CallWaiters = waiters::Waiters<ParkedCall>;

/// A waiting call, as the thread that holds the lock sees it.
trait WaitingCall {
    /// Whether the wait is complete. The call stores the result; it must not be called again.
    fn try_complete(&mut self, mpi: &mut ProcessMpi) -> bool;

    /// What the call waits for.
    fn report(&self, mpi: &ProcessMpi) -> WaitReport;

    /// The identity of the wait. The first caller sets the time at which the wait began.
    fn wait_id(&mut self) -> WaitId;
}

/// A waiting call of the current thread.
struct OwnCall<'a, S, T, D, R> {
    started: &'a mut S,
    done: D,
    report: R,
    since_ns: Option<u64>,
    result: Option<Result<T>>,
}

/// The call of a thread that has freed the lock, in [`CallWaiters`].
pub(crate) struct ParkedCall(*mut dyn WaitingCall);

// SAFETY: only the thread that holds the lock uses a call, so one thread at a time. The call refers
// to memory of the application, and to values of the library that are otherwise behind the lock.
unsafe impl Send for ParkedCall {}

impl ParkedCall {
    /// # Safety
    /// The call does not move and is not used until it has left the waiters, which happens with the
    /// lock held: another thread completed it, or `remove` took it out.
    unsafe fn new(call: &mut (dyn WaitingCall + '_)) -> Self {
        let call: *mut (dyn WaitingCall + '_) = call;
        // SAFETY: only the lifetime changes; the caller promises that it is long enough.
        Self(unsafe {
            std::mem::transmute::<*mut (dyn WaitingCall + '_), *mut dyn WaitingCall>(call)
        })
    }

    fn call(&mut self) -> &mut dyn WaitingCall {
        // SAFETY: the call is among the waiters and the lock is held (`new`), so the call is alive
        // and no other thread uses it.
        unsafe { &mut *self.0 }
    }
}

impl<S, T, D, R> WaitingCall for OwnCall<'_, S, T, D, R>
where
    D: FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
    R: Fn(&ProcessMpi, &S) -> WaitReport,
{
    #[inline]
    fn try_complete(&mut self, mpi: &mut ProcessMpi) -> bool {
        self.result = (self.done)(mpi, self.started).transpose();
        self.result.is_some()
    }

    fn report(&self, mpi: &ProcessMpi) -> WaitReport {
        (self.report)(mpi, self.started)
    }

    fn wait_id(&mut self) -> WaitId {
        let since_ns = *self.since_ns.get_or_insert_with(clock::monotonic_ns);
        WaitId { since_ns, address: (&raw const *self).addr() }
    }
}

impl RunningMpi {
    /// Ends the waits of other threads that are complete; the threads to wake.
    pub(super) fn serve_waiters(&mut self) -> Wakeups {
        let events = self.mpi.engine.events();
        let mut wakeups = Wakeups::default();
        if self.waiters.is_empty() {
            return wakeups;
        }
        if self.served_events != events {
            self.served_events = events;
            wakeups = self.complete_waits();
        }
        // A thread that sleeps does not know of packets to send, schedules to continue or work
        // of the application.
        let has_news = self.mpi.needs_poll() || self.mpi.has_user_work();
        if wakeups.wake_device_sleeper || has_news && self.waiters.claim_device_wake() {
            self.mpi.engine.wake_self();
        }
        if self.waiters.is_delegated() && (self.mpi.has_user_work() || self.mpi.engine.has_fault())
        {
            self.waiters.wake_one(&mut wakeups);
        }
        wakeups
    }

    /// Ends all waits with an error: MPI has been finalized while threads wait.
    pub(super) fn cancel_waits(&mut self) -> Wakeups {
        let wakeups = self.waiters.take_all();
        if wakeups.wake_device_sleeper {
            self.mpi.engine.wake_self();
        }
        wakeups
    }

    /// Completes operations that have begun with processes that have ended; whether
    /// there are any. Looks once a thread has waited for [`EXIT_GRACE`], `own` included, and acts as
    /// long after the end of a process: most launchers have ended the job by then.
    fn end_lost_receives(&mut self, own: WaitId) -> bool {
        let others = self.waiters.calls().map(|parked| parked.call().wait_id());
        let longest = others.min().map_or(own, |others| others.min(own));
        let now_ns = clock::monotonic_ns();
        if age(longest.since_ns, now_ns) < EXIT_GRACE {
            return false;
        }
        let mut ended = self.mpi.awaited_processes();
        ended.retain(|rank| self.mpi.engine.device().has_ended(*rank));
        if ended.is_empty() {
            self.sender_end_ns = None;
            return false;
        }
        let end_ns = *self.sender_end_ns.get_or_insert(now_ns);
        // What a process sent before its end is delivered first.
        if age(end_ns, now_ns) < EXIT_GRACE || self.mpi.poll() > 0 {
            return false;
        }
        ended.iter().for_each(|rank| self.mpi.end_operations_with(*rank));
        true
    }

    fn complete_waits(&mut self) -> Wakeups {
        self.waiters.take_completed(|parked| parked.call().try_complete(&mut self.mpi))
    }

    /// The caller stops polling; the threads to wake, so that one of them polls.
    fn stop_polling(&mut self) -> Wakeups {
        let mut wakeups = self.serve_waiters();
        self.waiters.hand_over_polling(&mut wakeups);
        wakeups
    }
}

impl Process {
    /// The slow half of `until`.
    #[inline(never)]
    pub(super) fn wait<'a, S, T>(
        &'a self, mut state: Guard<'a, ProcessState>, started: &mut S,
        done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
        report: impl Fn(&ProcessMpi, &S) -> WaitReport,
    ) -> Result<T> {
        self.call_counters.begin_wait();
        let mut call = OwnCall { started, done, report, since_ns: None, result: None };
        let waited = self.wait_until_complete(&mut state, &mut call);
        self.call_counters.end_wait();
        let wait_id = call.since_ns.is_some().then(|| call.wait_id());
        // Short messages skip this: no other thread waits, and nothing was published.
        if let ProcessState::Running(running) = &mut *state
            && (wait_id.is_some() || !running.waiters.is_empty())
        {
            let wakeups = running.stop_polling();
            let diagnostic = running.wait_monitor.wait_ended(wait_id);
            drop(state);
            wakeups.notify_all();
            diagnostic.iter().for_each(report::print);
        }
        waited?;
        call.result
            .unwrap_or_else(|| Err(ErrorClass::Intern.error("a wait ended without a result")))
    }

    /// Waits until the call is complete, or the wait fails.
    fn wait_until_complete(
        &self, state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall,
    ) -> Result {
        let running = running_mpi(state)?;
        running.take_over_polling();
        let mut backoff = WaitBackoff::new(&mut running.spin_history);
        let mut busy_polls = 0;
        loop {
            let running = running_mpi(state)?;
            if running.waiters.is_delegated() {
                if delegate(state, call)? {
                    return Ok(());
                }
                continue;
            }
            if running.waiters.has_poller() {
                if park(state, call)? {
                    return Ok(());
                }
                backoff.reset();
                continue;
            }
            let arrived = running.mpi.poll();
            if running.mpi.has_user_work() {
                execute_work(state)?;
                backoff.reset();
                continue;
            }
            if call.try_complete(&mut running.mpi) {
                backoff.end(&mut running.spin_history, clock::monotonic_ns);
                return Ok(());
            }
            if !running.waiters.is_empty() {
                let wakeups = running.serve_waiters();
                if !wakeups.is_empty() {
                    between_polls(state, |state| notify_unlocked(state, wakeups))?;
                }
            }
            if arrived > 0 {
                let running = running_mpi(state)?;
                let are_kept_out = running.end_lost_accumulates();
                backoff.arrived(&mut running.spin_history);
                if are_kept_out {
                    between_polls(state, |state| state.unlocked(std::thread::yield_now))?;
                }
                busy_polls += 1;
                if busy_polls >= BUSY_POLLS_MAX && state.is_contended() {
                    busy_polls = 0;
                    between_polls(state, Guard::hand_off_asleep)?;
                }
            } else if pause(state, call, &mut backoff)? {
                return Ok(());
            }
        }
    }
}

/// Pauses after a poll that found nothing. True if the call has completed meanwhile.
#[inline]
fn pause(
    state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall, backoff: &mut WaitBackoff,
) -> Result<bool> {
    let is_contended = state.is_contended();
    let running = running_mpi(state)?;
    if running.mpi.engine.device().awaits_answer()
        && !is_contended
        && backoff.spins_for_answer(&mut running.spin_history)
    {
        return Ok(false);
    }
    let step = match backoff.next(&mut running.spin_history, clock::monotonic_ns) {
        WaitStep::Spin if !running.waiters.is_empty() && running.wait_policy.is_crowded() => {
            WaitStep::Yield
        }
        step => step,
    };
    if step == WaitStep::Sleep || backoff.is_report_due() {
        if running.mpi.engine.has_fault() {
            check_peers(state);
            return Ok(false);
        }
        if running.end_lost_receives(call.wait_id()) {
            return Ok(false);
        }
        if let Some(diagnostic) = running.check_waits(Some(call)) {
            between_polls(state, |state| print_and_abort(&diagnostic, state))?;
            return Ok(false);
        }
    }
    match step {
        WaitStep::Spin if is_contended => between_polls(state, Guard::hand_off)?,
        // Half of a pause is a tenth of the time of a short message.
        WaitStep::Spin if backoff.is_short() => {}
        WaitStep::Spin => std::hint::spin_loop(),
        WaitStep::Yield => {
            check_peers(state);
            between_polls(state, |state| state.unlocked(std::thread::yield_now))?;
        }
        WaitStep::Sleep if running.waiters.has_device_sleeper() => return park(state, call),
        WaitStep::Sleep => {
            call.wait_id();
            // SAFETY: `sleep` takes the call out of the waiters, and the call is not used before.
            let parked = unsafe { ParkedCall::new(call) };
            match sleep(state, Some(parked))? {
                SleepEnd::Completed => return Ok(true),
                // By an access of a peer, maybe, which is no arrival: the next one finds this rank awake.
                SleepEnd::Woken => backoff.reset(),
                SleepEnd::Elapsed => {}
            }
        }
    }
    Ok(false)
}

/// Ends the job if a peer has violated the protocol or has failed. An error of this call would leave its
/// operation in progress, with the buffer of the application, and no later call could rely on the peer.
fn check_peers(state: &mut Guard<'_, ProcessState>) {
    if let Ok(running) = running_mpi(state)
        && let Err(violation) = running.mpi.engine.fault()
    {
        abort(state, violation.code.0, &violation.why);
    }
}

/// Frees the lock for `body`, while this thread remains the one that polls.
fn between_polls<'a>(
    state: &mut Guard<'a, ProcessState>, body: impl FnOnce(&mut Guard<'a, ProcessState>),
) -> Result {
    running_mpi(state)?.waiters.set_polling(true);
    body(state);
    running_mpi(state)?.waiters.set_polling(false);
    Ok(())
}

/// Executes work of the application with the lock free; another thread polls meanwhile.
#[cold]
fn execute_work(state: &mut Guard<'_, ProcessState>) -> Result {
    let running = running_mpi(state)?;
    let Some(work) = running.mpi.take_user_work() else { return Ok(()) };
    let wakeups = running.stop_polling();
    let end = state.unlocked(|| {
        wakeups.notify_all();
        work.execute()
    });
    running_mpi(state)?.mpi.end_user_work(end);
    Ok(())
}

/// Leaves polling to the progress thread; work of the application is executed here. True if
/// the call has completed.
#[cold]
fn delegate(state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall) -> Result<bool> {
    let running = running_mpi(state)?;
    if running.mpi.has_user_work() {
        execute_work(state)?;
        return Ok(false);
    }
    check_peers(state);
    let running = running_mpi(state)?;
    if call.try_complete(&mut running.mpi) {
        return Ok(true);
    }
    // This call may have completed waits of other threads, or may have started what one poll ends.
    let wakeups = running.serve_waiters();
    if !wakeups.is_empty() {
        notify_unlocked(state, wakeups);
        return Ok(false);
    }
    if running.mpi.needs_poll() {
        running.wake_thread_on_device();
    }
    park(state, call)
}

/// Wakes threads with the lock free, if there are any to wake.
#[inline]
pub(super) fn notify_unlocked(state: &mut Guard<'_, ProcessState>, wakeups: Wakeups) {
    if !wakeups.is_empty() {
        state.unlocked(|| wakeups.notify_all());
    }
}

/// Parks until another thread has completed this call, or no thread polls. True if the call has
/// completed.
#[cold]
fn park(state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall) -> Result<bool> {
    let running = running_mpi(state)?;
    let delegated = running.waiters.is_delegated();
    let policy = if delegated {
        running.wait_policy.sleep_at_once()
    } else {
        running.wait_policy.for_parked_thread()
    };
    call.wait_id();
    // SAFETY: the call is not used before it has left the waiters: `remove` below, or the thread
    // that completed it, takes it out.
    let parked = unsafe { ParkedCall::new(call) };
    let (id, parker) = running.waiters.park(parked);
    state.unlocked(|| wait_parked(&parker, policy));
    Ok(!running_mpi(state)?.waiters.remove(id))
}

/// Yields for about as long as a wake-up costs, then sleeps, until notified.
fn wait_parked(parker: &Parker, policy: WaitPolicy) {
    let mut history = SpinHistory::new(policy);
    let mut backoff = WaitBackoff::new(&mut history);
    while !parker.is_notified() {
        match backoff.next(&mut history, clock::monotonic_ns) {
            WaitStep::Spin => std::hint::spin_loop(),
            WaitStep::Yield => std::thread::yield_now(),
            WaitStep::Sleep => parker.park(),
        }
    }
}

/// How a sleep has ended.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum SleepEnd {
    /// The call has completed.
    Completed,
    /// The device has woken this rank.
    Woken,
    /// There was something to do before, or nothing for a long time.
    Elapsed,
}

/// Arms the device, polls and checks once more, and sleeps with the lock free if nothing arrived. Without a call the
/// caller is the progress thread.
pub(super) fn sleep(
    state: &mut Guard<'_, ProcessState>, mut call: Option<ParkedCall>,
) -> Result<SleepEnd> {
    let running = running_mpi(state)?;
    running.mpi.declare_awaited();
    let wake = running.mpi.engine.arm();
    let is_quiet = running.mpi.poll() == 0;
    // A waiting call does what this poll has left to it before it sleeps.
    let has_duty = running.mpi.has_user_work() || running.mpi.engine.has_fault();
    let is_quiet = is_quiet && !(call.is_some() && has_duty);
    // A poll does not find what a peer writes into memory that it shares with this process, so
    // waiting calls check that memory, after `arm`.
    let is_complete =
        is_quiet && call.as_mut().is_some_and(|call| call.call().try_complete(&mut running.mpi));
    let wakeups = if is_quiet { running.complete_waits() } else { Wakeups::default() };
    if wakeups.wake_device_sleeper {
        running.mpi.engine.wake_self();
    }
    let mut end = if is_complete { SleepEnd::Completed } else { SleepEnd::Elapsed };
    if !wakeups.is_empty() {
        state.unlocked(|| wakeups.notify_all());
    } else if is_quiet && !is_complete {
        let congested = running.mpi.engine.is_congested();
        let Some(mut call) = call else {
            running.wait_state = WaitState::Armed;
            let (slice, longest) = match running.waiters.is_delegated() {
                _ if congested => (CONGESTED_SLICE, CONGESTED_SLICE),
                // The thread checks the waits of all other threads.
                true => (SLEEP_SLICE, longest_sleep(Duration::ZERO)),
                false => (SLEEP_SLICE, SLEEP_MAX),
            };
            let end = state.unlocked(|| sleep_on_wake(&wake, slice, longest));
            let running = running_mpi(state)?;
            running.wait_state = WaitState::Away;
            running.disarm();
            return Ok(end);
        };
        let since_ns = call.call().wait_id().since_ns;
        let id = running.waiters.sleep_on_device(call);
        let longest = match congested {
            true => CONGESTED_SLEEP_MAX,
            false => longest_sleep(age(since_ns, clock::monotonic_ns())),
        };
        end = state.unlocked(|| sleep_on_wake(&wake, longest, longest));
        if running_mpi(state).is_ok_and(|running| !running.waiters.remove(id)) {
            end = SleepEnd::Completed;
        }
    }
    running_mpi(state)?.disarm();
    Ok(end)
}

/// Sleeps until woken, or for `longest`, in slices of twice the length of the one before; until the end
/// of a slice once the device no longer wakes.
fn sleep_on_wake(wake: &WakeSource, first_slice: Duration, longest: Duration) -> SleepEnd {
    let (word, expected) = match wake {
        WakeSource::Never => {
            std::thread::yield_now();
            return SleepEnd::Elapsed;
        }
        WakeSource::Polled { word, expected, longest: nap } => {
            futex::wait(AsRef::as_ref(&**word), *expected, Some(longest.min(*nap)));
            // A nap is short: what it misses is found soon.
            return SleepEnd::Elapsed;
        }
        WakeSource::Word { word, expected } | WakeSource::Descriptor { word, expected, .. } => {
            (AsRef::as_ref(&**word), *expected)
        }
    };
    let (mut slice, mut slept) = (first_slice, Duration::ZERO);
    while slept < longest {
        match wake {
            WakeSource::Descriptor { descriptor, .. } => {
                if poll::is_readable(descriptor, slice) {
                    return SleepEnd::Woken;
                }
            }
            _ => futex::wait(word, expected, Some(slice)),
        }
        if word.load(Ordering::Relaxed) != expected {
            return SleepEnd::Woken;
        }
        slept += slice;
        slice *= 2;
    }
    SleepEnd::Elapsed
}
