//! Progress: one poll moves messages and advances collective calls in shared memory.
//!
//! The caller decides how often to poll and what to do in between; time and threads are not known
//! here.

use super::Mpi;
use crate::device::Device;

impl<D: Device> Mpi<D> {
    /// Advances all communication; the number of events, 0 if nothing advanced.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.engine.poll();
        if self.shared_collectives.is_idle() { arrived } else { arrived + self.advance_shared() }
    }

    /// A number that changes with every event on which an operation in progress depends, except the
    /// events that the device counts ([`Device::quiescence`]).
    pub fn position(&self) -> u64 {
        self.engine.events().wrapping_add(self.shared_collectives.position())
    }

    /// Whether all messages to other processes have been sent, including those without a request.
    pub fn is_drained(&self) -> bool {
        self.engine.is_drained() && !self.shared_collectives.has_freed_calls()
    }
}
