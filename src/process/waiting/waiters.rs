//! Threads that wait while the process lock is free: who polls, who is woken, and by whom.
//!
//! One thread polls and the others park. Whoever changes something while others wait, by a poll or
//! by a call, asks for each of them whether its wait is over, on their behalf, and rings only those
//! whose wait is. A thread whose own wait ends rings one that is parked, which polls from then on.
//!
//! ```text
//!            another one polls, or sleeps on the device
//!   poller ────────────────────────────────────────────> parked ── its wait is over ──> returns
//!     │  ▲ <──────── rung: nobody polls now ────────────────┘                              ▲
//!     │  └─────────────── woken ─────────────┐                                             │
//!     ├── nothing came for long ──> dozing, on the device ─── its wait is over, roused ────┤
//!     └── its wait is over, one that is parked is rung ────────────────────────────────────┘
//! ```
//!
//! Kept up by every function here, with the lock held: if somebody is parked, then somebody polls
//! or dozes, or a bell has been rung whose listener has not come back yet, or the holder of the
//! lock is about to ring one. So no wait is forgotten (`model`).
//!
//! Where a thread of the library polls for all of them, everybody parks.

use std::sync::Arc;

use super::parker::Parker;

/// A thread's seat among those that wait.
pub(crate) type WaiterId = u64;

/// The threads that wait with the lock free, oldest first. `C` is what they wait for.
pub(crate) struct Waiters<C> {
    waiting: Vec<Waiter<C>>,
    /// The one that polls is between two polls, with the lock free.
    polling: bool,
    /// A thread of the library polls, or sleeps on the device.
    delegated: bool,
    /// Those who doze have been roused, and have not come back yet.
    device_sleeper_woken: bool,
    next_id: WaiterId,
}

struct Waiter<C> {
    id: WaiterId,
    call: C,
    /// What it listens to; `None`: it dozes on the device.
    parker: Option<Arc<Parker>>,
}

/// Whom to ring once the lock is free.
#[must_use]
#[derive(Default)]
pub(crate) struct Wakeups {
    /// One of them, as there is hardly ever more: so that ringing takes no memory.
    first: Option<Arc<Parker>>,
    others: Vec<Arc<Parker>>,
    /// Whether those who doze on the device must be roused, with the lock held.
    pub(crate) wake_device_sleeper: bool,
}

impl<C> Waiters<C> {
    /// Nobody waits.
    pub(crate) const fn new() -> Self {
        Self {
            waiting: Vec::new(),
            polling: false,
            delegated: false,
            device_sleeper_woken: false,
            next_id: 0,
        }
    }

    /// Whether nobody waits but who is polling.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.waiting.is_empty()
    }

    /// Whether another thread polls, so that the caller may park.
    #[inline]
    pub(crate) fn has_poller(&self) -> bool {
        self.polling || self.delegated
    }

    /// Whether a thread of the library polls for all.
    #[inline]
    pub(crate) fn is_delegated(&self) -> bool {
        self.delegated
    }

    /// A thread of the library begins to poll for all, or ends.
    pub(crate) fn set_delegated(&mut self, delegated: bool) {
        self.delegated = delegated;
    }

    /// The caller, who polls, frees the lock for a moment, or has it back.
    #[inline]
    pub(crate) fn set_polling(&mut self, polling: bool) {
        self.polling = polling;
    }

    /// Whether somebody sleeps on the device, so that the caller need not.
    pub(crate) fn has_device_sleeper(&self) -> bool {
        self.waiting.iter().any(|waiter| waiter.parker.is_none())
    }

    /// The caller frees the lock and listens to the bell.
    pub(crate) fn park(&mut self, call: C) -> (WaiterId, Arc<Parker>) {
        let bell = Arc::new(Parker::new());
        (self.insert(call, Some(Arc::clone(&bell))), bell)
    }

    /// The caller frees the lock and sleeps on the device.
    pub(crate) fn sleep_on_device(&mut self, call: C) -> WaiterId {
        self.device_sleeper_woken = false;
        self.insert(call, None)
    }

    /// Whether somebody dozes who must be roused, as the caller is about to do.
    pub(crate) fn claim_device_wake(&mut self) -> bool {
        !self.device_sleeper_woken
            && self.has_device_sleeper()
            && !std::mem::replace(&mut self.device_sleeper_woken, true)
    }

    fn insert(&mut self, call: C, bell: Option<Arc<Parker>>) -> WaiterId {
        self.next_id += 1;
        self.waiting.push(Waiter { id: self.next_id, call, parker: bell });
        self.next_id
    }

    /// The caller has the lock again. False if its wait is over.
    pub(crate) fn remove(&mut self, seat: WaiterId) -> bool {
        let found = self.waiting.iter().position(|waiter| waiter.id == seat);
        found.map(|index| self.waiting.remove(index)).is_some()
    }

    /// Takes out those whose wait is over, as `look` finds.
    pub(crate) fn take_completed(&mut self, mut look: impl FnMut(&mut C) -> bool) -> Wakeups {
        let mut rings = Wakeups::default();
        for waiter in self.waiting.extract_if(.., |waiter| look(&mut waiter.call)) {
            rings.wake_device_sleeper |= waiter.parker.is_none();
            waiter.parker.into_iter().for_each(|bell| rings.add(bell));
        }
        rings
    }

    /// The caller, who polled, goes: adds whom to ring so that somebody polls.
    ///
    /// That is the one who parked last, who may still be awake.
    pub(crate) fn hand_over_polling(&self, rings: &mut Wakeups) {
        if !self.has_poller() && !self.has_device_sleeper() {
            self.wake_one(rings);
        }
    }

    /// Adds one of those who park, who may still be awake.
    pub(crate) fn wake_one(&self, rings: &mut Wakeups) {
        if let Some(bell) = self.waiting.last().and_then(|waiter| waiter.parker.clone()) {
            rings.add(bell);
        }
    }

    /// Takes out all: there is nothing any more that could end their waits.
    pub(crate) fn take_all(&mut self) -> Wakeups {
        self.take_completed(|_| true)
    }

    /// What the others wait for, oldest first.
    pub(crate) fn calls(&mut self) -> impl Iterator<Item = &mut C> {
        self.waiting.iter_mut().map(|waiter| &mut waiter.call)
    }
}

impl Wakeups {
    /// Whether there is nobody to ring.
    #[inline]
    pub(crate) fn is_empty(&self) -> bool {
        self.first.is_none()
    }

    /// Adds a bell.
    pub(crate) fn add(&mut self, bell: Arc<Parker>) {
        match self.first {
            None => self.first = Some(bell),
            Some(_) => self.others.push(bell),
        }
    }

    /// Rings; best with the lock free, for which those who are rung are waiting.
    pub(crate) fn notify_all(self) {
        self.first.into_iter().chain(self.others).for_each(|bell| bell.notify());
    }
}
