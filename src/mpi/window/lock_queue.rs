//! The lock of this process's window memory for origins that ask by messages: fair, in the order of
//! the requests.
//!
//! ```text
//!   request ──> waits ──all before it are held, and it may join them──> held ──release──>
//! ```
//!
//! Readers join readers, a writer is alone. A reader of all targets (`MPI_Win_lock_all`) asks for their
//! locks in any order, while it holds some: it passes writers that wait, because two such readers and two
//! writers could else wait for each other in a circle. Messages are not in this module.
//!
//! A lock that is *closed* is granted to none: some of the ranks have other means to take it, until all
//! have told which of them hold it.

use std::collections::{BTreeMap, VecDeque};

use crate::shared_memory::turn_lock::LockKind;

/// The origins that hold the lock, and those that wait.
#[derive(Debug, Default)]
pub(super) struct LockQueue {
    holders: BTreeMap<u32, LockKind>,
    waiting: VecDeque<(u32, LockKind)>,
    /// Readers of all targets, which wait for the writer that holds the lock only.
    passing: VecDeque<u32>,
    is_closed: bool,
}

impl LockQueue {
    /// Asks for the lock; whether it is held now. An origin asks again after its release only.
    pub(super) fn request(&mut self, origin: u32, kind: LockKind) -> bool {
        self.waiting.push_back((origin, kind));
        self.grant().contains(&origin)
    }

    /// Asks for the lock on behalf of a reader of all targets.
    pub(super) fn request_for_all(&mut self, origin: u32) -> bool {
        self.passing.push_back(origin);
        self.grant().contains(&origin)
    }

    /// Ends the lock of `origin`; the origins that hold it now and did not before.
    pub(super) fn release(&mut self, origin: u32) -> Vec<u32> {
        self.holders.remove(&origin);
        self.grant()
    }

    /// Grants no lock until [`LockQueue::open`].
    pub(super) fn close(&mut self) {
        self.is_closed = true;
    }

    pub(super) fn is_closed(&self) -> bool {
        self.is_closed
    }

    /// `origin` holds a closed lock by other means.
    pub(super) fn hold(&mut self, origin: u32, kind: LockKind) {
        self.holders.insert(origin, kind);
    }

    /// Grants locks from now on.
    pub(super) fn open(&mut self) {
        self.is_closed = false;
        self.grant();
    }

    /// `origin` asks for nothing any more; a lock that it holds remains its own.
    pub(super) fn withdraw(&mut self, origin: u32) {
        self.waiting.retain(|(waiting, _)| *waiting != origin);
        self.passing.retain(|waiting| *waiting != origin);
        self.grant();
    }

    pub(super) fn is_held_by(&self, origin: u32) -> bool {
        self.holders.contains_key(&origin)
    }

    fn grant(&mut self) -> Vec<u32> {
        let mut granted = Vec::new();
        if self.is_closed {
            return granted;
        }
        if !self.holders.values().any(|held| *held == LockKind::Exclusive) {
            granted.extend(self.passing.drain(..));
            self.holders.extend(granted.iter().map(|origin| (*origin, LockKind::Shared)));
        }
        while let Some((origin, kind)) = self.waiting.front().copied() {
            let may_join = match kind {
                LockKind::Exclusive => self.holders.is_empty(),
                LockKind::Shared => !self.holders.values().any(|held| *held == LockKind::Exclusive),
            };
            if !may_join || self.holders.contains_key(&origin) {
                break;
            }
            self.waiting.pop_front();
            self.holders.insert(origin, kind);
            granted.push(origin);
        }
        granted
    }
}

#[cfg(test)]
mod tests {
    use super::LockKind::{Exclusive, Shared};
    use super::*;

    #[test]
    fn readers_share_and_a_writer_is_alone() {
        let mut lock = LockQueue::default();
        assert!(lock.request(1, Shared) && lock.request(2, Shared));
        assert!(!lock.request(3, Exclusive));
        // Fair: the reader comes after the writer.
        assert!(!lock.request(4, Shared));
        assert!(!lock.request(5, Shared));
        assert!(lock.release(1).is_empty());
        assert_eq!(lock.release(2), [3]);
        assert!(lock.is_held_by(3) && !lock.is_held_by(4));
        assert_eq!(lock.release(3), [4, 5]);
        assert!(!lock.request(1, Exclusive));
        assert!(lock.release(4).is_empty());
        assert_eq!(lock.release(5), [1]);
        assert!(lock.release(1).is_empty());
        assert!(lock.request(2, Exclusive));
    }

    #[test]
    fn a_closed_lock_is_granted_when_it_opens_and_not_to_those_that_withdrew() {
        let mut lock = LockQueue::default();
        lock.close();
        lock.hold(1, Shared);
        assert!(
            !lock.request(2, Shared) && !lock.request(3, Exclusive) && !lock.request(4, Shared)
        );
        assert!(!lock.request_for_all(5) && lock.release(6).is_empty());
        lock.withdraw(3);
        assert!(lock.is_closed() && !lock.is_held_by(2));
        lock.open();
        assert!([1, 2, 4, 5].iter().all(|origin| lock.is_held_by(*origin)) && !lock.is_held_by(3));
        assert!(!lock.request(7, Exclusive) && !lock.request(8, Shared));
        // One that waits no longer lets those behind it in.
        lock.withdraw(7);
        assert!(lock.is_held_by(8));
    }

    #[test]
    fn a_reader_of_all_targets_passes_writers_that_wait() {
        let mut lock = LockQueue::default();
        assert!(lock.request(1, Shared) && !lock.request(2, Exclusive));
        assert!(lock.request_for_all(3));
        assert!(lock.release(1).is_empty());
        assert_eq!(lock.release(3), [2]);
        assert!(!lock.request_for_all(4) && !lock.request(5, Exclusive));
        assert_eq!(lock.release(2), [4]);
        assert_eq!(lock.release(4), [5]);
    }
}
