//! Events by time, and those of one time by rank, step and kind.
//!
//! ```text
//!   digit of a time       ...      2         1         0
//!   slots of later events          ▪▪▪       ▪▪        ▪       by the highest digit that differs from the base
//!                                   │ many: to slots of lower digits
//!                                   ▼ few: sorted
//!   near events                    ▪▪▪▪ ──> the first event
//! ```
//!
//! No event comes before the time of the one that was taken last. So events wait in a radix heap (Ahuja, Mehlhorn, Orlin
//! and Tarjan, "Faster algorithms for the shortest path problem", J. ACM 37(2), 1990), whose slots compare no two of
//! them. Its digits have six bits, as a slot of so many times often has few enough events to sort them (as in a ladder
//! queue; Tang, Goh and Thng, ACM TOMACS 15(3), 2005). The crates with such heaps give no way to take the events of one
//! time alone.

use std::cmp::Reverse;
use std::collections::BinaryHeap;

use mpi_abi::offload::StepId;

/// What happens.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) enum EventKind {
    /// The first byte of a message reaches a link; the step is the number of its flight.
    Link,
    /// The first byte of a message reaches its receiver.
    FirstByte,
    /// A step completes.
    Complete,
}

/// Time, rank, step and kind, from the highest bit to the lowest: 64, 32, 30 and 2 bits.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub(super) struct Event(u128);

impl Event {
    #[inline]
    fn new(time_ps: u64, rank: u32, step: StepId, kind: EventKind) -> Self {
        debug_assert!(step >> 30 == 0);
        let place = u64::from(rank) << 32 | u64::from(step) << 2 | kind as u64;
        Self(u128::from(time_ps) << 64 | u128::from(place))
    }

    #[inline]
    pub(super) fn time_ps(self) -> u64 {
        (self.0 >> 64) as u64
    }

    #[inline]
    pub(super) fn rank(self) -> u32 {
        (self.0 >> 32) as u32
    }

    #[inline]
    pub(super) fn step(self) -> StepId {
        self.0 as u32 >> 2
    }

    #[inline]
    pub(super) fn kind(self) -> EventKind {
        match self.0 as u32 & 3 {
            0 => EventKind::Link,
            1 => EventKind::FirstByte,
            _ => EventKind::Complete,
        }
    }
}

const DIGIT_BITS: usize = 6;
const SLOTS: usize = 1 << DIGIT_BITS;
const DIGITS: usize = u64::BITS.div_ceil(DIGIT_BITS as u32) as usize;

/// The most events that are sorted, and the most that are then inserted between them: they stay in the first cache.
const NEAR_MAX: usize = 128;

/// Events that have not been taken.
#[derive(Debug)]
pub(super) struct EventQueue {
    /// Later events are in the slots of their highest digits that differ from this time.
    base_ps: u64,
    /// Events before this time are near.
    near_end_ps: u64,
    /// The first one last.
    sorted: Vec<Event>,
    /// Near ones that came after these were sorted.
    inserted: BinaryHeap<Reverse<Event>>,
    /// For each digit, the slots with events, as bits.
    used: [u64; DIGITS],
    later: Vec<Vec<Event>>,
}

impl Default for EventQueue {
    fn default() -> Self {
        Self {
            base_ps: 0,
            near_end_ps: 0,
            sorted: Vec::new(),
            inserted: BinaryHeap::new(),
            used: [0; DIGITS],
            later: vec![Vec::new(); DIGITS * SLOTS],
        }
    }
}

impl EventQueue {
    /// Adds an event, not before the one that was taken last.
    #[inline]
    pub(super) fn push(&mut self, time_ps: u64, rank: u32, step: StepId, kind: EventKind) {
        let event = Event::new(time_ps, rank, step, kind);
        if time_ps >= self.near_end_ps {
            self.put(event);
            return;
        }
        self.inserted.push(Reverse(event));
        if self.inserted.len() > NEAR_MAX && self.near_end_ps - self.base_ps > 1 {
            self.spread();
        }
    }

    /// Puts an event to the later ones.
    #[inline]
    fn put(&mut self, event: Event) {
        let time_ps = event.time_ps();
        debug_assert!(time_ps >= self.base_ps);
        let digit = ((time_ps ^ self.base_ps) | 1).ilog2() as usize / DIGIT_BITS;
        let slot = time_ps as usize >> (digit * DIGIT_BITS) & (SLOTS - 1);
        self.used[digit] |= 1 << slot;
        self.later[digit * SLOTS + slot].push(event);
    }

