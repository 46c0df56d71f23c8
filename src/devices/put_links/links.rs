//! What an interface demands of its links to ranks that it does not reach by memory.

use std::time::Duration;

use super::{Landing, LinkNews};
use crate::device::trigger::{AwaitedArrival, CounterKey};
use crate::devices::interface::DueAction;
use platform::base::{Peer, Result};
use platform::sys::doorbell::DoorbellAddress;

/// The links of one rank.
pub(crate) trait InterfaceLinks: Send + Sync {
    /// Whether ranks of this host are reached by links, too.
    fn are_everywhere(&self) -> bool;

    /// Whether another rank of the job has this number.
    fn knows(&self, peer: Peer) -> bool;

    /// The longest put of one action, in bytes.
    fn put_max(&self) -> usize;

    /// Begins to connect to a peer; `None` until that has ended.
    ///
    /// # Errors
    /// Why there is no connection.
    fn connect(&self, peer: Peer) -> Option<Result<(), String>>;

    /// Prepares for arrivals before peers know of their counters and memory. By default, nothing is needed.
    ///
    /// # Errors
    /// `NoMem` without a resource for one.
    fn await_arrivals(&self, arrivals: &mut dyn Iterator<Item = AwaitedArrival>) -> Result {
        let _ = arrivals;
        Ok(())
    }

    /// Nothing arrives any more at counters: all that was prepared for them is undone.
    fn forget_arrivals(&self, counters: &[CounterKey]) {
        let _ = counters;
    }

    /// Sends a put or an addition; its end, if it has ended already.
    fn post(&self, due: &DueAction) -> Option<Result>;

    /// Tells all peers that this process may exit.
    fn leave(&self);

    /// Takes what has arrived, and goes on with what was posted; `news` are those of this look. For the engine
    /// thread, as all functions below that have no other owner.
    fn look(&self, landing: &dyn Landing, news: &mut LinkNews);

    /// The same for a thread that does not sleep on the links. One thread at a time looks.
    fn look_beside(&self, landing: &dyn Landing, news: &mut LinkNews);

    /// Returns when no byte lands any more in memory whose registration has ended before.
    fn fence(&self);

    /// Where ranks of this host wake the engine thread.
    fn doorbell(&self) -> DoorbellAddress;

    /// Ends a sleep of the engine thread, or the next one. For any thread.
    fn ring(&self);

    /// Forgets earlier rings of other ranks, before the thread looks for the last time.
    fn prepare_sleep(&self);

    /// Sleeps until something has happened, a ring, or the time.
    fn sleep(&self, timeout: Duration);
}
