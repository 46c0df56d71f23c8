//! What the progress thread sleeps on, as everybody sees it who holds the lock.
//!
//! ```text
//!          it sleeps on the device
//!   Away ───────────────────────────> Armed ── a call polls: relieve, and disarm ──> Relieved
//!    ▲  <───────── it wakes ────────────┘                                               │
//!    └──────────── it wakes, or somebody rouses it ─────────────────────────────────────┘
//! ```
//!
//! A relieved thread sleeps on, and no packet wakes it: who needs it rouses it.

/// What the progress thread sleeps on, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WaitState {
    /// Not on the device.
    #[default]
    Away,
    /// On the device, which is armed for it.
    Armed,
    /// On the device, which is not armed for it any more.
    Disarmed,
}

impl WaitState {
    /// Whether the device must stay armed for the thread.
    #[inline]
    pub(crate) fn is_armed(self) -> bool {
        self == Self::Armed
    }

    /// A call polls instead. Whether the device need not be armed for the thread any more.
    #[inline]
    pub(crate) fn disarm(&mut self) -> bool {
        let relieves = self.is_armed();
        if relieves {
            *self = Self::Disarmed;
        }
        relieves
    }

    /// The thread is to wake up. Whether the device must be roused for that.
    pub(crate) fn wake(&mut self) -> bool {
        std::mem::take(self) != Self::Away
    }
}
