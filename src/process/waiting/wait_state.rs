//! How the progress thread sleeps, as every holder of the lock sees it.
//!
//! ```text
//!          it sleeps on the device
//!   Away ───────────────────────────> Armed ──── a call polls, and disarms the device ──> Disarmed
//!    ▲  <───────── it wakes ────────────┘                                                    │
//!    └──────────── it wakes, or is woken ────────────────────────────────────────────────────┘
//! ```
//!
//! In `Disarmed` the thread still sleeps and no packet wakes it; a caller that needs the thread
//! wakes it.

/// How the progress thread sleeps, if there is one.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub(crate) enum WaitState {
    /// It does not sleep on the device.
    #[default]
    Away,
    /// It sleeps on the device, which is armed.
    Armed,
    /// It sleeps on the device, which has been disarmed.
    Disarmed,
}

impl WaitState {
    /// Whether the device must remain armed for the thread.
    #[inline]
    pub(crate) fn is_armed(self) -> bool {
        self == Self::Armed
    }

    /// A call polls from now on; whether the device must be disarmed.
    #[inline]
    pub(crate) fn disarm(&mut self) -> bool {
        let was_armed = self.is_armed();
        if was_armed {
            *self = Self::Disarmed;
        }
        was_armed
    }

    /// The thread must wake up; whether the device must wake it.
    pub(crate) fn wake(&mut self) -> bool {
        std::mem::take(self) != Self::Away
    }
}
