//! Which counters of an interface are taken.
//!
//! ```text
//!   key      1 ......... limit │ limit + 1 ......... words
//!            trigger work      │ plain words, which peers add to alike and the host looks at
//! ```
//!
//! A counter that was given back is taken again last, so that an addition that comes too late is
//! more likely to change one that nobody uses.

use std::collections::VecDeque;

use crate::device::trigger::CounterKey;
use platform::base::{ErrorClass, Result};

/// Where the levels of this rank's counters are. The owner of the interface supplies it.
///
/// Peers add to the same levels at any time: additions are atomic.
pub(crate) trait Counters {
    /// The level; what was written before the additions that it contains is seen after this.
    fn level(&self, counter: CounterKey) -> u64;

    /// Adds to the level, wrapping.
    fn add(&self, counter: CounterKey, value: u64);
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
    /// So many that trigger work, of `words` in all.
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
                "{count} counters are wanted, and {one} of the interface and {other} words are left"
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