    /// Takes the first event.
    #[inline]
    pub(super) fn pop(&mut self) -> Option<Event> {
        if self.sorted.is_empty() && self.inserted.is_empty() {
            self.sort_next()?;
        }
        match (self.sorted.last(), self.inserted.peek()) {
            (Some(first), Some(Reverse(inserted))) if inserted > first => self.sorted.pop(),
            (Some(_), None) => self.sorted.pop(),
            _ => self.inserted.pop().map(|Reverse(event)| event),
        }
    }

    /// Sorts the events of the next slot that has few of them, or one time.
    fn sort_next(&mut self) -> Option<()> {
        loop {
            let digit = self.used.iter().position(|used| *used != 0)?;
            let slot = self.used[digit].trailing_zeros() as usize;
            self.used[digit] &= !(1 << slot);
            let shift = digit * DIGIT_BITS;
            let higher = self.base_ps >> shift >> DIGIT_BITS << DIGIT_BITS;
            self.base_ps = (higher | slot as u64) << shift;
            let place = digit * SLOTS + slot;
            if digit == 0 || self.later[place].len() <= NEAR_MAX {
                self.near_end_ps = self.base_ps + (1 << shift);
                std::mem::swap(&mut self.sorted, &mut self.later[place]);
                self.sorted.sort_unstable_by(|one, other| other.cmp(one));
                return Some(());
            }
            let mut events = std::mem::take(&mut self.later[place]);
            events.drain(..).for_each(|event| self.put(event));
            self.later[place] = events;
        }
    }

    /// Too many events came near: they go to slots of lower digits.
    #[cold]
    fn spread(&mut self) {
        // No later event has a digit below those of the slot that was sorted, and these bits of the base are 0.
        self.near_end_ps = self.base_ps;
        let mut sorted = std::mem::take(&mut self.sorted);
        sorted.drain(..).for_each(|event| self.put(event));
        self.sorted = sorted;
        let mut inserted = std::mem::take(&mut self.inserted);
        inserted.drain().for_each(|Reverse(event)| self.put(event));
        self.inserted = inserted;
    }
}

#[cfg(test)]
mod tests {
    use platform::base::Random;

    use super::*;

    #[test]
    fn events_come_by_time_then_by_rank() {
        let mut queue = EventQueue::default();
        for (time_ps, rank) in [(5, 1), (3, 7), (5, 0), (0, 2)] {
            queue.push(time_ps, rank, 0, EventKind::Complete);
        }
        let mut order = Vec::new();
        while let Some(event) = queue.pop() {
            order.push((event.time_ps(), event.rank()));
            if order.last() == Some(&(5, 1)) {
                // At the present time, from a rank before it.
                queue.push(5, 0, 1, EventKind::Complete);
                queue.push(6, 0, 1, EventKind::Complete);
            }
        }
        assert_eq!(order, [(0, 2), (3, 7), (5, 0), (5, 1), (5, 0), (6, 0)]);
    }

    /// Many events of one time, many in a short time, and few in a long one.
    #[test]
    fn any_events_come_in_the_order_of_a_heap() {
        for seed in 0..40 {
            let mut random = Random::new(seed);
            let (mut queue, mut heap) = (EventQueue::default(), BinaryHeap::new());
            let mut now_ps = 0;
            for turn in 0..20_000 {
                let pushes = if turn < 3000 { random.below(4) } else { random.below(2) };
                for _ in 0..pushes {
                    let bits = random.below(40) as u32;
                    let later_ps = random.below(1 << bits) * random.below(2);
                    let (rank, step) = (random.below(1 << 20) as u32, random.below(1 << 30) as u32);
                    let kinds = [EventKind::Link, EventKind::FirstByte, EventKind::Complete];
                    let kind = kinds[random.below(3) as usize];
                    queue.push(now_ps + later_ps, rank, step, kind);
                    heap.push(Reverse((now_ps + later_ps, rank, step, kind)));
                }
                let taken = queue.pop().map(|it| (it.time_ps(), it.rank(), it.step(), it.kind()));
                assert_eq!(taken, heap.pop().map(|Reverse(event)| event), "seed {seed}");
                now_ps = taken.map_or(now_ps, |(time_ps, ..)| time_ps);
            }
        }
    }
}
