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
//! thread goes to sleep. Then others may be told too (`vigil`).
#![allow(unsafe_code)]

use std::sync::atomic::Ordering;
use std::time::Duration;

use super::bell::Bell;
use super::lock::Guard;
use super::patience::{Habit, Patience, Policy, Step};
use super::progress::SLICE;
use super::vigil::{Standing, Words};
use super::waiters::{self, Rings};
use super::watch::Watch;
use super::{Mpi, Process, Running, State, running};
use crate::base::blocked::Blocked;
use crate::base::{ErrorClass, Result};
use crate::device::Wake;
use crate::sys::{clock, futex};

/// How long a sleeper sleeps before it looks again although nobody woke it.
const NAP: Duration = Duration::from_millis(100);
/// How often the progress thread looks after itself meanwhile.
const SLICES: u32 = (NAP.as_millis() / SLICE.as_millis()) as u32;
/// The same while packets wait for room, which wakes nobody.
const CONGESTED_NAP: Duration = Duration::from_millis(1);
/// The same for the progress thread, beside which nobody polls.
const CONGESTED_SLICE: Duration = Duration::from_micros(50);

/// Threads that wait with the lock free.
pub type Waiters = waiters::Waiters<Other>;

/// Which wait, and since when, in nanoseconds of the host's clock.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct Ticket {
    since_ns: u64,
    /// Where it lies in memory.
    place: usize,
}

impl Ticket {
    /// The wait that began at `since_ns` in this `place`.
    #[cfg(test)]
    pub fn new(since_ns: u64, place: usize) -> Self {
        Self { since_ns, place }
    }

    /// A number for it; sums of such numbers are hardly ever equal.
    fn number(self) -> u64 {
        // The golden ratio scatters small differences.
        (self.since_ns ^ (self.place as u64).rotate_left(32)).wrapping_mul(0x9e37_79b9_7f4a_7c15)
    }

    /// Since when it waits.
    pub fn since_ns(self) -> u64 {
        self.since_ns
    }
}

/// A call that waits, as any thread sees it who holds the lock.
trait Waits {
    /// Whether it is over. If so its result is kept, and it must not be asked again.
    fn look(&mut self, mpi: &mut Mpi) -> bool;

    /// What it waits for.
    fn blocked(&self, mpi: &Mpi) -> Blocked;

    /// Which wait it is. Asked for the first time when it has to wait for long.
    fn ticket(&mut self) -> Ticket;
}

/// A call that waits, in the hands of its own thread.
struct Call<'a, S, T, D, B> {
    started: &'a mut S,
    done: D,
    blocked: B,
    since_ns: Option<u64>,
    end: Option<Result<T>>,
}

/// The call of a thread that has freed the lock and sits among the [`Waiters`].
pub struct Other(*mut dyn Waits);

// SAFETY: a call is used by whoever holds the lock, one thread at a time. What it captures are
// places in the application's memory, and values of the library that lie behind the lock otherwise.
unsafe impl Send for Other {}

