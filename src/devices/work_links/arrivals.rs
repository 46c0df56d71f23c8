//! What peers may do at a rank: the counters of the provider that stand for additions, and the memory under their keys.
//!
//! ```text
//!   place   memory, counter, value ──key──> a registration ──+1──> counter of the provider
//!   tell    an entry of the queue ──key──> which counter rises, or has
//!   take    what that has risen by, times the value ──> counter of the interface
//! ```

use std::collections::btree_map::Entry;
use std::collections::{BTreeMap, BTreeSet, HashMap};

use crate::device::rma::MemoryKey;
use crate::device::trigger::{AwaitedArrival, CounterKey};
use crate::devices::interface::Signal;
use platform::base::{Peer, Span};
use platform::network::{SharedSecret, memory_key};
use platform::sys::fabric::{WorkCounter, WorkEndpoint};

/// The place for writes without an addition.
pub(super) const UNCOUNTED: Signal = Signal { counter: CounterKey(0), value: 0 };

/// Entries of one look after which all counters are read: a quarter of what the queue of an endpoint holds.
const MANY_ENTRIES: usize = 1024;

/// Memory of a rank, and what a write to it adds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) struct PlaceName {
    pub(super) owner: Peer,
    /// 0 where nothing but the addition is written.
    pub(super) memory: MemoryKey,
    pub(super) signal: Signal,
}

/// The arrivals for which a rank is prepared.
#[derive(Default)]
pub(super) struct PreparedArrivals {
    /// By counter and value.
    all: BTreeMap<(CounterKey, u64), CountedArrivals>,
    /// Counters of the provider that are not in use.
    spare: Vec<WorkCounter>,
    /// What the keys of places count.
    by_key: HashMap<u64, (CounterKey, u64)>,
    /// Those that rise, or have risen, as the queue has told; each once. Its memory is used again.
    told: Vec<(CounterKey, u64)>,
    /// Entries since the last look; if they are many, the queue may have lost some.
    entries: usize,
}

/// One addition to a counter.
struct CountedArrivals {
    counter: WorkCounter,
    /// How many of them have been taken, and of how many the queue has told.
    taken: u64,
    told: u64,
    /// Whether it is among those of which the queue has told.
    is_told: bool,
    /// The keys of its places.
    places: BTreeSet<u64>,
}

impl PlaceName {
    /// The key of the provider.
    pub(super) fn key(&self, secret: &SharedSecret) -> u64 {
        let Self { owner, memory, signal } = self;
        memory_key(secret, &[u64::from(*owner), memory.0, signal.counter.0, signal.value])
    }
}

impl PreparedArrivals {
    /// Prepares for an arrival.
    ///
    /// # Errors
    /// A sentence of the provider.
    pub(super) fn await_one(
        &mut self, endpoint: &WorkEndpoint, secret: &SharedSecret, owner: Peer,
        arrival: &AwaitedArrival,
    ) -> Result<(), String> {
        let AwaitedArrival { counter, value, memory, .. } = *arrival;
        let Self { all, spare, .. } = self;
        if let Entry::Vacant(free) = all.entry((counter, value)) {
            let of_provider = spare.pop().map_or_else(|| endpoint.counter(), Ok)?;
            let counted = CountedArrivals {
                counter: of_provider,
                taken: 0,
                told: 0,
                is_told: false,
                places: BTreeSet::new(),
            };
            free.insert(counted);
        }
        let (memory, span) = memory.unwrap_or((MemoryKey(0), Span::EMPTY));
        let key_of = |signal| PlaceName { owner, memory, signal }.key(secret);
        let uncounted = key_of(UNCOUNTED);
        // A write that is too long has parts, of which the last one counts.
        let is_long = span.len() > endpoint.write_max();
        if is_long && !all.values().any(|other| other.places.contains(&uncounted)) {
            endpoint.register_as(uncounted, span, None)?;
            if let Some(counted) = all.get_mut(&(counter, value)) {
                counted.places.insert(uncounted);
            }
        }
        let key = key_of(Signal { counter, value });
        if let Some(counted) = all.get_mut(&(counter, value))
            && !counted.places.contains(&key)
        {
            endpoint.register_as(key, span, Some(counted.counter))?;
            counted.places.insert(key);
            self.by_key.insert(key, (counter, value));
        }
        Ok(())
    }

    /// Nothing arrives any more at these counters.
    pub(super) fn forget(&mut self, endpoint: &WorkEndpoint, counters: &[CounterKey]) {
        let Self { all, spare, by_key, told, .. } = self;
        for (name, counted) in all.extract_if(.., |(counter, _), _| counters.contains(counter)) {
            let CountedArrivals { counter, places, .. } = counted;
            for key in places {
                by_key.remove(&key);
                endpoint.deregister(key);
            }
            told.retain(|other| *other != name);
            endpoint.reset(counter);
            spare.push(counter);
        }
    }

    /// The queue has told of a write to the place with this key.
    pub(super) fn tell(&mut self, key: u64) {
        self.entries += 1;
        // Not one that is forgotten.
        let Some(name) = self.by_key.get(&key) else { return };
        if let Some(counted) = self.all.get_mut(name) {
            counted.told += 1;
            if !std::mem::replace(&mut counted.is_told, true) {
                self.told.push(*name);
            }
        }
    }

    /// Takes the additions that are new; whether there were any.
    pub(super) fn take(&mut self, endpoint: &WorkEndpoint, each: &mut dyn FnMut(Signal)) -> bool {
        let Self { all, told, entries, .. } = self;
        if std::mem::take(entries) >= MANY_ENTRIES {
            let others = all.iter_mut().filter(|(_, counted)| !counted.is_told);
            told.extend(others.map(|(name, counted)| {
                counted.is_told = true;
                *name
            }));
        }
        let mut any = false;
        told.retain(|&(counter, value)| {
            let Some(counted) = all.get_mut(&(counter, value)) else { return false };
            let new = endpoint.level(counted.counter) - counted.taken;
            if new > 0 {
                any = true;
                counted.taken += new;
                counted.told = counted.told.max(counted.taken);
                each(Signal { counter, value: value.wrapping_mul(new) });
            }
            counted.is_told = counted.told > counted.taken;
            counted.is_told
        });
        any
    }

    /// Whether the queue has told of more than was counted.
    pub(super) fn will_rise(&self) -> bool {
        !self.told.is_empty()
    }
}
