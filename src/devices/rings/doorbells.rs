//! The doorbells of the ranks of a node: that of this rank, if it waits for descriptors, and those of
//! peers, opened when they must first be woken.

use std::cell::OnceCell;
use std::os::fd::OwnedFd;
use std::sync::Arc;

use super::wake_word::{WakeMethod, WakeWord};
use platform::sys::doorbell::{Doorbell, DoorbellHandle};
use platform::sys::futex;

/// What this rank waits for.
pub(super) struct OwnDoorbell {
    pub(super) doorbell: Doorbell,
    /// What is readable while the doorbell is, or a socket.
    pub(super) descriptor: Arc<OwnedFd>,
}

/// By slot: a handle, or `None` if the doorbell cannot be opened. Empty until a peer with a doorbell
/// must be woken.
#[derive(Default)]
pub(super) struct PeerDoorbells(OnceCell<Box<[OnceCell<Option<DoorbellHandle>>]>>);

impl PeerDoorbells {
    /// Wakes the rank in `slot` of `slots`, after a notification.
    #[cold]
    pub(super) fn wake(&self, slot: usize, slots: usize, wake_word: &WakeWord) {
        let address = match wake_word.wake_method() {
            WakeMethod::Word => {
                futex::wake(wake_word.word());
                return;
            }
            WakeMethod::Unreachable => return,
            WakeMethod::Doorbell(address) => address,
        };
        let handles = self.0.get_or_init(|| (0..slots).map(|_| OnceCell::new()).collect());
        match handles[slot].get_or_init(|| DoorbellHandle::open(address).ok()) {
            Some(handle) => handle.ring(),
            None => wake_word.withdraw_doorbell(),
        }
    }
}
