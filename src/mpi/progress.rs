//! Progress: one poll moves messages, handles requests on windows and global memory, and advances
//! accesses of files and collective calls in shared memory.
//!
//! The caller decides how often to poll and what to do in between; time and threads are not known
//! here.

use super::Mpi;
use crate::device::Device;
use platform::base::Peer;

impl<D: Device> Mpi<D> {
    /// Advances all communication; the number of events, 0 if nothing advanced.
    #[inline]
    pub fn poll(&mut self) -> usize {
        let arrived = self.engine.poll();
        // One branch for all that most programs do not have.
        let has_more = self.engine.is_disturbed()
            | self.engine.has_completed_parts()
            | self.partitioned.is_any_by_put()
            | !self.windows.is_empty()
            | !self.files.is_idle()
            | self.global_memory.is_active()
            | self.resilience.awaits_flags()
            | !self.shared_collectives.is_idle();
        if has_more { arrived + self.poll_rest() } else { arrived }
    }

    /// The part of a poll that is not the engine's.
    #[inline(never)]
    fn poll_rest(&mut self) -> usize {
        if self.engine.is_disturbed() {
            self.look_after_failures();
        }
        if self.resilience.awaits_flags() {
            self.look_for_flags();
        }
        let parts = self.engine.has_completed_parts();
        let parts = if parts { self.advance_partitioned() } else { 0 };
        let parts = parts + if self.partitioned.is_any_by_put() { self.advance_puts() } else { 0 };
        while let Some(context) = self.engine.watched_contexts().take() {
            if !self.global_memory.notify(context) {
                self.windows.activate_context(context);
            }
        }
        let served = if self.windows.is_empty() { 0 } else { self.serve_windows() };
        let served = served + self.global_memory.poll(&mut self.engine);
        let served = served + if self.files.is_idle() { 0 } else { self.advance_files() };
        let shared = !self.shared_collectives.is_idle();
        parts + served + if shared { self.advance_shared() } else { 0 }
    }

    /// Whether the next poll has work that needs no packet to arrive: requests of this process on its
    /// own windows, too.
    #[inline]
    pub(crate) fn needs_poll(&self) -> bool {
        self.engine.needs_poll()
            || self.windows.await_service(self.engine.events())
            || self.global_memory.needs_poll()
    }

    /// The processes whose end would leave an operation incomplete that has begun.
    pub(crate) fn awaited_processes(&self) -> Vec<Peer> {
        let mut processes = self.engine.senders();
        processes.extend(self.partitioned.peers_by_put());
        processes
    }

    /// Completes, with an error, the operations that have begun with a process that has ended.
    pub(crate) fn end_operations_with(&mut self, ended: Peer) {
        self.engine.end_receives_from(ended);
        self.end_puts_with(ended);
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
