//! Queues of numbers in a hash table: for each key its numbers, oldest first.
//!
//! ```text
//! bucket ──> leader of key a ──chain──> leader of key b ──chain──> ...
//!               │ next                     (alone)
//!            second of a ── next ──> last of a        leader.previous: the last of its key
//! ```
//!
//! To find the first number of a key, to append and to remove take constant time for any number of
//! entries and keys, as `matching` needs, because a chain has each key once. A number names an entry
//! that the caller keeps. The links of an entry are in a vector at that index, so numbers should be
//! small; an entry takes half a cache line.

/// The key of a queue: two words.
pub(crate) type MatchKey = [u64; 2];

/// No number.
const NONE: u32 = u32::MAX;

/// Queues of numbers, one for each key. An empty table has no memory.
#[derive(Debug, Default)]
pub(crate) struct MatchTable {
    /// By number.
    links: Vec<MatchLink>,
    /// The first leader of each chain. A power of two, at least the number of keys.
    buckets: Vec<u32>,
    /// Different keys, each with one leader.
    keys: usize,
}

#[derive(Clone, Copy, Debug)]
struct MatchLink {
    key: MatchKey,
    /// For a leader the last number of its queue, which may be itself.
    previous: u32,
    /// `NONE` for the last of a queue.
    next: u32,
    /// The next leader in the bucket; for leaders only.
    chain: u32,
    is_leader: bool,
}

const VACANT: MatchLink =
    MatchLink { key: [0; 2], previous: NONE, next: NONE, chain: NONE, is_leader: false };

const BUCKETS_MIN: usize = 64;

impl MatchTable {
    /// Appends a number to the queue of `key`. The number must be in no queue.
    pub(crate) fn push(&mut self, key: MatchKey, number: u32) {
        if self.links.len() <= number as usize {
            self.links.resize(number as usize + 1, VACANT);
        }
        match self.first(key) {
            Some(leader) => {
                let last = std::mem::replace(&mut self.links[leader as usize].previous, number);
                self.links[last as usize].next = number;
                let link =
                    MatchLink { key, previous: last, next: NONE, chain: NONE, is_leader: false };
                self.links[number as usize] = link;
            }
            None => {
                if self.keys == self.buckets.len() {
                    self.grow();
                }
                self.keys += 1;
                let link =
                    MatchLink { key, previous: number, next: NONE, chain: NONE, is_leader: true };
                self.links[number as usize] = link;
                self.chain(number);
            }
        }
    }

    /// The first number of a key.
    #[inline]
    pub(crate) fn first(&self, key: MatchKey) -> Option<u32> {
        if self.keys == 0 {
            return None;
        }
        let mut at = self.buckets[self.bucket(key)];
        while at != NONE {
            let link = &self.links[at as usize];
            if link.key == key {
                return Some(at);
            }
            at = link.chain;
        }
        None
    }

    /// Removes a number from its queue, in which it must be.
    pub(crate) fn remove(&mut self, number: u32) {
        let MatchLink { key, previous, next, chain, is_leader } = self.links[number as usize];
        if !is_leader {
            self.links[previous as usize].next = next;
            let after = if next == NONE { self.first(key) } else { Some(next) };
            if let Some(after) = after {
                self.links[after as usize].previous = previous;
            }
            return;
        }
        let replacement = if next == NONE { chain } else { next };
        if next == NONE {
            self.keys -= 1;
        } else {
            let link = &mut self.links[next as usize];
            (link.previous, link.chain, link.is_leader) = (previous, chain, true);
        }
        *self.pointer_to(number, key) = replacement;
    }

    /// The link to a leader: its bucket, or the leader before it in the chain.
    fn pointer_to(&mut self, leader: u32, key: MatchKey) -> &mut u32 {
        let bucket = self.bucket(key);
        let mut at = self.buckets[bucket];
        if at == leader {
            return &mut self.buckets[bucket];
        }
        loop {
            let after = self.links[at as usize].chain;
            if after == leader {
                return &mut self.links[at as usize].chain;
            }
            at = after;
        }
    }

    fn chain(&mut self, leader: u32) {
        let bucket = self.bucket(self.links[leader as usize].key);
        self.links[leader as usize].chain = self.buckets[bucket];
        self.buckets[bucket] = leader;
    }

    fn grow(&mut self) {
        let more = vec![NONE; (2 * self.buckets.len()).max(BUCKETS_MIN)];
        for first in std::mem::replace(&mut self.buckets, more) {
            let mut at = first;
            while at != NONE {
                let next = self.links[at as usize].chain;
                self.chain(at);
                at = next;
            }
        }
    }

    /// The halves of a product of 128 bits mix all bits of both words (W. Yi, "wyhash"). Contexts,
    /// sources and tags differ in few bits, each at another position.
    #[inline]
    fn bucket(&self, [first, second]: MatchKey) -> usize {
        let factors = (first ^ 0xa076_1d64_78bd_642f, second ^ 0xe703_7ed1_a0b4_28db);
        let product = u128::from(factors.0) * u128::from(factors.1);
        ((product >> 64) as u64 ^ product as u64) as usize & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use platform::base::Random;
    use std::collections::{HashMap, VecDeque};

    #[test]
    fn each_key_has_a_queue_through_growth_and_removal() {
        let seed = 11;
        let mut random = Random::new(seed);
        let (mut table, mut plain) =
            (MatchTable::default(), HashMap::<MatchKey, VecDeque<u32>>::new());
        let mut keys = vec![None; 5_000];
        for step in 0..60_000 {
            // At first more numbers are added than removed.
            let number = random.below(keys.len() as u64) as usize;
            match keys[number].take() {
                None if step < 30_000 || random.one_in(3) => {
                    let key = [random.below(3) << 40, random.below(40) << 32 | random.below(9)];
                    keys[number] = Some(key);
                    table.push(key, number as u32);
                    plain.entry(key).or_default().push_back(number as u32);
                }
                None => (),
                Some(key) => {
                    table.remove(number as u32);
                    plain.get_mut(&key).unwrap().retain(|other| *other != number as u32);
                }
            }
            let key = [random.below(3) << 40, random.below(40) << 32 | random.below(9)];
            let first = plain.get(&key).and_then(|queue| queue.front().copied());
            assert_eq!(table.first(key), first, "seed {seed}, step {step}");
        }
        for (key, queue) in plain {
            for number in queue {
                assert_eq!(table.first(key), Some(number));
                table.remove(number);
            }
            assert_eq!(table.first(key), None);
        }
        assert_eq!(table.keys, 0);
    }

    /// For keys that differ in the source, the tag, or the number of a communicator or its leader.
    #[test]
    fn chains_are_short() {
        let keys: [fn(u64) -> MatchKey; 5] = [
            |i| [1 << 40, i << 32 | 7],
            |i| [1 << 40, 5 << 32 | i],
            |i| [1 << 40, ((i % 100) << 32) | (i / 100)],
            |i| [i << 32, 0],
            |i| [7 << 32 | i, 3 << 32],
        ];
        for (kind, key) in keys.into_iter().enumerate() {
            let mut table = MatchTable::default();
            (0..10_000).for_each(|i| table.push(key(i), i as u32));
            let longest = table.buckets.iter().map(|first| {
                std::iter::successors(Some(*first).filter(|at| *at != NONE), |at| {
                    Some(table.links[*at as usize].chain).filter(|at| *at != NONE)
                })
                .count()
            });
            let longest = longest.max().unwrap();
            assert!(longest <= 12, "kind {kind}: {longest}");
        }
    }
}
