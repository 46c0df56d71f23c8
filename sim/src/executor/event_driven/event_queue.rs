//! Events by time, and those of one time by rank, step and kind.
//!
//! No event comes before the time of the one that was taken last. So events wait in a radix heap (Ahuja, Mehlhorn, Orlin
//! and Tarjan, "Faster algorithms for the shortest path problem", J. ACM 37(2), 1990), which compares no two of them:
//! bucket `b` has the times whose highest bit that differs from the present time is bit `b`. Each event moves to lower
//! buckets a few times. The crates with such heaps give no way to take the events of one time alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpi_abi::offload::StepId;

use super::EventKind;

/// Rank, step and kind.
type EventPlace = (u32, StepId, EventKind);

/// Events that have not been taken.
#[derive(Debug)]
pub(super) struct EventQueue {
    now_ps: u64,
    now: BinaryHeap<Reverse<EventPlace>>,
    later: [Vec<(u64, EventPlace)>; 64],
}

impl Default for EventQueue {
    fn default() -> Self {
        Self { now_ps: 0, now: BinaryHeap::new(), later: [const { Vec::new() }; 64] }
    }
}

impl EventQueue {
    /// Adds an event, not before the one that was taken last.
    #[inline]
    pub(super) fn push(&mut self, time_ps: u64, rank: usize, step: StepId, kind: EventKind) {
        self.place(time_ps, (rank as u32, step, kind));
    }

    #[inline]
    fn place(&mut self, time_ps: u64, place: EventPlace) {
        debug_assert!(time_ps >= self.now_ps);
        match (time_ps ^ self.now_ps).checked_ilog2() {
            None => self.now.push(Reverse(place)),
            Some(bucket) => self.later[bucket as usize].push((time_ps, place)),
        }
    }

    /// Takes the first event.
    pub(super) fn pop(&mut self) -> Option<(u64, usize, StepId, EventKind)> {
        if self.now.is_empty() {
            let bucket = self.later.iter().position(|bucket| !bucket.is_empty())?;
            let mut events = std::mem::take(&mut self.later[bucket]);
            let first = events.iter().map(|(time_ps, _)| *time_ps).min();
            self.now_ps = first.unwrap_or(self.now_ps);
            events.drain(..).for_each(|(time_ps, place)| self.place(time_ps, place));
            self.later[bucket] = events;
        }
        let Reverse((rank, step, kind)) = self.now.pop()?;
        Some((self.now_ps, rank as usize, step, kind))
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_come_by_time_then_by_rank() {
        let mut queue = EventQueue::default();
        for (time_ps, rank) in [(5, 1), (3, 7), (5, 0), (0, 2)] {
            queue.push(time_ps, rank, 0, EventKind::Complete);
        }
        let mut order = Vec::new();
        while let Some((time_ps, rank, ..)) = queue.pop() {
            order.push((time_ps, rank));
            if (time_ps, rank) == (5, 1) {
                // At the present time, from a rank before it.
                queue.push(5, 0, 1, EventKind::Complete);
                queue.push(6, 0, 1, EventKind::Complete);
            }
        }
        assert_eq!(order, [(0, 2), (3, 7), (5, 0), (5, 1), (5, 0), (6, 0)]);
    }
}
