//! Threads that wait while the process lock is free: which one polls, and which ones are woken.
//!
//! One thread polls and the others park. A thread that changes something, by a poll or by a call,
//! checks on behalf of each waiting thread whether its wait is complete, and wakes only threads
//! whose wait is. A thread whose own wait completes wakes one parked thread, which polls from then
//! on.
//!
//! ```text
//!            another thread polls, or sleeps on the device
//!   poller ───────────────────────────────────────────> parked ── its wait is complete ──> returns
//!     │  ▲ <──────── notified: no thread polls ─────────────┘                              ▲
//!     │  └─────────────── woken ────────────┐                                              │
//!     ├── no arrival for long ──> asleep on the device ── its wait is complete, woken ─────┤
//!     └── its wait is complete; it wakes a parked thread ──────────────────────────────────┘
//! ```
//!
//! Invariant of every function here, with the lock held: if a thread is parked, then a thread polls
//! or sleeps on the device, or a thread was notified and has not returned yet, or the holder of the
//! lock is about to notify one. So no wait is forgotten (`models/src/waiting.rs`).
//!
//! In the mode `delegate` the progress thread polls, and all other threads park.

use std::sync::Arc;

use super::parker::Parker;

/// The identity of one parked or sleeping thread.
pub(crate) type WaiterId = u64;

/// The threads that wait with the lock free, oldest first. `C` is the call of a thread.
pub(crate) struct Waiters<C> {
    waiting: Vec<Waiter<C>>,
    /// The poller has freed the lock between two polls.
    polling: bool,
    /// The progress thread polls for all, or sleeps on the device.
    delegated: bool,
    /// The device was told to wake its sleepers, and they have not returned yet.
    device_sleeper_woken: bool,
    next_id: WaiterId,
}

struct Waiter<C> {
    id: WaiterId,
    call: C,
    /// `None`: the thread sleeps on the device.
    parker: Option<Arc<Parker>>,
}

/// Threads to wake once the lock is free.
#[must_use]
#[derive(Default)]
pub(crate) struct Wakeups {
    /// The first is kept apart: there is hardly ever another, and so a wake-up allocates nothing.
    first: Option<Arc<Parker>>,
    others: Vec<Arc<Parker>>,
    /// Whether the device must wake its sleepers, while the lock is held.
    pub(crate) wake_device_sleeper: bool,
}

impl<C> Waiters<C> {
    pub(crate) const fn new() -> Self {
        Self {
            waiting: Vec::new(),
            polling: false,
            delegated: false,
            device_sleeper_woken: false,
            next_id: 0,
        }
    }

    /// Whether no thread waits except the poller.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether another thread polls, so that the caller may park.
    #[inline]
    pub(crate) fn has_poller(&self) -> bool {
        self.polling || self.delegated
    }

    /// Whether the progress thread polls for all.
    #[inline]
    pub(crate) fn is_delegated(&self) -> bool {
        self.delegated
    }

    /// The progress thread begins or stops to poll for all.
    pub(crate) fn set_delegated(&mut self, delegated: bool) {
        self.delegated = delegated;
    }

    /// The poller frees the lock between two polls, or has locked it again.
    #[inline]
    pub(crate) fn set_polling(&mut self, polling: bool) {
        self.polling = polling;
    }

    /// Whether a thread sleeps on the device, so that the caller need not.
    pub(crate) fn has_device_sleeper(&self) -> bool {
        self.waiting.iter().any(|waiter| waiter.parker.is_none())
    }

    /// Registers the caller, which frees the lock and parks.
    pub(crate) fn park(&mut self, call: C) -> (WaiterId, Arc<Parker>) {
        let parker = Arc::new(Parker::new());
        (self.insert(call, Some(Arc::clone(&parker))), parker)
    }

    /// Registers the caller, which frees the lock and sleeps on the device.
    pub(crate) fn sleep_on_device(&mut self, call: C) -> WaiterId {
        self.device_sleeper_woken = false;
        self.insert(call, None)
    }

    /// Whether a thread sleeps on the device that no thread has woken yet. The caller wakes it.
    pub(crate) fn claim_device_wake(&mut self) -> bool {
        !self.device_sleeper_woken
            && self.has_device_sleeper()
            && !std::mem::replace(&mut self.device_sleeper_woken, true)
    }

    fn insert(&mut self, call: C, parker: Option<Arc<Parker>>) -> WaiterId {
        self.next_id += 1;
        self.waiting.push(Waiter { id: self.next_id, call, parker });
        self.next_id
    }

    /// Removes the caller, which has locked again. False if its wait is complete.
    pub(crate) fn remove(&mut self, id: WaiterId) -> bool {
        let found = self.waiting.iter().position(|waiter| waiter.id == id);
        found.map(|index| self.waiting.remove(index)).is_some()
    }

    /// Removes the threads whose wait is complete.
    pub(crate) fn take_completed(
        &mut self, mut is_complete: impl FnMut(&mut C) -> bool,
    ) -> Wakeups {
        let mut wakeups = Wakeups::default();
        for waiter in self.waiting.extract_if(.., |waiter| is_complete(&mut waiter.call)) {
            wakeups.wake_device_sleeper |= waiter.parker.is_none();
            waiter.parker.into_iter().for_each(|parker| wakeups.add(parker));
        }
        wakeups
    }

    /// The poller stops polling: adds a thread that polls instead.
    pub(crate) fn hand_over_polling(&self, wakeups: &mut Wakeups) {
        if !self.has_poller() && !self.has_device_sleeper() {
            self.wake_one(wakeups);
        }
    }

    /// Adds the thread that parked last, which may still be awake.
    pub(crate) fn wake_one(&self, wakeups: &mut Wakeups) {
        if let Some(parker) = self.waiting.last().and_then(|waiter| waiter.parker.clone()) {
            wakeups.add(parker);
        }
    }

    /// Removes all threads: nothing can complete their waits any more.
    pub(crate) fn take_all(&mut self) -> Wakeups {
        self.take_completed(|_| true)
    }

    /// The calls of all threads, oldest first.
    pub(crate) fn calls(&mut self) -> impl Iterator<Item = &mut C> {
        self.waiting.iter_mut().map(|waiter| &mut waiter.call)
    }
}

impl Wakeups {
    /// Whether there is no parked thread to wake.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    pub(crate) fn add(&mut self, parker: Arc<Parker>) {
        match self.first {
            None => self.first = Some(parker),
            Some(_) => self.others.push(parker),
        }
    }

    /// Wakes the threads. They need the lock, so it should be free.
    pub(crate) fn notify_all(self) {
        self.first.into_iter().chain(self.others).for_each(|parker| parker.notify());
    }
}
