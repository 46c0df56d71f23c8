//! Waiting: polls, does the application's reductions, yields, and sleeps with the lock free.
//!
//! One wait function for all calls. Where several threads wait, one polls and the others park; who
//! finds out that the wait of another one is over, in a poll or in any call, ends that wait on its
//! behalf and rings it (`waiters` has the protocol). Calls of threads that never meet take the same
//! way and never find anybody.
//!
//! The progress thread (`progress`) polls, serves and sleeps by the same functions. Where all
//! transport is delegated to it, every call parks.
//!
//! The launcher is told of one call: of those that wait, the one that has waited longest when a
//! thread goes to sleep. Then others may be told too (`deadlock_detector`).
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::deadlock_detector::{WaitDiagnostic, WaitSnapshot};
use super::lock::Guard;
use super::parker::Parker;
use super::progress::SLEEP_SLICE;
use super::wait_policy::{SpinHistory, WaitBackoff, WaitPolicy, WaitStep};
use super::wait_state::WaitState;
use super::waiters::{self, Wakeups};
use super::{Process, ProcessMpi, ProcessState, RunningMpi, running};
use crate::device::WakeSource;
use platform::base::{ErrorClass, Result};
use platform::diagnosis::wait_report::WaitReport;
use platform::sys::{clock, futex};

/// How long a sleeper sleeps before it looks again although nobody woke it.
const SLEEP_MAX: Duration = Duration::from_millis(100);
/// How often the progress thread looks after itself meanwhile.
const SLICES: u32 = (SLEEP_MAX.as_millis() / SLEEP_SLICE.as_millis()) as u32;
/// The same while packets wait for room, which wakes nobody.
const CONGESTED_SLEEP_MAX: Duration = Duration::from_millis(1);
/// The same for the progress thread, beside which nobody polls.
const CONGESTED_SLICE: Duration = Duration::from_micros(50);

/// Threads that wait with the lock free.
pub(crate) type CallWaiters = waiters::Waiters<ParkedCall>;

/// Which wait, and since when, in nanoseconds of the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub(crate) struct WaitId {
    since_ns: u64,
    /// Where it lies in memory.
    address: usize,
}

impl WaitId {
    /// The wait that began at `since_ns` in this `address`.
    #[cfg(test)]
    pub(crate) fn new(since_ns: u64, address: usize) -> Self {
        Self { since_ns, address }
    }

