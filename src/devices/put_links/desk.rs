//! Where the device that connects meets the interface that uses the connections.
//!
//! ```text
//!   interface, in MPI_X_init                 device, when it polls
//!     connect ───────── wishes ────────────>  connects, proves the secret
//!     <──────────────── outcome ────────────  open or refuse
//!   engine thread <──── the connection ─────  open; also one that a peer has opened
//! ```
//!
//! The lower of two ranks connects, so no connections cross.

use std::collections::{BTreeMap, BTreeSet};
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use parking_lot::Mutex;

use platform::base::Peer;
use platform::sys::tcp::{StreamConnection, Watched};

/// A connection whose other end has proved the secret of the job.
pub(crate) struct ProvenStream {
    pub(crate) connection: StreamConnection,
    /// Bytes that have been received with the proof.
    pub(crate) early: Vec<u8>,
    /// Bytes of the proof that have to be written.
    pub(crate) unsent: Vec<u8>,
    /// The process at the other end: the beginning of a sentence.
    pub(crate) process: String,
}

/// The desk of one rank.
pub(crate) struct ConnectionDesk {
    me: Peer,
    state: Mutex<DeskState>,
    has_wishes: AtomicBool,
    /// What the engine thread sleeps on.
    watched: Arc<Watched>,
}

#[derive(Default)]
struct DeskState {
    wishes: Vec<Peer>,
    /// Peers to which the device connects, and those to which it could not.
    outcomes: BTreeMap<Peer, Option<String>>,
    /// Peers with a connection, now or before.
    connected: BTreeSet<Peer>,
    arrived: Vec<(Peer, ProvenStream)>,
}

impl ConnectionDesk {
    pub(super) fn new(me: Peer, watched: Arc<Watched>) -> Self {
        let has_wishes = AtomicBool::new(false);
        Self { me, state: Mutex::default(), has_wishes, watched }
    }

    /// Begins to connect to a peer at the first call; `None` until that has ended. A lower rank connects
    /// by itself.
    ///
    /// # Errors
    /// Why there is no connection, and will be none.
    pub(super) fn connect(&self, peer: Peer) -> Option<Result<(), String>> {
        let mut state = self.state.lock();
        if peer < self.me || state.connected.contains(&peer) {
            return Some(Ok(()));
        }
        if let Some(outcome) = state.outcomes.get(&peer) {
            return outcome.clone().map(Err);
        }
        state.outcomes.insert(peer, None);
        state.wishes.push(peer);
        self.has_wishes.store(true, Ordering::Release);
        None
    }

    /// Whether the device has to connect.
    #[inline]
    pub(crate) fn has_wishes(&self) -> bool {
        self.has_wishes.load(Ordering::Acquire)
    }

    /// The peers to which the device has to connect, each once.
    pub(crate) fn take_wishes(&self) -> Vec<Peer> {
        let mut state = self.state.lock();
        self.has_wishes.store(false, Ordering::Release);
        std::mem::take(&mut state.wishes)
    }

    /// Whether `peer` may open a connection: a lower rank, once.
    pub(crate) fn admits(&self, peer: Peer) -> bool {
        peer < self.me && !self.state.lock().connected.contains(&peer)
    }

    /// There is a connection to `peer`.
    pub(crate) fn open(&self, peer: Peer, stream: ProvenStream) {
        let mut state = self.state.lock();
        state.outcomes.remove(&peer);
        state.connected.insert(peer);
        state.arrived.push((peer, stream));
        drop(state);
        self.watched.ring();
    }

    /// There will be no connection to `peer`.
    pub(crate) fn refuse(&self, peer: Peer, why: String) {
        self.state.lock().outcomes.insert(peer, Some(why));
    }

    /// The connections that are new.
    pub(super) fn take_arrived(&self) -> Vec<(Peer, ProvenStream)> {
        std::mem::take(&mut self.state.lock().arrived)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_lower_rank_connects_and_hears_of_the_outcome() {
        let desk = ConnectionDesk::new(1, Arc::new(Watched::new().unwrap()));
        assert_eq!((desk.connect(0), desk.has_wishes()), (Some(Ok(())), false));
        assert_eq!((desk.connect(2), desk.connect(2)), (None, None));
        assert!(desk.has_wishes() && desk.admits(0) && !desk.admits(2));
        assert_eq!((desk.take_wishes(), desk.has_wishes()), (vec![2], false));
        desk.refuse(2, "no answer".to_owned());
        for _ in 0..2 {
            assert_eq!(desk.connect(2), Some(Err("no answer".to_owned())));
        }
        assert!(!desk.has_wishes());
    }
}