impl Other {
    /// # Safety
    /// The call stays where it is and is not touched until it has left the waiters, which happens
    /// with the lock held: it was taken out because it was over, or `stand` took it.
    unsafe fn new(call: &mut (dyn Waits + '_)) -> Self {
        let call: *mut (dyn Waits + '_) = call;
        // SAFETY: only the lifetime changes; the caller promises that it is long enough.
        Self(unsafe { std::mem::transmute::<*mut (dyn Waits + '_), *mut dyn Waits>(call) })
    }

    fn call(&mut self) -> &mut dyn Waits {
        // SAFETY: it is among the waiters and the lock is held (`new`), so it lives, and nobody
        // else touches it.
        unsafe { &mut *self.0 }
    }
}

impl<S, T, D, B> Waits for Call<'_, S, T, D, B>
where
    D: FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
    B: Fn(&Mpi, &S) -> Blocked,
{
    #[inline]
    fn look(&mut self, mpi: &mut Mpi) -> bool {
        self.end = (self.done)(mpi, self.started).transpose();
        self.end.is_some()
    }

    fn blocked(&self, mpi: &Mpi) -> Blocked {
        (self.blocked)(mpi, self.started)
    }

    fn ticket(&mut self) -> Ticket {
        let since_ns = *self.since_ns.get_or_insert_with(clock::monotonic_ns);
        Ticket { since_ns, place: (&raw const *self).addr() }
    }
}

impl Running {
    /// Ends the waits of others that are over by now; whom to ring.
    pub(super) fn serve(&mut self) -> Rings {
        let events = self.mpi.engine.events();
        let mut rings = Rings::default();
        if self.waiters.is_empty() {
            return rings;
        }
        if self.served != events {
            self.served = events;
            rings = self.look_for_all();
        }
        // Who sleeps does not know that there are packets to be sent now, or reductions to be done.
        let has_news = self.mpi.engine.is_congested() || self.mpi.engine.has_work();
        if rings.rouse || has_news && self.waiters.take_dozer() {
            self.mpi.engine.rouse();
        }
        if self.waiters.is_delegated()
            && (self.mpi.engine.has_work() || self.mpi.engine.has_fault())
        {
            self.waiters.ring_one(&mut rings);
        }
        rings
    }

    /// Ends the waits of threads that are in MPI although it has been finalized, with an error.
    pub(super) fn dismiss(&mut self) -> Rings {
        let rings = self.waiters.dismiss();
        if rings.rouse {
            self.mpi.engine.rouse();
        }
        rings
    }

    /// Takes out the waits of others that are over.
    fn look_for_all(&mut self) -> Rings {
        self.waiters.serve(|other| other.call().look(&mut self.mpi))
    }

    /// Tells the launcher of the call that has waited longest, the caller's or another one, and
    /// looks after those that wait for long; what there is to say about them.
    #[cold]
    fn tell<'a>(&'a mut self, own: Option<&'a mut (dyn Waits + 'a)>) -> Option<Words> {
        let mut oldest = own;
        let mut waits = usize::from(oldest.is_some());
        let mut tickets = oldest.as_mut().map_or(0, |own| own.ticket().number());
        for other in self.waiters.calls() {
            let other = other.call();
            waits += 1;
            tickets = tickets.wrapping_add(other.ticket().number());
            if oldest.as_mut().is_none_or(|oldest| other.ticket() < oldest.ticket()) {
                oldest = Some(other);
            }
        }
        let oldest = oldest?;
        let (ticket, mpi) = (oldest.ticket(), &self.mpi);
        let blocked = || Blocked { queues: mpi.engine.queues(), ..oldest.blocked(mpi) };
        if let Some(status) = &self.status {
            status.tell(ticket.since_ns, &blocked());
            self.told = Some(ticket);
        }
        let now_ns = clock::monotonic_ns();
        if !self.vigil.is_due(ticket.since_ns, now_ns) {
            return None;
        }
        // Below MPI_THREAD_MULTIPLE no thread calls MPI while another one waits there.
        let all_wait = !self.multiple || self.vigil.threads() <= waits;
        let standing = Standing::of(mpi, ticket, tickets, self.multiple, all_wait);
        self.vigil.look(now_ns, standing, blocked)
    }

    /// The same where only others wait.
    pub(super) fn tell_of_others(&mut self) -> Option<Words> {
        self.tell(None)
    }

    /// The wait of the caller has ended: somebody else may have to poll, and the launcher knows of
    /// this wait no longer.
    fn leave(&mut self, ticket: Option<Ticket>) -> Rings {
        if self.told.is_some()
            && self.told == ticket
            && let Some(status) = &self.status
        {
            status.clear();
            self.told = None;
        }
        let mut rings = self.serve();
        self.waiters.hand_over(&mut rings);
        rings
    }
}

impl Process {
    /// The slow half of `until`.
    #[inline(never)]
    pub(super) fn wait<'a, S, T>(
        &'a self, mut state: Guard<'a, State>, started: &mut S,
        done: impl FnMut(&mut Mpi, &mut S) -> Result<Option<T>>,
        blocked: impl Fn(&Mpi, &S) -> Blocked,
    ) -> Result<T> {
        self.presence.begin_wait();
        let mut call = Call { started, done, blocked, since_ns: None, end: None };
        let waited = self.wait_until_over(&mut state, &mut call);
        self.presence.end_wait();
        let ticket = call.since_ns.is_some().then(|| call.ticket());
        // Nobody else waits, and the launcher was told nothing: the way of a short message.
        if let State::Running(now) = &mut *state
            && (ticket.is_some() || !now.waiters.is_empty())
        {
            let rings = now.leave(ticket);
            let words = now.vigil.end();
            drop(state);
            rings.ring();
            words.iter().for_each(Words::print);
        }
        waited?;
        call.end.unwrap_or_else(|| Err(ErrorClass::Intern.error("a wait ended without a result")))
    }

    /// Waits until the call is over, or the wait fails.
    fn wait_until_over(&self, state: &mut Guard<'_, State>, call: &mut impl Waits) -> Result {
        let now = running(state)?;
        now.relieve();
        let mut patience = Patience::new(&mut now.habit);
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
                patience.renew();
                continue;
            }
            let arrived = now.mpi.poll();
            if now.mpi.engine.has_work() {
                work(state)?;
                patience.renew();
                continue;
            }
            if call.look(&mut now.mpi) {
                patience.end(&mut now.habit, clock::monotonic_ns);
                return Ok(());
            }
            if !now.waiters.is_empty() {
                let rings = now.serve();
                if !rings.is_empty() {
                    between_polls(state, |state| unlocked_ring(state, rings))?;
                }
            }
            if arrived > 0 {
                patience.renew();
            } else if pause(state, call, &mut patience)? {
                return Ok(());
            }
        }
    }
}

