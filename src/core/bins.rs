//! Queues in a hash table: for each key the entries in the order in which they came.
//!
//! Finding the first entry of a key, appending and removing take constant time however many
//! entries there are, which is what matching needs (see `matching`). Entries are nodes of doubly
//! linked lists through one slab, one list a bucket; a bucket may hold several keys.

use crate::base::Slab;

/// What entries are found by: two words.
pub type Key = [u64; 2];

/// No node.
const NONE: u32 = u32::MAX;

/// Queues of `T`, one for each key.
#[derive(Debug)]
pub struct Bins<T> {
    nodes: Slab<Node<T>>,
    /// A power of two of them.
    buckets: Vec<Bucket>,
}

#[derive(Debug)]
struct Node<T> {
    key: Key,
    value: T,
    previous: u32,
    next: u32,
}

#[derive(Clone, Copy, Debug)]
struct Bucket {
    first: u32,
    last: u32,
}

const EMPTY: Bucket = Bucket { first: NONE, last: NONE };
/// Enough for most programs, small enough to stay in the first-level cache.
const BUCKETS_MIN: usize = 64;

impl<T> Default for Bins<T> {
    fn default() -> Self {
        Self { nodes: Slab::default(), buckets: vec![EMPTY; BUCKETS_MIN] }
    }
}

impl<T> Bins<T> {
    /// Entries of all keys together.
    #[inline]
    pub fn len(&self) -> usize {
        self.nodes.len()
    }

    /// Whether there is no entry at all.
    #[inline]
    pub fn is_empty(&self) -> bool {
        self.nodes.is_empty()
    }

    /// Appends to the queue of `key`; the result names the entry until it is removed.
    #[inline]
    pub fn push(&mut self, key: Key, value: T) -> u32 {
        if self.nodes.len() >= 2 * self.buckets.len() {
            self.grow();
        }
        let node = self.nodes.insert(Node { key, value, previous: NONE, next: NONE });
        self.link(node);
        node
    }

    /// Removes the entry that `push` named `node`.
    ///
    /// # Panics
    /// If it is not there any more.
    #[inline]
    pub fn remove(&mut self, node: u32) -> T {
        let Node { key, value, previous, next } = self.nodes.remove(node).expect("an entry");
        let bucket = self.bucket(key);
        match previous {
            NONE => self.buckets[bucket].first = next,
            _ => self.nodes[previous].next = next,
        }
        match next {
            NONE => self.buckets[bucket].last = previous,
            _ => self.nodes[next].previous = previous,
        }
        value
    }

    /// The key and the value of the entry that `push` named `node`.
    ///
    /// # Panics
    /// If it is not there any more.
    pub fn entry(&self, node: u32) -> (Key, &T) {
        let node = &self.nodes[node];
        (node.key, &node.value)
    }

    /// The first entry of `key`.
    #[inline]
    pub fn first(&self, key: Key) -> Option<(u32, &T)> {
        self.queue(key).next()
    }

    /// The entries of `key`, oldest first.
    #[inline]
    pub fn queue(&self, key: Key) -> impl Iterator<Item = (u32, &T)> {
        let mut at = self.buckets[self.bucket(key)].first;
        std::iter::from_fn(move || {
            while at != NONE {
                let (id, node) = (at, &self.nodes[at]);
                at = node.next;
                if node.key == key {
                    return Some((id, &node.value));
                }
            }
            None
        })
    }

    fn link(&mut self, id: u32) {
        let bucket = self.bucket(self.nodes[id].key);
        let last = self.buckets[bucket].last;
        self.nodes[id].previous = last;
        self.nodes[id].next = NONE;
        match last {
            NONE => self.buckets[bucket].first = id,
            _ => self.nodes[last].next = id,
        }
        self.buckets[bucket].last = id;
    }

    /// Doubles the buckets. Each old list is walked in order, so queues keep theirs.
    fn grow(&mut self) {
        let doubled = vec![EMPTY; 2 * self.buckets.len()];
        for Bucket { first, .. } in std::mem::replace(&mut self.buckets, doubled) {
            let mut at = first;
            while at != NONE {
                let next = self.nodes[at].next;
                self.link(at);
                at = next;
            }
        }
    }

    /// Multiplicative hashing (Knuth, TAOCP 3 §6.4): the high bits of a product are well mixed.
    #[inline]
    fn bucket(&self, [first, second]: Key) -> usize {
        let mixed = (first ^ second.rotate_left(29)).wrapping_mul(0x9E37_79B9_7F4A_7C15);
        (mixed >> 32) as usize & (self.buckets.len() - 1)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn queues_keep_their_order_through_growth_and_removal() {
        let mut bins = Bins::default();
        let nodes: Vec<_> = (0..10_000u64).map(|i| bins.push([i % 100, i % 7], i)).collect();
        for (index, node) in nodes.into_iter().enumerate().filter(|(index, _)| index % 3 == 0) {
            assert_eq!(bins.remove(node), index as u64);
        }
        for (a, b) in (0..100).flat_map(|a| (0..7).map(move |b| (a, b))) {
            let found: Vec<_> = bins.queue([a, b]).map(|(_, value)| *value).collect();
            let expected: Vec<_> =
                (0..10_000).filter(|i| i % 100 == a && i % 7 == b && i % 3 != 0).collect();
            assert_eq!(found, expected);
        }
        assert_eq!(bins.len(), 6666);
    }
}
