//! The counters of an interface: the pool of free ones, and access to their levels.
//!
//! ```text
//!   key      1 ......... limit │ limit + 1 ......... words
//!            trigger work      │ plain words: peers add to them alike, the host reads them
//! ```
//!
//! A released counter is reused last, so that a late addition more probably changes an unused
//! counter.

use std::collections::VecDeque;

use crate::device::trigger::CounterKey;
use platform::base::{ErrorClass, Result};

/// The levels of this rank's counters. The owner of the interface implements it.
///
/// Peers add to the same levels at any time: additions are atomic.
pub(crate) trait Counters {
    /// The level. Writes before the additions in it are visible after this call.
    fn level(&self, counter: CounterKey) -> u64;

    /// Adds to the level, wrapping, for this rank itself, which knows of it without [`Counters::additions`].
    fn add(&self, counter: CounterKey, value: u64);

    /// A number that changes after each addition of a peer.
    fn additions(&self) -> u64;

    /// Calls `each` with the counters to which anybody has added since the last call. An addition during
    /// the call is in this call or in the next one.
    fn take_changed(&self, each: impl FnMut(CounterKey));
}

/// The counters of one kind: a range of keys.
#[derive(Debug)]
struct CounterRange {
    /// The first key that was never taken, and the one after the last.
    next_unused: u32,
    end: u32,
    released: VecDeque<CounterKey>,
}

/// All counters of an interface.
#[derive(Debug)]
pub(super) struct CounterPool {
    triggering: CounterRange,
    plain: CounterRange,
}

impl CounterRange {
    fn new(start: u32, end: u32) -> Self {
        Self { next_unused: start, end, released: VecDeque::new() }
    }

    fn available(&self) -> usize {
        (self.end - self.next_unused) as usize + self.released.len()
    }

    fn take(&mut self) -> Option<CounterKey> {
        if self.next_unused < self.end {
            self.next_unused += 1;
            return Some(CounterKey(u64::from(self.next_unused - 1)));
        }
        self.released.pop_front()
    }
}

impl CounterPool {
    /// A pool of `words` counters, of which `triggering` trigger work.
    pub(super) fn new(triggering: u32, words: u32) -> Self {
        let limit = triggering.min(words);
        Self {
            triggering: CounterRange::new(1, limit + 1),
            plain: CounterRange::new(limit + 1, words + 1),
        }
    }

    pub(super) fn triggers(&self, counter: CounterKey) -> bool {
        counter.0 < u64::from(self.triggering.end)
    }

    /// Takes `count` of one kind and sets them to 0.
    pub(super) fn take(&mut self, count: usize, levels: &impl Counters) -> Result<Vec<CounterKey>> {
        let kinds = [&mut self.triggering, &mut self.plain];
        let Some(kind) = kinds.into_iter().find(|kind| count <= kind.available()) else {
            let (one, other) = (self.triggering.available(), self.plain.available());
            return Err(ErrorClass::NoMem.error(format!(
                "{count} counters are needed; free are {one} of the interface and {other} words of memory"
            )));
        };
        let keys: Vec<_> = (0..count).map_while(|_| kind.take()).collect();
        for &key in &keys {
            levels.add(key, levels.level(key).wrapping_neg());
        }
        Ok(keys)
    }

    pub(super) fn release(&mut self, counter: CounterKey) {
        let triggers = self.triggers(counter);
        let kind = if triggers { &mut self.triggering } else { &mut self.plain };
        kind.released.push_back(counter);
    }
}
