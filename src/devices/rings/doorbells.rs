//! The doorbells of the ranks of a node: that of this rank, if it waits for descriptors, and those of
//! peers, opened when they must first be woken.

use std::os::fd::OwnedFd;
use std::sync::{Arc, OnceLock};

use super::wake_word::{WakeMethod, WakeWord};
use platform::sys::doorbell::{Doorbell, DoorbellHandle};
use platform::sys::futex;

/// What this rank waits for.
pub(super) struct OwnDoorbell {
    pub(super) doorbell: Doorbell,
    /// What is readable while the doorbell is, or a socket.
    pub(super) descriptor: Arc<OwnedFd>,
}

/// The doorbell of a wake word: `None` if it cannot be opened, empty until one must be rung.
#[derive(Default)]
pub(crate) struct PeerDoorbell(OnceLock<Option<DoorbellHandle>>);

/// By slot. Empty until a peer must be woken.
#[derive(Default)]
pub(super) struct PeerDoorbells(OnceLock<Box<[PeerDoorbell]>>);

impl PeerDoorbell {
    /// Wakes the thread that sleeps on `wake_word`, always the same one, after a notification.
    #[cold]
    pub(crate) fn wake(&self, wake_word: &WakeWord) {
        let address = match wake_word.wake_method() {
            WakeMethod::Word => {
                futex::wake(wake_word.word());
                return;
            }
            WakeMethod::Unreachable => return,
            WakeMethod::Doorbell(address) => address,
        };
        match self.0.get_or_init(|| DoorbellHandle::open(address).ok()) {
            Some(handle) => handle.ring(),
            None => wake_word.withdraw_doorbell(),
        }
    }
}

impl PeerDoorbells {
    /// Wakes the rank in `slot` of `slots`, after a notification.
    #[cold]
    pub(super) fn wake(&self, slot: usize, slots: usize, wake_word: &WakeWord) {
        let doorbells = || (0..slots).map(|_| PeerDoorbell::default()).collect();
        self.0.get_or_init(doorbells)[slot].wake(wake_word);
    }
}