/// Waits a little, as patience says. True if the call has ended meanwhile.
#[inline]
fn pause(
    state: &mut Guard<'_, State>, call: &mut impl Waits, patience: &mut Patience,
) -> Result<bool> {
    let wanted = state.is_wanted();
    let now = running(state)?;
    let step = match patience.next(&mut now.habit, clock::monotonic_ns) {
        Step::Spin if !now.waiters.is_empty() && now.policy.is_crowded() => Step::Yield,
        step => step,
    };
    if (step == Step::Sleep || patience.is_worth_telling())
        && let Some(words) = now.tell(Some(call))
    {
        between_polls(state, |state| words.say(state))?;
        return Ok(false);
    }
    match step {
        Step::Spin if wanted => between_polls(state, Guard::give_way)?,
        Step::Spin => std::hint::spin_loop(),
        Step::Yield => {
            now.mpi.engine.fault()?;
            between_polls(state, |state| state.unlocked(std::thread::yield_now))?;
        }
        Step::Sleep if now.waiters.has_dozer() => return park(state, call),
        Step::Sleep => {
            call.ticket();
            // SAFETY: `sleep` takes it out of the waiters, and the call is not used before.
            let other = unsafe { Other::new(call) };
            return sleep(state, Some(other));
        }
    }
    Ok(false)
}

/// Frees the lock while the others leave polling to this thread.
fn between_polls<'a>(
    state: &mut Guard<'a, State>, body: impl FnOnce(&mut Guard<'a, State>),
) -> Result {
    running(state)?.waiters.set_polling(true);
    body(state);
    running(state)?.waiters.set_polling(false);
    Ok(())
}

/// Does a reduction of the application with the lock free; another thread polls meanwhile.
#[cold]
fn work(state: &mut Guard<'_, State>) -> Result {
    let now = running(state)?;
    let Some(work) = now.mpi.engine.take_work() else { return Ok(()) };
    let rings = now.leave(None);
    state.unlocked(|| {
        rings.ring();
        work.execute();
    });
    running(state)?.mpi.engine.work_done(&work);
    Ok(())
}