    /// A number for it; sums of such numbers are hardly ever equal.
    fn number(self) -> u64 {
        // The golden ratio scatters small differences.
        (self.since_ns ^ (self.address as u64).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Since when it waits.
    pub(crate) fn since_ns(self) -> u64 {
        self.since_ns
    }
}

/// A call that waits, as any thread sees it who holds the lock.
trait WaitingCall {
    /// Whether it is over. If so its result is kept, and it must not be asked again.
    fn try_complete(&mut self, mpi: &mut ProcessMpi) -> bool;

    /// What it waits for.
    fn blocked(&self, mpi: &ProcessMpi) -> WaitReport;

    /// Which wait it is. Asked for the first time when it has to wait for long.
    fn wait_id(&mut self) -> WaitId;
}

/// A call that waits, in the hands of its own thread.
struct OwnCall<'a, S, T, D, B> {
    started: &'a mut S,
    done: D,
    blocked: B,
    since_ns: Option<u64>,
    end: Option<Result<T>>,
}

/// The call of a thread that has freed the lock and sits among the [`CallWaiters`].
pub(crate) struct ParkedCall(*mut dyn WaitingCall);

// SAFETY: a call is used by whoever holds the lock, one thread at a time. What it captures are
// places in the application's memory, and values of the library that lie behind the lock otherwise.
unsafe impl Send for ParkedCall {}

impl ParkedCall {
    /// # Safety
    /// The call stays where it is and is not touched until it has left the waiters, which happens
    /// with the lock held: it was taken out because it was over, or `remove` took it.
    unsafe fn new(call: &mut (dyn WaitingCall + '_)) -> Self {
        let call: *mut (dyn WaitingCall + '_) = call;
        // SAFETY: only the lifetime changes; the caller promises that it is long enough.
        Self(unsafe {
            std::mem::transmute::<*mut (dyn WaitingCall + '_), *mut dyn WaitingCall>(call)
        })
    }

    fn call(&mut self) -> &mut dyn WaitingCall {
        // SAFETY: it is among the waiters and the lock is held (`new`), so it lives, and nobody
        // else touches it.
        unsafe { &mut *self.0 }
    }
}

impl<S, T, D, B> WaitingCall for OwnCall<'_, S, T, D, B>
where
    D: FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
    B: Fn(&ProcessMpi, &S) -> WaitReport,
{
    #[inline]
    fn try_complete(&mut self, mpi: &mut ProcessMpi) -> bool {
        self.end = (self.done)(mpi, self.started).transpose();
        self.end.is_some()
    }

    fn blocked(&self, mpi: &ProcessMpi) -> WaitReport {
        (self.blocked)(mpi, self.started)
    }

    fn wait_id(&mut self) -> WaitId {
        let since_ns = *self.since_ns.get_or_insert_with(clock::monotonic_ns);
        WaitId { since_ns, address: (&raw const *self).addr() }
    }
}

impl RunningMpi {
    /// Ends the waits of others that are over by now; whom to ring.
    pub(super) fn serve_waiters(&mut self) -> Wakeups {
        let events = self.mpi.engine.events();
        let mut rings = Wakeups::default();
        if self.waiters.is_empty() {
            return rings;
        }
        if self.served_events != events {
            self.served_events = events;
            rings = self.complete_waits();
        }
        // Who sleeps does not know that there are packets to be sent now, or reductions to be done.
        let has_news = self.mpi.engine.is_congested() || self.mpi.engine.has_work();
        if rings.wake_device_sleeper || has_news && self.waiters.claim_device_wake() {
            self.mpi.engine.wake_self();
        }
        if self.waiters.is_delegated()
            && (self.mpi.engine.has_work() || self.mpi.engine.has_fault())
        {
            self.waiters.wake_one(&mut rings);
        }
        rings
    }

    /// Ends the waits of threads that are in MPI although it has been finalized, with an error.
    pub(super) fn cancel_waits(&mut self) -> Wakeups {
        let rings = self.waiters.take_all();
        if rings.wake_device_sleeper {
            self.mpi.engine.wake_self();
        }
        rings
    }

    /// Takes out the waits of others that are over.
    fn complete_waits(&mut self) -> Wakeups {
        self.waiters.take_completed(|other| other.call().try_complete(&mut self.mpi))
    }

    /// Tells the launcher of the call that has waited longest, the caller's or another one, and
    /// looks after those that wait for long; what there is to say about them.
    #[cold]
    fn report_wait<'a>(
        &'a mut self, own: Option<&'a mut (dyn WaitingCall + 'a)>,
    ) -> Option<WaitDiagnostic> {
        let mut oldest = own;
        let mut waits = usize::from(oldest.is_some());
        let mut tickets = oldest.as_mut().map_or(0, |own| own.wait_id().number());
        for other in self.waiters.calls() {
            let other = other.call();
            waits += 1;
            tickets = tickets.wrapping_add(other.wait_id().number());
            if oldest.as_mut().is_none_or(|oldest| other.wait_id() < oldest.wait_id()) {
                oldest = Some(other);
            }
        }
        let oldest = oldest?;
        let (ticket, mpi) = (oldest.wait_id(), &self.mpi);
        let blocked = || WaitReport { queues: mpi.engine.queues(), ..oldest.blocked(mpi) };
        if let Some(status) = &self.status {
            status.report(ticket.since_ns, &blocked());
            self.reported_wait = Some(ticket);
        }
        let now_ns = clock::monotonic_ns();
        if !self.deadlock_detector.is_due(ticket.since_ns, now_ns) {
            return None;
        }
        // Below MPI_THREAD_MULTIPLE no thread calls MPI while another one waits there.
        let all_wait =
            !self.has_thread_multiple || self.deadlock_detector.application_threads() <= waits;
        let standing = WaitSnapshot::of(mpi, ticket, tickets, self.has_thread_multiple, all_wait);
        self.deadlock_detector.check(now_ns, standing, blocked)
    }

    /// The same where only others wait.
    pub(super) fn report_other_waits(&mut self) -> Option<WaitDiagnostic> {
        self.report_wait(None)
    }

    /// The wait of the caller has ended: somebody else may have to poll, and the launcher knows of
    /// this wait no longer.
    fn end_wait(&mut self, ticket: Option<WaitId>) -> Wakeups {
        if self.reported_wait.is_some()
            && self.reported_wait == ticket
            && let Some(status) = &self.status
        {
            status.clear();
            self.reported_wait = None;
        }
        let mut rings = self.serve_waiters();
        self.waiters.hand_over_polling(&mut rings);
        rings
    }
}

impl Process {
    /// The slow half of `until`.
    #[inline(never)]
    pub(super) fn wait<'a, S, T>(
        &'a self, mut state: Guard<'a, ProcessState>, started: &mut S,
        done: impl FnMut(&mut ProcessMpi, &mut S) -> Result<Option<T>>,
        blocked: impl Fn(&ProcessMpi, &S) -> WaitReport,
    ) -> Result<T> {
        self.call_counters.begin_wait();
        let mut call = OwnCall { started, done, blocked, since_ns: None, end: None };
        let waited = self.wait_until_complete(&mut state, &mut call);
        self.call_counters.end_wait();
        let ticket = call.since_ns.is_some().then(|| call.wait_id());
        // Nobody else waits, and the launcher was told nothing: the way of a short message.
        if let ProcessState::Running(now) = &mut *state
            && (ticket.is_some() || !now.waiters.is_empty())
        {
            let rings = now.end_wait(ticket);
            let words = now.deadlock_detector.wait_ended();
            drop(state);
            rings.notify_all();
            words.iter().for_each(WaitDiagnostic::print);
        }
        waited?;
        call.end.unwrap_or_else(|| Err(ErrorClass::Intern.error("a wait ended without a result")))
    }

    /// Waits until the call is over, or the wait fails.
    fn wait_until_complete(
        &self, state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall,
    ) -> Result {
        let now = running(state)?;
        now.take_over_polling();
        let mut patience = WaitBackoff::new(&mut now.spin_history);
        loop {
            let now = running(state)?;
            if now.waiters.is_delegated() {
                if delegate(state, call)? {
                    return Ok(());
                }
                continue;
            }
            if now.waiters.has_poller() {
                if park(state, call)? {
                    return Ok(());
                }
                patience.reset();
                continue;
            }
            let arrived = now.mpi.poll();
            if now.mpi.engine.has_work() {
                execute_work(state)?;
                patience.reset();
                continue;
            }
            if call.try_complete(&mut now.mpi) {
                patience.end(&mut now.spin_history, clock::monotonic_ns);
                return Ok(());
            }
            if !now.waiters.is_empty() {
                let rings = now.serve_waiters();
                if !rings.is_empty() {
                    between_polls(state, |state| notify_unlocked(state, rings))?;
                }
            }
            if arrived > 0 {
                patience.reset();
            } else if pause(state, call, &mut patience)? {
                return Ok(());
            }
        }
    }
}

/// Waits a little, as patience says. True if the call has ended meanwhile.
#[inline]
fn pause(
    state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall, patience: &mut WaitBackoff,
) -> Result<bool> {
    let wanted = state.is_contended();
    let now = running(state)?;
    let step = match patience.next(&mut now.spin_history, clock::monotonic_ns) {
        WaitStep::Spin if !now.waiters.is_empty() && now.wait_policy.is_crowded() => {
            WaitStep::Yield
        }
        step => step,
    };
    if (step == WaitStep::Sleep || patience.is_report_due())
        && let Some(words) = now.report_wait(Some(call))
    {
        between_polls(state, |state| words.print_and_abort(state))?;
        return Ok(false);
    }
    match step {
        WaitStep::Spin if wanted => between_polls(state, Guard::hand_off)?,
        WaitStep::Spin => std::hint::spin_loop(),
        WaitStep::Yield => {
            now.mpi.engine.fault()?;
            between_polls(state, |state| state.unlocked(std::thread::yield_now))?;
        }
        WaitStep::Sleep if now.waiters.has_device_sleeper() => return park(state, call),
        WaitStep::Sleep => {
            call.wait_id();
            // SAFETY: `park` takes it out of the waiters, and the call is not used before.
            let other = unsafe { ParkedCall::new(call) };
            return sleep(state, Some(other));
        }
    }
    Ok(false)
}

/// Frees the lock while the others leave polling to this thread.
fn between_polls<'a>(
    state: &mut Guard<'a, ProcessState>, body: impl FnOnce(&mut Guard<'a, ProcessState>),
) -> Result {
    running(state)?.waiters.set_polling(true);
    body(state);
    running(state)?.waiters.set_polling(false);
    Ok(())
}

/// Does a reduction of the application with the lock free; another thread polls meanwhile.
#[cold]
fn execute_work(state: &mut Guard<'_, ProcessState>) -> Result {
    let now = running(state)?;
    let Some(work) = now.mpi.engine.take_work() else { return Ok(()) };
    let rings = now.end_wait(None);
    state.unlocked(|| {
        rings.notify_all();
        work.execute();
    });
    running(state)?.mpi.engine.work_done(&work);
    Ok(())
}

/// Leaves all but the application's reductions to the progress thread. True if the call has ended.
#[cold]
fn delegate(state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall) -> Result<bool> {
    let now = running(state)?;
    if now.mpi.engine.has_work() {
        execute_work(state)?;
        return Ok(false);
    }
    now.mpi.engine.fault()?;
    if call.try_complete(&mut now.mpi) {
        return Ok(true);
    }
    // What this call has begun may have ended waits of others, or need nothing but a poll.
    let rings = now.serve_waiters();
    if !rings.is_empty() {
        notify_unlocked(state, rings);
        return Ok(false);
    }
    if now.mpi.engine.needs_poll() {
        now.wake_thread_on_device();
    }
    park(state, call)
}

/// Rings with the lock free, if there is anybody to ring.
#[inline]
pub(super) fn notify_unlocked(state: &mut Guard<'_, ProcessState>, rings: Wakeups) {
    if !rings.is_empty() {
        state.unlocked(|| rings.notify_all());
    }
}

/// Leaves polling to others until one has found the end of this call, or nobody polls. True if the
/// call has ended.
#[cold]
fn park(state: &mut Guard<'_, ProcessState>, call: &mut impl WaitingCall) -> Result<bool> {
    let now = running(state)?;
    let delegated = now.waiters.is_delegated();
    let policy = if delegated {
        now.wait_policy.sleep_at_once()
    } else {
        now.wait_policy.for_parked_thread()
    };
    call.wait_id();
    // SAFETY: the call is not used before it has left the waiters, below or by who ended it.
    let other = unsafe { ParkedCall::new(call) };
    let (seat, bell) = now.waiters.park(other);
    state.unlocked(|| wait_parked(&bell, policy));
    Ok(!running(state)?.waiters.remove(seat))
}

/// Yields for about as long as a wake-up costs, then sleeps, until the bell is rung.
fn wait_parked(bell: &Parker, policy: WaitPolicy) {
    let mut habit = SpinHistory::new(policy);
    let mut patience = WaitBackoff::new(&mut habit);
    while !bell.is_notified() {
        match patience.next(&mut habit, clock::monotonic_ns) {
            WaitStep::Spin => std::hint::spin_loop(),
            WaitStep::Yield => std::thread::yield_now(),
            WaitStep::Sleep => bell.park(),
        }
    }
}

/// Arms the device, polls and looks once more, and sleeps with the lock free if nothing came. True
/// if the call has ended meanwhile; without one this is the progress thread.
pub(super) fn sleep(
    state: &mut Guard<'_, ProcessState>, mut call: Option<ParkedCall>,
) -> Result<bool> {
    let now = running(state)?;
    let wake = now.mpi.engine.arm();
    let quiet = now.mpi.poll() == 0 && !(call.is_some() && now.mpi.engine.has_work());
    // What a peer writes into memory that it shares with this process does not arrive: those who
    // wait for it have to look, after `arm`.
    let mut over =
        quiet && call.as_mut().is_some_and(|call| call.call().try_complete(&mut now.mpi));
    let rings = if quiet { now.complete_waits() } else { Wakeups::default() };
    if rings.wake_device_sleeper {
        now.mpi.engine.wake_self();
    }
    if !rings.is_empty() {
        state.unlocked(|| rings.notify_all());
    } else if quiet && !over {
        let congested = now.mpi.engine.is_congested();
        let Some(call) = call else {
            now.wait_state = WaitState::Armed;
            let (slice, slices) =
                if congested { (CONGESTED_SLICE, 1) } else { (SLEEP_SLICE, SLICES) };
            state.unlocked(|| sleep_on_wake(&wake, slice, slices));
            let now = running(state)?;
            now.wait_state = WaitState::Away;
            now.disarm();
            return Ok(false);
        };
        let seat = now.waiters.sleep_on_device(call);
        let nap = if congested { CONGESTED_SLEEP_MAX } else { SLEEP_MAX };
        state.unlocked(|| sleep_on_wake(&wake, nap, 1));
        over = running(state).is_ok_and(|now| !now.waiters.remove(seat));
    }
    running(state)?.disarm();
    Ok(over)
}

/// Sleeps until it is woken, or for so many slices; no longer than one once nothing would wake it.
fn sleep_on_wake(wake: &WakeSource, slice: Duration, slices: u32) {
    match wake {
        WakeSource::Never => std::thread::yield_now(),
        WakeSource::Word { word, expected } => {
            let word = AsRef::as_ref(&**word);
            for _ in 0..slices {
                futex::wait(word, *expected, Some(slice));
                if word.load(Ordering::Relaxed) != *expected {
                    return;
                }
            }
        }
    }
}