/// Leaves all but the application's reductions to the progress thread. True if the call has ended.
#[cold]
fn delegate(state: &mut Guard<'_, State>, call: &mut impl Waits) -> Result<bool> {
    let now = running(state)?;
    if now.mpi.engine.has_work() {
        work(state)?;
        return Ok(false);
    }
    now.mpi.engine.fault()?;
    if call.look(&mut now.mpi) {
        return Ok(true);
    }
    // What this call has begun may have ended waits of others, or need nothing but a poll.
    let rings = now.serve();
    if !rings.is_empty() {
        unlocked_ring(state, rings);
        return Ok(false);
    }
    if now.mpi.engine.has_news() {
        now.rouse_thread();
    }
    park(state, call)
}

/// Rings with the lock free, if there is anybody to ring.
#[inline]
pub(super) fn unlocked_ring(state: &mut Guard<'_, State>, rings: Rings) {
    if !rings.is_empty() {
        state.unlocked(|| rings.ring());
    }
}

/// Leaves polling to others until one has found the end of this call, or nobody polls. True if the
/// call has ended.
#[cold]
fn park(state: &mut Guard<'_, State>, call: &mut impl Waits) -> Result<bool> {
    let now = running(state)?;
    let delegated = now.waiters.is_delegated();
    let policy = if delegated { now.policy.of_sleeper() } else { now.policy.of_listener() };
    call.ticket();
    // SAFETY: the call is not used before it has left the waiters, below or by who ended it.
    let other = unsafe { Other::new(call) };
    let (seat, bell) = now.waiters.park(other);
    state.unlocked(|| listen(&bell, policy));
    Ok(!running(state)?.waiters.stand(seat))
}

/// Yields for about as long as a wake-up costs, then sleeps, until the bell is rung.
fn listen(bell: &Bell, policy: Policy) {
    let mut habit = Habit::new(policy);
    let mut patience = Patience::new(&mut habit);
    while !bell.is_rung() {
        match patience.next(&mut habit, clock::monotonic_ns) {
            Step::Spin => std::hint::spin_loop(),
            Step::Yield => std::thread::yield_now(),
            Step::Sleep => bell.sleep(),
        }
    }
}

/// Arms the device, polls and looks once more, and sleeps with the lock free if nothing came. True
/// if the call has ended meanwhile; without one this is the progress thread.
pub(super) fn sleep(state: &mut Guard<'_, State>, mut call: Option<Other>) -> Result<bool> {
    let now = running(state)?;
    let wake = now.mpi.engine.arm();
    let quiet = now.mpi.poll() == 0 && !(call.is_some() && now.mpi.engine.has_work());
    // What a peer writes into memory that it shares with this process does not arrive: those who
    // wait for it have to look, after `arm`.
    let mut over = quiet && call.as_mut().is_some_and(|call| call.call().look(&mut now.mpi));
    let rings = if quiet { now.look_for_all() } else { Rings::default() };
    if rings.rouse {
        now.mpi.engine.rouse();
    }
    if !rings.is_empty() {
        state.unlocked(|| rings.ring());
    } else if quiet && !over {
        let congested = now.mpi.engine.is_congested();
        let Some(call) = call else {
            now.watch = Watch::Armed;
            let (slice, slices) = if congested { (CONGESTED_SLICE, 1) } else { (SLICE, SLICES) };
            state.unlocked(|| sleep_on(&wake, slice, slices));
            let now = running(state)?;
            now.watch = Watch::Away;
            now.disarm();
            return Ok(false);
        };
        let seat = now.waiters.doze(call);
        let nap = if congested { CONGESTED_NAP } else { NAP };
        state.unlocked(|| sleep_on(&wake, nap, 1));
        over = running(state).is_ok_and(|now| !now.waiters.stand(seat));
    }
    running(state)?.disarm();
    Ok(over)
}

/// Sleeps until it is woken, or for so many slices; no longer than one once nothing would wake it.
fn sleep_on(wake: &Wake, slice: Duration, slices: u32) {
    match wake {
        Wake::Never => std::thread::yield_now(),
        Wake::Word { word, expected } => {
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
